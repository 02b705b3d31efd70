"""Synthetic twin of the PEREGRINE workload of Duplyakin, Johnson and Ricci (ScienceCloud 2017).

Their Table 1 prints mean, minimum, quartiles and maximum of run times and node counts of 7,275 jobs
of NREL's Peregrine with at most 20 nodes and 24 hours, and 26,838.58 node-hours in all. Each is
built in:

- *Run times* are log-uniform between neighboring quartiles, and above the third a power that makes
  the mean.
- *Node counts*: over 82 % of the jobs have one node. Those of several mostly have 2, 3 or 4, as in
  the extract of Peregrine's log that is public (`traces.load("PEREGRINE-10k")`); a maximum-entropy
  choice among some sizes up to 16 makes the mean of 1.42.
- *Which run time goes with which node count*: independent, they would make a quarter fewer
  node-hours than there are. So node counts go by rank to the jobs with the highest score,
  ``w · rank of the run time + (1 - w) · a uniform number``, with the w that makes the node-hours.
- *Applications*: 341 jobs of `gaussian`, drawn without regard to size and run time; 24 in all.
- *Queues*: 7 in all, those of the machine. The 76 jobs in `bigmem` are drawn so that they have 7 %
  of the node-hours (`WEIGHT`): that much the paper's percentages for this class imply, so this is
  an inference from its results, no input of it. All other counts are ours.

Draws are spread evenly, so that every seed has the printed statistics.
"""

import numpy as np
import pandas as pd

from cosimlib import checks as check
from cosimlib.synthetic import shapes
from cosimlib.units import HOUR
from cosimlib.workload import Workload

NAME = "synthetic PEREGRINE"
JOBS = 7_275
QUARTILES = (33.0, 439.5, 1_921.0, 6_840.5, 85_945.0)
MEAN = 7_119.07
NODE_HOURS = 26_838.58
ONE_NODE = 0.823
SIZES = {1: ONE_NODE, 2: 0.069, 3: 0.051, 4: 0.035, **dict.fromkeys((5, 6, 8, 10, 12, 16))}
"""Shares of node counts; those of None share the rest."""
NODES_MEAN = 1.42
BIGMEM, WEIGHT = 76, 0.07
QUEUES = {"large": 300, "debug": 700, "short": 2_200, "phi": 100, "long": 500}
OTHER_QUEUE = "batch"
APPLICATIONS = {"gaussian": 341}
OTHER_APPLICATIONS = tuple(f"application-{number:02d}" for number in range(2, 25))


def peregrine(*, request_factor: float = 1.0, seed: int = 0) -> Workload:
    """Synthetic PEREGRINE workload: 7,275 jobs with queue and application, all submitted at 0.

    Parameters
    ----------
    request_factor : float, default 1.0
        Median of requested ÷ run times, which are log-uniform from 1 up to its square; 1 makes
        requests exact. In the median the paper's users asked for 19.2 times what they needed.
    seed : int, default 0
        Of the PCG64 generator.
    """
    check.number("request_factor", request_factor, least=1, where=NAME)
    check.seed(seed, where=NAME)
    rng = np.random.Generator(np.random.PCG64(int(seed)))
    run_time = _run_times(rng)
    nodes = _nodes(run_time, rng)
    queues = _labels(QUEUES, (OTHER_QUEUE,), rng)
    queues[bigmem_jobs(run_time * nodes, seed=seed)] = "bigmem"
    jobs = pd.DataFrame(
        {
            "submit_time": 0.0,
            "run_time": run_time,
            "requested_time": run_time * shapes.log_uniform_factors(JOBS, request_factor, rng),
            "nodes": nodes,
            "queue": queues,
            "application": _labels(APPLICATIONS, OTHER_APPLICATIONS, rng),
        }
    )
    return Workload(jobs, f"{NAME} (seed {seed})")


def bigmem_jobs(work: np.ndarray, *, seed: int = 0) -> np.ndarray:
    """A mask of the jobs in `bigmem`: 76 that have about 7 % of the node-seconds given."""
    check.seed(seed, where=NAME)
    rng = np.random.Generator(np.random.PCG64([int(seed), 2]))
    return shapes.weighted_choice(work, BIGMEM, WEIGHT, rng)


def _run_times(rng: np.random.Generator) -> np.ndarray:
    """Whole seconds; the shortest and the longest are as printed."""
    uniform = shapes.spread(JOBS, rng)
    run_time = np.rint(shapes.quartile_quantiles(uniform, quartiles=QUARTILES, mean=MEAN))
    run_time[uniform.argmin()], run_time[uniform.argmax()] = QUARTILES[0], QUARTILES[-1]
    return run_time


def _nodes(run_time: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Node counts that make the printed node-hours, by bisection over w."""
    shares = shapes.tilted_shares(SIZES, NODES_MEAN)
    counts = np.sort(shapes.choice_at(shapes.spread(JOBS, rng), np.array(list(SIZES)), shares))
    rank = run_time.argsort(kind="stable").argsort(kind="stable") / JOBS
    noise = rng.random(JOBS)
    low, high = 0.0, 1.0
    for _ in range(40):
        alpha = (low + high) / 2
        nodes = counts[(alpha * rank + (1 - alpha) * noise).argsort().argsort()]
        reached = nodes @ run_time >= NODE_HOURS * HOUR
        low, high = (low, alpha) if reached else (alpha, high)
    return nodes


def _labels(
    counts: dict[str, int], others: tuple[str, ...], rng: np.random.Generator
) -> np.ndarray:
    """Names, one per job: some as often as given, the others equally often, in random order."""
    named = [name for name, count in counts.items() for _ in range(count)]
    rest = [others[place % len(others)] for place in range(JOBS - len(named))]
    return rng.permutation(np.array(named + rest, dtype=object))
