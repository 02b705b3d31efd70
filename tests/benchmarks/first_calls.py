"""First calls, ``python -m tests.benchmarks.first_calls``: processor seconds with an empty cache.

Each is made in a process of its own, whose cache of compiled kernels is empty. The seconds are
those of the whole process, which imports, makes forty jobs, compiles and runs. The last row is one
process that makes all calls.
"""

import subprocess
import sys
import tempfile

from tests.suites import ROOT

SETUP = """
import time
from dataclasses import replace
from pathlib import Path
from cosimlib.kernels import jit
jit.cache_folder = lambda *package: Path({folder!r})
import cosimlib as cs
jobs = cs.synthetic.lublin(40, nodes=32, seed=0)
jobs = cs.synthetic.with_scaled_estimates(jobs)
schedule = cs.Schedule.from_starts(jobs, jobs.machine, jobs.jobs["submit_time"], "at once")
from cosimlib.eviction.scenarios import scaled_problem
problem = scaled_problem(8, 64)
system = replace(
    jobs.machine, memory_per_node=192.0, aggregate_bandwidth=250.0, node_bandwidth=2.0
)
coupled = cs.Workload.join({{"a": jobs, "b": jobs}})
machines = cs.System("two", {{"a": 32, "b": 32}})
nodes = tuple(cs.slurm.Node(f"n{{number}}") for number in range(32))
main = cs.slurm.Partition("main", tuple(range(32)), default=True)
site = cs.slurm.Site("one partition", nodes, {{"main": main}})
{call}
print(time.process_time())
"""
CALLS = {
    "simulate_fcfs": "cs.simulate_fcfs(jobs, jobs.machine)",
    "simulate_first_fit": "cs.simulate_first_fit(jobs, jobs.machine)",
    "simulate_easy": "cs.simulate_easy(jobs, jobs.machine)",
    "simulate_conservative": "cs.simulate_conservative(jobs, jobs.machine)",
    "simulate_timesharing": "cs.simulate_timesharing(jobs, jobs.machine)",
    "simulate_filling": "cs.simulate_filling(jobs, jobs.machine)",
    "simulate_elastic": "cs.simulate_elastic(jobs, jobs.machine)",
    "simulate_ondemand": "cs.simulate_ondemand(jobs, system)",
    "simulate_coscheduling": "cs.simulate_coscheduling(coupled, machines)",
    "simulate_nodes": "cs.simulate_nodes(jobs, jobs.machine)",
    "slurm.simulate": "cs.slurm.simulate(jobs, site)",
    "solve_dynamic": "cs.solve_dynamic(problem)",
    "solve_greedy": "cs.solve_greedy(problem)",
    "solve_backtracking": "cs.solve_backtracking(problem)",
    "solve_spectrum": "cs.solve_spectrum(problem)",
    "audit": "cs.audit(cs.simulate_easy(jobs, jobs.machine))",
}
"""What is called, on forty jobs or eight."""


def main() -> None:
    """Print a row of Markdown per call, and one for all calls in one process."""
    print("| first call, empty cache | processor seconds |\n|---|---:|")
    for name, call in CALLS.items():
        print(f"| `{name}` | {_seconds(call)} |", flush=True)
    print(f"| all in one process | {_seconds('; '.join(CALLS.values()))} |", flush=True)


def _seconds(call: str) -> str:
    """Processor seconds of a new process that makes a call, or the last line of its error."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-c", SETUP.format(folder=folder, call=call)]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    found = done.stdout.split()
    return f"{float(found[-1]):.1f}" if found else done.stderr.splitlines()[-1]


if __name__ == "__main__":
    main()
