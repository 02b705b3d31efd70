"""Synthetic twin of the HTC workload of Duplyakin, Johnson and Ricci (ScienceCloud 2017).

The paper takes a trace of 1,120 one-node jobs from the HTCondor Log Analyzer and concatenates ten
shuffled copies of it, 11,200 jobs in all. Its Table 1 prints mean, minimum, quartiles and maximum
of their run times; 1,379.05 node-hours follow from the mean. Run times are log-uniform between
neighboring quartiles, and above the third a power that makes the mean (`shapes`). Draws are spread
evenly, so that every seed has the printed statistics and seeds differ in the jobs' order most.
"""

import numpy as np
import pandas as pd

from cosimlib import checks as check
from cosimlib.synthetic import shapes
from cosimlib.workload import Workload

NAME = "synthetic HTC"
TRACE_JOBS = 1_120
COPIES = 10
QUARTILES = (54.0, 84.0, 106.0, 134.25, 7_140.0)
MEAN = 443.27


def htc(copies: int = COPIES, *, request_factor: float = 1.0, seed: int = 0) -> Workload:
    """A synthetic HTC: shuffled copies of one trace of 1,120 one-node jobs, all submitted at 0.

    Parameters
    ----------
    copies : int, default 10
    request_factor : float, default 1.0
        Requested times are run times × this; 1 makes them exact.
    seed : int, default 0
        Of the PCG64 generator.
    """
    check.whole("copies", copies, 1, where=NAME)
    check.number("request_factor", request_factor, least=1, where=NAME)
    check.seed(seed, where=NAME)
    rng = np.random.Generator(np.random.PCG64(int(seed)))
    trace = _run_times(rng)
    run_time = np.concatenate([rng.permutation(trace) for _ in range(int(copies))])
    jobs = pd.DataFrame(
        {
            "submit_time": 0.0,
            "run_time": run_time,
            "requested_time": run_time * request_factor,
            "nodes": 1,
        }
    )
    return Workload(jobs, f"{NAME} (seed {seed})")


def _run_times(rng: np.random.Generator) -> np.ndarray:
    """Whole seconds of the jobs of one copy; the shortest and the longest are as printed."""
    uniform = shapes.spread(TRACE_JOBS, rng)
    run_time = np.rint(shapes.quartile_quantiles(uniform, quartiles=QUARTILES, mean=MEAN))
    run_time[uniform.argmin()], run_time[uniform.argmax()] = QUARTILES[0], QUARTILES[-1]
    return run_time
