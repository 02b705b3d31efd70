"""Explorer of a single preemption: the nodes that each policy takes, and the jobs on them.

Every control computes anew, which takes milliseconds: the vectors are those of a window of moments,
not of the whole schedule. A log that holds more nodes than its machine has is shown on a machine
that has them.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from cosimlab import twins
from cosimlab.explorers.answer import Answer
from cosimlab.explorers.knobs import Knob, Settings
from cosimlab.explorers.logs import estimated, instant
from cosimlab.explorers.panel import Panel, explorer
from cosimlab.explorers.timeline import Timeline
from cosimlab.figures.elastic import FATES, period_name, plot_preemption
from cosimlib import checks as check
from cosimlib.batch import simulate_easy
from cosimlib.display import count
from cosimlib.elastic import (
    GRACE_PERIODS,
    POLICIES,
    PREEMPTED,
    SAMPLING_INTERVAL,
    occupants,
    preempted_jobs,
    preemption_values,
    prioritize,
)
from cosimlib.elastic.vectors import check_followed
from cosimlib.kernels.occupancy import IDLE
from cosimlib.schedule import Schedule
from cosimlib.system import System
from cosimlib.traces.oddities import oversubscription
from cosimlib.units import DAY, HOUR
from cosimlib.workload import Workload

WINDOW = DAY
"""Seconds of the heat map, half of them before the moment."""
MOMENTS = 241
"""Columns of the heat map, the moment chosen being the middle one."""
MOST_VALUES = 2_000_000
"""Nodes times columns of the heat map: very large machines have fewer columns."""
GRACE = tuple(sorted({0.0, 300.0, 600.0, *GRACE_PERIODS}))
"""Grace periods to choose from, seconds."""


@explorer
def explore_elastic(
    source: Schedule | Workload | None = None,
    system: System | None = None,
    *,
    jobs: int = 2000,
    seed: int = 0,
    **settings: Any,
) -> Panel:
    """Explorer of a preemption: vectors around the moment, and what happens to each job.

    Parameters
    ----------
    source : Schedule or Workload, optional
        On one partition of the paper's N nodes, by default EASY's of `twins.peregrine` on 20,
        whose queue `bigmem` has priority. Of a workload the starts recorded or, where a job
        has none, EASY's. Where it holds more nodes than there are, N is what it holds.
    system : System, optional
        Of a workload; by default its own machine, or one that holds its jobs.
    jobs : int, default 2000
        How many of a workload are scheduled in a row, where the days chosen are busy.
    seed : int, default 0
        Of RANDOM's draws.
    **settings
        First values of the controls, see below.

    Returns
    -------
    Panel
        Its `controls` are `policy`, `grace_period` (seconds), `preempted` and `at` (seconds); of a
        source of several days also `period`, the first and the last one.

    Other Parameters
    ----------------
    at : float, optional
        The moment of the preemption, seconds of the schedule's clock; by default one at which the
        machine is full and many jobs run: of the moments of the days chosen with at least 95 % of
        the most nodes held (no more than the machine has), the middle of the one with the most
        jobs.
    preempted : int, optional
        The paper's P, by default 10 or, on a smaller machine, all.
    policy : str, default "PAP"
        One of `POLICIES`; PAP+ reads the workload's `priority`.
    grace_period : float, default 120.0
        Seconds, one of `GRACE`.

    Raises
    ------
    TypeError
        If `source` is neither.
    ValueError
        If the schedule is on several partitions, its jobs run more than once, or none runs; and
        where a schedule comes with a system.

    Examples
    --------
    >>> import cosimlab as lab
    >>> panel = lab.explore_elastic(preempted=4)
    >>> panel.settings["preempted"]
    4
    """
    check.seed(seed)
    if source is None:
        workload = prioritize(twins.peregrine(seed=seed), {"bigmem": 10.0})
        source = simulate_easy(workload, System.of(20))
    if isinstance(source, Schedule):
        check_followed(source)
    timeline = Timeline(source, system, jobs, estimated, at=settings.get("at"))
    schedule = timeline.whole or timeline.schedule(timeline.settings)
    own, one = schedule.total_nodes, len(schedule.system.partitions) == 1
    held = max(own, oversubscription(schedule).most) if one else own
    knobs = [
        Knob("policy", "PAP", "policy", options=POLICIES),
        Knob(
            "grace_period", 120.0, "grace period", kind="slider", options=GRACE, named=period_name
        ),
        Knob(
            "preempted", min(PREEMPTED, held), "nodes preempted (P)", low=1, whole=True, high=held
        ),
        timeline.moment_knob(SAMPLING_INTERVAL),
    ]
    wider = (
        ""
        if held == own
        else (
            f"The log holds up to {held:,} nodes at once, more than the {own:,} of its machine; "
            "the machine is assumed to have them."
        )
    )

    def draw(now: Settings) -> Answer:
        schedule = timeline.schedule(now)
        if held != own:
            schedule = replace(schedule, system=schedule.system.with_nodes(held))
        return _drawn(schedule, seed, now, (*timeline.schedule_notes(now), wider))

    return Panel(knobs, draw, settings, timeline=timeline)


def _drawn(schedule: Schedule, seed: int, now: Settings, notes: Sequence[str]) -> Answer:
    """The answer to the controls' values."""
    at, policy, wanted, grace = (
        now[name] for name in ("at", "policy", "preempted", "grace_period")
    )
    touched = preempted_jobs(
        schedule, at, policy=policy, preempted=wanted, grace_period=grace, seed=seed
    )
    values, jobs = _window(schedule, at, policy, seed), _running(schedule, at, touched)
    taken = np.sort(np.argsort(values.loc[at].to_numpy(), kind="stable")[:wanted])
    wasted, began = touched["wasted_cycles"].sum(), schedule.workload.began
    title = (
        f"{policy} preempts {wanted} of {schedule.total_nodes} nodes on {instant(at, began)}: "
        f"{wasted / HOUR:,.1f} node-hours wasted"
    )
    killed, idle = int(touched["killed"].sum()), wanted - int(touched["nodes_taken"].sum())
    picture = plot_preemption(values, jobs, at=at, taken=taken.tolist(), title=title, began=began)
    facts = [
        f"wasted cycles {wasted:,.0f} node-seconds",
        f"{count(killed, 'job')} killed, {len(touched) - killed:,} ending within "
        f"{period_name(grace)}, {len(jobs) - len(touched):,} not touched",
        f"{count(idle, 'idle node')} taken",
    ]
    numbers = {
        "wasted (node-hours)": wasted / HOUR,
        "jobs killed": killed,
        "jobs that end in the grace period": len(touched) - killed,
        "jobs not touched": len(jobs) - len(touched),
        "idle nodes taken": idle,
    }
    return Answer(picture, facts, notes, numbers, lambda: jobs.reset_index())


def _window(schedule: Schedule, at: float, policy: str, seed: int) -> pd.DataFrame:
    """Vectors around a moment; that at the moment itself is what `preempted_jobs` goes by.

    RANDOM draws anew at each moment, so that the vectors before would change the draws.
    """
    half = int(np.clip(MOST_VALUES // schedule.total_nodes, 21, MOMENTS)) // 2
    moments = at + np.linspace(-WINDOW / 2, WINDOW / 2, 2 * half + 1)
    moments[half] = at
    values = preemption_values(schedule, moments, policy=policy, seed=seed)
    values.loc[at] = preemption_values(schedule, [at], policy=policy, seed=seed).loc[at]
    return values


def _running(schedule: Schedule, at: float, touched: pd.DataFrame) -> pd.DataFrame:
    """All jobs on nodes at a moment, as `plot_preemption` takes them, worst hit first."""
    on_nodes = np.unique(occupants(schedule, [at]).to_numpy())
    running = pd.Index(on_nodes[on_nodes != IDLE], name="job")
    fates = touched["killed"].map({True: "kill", False: "spare"}).astype(object)
    jobs = pd.DataFrame(
        {
            "nodes": schedule.workload.jobs["nodes"].to_numpy()[running],
            "elapsed": at - schedule.start_time[running],
            "remaining": schedule.end_time[running] - at,
            "fate": fates.reindex(running, fill_value="keep"),
        },
        index=running,
    )
    hit = touched[["nodes_taken", "wasted_cycles"]].reindex(running, fill_value=0)
    jobs = jobs.join(hit).sort_values("wasted_cycles", ascending=False, kind="stable")
    return jobs.sort_values("fate", key=lambda fate: fate.map(list(FATES).index), kind="stable")
