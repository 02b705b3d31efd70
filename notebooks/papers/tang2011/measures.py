"""Measures of coscheduling over seeds: averages, ratios and differences, and the paper's claims.

A difference is paired by seed. Seeds in which a job never starts count for the deadlock alone, and
not for waits and overheads. The claims are about the schemes; the base, without coscheduling, and
the ideal (see `ideal_schedule`) count only where they are named.

- Mates start *at the same time* if no paired job starts apart from its mates, in any scheme.
- Yield costs *more* sync-up overhead if it does on both machines in the experiment of which the
  paper says so, by Eureka's utilization: a machine's mean where it yields minus that where it
  holds, over both schemes of the other machine.
- *Only hold* loses if all node-hours that are held idle are those of machines that hold.
- Wait and slowdown *grow* if both are higher at the highest utilization, or proportion, than at the
  lowest, on both machines, in the mean over schemes.
- What overhead is *acceptable* the paper does not say. Waits are given in multiples of the ideal's
  and of the base's, and nothing is decided.
- Hold-hold *may* deadlock if jobs made for it never start where both machines hold. Releases
  *solve* it if then all jobs start, those and all compared, however late.
- A threshold for yields *reduces* overhead: the slides name it among enhancements and print no
  result, so nothing is decided. Our number is what jobs with mates wait for them with a threshold
  less what they wait where both machines yield for ever, in the mean over both machines.
- A job does not wait *for ever* if, with the other machine down, all jobs start, the first of them
  when it is submitted.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import pandas as pd

from cosimlab.figures import in_words
from cosimlib.coscheduling import BASE, IDEAL, SCHEMES, CoupledSchedule
from cosimlib.display import count
from cosimlib.units import MINUTE
from papers.claims import Samples, interval_of_seeds, measure, of_enough_jobs
from papers.tang2011.experiment import EUREKA, WITHOUT_THRESHOLD

UNSCHEDULED = (BASE, IDEAL)
"""What is compared with the schemes, and is none."""
SUMMARIZED = (
    "wait",
    "slowdown",
    "sync_up",
    "lost",
    "sync_up_median",
    "sync_up_late",
    "waited",
    "wait_paired",
    "wait_alone",
    "lost_share",
)
SYNC_UP = {
    "sync_up": "mean",
    "sync_up_median": "median",
    "sync_up_late": "95 % wait at most",
    "waited": "share that waits",
    "wait_paired": "wait, with mates",
    "wait_alone": "wait, without mates",
}
SYNC_UP_READINGS = {
    "since the first hold or yield": "sync_up",
    "more than without coscheduling": "wait_paired",
}
"""Readings of "how many more minutes need to wait in co-scheduling", and the column of each.

A job's wait without coscheduling is the same whatever the scheme, so that it cancels in differences
between schemes.
"""
MADE_UP = "six made-up jobs"
NO_MATES = "no job has a mate"
STUCK = "in each seed some jobs never start"


class Results(NamedTuple):
    """Measurements that the claims are judged by.

    Parameters
    ----------
    by_load, by_share, by_threshold : pd.DataFrame
        Of `compare_loads`, `compare_shares` and `compare_thresholds`.
    locked, released : CoupledSchedule
        Jobs made to deadlock where both machines hold, without and with releases.
    outage : CoupledSchedule
        The same jobs without releases, while the second machine is down.
    release_interval : float
        Seconds between releases in the comparisons.
    """

    by_load: pd.DataFrame
    by_share: pd.DataFrame
    by_threshold: pd.DataFrame
    locked: CoupledSchedule
    released: CoupledSchedule
    outage: CoupledSchedule
    release_interval: float = 1200.0


def averages(comparison: pd.DataFrame, by: str) -> pd.DataFrame:
    """Mean over seeds of what was compared, and its 95 % confidence interval.

    Runs in which jobs never start are left out: of those jobs nothing is measured.

    Parameters
    ----------
    comparison : pd.DataFrame
        Of `compare`.
    by : str
        Column of the workloads or cases.

    Returns
    -------
    pd.DataFrame
        `machine`, `by`, `scheme`, `measure` (one of `SUMMARIZED`), `mean`, `low`, `high` (see
        `interval_of_seeds`), `seeds`.
    """
    comparison = comparison[comparison["stuck"] == 0]
    keys = ["machine", by, "scheme", "measure"]
    long = comparison.melt(["machine", by, "scheme", "seed"], list(SUMMARIZED), "measure")
    cells = long.groupby(keys, sort=False)["value"]
    rows = [(*key, *interval_of_seeds(values), len(values)) for key, values in cells]
    return pd.DataFrame(rows, columns=[*keys, "mean", "low", "high", "seeds"])


def never_started(comparison: pd.DataFrame, by: str) -> str:
    """The runs in which jobs never start, in words, or that there is none."""
    runs = comparison[comparison["stuck"] > 0].drop_duplicates([by, "seed", "scheme"])
    if runs.empty:
        return "All jobs start in every run."
    named = [
        f"{by} {case}, seed {seed}, {scheme}: {count(stuck, 'job')}"
        for case, seed, scheme, stuck in runs[[by, "seed", "scheme", "stuck"]].itertuples(
            index=False
        )
    ]
    return f"Jobs that never start, in runs that the averages leave out: {'; '.join(named)}."


def paired_shares(by_load: pd.DataFrame) -> pd.DataFrame:
    """Jobs with mates by Eureka's utilization and machine, in percent of all."""
    pairs = by_load[by_load["scheme"] == SCHEMES[0]].groupby(["load", "machine"], sort=False)
    shares = pairs["paired"].sum() / pairs["jobs"].sum()
    return shares.mul(100).round(1).rename("% paired").unstack()  # noqa: PD010


def lost_shares(means: pd.DataFrame, by: str) -> pd.DataFrame:
    """Node-hours held idle by machine and scheme, in percent of what the machine offers."""
    lost = means[(means["measure"] == "lost_share") & means["scheme"].isin(SCHEMES)]
    lost = lost.set_index(["machine", by, "scheme"])["mean"].mul(100).round(2)
    return lost.unstack()  # noqa: PD010


def waits_for_mates(means: pd.DataFrame) -> pd.DataFrame:
    """Sync-up overheads and waits in minutes, where Eureka's utilization is highest."""
    table = means[means["measure"].isin([*SYNC_UP]) & (means["load"] == means["load"].max())]
    table = table.pivot_table("mean", ["machine", "scheme"], "measure", sort=False)
    return in_words(table.rename(columns=SYNC_UP).drop(BASE, level="scheme").round(2))


def over_ideal(comparison: pd.DataFrame, by: str, measure: str = "wait") -> pd.DataFrame:
    """What coscheduling costs beyond pairing itself: a measure over the ideal's, paired by seed.

    Returns
    -------
    pd.DataFrame
        `machine`, `by`, `scheme`, and mean, `low` and `high` of the ratios over seeds; NaN or
        infinite where the ideal measures 0.
    """
    return over(comparison, by, IDEAL, measure)


def over(comparison: pd.DataFrame, by: str, reference: str, measure: str = "wait") -> pd.DataFrame:
    """A measure of each scheme over that of a reference, ``"base"`` or ``"ideal"``, by seed."""
    cells = _by_scheme(comparison, by, measure)
    schemes = [name for name in cells if name not in UNSCHEDULED]
    return _intervals(cells[schemes].div(cells[reference], axis=0), by)


def yield_minus_hold(comparison: pd.DataFrame, by: str, measure: str = "sync_up") -> pd.DataFrame:
    """A machine's measure where it yields minus that where it holds, the other's scheme the same.

    Returns
    -------
    pd.DataFrame
        `machine`, `by`, `scheme` (``"other machine holds"`` or ``"other machine yields"``), and
        mean, `low` and `high` of the differences over seeds.
    """
    tables = []
    for machine, cells in _by_scheme(comparison, by, measure).groupby("machine", sort=False):
        pairs = {"holds": ("YH", "HH"), "yields": ("YY", "HY")}
        if machine == EUREKA:
            pairs = {"holds": ("HY", "HH"), "yields": ("YY", "YH")}
        found = {
            f"other machine {other}": cells[yields] - cells[holds]
            for other, (yields, holds) in pairs.items()
        }
        tables.append(_intervals(pd.DataFrame(found), by))
    return pd.concat(tables, ignore_index=True)


def in_percent(means: pd.DataFrame, by: str) -> pd.DataFrame:
    """Averages as bars name them: values of `by` in percent, machines with a capital letter."""
    return means.assign(
        **{by: [f"{100 * value:g} %" for value in means[by]]},
        machine=means["machine"].map(_upper),
        **means[["mean", "low", "high"]].round(4),
    )


def drawable(table: pd.DataFrame) -> pd.DataFrame:
    """The rows with a finite mean, machines with a capital letter."""
    return table.assign(machine=table["machine"].map(_upper))[table["mean"] < np.inf]


def over_ideal_by_kind(comparison: pd.DataFrame, by: str) -> pd.DataFrame:
    """Waits over the ideal's of jobs with and without mates, in column `jobs`; see `over_ideal`."""
    kinds = {"jobs with mates": "wait_paired", "jobs without mates": "wait_alone"}
    parts = [over_ideal(comparison, by, of).assign(jobs=kind) for kind, of in kinds.items()]
    return drawable(pd.concat(parts, ignore_index=True))


def explain_bars(means: pd.DataFrame) -> str:
    """What a reader of bars of `averages` must know who sees the figure alone."""
    seeds = count(int(means["seeds"].max()) if len(means) else 0, "seed")
    return (
        f"Bars are means over {seeds}, whiskers their 95 % confidence intervals. "
        f"{_explain_letters(means)} The base has no coscheduling; in the ideal, mates wait for one "
        "another, and nobody else waits for them."
    )


def explain_lines(comparison: pd.DataFrame, *, letters: bool = False, kinds: bool = False) -> str:
    """What a reader of lines over a comparison's seeds must know who sees the figure alone.

    `letters` says what the letters of a scheme mean, `kinds` why mates wait alike.
    """
    seeds = count(comparison["seed"].nunique(), "seed")
    note = f"Lines are means over {seeds}, bands their 95 % intervals."
    if letters:
        note += f" {_explain_letters(comparison)}"
    if kinds:
        note += (
            " A third of the jobs is paired. Mates are submitted together here, and start "
            "together: they wait alike, so that the line of jobs with mates is the same on both "
            "machines."
        )
    return note


def _explain_letters(table: pd.DataFrame) -> str:
    """What the letters of a scheme mean."""
    machines = " and ".join(map(_upper, dict.fromkeys(table["machine"])))
    return (
        f"A scheme's letters stand for {machines}, in this order: H, a job holds its nodes idle "
        "until its mate starts; Y, it yields its turn."
    )


def _upper(name: str) -> str:
    """A name with a capital letter; the rest stays as it is."""
    return name[:1].upper() + name[1:]


def measure_claims(results: Results) -> dict[str, Samples]:
    """The samples of every claim; of too few jobs those that were compared decide nothing."""
    samples = measure(MEASURES, results)
    compared = {name: one for name, one in samples.items() if name not in ON_DEADLOCK}
    jobs = _first_rows(_schemes(results))["jobs"].max()
    return samples | of_enough_jobs(compared, int(jobs))


def mates_start_together(results: Results) -> Samples:
    """Claim 1: paired jobs that start apart from their mates."""
    runs = _schemes(results)
    apart, paired = _jobs_of_schedules(runs, "apart"), int(runs["paired"].sum())
    return Samples(
        [apart],
        ours=f"{paired - apart:,} of {paired:,} paired jobs",
        why="the algorithm starts a job and its mates at once",
        missing="" if paired else NO_MATES,
    )


def yield_costs_sync_up(results: Results) -> Samples:
    """Claim 2: mean sync-up overhead where a machine yields minus that where it holds."""
    if not results.by_load["paired"].any():
        return Samples(missing=NO_MATES)
    runs = _whole_seeds(_of_schemes(results.by_load))
    own = pd.Series(_own_scheme(runs), runs.index, name="own")
    readings = {}
    for reading, column in SYNC_UP_READINGS.items():
        cells = runs.groupby(["machine", "seed", own], sort=False)[column]
        means = cells.mean().unstack()  # noqa: PD010
        readings[reading] = {
            str(machine): (table["Y"] - table["H"]).tolist()
            for machine, table in means.groupby("machine", sort=False)
        }
    why, missing = "it does not on every machine", _too_few_seeds(runs)
    return Samples(shown="{:+.1f} min", why=why, missing=missing, readings=readings)


def only_hold_loses(results: Results) -> Samples:
    """Claim 3: share of the node-hours held idle that machines which hold have lost."""
    runs = _schemes(results)
    if not runs["paired"].any():
        return Samples(missing=NO_MATES)
    if (runs["stuck"] > 0).all():
        return Samples(missing=STUCK)
    runs = runs[runs["stuck"] == 0]
    lost = runs.groupby(_own_scheme(runs))["lost"].sum()
    return Samples(
        [lost["H"] / lost.sum() if lost["H"] else 0.0],
        ours=f"{lost['Y']:g} node-hours by yielding, {lost['H']:,.0f} by holding",
        why="a job that yields keeps no node idle" if lost["H"] else "holding loses none",
    )


def threshold_reduces_overhead(results: Results) -> Samples:
    """Claim 5: mean sync-up overhead of each threshold minus that of yielding for ever."""
    runs = _whole_seeds(_of_schemes(results.by_threshold))
    if not runs["paired"].any():
        return Samples(missing=NO_MATES)
    means = runs.groupby(["yields", "seed"], sort=False)["sync_up"].mean().unstack(level="yields")  # noqa: PD010
    more = means.drop(columns=WITHOUT_THRESHOLD).sub(means[WITHOUT_THRESHOLD], axis=0)
    return Samples(
        {f"{most} yields": values.tolist() for most, values in more.items()},
        "{:+.1f} min",
        why="a job yields at nearly every submission and end, so it soon holds, and delays others",
        missing=_too_few_seeds(runs),
    )


def grows_with_utilization(results: Results) -> Samples:
    """Claim 4: wait and slowdown at Eureka's highest utilization minus those at its lowest."""
    return _growth(results.by_load, "load")


def grows_with_proportion(results: Results) -> Samples:
    """Claim 4: wait and slowdown where most jobs are paired minus those where fewest are."""
    return _growth(results.by_share, "share")


def modest_factor(results: Results) -> Samples:
    """Claim 4: average wait over the ideal's and the base's, by utilization and proportion."""
    tables = [(results.by_load, "load"), (results.by_share, "share")]
    ideal = pd.concat([over_ideal(table, by) for table, by in tables])
    base = pd.concat([over(table, by, BASE) for table, by in tables])["mean"]
    if not np.isfinite(ideal["mean"]).all() or not np.isfinite(base).all():
        return Samples(missing="no job of a machine waits in the base, or some never start")
    ranges = [
        f"{scheme} {found.min():.2f}× to {found.max():.2f}×"
        for scheme, found in ideal.groupby("scheme", sort=False)["mean"]
    ]
    ours = f"wait over the ideal's: {', '.join(ranges)}"
    return Samples(ours=f"{ours}; over the base's: {base.min():.2f}× to {base.max():.2f}×")


def holding_may_deadlock(results: Results) -> Samples:
    """Claim 5: jobs with mates that never start where both machines hold."""
    locked = results.locked
    paired = locked.group >= 0
    stuck, jobs = int(np.isnan(locked.start_time[paired]).sum()), int(paired.sum())
    ours, missing = f"{stuck} of {jobs} jobs stuck", "" if jobs else NO_MATES
    return Samples([stuck], ours=ours, why="all of them start", missing=missing, data=MADE_UP)


def release_solves_deadlock(results: Results) -> Samples:
    """Claim 5: jobs that never start in spite of releases, and how late the last one does."""
    runs = _schemes(results)
    stuck = _jobs_of_schedules(runs, "stuck") + len(results.released.stuck)
    ours = f"{stuck:,} jobs stuck, with releases every {results.release_interval:g} s"
    if stuck:
        never, all_runs = len(_first_rows(runs[runs["stuck"] > 0])), len(_first_rows(runs))
        ours += f", in {never:,} of {all_runs:,} runs"
    base = pd.concat([results.by_load, results.by_share]).query("scheme == @BASE")
    if runs["drained"].notna().any() and base["drained"].notna().any():
        ours += (
            f"; the last job starts {runs['drained'].max():.1f} days after the last submission "
            f"(base {base['drained'].max():.1f})"
        )
    missing = "" if len(results.locked.stuck) else "no deadlock without releases"
    return Samples([stuck], ours=ours, why="some jobs never start", missing=missing)


def nobody_waits_for_ever(results: Results) -> Samples:
    """Claim 6: wait of the first machine's jobs while the second is down."""
    outage, wait = results.outage, results.outage.jobs["wait_time"]
    first, second = outage.system.partitions
    longest = wait[outage.partition == first].max() / MINUTE
    return Samples(
        {"jobs that never start": [len(outage.stuck)], "wait of the first job": [wait.iloc[0]]},
        ours=f"machine {first}'s jobs wait at most {longest:.0f} min for nodes, none for {second}",
        why=f"a job waits for {second}",
        missing="" if outage.outages else f"machine {second} is never down",
        data=MADE_UP,
    )


MEASURES: dict[str, Callable[[Results], Samples]] = {
    "mates-start-together": mates_start_together,
    "yield-costs-sync-up": yield_costs_sync_up,
    "threshold-reduces-overhead": threshold_reduces_overhead,
    "only-hold-loses": only_hold_loses,
    "grows-with-utilization": grows_with_utilization,
    "grows-with-proportion": grows_with_proportion,
    "modest-factor": modest_factor,
    "holding-may-deadlock": holding_may_deadlock,
    "release-solves-deadlock": release_solves_deadlock,
    "nobody-waits-for-ever": nobody_waits_for_ever,
}
ON_DEADLOCK = ("holding-may-deadlock", "release-solves-deadlock", "nobody-waits-for-ever")
"""Claims about which jobs made up for them say something, too."""


def _growth(comparison: pd.DataFrame, by: str) -> Samples:
    """Wait and slowdown at the highest value of a column minus those at the lowest, by seed."""
    comparison = _whole_seeds(comparison)
    runs, base = _of_schemes(comparison), comparison[comparison["scheme"] == BASE]
    if runs.empty:
        return Samples(missing=STUCK)
    if runs[by].nunique() < 2:
        return Samples(missing=f"compared at one {by} only")
    ratios, alone = _ratios(runs, by), _ratios(base, by)
    ours = "; ".join(
        f"{machine}: wait {_times(row['wait'])}, slowdown {_times(row['slowdown'])} (base "
        f"{_times(alone.loc[machine, 'wait'])}, {_times(alone.loc[machine, 'slowdown'])})"
        for machine, row in ratios.iterrows()
    )
    means = runs.groupby(["machine", "seed", by], sort=False)[["wait", "slowdown"]].mean()
    lowest, highest = (means.xs(edge, level=by) for edge in (runs[by].min(), runs[by].max()))
    more = {
        f"the {measure} of {machine}": table[measure].tolist()
        for machine, table in (highest - lowest).groupby("machine", sort=False)
        for measure in ("wait", "slowdown")
    }
    finite = np.isfinite(ratios).all(axis=None)
    missing = _too_few_seeds(runs) if finite else "no job of a machine waits at the lowest"
    return Samples(more, ours=ours, why="not both, or not on both machines", missing=missing)


def _schemes(results: Results) -> pd.DataFrame:
    """The rows of both comparisons but those of the base and the ideal."""
    return _of_schemes(pd.concat([results.by_load, results.by_share], ignore_index=True))


def _of_schemes(comparison: pd.DataFrame) -> pd.DataFrame:
    """The rows of a comparison but those of the base and the ideal."""
    return comparison[~comparison["scheme"].isin(UNSCHEDULED)]


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


def _too_few_seeds(runs: pd.DataFrame) -> str:
    """Why seeds cannot decide a difference; empty where there are two or more."""
    if runs.empty:
        return STUCK
    return "" if len(runs["seed"].unique()) > 1 else "one seed has no confidence interval"


def _own_scheme(runs: pd.DataFrame) -> np.ndarray:
    """H or Y: the scheme of each row's machine."""
    first = runs["machine"] != EUREKA
    return np.where(first, runs["scheme"].str[0], runs["scheme"].str[1])


def _ratios(runs: pd.DataFrame, by: str) -> pd.DataFrame:
    """Mean wait and slowdown at the highest value of a column over those at the lowest."""
    means = runs.groupby(["machine", by], sort=False)[["wait", "slowdown"]].mean()
    lowest, highest = (means.xs(edge, level=by) for edge in (runs[by].min(), runs[by].max()))
    return (highest / lowest).round(2)


def _times(ratio: float) -> str:
    """A ratio in words: "1.50×"; unknown where nothing waits that it could be a multiple of."""
    return f"{ratio:.2f}×" if np.isfinite(ratio) else "unknown"


def _by_scheme(comparison: pd.DataFrame, by: str, measure: str) -> pd.DataFrame:
    """A measure by machine, `by` and seed, a column per scheme; runs with stuck jobs left out."""
    keys, order = ["machine", by, "seed"], list(dict.fromkeys(comparison["scheme"]))
    machines = list(dict.fromkeys(comparison["machine"]))
    comparison = comparison[comparison["stuck"] == 0]
    cells = comparison.pivot(index=keys, columns="scheme", values=measure)  # noqa: PD010
    return cells.reindex(columns=order).reindex(machines, level="machine")


def _intervals(cells: pd.DataFrame, by: str) -> pd.DataFrame:
    """Intervals over seeds of a table by machine, `by` and seed, a column per scheme."""
    rows = [
        (machine, value, scheme, *interval_of_seeds(part[scheme].dropna()))
        for (machine, value), part in cells.groupby(["machine", by], sort=False)
        for scheme in cells
    ]
    return pd.DataFrame(rows, columns=["machine", by, "scheme", "mean", "low", "high"])
