"""One seed of the paper's evaluation, as `cosimlib.sweep` repeats it.

`measure_seed` gives the numbers that claims are decided by, under one scheduler.
`measure_assumption` gives four printed results under one of `ASSUMPTIONS`, each of which changes
one thing: the jobs, the scheduler, the requested times or the order of the jobs. That is an inverse
analysis: it asks which assumption that the paper does not print would explain its results, and
proves none.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from cosimlib.batch import (
    simulate_conservative,
    simulate_easy,
    simulate_fcfs,
    simulate_first_fit,
)
from cosimlib.elastic.inputs import Inputs
from cosimlib.elastic.reading import FOUR, Reading, apart, measure, read, waste_by_priority
from cosimlib.elastic.states import PREEMPTED, SHORT_GRACE_PERIODS, execution_states
from cosimlib.elastic.vectors import compare_choices, prioritize
from cosimlib.elastic.waste import priority_change, summarize, wasted_cycles
from cosimlib.schedule import Schedule
from cosimlib.system import System
from cosimlib.units import DAY
from cosimlib.workload import Workload

Simulate = Callable[[Workload, System], Schedule]

FIRST_FIT = partial(simulate_first_fit, decide="per_event")
SCHEDULERS: Mapping[str, Simulate] = {"EASY": simulate_easy, "first fit": FIRST_FIT}
"""First come, first served with backfilling: around the head's reservation, and without one."""
CLASSES: Mapping[str, str] = {"bigmem": "queue", "gaussian": "application"}
MEDIAN_REQUEST = 19.2


class Assumption(NamedTuple):
    """What is simulated: with a twin's jobs or the public ones, requests, an order, a scheduler."""

    simulate: Simulate
    twin: bool = False
    request_factor: float = 1.0
    by_width: int = 0


ASSUMPTIONS: Mapping[str, Assumption] = {
    "EASY": Assumption(simulate_easy),
    "EASY, the twin's jobs": Assumption(simulate_easy, twin=True),
    "EASY, requests 19.2 times too long": Assumption(simulate_easy, request_factor=MEDIAN_REQUEST),
    "EASY, wide jobs first": Assumption(simulate_easy, by_width=-1),
    "EASY, narrow jobs first": Assumption(simulate_easy, by_width=1),
    "conservative": Assumption(simulate_conservative),
    "FCFS without backfilling": Assumption(simulate_fcfs),
    "first fit, per instant": Assumption(simulate_first_fit),
    "first fit, per event": Assumption(FIRST_FIT),
    "first fit, per event, the twin's jobs": Assumption(FIRST_FIT, twin=True),
}
"""One assumption at a time; the jobs are the public ones where these can be had."""


def measure_seed(
    scheduler: str,
    seed: int,
    *,
    inputs: Inputs | None = None,
    workloads: Mapping[str, Workload] = {},
    classes: Mapping[str, str] = CLASSES,
    nodes: int = 20,
    preempted: int = PREEMPTED,
    priority: float = 10.0,
    grace_period: float = 120.0,
    request_factor: float = 1.0,
) -> dict[str, float]:
    """The numbers that claims are decided by, with one seed under one scheduler.

    Parameters
    ----------
    scheduler : str
        A key of `SCHEDULERS`.
    seed : int
        Of the draw, or the twins, and of RANDOM.
    inputs : Inputs, optional
        What HTC and PEREGRINE are drawn from; by default they are `workloads`, as of a log.
    classes : mapping of str to str
        The column of each class of jobs that gets priority, one after the other.
    nodes, preempted, priority, grace_period, request_factor
        The paper's N and P, the priority of a class, the grace period of the waste by priority
        (s), and the median of requested ÷ run times.

    Returns
    -------
    dict
        The numbers of `measure`; also `common` and `same waste` of LIFO and PAP, `days` that
        PEREGRINE takes, and the share of all waste under PAP that the first and the second class
        make.
    """
    if inputs is not None:
        workloads = inputs.draw(seed=seed, request_factor=request_factor)
    knobs = {"preempted": preempted, "seed": seed, "grace_period": grace_period}
    reading = read_workloads(workloads, scheduler, classes, nodes, priority, **knobs)
    numbers = {str(claim): float(value) for claim, value in measure(reading).items()}
    numbers["common"], numbers["same waste"] = reading.choice.common, reading.same_waste
    numbers["within longest"] = reading.within_longest
    for place, table in enumerate(reading.waste.values()):
        numbers[f"share {place}"] = _ratio(table.loc["PAP", "high"], table.loc["PAP", "total"])
    return numbers


def read_workloads(
    workloads: Mapping[str, Workload],
    scheduler: str = "EASY",
    classes: Mapping[str, str] = CLASSES,
    nodes: int = 20,
    priority: float = 10.0,
    **knobs: Any,
) -> Reading:
    """Simulate HTC (where there is one) and PEREGRINE, the last of `workloads`, and `read` them."""
    *short, batch = workloads.values()
    simulate, system = SCHEDULERS[scheduler], System.of(nodes)
    schedule = simulate(batch, system)
    # Priorities are the preemption policy's: jobs are scheduled as without them.
    preferred = {
        name: replace(schedule, workload=prioritize(batch, {name: priority}, by=by))
        for name, by in classes.items()
    }
    return read(
        schedule,
        simulate(short[0], system) if short else None,
        larger=simulate(batch, System.of(10 * nodes)),
        preferred=preferred,
        **knobs,
    )


def measure_assumption(
    assumption: str,
    seed: int,
    *,
    inputs: Inputs,
    nodes: int = 20,
    preempted: int = PREEMPTED,
    priority: float = 10.0,
    grace_period: float = 120.0,
) -> dict[str, float]:
    """Four results that the paper prints for PEREGRINE, under one of `ASSUMPTIONS`.

    Returns
    -------
    dict
        `states`, `days`; of LIFO and PAP, `same nodes`, `common nodes`, `same waste` (shares) and
        `apart` (medians, relative to RANDOM's); `high`, `default`, `total`: what PAP+ on gaussian
        changes, and `share`: what these jobs waste of all under PAP.
    """
    made = ASSUMPTIONS[assumption]
    drawn = (Inputs() if made.twin else inputs).draw(seed=seed, request_factor=made.request_factor)
    batch = drawn["PEREGRINE"]
    if made.by_width:
        order = np.argsort(made.by_width * batch.jobs["nodes"].to_numpy(), kind="stable")
        batch = Workload(batch.jobs.iloc[order].reset_index(drop=True), batch.name)
    preferred = prioritize(batch, {"gaussian": priority}, by="application")
    schedule = made.simulate(preferred, System.of(nodes))
    at = execution_states(schedule)
    knobs: dict[str, Any] = {"moments": at, "preempted": preempted, "seed": seed}
    wasted = {
        policy: wasted_cycles(schedule, policy=policy, grace_periods=SHORT_GRACE_PERIODS, **knobs)
        for policy in FOUR
    }
    choice = compare_choices(schedule, "LIFO", "PAP", **knobs)
    waste = waste_by_priority(schedule, grace_period, **knobs)
    first = SHORT_GRACE_PERIODS[0]
    return {
        "states": at.size,
        "days": float(max(schedule.end_time)) / DAY,
        "same nodes": choice.same,
        "common nodes": choice.common,
        "same waste": float((wasted["LIFO"][first] == wasted["PAP"][first]).mean()),
        "apart": float(apart(summarize(wasted))),
        **priority_change({"gaussian": waste})["gaussian"].to_dict(),
        "share": _ratio(waste.loc["PAP", "high"], waste.loc["PAP", "total"]),
    }


def _ratio(part: float, whole: float) -> float:
    """A share; NaN of nothing."""
    return float(part / whole) if whole > 0 else float("nan")
