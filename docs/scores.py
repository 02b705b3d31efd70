"""F1 to F4 on their authors' own workloads: all waiting jobs in order, or only the 32 foremost.

``python -m docs.scores lublin_256.swf`` prints the second table of the recipe "the baselines that
everyone cites". The file is the workload that Carastan-Santos and de Camargo published with their
programs, which are in the history of github.com/fredgrub/gen-sched-policies: commit 5c65ec0, of
July 2017, which says that it complies with the final version of the paper (SC 2017).

Their `sched-simulator-runtime.c` simulates a strict order without backfilling, by true run times.
It puts in order only the 32 waiting jobs that were submitted first: the others wait behind them.
The sequences are theirs, too: 16 jobs, which start in order of submission and do not count, and all
jobs that come within 15 days of the first; the next sequence begins after them. There are ten. The
table has medians of the sequences' mean bounded slowdowns.
"""

import sys
from collections.abc import Iterator
from heapq import heappop, heappush

import numpy as np

import cosimlib as cs
from cosimlib.units import DAY
from cosimlib.workload import JobArrays

FIRST, FOREMOST, SEQUENCES, LENGTH = 16, 32, 10, 15 * DAY
"""Jobs of a sequence that do not count; waiting jobs that are put in order; sequences; seconds."""


def score(name: str, jobs: JobArrays, waiting: np.ndarray, now: float) -> np.ndarray:
    """The scores of waiting jobs at a moment, lowest first; submissions count from the first."""
    run, nodes = jobs.run_time[waiting], jobs.nodes[waiting].astype(float)
    submit = jobs.submit_time[waiting] - jobs.submit_time[0]
    waited = now - jobs.submit_time[waiting]
    with np.errstate(divide="ignore"):
        late = np.log10(submit)
        return {
            "FCFS": np.zeros(waiting.size),
            "WFP3": -((waited / run) ** 3) * nodes,
            "UNICEF": -waited / (np.log2(nodes) * run + 1e-20),
            "SPT": run,
            "SAF": run * nodes,
            "F4": run * np.sqrt(nodes) + 530_000 * late,
            "F3": run * nodes + 6_860_000 * late,
            "F2": np.sqrt(run) * nodes + 25_600 * late,
            "F1": np.log10(run) * nodes + 870 * late,
        }[name]


NAMES = ("FCFS", "WFP3", "UNICEF", "SPT", "SAF", "F4", "F3", "F2", "F1")


def starts(name: str, jobs: JobArrays, total_nodes: int, foremost: int = FOREMOST) -> np.ndarray:
    """Starts (s) in strict order of a score among the foremost waiting jobs, after the first 16."""
    n = jobs.nodes.size
    start, queue, ends = np.full(n, np.nan), list(range(n)), []
    free, now, begun, submitted = total_nodes, float(jobs.submit_time[0]), 0, 0
    while queue:
        while ends and ends[0][0] <= now:
            free += heappop(ends)[1]
        submitted = int(np.searchsorted(jobs.submit_time, now, side="right"))
        waiting = np.array([job for job in queue[:foremost] if job < submitted], dtype=np.int64)
        if begun >= FIRST and waiting.size:
            order = np.argsort(score(name, jobs, waiting, now), kind="stable")
            queue[: waiting.size] = waiting[order].tolist()
        head = queue[0]
        if waiting.size and jobs.nodes[head] <= free:
            start[head] = now
            free -= jobs.nodes[head]
            heappush(ends, (now + jobs.run_time[head], int(jobs.nodes[head])))
            queue.pop(0)
            begun += 1
        else:
            coming = jobs.submit_time[submitted : submitted + 1].tolist()
            now = min(coming + [end for end, _ in ends[:1]])
    return start


def sequences(workload: cs.Workload) -> Iterator[JobArrays]:
    """The sequences of a workload."""
    jobs, first = workload.arrays(workload.machine, requested_time=False), 0
    for _ in range(SEQUENCES):
        until = jobs.submit_time[first] + LENGTH
        last = int(np.searchsorted(jobs.submit_time, until, side="right"))
        yield jobs._replace(**{name: column[first:last] for name, column in jobs._asdict().items()})
        first = last


def slowdowns(workload: cs.Workload, foremost: int) -> dict[str, float]:
    """The median of the sequences' mean bounded slowdowns, by score."""
    found: dict[str, list[float]] = {name: [] for name in NAMES}
    for jobs in sequences(workload):
        for name in NAMES:
            wait = starts(name, jobs, workload.machine.total_nodes, foremost) - jobs.submit_time
            slowdown = (wait + jobs.run_time) / np.maximum(jobs.run_time, 10.0)
            found[name].append(float(np.maximum(slowdown, 1.0)[FIRST:].mean()))
    return {name: float(np.median(values)) for name, values in found.items()}


def main() -> None:
    """Print both rows."""
    workload = cs.prepare_workload(sys.argv[1])
    for foremost in (FOREMOST, len(workload)):
        row = slowdowns(workload, foremost)
        print(f"{foremost} foremost:", *(f"{name} {value:.2f}" for name, value in row.items()))


if __name__ == "__main__":
    main()
