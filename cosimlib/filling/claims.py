"""Claims of Polyakov and Dubenskaya (GRID 2018) about idle nodes and filler containers, judged.

What the words of a statement mean here:

1. *About 0.9* is met within 0.05, by the mean load over all accuracies at the last queue depth. *As
   low as 0.7* is met from 0.75 down, by the lowest load of all runs: the paper takes the figure
   from the literature on real machines. Estimates matter if the load at the least accuracy is below
   that at the greatest by more than the spread over seeds of either.
2. The load with containers is that of regular jobs and containers together; *100 %* is 99.5 % or
   more.
3. The gain of policy A is the least over all t and c, as a multiple of (1 - load)(1 - t)c; *at
   least* is met from 1 (to nine digits).
4. *Can* is met by one regular job that was held up, and by any progress lost; *cannot* by no job
   that starts at another time than without containers, and no progress lost.
"""

from typing import NamedTuple

import numpy as np
import pandas as pd

from cosimlib.claims import Verdict, unknown, verdict
from cosimlib.display import percent

FULL = "the regular jobs leave no node idle"


QUEUED = 0.5
"""Share of a log's node-hours that must have waited in a queue for loads to decide a claim."""


class Evidence(NamedTuple):
    """Measurements by which the claims are judged.

    Parameters
    ----------
    loads : pd.DataFrame
        As `load_table` returns it.
    uses : pd.DataFrame
        Node-seconds as of `node_seconds`, one row per policy.
    efficiencies : pd.DataFrame
        As `efficiency_table` returns it, of "not filled" and "filling A" at least.
    held_up : float
        Part of the jobs that are held up under policy B that saves.
    moved : int
        Jobs that start at another time under policy A than without containers.
    queued : float, default 1.0
        Share of a log's node-hours that `loads` are of.
    """

    loads: pd.DataFrame
    uses: pd.DataFrame
    efficiencies: pd.DataFrame
    held_up: float
    moved: int
    queued: float = 1.0


def judge(evidence: Evidence) -> dict[str, Verdict]:
    """A verdict on each claim about filling, by its name in `data/claims.csv`."""
    return {
        "load-about-0.9": load_about_90_percent(evidence),
        "load-as-low-as-0.7": load_as_low_as_70_percent(evidence),
        "inaccurate-estimates-idle": inaccurate_estimates_idle(evidence),
        "fillers-fill-all": fillers_fill_all(evidence),
        "gain-of-policy-a": gain_of_policy_a(evidence),
        "policy-b-delays": policy_b_delays(evidence),
        "policy-b-loses-progress": policy_b_loses_progress(evidence),
        "policy-a-does-neither": policy_a_does_neither(evidence),
    }


def load_about_90_percent(evidence: Evidence) -> Verdict:
    """The mean load at the last queue depth is within 0.05 of 0.9."""
    by_depth = evidence.loads.groupby("queue_depth", sort=False)["load"].mean()
    if by_depth.empty or by_depth.isna().any():
        return unknown("none", "no load was measured")
    load = by_depth.iloc[-1]
    if evidence.queued < QUEUED:
        return unknown(f"{load:.3f}", _too_few(evidence))
    others = ", ".join(f"{load:.2f} with {depth}" for depth, load in by_depth.items())
    why = f"it depends on how many jobs wait, which is not printed: {others}"
    return verdict(f"{load:.3f}", abs(load - 0.9) <= 0.05, why)


def load_as_low_as_70_percent(evidence: Evidence) -> Verdict:
    """The lowest mean load, or the load of the schedule that is filled, is 0.75 or less."""
    plain = evidence.uses.loc["not filled"]
    counted = evidence.loads["load"] if evidence.queued >= QUEUED else []
    lowest = float(np.min([plain["regular"] / plain.sum(), *counted]))
    if np.isnan(lowest):
        return unknown("none", "no load was measured")
    why = (
        "a machine that always has jobs waiting is not that idle; 0.7 is of machines that have not"
    )
    return verdict(f"{lowest:.3f}", lowest <= 0.75, why)


def inaccurate_estimates_idle(evidence: Evidence) -> Verdict:
    """The load at the least accuracy is below that at the greatest by more than the spread."""
    if evidence.loads.empty:
        return unknown("none", "no load was measured")
    loads = evidence.loads[evidence.loads["queue_depth"] == evidence.loads["queue_depth"].iloc[-1]]
    worst, best = (loads.loc[loads["accuracy"].agg(of)] for of in ("idxmin", "idxmax"))
    low, high = (f"{end['load']:.3f} at" for end in (worst, best))
    ours = f"{low} p = {worst['accuracy']:g}, {high} {best['accuracy']:g}"
    if len(loads) < 2 or loads["seeds"].min() < 2:
        return unknown(ours, "it takes two accuracies, and two seeds to know the spread")
    if evidence.queued < QUEUED:
        return unknown(ours, _too_few(evidence))
    lower = best["load"] - worst["load"] > max(best["spread"], worst["spread"])
    why = "jobs that end early let others move forward, which makes up for it within the spread"
    return verdict(ours, lower, why)


def fillers_fill_all(evidence: Evidence) -> Verdict:
    """The load of regular jobs and containers together is 99.5 % or more under policy A."""
    full = 1 - _idle_part(evidence)
    if not _container_seconds(evidence, "filling A") > 0:
        return unknown("no containers", FULL)
    why = "jobs end inside a slot, and the rest of it stays idle"
    return verdict(f"{full:.2%}", full >= 0.995, why)


def gain_of_policy_a(evidence: Evidence) -> Verdict:
    """The efficiency gained under policy A is (1 - load)(1 - t)c or more for all t and c."""
    table = evidence.efficiencies
    plain, filled = (
        table[table["policy"] == policy].reset_index() for policy in ("not filled", "filling A")
    )
    bound = (1 - plain["efficiency"]) * (1 - plain["t"]) * plain["c"]
    if not bound.min() > 0:
        return unknown("no gain", FULL)
    ratio = ((filled["efficiency"] - plain["efficiency"]) / bound).min()
    left = f"{_idle_part(evidence):.2%} of the machine is what jobs leave of their last slot"
    return verdict(f"{ratio:.4f} of it", ratio >= 1 - 1e-9, f"{left}, too short for containers")


def policy_b_delays(evidence: Evidence) -> Verdict:
    """Some regular job is held up under policy B that saves."""
    held_up = evidence.held_up
    if not _container_seconds(evidence, "filling B, save") > 0:
        return unknown("no containers", FULL)
    return verdict(
        f"{held_up:.1%} of the jobs wait a slot or longer, in one schedule",
        held_up > 0,
        "no job waited",
    )


def policy_b_loses_progress(evidence: Evidence) -> Verdict:
    """Some container is killed under policy B that kills."""
    time = _container_seconds(evidence, "filling B, kill")
    if not time > 0:
        return unknown("no containers", FULL)
    lost = evidence.uses.loc["filling B, kill", "lost"] / time
    return verdict(f"{lost:.1%} of the containers' time, in one schedule", lost > 0, "nothing lost")


def policy_a_does_neither(evidence: Evidence) -> Verdict:
    """Under policy A every regular job starts as without containers, and no container is killed."""
    lost = evidence.uses.loc["filling A", "lost"]
    ours = f"{evidence.moved:,} jobs, {lost:,.0f} node-seconds"
    if not _container_seconds(evidence, "filling A") > 0:
        return unknown("no containers", FULL)
    return verdict(ours, evidence.moved == 0 and lost == 0, "containers were in the way, or killed")


def _too_few(evidence: Evidence) -> str:
    """Why loads decide nothing: too few of a log's jobs waited in the queue."""
    return f"only {percent(evidence.queued)} of the log's node-hours waited in such a queue"


def _idle_part(evidence: Evidence) -> float:
    """Idle part of the machine under policy A."""
    use = evidence.uses.loc["filling A"]
    return float(use["idle"] / use.sum())


def _container_seconds(evidence: Evidence, policy: str) -> float:
    """Node-seconds of all containers under a policy."""
    return float(evidence.uses.loc[policy, ["computing", "overhead", "lost"]].sum())
