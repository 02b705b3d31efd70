"""Property-based tests of your own scheduling policy on small random workloads.

`check_policy` checks the laws that the policies of this package obey. A law consists of a sentence
and a function that raises an error if it is broken. If a law is broken, `check_policy` searches for
a smaller workload that still breaks it, and prints it as Python code.

Times of random workloads are whole seconds within a minute. In five of every ten workloads they are
whole minutes, hours or days instead, for policies that know a length of time or the time of day. So
many events happen at the same instant, and shifted or doubled schedules are exactly equal. Some
jobs run longer than their request; some have a run time of 0. The fourth workload has no jobs; of
every ten, one has only jobs as wide as the machine, and one has only jobs that are submitted at
once.
"""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from types import MappingProxyType
from typing import Any, NamedTuple, TypeVar

import numpy as np
import pandas as pd

from cosimlib import checks as check
from cosimlib.audit import audit
from cosimlib.policies import Simulator, simulator_of
from cosimlib.schedule import Schedule
from cosimlib.system import System
from cosimlib.units import DAY, HOUR, MINUTE
from cosimlib.workload import Workload

LEAST = {"submit_time": 0, "run_time": 0}
"""The least values of columns; of all others 1."""

ATTEMPTS = 2_000
"""Smaller cases that are tried, at most."""


class Case(NamedTuple):
    """A workload's jobs and the nodes of its machine."""

    jobs: pd.DataFrame
    nodes: int

    @property
    def workload(self) -> Workload:
        """The jobs as a workload, a copy."""
        return Workload(self.jobs.copy(), "random workload")

    @property
    def system(self) -> System:
        """The machine."""
        return System.of(self.nodes)


AnyCase = TypeVar("AnyCase")
"""A case of any kind: a workload and its machine, or an eviction problem."""

SHIFT = 16 * DAY
"""Seconds by which a workload is moved: whole days, for policies that know day and night."""

SCALES = (1, 1, 1, 1, MINUTE, HOUR, 1, MINUTE, HOUR, DAY)
"""Seconds in the place of each second of ten random workloads, which take turns."""

LONGER = 8
"""Seconds by which the shortest run is made longer."""

TIMES = ("submit_time", "run_time", "requested_time")

Run = Callable[[Case], Schedule]


class BrokenLawError(AssertionError):
    """A schedule or a plan breaks a law; the message names the job or number."""


class Law(NamedTuple):
    """Sentence of a law, and its check."""

    says: str
    check: Callable[[Any, Any], None]


class PolicyError(AssertionError):
    """A policy breaks a law; `law`, `workload` and `system` are the smallest case found."""

    def __init__(self, message: str, law: str, workload: Workload, system: System) -> None:
        super().__init__(message)
        self.law, self.workload, self.system = law, workload, system


def check_policy(
    policy: Callable | str,
    *,
    laws: Iterable[str] | None = None,
    trials: int = 50,
    seed: int = 0,
    columns: Sequence[str] = (),
    **knobs: Any,
) -> pd.DataFrame:
    """Check that your own policy obeys the laws of scheduling, or show a case in which it does not.

    Parameters
    ----------
    policy : function or str
        A decision function for `simulate`, ``policy(state)``; a whole simulator,
        ``policy(workload, system, **knobs) -> Schedule``; or a registered name. The schedule must
        be for the given jobs and system; runs may be cut only at the requested time.
    laws : names, optional
        Which of `LAWS` to check; all by default. Some policies rightly break a law: one that uses
        a constant in seconds may break ``scale``; one that decides only at full minutes,
        ``alone``.
    trials : int, default 50
        Random workloads per law.
    seed : int, default 0
        Seed of the random workloads.
    columns : sequence of str, optional
        Other columns that the policy reads. Random workloads have whole numbers in them.
    **knobs
        Keyword arguments of the function.

    Returns
    -------
    pd.DataFrame
        The laws that were checked: `law`, `says`, `workloads`, and `longest_wait`, the longest wait
        of a job in these workloads, in seconds. What a policy does after longer waits was not
        tried.

    Raises
    ------
    PolicyError
        If a law is broken, with the smallest workload found that breaks it.
    ValueError
        If a law or the name of a policy is unknown, or the policy is neither a function of a state
        nor one of a workload and a system.
    """
    asked = list(LAWS) if laws is None else list(laws)
    for law in asked:
        check.choice("law", law, LAWS)
    check.whole("trials", trials, 1)
    check.seed(seed)
    name, simulator = simulator_of(policy, columns=columns, **knobs)
    rows = []
    for law in (law for law in LAWS if law in asked):
        waits = [0.0]
        run = _runner(simulator, waits)
        cases = list(random_cases(np.random.default_rng(seed), trials, columns))
        for case in cases:
            found = fault(law, run, case)
            if found is not None:
                smaller = smallest(partial(fault, law, run), case, found, smaller_cases)
                raise _error(name, law, *smaller)
        rows.append((law, LAWS[law].says, len(cases), max(waits)))
    return pd.DataFrame(rows, columns=["law", "says", "workloads", "longest_wait"])


def _runner(simulator: Simulator, waits: list[float]) -> Run:
    """A function from a case to its schedule, which refuses what is none of the case.

    The longest wait of each schedule (s) is added to the waits.
    """

    def run(case: Case) -> Schedule:
        workload = case.workload
        schedule = simulator(workload, case.system)
        if not isinstance(schedule, Schedule):
            raise BrokenLawError(f"it returns {schedule!r}; expected a Schedule")
        if not workload.jobs.equals(case.workload.jobs):
            raise BrokenLawError("it changes the workload's jobs in place; expected a copy")
        _check_case(schedule, case)
        wait = schedule.start_time - case.jobs["submit_time"].to_numpy(np.float64)
        waits.append(float(np.max(wait, where=np.isfinite(wait), initial=0.0)))
        return schedule

    return run


def _error(name: str, law: str, case: Case, cause: Exception) -> PolicyError:
    """The error for a case that breaks a law."""
    said = str(cause) if isinstance(cause, BrokenLawError) else f"{type(cause).__name__}: {cause}"
    message = (
        f"{name} breaks the law {law!r}: {LAWS[law].says}\n{said}\n\n"
        f"The smallest workload found that shows it:\n\n{as_python(case)}"
    )
    error = PolicyError(message, law, case.workload, case.system)
    error.__cause__ = cause
    return error


def random_cases(random: np.random.Generator, count: int, columns: Sequence[str]) -> Iterator[Case]:
    """Random cases: up to ten jobs on up to eight nodes; 1 to 3 in additional columns.

    Times are whole seconds, minutes, hours or days, as `SCALES` says.
    """
    for number in range(count):
        n, nodes = int(random.integers(1, 11)) * (number != 3), int(random.integers(1, 9))
        fewest = nodes if number % 10 == 1 else 1
        run_time = random.integers(0, 13, n)
        beyond = random.integers(0, 9, n)
        if random.random() < 0.5:
            beyond -= random.integers(0, 13, n)
        span = 1 if number % 10 == 2 else random.choice([1, 13, 61])
        jobs = pd.DataFrame(
            {
                "submit_time": np.sort(random.integers(0, span, n)),
                "run_time": run_time,
                "requested_time": np.maximum(run_time + beyond, 1),
                "nodes": random.integers(fewest, nodes + 1, n),
            }
        )
        for time in TIMES:
            jobs[time] *= int(SCALES[number % len(SCALES)])
        yield Case(jobs.assign(**{name: random.integers(1, 4, n) for name in columns}), nodes)


def smallest(
    fault: Callable[[AnyCase], Exception | None],
    case: AnyCase,
    found: Exception,
    smaller_cases: Callable[[AnyCase], Iterator[AnyCase]],
    attempts: int = ATTEMPTS,
) -> tuple[AnyCase, Exception]:
    """Smallest faulty case (no job can be dropped, no number made smaller), and its fault."""
    candidates = smaller_cases(case)
    for _ in range(attempts):
        smaller = next(candidates, None)
        if smaller is None:
            break
        error = fault(smaller)
        if error is not None:
            case, found, candidates = smaller, error, smaller_cases(smaller)
    return case, found


def smaller_cases(case: Case) -> Iterator[Case]:
    """The case without one job, with fewer nodes, narrower jobs, one smaller number."""
    jobs, nodes = case
    for job in reversed(jobs.index):
        yield Case(jobs.drop(index=job).reset_index(drop=True), nodes)
    for fewer in smaller_numbers(nodes, max(jobs["nodes"], default=1)):
        yield Case(jobs, fewer)
    for fewer in smaller_numbers(nodes, 1):
        yield Case(jobs.assign(nodes=np.minimum(jobs["nodes"], fewer)), fewer)
    for column in jobs:
        values = jobs[column].to_numpy()
        for job in jobs.index:
            for number in smaller_numbers(values[job], LEAST.get(column, 1)):
                changed = np.where(jobs.index == job, number, values)
                if column != "submit_time" or (np.diff(changed) >= 0).all():
                    yield Case(jobs.assign(**{column: changed}), nodes)


def smaller_numbers(value: float, least: int) -> list[int]:
    """The least number, the one halfway, the one halfway to the number, and so on to the next."""
    tried, step = {least, math.ceil(value) - 1}, (value - least) / 2
    while step >= 1:
        tried.add(math.ceil(value - step))
        step /= 2
    return sorted(number for number in tried if least <= number < value)


def as_python(case: Case) -> str:
    """Lines of Python that make the case."""
    width = max(len(column) for column in case.jobs) + 3
    rows = [
        "    " + f'"{column}":'.ljust(width) + f" {_numbers(values)},\n"
        for column, values in case.jobs.items()
    ]
    return (
        "import cosimlib as cs\nimport pandas as pd\n\n"
        f"jobs = pd.DataFrame({{\n{''.join(rows)}}})\n"
        f"workload, system = cs.Workload(jobs), cs.System.of({case.nodes})"
    )


def _numbers(values: pd.Series) -> list:
    """The numbers of a column, without a point where all are whole."""
    is_whole = bool((values % 1 == 0).all())
    return (values.astype(np.int64) if is_whole else values).tolist()


def fault(law: str, run: Run, case: Case) -> Exception | None:
    """Error of a law on a case, or None if the law holds."""
    try:
        LAWS[law].check(run, case)
    except Exception as error:
        return error
    return None


def _starts(run: Run, case: Case) -> None:
    """Raise an error for the first job without a start."""
    never = ~np.isfinite(run(case).start_time)
    if never.any():
        raise BrokenLawError(f"job {never.argmax()} never starts")


def _audit(run: Run, case: Case) -> None:
    """Raise an error where the audit does."""
    audit(run(case))


def _check_case(schedule: Schedule, case: Case) -> None:
    """Raise an error if a schedule is of other jobs or another system than the case.

    The audit reads both from the schedule itself. Runs may be cut at the requested time.
    """
    scheduled, jobs = schedule.workload.jobs, case.jobs
    partitions, system = dict(schedule.system.partitions), dict(case.system.partitions)
    if partitions != system:
        raise BrokenLawError(
            f"its schedule is of a system of {partitions} nodes; expected the system it was "
            f"given, {system}"
        )
    if len(scheduled) != len(jobs):
        raise BrokenLawError(f"its schedule is of {len(scheduled)} jobs; expected {len(jobs)}")
    for column in ("submit_time", "nodes", "requested_time", "run_time"):
        values = scheduled[column].to_numpy(np.float64)
        expected = jobs[column].to_numpy(np.float64)
        same = values == expected
        if column == "run_time":
            same |= values == np.minimum(expected, jobs["requested_time"].to_numpy(np.float64))
        if not same.all():
            job = int(same.argmin())
            raise BrokenLawError(
                f"its schedule has {column}={values[job]:.15g} for job {job}; expected "
                f"{expected[job]:.15g}, as in the workload it was given"
            )


def _alone(run: Run, case: Case) -> None:
    """Raise an error if the last job waits where it is the only one."""
    case = case._replace(jobs=case.jobs.iloc[-1:].reset_index(drop=True))
    submit_time = case.jobs["submit_time"].to_numpy(np.float64)
    _compare(run(case).start_time, submit_time, "alone since its submission, it could start at")


def _repeat(run: Run, case: Case) -> None:
    """Raise an error if a second run is another schedule."""
    _compare(run(case).start_time, run(case).start_time, "in a second run at")


def _shift(run: Run, case: Case) -> None:
    """Raise an error if moved jobs do not just start later."""
    moved = case.jobs.assign(submit_time=case.jobs["submit_time"] + SHIFT)
    shifted = run(case._replace(jobs=moved)).start_time - SHIFT
    _compare(run(case).start_time, shifted, f"with {SHIFT:.0f} s added and taken off again, at")


def _scale(run: Run, case: Case) -> None:
    """Raise an error if a slower clock makes another schedule."""
    slower = case.jobs.assign(**{time: 2 * case.jobs[time] for time in TIMES})
    halved = run(case._replace(jobs=slower)).start_time / 2
    _compare(run(case).start_time, halved, "with all times doubled and halved again, at")


def _foresight(run: Run, case: Case) -> None:
    """Raise an error if a start depends on a later submission, or on when a job will end."""
    schedule, jobs = run(case), case.jobs
    if len(jobs) > 1:
        fewer, submit_time = run(case._replace(jobs=jobs.iloc[:-1])), jobs["submit_time"].iloc[-1]
        what = f"if job {len(jobs) - 1} were not submitted at t={submit_time}, at"
        _compare(schedule.start_time[:-1], fewer.start_time, what, before=submit_time)
    if len(jobs) > 0:
        shortest = int(jobs["run_time"].to_numpy().argmin())
        run_time = jobs["run_time"] + LONGER * (jobs.index == shortest)
        longer = run(case._replace(jobs=jobs.assign(run_time=run_time)))
        end_time = schedule.start_time[shortest] + jobs["run_time"][shortest]
        what = f"if job {shortest} did not end at t={end_time:.15g} but {LONGER} s later, at"
        _compare(schedule.start_time, longer.start_time, what, before=end_time)


def _compare(starts: np.ndarray, others: np.ndarray, what: str, *, before: float = np.inf) -> None:
    """Raise an error for the first job that starts at another time, in one run before `before`."""
    differ = ~np.isclose(starts, others, rtol=0.0, atol=0.0, equal_nan=True)
    differ &= np.fmin(starts, others) < before
    if differ.any():
        job = int(differ.argmax())
        raise BrokenLawError(
            f"job {job} starts at t={starts[job]:.15g}; {what} t={others[job]:.15g}"
        )


LAWS: Mapping[str, Law] = MappingProxyType(
    {
        "starts": Law("every job starts", _starts),
        "audit": Law("a schedule could have happened", _audit),
        "alone": Law("one job on an empty machine starts when it is submitted", _alone),
        "repeat": Law("the same workload has the same schedule", _repeat),
        "shift": Law("jobs submitted later start later by as much", _shift),
        "scale": Law("twice all times are twice all starts", _scale),
        "foresight": Law("no start depends on later submissions and ends", _foresight),
    }
)
"""Every law by its name."""
