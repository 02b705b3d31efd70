"""Compile simulators and solvers ahead, in parts at the same time (``python -m cosimlib.warm``).

What is compiled lies on disk, so that whoever comes later finds it there. Processes that met the
same kernels first at the same time would each compile them.
"""

import argparse
import hashlib
import warnings
from collections.abc import Callable, Sequence
from functools import partial

import pandas as pd

from cosimlib import synthetic
from cosimlib.batch import simulate_easy
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
from cosimlib.eviction import SOLVERS, solve_blocked, solve_overlapping, solve_spectrum
from cosimlib.eviction.comparison import scaled_problem
from cosimlib.files import write_whole
from cosimlib.kernels.fingerprint import PACKAGE
from cosimlib.kernels.jit import cache_folder
from cosimlib.ondemand import simulate_ondemand
from cosimlib.policies import SIMULATORS
from cosimlib.sweep import sweep
from cosimlib.sweep.pools import count_cores
from cosimlib.system import System
from cosimlib.timesharing import run_batch, run_timesharing
from cosimlib.workload import Workload

DONE = ".warm"
"""A file of the folder of compiled kernels: what `_stamp` told once all of them were in it."""


def warm(jobs: int | None = None) -> None:
    """Compile what is not compiled yet, in so many processes; by default in as many as cores."""
    if is_warm():
        return
    jobs = jobs or count_cores()
    shared = set().union(*NEEDS.values())
    for parts in (sorted(shared), [part for part in PARTS if part not in shared]):
        processes = min(jobs, len(parts))
        executor = processes if processes > 1 else None
        sweep(compile_part, {"part": parts}, executor=executor, errors="raise")
    note_warm()


def is_warm() -> bool:
    """Whether all parts are compiled from the files as they are."""
    done = cache_folder() / DONE
    return done.exists() and done.read_bytes() == _stamp()


def note_warm() -> None:
    """Note that all parts are compiled."""
    write_whole(cache_folder() / DONE, _stamp())


def _stamp() -> bytes:
    """When the package's files were changed: Numba compiles anew what was touched since."""
    times = [(str(path), path.stat().st_mtime_ns) for path in sorted(PACKAGE.rglob("*.py"))]
    return hashlib.sha256(repr(times).encode()).hexdigest().encode()


def compile_part(part: str) -> dict[str, bool]:
    """Run the simulators or solvers of one part on the smallest input that there is."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        PARTS[part]()
    return {"compiled": True}


def _small() -> tuple[Workload, System]:
    workload = synthetic.theta(2)
    assert workload.machine is not None
    return workload, workload.machine


def _evict() -> None:
    problem = scaled_problem(2, 4)
    also: list[Callable] = [solve_spectrum, solve_overlapping, solve_blocked]
    for solve in [*SOLVERS.values(), *also]:
        solve(problem)


def _schedule(family: str) -> None:
    for name, simulate in SIMULATORS.items():
        if _family(name) == family:
            simulate(*_small())


def _family(name: str) -> str:
    """The part that compiles a registered policy."""
    if "fill" in name:
        return FILLING
    return CONSERVATIVE if name.startswith("conservative") else BATCH


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
    run_batch(jobs, machine, warm_up=0.0)
    run_timesharing(jobs, machine, warm_up=0.0)


BATCH, CONSERVATIVE, FILLING = "batch", "conservative backfilling", "filling"
PARTS: dict[str, Callable[[], None]] = {
    BATCH: partial(_schedule, BATCH),
    FILLING: partial(_schedule, FILLING),
    "bursts": _cut_in,
    "time-sharing": _share,
    CONSERVATIVE: partial(_schedule, CONSERVATIVE),
    "elastic partitions": _lend,
    "coscheduling": _pair,
    "eviction": _evict,
}
"""What compiles apart from the rest: first what others need, then what takes longest."""
NEEDS = {
    "time-sharing": {BATCH},
    CONSERVATIVE: {BATCH, FILLING},
    "elastic partitions": {BATCH},
}
"""Parts that call kernels of others, which they would compile too if these were not there."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Compile, and say so."""
    parser = argparse.ArgumentParser(prog="python -m cosimlib.warm", description=main.__doc__)
    parser.add_argument("--jobs", type=int, metavar="N", help="processes; default: all cores")
    jobs = parser.parse_args(arguments).jobs
    if jobs is not None and jobs < 1:
        parser.error(f"--jobs {jobs}: expected 1 or more")
    warm(jobs)
    print(f"simulators and solvers are compiled: {cache_folder()}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
