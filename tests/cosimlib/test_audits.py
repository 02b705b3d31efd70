"""Small real traces under every policy: each schedule could have happened."""

import numpy as np
import pytest

from cosimlib import traces
from cosimlib.audit import InfeasibleScheduleError
from cosimlib.batch import simulate_fcfs
from cosimlib.policies import SIMULATORS
from tests import audits

SMALL = ("KTH-SP2", "UniLu-Gaia", "intrepid-2009-first3000")


@pytest.fixture(scope="module")
def workload_of():
    """A function from a trace's name and path to its workload, read once."""
    known = {}

    def read(name, path):
        if name not in known:
            asked = traces.load(
                path, verbose=False, cores_per_node=traces.TRACES[name].cores_per_node
            )
            known[name] = audits.runnable(asked)
        return known[name]

    return read


@pytest.mark.traces
@pytest.mark.compiled("whole logs need compiled kernels")
@pytest.mark.parametrize("policy", SIMULATORS)
@pytest.mark.parametrize("name", SMALL)
def test_a_real_trace_could_have_happened(trace_path, workload_of, name, policy):
    workload = workload_of(name, trace_path(traces.TRACES[name].file_name))
    schedule = audits.audited(workload, policy)
    assert schedule.policy == policy
    assert len(workload) >= 3000 and (schedule.jobs["wait_time"] > 0).any()


@pytest.mark.traces
def test_a_schedule_that_could_not_have_happened_is_noticed(trace_path, workload_of, monkeypatch):
    """One job of a real trace started a second before it was submitted."""
    name = "intrepid-2009-first3000"
    workload = workload_of(name, trace_path(traces.TRACES[name].file_name))

    def hasty(asked, system):
        schedule = simulate_fcfs(asked, system)
        shifted = schedule.start_time - np.eye(1, len(asked), 1234)[0] * 1e9
        return type(schedule).from_starts(asked, system, shifted, "hasty")

    monkeypatch.setitem(SIMULATORS, "hasty", hasty)
    with pytest.raises(InfeasibleScheduleError, match=r"hasty: .* starts at t=-"):
        audits.audited(workload, "hasty")


def test_an_unknown_trace_is_named():
    with pytest.raises(SystemExit, match="audits: no known trace 'KHT'; known are KTH-SP2"):
        audits.main(["KHT"])
