"""Ways not to evict, or to lose nothing: shrink, take turns, stop after a checkpoint, fillers."""

from dataclasses import replace

import numpy as np
import pytest

from cosimlib.audit import InfeasibleScheduleError, audit
from cosimlib.ondemand import Checkpoints, Share, Shrink, ledger
from cosimlib.units import HOUR
from tests.cosimlib.ondemand.fluid import Fluid
from tests.cosimlib.ondemand.instances import draw, schedule_of, theirs
from tests.cosimlib.ondemand.test_simulation import bursts_of, run, workload_of

EVENTS = ["job", "action", "time", "done", "kept"]


def by_use(schedule) -> dict[str, float]:
    """Node-seconds of each use."""
    hours = schedule.node_hours_by_use(0, 30_000) * HOUR
    return {use: pytest.approx(value) for use, value in hours.items()}


@pytest.mark.parametrize(("turn", "takes"), [(0.5, 200), (0.25, 400)])
def test_a_burst_takes_turns_with_the_narrowest_job_that_is_wide_enough(turn, takes):
    """It has 100 s of its own; the job's fifth node, which it does not need, then stands still."""
    schedule = run(policy=Share(turn=turn))
    assert schedule.start_time.tolist() == [0, 0, 5_000]
    assert schedule.end_time.tolist() == [10_100, 10_000, 5_000 + takes]
    assert by_use(schedule) == {"run": 80_400, "hold": 100}
    assert len(schedule.evictions) == 0


def test_a_wide_burst_shares_with_several_and_what_it_holds_stands_still_in_their_turn():
    jobs = workload_of((0, 10_000, 10_000, 5), (0, 10_000, 10_000, 2))
    schedule = run(jobs, bursts_of((5_000, 100, 7, 60, np.nan, np.nan)), policy="share")
    assert schedule.end_time.tolist() == [10_100, 10_100, 5_200]
    assert by_use(schedule) == {"run": 70_000 + 700, "hold": 100 * 1 + 100 * (7 - 6)}


def test_nodes_that_a_host_lent_are_the_burst_s_own_when_it_ends():
    """Each has half the time: the host's last 50 s take 100, the burst's other 50 only 50."""
    jobs = workload_of((0, 5_050, 10_000, 5), (0, 10_000, 10_000, 3))
    schedule = run(jobs, policy="share")
    assert schedule.end_time.tolist() == [5_100, 10_000, 5_150]


def test_malleable_jobs_shrink_by_equal_parts_and_grow_again():
    """They could give 4 and 2 nodes and give 3 and 1: at 2/5 and 2/3 of full speed for 100 s."""
    schedule = run(policy=Shrink(malleable=1.0))
    assert schedule.bursts["delay"].tolist() == [0]
    assert schedule.end_time.tolist() == pytest.approx([10_060, 10_000 + 100 / 3, 5_100])
    assert by_use(schedule) == {"run": 80_400}
    assert len(schedule.evictions) == 0


def test_where_shrinking_would_not_do_jobs_are_preempted_instead():
    few = run(policy=Shrink(malleable=1.0, least=0.8))
    none = run(policy=Shrink(malleable=0.0))
    for schedule in (few, none):
        assert schedule.end_time.tolist() == run(policy="preempt").end_time.tolist()
        assert schedule.evictions["job"].tolist() == [0]


def test_preempting_goes_from_the_least_loss_on():
    """Three nodes lose less, but are too few; the five that are added then do without them."""
    schedule = run(policy="preempt")
    assert schedule.evictions["job"].tolist() == [0]
    assert schedule.evictions["kept"].tolist() == [0]


def test_until_the_predicted_arrival_jobs_stop_where_they_lose_nothing():
    """Three nodes are free at the notice; the other comes from a job saved at 4,500."""
    told, jobs = bursts_of((5_000, 100, 4, 60, 4_000, 5_000)), workload_of((0, 10_000, 10_000, 5))
    schedule = run(jobs, told, policy="preempt", notice="predict", checkpoints=Checkpoints(900.0))
    events = schedule.evictions[EVENTS].to_dict("list")
    assert events == {
        "job": [0],
        "action": ["kill"],
        "time": [4_500],
        "done": [4_500],
        "kept": [4_500],
    }
    assert schedule.bursts["delay"].tolist() == [0]
    read = schedule.checkpoints["app_write"][0]
    assert schedule.end_time[0] == 5_100 + read + 5_500
    held = 3 * 500 + 4 * 500
    assert by_use(schedule) == {"run": 50_400, "hold": held, "reread": 5 * read}
    for soon in ([(0, 4_900, 4_950, 5)], [(0, 4_900, 4_950, 5), (0, 10_000, 10_000, 3)]):
        schedule = run(
            workload_of(*soon),
            told,
            policy="preempt",
            notice="predict",
            checkpoints=Checkpoints(900.0),
        )
        assert len(schedule.evictions) == 0


def test_who_saves_nothing_before_the_predicted_arrival_is_not_chosen():
    """The job of 5 nodes would be saved at 5,400, the other is at 4,500."""
    told = bursts_of((5_000, 100, 3, 60, 4_000, 5_000))
    jobs = workload_of((0, 10_000, 10_000, 3), (3_900, 10_000, 10_000, 5))
    schedule = run(jobs, told, policy="preempt", notice="predict", checkpoints=Checkpoints(1_500.0))
    assert schedule.evictions[["job", "time"]].to_numpy().tolist() == [[0, 4_500]]


def test_containers_work_on_what_idles_and_delay_nobody():
    """Four nodes idle for the 100 s of the burst, of which containers need 60 to start."""
    plain, filled = run(policy="wait"), run(policy="wait", start_up=60.0)
    assert filled.end_time.tolist() == plain.end_time.tolist()
    assert by_use(filled) == {**by_use(plain), "container": 4 * 40}
    assert ledger(filled)["containers"] * HOUR == pytest.approx(160)


@pytest.mark.parametrize("policy", ["shrink", "share"])
def test_the_oracle_in_fractions_sees_the_same_happen(policy):
    slower = 0
    for seed in range(40):
        instance = draw(seed, policy)
        schedule, machine = audit(schedule_of(instance)), theirs(instance, Fluid)
        where = f"{policy}, seed {seed}"
        for ours, name in ((schedule.start_time, "start"), (schedule.end_time, "end")):
            exact = [float(getattr(job, name)) for job in machine.jobs]
            assert ours.tolist() == pytest.approx(exact, abs=1e-5), where
        rows = sorted(schedule.evictions[EVENTS].itertuples(index=False, name=None))
        assert [row[:2] for row in rows] == [row[:2] for row in sorted(machine.evictions)], where
        for row, exact in zip(rows, sorted(machine.evictions), strict=True):
            assert row[2:] == pytest.approx([float(value) for value in exact[2:]], abs=1e-5), where
        table = schedule.allocations
        amounts = ((table["end"] - table["start"]) * table["nodes"]).groupby(
            [table["job"], table["use"]], observed=True
        )
        exact = {key: float(value) for key, value in machine.amounts.items() if value}
        assert amounts.sum().to_dict() == pytest.approx(exact, abs=1e-3), where
        wanted = schedule.workload.jobs["nodes"].to_numpy()[schedule.stretches["job"]]
        fewer = (schedule.stretches["nodes"] < wanted) & (schedule.stretches["kind"] != "hold")
        slower += fewer.sum() + (schedule.stretches["kind"] == "turn").sum()
    assert slower > 5


@pytest.mark.parametrize("policy", ["reserve", "kill", "shrink", "share", "dynamic"])
def test_ledgers_with_containers_add_up_and_schedules_stay_as_they_are(policy):
    worked = 0.0
    for seed in range(15):
        plain = schedule_of(draw(seed, policy))
        filled = audit(replace(plain, start_up=2.0))
        last = float(plain.end_time.max())
        for first, end in ((0.0, last), (7.0, 19.0)):
            hours, before = (ledger(one, start=first, end=end) for one in (filled, plain))
            assert hours.sum() * HOUR == pytest.approx(filled.total_nodes * (end - first))
            assert (hours > -1e-6).all() and hours["idle"] <= before["idle"] + 1e-6
            worked += hours["containers"]
    assert worked > 0


def test_turns_and_fewer_nodes_are_refused_where_the_policy_has_none():
    shared, shrunk = run(policy="share"), run(policy=Shrink(malleable=1.0))
    with pytest.raises(InfeasibleScheduleError, match="kind='turn'; expected no turns but under"):
        audit(replace(shared, policy="wait", mechanism="wait"))
    with pytest.raises(InfeasibleScheduleError, match="expected what it asks for"):
        audit(replace(shrunk, policy="preempt", mechanism="preempt"))
    with pytest.raises(InfeasibleScheduleError, match="expected what it asks for"):
        audit(replace(shrunk, least_nodes=np.array([3, 3, 4])))
    stretches = shrunk.stretches.assign(after=shrunk.stretches["after"] + 1)
    with pytest.raises(InfeasibleScheduleError, match="expected the progress that its time allows"):
        audit(replace(shrunk, stretches=stretches))
