"""Speeds of FCFS, EASY and conservative backfilling on real logs, and what they are measured by.

Speeds are measured through the faces, from workload to schedule. Other people's are constants: the
jobs a second that those who made the reference schedules saw beside them, on their machine
(README of the folder of reference schedules; see docs/agreement.md). They are not measured here.
`tests.benchmarks.peers` measures pyss, AccaSim and CQSim here, on input of which no request is
below the run time: speeds 1.0 to 1.7 times lower on KTH-SP2 (docs/speed.md).
"""

import os
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numba
import pandas as pd

from cosimlab.gym import BatchEnv
from cosimlib import synthetic, traces
from cosimlib.batch import simulate_conservative, simulate_easy, simulation
from cosimlib.schedule import Schedule
from cosimlib.system import System
from cosimlib.workload import Workload
from tests import pages

EASY_ELSEWHERE = {
    "KTH-SP2": {
        "pyss": 10_783,
        "AccaSim": 3_688,
        "CQSim": 4_105,
        "Batsim": 1_695,
        "plain Python": 112_000,
    },
    "HPC2N": {
        "pyss": 1_241,
        "AccaSim": 3_203,
        "CQSim": 1_319,
        "Batsim": 1_014,
        "plain Python": 38_000,
    },
}
CONSERVATIVE_ELSEWHERE = {"pyss": 5_821, "CQSim": 3_107, "plain Python": 11_900}
"""Jobs a second, conservative on KTH-SP2."""

EASY_GOALS = {
    "KTH-SP2": (">= 1000000", ""),
    "SDSC-SP2": ("", ""),
    "HPC2N": (">= 200000", ""),
    "CEA-Curie": ("", "<= 10"),
    "RICC": ("", "<= 10"),
}
"""Goals in jobs a second and in seconds."""

replanned = partial(simulate_conservative, reservations="replanned")


def ready(workload: Workload) -> Workload:
    """The log on its machine as one partition: no job too wide, exact requests where unknown."""
    jobs = workload.jobs.drop(columns="partition", errors="ignore")
    requested = jobs["requested_time"].fillna(jobs["run_time"].clip(lower=1.0))
    one = Workload(jobs.assign(requested_time=requested), workload.name, workload.machine)
    return one.keep(one.jobs["nodes"] <= one.machine.total_nodes, "wider than the machine")


def scheduler_rows(best_of: Callable[..., float]) -> list[tuple]:
    """EASY on five logs; conservative, EASY as a policy of one's own and an agent on KTH-SP2."""
    rows = []
    for name, goals in EASY_GOALS.items():
        path = traces.find_trace(name)
        if path is None:
            continue
        workload = ready(traces.load(name, verbose=False))
        seconds = best_of(partial(simulate_easy, workload, workload.machine), 5)
        speed, what = len(workload) / seconds, f"{name}, {len(workload):,} jobs: EASY"
        rows += [(what, speed, "jobs/s", goals[0]), (what, seconds, "s", goals[1])]
        rows += _ratios(f"{name}: EASY", speed, EASY_ELSEWHERE.get(name, {}))
        if name == "KTH-SP2":
            rows += _conservative_rows(workload, best_of)
            rows += _own_policy_rows(workload, best_of)
    return rows + _growth_rows(best_of) + _overload_rows(best_of)


def _conservative_rows(workload: Workload, best_of: Callable[..., float]) -> list[tuple]:
    """Both readings of conservative backfilling on one log."""
    rows = []
    for reading, simulate in (("kept", simulate_conservative), ("replanned", replanned)):
        speed = len(workload) / best_of(partial(simulate, workload, workload.machine), 5)
        what = f"{workload.name}: conservative, {reading}"
        rows += [
            (what, speed, "jobs/s", ">= 100000"),
            *_ratios(what, speed, CONSERVATIVE_ELSEWHERE),
        ]
    return rows


def _own_policy_rows(workload: Workload, best_of: Callable[..., float]) -> list[tuple]:
    """EASY of docs/own-policy.md, plain and compiled, and steps of the environment, on one log."""
    easy, system = pages.function(pages.OWN_POLICY, "easy"), workload.machine
    rows = []
    for how, policy, goal in (
        ("in plain Python", easy, ">= 30000"),
        ("compiled", numba.njit(easy), ">= 300000"),
    ):
        seconds = best_of(partial(simulation.simulate, workload, system, policy), 5)
        what = f"{workload.name}: EASY as a policy of one's own, {how}"
        rows.append((what, len(workload) / seconds, "jobs/s", goal))
    environment = BatchEnv(workload, system, jobs=None)
    seconds = best_of(partial(_play, environment), 3)
    what = f"{workload.name}: BatchEnv, an agent that starts what fits"
    return [*rows, (what, _play(environment) / seconds, "steps/s", "")]


def _play(environment: BatchEnv) -> int:
    """The steps of one episode in which the first possible action is taken."""
    _, info = environment.reset(seed=0)
    steps, terminated = 0, False
    while not terminated:
        _, _, terminated, _, info = environment.step(int(info["action_mask"].argmax()))
        steps += 1
    return steps


def _ratios(what: str, speed: float, elsewhere: dict[str, int]) -> list[tuple]:
    """How many times the speed of each of the others."""
    return [
        (f"{what} / {name}'s speed", speed / theirs, "x", "") for name, theirs in elsewhere.items()
    ]


def _growth_rows(best_of: Callable[..., float]) -> list[tuple]:
    """Conservative on the first jobs of an overloaded machine, whose queue grows and grows."""
    path = Path(os.environ.get("COSIMLIB_ORACLES", "")) / "lublin10k.csv.gz"
    if not path.is_file():
        return []
    table = pd.read_csv(path)[["submit_time", "run_time", "nodes", "requested_time"]]
    rows, machine = [], System.of(256)
    for factor, estimates in ((1, "exact"), (3, "threefold")):
        for n in (1_250, 2_500, 5_000, 10_000):
            jobs = table.head(n).assign(requested_time=factor * table["requested_time"])
            workload = Workload(jobs, "lublin10k")
            for reading, simulate in (("kept", simulate_conservative), ("replanned", replanned)):
                run = partial(simulate, workload, machine)
                what = (
                    f"lublin10k, first {n:,}, up to {longest_queue(run()):,} waiting, {estimates} "
                    f"estimates: conservative, {reading}"
                )
                rows.append((what, n / best_of(run, 3), "jobs/s", ""))
    return rows


def _overload_rows(best_of: Callable[..., float]) -> list[tuple]:
    """EASY and conservative at an offered load of 1.3, on jobs of a model with users' estimates."""
    rows = []
    for n, name, simulate, goal in (
        (300_000, "EASY", simulate_easy, "<= 2"),
        (1_000_000, "EASY", simulate_easy, "<= 2"),
        (100_000, "conservative, kept", simulate_conservative, "<= 50"),
        (100_000, "conservative, replanned", replanned, "<= 50"),
    ):
        jobs = synthetic.with_estimates(synthetic.lublin(n, nodes=256, load=1.3))
        what = f"Lublin-Feitelson at load 1.3, {n:,} jobs: {name}"
        seconds = best_of(partial(simulate, jobs, System.of(256)), 1)
        rows.append((what, seconds / n * 1e6, "µs/job", goal))
    return rows


def longest_queue(schedule: Schedule) -> int:
    """The most jobs that ever waited at a time."""
    jobs = schedule.jobs
    waits = jobs[jobs["wait_time"] > 0]
    changes = pd.concat([pd.Series(1, waits["submit_time"]), pd.Series(-1, waits["start_time"])])
    return int(changes.groupby(level=0).sum().sort_index().cumsum().max())
