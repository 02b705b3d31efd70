"""Audits of every real trace under every registered policy.

``python -m tests.audits`` audits all known traces that lie on this machine and prints a table of
seconds; names given after it choose among them. RICC, where tens of thousands of jobs wait at once,
takes some minutes under each policy that plans for every job. Traces are looked for where
COSIMLIB_TRACES points.
"""

import sys
from collections.abc import Sequence
from time import process_time

import numpy as np

from cosimlab.sweep import sweep
from cosimlib import traces
from cosimlib.audit import audit
from cosimlib.policies import SIMULATORS
from cosimlib.schedule import Schedule
from cosimlib.synthetic import with_drawn_estimates
from cosimlib.workload import Workload


def runnable(workload: Workload) -> Workload:
    """The jobs that fit the trace's machine, with drawn estimates where they have none."""
    fits = workload.jobs["nodes"] <= workload.machine.total_nodes
    return with_drawn_estimates(workload.keep(fits, "wider than its machine"))


def audited(workload: Workload, policy: str) -> Schedule:
    """A policy's schedule, once it is shown that every job has a start and that it could happen."""
    schedule = audit(SIMULATORS[policy](workload, workload.machine))
    assert len(schedule.start_time) == len(workload)
    assert np.isfinite(schedule.start_time).all()
    return schedule


def timed(workload: Workload, policy: str) -> dict[str, float]:
    """Processor time of a simulation and its audit, in seconds."""
    began = process_time()
    audited(workload, policy)
    return {"seconds": process_time() - began}


def main(names: Sequence[str]) -> None:
    """Audit on all cores, and print what was simulated in how many seconds."""
    unknown = [name for name in names if name not in traces.TRACES]
    if unknown:
        sys.exit(f"audits: no known trace {unknown[0]!r}; known are {', '.join(traces.TRACES)}")
    machines = [name for name, each in traces.TRACES.items() if each.cores_per_node is not None]
    found = [name for name in names or machines if traces.find_trace(name) is not None]
    if not found:
        sys.exit("audits: no trace found; let COSIMLIB_TRACES name their folder")
    logs = {name: runnable(traces.load(name, verbose=False)) for name in found}
    grid = {"workload": logs, "policy": list(SIMULATORS)}
    table = sweep(timed, grid, executor="cores", errors="raise")
    print(f"{len(table)} schedules could have happened; seconds of processor time each:")
    print(table.pivot_table("seconds", "policy", "workload", sort=False).round(2).to_string())


if __name__ == "__main__":
    main(sys.argv[1:])
