"""Offered load of a workload, scaled by the times between submissions."""

from dataclasses import replace

from cosimlib import checks as check
from cosimlib.workload import Workload


def with_offered_load(workload: Workload, nodes: int, *, load: float) -> Workload:
    """Workload scaled to an offered load: times between submissions are multiplied by one factor.

    Sizes, run times and requested times stay. Submissions are whole seconds from 0.

    Parameters
    ----------
    workload : Workload
    nodes : int
        Nodes of the machine that the load is offered to.
    load : float
        Σ nodes · run_time ÷ (`nodes` · seconds from the first submission to the last).
    """
    check.number("load", load, above=0, where=workload.name)
    jobs = workload.jobs
    submit_time = jobs["submit_time"] - jobs["submit_time"].min()
    span = float(submit_time.max())
    if not span > 0:
        raise ValueError(f"{workload.name}: all jobs are submitted at once; nothing to scale")
    work = float(jobs["nodes"] @ jobs["run_time"])
    scaled = (submit_time * (work / (load * nodes) / span)).round()
    return replace(workload, jobs=jobs.assign(submit_time=scaled), began=None)
