"""Random small inputs for hypothesis."""

import numpy as np
import pandas as pd
from hypothesis import strategies as st

from cosimlib.workload import Workload


def _workload(submit: list, run: list, requested: list, nodes: list, name: str) -> Workload:
    """A workload, made of columns of its types: to convert them takes longer than all else."""
    times = {"submit_time": submit, "run_time": run, "requested_time": requested}
    columns = {column: np.array(values, dtype=float) for column, values in times.items()}
    return Workload(pd.DataFrame(columns | {"nodes": np.array(nodes, dtype="int64")}), name)


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
    return _workload(submit, run, requested, nodes, "random")


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
    submitted, run, requested, nodes = map(list, zip(*rows[:max_jobs], strict=True))
    return _workload(submitted, run, requested, nodes, "arrays")


SHORT = (1e-9, 1e-6, 1e-3, 1 / 3, 1.0, 59.999, 60.0, 3600.0, 1e5)
LONG = (1e-3, 1 / 3, 1.0, 60.0, 1e5, 1e9 + 0.1, 4e9 + 1 / 3, 1e10, 99_999_999_990.0)


@st.composite
def extremes(draw, max_jobs=6, max_nodes=6, longest=1e11, overruns=True):
    """Jobs as long and as short as a workload may have, nanoseconds to hours or up to millennia.

    Run and requested times are at most `longest`; submissions may be late all the same.
    """
    every = draw(st.sampled_from([SHORT, LONG]))
    some = [time for time in every if time <= longest]
    n = draw(st.integers(1, max_jobs))
    submit = sorted(draw(st.lists(st.sampled_from([0.0, *every]), min_size=n, max_size=n)))
    run = draw(st.lists(st.sampled_from([0.0, *some]), min_size=n, max_size=n))
    requested = draw(st.lists(st.sampled_from(some), min_size=n, max_size=n))
    if not overruns or draw(st.booleans()):
        requested = [max(each) for each in zip(run, requested, strict=True)]
    nodes = draw(st.lists(st.integers(1, max_nodes), min_size=n, max_size=n))
    return _workload(submit, run, requested, nodes, "extreme")
