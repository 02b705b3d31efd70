"""Claims of Polyakov and Dubenskaya (GRID 2018) about idle nodes and filler containers, judged.

What the words of a statement mean here:

1. The loads *close to 90 %* and *as low as 70 %* are the literature's, of real machines: they are
   judged by loads that logs have recorded, and a made-up queue cannot decide them. *Often close to*
   0.9 is met by half of at least three logs within 0.05 of it, *as low as* 0.7 by one log at 0.75
   or less. *Inaccurate estimates may leave more idle* is met where the load at the greatest
   accuracy is above that at the least, at the last queue depth, under one variant of the scheduler
   at least: by the 95 % interval of the mean difference, paired over seeds, which are the same jobs
   with other estimates. An interval that holds 0 decides nothing.
2. The load with containers is that of regular jobs and containers together; *100 %* is 99.5 % or
   more. A machine whose supply of one-node containers is endless cannot but be full.
3. The gain of policy A is the least over all t and c, as a multiple of (1 - load)(1 - t)c; *at
   least* is met from 1 (to nine digits). It is the definition of efficiency, rearranged.
4. *Can* is met by a regular job that was held up, and by progress lost, in the mean over seeds at
   one accuracy at least; *cannot* by no job that starts at another time than without containers,
   and no progress lost. That is how policy A was defined: its nodes are free at every decision.
5. Ours, of containers that run on and are saved every k slots (policy C): the best k keeps more of
   their time useful than policies A and B that kills, where the 95 % interval of the mean
   difference, paired over runs, is above 0. Young's interval is *best* where taking it in the place
   of the best k compared costs 0.01 of the containers' time at most, by the same interval: around
   its top the curve is flat, so that the best k itself is not well determined.
"""

from typing import NamedTuple

import numpy as np
import pandas as pd

from cosimlib.claims import Verdict, by_construction, of_enough_jobs, unknown, verdict
from cosimlib.display import percent
from cosimlib.metrics import mean_interval
from cosimlib.metrics.intervals import Interval

FULL = "the regular jobs leave no node idle"

QUEUED = 0.5
"""Share of a log's node-hours that must have waited in a queue for loads to decide a claim."""

SEVERAL = 3
"""Logs from which on *often* can be told."""

FLAT = 0.01
"""Part of the containers' time that Young's interval may cost against the best."""


class Evidence(NamedTuple):
    """Measurements by which the claims are judged.

    Parameters
    ----------
    recorded : pd.Series
        Loads that logs have recorded, by the log's name; empty where there is none.
    loads : pd.DataFrame
        One row per run: `variant`, `queue_depth`, `accuracy`, `seed`, `load`, as of `reached_load`.
    uses : pd.DataFrame
        Node-seconds as of `node_seconds`, one row per policy.
    efficiencies : pd.DataFrame
        As `efficiency_table` returns it, of "not filled" and "filling A" at least.
    costs : pd.DataFrame
        One row per run: `policy`, `accuracy`, `seed`, `held up`, `lost`, as of `container_costs`.
    saves : pd.DataFrame
        Rows of `save_table` of one t, with the `seed`, or the name, of their run.
    moved : int
        Jobs that start at another time under policy A than without containers.
    queued : float, default 1.0
        Share of a log's node-hours that `loads` are of.
    jobs : float, default inf
        Jobs that all of this is of.
    """

    recorded: pd.Series
    loads: pd.DataFrame
    uses: pd.DataFrame
    efficiencies: pd.DataFrame
    costs: pd.DataFrame
    saves: pd.DataFrame
    moved: int
    queued: float = 1.0
    jobs: float = np.inf


def judge(evidence: Evidence) -> dict[str, Verdict]:
    """A verdict on each claim about filling, by its name in `data/claims.csv`."""
    found = {
        "load-about-0.9": load_about_90_percent(evidence),
        "load-as-low-as-0.7": load_as_low_as_70_percent(evidence),
        "inaccurate-estimates-idle": inaccurate_estimates_idle(evidence),
        "fillers-fill-all": fillers_fill_all(evidence),
        "gain-of-policy-a": gain_of_policy_a(evidence),
        "policy-b-delays": policy_b_delays(evidence),
        "policy-b-loses-progress": policy_b_loses_progress(evidence),
        "policy-a-does-neither": policy_a_does_neither(evidence),
        "periodic-saves-keep-most": periodic_saves_keep_most(evidence),
        "young-interval": young_interval_is_best(evidence),
    }
    return of_enough_jobs(found, evidence.jobs)


def load_about_90_percent(evidence: Evidence) -> Verdict:
    """Half of the recorded logs or more have a load within 0.05 of 0.9."""
    loads = evidence.recorded.dropna()
    near = int(((loads - 0.9).abs() <= 0.05).sum())
    if loads.empty:
        return unknown("none", NOT_RECORDED)
    ours = f"{near} of {len(loads)} logs, mean {loads.mean():.2f}"
    if len(loads) < SEVERAL:
        return unknown(f"{loads.mean():.2f}", f"'often' takes {SEVERAL} logs; {_each(loads)}")
    return verdict(ours, 2 * near >= len(loads), f"the logs at hand are idler: {_each(loads)}")


def load_as_low_as_70_percent(evidence: Evidence) -> Verdict:
    """The least recorded load is 0.75 or less."""
    loads = evidence.recorded.dropna()
    if loads.empty:
        return unknown("none", NOT_RECORDED)
    ours = f"{loads.min():.2f} ({loads.idxmin()})"
    if len(loads) < SEVERAL and loads.min() > 0.75:
        return unknown(ours, f"the others of a site may be idler; {_each(loads)}")
    return verdict(ours, loads.min() <= 0.75, f"no log at hand is as idle: {_each(loads)}")


def inaccurate_estimates_idle(evidence: Evidence) -> Verdict:
    """The load at the greatest accuracy is above that at the least, under some variant."""
    runs = evidence.loads
    if runs.empty or runs["load"].isna().any():
        return unknown("none", "no load was measured")
    runs = runs[runs["queue_depth"] == runs["queue_depth"].iloc[-1]]
    if runs["accuracy"].nunique() < 2 or runs["seed"].nunique() < 2:
        ours = f"{runs['load'].mean():.3f}"
        return unknown(ours, "it takes two accuracies, and two seeds for an interval")
    gains = {variant: _gain(part) for variant, part in runs.groupby("variant", sort=False)}
    ours = ", ".join(f"{_with_ends(each)} {variant}" for variant, each in gains.items())
    if evidence.queued < QUEUED:
        part = percent(evidence.queued)
        return unknown(ours, f"only {part} of the log's node-hours waited in such a queue")
    rises = any(each.low > 0 for each in gains.values())
    if not rises and any(each.high >= 0 for each in gains.values()):
        return unknown(ours, f"the interval over {runs['seed'].nunique()} seeds holds 0")
    return verdict(ours, rises, "jobs that end early let others move forward, which overdoes it")


def fillers_fill_all(evidence: Evidence) -> Verdict:
    """The load of regular jobs and containers together is 99.5 % or more under policy A."""
    full = 1 - _idle_part(evidence)
    if not _container_seconds(evidence, "filling A") > 0:
        return unknown("no containers", FULL)
    if full < 0.995:
        return verdict(
            percent(full, 2), False, "jobs end inside a slot, and the rest of it is idle"
        )
    why = "the supply of one-node containers has no end, so that they take every idle slot"
    return by_construction(percent(full, 2), True, why)


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
    ours = f"{ratio:.4f} of it"
    if ratio < 1 - 1e-9:
        left = f"{percent(_idle_part(evidence), 2)} of the machine is what jobs leave of their last"
        return verdict(ours, False, f"{left} slot, too short for containers")
    why = "where containers take all that is idle, that is what efficiency was defined to be"
    return by_construction(ours, True, why)


def policy_b_delays(evidence: Evidence) -> Verdict:
    """Regular jobs are held up under policy B that saves."""
    if not _container_seconds(evidence, "filling B, save") > 0:
        return unknown("no containers", FULL)
    return _can(evidence, "filling B, save", "held up", "of the jobs wait a slot or longer")


def policy_b_loses_progress(evidence: Evidence) -> Verdict:
    """Containers are killed under policy B that kills."""
    if not _container_seconds(evidence, "filling B, kill") > 0:
        return unknown("no containers", FULL)
    return _can(evidence, "filling B, kill", "lost", "of the containers' time")


def policy_a_does_neither(evidence: Evidence) -> Verdict:
    """Under policy A every regular job starts as without containers, and no container is killed."""
    lost = evidence.uses.loc["filling A", "lost"]
    ours = f"{evidence.moved:,} jobs, {lost:,.0f} node-seconds"
    if not _container_seconds(evidence, "filling A") > 0:
        return unknown("no containers", FULL)
    why = "a container of policy A is saved before each decision, and leaves its node free"
    return by_construction(ours, evidence.moved == 0 and lost == 0, why)


def periodic_saves_keep_most(evidence: Evidence) -> Verdict:
    """The best interval keeps more time useful than saving every slot and than never."""
    useful = _useful(evidence)
    if useful.empty:
        return unknown("no containers", FULL)
    between = useful.loc[:, (useful.columns > 1) & (useful.columns < np.inf)].max(axis=1)
    a, b = useful[1.0], useful[np.inf]
    ours = f"{_mean(between)} useful, A {_mean(a)}, B {_mean(b)}"
    why = "kills are so rare that saves do not pay, or so frequent that each slot must be saved"
    return _above_zero(between - pd.concat([a, b], axis=1).max(axis=1), ours, why)


def young_interval_is_best(evidence: Evidence) -> Verdict:
    """Young's interval costs at most `FLAT` of the containers' time against the best."""
    table = evidence.saves.dropna(subset="useful")
    if table.empty:
        return unknown("no containers", FULL)
    best = table.loc[table.groupby("seed")["useful"].idxmax()].set_index("seed")
    taken = table[table["k"] == table["young"].round().clip(lower=1)].set_index("seed")
    short = best["useful"] - taken["useful"]
    mean, low, high = mean_interval(short) if len(short) > 1 else (float(short.iloc[0]),) * 3
    ours = f"√(2tM) = {best['young'].median():.3g}, best k = {best['k'].median():g}, "
    ours += f"{percent(mean, 2)} of the time apart"
    if low <= FLAT < high:
        return unknown(ours, f"the interval over {len(short)} runs holds {percent(FLAT, 0)}")
    return verdict(ours, high <= FLAT, "kills do not come at random, as the formula supposes")


NOT_RECORDED = "said of real machines, and no recorded log was given: a made-up queue cannot tell"


def _gain(runs: pd.DataFrame) -> Interval:
    """How much higher the load is at the greatest accuracy than at the least, paired over seeds."""
    by_seed = runs.pivot_table("load", "seed", "accuracy")
    return mean_interval(by_seed[by_seed.columns.max()] - by_seed[by_seed.columns.min()])


def _with_ends(gain: Interval) -> str:
    """A difference with its interval, where seeds differ: a log's loads at p = 0 and 1 do not."""
    ends = f" ({gain.low:+.3f} to {gain.high:+.3f})" if gain.high - gain.low > 1e-9 else ""
    return f"{gain.mean:+.3f}{ends}"


def _each(loads: pd.Series) -> str:
    """The load of each log."""
    return ", ".join(f"{log} {load:.2f}" for log, load in loads.items())


def _can(evidence: Evidence, policy: str, measure: str, what: str) -> Verdict:
    """Whether a cost of a policy is above 0 at some accuracy, by its means over seeds."""
    runs = evidence.costs[evidence.costs["policy"] == policy]
    means = runs.groupby("accuracy")[measure].mean().dropna()
    if means.empty:
        return unknown("no containers", FULL)
    ours = f"{percent(means.min(), 1)} to {percent(means.max(), 1)} {what}, by accuracy"
    return verdict(ours, bool(means.max() > 0), f"none, at any of {len(means)} accuracies")


def _useful(evidence: Evidence) -> pd.DataFrame:
    """Useful part of the containers' time: a row per run, a column per interval of all runs."""
    table = evidence.saves.dropna(subset="useful")
    return table.pivot_table("useful", "seed", "k").dropna(axis=1)


def _above_zero(differences: pd.Series, ours: str, why: str) -> Verdict:
    """A difference that is above 0 in the one run there is, or by its interval over runs."""
    if len(differences) == 1:
        return verdict(f"{ours} (one run)", differences.iloc[0] > 0, why)
    _, low, high = mean_interval(differences)
    if low <= 0 <= high:
        return unknown(ours, f"the interval over {len(differences)} runs holds 0")
    return verdict(ours, low > 0, why)


def _mean(values: pd.Series) -> str:
    """The mean of shares in percent."""
    return percent(values.mean(), 1)


def _idle_part(evidence: Evidence) -> float:
    """Idle part of the machine under policy A."""
    use = evidence.uses.loc["filling A"]
    return float(use["idle"] / use.sum())


def _container_seconds(evidence: Evidence, policy: str) -> float:
    """Node-seconds of all containers under a policy."""
    return float(evidence.uses.loc[policy, ["computing", "overhead", "lost"]].sum())
