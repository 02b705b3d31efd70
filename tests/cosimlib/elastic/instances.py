"""Small workloads, preemptions and elastic schedules to test with."""

import numpy as np
import pandas as pd
from hypothesis import strategies as st

from cosimlib.elastic import POLICIES, simulate_elastic
from cosimlib.schedule import Schedule
from cosimlib.system import System
from cosimlib.workload import Workload
from tests.strategies import workloads


def workload(name="made up", **columns):
    return Workload(pd.DataFrame(columns), name)


def users(*rows):
    """Preemptions as rows of time, nodes, duration."""
    return pd.DataFrame(rows, columns=["time", "nodes", "duration"])


def stretched(workload, factor, priority=None):
    """The same jobs, each time `factor` times as long; some with a high priority."""
    times = ["submit_time", "run_time", "requested_time"]
    jobs = workload.jobs.assign(**{name: workload.jobs[name] * factor for name in times})
    if priority is not None:
        jobs["priority"] = np.where(np.arange(len(jobs)) % 3 == 0, priority, 1.0)
    return Workload(jobs, workload.name)


def three_jobs(**columns):
    """Three one-node jobs of a minute."""
    times = {"submit_time": [0, 0, 0], "run_time": [60] * 3, "requested_time": [60] * 3}
    return workload("made", **{**times, "nodes": 1, **columns})


def scheduled(*rows, nodes=4, **columns):
    """A schedule of rows of start, run time, nodes."""
    jobs = pd.DataFrame(rows, columns=["submit_time", "run_time", "nodes"]).assign(**columns)
    starts = jobs["submit_time"].to_numpy()
    return Schedule.from_starts(Workload(jobs, "made"), System.of(nodes), starts, "given")


GOLDEN = scheduled(
    (0, 300, 1), (0, 100, 2), (50, 400, 1), (100, 100, 1), priority=[1.0, 1.0, 1.0, 10.0]
)
"""Nodes: job 0 on 0; job 1 on 1 and 2; job 2 on 3; job 3, from t = 100, on 1; node 2 is idle."""


@st.composite
def preemptions(draw, most):
    """Up to six preemptions, some at the same moment."""
    rows = draw(
        st.lists(
            st.tuples(st.integers(0, 600), st.integers(1, most), st.integers(1, 300)), max_size=6
        )
    )
    return users(*sorted(rows))


@st.composite
def elastic_schedules(draw):
    """Schedules of two partitions, `a` of 8 nodes and `b` of 5, on a host with up to 2 more."""
    first = draw(workloads(max_jobs=8))
    second = draw(workloads(max_jobs=8, max_nodes=5, overruns=True))
    spare = draw(st.integers(0, 2))
    return simulate_elastic(
        Workload.join({"a": stretched(first, 25.0), "b": stretched(second, 20.0)}),
        System.of(a=8, b=5),
        policy={name: draw(st.sampled_from(POLICIES)) for name in "ab"},
        preemptions=draw(preemptions(13 + spare)),
        grace_period=draw(st.sampled_from([0.0, 60.0, 100.0])),
        staleness=draw(st.sampled_from([0.0, 50.0, 1000.0])),
        spare=spare,
    )
