"""Explorer of the eviction problem: moment, nodes, deadline, file system, interval, solver, notice.

A log may be any: starts that it lacks are simulated, memory and bandwidths are Theta's where it has
none. Controls of the number of nodes and of the deadline read plans from a spectrum that is solved
already; those of the moment, the file system's bandwidth and the interval between application
checkpoints pose the problem anew and solve it again. The plan beside the surface may be that of
another solver, or of another objective, which is solved for the number of nodes at hand. Where the
nodes are asked for some hours before, what draining costs stands beside what evicting costs.
"""

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from cosimlab.comparison.draining import NOTICES, drain_or_evict
from cosimlab.explorers.answer import Answer
from cosimlab.explorers.knobs import FACTORS, Knob, Settings, cached, in_minutes
from cosimlab.explorers.logs import estimated
from cosimlab.explorers.panel import Panel, explorer
from cosimlab.explorers.timeline import Timeline
from cosimlab.figures.eviction import plot_trade_off
from cosimlib import eviction, synthetic
from cosimlib.calendar import Calendar
from cosimlib.display import count
from cosimlib.eviction import EvictionPlan, EvictionProblem, TimedPlan
from cosimlib.eviction.problem import ACTIONS, KEEP, KILL
from cosimlib.schedule import Schedule
from cosimlib.system import System, with_memory
from cosimlib.units import HOUR, MINUTE
from cosimlib.workload import Workload

SOLVERS = {
    "dynamic": "least loss (paper)",
    "greedy": "greedy (paper)",
    "overlapping": "least loss, waits overlap",
    "blocked": "least lost and standing still",
}
"""What the solvers of `eviction` are called, such as `solve_dynamic`."""
INTERVALS = tuple(minutes * MINUTE for minutes in (5, 10, 15, 30, 45, 60, 90, 120, 180, 240))
"""Seconds between application checkpoints to choose from."""
CLICK = "Click on the surface to choose nodes and deadline at once."
NO_NODE = "no node is needed"
JOBS = 3000
"""Of a workload without starts, how many in a row are scheduled."""
OF_PROBLEM = ("period", "at", "bandwidth", "interval")
"""Settings that the problem depends on."""


@explorer
def explore_eviction(
    source: Schedule | Workload | None = None,
    system: System | None = None,
    *,
    horizon: float = 900.0,
    seed: int = 0,
    **settings: Any,
) -> Panel:
    """Explorer of eviction: the loss by nodes and deadline, and what happens to each job.

    The surface is the paper's: the least loss, with waits added up. The jobs beside it are those of
    the chosen solver.

    Parameters
    ----------
    source : Schedule or Workload, optional
        By default `synthetic.theta`. Of a workload the starts recorded or, where a job has none,
        EASY's of 3,000 jobs in a row.
    system : System, optional
        Of a workload, by default its own. Memory and bandwidths that are unknown are Theta's.
    horizon, seed
        As for `EvictionProblem.from_schedule`.
    **settings
        First values of the controls, see below.

    Returns
    -------
    Panel
        Its `controls` are `at` (seconds), `nodes_needed`, `deadline` (seconds), `bandwidth` (GB/s,
        of the file system), `interval` (seconds), `solver` and `notice` (hours); of a source of
        several days also `period`, the first and the last one.

    Other Parameters
    ----------------
    at : float, optional
        The moment of the eviction, seconds of the schedule's clock; by default one at which the
        machine is full and many jobs run: of the moments of the days chosen with at least 95 % of
        the most nodes held (no more than the machine has), the middle of the one with the most
        jobs.
    nodes_needed : int, optional
        By default a quarter of the nodes held.
    deadline : float, optional
        Seconds, by default a third of the horizon.
    bandwidth : float, optional
        Of the file system, GB/s: by default the system's, or Theta's; else this times one of
        `knobs.FACTORS`.
    interval : float, default 3600.0
        Seconds from one application checkpoint to the next, one of `INTERVALS`.
    solver : str, default "dynamic"
        ``"dynamic"``, ``"greedy"``, ``"overlapping"`` (least loss where waits overlap) or
        ``"blocked"`` (least loss and standing still).
    notice : float, default 0
        Hours before the moment from which on EASY starts no job that would hold the nodes needed;
        one of `comparison.draining.NOTICES`. See `drain_or_evict`.

    Raises
    ------
    TypeError
        If `source` is neither.
    ValueError
        If nothing runs, or a setting is out of range.

    Examples
    --------
    >>> import cosimlab as lab
    >>> panel = lab.explore_eviction(nodes_needed=16)
    >>> panel.settings["nodes_needed"]
    16
    """
    if source is None:
        source = synthetic.theta(JOBS, seed=seed)
    at = settings.get("at")
    moments = _Moments(source, system, JOBS, estimated, at=at, horizon=horizon, seed=seed)
    deadlines = EvictionProblem.empty(horizon=horizon).deadlines.tolist()
    pose, bandwidth = moments.pose, moments.machine.aggregate_bandwidth
    knobs = [
        moments.moment_knob(MINUTE),
        Knob(
            "nodes_needed",
            lambda now: pose(now).total_nodes // 4,
            "nodes needed",
            whole=True,
            high=lambda now: pose(now).total_nodes,
        ),
        Knob(
            "deadline",
            deadlines[len(deadlines) // 3],
            "deadline (min)",
            kind="slider",
            options=deadlines,
            named=in_minutes,
        ),
        Knob(
            "bandwidth",
            bandwidth,
            "file system (GB/s)",
            kind="slider",
            options=[bandwidth * factor for factor in FACTORS],
            named="{:.4g}".format,
        ),
        Knob(
            "interval",
            HOUR,
            "checkpoint every (min)",
            kind="slider",
            options=INTERVALS,
            named=in_minutes,
        ),
        Knob("solver", "dynamic", "solver", options=SOLVERS, named=SOLVERS.__getitem__),
        Knob(
            "notice",
            0,
            "draining",
            options=NOTICES,
            kind="slider",
            named=lambda hours: f"{hours:g} h before" if hours else "none",
            off_when=lambda now: "" if now["nodes_needed"] else NO_NODE,
        ),
    ]
    solved = cached(lambda now: eviction.solve_spectrum(pose(now)), *OF_PROBLEM)

    def plan_of(now: Settings) -> EvictionPlan:
        """The plan of the solver chosen; that of the paper is read from the spectrum."""
        nodes, solver = now["nodes_needed"], now["solver"]
        if solver == "dynamic":
            return solved(now).plan(nodes)
        plan: EvictionPlan = getattr(eviction, f"solve_{solver}")(pose(now).asking(nodes))
        return plan

    planned = cached(plan_of, *OF_PROBLEM, "solver", "nodes_needed")

    def draw(now: Settings) -> Answer:
        deadline, needed, plan = now["deadline"], now["nodes_needed"], planned(now)
        loss = plan.loss[plan.row(deadline)]
        asked = f"{count(needed, 'node')} within {deadline / MINUTE:.4g} minutes"
        title = f"{asked}: {loss:,.1f} node-hours lost"
        picture = plot_trade_off(solved(now), plan, deadline, title=title)
        # On narrow pages the title of this axis is else on that of the color bar.
        picture.update_layout({"yaxis2.title.standoff": 2})
        drained = moments.drained(now) if now["notice"] and needed else ""
        facts = [*_facts(plan, deadline), drained]
        notes = (CLICK, *moments.schedule_notes(now))
        return Answer(
            picture, facts, notes, _numbers(plan, deadline), lambda: _table(plan, deadline)
        )

    panel = Panel(knobs, draw, settings, timeline=moments)

    def choose(trace: Any, points: Any, state: Any) -> None:
        """Set nodes and deadline to the point of the surface that was clicked."""
        if points.xs:
            nearest = np.abs(np.array(deadlines) / MINUTE - points.xs[0]).argmin()
            panel.choose(nodes_needed=int(points.ys[0]), deadline=deadlines[nearest])

    panel.figure.data[0].on_click(choose)
    return panel


class _Moments(Timeline):
    """Moments of a log at which the eviction may be, and the problem at each."""

    def __init__(self, *asked: Any, at: float | None, **fixed: Any) -> None:
        super().__init__(*asked, at=at)
        self.machine, self._note = with_memory(self.log.system)
        self._fixed = fixed
        self.pose = cached(self._pose, *OF_PROBLEM)
        self.drained = cached(self._drained, *OF_PROBLEM, "nodes_needed", "deadline", "notice")

    def schedule_notes(self, now: Settings) -> tuple[str, ...]:
        """What is assumed, and what runs at the moment chosen."""
        problem = self.pose(now)
        one = len(problem) == 1
        runs = (
            f"{count(len(problem), 'job')} run{'s' * one} on {count(problem.total_nodes, 'node')}"
        )
        return (*super().schedule_notes(now), self._note, f"At the moment shown, {runs}.")

    def _asked(self, now: Settings) -> dict[str, Any]:
        """The machine, with a file system of the bandwidth chosen, and the interval."""
        system = replace(self.machine, aggregate_bandwidth=now["bandwidth"])
        return {"system": system, "interval": now["interval"]}

    def _pose(self, now: Settings) -> EvictionProblem:
        """The problem at the moment chosen."""
        return EvictionProblem.from_schedule(
            self.schedule(now), at=now["at"], nodes_needed=0, **self._asked(now), **self._fixed
        )

    def _drained(self, now: Settings) -> str:
        """What a window that closes the nodes costs, known so many hours before it and not."""
        start, notice, workload = now["at"], now["notice"], estimated(self.log).workload
        window = {"start": [start], "end": [start + HOUR], "nodes": [now["nodes_needed"]]}
        try:
            costs = drain_or_evict(
                workload,
                Calendar(window),
                notices=[0, notice],
                **self._asked(now),
                horizon=now["deadline"],
                seeds=[self._fixed["seed"]],
            )
        except ValueError as error:
            return f"draining cannot be simulated: {error}"
        late, early = costs.to_dict("records")
        return (
            f"under EASY of the two weeks before, drained for {notice:g} h: {early['cost']:,.1f} "
            f"node-hours (idle {early['idle']:,.1f}, lost {early['lost']:,.1f}, standing still "
            f"{early['blocked']:,.1f}); not drained: {late['cost']:,.1f}"
        )


def _timed(plan: EvictionPlan) -> TimedPlan:
    """The plan with the times at which jobs stop."""
    return plan if isinstance(plan, TimedPlan) else TimedPlan.of(plan)


def _numbers(plan: EvictionPlan, deadline: float) -> dict[str, float]:
    """What two plans are compared by."""
    row, timed = plan.row(deadline), _timed(plan)
    chosen = plan.choices[row]
    return {
        "lost (node-hours)": float(plan.loss[row]),
        "standing still (node-hours)": float(timed.blocked[row]),
        "writing checkpoints (s)": float(plan.checkpoint_time[row]),
        "burst starts after (s)": float(timed.free_time[row]),
        "nodes freed": float(plan.nodes_freed[row]),
        "jobs killed": float((chosen == KILL).sum()),
        "evicted by a checkpoint": float(((chosen != KILL) & (chosen != KEEP)).sum()),
    }


def _table(plan: EvictionPlan, deadline: float) -> pd.DataFrame:
    """One row per running job: its action, loss (node-hours) and checkpoint's `time` (s)."""
    jobs = plan.problem.jobs.rename_axis("job").drop(columns="loss")
    evicted = plan.actions(deadline).set_index("job")[["action", "loss", "time"]]
    kept = {"action": ACTIONS[KEEP], "loss": 0.0, "time": 0.0}
    return jobs.join(evicted).fillna(kept).reset_index()


def _facts(plan: EvictionPlan, deadline: float) -> list[str]:
    """What a plan costs, and what it frees."""
    row, timed = plan.row(deadline), _timed(plan)
    return [
        f"loss {plan.loss[row]:,.2f} node-hours",
        f"checkpoints {plan.checkpoint_time[row]:,g} s",
        f"{count(int(plan.nodes_freed[row]), 'node')} freed",
        f"standing still {timed.blocked[row]:,.2f} node-hours until the burst starts after "
        f"{timed.free_time[row]:,g} s",
    ]
