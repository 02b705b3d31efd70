"""Claims about bursts on a batch machine, judged by paired 95 % intervals over seeds.

Those of Maurya et al. are from their introduction, where they set eviction against the two naive
solutions: nodes kept apart, and killing. Those of Fan et al. are from their abstract. Our own are
what an eviction costs beside the loss that plans minimize, and what the ways not to evict cost.
"""

from typing import NamedTuple

import pandas as pd

from cosimlib.claims import Verdict, unknown, verdict
from cosimlib.display import percent
from cosimlib.metrics import mean_interval
from cosimlib.metrics.intervals import Interval
from cosimlib.ondemand.comparison import FAN, OVERHEAD

AT_ONCE = 0.95
"""Share of bursts that start the second they come, from which on their delay is minimal."""

SEEDS = 3
"""Least number of seeds that an interval is taken of."""


class Evidence(NamedTuple):
    """Runs as of `compare_ondemand`, on one stream, and the policies that keep nodes apart.

    `runs` has the policies `wait`, `kill`, `dynamic` and `dynamic_blocked` besides. `ideas` has, on
    a stream with notices and with fillers, `wait`, `dynamic_blocked`, `share`, `reserve`, and those
    of `FAN`.
    """

    runs: pd.DataFrame
    few: str
    many: str
    ideas: pd.DataFrame


def judge(evidence: Evidence) -> dict[str, Verdict]:
    """The verdict on each claim."""
    judges = {
        "kill-misses-none": _kill_misses_none,
        "kill-slows-batch": _kill_slows_batch,
        "few-reserved-miss": _few_reserved_miss,
        "many-reserved-idle": _many_reserved_idle,
        "plans-lose-less": _plans_lose_less,
        "loss-is-not-the-cost": _loss_is_not_the_cost,
        "counting-blocked-saves": _counting_blocked_saves,
        "slowdown-tells-nothing": _slowdown_tells_nothing,
    }
    of_ideas = {
        "fan-minimal-delay": _fan_minimal_delay,
        "fan-incentive": _fan_incentive,
        "fan-performance": _fan_performance,
        "stopping-saved-costs-less": _stopping_saved_costs_less,
        "shrinking-costs-less": _shrinking_costs_less,
        "sharing-costs-less": _sharing_costs_less,
        "fillers-pay-for-reserving": _fillers_pay_for_reserving,
    }
    few = unknown("–", f"no bursts came on {SEEDS} seeds or more")
    verdicts = {
        claim: one(evidence) if _tells(evidence.runs) else few for claim, one in judges.items()
    }
    return verdicts | {
        claim: one(evidence.ideas) if _tells(evidence.ideas) else few
        for claim, one in of_ideas.items()
    }


def _tells(runs: pd.DataFrame) -> bool:
    """Whether bursts came on enough seeds."""
    return len(runs) > 0 and runs.loc[runs["bursts"] > 0, "seed"].nunique() >= SEEDS


def _mean(runs: pd.DataFrame, policy: str, measure: str) -> float:
    return float(runs.loc[runs["policy"] == policy, measure].mean())


def _apart(runs: pd.DataFrame, one: str, other: str, measure: str) -> Interval:
    """The difference between two policies on the same seeds."""
    wide = runs[runs["policy"].isin([one, other])].pivot_table(measure, "seed", "policy")
    return mean_interval((wide[one] - wide[other]).dropna())


def _text(apart: Interval, unit: str) -> str:
    return f"{apart.mean:+,.1f} ({apart.low:+,.1f} to {apart.high:+,.1f}) {unit}"


def _decided(apart: Interval, sign: int, ours: str, why: str) -> Verdict:
    """A claim that a difference has a sign; unknown where its interval holds 0."""
    if apart.low <= 0 <= apart.high:
        return unknown(ours, "the interval over seeds holds 0")
    return verdict(ours, apart.mean * sign > 0, why)


def _kill_misses_none(evidence: Evidence) -> Verdict:
    missed = _mean(evidence.runs, "kill", "missed")
    return verdict(f"{percent(missed, 1)} missed", missed == 0,
                   "bursts hold so many nodes that batch jobs have too few to give")  # fmt: skip


def _kill_slows_batch(evidence: Evidence) -> Verdict:
    apart = _apart(evidence.runs, "kill", "wait", "slowdown")
    text = _text(apart, "mean bounded slowdown beside waiting")
    return _decided(apart, 1, text, "batch jobs do no worse when some are killed")


def _few_reserved_miss(evidence: Evidence) -> Verdict:
    missed = _mean(evidence.runs, evidence.few, "missed")
    return verdict(
        f"{percent(missed, 1)} missed", missed > 0, "nodes are free whenever a burst comes"
    )


def _many_reserved_idle(evidence: Evidence) -> Verdict:
    kept = _apart(evidence.runs, evidence.many, "wait", "kept")
    slower = _apart(evidence.runs, evidence.many, "wait", "slowdown")
    ours = f"{100 * kept.mean:+.1f} points of work done, {_text(slower, 'slowdown')}"
    if kept.low <= 0 <= kept.high or slower.low <= 0 <= slower.high:
        return unknown(ours, "an interval over seeds holds 0")
    return verdict(ours, kept.mean < 0 < slower.mean, "the load leaves room for idle nodes")


def _plans_lose_less(evidence: Evidence) -> Verdict:
    apart = _apart(evidence.runs, "dynamic", "kill", "lost")
    text = _text(apart, "node-hours lost per burst")
    return _decided(apart, -1, text, "killing loses no more than checkpoints do")


def _loss_is_not_the_cost(evidence: Evidence) -> Verdict:
    lost, overhead = (_mean(evidence.runs, "dynamic", name) for name in ("lost", "overhead"))
    if not overhead > 0:
        return unknown("–", "nobody had to be evicted")
    parts = ", ".join(f"{name} {_mean(evidence.runs, 'dynamic', name):,.0f}" for name in OVERHEAD)
    ours = f"{percent(lost / overhead, 0)} of {overhead:,.0f} node-hours per burst ({parts})"
    return verdict(ours, lost < overhead / 2, "most of the cost is work done again")


def _counting_blocked_saves(evidence: Evidence) -> Verdict:
    apart = _apart(evidence.runs, "dynamic_blocked", "dynamic", "overhead")
    text = _text(apart, "node-hours per burst")
    return _decided(apart, -1, text, "plans of an instant are not those of a month")


def _slowdown_tells_nothing(evidence: Evidence) -> Verdict:
    others = ("dynamic", "dynamic_blocked")
    apart = {name: _apart(evidence.runs, name, "kill", "slowdown") for name in others}
    ours = "; ".join(f"{name} {_text(one, 'beside kill')}" for name, one in apart.items())
    within = all(one.low <= 0 <= one.high for one in apart.values())
    return verdict(ours, within, "some interval over seeds leaves out 0")


def _fan_minimal_delay(ideas: pd.DataFrame) -> Verdict:
    instant = {name: _mean(ideas, name, "instant") for name in FAN}
    ours = "; ".join(
        f"{name} {percent(share, 1)} at once, {_mean(ideas, name, 'delay'):,.0f} s"
        for name, share in instant.items()
    )
    waiting = percent(_mean(ideas, "wait", "instant"), 1)
    ours += f"; waiting {waiting}, {_mean(ideas, 'wait', 'delay'):,.0f} s"
    why = f"less than {percent(AT_ONCE, 0)} of the bursts start when they come"
    return verdict(ours, min(instant.values()) >= AT_ONCE, why)


def _fan_incentive(ideas: pd.DataFrame) -> Verdict:
    apart = _apart(ideas, "N & SPAA", "N & PAA", "malleable")
    text = _text(apart, "mean bounded slowdown of the jobs that are declared malleable")
    return _decided(apart, -1, text, "jobs that start on all their nodes gain nothing by it")


def _fan_performance(ideas: pd.DataFrame) -> Verdict:
    apart = _apart(ideas, "CUA & SPAA", "wait", "kept")
    ours = f"{100 * apart.mean:+.2f} ({100 * apart.low:+.2f} to {100 * apart.high:+.2f}) points"
    ours += " of the machine do work that is kept, beside waiting"
    return _decided(apart, 1, ours, "nodes held, and work done again, are more than what it gains")


def _stopping_saved_costs_less(ideas: pd.DataFrame) -> Verdict:
    lost = _apart(ideas, "CUP & PAA", "N & PAA", "lost")
    apart = _apart(ideas, "CUP & PAA", "N & PAA", "overhead")
    ours = f"{_text(apart, 'node-hours per burst')}, of work lost {_text(lost, '')}".rstrip()
    return _decided(apart, -1, ours, "nodes stand still from the checkpoint to the arrival")


def _shrinking_costs_less(ideas: pd.DataFrame) -> Verdict:
    apart = _apart(ideas, "N & SPAA", "dynamic_blocked", "overhead")
    text = _text(apart, "node-hours per burst")
    return _decided(apart, -1, text, "too few jobs are malleable, and the others are killed")


def _sharing_costs_less(ideas: pd.DataFrame) -> Verdict:
    apart = _apart(ideas, "share", "dynamic_blocked", "overhead")
    text = _text(apart, "node-hours per burst")
    ours = f"{text}; bursts take {_mean(ideas, 'share', 'stretch'):.2f} times their run time"
    return _decided(apart, -1, ours, "what stands still in the turn of others is more")


def _fillers_pay_for_reserving(ideas: pd.DataFrame) -> Verdict:
    evicting = "dynamic_blocked"
    both = ideas.assign(work=ideas["kept"] + ideas["filled"])
    apart, kept = (_apart(both, "reserve", evicting, name) for name in ("work", "kept"))
    ours = f"{100 * apart.mean:+.2f} ({100 * apart.low:+.2f} to {100 * apart.high:+.2f}) points of"
    ours += f" the machine with the containers' work, {100 * kept.mean:+.1f} without; slowdown "
    ours += " and ".join(f"{_mean(ideas, n, 'slowdown'):,.0f}" for n in ("reserve", evicting))
    return _decided(apart, 1, ours, "containers start more often than evictions cost")
