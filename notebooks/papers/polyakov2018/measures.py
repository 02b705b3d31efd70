"""Claims about idle nodes and filler containers: what is measured for each.

What the words of a statement mean here:

1. The loads *close to 90 %* and *as low as 70 %* are the literature's, of real machines: they are
   measured on loads that logs have recorded. A made-up queue cannot decide them. Close to 0.9 is
   within `NEAR` of it; "often" has no number, so nothing is decided. A load *can be* 0.7 if one log
   has it. *Inaccurate estimates may leave more idle*: the load at the greatest
   accuracy less that at the least, at the last queue depth, paired over seeds, which are the same
   jobs with other estimates; under one variant of the scheduler at least.
2. The load with containers is that of regular jobs and containers together. A machine whose supply
   of one-node containers is endless cannot but be full.
3. The gain of policy A is the least over all t and c, as a multiple of (1 - load)(1 - t)c. *At
   least* that is the definition of efficiency, rearranged.
4. *Can* is met by a regular job that was held up, and by progress lost, in the mean over seeds at
   one accuracy at least; *cannot* by no job that starts at another time than without containers,
   and no progress lost. That is how policy A was defined: its nodes are free at every decision.
5. Ours, of containers that run on and are saved every k slots (policy C): the useful part of the
   best k less that of policies A and B that kills, and what taking Young's interval in the place of
   the best k costs, each paired over seeds. Around its top the curve is flat, so that the best k
   itself is not well determined.
"""

from collections.abc import Callable, Mapping
from typing import NamedTuple

import numpy as np
import pandas as pd

from cosimlib.display import percent
from cosimlib.filling import FilledSchedule, node_seconds
from papers.claims import Samples, measure
from papers.polyakov2018.experiment import LITERATURE, QUEUE, STREAM, Experiment

FULL = "the regular jobs leave no node idle"
NOT_RECORDED = "said of real machines, and no recorded log was given: a made-up queue cannot tell"
NEAR = 0.05
IDLE = 0.7
"""The load that the paper names as one that is seen."""


class Results(NamedTuple):
    """What the claims are measured on.

    Parameters
    ----------
    recorded : pd.Series
        Loads that logs have recorded, by the log's name; empty where there is none.
    loads : pd.DataFrame
        As of `reached_loads`.
    uses : pd.DataFrame
        Node-seconds as of `node_seconds`, one row per policy.
    efficiencies : pd.DataFrame
        As of `efficiencies`.
    costs : pd.DataFrame
        As of `container_costs`.
    saves : pd.DataFrame
        Rows of `save_intervals` of one kind of jobs and one t.
    moved : int
        Jobs that start at another time under policy A than without containers.
    """

    recorded: pd.Series
    loads: pd.DataFrame
    uses: pd.DataFrame
    efficiencies: pd.DataFrame
    costs: pd.DataFrame
    saves: pd.DataFrame
    moved: int


def measure_claims(
    run: Experiment,
    schedules: Mapping[str, FilledSchedule],
    recorded: pd.Series,
    loads: pd.DataFrame,
    efficiencies: pd.DataFrame,
    costs: pd.DataFrame,
    kept: pd.DataFrame,
) -> dict[str, Samples]:
    """The samples of every claim, of what the notebook has measured."""
    uses = {policy: node_seconds(one, **run.window) for policy, one in schedules.items()}
    moved = schedules["filling A"].start_time != schedules["not filled"].start_time
    these = QUEUE if run.load is None else STREAM
    saves = kept[(kept["jobs"] == these) & (kept["t"] == run.overhead)]
    results = Results(
        recorded, loads, pd.DataFrame(uses).T, efficiencies, costs, saves, int(moved.sum())
    )
    return measure(MEASURES, results)


def loads_near_90_percent(results: Results) -> Samples:
    """The part of the recorded logs whose load is near 0.9."""
    loads = results.recorded.dropna()
    if loads.empty:
        return Samples(ours="none", missing=NOT_RECORDED)
    near, data = (loads - LITERATURE).abs() <= NEAR, ", ".join(loads.index)
    ours = f"{near.sum()} of {len(loads)} logs, mean {loads.mean():.2f}; {_each(loads)}"
    return Samples([near.mean()], ours=ours, data=data)


def least_load(results: Results) -> Samples:
    """The recorded load that is nearest to 0.7."""
    loads = results.recorded.dropna()
    if loads.empty:
        return Samples(ours="none", missing=NOT_RECORDED)
    nearest = (loads - IDLE).abs().idxmin()
    return Samples(
        [loads[nearest]],
        ours=f"{loads[nearest]:.2f} ({nearest}); {_each(loads)}",
        doubt=f"none of these logs has such a load, others may: {_each(loads)}",
        data=", ".join(loads.index),
    )


def rise_with_accuracy(results: Results) -> Samples:
    """The load at the greatest accuracy less that at the least, per seed, by variant."""
    runs = results.loads
    if runs.empty or runs["load"].isna().any():
        return Samples(ours="none", missing="no load was measured")
    runs = runs[runs["queue_depth"] == runs["queue_depth"].iloc[-1]]
    if runs["accuracy"].nunique() < 2 or runs["seed"].nunique() < 2:
        missing = "it takes two accuracies, and two seeds for an interval"
        return Samples(ours=f"{runs['load'].mean():.3f}", missing=missing)
    rises = {}
    for variant, part in runs.groupby("variant", sort=False):
        by_seed = part.pivot_table("load", "seed", "accuracy")
        rise = by_seed[by_seed.columns.max()] - by_seed[by_seed.columns.min()]
        rises[str(variant)] = rise.tolist()
    why = "jobs that end early let others move forward, which overdoes it"
    return Samples(rises, shown="{:+.3f}", why=why)


def part_in_use(results: Results) -> Samples:
    """The part of the machine that regular jobs and containers hold under policy A."""
    if not _container_seconds(results, "filling A") > 0:
        return Samples(ours="no containers", missing=FULL)
    full = 1 - _idle_part(results)
    why = "the supply of one-node containers has no end, so that they take every idle slot"
    if full < 0.995:
        why = "jobs end inside a slot, and the rest of it is idle"
    return Samples([full], shown="{:.2f} %", why=why)


def gain_over_bound(results: Results) -> Samples:
    """The efficiency gained under policy A over (1 - load)(1 - t)c, the least over t and c."""
    table = results.efficiencies
    plain, filled = (
        table[table["policy"] == policy].reset_index() for policy in ("not filled", "filling A")
    )
    bound = (1 - plain["efficiency"]) * (1 - plain["t"]) * plain["c"]
    if not bound.min() > 0:
        return Samples(ours="no gain", missing=FULL)
    ratio = round(float(((filled["efficiency"] - plain["efficiency"]) / bound).min()), 9)
    why = "where containers take all that is idle, that is what efficiency was defined to be"
    if ratio < 1:
        left = f"{percent(_idle_part(results), 2)} of the machine is what jobs leave of their last"
        why = f"{left} slot, too short for containers"
    return Samples([ratio], shown="{:.4f} of it", why=why)


def held_up(results: Results) -> Samples:
    """Regular jobs that are held up under policy B that saves."""
    return _cost(results, "filling B, save", "held up", "of the jobs wait a slot or longer")


def progress_lost(results: Results) -> Samples:
    """The containers' time that is lost under policy B that kills."""
    return _cost(results, "filling B, kill", "lost", "of the containers' time")


def moved_or_lost(results: Results) -> Samples:
    """Under policy A, jobs that start at another time, and node-seconds that are lost."""
    lost = float(results.uses.loc["filling A", "lost"])
    ours = f"{results.moved:,} jobs, {lost:,.0f} node-seconds"
    if not _container_seconds(results, "filling A") > 0:
        return Samples(ours="no containers", missing=FULL)
    why = "a container of policy A is saved before each decision, and leaves its node free"
    return Samples({"jobs": [results.moved], "node-seconds": [lost]}, ours=ours, why=why)


def best_over_a_and_b(results: Results) -> Samples:
    """The useful part of the best interval less that of saving every slot and of never, per run."""
    table = results.saves.dropna(subset="useful")
    if table.empty:
        return Samples(ours="no containers", missing=FULL)
    useful = table.pivot_table("useful", "seed", "k").dropna(axis=1)
    between = useful.loc[:, (useful.columns > 1) & (useful.columns < np.inf)].max(axis=1)
    a, b = useful[1.0], useful[np.inf]
    one = " (one run)" if len(useful) == 1 else ""
    return Samples(
        (between - pd.concat([a, b], axis=1).max(axis=1)).tolist(),
        ours=f"{_mean(between)} useful, A {_mean(a)}, B {_mean(b)}{one}",
        why="kills are so rare that saves do not pay, or so frequent that each slot must be saved",
    )


def cost_of_young_interval(results: Results) -> Samples:
    """What Young's interval costs of the containers' time against the best, per run."""
    table = results.saves.dropna(subset="useful")
    if table.empty:
        return Samples(ours="no containers", missing=FULL)
    best = table.loc[table.groupby("seed")["useful"].idxmax()].set_index("seed")
    taken = table[table["k"] == table["young"].round().clip(lower=1)].set_index("seed")
    short = best["useful"] - taken["useful"]
    ours = f"√(2tM) = {best['young'].median():.3g}, best k = {best['k'].median():g}, "
    return Samples(
        short.tolist(),
        ours=f"{ours}{percent(short.mean(), 2)} of the time apart",
        why="kills do not come at random, as the formula supposes",
    )


MEASURES: dict[str, Callable[[Results], Samples]] = {
    "load-about-0.9": loads_near_90_percent,
    "load-as-low-as-0.7": least_load,
    "inaccurate-estimates-idle": rise_with_accuracy,
    "fillers-fill-all": part_in_use,
    "gain-of-policy-a": gain_over_bound,
    "policy-b-delays": held_up,
    "policy-b-loses-progress": progress_lost,
    "policy-a-does-neither": moved_or_lost,
    "periodic-saves-keep-most": best_over_a_and_b,
    "young-interval": cost_of_young_interval,
}


def _cost(results: Results, policy: str, cost: str, what: str) -> Samples:
    """The greatest cost of a policy at an accuracy, by its means over seeds."""
    runs = results.costs[results.costs["policy"] == policy]
    means = runs.groupby("accuracy")[cost].mean().dropna()
    if means.empty or not _container_seconds(results, policy) > 0:
        return Samples(ours="no containers", missing=FULL)
    ours = f"{percent(means.min(), 1)} to {percent(means.max(), 1)} {what}, by accuracy"
    return Samples([means.max()], ours=ours, why=f"none, at any of {len(means)} accuracies")


def _each(loads: pd.Series) -> str:
    """The load of each log."""
    return ", ".join(f"{log} {load:.2f}" for log, load in loads.items())


def _mean(values: pd.Series) -> str:
    """The mean of shares in percent."""
    return percent(values.mean(), 1)


def _idle_part(results: Results) -> float:
    """Idle part of the machine under policy A."""
    use = results.uses.loc["filling A"]
    return float(use["idle"] / use.sum())


def _container_seconds(results: Results, policy: str) -> float:
    """Node-seconds of all containers under a policy."""
    return float(results.uses.loc[policy, ["computing", "overhead", "lost"]].sum())
