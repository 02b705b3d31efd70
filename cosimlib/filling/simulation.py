"""Conservative backfilling in time slots, and containers in every hole that it leaves.

S. P. Polyakov and Yu. Yu. Dubenskaya, Improving the Load of Supercomputers Based on Job Migration
Using Container Virtualization, GRID 2018. Besides the regular jobs there are one-slot jobs of any
length without end, each in a container that can be saved and go on elsewhere; they take every node
that is idle.

*Regular jobs.* The scheduler acts at the beginnings of time slots only: what was submitted or has
ended during a slot is seen when the next one begins. Every queued job has a reservation. At its
submission it gets the first hole that is long and wide enough; where a job ends early, each waiting
job in order of submission moves to the first such hole before its own reservation, if there is
one. So nobody starts later than promised; only where a job outlives its request, and the nodes
are needed, is the whole plan made anew, in order of submission. `queue_depth` limits the queue: the
others are let in, and get their reservations, as places become free.

*Containers.* ``overhead`` (the paper's t) is the time to start and to save one, as a part of a
slot, ``speed`` (c) is that in a container relative to a regular job's.

- Policy A: each runs for one slot and is saved before the slot ends, whatever follows. Its node is
  free whenever the scheduler acts.
- Policy B: each runs on and is saved in the slot before a reservation that needs its node. What the
  plan does not show one slot ahead, because a job ended early or was just submitted, finds the
  node taken. With ``reclaim="save"`` nodes of containers that were not to be saved are unfree in
  the slot that begins: the regular job waits a slot until they are saved or, where it then no
  longer fits, longer. With ``reclaim="kill"`` the container is killed and what it computed since
  its start is lost.

Containers that stop are the youngest, which is the least loss; which of them stops makes no other
difference. Containers run from the first submission to the last end.
"""

import numpy as np
import pandas as pd

from cosimlib.checks import is_number
from cosimlib.filling.schedule import FilledSchedule
from cosimlib.filling.slots import SlotArrays, fill
from cosimlib.kernels.steps import step_function
from cosimlib.system import System
from cosimlib.workload import Workload

POLICIES = ("A", "B")
RECLAIMS = ("save", "kill")


def simulate_filling(
    workload: Workload,
    system: System,
    *,
    policy: str | None = "A",
    slot: float = 60.0,
    overhead: float = 0.1,
    speed: float = 1.0,
    reclaim: str = "save",
    queue_depth: int | None = None,
) -> FilledSchedule:
    """Schedule regular jobs conservatively, and fill the holes with containers.

    Parameters
    ----------
    workload : Workload
        With requested times.
    system : System
        Of one partition.
    policy : {"A", "B", None}
        When containers are saved: after each slot, or before the next reservation. None: there are
        no containers.
    slot : float, default 60.0
        Whole seconds, the paper's minute.
    overhead : float, default 0.1
        The paper's t, from 0 to below 1. It names no value.
    speed : float, default 1.0
        The paper's c, above 0 and up to 1; containers "impose little to no overhead".
    reclaim : {"save", "kill"}
        Under policy B, what happens where a regular job could start on a node whose container was
        not to be saved.
    queue_depth : int, optional
        Most jobs that wait with a reservation; by default all that are submitted.

    Returns
    -------
    FilledSchedule

    Raises
    ------
    ValueError
        For a knob out of its range.
    InvalidWorkloadError
        Where a job is wider than the system or has no requested time, or the system has several
        partitions.
    """
    _check(policy, slot, overhead, speed, reclaim, queue_depth)
    jobs, capacity = _in_slots(workload, system, slot), _capacity(system)
    depth = max(1, len(workload)) if queue_depth is None else int(queue_depth)
    hold_back = policy == "B" and reclaim == "save"
    start, promised, held_up, stopped = fill(jobs, capacity, depth, hold_back)
    if policy == "A":
        stopped = _slot_by_slot(jobs, start, capacity)
    starts = stopped[:, 1] - stopped[:, 0] if policy == "A" else np.ones(len(stopped))
    containers = pd.DataFrame(
        {
            "start_time": stopped[:, 0] * slot,
            "end_time": stopped[:, 1] * slot,
            "nodes": stopped[:, 2].astype(np.int64),
            "starts": starts.astype(np.int64),
            "saved": stopped[:, 3] == 1,
        }
    )
    start_time = start * slot
    return FilledSchedule(
        workload,
        system,
        {"A": "filling A", "B": f"filling B, {reclaim}", None: "not filled"}[policy],
        start_time,
        start_time + workload.jobs["run_time"].to_numpy(),
        containers if policy else containers[:0],
        promised * slot,
        held_up,
        float(slot),
        float(overhead),
        float(speed),
    )


def node_seconds(
    schedule: FilledSchedule, *, start: float | None = None, end: float | None = None
) -> pd.Series:
    """What the partition's node-seconds in a window were used for; the sum is its capacity.

    Parameters
    ----------
    schedule : FilledSchedule
    start, end : float, optional
        The window, seconds; by default from the first whole slot after the first submission to the
        end of the last job's last slot.

    Returns
    -------
    pd.Series
        `regular` jobs; `computing`, `overhead` (started or saved) and `lost` (killed) of
        containers; `idle`. A container's overhead is spread evenly over its time.
    """
    slot, jobs = schedule.slot, schedule.workload.jobs
    if start is None:
        start = float(np.ceil(jobs["submit_time"].min() / slot) * slot)
    if end is None:
        ends = np.ceil(schedule.end_time / slot) * slot
        end = float(np.maximum(ends, schedule.start_time + slot).max())
    if not start < end:
        raise ValueError(f"window from {start:.15g} to {end:.15g} s; expected start before end")
    table = schedule.containers
    held = _inside(table["start_time"], table["end_time"], start, end) * table["nodes"]
    length = (table["end_time"] - table["start_time"]).to_numpy()
    share = (table["starts"] * schedule.overhead * slot / length).to_numpy()
    saved = table["saved"].to_numpy(dtype=bool)
    regular = _inside(schedule.start_time, schedule.end_time, start, end) @ jobs["nodes"]
    use = {
        "regular": float(regular),
        "computing": float((held * (1 - share))[saved].sum()),
        "overhead": float((held * share)[saved].sum()),
        "lost": float(held[~saved].sum()),
    }
    idle = _capacity(schedule.system) * (end - start) - float(regular) - float(held.sum())
    return pd.Series(use | {"idle": idle}, name="node_seconds")


def efficiency(
    schedule: FilledSchedule, *, start: float | None = None, end: float | None = None
) -> float:
    """Utilization efficiency: work done ÷ work that the partition could do in the window.

    ``(regular + speed · computing) / capacity``, see `node_seconds`.
    """
    use = node_seconds(schedule, start=start, end=end)
    return float((use["regular"] + schedule.speed * use["computing"]) / use.sum())


def _inside(start, end, first: float, last: float) -> np.ndarray:
    """How much of each stretch lies in the window."""
    return np.maximum(np.minimum(end, last) - np.maximum(start, first), 0.0)


def _capacity(system: System) -> int:
    """Nodes of the only partition."""
    return system.total_nodes


def _check(
    policy: str | None,
    slot: float,
    overhead: float,
    speed: float,
    reclaim: str,
    queue_depth: int | None,
) -> None:
    """Raise for the first knob that is out of its range."""
    if policy is not None and policy not in POLICIES:
        raise ValueError(f"filling: policy={policy!r}; expected 'A', 'B' or None")
    if reclaim not in RECLAIMS:
        raise ValueError(f"filling: reclaim={reclaim!r}; expected 'save' or 'kill'")
    if not is_number(slot) or not (0 < slot < np.inf and slot % 1 == 0):
        raise ValueError(f"filling: slot={slot!r}; expected whole seconds above 0, such as 60")
    if not is_number(overhead) or not 0 <= overhead < 1:
        raise ValueError(
            f"filling: overhead={overhead!r}; expected a part of a slot, from 0 to below 1"
        )
    if not is_number(speed) or not 0 < speed <= 1:
        raise ValueError(
            f"filling: speed={speed!r}; expected that of a regular job (1) or less, above 0"
        )
    if queue_depth is not None and (
        not is_number(queue_depth) or queue_depth % 1 or queue_depth < 1
    ):
        raise ValueError(
            f"filling: queue_depth={queue_depth!r}; expected a whole number from 1, or None"
        )


def _in_slots(workload: Workload, system: System, slot: float) -> SlotArrays:
    """Submissions seen at the next slot, times rounded up, a job holding one slot at least."""
    jobs = workload.arrays(system)

    def slots(seconds: np.ndarray, least: int) -> np.ndarray:
        number = np.ceil(seconds / slot)
        # A quotient may be rounded down to a whole number.
        number += number * slot < seconds
        return np.maximum(number, least)

    return SlotArrays(
        slots(jobs.submit_time, 0),
        slots(jobs.run_time, 1),
        slots(jobs.requested_time, 1),
        jobs.nodes,
    )


def _slot_by_slot(jobs: SlotArrays, start: np.ndarray, capacity: int) -> np.ndarray:
    """Policy A: from when to when how many containers run, each of them slot by slot."""
    if not start.size:
        return np.empty((0, 4))
    times, busy = step_function(start, start + jobs.run, jobs.nodes)
    times, busy = np.append(jobs.submit[0], times), np.append(0, busy)
    idle = capacity - busy[:-1]
    rows = np.stack([times[:-1], times[1:], idle, np.ones_like(idle)], axis=1)
    return rows[(idle > 0) & (times[:-1] < times[1:])]
