"""Time-sharing: every job starts at once, and nodes are shared (Hofmeyr et al., HPCC 2016).

A job starts when it is submitted. It gets the nodes with the fewest jobs (ties by node number)
among those that have enough free memory. On each node, jobs get equal shares. An *SPMD* job runs on
all its nodes at the speed of its slowest node. The time that it leaves unused on its other nodes
goes to the other jobs there, again in equal shares: rates are max-min fair (see `maxmin`), as in
the paper's example of 1/4 and 3/4. Jobs that are not SPMD use their full equal share of each node
(see `equal_share`). They end when the work done on all nodes adds up to nodes × dedicated run time.

If too few nodes have enough memory, the job waits in a queue. The queue is tried in order of
submission whenever memory becomes free. The paper does not say whether jobs may pass a waiting job.
By default they may, ``queue="first_fit"``, because the paper says that the vast majority of jobs
starts at once. With ``queue="fcfs"`` no job passes; a large job that needs most of the memory then
empties the machine before it starts.

Everything happens in steps of 10 s, as in the paper. Submissions are rounded to the nearest step,
and a finished job leaves at the end of its step.

*Noise*: in each step, each node is slowed with some probability, to a speed uniform in [0.5, 1].
The paper prints the probability 0.0001. But both numbers that it derives need 0.001
(`kernel.NOISE`): 5 or 6 of 5,576 nodes in a step, and 0.025 % of the capacity.

*Samples*: shares are recorded at given moments, just after everything that happens at that moment.
Starts and ends stay the same.
"""

import math
import reprlib
from collections.abc import Mapping, Sequence, Set, Sized
from dataclasses import replace

import numpy as np
import pandas as pd

from cosimlib import checks as check
from cosimlib.display import percent
from cosimlib.kernels.records import records
from cosimlib.system import System
from cosimlib.timesharing import kernel, maxmin
from cosimlib.timesharing.kernel import RUN, STEP, Series
from cosimlib.timesharing.maxmin import Sharing
from cosimlib.timesharing.schedule import TimesharedSchedule
from cosimlib.units import HOUR
from cosimlib.workload import InvalidWorkloadError, Workload, check_run

QUEUES = ("first_fit", "fcfs")

WINDOWS_PER_RUN = 120
"""Windows of the series in one run of the loop: five days, where they are hours."""

MOST_WINDOWS = 1_000 * WINDOWS_PER_RUN
"""Windows of the series beyond which they are made longer."""

MOST_SLOWDOWNS = 1_000_000
"""Slowed nodes that are drawn for one run of the loop, unless a window alone has more."""

MOST_PER_WINDOW, MOST_SLOWED = 10_000_000, 1_000_000_000
"""Slowed nodes at most in a window, and in the time in which jobs surely run."""

FEW_JOBS = 60
"""Jobs up to which a simulation has a second of processor time for noise; more jobs have more."""

SLOWED_PER_JOB = 20_000
"""Slowed nodes that are simulated per job: about a second for `FEW_JOBS` jobs."""

CHANGES_PER_SLOWED = 10
"""Changes of a job's rate on one of its nodes that take as long as a slowed node without jobs."""

MOST_STEPS = 2.0**50
"""Steps at most until the last submission and run: as whole numbers they are exact."""

MOST_MEMBERS = 2.0**31
"""Nodes of all jobs at most: 8 GiB."""

SLOTS = 32
"""Jobs on a node for which there is room at first; it is doubled when needed."""

WIDE = 5000
"""Nodes from which on the neighbors of a job are more work than it is, as measured on Mira."""


Shares = dict[float, tuple[np.ndarray, np.ndarray]]
"""By moment (s): the jobs that run at it, and their shares."""


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
) -> TimesharedSchedule:
    """Time-sharing: jobs start at once if memory allows, and get max-min fair shares of nodes.

    Parameters
    ----------
    workload : Workload
        `memory` is GB per node; unknown memory counts as 0.
    system : System
        One partition; without `memory_per_node`, memory is unlimited.
    overhead : float, default 0
        Share of each node's capacity that time-sharing costs, from 0 to below 1.
    spmd : bool, default True
        Whether a job runs everywhere at the speed of its slowest node.
    noise : float, optional
        Probability that a node is slowed in a step, such as `NOISE`; needs steps.
    step : float or None, default 10
        Seconds; None: exact times.
    placement : sequence of arrays, optional
        The nodes of each job; by default the least loaded.
    queue : {"first_fit", "fcfs"}, default "first_fit"
        Whether jobs may pass one that waits for memory.
    seed : int, default 0
        Seed of the noise.
    sample : sequence of float, optional
        Moments (s) at which the schedule records shares.

    Returns
    -------
    TimesharedSchedule
        With placement and hourly series; the submissions of its workload are rounded to steps.

    Raises
    ------
    InvalidWorkloadError
        If a job is wider than the machine or needs more memory than a node has.

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
    moments = _moments(sample)
    if len(system.partitions) > 1:
        raise ValueError(
            f"{system.name}: time-sharing runs on one partition; got {', '.join(system.partitions)}"
        )
    check_bounds(workload, system, noise, step, overhead)
    workload = workload if step is None else in_steps(workload, step)
    speed, fcfs, placed = 1.0 - float(overhead), queue == "fcfs", placement is not None
    run = records(1, RUN, speed=speed, step=step or 0.0, spmd=spmd, placed=placed, fcfs=fcfs)[0]
    sharing = sharing_of(workload, system, speed, placement)
    rng = np.random.default_rng(seed)
    width, sums, taken = _run(sharing, run, float(noise or 0.0), rng, moments)
    details = {f"overhead {percent(overhead, 1)}": overhead, "not SPMD": not spmd}
    name = policy_name("time-sharing", details | {"noise": noise, "FCFS": fcfs})
    return TimesharedSchedule(
        workload,
        system,
        name,
        sharing.jobs.start_time.copy(),
        sharing.jobs.end_time.copy(),
        speed=speed,
        spmd=bool(spmd),
        first=np.append(0, sharing.jobs.last),
        members=sharing.members.view(np.int32),
        series=_frame(width, sums, system.total_nodes),
        shares=None if sample is None else _share_frame(moments, taken),
    )


def policy_name(kind: str, details: Mapping[str, object]) -> str:
    """Name of a policy: its kind, with what differs from the default in brackets."""
    differs = [name for name, value in details.items() if value]
    return kind + (f" ({', '.join(differs)})" if differs else "")


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
    check.number("noise", noise, least=0.0, most=1.0, kind="a probability", none=True)
    check.seconds("step", step, above=0.0, none="for exact times")
    if noise and step is None:
        raise ValueError(f"noise={noise!r} slows nodes for a step; give a step, such as {STEP:g}")
    check.choice("queue", queue, QUEUES)
    check.seed(seed)


def window_width(ends: np.ndarray) -> float:
    """Seconds of a window of the series: hours, unless there would be too many of them."""
    span = float(ends.max(initial=0.0))
    return HOUR * max(1, math.ceil(span / (MOST_WINDOWS * HOUR)))


def check_bounds(
    workload: Workload,
    system: System,
    noise: float | None,
    step: float | None,
    overhead: float = 0.0,
) -> None:
    """Refuse more nodes or steps than memory has room for, and noise that would take too long.

    Raises
    ------
    ValueError
        Naming the system, or the workload and the step, and what to change.
    """
    jobs, total_nodes = workload.jobs, system.total_nodes
    places, members = float(total_nodes) * SLOTS, float(jobs["nodes"].sum())
    check.room("places for jobs on nodes", places, "take a smaller machine", where=system.name)
    check.room(
        "nodes of all jobs",
        members,
        "keep fewer or narrower jobs",
        most=MOST_MEMBERS,
        where=workload.name,
    )
    if step is None or not len(jobs):
        return
    last = float((jobs["submit_time"] + jobs["run_time"]).max())
    check.room(
        f"steps until t={last:.15g}",
        last / step,
        "take a longer step",
        most=MOST_STEPS,
        where=f"{workload.name}: step={step!r}",
    )
    if noise:
        _check_noise_work(workload, total_nodes, noise, step, 1.0 - overhead)


def _check_noise_work(
    workload: Workload, total_nodes: int, noise: float, step: float, speed: float
) -> None:
    """Refuse noise that takes longer than a second for `FEW_JOBS` jobs, or in proportion for more.

    Jobs run while one of them is there, and longer where they share nodes. A slowed node changes
    the rates of its jobs on all of their nodes. Noise is drawn for whole windows.
    """
    jobs, many = workload.jobs, max(FEW_JOBS, len(workload))
    begin, run_time = jobs["submit_time"].to_numpy(), jobs["run_time"].to_numpy()
    nodes, end = jobs["nodes"].to_numpy(np.float64), begin + run_time
    others = np.maximum.accumulate(np.append(0.0, end[:-1]))
    busy = float(np.clip(end - others, 0.0, run_time).sum())
    if busy > 0.0:
        changes = float(nodes**2 * (1 + nodes / WIDE) @ run_time) / (total_nodes * busy)
        stretch = max(1.0, float(nodes @ run_time) / (total_nodes * speed * busy))
        most = SLOWED_PER_JOB * many / (1.0 + changes / CHANGES_PER_SLOWED)
        check_slowed(workload, noise, step, total_nodes * busy * stretch, min(most, MOST_SLOWED))
    check_slowed(workload, noise, step, total_nodes * window_width(end), MOST_PER_WINDOW)


def _windows_per_run(noise: float, total_nodes: int, width: float, step: float) -> int:
    """Windows of the series in one run of the loop, fewer where noise is drawn for each."""
    per_window = noise * total_nodes * width / step
    return max(1, min(WINDOWS_PER_RUN, int(MOST_SLOWDOWNS / max(1.0, per_window))))


def check_slowed(
    workload: Workload, chance: float, step: float, node_seconds: float, most: float = MOST_SLOWED
) -> None:
    """Refuse more slowed nodes than can be drawn while so many node-seconds pass."""
    slowed = f"slowed nodes with noise={chance:.15g} and step={step:.15g} in that time"
    where = f"{workload.name}: jobs run for {node_seconds:.4g} node-seconds"
    advice = "take a longer step or less noise, or drop the longest jobs"
    check.room(slowed, chance * node_seconds / step, advice, most=most, where=where)


def sharing_of(
    workload: Workload,
    system: System,
    speed: float = 1.0,
    placement: Sequence[np.ndarray] | None = None,
    slots: int = SLOTS,
) -> Sharing:
    """Jobs and nodes before the first submission, with room for so many jobs on a node."""
    arrays = workload.arrays(system, requested_time=False)
    memory = workload.column("memory").fillna(0.0).to_numpy(np.float64).copy()
    wrong = ~((memory >= 0.0) & (memory < math.inf) & ~(memory > system.memory_per_node))
    if wrong.any():
        job = int(wrong.argmax())
        raise InvalidWorkloadError(
            f"{workload.label(job)} needs {memory[job]:g} GB a node; a node of {system.name} has "
            f"{system.memory_per_node:g}; drop it with Workload.keep or take nodes with more memory"
        )
    finite = math.isfinite(system.memory_per_node)
    first, members = _members_of(workload, arrays.nodes, system.total_nodes, placement)
    sharing = maxmin.empty(first, members, np.full(system.total_nodes, speed), slots)
    sharing.jobs.submit_time = arrays.submit_time
    sharing.jobs.run_time = sharing.jobs.work_left = arrays.run_time
    sharing.jobs.memory = memory if finite else 0.0
    free = system.memory_per_node if finite else math.inf
    sharing.nodes.memory = sharing.blocks.least_free = free
    return sharing


def _members_of(
    workload: Workload,
    nodes: np.ndarray,
    total_nodes: int,
    placement: Sequence[np.ndarray] | None,
) -> tuple[np.ndarray, np.ndarray]:
    """Where each job's nodes begin, and the nodes: the placement's, or room for those to come."""
    first = np.concatenate([[0], np.cumsum(nodes)])
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
        own = np.asarray(numbers)
        integers = own.dtype.kind in "iu" and own.ndim == 1
        distinct = integers and np.unique(own).size == own.size == nodes[job]
        if not distinct or own.min() < 0 or own.max() >= total_nodes:
            raise ValueError(
                f"{workload.label(job)} is placed on {numbers!r}; expected {nodes[job]} "
                f"different node numbers from 0 to {total_nodes - 1}"
            )
    return first, np.concatenate([np.empty(0, np.int32), *placement]).astype(np.int32)


def _run(
    sharing: Sharing,
    run: np.record,
    noise: float,
    rng: np.random.Generator,
    moments: np.ndarray,
) -> tuple[float, np.ndarray, Shares]:
    """Simulate to the end, some windows at a time; their width and sums, and shares at moments."""
    total_nodes, step = sharing.nodes.size, float(run.step)
    width = window_width(sharing.jobs.submit_time + sharing.jobs.run_time)
    windows = _windows_per_run(noise, total_nodes, width, step) if noise else WINDOWS_PER_RUN
    lists = kernel.empty_lists(sharing)
    sums, begin, status = [], 0.0, kernel.PAUSED
    taken: Shares = {}
    while status == kernel.PAUSED:
        skipped = _empty_windows(sharing, run, begin, width) // windows * windows
        if skipped:
            sums.append(np.zeros((skipped, 3)))
            begin += skipped * width
            run.now = begin
        until = begin + windows * width
        drawn = kernel.noise_between(rng, total_nodes, begin, until, step, noise)
        series = Series(begin, width, np.zeros((windows, 3)))
        run.drawn = 0
        for moment in [*moments[(moments >= begin) & (moments < until)], until]:
            # Shares are those just after all that happens at a moment.
            stop = np.nextafter(moment, math.inf) if moment < until else until
            status = kernel.advance(sharing, run, lists, drawn, series, stop)
            while status == kernel.NEEDS_SLOTS:
                sharing = maxmin.with_more_slots(sharing)
                status = kernel.advance(sharing, run, lists, drawn, series, stop)
            if moment < until:
                running = np.flatnonzero(sharing.jobs.rate)
                taken[moment] = running, sharing.jobs.rate[running]
        sums.append(series.sums)
        begin = until
        if begin / width >= 2 * MOST_WINDOWS and begin % (2 * width) == 0:
            # Jobs that share nodes may take much longer than alone.
            both = np.concatenate(sums)
            sums, width = [both[::2] + both[1::2]], 2 * width
            windows = max(1, windows // 2)
    return width, np.concatenate(sums), taken


def _empty_windows(sharing: Sharing, run: np.record, begin: float, width: float) -> int:
    """Whole windows from `begin` on in which no job runs or waits: noise would slow nothing."""
    present = sharing.finish.state.length > 0 or run.queued > 0
    if present or run.submitted == sharing.jobs.size:
        return 0
    return max(0, int((sharing.jobs[run.submitted].submit_time - begin) // width))


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


def _moments(moments: Sequence[float] | np.ndarray | None) -> np.ndarray:
    """Moments in order, each once, checked."""
    if moments is None:
        return np.empty(0)
    sequence = hasattr(moments, "__len__") and not isinstance(moments, str)
    check.that("sample", moments, sequence, "a sequence of moments in seconds", none=True)
    for place, moment in enumerate(moments):
        check.seconds(f"sample[{place}]", moment)
    return np.unique(np.asarray(moments, np.float64))


def _share_frame(moments: np.ndarray, taken: Shares) -> pd.DataFrame:
    """A row per moment, a column per job that ran at any of them; 0 if it did not."""
    none = np.empty(0, np.int64)
    rows = [taken.get(moment, (none, np.empty(0))) for moment in moments]
    jobs = np.unique(np.concatenate([none, *(running for running, _ in rows)]))
    shares = np.zeros((moments.size, jobs.size))
    for place, (running, rate) in enumerate(rows):
        shares[place, np.searchsorted(jobs, running)] = rate
    return pd.DataFrame(shares, pd.Index(moments, name="time"), pd.Index(jobs, name="job"))
