"""Explorer of filler containers: nodes over time, and node-hours by use and policy.

The accuracy of estimates, the length of the queue and the seed simulate all policies again; the
overhead and the speed of containers, and how often they are saved, change no start, so that only
uses are counted anew.
"""

from dataclasses import replace
from functools import partial
from html import escape
from typing import Any

import numpy as np
import plotly.graph_objects as go

from cosimlib import checks as check
from cosimlib import synthetic
from cosimlib.display import count, percent
from cosimlib.explorers.knobs import Knob, Settings, cached
from cosimlib.explorers.logs import partly_estimated
from cosimlib.explorers.panel import Panel, says_compiling
from cosimlib.explorers.timeline import Timeline
from cosimlib.figures.use import plot_use
from cosimlib.filling import FilledSchedule, full_queue, saved_every, use_table
from cosimlib.policies import SIMULATORS
from cosimlib.schedule import Schedule
from cosimlib.synthetic.estimates import with_round_estimates
from cosimlib.synthetic.lomonosov import LOMONOSOV, RUN_MEAN, SLOTS_MEAN
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
NAMES = {GIVEN: "as given", ALL: "all"}


@says_compiling()
def explore_filling(
    source: Workload | Schedule | None = None,
    system: System | None = None,
    *,
    jobs: int = 1500,
    policy: str = "filling A",
    accuracy: float | str | None = None,
    overhead: float = 0.1,
    speed: float = 1.0,
    save_every: int = 10,
    queue_depth: int | None = None,
    seed: int = 0,
) -> Panel:
    """Explorer of filler containers: nodes over time, and node-hours by use and policy.

    Numbers are for the time in which the queue has its full length: from the first submission until
    it becomes shorter, or until the last job starts if all jobs wait with a reservation.

    Parameters
    ----------
    source : Workload or Schedule, optional
        By default `synthetic.lomonosov`, of which all jobs wait from the start. Of a schedule the
        workload.
    system : System, optional
        Of one partition; by default the source's own machine, or one that holds its jobs.
    jobs : int, default 1500
        How many are generated, or taken in a row where the days chosen are busy.
    policy : str, default "filling A"
        One of `FILLINGS`, shown over time.
    accuracy : float or "given", optional
        The paper's p, from 0 to 1, by default 0.5; of a source with requested times these are
        ``"given"``, which is then the default.
    overhead : float, default 0.1
        The paper's t, as a part of a slot.
    speed : float, default 1.0
        The paper's c.
    save_every : int, default 10
        Slots after which containers are saved under policy C.
    queue_depth : int, optional
        Most jobs that wait with a reservation; by default all of a source, 10 of synthetic ones.
    seed : int, default 0
        Of synthetic jobs, and of estimates; the control is of these.

    Returns
    -------
    Panel
        Its `controls` are `policy`, `accuracy`, `overhead`, `speed`, `save_every`, `queue_depth`
        (0: all) and `seed`; of a source of several days also `period`, the first and the last one.

    Raises
    ------
    TypeError
        If `source` is not a workload or schedule.
    ValueError
        If no job of the source fits, or a setting is out of range.

    Examples
    --------
    >>> import cosimlib as cs
    >>> panel = cs.explore_filling(jobs=60, policy="filling B, kill")
    >>> panel.settings["policy"]
    'filling B, kill'
    """
    made = source is None
    if source is None:
        source = _made(jobs, seed)
    timeline = Timeline(source, system, jobs, partly_estimated)
    depth = (DEPTHS[1] if made else ALL) if queue_depth is None else queue_depth
    known = timeline.has_estimates and not made
    chosen = (GIVEN if known else 0.5) if accuracy is None else accuracy
    own_estimates = "the log's own estimates: nothing is drawn"
    knobs = [
        Knob("policy", policy, "policy", options=FILLINGS),
        Knob("accuracy", chosen, "accuracy (p)", kind="slider",
             options=(*[GIVEN][: int(known)], *ACCURACIES),
             named=lambda p: NAMES[p] if p == GIVEN else f"{p:g}",
             check=partial(_check_accuracy, known)),
        Knob("overhead", overhead, "start and save (t)", high=0.95, step=0.05, most=0.99,
             form=".2f"),
        Knob("speed", speed, "speed (c)", low=0.05, step=0.05, most=1, form=".2f"),
        Knob("save_every", save_every, "C: save every", low=1, high=60, whole=True),
        Knob("queue_depth", depth, "jobs that wait", kind="slider", options=DEPTHS,
             named=lambda jobs: NAMES.get(jobs, str(jobs)), check=partial(check.whole, least=0)),
        Knob("seed", seed, "seed", high=50, whole=True,
             off_when=lambda now: own_estimates if now["accuracy"] == GIVEN else ""),
    ]  # fmt: skip
    simulated = cached(
        lambda now: _simulate(timeline, now), "period", "accuracy", "queue_depth", "seed", size=8
    )
    return Panel(
        knobs, lambda now: _draw(*simulated(now), now), notes=timeline.notes, timeline=timeline
    )


def _made(jobs: int, seed: int) -> Workload:
    """So many jobs like Lomonosov's."""
    check.whole("jobs", jobs, 1)
    days = max(1.0, jobs * SLOTS_MEAN * RUN_MEAN / (LOMONOSOV.total_nodes * 1440))
    workload = synthetic.lomonosov(days, seed=seed)
    return workload.keep(np.arange(len(workload)) < jobs, f"after the first {jobs}")


def _check_accuracy(known: bool, name: str, accuracy: Any) -> None:
    """Raise for what is no accuracy, nor the log's own estimates where it has some."""
    also = f" or {GIVEN!r}" if known else ""
    own = known and isinstance(accuracy, str) and accuracy == GIVEN
    fine = own or (check.is_number(accuracy) and 0 <= accuracy <= 1)
    check.that(name, accuracy, fine, f"a number from 0 to 1{also}")


def _simulate(timeline: Timeline, now: Settings) -> tuple[Runs, float, float]:
    """Schedules under every policy but C, and the window in which they are measured."""
    workload, depth = timeline.part(now).workload, now["queue_depth"] or None
    if now["accuracy"] != GIVEN:
        workload = with_round_estimates(workload, float(now["accuracy"]), seed=now["seed"])
    system = timeline.log.system
    runs = tuple(SIMULATORS[each](workload, system, queue_depth=depth) for each in SIMULATED)
    return runs, *full_queue(runs[0], now["queue_depth"])


def _draw(runs: Runs, start: float, end: float, now: Settings) -> tuple[go.Figure, str]:
    """The figure and the text for the controls' values."""
    runs = (*runs, saved_every(runs[-1], now["save_every"]))
    runs = tuple(replace(run, overhead=now["overhead"], speed=now["speed"]) for run in runs)
    run = runs[FILLINGS.index(now["policy"])]
    table = use_table(runs, start=start, end=end)
    before, chosen = table.loc["not filled"], table.loc[run.policy]
    gain = f" to {percent(chosen['utilization'], 1)}" if run.policy != "not filled" else ""
    title = f"{run.policy}: utilization {percent(before['utilization'], 1)}{gain}"
    text = (
        f"{escape(run.workload.name)}, {count(len(run.workload), 'job')}, node-hours: regular "
        f"{chosen['regular']:,.1f} · work in containers {chosen['containers']:,.1f} · slower "
        f"{chosen['slow']:,.1f} · start and save {chosen['overhead']:,.1f} · killed "
        f"{chosen['lost']:,.1f} · idle {chosen['idle']:,.1f} (without containers "
        f"{before['idle']:,.1f}) · {_held_up(run, runs[0])}"
    )
    return plot_use(runs, chosen=run.policy, start=start, end=end, title=title), text


def _held_up(run: FilledSchedule, plain: FilledSchedule) -> str:
    """How many jobs wait for containers, and how starts differ from those without any."""
    number = int(run.held_up.sum())
    waits = f"{count(number, 'job')} wait{'s' * (number == 1)} for containers to be saved"
    later = (run.start_time - plain.start_time) / MINUTE
    if not later.any():
        return f"{waits}; all start when they do without containers"
    mean = float(later.mean())
    return (
        f"{waits}; beside the run without containers jobs start {abs(mean):,.2f} min "
        f"{'earlier' if mean < 0 else 'later'} in the mean (who waits is overtaken)"
    )
