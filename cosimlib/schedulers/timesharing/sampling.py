"""Shares at moments, written down while the clock stands still.

The loop is stopped just after each moment, when all that happens at it has happened, and goes on
from there: starts and ends are the same as without. A run that samples nothing never stops.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd

from cosimlib.arguments import is_number
from cosimlib.kernels.maxmin import Sharing


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
