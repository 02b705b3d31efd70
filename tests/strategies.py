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
