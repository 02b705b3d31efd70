"""A Slurm site from its files, its jobs, changes and the report."""

import os
from pathlib import Path

import numba
import numpy as np
import pandas as pd
import pytest

import cosimlab as lab
import cosimlib as cs
from cosimlab.slurm.accounting import Accounting
from cosimlab.slurm.command import main, tells_compiling
from cosimlib.kernels.jit import is_interpreted
from cosimlib.slurm import Node, Partition, Site
from cosimlib.slurm.jobs import limits_of
from cosimlib.slurm.site import PrioritySettings, SchedulerSettings
from cosimlib.traces.account import TraceError
from cosimlib.workload import Workload

CONF = """
clustername=Small            # names in any case
PriorityType=priority/multifactor
PriorityWeightFairshare=1000
PriorityMaxAge=1-12
PriorityFlags=NO_FAIR_TREE,MAX_TRES
SchedulerType=sched/backfill
SchedulerParameters==bf_window=2880,bf_continue,\\
bf_interval=60,defer,max_script_size=100
AccountingStorageEnforce=safe
SelectTypeParameters=CR_Core
TopologyPlugin=topology/tree
SlurmctldPort=6817
Include more.conf
NodeName=DEFAULT Sockets=2 CoresPerSocket=4 RealMemory=16000
NodeName=n[01-03]
NodeName=DEFAULT Weight=7
NodeName=g1 CPUs=16 Gres=gpu Feature=fast,new State=DOWN
PartitionName=DEFAULT MaxTime=2-00:00:00 DefMemPerCPU=1000
PartitionName=main Nodes=n[01-03],g1 Default=YES
PartitionName=gpu Nodes=g1 MaxTime=90 OverSubscribe=EXCLUSIVE LLN=YES
"""
DUMP = """# To edit this file start with a cluster line for the new cluster
Cluster - 'small':Fairshare=1:QOS='normal'
Parent - 'root'
User - 'root':DefaultAccount='root':AdminLevel='Administrator':Fairshare=1
Account - 'physics':Description='a: b':Fairshare=30:GrpTRES=cpu=16
Parent - 'physics'
User - 'anna':DefaultAccount='physics':Fairshare=parent:MaxJobs=2
"""
QOS_TABLE = """Name|Priority|GraceTime|Preempt|Flags|UsageFactor|MaxTRESPU|MaxJobsPU|MaxWall|MinTRES
normal|0|00:00:00|||1.000000||||
long|5|00:02:00|normal||2.000000|cpu=8,gres/gpu=2|3|2-00:00:00|cpu=2
"""
ASSOCIATIONS = """Account|User|ParentName|Share|MaxJobs|QOS|Def QOS
root|||1||normal|
physics||root|30||normal,long|long
lab||physics|parent|||
lab|anna||5|2||
"""
SCRIPT = """#!/bin/sh
sacctmgr -i add qos name=long priority=7
sacctmgr -i modify qos set where name=long set MaxJobsPerUser=4
add account name=physics Fairshare=30
add user name=anna,ben DefaultAccount=physics
add user name=carl Account=physics
modify user where name=anna set qos+=long Fairshare=9
modify user set MaxSubmitJobs=5
remove user where name=carl
remove qos where name=normal
list associations
"""
EVENTS = """-dt 0 -e submit_batch_job | -sim-walltime 100 --uid=anna -t 00:10:00 -n 9 -p main x
-dt 5.5 -e submit_batch_job | -sim-walltime -1 --uid=ben -t 2 -N 2 -n 6 --mem=2G --gres=gpu:k:2 x
-dt 6 -e submit_batch_job | -sim-walltime 3 --uid=ben -t 1-0 -n 6 --ntasks-per-node=2 --exclusive x
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "slurm.conf").write_text(CONF)
    (tmp_path / "more.conf").write_text("OverTimeLimit=1\nKillWait=10\n")
    (tmp_path / "gres.conf").write_text("NodeName=g1 Name=gpu File=/dev/nvidia[0-3]\n")
    return tmp_path


def shared(name: str) -> Path:
    """A folder of configured sites beside the oracles."""
    found = Path(os.environ.get("COSIMLIB_ORACLES", "none")) / ".." / "slurm" / name
    if not found.is_dir():
        pytest.skip(f"no configured site {name} beside COSIMLIB_ORACLES")
    return found


def test_configuration(folder: Path) -> None:
    site = lab.slurm.read_site(folder)
    assert site.name == "Small"
    # As Slurm does, the site has its nodes in the order of their names.
    assert [one.cores for one in site.nodes] == [16, 8, 8, 8]
    assert [one.weight for one in site.nodes] == [7, 1, 1, 1]
    assert site.nodes[1].name == "n01" and site.nodes[1].memory == 16000
    assert site.nodes[0].gres == {"gpu": 4} and site.nodes[0].features == {"fast", "new"}
    assert site.priority.fair_share == 1000 and not site.priority.fair_tree
    assert site.priority.max_age == 36 * 3600
    scheduler = site.scheduler
    assert (scheduler.bf_window, scheduler.bf_interval) == (2880 * 60, 60)
    assert scheduler.bf_continue and (scheduler.over_time_limit, scheduler.kill_wait) == (60, 10)
    assert "limits" in site.enforce and not site.counts_memory
    main, gpu = site.partitions["main"], site.partitions["gpu"]
    assert main.default and main.nodes == (0, 1, 2, 3) and main.max_time == 2 * 86400
    assert gpu.exclusive and gpu.max_time == 5400 and gpu.memory_per_core == 1000


def test_what_is_not_modeled_is_named(folder: Path) -> None:
    site = lab.slurm.read_site(folder)
    named = {one.setting: one for one in site.not_modeled}
    assert set(named) == {
        "PriorityFlags MAX_TRES",
        "defer",
        "AccountingStorageEnforce safe",
        "TopologyPlugin",
        "NodeName=g1 State",
        "PartitionName=gpu LLN",
    }
    assert named["TopologyPlugin"].place.endswith("slurm.conf: line 12")
    (folder / "slurm.conf").write_text(CONF + "Nonsense=3\n")
    assert "Nonsense" in {one.setting for one in lab.slurm.read_site(folder).not_modeled}


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("KillWait=soon", "line LAST: KillWait='soon'; expected seconds from 0 to 65,533"),
        ("just words", "line LAST: 'just words'; expected Name=value"),
        ("Include gone.conf", "line LAST: Include gone.conf; expected this file"),
        ("PartitionName=x Nodes=n09", "line LAST: PartitionName=x Nodes=n09; expected nodes"),
        ("NodeName=z CPUs=many", "line LAST: CPUs='many'; expected a whole number from 1"),
        ("NodeName=z CPUs=0", "line LAST: CPUs='0'; expected a whole number from 1"),
        ("NodeName=x[1-", "line LAST: NodeName='x[1-'; expected names and ranges"),
        ("NodeName=x1-2]", "line LAST: NodeName='x1-2]'; expected names and ranges"),
        ("NodeName=x[1-2][", "line LAST: NodeName='x[1-2]['; expected names and ranges"),
        ("PartitionName=x Nodes=n[01-0", "line LAST: PartitionName=x Nodes='n[01-0'; expected"),
        ("SchedulerParameters=bf_window=0", "line LAST: bf_window='0'; expected minutes from 1"),
        ("NodeSet=some", "line LAST: NodeSet=some; expected Nodes= or Feature="),
        ("NodeSet=some Foo=Bar", "line LAST: NodeSet=some Foo=Bar; expected Nodes= or Feature="),
        ("PartitionName=x Nodes=g1 MaxTime=1:2:3:4", "MaxTime='1:2:3:4'; expected minutes"),
    ],
)
def test_bad_lines(folder: Path, line: str, words: str) -> None:
    (folder / "slurm.conf").write_text(CONF + line + "\n")
    with pytest.raises(TraceError) as error:
        lab.slurm.read_site(folder)
    last = str(CONF.count("\n") + 1)
    assert words.replace("LAST", last) in str(error.value)


def test_partitions_have_the_nodes_of_sets_that_they_name(folder: Path) -> None:
    sets = "NodeSet=quick Feature=fast\nNodeSet=first Nodes=n[01-02]\n"
    part = "PartitionName=some Nodes=quick,n03\nPartitionName=both Nodes=first,quick\n"
    (folder / "slurm.conf").write_text(CONF + sets + part)
    site = lab.slurm.read_site(folder)
    found = {
        name: [site.nodes[row].name for row in one.nodes] for name, one in site.partitions.items()
    }
    assert found["some"] == ["g1", "n03"] and found["both"] == ["g1", "n01", "n02"]
    assert "NodeSet" not in {one.setting for one in site.not_modeled}
    (folder / "slurm.conf").write_text(
        CONF + "NodeSet=none Feature=Fast\nPartitionName=p Nodes=none\n"
    )
    with pytest.raises(
        TraceError, match=r"NodeSet=none Feature=Fast; expected a feature of a node"
    ):
        lab.slurm.read_site(folder)


def test_shown_configuration(folder: Path) -> None:
    shown = "Configuration data as of 2026-11-25T12:00:00\nKillWait                = 45 sec\n"
    shown += "PriorityMaxAge          = 7-00:00:00\nProlog[0]   = (null)\n"
    (folder / "config.txt").write_text(shown)
    site = lab.slurm.read_site(folder)
    assert site.scheduler.kill_wait == 45 and site.priority.max_age == 7 * 86400


def test_dump_and_tables_agree(folder: Path) -> None:
    (folder / "dump.cfg").write_text(DUMP)
    (folder / "qos.txt").write_text(QOS_TABLE)
    site = lab.slurm.read_site(folder)
    found = {(one.account, one.user): one for one in site.associations}
    assert site.associations[0].account == "root" and not site.associations[0].parent
    assert found["physics", ""].shares == 30 and found["physics", "anna"].shares is None
    assert found["physics", ""].limits.group_tres == {"cpu": 16}
    assert found["physics", "anna"].limits.jobs_per_user == 2
    assert found["physics", "anna"].qos == ("normal",)
    long = site.qos["long"]
    assert (long.priority, long.grace_time, long.usage_factor) == (5, 120, 2)
    assert long.preempts == ("normal",) and long.limits.wall_time == 2 * 86400
    assert long.limits.tres_per_user == {"cpu": 8, "gres/gpu": 2}
    assert "QOS long MinTRES" in {one.setting for one in site.not_modeled}


def test_associations(folder: Path) -> None:
    (folder / "assoc.txt").write_text(ASSOCIATIONS)
    found = {(one.account, one.user): one for one in lab.slurm.read_site(folder).associations}
    assert found["lab", ""].parent == "physics" and found["lab", ""].shares is None
    anna = found["lab", "anna"]
    assert anna.shares == 5 and anna.default_qos == "long" and anna.qos == ("normal", "long")
    (folder / "assoc.txt").write_text("Account|User|Share\nroot||1\n a||2\n  b||3\n c||4\n")
    parents = {one.account: one.parent for one in lab.slurm.read_site(folder).associations}
    assert parents == {"root": "", "a": "root", "b": "a", "c": "root"}


def test_script(folder: Path) -> None:
    (folder / "sacctmgr.sh").write_text(SCRIPT)
    site = lab.slurm.read_site(folder)
    found = {(one.account, one.user): one for one in site.associations if one.account != "root"}
    assert list(found) == [("physics", ""), ("physics", "anna"), ("physics", "ben")]
    assert found["physics", "anna"].shares == 9 and "long" in found["physics", "anna"].qos
    assert found["physics", "ben"].limits.submitted_per_user == 5
    assert list(site.qos) == ["long"] and site.qos["long"].limits.jobs_per_user == 4


def test_changes(folder: Path) -> None:
    (folder / "sacctmgr.sh").write_text(SCRIPT)
    site = lab.slurm.read_site(folder)
    changed = site.with_(
        "QOS long MaxJobsPerUser=8",
        "bf_window=1440",
        "PartitionName main MaxTime=1-0",
        "Account physics Fairshare=20",
        "User anna Account=physics MaxJobs=1",
        PriorityWeightFairshare=0,
    )
    assert changed.priority.fair_share == 0 and site.priority.fair_share == 1000
    assert changed.qos["long"].limits.jobs_per_user == 8
    assert changed.scheduler.bf_window == 86400
    assert changed.partitions["main"].max_time == 86400
    found = {(one.account, one.user): one for one in changed.associations}
    assert found["physics", ""].shares == 20
    assert found["physics", "anna"].limits.jobs_per_user == 1


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("bf_windw=3", "bf_window"),
        ("QOS lnog Priority=3", "expected one such as long"),
        ("QOS long MaxJbs=3", "maxjobs"),
        ("TopologyPlugin=topology/tree", "not modeled"),
        ("SlurmctldPort=3", "no influence"),
        ("bf_window=wide", "bf_window='wide'; expected minutes from 1 to 43,200"),
        ("PriorityFlags=INCR_ONLY", "not modeled"),
        ("QOS long", "expected such as"),
    ],
)
def test_bad_changes(folder: Path, text: str, words: str) -> None:
    (folder / "sacctmgr.sh").write_text(SCRIPT)
    site = lab.slurm.read_site(folder)
    with pytest.raises(ValueError) as error:
        site.with_(text)
    assert words in str(error.value)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("bf_interval=0", "seconds from 1 to 10,800, or -1 for no backfill"),
        ("bf_interval=-30", "seconds from 1 to 10,800, or -1 for no backfill"),
        ("bf_resolution=0", "seconds from 1 to 3,600"),
        ("bf_window=0", "minutes from 1 to 43,200"),
        ("bf_window=-5", "minutes from 1 to 43,200"),
        ("bf_max_job_test=-1", "a whole number from 1 to 1,000,000"),
        ("bf_max_job_user=-1", "a whole number from 0"),
        ("bf_node_space_size=1", "a whole number from 2 to 2,000,000"),
        ("sched_interval=0", "seconds from 1 to"),
        ("sched_interval=nan", "seconds from 1 to"),
        ("sched_min_interval=-1", "microseconds from 0"),
        ("default_queue_depth=-1", "a whole number from 0"),
        ("requeue_delay=inf", "seconds from 0"),
        ("PriorityWeightAge=-5", "a whole number from 0 to"),
        ("PriorityDecayHalfLife=-1", "minutes, or a time such as 1-12:00:00, from 0 min"),
        ("PriorityMaxAge=-1", "minutes, or a time such as 1-12:00:00, from 0 min"),
        ("PriorityCalcPeriod=0", "minutes, or a time such as 1-12:00:00, from 1 min"),
        ("PriorityUsageResetPeriod=HOURLY", "one of NONE, NOW, DAILY"),
        ("FairShareDampeningFactor=0", "a whole number from 1"),
        ("PreemptMode=-1", "words of OFF, CANCEL"),
        ("PartitionName main PreemptMode=FOO", "words of OFF, CANCEL"),
        ("KillWait=-3", "seconds from 0 to 65,533"),
        ("OverTimeLimit=-1", "from 0 min, or UNLIMITED"),
        ("QOS long Priority=-7", "a whole number from 0 to 4,294,967,293, or -1 for none"),
        ("QOS long MaxJobsPerUser=-2", "a whole number from 0, or -1 for no limit"),
        ("QOS long MaxTRESPerUser=cpu=-8", "a number from 0 for cpu, or -1 for no limit"),
        ("QOS long UsageFactor=-2", "a number from 0"),
        ("QOS long GraceTime=-2", "seconds from 0"),
        ("Account physics Fairshare=-2", "a whole number from 0, or parent"),
        ("PartitionName main PriorityTier=-1", "a whole number from 0 to 65,533"),
        ("PartitionName main MinNodes=-1", "a whole number from 0"),
        ("PartitionName main MaxNodes=-2", "a whole number from 0, or -1 for no limit"),
    ],
)
def test_settings_that_slurm_does_not_take_are_refused(
    folder: Path, text: str, expected: str
) -> None:
    (folder / "sacctmgr.sh").write_text(SCRIPT)
    site = lab.slurm.read_site(folder)
    setting, _, value = text.rpartition("=") if "TRES" not in text else text.partition("=")
    setting = setting.replace("PartitionName main", "PartitionName=main")
    with pytest.raises(ValueError) as error:
        site.with_(text)
    assert str(error.value).startswith(f"{setting}={value!r}; expected ")
    assert expected in str(error.value)


def test_minus_one_clears_what_sacctmgr_set_and_ends_backfill(folder: Path) -> None:
    (folder / "sacctmgr.sh").write_text(SCRIPT)
    site = lab.slurm.read_site(folder).with_(
        "QOS long Priority=-1 MaxJobsPerUser=-1 UsageFactor=-1", "Account physics Fairshare=-1"
    )
    long = site.qos["long"]
    assert (long.priority, long.limits.jobs_per_user, long.usage_factor) == (0, np.inf, 1.0)
    assert next(one.shares for one in site.associations if one.account == "physics") == 1
    (folder / "list.events").write_text(EVENTS)
    jobs = lab.slurm.read_jobs(folder / "list.events", site)
    without = [cs.slurm.simulate(jobs, site.with_("bf_interval=-1")).start_time.tolist()]
    without += [cs.slurm.simulate(jobs, site.with_("SchedulerType=builtin")).start_time.tolist()]
    np.testing.assert_equal(*without)


def test_settings_made_by_hand_are_checked() -> None:
    for setting in ({"bf_interval": 0.0}, {"bf_resolution": 0.0}, {"interval": 0.0}):
        with pytest.raises(ValueError, match=f"SchedulerSettings: {next(iter(setting))}=0.0; exp"):
            SchedulerSettings(**setting)
    with pytest.raises(ValueError, match="PrioritySettings: period=0; expected a number above 0"):
        PrioritySettings(period=0)


def test_submissions(folder: Path) -> None:
    site = lab.slurm.read_site(folder)
    path = folder / "jobs.events"
    path.write_text(EVENTS)
    jobs = lab.slurm.read_jobs(path, site).jobs
    assert jobs["nodes"].tolist() == [1, 2, 3]  # 9 tasks fit on the largest node, of 16 cores
    assert jobs["cores"].fillna(-1).tolist() == [9, 3, -1]
    assert jobs["run_time"].tolist() == [100, 120, 3]
    assert jobs["requested_time"].tolist() == [600, 120, 86400]
    assert jobs["memory"].iloc[1] == 2 and jobs["gpus"].tolist() == [0, 2, 0]
    path.write_text(EVENTS + "-dt 7 nothing\n")
    with pytest.raises(TraceError, match="line 4"):
        lab.slurm.read_jobs(path, site)


def test_accounting_records(folder: Path) -> None:
    site = lab.slurm.read_site(folder)
    path = Path(__file__).parents[2] / "data" / "slurm-24.11" / "sacct_X_parsable2_epoch.txt"
    workload = lab.slurm.read_jobs(path, site)
    jobs = workload.jobs
    assert {"account", "qos", "partition", "eligible_time", "recorded_start"} <= {*jobs}
    plain = cs.read_sacct(path, verbose=False).jobs
    known = plain["memory"].notna()
    megabytes = plain["memory"][known] * 1e9 / 2**20
    assert np.allclose(jobs["memory"][known] * 1024, megabytes)


def test_report(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = folder / "jobs.events"
    path.write_text(EVENTS)
    assert main([str(folder), "--jobs", str(path)]) == 1
    assert "--no-record" in capsys.readouterr().err
    change = ["--set", "PartitionName main MaxTime=1"]
    assert main([str(folder), "--jobs", str(path), "--no-record", *change]) == 0
    printed = capsys.readouterr().out
    assert "changed" in printed and "TopologyPlugin=topology/tree" in printed


def test_a_report_has_a_line_per_group_with_both_sites_in_one_unit() -> None:
    """A job of four hours, one behind it, on one node; with two nodes none waits."""
    columns = {"submit_time": [0.0, 0.0], "run_time": 14_400.0, "requested_time": 14_400.0}
    jobs = pd.DataFrame({**columns, "nodes": 1, "recorded_start": [0.0, 14_400.0], "user": "a"})
    nodes = tuple(Node(f"n{number}") for number in range(2))
    one, two = (
        Site("s", nodes[:size], {"main": Partition("main", nodes=tuple(range(size)))})
        for size in (1, 2)
    )
    sites = {"as configured": one, "changed": two}
    text = str(lab.slurm.report_on(Workload(jobs, "W"), sites, no_record=True))
    assert "mean wait recorded 2 h, simulated 2 h." in text
    unknown = Workload(jobs.drop(columns="recorded_start"), "W")
    text = str(lab.slurm.report_on(unknown, sites, no_record=True))
    assert "Waits in hours, as configured → changed:\n" in text
    lines = [line.split() for line in text.splitlines()]
    assert ["all", "all", "jobs", "2", "2", "→", "0", "2", "→", "0", "3.6", "→", "0"] in lines
    assert sum(line[:1] == ["all"] for line in lines) == 1


def test_a_report_says_release_records_and_refused_jobs(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = folder / "jobs.events"
    path.write_text(EVENTS)
    command = [str(folder), "--jobs", str(path), "--no-record"]
    assert main(command) == 0
    assert "The release is not given" in capsys.readouterr().out
    assert main([*command, "--set", "SLURM_VERSION=22.05.8"]) == 0
    printed = capsys.readouterr().out
    assert "Slurm 22.05.8." in printed and "changed" not in printed
    assert main([*command, "--set", "PartitionName main MaxTime=5"]) == 0
    printed = capsys.readouterr().out
    words = "PartitionTimeLimit (2), BadConstraints (1)"
    assert f"changed: 3 of 3 jobs do not run: {words}." in printed
    assert "No job runs under every site." in printed
    for replicates in ("-2", "39"):
        assert main([*command, "--replicates", replicates]) == 1
        assert "--set" in capsys.readouterr().err


def test_a_report_says_what_was_read_and_which_qos_is_missing(folder: Path) -> None:
    (folder / "qos.txt").write_text(QOS_TABLE)
    site = lab.slurm.read_site(folder)
    columns = {"run_time": 60.0, "requested_time": 600.0, "nodes": 1, "cores": 1.0}
    jobs = pd.DataFrame({"submit_time": [0.0, 9e4], "qos": ["long", "gold"], "user": ["a", "b"]})
    began = pd.Timestamp("2026-01-01", tz="UTC")
    workload = Workload(jobs.assign(**columns), "W", began=began)
    notes = lab.slurm.report_on(workload, {"as is": site}, no_record=True).notes
    read = "4 nodes in 2 partitions, 2 QOS, 2 jobs of 2 users, 2026-01-01 to 2026-01-02."
    assert notes[0] == read
    assert any("no QOS gold" in one and "sacctmgr show qos" in one for one in notes)


def test_a_report_says_how_many_jobs_had_not_ended(folder: Path) -> None:
    """Job 1 has ended; jobs 2 and 3 wait, 4 runs, and 5 was cancelled before its start."""
    path = folder / "sacct.txt"
    path.write_text(
        "JobIDRaw|User|Partition|Submit|Start|End|ElapsedRaw|TimelimitRaw|NNodes|NCPUS|State\n"
        "1|anna|main|1767225600|1767225600|1767225660|60|10|1|1|COMPLETED\n"
        "2|anna|main|1767225601|Unknown|Unknown|0|10|1|1|PENDING\n"
        "3|anna|main|1767225602|Unknown|Unknown|0|10|1|1|PENDING\n"
        "4|anna|main|1767225603|1767225700|Unknown|60|10|1|1|RUNNING\n"
        "5|anna|main|1767225604|Unknown|1767225700|0|10|1|1|CANCELLED by 0\n"
    )
    site = lab.slurm.read_site(folder)
    report = lab.slurm.report_on(lab.slurm.read_jobs(path, site), {"as is": site})
    days = "2026-01-01 to 2026-01-01"
    assert f"1 job of 1 user, {days}; left out: 2 not started, 1 still running." in str(report)
    assert "1 record dropped: cancelled before its start." in report.notes
    assert str(report).count("not started") == str(report).count("still running") == 1


ENDED = """JobIDRaw|User|Partition|Submit|Start|End|ElapsedRaw|TimelimitRaw|NNodes|NCPUS|State
1|anna|main|1767225600|1767225600|1767225660|60|10|2|16|COMPLETED
2|anna|main|1767225601|1767225660|1767225760|100|UNLIMITED|3|24|COMPLETED
3|anna|open|1767225602|1767225760|1767225860|100|Partition_Limit|3|24|COMPLETED
4|anna|main|1767225603|1767225860|1767225960|100|30|3|24|COMPLETED
"""


def test_a_job_without_a_limit_has_that_of_its_partition(folder: Path) -> None:
    """MaxTime, not DefaultTime, and a year where that is UNLIMITED; also for EASY beside it."""
    lines = (
        "PartitionName=main DefaultTime=1\nPartitionName=open Nodes=n[01-03] MaxTime=UNLIMITED\n"
    )
    (folder / "slurm.conf").write_text(CONF + lines)
    (folder / "sacct.txt").write_text(ENDED)
    site = lab.slurm.read_site(folder)
    jobs = lab.slurm.read_jobs(folder / "sacct.txt", site)
    assert limits_of(jobs, site).tolist() == [600, 2 * 86_400, 365 * 86_400, 1800]
    shorter = site.with_("PartitionName main MaxTime=1:00:00")
    assert limits_of(jobs, shorter).tolist() == [600, 3600, 365 * 86_400, 1800]
    assert cs.slurm.simulate(jobs, shorter).refused.empty
    report = lab.slurm.report_on(jobs, {"as is": site})
    told = "2 jobs without a time limit: taken with the MaxTime of their partition (a year where"
    assert any(note.startswith(told) for note in report.notes)
    easy = report.record[report.record["simulator"] == "EASY"]
    assert easy["jobs"].tolist() == [4, 4]


def test_a_submission_without_a_limit_has_that_of_its_partition(folder: Path) -> None:
    lines = "PartitionName=main DefaultTime=1\n"
    (folder / "slurm.conf").write_text(CONF + lines)
    job = "-dt 0 -e submit_batch_job | -sim-walltime 100 --uid=anna -n 1 {}\n"
    texts = ("-t 0", "-t UNLIMITED", "", "-t 5")
    (folder / "list.events").write_text("".join(job.format(text) for text in texts))
    site = lab.slurm.read_site(folder)
    jobs = lab.slurm.read_jobs(folder / "list.events", site)
    assert limits_of(jobs, site).tolist() == [2 * 86_400, 2 * 86_400, 60, 300]
    told = lab.slurm.report_on(jobs, {"as is": site}, no_record=True).notes
    assert any(note.startswith("2 jobs without a time limit: ") for note in told)
    assert any(note.startswith("1 job that asked for no time: taken with the D") for note in told)


def test_the_command_says_when_it_compiles(capsys: pytest.CaptureFixture[str]) -> None:
    with tells_compiling():
        numba.njit(lambda number: number + 1)(1)
        numba.njit(lambda number: number + 2)(1)
    assert capsys.readouterr().err.count("compiling, once") == (not is_interpreted())
    with tells_compiling():
        pass
    assert capsys.readouterr().err == ""


def test_a_table_of_sacctmgr_that_is_none_is_refused(folder: Path) -> None:
    (folder / "qos.txt").write_text("sacctmgr: error: slurmdbd: Connection refused\n")
    with pytest.raises(TraceError, match=r"qos\.txt: no table of sacctmgr"):
        lab.slurm.read_site(folder)


def test_what_is_not_set_does_nothing(folder: Path) -> None:
    conf = folder / "slurm.conf"
    conf.write_text(conf.read_text() + "\nJobDefaults=(null)\nPriorityParameters=(null)\n")
    named = {one.setting for one in lab.slurm.read_site(folder).not_modeled}
    assert not named & {"JobDefaults", "PriorityParameters"}


def test_a_site_fits_its_own_schedule_and_no_random_one(folder: Path) -> None:
    site = lab.slurm.read_site(folder)
    random = np.random.default_rng(1)
    run = random.integers(60, 3600, 120)
    table = pd.DataFrame(
        {
            "submit_time": np.sort(random.integers(0, 7200, 120)),
            "run_time": run,
            "requested_time": run + 600,
            "nodes": random.integers(1, 3, 120),
            "user": "anna",
        }
    )
    start = cs.slurm.simulate(cs.Workload(table, "own"), site).start_time
    own = cs.Workload(table.assign(recorded_start=start), "own")
    sites = {"as configured": site, "changed": site.with_("PartitionName main MaxTime=1-0")}
    report = lab.slurm.report_on(own, sites)
    assert report.fits and report.record["correlation"].iloc[-2] == pytest.approx(1)
    assert report.record["error"].iloc[-2] == 0 and set(report.groups["site"]) == set(sites)
    start = table["submit_time"] + random.permutation(1000.0 * np.arange(120))
    other = cs.Workload(table.assign(recorded_start=start), "other")
    report = lab.slurm.report_on(other, sites)
    assert report.fits is False and report.groups.empty and "does not fit" in str(report)


@pytest.mark.oracles
def test_sites_of_the_simulator_of_buffalo() -> None:
    micro = lab.slurm.read_site(shared("micro"))
    assert len(micro.nodes) == 10 and micro.qos["supporters"].priority == 100
    assert {one.setting for one in micro.not_modeled} == {"TopologyPlugin"}
    jobs = lab.slurm.read_jobs(shared("micro") / "jobs500.events", micro)
    assert len(jobs) == 500
    hpc = shared("ub-hpc")
    with pytest.raises(TraceError, match="several files of sacctmgr"):
        lab.slurm.read_site(hpc)
    files = [hpc / "slurm.conf", hpc / "gres.conf", hpc / "sacctmgr.script"]
    site = lab.slurm.read_site(files)
    assert len(site.nodes) == 217 and site.qos["priority-supporters"].priority == 400
    assert len(lab.slurm.read_jobs(hpc / "workload_week.events.gz", site)) == 19_579


def test_a_limit_that_would_bind_nobody_is_refused(folder: Path) -> None:
    (folder / "sacctmgr.sh").write_text(SCRIPT)
    site = lab.slurm.read_site(folder).with_("AccountingStorageEnforce=associations")
    with pytest.raises(ValueError, match="does not enforce limits"):
        site.with_("QOS long MaxJobsPerUser=8")
    changed = site.with_("AccountingStorageEnforce=limits", "QOS long MaxJobsPerUser=8")
    assert changed.qos["long"].limits.jobs_per_user == 8


def test_a_plugin_that_is_not_simulated_is_named(folder: Path) -> None:
    conf = folder / "slurm.conf"
    conf.write_text(conf.read_text() + "SelectType=select/cray_aries\n")
    site = lab.slurm.read_site(folder)
    assert ("SelectType", "select/cray_aries") in [(x.setting, x.value) for x in site.not_modeled]


def test_utilization_counts_the_cores_of_the_nodes_that_a_job_has() -> None:
    """A job on the node of 4 cores, and one that has the node of 12 as a whole, for as long."""
    nodes = (Node("small", cores=4, memory=1024.0), Node("big", cores=12, memory=1024.0))
    site = Site("two", nodes, {"main": Partition("main", (0, 1))}, counts_memory=False)
    times = {"submit_time": 0.0, "run_time": 100.0, "requested_time": 600.0, "nodes": 1}
    jobs = pd.DataFrame([times | {"cores": 4.0}, times | {"cores": np.nan}])
    report = lab.slurm.report_on(Workload(jobs, "W"), {"two": site}, no_record=True)
    assert report.machine["utilization"].tolist() == [1.0]


def test_where_no_parent_is_named_accounts_are_below_the_root_and_users_below_their_account():
    accounting = Accounting()
    for account, user in (("root", ""), ("physics", ""), ("physics", "anna")):
        accounting.set_association(account, user, [], "a table")
    parents = {(one.account, one.user): one.parent for one in accounting.finished()}
    assert parents == {("root", ""): "", ("physics", ""): "root", ("physics", "anna"): "physics"}
