"""What real Slurms print, in two dialects, and what their traps are."""

import gzip
import os

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cosimlab.advise import advise, commands_of, read_cluster, text_of
from cosimlab.advise.snapshot import satisfying
from cosimlab.advise.text import notes_on
from cosimlib.traces.account import TraceError
from cosimlib.traces.hosts import expand_hosts, fold_hosts, is_host_list, resources_in
from tests.cosimlab.advise.queues import DIALECTS, NOW, Job, Machine, Node, machine_of
from tests.suites import ROOT

DATA = ROOT / "tests" / "data"


def real(version: str, queue: str, **options):
    """A real Slurm's cluster."""
    folder = DATA / f"slurm-{version}"
    return read_cluster(folder / f"{queue}.json", folder / "sinfo.json", **options)


def states(cluster) -> dict[str, str]:
    return dict(zip(cluster.jobs["label"], cluster.jobs["state"], strict=True))


def test_jobs_of_22_05():
    """Five jobs hold nodes, two of them tasks of an array; `held` is one of fourteen that wait."""
    cluster = real("22.05", "squeue", now=1795303966)
    assert states(cluster) == dict.fromkeys(["1", "2", "3", "4_1", "4_2"], "running")
    assert (cluster.waiting, cluster.held, cluster.release) == (14, 1, "22.05.8")
    assert cluster.jobs["run"].tolist() == [30.0] * 5
    left = (cluster.jobs["end"] - cluster.now).tolist()
    assert left == [30.0, 570.0, 90.0, 270.0, 270.0]
    assert cluster.jobs["name"].tolist()[2] == 'naïve|pipe "q" ü'
    assert len(cluster.nodes) == 8 and cluster.nodes["busy"].all()


def test_a_resumed_job_counts_what_it_ran_and_finished_jobs_hold_nothing():
    """Job 24 ran 3 s, was suspended, and runs again since 1795304121; its node is still busy."""
    cluster = real("22.05", "squeue-2", now=1795304131)
    assert states(cluster) == {"24": "running", "28": "running"}
    assert cluster.jobs["run"].tolist() == [3.0 + 10.0, 10.0]


def test_a_suspended_job_stands_and_a_completing_one_goes_in_24_11():
    cluster = real("24.11", "squeue-3-suspended")
    assert cluster.now == 1795304561 and cluster.name == "wb"
    assert states(cluster) == {
        "14+0": "running",
        "14+1": "running",
        "16": "running",
        "18": "suspended",
        "21": "running",
    }
    assert cluster.jobs.set_index("label")["run"]["18"] == 9.0
    going = real("24.11", "squeue-2")
    assert states(going)["19"] == "completing"
    assert "on nodes (1 completing), " in text_of(advise(1, going))
    advice = advise(6, cluster, within=300)
    assert advice.snapshot.until[3] == np.inf, "it does not end while it stands"
    assert "1 job suspended" in text_of(advice)
    assert "jobs: 5 on nodes (1 suspended), " in text_of(advice)


def test_components_of_a_heterogeneous_job_go_together():
    """n3 alone would do; but 14+0 goes with 14+1, which loses three nodes' work."""
    advice = advise(1, real("24.11", "squeue-3-suspended"), within=0)
    assert "14+0" not in advice.jobs()["label"].tolist()
    everything = advise(7, real("24.11", "squeue-3-suspended"), within=0).jobs()
    het = everything[everything["label"].str.startswith("14+")]
    assert het["group"].nunique() == 1 and het["freed"].unique().tolist() == [3]


def test_both_dialects_tell_the_same(tmp_path):
    jobs = (
        Job(5, ("n1", "n2"), ran=600, left=1200, cpus=8, memory=4000, array=(4, 2)),
        Job(6, ("n3",), left=None, gpus=2, cpus=1, requeue=False),
        Job(7, ("n4",), state="SUSPENDED", resumed=(40, 100)),
        Job(8, (), state="PENDING", reason="JobHeldAdmin"),
        Job(9, ("n5",), state="RUNNING+COMPLETING"),
        Job(10, ("n6",), reservation="maint", leader=10),
    )
    machine = machine_of(jobs, 8, n7=("IDLE", "DRAIN"), n8=("IDLE", "PLANNED"))
    one, other = (read_cluster(*machine.save(tmp_path, dialect), now=NOW) for dialect in DIALECTS)
    assert one.jobs.to_dict() == other.jobs.to_dict() or one.jobs.equals(other.jobs)
    assert (one.waiting, one.held) == (other.waiting, other.held) == (1, 1)
    assert one.nodes["why"].to_dict() == other.nodes["why"].to_dict()
    assert one.nodes["planned"].sum() == other.nodes["planned"].sum() == 1
    assert one.jobs["label"].tolist() == ["4_2", "6", "7", "9", "10+0"]
    assert np.isnan(one.jobs["end"].iloc[1]), "an unlimited job has no end"
    first, second = (advise(4, cluster, within=1800) for cluster in (one, other))
    assert first.table().equals(second.table())


def test_the_moment_is_told_or_the_file_s(tmp_path):
    machine = machine_of((Job(1, ("n1",)),), 2)
    paths = machine.save(tmp_path, "22.05")
    os.utime(paths[0], (NOW + 7, NOW + 7))
    assert read_cluster(*paths).now == NOW + 7
    assert read_cluster(*paths, now=NOW + 1).now == NOW + 1
    paths = machine.save(tmp_path, "24.11")
    assert read_cluster(*paths).now == NOW
    with pytest.raises(ValueError, match="now=0; expected seconds since 1970, above"):
        read_cluster(*paths, now=0)


def test_an_old_file_with_a_new_time_is_doubted(tmp_path):
    paths = machine_of((Job(1, ("n1",), left=60),), 2).save(tmp_path, "22.05")
    os.utime(paths[0], (NOW + 86_400, NOW + 86_400))
    cluster = read_cluster(*paths)
    assert cluster.doubt.startswith("1 of 1 running job ") and "with --now" in cluster.doubt
    advice = advise(1, cluster)
    notes = notes_on(advice.snapshot)
    assert notes[0] == cluster.doubt and "1 job beyond the limit" in " ".join(notes)
    text = text_of(advice)
    assert text.startswith(f"note: {cluster.doubt}\n\n") and text.count("--now") == 1
    with pytest.raises(ValueError, match=r"no commands for a queue of 20.*: 1 of 1 running job "):
        commands_of(advice)
    assert commands_of(advise(1, read_cluster(*paths, now=NOW)))
    assert advise(2, cluster).table()["end"].max() == 0, "nobody knows when it ends"


def test_a_moment_before_jobs_started_is_doubted(tmp_path):
    paths = machine_of((Job(1, ("n1",)),), 2).save(tmp_path)
    assert not read_cluster(*paths, now=NOW - 3600).notes, "clocks differ a little"
    notes = read_cluster(*paths, now=NOW - 7200).notes
    assert notes == ("1 job started after the moment of the advice: is it the right one?",)


def test_a_job_just_past_its_limit_is_expected_to_go(tmp_path):
    cluster = read_cluster(*machine_of((Job(1, ("n1",), left=-20),), 1).save(tmp_path))
    assert advise(1, cluster, within=60).table()["end"].tolist() == [0, 1]


@pytest.mark.parametrize(
    ("flags", "why"),
    [
        (("IDLE", "DRAIN"), "drain"),
        (("MIXED", "DRAIN"), "drain"),
        (("DOWN",), "down"),
        (("IDLE", "NOT_RESPONDING"), "not responding"),
        (("IDLE", "MAINTENANCE", "RESERVED"), "maintenance"),
        (("IDLE", "RESERVED"), "reserved"),
        (("IDLE", "POWERED_DOWN"), "powered down"),
        (("UNKNOWN",), "unknown"),
        (("NEWSTATE",), "unknown"),
        (("ALLOCATED",), "busy with jobs that squeue does not show"),
    ],
)
@pytest.mark.parametrize("dialect", DIALECTS)
def test_nodes_of_no_use_are_told(tmp_path, flags, why, dialect):
    machine = machine_of((Job(1, ("n1",)),), 3, n3=flags)
    advice = advise(2, read_cluster(*machine.save(tmp_path, dialect), now=NOW), within=0)
    assert advice.free == 1
    assert f"1 {why}" in text_of(advice)
    assert advise(3, advice.cluster, within=0).possible is False


def test_a_drained_node_is_not_freed_by_stopping_its_job(tmp_path):
    machine = machine_of((Job(1, ("n1", "n2")),), 2, n2=("MIXED", "DRAIN"))
    advice = advise(1, read_cluster(*machine.save(tmp_path)), within=0)
    assert advice.table()["reachable"].tolist() == [1]
    assert advice.choice().loss == 2.0, "the job loses the work of both its nodes"


def test_a_node_of_a_reservation_by_name_is_reserved(tmp_path):
    machine = Machine((Job(1, ("n1",)),), (Node("n1", ("MIXED",)), Node("n2", reservation="beam")))
    assert advise(1, read_cluster(*machine.save(tmp_path))).free == 0


def test_partition_and_constraint(tmp_path):
    nodes = (
        Node("a1", partitions=("main", "all"), features=("gpu", "v100")),
        Node("a2", partitions=("all",), features=("gpu", "a100")),
        Node("a3", partitions=("all",)),
    )
    cluster = read_cluster(*Machine((), nodes).save(tmp_path))
    free = {name: advise(1, cluster, partition=name, within=0).free for name in ("main", "all")}
    assert free == {"main": 1, "all": 3}
    for constraint, expected in (
        ("gpu", 2),
        ("gpu&v100", 1),
        ("v100|a100", 2),
        ("gpu&(a100|x)", 1),
        ("x", 0),
        ("gpu,a100", 1),
        ("a100|gpu&v100", 2),
    ):
        advice = advise(1, cluster, partition="all", constraint=constraint, within=0)
        assert advice.free == expected, constraint
        assert satisfying(cluster.nodes, constraint).sum() == expected
    for wrong in ("", "&", "gpu&", "(gpu", "gpu)", "gpu gpu", "|a"):
        with pytest.raises(ValueError, match="expected features joined by & and"):
            satisfying(cluster.nodes, wrong)
    with pytest.raises(ValueError, match="no partition 'gpu'; there are: all, main"):
        advise(1, cluster, partition="gpu")


def test_a_share_of_a_node_is_that_of_its_scarcest_resource(tmp_path):
    """1 of 4 CPUs, but 2 of 2 GPUs: the whole node."""
    nodes = (Node("n1", ("MIXED",), gpus=2), Node("n2", ("MIXED",)), Node("n3", ("MIXED",)))
    jobs = (
        Job(1, ("n1",), 7200, cpus=1, memory=100, gpus=2),
        Job(2, ("n2",), 7200, cpus=1),
        Job(3, ("n3",), 7200, cpus=1, memory=3000),
    )
    for dialect in DIALECTS:
        cluster = read_cluster(*Machine(jobs, nodes).save(tmp_path, dialect), now=NOW)
        assert cluster.shares.round(6).tolist() == [1.0, 0.25, 0.75]


def test_gzip_a_pipe_and_any_order_are_read(tmp_path):
    squeue, sinfo = machine_of((Job(1, ("n1",)),), 2).save(tmp_path)
    packed = tmp_path / "queue.json.gz"
    packed.write_bytes(gzip.compress((tmp_path / "squeue.json").read_bytes()))
    assert len(read_cluster(sinfo, packed).nodes) == len(read_cluster(squeue, sinfo).nodes) == 2


def test_what_is_no_output_of_slurm_is_refused(tmp_path):
    squeue, sinfo = machine_of((Job(1, ("n1",)),), 2).save(tmp_path)
    odd = tmp_path / "odd.json"
    for text, expected in (
        ("", "line 1: not JSON"),
        ("JOBID STATE", "line 1: not JSON"),
        ("{}", "no list of jobs or no"),
        ('{"jobs": [\n', "line 2: not JSON"),
        ('{"jobs": [3]}', r"jobs\[0\] is int, not a record"),
        ('{"jobs": [{"job_state": "RUNNING"}]}', r"jobs\[0\]: job_id=None; expected a number"),
        ('{"jobs": [{"job_id": 1}, {"job_id": 1}]}', r"jobs\[1\]: job_id=1; expected a number of"),
        ('{"jobs": [], "errors": ["no socket"]}', "no socket"),
    ):
        odd.write_text(text)
        with pytest.raises(TraceError, match=expected):
            read_cluster(odd, sinfo)
    odd.write_text('{"sinfo": [{"nodes": {"nodes": 3}}]}')
    with pytest.raises(TraceError, match=r"sinfo\[0\] names no nodes; expected what sinfo"):
        read_cluster(squeue, odd)
    with pytest.raises(TraceError, match="a second output of sinfo"):
        read_cluster(squeue, sinfo, sinfo)
    with pytest.raises(TraceError, match=r"squeue\.json: expected also what sinfo --json prints"):
        read_cluster(squeue)
    with pytest.raises(TraceError, match=r"nowhere.json: No such file"):
        read_cluster(tmp_path / "nowhere.json")


def test_slurm_that_is_not_here_or_fails_is_told(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(TraceError, match="squeue is not installed here; run it on the cluster"):
        read_cluster()
    script = tmp_path / "squeue"
    script.write_text("#!/bin/sh\necho 'slurm_load_jobs error: no controller' >&2\nexit 1\n")
    script.chmod(0o755)
    with pytest.raises(TraceError, match=r"squeue --all --json failed: slurm_load_jobs error: no"):
        read_cluster()


NAMES = st.one_of(
    st.from_regex(r"[a-z]{1,3}[0-9]{1,4}", fullmatch=True),
    st.from_regex(r"[a-z]{1,2}(-ib)?", fullmatch=True),
    st.from_regex(r"r[1-2]n0?[0-9]{1,2}", fullmatch=True),
)


@given(st.lists(NAMES, max_size=30))
def test_folded_hosts_expand_to_the_same_names(names):
    folded = fold_hosts(names)
    assert sorted(expand_hosts(folded)) == sorted(set(names))
    assert not names or is_host_list(folded)


@given(st.lists(NAMES, min_size=1, max_size=30))
def test_host_lists_expand_as_another_library_does(names):
    """The program's own expansion against python-hostlist's, on lists that either folded."""
    hostlist = pytest.importorskip("hostlist")
    for folded in (fold_hosts(names), hostlist.collect_hostlist(names)):
        assert sorted(expand_hosts(folded)) == sorted(hostlist.expand_hostlist(folded))


def test_gpus_of_named_models_are_counted():
    assert resources_in("cpu=4,mem=2G,gres/gpu:a100=2,gres/gpu:v100=1") == (4, 2**31 / 1e9, 3)
    assert resources_in("gres/gpu=4,gres/gpu:a100=4").gpus == 4
    assert resources_in("cpu=4").gpus == 0 and np.isnan(resources_in("").gpus)


def test_folding_writes_what_slurm_writes():
    assert fold_hosts(["n9", "n10", "n11", "login"]) == "login,n[9-11]"
    assert fold_hosts(["n09", "n10", "n12"]) == "n[09-10,12]"
    assert fold_hosts(["n3"]) == "n3" and fold_hosts([]) == ""
