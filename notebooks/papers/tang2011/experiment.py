"""Experiments of Tang et al. (2011): Intrepid and Eureka under each scheme, and six made-up jobs.

Intrepid's jobs are synthetic, or those of a log on its own machine; Eureka's are synthetic. The
first experiment varies Eureka's utilization, with mates by proximity; the second varies the
proportion of paired jobs. Three more, which are ours, vary knobs. Beside the schemes stand the
base, without coscheduling, and the ideal (`ideal_schedule`): what pairing itself costs.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from cosimlab.sweep import Workers, sweep
from cosimlib import checks as check
from cosimlib import synthetic
from cosimlib.coscheduling import (
    MACHINES,
    SCHEMES,
    CoupledSchedule,
    audit_coupled,
    compare_on,
    couple,
    couple_logs,
    mates_by_proportion,
    mates_by_proximity,
    simulate_coscheduling,
)
from cosimlib.display import percent
from cosimlib.metrics import busy_stretch, share_used
from cosimlib.prepare import prepare_workload
from cosimlib.system import System
from cosimlib.traces import SYNTHETIC, load_trace
from cosimlib.units import DAY, MINUTE
from cosimlib.workload import Workload
from papers.tang2011.intrepid import (
    EUREKA_NODES,
    INTREPID_JOBS,
    INTREPID_LOAD,
    INTREPID_NODES,
    eureka,
    intrepid,
)

EUREKA = "eureka"
UTILIZATIONS = (0.25, 0.50, 0.75)
"""Of Eureka, in the first experiment."""
PROPORTIONS = (0.025, 0.05, 0.10, 0.20, 0.33)
"""Of paired jobs, in the second experiment."""
PROPORTION_LOAD = 0.48
"""Eureka's utilization in the second experiment."""
WINDOW = 10.0
"""Seconds between the submissions of mates in the first experiment, at most."""
SCALES = {"quick": (7.0, 5), "paper": (30.0, 60)}
"""Days of Intrepid's month, and seeds."""
INTERVALS = (5, 10, 20, 40, 80)
"""Minutes between releases."""
LIMITS = {"0": 0.0, "1": 1.0, "10": 10.0, "100": 100.0, "1000": 1000.0, "any": None}
"""Node-hours that a hold may be expected to cost."""
WITHOUT_THRESHOLD = "never"
THRESHOLDS = {"0": 0, "3": 3, "30": 30, "300": 300, WITHOUT_THRESHOLD: None}
"""Yields after which a job holds."""

NAMES = ["a1", "b2", "b1", "a2", "a3", "b3"]
CIRCLE = pd.DataFrame(
    {
        "submit_time": [0, 60, 120, 180, 240, 300],
        "nodes": [3, 3, 3, 3, 2, 2],
        "run_time": [1200, 1200, 1200, 1200, 900, 600],
        "partition": list("ABBAAB"),
        "mate": ["b1", "a2", "a1", "b2", "none", "none"],
    },
    index=NAMES,
)
"""Made-up jobs after the deadlock of the slides: a1 → b1 → b2 → a2 → a1; a3 and b3 are alone."""


class Experiment(NamedTuple):
    """The jobs, seeds and knobs of a run.

    Parameters
    ----------
    log : Workload or None
        Jobs in the place of Intrepid's; None: these are synthetic.
    days : float
        Of the paper's month.
    seeds : range
    pairing : mapping
        `window` and `one_sided`, for `mates_by_proximity`.
    knobs : mapping
        For `simulate_coscheduling`.
    used : float or None
        Share of the log's node-hours that is simulated.
    """

    log: Workload | None = None
    days: float = 7.0
    seeds: Sequence[int] = range(5)
    pairing: Mapping[str, Any] = {}
    knobs: Mapping[str, Any] = {}
    used: float | None = None

    @property
    def own(self) -> bool:
        """Whether the jobs are Intrepid's, recorded or synthetic."""
        return self.log is None or "intrepid" in self.log.name.lower()

    @property
    def month(self) -> Workload:
        """The first seed's jobs of Intrepid, or of the log."""
        return month_of_intrepid(log=self.log, days=self.days)

    @property
    def data(self) -> str:
        """What is simulated, for figures and scorecard."""
        seeds = f"{len(self.seeds)} seeds"
        if self.log is None:
            return f"synthetic Intrepid and synthetic Eureka, {self.days:g} days, {seeds}"
        return f"{self.log.name} and synthetic Eureka, {len(self.month):,} jobs, {seeds}"


def prepare(
    trace: str = SYNTHETIC,
    *,
    scale: str = "quick",
    days: float = 0.0,
    seeds: int = 0,
    seed: int = 0,
    cores_per_node: int = 0,
    machine_nodes: int = 0,
    window: float = WINDOW,
    one_sided: bool = False,
    max_yields: int = -1,
    **knobs: Any,
) -> Experiment:
    """The experiment of a notebook's parameters.

    Parameters
    ----------
    trace : str
        ``"synthetic"`` for Intrepid, or the name or path of a log.
    scale : {"quick", "paper"}
    days, seeds, cores_per_node, machine_nodes
        0: as `scale` or the log says.
    seed : int
        The first of the seeds.
    window, one_sided
        For `mates_by_proximity`.
    max_yields : int
        −1: a job may yield for ever.
    **knobs
        For `simulate_coscheduling`.
    """
    check.choice("scale", scale, tuple(SCALES))
    span, many = SCALES[scale]
    run = Experiment(
        days=days or span,
        seeds=range(seed, seed + (seeds or many)),
        pairing={"window": window, "one_sided": one_sided},
        knobs=knobs | {"max_yields": None if max_yields < 0 else max_yields},
    )
    if trace == SYNTHETIC:
        return run
    cores, nodes = cores_per_node or None, machine_nodes or None
    run = run._replace(log=prepare_workload(trace, cores_per_node=cores, nodes=nodes))
    whole = load_trace(trace, cores_per_node=cores, verbose=False)
    return run._replace(used=share_used(run.month, whole))


def compare_loads(run: Experiment) -> pd.DataFrame:
    """The schemes by Eureka's utilization, as `compare` has it, in column `load`."""
    return compare(run, {"load": UTILIZATIONS})


def compare_shares(run: Experiment) -> pd.DataFrame:
    """The schemes by the proportion of paired jobs, as `compare` has it, in column `share`."""
    return compare(run, {"share": PROPORTIONS})


def compare_intervals(run: Experiment) -> pd.DataFrame:
    """Schemes that hold by `minutes` between releases, where Eureka's utilization is highest."""
    seconds = {minutes: minutes * MINUTE for minutes in INTERVALS}
    cases = {m: {"release_interval": s, "release_after": s / 2} for m, s in seconds.items()}
    fullest = {"load": UTILIZATIONS[-1:]}
    return compare(run, fullest, cases=cases, by="minutes", schemes=("HH", "HY", "YH"))


def compare_limits(run: Experiment) -> pd.DataFrame:
    """Hold-hold by the `limit` of what a hold may cost, where most jobs are paired."""
    cases = {name: {"most_idle": limit} for name, limit in LIMITS.items()}
    return compare(run, {"share": PROPORTIONS[-1:]}, cases=cases, by="limit", schemes=("HH",))


def compare_thresholds(run: Experiment) -> pd.DataFrame:
    """Yield-yield by the number of `yields` before a hold, where most jobs are paired."""
    cases = {name: {"max_yields": most} for name, most in THRESHOLDS.items()}
    return compare(run, {"share": PROPORTIONS[-1:]}, cases=cases, by="yields", schemes=("YY",))


def compare(
    run: Experiment,
    grid: Mapping[str, Sequence[float]],
    *,
    cases: Mapping[Any, Mapping[str, Any]] | None = None,
    by: str = "case",
    schemes: Sequence[str] = SCHEMES,
    executor: Workers = "cores",
) -> pd.DataFrame:
    """The base, the ideal and each scheme, on each workload and seed.

    Parameters
    ----------
    run : Experiment
    grid : mapping of str to numbers
        ``"load"``, values of Eureka's utilization, or ``"share"``, proportions of paired jobs.
    cases : mapping to mappings, optional
        Other knobs for `simulate_coscheduling`, by what column `by` calls them.
    by : str
    schemes : sequence of str
        Besides ``"base"``, without coscheduling, and ``"ideal"``.
    executor
        As for `sweep`, whose cells are one workload, case and seed.

    Returns
    -------
    pd.DataFrame
        The grid's column, `by` where there are cases, `seed`, and the rows of `compare_on`. Each
        schedule was audited.
    """
    shared = {"run": run, "schemes": tuple(schemes)}
    varied = {**grid, "case": {"": {}} if cases is None else cases}
    table = sweep(_compare, varied, run.seeds, shared=shared, executor=executor, errors="raise")
    return table.drop(columns="case") if cases is None else table.rename(columns={"case": by})


def compare_own(run: Experiment, second_trace: str = "", mates: str = "") -> pd.DataFrame | None:
    """The schemes on two logs: the run's, or synthetic Intrepid, and a second; None without it.

    Parameters
    ----------
    run : Experiment
    second_trace : str
        Name or path of the second machine's log. Clocks are not shifted.
    mates : str
        A CSV file for `read_mates` with the machines ``trace`` and ``second``.
    """
    if mates and not second_trace:
        raise ValueError(
            f"mates={mates!r}, but no second_trace; give the second machine's log, too"
        )
    if not second_trace:
        return None
    logs = {"trace": run.month if run.log is None else run.log, "second": load_trace(second_trace)}
    return compare_on(*couple_logs(logs, mates), **run.knobs).round(2)


def simulate_circle(**knobs: Any) -> CoupledSchedule:
    """The audited schedule of the six made-up jobs where both machines hold."""
    rows = {name: row for row, name in enumerate(NAMES)}
    jobs = CIRCLE.assign(requested_time=CIRCLE["run_time"], mate=CIRCLE["mate"].map(rows))
    workload = Workload(jobs.reset_index(drop=True), "four jobs in a circle")
    schedule = simulate_coscheduling(workload, MACHINES, schemes="HH", **knobs)
    audit_coupled(schedule, all_start=False)
    return schedule


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
        return intrepid(jobs, span=days * DAY, seed=seed)
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
    small = eureka(load=load, span=_span(intrepid), seed=seed)
    machines = {name: intrepid, EUREKA: small}
    mates = mates_by_proximity(machines, window=window, one_sided=one_sided)
    return couple(machines, mates, name=f"Eureka at {percent(load, 0)}")


def by_proportion(
    intrepid: Workload, *, share: float, seed: int = 0, name: str = "intrepid"
) -> Workload:
    """Intrepid's workload coupled with as many jobs of Eureka at 48 %; mates by proportion.

    The k-th job of Eureka is submitted with the k-th of Intrepid, so that mates come together.
    `name` is that of the machine in Intrepid's place.
    """
    small = eureka(len(intrepid), load=PROPORTION_LOAD, span=_span(intrepid), seed=seed)
    submit_time = intrepid.jobs["submit_time"].to_numpy()
    together = Workload(small.jobs.assign(submit_time=submit_time), small.name, small.machine)
    machines = {name: intrepid, EUREKA: together}
    mates = mates_by_proportion(machines, share=share)
    return couple(machines, mates, name=f"{percent(share, 1)} paired")


def _span(workload: Workload) -> float:
    """Seconds from 0 to the last submission, at least a minute."""
    return max(float(workload.jobs["submit_time"].max()), MINUTE)


def _compare(
    run: Experiment,
    schemes: Sequence[str],
    case: Mapping[str, Any],
    seed: int,
    load: float | None = None,
    share: float | None = None,
) -> pd.DataFrame:
    """The base, the ideal and all schemes on one workload, case and seed."""
    intrepid = month_of_intrepid(seed=seed, log=run.log, days=run.days)
    name, nodes = first_machine(run.log)
    if load is not None:
        workload = by_utilization(intrepid, load=load, seed=seed, name=name, **run.pairing)
    else:
        workload = by_proportion(intrepid, share=share or 0.0, seed=seed, name=name)
    system = System(f"{name}+{EUREKA}", {name: nodes, EUREKA: EUREKA_NODES})
    return compare_on(workload, system, schemes=schemes, **{**run.knobs, **case})
