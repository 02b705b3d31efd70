"""Synthetic Edison: jobs of its twenty months, from the numbers in Hofmeyr et al. (HPCC 2016).

The trace of 2.4 million jobs is not public. Printed are, and built in:

- *Sizes.* 90 % of the jobs are under 32 nodes; half of the node-hours are in jobs above 100 nodes,
  a fifth in jobs above 1,000. Inside the four classes sizes are log-uniform. That leaves one
  solution if run times do not depend on sizes, of which nothing is printed: see `_size_shares`.
- *Run times.* From 10 s (shorter jobs were dropped). Their mean follows from 4,000 jobs per day,
  the mean size and a utilization of 89 %: 71 minutes. Of all distributions with it, that of maximum
  entropy (see `assumptions`).
- *Memory.* Independent of size; 90 % of the node-hours use less than 60 % of a node's memory.
- *Submissions.* Bursty, with days and weeks.

Not printed, and assumed: all that `Assumptions` has; which jobs need much memory, and how much the
others need (see `MEMORY_SPREADS`); the strength of days and weekends (`HOURS`, `WEEKENDS`).
"""

import math

import numpy as np
import pandas as pd

from cosimlab.twins.assumptions import (
    LIKE,
    LONGEST_RUN,
    SHORTEST_RUN,
    Assumptions,
    correlated,
    run_times,
    with_assumed_estimates,
)
from cosimlib import checks as check
from cosimlib.synthetic import shapes
from cosimlib.system import System
from cosimlib.units import DAY, HOUR
from cosimlib.workload import Workload

NAME = "synthetic Edison"
EDISON = System("Edison", {"main": 5576}, cores_per_node=24, memory_per_node=64.0)
"""Edison, NERSC's Cray XC30: 5,576 nodes of 24 cores and 64 GB."""

JOBS_PER_DAY = 4_000
UTILIZATION = 0.89
SIZE_CLASSES = (1, 32, 101, 1_001)
"""Where the classes of size begin; the last one ends with the largest size."""

HEAVY, HEAVY_MEMORY = 0.1, 0.6
"""Part of the node-hours that use a part of a node's memory or more, as printed: 10 %, 60 %."""

MEMORY_SPREADS = ("longest", "tenth", "UniLu-Gaia")
"""Which jobs need that much memory, and what the others need.

Two sentences of the paper choose among them: "averages for time-sharing are close to the medians"
(VII) and "the vast majority of jobs are admitted immediately" (V). Mean ÷ median slowdown, and the
part of the jobs that start at once, in 90 days (15 do not count) on 5,576 nodes, seeds 0 and 1:

- "longest": 1.18 and 1.05; 99.9 and 100 %. The only one that meets both, so it is the default.
- "tenth": 4.05 and 1.31; 95 and 99 %.
- "UniLu-Gaia": 101 (seed 0); 84 %.
"""

MEMORY_SHAPE = 0.2997
"""First shape parameter of the memory's distribution as on UniLu-Gaia (see `_memory`), so that its
95th percentile is 11.38 medians, as that of the memory that UniLu-Gaia's jobs used in 2014 (829,440
and 72,875 KB a processor)."""

HOURS = 0.5
"""Amplitude of the daily cosine: what is submitted at 15:00 and 3:00 beyond the average."""

WEEKENDS = 0.6
"""What is submitted on Saturdays and Sundays, relative to other days."""


def edison(
    days: float = 14.0,
    *,
    nodes: int = 5576,
    load: float = UTILIZATION,
    memory_spread: str = "longest",
    like: str | Assumptions = "inputs",
    seed: int = 0,
) -> Workload:
    """Synthetic workload like Edison's of 2014 and 2015, on Edison or a smaller machine.

    Parameters
    ----------
    days : float, default 14
        How long jobs are submitted; the paper's trace has 600 days.
    nodes : int, default 5576
        Of the machine. Sizes are scaled with it and rounded up, so that a smaller machine has
        fewer jobs per day, each of as large a part of it as on Edison.
    load : float, default 0.89
        Offered load, Σ nodes · run_time ÷ (nodes · days). At 5,576 nodes and a load of 0.89 there
        are 4,000 jobs per day; more jobs for more load.
    memory_spread : {"longest", "tenth", "UniLu-Gaia"}, default "longest"
        Which jobs use a tenth of the node-hours with 60 % of a node's memory or more, and what the
        others use. "longest": the longest jobs use 60 %, all others next to nothing. "tenth": any
        tenth of the jobs does. "UniLu-Gaia": as "tenth", but spread as on UniLu-Gaia in 2014.
    like : {"inputs", "results"} or Assumptions, default "inputs"
        What is assumed where the paper prints nothing. "inputs": nothing beyond its words and
        printed inputs. "results": what its printed results imply, found backwards from them.
    seed : int, default 0
        Of the PCG64 generator, 0 or more.

    Returns
    -------
    Workload
        In whole seconds, with `memory` in GB per node and requested times after Tsafrir's model.
    """
    check.number("days", days, above=0, where=NAME)
    check.whole("nodes", nodes, 16, where=NAME)
    check.number("load", load, above=0, where=NAME)
    check.choice("memory_spread", memory_spread, MEMORY_SPREADS, where=NAME)
    if not isinstance(like, Assumptions):
        check.choice("like", like, LIKE, where=NAME)
    check.seed(seed, where=NAME)
    assumed = like if isinstance(like, Assumptions) else LIKE[like]
    rng = np.random.Generator(np.random.PCG64(int(seed)))
    scale = nodes / EDISON.total_nodes
    sample = _sizes((np.arange(100_000) + 0.5) / 100_000, assumed.largest, scale)
    work = load * nodes * days * DAY
    mean = _mean_run_time(assumed.largest)
    jobs = max(1, round(work / (sample.mean() * mean)))
    sizes = _sizes(shapes.spread(jobs, rng), assumed.largest, scale)
    run_time = run_times(shapes.spread(jobs, rng), mean, assumed)
    run_time = correlated(run_time, sizes, assumed.correlation, rng)
    table = pd.DataFrame(
        {
            "submit_time": _submissions(jobs, days, assumed, rng),
            "run_time": _to_load(run_time, sizes, work),
            "nodes": sizes,
            "memory": _memory(shapes.spread(jobs, rng), memory_spread),
        }
    )
    if memory_spread == "longest":
        table["memory"] = _memory_of_longest(table["nodes"], table["run_time"])
    details = "" if load == UTILIZATION else f", load {load:g}"
    if like != "inputs":
        details += ", as its results imply" if like == "results" else ", other assumptions"
    details += {"longest": "", "tenth": ", memory in any tenth"}.get(
        memory_spread, f", memory as {memory_spread}'s"
    )
    name = f"{NAME} ({nodes:,} nodes, {days:g} days, seed {seed}{details})"
    system = EDISON if nodes == EDISON.total_nodes else EDISON.with_nodes(nodes)
    return with_assumed_estimates(Workload(table, name, system), assumed, seed)


def _size_shares(largest: int) -> np.ndarray:
    """Shares of jobs of the four classes of size.

    With m₁ … m₄ the classes' mean sizes and T the mean of all, the shares f solve
    ``f₁ = 0.9``, ``m₄ f₄ = 0.2 T``, ``m₃ f₃ = 0.3 T``, ``Σ f = 1`` and ``Σ m f = T``.
    """
    low, high = _class_bounds(largest)
    mean = (high - low) / np.log(high / low)
    per_node = 0.3 / mean[2] + 0.2 / mean[3]
    total = (0.9 * mean[0] + 0.1 * mean[1]) / (0.5 + mean[1] * per_node)
    large = np.array([0.3, 0.2]) * total / mean[2:]
    return np.array([0.9, 0.1 - large.sum(), *large])


def _class_bounds(largest: int) -> tuple[np.ndarray, np.ndarray]:
    """The smallest and the largest size of each class."""
    low = np.array(SIZE_CLASSES, float)
    return low, np.append(low[1:] - 1.0, largest)


def _sizes(uniform: np.ndarray, largest: int, scale: float) -> np.ndarray:
    """Quantiles of the number of nodes, log-uniform inside each class."""
    shares = _size_shares(largest)
    edges = np.concatenate([[0.0], np.cumsum(shares)])
    low, high = _class_bounds(largest)
    of_class = np.minimum(np.searchsorted(edges[1:], uniform, side="right"), shares.size - 1)
    inside = (uniform - edges[of_class]) / shares[of_class]
    sizes = low[of_class] * (high / low)[of_class] ** np.clip(inside, 0.0, 1.0)
    return np.maximum(1, np.ceil(np.rint(sizes) * scale - 1e-9)).astype(np.int64)


def _mean_run_time(largest: int) -> float:
    """Mean run time (s) with which 4,000 jobs per day on 5,576 nodes make a load of 89 %."""
    mean_size = float(_sizes((np.arange(100_000) + 0.5) / 100_000, largest, 1.0).mean())
    return UTILIZATION * EDISON.total_nodes * DAY / (JOBS_PER_DAY * mean_size)


def _to_load(run_time: np.ndarray, sizes: np.ndarray, work: float) -> np.ndarray:
    """Run times in whole seconds, scaled so that together they are `work` node-seconds."""
    for _ in range(20):
        # Not `@`, whose threads take half a second of processor time for some thousand jobs.
        scaled = run_time * (work / float((run_time * sizes).sum()))
        run_time = np.clip(scaled, SHORTEST_RUN, LONGEST_RUN)
    return np.rint(run_time)


def _memory(uniform: np.ndarray, spread: str) -> np.ndarray:
    """GB per node: 90 % below 60 % of a node, none above the node's.

    "tenth": a tenth of the jobs needs 60 %, so that two of them share no node, the others next to
    nothing, 6 % on average. "UniLu-Gaia" spreads more evenly: scaled to the 60 % its jobs need 19 %
    on average. Neither depends on the run time: the paper says so of the size only.

    That is Kumaraswamy's distribution on (0, 1), ``1 - (1 - x^a)^b``, the beta distribution's like
    with quantiles in closed form. ``b = ln 0.1 / ln(1 - 0.6^a)`` puts the 90th percentile at 0.6.
    """
    if spread == "UniLu-Gaia":
        second = math.log(HEAVY) / math.log(1.0 - HEAVY_MEMORY**MEMORY_SHAPE)
        part = (1.0 - (1.0 - uniform) ** (1.0 / second)) ** (1.0 / MEMORY_SHAPE)
    else:
        part = np.where(uniform < 1.0 - HEAVY, 0.0, HEAVY_MEMORY)
    return EDISON.memory_per_node * np.clip(part, 1e-6, 1.0)


def _memory_of_longest(nodes: pd.Series, run_time: pd.Series) -> np.ndarray:
    """GB per node: 60 % of it for the longest jobs that have a tenth of the node-hours."""
    order = np.argsort(-run_time.to_numpy(), kind="stable")
    work = np.cumsum((nodes * run_time).to_numpy()[order])
    part = np.zeros(len(order))
    part[order[work <= HEAVY * work[-1]]] = HEAVY_MEMORY
    return EDISON.memory_per_node * np.clip(part, 1e-6, 1.0)


def _submissions(
    jobs: int, days: float, assumed: Assumptions, rng: np.random.Generator
) -> np.ndarray:
    """Whole seconds in order: hours weighted by day, week and chance, even inside an hour."""
    hour = np.arange(math.ceil(days * 24))
    weight = 1.0 + HOURS * np.cos((hour % 24 - 15.0) * 2.0 * np.pi / 24.0)
    weight *= np.where(hour // 24 % 7 >= 5, WEEKENDS, 1.0)
    weight *= np.exp(assumed.weeks * rng.standard_normal(hour[-1] // 168 + 1))[hour // 168]
    if assumed.bursts:
        weight *= rng.gamma(1.0 / assumed.bursts, assumed.bursts, hour.size)
    weight[-1] *= days * 24 - hour[-1]
    counts = rng.multinomial(jobs, weight / weight.sum())
    length = np.minimum(1.0, days * 24 - hour)
    times = np.repeat(hour, counts) + rng.random(jobs) * np.repeat(length, counts)
    return np.floor(np.sort(times) * HOUR)
