"""Advice for a real Slurm, started here: what it says, and what happens to who follows it."""

import getpass
import subprocess

import pytest

from cosimlab.advise import advise, commands_of, read_cluster, text_of
from cosimlib.traces.hosts import expand_hosts
from tests.cosimlab.advise import slurm as own

pytestmark = pytest.mark.skipif(
    bool(own.missing()), reason=f"no Slurm here: {own.missing()} not installed"
)


@pytest.fixture(scope="module")
def slurm():
    """Eight nodes of four CPUs, with jobs of many kinds on them."""
    try:
        with own.running() as made:
            yield made
    except TimeoutError as error:
        pytest.skip(f"Slurm does not start here: {error}")


@pytest.fixture
def asked(slurm, monkeypatch):
    """Commands of Slurm go to the one started here."""
    for name, value in slurm.environment.items():
        monkeypatch.setenv(name, value)
    return slurm


def follow(plan, *, whole=False):
    """Paste the commands of a plan into a shell; with `whole` the burst is over at once, too."""
    lines = [*commands_of(plan), *(["cosim_burst_over"] if whole else [])]
    text = "\n".join(lines)
    subprocess.run(["bash"], input=text, text=True, check=True, timeout=60)


def test_jobs_of_srun_and_waiting_tasks_of_an_array_make_way(asked):
    """Slurm refuses to requeue a job of srun; tasks that wait would take the nodes of others."""
    slurm = asked
    interactive = subprocess.Popen(
        ["srun", "-N1", "-w", "n2", "-t", "60", "sleep", "600"], stdin=subprocess.DEVNULL
    )
    try:
        slurm.submit("-N1", "--exclusive", "-x", "n[1-2,5-8]", "-t", "60", "--array=1-6%2")
        slurm.wait_until(lambda: len(read_cluster().jobs) == 3, "three jobs run")
        cluster = read_cluster()
        assert cluster.jobs["batch"].tolist().count(False) == 1 and cluster.waiting == 1
        plan = advise(len(slurm.idle()) + 3, cluster, within=0)
        promised = set(expand_hosts(",".join(plan.jobs()["hosts"])))
        assert promised == {"n2", "n3", "n4"}
        follow(plan)
        slurm.wait_until(lambda: is_idle(promised), f"idle {promised}")
    finally:
        interactive.kill()
    slurm.told("scontrol", "delete", "reservationname=cosim-burst")
    slurm.told("scancel", "-u", getpass.getuser())
    slurm.wait_until(lambda: not slurm.told("squeue", "-h"), "an empty queue")


def is_idle(nodes: set[str]) -> bool:
    """No job runs on these nodes."""
    jobs = read_cluster().jobs
    running = jobs.loc[jobs["state"] != "completing", "hosts"]
    return not nodes & set(expand_hosts(",".join(running)))


def test_advice_on_a_real_slurm_holds(asked):
    """Shared, wide, suspended, short and waiting jobs; a drained node.

    What the advice says is free is idle, and once its commands are typed the nodes that it promised
    are idle, too.
    """
    slurm = asked
    wide = slurm.submit("-N2", "--exclusive", "-w", "n[1-2]", "-t", "60", "-J", "wide")
    shared = [slurm.submit("-n1", "-w", "n3", "-t", "60", "--no-requeue") for _ in range(2)]
    bridge = slurm.submit("-N2", "-n2", "-w", "n[3-4]", "-t", "60")
    stands = slurm.submit("-n4", "-w", "n5", "-t", "60")
    endless = slurm.submit("-n1", "-w", "n6", "-t", "UNLIMITED", "-J", 'naïve|pipe "q" ü')
    for job in (wide, *shared, bridge, stands, endless):
        slurm.wait_for(job, "RUNNING")
    slurm.told("scontrol", "suspend", str(stands))
    slurm.wait_for(stands, "SUSPENDED")
    slurm.told("scontrol", "update", "NodeName=n8", "State=DRAIN", "Reason=test")
    held = slurm.submit("-N8", "--hold", "-t", "5")
    slurm.wait_for(held, "PENDING")

    cluster = read_cluster()
    states = dict(zip(cluster.jobs["job_id"], cluster.jobs["state"], strict=True))
    running = dict.fromkeys((wide, *shared, bridge, endless), "running")
    assert states == {**running, stands: "suspended"}
    assert (cluster.waiting, cluster.held) == (1, 1)
    advice = advise(1, cluster)
    assert slurm.idle() == {"n5", "n7"}, "Slurm calls the node of a suspended job idle"
    assert set(cluster.places[0][advice.snapshot.free]) == {"n7"}
    assert "of no use: 1 drain\n" in text_of(advice)
    assert "1 job without a limit" in text_of(advice)

    together = advise(7, cluster, within=0)
    assert together.choice().possible and not advise(8, cluster, within=0).possible
    group = together.jobs().set_index("job_id")["group"]
    assert group[shared[0]] == group[shared[1]] == group[bridge]
    assert group.nunique() == 4

    plan = advise(5, cluster, within=0)
    promised = set(expand_hosts(",".join(plan.jobs()["hosts"]))) | slurm.idle()
    follow(plan)
    slurm.wait_until(lambda: promised <= slurm.idle(), f"idle {promised}")
    after = advise(5, within=0)
    assert after.free >= 5 and after.choice().loss == 0 and not len(after.jobs())


def test_partitions_and_features_of_a_real_slurm(asked):
    assert advise(1, partition="big", within=0).snapshot.asked.sum() == 4
    assert advise(1, constraint="slow", within=0).snapshot.asked.sum() == 4
    with pytest.raises(ValueError, match="no partition 'gpu'; there are: big, main"):
        advise(1, partition="gpu")


def test_reserved_nodes_and_limits_of_a_real_slurm(asked):
    """A job in a reservation stays, one whose limit comes is expected to go."""
    slurm = asked
    options = ["StartTime=now", "Duration=60", "Nodes=n6", f"Users={getpass.getuser()}"]
    reserve = ["scontrol", "create", "reservation", "ReservationName=beam", "Flags=ignore_jobs"]
    slurm.told(*reserve, *options)
    inside = slurm.submit("-n1", "--reservation=beam", "-t", "5")
    short = slurm.submit("-n1", "-w", "n7", "-t", "5")
    for job in (inside, short):
        slurm.wait_for(job, "RUNNING")
    slurm.told("scontrol", "update", f"JobId={short}", "TimeLimit=1")
    # Slurm marks the nodes of a reservation every few seconds.
    slurm.wait_until(lambda: "RESERVED" in slurm.told("sinfo", "--json"), "reserved node")
    cluster = read_cluster()
    advice = advise(1, cluster, within=120)
    told = text_of(advice)
    assert "1 reserved" in told, told
    assert "1 job in a reservation, to which its nodes fall back: left alone" in told
    assert advice.table()["end"].tolist() == [0, 1, 1], "n7, at its limit"
    row = cluster.jobs["job_id"].tolist().index(inside)
    assert not advice.snapshot.stoppable[row]
