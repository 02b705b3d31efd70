"""Compile simulators and solvers ahead, in parts at the same time (``python -m cosimlib.warm``).

What is compiled lies on disk, so that whoever comes later finds it there. Processes that met the
same kernels first at the same time would each compile them.
"""

import argparse
import gc
import warnings
from collections.abc import Callable, Collection, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context

import pandas as pd

from cosimlib import synthetic
from cosimlib.batch import simulate_easy
from cosimlib.compiled import (
    BATCH,
    BURSTS,
    CONSERVATIVE,
    COSCHEDULING,
    ELASTIC,
    EVICTION,
    FILLING,
    TIMESHARING,
    compiling,
    is_compiled,
    part_of,
)
from cosimlib.coscheduling import simulate_coscheduling
from cosimlib.elastic import (
    drained,
    least_waste,
    occupants,
    preemption_values,
    same_choice,
    simulate_elastic,
    wasted_cycles,
)
from cosimlib.eviction import (
    SOLVERS,
    TimedPlan,
    solve_as_printed,
    solve_blocked,
    solve_greedy,
    solve_overlapping,
    solve_spectrum,
)
from cosimlib.eviction.scenarios import scaled_problem
from cosimlib.kernels.jit import cache_folder
from cosimlib.ondemand import simulate_ondemand
from cosimlib.policies import BUILT_IN
from cosimlib.sweep import count_cores
from cosimlib.system import System
from cosimlib.timesharing import simulate_batch, simulate_timesharing
from cosimlib.workload import Workload

YOUNG = 50_000
"""Objects after which the garbage collector looks at young ones: compiling makes many that stay."""


def warm(jobs: int | None = None, parts: Collection[str] | None = None) -> None:
    """Compile what is not compiled yet, in so many processes; by default in as many as cores."""
    missing = {part for part in (PARTS if parts is None else parts) if not is_compiled(part)}
    # Those that wait for others come last; else what takes longest is not left for the end.
    these = sorted(missing, key=lambda part: (part in NEEDS, [*PARTS].index(part)))
    processes = min(jobs or count_cores(), len(these))
    if processes < 2:
        for part in these:
            _compile_after_needs(part)
        return
    # Not a sweep's workers, which are copies of a process that has run simulators.
    with ProcessPoolExecutor(processes, mp_context=get_context("spawn")) as pool:
        list(pool.map(_compile_after_needs, these))


def _compile_after_needs(part: str) -> None:
    """Compile a part after those that it needs, or wait while another process does these."""
    for need in sorted(NEEDS.get(part, ())):
        compile_part(need)
    compile_part(part)


def is_warm() -> bool:
    """Whether all parts are compiled from the files as they are."""
    return all(map(is_compiled, PARTS))


def compile_part(part: str) -> None:
    """Run the simulators or solvers of one part on the smallest input that there is."""
    limits = gc.get_threshold()
    is_ours = not gc.get_freeze_count()  # a process that has frozen its own is left alone
    gc.freeze()
    gc.set_threshold(YOUNG, *limits[1:])
    try:
        with compiling(part) as needed, warnings.catch_warnings():
            warnings.simplefilter("ignore")
            if needed:
                PARTS[part]()
    finally:
        gc.set_threshold(*limits)
        if is_ours:
            gc.unfreeze()


def _small() -> tuple[Workload, System]:
    workload = synthetic.theta(2)
    assert workload.machine is not None
    return workload, workload.machine


def _evict() -> None:
    problem = scaled_problem(2, 4)
    also: list[Callable] = [solve_as_printed, solve_spectrum, solve_overlapping, solve_blocked]
    for solve in [*SOLVERS.values(), *also]:
        solve(problem)
    TimedPlan.of(solve_greedy(problem)).blocked  # noqa: B018


def _schedule(family: str) -> None:
    for name, simulate in BUILT_IN.items():
        if part_of(name) == family:
            simulate(*_small())
            if family != FILLING:
                simulate(*_small(), order="wfp")


def _cut_in() -> None:
    bursts = synthetic.bursts(rate=4, nodes=1024, horizon=86_400.0)
    simulate_ondemand(*_small(), bursts, start_up=60.0).allocations  # noqa: B018


def _pair() -> None:
    jobs = {"submit_time": 0.0, "run_time": 1.0, "requested_time": 1.0, "nodes": 1}
    pair = pd.DataFrame(jobs, index=range(2)).assign(partition=["a", "b"], mate=[1, 0])
    simulate_coscheduling(Workload(pair, "pair"), System.of(a=1, b=1))


def _lend() -> None:
    times = {"submit_time": [0.0, 0.0], "run_time": 1.0, "requested_time": 1.0}
    two, machine = Workload(pd.DataFrame(times).assign(nodes=1), "two"), System.of(1)
    simulate_elastic(two, machine)
    followed = simulate_easy(two, machine)
    preemption_values(followed, [0.0])
    occupants(followed, [0.0])
    same_choice(followed, "LIFO", "PAP", preempted=1)
    for waste in (wasted_cycles, drained, least_waste):
        waste(followed, preempted=1)


def _share() -> None:
    jobs, machine = synthetic.edison(0.2, nodes=16), synthetic.EDISON.with_nodes(16)
    for spmd in (True, False):
        simulate_batch(jobs, machine, spmd=spmd, noise=0.1)
        simulate_timesharing(jobs, machine, spmd=spmd, noise=0.1)


PARTS: dict[str, Callable[[], None]] = {
    BATCH: partial(_schedule, BATCH),
    FILLING: partial(_schedule, FILLING),
    BURSTS: _cut_in,
    TIMESHARING: _share,
    CONSERVATIVE: partial(_schedule, CONSERVATIVE),
    ELASTIC: _lend,
    COSCHEDULING: _pair,
    EVICTION: _evict,
}
"""What compiles apart from the rest: first what others need, then what takes longest."""
NEEDS = {
    TIMESHARING: {BATCH},
    CONSERVATIVE: {BATCH, FILLING},
    BURSTS: {EVICTION},
    ELASTIC: {BATCH},
}
"""Parts that call kernels of others, which they would compile too if these were not there."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Compile, and say so."""
    parser = argparse.ArgumentParser(prog="python -m cosimlib.warm", description=main.__doc__)
    parser.add_argument("--jobs", type=int, metavar="N", help="processes; default: all cores")
    told = f"of {', '.join(PARTS)}; default: all"
    parser.add_argument("parts", nargs="*", metavar="PART", help=told)
    given = parser.parse_args(arguments)
    if given.jobs is not None and given.jobs < 1:
        parser.error(f"--jobs {given.jobs}: expected 1 or more")
    for part in given.parts:
        if part not in PARTS:
            parser.error(f"{part!r}: expected parts {told}")
    warm(given.jobs, given.parts or None)
    print(f"{', '.join(given.parts) or 'simulators and solvers'}: compiled in {cache_folder()}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
