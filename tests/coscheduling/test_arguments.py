"""Coscheduling refuses knobs and workloads that make no sense, and says why."""

import numpy as np
import pytest

from cosimlib.coscheduling import simulate_coscheduling
from cosimlib.workload import InvalidWorkloadError, Workload
from tests.coscheduling.test_simulation import FOUR, deadlock


@pytest.mark.parametrize(
    ("knobs", "message"),
    [
        ({"schemes": "HX"}, r"schemes='HX'; expected H .* for each of A, B, such as 'HY'"),
        ({"schemes": "HYH"}, "schemes='HYH'"),
        ({"schemes": ""}, "schemes=''"),
        ({"order": "lifo"}, "order='lifo'; expected one of 'wfp', 'submit'"),
        ({"mate_rule": "all"}, "mate_rule='all'; expected one of 'queuing', 'yielding'"),
        ({"release_interval": 0}, "release_interval=0; expected seconds above 0, or None"),
        ({"release_after": -1}, "release_after=-1"),
        ({"most_idle": -1}, "most_idle=-1; expected node-hours from 0, or None for any number"),
        ({"release_offset": -1}, "release_offset=-1; expected seconds from 0"),
        ({"held_share": 60}, "held_share=60; expected a part of the machine from 0 to 1"),
        ({"max_yields": -1}, "max_yields=-1"),
        ({"least_remaining": np.nan}, "least_remaining=nan"),
        (
            {"outages": [("C", 0, 1)]},
            "partition='C'; expected one of 'A', 'B'",
        ),
        ({"max_yields": "3"}, "max_yields='3'; expected a whole number from 0, or None"),
        ({"held_share": "3"}, "held_share='3'; expected a part of the machine from 0 to 1"),
        ({"release_interval": "9"}, "release_interval='9'; expected seconds above 0, or None"),
        ({"release_after": None}, "release_after=None; expected seconds from 0"),
        ({"least_remaining": "1"}, "least_remaining='1'; expected seconds from 0"),
        ({"outages": [("B", "1", "3")]}, r"outage=\('B', '1', '3'\); expected 0 <= start < end"),
        ({"outages": [("A", 5, 5)]}, "expected 0 <= start < end"),
        ({"outages": [("A", 5)]}, r"outage=\('A', 5\); expected \(partition, start, end\)"),
    ],
)
def test_knobs_that_make_no_sense_are_refused(knobs, message):
    workload, _ = deadlock()
    with pytest.raises(ValueError, match=message):
        simulate_coscheduling(workload, FOUR, **knobs)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"mate": [9, 3, 0, 1]}, "deadlock: job 0 has mate=9; expected another row .* 0 to 3"),
        ({"mate": [0, 3, 0, 1]}, "job 0 has mate=0; expected another row"),
        ({"mate": [3, 2, 1, 0]}, "job 2 has a mate on its own partition 'B'"),
        ({"partition": list("ABBC")}, "job 3 asks for partition 'C'; the system has A, B"),
        ({"nodes": [3, 9, 3, 3]}, "job 1 asks for 9 nodes; partition 'B' has 5"),
        ({"requested_time": np.nan}, "job 0 has no requested_time"),
    ],
)
def test_workloads_that_cannot_run_are_refused(changes, message):
    workload, system = deadlock()
    with pytest.raises(InvalidWorkloadError, match=message):
        simulate_coscheduling(Workload(workload.jobs.assign(**changes), "deadlock"), system)
