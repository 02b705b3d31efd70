"""Explorer of on-demand bursts on a batch machine: who makes way, and what that costs.

Every control but the day simulates all jobs again, which takes some milliseconds per thousand; the
day chooses what of them is shown. Bursts are drawn anew by rate, size, length, notice and seed, or
are the user's own.
"""

from dataclasses import replace
from typing import Any

import numpy as np

from cosimlab.explorers.answer import Answer, jobs_of
from cosimlab.explorers.knobs import FACTORS, Knob, Settings, cached, in_minutes, needs
from cosimlab.explorers.logs import Log, estimated
from cosimlab.explorers.panel import Panel, explorer
from cosimlab.explorers.timeline import Timeline
from cosimlab.figures.use import plot_day
from cosimlib import synthetic
from cosimlib.display import count, or_unknown, percent
from cosimlib.ondemand import (
    POLICIES,
    OnDemandSchedule,
    Reserve,
    draw_bursts,
    ledger,
    measure,
    simulate_ondemand,
)
from cosimlib.ondemand.policies import NOTICES
from cosimlib.schedule import Schedule
from cosimlib.synthetic.bursts import NOTICES as KINDS
from cosimlib.system import System, with_memory
from cosimlib.units import DAY, HOUR, MINUTE
from cosimlib.workload import Workload

EVICTING = tuple(policy for policy in POLICIES if policy not in ("wait", "reserve", "share"))
SIZES = tuple(percent / 100 for percent in range(5, 101, 5))
"""Parts of the machine that a burst may want."""
RUN_TIMES = tuple(minutes * MINUTE for minutes in (10, 20, 30, 60, 90, 120, 180, 240, 360, 480))
DELAYS = tuple(minutes * MINUTE for minutes in (0, 1, 2, 5, 10, 15, 20, 30, 45, 60))
"""Seconds to choose from."""
COSTS = {
    "lost": "lost",
    "writing": "writing",
    "blocked": "standing still",
    "rereading": "rereading",
}
"""Uses of node-hours that evictions cost, and their names."""
ASKED = (
    "policy",
    "notice",
    "rate",
    "size",
    "run_time",
    "longest_delay",
    "announced",
    "seed",
    "bandwidth",
)
"""Settings that a schedule depends on."""


@explorer
def explore_ondemand(
    source: Workload | Schedule | None = None,
    system: System | None = None,
    *,
    jobs: int = 600,
    **settings: Any,
) -> Panel:
    """Explorer of on-demand bursts: Gantt chart with evictions, ledger of node-hours, delays.

    Parameters
    ----------
    source : Workload or Schedule, optional
        The batch jobs, by default `synthetic.theta`. Requested times that it lacks are run times.
        Of a schedule the workload.
    system : System, optional
        Of one partition; by default the source's own machine, or one that holds its jobs. Memory
        and bandwidths that are unknown are Theta's.
    jobs : int, default 600
        How many are made, or taken in a row where the days chosen are busy.
    **settings
        First values of the controls, see below.

    Returns
    -------
    Panel
        Its `controls` are `day`, `policy`, `rate`, `size`, `run_time` and `longest_delay` (s),
        `announced`, `notice`, `bandwidth` (GB/s) and `seed`; of a source of several days also
        `period`, the first and the last one.

    Other Parameters
    ----------------
    policy : str, default "dynamic"
        One of `ondemand.POLICIES`; `reserve` keeps as many nodes as a burst wants.
    rate : float, default 4.0
        Bursts per day, from 0.5 to 24.
    size : float, default 0.25
        Part of the machine's nodes that a burst wants, one of `SIZES`.
    run_time, longest_delay : float, default 3600.0, 900.0
        Of a burst, seconds, one of `RUN_TIMES` and of `DELAYS`.
    announced : {"none", "accurate", "early", "late"}
        The kind of notice that is given 15 to 30 minutes before a burst.
    notice : str, default "prepare"
        What the scheduler does with it, as for `simulate_ondemand`.
    bandwidth : float, optional
        Of the file system, GB/s: by default the system's, or Theta's; else this times one of
        `knobs.FACTORS`.
    day : int, optional
        Of those chosen, from 1; by default the one with most evictions.
    seed : int, default 0
        Of bursts, and of memory drawn per job.

    Raises
    ------
    TypeError
        If `source` is no workload or schedule.
    ValueError
        If no job of the source fits, or a setting is out of range.
    InvalidWorkloadError
        If a burst is wider than the system.

    Examples
    --------
    >>> import cosimlab as lab
    >>> panel = lab.explore_ondemand(jobs=60, policy="kill")
    >>> panel.settings["policy"]
    'kill'
    """
    if source is None:
        source = synthetic.theta(jobs, seed=0)
    batch = _Batch(source, system, jobs, _filled)
    bandwidth = batch.part(batch.settings).system.aggregate_bandwidth
    knobs = [
        Knob(
            "day",
            batch.busiest,
            "day shown",
            low=1,
            whole=True,
            high=lambda now: len(batch.starts(now)),
            readout=None
            if batch.log.workload.began is None
            else lambda now: batch.instant(batch.start(now)),
        ),
        Knob("policy", "dynamic", "policy", options=POLICIES),
        Knob("rate", 4.0, "bursts per day", low=0.5, high=24, step=0.5),
        Knob(
            "size",
            0.25,
            "nodes of a burst",
            kind="slider",
            options=SIZES,
            named=lambda size: percent(size, 0),
        ),
        Knob(
            "run_time",
            HOUR,
            "a burst runs (min)",
            kind="slider",
            options=RUN_TIMES,
            named=in_minutes,
        ),
        Knob(
            "longest_delay",
            15 * MINUTE,
            "longest delay (min)",
            kind="slider",
            options=DELAYS,
            named=in_minutes,
        ),
        Knob("announced", KINDS[0], "notice of a burst", options=KINDS),
        Knob(
            "notice",
            "prepare",
            "on a notice",
            options=NOTICES,
            off_when=needs("bursts give no notice", announced=KINDS[1:]),
        ),
        Knob(
            "bandwidth",
            bandwidth,
            "file system (GB/s)",
            kind="slider",
            options=[bandwidth * factor for factor in FACTORS],
            named="{:.4g}".format,
            off_when=needs("the policy {policy} evicts no job", policy=EVICTING),
        ),
        Knob("seed", 0, "seed of bursts", high=50, whole=True),
    ]
    return Panel(knobs, batch.drawn, settings, timeline=batch)


class _Batch(Timeline):
    """The batch jobs of a source's days, and their schedule with bursts."""

    def __init__(self, *asked: Any) -> None:
        super().__init__(*asked, moment=self.start)
        self._simulated = cached(self._simulate, "period", *ASKED, size=16)

    def _simulate(self, now: Settings) -> OnDemandSchedule:
        """The schedule that the controls ask for."""
        workload, system = self.part(now).workload, self.part(now).system
        size = max(1, round(now["size"] * system.total_nodes))
        bursts = draw_bursts(
            workload,
            rate=now["rate"],
            nodes=size,
            run_time=now["run_time"],
            longest_delay=now["longest_delay"],
            notice=now["announced"],
            seed=now["seed"],
        )
        return simulate_ondemand(
            workload,
            replace(system, aggregate_bandwidth=now["bandwidth"]),
            bursts,
            policy=Reserve(size) if now["policy"] == "reserve" else now["policy"],
            seed=now["seed"],
            notice="ignore" if now["announced"] == KINDS[0] else now["notice"],
        )

    def starts(self, now: Settings) -> np.ndarray:
        """Where the days that can be shown begin, s; the first in the hour of a submission."""
        submit = self.part(now).workload.jobs["submit_time"]
        begin = np.floor(submit.min() / HOUR) * HOUR
        return begin + DAY * np.arange((submit.max() - begin) // DAY + 1)

    def start(self, now: Settings) -> float:
        """Where the day shown begins, seconds."""
        return float(self.starts(now)[now["day"] - 1])

    def busiest(self, now: Settings) -> int:
        """The day with most evictions, else the first."""
        day = (self._simulated(now).evictions["time"] - self.starts(now)[0]) // DAY + 1
        day = day[day.between(1, self.starts(now).size)]
        return int(day.mode().iloc[0]) if len(day) else 1

    def drawn(self, now: Settings) -> Answer:
        """Figure, text and notes for the controls' values."""
        schedule, start = self._simulated(now), self.start(now)
        measured = measure(schedule)
        late, here = schedule.bursts["missed"], schedule.bursts["submit_time"]
        there = late[here.between(start, start + DAY, inclusive="left")]
        title = (
            f"{schedule.policy}, day {now['day']}: {int(there.sum()):,} of {len(there):,} late<br>"
            f"all days: {int(late.sum()):,} of {len(late):,} late, "
            f"{or_unknown(measured['overhead'], ',.1f')} node-hours per burst"
        )
        picture = plot_day(schedule, start=start, end=start + DAY, title=title)
        return Answer(
            picture,
            _facts(schedule, measured),
            self.part(now).notes,
            _numbers(schedule, measured),
            lambda: jobs_of(schedule).assign(burst=schedule.on_demand),
        )


def _filled(log: Log) -> Log:
    """The log with requested times, memory and bandwidths."""
    log = estimated(log)
    machine, note = with_memory(log.system)
    return log.of(replace(log.workload, machine=machine), note)


def _useful(schedule: OnDemandSchedule) -> float:
    """Share of the machine's node-hours in which batch jobs and bursts work."""
    hours = ledger(schedule)
    return float(hours["batch"] + hours["bursts"]) / float(hours.sum())


def _numbers(schedule: OnDemandSchedule, measured: dict[str, float]) -> dict[str, float]:
    """What two policies are compared by."""
    delay, actions = schedule.bursts["delay"] / MINUTE, schedule.evictions["action"]
    return {
        "bursts that start late (%)": 100 * measured["missed"],
        "mean delay of bursts (min)": float(delay.mean()),
        "longest delay (min)": float(delay.max()),
        "jobs killed": float((actions == "kill").sum()),
        "evicted by a checkpoint": float(actions.isin(["app", "sys"]).sum()),
        "cost (node-hours per burst)": measured["overhead"],
        "batch: mean bounded slowdown": measured["slowdown"],
        "batch: mean wait (min)": measured["wait"] / MINUTE,
        "useful work (% of machine)": 100 * _useful(schedule),
    }


def _facts(schedule: OnDemandSchedule, measured: dict[str, float]) -> list[str]:
    """The line under the figure."""
    delay, actions = schedule.bursts["delay"] / MINUTE, schedule.evictions["action"].value_counts()
    costs = [f"{words} {or_unknown(measured[name], ',.1f')}" for name, words in COSTS.items()]
    return [
        f"{schedule.workload.name}, {count(len(schedule.workload), 'job')}",
        f"delay of bursts: mean {or_unknown(delay.mean(), ',.1f', ' min')}, longest "
        f"{or_unknown(delay.max(), ',.1f', ' min')}",
        f"{count(int(actions.get('kill', 0)), 'job')} killed, "
        f"{actions.get('app', 0) + actions.get('sys', 0):,} evicted by a checkpoint",
        f"node-hours per burst: {', '.join(costs)}",
        f"batch jobs: mean bounded slowdown {or_unknown(measured['slowdown'], ',.2f')}, mean wait "
        f"{or_unknown(measured['wait'] / MINUTE, ',.1f')} min",
        f"batch jobs and bursts work on {percent(_useful(schedule), 1)} of the machine",
    ]
