"""Laws of scheduling: properties that the schedules of every policy should have.

A law consists of a sentence, the workloads to which it applies, and a function that raises an error
if it is broken.
"""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import NamedTuple

import numpy as np
import pandas as pd

from cosimlib.audit import audit
from cosimlib.schedule import Schedule
from cosimlib.testing.cases import Case
from cosimlib.units import DAY

SHIFT = 16 * DAY
"""Seconds by which a workload is moved: whole days, for policies that know day and night."""

LONGER = 8
"""Seconds by which the shortest run is made longer."""

TIMES = ("submit_time", "run_time", "requested_time")

Run = Callable[[Case], Schedule]


class BrokenLawError(AssertionError):
    """A schedule breaks a law; the message names the job or number."""


class Law(NamedTuple):
    """Sentence of a law, function that turns any case into one to which it applies, and check."""

    says: str
    prepare: Callable[[Case], Case]
    check: Callable[[Run, Case], None]


def fault(law: str, run: Run, case: Case) -> Exception | None:
    """Error of a law on a case, or None if the law holds."""
    try:
        LAWS[law].check(run, LAWS[law].prepare(case))
    except Exception as error:
        return error
    return None


def _as_it_is(case: Case) -> Case:
    """Any case."""
    return case


def _no_job(case: Case) -> Case:
    """A case without jobs."""
    return case._replace(jobs=case.jobs.iloc[:0])


def _one_job(case: Case) -> Case:
    """A case of one job."""
    return case._replace(jobs=case.jobs.iloc[:1])


def _wide_jobs(case: Case) -> Case:
    """A case of jobs as wide as the machine."""
    return case._replace(jobs=case.jobs.assign(nodes=case.nodes))


def _at_once(case: Case) -> Case:
    """A case of jobs submitted at one instant."""
    first = case.jobs["submit_time"].min()
    return case._replace(jobs=case.jobs.assign(submit_time=first))


def _starts(run: Run, case: Case) -> None:
    """Raise an error for the first job without a start."""
    never = ~np.isfinite(run(case).start_time)
    if never.any():
        raise BrokenLawError(f"job {never.argmax()} never starts")


def _audit(run: Run, case: Case) -> None:
    """Raise an error if the schedule is of other jobs or another system, and where the audit does.

    The audit reads jobs and system from the schedule itself.
    """
    schedule = run(case)
    _check_jobs(schedule.workload.jobs, case.jobs)
    scheduled, system = dict(schedule.system.partitions), dict(case.system.partitions)
    if scheduled != system:
        raise BrokenLawError(
            f"its schedule is of a system of {scheduled} nodes; expected the system it was "
            f"given, {system}"
        )
    audit(schedule)


def _check_jobs(scheduled: pd.DataFrame, jobs: pd.DataFrame) -> None:
    """Raise an error if jobs are not those of the case; runs may be cut at the requested time."""
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
    """Raise an error if the one job waits."""
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
        "starts": Law("every job starts", _as_it_is, _starts),
        "audit": Law("a schedule could have happened", _as_it_is, _audit),
        "empty": Law("without jobs there is a schedule, without starts", _no_job, _audit),
        "alone": Law("one job on an empty machine starts when it is submitted", _one_job, _alone),
        "wide": Law("jobs as wide as the machine run one after another", _wide_jobs, _audit),
        "at once": Law("jobs submitted at one instant all run", _at_once, _audit),
        "repeat": Law("the same workload has the same schedule", _as_it_is, _repeat),
        "shift": Law("jobs submitted later start later by as much", _as_it_is, _shift),
        "scale": Law("twice all times are twice all starts", _as_it_is, _scale),
        "foresight": Law(
            "no start depends on what happens later: submissions and ends", _as_it_is, _foresight
        ),
    }
)
"""Every law by its name."""
