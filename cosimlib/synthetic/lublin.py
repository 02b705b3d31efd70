"""The Lublin-Feitelson workload model, for machines of any size.

Lublin and Feitelson, The workload on parallel supercomputers: modeling the characteristics of rigid
jobs, JPDC 63(11), 2003, with the constants of the generator that they published. Batch jobs and
interactive jobs are two streams with constants of their own; a third set is for jobs without types.

- *Nodes.* A job is serial, or 2^x wide, with x from one of two uniform distributions; for most
  jobs x is a whole number.
- *Run time.* exp of a gamma variable, one of two, the more nodes the more often the second.
- *Submissions.* exp of a gamma variable is the interarrival time of jobs of one type, in points:
  seconds of an average half hour. The half hours of a day spend points at different rates, in
  proportion to slices of another gamma distribution.

Values longer than in logs, run times above e^12 s and interarrival times above e^13, are redrawn.

Not in the model: requested times (see `with_estimates`), users, weekends.
"""

import math
from collections.abc import Callable
from functools import cache
from typing import NamedTuple

import numpy as np
import pandas as pd

from cosimlib import checks as check
from cosimlib.synthetic import shapes
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
    """Constants of one type of job on a machine of 128 nodes, named as in the generator.

    A job's run time is drawn from `shorter` with probability ``pa · nodes + pb``.
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


class Arrivals(NamedTuple):
    """The submissions of one type: rows of a table (bool), points, and weights of half hours."""

    rows: np.ndarray
    points: np.ndarray
    day: Gamma


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
    """Synthetic workload of the Lublin–Feitelson model, from midnight on.

    Parameters
    ----------
    jobs : int, default 10_000
    nodes : int, default 128
        Of the machine: 32 or more with types, 10 or more without. The constants are for 128 nodes;
        elsewhere the two upper limits of log2(size) shift with log2 of the machine.
    types : bool, default True
        Batch and interactive jobs, distinguished by the column `queue`; or jobs without types.
    load : float, optional
        Offered load, Σ nodes · run_time ÷ (nodes of the machine · time from first to last
        submission). All interarrival times are scaled by one factor, in points, so that days keep
        their shape. By default the model's own: on 128 nodes about .40 with types and .72 without.
    seed : int, default 0
        Of the PCG64 generator, 0 or more.

    Returns
    -------
    Workload
        In whole seconds, rounded down as in the published generator, without requested times; time
        0 is midnight.
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
    table["submit_time"] = _submissions(_arrivals(table, kinds), 1.0)
    table = table.sort_values("submit_time", kind="stable", ignore_index=True)[: int(jobs)]
    if load is not None and jobs > 1:
        span = float(table["nodes"] @ table["run_time"]) / (load * nodes)
        factor = _gap_factor(table, kinds, span)
        table["submit_time"] = _submissions(_arrivals(table, kinds), factor)
        table = table.sort_values("submit_time", kind="stable", ignore_index=True)
    table["submit_time"] = np.floor(table["submit_time"])
    columns = ["submit_time", "run_time", "nodes", *(["queue"] if types else [])]
    return Workload(table[columns], f"{NAME} (seed {seed})", System.of(int(nodes)))


def _stream(
    kind: JobType, name: str, n: int, machine: int, rng: np.random.Generator
) -> pd.DataFrame:
    """`n` jobs of one type: submission in points per half hour, nodes, run time."""
    arrival = Gamma(kind.arrival.shape * kind.arar, kind.arrival.scale)
    log_gap = _redrawn(n, LONGEST_LOG_GAP, lambda jobs: rng.gamma(*arrival, jobs.size))
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

    def draw(jobs: np.ndarray) -> np.ndarray:
        from_shorter = rng.random(jobs.size) <= probability[jobs]
        shorter, longer = rng.gamma(*kind.shorter, jobs.size), rng.gamma(*kind.longer, jobs.size)
        return np.where(from_shorter, shorter, longer)

    return _redrawn(nodes.size, LONGEST_LOG_RUN, draw)


def _redrawn(n: int, longest: float, draw: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
    """`n` draws, each repeated until at most `longest`; `draw` takes the numbers of the values."""
    values = np.empty(n)
    missing = np.arange(n)
    while missing.size:
        values[missing] = draw(missing)
        missing = missing[values[missing] > longest]
    return values


def _arrivals(table: pd.DataFrame, kinds: dict[str, JobType]) -> list[Arrivals]:
    """The submissions of each type of jobs."""
    points = table["points"].to_numpy()
    found = []
    for name, kind in kinds.items():
        rows = (table["queue"] == name).to_numpy()
        found.append(Arrivals(rows, points[rows], kind.day))
    return found


def _submissions(arrivals: list[Arrivals], factor: float) -> np.ndarray:
    """Submissions in seconds from midnight, interarrival times scaled by `factor`."""
    seconds = np.empty(arrivals[0].rows.size)
    for rows, points, day in arrivals:
        seconds[rows] = _clock_time(points * factor, day)
    return seconds


def _clock_time(points: np.ndarray, day: Gamma) -> np.ndarray:
    """Seconds after which so many points are spent, of which each half hour spends its weight."""
    spent = np.append(0.0, np.cumsum(_half_hours(day)))
    days, rest = np.divmod(points, spent[-1])
    return BUCKET_SECONDS * (days * BUCKETS + np.interp(rest, spent, np.arange(BUCKETS + 1)))


@cache
def _half_hours(day: Gamma) -> np.ndarray:
    """Weights of the half hours from midnight; their mean is 1."""
    from scipy.special import gammainc  # not with the package: it takes a sixth of a second

    number = np.arange(DAY_START, DAY_START + BUCKETS)
    slices = np.diff(gammainc(day.shape, np.append(number - 0.5, number[-1] + 0.5) / day.scale))
    weights = np.empty(BUCKETS)
    weights[(number - 1) % BUCKETS] = slices
    return weights / weights.mean()


def _gap_factor(table: pd.DataFrame, kinds: dict[str, JobType], span: float) -> float:
    """The factor of interarrival times for `span` seconds from first to last submission."""
    ends = _arrivals(table.groupby("queue").nth([0, -1]), kinds)
    low = high = 1.0
    while np.ptp(_submissions(ends, low)) > span:
        low /= 2
    while np.ptp(_submissions(ends, high)) < span:
        high *= 2
    return shapes.bisect(
        lambda factor: bool(np.ptp(_submissions(ends, factor)) < span), low, high, 50
    )[1]
