"""Job by job with SimGrid: hosts as links, jobs as flows over their links, exact max-min rates."""

import numpy as np
import pandas as pd
import pytest

from cosimlib.audit import audit
from cosimlib.system import System
from cosimlib.timesharing import simulate_timesharing
from cosimlib.workload import Workload

HOSTS = 32


@pytest.mark.oracles
@pytest.mark.parametrize("jobs", [200, 1000])
@pytest.mark.parametrize("finish", ["finish_simgrid", "finish_own"])
def test_ends_agree_job_by_job(oracle_path, jobs, finish):
    table = pd.read_csv(oracle_path(f"timesharing-{jobs}x{HOSTS}.csv.gz"), dtype={"hosts": str})
    placement = [np.array(hosts.split(), dtype=int) for hosts in table["hosts"]]
    asked = {
        "submit_time": table["submit"],
        "run_time": table["work"],
        "nodes": [hosts.size for hosts in placement],
    }
    workload = Workload(pd.DataFrame(asked), "oracle")
    schedule = audit(
        simulate_timesharing(workload, System.of(HOSTS), placement=placement, step=None)
    )
    assert len(table) == jobs
    assert (schedule.start_time == table["submit"]).all()
    np.testing.assert_allclose(schedule.end_time, table[finish], rtol=0, atol=1e-6)
