"""The smallest log on which a simulator and a rule differ, by delta debugging.

Parts of the log are dropped as long as the two still differ. Then numbers are made smaller: nodes,
times and the machine, of all jobs at once and of one. Both are repeated until no job can be
dropped. A job that is dropped frees its nodes, which may hide the difference; so the same is also
tried on a machine that loses as many nodes. If more than ten jobs are left, small random logs are
tried, as `check_policy` draws them.
"""

from collections.abc import Callable, Iterator

import numpy as np

from cosimlab.identify.rules import Rule
from cosimlab.identify.witness import fewest
from cosimlab.testing.policies import Case, random_cases, smaller_cases, smaller_numbers, smallest
from cosimlib.schedule import Schedule
from cosimlib.system import System
from cosimlib.units import DAY, HOUR, MINUTE
from cosimlib.workload import Workload

COLUMNS = ["submit_time", "run_time", "requested_time", "nodes"]

SMALL = 60
"""Jobs of a log up to which smaller machines are tried where jobs are dropped."""

FEW = 10
"""Jobs of a log that is small enough."""

ROUNDS = 4
"""How often jobs are dropped and then numbers made smaller, at most."""

ATTEMPTS = 300
"""Logs with smaller numbers that are tried in each round, at most."""

DRAWN = 300
"""Random logs that are tried, at most."""

LENGTHS = (DAY, HOUR, 600.0, MINUTE, 10.0, 1.0)
"""Seconds that count as one second, to make all times shorter."""


def smallest_log(
    rule: Rule,
    simulate: Callable[..., Schedule],
    workload: Workload,
    system: System,
    precision: float,
) -> Workload | None:
    """The smallest log found that a simulator schedules otherwise than a rule, with its machine.

    None if both make the same schedule of the whole log. Only schedules count: where a simulator
    raises an error, starts a job before its submission, or never, it makes none.
    """

    def fault(case: Case) -> Exception | None:
        """What differs between the two schedules."""
        if not len(case.jobs):
            return None
        try:
            theirs = np.asarray(simulate(case.workload, case.system).start_time)
        except (
            Exception
        ):  # a simulator of one's own may raise any error on a log it does not expect
            return None
        ours = rule.simulated(case.workload, case.system).start_time
        earliest = case.jobs["submit_time"].to_numpy() - precision
        if theirs.shape != ours.shape or not ((theirs >= earliest) & (theirs < np.inf)).all():
            return None
        same = (np.abs(theirs - ours) <= precision).all()
        return None if same else AssertionError("starts differ")

    case = Case(workload.jobs[COLUMNS].copy(), system.total_nodes)
    found = fault(case)
    if found is None:
        return None
    case = _shrunk(fault, case, found)
    if len(case.jobs) > FEW:
        for drawn in random_cases(np.random.default_rng(0), DRAWN, ()):
            found = fault(drawn)
            if found is not None:
                case = _shrunk(fault, drawn, found)
                break
    return Workload(case.jobs, f"{workload.name}, smallest log", case.system)


def _shrunk(fault: Callable[[Case], Exception | None], case: Case, found: Exception) -> Case:
    """The smallest case found that has a fault: jobs are dropped and numbers made smaller."""
    for _ in range(ROUNDS):
        before = len(case.jobs)
        case = fewest(case, lambda case: len(case.jobs), _dropped, lambda case: bool(fault(case)))
        case, found = smallest(fault, case, found, _smaller, ATTEMPTS)
        if len(case.jobs) == before:
            break
    return case


def _dropped(case: Case, places: np.ndarray) -> Iterator[Case]:
    """The case without the jobs at some places; if few, also on a machine without their nodes."""
    jobs = case.jobs.drop(index=places).reset_index(drop=True)
    yield Case(jobs, case.nodes)
    fewer = case.nodes - int(case.jobs["nodes"].iloc[places].sum())
    if len(case.jobs) <= SMALL and fewer >= jobs["nodes"].max():
        yield Case(jobs, fewer)


def _smaller(case: Case) -> Iterator[Case]:
    """The case with smaller numbers, in which no more jobs have no length than before."""
    before = int((case.jobs["run_time"] == 0).sum())
    for smaller in _with_smaller_numbers(case):
        if int((smaller.jobs["run_time"] == 0).sum()) <= before:
            yield smaller


def _with_smaller_numbers(case: Case) -> Iterator[Case]:
    """The case with smaller numbers: of all jobs at once, and then of one."""
    jobs, nodes = case
    first = jobs["submit_time"].min()
    if first > 0:
        yield Case(jobs.assign(submit_time=jobs["submit_time"] - first), nodes)
    for length in LENGTHS:
        rounded = _rounded(case, length)
        if not rounded.jobs.equals(jobs):
            yield rounded
    for fewer in smaller_numbers(nodes, 1):
        narrow = np.maximum(1, jobs["nodes"] * fewer // nodes)
        yield Case(jobs.assign(nodes=narrow), fewer)
    yield from smaller_cases(case)


def _rounded(case: Case, length: float) -> Case:
    """The case with all times in whole units of a length; jobs do not get shorter than one unit."""
    jobs = case.jobs
    return case._replace(
        jobs=jobs.assign(
            submit_time=np.floor(jobs["submit_time"] / length),
            run_time=np.ceil(jobs["run_time"] / length),
            requested_time=np.ceil(jobs["requested_time"] / length),
        )
    )
