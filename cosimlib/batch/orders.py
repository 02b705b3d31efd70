"""Queue orders: names, columns and arrays of numbers as ranks, and how policies prepare a run."""

from dataclasses import replace
from typing import NamedTuple, TypeAlias

import numpy as np
import pandas as pd

from cosimlib import checks as check
from cosimlib.calendar import ALWAYS_OPEN, Calendar
from cosimlib.schedule import Schedule
from cosimlib.system import System
from cosimlib.workload import InvalidWorkloadError, JobArrays, Workload, check_run

SUBMITTED, STATIC, WFP, HEAD_FIRST = range(4)
"""Kinds of order: by submission; by ranks that stay; by WFP's scores of the moment; by ranks that
stay, behind the job submitted first."""

ORDERS = ("submit", "shortest", "longest", "smallest", "largest", "wfp", "sjbf")
"""Orders of the queue that have a name."""

BY_REQUEST = ("shortest", "longest", "wfp")
"""Orders that need requested times whatever the policy."""

KINDS = {"submit": SUBMITTED, "wfp": WFP, "sjbf": HEAD_FIRST}
"""Orders that are no static ranks."""

GREATEST_FIRST = ("priority",)
"""Columns that a workload declares to mean: more is more urgent."""

KNOWN_AFTERWARDS = ("run_time", "recorded_start", "status")
"""Columns that no scheduler can know of a job that has not ended."""

EXPECTED = f"one of {', '.join(map(repr, ORDERS))}, a column of the workload, or one number per job"

Order: TypeAlias = str | pd.Series | np.ndarray


class Prepared(NamedTuple):
    """A workload, with its runs cut where they are killed, and what the kernels take.

    `rank` is one number per job, lowest first, and `kind` how ranks order the queue: one of
    `SUBMITTED`, `STATIC`, `WFP`, `HEAD_FIRST`.
    """

    workload: Workload
    jobs: JobArrays
    rank: np.ndarray
    kind: int
    system: System
    calendar: Calendar = ALWAYS_OPEN

    @property
    def total_nodes(self) -> int:
        """Nodes of the system."""
        return self.system.total_nodes


def prepare(
    workload: Workload,
    system: System,
    order: Order,
    kill_at_request: bool,
    calendar: Calendar = ALWAYS_OPEN,
    *,
    requested_time: bool,
) -> Prepared:
    """Check the arguments, and cross to arrays; `requested_time` if one is needed."""
    check_run(workload, system)
    check.instance("calendar", calendar, Calendar)
    named = order if isinstance(order, str) and order in ORDERS else None
    own = None if named else _own_rank(workload, order)
    if kill_at_request:
        workload = _killed_at_request(workload, system)
    is_needed = requested_time or named in BY_REQUEST or len(calendar) > 0
    jobs = workload.arrays(system, requested_time=is_needed)
    if own is not None:
        return Prepared(workload, jobs, own, STATIC, system, calendar)
    kind = KINDS.get(named, STATIC) if named else STATIC
    return Prepared(workload, jobs, _named_rank(jobs, str(named)), kind, system, calendar)


def schedule_of(
    run: Prepared,
    start_time: np.ndarray,
    run_time: np.ndarray,
    name: str,
    order: Order,
    *details: str,
) -> Schedule:
    """Schedule of these starts, with the runs that windows cut, under the policy's whole name."""
    workload, killed = run.workload, int((run_time != run.jobs.run_time).sum())
    if killed:
        workload = replace(workload, jobs=workload.jobs.assign(run_time=run_time))
        workload = workload.noted("mended", "run_time cut where nodes close", killed)
    knobs = [*details, *(["calendar"] if len(run.calendar) else [])]
    policy = policy_name(name, order, *knobs)
    return Schedule.from_starts(workload, run.system, start_time, policy, calendar=run.calendar)


def policy_name(name: str, order: Order, *details: str) -> str:
    """Name of a policy in tables: ``EASY``, or ``EASY (per event, wfp)`` with other knobs.

    Numbers of whatever name are an "own order": a series called "wfp" is not the order `wfp`.
    """
    label = order if isinstance(order, str) else "own order"
    knobs = [*details, *([label] if label != "submit" else [])]
    return f"{name} ({', '.join(knobs)})" if knobs else name


def check_known(workload: Workload, column: str) -> None:
    """Raise for a column that is known only after a job has ended."""
    if column in KNOWN_AFTERWARDS:
        raise InvalidWorkloadError(
            f"{workload.name}: column {column!r} is known only after a job has ended; "
            "a policy may not see it"
        )


def _named_rank(jobs: JobArrays, order: str) -> np.ndarray:
    """One rank per job, equal where `order` is silent; WFP's depend on time: kernels write them."""
    if order in ("shortest", "sjbf"):
        return jobs.requested_time.copy()
    if order == "longest":
        return -jobs.requested_time
    if order in ("smallest", "largest"):
        return jobs.nodes * (1.0 if order == "smallest" else -1.0)
    return np.zeros(jobs.nodes.size)


def _own_rank(workload: Workload, order: Order) -> np.ndarray:
    """One rank per job from a column or an array: its place among the distinct values."""
    name = order if isinstance(order, str) else "order"
    check.that("order", order, isinstance(order, str) or np.ndim(order) > 0, EXPECTED)
    values = _column(workload, order) if isinstance(order, str) else _values(workload, order)
    if values.dtype.kind not in "iuf":
        values = values.astype(object)
    fine = [check.is_number(value) and value == value for value in values.tolist()]
    expected = "a number, to order the queue by"
    check.rows(name, values, fine, expected, row=workload.label, error=InvalidWorkloadError)
    rank = np.unique(np.array(values.tolist()), return_inverse=True)[1].astype(np.float64)
    return -rank if name in GREATEST_FIRST else rank


def _column(workload: Workload, name: str) -> np.ndarray:
    """The values of a column of the workload that a scheduler may know."""
    check_known(workload, name)
    check.that("order", name, name in workload.jobs or name in GREATEST_FIRST, EXPECTED)
    return workload.column(name).to_numpy()


def _values(workload: Workload, order: pd.Series | np.ndarray) -> np.ndarray:
    """The values of an array in order of jobs, those of a series by its index."""
    index, expected = workload.jobs.index, f"one number per job, {len(workload)}"
    values = np.asarray(order)
    fine = values.shape == (len(index),)
    if isinstance(order, pd.Series):
        expected += ", under the index of its jobs"
        if fine and order.index.symmetric_difference(index, sort=False).empty:
            return order.reindex(index).to_numpy()
        fine = False
    if not fine:
        raise InvalidWorkloadError(
            f"{workload.name}: order has the shape {values.shape}; expected {expected}"
        )
    return values


def _killed_at_request(workload: Workload, system: System) -> Workload:
    """The workload with run times cut at the requested time, and that said in its account."""
    jobs = workload.arrays(system)
    run_time = np.minimum(jobs.run_time, jobs.requested_time)
    killed = int((run_time < jobs.run_time).sum())
    cut = replace(workload, jobs=workload.jobs.assign(run_time=run_time))
    return cut.noted("mended", "run_time cut at requested_time", killed)
