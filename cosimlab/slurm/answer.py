"""A site as configured against as recorded, and against itself with other settings.

Whether the model of a site fits is seen from its record: the starts that it simulates beside those
that happened, week by week, and beside those of EASY, which knows nothing of the site. Where starts
are not ordered as recorded (rank correlation of waits below `LEAST_CORRELATION`), the site does not
fit, and there is no number for a change.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from cosimlab.comparison import Comparison, compare_where_possible
from cosimlib.batch import simulate_easy
from cosimlib.display import count, duration, or_unknown, percent
from cosimlib.slurm import NotModeled, Site, SlurmSchedule, simulate
from cosimlib.slurm.jobs import flags, limits_of
from cosimlib.system import System
from cosimlib.traces.slurm import NOT_STARTED, STILL_RUNNING
from cosimlib.units import HOUR, MINUTE, WEEK
from cosimlib.workload import Workload

LEAST_CORRELATION = 0.5
"""Rank correlation of simulated and recorded waits below which a site does not fit."""
NOT_ENDED = (NOT_STARTED, STILL_RUNNING)
"""Jobs that the reader leaves out as they had not ended."""
GROUPS = ("account", "qos", "partition", "size")
SIZES = (1, 2, 5, 17, np.inf)
SIZE_NAMES = ("1 node", "2 to 4 nodes", "5 to 16 nodes", "over 16 nodes")
CAUSES = (
    "jobs that were held or waited for other jobs (compare Eligible with Submit), nodes that were "
    "down, reservations, a configuration that changed meanwhile, and what is not modeled"
)


@dataclass(frozen=True, eq=False)
class SlurmReport:
    """What became of the jobs of a site as configured, as recorded, and changed.

    ``print(report)`` shows everything.

    Attributes
    ----------
    record : pd.DataFrame
        One row per week and simulator (``as configured``, ``EASY``): `jobs`, `correlation`
        (rank, of waits with those recorded), `error` (median absolute difference of starts, s).
        Empty where starts are not recorded.
    fits : bool or None
        None where starts are not recorded.
    groups : pd.DataFrame
        One row per group of jobs and site: `jobs`, and the `mean`, `median` and `p90` of waits (s).
        Empty where the site does not fit.
    machine : pd.DataFrame
        One row per site: `utilization`, `preempted`, `refused`.
    comparison : Comparison or None
        Mean waits of the sites with intervals, where they were asked for.
    """

    name: str
    schedules: Mapping[str, SlurmSchedule]
    record: pd.DataFrame
    fits: bool | None
    groups: pd.DataFrame
    machine: pd.DataFrame
    comparison: Comparison | None
    not_modeled: tuple[NotModeled, ...]
    notes: tuple[str, ...] = field(default=())

    def figure(self) -> Any:
        """Mean waits of each account, QOS, partition and size under each site: a plotly figure."""
        from cosimlab.figures import plot_sites

        return plot_sites(self, title="Mean waits under each configuration")

    def __str__(self) -> str:
        parts = [f"Slurm's simulation of {self.name}", *self.notes]
        if len(self.record):
            parts.append(_record_text(self.record))
        if len(self.groups):
            parts.append(_groups_text(self.groups, list(self.schedules)))
        if self.fits is not False:
            used = self.machine["utilization"].map(percent)
            parts.append(self.machine.assign(utilization=used).to_string(index=False))
        if self.comparison is not None:
            parts += [*self.comparison.sentences(), self.comparison.note]
        parts.append("Not modeled:" if self.not_modeled else "Not modeled: nothing that is set.")
        parts += [f"  {one.setting}={one.value}: {one.effect}" for one in self.not_modeled]
        return "\n".join(parts)


def _record_text(record: pd.DataFrame) -> str:
    """The record as text: errors of starts in the unit that suits the largest."""
    length, unit = _unit_of(record["error"].max())
    table = record.assign(
        correlation=record["correlation"].map(lambda each: or_unknown(each, ".2f")),
        error=[_short(each / length) for each in record["error"]],
    )
    return table.rename(columns={"error": f"error of starts ({unit})"}).to_string(index=False)


def _groups_text(groups: pd.DataFrame, sites: list[str]) -> str:
    """Waits as text: one line per group, those of its sites beside each other in one unit."""
    length, unit = _unit_of(groups[["mean", "median", "p90"]].max().max())
    rows = {}
    for (kind, group), of_group in groups.groupby(["kind", "group"], sort=False):
        waits = of_group.set_index("site").loc[sites]
        rows[kind, group] = {"jobs": f"{waits['jobs'].iloc[0]:,}"} | {
            name: " → ".join(_short(each / length) for each in waits[name])
            for name in ("mean", "median", "p90")
        }
    table = pd.DataFrame.from_dict(rows, orient="index").rename_axis(["by", "group"]).reset_index()
    first = table["by"] == "all"
    table = pd.concat([table[first], table[~first]])
    return f"Waits in {unit}, {' → '.join(sites)}:\n{table.to_string(index=False)}"


def _unit_of(seconds: float) -> tuple[float, str]:
    """The length (s) and the name of the unit in which waits up to so many seconds are told."""
    if not seconds >= MINUTE:
        return 1.0, "seconds"
    return (HOUR, "hours") if seconds >= HOUR else (MINUTE, "minutes")


def _short(number: float) -> str:
    """A number with three digits, or whole from 100 on."""
    return or_unknown(number, ",.0f" if abs(number) >= 100 else ".3g")


def report_on(
    workload: Workload,
    sites: Mapping[str, Site],
    *,
    no_record: bool = False,
    replicates: int = 0,
) -> SlurmReport:
    """A report on jobs under a site as configured (the first) and changed (the others).

    Parameters
    ----------
    workload : Workload
        Of `cosimlab.slurm.read_jobs`.
    sites : mapping of str to Site
    no_record : bool, default False
        Whether to answer although the starts of jobs are not recorded, so that nothing tells
        whether the site fits.
    replicates : int, default 0
        Logs drawn anew by weeks for intervals of mean waits, as in `cosimlab.compare`; each takes
        as long as the log itself. There are none for logs of less than six weeks.

    Raises
    ------
    ValueError
        If no start is recorded, unless `no_record`.
    """
    recorded = workload.column("recorded_start")
    has_record = bool(recorded.notna().any())
    if not has_record and not no_record:
        raise ValueError(
            f"{workload.name}: starts of jobs are not recorded, so nothing tells whether the site "
            "fits; take jobs from sacct, or say --no-record"
        )
    first, *others = sites
    schedules = {first: simulate(workload, sites[first])}
    record, fits, notes = _record(schedules[first]) if has_record else _no_record()
    if fits is not False:
        schedules |= {name: simulate(workload, sites[name]) for name in others}
    comparison = None
    if fits is not False and replicates and len(sites) > 1:
        comparison, why = compare_where_possible(
            workload, sites, replicates=replicates, measures=["wait_time"]
        )
        notes = (*notes, f"No intervals: {why}.") if why else notes
    elif fits is not False and len(sites) > 1:
        notes = (*notes, "The differences below have no intervals.")
    read = (_what_was_read(workload, sites[first]), _release(sites[first]))
    notes = (
        *read,
        *_without_limits(workload),
        *_odd_records(workload),
        *notes,
        *_refusals(schedules),
    )
    named = {one for schedule in schedules.values() for one in schedule.not_modeled}
    return SlurmReport(
        workload.name,
        schedules,
        record,
        fits,
        _groups(schedules) if fits is not False else pd.DataFrame(),
        _machine(schedules),
        comparison,
        tuple(sorted(named, key=lambda one: one.setting)),
        notes,
    )


def _no_record() -> tuple[pd.DataFrame, None, tuple[str, ...]]:
    note = "Starts are not recorded: nothing tells whether the site fits."
    return pd.DataFrame(), None, (note,)


def _record(schedule: SlurmSchedule) -> tuple[pd.DataFrame, bool, tuple[str, ...]]:
    """The simulated starts beside those recorded, whether they fit, and sentences."""
    workload = schedule.workload
    starts = {"as configured": schedule.start_time, "EASY": _easy(workload, schedule.site)}
    submit = workload.jobs["submit_time"].to_numpy()
    recorded = workload.column("recorded_start").to_numpy()
    week = (submit // WEEK).astype(int)
    known = np.all([np.isfinite(one) for one in (recorded, *starts.values())], axis=0)
    rows = []
    for number in [*np.unique(week), -1]:
        chosen = (week == number) | (number < 0)
        for name, start in starts.items():
            both = chosen & known
            label = "all" if number < 0 else str(number + 1)
            correlation = _correlation((start - submit)[both], (recorded - submit)[both])
            error = np.median(np.abs(start - recorded)[both]) if both.any() else np.nan
            rows.append((label, name, int(both.sum()), correlation, error))
    table = pd.DataFrame(rows, columns=["week", "simulator", "jobs", "correlation", "error"])
    own, easy = table["correlation"].iloc[-2], table["correlation"].iloc[-1]
    fits = bool(own >= LEAST_CORRELATION)
    text = (
        f"As configured against as recorded: rank correlation of waits {own:.2f}, EASY's "
        f"{easy:.2f}; median error of starts {duration(table['error'].iloc[-2])}, EASY's "
        f"{duration(table['error'].iloc[-1])}; mean wait recorded "
        f"{duration(_mean(recorded - submit, known))}, simulated "
        f"{duration(_mean(starts['as configured'] - submit, known))}."
    )
    if fits:
        return table, True, (text,)
    why = f"The site does not fit its record, so no change has a number. Likely causes: {CAUSES}."
    return table, False, (text, why)


def _mean(waits: np.ndarray, known: np.ndarray) -> float:
    """The mean of waits that are known; missing if none is."""
    return float(waits[known].mean()) if known.any() else np.nan


def _release(site: Site) -> str:
    """Which release of Slurm is simulated."""
    if site.release:
        return f"Slurm {site.release}."
    return "The release is not given: the newest is simulated (--set SLURM_VERSION=23.11)."


def _what_was_read(workload: Workload, site: Site) -> str:
    """What was read: the site's nodes, partitions and QOS, and whose jobs from when to when.

    And how many jobs were left out because they had not ended.
    """
    machine = f"{count(len(site.nodes), 'node')} in {count(len(site.partitions), 'partition')}"
    users = count(workload.column("user").nunique(), "user")
    text = f"{machine}, {len(site.qos):,} QOS, {count(len(workload), 'job')} of {users}"
    if workload.began is not None and len(workload):
        last = workload.began + pd.Timedelta(seconds=float(workload.jobs["submit_time"].max()))
        text += f", {workload.began:%Y-%m-%d} to {last:%Y-%m-%d}"
    account = workload.account[workload.account["reason"].isin(NOT_ENDED)]
    left_out = [f"{row.records:,} {row.reason}" for row in account.itertuples(index=False)]
    return f"{text}; left out: {', '.join(left_out)}." if left_out else f"{text}."


def _without_limits(workload: Workload) -> tuple[str, ...]:
    """How many jobs have no time limit of their own, and which they have then."""
    none = workload.jobs["requested_time"].isna()
    unlimited = none & flags(workload, "unlimited")
    groups = {
        "without a time limit": (unlimited, "the MaxTime of their partition"),
        "that asked for no time": (
            none & ~unlimited,
            "the DefaultTime of their partition, else its MaxTime",
        ),
    }
    return tuple(
        f"{count(int(chosen.sum()), 'job')} {which}: taken with {limit} (a year where that is "
        "UNLIMITED)."
        for which, (chosen, limit) in groups.items()
        if chosen.any()
    )


def _odd_records(workload: Workload) -> tuple[str, ...]:
    """What was done with records that are not simple jobs, as the reader noted it."""
    return tuple(
        f"{count(int(row.records), 'record')} {row.action}: {row.reason}."
        for row in workload.account.itertuples(index=False)
        if row.reason not in NOT_ENDED
    )


def _refusals(schedules: Mapping[str, SlurmSchedule]) -> tuple[str, ...]:
    """How many jobs each site refuses, with Slurm's words for it."""
    notes = []
    for name, schedule in schedules.items():
        reasons = schedule.refused["reason"].value_counts()
        if len(reasons):
            words = ", ".join(
                f"{reason or 'never starts'} ({n:,})" for reason, n in reasons.items()
            )
            total = len(schedule.workload)
            notes.append(f"{name}: {reasons.sum():,} of {total:,} jobs do not run: {words}.")
    notes += dict.fromkeys(
        _unknown_qos(schedule)
        for schedule in schedules.values()
        if (schedule.refused["reason"] == "InvalidQOS").any()
    )
    if notes and _run_everywhere(schedules).any():
        notes.append("The waits below are of the jobs that run under every site.")
    elif notes:
        notes.append("No job runs under every site.")
    return tuple(notes)


def _unknown_qos(schedule: SlurmSchedule) -> str:
    """Which QOS of jobs the site does not have, and what to do."""
    named = schedule.workload.column("qos").astype("string").dropna()
    missing = sorted(set(named) - {*schedule.site.qos, ""})
    names = ", ".join(missing[:5]) + (", ..." if len(missing) > 5 else "")
    return (
        f"The site has no QOS {names}, which jobs name: export it "
        "(sacctmgr show qos -P > site/qos.txt)."
    )


def _run_everywhere(schedules: Mapping[str, SlurmSchedule]) -> np.ndarray:
    """Whether each job runs under every site."""
    return np.all([np.isfinite(one.start_time) for one in schedules.values()], axis=0)


def _easy(workload: Workload, site: Site) -> np.ndarray:
    """Starts under EASY on as many nodes; missing for jobs of more."""
    nodes = len(site.nodes)
    limits = pd.Series(limits_of(workload, site), index=workload.jobs.index)
    fine = workload.jobs["nodes"].to_numpy() <= nodes
    kept = ["submit_time", "run_time", "requested_time", "nodes"]
    jobs = workload.jobs[kept]
    jobs = jobs.assign(requested_time=jobs["requested_time"].fillna(limits)).loc[fine]
    starts = np.full(len(workload), np.nan)
    if fine.any():
        plain = Workload(jobs, workload.name)
        starts[fine] = simulate_easy(plain, System.of(nodes)).start_time
    return starts


def _correlation(one: np.ndarray, other: np.ndarray) -> float:
    """Spearman's rank correlation; missing where one of both does not vary."""
    ranks = pd.DataFrame({"one": one, "other": other}).rank()
    if len(ranks) < 3 or (ranks.nunique() < 2).any():
        return np.nan
    return float(ranks["one"].corr(ranks["other"]))


def _groups(schedules: Mapping[str, SlurmSchedule]) -> pd.DataFrame:
    """Waits of each group of jobs on each site."""
    parts = []
    runs = _run_everywhere(schedules)
    if not runs.any():
        return pd.DataFrame()
    for name, schedule in schedules.items():
        jobs = schedule.jobs[runs]
        size = pd.cut(jobs["nodes"], [*SIZES], right=False, labels=list(SIZE_NAMES))
        jobs = jobs.assign(size=size.astype("str"), all="all jobs")
        for kind in ("all", *GROUPS):
            if kind not in jobs or jobs[kind].isna().all():
                continue
            waits = jobs.groupby(kind, observed=True)["wait_time"]
            found = pd.DataFrame(
                {
                    "jobs": waits.count(),
                    "mean": waits.mean(),
                    "median": waits.median(),
                    "p90": waits.quantile(0.9),
                }
            )
            found = found.rename_axis("group").reset_index()
            parts.append(found.assign(kind=kind, site=name))
    table = pd.concat(parts, ignore_index=True)
    return table[["kind", "group", "site", "jobs", "mean", "median", "p90"]].sort_values(
        ["kind", "group"], kind="stable", ignore_index=True
    )


def _machine(schedules: Mapping[str, SlurmSchedule]) -> pd.DataFrame:
    """Utilization, preempted and refused jobs of each site."""
    rows = []
    for name, schedule in schedules.items():
        used = _utilization(schedule)
        stopped = schedule.preempted["job"].nunique()
        rows.append((name, used, stopped, len(schedule.refused)))
    return pd.DataFrame(rows, columns=["site", "utilization", "preempted", "refused"])


def _utilization(schedule: SlurmSchedule) -> float:
    """Part of the cores that jobs hold between the first submission and the last end.

    Runs that were preempted held theirs, too.
    """
    stopped = schedule.preempted.explode("nodes").rename(columns={"nodes": "node"})
    columns = ["job", "node", "start", "end"]
    places = pd.concat([schedule.places, stopped[columns]]).astype({"node": np.int64})
    if places.empty:
        return 0.0
    of_node = np.array([one.cores for one in schedule.site.nodes])
    asked = pd.to_numeric(schedule.workload.column("cores")).to_numpy()[places["job"]]
    # A job that asks for no number of cores has whole nodes.
    held = np.where(np.isnan(asked), of_node[places["node"]], asked)
    used = (held * (places["end"] - places["start"])).sum()
    span = places["end"].max() - schedule.workload.jobs["submit_time"].min()
    return float(used / (span * of_node.sum())) if span > 0 else np.nan
