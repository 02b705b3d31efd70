"""Synthetic twin of the HTC workload of Duplyakin, Johnson and Ricci (ScienceCloud 2017).

The paper takes a trace of 1,120 one-node jobs from the HTCondor Log Analyzer and concatenates ten
shuffled copies of it, 11,200 jobs in all. Its Table 1 prints mean, minimum, quartiles and maximum
of their run times; 1,379.05 node-hours follow from the mean. The trace itself is public
(`traces.load("HTC-2017")`, `shuffled_copies`); this twin stands in where it cannot be had.

Like the trace it has two kinds of jobs: 1,000 up to 236 s, log-uniform between neighboring
quartiles and from the third to 236 s, and 120 from 2,559 s to the maximum, a power that makes the
mean. Draws are spread evenly, so that every seed has the printed statistics and seeds differ in the
jobs' order most.
"""

from dataclasses import replace

import numpy as np
import pandas as pd

from cosimlib import checks as check
from cosimlib.synthetic import shapes
from cosimlib.workload import Workload

NAME = "synthetic HTC"
TRACE_JOBS = 1_120
COPIES = 10
SHORTEST, QUARTILES, LONGEST = 54.0, (84.0, 106.0, 134.25), 7_140.0
SHORT_JOBS, GAP = 1_000, (236.0, 2_559.0)
"""No job of the trace runs for a time between these; so many run for less."""
MEAN = 443.27


def htc(copies: int = COPIES, *, request_factor: float = 1.0, seed: int = 0) -> Workload:
    """Synthetic HTC workload: shuffled copies of a trace of 1,120 one-node jobs, submitted at 0.

    Parameters
    ----------
    copies : int, default 10
    request_factor : float, default 1.0
        Median of requested ÷ run times; 1 makes requests exact (`shapes.log_uniform_factors`).
    seed : int, default 0
        Of the PCG64 generator.
    """
    check.whole("copies", copies, 1, where=NAME)
    check.number("request_factor", request_factor, least=1, where=NAME)
    check.seed(seed, where=NAME)
    rng = np.random.Generator(np.random.PCG64(int(seed)))
    trace = Workload(pd.DataFrame({"submit_time": 0.0, "run_time": _run_times(rng), "nodes": 1}))
    made = shuffled_copies(trace, copies, request_factor=request_factor, seed=seed)
    return replace(made, name=f"{NAME} (seed {seed})")


def shuffled_copies(
    trace: Workload, copies: int = COPIES, *, request_factor: float = 1.0, seed: int = 0
) -> Workload:
    """Shuffled copies of one trace, one after another, all submitted at 0, as in the paper.

    The parameters are those of `htc`.
    """
    check.whole("copies", copies, 1, where=trace.name)
    check.number("request_factor", request_factor, least=1, where=trace.name)
    check.seed(seed, where=trace.name)
    rng = np.random.Generator(np.random.PCG64([int(seed), 1]))
    order = np.concatenate([rng.permutation(len(trace)) for _ in range(int(copies))])
    jobs = trace.jobs[["submit_time", "run_time", "nodes"]].iloc[order].reset_index(drop=True)
    factor = shapes.log_uniform_factors(len(jobs), request_factor, rng)
    jobs = jobs.assign(submit_time=0.0, requested_time=jobs["run_time"] * factor)
    return Workload(jobs, f"{copies} copies of {trace.name} (seed {seed})")


def _run_times(rng: np.random.Generator) -> np.ndarray:
    """Whole seconds of the jobs of one copy; extremes and the edges of the gap are the trace's.

    With U the mean that the long jobs need, their quantiles are ``gap + (longest - gap) · v^k``
    with ``k = (longest - gap) / (U - gap) - 1``.
    """
    uniform = np.sort(shapes.spread(SHORT_JOBS, rng)) * SHORT_JOBS / TRACE_JOBS
    knots = np.log([SHORTEST, *QUARTILES, GAP[0]])
    short = np.rint(
        np.exp(np.interp(uniform, [0, 0.25, 0.5, 0.75, SHORT_JOBS / TRACE_JOBS], knots))
    )
    short[0], short[-1] = SHORTEST, GAP[0]
    count = TRACE_JOBS - SHORT_JOBS
    needed = (MEAN * TRACE_JOBS - short.sum()) / count
    exponent = (LONGEST - GAP[1]) / (needed - GAP[1]) - 1.0
    long = np.rint(GAP[1] + (LONGEST - GAP[1]) * np.sort(shapes.spread(count, rng)) ** exponent)
    long[0], long[-1] = GAP[1], LONGEST
    return np.append(short, long)
