"""Deadlock example: two machines of five nodes whose first two pairs of mates cross.

a1 waits for b2, behind b1; b1 waits for a2, behind a1. Three of five nodes each: no two of the four
fit on one machine. Everything is made up, after the circle that Tang et al. show on their slides.
"""

import pandas as pd

from cosimlib import checks as check
from cosimlib.coscheduling.mates import couple
from cosimlib.system import System
from cosimlib.units import MINUTE
from cosimlib.workload import Workload

MACHINES = System.of(A=5, B=5)
JOBS = {
    "A": [(0, 20, 3), (12, 20, 3), (16, 15, 2), (35, 20, 2), (50, 10, 4), (65, 25, 1)],
    "B": [(4, 20, 3), (8, 20, 3), (14, 10, 2), (30, 15, 3), (45, 30, 2), (60, 10, 4)],
}
"""Minute of submission, minutes of run time, nodes."""
PAIRS = ((0, 1), (1, 0), (2, 2), (3, 3), (4, 4), (5, 5))
"""Rows of A and of B that are mates, in the order in which they become so."""


def deadlock_example(pairs: int = 2) -> Workload:
    """Six jobs on each of two machines of five nodes, the first `pairs` pairs of them mates.

    Parameters
    ----------
    pairs : int, default 2
        From 0 to 6; from 2 on, machines that both hold can deadlock.
    """
    check.whole("pairs", pairs, 0, len(PAIRS), floats=True)
    machines = {}
    for machine, rows in JOBS.items():
        jobs = pd.DataFrame(rows, columns=["submit_time", "run_time", "nodes"])
        times = jobs[["submit_time", "run_time"]] * MINUTE
        jobs = jobs.assign(**times, requested_time=times["run_time"])
        machines[machine] = Workload(jobs, machine)
    mates = pd.DataFrame(PAIRS[: int(pairs)], columns=list(JOBS), dtype="Int64")
    return couple(machines, mates, name=f"{int(pairs)} pairs, the first two crossing")
