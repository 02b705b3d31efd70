"""Step functions of time: the total weight of the intervals that cover each moment."""

import numpy as np

from cosimlib.kernels.jit import kernel


def step_function(
    start: np.ndarray, end: np.ndarray, weight: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Total weight of the intervals [start, end) that cover each moment.

    Parameters
    ----------
    start, end, weight : np.ndarray
        One value per interval; weights are whole numbers, so that sums stay exact.

    Returns
    -------
    times, values : np.ndarray
        Every distinct start or end in order, and the total from that moment to the next.
    """
    moments = np.concatenate([start, end])
    order = np.argsort(moments, kind="stable")
    moments = moments[order]
    changes = np.concatenate([weight, -weight])[order]
    last = np.append(moments[1:] != moments[:-1], True)[: moments.size]
    return moments[last], np.cumsum(changes)[last]


def steps_at(
    times: np.ndarray, values: np.ndarray, moments: np.ndarray, before: int = 0
) -> np.ndarray:
    """Values of a step function at some moments; `before` where it has not begun."""
    return np.append(values, before)[np.searchsorted(times, moments, side="right") - 1]


@kernel
def first_at(rows: np.recarray, size: int, moment: float) -> int:
    """The first of `size` rows, in order of their field `time`, at or after a moment."""
    place, last = 0, size
    while place < last:
        middle = (place + last) // 2
        if rows[middle].time < moment:
            place = middle + 1
        else:
            last = middle
    return place
