"""The paper's experiment over seeds: all runs that its claims need, in parallel.

Three spans of days are simulated: a long one under batch scheduling, whose mean slowdown is of a
heavy tail; one with time-sharing; and a short one with time-sharing under noise, which makes an
event of every step. What is compared is of the same days.

*Noise on a smaller machine.* A node of an eighth of Edison stands for eight of its nodes, and is
slowed when one of them would be: with probability ``1 - (1 - p)^8``. A job that is as large a part
of the machine is hit as often.
"""

import json
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from cosimlib import checks as check
from cosimlib.sweep import Workers, sweep
from cosimlib.synthetic.assumptions import Assumptions
from cosimlib.synthetic.edison import EDISON, UTILIZATION, edison
from cosimlib.timesharing.batch import noise_cost
from cosimlib.timesharing.findings import Evidence
from cosimlib.timesharing.noise import NOISE
from cosimlib.timesharing.runs import Policies, run_batch, run_timesharing
from cosimlib.timesharing.scaling import applications, turnaround_times
from cosimlib.timesharing.summary import RunSummary
from cosimlib.units import DAY
from cosimlib.workload import Workload

OVERHEADS = (0.05, 0.08, 0.13)
"""Overheads that claims are about, besides none."""

POLICIES: dict[str, dict[str, Any]] = {
    "batch": {},
    "shared": {},
    "unlimited_memory": {"memory": False},
    "not_spmd": {"spmd": False},
    "not_spmd_batch": {"spmd": False},
    "not_spmd_unlimited_memory": {"spmd": False, "memory": False},
}
"""Knobs of the runs: those of `Policies`, and one more."""


class Span(NamedTuple):
    """Days on which jobs are submitted, and the first of them, which do not count."""

    days: float
    warm_up: float


class Scale(NamedTuple):
    """How much is simulated: nodes; spans for batch scheduling, time-sharing, noise; seeds."""

    nodes: int
    batch: Span
    shared: Span
    noisy: Span
    seeds: int


SCALES = {
    "quick": Scale(697, Span(120, 20), Span(21, 6), Span(6, 2), 5),
    "paper": Scale(EDISON.total_nodes, Span(600, 100), Span(600, 100), Span(60, 10), 3),
}
"""An eighth of Edison, and Edison for twenty months."""


class Jobs(NamedTuple):
    """Where jobs come from: `synthetic.edison` with these arguments, or a log's workload."""

    nodes: int = EDISON.total_nodes
    load: float = UTILIZATION
    like: str | Assumptions = "inputs"
    log: Workload | None = None

    def of(self, days: float, seed: int) -> Workload:
        """The jobs of so many days; a log has but its own."""
        if self.log is not None:
            return self.log
        return edison(days, nodes=self.nodes, load=self.load, like=self.like, seed=seed)


class Run(NamedTuple):
    """One run of the experiment: a span, a policy, whether with noise, an overhead."""

    span: Span
    policy: str
    noisy: bool = False
    overhead: float = 0.0


def node_noise(noise: float, nodes: int) -> float:
    """Probability that one of the nodes of Edison that a node stands for is slowed in a step."""
    check.number("noise", noise, least=0.0, most=1.0, kind="a probability", none=False)
    return float(-np.expm1(EDISON.total_nodes / nodes * np.log1p(-noise))) if noise < 1 else 1.0


def measure(
    jobs: Jobs,
    scale: Scale,
    *,
    seeds: Sequence[int] | None = None,
    noise: float = NOISE,
    scaling: pd.DataFrame | None = None,
    cache: str | Path | None = None,
    executor: Workers = None,
) -> list[Evidence]:
    """All runs that the claims need, one `Evidence` per seed.

    Parameters
    ----------
    jobs : Jobs
    scale : Scale
        One of `SCALES`, or another.
    seeds : sequence of int, optional
        Of jobs and noise; by default the first ones, as many as the scale has.
    noise : float, default 0.001
        Probability that a node of Edison is slowed in a step; for a log, that one of its nodes is.
    scaling : pd.DataFrame, optional
        As of `applications`, by default those scaled to the machine.
    cache : str or Path, optional
        Folder in which summaries are kept, see `run_batch`.
    executor : optional
        Where the runs are computed, see `sweep`.
    """
    seeds = range(scale.seeds) if seeds is None else seeds
    there = noise if jobs.log is not None else node_noise(noise, scale.nodes)
    runs = _runs(scale)
    shared = {"jobs": jobs, "noise": there, "cache": cache and str(cache)}
    table = sweep(
        _rows, {"part": _parts(scale, runs)}, seeds, shared=shared, executor=executor,
        errors="raise",
    )  # fmt: skip
    table_of = applications(scale.nodes / EDISON.total_nodes) if scaling is None else scaling
    return [
        _evidence(part, runs, scale, jobs, noise, table_of)
        for _, part in table.groupby("seed", sort=False)
    ]


def _runs(scale: Scale) -> list[Run]:
    """The runs, each once."""
    runs = [Run(scale.batch, "batch", noisy) for noisy in (False, True)]
    runs += [Run(scale.shared, policy) for policy in POLICIES]
    runs += [Run(scale.shared, "unlimited_memory", overhead=overhead) for overhead in OVERHEADS]
    for noisy in (False, True):
        runs += [Run(scale.noisy, policy, noisy) for policy in Policies._fields]
    return list(dict.fromkeys(runs))


def _parts(scale: Scale, runs: list[Run]) -> dict[str, list[Run]]:
    """What is computed together: at quick scale the runs of a span, which share its jobs."""
    if scale.nodes * scale.shared.days > EDISON.total_nodes * 60:
        return {f"{place}": [run] for place, run in enumerate(runs)}
    spans = list(dict.fromkeys(run.span for run in runs))
    return {f"{span.days:g} days": [run for run in runs if run.span == span] for span in spans}


def _rows(
    part: list[Run], seed: int, jobs: Jobs, noise: float, cache: str | None
) -> list[dict[str, Any]]:
    """Summaries of some runs, one row per run."""
    rows = []
    for run in part:
        workload = _jobs_of(jobs, run.span.days, seed)
        knobs = POLICIES[run.policy] | {"warm_up": run.span.warm_up * DAY, "cache": cache}
        knobs |= {"seed": seed} | ({"noise": noise} if run.noisy else {})
        machine = check.machine(workload.machine, workload.name)
        in_batch = "batch" in run.policy
        if not in_batch:
            knobs["overhead"] = run.overhead
        summary = (run_batch if in_batch else run_timesharing)(workload, machine, **knobs)
        costs = run.noisy and run.policy == "batch" and noise > 0
        cost = noise_cost(workload, noise=noise, seed=seed) if costs else 0.0
        rows.append({"run": repr(run), "summary": json.dumps(summary.as_dict()), "cost": cost})
    return rows


@lru_cache(maxsize=1)
def _jobs_of(jobs: Jobs, days: float, seed: int) -> Workload:
    """The jobs, kept for the next run of the same."""
    return jobs.of(days, seed)


def _evidence(
    table: pd.DataFrame,
    runs: list[Run],
    scale: Scale,
    jobs: Jobs,
    noise: float,
    scaling: pd.DataFrame,
) -> Evidence:
    """The runs of one seed as the claims take them."""
    rows = table.set_index("run")
    found = {run: RunSummary.from_dict(json.loads(rows.loc[repr(run), "summary"])) for run in runs}

    def policies(span: Span, noisy: bool) -> Policies:
        return Policies(*(found[Run(span, policy, noisy)] for policy in Policies._fields))

    noise_free = policies(scale.shared, False)
    taxed = {o: found[Run(scale.shared, "unlimited_memory", overhead=o)] for o in OVERHEADS}
    return Evidence(
        noise_free,
        policies(scale.noisy, False),
        policies(scale.noisy, True),
        found[Run(scale.shared, "not_spmd_unlimited_memory")],
        {0.0: noise_free.unlimited_memory} | taxed,
        turnaround_times(scaling, *noise_free[:3]),
        float(rows.loc[repr(Run(scale.noisy, "batch", True)), "cost"]),
        scale.shared.days - scale.shared.warm_up,
        jobs.log is None,
        jobs.load,
        noise,
        (found[Run(scale.batch, "batch", False)], found[Run(scale.batch, "batch", True)]),
    )
