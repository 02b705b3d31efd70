"""Kernels compiled once, before several processes would compile the same at the same time."""

from cosimlib import synthetic
from cosimlib.eviction import SOLVERS, solve_spectrum
from cosimlib.eviction.comparison import scaled_problem
from cosimlib.schedulers import SIMULATORS


def warm() -> None:
    """Run every registered simulator and solver on the smallest input that there is."""
    problem = scaled_problem(2, 4)
    for solve in SOLVERS.values():
        solve(problem)
    solve_spectrum(problem)
    workload = synthetic.theta(2)
    for simulate in SIMULATORS.values():
        simulate(workload, workload.machine)
