"""Claims of time-sharing: they hold on the paper's numbers, fail on others, or are unknown."""

import math
from dataclasses import replace

import numba
import pandas as pd
import pytest

from cosimlib import synthetic
from cosimlib.claims import read_statements
from cosimlib.timesharing import (
    OF_BATCH,
    WITH_MORE_JOBS,
    Evidence,
    Policies,
    RunSummary,
    applications,
    judge,
    noise_cost,
    run_policies,
    run_timesharing,
    turnaround_times,
)
from cosimlib.timesharing.summary import LEVELS

CLAIMS = read_statements().query("system == '3-timesharing'")["claim"].tolist()
HOURS = (0.01, 1.0, 2.5, 5.0, 48.0)
SMALL, LARGE = (600.0, 3.0, 0.3, 0.2), (600.0, 3.0, 1.5, 0.2)


def summary(policy="time-sharing", mean=7.9, *, quartile=1.0, small=(1.0,) * 4, large=(1.0,) * 4,
            **changed) -> RunSummary:  # fmt: skip
    """Slowdowns of a thousand jobs in each of two bins of size and four of length."""
    fields = {
        "policy": policy, "data": "made", "jobs": 8000, "utilization": 0.89, "cpu_load": 9.0,
        "mean_slowdown": mean, "waited": 0.3, "quantiles": (quartile,) * len(LEVELS),
        "nodes_edges": (1.0, 60.0, 5577.0), "length_edges": tuple(3600 * h for h in HOURS),
        "slowdown_sums": tuple(tuple(1000 * value for value in row) for row in (small, large)),
        "counts": ((1000,) * 4,) * 2, "weeks": (1.0, 2.0), "weekly_utilization": (0.9, 0.9),
        "weekly_load": (8.0, 15.0),
    }  # fmt: skip
    return RunSummary(**(fields | changed))


UNLIMITED = "time-sharing (memory unlimited)"


def turnarounds(
    batch=(400.0, 400.0), shared=(100.0, 15.0), unlimited_memory=(90.0, 10.0)
) -> pd.DataFrame:
    """Three applications, ten times as fast on sixteen nodes as on one."""
    rows = [
        (policy, name, nodes, run_time, value)
        for policy, values in (
            ("batch", batch),
            ("time-sharing", shared),
            (UNLIMITED, unlimited_memory),
        )
        for name in "abc"
        for nodes, run_time, value in zip((1, 16), (10.0, 1.0), values, strict=True)
    ]
    names = ["policy", "application", "nodes", "run_time", "turnaround_time"]
    return pd.DataFrame(rows, columns=names)


BATCH = summary("batch", 137.0, quartile=13.0, small=SMALL, large=LARGE)
FREED = summary(
    UNLIMITED, 7.0, waited=0.0, utilization=0.88, cpu_load=8.0, weekly_load=(7.0, 14.0),
    small=(0.8, 1.5, 0.5, 1.0), large=(0.8, 1.5, 2.0, 1.0),
)  # fmt: skip
NOISE_FREE = Policies(BATCH, summary(), FREED, summary(mean=3.3), BATCH)
NOISY = Policies(
    summary("batch (noise)", 1009.0, quartile=22.0, small=(9.0,) * 4, large=(9.0,) * 4),
    summary(mean=13.0), summary(UNLIMITED, 12.0, small=(10.0, 1.0, 1.0, 1.0)), summary(mean=3.3),
    BATCH,
)  # fmt: skip
BY_OVERHEAD = {
    0.0: summary(mean=8.0),
    0.05: summary(mean=9.0, utilization=0.88),
    0.08: summary(mean=10.0),
    0.13: summary(mean=40.0, utilization=0.83),
}
FREE = summary("time-sharing (not SPMD, memory unlimited)", 3.0, waited=0.0)
PAPER = Evidence(NOISE_FREE, NOISE_FREE, NOISY, FREE, BY_OVERHEAD, turnarounds(), 0.1, 500.0, True)


def with_noise_free(**changed) -> Evidence:
    return PAPER._replace(noise_free=NOISE_FREE._replace(**changed))


def with_noisy(**changed) -> Evidence:
    return PAPER._replace(noisy=NOISY._replace(**changed))


def with_overhead(overhead, **changed) -> Evidence:
    return PAPER._replace(
        by_overhead=BY_OVERHEAD | {overhead: replace(BY_OVERHEAD[overhead], **changed)}
    )


def test_every_claim_holds_on_the_paper_s_own_numbers():
    verdicts = judge(PAPER)
    assert sorted(verdicts) == sorted(CLAIMS)
    assert {claim: v.holds for claim, v in verdicts.items()} == dict.fromkeys(verdicts, True)
    assert not any(verdict.why for verdict in verdicts.values())


OTHERS = {
    "same-utilization": with_noise_free(shared=summary(utilization=0.83)),
    "slowdown-batch": PAPER._replace(long_batch=replace(BATCH, mean_slowdown=90.0)),
    "slowdown-timesharing": with_noise_free(shared=summary(mean=12.0)),
    "slowdown-not-spmd": with_noise_free(not_spmd=summary(mean=2.1)),
    "slowdown-order": with_noise_free(not_spmd=summary(mean=8.0)),
    "noise-batch": with_noisy(batch=replace(NOISY.batch, mean_slowdown=270.0)),
    "noise-batch-quartile": with_noisy(batch=summary("batch", 1009.0, quartile=13.0)),
    "noise-timesharing": with_noisy(shared=summary(mean=34.0)),
    "short-jobs-better": with_noise_free(batch=summary("batch", 137.0, small=(490.0, *SMALL[1:]),
                                                  large=(490.0, *LARGE[1:]))),
    "long-jobs-worse": with_noise_free(batch=summary("batch", 137.0, small=(*SMALL[:3], 0.3),
                                                large=(*LARGE[:3], 0.3))),
    "crossover": with_noise_free(batch=summary("batch", 137.0, small=(600.0, 3.0, 1.2, 0.2),
                                          large=LARGE)),
    "crossover-large": with_noise_free(batch=summary("batch", 137.0, small=(*SMALL[:3], 0.1),
                                                large=(600.0, 0.5, 0.5, 0.1))),
    "overhead-5": with_overhead(0.05, mean_slowdown=12.5),
    "overhead-knee": with_overhead(0.13, mean_slowdown=12.0),
    "overhead-13": with_overhead(0.13, utilization=0.86),
    "cpu-load-mean": with_noise_free(shared=summary(cpu_load=12.5)),
    "cpu-load-week": with_noise_free(shared=summary(weekly_load=(9.0, 21.0))),
    "turnaround-scales": PAPER._replace(turnarounds=turnarounds(shared=(100.0, 25.0))),
    "turnaround-batch": PAPER._replace(turnarounds=turnarounds(batch=(400.0, 60.0))),
    "turnaround-largest": PAPER._replace(turnarounds=turnarounds(batch=(400.0, 140.0))),
    "noise-wins": with_noisy(batch=summary("batch", 1009.0, quartile=22.0, small=(0.5,) * 4,
                                            large=(9.0,) * 4)),
    "not-spmd-no-noise": with_noisy(not_spmd=summary(mean=3.7)),
}  # fmt: skip


@pytest.mark.parametrize("claim", CLAIMS)
def test_every_claim_fails_on_other_numbers_and_says_why(claim):
    verdict = judge(OTHERS[claim])[claim]
    assert verdict.holds is False and verdict.why and verdict.ours != judge(PAPER)[claim].ours
    others = {c for c, v in judge(OTHERS[claim]).items() if not v.holds} - {claim}
    assert len(others) <= 2, others


def test_an_overhead_matters_by_utilization_too():
    verdict = judge(with_overhead(0.05, utilization=0.86))["overhead-5"]
    assert verdict.holds is False and "3.0 points of utilization" in verdict.why
    assert "days are few" not in verdict.why
    assert "15 days are few" in judge(
        with_overhead(0.05, utilization=0.86)._replace(days=15.0)
    )["overhead-5"].why  # fmt: skip


def test_numbers_of_edison_are_unknown_on_a_log():
    verdicts = judge(PAPER._replace(edison=False))
    decided = {claim for claim, verdict in verdicts.items() if verdict.holds is not None}
    assert decided == {
        "slowdown-order", "noise-batch-quartile", "noise-timesharing", "not-spmd-no-noise",
        "turnaround-scales", "turnaround-batch",
    }  # fmt: skip
    assert verdicts["crossover"].why == (
        "of Edison and its load of 0.89; here is one that keeps it 89 % busy"
    )
    assert judge(PAPER._replace(load=0.886))["crossover"].holds is True
    light = judge(PAPER._replace(load=0.87))
    assert light["crossover"].why == "of Edison and its load of 0.89; here is one of 0.87"
    assert {claim for claim, verdict in light.items() if verdict.holds is not None} == decided


def test_nothing_is_decided_on_few_jobs_or_without_waits():
    for batch in (replace(BATCH, jobs=999), replace(BATCH, waited=0.0)):
        verdicts = judge(with_noise_free(batch=batch))
        assert all(v.holds is None and v.why and v.ours for v in verdicts.values())


LIGHT = replace(FREED, cpu_load=5.9)


def test_few_jobs_on_a_node_decide_only_what_more_could_not_change():
    """Two claims that hold have no limit on the side to which more jobs would move them."""
    verdicts = judge(with_noise_free(unlimited_memory=LIGHT))
    undecided = {claim for claim, verdict in verdicts.items() if verdict.holds is None}
    assert undecided == set(WITH_MORE_JOBS) - {"slowdown-order", "overhead-knee"}
    here = "here are 5.9, on 5,576 nodes"
    for claim, goes in (("crossover", "another"), ("overhead-5", "greater"),
                        ("turnaround-scales", "less")):  # fmt: skip
        of_edison = f"of 5,576 nodes with 9 jobs each, with which it is {goes}"
        assert verdicts[claim].why == f"{of_edison}; {here}"
    enough = with_noise_free(unlimited_memory=replace(FREED, cpu_load=6.1))
    assert all(verdict.holds for verdict in judge(enough).values())
    assert judge(with_noise_free(unlimited_memory=LIGHT), enough)["crossover"].holds is True


@pytest.mark.parametrize("claim", WITH_MORE_JOBS)
def test_few_jobs_on_a_node_fail_only_what_more_would_fail_the_more(claim):
    """Whichever way a claim comes out, the rule is the same."""
    few = OTHERS[claim]
    memory = replace(few.noise_free.unlimited_memory, cpu_load=5.9)
    few = few._replace(noise_free=few.noise_free._replace(unlimited_memory=memory))
    beyond = {"slowdown-timesharing", "cpu-load-mean", "cpu-load-week", "noise-timesharing",
              "overhead-5", "turnaround-scales"}  # fmt: skip
    assert judge(few)[claim].holds is (False if claim in beyond else None)


def test_batch_alone_may_have_seeds_of_its_own():
    verdicts = judge(PAPER, others=dict.fromkeys(OF_BATCH, with_batch_means(130.0, 137.0, 144.0)))
    assert verdicts["slowdown-batch"].ours == "mean 137 (121 to 155) over 3 seeds; one of them: 130"
    assert verdicts["noise-batch"].ours.startswith("factor 7.36 in all 3 seeds; one of them: 137")
    alone = judge(PAPER)
    assert {claim for claim in CLAIMS if verdicts[claim] != alone[claim]} == set(OF_BATCH)


def test_large_jobs_cross_later_than_all_on_the_same_runs():
    """The factor decides, wherever both are."""
    found = judge(PAPER)["crossover-large"]
    assert found[:2] == ("3.3 → 4.76 (memory unlimited 2.73 → 2.79) h", True)
    longer = {"length_edges": tuple(10 * edge for edge in BATCH.length_edges)}
    runs = [replace(run, **longer) for run in NOISE_FREE]
    moved = judge(PAPER._replace(noise_free=Policies(*runs)))
    assert moved["crossover"].holds is False and moved["crossover-large"].holds is True
    same = judge(with_noise_free(batch=summary("batch", 137.0, small=LARGE, large=LARGE)))
    assert same["crossover-large"].holds is False
    assert same["crossover-large"].why == (
        "large jobs are slowed down × 1.00 as much as others time-shared, × 1.00 under batch"
    )


def crossing(small, large, **changed):
    """The verdict on large jobs' crossover, from slowdowns under batch by length."""
    batch = summary("batch", 137.0, small=small, large=large, **changed)
    return judge(with_noise_free(batch=batch))["crossover-large"]


def test_crossovers_at_the_ends_are_told_in_words():
    """Batch scheduling better for all, or for none, or no large jobs: nothing to compare."""
    least, most = (1e-3,) * 4, (9e6,) * 4
    nowhere = crossing(least, least)
    assert nowhere == ("0 → 0 (memory unlimited 0 → 0) h", None, nowhere.why, False)
    assert nowhere.why == "batch is better whatever the run time, for large jobs and for all"
    throughout = crossing(most, most)
    assert throughout[:2] == ("never → never (memory unlimited never → never) h", None)
    assert throughout.why == (
        "time-sharing is better whatever the run time, for large jobs and for all"
    )
    alone = {"counts": ((1000,) * 4, (0,) * 4)}
    none = (0.0,) * 4
    runs = {"batch": summary("batch", 137.0, small=SMALL, large=none, **alone),
            "shared": summary(large=none, **alone),
            "unlimited_memory": replace(FREED, slowdown_sums=summary(large=none).slowdown_sums,
                                        **alone)}  # fmt: skip
    found = judge(with_noise_free(**runs))["crossover-large"]
    assert found.holds is None and found.why == "no jobs of 1 % of the machine or more"
    assert "nan" not in found.ours and "→ none" in found.ours
    twice = judge(*[with_noise_free(**runs)] * 2)["crossover-large"]
    assert twice.ours.endswith("no number in 2 of 2 seeds") and twice.why == found.why


def test_a_crossover_from_none_is_later_by_any_factor():
    """Large jobs cross at some time, all of them at none: later than twice, and so not as printed.

    The other way round, where all cross and large jobs never do, it is the same.
    """
    late = crossing((1e-3,) * 4, (0.9, 1.5, 0.5, 0.5))
    assert late.ours.startswith("0 → ") and late.holds is False and "nan" not in late.why
    later = crossing(SMALL, (*SMALL[:3], 1.1))
    assert later.ours.startswith("2.32 → never (") and later.holds is False
    never = crossing((0.5,) * 4, (1.4,) * 4)
    assert never.ours.startswith("0 → never") and never.holds is False
    sooner = crossing((9e6,) * 4, (0.5,) * 4)
    assert sooner.ours.startswith("never → 0") and sooner.holds is False


def test_noise_that_does_not_raise_time_sharing_raises_it_less():
    same = replace(NOISY.shared, mean_slowdown=NOISE_FREE.shared.mean_slowdown)
    assert judge(with_noisy(shared=same))["noise-timesharing"].holds is True


def test_applications_unlike_the_jobs_decide_nothing():
    none = PAPER.turnarounds.assign(turnaround_time=math.nan)
    verdicts = judge(PAPER._replace(turnarounds=none))
    few = "fewer than 3 applications have turnarounds at two sizes: 0"
    assert verdicts["turnaround-batch"][:3] == ("in none of 0 applications", None, few)
    ours = "in none (memory unlimited none) of 0 applications"
    assert verdicts["turnaround-scales"][:3] == (ours, None, few)
    two = PAPER.turnarounds.query("application != 'c'")
    verdict = judge(PAPER._replace(turnarounds=two))["turnaround-largest"]
    assert verdict.holds is None and verdict.why == (
        "fewer than 3 applications have turnarounds at two sizes: 2"
    )


def test_a_number_that_there_is_not_is_told_in_words():
    nobody = replace(NOISY.batch, counts=((1,) * 4,) * 2)
    verdict = judge(with_noisy(batch=nobody))["noise-wins"]
    assert "nan" not in verdict.ours + verdict.why and verdict.ours.startswith("none of the bins")


def test_no_noise_or_another_or_hardly_any_decides_nothing_about_noise():
    verdicts = judge(PAPER._replace(noise_cost=0.0))
    of_noise = {
        "noise-batch", "noise-batch-quartile", "noise-timesharing", "noise-wins",
        "not-spmd-no-noise",
    }  # fmt: skip
    assert {claim for claim, verdict in verdicts.items() if verdict.holds is None} == of_noise
    assert judge(PAPER._replace(noise=0.001001))["noise-wins"].holds is True
    verdicts = judge(PAPER._replace(noise=0.0011))
    assert {claim for claim, verdict in verdicts.items() if verdict.holds is None} == of_noise
    verdicts = judge(PAPER._replace(noise=0.01))
    assert {claim for claim, verdict in verdicts.items() if verdict.holds is None} == of_noise
    assert verdicts["noise-wins"].why == "of a noise of 0.001; this is one of 0.01"
    verdicts = judge(with_noisy(batch=replace(NOISY.batch, mean_slowdown=138.0)))
    assert verdicts["noise-timesharing"].holds is None
    slightly = replace(NOISY.batch, quantiles=(13.1,) * len(LEVELS))
    assert judge(with_noisy(batch=slightly))["noise-batch-quartile"].holds is False


def with_batch_means(*means):
    """The paper's evidence, one per mean slowdown under batch."""
    return [PAPER._replace(long_batch=replace(BATCH, mean_slowdown=mean)) for mean in means]


def test_seeds_decide_by_the_interval_of_their_mean():
    """Limits are 91.3 and 205.5; the interval is that of the geometric mean."""
    near = judge(*with_batch_means(130.0, 137.0, 144.0))["slowdown-batch"]
    assert near.holds is True and near.why == ""
    assert near.ours == "mean 137 (121 to 155) over 3 seeds; one of them: 130"
    far = judge(*with_batch_means(300.0, 310.0, 320.0))["slowdown-batch"]
    assert far.holds is False and far.why.startswith("the mean of a heavy tail")
    wide = judge(*with_batch_means(80.0, 137.0, 240.0))["slowdown-batch"]
    assert wide.holds is None
    assert wide.why == "3 seeds do not decide: the interval holds the limit 91.3"
    alone = judge(*with_batch_means(137.0))["slowdown-batch"]
    assert alone[:2] == ("137", True)
    with pytest.raises(ValueError, match="no evidence; give at least one"):
        judge()


def test_seeds_without_a_number_decide_only_where_they_agree():
    """A crossover that there is not, in all seeds or in some."""
    never = with_noise_free(batch=replace(BATCH, slowdown_sums=((9e6,) * 4,) * 2))
    verdict = judge(never, never)["crossover"]
    assert verdict.holds is False and verdict.ours.endswith("; so in 0 of 2 seeds")
    verdict = judge(PAPER, never)["crossover"]
    assert verdict.holds is None and verdict.why == "seeds differ"
    assert "nan" not in verdict.ours + verdict.why


def test_seeds_that_agree_on_a_number_say_so():
    verdict = judge(PAPER, PAPER, PAPER)["crossover"]
    assert verdict.ours.startswith("mean 3.3 in all 3 seeds; one of them: ") and verdict.holds


def test_limits_that_a_number_cannot_pass_decide_nothing():
    """Distances from 0 to 0.01 over seeds: an interval that holds 0 holds no limit."""
    seeds = [with_noise_free(shared=summary(utilization=busy)) for busy in (0.89, 0.89, 0.9)]
    near = judge(*seeds)["same-utilization"]
    assert "(-0." in near.ours and near.holds is True
    shares = [with_noisy(), with_noisy(), OTHERS["noise-wins"]]
    assert judge(*shares)["noise-wins"].holds is None


def test_a_wider_interval_decides_less_and_says_so():
    seeds = with_batch_means(120.0, 137.0, 156.0)
    assert judge(*seeds)["slowdown-batch"].holds is True
    wide = judge(*seeds, levels={"slowdown-batch": 0.99})["slowdown-batch"]
    assert wide.holds is None and wide.ours.startswith("mean 137 (99 %: ")


def test_evidence_without_the_runs_of_a_claim_is_refused_by_name():
    with pytest.raises(ValueError, match=r"claim 'overhead-5': no run with an overhead of 0; give"):
        judge(PAPER, PAPER._replace(by_overhead={}))
    with pytest.raises(ValueError, match="claim 'noise-batch': no run under noise; give"):
        judge(PAPER, PAPER._replace(noisy=None))


def test_long_runs_of_batch_count_both_or_neither():
    """Those of other machines and days are never set against one another."""
    other = replace(BATCH, mean_slowdown=400.0)
    alone = PAPER._replace(long_batch=other)
    assert alone.calm_batch is other and alone.batch_pair == (BATCH, NOISY.batch)
    assert PAPER._replace(long_noisy_batch=other).batch_pair == (BATCH, NOISY.batch)
    assert PAPER._replace(long_batch=other, long_noisy_batch=BATCH).batch_pair == (other, BATCH)
    calm = PAPER._replace(noisy=None, noisy_days_without_noise=None)
    assert calm.calm_batch is BATCH


def test_batch_over_more_days_is_what_claims_about_batch_alone_are_judged_by():
    other = replace(BATCH, mean_slowdown=400.0, quantiles=(13.0,) * len(LEVELS))
    noisy = replace(other, mean_slowdown=600.0)
    longer = PAPER._replace(long_batch=other, long_noisy_batch=noisy)
    verdicts = judge(longer)
    assert verdicts["slowdown-batch"][:2] == ("400", False)
    assert verdicts["noise-batch"][:2] == ("400 → 600", False)
    assert verdicts["noise-batch-quartile"][:2] == ("13.00 → 13.00", False)
    assert verdicts["slowdown-order"].holds is True


def test_real_runs_are_judged():
    days, nodes = (3, 24) if numba.config.DISABLE_JIT else (10, 64)
    workload = synthetic.edison(days, nodes=nodes, seed=5)
    noise_free = run_policies(workload, workload.machine, warm_up=0.0, seed=1)
    assert noise_free.unlimited_memory.waited == 0.0
    assert noise_free.not_spmd.mean_slowdown < noise_free.shared.mean_slowdown
    noisy = run_policies(workload, workload.machine, warm_up=0.0, seed=1, noise=0.01)
    by_overhead = {
        overhead: run_timesharing(
            workload, workload.machine, warm_up=0.0, seed=1, memory=False, overhead=overhead
        )
        for overhead in (0.0, 0.05, 0.08, 0.13)
    }
    times = turnaround_times(applications(nodes / 5576), *noise_free[:3])
    cost = noise_cost(workload, noise=0.01, seed=1)
    free = run_timesharing(
        workload, workload.machine, warm_up=0.0, seed=1, memory=False, spmd=False
    )
    runs = noise_free, noise_free, noisy, free, by_overhead
    verdicts = judge(Evidence(*runs, times, cost, days, True))
    assert sorted(verdicts) == sorted(CLAIMS)
    assert all(bool(verdict.why) == (verdict.holds is not True) for verdict in verdicts.values())
