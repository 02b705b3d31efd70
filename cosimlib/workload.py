"""Workloads: tables of jobs in order of submission, checked when created and never changed."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from cosimlib import checks as check
from cosimlib.display import UNKNOWN, Displayed, Facts, calendar, count, duration
from cosimlib.system import MOST_NODES, System
from cosimlib.units import LATEST


class InvalidWorkloadError(ValueError):
    """Jobs that cannot form a workload, or that cannot run on the given system."""


class Column(NamedTuple):
    """Optional column of a workload: its type, default and meaning."""

    dtype: str
    default: Any
    meaning: str


OPTIONAL_COLUMNS: Mapping[str, Column] = {
    "job_id": Column("Int64", pd.NA, "the trace's own number (SWF 1)"),
    "recorded_start": Column("float64", np.nan, "seconds, when the trace says it started"),
    "memory": Column("float64", np.nan, "GB per node, allocated"),
    "cores": Column("float64", np.nan, "cores per node; all of a node's where missing"),
    "gpus": Column("Int64", 0, "GPUs per node"),
    "gpu_share": Column("float64", 1.0, "part of each GPU that it takes, in (0, 1]"),
    "gpu_models": Column("string", pd.NA, "models of GPU that it may have, parted by |"),
    "partition": Column("string", pd.NA, "name of the partition that it asks for"),
    "mate": Column("Int64", pd.NA, "row of a job of its group, in another partition"),
    "priority": Column("float64", 1.0, "weight, more is more urgent"),
    "queue": Column("string", pd.NA, "name or number of its queue (SWF 15)"),
    "user": Column("string", pd.NA, "name or number of its user (SWF 12)"),
    "group": Column("string", pd.NA, "name or number of the user's group (SWF 13)"),
    "application": Column("string", pd.NA, "name or number of its executable (SWF 14)"),
    "status": Column("Int64", pd.NA, "0 failed, 1 completed, 5 cancelled (SWF 11)"),
}

NEEDED = ("submit_time", "run_time", "nodes")

HORIZON = 2.0**50
"""Times the shortest time, or a second if none is shorter, that all jobs may take in turn."""

A_SYSTEM = "a System, e.g. System.of(128)"

ACCOUNT_COLUMNS = {"action": "str", "reason": "str", "records": "int64"}


class JobArrays(NamedTuple):
    """Workload as kernels use it: contiguous arrays, one value per job."""

    submit_time: np.ndarray
    run_time: np.ndarray
    requested_time: np.ndarray
    nodes: np.ndarray


def account_table(entries: Iterable[tuple[str, str, int]] = ()) -> pd.DataFrame:
    """Table of account entries: action, reason and number of records."""
    return pd.DataFrame(list(entries), columns=list(ACCOUNT_COLUMNS)).astype(ACCOUNT_COLUMNS)


NO_ENTRIES = account_table()


@dataclass(frozen=True, eq=False, repr=False)
class Workload(Displayed):
    """Jobs in order of submission, with times that double-precision numbers can distinguish.

    Times are below 10¹¹ s (`LATEST`), and no time except 0 is too short. To be exact: let H be the
    *horizon*, the last submission plus the lengths of all jobs one after another (the longer of run
    time and requested time). Let d be the shortest time above 0, or 1 s if that is shorter. Then H
    ≤ 2⁵⁰ d. That allows 36 million years in whole seconds, or 36 years with times of a microsecond.

    *Why that is enough.* Every instant of a batch schedule is a submission plus times of different
    jobs, so no instant is beyond H. There, neighboring floats are at most 2⁻⁵² H ≤ d / 4 apart. A
    sum is rounded to the nearest float, so an instant plus a time t ≥ d is off by at most d / 8: it
    is later than the instant, by 7 / 8 of t or more. So no reservation is empty, no job with a
    length ends when it starts, and the clock of every simulation advances. Rounding keeps the order
    of sums: what ends no later is not found to end later. If all times are whole seconds, H ≤ 2⁵⁰ <
    2⁵³: every sum is exact, and so are schedules.

    Parameters
    ----------
    jobs : pd.DataFrame
        `submit_time`, `run_time` and `requested_time` in seconds from the start of the trace
        (`requested_time` may be missing: NaN), and `nodes`; any of `OPTIONAL_COLUMNS`. Other
        columns are kept. The index is replaced by 0, 1, …, the numbers of the jobs. Nothing is
        copied: jobs change with arrays of which the table was made by ``pd.DataFrame(…,
        copy=False)``.
    name : str
        Name in figures and errors.
    machine : System, optional
        The system on which a trace was recorded.
    account : pd.DataFrame, optional
        What the reader did with records of the trace: `action` (`dropped`, `mended` or `noted`),
        `reason`, `records`.
    began : pd.Timestamp, optional
        Date and time of second 0; without a time zone if only a local clock is known.

    Raises
    ------
    InvalidWorkloadError
        If a job is invalid. The message names the workload, the job, the value and what was
        expected.

    Examples
    --------
    >>> import pandas as pd
    >>> import cosimlib as cs
    >>> times = {"submit_time": [0, 1, 2], "run_time": [10, 10, 5], "requested_time": [10, 10, 8]}
    >>> workload = cs.Workload(pd.DataFrame(times | {"nodes": [3, 3, 1]}), "three jobs")
    >>> print(workload)
    Workload three jobs: 3 jobs
      jobs       of 1 to 3 nodes, submitted over 2 s
      run time   mean 8.3 s, longest 10 s
      requested  mean 9.3 s, longest 10 s
      machine    unknown
    >>> workload.keep(workload.jobs["nodes"] < 3, "of three nodes").account
        action          reason  records
    0  dropped  of three nodes        2
    """

    jobs: pd.DataFrame
    name: str = "workload"
    machine: System | None = None
    account: pd.DataFrame = field(default_factory=NO_ENTRIES.copy)
    began: pd.Timestamp | None = None

    def __post_init__(self) -> None:
        check.instance("jobs", self.jobs, pd.DataFrame)
        if self.machine is not None:
            check.instance("machine", self.machine, System, expected=A_SYSTEM)
        jobs = self.jobs.reset_index(drop=True)  # pandas copies a column once it is written to
        repeated = jobs.columns[jobs.columns.duplicated()]
        if len(repeated):
            raise InvalidWorkloadError(
                f"{self.name}: several columns are called {repeated[0]!r}; expected each name once"
            )
        if "requested_time" not in jobs:
            jobs["requested_time"] = np.nan
        check.columns(jobs, NEEDED, where=self.name, error=InvalidWorkloadError)
        label = partial(_label, self.name, jobs)
        jobs = _typed(jobs, label)
        _check(jobs, label)
        jobs = jobs if jobs["nodes"].dtype == "int64" else jobs.astype({"nodes": "int64"})
        first = ["submit_time", "run_time", "requested_time", "nodes"]
        if list(jobs.columns[:4]) != first:
            jobs = jobs[first + [c for c in jobs if c not in first]]
        object.__setattr__(self, "jobs", jobs)

    def __len__(self) -> int:
        return len(self.jobs)

    def column(self, name: str) -> pd.Series:
        """Column of the workload, or its default for every job if the workload lacks it."""
        if name in self.jobs:
            return self.jobs[name]
        if name not in OPTIONAL_COLUMNS:
            known = ", ".join(dict.fromkeys([*self.jobs.columns, *OPTIONAL_COLUMNS]))
            raise KeyError(f"{self.name}: no column {name!r}; expected one of {known}")
        declared = OPTIONAL_COLUMNS[name]
        return pd.Series(declared.default, index=self.jobs.index, dtype=declared.dtype, name=name)

    def keep(self, mask: "pd.Series | np.ndarray", reason: str) -> "Workload":
        """The jobs where `mask` is true; the account counts the others under `reason`.

        A job whose mate is dropped has no mate any more.

        Raises
        ------
        ValueError
            If `mask` is not one True or False per job.
        """
        given = np.asarray(mask)
        plain = given.dtype.kind == "b" or all(
            isinstance(each, bool | np.bool_) for each in given.flat
        )
        if given.shape != (len(self),) or not plain:
            raise ValueError(
                f"{self.name}: mask is of type {given.dtype} and shape {given.shape}; expected one "
                f"True or False per job, {len(self)}, such as workload.jobs['nodes'] <= 128"
            )
        mask = given.astype(bool)
        jobs = self.jobs[mask]
        if "mate" in jobs:
            # Rows move up, and so do the numbers by which mates name each other.
            place = dict(zip(jobs.index.tolist(), range(len(jobs)), strict=True))
            jobs = jobs.assign(mate=jobs["mate"].map(place, na_action="ignore").astype("Int64"))
        return replace(self, jobs=jobs).noted("dropped", reason, int((~mask).sum()))

    def noted(self, action: str, reason: str, records: int) -> "Workload":
        """The same jobs with one more entry in the account, unless its number of records is 0."""
        if not records:
            return self
        entry = account_table([(action, reason, records)])
        return replace(self, account=pd.concat([self.account, entry], ignore_index=True))

    @classmethod
    def join(cls, workloads: "Mapping[str, Workload]", *, name: str = "") -> "Workload":
        """One workload made of the workloads of several partitions, in order of submission.

        At equal times the order is that of the partitions, so the jobs of each partition keep their
        order. If only some workloads have priorities, the other jobs get the default. Mates are
        removed, because they would be on the same partition. `began` is kept unless two workloads
        have different values.

        Parameters
        ----------
        workloads : mapping of str to Workload
            Workloads by name of partition, which becomes each job's `partition`.
        name : str, optional
            By default the names of the workloads, joined by a plus sign.
        """
        expected = "a mapping of partitions to Workloads"
        check.instance("workloads", workloads, Mapping, expected=expected)
        if not workloads:
            raise InvalidWorkloadError("no workloads to join; give at least one partition's")
        for partition, each in workloads.items():
            check.instance(f"workloads[{partition!r}]", each, cls)
        prioritized = any("priority" in each.jobs for each in workloads.values())
        tables = []
        for partition, each in workloads.items():
            jobs = each.jobs.drop(columns="mate", errors="ignore").assign(partition=partition)
            tables.append(jobs.assign(priority=each.column("priority")) if prioritized else jobs)
        jobs = pd.concat(tables, ignore_index=True).sort_values("submit_time", kind="stable")
        known = {each.began for each in workloads.values() if each.began is not None}
        began = known.pop() if len(known) == 1 else None
        return cls(jobs, name or " + ".join(each.name for each in workloads.values()), began=began)

    def arrays(
        self, system: System, *, requested_time: bool = True, copy: bool = True
    ) -> JobArrays:
        """Arrays for the kernels: new, contiguous, and checked against `system`.

        Without `copy` they are the columns themselves where these are contiguous, which cannot be
        written: enough to fill records.

        Raises
        ------
        InvalidWorkloadError
            If the system has several partitions, a job is wider than the system, or has no
            requested time and one is needed.
        """
        jobs = self.jobs
        if len(system.partitions) > 1:
            first, nodes = next(iter(system.partitions.items()))
            raise InvalidWorkloadError(
                f"{self.name}: the system {system.name!r} has {len(system.partitions)} partitions, "
                f"{', '.join(system.partitions)}; this policy schedules one machine: keep the jobs "
                f"of one partition with Workload.keep and take its nodes, such as "
                f"System.of({first}={nodes}), or take simulate_coscheduling or simulate_elastic"
            )
        partition, capacity = next(iter(system.partitions.items()))
        wide = jobs["nodes"] > capacity
        if wide.any():
            job = int(wide.idxmax())
            raise InvalidWorkloadError(
                f"{self.label(job)} asks for {count(int(jobs['nodes'][job]), 'node')}; partition "
                f"{partition!r} has {capacity}; drop it with Workload.keep or take a wider system"
            )
        unknown = jobs["requested_time"].isna()
        if requested_time and unknown.any():
            job = int(unknown.idxmax())
            raise InvalidWorkloadError(
                f"{self.label(job)} has no requested_time{check.nor_others(int(unknown.sum()) - 1)}"
                ", which this policy needs; fill it in with synthetic.with_missing_estimates, as "
                "prepare_workload does where most are known, or take FCFS or first fit"
            )
        views = (np.ascontiguousarray(jobs[name].to_numpy()) for name in JobArrays._fields)
        return JobArrays(*map(np.array, views) if copy else views)

    def label(self, job: int) -> str:
        """Name of a job in errors: ``KTH-SP2: job 4711``, with the trace's number if it has one."""
        return _label(self.name, self.jobs, job)

    def _heading(self) -> str:
        return f"{self.name}: {count(len(self), 'job')}"

    def _facts(self) -> Facts:
        return {
            "jobs": lambda: _sizes(self.jobs),
            "began": lambda: "" if self.began is None else calendar(self.began),
            "run time": lambda: _lengths(self.jobs["run_time"]),
            "requested": lambda: _requests(self.jobs["requested_time"]),
            "machine": lambda: self.machine._heading() if self.machine else UNKNOWN,
            "account": lambda: _entries(self.account),
        }


def check_workload(workload: object) -> None:
    """Raise a TypeError unless this is a workload."""
    check.instance("workload", workload, Workload, expected="a Workload; load_trace reads one")


def check_run(workload: Any, system: Any) -> None:
    """Raise an error unless these are a workload and a system, in this order."""
    if isinstance(workload, System) and isinstance(system, Workload):
        raise TypeError(
            "workload is of type System and system of type Workload; expected the workload first, "
            "then the system"
        )
    check_workload(workload)
    check.machine(system, workload.name, error=InvalidWorkloadError)
    check.instance("system", system, System, expected=A_SYSTEM)


def _sizes(jobs: pd.DataFrame) -> str:
    fewest, most = int(jobs["nodes"].min()), int(jobs["nodes"].max())
    nodes = count(most, "node") if fewest == most else f"{fewest:,} to {count(most, 'node')}"
    return f"of {nodes}, submitted over {duration(np.ptp(jobs['submit_time'].to_numpy()))}"


def _lengths(seconds: pd.Series) -> str:
    if seconds.empty:
        return UNKNOWN
    return f"mean {duration(seconds.mean())}, longest {duration(seconds.max())}"


def _requests(seconds: pd.Series) -> str:
    """The requested times, and how many jobs have none."""
    missing = int(seconds.isna().sum())
    if missing == len(seconds):
        return "unknown"
    return _lengths(seconds) + (f"; {count(missing, 'job')} without" if missing else "")


def _entries(account: pd.DataFrame, most: int = 2) -> str:
    """The entries of an account in one line: drops first, then what concerns most records."""
    order = account.sort_values(["action", "records"], ascending=[True, False], kind="stable")
    entries = [f"{action} {n:,} ({reason})" for action, reason, n in order.head(most).to_numpy()]
    rest = len(account) - len(entries)
    return "; ".join([*entries, f"and {rest} more"] if rest else entries)


def _label(name: str, jobs: pd.DataFrame, job: int) -> str:
    number = jobs["job_id"][job] if "job_id" in jobs and pd.notna(jobs["job_id"][job]) else job
    return f"{name}: job {number}"


def _typed(jobs: pd.DataFrame, label: Callable[[int], str]) -> pd.DataFrame:
    """Every column with its declared type; numbers are checked to be numbers first.

    Plain numbers are converted in `jobs` itself, one column at a time: `DataFrame.astype` takes
    longer than all checks of a small workload.
    """
    wanted: dict[str, str] = {}
    for column in ("submit_time", "run_time", "requested_time", "nodes"):
        kind = jobs[column].dtype
        if isinstance(kind, np.dtype) and kind.kind in "fiu":
            exact = "int64" if column == "nodes" and kind.kind == "i" else "float64"
            if kind != exact:
                jobs[column] = jobs[column].astype(exact)
        else:
            values, exact = pd.to_numeric(jobs[column], errors="coerce"), "float64"
            fine = values.notna() | jobs[column].isna()
            check.rows(
                column, jobs[column], fine, "a number", row=label, error=InvalidWorkloadError
            )
        wanted[column] = exact
    if "gpus" in jobs:
        gpus = pd.to_numeric(jobs["gpus"], errors="coerce").astype("Float64")
        fine = (gpus.isna() | (gpus % 1 == 0)).astype("bool")
        expected = "a whole number per node; use gpu_share for a part of one"
        check.rows("gpus", jobs["gpus"], fine, expected, row=label, error=InvalidWorkloadError)
    wanted |= {c: OPTIONAL_COLUMNS[c].dtype for c in jobs if c in OPTIONAL_COLUMNS}
    other = {name: kind for name, kind in wanted.items() if jobs[name].dtype != kind}
    try:
        return jobs.astype(other) if other else jobs
    except (ValueError, TypeError, OverflowError) as error:
        workload = label(0).rpartition(": job")[0]
        raise InvalidWorkloadError(
            f"{workload}: columns {', '.join(other)} ({error}); expected "
            f"{', '.join(other.values())}"
        ) from error


def rules(jobs: pd.DataFrame) -> tuple[tuple[str, np.ndarray, str], ...]:
    """Rules that each job must obey: a column of floats, where it is valid, what is expected."""
    submit, run, requested = (
        jobs[name].to_numpy(np.float64) for name in ("submit_time", "run_time", "requested_time")
    )
    nodes, seconds = jobs["nodes"].to_numpy(), f"seconds from 0 to below {LATEST:,.0f}"
    whole = True if nodes.dtype.kind == "i" else nodes == np.floor(nodes)
    return (
        ("submit_time", (submit >= 0) & (submit < LATEST), seconds),
        ("run_time", (run >= 0) & (run < LATEST), seconds),
        (
            "requested_time",
            np.isnan(requested) | ((requested > 0) & (requested < LATEST)),
            f"seconds above 0 and below {LATEST:,.0f}, or NaN where unknown",
        ),
        ("nodes", (nodes >= 1) & (nodes < MOST_NODES) & whole, "a whole number from 1"),
    )


def _check(jobs: pd.DataFrame, label: Callable[[int], str]) -> None:
    """Raise an error for the first job that breaks a rule."""
    submit = jobs["submit_time"].to_numpy()
    ordered = np.append(np.ones(min(1, submit.size), dtype=bool), ~(np.diff(submit) < 0))
    in_order = ("submit_time", ordered, "jobs in order of submission: sort by submit_time")
    for column, fine, expected in (*rules(jobs), in_order):
        check.rows(column, jobs[column], fine, expected, row=label, error=InvalidWorkloadError)
    if len(jobs):
        _check_horizon(jobs, label)


def _check_horizon(jobs: pd.DataFrame, label: Callable[[int], str]) -> None:
    """Raise an error for the first time too short for the horizon, or else for the longest."""
    run, requested = jobs["run_time"].to_numpy(), jobs["requested_time"].to_numpy()
    requested = np.where(np.isnan(requested), 0.0, requested)
    longest = np.maximum(run, requested)
    horizon = float(jobs["submit_time"].iloc[-1] + longest.sum())
    for column, seconds in (("run_time", run), ("requested_time", requested)):
        fine = (seconds == 0) | (seconds >= min(1.0, horizon / HORIZON))
        expected = (
            f"0 s, or {horizon / HORIZON:.3g} s or more: one after another these jobs take until "
            f"t={horizon:.3g}, where shorter times are lost; round it, or leave out the longest"
        )
        check.rows(column, seconds, fine, expected, row=label, error=InvalidWorkloadError)
    if horizon > HORIZON:
        job = int(longest.argmax())
        raise InvalidWorkloadError(
            f"{label(job)} takes {longest[job]:.15g} s, and all jobs one after another take until "
            f"t={horizon:.3g}; expected t={HORIZON:.3g} at most, up to which seconds are exact; "
            "leave out the longest jobs"
        )
