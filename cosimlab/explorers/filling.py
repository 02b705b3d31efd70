"""Explorer of filler containers: nodes over time, and node-hours by use and policy.

The accuracy of estimates, the length of the queue and the seed simulate all policies again; the
overhead and the speed of containers, and how often they are saved, change no start, so that only
uses are counted anew.
"""

from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from cosimlab import twins
from cosimlab.explorers.answer import Answer
from cosimlab.explorers.knobs import Knob, Settings, cached
from cosimlab.explorers.logs import estimated
from cosimlab.explorers.panel import Panel, explorer
from cosimlab.explorers.timeline import Timeline
from cosimlab.figures.use import plot_use
from cosimlab.twins.lomonosov import LOMONOSOV, RUN_MEAN, SLOTS_MEAN
from cosimlib import checks as check
from cosimlib.display import count, percent
from cosimlib.filling import FilledSchedule, full_queue, saved_every, use_table
from cosimlib.policies import SIMULATORS
from cosimlib.schedule import Schedule
from cosimlib.synthetic.estimates import with_round_estimates
from cosimlib.system import System
from cosimlib.units import MINUTE
from cosimlib.workload import Workload

Runs = tuple[FilledSchedule, ...]

SIMULATED = ("not filled", "filling A", "filling B, save", "filling B, kill")
FILLINGS = (*SIMULATED, "filling C")
ALL = 0
DEPTHS = (ALL, 10, 30, 100, 300)
ACCURACIES = tuple(round(0.1 * tenth, 1) for tenth in range(11))
GIVEN = "given"
OWN = "the log's own estimates are used, nothing is random"
NAMES = {GIVEN: "as given", ALL: "all"}


@explorer
def explore_filling(
    source: Workload | Schedule | None = None,
    system: System | None = None,
    *,
    jobs: int = 1500,
    **settings: Any,
) -> Panel:
    """Explorer of filler containers: nodes over time, and node-hours by use and policy.

    Numbers are for the time in which the queue has its full length: from the first submission until
    it becomes shorter, or until the last job starts if all jobs wait with a reservation.

    Parameters
    ----------
    source : Workload or Schedule, optional
        By default `twins.lomonosov`, of which all jobs wait from the start. Of a schedule the
        workload.
    system : System, optional
        Of one partition; by default the source's own machine, or one that holds its jobs.
    jobs : int, default 1500
        How many are generated, or taken in a row where the days chosen are busy.
    **settings
        First values of the controls, see below.

    Returns
    -------
    Panel
        Its `controls` are `policy`, `accuracy`, `overhead`, `speed`, `save_every`, `queue_depth`
        (0: all) and `seed`; of a source of several days also `period`, the first and the last one.

    Other Parameters
    ----------------
    policy : str, default "filling A"
        One of `FILLINGS`, shown over time.
    accuracy : float or "given", optional
        The paper's p, one of `ACCURACIES`, by default 0.5; of a source with requested times these
        are ``"given"``, which is then the default.
    overhead : float, default 0.1
        The paper's t, as a part of a slot.
    speed : float, default 1.0
        The paper's c.
    save_every : int, default 10
        Slots after which containers are saved under policy C.
    queue_depth : int, optional
        Most jobs that wait with a reservation, one of `DEPTHS`; by default all of a source, 10 of
        synthetic ones.
    seed : int, default 0
        Of estimates.

    Raises
    ------
    TypeError
        If `source` is not a workload or schedule.
    ValueError
        If no job of the source fits, or a setting is out of range.

    Examples
    --------
    >>> import cosimlab as lab
    >>> panel = lab.explore_filling(jobs=60, policy="filling B, kill")
    >>> panel.settings["policy"]
    'filling B, kill'
    """
    made = source is None
    if source is None:
        check.whole("jobs", jobs, 1)
        days = jobs * SLOTS_MEAN * RUN_MEAN / (LOMONOSOV.total_nodes * 1440)
        source = twins.lomonosov(max(1.0, days), seed=0)
        source = source.keep(np.arange(len(source)) < jobs, f"after the first {jobs}")
    timeline = Timeline(source, system, jobs, partial(estimated, all_made=True))
    known = bool(timeline.log.workload.jobs["requested_time"].notna().any()) and not made
    knobs = [
        Knob("policy", "filling A", "policy", options=FILLINGS),
        Knob(
            "accuracy",
            GIVEN if known else 0.5,
            "accuracy (p)",
            kind="slider",
            options=(*[GIVEN][: int(known)], *ACCURACIES),
            named=lambda p: NAMES[p] if p == GIVEN else f"{p:g}",
        ),
        Knob("overhead", 0.1, "start and save (t)", high=0.95, step=0.05),
        Knob("speed", 1.0, "speed (c)", low=0.05, step=0.05),
        Knob("save_every", 10, "C saves every (slots)", low=1, high=60, whole=True),
        Knob(
            "queue_depth",
            DEPTHS[1] if made else ALL,
            "jobs with a reservation",
            kind="slider",
            options=DEPTHS,
            named=lambda jobs: NAMES.get(jobs, str(jobs)),
        ),
        Knob(
            "seed",
            0,
            "seed of estimates",
            high=50,
            whole=True,
            off_when=lambda now: OWN if now["accuracy"] == GIVEN else "",
        ),
    ]
    simulated = cached(
        lambda now: _simulate(timeline, now), "period", "accuracy", "queue_depth", "seed", size=8
    )

    def draw(now: Settings) -> Answer:
        runs, start, end = simulated(now)
        runs = (*runs, saved_every(runs[-1], now["save_every"]))
        runs = tuple(replace(run, overhead=now["overhead"], speed=now["speed"]) for run in runs)
        run = runs[FILLINGS.index(now["policy"])]
        table = use_table(runs, start=start, end=end)
        before, after = table.loc[["not filled", run.policy], "utilization"]
        title = f"{run.policy}: utilization {percent(before, 1)} to {percent(after, 1)}"
        picture = plot_use(runs, chosen=run.policy, start=start, end=end, title=title)
        return Answer(
            picture,
            _facts(run, runs[0], table),
            timeline.part(now).notes,
            _numbers(run, runs[0], table),
            lambda: table.reset_index(),
        )

    return Panel(knobs, draw, settings, timeline=timeline)


def _simulate(timeline: Timeline, now: Settings) -> tuple[Runs, float, float]:
    """Schedules under every policy but C, and the window in which they are measured."""
    workload, depth = timeline.part(now).workload, now["queue_depth"] or None
    if now["accuracy"] != GIVEN:
        workload = with_round_estimates(workload, float(now["accuracy"]), seed=now["seed"])
    system = timeline.log.system
    runs = tuple(SIMULATORS[each](workload, system, queue_depth=depth) for each in SIMULATED)
    return runs, *full_queue(runs[0], now["queue_depth"])


def _later(run: FilledSchedule, plain: FilledSchedule) -> float:
    """Minutes by which the jobs start later than without containers, on average."""
    return float((run.start_time - plain.start_time).mean()) / MINUTE


def _numbers(run: FilledSchedule, plain: FilledSchedule, table: pd.DataFrame) -> dict[str, float]:
    """What two ways of filling are compared by."""
    hours = table.loc[run.policy]
    return {
        "utilization (%)": 100 * hours["utilization"],
        "regular jobs (node-hours)": hours["regular"],
        "work in containers (node-hours)": hours["containers"],
        "slower in containers (node-hours)": hours["slow"],
        "start and save (node-hours)": hours["overhead"],
        "killed (node-hours)": hours["lost"],
        "idle (node-hours)": hours["idle"],
        "jobs held up": float(run.held_up.sum()),
        "starts later, on average (min)": _later(run, plain),
    }


def _facts(run: FilledSchedule, plain: FilledSchedule, table: pd.DataFrame) -> list[str]:
    """The line under the figure: node-hours by use, and how starts differ without containers."""
    hours, idle = table.loc[run.policy], table.loc[plain.policy, "idle"]
    return [
        f"{run.workload.name}, {count(len(run.workload), 'job')}, node-hours: regular "
        f"{hours['regular']:,.1f}",
        f"work in containers {hours['containers']:,.1f}",
        f"slower {hours['slow']:,.1f}",
        f"start and save {hours['overhead']:,.1f}",
        f"killed {hours['lost']:,.1f}",
        f"idle {hours['idle']:,.1f} (without containers {idle:,.1f})",
        f"{count(int(run.held_up.sum()), 'job')} held up by containers; jobs start "
        f"{_later(run, plain):+,.2f} min later than without them, on average",
    ]
