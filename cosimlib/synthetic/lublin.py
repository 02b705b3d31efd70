"""The workload model of Lublin and Feitelson, for machines of any size.

Lublin and Feitelson, The workload on parallel supercomputers: modeling the characteristics of rigid
jobs, JPDC 63(11), 2003, with the constants of the generator that they published. Batch jobs and
interactive ones are two streams with constants of their own; a third set is for jobs of no type.

- *Nodes.* A job is serial, or 2^x wide, with x from one of two uniform distributions; for most
  jobs x is a whole number.
- *Run time.* exp of a gamma variable, one of two, the more nodes the more often the second.
- *Submissions.* exp of a gamma variable is the time to the next job of the same type, in seconds of
  an average half hour. Half hours of the day differ in how fast they use up such seconds, and how
  much follows from another gamma distribution, of which they are slices.

Values beyond what was seen in logs, run times above e^12 s and gaps above e^13 s, are drawn anew.

Not in the model: requested times (`with_estimates` adds some), users, weekends.
"""

import math
from collections.abc import Callable
from functools import cache
from typing import NamedTuple

import numpy as np
import pandas as pd

from cosimlib import checks as check
from cosimlib.system import System
from cosimlib.workload import Workload

NAME = "Lublin-Feitelson"
MODELED_NODES = 128
LONGEST_LOG_RUN = 12.0
LONGEST_LOG_GAP = 13.0
BUCKETS = 48
BUCKET_SECONDS = 1_800.0
DAY_START = 11


class Gamma(NamedTuple):
    """A gamma distribution."""

    shape: float
    scale: float


class JobType(NamedTuple):
    """Constants of one type of job, on a machine of 128 nodes; names are the generator's.

    A job of some nodes has a run time from `shorter` with probability ``pa · nodes + pb``.
    """

    serial: float
    power_of_two: float
    u_low: float
    u_med: float
    u_hi: float
    u_prob: float
    shorter: Gamma
    longer: Gamma
    pa: float
    pb: float
    arrival: Gamma
    day: Gamma
    arar: float


BATCH = JobType(
    0.2927, 0.6686, 1.2, 5.0, 7.0, 0.875,
    Gamma(6.57, 0.823), Gamma(639.1, 0.0156), -0.003, 0.6986,
    Gamma(6.0415, 0.8531), Gamma(6.1271, 5.2740), 1.0519,
)  # fmt: skip
INTERACTIVE = JobType(
    0.1541, 0.625, 1.0, 3.0, 5.5, 0.705,
    Gamma(3.8351, 0.6605), Gamma(7.073, 0.6856), -0.0118, 0.9156,
    Gamma(6.5510, 0.6621), Gamma(8.9186, 3.6680), 0.9797,
)  # fmt: skip
TYPELESS = JobType(
    0.244, 0.576, 0.8, 4.5, 7.0, 0.86,
    Gamma(4.2, 0.94), Gamma(312.0, 0.03), -0.0054, 0.78,
    Gamma(10.2303, 0.4871), Gamma(8.1737, 3.9631), 1.0225,
)  # fmt: skip


def lublin(
    jobs: int = 10_000,
    *,
    nodes: int = 128,
    types: bool = True,
    load: float | None = None,
    seed: int = 0,
) -> Workload:
    """Jobs as Lublin and Feitelson model them, from a midnight on.

    Parameters
    ----------
    jobs : int, default 10_000
    nodes : int, default 128
        Of the machine: 32 or more with types, 10 or more without. The constants are for 128 nodes;
        elsewhere the two upper limits of log2(size) shift with log2 of the machine.
    types : bool, default True
        Batch and interactive jobs, told apart by the column `queue`; or jobs of no type.
    load : float, optional
        Offered load, Σ nodes · run_time ÷ (nodes of the machine · time from first to last
        submission). One factor of all gaps makes it, applied before the time of day sets in, so
        that days keep their shape. By default the model's own: on 128 nodes about .40 with types
        and .72 without.
    seed : int, default 0
        Of the PCG64 generator, 0 or more.

    Returns
    -------
    Workload
        In whole seconds, rounded down as in the published generator, without requested times; time
        0 is a midnight, and the first submission a while later.
    """
    check.flag("types", types, where=NAME)
    check.whole("jobs", jobs, 1, where=NAME)
    check.whole("nodes", nodes, 32 if types else 10, where=NAME)
    own = "for the model's own"
    check.number("load", load, least=1e-6, most=1e6, none=own, where=NAME)
    check.seed(seed, where=NAME)
    rng = np.random.Generator(np.random.PCG64(int(seed)))
    kinds = {"batch": BATCH, "interactive": INTERACTIVE} if types else {"any": TYPELESS}
    streams = [_stream(kind, name, int(jobs), int(nodes), rng) for name, kind in kinds.items()]
    table = pd.concat(streams, ignore_index=True)
    table["submit_time"] = _submissions(table, kinds, 1.0)
    table = table.sort_values("submit_time", kind="stable", ignore_index=True)[: int(jobs)]
    if load is not None and jobs > 1:
        span = float(table["nodes"] @ table["run_time"]) / (load * nodes)
        table["submit_time"] = _submissions(table, kinds, _gap_factor(table, kinds, span))
        table = table.sort_values("submit_time", kind="stable", ignore_index=True)
    table["submit_time"] = np.floor(table["submit_time"])
    columns = ["submit_time", "run_time", "nodes", *(["queue"] if types else [])]
    return Workload(table[columns], f"{NAME} (seed {seed})", System.of(int(nodes)))


def _stream(
    kind: JobType, name: str, n: int, machine: int, rng: np.random.Generator
) -> pd.DataFrame:
    """`n` jobs of one type: when they come, in bucket lengths, their nodes and run times."""
    arrival = Gamma(kind.arrival.shape * kind.arar, kind.arrival.scale)
    log_gap = _redrawn(n, LONGEST_LOG_GAP, lambda left: rng.gamma(*arrival, left.size))
    nodes = _sizes(kind, n, machine, rng)
    return pd.DataFrame(
        {
            "queue": name,
            "points": np.cumsum(np.exp(log_gap) / BUCKET_SECONDS),
            "nodes": nodes,
            "run_time": np.floor(np.exp(_log_run_times(kind, nodes, rng))),
        }
    )


def _sizes(kind: JobType, n: int, machine: int, rng: np.random.Generator) -> np.ndarray:
    """Nodes of `n` jobs; a power of two above the machine becomes the largest one that fits."""
    shift = math.log2(machine / MODELED_NODES)
    u_med, u_hi = kind.u_med + shift, kind.u_hi + shift
    uniform = rng.random(n)
    lower = rng.random(n) <= kind.u_prob
    log_size = rng.uniform(np.where(lower, kind.u_low, u_med), np.where(lower, u_med, u_hi))
    whole = np.minimum(np.floor(log_size + 0.5), math.floor(math.log2(machine)))
    log_size = np.where(uniform <= kind.serial + kind.power_of_two, whole, log_size)
    sizes = np.minimum(np.floor(np.exp2(log_size) + 0.5).astype(np.int64), machine)
    return np.where(uniform <= kind.serial, 1, sizes)


def _log_run_times(kind: JobType, nodes: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Logarithms of run times in seconds, from the shorter gamma with a probability by size."""
    probability = np.clip(kind.pa * nodes + kind.pb, 0.0, 1.0)

    def draw(left: np.ndarray) -> np.ndarray:
        shorter = rng.random(left.size) <= probability[left]
        one, other = rng.gamma(*kind.shorter, left.size), rng.gamma(*kind.longer, left.size)
        return np.where(shorter, one, other)

    return _redrawn(nodes.size, LONGEST_LOG_RUN, draw)


def _redrawn(n: int, longest: float, draw: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
    """`n` draws, each repeated until it is at most `longest`; `draw` is told who needs one."""
    values = np.empty(n)
    left = np.arange(n)
    while left.size:
        values[left] = draw(left)
        left = left[values[left] > longest]
    return values


def _submissions(table: pd.DataFrame, kinds: dict[str, JobType], factor: float) -> np.ndarray:
    """Seconds from midnight at which each job comes, its stream's gaps scaled by `factor`."""
    seconds = np.empty(len(table))
    for name, kind in kinds.items():
        mine = (table["queue"] == name).to_numpy()
        seconds[mine] = _clock_time(table["points"].to_numpy()[mine] * factor, kind.day)
    return seconds


def _clock_time(points: np.ndarray, day: Gamma) -> np.ndarray:
    """When that many points have been spent: every half hour takes its weight of them."""
    spent = np.append(0.0, np.cumsum(_half_hours(day)))
    days, rest = np.divmod(points, spent[-1])
    return BUCKET_SECONDS * (days * BUCKETS + np.interp(rest, spent, np.arange(BUCKETS + 1)))


@cache
def _half_hours(day: Gamma) -> np.ndarray:
    """How busy each half hour from midnight is; their mean is 1."""
    number = np.arange(DAY_START, DAY_START + BUCKETS)
    slices = np.diff(_gamma_cdf(np.append(number - 0.5, number[-1] + 0.5), day))
    weights = np.empty(BUCKETS)
    weights[(number - 1) % BUCKETS] = slices
    return weights / weights.mean()


def _gamma_cdf(x: np.ndarray, gamma: Gamma) -> np.ndarray:
    """Regularized lower incomplete gamma function, by its power series; x above 0."""
    z = x / gamma.scale
    term = total = np.full(z.shape, 1.0 / gamma.shape)
    for step in range(1, 200):
        term = term * z / (gamma.shape + step)
        total = total + term
    return total * np.exp(gamma.shape * np.log(z) - z - math.lgamma(gamma.shape))


def _gap_factor(table: pd.DataFrame, kinds: dict[str, JobType], span: float) -> float:
    """The factor of all gaps at which first and last submission are `span` seconds apart."""
    ends = table.groupby("queue").nth([0, -1])
    low = high = 1.0
    while np.ptp(_submissions(ends, kinds, low)) > span:
        low /= 2
    while np.ptp(_submissions(ends, kinds, high)) < span:
        high *= 2
    for _ in range(50):
        middle = (low + high) / 2
        short = np.ptp(_submissions(ends, kinds, middle)) < span
        low, high = (middle, high) if short else (low, middle)
    return high
