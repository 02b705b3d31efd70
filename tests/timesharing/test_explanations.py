"""Why claims of time-sharing fail: memory where it is the cause, and its numbers beside ours."""

import math
from dataclasses import replace

import pytest

from cosimlib.timesharing import judge, lost_late
from tests.timesharing.test_claims import BATCH, FREED, NOISE_FREE, PAPER, summary, with_noise_free

OURS = {
    "same-utilization": "batch 89 %, sharing 89 % (memory unlimited 88 %)",
    "slowdown-timesharing": "7.9 (memory unlimited 7)",
    "slowdown-order": "137 > 7.9 > 3.3; memory unlimited 7, 3",
    "noise-timesharing": "7.9 → 13",
    "noise-wins": "100 % of the bins, 100 % of the jobs",
    "short-jobs-better": "600 (memory unlimited 750); best bin 600",
    "long-jobs-worse": "5 (memory unlimited 5); worst bin 5",
    "crossover": "3.3 (memory unlimited 2.73) h",
    "crossover-large": "3.3 → 4.76 (memory unlimited 2.73 → 2.79) h",
    "cpu-load-mean": "9 (memory unlimited 8)",
    "cpu-load-week": "15 (memory unlimited 14)",
    "turnaround-scales": "in 100 % (memory unlimited 100 %) of 3 applications",
    "turnaround-largest": "median factor 26.7 (memory unlimited 40)",
}


@pytest.mark.parametrize("claim", OURS)
def test_memory_as_printed_comes_first_and_unlimited_beside(claim):
    assert judge(PAPER)[claim].ours == OURS[claim]


HOLDS_FREED = {
    "same-utilization": {"utilization": 0.83},
    "slowdown-timesharing": {"mean_slowdown": 100.0},
    "slowdown-order": {"mean_slowdown": 150.0},
    "cpu-load-mean": {"cpu_load": 5.0},
    "short-jobs-better": {"slowdown_sums": ((9e4, 1e3, 1e3, 1e3),) * 2},
    "long-jobs-worse": {"slowdown_sums": ((1e3, 1e3, 1e2, 1e2),) * 2},
    "crossover": {"slowdown_sums": ((1e6, 1e6, 1e6, 1e6),) * 2},
}
FAILS_FREED = {
    "same-utilization": {"utilization": 0.8},
    "slowdown-timesharing": {"mean_slowdown": 12.0},
    "slowdown-order": {"mean_slowdown": 140.0},
    "cpu-load-mean": {"cpu_load": 13.0},
    "short-jobs-better": {"slowdown_sums": ((9e4, 1e3, 1e3, 1e3),) * 2},
    "long-jobs-worse": {"slowdown_sums": ((1e3, 1e3, 1e2, 1e2),) * 2},
    "crossover": {"slowdown_sums": ((1e6, 1e6, 1e6, 1e6),) * 2},
}


@pytest.mark.parametrize("claim", HOLDS_FREED)
def test_memory_is_blamed_only_where_unlimited_memory_passes(claim):
    wrong = replace(NOISE_FREE.shared, **HOLDS_FREED[claim])
    verdict = judge(with_noise_free(shared=wrong))[claim]
    assert verdict.holds is False
    assert (
        verdict.why == "30.0 % of the jobs wait for memory; which of them need much is not printed"
    )
    both = with_noise_free(shared=wrong, unlimited_memory=replace(FREED, **FAILS_FREED[claim]))
    verdict = judge(both)[claim]
    assert verdict.holds is False and verdict.why.startswith("so with unlimited memory, too; how")
    nobody = judge(with_noise_free(shared=replace(wrong, waited=0.0)))[claim]
    assert nobody.why.startswith("so with unlimited memory, too")


def test_few_jobs_on_a_node_are_a_reason_on_edison_only():
    """A claim that needs no number of Edison's, failing with unlimited memory too."""
    slow = {"shared": summary(mean=200.0), "not_spmd": summary(mean=300.0)}
    few = with_noise_free(
        **slow, unlimited_memory=replace(FREED, mean_slowdown=200.0, cpu_load=5.9)
    )
    why = judge(few)["slowdown-order"].why
    assert why.startswith("of 5,576 nodes with 9 jobs each, with which it is greater; here are 5.9")
    on_a_log = judge(few._replace(edison=False))["slowdown-order"].why
    assert on_a_log == "so with unlimited memory, too"
    enough = replace(FREED, mean_slowdown=200.0, cpu_load=6.1)
    why = judge(with_noise_free(**slow, unlimited_memory=enough))["slowdown-order"].why
    assert why.startswith("so with unlimited memory, too; how")


def test_on_a_log_the_nodes_memory_is_assumed():
    slow = with_noise_free(shared=summary(mean=200.0))._replace(edison=False)
    assert judge(slow)["slowdown-order"].why == (
        "30.0 % of the jobs wait for memory; nodes' memory is assumed, for it is not in the log"
    )


def test_jobs_that_are_not_spmd_are_explained_by_their_own_runs():
    """Memory where unlimited memory passes, and the share that waits is theirs."""
    not_spmd = summary(mean=21.0, waited=0.026, cpu_load=2.6)
    verdicts = judge(with_noise_free(not_spmd=not_spmd))
    own = "2.6 % of the jobs wait for memory; which of them need much is not printed"
    assert verdicts["slowdown-not-spmd"].why == own
    assert verdicts["slowdown-not-spmd"].ours == "21 (memory unlimited 3)"
    assert verdicts["slowdown-order"].why == own
    crowded = with_noise_free(not_spmd=not_spmd)._replace(
        not_spmd_unlimited_memory=summary(mean=12.0, waited=0.0)
    )
    for claim in ("slowdown-not-spmd", "slowdown-order"):
        assert judge(crowded)[claim].why.startswith("so with unlimited memory, too")


@pytest.mark.parametrize(("busy", "holds"), [(0.85, True), (0.83, False), (0.95, False)])
def test_utilizations_are_near_one_another_and_the_printed_one(busy, holds):
    both = {"batch": replace(BATCH, utilization=busy), "shared": summary(utilization=busy)}
    assert judge(with_noise_free(**both))["same-utilization"].holds is holds


def test_large_jobs_have_a_hundredth_of_the_machine():
    """Bins of 56 nodes and more of 5,576 are large, those of 55 are not."""
    for least, hours in ((55.0, ""), (56.0, "3.3 → 4.76")):
        edges = {"nodes_edges": (1.0, least, 5577.0)}
        runs = {"batch": replace(BATCH, **edges), "shared": summary(**edges),
                "unlimited_memory": replace(FREED, **edges)}  # fmt: skip
        found = judge(with_noise_free(**runs))["crossover-large"].ours
        assert found.startswith(hours) if hours else found.startswith("3.3 → none ("), found


def test_bins_lost_late_are_a_share_of_those_that_are_lost():
    """Of three lost bins two are of jobs from 5 hours on; bins with few jobs do not count."""
    batch = summary("batch", small=(2.0, 0.5, 2.0, 0.5), large=(2.0, 2.0, 2.0, 0.5))
    assert lost_late(batch, summary(), hours=4.0) == pytest.approx(2 / 3)
    few = replace(batch, counts=((1000, 9, 1000, 1000), (1000,) * 4))
    assert lost_late(few, summary(), hours=4.0) == 1.0
    assert math.isnan(lost_late(summary(small=(2.0,) * 4, large=(2.0,) * 4), summary(), hours=4.0))
