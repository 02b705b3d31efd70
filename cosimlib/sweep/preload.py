"""Kernels of batch policies, loaded (compiled where that is due) when this module is imported.

Worker processes that fork from one that has imported it need not load them again.
"""

import pandas as pd

from cosimlib.batch import simulate_conservative, simulate_easy, simulate_fcfs
from cosimlib.system import System
from cosimlib.workload import Workload

_jobs = {"submit_time": [0.0, 0.0], "run_time": 1.0, "requested_time": 1.0, "nodes": 1}
for _simulate in (simulate_fcfs, simulate_easy, simulate_conservative):
    _simulate(Workload(pd.DataFrame(_jobs), "two jobs"), System.of(1))
