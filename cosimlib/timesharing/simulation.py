"""Time-sharing: every job starts at once, and nodes are shared (Hofmeyr et al., HPCC 2016).

A job starts when it is submitted, on the nodes with the fewest jobs (ties by node number) among
those that have enough free memory for it. On each node the jobs have equal parts. An SPMD job runs
everywhere at the speed of its slowest node; what it leaves unused elsewhere goes to the other jobs
there, in equal parts again: rates are max-min fair (see `maxmin`), as in the paper's example of 1/4
and 3/4. Jobs that are not SPMD use their full equal part of each node (see `equal_share`), and are
done when what they have had on all nodes adds up to nodes × dedicated run time.

Where too few nodes have the memory, the job waits in a queue; the queue is tried in order of
submission whenever memory comes free. The paper does not say whether jobs may pass one that
waits. By default they may, ``queue="first_fit"``: the paper starts each new job at once, and finds
that the vast majority does. With ``queue="fcfs"`` no job passes; a large job that needs most of the
memory then empties the machine before it starts.

Everything happens in steps of 10 s, as in the paper: submissions are rounded to the nearest step,
and a job that is done leaves at the end of its step.

*Noise*: in each step each node is slowed with a probability to a speed uniform in [0.5, 1]. The
paper prints 0.0001, but both numbers that it derives, 5 or 6 of 5,576 nodes in a step and 0.025 %
of the capacity, need 0.001: `noise.NOISE`.

*Samples*: to record the shares at given moments, the loop is stopped just after each, when all that
happens at it has happened, and goes on from there: starts and ends are the same as without.
"""

import math
import reprlib
from collections.abc import Callable, Mapping, Sequence, Set, Sized
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import pandas as pd

from cosimlib import checks as check
from cosimlib.display import percent
from cosimlib.system import System
from cosimlib.timesharing import maxmin, state
from cosimlib.timesharing.bounds import (
    MOST_SLOWDOWNS,
    MOST_WINDOWS,
    ROOM,
    WINDOWS_PER_RUN,
    check_bounds,
    window_width,
)
from cosimlib.timesharing.loop import NEEDS_ROOM, PAUSED, advance
from cosimlib.timesharing.maxmin import Sharing
from cosimlib.timesharing.noise import STEP, check_noise, noise_between
from cosimlib.timesharing.schedule import TimesharedSchedule
from cosimlib.timesharing.state import DRAWN, NOW, QUEUED, SUBMITTED, Progress, Series, Setup
from cosimlib.units import HOUR
from cosimlib.workload import InvalidWorkloadError, Workload, check_run

QUEUES = ("first_fit", "fcfs")

Watch = Callable[[float, int], None]


class Sample(NamedTuple):
    """Moments (s) in order; for each that has passed, the jobs that ran and their shares."""

    moments: np.ndarray
    taken: list[tuple[np.ndarray, np.ndarray]]


def simulate_timesharing(
    workload: Workload,
    system: System,
    *,
    overhead: float = 0.0,
    spmd: bool = True,
    noise: float | None = None,
    step: float | None = STEP,
    placement: Sequence[np.ndarray] | None = None,
    queue: str = "first_fit",
    seed: int = 0,
    sample: Sequence[float] | np.ndarray | None = None,
    watch: Watch | None = None,
) -> TimesharedSchedule:
    """Time-sharing: jobs start at once, as far as memory allows, and have max-min fair shares.

    Parameters
    ----------
    workload : Workload
        `memory` is GB per node; jobs without one need none.
    system : System
        Of one partition; without `memory_per_node` memory is unlimited.
    overhead : float, default 0
        Part of every node's capacity that sharing costs, from 0 to below 1.
    spmd : bool, default True
        Whether a job runs everywhere at the speed of its slowest node.
    noise : float, optional
        Probability that a node is slowed in a step, such as `NOISE`; needs steps.
    step : float or None, default 10
        Seconds; None: exact times.
    placement : sequence of arrays, optional
        The nodes of each job, in the place of the least loaded.
    queue : {"first_fit", "fcfs"}, default "first_fit"
        Whether jobs may pass one that waits for memory.
    seed : int, default 0
        Of the noise.
    sample : sequence of float, optional
        Moments (s) whose shares the schedule then keeps; they change nothing else.
    watch : callable, optional
        Called now and then with the time simulated (s) and the number of jobs submitted by then;
        an exception that it raises ends the simulation.

    Returns
    -------
    TimesharedSchedule
        With its placement and hourly series. Its workload has submissions rounded to steps.

    Raises
    ------
    InvalidWorkloadError
        For a job wider than the machine or with more memory than a node has.

    Examples
    --------
    >>> import pandas as pd
    >>> import cosimlib as cs
    >>> times = {"submit_time": [0, 1, 2], "run_time": [10, 10, 5], "requested_time": [10, 10, 8]}
    >>> workload = cs.Workload(pd.DataFrame(times | {"nodes": [3, 3, 1]}), "three jobs")
    >>> shared = cs.simulate_timesharing(workload, cs.System.of(4), step=None)
    >>> shared.start_time
    array([0., 1., 2.])
    >>> shared.end_time
    array([19., 20., 12.])
    """
    check_run(workload, system)
    check_knobs(overhead=overhead, spmd=spmd, noise=noise, step=step, queue=queue, seed=seed)
    usable = watch is None or callable(watch)
    check.that("watch", watch, usable, "a function of a time and a number of jobs")
    sampled = _empty_sample(sample)
    if len(system.partitions) > 1:
        raise ValueError(
            f"{system.name}: time-sharing runs on one partition; got {', '.join(system.partitions)}"
        )
    check_bounds(workload, system, noise, step)
    setup, workload = _setup(workload, system, overhead, spmd, step, placement, queue)
    first, members = _members(workload, setup, system.total_nodes, placement)
    capacity = np.full(system.total_nodes, setup.speed)
    sharing = maxmin.empty(first, members, capacity, ROOM)
    memory = system.memory_per_node if math.isfinite(system.memory_per_node) else math.inf
    progress = state.empty(setup.run_time, system.total_nodes, memory, ROOM)
    rng = np.random.default_rng(seed)
    series = _run(setup, sharing, progress, float(noise or 0.0), rng, sampled, watch)
    name = _policy_name(overhead, spmd, noise, setup.fcfs)
    return TimesharedSchedule(
        workload,
        system,
        name,
        progress.start_time,
        progress.end_time,
        speed=setup.speed,
        spmd=setup.spmd,
        first=first,
        members=members,
        series=_frame(*series, system.total_nodes),
        shares=None if sample is None else _share_frame(sampled),
    )


def _policy_name(
    overhead: float = 0.0, spmd: bool = True, noise: float | None = None, fcfs: bool = False
) -> str:
    """Name of the policy: "time-sharing", with what differs from the default in brackets."""
    details = [f"overhead {percent(overhead, 1)}"] if overhead else []
    details += [] if spmd else ["not SPMD"]
    details += ["noise"] if noise else []
    details += ["FCFS"] if fcfs else []
    return "time-sharing" + (f" ({', '.join(details)})" if details else "")


def in_steps(workload: Workload, step: float = STEP) -> Workload:
    """The workload with submissions rounded to the nearest multiple of `step` seconds."""
    submit_time = np.floor(workload.jobs["submit_time"] / step + 0.5) * step
    jobs = workload.jobs.assign(submit_time=submit_time)
    return replace(workload, jobs=jobs)


def check_knobs(
    *,
    overhead: float = 0.0,
    spmd: bool = True,
    noise: float | None = None,
    step: float | None = STEP,
    queue: str = "first_fit",
    seed: int = 0,
) -> None:
    """Validate the knobs of a simulation."""
    check.number("overhead", overhead, least=0.0, below=1.0, kind="a part of the capacity,")
    check.flag("spmd", spmd)
    check_noise(noise, step, seed)
    check.choice("queue", queue, QUEUES)


def _setup(
    workload: Workload,
    system: System,
    overhead: float,
    spmd: bool,
    step: float | None,
    placement: Sequence[np.ndarray] | None,
    queue: str,
) -> tuple[Setup, Workload]:
    """The workload as the loop sees it, and with its submissions in steps."""
    if step is not None:
        workload = in_steps(workload, step)
    jobs = workload.arrays(system, requested_time=False)
    memory = workload.column("memory").fillna(0.0).to_numpy(np.float64).copy()
    wrong = ~((memory >= 0.0) & (memory < math.inf) & ~(memory > system.memory_per_node))
    if wrong.any():
        job = int(wrong.argmax())
        raise InvalidWorkloadError(
            f"{workload.label(job)} needs {memory[job]:g} GB a node; a node of {system.name} has "
            f"{system.memory_per_node:g}; drop it with Workload.keep or take nodes with more memory"
        )
    if not math.isfinite(system.memory_per_node):
        memory[:] = 0.0
    setup = Setup(
        jobs.submit_time,
        jobs.run_time,
        jobs.nodes,
        memory,
        1.0 - float(overhead),
        float(step or 0.0),
        bool(spmd),
        placement is not None,
        queue == "fcfs",
        False,
    )
    return setup, workload


def _members(
    workload: Workload, setup: Setup, total_nodes: int, placement: Sequence[np.ndarray] | None
) -> tuple[np.ndarray, np.ndarray]:
    """Where each job's nodes begin, and the nodes: the placement's, or room for those to come."""
    first = np.concatenate([[0], np.cumsum(setup.nodes)])
    if placement is None:
        return first, np.empty(first[-1], np.int32)
    if not isinstance(placement, Sized) or isinstance(placement, str | Mapping | Set):
        raise ValueError(
            f"placement={reprlib.repr(placement)}; expected a list with an array of node numbers "
            "per job, or None for the least loaded nodes"
        )
    if len(placement) != len(workload):
        raise ValueError(
            f"{workload.name}: placement has {len(placement)} entries for {len(workload)} jobs"
        )
    for job, numbers in enumerate(placement):
        nodes = np.asarray(numbers)
        integers = nodes.dtype.kind in "iu" and nodes.ndim == 1
        distinct = integers and np.unique(nodes).size == nodes.size == setup.nodes[job]
        if not distinct or nodes.min() < 0 or nodes.max() >= total_nodes:
            raise ValueError(
                f"{workload.label(job)} is placed on {numbers!r}; expected {setup.nodes[job]} "
                f"different node numbers from 0 to {total_nodes - 1}"
            )
    return first, np.concatenate([np.empty(0, np.int32), *placement]).astype(np.int32)


def _run(
    setup: Setup,
    sharing: Sharing,
    progress: Progress,
    noise: float,
    rng: np.random.Generator,
    sample: Sample,
    watch: Watch | None,
) -> tuple[float, np.ndarray]:
    """Simulate to the end, some windows at a time; width and sums of the windows."""
    total_nodes = sharing.capacity.size
    width = window_width(setup.submit_time + setup.run_time)
    windows = WINDOWS_PER_RUN
    if noise:
        per_window = noise * total_nodes * width / setup.step
        windows = max(1, min(WINDOWS_PER_RUN, int(MOST_SLOWDOWNS / max(1.0, per_window))))
    sums, begin, status = [], 0.0, PAUSED
    while status == PAUSED:
        skipped = _empty_windows(setup, progress, begin, width) // windows * windows
        if skipped:
            sums.append(np.zeros((skipped, 3)))
            begin += skipped * width
            progress.clock[NOW] = begin
            _take_nothing(sample, begin)
        until = begin + windows * width
        drawn = noise_between(rng, total_nodes, begin, until, setup.step, noise)
        series = Series(begin, width, np.zeros((windows, 3)))
        progress.numbers[DRAWN] = 0
        for stop in _stops(sample, begin, until):
            status = advance(setup, sharing, progress, drawn, series, stop)
            while status == NEEDS_ROOM:
                sharing, progress = state.with_more_room(sharing, progress)
                status = advance(setup, sharing, progress, drawn, series, stop)
            _take(sample, sharing, stop)
        sums.append(series.sums)
        if watch:
            watch(until, int(progress.numbers[SUBMITTED]))
        begin = until
        if begin / width >= 2 * MOST_WINDOWS and begin % (2 * width) == 0:
            # Jobs that share nodes may take much longer than alone.
            sums, width = [_in_pairs(np.concatenate(sums))], 2 * width
            windows = max(1, windows // 2)
    return width, np.concatenate(sums)


def _in_pairs(sums: np.ndarray) -> np.ndarray:
    """Sums of windows that are twice as long."""
    return sums[::2] + sums[1::2]


def _empty_windows(setup: Setup, progress: Progress, begin: float, width: float) -> int:
    """Whole windows from `begin` on in which no job runs or waits: noise would slow nothing."""
    submitted = progress.numbers[SUBMITTED]
    present = progress.finish.size[0] > 0 or progress.numbers[QUEUED] > 0
    if present or submitted == setup.submit_time.size:
        return 0
    return max(0, int((setup.submit_time[submitted] - begin) // width))


def _frame(width: float, sums: np.ndarray, total_nodes: int) -> pd.DataFrame:
    """Means over windows, indexed by their begin in seconds."""
    busy = np.flatnonzero(sums.any(axis=1))
    sums = sums[: busy[-1] + 1 if busy.size else 0]
    if len(sums) == 1 and width > HOUR:
        # The width of windows is told by the distance of the first two.
        sums = np.concatenate([sums, np.zeros((1, 3))])
    means = sums / width
    return pd.DataFrame(
        {
            "utilization": means[:, 0] / total_nodes,
            "cpu_load": means[:, 1] / total_nodes,
            "waiting": means[:, 2],
        },
        index=pd.Index(np.arange(len(sums)) * width, name="time"),
    )


def _empty_sample(moments: Sequence[float] | np.ndarray | None) -> Sample:
    """A sample in which nothing is taken yet; each moment once."""
    if moments is None:
        return Sample(np.empty(0), [])
    sequence = hasattr(moments, "__len__") and not isinstance(moments, str)
    check.that("sample", moments, sequence, "a sequence of moments in seconds", none=True)
    for place, moment in enumerate(moments):
        check.seconds(f"sample[{place}]", moment)
    return Sample(np.unique(np.asarray(moments, np.float64)), [])


def _stops(sample: Sample, begin: float, until: float) -> list[float]:
    """Where to stop the loop: just after each moment from `begin` to before `until`, and there."""
    inside = sample.moments[(sample.moments >= begin) & (sample.moments < until)]
    return [*np.nextafter(inside, math.inf).tolist(), until]


def _take(sample: Sample, sharing: Sharing, stop: float) -> None:
    """Record the shares if the loop stopped just after the next moment."""
    place = len(sample.taken)
    if place < sample.moments.size and np.nextafter(sample.moments[place], math.inf) == stop:
        jobs = np.flatnonzero(sharing.jobs.rate)
        sample.taken.append((jobs, sharing.jobs.rate[jobs]))


def _take_nothing(sample: Sample, before: float) -> None:
    """Record that no job runs at the next moments, those before an instant."""
    for _ in range(len(sample.taken), int(np.searchsorted(sample.moments, before))):
        sample.taken.append((np.empty(0, np.int64), np.empty(0)))


def _share_frame(sample: Sample) -> pd.DataFrame:
    """A row per moment, a column per job that ran at any of them; 0 where it did not."""
    none = np.empty(0, np.int64)
    jobs = np.unique(np.concatenate([none, *(running for running, _ in sample.taken)]))
    shares = np.zeros((sample.moments.size, jobs.size))
    for place, (running, rate) in enumerate(sample.taken):
        shares[place, np.searchsorted(jobs, running)] = rate
    return pd.DataFrame(shares, pd.Index(sample.moments, name="time"), pd.Index(jobs, name="job"))
