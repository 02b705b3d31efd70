"""Kernels compiled once, before several processes would compile the same at the same time."""

import pandas as pd

from cosimlib import synthetic
from cosimlib.eviction import SOLVERS, solve_spectrum
from cosimlib.eviction.comparison import scaled_problem
from cosimlib.schedulers import SIMULATORS
from cosimlib.schedulers.coscheduling import simulate_coscheduling
from cosimlib.schedulers.elastic import simulate_elastic
from cosimlib.system import System
from cosimlib.timesharing import run_batch, run_timesharing
from cosimlib.workload import Workload


def warm() -> None:
    """Run every simulator and solver on the smallest input that there is."""
    problem = scaled_problem(2, 4)
    for solve in SOLVERS.values():
        solve(problem)
    solve_spectrum(problem)
    workload = synthetic.theta(2)
    for simulate in SIMULATORS.values():
        simulate(workload, workload.machine)
    one = {"submit_time": [0.0, 0.0], "run_time": 1.0, "requested_time": 1.0, "nodes": 1}
    pair = pd.DataFrame(one).assign(partition=["a", "b"], mate=[1, 0])
    simulate_coscheduling(Workload(pair, "pair"), System.of(a=1, b=1))
    simulate_elastic(Workload(pd.DataFrame(one), "two"), System.of(1))
    small, machine = synthetic.edison(0.2, nodes=16), synthetic.EDISON.with_nodes(16)
    run_batch(small, machine, warm_up=0.0)
    run_timesharing(small, machine, warm_up=0.0)
