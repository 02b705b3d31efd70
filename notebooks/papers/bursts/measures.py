"""Measures of the study: for each claim, one number per seed.

Claims 1 are of the introduction of Maurya et al., where they set eviction against its two naive
alternatives: nodes kept for bursts, and killing. Claims 3 are of the abstract of Fan et al. Our own
are what an eviction costs beside the loss that plans minimize, and what the ways not to evict cost.
"""

from typing import NamedTuple

import pandas as pd

from cosimlib.display import percent
from cosimlib.metrics import mean_interval
from cosimlib.ondemand import OVERHEAD
from papers.bursts.experiment import FAN
from papers.claims import Samples, measure, of_enough_use, written

SEEDS = 3
"""Least number of seeds with bursts that anything is judged on."""

CHANGE = "{:+,.1f}"
PER_BURST = f"{CHANGE} node-hours per burst"


class Inputs(NamedTuple):
    """Runs of `compare_ondemand` on one stream, and the policies that keep nodes for bursts.

    `runs` has the policies `wait`, `kill`, `dynamic`, `dynamic_blocked`, and besides `few` and
    `many`, which reserve few nodes and many. `ideas` has, on a stream with notices and with
    fillers, `wait`, `dynamic_blocked`, `share`, `reserve`, and the mechanisms of `FAN`.
    """

    runs: pd.DataFrame
    few: str
    many: str
    ideas: pd.DataFrame


def samples(inputs: Inputs, *, used: float | None = None) -> dict[str, Samples]:
    """What is measured for every claim; `used` is the share of a log's node-hours that is used."""
    found: dict[str, Samples] = {}
    for measures, runs in ((ON_POLICIES, inputs.runs), (ON_IDEAS, inputs.ideas)):
        if runs.loc[runs["bursts"] > 0, "seed"].nunique() >= SEEDS:
            found |= measure(measures, inputs)
        else:
            none = Samples(ours="–", missing=f"bursts came on fewer than {SEEDS} seeds")
            found |= dict.fromkeys(measures, none)
    return of_enough_use(found, used)


def _values(runs: pd.DataFrame, policy: str, name: str) -> list[float]:
    """A measure under one policy, per seed; seeds on which it is unknown are left out."""
    return runs.loc[runs["policy"] == policy, name].dropna().tolist()


def _difference(
    runs: pd.DataFrame, one: str, other: str, name: str, *, times: float = 1.0
) -> list[float]:
    """How much greater a measure is under one policy than under another, per seed."""
    here, there = (runs[runs["policy"] == each].set_index("seed")[name] for each in (one, other))
    return ((here - there).dropna() * times).tolist()


def _mean(runs: pd.DataFrame, policy: str, name: str) -> float:
    return float(runs.loc[runs["policy"] == policy, name].mean())


def _interval(values: list[float], shown: str) -> str:
    """Mean and interval of differences that stand beside those that are judged."""
    mean, low, high = mean_interval(values)
    return f"{written(shown, mean)} ({written(shown, low)} to {written(shown, high)})"


def _kill_misses_none(inputs: Inputs) -> Samples:
    return Samples(
        _values(inputs.runs, "kill", "missed"),
        "{:.1f} % missed",
        why="killing frees nodes at once, so that a burst waits for other bursts only",
    )


def _kill_slows_batch(inputs: Inputs) -> Samples:
    """By progress that is lost, of which the paper speaks: mean slowdown hides it."""
    slowdown = _interval(_difference(inputs.runs, "kill", "wait", "slowdown"), CHANGE)
    return Samples(
        _difference(inputs.runs, "kill", "wait", "lost"),
        "{:+,.1f} node-hours lost per burst beside waiting",
        details=f"mean bounded slowdown {slowdown}",
        why="what is killed had just begun",
    )


def _few_reserved_miss(inputs: Inputs) -> Samples:
    return Samples(
        _values(inputs.runs, inputs.few, "missed"),
        "{:.1f} % missed",
        why="nodes are free whenever a burst comes",
    )


def _many_reserved_idle(inputs: Inputs) -> Samples:
    runs, many = inputs.runs, inputs.many
    work = _difference(runs, "wait", many, "kept", times=100)
    slowdown = _difference(runs, many, "wait", "slowdown")
    return Samples(
        {"points less work done": work, "slowdown": slowdown},
        "{:+,.1f}",
        why="the load leaves room for idle nodes",
    )


def _plans_lose_less(inputs: Inputs) -> Samples:
    return Samples(
        _difference(inputs.runs, "dynamic", "kill", "lost"),
        "{:+,.1f} node-hours lost per burst",
        why="killing loses no more than checkpoints do",
    )


def _loss_is_not_the_cost(inputs: Inputs) -> Samples:
    """The means' ratio: seeds with few bursts count as little as they have bursts."""
    lost, overhead = (_mean(inputs.runs, "dynamic", name) for name in ("lost", "overhead"))
    if not overhead > 0:
        return Samples(ours="–", missing="nobody had to be evicted")
    parts = ", ".join(f"{name} {_mean(inputs.runs, 'dynamic', name):,.0f}" for name in OVERHEAD)
    ours = f"{percent(lost / overhead, 0)} of {overhead:,.0f} node-hours per burst ({parts})"
    return Samples([lost / overhead], ours=ours, why="most of the cost is work done again")


def _counting_blocked_saves(inputs: Inputs) -> Samples:
    return Samples(
        _difference(inputs.runs, "dynamic_blocked", "dynamic", "overhead"),
        PER_BURST,
        why="plans of an instant are not those of a month",
    )


def _slowdown_tells_nothing(inputs: Inputs) -> Samples:
    others, usual = ("dynamic", "dynamic_blocked"), _mean(inputs.runs, "kill", "slowdown")
    return Samples(
        {n: _difference(inputs.runs, n, "kill", "slowdown", times=1 / usual) for n in others},
        "{:+.1f} % of kill's",
        why="one of them differs by a tenth or more",
    )


def _fan_minimal_delay(inputs: Inputs) -> Samples:
    ideas, policies = inputs.ideas, dict(zip(FAN, FAN, strict=True)) | {"waiting": "wait"}
    ours = "; ".join(
        f"{name} {percent(_mean(ideas, policy, 'instant'), 1)} at once, "
        f"{_mean(ideas, policy, 'delay'):,.0f} s"
        for name, policy in policies.items()
    )
    return Samples(
        {name: _values(ideas, name, "instant") for name in FAN},
        ours=ours,
        why="too few of the bursts start when they come",
    )


def _fan_incentive(inputs: Inputs) -> Samples:
    return Samples(
        _difference(inputs.ideas, "N & SPAA", "N & PAA", "malleable"),
        "{:+,.1f} mean bounded slowdown of the jobs that are declared malleable",
        why="jobs that start on all their nodes gain nothing by it",
    )


def _fan_performance(inputs: Inputs) -> Samples:
    """By two measures, for the abstract does not say which performance it means."""
    ideas = inputs.ideas
    return Samples(
        shown="{:+.2f}",
        details="points of the machine, and mean bounded slowdown, beside waiting",
        why="nodes held, and work done again, are more than what it gains",
        readings={
            "more work is kept": _difference(ideas, "CUA & SPAA", "wait", "kept", times=100),
            "less slowdown": _difference(ideas, "wait", "CUA & SPAA", "slowdown"),
        },
    )


def _stopping_saved_costs_less(inputs: Inputs) -> Samples:
    cost, lost = (
        _difference(inputs.ideas, "CUP & PAA", "N & PAA", name) for name in ("overhead", "lost")
    )
    ours = f"{_interval(cost, CHANGE)} node-hours per burst"
    return Samples(
        cost,
        ours=f"{ours}; of work lost {_interval(lost, CHANGE)}",
        why="nodes stand still from the checkpoint to the arrival",
    )


def _shrinking_costs_less(inputs: Inputs) -> Samples:
    return Samples(
        _difference(inputs.ideas, "N & SPAA", "dynamic_blocked", "overhead"),
        PER_BURST,
        why="too few jobs are malleable, and the others are killed",
    )


def _sharing_costs_less(inputs: Inputs) -> Samples:
    cost = _difference(inputs.ideas, "share", "dynamic_blocked", "overhead")
    stretch = _mean(inputs.ideas, "share", "stretch")
    return Samples(
        cost,
        ours=f"{_interval(cost, CHANGE)} node-hours per burst; bursts take {stretch:.2f} run times",
        why="what stands still in the turn of others is more",
    )


def _fillers_pay_for_reserving(inputs: Inputs) -> Samples:
    names, runs = ("reserve", "dynamic_blocked"), inputs.ideas
    runs = runs.assign(work=runs["kept"] + runs["filled"])
    work, kept = (_difference(runs, *names, name, times=100) for name in ("work", "kept"))
    ours = f"{_interval(work, '{:+.2f}')} points of the machine with the containers' work, "
    ours += f"{written(CHANGE, mean_interval(kept).mean)} without; slowdown "
    ours += " and ".join(f"{_mean(runs, name, 'slowdown'):,.0f}" for name in names)
    return Samples(work, ours=ours, why="containers start more often than evictions cost")


ON_POLICIES = {
    "kill-misses-none": _kill_misses_none,
    "kill-slows-batch": _kill_slows_batch,
    "few-reserved-miss": _few_reserved_miss,
    "many-reserved-idle": _many_reserved_idle,
    "plans-lose-less": _plans_lose_less,
    "loss-is-not-the-cost": _loss_is_not_the_cost,
    "counting-blocked-saves": _counting_blocked_saves,
    "slowdown-tells-nothing": _slowdown_tells_nothing,
}
"""The measure of each claim about policies side by side."""

ON_IDEAS = {
    "fan-minimal-delay": _fan_minimal_delay,
    "fan-incentive": _fan_incentive,
    "fan-performance": _fan_performance,
    "stopping-saved-costs-less": _stopping_saved_costs_less,
    "shrinking-costs-less": _shrinking_costs_less,
    "sharing-costs-less": _sharing_costs_less,
    "fillers-pay-for-reserving": _fillers_pay_for_reserving,
}
"""The measure of each claim about all ideas, with notices and fillers."""
