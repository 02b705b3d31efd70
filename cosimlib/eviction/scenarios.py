"""Eviction scenarios: jobs that fill a machine at one moment (Maurya et al., DS-RT 2020, IV-A).

In a scenario a given number of jobs fills a given number of nodes for some time, and none of the
jobs is expendable, that is, runs for less than 30 minutes. The paper has three: 12, 16 and 24 jobs
on 4352 of Theta's nodes. `choose_scenario` takes the longest one in a schedule, else the one with
the nearest number of occupied nodes, else it draws one from the schedule's jobs; `origin` says
which. On request a scenario outlasts the evictions that are asked of it: its jobs all run for the
latest deadline (`lasts`) from the moment of the eviction on, as where the paper marks its regions.

`scaled_problem` needs no schedule: it draws a problem of any size.
"""

from dataclasses import dataclass

import numpy as np
import pandas as pd

from cosimlib import checks as check
from cosimlib.eviction.problem import (
    ALLOCATED_SHARE,
    CRITICAL_SHARE,
    EvictionProblem,
    checkpoint_time,
)
from cosimlib.kernels.steps import step_function
from cosimlib.schedule import Schedule
from cosimlib.system import THETA, System
from cosimlib.units import HOUR, MINUTE
from cosimlib.workload import Workload

EXPENDABLE = 30 * MINUTE
TOLERANCE = 152, 4352
"""Nodes by which those of the nearest scenario may differ, of how many that are occupied."""
DRAWS = 100_000


@dataclass(frozen=True, eq=False)
class Scenario:
    """Moment of a schedule, with the interval around it in which the same jobs run.

    Parameters
    ----------
    schedule : Schedule
    jobs : np.ndarray
        Numbers of the running jobs.
    begin, end : float
        The interval, seconds.
    at : float
        The moment of the eviction: the middle of the interval on a whole second, earlier where it
        would not last; for drawn jobs, the moment at which each is at its random point.
    origin : str
        `exact`, `nearest` or `drawn`.
    """

    schedule: Schedule
    jobs: np.ndarray
    begin: float
    end: float
    at: float
    origin: str

    @property
    def nodes(self) -> int:
        """Nodes that the jobs hold together."""
        return int(self.schedule.jobs["nodes"].to_numpy()[self.jobs].sum())

    @property
    def name(self) -> str:
        """The scenario in words, for figures."""
        return f"{len(self.jobs)} jobs on {self.nodes:,} nodes ({self.origin})"


def choose_scenario(
    schedule: Schedule, *, jobs: int, occupied: int, lasts: float = 0.0, seed: int = 0
) -> Scenario:
    """Scenario of `jobs` jobs that hold `occupied` nodes, none of which is expendable.

    Of all intervals of at least `lasts` seconds in which exactly so many jobs run, the one nearest
    to `occupied`, within 152 nodes of 4352; then the longest, then the earliest. If there is none,
    jobs are drawn that are not expendable, each equally likely. Of 100,000 draws the first that
    fills the nodes exactly is taken, or the one nearest from below. Each job is at a uniformly
    random point of its run. All jobs run for `lasts` seconds from the eviction on.

    Raises
    ------
    LookupError
        If no draw fits.
    """
    check.seconds("lasts", lasts)
    found = _find(schedule, jobs, occupied, lasts)
    return _draw(schedule, jobs, occupied, lasts, seed) if found is None else found


def _find(schedule: Schedule, jobs: int, occupied: int, lasts: float) -> Scenario | None:
    """The scenario that a schedule has itself."""
    start, end, table = schedule.start_time, schedule.end_time, schedule.jobs
    nodes = table["nodes"].to_numpy()
    short = (table["run_time"].to_numpy() < EXPENDABLE).astype(np.int64)
    times, held = step_function(start, end, nodes)
    running, expendable = (
        step_function(start, end, weight)[1] for weight in (np.ones_like(nodes), short)
    )
    length = np.diff(times, append=times[-1])
    distance, (most, of) = np.abs(held - occupied), TOLERANCE
    fits = (running == jobs) & (expendable == 0) & (distance <= occupied * most // of)
    fits &= (held <= schedule.system.total_nodes) & (length >= lasts)
    if not fits.any():
        return None
    found = np.flatnonzero(fits)
    best = found[np.lexsort((times[found], -length[found], distance[found]))[0]]
    members = np.flatnonzero((start <= times[best]) & (times[best] < end))
    begin, last = float(start[members].max()), float(end[members].min())
    at = max(begin, min(float(np.floor((begin + last) / 2)), last - lasts))
    origin = "exact" if distance[best] == 0 else "nearest"
    return Scenario(schedule, members, begin, last, at, origin)


def _draw(schedule: Schedule, jobs: int, occupied: int, lasts: float, seed: int) -> Scenario:
    """A scenario of drawn jobs."""
    table, least = schedule.jobs, max(EXPENDABLE, lasts)
    candidates = np.flatnonzero(table["run_time"].to_numpy() >= least)
    if candidates.size < jobs:
        raise LookupError(
            f"{schedule.name}: no moment has {jobs} jobs of at least {least:g} s on about "
            f"{occupied:,} nodes, and only {candidates.size} last so long"
        )
    random = np.random.default_rng(seed)
    draws = candidates[random.integers(candidates.size, size=(DRAWS, jobs))]
    held = table["nodes"].to_numpy()[draws].sum(axis=1)
    distinct = (np.diff(np.sort(draws, axis=1), axis=1) > 0).all(axis=1)
    held[~distinct | (held > occupied)] = 0
    best = int(held.argmax())
    if held[best] == 0:
        raise LookupError(
            f"{schedule.name}: {DRAWS} draws of {jobs} jobs gave none within {occupied} nodes"
        )
    return _in_random_phase(schedule, np.sort(draws[best]), random, lasts)


def _in_random_phase(
    schedule: Schedule, drawn: np.ndarray, random: np.random.Generator, lasts: float
) -> Scenario:
    """The drawn jobs as a schedule of their own, each at a random point of its run."""
    run = schedule.jobs["run_time"].to_numpy()[drawn]
    elapsed = np.floor((run - lasts) * random.uniform(0, 1, drawn.size))
    at = float(elapsed.max())
    start = at - elapsed
    jobs = schedule.workload.jobs.iloc[drawn].assign(submit_time=0.0)
    jobs = jobs.drop(columns="recorded_start", errors="ignore")
    workload = Workload(jobs, schedule.workload.name, schedule.workload.machine)
    own = Schedule.from_starts(workload, schedule.system, start, f"drawn from {schedule.policy}")
    begin, end = float(start.max()), float(own.end_time.min())
    return Scenario(own, np.arange(drawn.size), begin, end, at, "drawn")


def scaled_problem(
    jobs: int,
    nodes: int,
    *,
    needed: float = 0.25,
    horizon: float = 900.0,
    step: float = 60.0,
    system: System = THETA,
    seed: int = 0,
) -> EvictionProblem:
    """Random eviction problem of any size: `jobs` jobs that hold `nodes` nodes in total.

    Sizes are in proportion to exponential draws, at least one node each; each job is at a uniform
    moment between two hourly application checkpoints; memory is drawn as the paper does.
    `needed` is the share of the nodes that are needed; `horizon` and `step` are in seconds.
    """
    check.whole("jobs", jobs, 1, nodes)
    random = np.random.default_rng(seed)
    weight = random.exponential(size=jobs)
    held = 1 + random.multinomial(nodes - jobs, weight / weight.sum())
    since_checkpoint = random.uniform(0, HOUR, jobs)
    allocated = system.memory_per_node * random.uniform(*ALLOCATED_SHARE, jobs)
    critical = allocated * random.uniform(*CRITICAL_SHARE, jobs)
    table = pd.DataFrame(
        {
            "nodes": held,
            "loss": held * since_checkpoint / HOUR,
            "app_time": HOUR - since_checkpoint + checkpoint_time(held, critical, system),
            "sys_time": checkpoint_time(held, allocated, system),
            "app_wait": HOUR - since_checkpoint,
        }
    )
    return EvictionProblem(table, int(nodes * needed), horizon, step)
