"""Claims of Tang et al. (2011) on coscheduling, and from which numbers on they hold.

Means are over workloads, seeds and schemes; the base, without coscheduling, counts only where it is
named.

- Mates start *at the same time* if no paired job starts apart from its mates, in any scheme.
- Yield costs *more* sync-up overhead if its mean on a machine that yields is above its mean on the
  same machine when that holds, on both machines.
- *Only hold* loses if machines that yield lose no node-hour, and those that hold do.
- Wait and slowdown *grow* if both are higher at the highest utilization, or proportion, than at the
  lowest, on both machines, to two digits.
- Overhead is *acceptable* if no machine's average wait is more than twice that of the base, in any
  scheme, at any utilization or proportion (means over seeds).
- Hold-hold *may* deadlock if jobs made for it never start where both machines hold. Releases
  *solve* it if then all jobs start, those and all compared.
- A job does not wait *for ever* if, with the other machine down, all jobs start, the first of them
  when it is submitted.
"""

from typing import NamedTuple

import numpy as np
import pandas as pd

from cosimlib.claims import Verdict, unknown, verdict
from cosimlib.coscheduling.comparison import EUREKA, averages
from cosimlib.coscheduling.schedule import CoupledSchedule
from cosimlib.units import MINUTE

ACCEPTABLE = 2.0
"""Largest average wait, in multiples of the base's, that counts as acceptable."""
NO_MATES = "no job has a mate"
OF_MADE_UP_JOBS = ("holding-may-deadlock", "nobody-waits-for-ever")
"""Claims judged on jobs made for them, whatever the log."""
LEAST_JOBS = 100
"""Jobs of the first machine below which a comparison decides nothing."""


class Evidence(NamedTuple):
    """Measurements that the claims are judged by.

    Parameters
    ----------
    by_load, by_share : pd.DataFrame
        Of `compare_schemes`, by Eureka's utilization and by the proportion of paired jobs.
    locked, released : CoupledSchedule
        Jobs made to deadlock where both machines hold, without and with releases.
    outage : CoupledSchedule
        The same jobs without releases, while the second machine is down.
    release_interval : float
        Seconds between releases in the comparisons.
    """

    by_load: pd.DataFrame
    by_share: pd.DataFrame
    locked: CoupledSchedule
    released: CoupledSchedule
    outage: CoupledSchedule
    release_interval: float


def judge(evidence: Evidence) -> dict[str, Verdict]:
    """The verdict on each claim about coscheduling, by its name in `data/claims.csv`."""
    runs = pd.concat([evidence.by_load, evidence.by_share], ignore_index=True)
    runs = runs[runs["scheme"] != "base"]
    few = int(runs.loc[runs["machine"] != EUREKA, "jobs"].max())
    compared = {
        "mates-start-together": mates_start_together(runs),
        "yield-costs-sync-up": yield_costs_sync_up(runs),
        "only-hold-loses": only_hold_loses(runs),
        "grows-with-utilization": grows(evidence.by_load, "load"),
        "grows-with-proportion": grows(evidence.by_share, "share"),
        "modest-factor": modest_factor(evidence.by_load, evidence.by_share),
    }
    if few < LEAST_JOBS:
        why = f"too few jobs: {few}, of at least {LEAST_JOBS}"
        compared = {claim: unknown(found.ours, why) for claim, found in compared.items()}
    return compared | {
        "holding-may-deadlock": holding_may_deadlock(evidence.locked),
        "release-solves-deadlock": release_solves_deadlock(evidence, runs),
        "nobody-waits-for-ever": nobody_waits_for_ever(evidence.outage),
    }


def mates_start_together(runs: pd.DataFrame) -> Verdict:
    """Claim 1: all paired jobs start with their mates, in every scheme."""
    apart, paired = int(runs["apart"].sum()), int(runs["paired"].sum())
    ours = f"{paired - apart:,} of {paired:,} paired jobs"
    if not paired:
        return unknown(ours, NO_MATES)
    return verdict(ours, apart == 0, f"{apart:,} start apart")


def yield_costs_sync_up(runs: pd.DataFrame) -> Verdict:
    """Claim 2: mean sync-up overhead of a machine that yields, and of the same one that holds."""
    means = runs.groupby(["machine", _own_scheme(runs)])["sync_up"].mean().unstack()  # noqa: PD010
    rows = [f"{m} {row['Y']:.0f} min, hold {row['H']:.0f}" for m, row in means.iterrows()]
    ours, more = f"yield: {'; '.join(rows)}", means["Y"] > means["H"]
    if not runs["paired"].any():
        return unknown(ours, NO_MATES)
    return verdict(ours, more.all(), f"only on {', '.join(means.index[more]) or 'neither'}")


def only_hold_loses(runs: pd.DataFrame) -> Verdict:
    """Claim 3: node-hours that machines which yield, and which hold, lose."""
    lost = runs.groupby(_own_scheme(runs))["lost"].sum()
    ours = f"{lost['Y']:g} node-hours by yielding, {lost['H']:,.0f} by holding"
    if not runs["paired"].any():
        return unknown(ours, NO_MATES)
    return verdict(ours, lost["Y"] == 0 < lost["H"], "yielding loses some, or holding none")


def grows(comparison: pd.DataFrame, by: str) -> Verdict:
    """Claim 4: wait and slowdown at the highest value of a column, over those at the lowest."""
    runs = comparison[comparison["scheme"] != "base"]
    means = runs.groupby(["machine", by])[["wait", "slowdown"]].mean()
    lowest, highest = (means.xs(edge, level=by) for edge in (runs[by].min(), runs[by].max()))
    ratios = (highest / lowest).round(2)
    ours = "; ".join(
        f"{machine}: wait {_times(row['wait'])}, slowdown {_times(row['slowdown'])}"
        for machine, row in ratios.iterrows()
    )
    if runs[by].nunique() < 2:
        return unknown(ours, f"compared at one {by} only")
    if not np.isfinite(ratios).all(axis=None):
        return unknown(ours, "no job of a machine waits at the lowest")
    others = int((ratios <= 1).sum().sum())
    own = next(name for name in ratios.index if name != EUREKA).replace("intrepid", "Intrepid")
    why = f"{others} of the four do not grow; {own}'s own load is the same throughout"
    return verdict(ours, others == 0, why)


def modest_factor(by_load: pd.DataFrame, by_share: pd.DataFrame) -> Verdict:
    """Claim 4: average wait over the base's, the most of any scheme, utilization or proportion."""
    ratios = pd.concat([_waits_over_base(by_load, "load"), _waits_over_base(by_share, "share")])
    known = ratios[np.isfinite(ratios)]
    ours = f"{known.min():.2f}× to {known.max():.2f}× the base" if len(known) else "no wait"
    if len(known) < len(ratios):
        return unknown(ours, "no job of a machine waits in the base")
    worst, few = " ".join(map(str, ratios.idxmax())), (ratios <= ACCEPTABLE).mean()
    why = f"worst at {worst}; in {few:.0%} of the cases it is at most {ACCEPTABLE:g}×"
    return verdict(ours, ratios.max() <= ACCEPTABLE, why)


def holding_may_deadlock(locked: CoupledSchedule) -> Verdict:
    """Claim 5: jobs with mates that never start where both machines hold."""
    paired = locked.group >= 0
    stuck, jobs = int(np.isnan(locked.start_time[paired]).sum()), int(paired.sum())
    ours = f"{stuck} of {jobs} jobs stuck"
    return verdict(ours, stuck > 0, "all of them start") if jobs else unknown(ours, NO_MATES)


def release_solves_deadlock(evidence: Evidence, runs: pd.DataFrame) -> Verdict:
    """Claim 5: jobs that never start in spite of releases."""
    stuck = int(runs["stuck"].sum()) + len(evidence.released.stuck)
    ours = f"{stuck} jobs stuck, with releases every {evidence.release_interval:g} s"
    if not len(evidence.locked.stuck):
        return unknown(ours, "no deadlock without releases")
    return verdict(ours, stuck == 0, "some jobs never start")


def nobody_waits_for_ever(outage: CoupledSchedule) -> Verdict:
    """Claim 6: wait of the first machine's jobs while the second is down."""
    first, second = outage.system.partitions
    longest = outage.jobs["wait_time"][outage.partition == first].max() / MINUTE
    ours = f"machine {first}'s jobs wait at most {longest:.0f} min for nodes, none for {second}"
    if not outage.outages:
        return unknown(ours, f"machine {second} is never down")
    at_once = outage.jobs["wait_time"].iloc[0] == 0
    return verdict(ours, at_once and not len(outage.stuck), f"a job waits for {second}")


def _times(ratio: float) -> str:
    """A ratio in words: "1.50×"; without one where nothing waits that it could be a multiple of."""
    return f"{ratio:.2f}×" if np.isfinite(ratio) else "unknown"


def _own_scheme(runs: pd.DataFrame) -> np.ndarray:
    """H or Y: the scheme of each row's machine."""
    first = runs["machine"] != EUREKA
    return np.where(first, runs["scheme"].str[0], runs["scheme"].str[1])


def _waits_over_base(comparison: pd.DataFrame, by: str) -> pd.Series:
    """Average wait over that of the base, by machine, value and scheme."""
    table = averages(comparison, by)
    keys = ["machine", by, "scheme"]
    wait = table[table["measure"] == "wait"].set_index(keys)["mean"].unstack()  # noqa: PD010
    return wait.drop(columns="base").div(wait["base"], axis=0).stack()  # noqa: PD013
