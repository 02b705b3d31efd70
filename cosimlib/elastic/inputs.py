"""The paper's two workloads, from public files where they can be had, else synthetic twins.

HTC is ten shuffled copies of a trace that is public. PEREGRINE is 7,275 of 10,000 jobs that were
public; what is left of them (`traces.peregrine`) lacks exit status, so which jobs "successfully
finished" is not known. `draw_peregrine` therefore draws 7,275 of its jobs so that they have Table 1
and as many jobs of gaussian as the paper says. Nothing but these inputs of the paper is fitted; the
order of the jobs is drawn. The queue bigmem, which the extract does not name, is drawn as in the
twin (`synthetic.bigmem_jobs`): its weight is an inference from the paper's results.
"""

import warnings
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd

from cosimlib import checks as check
from cosimlib import traces
from cosimlib.kernels.jit import kernel
from cosimlib.synthetic import bigmem_jobs, htc, peregrine, shapes, shuffled_copies
from cosimlib.units import HOUR
from cosimlib.workload import InvalidWorkloadError, Workload

TABLE_1 = pd.DataFrame(
    {
        "HTC": (11_200, 1_379.05, 443.27, 54.0, 84.0, 106.0, 134.25, 7_140.0,
                1.0, 1.0, 1.0, 1.0, 1.0, 1.0),
        "PEREGRINE": (7_275, 26_838.58, 7_119.07, 33.0, 439.5, 1_921.0, 6_840.5, 85_945.0,
                      1.42, 1.0, 1.0, 1.0, 1.0, 16.0),
    },
    ["jobs", "node-hours",
     *(f"{what} {name}" for what in ("run", "nodes")
       for name in ("mean", "min", "25%", "50%", "75%", "max"))],
)  # fmt: skip
"""Table 1 as printed: rows as the columns of `describe`, one column per workload."""
RANKS = (0, 1_818, 1_819, 3_637, 5_455, 5_456, 7_274)
RUN_TIMES = (33.0, 439.0, 440.0, 1_921.0, 6_839.0, 6_842.0, 85_945.0)
"""Run times (s) of the jobs of these ranks, which make Table 1's extremes and quartiles exactly."""
GAUSSIAN, ONE_NODE = 341, 5_980
"""Jobs of one node are "over 82 %": 82.2 %."""
WITHIN = 5e-4
"""How far means and sums of a draw may be from the printed ones, relatively."""
SWAPS = 400_000


class Inputs(NamedTuple):
    """The public files that workloads are drawn from; None where a twin stands in."""

    trace: Workload | None = None
    extract: Workload | None = None

    @property
    def words(self) -> str:
        """What the workloads are, as a figure or the scorecard says it."""
        htc = "synthetic HTC" if self.trace is None else "HTC's public trace"
        drawn = "draws of PEREGRINE's public jobs"
        return f"{htc}, {'synthetic PEREGRINE' if self.extract is None else drawn}"

    def draw(self, *, request_factor: float = 1.0, seed: int = 0) -> dict[str, Workload]:
        """HTC and PEREGRINE with a seed: order and draw of public jobs, or twins.

        Parameters
        ----------
        request_factor : float, default 1.0
            Median of requested ÷ run times, as in the twins.
        seed : int, default 0
        """
        if self.trace is None:
            short = htc(request_factor=request_factor, seed=seed)
        else:
            short = shuffled_copies(self.trace, request_factor=request_factor, seed=seed)
        if self.extract is None:
            return {"HTC": short, "PEREGRINE": peregrine(request_factor=request_factor, seed=seed)}
        drawn = draw_peregrine(self.extract, request_factor=request_factor, seed=seed)
        return {"HTC": short, "PEREGRINE": drawn}


def paper_inputs(trace: str | Path = "HTC-2017") -> Inputs | None:
    """What a notebook's `trace` stands for: ``"synthetic"`` twins, HTC-2017 the public files.

    HTC-2017 may be named, or be the path of its file; PEREGRINE's jobs are then looked for, too.
    None for any other log.
    """
    if trace == traces.SYNTHETIC:
        return Inputs()
    return public_inputs() if traces.known_name(Path(trace).name) == "HTC-2017" else None


def public_inputs() -> Inputs:
    """The paper's public files, found or downloaded; a warning where twins stand in."""
    return Inputs(_loaded("HTC-2017"), _loaded("PEREGRINE-10k"))


def _loaded(name: str) -> Workload | None:
    """A public trace; None, with a warning, where it cannot be had."""
    try:
        return traces.load(name, verbose=False)
    except (OSError, traces.TraceError) as error:
        warnings.warn(f"a synthetic twin stands in for {name}: {error}", stacklevel=4)
        return None


def draw_peregrine(extract: Workload, *, request_factor: float = 1.0, seed: int = 0) -> Workload:
    """7,275 jobs of the public extract that have Table 1, in random order, all submitted at 0.

    Extremes and quartiles of run times are the printed ones exactly, and so are the number of
    one-node jobs and of gaussian's; means and node-hours within 0.05 %.

    Parameters
    ----------
    extract : Workload
        Of `traces.load("PEREGRINE-10k")`.
    request_factor : float, default 1.0
        Median of requested ÷ run times, as in the twin.
    seed : int, default 0

    Returns
    -------
    Workload
        With `application`, and `queue`, which is bigmem or unknown.

    Raises
    ------
    InvalidWorkloadError
        Where the jobs cannot make Table 1.
    """
    check.number("request_factor", request_factor, least=1, where=extract.name)
    check.seed(seed, where=extract.name)
    rng = np.random.Generator(np.random.PCG64([int(seed), 3]))
    jobs = extract.jobs
    fits = jobs["nodes"].le(16) & jobs["run_time"].between(RUN_TIMES[0], RUN_TIMES[-1])
    jobs = jobs[fits].sort_values("run_time", kind="stable").reset_index(drop=True)
    chosen, fixed, stratum = _strata(jobs["run_time"].to_numpy(), extract.name, rng)
    run_time, nodes = (jobs[name].to_numpy(np.float64) for name in ("run_time", "nodes"))
    gaussian = jobs["application"].eq("gaussian").to_numpy(np.float64)
    features = np.column_stack([run_time, run_time * nodes, nodes, nodes == 1, gaussian])
    printed = TABLE_1["PEREGRINE"]
    count = printed["jobs"]
    target = np.array([printed["run mean"] * count, printed["node-hours"] * HOUR,
                       printed["nodes mean"] * count, ONE_NODE, GAUSSIAN])  # fmt: skip
    _approach(features / target, chosen, fixed, stratum, SWAPS, rng)
    far = np.abs(features[chosen].sum(axis=0) / target - 1)
    if not (far <= [WITHIN, WITHIN, WITHIN, 0.0, 0.0]).all():
        raise InvalidWorkloadError(
            f"{extract.name}: no draw of its jobs has Table 1's means and counts; expected the "
            "public extract of Peregrine's log"
        )
    return _as_peregrine(jobs[chosen], extract.name, request_factor, seed, rng)


def _as_peregrine(
    jobs: pd.DataFrame, name: str, request_factor: float, seed: int, rng: np.random.Generator
) -> Workload:
    """Jobs drawn, in random order, with requests and the queue bigmem."""
    jobs = jobs.iloc[rng.permutation(len(jobs))].reset_index(drop=True)
    factor = shapes.log_uniform_factors(len(jobs), request_factor, rng)
    work = (jobs["run_time"] * jobs["nodes"]).to_numpy()
    drawn = pd.DataFrame(
        {
            "submit_time": 0.0,
            "run_time": jobs["run_time"],
            "requested_time": jobs["run_time"] * factor,
            "nodes": jobs["nodes"],
            "queue": pd.Series("bigmem", jobs.index).where(bigmem_jobs(work, seed=seed)),
            "application": jobs["application"],
        }
    )
    return Workload(drawn, f"PEREGRINE drawn from {name} (seed {seed})")


def _strata(
    run_time: np.ndarray, name: str, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """A first draw between each two neighbors of `RUN_TIMES`; which jobs are fixed; strata."""
    chosen = np.zeros(run_time.size, dtype=bool)
    places = np.searchsorted(run_time, RUN_TIMES)
    if places[-1] >= run_time.size or not np.array_equal(run_time[places], RUN_TIMES):
        raise InvalidWorkloadError(
            f"{name}: no jobs of {', '.join(f'{value:g}' for value in RUN_TIMES)} s; expected the "
            "public extract of Peregrine's log"
        )
    fixed = np.zeros(run_time.size, dtype=bool)
    fixed[places] = chosen[places] = True
    stratum = np.searchsorted(places, np.arange(run_time.size), side="left")
    for number, (first, last) in enumerate(pairwise(RANKS), start=1):
        members = np.flatnonzero((stratum == number) & ~fixed)
        wanted = last - first - 1
        if members.size < wanted:
            raise InvalidWorkloadError(
                f"{name}: {members.size} jobs between {RUN_TIMES[number - 1]:g} and "
                f"{RUN_TIMES[number]:g} s; expected {wanted} or more"
            )
        chosen[rng.choice(members, wanted, replace=False)] = True
    return chosen, fixed, stratum


@kernel
def _approach(features, chosen, fixed, stratum, swaps, rng):
    """Swap jobs within strata at random, wherever sums of features come no farther from 1.

    `features` has one row per job. Changes `chosen`.
    """
    off = -np.ones(features.shape[1])
    for job in range(chosen.size):
        if chosen[job]:
            off += features[job]
    change = np.empty(off.size)
    for _ in range(swaps):
        one, other = rng.integers(0, chosen.size), rng.integers(0, chosen.size)
        if fixed[one] or fixed[other] or stratum[one] != stratum[other]:
            continue
        if chosen[one] == chosen[other]:
            continue
        inside, outside = (one, other) if chosen[one] else (other, one)
        before, after = 0.0, 0.0
        for feature in range(off.size):
            change[feature] = features[outside, feature] - features[inside, feature]
            before += off[feature] ** 2
            after += (off[feature] + change[feature]) ** 2
        if after <= before:
            off += change
            chosen[inside], chosen[outside] = False, True
