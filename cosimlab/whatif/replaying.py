"""Replays of a record: on the same machine, and on a changed one.

A run-time limit cuts a longer job into pieces. Each piece takes the place in the order of starts
that the record gives to the moment at which as large a part of the job had run; it is submitted
when the piece before it ends. The wait of such a job is the sum of the waits of its pieces.
"""

from typing import NamedTuple

import numpy as np

from cosimlab.whatif.record import Classes, Record
from cosimlib.batch.replay import NOBODY, replay_starts


class _Pieces(NamedTuple):
    """Jobs cut into pieces: the job and the number of each, and each job's first and last."""

    job: np.ndarray
    number: np.ndarray
    first: np.ndarray
    last: np.ndarray


def replay(
    record: Record,
    classes: Classes,
    *,
    total_nodes: int | None = None,
    run_time: np.ndarray | None = None,
    stays: np.ndarray | None = None,
    limit: float = np.inf,
) -> np.ndarray:
    """Wait of each job of a record (s), replayed in its own order of starts; missing if left out.

    Parameters
    ----------
    record : Record
    classes : Classes
        As `classify` finds them.
    total_nodes : int, optional
        By default as recorded. Jobs that need more are left out.
    run_time : np.ndarray, optional
        Seconds of each job; by default as recorded.
    stays : np.ndarray, optional
        Jobs that are still submitted; by default all.
    limit : float, optional
        Run time (s) after which jobs restart.

    Examples
    --------
    Two of three nodes are held, so that the second job waits for the first:

    >>> import pandas as pd
    >>> import cosimlib as cs
    >>> from cosimlab.whatif import classify, records_of, replay
    >>> times = {"submit_time": [0, 0], "run_time": [7200, 60], "recorded_start": [0, 7200]}
    >>> log = cs.Workload(pd.DataFrame(times | {"nodes": [2, 2]}), "two jobs", cs.System.of(3))
    >>> [(name, record)] = records_of(log, log.machine)
    >>> replay(record, classify(record)).tolist()
    [0.0, 7200.0]
    >>> replay(record, classify(record), total_nodes=4).tolist()
    [0.0, 0.0]
    """
    total_nodes = record.total_nodes if total_nodes is None else total_nodes
    run_time = record.run_time if run_time is None else run_time
    stays = record.nodes <= total_nodes if stays is None else stays & (record.nodes <= total_nodes)
    pieces = _pieces(run_time, stays, limit)
    job, begun = pieces.job, np.zeros(pieces.job.size)
    begun[pieces.number > 0] = pieces.number[pieces.number > 0] * limit
    length = np.minimum(run_time[job] - begun, limit)
    done = record.run_time[job] * pieces.number / (pieces.last - pieces.first + 1)[job]
    order = np.lexsort((job, record.start_time[job] + done))
    follows, after_end = _followed(classes, pieces)
    start = replay_starts(
        order,
        np.where(pieces.number > 0, record.submit_time[job], classes.earliest[job]),
        length,
        record.nodes[job],
        total_nodes,
        lag=np.where(pieces.number > 0, 0.0, classes.lag[job]),
        latest=record.start_time[job],
        follows=follows,
        after_end=after_end,
        closed=record.closures_of(total_nodes),
        strict=classes.strict,
    )
    wait = np.full(record.nodes.size, np.nan)
    ended = start[pieces.last[stays]] + length[pieces.last[stays]]
    wait[stays] = ended - record.submit_time[stays] - run_time[stays]
    whole = stays & (pieces.first == pieces.last)  # exact, without the rounding of a sum
    wait[whole] = start[pieces.first[whole]] - record.submit_time[whole]
    return wait


def _pieces(run_time: np.ndarray, stays: np.ndarray, limit: float) -> _Pieces:
    """Pieces of the jobs that stay."""
    number = np.where(stays, np.maximum(np.ceil(run_time / limit), 1.0), 0.0).astype(np.int64)
    first = np.concatenate([[0], np.cumsum(number)])[:-1]
    job = np.repeat(np.arange(run_time.size), number)
    return _Pieces(job, np.arange(job.size) - first[job], first, first + number - 1)


def _followed(classes: Classes, pieces: _Pieces) -> tuple[np.ndarray, np.ndarray]:
    """The piece that each piece follows, and whether it begins after that one's end."""
    leader = classes.follows[pieces.job]
    stays = pieces.last >= pieces.first
    known = (leader >= 0) & stays[np.maximum(leader, 0)]
    leader = np.maximum(leader, 0)
    after_end = classes.after_end[pieces.job]
    place = np.where(after_end, pieces.last[leader], pieces.first[leader])
    later = pieces.number > 0
    follows = np.where(later, np.arange(pieces.job.size) - 1, np.where(known, place, NOBODY))
    return follows, after_end | later
