"""The experiment of Maurya et al. (CoSim, DS-RT 2020): evictions on a machine that is nearly full.

A log of Theta says how full the machine is. Three scenarios fill its most frequent number of
occupied nodes with 12, 16 and 24 jobs. For each of them and for three numbers of nodes needed (K),
three solvers plan an eviction by every deadline, and are timed. Logs have neither memory nor
bandwidths: every machine has Theta's, and memory is drawn.

Beyond the paper, an eviction at every *full moment* is solved: at a whole hour from the schedule's
first start, if the jobs then hold at least 4200 of the most frequent 4352 nodes, in proportion on
other machines, and no more than there are.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from cosimlib import checks as check
from cosimlib import eviction, metrics, prepare_schedule
from cosimlib.eviction import (
    EvictionPlan,
    EvictionProblem,
    Scenario,
    TimedPlan,
    solve_backtracking,
    solve_blocked,
    solve_dynamic,
    solve_greedy,
    solve_overlapping,
)
from cosimlib.eviction.problem import checkpoint_table, draw_memory, running_jobs_at
from cosimlib.eviction.scenarios import EXPENDABLE
from cosimlib.eviction.solving import Solver, solver_of
from cosimlib.kernels.steps import step_function
from cosimlib.schedule import Schedule
from cosimlib.system import THETA, System
from cosimlib.traces import SYNTHETIC, load_trace
from cosimlib.units import DAY, HOUR, MINUTE
from cosimlib.workload import Workload
from papers.maurya2020.printed import solve_as_printed

NEARLY_FULL = 4200 / 4352
"""Of the most frequent number of occupied nodes: the machine is nearly full from there on."""
NEEDED = (4, 8, 16)
"""The paper's K, 512, 1024 and 2048 of 4352 nodes, in 34ths."""
MONTH = 31 * DAY
REPEATED_BELOW = 0.05
"""Seconds up to which a run of backtracking is repeated."""
LARGEST_MOMENT = 2.0**31
"""Cells of the tables of a full moment from which on it is left out."""
EXCEPTION = 13 * MINUTE
"""The deadline after which greedy's excess does not grow, with the most jobs, as the paper says."""
CASE = ["scenario", "nodes_needed"]
SURVEY = [
    "moment",
    "jobs",
    "nodes_needed",
    "deadline",
    "greedy",
    "optimum",
    "overlapping",
    "cost_of_optimum",
    "least_cost",
]
"""Columns of `survey_moments`."""


class Scale(NamedTuple):
    """How far a run goes: seconds per search, cells of all full moments, sizes of problems."""

    time_limit: float
    cells: float
    jobs: tuple[int, ...]
    nodes: tuple[int, ...]


SCALES = {
    "quick": Scale(0.25, 4e9, (24, 50, 100, 200), (4352, 10_000, 20_000)),
    "paper": Scale(60.0, np.inf, (24, 50, 100, 200, 500, 1000),
                   (4352, 10_000, 20_000, 50_000, 100_000)),
}  # fmt: skip


class Log(NamedTuple):
    """A schedule and what it is of.

    `theta` is whether it is a log of Theta, `own` whether it is one or the paper's synthetic twin,
    and `used` the share of a log's node-hours that the schedule has.
    """

    schedule: Schedule
    name: str
    theta: bool
    own: bool
    used: float | None


class Month(NamedTuple):
    """Hourly means of occupied nodes and of running jobs over a month of a schedule."""

    nodes: pd.Series
    jobs: pd.Series
    total_nodes: int
    began: pd.Timestamp | None


class Occupancy(NamedTuple):
    """How full a machine is over a whole schedule.

    Parameters
    ----------
    durations : pd.Series
        Seconds per number of occupied nodes above 0, longest first.
    most_frequent, total_nodes : int
        The number of nodes that is occupied longest (0 where none ever is), of how many.
    jobs_near_full : int
        Most jobs at once while the machine was nearly full.
    jobs : int
        All jobs.
    short : pd.Series
        As of `short_shares`.
    """

    durations: pd.Series
    most_frequent: int
    total_nodes: int
    jobs_near_full: int
    jobs: int
    short: pd.Series

    @property
    def table(self) -> pd.DataFrame:
        """Days for which the eight most frequent numbers of nodes were occupied."""
        days = (self.durations.head(8) / DAY).round(2)
        return days.rename_axis("occupied nodes").rename("days").to_frame()


class Case(NamedTuple):
    """A scenario, or why the schedule has none of so many jobs."""

    scenario: Scenario | None
    why: str = ""

    @property
    def name(self) -> str:
        """The scenario in words."""
        return self.scenario.name if self.scenario else "no scenario"


class Setting(NamedTuple):
    """What is asked of evictions, and what logs do not have.

    `interval` is between two application checkpoints of a job, seconds; 0 is Daly's for a node
    that fails every `node_mtbf` seconds. `seed` is of the jobs' memory.
    """

    system: System
    nodes_needed: tuple[int, ...]
    horizon: float = 900.0
    step: float = 60.0
    interval: float = HOUR
    node_mtbf: float = 315_576_000.0
    seed: int = 0

    def interval_of(self, schedule: Schedule) -> float | np.ndarray:
        """Seconds between application checkpoints, of all jobs or of each."""
        if self.interval:
            return self.interval
        return checkpoint_table(
            schedule.workload,
            self.system,
            interval="daly",
            node_mtbf=self.node_mtbf,
            seed=self.seed,
        )["interval"].to_numpy()


class FullMoments(NamedTuple):
    """Full moments of a schedule.

    Parameters
    ----------
    times : np.ndarray
        The moments chosen, seconds of the schedule's clock.
    jobs : np.ndarray
        Jobs that run at each of them.
    total, hours : int
        All full moments, and all whole hours of the schedule.
    """

    times: np.ndarray
    jobs: np.ndarray
    total: int
    hours: int

    @property
    def summary(self) -> str:
        """How many moments were chosen of how many, in words."""
        if not self.total:
            return f"no moment of {self.hours:,} is full"
        chosen = len(self.times)
        share = f"{chosen:,} of {self.total:,}" if chosen < self.total else f"all {chosen:,}"
        return f"{share} full moments, one per hour at most, of {self.hours:,} hours"


def prepare_log(
    trace: str, *, seed: int = 0, policy: str = "", cores_per_node: int = 0, machine_nodes: int = 0
) -> Log:
    """A log's schedule, as `prepare_schedule` makes it; 0 stands for what the log says itself."""
    cores = cores_per_node or None
    schedule = prepare_schedule(
        trace, seed=seed, policy=policy, cores_per_node=cores, nodes=machine_nodes or None
    )
    name = schedule.name
    if THETA.name.lower() not in name.lower():
        name += ", on memory and bandwidth of Theta"
    if trace == SYNTHETIC:
        return Log(schedule, name, theta=False, own=True, used=None)
    whole = load_trace(trace, verbose=False, cores_per_node=cores)
    used, theta = metrics.share_used(schedule.workload, whole), THETA.name in schedule.system.name
    return Log(schedule, name, theta=theta, own=theta, used=used)


def busy_month(schedule: Schedule, first_day: int) -> Month:
    """The month from a day on, or the busiest one where that has 1.5 times as many node-hours."""
    first, last = schedule.start_time.min(), schedule.end_time.max()
    begin = max(first, min(first_day * DAY, last - MONTH))
    begin, end = metrics.busy_window(schedule, MONTH, start=begin)
    window = {"start": max(first, begin), "end": min(end, last)}
    nodes = metrics.hourly(metrics.occupied_nodes(schedule), **window)
    jobs = metrics.hourly(metrics.running_jobs(schedule), **window)
    return Month(nodes, jobs, schedule.system.total_nodes, schedule.workload.began)


def occupancy_of(schedule: Schedule) -> Occupancy:
    """How many nodes are occupied how long, and how many jobs run when nearly all are."""
    occupied = metrics.occupied_nodes(schedule)
    durations = metrics.held_durations(occupied)
    durations = durations[durations.index > 0].sort_values(ascending=False, kind="stable")
    total = schedule.system.total_nodes
    most_frequent = commonest_occupancy(durations, total)
    near_full = (occupied >= most_frequent * NEARLY_FULL) & (occupied <= total)
    running = metrics.running_jobs(schedule).reindex(occupied.index)
    most_jobs = max(running[near_full], default=0)
    jobs, short = len(schedule.workload), short_shares(schedule.workload)
    return Occupancy(durations, most_frequent, total, most_jobs, jobs, short)


def commonest_occupancy(durations: pd.Series, total_nodes: int) -> int:
    """The number of nodes from 1 to all that is occupied longest; 0 where none ever is.

    A recorded log may hold more than there are.
    """
    within = durations[(durations.index > 0) & (durations.index <= total_nodes)]
    return int(within.sort_values(ascending=False, kind="stable").index[0]) if len(within) else 0


def short_shares(workload: Workload) -> pd.Series:
    """Share of the jobs that are expendable: of `all`, and of those of few and of many nodes.

    Classes without a job are NaN.
    """
    short, nodes = workload.jobs["run_time"] < EXPENDABLE, workload.jobs["nodes"]
    classes = {"all": nodes > 0, "≤ 8 nodes": nodes <= 8, "≥ 128 nodes": nodes >= 128}
    return pd.Series({name: short[inside].mean() for name, inside in classes.items()})


def setting_of(occupancy: Occupancy, nodes_needed: Iterable[int] = (), **asked: Any) -> Setting:
    """A setting on a machine of Theta's nodes; by default the paper's K, in proportion."""
    parts = {max(1, occupancy.most_frequent * part // 34) for part in NEEDED}
    needed = tuple(nodes_needed) or tuple(sorted(parts))
    return Setting(THETA.with_nodes(occupancy.total_nodes), needed, **asked)


def choose_scenarios(
    schedule: Schedule, *, jobs: Iterable[int], occupied: int, lasts: float = 0.0, seed: int = 0
) -> list[Case]:
    """`eviction.choose_scenario` for each number of jobs, or why there is none."""
    cases = []
    for number in jobs:
        try:
            found = eviction.choose_scenario(
                schedule, jobs=number, occupied=occupied, lasts=lasts, seed=seed
            )
        except LookupError as error:
            cases.append(Case(None, str(error)))
        else:
            cases.append(Case(found))
    return cases


def pose(cases: Iterable[Case], setting: Setting) -> dict[str, EvictionProblem]:
    """The eviction problem of each scenario, by the scenario's name."""
    return {
        scenario.name: EvictionProblem.from_schedule(
            scenario.schedule,
            at=scenario.at,
            nodes_needed=0,
            horizon=setting.horizon,
            step=setting.step,
            system=setting.system,
            interval=setting.interval_of(scenario.schedule),
            seed=setting.seed,
        )
        for scenario, _ in cases
        if scenario is not None
    }


def asking(problem: EvictionProblem, nodes_needed: Iterable[int]) -> list[EvictionProblem]:
    """A problem for each number of nodes needed that its jobs hold."""
    return [problem.asking(needed) for needed in nodes_needed if needed <= problem.total_nodes]


def middle_problem(
    problems: Mapping[str, EvictionProblem], setting: Setting
) -> tuple[str, EvictionProblem]:
    """The second of three scenarios; where there is none, a problem without jobs."""
    if not problems:
        return "no scenario", EvictionProblem.empty(horizon=setting.horizon, step=setting.step)
    return list(problems.items())[len(problems) // 2]


def compare_solvers(
    problems: Mapping[str, EvictionProblem],
    *,
    nodes_needed: Iterable[int],
    repeat: int = 5,
    time_limit: float = 10.0,
    own_solvers: Iterable[Any] = (),
) -> pd.DataFrame:
    """Each solver on each problem for each number of nodes, one row per deadline.

    Parameters
    ----------
    problems : mapping of str to EvictionProblem
        Scenarios by name, those with fewer jobs first.
    nodes_needed : iterable of int
        Problems whose jobs hold fewer nodes are left out.
    repeat : int, default 5
        Timed runs, after one that is not counted (it compiles); the response time is their median.
        Backtracking is repeated only where it takes at most 50 ms.
    time_limit : float, default 10.0
        Of backtracking, seconds per deadline.
    own_solvers : iterable, optional
        Other solvers, as `cosimlib.solve` takes them.

    Returns
    -------
    pd.DataFrame
        `scenario`, `nodes_needed`, `solver`, `deadline` (s), `response_time` (s), `loss`
        (node-hours), `checkpoint_time` (s), `nodes_freed`, `optimal`, and `bound`: whether the
        response time is a lower bound because the time limit ran out at this deadline or an
        earlier one, since times accumulate.
    """
    tables, own = [], [solver_of(each)[1] for each in own_solvers]
    for scenario, problem in problems.items():
        for case in asking(problem, nodes_needed):
            plans = [
                median_plan(solve_dynamic, case, repeat),
                median_plan(solve_as_printed, case, repeat),
                median_plan(solve_greedy, case, repeat),
                _median_backtracking(case, repeat, time_limit),
                *(median_plan(solve, case, repeat) for solve in own),
            ]
            tables += [_plan_rows(plan).assign(scenario=scenario) for plan in plans]
    no_row = _plan_rows(solve_dynamic(EvictionProblem.empty())).assign(scenario="").head(0)
    first = [*CASE, "solver"]
    table = pd.concat(tables or [no_row], ignore_index=True)
    return table[first + [column for column in table if column not in first]]


def median_plan(
    solve: Callable[[EvictionProblem], EvictionPlan], problem: EvictionProblem, repeat: int
) -> EvictionPlan:
    """A plan whose response time is the median of `repeat` runs, element by element."""
    plans = [solve(problem) for _ in range(repeat + 1)][1:]
    response_time = np.median([plan.response_time for plan in plans], axis=0)
    return replace(plans[0], response_time=response_time)


def _median_backtracking(problem: EvictionProblem, repeat: int, time_limit: float) -> EvictionPlan:
    """`median_plan` for backtracking, of one run where that takes long."""
    solve = partial(solve_backtracking, time_limit=time_limit)
    solve_backtracking(problem, time_limit=1e-3)
    plan = solve(problem)
    if plan.response_time[-1] > REPEATED_BELOW:
        return plan
    return median_plan(solve, problem, repeat)


def _plan_rows(plan: EvictionPlan) -> pd.DataFrame:
    """A plan's table with its case, solver and response times."""
    stopped = np.maximum.accumulate(~plan.proven) & (plan.solver == "backtracking")
    return plan.table().assign(
        nodes_needed=plan.problem.nodes_needed,
        solver=plan.solver,
        response_time=plan.response_time,
        bound=stopped,
    )


def excess_over_draws(
    draws: Iterable[Mapping[str, EvictionProblem]],
    *,
    nodes_needed: Iterable[int],
    own_solvers: Iterable[Any] = (),
) -> pd.DataFrame:
    """Greedy's loss beyond the optimum over draws of what logs do not have, such as memory.

    Parameters
    ----------
    draws : iterable of mappings of str to EvictionProblem
        Scenarios by name, for each draw.
    nodes_needed : iterable of int
        Left out where the jobs hold fewer.
    own_solvers : iterable, optional
        Other solvers, as `cosimlib.solve` takes them. Their scenarios are named
        ``"scenario: solver"``.

    Returns
    -------
    pd.DataFrame
        `scenario`, `nodes_needed`, `deadline` (s), means `optimum` and `excess`, and the `least`
        and `most` excess of the draws (node-hours).
    """
    keys, means = [*CASE, "deadline"], ["optimum", "excess"]
    solvers: dict[str, Solver] = {"": solve_greedy}
    solvers |= {f": {name}": solve for name, solve in map(solver_of, own_solvers)}
    rows = [
        (scenario + suffix, case.nodes_needed, deadline, best, round(loss - best, 6))
        for problems in draws
        for scenario, problem in problems.items()
        for case in asking(problem, nodes_needed)
        for suffix, solve in solvers.items()
        for deadline, best, loss in zip(
            case.deadlines, solve_dynamic(case).loss, solve(case).loss, strict=True
        )
    ]
    cases = pd.DataFrame(rows, columns=[*keys, *means]).groupby(keys, sort=False)
    spread = cases["excess"].agg(least="min", most="max")
    return pd.concat([cases[means].mean(), spread], axis=1).reset_index()


def full_moments(
    schedule: Schedule, setting: Setting, *, occupied: int, most: float = np.inf
) -> FullMoments:
    """The hours at which a schedule's machine is nearly full: each, or each second, third, ….

    Parameters
    ----------
    schedule : Schedule
    setting : Setting
    occupied : int
        The most frequent number of occupied nodes.
    most : float, optional
        Cells of tables (jobs · nodes · pairs of deadlines) in all moments chosen, at most; about a
        billion take a second. All moments by default.
    """
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
    deadlines = setting.horizon / setting.step + 1
    cells = jobs * held * (deadlines * (deadlines + 1) / 2)
    fits = np.flatnonzero(full & (cells <= LARGEST_MOMENT))
    stride = max(1, int(np.ceil(cells[fits].sum() / most)))
    chosen = fits[::stride]
    return FullMoments(hours[chosen], jobs[chosen], int(full.sum()), len(hours))


def survey_moments(schedule: Schedule, moments: FullMoments, setting: Setting) -> pd.DataFrame:
    """What evictions lose at each of some moments, by each number of nodes needed and deadline.

    Numbers of nodes are left out where fewer are held.

    Returns
    -------
    pd.DataFrame
        `moment` (s), `jobs`, `nodes_needed`, `deadline` (s), and node-hours: lost by `greedy`, by
        the paper's `optimum`, by that with `overlapping` waits; lost or blocked by the plan of the
        paper's optimum (`cost_of_optimum`) and at least (`least_cost`).
    """
    system, interval, parts = setting.system, setting.interval_of(schedule), []
    memory = draw_memory(schedule.workload, system, seed=setting.seed)
    for moment in moments.times.tolist():
        table = running_jobs_at(schedule, moment, system=system, interval=interval, memory=memory)
        problem = EvictionProblem(table, 0, setting.horizon, setting.step)
        parts += [_moment_rows(case, moment) for case in asking(problem, setting.nodes_needed)]
    if not parts:
        return pd.DataFrame({name: np.zeros(0) for name in SURVEY})
    return pd.DataFrame(np.concatenate(parts), columns=SURVEY).astype(
        {"jobs": "int64", "nodes_needed": "int64"}
    )


def _moment_rows(problem: EvictionProblem, moment: float) -> np.ndarray:
    """The rows of one problem: one per deadline, as wide as `SURVEY`."""
    best = solve_dynamic(problem)
    rows = np.empty((len(problem.deadlines), len(SURVEY)))
    rows[:, 0], rows[:, 1], rows[:, 2] = moment, len(problem), problem.nodes_needed
    rows[:, 3] = problem.deadlines
    rows[:, 4], rows[:, 5] = solve_greedy(problem).loss, best.loss
    rows[:, 6] = solve_overlapping(problem).loss
    rows[:, 7], rows[:, 8] = TimedPlan.of(best).cost, solve_blocked(problem).cost
    return rows
