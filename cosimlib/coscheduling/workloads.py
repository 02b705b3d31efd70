"""Workloads of two coupled machines: Intrepid, or a log's own, and a synthetic Eureka.

The two experiments of Tang et al. vary Eureka's utilization, with mates by proximity, and the
proportion of paired jobs.
"""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np

from cosimlib import checks as check
from cosimlib import synthetic
from cosimlib.coscheduling.mates import couple, mates_by_proportion, mates_by_proximity, read_mates
from cosimlib.display import percent
from cosimlib.metrics import busy_stretch
from cosimlib.synthetic.intrepid import INTREPID_JOBS, INTREPID_LOAD, INTREPID_NODES
from cosimlib.system import System
from cosimlib.units import DAY, MINUTE
from cosimlib.workload import Workload

EUREKA = "eureka"
UTILIZATIONS = (0.25, 0.50, 0.75)
"""Of Eureka, in the paper's first experiment."""
PROPORTIONS = (0.025, 0.05, 0.10, 0.20, 0.33)
"""Of paired jobs, in the paper's second experiment."""
PROPORTION_LOAD = 0.48
"""Eureka's utilization in the second experiment."""
WINDOW = 10.0
"""Seconds between the submissions of mates in the first experiment, at most."""


def first_machine(log: Workload | None = None) -> tuple[str, int]:
    """Name and nodes of the machine coupled with Eureka: Intrepid, or a log's own."""
    if log is None:
        return "intrepid", INTREPID_NODES
    name = f"{log.name} (log)" if log.name == EUREKA else log.name
    return name, check.machine(log.machine, log.name).total_nodes


def month_of_intrepid(
    *, seed: int = 0, log: Workload | None = None, days: float = 30.0
) -> Workload:
    """Intrepid's workload: synthetic, or jobs of a log at the paper's offered load.

    Of a log as many jobs are taken as `days` of the paper's month have, where it is busy (see
    `metrics.busy_stretch`), on its own machine. They keep their order, sizes and run times; times
    between submissions are scaled to the load of 70 %, evenly spread where all are submitted at
    once, and missing estimates are drawn.
    """
    jobs = max(1, round(INTREPID_JOBS * days / 30))
    if log is None:
        return synthetic.intrepid(jobs, span=days * DAY, seed=seed)
    nodes = first_machine(log)[1]
    narrow = log.keep(log.jobs["nodes"] <= nodes, "wider than the machine")
    few = busy_stretch(narrow, jobs)
    if len(few) > 1 and np.ptp(few.jobs["submit_time"].to_numpy()) == 0:
        evenly = few.jobs.assign(submit_time=np.arange(len(few), dtype=np.float64))
        few = replace(few, jobs=evenly).noted("mended", "submitted at once, spread", len(few))
    if len(few) > 1:
        few = synthetic.with_offered_load(few, nodes, load=INTREPID_LOAD)
    return synthetic.with_drawn_estimates(few, seed=seed)


def by_utilization(
    intrepid: Workload,
    *,
    load: float,
    seed: int = 0,
    name: str = "intrepid",
    window: float = WINDOW,
    one_sided: bool = False,
) -> Workload:
    """Intrepid's workload coupled with a Eureka of the given load; mates by proximity.

    `window` and `one_sided` are those of `mates_by_proximity`.
    """
    eureka = synthetic.eureka(load=load, span=_span(intrepid), seed=seed)
    machines = {name: intrepid, EUREKA: eureka}
    mates = mates_by_proximity(machines, window=window, one_sided=one_sided)
    return couple(machines, mates, name=f"Eureka at {percent(load, 0)}")


def by_proportion(
    intrepid: Workload, *, share: float, seed: int = 0, name: str = "intrepid"
) -> Workload:
    """Intrepid's workload coupled with as many jobs of Eureka at 48 %; mates by proportion.

    The k-th job of Eureka is submitted with the k-th of Intrepid, so that mates come together.
    `name` is that of the machine in Intrepid's place.
    """
    eureka = synthetic.eureka(len(intrepid), load=PROPORTION_LOAD, span=_span(intrepid), seed=seed)
    submit_time = intrepid.jobs["submit_time"].to_numpy()
    together = Workload(eureka.jobs.assign(submit_time=submit_time), eureka.name, eureka.machine)
    machines = {name: intrepid, EUREKA: together}
    mates = mates_by_proportion(machines, share=share)
    return couple(machines, mates, name=f"{percent(share, 1)} paired")


def _span(workload: Workload) -> float:
    """Seconds from 0 to the last submission, at least a minute."""
    return max(float(workload.jobs["submit_time"].max()), MINUTE)


def couple_logs(logs: Mapping[str, Workload], mates: str | Path = "") -> tuple[Workload, System]:
    """One workload of several machines' logs, and the system of their machines.

    Clocks are not shifted. Jobs wider than their machine are left out and missing estimates are
    drawn. A machine whose nodes the log does not say is as wide as its widest job.

    Parameters
    ----------
    logs : mapping of str to Workload
        By the name of their partition.
    mates : str or Path, default ""
        A CSV file for `read_mates`; empty: no job has a mate.
    """
    machines, sizes = {}, {}
    for name, log in logs.items():
        widest = int(log.jobs["nodes"].max())
        sizes[name] = log.machine.total_nodes if log.machine else widest
        narrow = log.keep(log.jobs["nodes"] <= sizes[name], "wider than its machine")
        machines[name] = synthetic.with_drawn_estimates(narrow)
    groups = read_mates(mates, machines) if mates else None
    return couple(machines, groups), System("+".join(sizes), sizes)
