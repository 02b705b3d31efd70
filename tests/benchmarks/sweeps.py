"""Efficiency of a sweep on all cores: 100 simulations, five policies on twenty logs drawn anew."""

import resource
import time

import pandas as pd
from joblib.externals.loky import get_reusable_executor

from cosimlab.sweep import Workers, count_cores, sweep
from cosimlab.zoo import measured
from cosimlib import traces
from cosimlib.policies import SIMULATORS

POLICIES = ("FCFS", "EASY", "EASY (sjbf)", "EASY (wfp)", "conservative")
SEEDS = 20


def sweep_rows() -> list[tuple]:
    """Seconds here and on all cores, their ratio per core, and how processor time grows."""
    if traces.find_trace("KTH-SP2") is None:
        return []
    log, cores = traces.load("KTH-SP2", verbose=False), count_cores()
    shared = {"log": log, "jobs": len(log)}
    # Policies first: of what comes later a process draws each log but once for all of them.
    grid = {"policy": {name: SIMULATORS[name] for name in POLICIES}, "replicate": range(SEEDS)}

    def run(executor: Workers) -> tuple[float, float, pd.DataFrame]:
        wall, processor = time.perf_counter(), _processor_seconds()
        table = sweep(measured, grid, shared=shared, executor=executor, errors="raise")
        wall = time.perf_counter() - wall
        # The time of processes counts once they have ended.
        get_reusable_executor().shutdown(wait=True)
        return wall, _processor_seconds() - processor, table

    sweep(measured, grid | {"replicate": [0]}, shared=shared, errors="raise")
    (one, busy, expected), (all_, busy_on_all, found) = run(None), run(cores)
    same = [name for name in expected if name != "seconds"]
    pd.testing.assert_frame_equal(found[same], expected[same])
    what = f"{len(found)} simulations of KTH-SP2, drawn anew"
    return [
        (f"{what}, in this process", one, "s", ""),
        (f"{what}, in {cores} processes", all_, "s", ""),
        ("  efficiency: former ÷ latter ÷ processes", 100 * one / all_ / cores, "%", ">= 80"),
        ("  processor time, all processes ÷ this one", busy_on_all / busy, "", "<= 1.25"),
    ]


def _processor_seconds() -> float:
    """Of this process and of its children that have ended."""
    used = [resource.getrusage(of) for of in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in used)
