"""Random small inputs for hypothesis."""

import pandas as pd
from hypothesis import strategies as st

from cosimlib.workload import Workload


@st.composite
def workloads(draw, max_jobs=12, max_nodes=8, overruns=False):
    """Up to `max_jobs` jobs on whole seconds, many at the same instant; overruns on request."""
    n = draw(st.integers(1, max_jobs))
    times = st.integers(0, 12)
    submit = sorted(draw(st.lists(times, min_size=n, max_size=n)))
    run = draw(st.lists(st.integers(0 if overruns else 1, 12), min_size=n, max_size=n))
    extra = draw(st.lists(st.integers(-6 if overruns else 0, 8), min_size=n, max_size=n))
    nodes = draw(st.lists(st.integers(1, max_nodes), min_size=n, max_size=n))
    requested = [max(1, r + e) for r, e in zip(run, extra, strict=True)]
    jobs = {"submit_time": submit, "run_time": run, "requested_time": requested, "nodes": nodes}
    return Workload(pd.DataFrame(jobs), "random")


@st.composite
def arrays(draw, max_jobs=24, max_nodes=8, overruns=False):
    """Jobs of two or three kinds, most of them submitted as several that ask for the same."""
    kinds = st.tuples(st.integers(1, max_nodes), st.integers(1, 9))
    known = draw(st.lists(kinds, min_size=2, max_size=3))
    batches = st.tuples(st.sampled_from(known), st.integers(1, 6), st.integers(0, 8))
    rows, submit = [], 0
    for (nodes, requested), count, pause in draw(st.lists(batches, min_size=1, max_size=8)):
        for _ in range(count):
            run = draw(st.integers(1, requested + (6 if overruns else 0)))
            rows.append((submit, run, requested, nodes))
        submit += pause
    columns = ["submit_time", "run_time", "requested_time", "nodes"]
    return Workload(pd.DataFrame(rows[:max_jobs], columns=columns), "arrays")
