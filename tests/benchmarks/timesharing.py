"""Speeds of time-sharing at the paper's scale, beside full recomputation of all rates.

The runs are of synthetic Edison: 5,576 nodes, memory admission, steps of 10 s, on one core. A
stretch is some events with rates kept up to date. Full recomputation adds a progressive filling
from nothing to each event, which is measured by itself.
"""

import resource
import time
from collections.abc import Iterator

import numpy as np

from cosimlab import twins
from cosimlab.timesharing import simulate_batch
from cosimlib.kernels.jit import allocating_kernel
from cosimlib.kernels.records import records
from cosimlib.timesharing import kernel as loop
from cosimlib.timesharing import maxmin, simulate_timesharing
from cosimlib.timesharing.kernel import RUN, Series
from cosimlib.timesharing.simulation import in_steps, sharing_of
from cosimlib.units import DAY
from cosimlib.workload import Workload

NO_NOISE = loop.no_noise()
EVENTS = 3_000
State = tuple[maxmin.Sharing, np.record, loop.Lists]


def sharing_rows(days: int = 600) -> Iterator[tuple]:
    """Batch and time-sharing for `days` days; stretches by size of machine and load."""
    workload = twins.edison(days)
    what = f"Edison, {days} days, {len(workload):,} jobs"
    for name, simulate, goal in (
        ("batch", simulate_batch, "<= 10"),
        ("time-sharing", simulate_timesharing, "<= 300"),
    ):
        small = workload.keep(workload.jobs.index < 100, "after the first 100")
        simulate(small, workload.machine)
        begin = time.process_time()
        simulate(workload, workload.machine)
        yield (f"{what}: {name}, CPU time", time.process_time() - begin, "s", goal)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    yield (f"{what}: peak memory of this process", peak, "GiB", "<= 4")
    yield from _stretches()


def _stretches() -> Iterator[tuple]:
    """An event with rates kept up to date, and how many times as long filling takes."""
    for nodes, load in ((697, 0.89), (1_394, 0.89), (2_788, 0.89), (5_576, 0.89), (5_576, 0.7)):
        workload = twins.edison(12, nodes=nodes, load=load)
        state = _after(workload, 8 * DAY)
        _events(*state, NO_NOISE, 1)
        pairs = int(state[0].nodes.load.sum())
        begin = time.perf_counter()
        done = _events(*state, NO_NOISE, EVENTS)
        event = (time.perf_counter() - begin) / done
        maxmin.fill(state[0])
        begin = time.perf_counter()
        for _ in range(EVENTS):
            maxmin.fill(state[0])
        filling = (time.perf_counter() - begin) / EVENTS
        what = f"{nodes:,} nodes, load {load:g}, {pairs:,} job-node pairs"
        yield (f"{what}: an event", event * 1e6, "µs", "")
        goal = ">= 30" if (nodes, load) == (5_576, 0.89) else ""
        yield (f"{what}: full recomputation / that", (event + filling) / event, "x", goal)


def _after(workload: Workload, until: float) -> State:
    """The state of a time-shared machine at a time."""
    sharing = sharing_of(in_steps(workload), workload.machine, slots=128)
    run = records(1, RUN, speed=1.0, step=10.0, spmd=True)[0]
    lists, series = loop.empty_lists(sharing), Series(0.0, DAY, np.zeros((int(until / DAY) + 1, 3)))
    assert loop.advance(sharing, run, lists, NO_NOISE, series, until) == loop.PAUSED
    return sharing, run, lists


@allocating_kernel
def _events(
    sharing: maxmin.Sharing, run: np.record, lists: loop.Lists, noise: np.recarray, most: int
) -> int:
    """Let up to `most` instants happen; return how many did."""
    series = Series(run.now, np.inf, np.zeros((1, 3)))
    for done in range(most):
        now = loop.next_instant(sharing, run, noise)
        until = np.nextafter(now, np.inf)
        if loop.advance(sharing, run, lists, noise, series, until) != loop.PAUSED:
            return done
    return most
