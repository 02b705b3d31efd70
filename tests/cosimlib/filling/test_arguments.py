"""What `simulate_filling` and its measures refuse, and how they say so."""

import numpy as np
import pytest

from cosimlib.filling import node_seconds, simulate_filling
from cosimlib.system import System
from cosimlib.workload import InvalidWorkloadError
from tests.cosimlib.filling.test_simulation import EARLY, jobs_of


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"policy": "D"}, "policy='D'; expected 'A', 'B', 'C' or None"),
        ({"reclaim": "wait"}, "reclaim='wait'; expected 'save' or 'kill'"),
        ({"slot": 0}, "slot=0; expected whole seconds above 0"),
        ({"slot": 0.5}, "slot=0.5"),
        ({"overhead": 1}, "overhead=1; expected a part of a slot, from 0 to below 1"),
        ({"speed": 0}, "speed=0; expected that of a regular job"),
        ({"save_every": 0}, "save_every=0; expected a whole number from 1"),
        ({"reschedule": 1}, "filling: reschedule=1; expected True or False"),
        ({"queue_depth": 0}, "queue_depth=0; expected a whole number from 1, or None"),
    ],
)
def test_knobs_out_of_range_say_what_was_expected(wrong, message):
    with pytest.raises(ValueError, match=message):
        simulate_filling(EARLY, System.of(6), **wrong)


def test_a_job_wider_than_the_machine_and_a_missing_request_are_named():
    with pytest.raises(InvalidWorkloadError, match=r"made up: job 1 asks for 5 nodes; .* has 4"):
        simulate_filling(EARLY, System.of(4))
    jobs = jobs_of(submit_time=[0, 0], run_time=[60, 60], requested_time=[60, np.nan], nodes=[1, 1])
    with pytest.raises(InvalidWorkloadError, match="made up: job 1 has no requested_time"):
        simulate_filling(jobs, System.of(4))


def test_windows_without_length_are_refused():
    schedule = simulate_filling(EARLY, System.of(6))
    with pytest.raises(ValueError, match="window from 60 to 60 s; expected start before end"):
        node_seconds(schedule, start=60, end=60)
