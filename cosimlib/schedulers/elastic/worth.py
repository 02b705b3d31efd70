"""What preemption vectors are made of, checked: known policies, priorities above 0, seconds."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from cosimlib.arguments import check_whole, is_number
from cosimlib.kernels.valuing import PAP_PLUS, POLICIES
from cosimlib.workload import InvalidWorkloadError, Workload


def policy_number(policy: str, *, of: str = "") -> int:
    """The number by which kernels know a policy; `of` is the partition whose it is."""
    if policy not in POLICIES:
        raise ValueError(
            f"{f'partition {of!r}: ' if of else ''}no preemption policy {policy!r}; known are "
            f"{', '.join(POLICIES)}"
        )
    return POLICIES.index(policy)


def is_seconds(value: Any) -> bool:
    """Whether it is a finite number of 0 or more."""
    return is_number(value) and 0 <= float(value) < np.inf


def generator(seed: int) -> np.random.Generator:
    """The draws of a seed.

    Raises
    ------
    ValueError
        Where it is not a whole number from 0.
    """
    check_whole("seed", seed, 0)
    return np.random.default_rng(int(seed))


def priorities(workload: Workload, policies: Sequence[int] | np.ndarray) -> np.ndarray:
    """Every job's priority, checked where PAP+ is among the policies, which multiplies by it.

    Raises
    ------
    InvalidWorkloadError
        For the first job whose priority is not a number above 0.
    """
    priority = np.array(workload.column("priority"), dtype=np.float64)
    wrong = ~((priority > 0) & (priority < np.inf))
    if wrong.any() and PAP_PLUS in policies:
        job = int(wrong.argmax())
        raise InvalidWorkloadError(
            f"{workload.label(job)} has priority={priority[job]:g}; expected a number above 0 "
            "(1 is the default); give priorities with prioritize"
        )
    return priority
