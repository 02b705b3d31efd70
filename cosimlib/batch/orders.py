"""Queue orders: names, columns, numbers and functions as ranks, and how policies prepare a run.

F1 to F4 are scores that Carastan-Santos and de Camargo obtained by regression on simulated queues
(Obtaining dynamic scheduling policies with simulation and machine learning, SC 2017): with r the
requested time, n the nodes and s the submission,

- F1: ``log10(r) · n + 870 · log10(s)``
- F2: ``√r · n + 25 600 · log10(s)``
- F3: ``r · n + 6 860 000 · log10(s)``
- F4: ``r · √n + 530 000 · log10(s)``

The lowest comes first. The paper's sequences of jobs begin at second 0: so s is counted from the
workload's first submission. Times of less than a second count as one, so that logarithms are 0 or
more.
"""

import inspect
from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import pandas as pd

from cosimlib import checks as check
from cosimlib.calendar import ALWAYS_OPEN, Calendar
from cosimlib.schedule import Schedule
from cosimlib.system import System
from cosimlib.workload import InvalidWorkloadError, JobArrays, Workload, check_run

SUBMITTED, STATIC, HEAD_FIRST, WFP, UNICEF, LXF, ASKED = range(7)
"""Kinds of order: by submission; by ranks that stay; by ranks that stay, behind the job submitted
first; by scores of the moment, which are WFP's, UNICEF's or LXF's; by ranks that a function gives
at each moment."""

AGING = WFP
"""The first of the kinds whose scores change with time."""

ORDERS = (
    "submit",
    "shortest",
    "longest",
    "smallest",
    "largest",
    "wfp",
    "sjbf",
    "SAF",
    "F1",
    "F2",
    "F3",
    "F4",
    "UNICEF",
    "LXF",
)
"""Orders of the queue that have a name."""

ALIASES = {"WFP3": "wfp", "SQF": "smallest", "SPT": "shortest", "SJF": "shortest"}
"""Other names of orders, in papers. `shortest` goes by requested times, as a scheduler must."""

WITHOUT_REQUEST = ("submit", "smallest", "largest", "sjbf")
"""Orders that need no requested times; `sjbf` does where jobs may overtake."""

KINDS = {"submit": SUBMITTED, "sjbf": HEAD_FIRST, "wfp": WFP, "UNICEF": UNICEF, "LXF": LXF}
"""Orders that are no static ranks."""

GREATEST_FIRST = ("priority",)
"""Columns that a workload declares to mean: more is more urgent."""

KNOWN_AFTERWARDS = ("run_time", "recorded_start", "status")
"""Columns that no scheduler can know of a job that has not ended."""

EXPECTED = (
    f"one of {', '.join(map(repr, (*ORDERS, *ALIASES)))}, a column of the workload, one number per "
    "job, or a function of the jobs' table (and of the moment)"
)

Order: TypeAlias = str | pd.Series | np.ndarray | Callable[..., Any]


class Prepared(NamedTuple):
    """A workload, with its runs cut where they are killed, and what the kernels take.

    `jobs` are views of the workload's columns. `rank` is one number per job, lowest first, and
    `kind` how ranks order the queue, such as `STATIC`. Of the kind `ASKED`, `ask` gives the ranks
    of waiting jobs by their numbers and the moment.
    """

    workload: Workload
    jobs: JobArrays
    rank: np.ndarray
    kind: int
    system: System
    calendar: Calendar = ALWAYS_OPEN
    ask: Callable[[np.ndarray, float], np.ndarray] | None = None

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
    order = ALIASES.get(order, order) if isinstance(order, str) else order
    named = order if isinstance(order, str) and order in ORDERS else None
    ask = _asking(workload, order) if callable(order) and takes_moment(order) else None
    own = None if named or ask else _own_rank(workload, order)
    if kill_at_request:
        workload = _killed_at_request(workload, system)
    by_request = named is not None and named not in WITHOUT_REQUEST
    is_needed = requested_time or by_request or len(calendar) > 0
    jobs = workload.arrays(system, requested_time=is_needed, copy=False)
    if own is not None:
        return Prepared(workload, jobs, own, STATIC, system, calendar)
    kind = KINDS.get(named, STATIC) if named else ASKED
    return Prepared(workload, jobs, _named_rank(jobs, str(named)), kind, system, calendar, ask)


class Asking:
    """Writes the ranks of waiting jobs that a function gives at each moment, before a decision.

    Parameters
    ----------
    run : Prepared
        Of the kind `ASKED`.
    jobs : np.recarray
        Records of its jobs, with `start_time` (NaN before) and `rank`.
    """

    def __init__(self, run: Prepared, jobs: np.recarray) -> None:
        self.run = run
        self.start_time, self.rank = jobs["start_time"], jobs["rank"]
        self.first = 0

    def __call__(self, now: float, submitted: int | None = None) -> None:
        """Write the ranks of the jobs that wait now; by default all that come by now have come."""
        if submitted is None:
            submitted = int(np.searchsorted(self.run.jobs.submit_time, now, "right"))
        while self.first < submitted and not np.isnan(self.start_time[self.first]):
            self.first += 1
        numbers = self.first + np.flatnonzero(np.isnan(self.start_time[self.first : submitted]))
        if numbers.size and self.run.ask is not None:
            self.rank[numbers] = self.run.ask(numbers, now)


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

    Numbers of whatever name are an "own order": a series called "wfp" is not the order `wfp`. So
    are functions.
    """
    label = ALIASES.get(order, order) if isinstance(order, str) else "own order"
    knobs = [*details, *([label] if label != "submit" else [])]
    return f"{name} ({', '.join(knobs)})" if knobs else name


def check_known(workload: Workload, column: str) -> None:
    """Raise for a column that is known only after a job has ended."""
    if column in KNOWN_AFTERWARDS:
        raise InvalidWorkloadError(
            f"{workload.name}: column {column!r} is known only after a job has ended; "
            "a policy may not see it"
        )


def seen(workload: Workload) -> list[str]:
    """The columns that a scheduler may see."""
    return [column for column in workload.jobs if column not in KNOWN_AFTERWARDS]


def _named_rank(jobs: JobArrays, order: str) -> np.ndarray:
    """One rank per job, equal where `order` is silent, as where ranks depend on time."""
    r, n = jobs.requested_time, jobs.nodes
    if order in ("F1", "F2", "F3", "F4"):
        return _learned_rank(jobs, order)
    if order in ("shortest", "sjbf"):
        return r.copy()
    if order == "longest":
        return -r
    if order == "smallest":
        return n.astype(np.float64)
    if order == "largest":
        return -n.astype(np.float64)
    if order == "SAF":  # smallest area first (Lelong, Reis and Trystram, JSSPP 2017)
        return r * n
    return np.zeros(n.size)


def _learned_rank(jobs: JobArrays, order: str) -> np.ndarray:
    """Scores of Carastan-Santos and de Camargo (SC 2017), see the module's text."""
    r, n = np.maximum(jobs.requested_time, 1.0), jobs.nodes.astype(np.float64)
    s = np.maximum(jobs.submit_time - jobs.submit_time.min(initial=np.inf), 1.0)
    if order == "F1":
        return np.log10(r) * n + 870.0 * np.log10(s)
    if order == "F2":
        return np.sqrt(r) * n + 25_600.0 * np.log10(s)
    if order == "F3":
        return r * n + 6_860_000.0 * np.log10(s)
    return r * np.sqrt(n) + 530_000.0 * np.log10(s)


def takes_moment(order: Callable) -> bool:
    """Whether an order that is a function takes two arguments, or else one.

    Raises
    ------
    ValueError
        If it takes neither. Arguments with a default do not count.
    """
    expected = (
        "a function of one argument, the jobs' table; or of two, the table of the jobs that wait "
        "and the moment in seconds"
    )
    try:
        parameters = list(inspect.signature(order).parameters.values())
    except (TypeError, ValueError):
        parameters = []
    number = sum(
        each.default is each.empty
        and each.kind in (each.POSITIONAL_ONLY, each.POSITIONAL_OR_KEYWORD)
        for each in parameters
    )
    check.that("order", order, number in (1, 2), expected)
    return number == 2


def _known(workload: Workload) -> pd.DataFrame:
    """The jobs' table without what no scheduler can know."""
    return workload.jobs.drop(columns=list(KNOWN_AFTERWARDS), errors="ignore")


def _asking(workload: Workload, order: Callable) -> Callable[[np.ndarray, float], np.ndarray]:
    """A function of waiting jobs' numbers and the moment that gives their ranks, lowest first."""
    known = _known(workload)

    def ranks(numbers: np.ndarray, now: float) -> np.ndarray:
        values = _asked(workload, order, known.iloc[numbers], now)
        if values.dtype.kind not in "iuf" or np.isnan(values).any():
            _check_numbers(workload, "order", values, numbers, f", asked at t={now:.15g}")
        return values.astype(np.float64)

    return ranks


def _asked(workload: Workload, order: Callable, table: pd.DataFrame, *moment: float) -> np.ndarray:
    """What a function says of the jobs of a table, one value per job."""
    try:
        values = order(table, *moment)
    except (KeyError, AttributeError) as error:
        error.add_note(f"raised by order={order!r}, which gets the jobs' table")
        missing = error.args[:1] if isinstance(error, KeyError) else (error.name,)
        check_known(workload, str(*missing))
        raise
    when = "".join(f" at t={now:.15g}" for now in moment)
    if values is None or np.ndim(values) != 1:
        raise InvalidWorkloadError(
            f"{workload.name}: the function order returns {_short(values)}{when}; expected one "
            f"number per job, {len(table)}"
        )
    return _values(workload, values, table.index, when)


def _short(value: Any) -> str:
    """A number or text as it is; of all else the type, and the shape of an array."""
    if value is None or isinstance(value, str) or check.is_number(value):
        return repr(value)
    shape = f" of the shape {np.shape(value)}" if isinstance(value, np.ndarray) else ""
    return f"what is of type {type(value).__name__}{shape}"


def _own_rank(workload: Workload, order: Order) -> np.ndarray:
    """One rank per job from a column or an array: its place among the distinct values."""
    name = order if isinstance(order, str) else "order"
    is_fine = isinstance(order, str) or callable(order) or np.ndim(order) > 0
    check.that("order", order, is_fine, EXPECTED)
    if isinstance(order, str):
        values = _column(workload, order)
    elif callable(order):
        values = _asked(workload, order, _known(workload))
    else:
        values = values_by_job(workload, order)
    _check_numbers(workload, name, values, np.arange(values.size))
    rank = np.unique(np.array(values.tolist()), return_inverse=True)[1].astype(np.float64)
    return -rank if name in GREATEST_FIRST else rank


def _check_numbers(
    workload: Workload, name: str, values: np.ndarray, numbers: np.ndarray, when: str = ""
) -> None:
    """Raise for the first of some jobs whose value is no number."""
    expected = f"a number, to order the queue by{when}"
    if values.dtype.kind == "f" and workload.jobs["requested_time"].isna().any():
        expected += "; prepare_workload fills in requested_time where most are known"
    elif values.dtype.kind not in "iu":
        values = values.astype(object)
    fine = [check.is_number(value) and value == value for value in values.tolist()]
    check.rows(
        name,
        values,
        fine,
        expected,
        row=lambda place: workload.label(int(numbers[place])),
        error=InvalidWorkloadError,
    )


def _column(workload: Workload, name: str) -> np.ndarray:
    """The values of a column of the workload that a scheduler may know."""
    check_known(workload, name)
    expected = f"{EXPECTED}; the columns are {', '.join(seen(workload))}"
    check.that("order", name, name in workload.jobs, expected, where=workload.name)
    return workload.jobs[name].to_numpy()


def values_by_job(workload: Workload, order: pd.Series | np.ndarray) -> np.ndarray:
    """The values of an array in order of the workload's jobs, those of a series by its index.

    Raises
    ------
    InvalidWorkloadError
        If it is not one value per job.
    """
    return _values(workload, order, workload.jobs.index)


def _values(
    workload: Workload, order: pd.Series | np.ndarray, index: pd.Index, when: str = ""
) -> np.ndarray:
    """The values of an array in order of jobs, those of a series by its index."""
    expected = f"one number per job, {len(index)}"
    if isinstance(order, pd.Series) and order.index.equals(index):
        return order.to_numpy()
    values = np.asarray(order)
    fine = values.shape == (len(index),)
    if isinstance(order, pd.Series):
        expected += ", under the index of its jobs"
        if fine and order.index.symmetric_difference(index, sort=False).empty:
            return order.reindex(index).to_numpy()
        fine = False
    if not fine:
        raise InvalidWorkloadError(
            f"{workload.name}: order has the shape {values.shape}{when}; expected {expected}"
        )
    return values


def _killed_at_request(workload: Workload, system: System) -> Workload:
    """The workload with run times cut at the requested time, and that said in its account."""
    jobs = workload.arrays(system)
    run_time = np.minimum(jobs.run_time, jobs.requested_time)
    killed = int((run_time < jobs.run_time).sum())
    cut = replace(workload, jobs=workload.jobs.assign(run_time=run_time))
    return cut.noted("mended", "run_time cut at requested_time", killed)
