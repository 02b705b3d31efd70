"""Decisions of a policy: positions of waiting jobs to start, and the time of the next call.

An answer is a list or an array of whole numbers, or a tuple of that and a time. `decision` reads
it, in Python and compiled.
"""

import math
from typing import Any

import numpy as np
from numba import types
from numba.core.errors import TypingError
from numba.extending import overload

from cosimlib.kernels.jit import allocating_kernel

ANSWERS = (
    "expected a list or an array of positions in state.waiting ([] for none), "
    "or a tuple of that and the time of the next call"
)


class InvalidDecisionError(ValueError):
    """A policy made a decision that no scheduler could carry out."""


NO_STARTS = np.empty(0, np.int64)


def decision(answer: Any) -> tuple[np.ndarray, float]:
    """The positions to start and the time of the next wake, infinite for none.

    Raises
    ------
    InvalidDecisionError
        If the answer is something else.
    """
    wake = math.inf
    if isinstance(answer, tuple):
        if len(answer) != 2:
            raise InvalidDecisionError(f"returned a tuple of {len(answer)}: {answer!r}; {ANSWERS}")
        answer, wake = answer[0], _time(answer[1])
    if isinstance(answer, list) and not answer:
        return NO_STARTS, wake
    positions = np.asarray(answer)
    if positions.ndim == 1 and positions.size == 0:
        return NO_STARTS, wake
    if positions.dtype == np.bool_:
        raise InvalidDecisionError(
            f"returned a mask: {answer!r}; expected positions: np.flatnonzero(mask)"
        )
    if positions.dtype.kind not in "iu" or positions.ndim != 1:
        raise InvalidDecisionError(f"returned {answer!r}; {ANSWERS}")
    return np.ascontiguousarray(positions, np.int64), wake


def _time(value: Any) -> float:
    """A wake time as a plain number."""
    try:
        return float(value)
    except (TypeError, ValueError):
        raise InvalidDecisionError(
            f"returned {value!r} as the time of the next call; expected seconds"
        ) from None


@overload(decision)
def _compiled_decision(answer):
    """The same for a compiled policy, whose type of answer is known when it is compiled."""
    with_wake = isinstance(answer, types.BaseTuple)
    if with_wake and (len(answer) != 2 or not isinstance(answer[1], types.Number)):
        raise TypingError(f"a policy returns {answer}; {ANSWERS}")
    positions = answer[0] if with_wake else answer
    sequence = isinstance(positions, types.Array) and positions.ndim == 1
    sequence = sequence or isinstance(positions, (types.List, types.ListType))
    if not (sequence and isinstance(positions.dtype, types.Integer)):
        raise TypingError(f"a policy returns {answer}; {ANSWERS}")
    if with_wake:
        return lambda answer: (_copied(answer[0]), float(answer[1]))
    return lambda answer: (_copied(answer), np.inf)


@allocating_kernel
def _copied(positions: Any) -> np.ndarray:
    """Positions as an array of whole numbers."""
    copy = np.empty(len(positions), np.int64)
    for index in range(len(positions)):
        copy[index] = positions[index]
    return copy
