"""Rows of the benchmark on elastic partitions: wasted cycles, their memory, and the protocol."""

from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

from cosimlab import twins
from cosimlib import elastic
from cosimlib.batch import simulate_easy
from cosimlib.elastic import simulate_elastic
from cosimlib.system import System
from papers.duplyakin2017.htc import htc
from tests.benchmarks.large import peak


def elastic_rows(median_of: Callable[..., float]) -> list[tuple]:
    """Single preemptions at all states of both workloads, and the protocol."""
    workloads = (htc(), twins.peregrine())
    schedules = [simulate_easy(workload, System.of(20)) for workload in workloads]
    states = sum(elastic.execution_states(schedule).size for schedule in schedules)
    pairs = [(schedule, policy) for schedule in schedules for policy in elastic.POLICIES]
    seconds = median_of(
        lambda: [elastic.wasted_cycles(schedule, policy=policy) for schedule, policy in pairs], 3
    )
    asked = elastic.draw_preemptions(rate=4.0, size=10, duration=3600.0, horizon=60 * 86_400.0)
    protocol = median_of(
        lambda: simulate_elastic(workloads[1], System.of(20), preemptions=asked), 3
    )
    case = f"HTC and PEREGRINE, {states:,} states x 5 policies x 10 grace periods"
    sequence = f"PEREGRINE, 7,275 jobs, {len(asked)} preemptions: simulate_elastic"
    return [
        (case, seconds, "s", "<= 60"),
        (case + ": peak memory of the process", _peak_memory(), "GiB", "<= 2"),
        (sequence, protocol, "s", ""),
    ]


def _peak_memory() -> float:
    """Peak GiB of a process of its own, imports and compilation included."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as alone:
        return alone.submit(_peak_of_waste).result() / 2**30


def _peak_of_waste() -> float:
    """Peak memory of this process in bytes, once wasted cycles of both workloads are computed."""
    for workload in (htc(), twins.peregrine()):
        schedule = simulate_easy(workload, System.of(20))
        for policy in elastic.POLICIES:
            elastic.wasted_cycles(schedule, policy=policy)
    return peak()
