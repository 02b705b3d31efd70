"""Job by job with the schedules that other people's simulators made of real traces."""

import numpy as np
import pandas as pd
import pytest

from cosimlib.audit import audit
from cosimlib.schedulers.backfilling import simulate_easy, simulate_fcfs
from cosimlib.system import System
from cosimlib.workload import Workload

MACHINES = {"kth": 100, "sdsc5k": 128, "lublin10k": 256}
POLICIES = {"fcfs_pyss": simulate_fcfs, "easy_per_instant": simulate_easy}


@pytest.mark.oracles
@pytest.mark.parametrize("trace", MACHINES)
@pytest.mark.parametrize("column", POLICIES)
def test_starts_agree_job_by_job(oracle_path, trace, column):
    table = pd.read_csv(oracle_path(f"{trace}.csv.gz"))
    asked = Workload(table[["submit_time", "run_time", "nodes", "requested_time"]], trace)
    schedule = audit(POLICIES[column](asked, System.of(MACHINES[trace])))
    differ = np.flatnonzero(schedule.start_time != table[column].to_numpy())
    assert differ.size == 0, f"{differ.size} of {len(table)} differ, first job {differ[:1]}"
