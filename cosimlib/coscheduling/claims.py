"""Claims of Tang et al. (2011) on coscheduling, and from which numbers on they hold.

Means are over workloads and schemes for each seed, and paired by seed where two are compared: a
difference is told from 0 where its 95 % confidence interval over seeds is on one side of 0. Where
it is not, the claim is unknown. Seeds in which a job never starts count for the deadlock alone, and
not for waits and overheads. The base, without coscheduling, and the ideal (see
`measures.ideal_schedule`) count only where they are named.

- Mates start *at the same time* if no paired job starts apart from its mates, in any scheme. The
  algorithm starts them together: this holds by construction.
- Yield costs *more* sync-up overhead if it does on both machines in the experiment of which the
  paper says so, by Eureka's utilization: a machine's mean where it yields minus that where it
  holds, the other machine's scheme the same.
- *Only hold* loses if machines that yield lose no node-hour, and those that hold do. Yielding keeps
  no node idle by construction.
- Wait and slowdown *grow* if both are higher at the highest utilization, or proportion, than at the
  lowest, on both machines.
- What overhead is *acceptable* the paper does not say: we tell what waits are in multiples of the
  ideal's and of the base's, and decide nothing.
- Hold-hold *may* deadlock if jobs made for it never start where both machines hold. Releases
  *solve* it if then all jobs start, those and all compared, however late: how many days after its
  machine's last submission the last of them starts is told, and beside it the base's.
- A job does not wait *for ever* if, with the other machine down, all jobs start, the first of them
  when it is submitted.
"""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
import pandas as pd

from cosimlib.claims import Verdict, by_construction, of_enough_jobs, unknown, verdict
from cosimlib.coscheduling.comparison import (
    BASE,
    UNSCHEDULED,
    over,
    over_ideal,
)
from cosimlib.coscheduling.schedule import CoupledSchedule
from cosimlib.coscheduling.workloads import EUREKA
from cosimlib.display import count
from cosimlib.metrics import mean_interval
from cosimlib.metrics.intervals import Interval
from cosimlib.units import MINUTE

NO_MATES = "no job has a mate"
OF_MADE_UP_JOBS = ("holding-may-deadlock", "nobody-waits-for-ever")
"""Claims judged on jobs made for them, whatever the log."""
NO_LIMIT = "the paper prints no number, nor what would be acceptable"
STUCK = "in each seed some jobs never start"


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
    runs = runs[~runs["scheme"].isin(UNSCHEDULED)]
    compared = {
        "mates-start-together": mates_start_together(runs),
        "yield-costs-sync-up": yield_costs_sync_up(evidence.by_load),
        "only-hold-loses": only_hold_loses(runs),
        "grows-with-utilization": grows(evidence.by_load, "load"),
        "grows-with-proportion": grows(evidence.by_share, "share"),
        "modest-factor": modest_factor(evidence.by_load, evidence.by_share),
    }
    few = int(runs.loc[runs["machine"] != EUREKA, "jobs"].max())
    return of_enough_jobs(compared, few) | {
        "holding-may-deadlock": holding_may_deadlock(evidence.locked),
        "release-solves-deadlock": release_solves_deadlock(evidence, runs),
        "nobody-waits-for-ever": nobody_waits_for_ever(evidence.outage),
    }


def mates_start_together(runs: pd.DataFrame) -> Verdict:
    """Claim 1: all paired jobs start with their mates, in every scheme."""
    apart, paired = _jobs_of_schedules(runs, "apart"), int(runs["paired"].sum())
    ours = f"{paired - apart:,} of {paired:,} paired jobs"
    if not paired:
        return unknown(ours, NO_MATES)
    return by_construction(ours, apart == 0, "the algorithm starts a job and its mates at once")


def yield_costs_sync_up(by_load: pd.DataFrame) -> Verdict:
    """Claim 2: mean sync-up overhead where a machine yields minus that where it holds."""
    runs = _whole_seeds(by_load[~by_load["scheme"].isin(UNSCHEDULED)])
    if not by_load["paired"].any():
        return unknown("no overhead", NO_MATES)
    if runs.empty:
        return unknown("no overhead", STUCK)
    own = pd.Series(_own_scheme(runs), runs.index, name="own")
    means = runs.groupby(["machine", "seed", own], sort=False)["sync_up"].mean().unstack()  # noqa: PD010
    more = {
        machine: mean_interval(table["Y"] - table["H"])
        for machine, table in means.groupby("machine", sort=False)
    }
    told = [f"{machine} {_plus_minus(found)} min" for machine, found in more.items()]
    return _decided(f"yield over hold: {'; '.join(told)}", more, means.index)


def only_hold_loses(runs: pd.DataFrame) -> Verdict:
    """Claim 3: node-hours that machines which yield, and which hold, lose."""
    if runs["paired"].any() and (runs["stuck"] > 0).all():
        return unknown("no node-hours", STUCK)
    runs = runs[runs["stuck"] == 0]
    lost = runs.groupby(_own_scheme(runs))["lost"].sum()
    ours = f"{lost['Y']:g} node-hours by yielding, {lost['H']:,.0f} by holding"
    if not runs["paired"].any():
        return unknown(ours, NO_MATES)
    if not lost["H"]:
        return verdict(ours, False, "holding loses none")
    return by_construction(ours, lost["Y"] == 0, "a job that yields keeps no node idle")


def grows(comparison: pd.DataFrame, by: str) -> Verdict:
    """Claim 4: wait and slowdown at the highest value of a column, over those at the lowest."""
    comparison = _whole_seeds(comparison)
    if comparison.empty:
        return unknown("no waits", STUCK)
    runs = comparison[~comparison["scheme"].isin(UNSCHEDULED)]
    base = comparison[comparison["scheme"] == BASE]
    ours = "; ".join(
        f"{machine}: wait {_times(row['wait'])}, slowdown {_times(row['slowdown'])} (base "
        f"{_times(alone.loc[machine, 'wait'])}, {_times(alone.loc[machine, 'slowdown'])})"
        for alone in [_ratios(base, by)]
        for machine, row in _ratios(runs, by).iterrows()
    )
    if runs[by].nunique() < 2:
        return unknown(ours, f"compared at one {by} only")
    if not np.isfinite(_ratios(runs, by)).all(axis=None):
        return unknown(ours, "no job of a machine waits at the lowest")
    means = runs.groupby(["machine", "seed", by], sort=False)[["wait", "slowdown"]].mean()
    lowest, highest = (means.xs(edge, level=by) for edge in (runs[by].min(), runs[by].max()))
    more = {
        f"the {measure} of {machine}": mean_interval(table[measure])
        for machine, table in (highest - lowest).groupby("machine", sort=False)
        for measure in ("wait", "slowdown")
    }
    return _decided(ours, more, means.index)


def modest_factor(by_load: pd.DataFrame, by_share: pd.DataFrame) -> Verdict:
    """Claim 4: average wait over the ideal's and the base's, by utilization and proportion."""
    tables = [(by_load, "load"), (by_share, "share")]
    ideal = pd.concat([over_ideal(table, by) for table, by in tables])
    base = pd.concat([over(table, by, BASE) for table, by in tables])["mean"]
    if not np.isfinite(ideal["mean"]).all() or not np.isfinite(base).all():
        return unknown(
            "no ratio of waits", "no job of a machine waits in the base, or some never start"
        )
    told = [
        f"{scheme} {found.min():.2f}× to {found.max():.2f}×"
        for scheme, found in ideal.groupby("scheme", sort=False)["mean"]
    ]
    ours = f"wait over the ideal's: {', '.join(told)}"
    return unknown(f"{ours}; over the base's: {base.min():.2f}× to {base.max():.2f}×", NO_LIMIT)


def holding_may_deadlock(locked: CoupledSchedule) -> Verdict:
    """Claim 5: jobs with mates that never start where both machines hold."""
    paired = locked.group >= 0
    stuck, jobs = int(np.isnan(locked.start_time[paired]).sum()), int(paired.sum())
    ours = f"{stuck} of {jobs} jobs stuck"
    return verdict(ours, stuck > 0, "all of them start") if jobs else unknown(ours, NO_MATES)


def release_solves_deadlock(evidence: Evidence, runs: pd.DataFrame) -> Verdict:
    """Claim 5: jobs that never start in spite of releases, and how late the last one does."""
    stuck = _jobs_of_schedules(runs, "stuck") + len(evidence.released.stuck)
    months = len(_first_rows(runs[runs["stuck"] > 0])), len(_first_rows(runs))
    ours = f"{stuck:,} jobs stuck, with releases every {evidence.release_interval:g} s"
    if stuck:
        ours += f", in {months[0]:,} of {months[1]:,} runs"
    base = pd.concat([evidence.by_load, evidence.by_share])
    base = base[base["scheme"] == BASE]
    if runs["drained"].notna().any() and base["drained"].notna().any():
        ours += (
            f"; the last job starts {runs['drained'].max():.1f} days after the last submission "
            f"(base {base['drained'].max():.1f})"
        )
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


def _first_rows(runs: pd.DataFrame) -> pd.DataFrame:
    """One row per schedule: those of the first machine, with what is counted over all machines."""
    return runs[runs["machine"] != EUREKA]


def _jobs_of_schedules(runs: pd.DataFrame, column: str) -> int:
    """Sum of a column that has the count of the whole schedule in the row of each machine."""
    return int(_first_rows(runs)[column].sum())


def _whole_seeds(comparison: pd.DataFrame) -> pd.DataFrame:
    """The seeds in which all jobs start, whatever the scheme: of others nothing is paired."""
    stuck = comparison.loc[comparison["stuck"] > 0, "seed"].unique()
    return comparison[~comparison["seed"].isin(stuck)]


def _times(ratio: float) -> str:
    """A ratio in words: "1.50×"; without one where nothing waits that it could be a multiple of."""
    return f"{ratio:.2f}×" if np.isfinite(ratio) else "unknown"


def _own_scheme(runs: pd.DataFrame) -> np.ndarray:
    """H or Y: the scheme of each row's machine."""
    first = runs["machine"] != EUREKA
    return np.where(first, runs["scheme"].str[0], runs["scheme"].str[1])


def _ratios(runs: pd.DataFrame, by: str) -> pd.DataFrame:
    """Mean wait and slowdown at the highest value of a column over those at the lowest."""
    means = runs.groupby(["machine", by], sort=False)[["wait", "slowdown"]].mean()
    lowest, highest = (means.xs(edge, level=by) for edge in (runs[by].min(), runs[by].max()))
    return (highest / lowest).round(2)


def _plus_minus(found: Interval) -> str:
    """An interval in words: "+4.7 ± 2.1"; without half its width where one seed tells none."""
    half = found.high - found.mean
    return f"{found.mean:+.1f} ± {half:.1f}" if np.isfinite(half) else f"{found.mean:+.1f}"


def _decided(ours: str, more: Mapping[str, Interval], runs: pd.MultiIndex) -> Verdict:
    """Holds where all differences are above 0, fails where one is not, else the seeds are few."""
    seeds = runs.get_level_values("seed").nunique()
    below = [name for name, found in more.items() if found.high <= 0]
    unsure = [name for name, found in more.items() if found.low <= 0 < found.high]
    if not below and unsure:
        return unknown(ours, f"{count(seeds, 'seed')} cannot tell it for {', '.join(unsure)}")
    return verdict(ours, not below, f"not for {', '.join(below)}")
