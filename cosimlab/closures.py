"""Closures of a machine, inferred from the starts and ends that its log recorded.

A closure is a stretch of time, at least as long as `shortest`, in which jobs hold no more than a
small share of the nodes. An empty queue empties a machine, too, as does a job that waits for nearly
all nodes: the score tells them apart. It is the share of the closure in which jobs wait and each of
them would fit on the nodes that are idle all the while.

*When it was known.* A scheduler that knows a window starts no job whose requested time crosses its
begin, but for a few that are let through (`EXCEPTIONS`, a share of the starts). One that does not
know it starts such jobs as often as the log has jobs of so long a request. Of all moments before
the window that one is taken from which on the first is the most likely beside the second (a change
point by likelihood), right after a start that crosses. A window for which this moment is within
`shortest_notice` was not announced: it is ``"down"``.
"""

import numpy as np
import pandas as pd

from cosimlib import checks as check
from cosimlib.kernels.steps import step_function
from cosimlib.schedule import Schedule
from cosimlib.system import System
from cosimlib.units import HOUR
from cosimlib.workload import Workload

CLOSURES = ("start", "end", "kind", "known_from", "score", "contradicting")
EXCEPTIONS = 0.02
"""Share of the starts that cross a window although it is known."""


def closures(
    workload: Workload,
    system: System | None = None,
    *,
    shortest: float = 3 * HOUR,
    most_held: float = 0.02,
    shortest_notice: float = HOUR,
) -> pd.DataFrame:
    """Windows in which a log's machine seems to have been closed, for `cosimlib.Calendar`.

    Parameters
    ----------
    workload : Workload
        With recorded starts, and requested times where they are known.
    system : System, optional
        By default the workload's machine.
    shortest : float, default 3 hours
        Seconds that a closure lasts at least.
    most_held : float, default 0.02
        Share of the nodes that jobs hold at most while the machine is closed.
    shortest_notice : float, default 1 hour
        Seconds before its start at which a window is known at the latest, or it was not announced.

    Returns
    -------
    pd.DataFrame
        `start`, `end` (s), `kind` (``"maintenance"`` or ``"down"``), `known_from` (s), `score` from
        0 to 1, and `contradicting`, the rows of the jobs that start within the window, as a tuple.

    Raises
    ------
    InvalidWorkloadError
        If the start of a job, or the system, is not recorded.

    Examples
    --------
    >>> import pandas as pd
    >>> import cosimlab as lab
    >>> import cosimlib as cs
    >>> times = {"submit_time": [0, 7000], "run_time": [7200, 60], "recorded_start": [0, 36000]}
    >>> log = cs.Workload(pd.DataFrame(times | {"nodes": [4, 4], "requested_time": 7200}), "log")
    >>> found = lab.closures(log, cs.System.of(4))
    >>> found[["start", "end", "kind", "score"]]
        start      end         kind  score
    0  7200.0  36000.0  maintenance    1.0
    >>> cs.Calendar(found)
    <Calendar 1 window>
    """
    check.seconds("shortest", shortest, above=0.0)
    check.number("most_held", most_held, least=0.0, below=1.0, kind="a share")
    check.seconds("shortest_notice", shortest_notice)
    recorded = Schedule.recorded(workload, system)
    windows = _idle_stretches(recorded, most_held * recorded.total_nodes, shortest)
    known = [_known_from(recorded, start) for start, _ in windows]
    rows = [
        (
            start,
            end,
            "maintenance" if announced else "down",
            moment if announced else start,
            _score(recorded, start, end),
            _started_within(recorded, start, end),
        )
        for (start, end), moment in zip(windows, known, strict=True)
        for announced in [start - moment >= shortest_notice]
    ]
    table = pd.DataFrame(rows, columns=list(CLOSURES))
    return table.astype(dict.fromkeys(["start", "end", "known_from", "score"], np.float64))


def _idle_stretches(recorded: Schedule, most: float, shortest: float) -> list[tuple[float, float]]:
    """Stretches of at least a length in which jobs hold no more than so many nodes."""
    nodes = recorded.workload.jobs["nodes"].to_numpy()
    times, held = step_function(recorded.start_time, recorded.end_time, nodes)
    is_idle = held <= most
    changes = np.flatnonzero(np.diff(np.concatenate([[False], is_idle[:-1], [False]])))
    begins, ends = times[changes[::2]], times[changes[1::2]]
    long = ends - begins >= shortest
    return list(zip(begins[long].tolist(), ends[long].tolist(), strict=True))


def _known_from(recorded: Schedule, start: float) -> float:
    """The moment from which on few jobs start whose request crosses the start of a window."""
    requested = recorded.workload.jobs["requested_time"].fillna(0.0).to_numpy()
    rows = np.argsort(-recorded.start_time, kind="stable")  # from the latest start back
    rows = rows[recorded.start_time[rows] < start]
    started = recorded.start_time[rows]
    crosses = started + requested[rows] > start
    if not crosses.any():
        return -np.inf
    longer = 1.0 - np.searchsorted(np.sort(requested), start - started, "right") / requested.size
    usual = np.clip(longer, 1 / requested.size, 1 - 1 / requested.size)
    chance = np.where(crosses, EXCEPTIONS / usual, (1 - EXCEPTIONS) / (1 - usual))
    best = int(np.argmax(np.append(0.0, np.cumsum(np.log(chance)))))
    before = crosses[best:]
    return float(np.nextafter(started[best:][before][0], np.inf)) if before.any() else -np.inf


def _score(recorded: Schedule, start: float, end: float) -> float:
    """Share of a window in which jobs wait that all fit on the nodes idle throughout."""
    jobs, started, ended = recorded.workload.jobs, recorded.start_time, recorded.end_time
    submitted, nodes = jobs["submit_time"].to_numpy(), jobs["nodes"].to_numpy()
    runs = (started < end) & (ended > start)
    _, held = step_function(started[runs], ended[runs], nodes[runs])
    begin, until = np.maximum(submitted, start), np.minimum(started, end)
    waits = begin < until
    too_wide = nodes[waits] > recorded.total_nodes - held.max(initial=0)
    # One job that does not fit outweighs all others.
    times, fitting = step_function(begin[waits], until[waits], np.where(too_wide, -waits.size, 1))
    return float(np.diff(times) @ (fitting[:-1] > 0)) / (end - start) if times.size else 0.0


def _started_within(recorded: Schedule, start: float, end: float) -> tuple[int, ...]:
    """The rows of the jobs that start within a window."""
    within = (recorded.start_time >= start) & (recorded.start_time < end)
    return tuple(np.flatnonzero(within).tolist())
