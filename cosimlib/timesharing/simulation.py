"""Time-sharing: every job starts at once, and nodes are shared (Hofmeyr et al., HPCC 2016).

A job starts when it is submitted, on the nodes with the fewest jobs (ties by node number) among
those that have enough free memory for it. On each node the jobs have equal parts. An SPMD job runs
everywhere at the speed of its slowest node; what it leaves unused elsewhere goes to the other jobs
there, in equal parts again: rates are max-min fair (see `kernels.maxmin`), as in the paper's
example of 1/4 and 3/4. Jobs that are not SPMD use their full equal part of each node, and are done
when what they have had on all nodes adds up to nodes × dedicated run time.

Where too few nodes have the memory, the job waits in a queue; the queue is tried in order of
submission whenever memory comes free. The paper does not say whether jobs may pass one that
waits. By default they may, ``queue="first_fit"``: the paper starts each new job at once, and finds
that the vast majority does. With ``queue="fcfs"`` nobody passes; a large job that needs most of the
memory then empties the machine before it starts.

Everything happens in steps of 10 s, as in the paper: submissions are rounded to the nearest step,
and a job that is done leaves at the end of its step.

*Noise*: in each step each node is slowed with a probability to a speed uniform in [0.5, 1]. The
paper prints 0.0001, but both numbers that it derives, 5 or 6 of 5,576 nodes in a step and 0.025 %
of the capacity, need 0.001: `noise.NOISE`.

Shares at moments, written down while the clock stands still.

The loop is stopped just after each moment, when all that happens at it has happened, and goes on
from there: starts and ends are the same as without. A run that samples nothing never stops.
"""

import math
from collections.abc import Callable, Mapping, Sequence, Set, Sized
from typing import NamedTuple

import numpy as np
import pandas as pd

from cosimlib.checks import is_number
from cosimlib.system import System
from cosimlib.timesharing import maxmin
from cosimlib.timesharing.loop import NEEDS_ROOM, PAUSED, advance
from cosimlib.timesharing.maxmin import Sharing
from cosimlib.timesharing.noise import STEP, check_noise, noise_between
from cosimlib.timesharing.schedule import TimesharedSchedule
from cosimlib.timesharing.state import (
    DRAWN,
    SUBMITTED,
    Asked,
    Progress,
    Series,
    nothing_happened,
    with_more_room,
)
from cosimlib.units import HOUR
from cosimlib.workload import InvalidWorkloadError, Workload


class Sample(NamedTuple):
    """Moments (s) in order; for each that has passed, the jobs that ran and their shares."""

    moments: np.ndarray
    taken: list[tuple[np.ndarray, np.ndarray]]


def checked(sample: Sequence[float] | np.ndarray | None) -> Sample:
    """A sample in which nothing is taken yet; each moment once.

    Raises
    ------
    ValueError
        For a moment that is not a finite number from 0.
    """
    if sample is None:
        return Sample(np.empty(0), [])
    if isinstance(sample, str) or not hasattr(sample, "__len__"):
        raise ValueError(f"sample={sample!r}; expected a sequence of moments in seconds, or None")
    for place, moment in enumerate(sample):
        if not is_number(moment) or not 0.0 <= moment < math.inf:
            raise ValueError(f"sample[{place}]={moment!r}; expected seconds from 0")
    return Sample(np.unique(np.asarray(sample, np.float64)), [])


def stops(sample: Sample, begin: float, until: float) -> list[float]:
    """Where to stop the loop: just after each moment from `begin` to before `until`, and there."""
    inside = sample.moments[(sample.moments >= begin) & (sample.moments < until)]
    return [*np.nextafter(inside, math.inf).tolist(), until]


def take(sample: Sample, sharing: Sharing, stop: float) -> None:
    """Write down the shares if the loop stopped just after the next moment."""
    place = len(sample.taken)
    if place < sample.moments.size and np.nextafter(sample.moments[place], math.inf) == stop:
        jobs = np.flatnonzero(sharing.rate)
        sample.taken.append((jobs, sharing.rate[jobs]))


def share_frame(sample: Sample) -> pd.DataFrame:
    """A row a moment, a column a job that ran at any of them; 0 where it did not."""
    none = np.empty(0, np.int64)
    jobs = np.unique(np.concatenate([none, *(running for running, _ in sample.taken)]))
    shares = np.zeros((sample.moments.size, jobs.size))
    for place, (running, rate) in enumerate(sample.taken):
        shares[place, np.searchsorted(jobs, running)] = rate
    return pd.DataFrame(shares, pd.Index(sample.moments, name="time"), pd.Index(jobs, name="job"))


QUEUES = ("first_fit", "fcfs")

WINDOWS = 120
"""Windows of the series between two looks at the clock: five days, where they are hours."""

MOST_NOISE = 1_000_000
ROOM = 32

Watch = Callable[[float, int], None]


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
    """Start every job at once and share nodes fairly, as far as memory allows.

    Parameters
    ----------
    workload : Workload
        `memory` is GB a node; jobs without one need none.
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
    ValueError
        For a knob, a placement or something to watch with that makes no sense.
    """
    check_knobs(overhead=overhead, spmd=spmd, noise=noise, step=step, queue=queue, seed=seed)
    if watch is not None and not callable(watch):
        raise ValueError(f"watch={watch!r}; expected a function of a time and a number of jobs")
    sampled = checked(sample)
    if len(system.partitions) > 1:
        raise ValueError(
            f"{system.name}: time-sharing runs on one partition; got {', '.join(system.partitions)}"
        )
    asked, workload = _asked(workload, system, overhead, spmd, step, placement, queue)
    first, members = _members(workload, asked, system.total_nodes, placement)
    capacity = np.full(system.total_nodes, asked.speed)
    sharing = maxmin.nobody_runs(first, members, capacity, ROOM)
    memory = system.memory_per_node if math.isfinite(system.memory_per_node) else math.inf
    progress = nothing_happened(asked.run_time, system.total_nodes, memory, ROOM)
    rng = np.random.default_rng(seed)
    series = _run(asked, sharing, progress, float(noise or 0.0), rng, sampled, watch)
    name = policy_name(overhead, spmd, noise, asked.in_turn)
    return TimesharedSchedule(
        workload,
        system,
        name,
        progress.start_time,
        progress.end_time,
        speed=asked.speed,
        spmd=asked.spmd,
        first=first,
        members=members,
        series=_frame(*series, system.total_nodes),
        shares=None if sample is None else share_frame(sampled),
    )


def policy_name(
    overhead: float = 0.0, spmd: bool = True, noise: float | None = None, fcfs: bool = False
) -> str:
    """``"time-sharing"``, with what differs from the default in brackets."""
    details = [f"overhead {overhead:.1%}"] if overhead else []
    details += [] if spmd else ["not SPMD"]
    details += ["noise"] if noise else []
    details += ["FCFS"] if fcfs else []
    return "time-sharing" + (f" ({', '.join(details)})" if details else "")


def in_steps(workload: Workload, step: float = STEP) -> Workload:
    """The workload with submissions rounded to the nearest multiple of `step` seconds."""
    submit_time = np.floor(workload.jobs["submit_time"] / step + 0.5) * step
    jobs = workload.jobs.assign(submit_time=submit_time)
    return Workload(jobs, workload.name, workload.machine, workload.account)


def check_knobs(
    *,
    overhead: float = 0.0,
    spmd: bool = True,
    noise: float | None = None,
    step: float | None = STEP,
    queue: str = "first_fit",
    seed: int = 0,
) -> None:
    """Raise for the first knob that makes no sense."""
    if not is_number(overhead) or not 0.0 <= overhead < 1.0:
        raise ValueError(
            f"overhead={overhead!r}; expected a part of the capacity, from 0 to below 1"
        )
    if not isinstance(spmd, bool | np.bool_):
        raise ValueError(f"spmd={spmd!r}; expected True or False")
    check_noise(noise, step, seed)
    if queue not in QUEUES:
        raise ValueError(f"queue={queue!r}; expected one of {', '.join(map(repr, QUEUES))}")


def _asked(
    workload: Workload,
    system: System,
    overhead: float,
    spmd: bool,
    step: float | None,
    placement: Sequence[np.ndarray] | None,
    queue: str,
) -> tuple[Asked, Workload]:
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
    asked = Asked(
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
    return asked, workload


def _members(
    workload: Workload, asked: Asked, total_nodes: int, placement: Sequence[np.ndarray] | None
) -> tuple[np.ndarray, np.ndarray]:
    """Where each job's nodes begin, and the nodes: given ones, or room for those to be chosen."""
    first = np.concatenate([[0], np.cumsum(asked.nodes)])
    if placement is None:
        return first, np.empty(first[-1], np.int32)
    if not isinstance(placement, Sized) or isinstance(placement, str | Mapping | Set):
        raise ValueError(f"placement: {type(placement).__name__}; expected a list of arrays")
    if len(placement) != len(workload):
        raise ValueError(
            f"{workload.name}: placement has {len(placement)} entries for {len(workload)} jobs"
        )
    for job, given in enumerate(placement):
        nodes = np.asarray(given)
        whole = nodes.dtype.kind in "iu" and nodes.ndim == 1
        distinct = whole and np.unique(nodes).size == nodes.size == asked.nodes[job]
        if not distinct or nodes.min() < 0 or nodes.max() >= total_nodes:
            raise ValueError(
                f"{workload.label(job)} is placed on {given!r}; expected {asked.nodes[job]} "
                f"different node numbers from 0 to {total_nodes - 1}"
            )
    return first, np.concatenate([np.empty(0, np.int32), *placement]).astype(np.int32)


def _run(
    asked: Asked,
    sharing: Sharing,
    progress: Progress,
    noise: float,
    rng: np.random.Generator,
    sample: Sample,
    watch: Watch | None,
) -> tuple[float, np.ndarray]:
    """Simulate to the end, a stretch of windows at a time; width and sums of the windows."""
    total_nodes = sharing.capacity.size
    span = float((asked.submit_time + asked.run_time).max(initial=0.0))
    # Windows are hours, unless the times are so large that there would be too many.
    width = HOUR * max(1, math.ceil(span / (1_000 * WINDOWS * HOUR)))
    windows = WINDOWS
    if noise:
        per_window = noise * total_nodes * width / asked.step
        windows = max(1, min(WINDOWS, int(MOST_NOISE / max(1.0, per_window))))
    sums, begin, status = [], 0.0, PAUSED
    while status == PAUSED:
        until = begin + windows * width
        drawn = noise_between(rng, total_nodes, begin, until, asked.step, noise)
        series = Series(begin, width, np.zeros((windows, 3)))
        progress.numbers[DRAWN] = 0
        for stop in stops(sample, begin, until):
            status = advance(asked, sharing, progress, drawn, series, stop)
            while status == NEEDS_ROOM:
                sharing, progress = with_more_room(sharing, progress)
                status = advance(asked, sharing, progress, drawn, series, stop)
            take(sample, sharing, stop)
        sums.append(series.sums)
        if watch:
            watch(until, int(progress.numbers[SUBMITTED]))
        begin = until
    return width, np.concatenate(sums)


def _frame(width: float, sums: np.ndarray, total_nodes: int) -> pd.DataFrame:
    """Means over windows, indexed by their begin in seconds."""
    busy = np.flatnonzero(sums.any(axis=1))
    sums = sums[: busy[-1] + 1 if busy.size else 0]
    means = sums / width
    return pd.DataFrame(
        {
            "utilization": means[:, 0] / total_nodes,
            "cpu_load": means[:, 1] / total_nodes,
            "waiting": means[:, 2],
        },
        index=pd.Index(np.arange(len(sums)) * width, name="time"),
    )
