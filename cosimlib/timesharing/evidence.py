"""What the claims about time-sharing are judged by, and what a verdict says."""

from collections.abc import Mapping
from typing import NamedTuple

import pandas as pd

from cosimlib.synthetic.edison import UTILIZATION
from cosimlib.timesharing.runs import Policies
from cosimlib.timesharing.summary import RunSummary

NOISE = 0.001
"""The paper's probability that a node is slowed in a step, as its own numbers need it."""


class Verdict(NamedTuple):
    """Our number beside a claim; whether it holds, None where that is unknown; why not."""

    ours: str
    holds: bool | None
    why: str


class Evidence(NamedTuple):
    """What claims are judged by.

    Parameters
    ----------
    quiet, calm, struck : Policies
        All days; those of the noise without it; those with it.
    free : RunSummary
        All days of jobs that are not SPMD, time-shared with unlimited memory.
    swept : mapping of float to RunSummary
        With unlimited memory by overhead, 0, 0.05, 0.08 and 0.13 among them.
    turnarounds : pd.DataFrame
        As of `turnaround_times`, of `quiet`'s first three.
    noise_cost : float
        Additional node-seconds that noise takes under batch scheduling, as a part.
    days, noisy_days : float
        That are counted, without noise and with it.
    edison : bool
        Whether the jobs are like Edison's, or else of a log.
    load : float, default 0.89
        Offered load of synthetic jobs; numbers of Edison are judged at the printed one only.
    noise : float, default 0.001
        Probability of the noise; claims about noise are judged at the paper's only.
    """

    quiet: Policies
    calm: Policies
    struck: Policies
    free: RunSummary
    swept: Mapping[float, RunSummary]
    turnarounds: pd.DataFrame
    noise_cost: float
    days: float
    noisy_days: float
    edison: bool
    load: float = UTILIZATION
    noise: float = NOISE
