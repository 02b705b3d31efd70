"""Logs prepared for a report: machine, jobs that fit, starts, and what the log lacks.

The rules are those of `cosimlib.traces.oddities`. `Log.lacks` has a sentence for each thing that a
log lacks. What is filled in is an entry of the account.

One set of jobs is used throughout: those that fit on the machine and, where a record has starts,
have one. Idle nodes are unknown if the others have more than `MOST_MISSING` of the node-hours, or
if the header of the log counts many more records than the file has (`MOST_ABSENT`).

The window of a log goes from its first start to its last end. Some logs are of jobs that start in a
period: before the first start other jobs ran, which the record does not have.

The interval of a mean (`interval_of`) goes from the 2.5th to the 97.5th percentile over logs whose
weeks are all drawn anew with replacement (days, if the log has fewer than eight weeks). It always
contains the log's own value.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import wraps
from pathlib import Path
from typing import Any, NamedTuple, TypeVar, cast

import numpy as np
import pandas as pd

from cosimlab.closures import closures
from cosimlab.report.page import Section
from cosimlib import checks as check
from cosimlib import synthetic, traces
from cosimlib.batch import simulate_easy, simulate_fcfs
from cosimlib.display import UNKNOWN, calendar, count, duration, percent
from cosimlib.metrics import share_used
from cosimlib.schedule import Schedule
from cosimlib.system import System
from cosimlib.traces import SYNTHETIC
from cosimlib.traces.oddities import (
    Oversubscription,
    fitting,
    known_starts,
    oversubscription,
    unit_of,
    with_assumed_machine,
    with_requests,
)
from cosimlib.traces.swf_header import absent_share
from cosimlib.units import DAY, HOUR, MINUTE, WEEK
from cosimlib.workload import Workload

REDRAWS = 1000
FEWEST_BLOCKS = 8
"""Weeks, or days, from which a log is drawn anew."""
TOO_SHORT = f"No interval: the log has under {FEWEST_BLOCKS} days."
BINS = 2000
"""Bins of values at most, of which medians are taken."""

LEAST_SCORE = 0.9
"""Least score of a window in which the machine is taken to have been closed."""

MOST_STARTED = 3
"""Jobs that start in such a window at most, as a site's own tests do: else the machine was open."""

MOST_MISSING = 0.01
"""Share of the node-hours without a start up to which a record shows what is idle."""

MOST_ABSENT = 0.1
"""Share of the header's records that a file may lack and still show what is idle."""

Make = TypeVar("Make", bound=Callable[..., Section | None])
"""A function that makes a section of a log."""

UNITS = {"cores": "core", "gpus": "GPU"}
"""What is counted instead of nodes, and its name in sentences."""

MOST_NAMED = 12
"""Partitions that an error names."""

NO_WINDOWS = pd.DataFrame(columns=["start", "end", "known_from"], dtype=float)


@dataclass(frozen=True, eq=False)
class Log:
    """Log prepared for a report: its jobs, machine and schedule, and what it lacks.

    Parameters
    ----------
    workload : Workload
        The jobs that fit on the machine and are in the schedule.
    machine : System
        One partition; its size is that of the header, or the most nodes ever held at once.
    schedule : Schedule
        The recorded schedule, of the jobs with known starts. If more than a few starts are
        unknown: a schedule by EASY (FCFS without requested times).
    lacks : dict of str to str
        A sentence for each thing that is unknown: `machine`, `starts`, `waits` (if submissions are
        taken as starts), `requests`, `users`, `idle nodes` (if jobs hold more nodes than there
        are, or many jobs or starts are missing).
    used : float
        Node-hours of the schedule's jobs ÷ those of all jobs in the log.
    held : Oversubscription
        How far the schedule holds more nodes than the machine has.
    windows : pd.DataFrame
        In which the machine seems to have been closed, by `closures`; none if starts,
        waits or idle nodes are unknown.
    unit : str
        Meaning of a node of the log: "node" or "processor".
    seed : int
        Of logs drawn anew, and of the memory of jobs.
    budget : float
        CPU seconds, about, for a log of 250,000 jobs.
    sections : dict of str to Section or None
        Sections of this log that have been made, by the names of their functions (see `made_once`).
    kept : dict of str to pd.DataFrame
        Tables that several parts of a report use, once they are computed.
    """

    workload: Workload
    machine: System
    schedule: Schedule
    lacks: dict[str, str]
    used: float
    held: Oversubscription
    windows: pd.DataFrame
    unit: str = "node"
    seed: int = 0
    budget: float = 60.0
    sections: dict[str, Section | None] = field(default_factory=dict, init=False, repr=False)
    kept: dict[str, pd.DataFrame] = field(default_factory=dict, init=False, repr=False)

    @property
    def window(self) -> tuple[float, float]:
        """First start and last end (s), at least a minute apart: what the record shows."""
        return window_of(self.schedule)

    @property
    def simulated(self) -> str:
        """Words on a schedule that is not the recorded one; else empty."""
        return f", under {self.schedule.policy}" * ("starts" in self.lacks)


def window_of(schedule: Schedule) -> tuple[float, float]:
    """First start and last end of a schedule (s), at least a minute apart."""
    first = float(schedule.start_time.min())
    return first, max(schedule.span[1], first + MINUTE)


def made_once(make: Make) -> Make:
    """The same function, which keeps a log's section and returns it when called again.

    A section that is asked for with other knobs than by default is made anew.
    """

    @wraps(make)
    def section(log: Log, **knobs: Any) -> Section | None:
        if knobs:
            return make(log, **knobs)
        if make.__name__ not in log.sections:
            log.sections[make.__name__] = make(log)
        return log.sections[make.__name__]

    return cast(Make, section)


def open_log(
    trace: str | Path | Workload = SYNTHETIC,
    *,
    cores_per_node: int | None = None,
    unit: str | None = None,
    partition: str | None = None,
    columns: Mapping[str, str] | None = None,
    nodes: int | None = None,
    system: System | None = None,
    memory_per_node: float | None = None,
    bandwidth: float | None = None,
    seed: int = 0,
    budget: float = 60.0,
) -> Log:
    """Log prepared for a report, whatever it lacks.

    Parameters
    ----------
    trace : str, Path or Workload, default "synthetic"
        ``"synthetic"`` for `example_log`, a name or path for `traces.load`, or jobs.
    cores_per_node : int, optional
        For `traces.load`.
    unit : {"nodes", "cores", "gpus"}, optional
        What a node of the log is, for formats that record several.
    partition : str, optional
        Only the jobs of this partition or, if there is none of this name, queue. If its size is
        unknown, it is the most nodes that its jobs ever held at once, up to the machine's size. It
        may share its nodes with others, so that closures are not sought.
    columns : mapping of str to str, optional
        Names of a CSV's columns by ours: ``{"submit_time": "queued"}``.
    nodes : int, optional
        Size of the machine, if the log's is missing or wrong.
    system : System, optional
        The machine, instead of the log's.
    memory_per_node : float, optional
        GB; by default the machine's own, or a range from small machines to Theta.
    bandwidth : float, optional
        Of the parallel file system, GB/s; likewise.
    seed : int, default 0
        Of the synthetic log, of logs drawn anew, and of the memory of jobs.
    budget : float, default 60.0
        CPU seconds, about, for a log of 250,000 jobs; it bounds how many logs are drawn anew.
    """
    check.seed(seed)
    check.number("budget", budget, above=0, kind="seconds")
    if isinstance(trace, Workload):
        read = trace
    elif trace == SYNTHETIC:
        check.that("nodes", nodes, nodes is None, "None, as the synthetic log knows its machine")
        read = example_log(seed)
    else:
        read = _loaded(trace, cores_per_node, unit, columns)
    most = None
    if partition is not None:
        read, most = _of_partition(read, partition)
    if system is not None:
        check.instance("system", system, System)
        read = replace(read, machine=system)
    if not len(read):
        raise ValueError(f"{read.name}: no jobs; expected at least one")
    lacks: dict[str, str] = {}
    named = UNITS.get(unit or "", unit_of(read))
    known = with_assumed_machine(read, nodes, most=most, unit=named)
    machine = _with_checkpoints(
        check.machine(known.machine, known.name), memory_per_node, bandwidth
    )
    if read.machine is None and nodes is None:
        whose = "its machine" if partition is None else f"partition {partition}"
        lacks["machine"] = (
            f"this log does not record the size of {whose}; "
            f"{count(machine.total_nodes, named)} assumed"
        )
    workload = with_requests(fitting(replace(known, machine=machine))[0])[0]
    requested = workload.jobs["requested_time"].notna()
    if not requested.all():
        lacks["requests"] = "this log has no requested times"
        if requested.any():
            lacks["requests"] = (
                f"this log records {percent(requested.mean())} of the requested times"
            )
    if workload.column("user").isna().all():
        lacks["users"] = "this log names no users"
    schedule = _schedule(workload, lacks)
    held = oversubscription(schedule)
    idle_lack = held.lack or _missing_jobs(workload, schedule, lacks)
    if idle_lack:
        lacks["idle nodes"] = idle_lack
    workload = schedule.workload
    if held.most > held.nodes:
        workload = workload.noted("noted", held.note, held.jobs)
    used = share_used(schedule, read)
    # Other partitions may use the nodes on which this one is idle.
    windows = NO_WINDOWS if partition is not None else _windows(schedule, lacks)
    return Log(workload, machine, schedule, lacks, used, held, windows, named, seed, budget)


def _loaded(
    trace: str | Path,
    cores_per_node: int | None,
    unit: str | None,
    columns: Mapping[str, str] | None,
) -> Workload:
    """The log of a name or a path."""
    check.choice("unit", unit or "nodes", ("nodes", *UNITS))
    if columns is not None:
        return traces.read_columns(trace, columns=columns, verbose=False)
    options: dict[str, Any] = {}
    if unit == "cores" and traces.recognize(trace) == "swf":
        fine = cores_per_node in (None, 1)
        check.that("cores_per_node", cores_per_node, fine, "1, as cores are counted")
        cores_per_node = 1
    elif unit in UNITS:
        options["unit"] = unit
    return traces.load(trace, cores_per_node=cores_per_node, verbose=False, **options)


def _of_partition(read: Workload, name: str) -> tuple[Workload, int | None]:
    """The jobs of a partition or queue, on its part of the machine if the log knows its size.

    If not, the second value is the size of the whole machine, which the part does not exceed.
    """
    labels = {column: read.column(column) for column in ("partition", "queue")}
    column = next((each for each, names in labels.items() if (names == name).any()), None)
    if column is None:
        known = sorted({*labels["partition"].dropna(), *labels["queue"].dropna()})
        if not known:
            raise ValueError(
                f"partition={name!r}, but {read.name} names no partition or queue; expected none"
            )
        listed = ", ".join(map(repr, known[:MOST_NAMED]))
        listed += f" and {len(known) - MOST_NAMED:,} more" * (len(known) > MOST_NAMED)
        raise ValueError(f"{read.name}: no partition {name!r}; expected one of {listed}")
    chosen = (labels[column] == name).fillna(False).to_numpy(dtype=bool)
    machine = read.machine
    parts = {} if machine is None else machine.partitions
    part = None
    if machine is not None and name in parts:
        part = replace(machine, partitions={name: parts[name]})
    kept = read.keep(chosen, f"not of {column} {name}")
    shared = f"{column} {name} may share its nodes with others, whose jobs are not counted"
    kept = kept if part is not None else kept.noted("noted", shared, len(kept))
    kept = replace(kept, name=f"{read.name}, {column} {name}", machine=part)
    return kept, machine.total_nodes if machine is not None and part is None else None


def example_log(seed: int = 0, *, jobs: int = 4000, nodes: int = 128) -> Workload:
    """Small synthetic log of the Lublin–Feitelson model, with users and recorded starts.

    The starts are those of EASY with another order of the queue than submission: each user has some
    hours of priority, as on a machine with fair shares.

    Parameters
    ----------
    seed : int, default 0
    jobs : int, default 4000
    nodes : int, default 128
    """
    plain = synthetic.lublin(jobs, nodes=nodes, types=False, load=0.8, seed=seed)
    plain = synthetic.with_estimates(plain, seed=seed)
    random = np.random.default_rng(seed)
    user = random.zipf(1.6, jobs).clip(max=25)
    rank = plain.jobs["submit_time"] + random.exponential(6 * HOUR, 26)[user]
    machine = System("a made-up machine", {"main": nodes})
    recorded = simulate_easy(plain, machine, order=rank.to_numpy())
    table = plain.jobs.assign(recorded_start=recorded.start_time, user=user.astype(str))
    return Workload(table, f"synthetic log (seed {seed})", machine, plain.account)


def machine_table(log: Log) -> pd.DataFrame:
    """Table of the machine and the log, as text: size, span, load, jobs, waits, unknowns."""
    jobs, machine, held = log.workload.jobs, log.machine, log.held
    first, last = log.window
    users = log.workload.column("user").nunique()
    waits = log.schedule.jobs["wait_time"]
    requests = jobs["requested_time"]
    known = requests.notna().mean()
    rows = {
        "machine": f"{machine.name}, {count(machine.total_nodes, log.unit)}",
        # One is what a system has that nobody told of its cores.
        "cores per node": f"{machine.cores_per_node:,}" if machine.cores_per_node > 1 else UNKNOWN,
        "memory per node": _known(machine.memory_per_node, "GB"),
        "jobs": f"{len(jobs):,} in {duration(last - first)}",
        "utilization": percent(log.schedule.utilization(first, last)),
        f"most {log.unit}s held at once": f"{held.most:,} of {held.nodes:,}",
        f"median {log.unit}s of a job": f"{jobs['nodes'].median():,.0f}",
        "median run time": duration(jobs["run_time"].median()),
        f"mean wait{log.simulated}": _wait(log, waits.mean()),
        f"median wait{log.simulated}": _wait(log, waits.median()),
        "requested times": f"median {duration(requests.median())}, {percent(known, 0)} known",
        "run time ÷ requested": _known(100 * (jobs["run_time"] / requests).median(), "% (median)"),
        "users": f"{users:,}" if users else UNKNOWN,
        f"{log.unit}-hours in this report": f"{percent(log.used)} of those in the log",
        "starts": f"{log.schedule.policy}, {count(len(log.schedule.workload), 'job')}",
    }
    if log.workload.began is not None:
        rows["second 0 of the log"] = calendar(log.workload.began)
    rows |= {f"unknown: {what}": why for what, why in log.lacks.items()}
    return pd.DataFrame({"this log": rows}).rename_axis("what")


def _wait(log: Log, seconds: float) -> str:
    return UNKNOWN if "waits" in log.lacks else duration(seconds)


def lack_finding(why: str) -> tuple[str, str]:
    """Finding on what a log lacks, and what follows from it or what to do."""
    sentence, _, more = why.partition(": ")
    more = f"{more[:1].upper()}{more[1:]}." if more else ""
    return f"{sentence[0].upper()}{sentence[1:]}.", more


def span_text(low: str, high: str) -> str:
    """Two numbers in words as a range, or one if they are equal."""
    return low if low == high else f"{low} to {high}"


class Interval(NamedTuple):
    """Interval of a mean, and the data behind it.

    Parameters
    ----------
    low, high : float
        NaN if there is no interval.
    basis : str
        Sentence on the data behind the interval, or on why there is none.
    """

    low: float
    high: float
    basis: str

    def text(self, spoken: Callable[[float], str]) -> str:
        """The interval in brackets, after a blank; nothing if there is none."""
        if np.isnan(self.low):
            return ""
        return f" ({span_text(spoken(self.low), spoken(self.high))})"


def interval_of(at: Any, amount: Any, base: Any, *, seed: int = 0) -> Interval:
    """Interval of Σ `amount` ÷ Σ `base` over logs whose weeks are drawn anew.

    Parameters
    ----------
    at : array of float
        Seconds since the beginning of the log, one per value.
    amount, base : array of float
    seed : int, default 0
    """
    block, name = blocks_of(at)
    if block is None:
        return Interval(np.nan, np.nan, TOO_SHORT)
    sums = [np.bincount(block, np.asarray(each, dtype=float)) for each in (amount, base)]
    drawn = drawn_blocks(sums[0].size, seed)
    totals = [each[drawn].sum(axis=1) for each in sums]
    known = totals[1] > 0
    if not known.any():
        return Interval(np.nan, np.nan, "No interval: nothing to divide by.")
    own = sums[0].sum() / sums[1].sum()
    return interval_around(own, totals[0][known] / totals[1][known], sums[0].size, name)


def interval_of_median(at: Any, values: Any, *, seed: int = 0) -> Interval:
    """Interval of the median of values over logs whose weeks are drawn anew, as `interval_of`.

    Values are counted in up to `BINS` bins of equal numbers.
    """
    values = np.asarray(values, dtype=float)
    block, name = blocks_of(at)
    if block is None:
        return Interval(np.nan, np.nan, TOO_SHORT)
    edges = np.unique(np.quantile(values, np.linspace(0, 1, BINS), method="higher"))
    place = np.searchsorted(edges, values)
    blocks = int(block.max()) + 1
    counts = np.zeros((blocks, edges.size))
    np.add.at(counts, (block, place), 1)
    drawn = drawn_blocks(blocks, seed)
    times_drawn = np.stack([np.bincount(row, minlength=blocks) for row in drawn])
    cumulated = np.cumsum(times_drawn @ counts, axis=1)
    medians = edges[(2 * cumulated < cumulated[:, -1:]).sum(axis=1).clip(max=edges.size - 1)]
    return interval_around(float(np.median(values)), medians, blocks, name)


def blocks_of(at: Any) -> tuple[np.ndarray | None, str]:
    """The block in which each of some seconds falls, and what a block is; None if too few."""
    at = np.asarray(at, dtype=float)
    span = float(at.max(initial=0.0))
    length, name = (WEEK, "week") if span >= FEWEST_BLOCKS * WEEK else (DAY, "day")
    if span < FEWEST_BLOCKS * length:
        return None, name
    return (at // length).astype(np.int64), name


def drawn_blocks(blocks: int, seed: int) -> np.ndarray:
    """Blocks of each log drawn anew, a row per log."""
    return np.random.default_rng(seed).integers(0, blocks, (REDRAWS, blocks))


def interval_around(own: float, redrawn: np.ndarray, blocks: int, name: str) -> Interval:
    """The middle 95 % of values of logs drawn anew, extended to the log's own value."""
    low, high = np.quantile(redrawn, [0.025, 0.975]).tolist()
    basis = f"The interval holds 95 % of {REDRAWS:,} redraws of all {count(blocks, name)}."
    return Interval(min(low, own), max(high, own), basis)


def weeks_of(workload: Workload, weeks: int) -> list[float]:
    """Starts (s) of weeks with submissions, a limited number, spread evenly over the log."""
    submit_time = workload.jobs["submit_time"].to_numpy()
    busy = np.unique((submit_time - submit_time[0]) // WEEK)
    places = np.unique(np.linspace(0, busy.size - 1, min(weeks, busy.size)).round().astype(int))
    return (submit_time[0] + WEEK * busy[places]).tolist()


def window_name(schedule: Schedule, start: float, end: float) -> str:
    """Two instants (s) as text: dates if the log says when it began, else days."""
    began = schedule.workload.began
    if began is None:
        return f"days {start / DAY:,.1f} to {end / DAY:,.1f}"
    first, last = (began + pd.Timedelta(time, "s") for time in (start, end))
    return f"{first:%Y-%m-%d %H:%M} to {last:%Y-%m-%d %H:%M}"


def _with_checkpoints(
    machine: System, memory_per_node: float | None, bandwidth: float | None
) -> System:
    """The machine with the memory and the file system that are given."""
    check.number("memory_per_node", memory_per_node, above=0, kind="GB", none="for its own")
    check.number("bandwidth", bandwidth, above=0, kind="GB/s", none="for its own")
    return replace(
        machine,
        memory_per_node=memory_per_node or machine.memory_per_node,
        aggregate_bandwidth=bandwidth or machine.aggregate_bandwidth,
    )


def _known(value: float, unit: str) -> str:
    return f"{value:,.3g} {unit}" if np.isfinite(value) else UNKNOWN


def _schedule(workload: Workload, lacks: dict[str, str]) -> Schedule:
    """The recorded schedule, or a simulated one where most starts are unknown."""
    starts = known_starts(workload)
    if starts.known.any():
        if not starts.waits:
            lacks["waits"] = starts.sentence
        return Schedule.recorded(starts.started)
    simulate = simulate_fcfs if "requests" in lacks else simulate_easy
    schedule = simulate(workload, check.machine(workload.machine, workload.name))
    lacks["starts"] = f"{starts.sentence}; {schedule.policy} stands in"
    return schedule


def _windows(schedule: Schedule, lacks: dict[str, str]) -> pd.DataFrame:
    """Windows in which the machine seems to have been closed, while jobs waited."""
    if lacks.keys() & {"starts", "waits", "idle nodes"}:
        return NO_WINDOWS
    found = closures(schedule.workload)
    few_start = found["contradicting"].map(len) <= MOST_STARTED
    return found[few_start & (found["score"] >= LEAST_SCORE)].reset_index(drop=True)


def _missing_jobs(workload: Workload, schedule: Schedule, lacks: dict[str, str]) -> str:
    """Why idle nodes are unknown where jobs or starts are missing; empty if they are known."""
    absent = absent_share(workload.account["reason"], workload.account["records"])
    if absent > MOST_ABSENT:
        return (
            f"{percent(absent)} of the jobs that the log's header counts are not in the file: "
            "the record does not show which nodes were idle"
        )
    jobs = workload.jobs
    work = float((jobs["nodes"] * jobs["run_time"]).sum())
    done = schedule.workload.jobs
    missing = 1 - float((done["nodes"] * done["run_time"]).sum()) / max(work, 1e-9)
    if "starts" in lacks or missing <= MOST_MISSING:
        return ""
    return (
        f"jobs with {percent(missing)} of the node-hours have no recorded start: the record does "
        "not show which nodes were idle"
    )
