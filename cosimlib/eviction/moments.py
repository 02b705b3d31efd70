"""Evictions at every full moment of a schedule, instead of three scenarios.

A moment is *full* at a whole hour from the schedule's first start if the jobs then hold at least
4200 of the most frequent 4352 nodes, in proportion on other machines, and no more than there are.
At each of them each number of nodes needed is a problem of its own, solved by greedy, for the
paper's optimum, with waits that overlap, and for the fewest node-hours lost or blocked.
"""

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
import pandas as pd

from cosimlib import checks as check
from cosimlib.eviction.dynamic import solve_dynamic
from cosimlib.eviction.overlapping import solve_blocked, solve_overlapping
from cosimlib.eviction.plan import TimedPlan
from cosimlib.eviction.problem import EvictionProblem, draw_memory, running_jobs_at
from cosimlib.eviction.scenarios import NEARLY_FULL
from cosimlib.eviction.search import solve_greedy
from cosimlib.kernels.steps import step_function
from cosimlib.schedule import Schedule
from cosimlib.system import System
from cosimlib.units import HOUR

LARGEST_MOMENT = 2.0**31
"""Cells of a moment (see `FullMoments.cells`) from which on it is left out."""
COLUMNS = ["moment", "jobs", "nodes_needed", "deadline", "greedy", "optimum", "overlapping",
           "cost_of_optimum", "least_cost"]  # fmt: skip
KINDS = {
    "nobody loses": "no loss: greedy finds that too",
    "greedy is enough": "a loss, and greedy's is the least",
    "greedy loses, needlessly": "no loss is possible, but greedy has one",
    "greedy loses more": "a loss, and greedy's is larger",
}
"""What an eviction is like, by its least loss and greedy's."""

PLANS = {
    "greedy": ("greedy", "lost"),
    "optimum": ("least loss (paper)", "lost"),
    "overlapping": ("least loss, waits overlap", "lost"),
    "cost_of_optimum": ("least loss (paper)", "lost or blocked"),
    "least_cost": ("least loss and standing still", "lost or blocked"),
}
"""The plan, and the node-hours of it that a column of the survey counts."""


class FullMoments(NamedTuple):
    """Full moments of a schedule.

    Parameters
    ----------
    times : np.ndarray
        The moments chosen, seconds of the schedule's clock.
    jobs : np.ndarray
        Jobs that run at each of them.
    total : int
        All full moments.
    hours : int
        All whole hours of the schedule.
    """

    times: np.ndarray
    jobs: np.ndarray
    total: int
    hours: int

    @property
    def told(self) -> str:
        """How many moments were chosen of how many, in words."""
        if not self.total:
            return f"no moment of {self.hours:,} is full"
        share = f"{len(self.times):,} of {self.total:,}" if len(self.times) < self.total else (
            f"all {self.total:,}"
        )  # fmt: skip
        return f"{share} full moments, one per hour at most, of {self.hours:,} hours"


def full_moments(
    schedule: Schedule,
    *,
    occupied: int,
    horizon: float = 900.0,
    step: float = 60.0,
    most: float = np.inf,
) -> FullMoments:
    """The hours at which a schedule's machine is nearly full: each, or each second, third, ….

    Parameters
    ----------
    schedule : Schedule
    occupied : int
        The most frequent number of occupied nodes, as of `commonest_occupancy`.
    horizon, step : float, default 900.0 and 60.0
        Of the problems to solve, seconds.
    most : float, optional
        Cells of tables (jobs · nodes · pairs of deadlines) in all moments chosen, at most; about a
        billion take a second. All moments by default.
    """
    check.whole("occupied", occupied, 0)
    check.number("most", min(most, 1e300), above=0)
    start, end = schedule.start_time, schedule.end_time
    lasts = end > start
    if not lasts.any() or not occupied:
        return FullMoments(np.zeros(0), np.zeros(0, dtype=np.int64), 0, 0)
    nodes = schedule.jobs["nodes"].to_numpy()
    first, last = start[lasts].min(), end[lasts].max()
    check.windows(first, last, HOUR)
    hours = first + HOUR * np.arange(max(1, int((last - first) // HOUR)))
    times, held = step_function(start[lasts], end[lasts], nodes[lasts])
    running = step_function(start[lasts], end[lasts], np.ones(lasts.sum(), dtype=np.int64))[1]
    place = np.searchsorted(times, hours, side="right") - 1
    held, jobs = held[place], running[place]
    full = (held >= occupied * NEARLY_FULL) & (held <= schedule.system.total_nodes)
    deadlines = horizon / step + 1
    cells = jobs * held * (deadlines * (deadlines + 1) / 2)
    fits = np.flatnonzero(full & (cells <= LARGEST_MOMENT))
    stride = max(1, int(np.ceil(cells[fits].sum() / most)))
    chosen = fits[::stride]
    return FullMoments(hours[chosen], jobs[chosen], int(full.sum()), len(hours))


def survey_moments(
    schedule: Schedule,
    moments: FullMoments,
    *,
    nodes_needed: Iterable[int],
    horizon: float = 900.0,
    step: float = 60.0,
    system: System | None = None,
    interval: float | np.ndarray = HOUR,
    seed: int = 0,
) -> pd.DataFrame:
    """What evictions lose at each of some moments, by each number of nodes needed and deadline.

    Parameters
    ----------
    schedule : Schedule
    moments : FullMoments
    nodes_needed : iterable of int
        Left out where fewer are held.
    horizon, step, system, interval, seed
        As for `EvictionProblem.from_schedule`.

    Returns
    -------
    pd.DataFrame
        `moment` (s), `jobs`, `nodes_needed`, `deadline` (s), and node-hours: lost by `greedy`, by
        the paper's `optimum`, by that with `overlapping` waits; lost or blocked by the plan of the
        paper's optimum (`cost_of_optimum`) and at least (`least_cost`).
    """
    system = system or schedule.system
    memory = draw_memory(schedule.workload, system, seed=seed) if len(moments.times) else None
    wanted, parts = list(nodes_needed), []
    for moment in moments.times.tolist():
        table = running_jobs_at(
            schedule, moment, system=system, interval=interval, memory=memory
        )  # fmt: skip
        problem = EvictionProblem(table, 0, horizon, step)
        for needed in wanted:
            if needed <= problem.total_nodes:
                parts.append(_losses(problem.asking(needed), moment))
    if not parts:
        return pd.DataFrame({name: np.zeros(0) for name in COLUMNS})
    return pd.DataFrame(np.concatenate(parts), columns=COLUMNS).astype(
        {"jobs": "int64", "nodes_needed": "int64"}
    )


def _losses(problem: EvictionProblem, moment: float) -> np.ndarray:
    """The rows of one problem: one per deadline, `COLUMNS` wide."""
    best = solve_dynamic(problem)
    rows = np.empty((len(problem.deadlines), len(COLUMNS)))
    rows[:, 0], rows[:, 1], rows[:, 2] = moment, len(problem), problem.nodes_needed
    rows[:, 3] = problem.deadlines
    rows[:, 4], rows[:, 5] = solve_greedy(problem).loss, best.loss
    rows[:, 6] = solve_overlapping(problem).loss
    rows[:, 7], rows[:, 8] = TimedPlan.of(best).cost, solve_blocked(problem).cost
    return rows


def kinds_of_evictions(survey: pd.DataFrame) -> pd.DataFrame:
    """The share of moments of each of `KINDS`, by nodes needed and deadline of `survey_moments`.

    Returns
    -------
    pd.DataFrame
        `nodes_needed`, `deadline` (s), `kind`, `share`.
    """
    lossless = survey["optimum"] <= 1e-9
    worse = survey["greedy"] > survey["optimum"] + 1e-9
    kind = np.select(
        [lossless & ~worse, ~lossless & ~worse, lossless & worse], list(KINDS)[:3], [*KINDS][3]
    )
    table = pd.DataFrame(
        {name: kind == name for name in KINDS}, index=survey.index
    ).assign(nodes_needed=survey["nodes_needed"], deadline=survey["deadline"])  # fmt: skip
    share = table.groupby(["nodes_needed", "deadline"], sort=True)[list(KINDS)].mean()
    return share.rename_axis(columns="kind").stack().rename("share").reset_index()  # noqa: PD013


def mean_losses(survey: pd.DataFrame) -> pd.DataFrame:
    """Mean node-hours over the moments of `survey_moments`, by nodes needed, deadline and plan.

    Returns
    -------
    pd.DataFrame
        `nodes_needed`, `deadline` (s), `plan`, `counted` (`lost`, or `lost or blocked`),
        `node_hours`.
    """
    mean = survey.groupby(["nodes_needed", "deadline"], as_index=False)[COLUMNS[4:]].mean()
    parts = [
        mean[["nodes_needed", "deadline"]].assign(
            plan=plan, counted=counted, node_hours=mean[column]
        )
        for column, (plan, counted) in PLANS.items()
    ]
    return pd.concat(parts, ignore_index=True)


def summarize_moments(survey: pd.DataFrame) -> pd.DataFrame:
    """One row per number of nodes needed: what `survey_moments` says at the last deadline.

    Returns
    -------
    pd.DataFrame
        By `nodes_needed`: `moments`; the share at which greedy's excess over the optimum at the
        last deadline is `above` that at the first; at which its excess at the last is `none`; at
        which the optimum is `free` of loss then, and also if waits overlap (`free_overlapping`);
        mean node-hours of greedy's excess at the `first` and the `last` deadline, and of each
        moment's `largest`; `saved_overlapping`, the share of the optimum's loss at the last
        deadline that overlapping waits save, and `saved_blocked`, the share of its node-hours lost
        or blocked that the plans of the least cost save.
    """
    columns = ["moments", "above", "none", "free", "free_overlapping", "first", "largest", "last",
               "saved_overlapping", "saved_blocked"]  # fmt: skip
    rows = {}
    for needed, part in survey.groupby("nodes_needed"):
        excess = (part["greedy"] - part["optimum"]).round(6)
        final = part["deadline"] == part["deadline"].max()
        begin = excess[part["deadline"] == 0].to_numpy()
        end, last = excess[final].to_numpy(), part[final]
        rows[needed] = [
            len(last),
            (end > begin).mean(),
            (end == 0).mean(),
            (last["optimum"] <= 1e-9).mean(),
            (last["overlapping"] <= 1e-9).mean(),
            begin.mean(),
            excess.groupby(part["moment"]).max().mean(),
            end.mean(),
            1 - _ratio(last["overlapping"].sum(), last["optimum"].sum()),
            1 - _ratio(last["least_cost"].sum(), last["cost_of_optimum"].sum()),
        ]
    table = pd.DataFrame.from_dict(rows, orient="index", columns=columns)
    return table.rename_axis("nodes_needed").astype({"moments": "int64"})


def _ratio(part: float, whole: float) -> float:
    """A share of something; of nothing, all of it."""
    return part / whole if whole > 0 else 1.0
