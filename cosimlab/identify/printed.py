"""Starts as simulators print them: checked, and moved back to the instants that were rounded away.

Many simulators print whole seconds, while their jobs are submitted and end between two. A rule
starts a job when it is submitted, or when others end. So each start is moved to such an instant
within the precision, at which the job fits, if there is one.
"""

from bisect import bisect_left, bisect_right, insort

import numpy as np

from cosimlib import checks as check
from cosimlib.display import count
from cosimlib.system import System
from cosimlib.workload import InvalidWorkloadError, Workload

DIGITS = 6
"""Digits after the point that are looked at; beyond them is noise of floating point."""

UNITS = "; are all times in seconds?"

FAR = 10
"""Precisions after a start within which an end is taken where none is near."""


def printed_precision(workload: Workload, start_time: np.ndarray) -> float:
    """Seconds to which starts are known: 0 if all times are whole, 1 if only starts are, and so on.

    A millionth where starts have as many digits as the other times, for sums are rounded.
    """
    times = workload.jobs[["submit_time", "run_time"]].to_numpy(np.float64)
    of_starts, of_times = _digits(start_time), _digits(times)
    if of_times == 0 and of_starts == 0:
        return 0.0
    return 10.0 ** -(of_starts if of_starts < of_times else DIGITS)


def _digits(values: np.ndarray) -> int:
    """Digits after the point that these numbers have, up to `DIGITS`."""
    for digits in range(DIGITS):
        scaled = values * 10.0**digits
        if (np.abs(scaled - np.round(scaled)) < 1e-4).all():
            return digits
    return DIGITS


def snapped(
    workload: Workload, system: System, start_time: np.ndarray, precision: float
) -> np.ndarray:
    """Starts moved to the instants that they mean.

    Raises
    ------
    InvalidWorkloadError
        If a job starts before its submission.
    """
    jobs = workload.arrays(system, requested_time=False)
    early = start_time < jobs.submit_time - precision
    if early.any():
        job = int(early.argmax())
        check.rows(
            "start",
            start_time,
            ~early,
            f"a start that is not before its submission at t={jobs.submit_time[job]:.15g}{UNITS}",
            row=workload.label,
            error=InvalidWorkloadError,
        )
    if precision > 0:
        start_time = _moved(
            jobs.submit_time,
            jobs.run_time,
            jobs.nodes,
            system.total_nodes,
            start_time,
            precision,
        )
    return start_time


def _moved(
    submit_time: np.ndarray,
    run_time: np.ndarray,
    nodes: np.ndarray,
    total_nodes: int,
    start_time: np.ndarray,
    precision: float,
) -> np.ndarray:
    """Each start at its submission or at an end, within the precision and where the job fits.

    Moved starts move ends, so where no end is near enough, one a little later is taken.
    """
    ends: list[float] = []
    moved, running = start_time.copy(), np.empty(0, np.int64)
    for job in np.lexsort((np.arange(start_time.size), start_time)).tolist():
        printed, submitted = float(start_time[job]), float(submit_time[job])
        low = max(printed - precision, submitted)
        running = running[moved[running] + run_time[running] > low]
        first = bisect_left(ends, low)
        middle, last = (bisect_right(ends, printed + far * precision) for far in (1, FAR))
        near = sorted(set(ends[first:middle]), key=lambda end: abs(end - printed))
        own = [submitted] if abs(submitted - printed) <= precision else []
        moved[job] = max(printed, submitted)
        for instant in [*own, *near, *ends[middle:last]]:
            held = nodes[running[moved[running] + run_time[running] > instant]].sum()
            if held + nodes[job] <= total_nodes:
                moved[job] = instant
                break
        insort(ends, float(moved[job] + run_time[job]))
        running = np.append(running, job)
    return moved


def overfull(workload: Workload, system: System, start_time: np.ndarray, most_share: float) -> str:
    """What is said of starts at which jobs hold more nodes than there are; empty without any.

    Raises
    ------
    InvalidWorkloadError
        If the share of such starts is greater than `most_share`. The message names the first one.
    """
    nodes = workload.jobs["nodes"].to_numpy()
    end_time = start_time + workload.jobs["run_time"].to_numpy(np.float64)
    runs = np.flatnonzero(end_time > start_time)
    times = np.concatenate([end_time[runs], start_time[runs]])
    change = np.concatenate([-nodes[runs], nodes[runs]])
    order = np.lexsort((change, times))
    held = np.cumsum(change[order])
    beyond = held > system.total_nodes
    if not beyond.any():
        return ""
    # Only starts can exceed the machine first, and only those that do so are counted.
    number, most = int((beyond & (change[order] > 0)).sum()), int(held.max())
    if number > most_share * len(workload):
        place = int(beyond.argmax())
        job = int(np.tile(runs, 2)[order[place]])
        raise InvalidWorkloadError(
            f"{workload.label(job)} starts at t={start_time[job]:.15g}, when jobs then hold "
            f"{count(int(held[place]), 'node')}; the system has {system.total_nodes}, and in all "
            f"{count(number, 'job')} of {len(workload):,} {'start' if number > 1 else 'starts'} "
            f"so, with up to {count(most, 'node')} held: check the starts and the nodes, or give "
            "the machine's size, or the precision to which starts are known"
        )
    verb = "starts" if number == 1 else "start"
    return (
        f"{count(number, 'job')} of {len(workload):,} {verb} when more nodes are held than the "
        f"{system.total_nodes:,} of the machine (up to {most:,}): such instants are not judged"
    )
