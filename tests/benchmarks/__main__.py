"""Benchmarks: `make bench` prints a table of speeds and keeps it as figures/bench.csv.

Compilation is not included: each kernel runs once before it is timed (for first calls see
`tests.benchmarks.first_calls`). Goals depend on the machine and are printed beside the
measurements; ratios compare two things measured one after the other.
"""

import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd

from cosimlab import twins
from cosimlab.sweep import sweep
from cosimlab.twins.lomonosov import LOMONOSOV
from cosimlib import synthetic, traces
from cosimlib.batch import simulate_easy, simulate_fcfs
from cosimlib.coscheduling import SCHEMES, simulate_coscheduling
from cosimlib.eviction import (
    EvictionProblem,
    solve_backtracking,
    solve_blocked,
    solve_dynamic,
    solve_greedy,
    solve_overlapping,
    solve_spectrum,
)
from cosimlib.eviction.scenarios import choose_scenario, scaled_problem
from cosimlib.files import write_whole
from cosimlib.filling import simulate_filling
from cosimlib.metrics import utilization
from cosimlib.schedule import Schedule
from cosimlib.system import THETA, System
from cosimlib.traces import read_swf
from papers.tang2011.experiment import (
    PROPORTIONS,
    UTILIZATIONS,
    Experiment,
    by_utilization,
    compare,
    month_of_intrepid,
)
from papers.tang2011.intrepid import EUREKA_NODES, INTREPID_NODES
from tests.benchmarks.batch import scheduler_rows
from tests.benchmarks.elastic import elastic_rows
from tests.benchmarks.explorers import explorer_rows
from tests.benchmarks.imports import import_rows
from tests.benchmarks.metrics import series_rows
from tests.benchmarks.programs import program_rows
from tests.benchmarks.sweeps import sweep_rows
from tests.benchmarks.timesharing import sharing_rows
from tests.cosimlib.eviction import naive

ROOT = Path(__file__).resolve().parents[2]
COLUMNS = ("what", "measured", "unit", "goal", "met")


def median_of(run: Callable[[], object], repeat: int = 7) -> float:
    """Median seconds of `repeat` runs after an uncounted one."""
    run()
    times = []
    for _ in range(repeat):
        begin = time.perf_counter()
        run()
        times.append(time.perf_counter() - begin)
    return float(np.median(times))


def theta_problem() -> EvictionProblem:
    """24 jobs on 4352 nodes, 16 deadlines, half the machine needed: the paper's hardest case."""
    workload = synthetic.theta(seed=0)
    schedule = simulate_easy(workload, workload.machine)
    scenario = choose_scenario(schedule, jobs=24, occupied=4352)
    return EvictionProblem.from_schedule(
        scenario.schedule, at=scenario.at, nodes_needed=2048, system=THETA
    )


def eviction_rows() -> list[tuple]:
    """Eviction solvers on the paper's hardest case and on a large problem."""
    problem = theta_problem()
    dynamic = median_of(lambda: solve_dynamic(problem), 51)
    greedy = median_of(lambda: solve_greedy(problem), 51)
    spectrum = median_of(lambda: solve_spectrum(problem), 21)
    overlapping, blocked = (
        median_of(partial(solve, problem), 21) for solve in (solve_overlapping, solve_blocked)
    )
    loss_only = median_of(lambda: naive.integer_program(problem, then_time=False), 3)
    loss_then_time = median_of(lambda: naive.integer_program(problem), 3)
    plan = solve_backtracking(problem, time_limit=2.0)
    sign = "" if plan.optimal else " (at least)"
    large = scaled_problem(1000, 10_000, horizon=3600.0)
    one, all_nodes = (
        median_of(partial(solve, large), 3) for solve in (solve_dynamic, solve_spectrum)
    )
    case = "24 jobs, 4352 nodes, 16 deadlines: "
    wide = "1,000 jobs, 10,000 nodes, 61 deadlines: "
    return [
        (case + "dynamic, one K", dynamic * 1e3, "ms", "<= 1"),
        (case + "dynamic, whole spectrum", spectrum * 1e3, "ms", "<= 1"),
        (case + "waits overlap", overlapping * 1e3, "ms", "<= 5"),
        (case + "loss and blocked nodes", blocked * 1e3, "ms", "<= 5"),
        (case + "greedy", greedy * 1e3, "ms", ""),
        (case + "SciPy HiGHS, loss then time / dynamic", loss_then_time / dynamic, "x", ">= 300"),
        (case + "SciPy HiGHS, loss only / dynamic", loss_only / dynamic, "x", ">= 300"),
        *program_rows(problem, case),
        (case + f"backtracking / dynamic{sign}", plan.response_time[-1] / dynamic, "x", ""),
        (wide + "dynamic, a quarter needed", one, "s", "<= 2"),
        (wide + "dynamic, whole spectrum", all_nodes, "s", "<= 2"),
    ]


def trace_rows() -> list[tuple]:
    """Reading and scheduling of the logs that are on this machine."""
    rows = []
    curie = traces.find_trace("CEA-Curie-2011-2.1-cln")
    if curie is not None:
        seconds = median_of(lambda: read_swf(curie, verbose=False), 3)
        rows.append(("CEA-Curie, 312,826 records: read_swf", seconds, "s", "<= 3"))
    for name in ("theta-2023-prod", "KTH-SP2-1996-2.1-cln"):
        if traces.find_trace(name) is not None:
            workload = traces.load(name, verbose=False)
            rows += [
                _policy_row(name, policy, workload) for policy in (simulate_fcfs, simulate_easy)
            ]
    workload = synthetic.theta(seed=0)
    rows.append(_policy_row("synthetic Theta", simulate_easy, workload))
    return rows


def _policy_row(name: str, simulate: Callable[..., Schedule], workload) -> tuple:
    """Jobs per second of one policy on one log, without jobs wider than the machine."""
    narrow = workload.jobs["nodes"] <= workload.machine.total_nodes
    workload = workload.keep(narrow, "wider than the machine")
    seconds = median_of(lambda: simulate(workload, workload.machine), 5)
    return (f"{name}: {simulate.__name__}", len(workload) / seconds, "jobs/s", "")


def coscheduling_rows() -> list[tuple]:
    """A month of Intrepid and the fullest Eureka per scheme; both experiments of the notebook."""
    workload = by_utilization(month_of_intrepid(), load=0.75)
    machines = System.of(intrepid=INTREPID_NODES, eureka=EUREKA_NODES)
    rows = []
    for scheme in (None, *SCHEMES):
        run = partial(simulate_coscheduling, workload, machines, schemes=scheme)
        what = f"Intrepid and Eureka, {len(workload):,} jobs, {scheme or 'base'}"
        rows.append((what, median_of(run, 3), "s", "<= 2"))
    begin = time.perf_counter()
    for grid in ({"load": UTILIZATIONS}, {"share": PROPORTIONS}):
        compare(Experiment(days=30.0), grid, executor=2)
    seconds = time.perf_counter() - begin
    return [*rows, ("both coscheduling experiments, 5 seeds, 2 processes", seconds, "s", "<= 180")]


def filling_rows() -> list[tuple]:
    """Conservative backfilling in slots, with and without containers, at the paper's scale."""
    rows = []
    for accuracy in (0.0, 0.5, 1.0):
        jobs = twins.lomonosov(accuracy=accuracy)
        for policy in (None, "B"):
            fill = partial(simulate_filling, jobs, LOMONOSOV, policy=policy, queue_depth=100)
            what = f"{len(jobs):,} jobs, 512 slots, 180 days, p = {accuracy:g}: "
            name = f"containers, policy {policy}" if policy else "no containers"
            rows.append((what + name, median_of(fill, 1), "s", "<= 5"))
    begin = time.perf_counter()
    runs = sweep(_load_of, {"accuracy": np.linspace(0, 1, 11)}, range(10), executor="cores")
    seconds = time.perf_counter() - begin
    return [*rows, (f"load against p, {len(runs)} runs of 180 days", seconds, "s", "<= 180")]


def _load_of(accuracy: float, seed: int) -> dict[str, float]:
    """One point of the figure of load against accuracy."""
    jobs = twins.lomonosov(accuracy=accuracy, seed=seed)
    schedule = simulate_filling(jobs, LOMONOSOV, policy=None, queue_depth=100)
    return {"load": utilization(schedule, start=0.0, end=180 * 86_400.0)}


def met(measured: float, goal: str) -> str:
    """Whether a measurement reaches a goal such as ``<= 3``; empty where there is none."""
    if not goal:
        return ""
    sign, number = goal.split()
    reached = measured <= float(number) if sign == "<=" else measured >= float(number)
    return "yes" if reached else "no"


def main() -> None:
    """Measure, print and write the table."""
    measured = eviction_rows() + trace_rows() + coscheduling_rows() + elastic_rows(median_of)
    measured += scheduler_rows(median_of) + filling_rows() + list(sharing_rows())
    measured += [*explorer_rows(), *series_rows(median_of), *sweep_rows()]
    measured += import_rows()
    rows = [(*row, met(row[1], row[3])) for row in measured]
    table = pd.DataFrame(rows, columns=COLUMNS)
    table["measured"] = [float(f"{value:.3g}") for value in table["measured"]]
    with pd.option_context("display.width", 200, "display.max_colwidth", 90):
        print(table.to_string(index=False, float_format=lambda value: f"{value:,.10g}"))
    path = ROOT / "figures" / "bench.csv"
    path.parent.mkdir(exist_ok=True)
    write_whole(path, table.to_csv(index=False).encode())
    print(f"kept as {path.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
