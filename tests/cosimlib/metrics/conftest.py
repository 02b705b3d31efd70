"""A schedule of three jobs for the metrics, and one of none."""

import numpy as np
import pandas as pd
import pytest

from cosimlib.schedule import Schedule
from cosimlib.system import System
from cosimlib.workload import Workload


@pytest.fixture
def schedule() -> Schedule:
    """Of four nodes, 3 are held from 10 to 20, 2 from 20 to 60, and 1 more from 30 to 32."""
    jobs = {
        "submit_time": [10, 12, 30],
        "run_time": [10, 40, 2],
        "nodes": [3, 2, 1],
        "user": ["ann", "bob", "ann"],
    }
    workload = Workload(pd.DataFrame(jobs), "made up")
    return Schedule.from_starts(workload, System.of(4), np.array([10.0, 20.0, 30.0]), "GREEDY")


def no_jobs() -> Schedule:
    """The schedule of a workload without jobs."""
    jobs = {"submit_time": [], "run_time": [], "nodes": []}
    return Schedule.from_starts(Workload(pd.DataFrame(jobs)), System.of(4), np.array([]), "NONE")
