"""The time of a log: a thin curve of its use per day, and the days that an explorer takes of it.

A day is *odd* where jobs together hold more nodes than the machine has, for more than a moment, and
*busy* where it is among the tenth of the other days with the highest use. An explorer begins with
the busy day in which most work is submitted, and the days around it, as many as have the jobs
wanted. Use is what the log recorded, or where its starts are unknown, by the rules of
`traces.oddities`, the node-hours of the jobs submitted in a day.
"""

import html
import math
from collections.abc import Callable

import numpy as np
import pandas as pd

from cosimlab.explorers.knobs import Knob, Settings, cached
from cosimlab.explorers.logs import Log, busy, fitting, instant
from cosimlab.palette import BLACK, BLUE, SKY, VERMILION
from cosimlib import checks as check
from cosimlib.batch import simulate_easy
from cosimlib.display import count, or_unknown, percent
from cosimlib.metrics import hourly, occupied_nodes, offered_load
from cosimlib.schedule import Schedule
from cosimlib.synthetic import with_offered_load
from cosimlib.system import System
from cosimlib.traces.oddities import known_starts
from cosimlib.units import DAY
from cosimlib.workload import Workload

BEYOND = 0.01
"""Node-seconds beyond the machine ÷ those of the machine from which on a day is odd."""
BUSY = 0.9
"""Quantile of use from which on a day is busy."""
FULL = 0.95
"""Nodes held ÷ the most nodes held from which on a moment is full."""
LOAD_STEP = 0.01
"""Of sliders of the offered load."""


class Timeline:
    """Days of a log with their use, a slider to choose some, and the jobs of those chosen.

    Parameters
    ----------
    source : Workload or Schedule
        Of a schedule all days are chosen at first.
    system : System, optional
    jobs : int
        So many jobs in a row are taken at most, from where the days chosen are busy.
    fill : callable, optional
        Supposes what jobs lack, such as `logs.estimated`.
    at : float, optional
        A moment of the log's clock whose day is among those chosen at first.
    moment : callable, optional
        Takes the settings and returns a moment to mark on the curve, seconds of the log's clock;
        by default that of the control `at`, if there is one.

    Attributes
    ----------
    log : Log
        All jobs that fit on the machine.
    given, whole : Schedule or None
        The source if it is one; that or what the log recorded.
    days : int
        From the first submission to the last, or the last end of a schedule.
    knobs : list of Knob
        The slider of days; none if there is one day.
    settings : Settings
        The days chosen at first.
    part : callable
        Takes the settings and returns the jobs submitted in the days chosen, at most `jobs` in a
        row where those are busy. Raises ValueError if there is none.
    schedule : callable
        Takes the settings and returns the schedule of the jobs that run in the days chosen, as
        given or recorded, else under EASY. Raises ValueError if there is none.
    """

    def __init__(
        self,
        source: Workload | Schedule,
        system: System | None,
        jobs: int,
        fill: Callable[[Log], Log] = lambda log: log,
        *,
        at: float | None = None,
        moment: Callable[[Settings], float | None] = lambda now: now.get("at"),
    ) -> None:
        check.whole("jobs", jobs, 1)
        check.number("at", at, kind="a moment in seconds", none="for the fullest")
        if isinstance(source, Schedule) and not np.isfinite(source.start_time).any():
            raise ValueError(f"{source.name}: no job ever runs; expected at least one that does")
        self.log, self.jobs = fitting(source, system), jobs
        self._fill, self._moment = fill, moment
        self.given = source if isinstance(source, Schedule) else None
        self._starts = ""
        self.whole = self.given or self._recorded()
        self._count_days()
        ordinary = self._use[~self._odd]
        least = np.quantile(ordinary, BUSY) if ordinary.size else 0.0
        self._busy = ~self._odd & (self._use >= max(least, 1e-9))
        period = Knob(
            "period",
            self._busiest(at),
            "days",
            options=range(self.days),
            named=self._date,
            kind="range",
        )
        self.knobs = [period] if self.days > 1 else []
        self.settings: Settings = {knob.name: knob.value for knob in self.knobs}
        self.part = cached(self._part, "period")
        self.schedule = cached(self._schedule, "period")

    def _recorded(self) -> Schedule | None:
        """The schedule that the log recorded; None if most starts are unknown."""
        if len(self.log.system.partitions) > 1:
            return None
        starts = known_starts(self.log.workload)
        known, sentence = starts.known.any(), starts.sentence
        if not known:
            sentence += "; the starts shown are EASY's"
        self._starts = f"{sentence[:1].upper()}{sentence[1:]}." if sentence else ""
        return Schedule.recorded(starts.started, self.log.system) if known else None

    def _count_days(self) -> None:
        """The first midnight, the number of days, and jobs, work and use of each."""
        table, began = self.log.workload.jobs, self.log.workload.began
        submit = table["submit_time"].to_numpy()
        ends = submit if self.given is None else self.given.end_time
        midnight = 0.0 if began is None else (began - began.normalize()).total_seconds()
        self._begin = math.floor((submit.min() + midnight) / DAY) * DAY - midnight
        last = max(submit.max(), ends[np.isfinite(ends)].max(initial=1.0) - 1.0)
        self.days = int((last - self._begin) // DAY) + 1
        day = ((submit - self._begin) // DAY).astype(int)
        self._submitted = np.bincount(day, minlength=self.days)
        self._work = np.bincount(day, table["nodes"] * table["run_time"], minlength=self.days)
        nodes = self.log.system.total_nodes
        if self.whole is None or len(self.whole.system.partitions) > 1:
            self._use, self._odd = self._work / (nodes * DAY), np.zeros(self.days, dtype=bool)
            return
        held = occupied_nodes(self.whole)
        self._use = self._mean(held) / nodes
        self._odd = self._mean((held - nodes).clip(lower=0)) > BEYOND * nodes

    def _mean(self, steps: pd.Series) -> np.ndarray:
        """Mean of a step function on each day; 0 where it has no step."""
        means = hourly(steps, DAY, self._begin, self._begin + self.days * DAY).to_numpy()
        return np.append(means, np.zeros(self.days - means.size))

    def _busiest(self, at: float | None) -> tuple[int, int]:
        """The busy day of most work submitted, and those after and before it while jobs are few."""
        if len(self.log.workload) <= self.jobs or self.given is not None:
            return 0, self.days - 1
        some = self._submitted > 0
        usable = next(days for days in (self._busy & some, ~self._odd & some, some) if days.any())
        first = int(np.where(usable, self._work, -1.0).argmax())
        if at is not None and self._begin <= at < self._begin + self.days * DAY:
            first = int((at - self._begin) // DAY)
        before = np.append(0, self._submitted.cumsum())
        last = max(first, int(before.searchsorted(before[first] + self.jobs, "right")) - 2)
        return min(first, int(before.searchsorted(before[last + 1] - self.jobs))), last

    def seconds(self, now: Settings) -> tuple[float, float]:
        """Where the days chosen begin and end, on the clock of the log."""
        first, last = now.get("period", (0, self.days - 1))
        return self._begin + first * DAY, self._begin + (last + 1) * DAY

    def _part(self, now: Settings) -> Log:
        """The jobs submitted in the days chosen."""
        start, end = self.seconds(now)
        workload = self.log.workload
        within = workload.jobs["submit_time"].between(start, end, inclusive="left")
        if not within.any():
            raise ValueError(f"no job is submitted from {self._dates(now)}; choose other days")
        if not within.all():
            workload = workload.keep(within, "outside of the days chosen")
        return self._fill(busy(self.log.of(workload), self.jobs))

    def _schedule(self, now: Settings) -> Schedule:
        """The schedule of the jobs that run in the days chosen."""
        if self.given is not None:
            return self.given
        if self.whole is None:
            part = self.part(now)
            return simulate_easy(part.workload, part.system)
        start, end = self.seconds(now)
        running = (self.whole.end_time > start) & (self.whole.start_time < end)
        if not running.any():
            raise ValueError(f"no job runs from {self._dates(now)}; choose other days")
        kept = self.whole.workload.keep(running, "not running in the days chosen")
        return Schedule.recorded(kept, self.whole.system)

    def schedule_notes(self, now: Settings) -> tuple[str, ...]:
        """What is assumed of the schedule of the days chosen."""
        if self.given is not None:
            return ()
        log = self.log if self.whole is not None else self.part(now)
        return (*log.notes, self._starts)

    def fullest(self, now: Settings) -> float:
        """The middle of the full stretch in which the most jobs run; of several, of the longest.

        It is full where at least `FULL` of the most nodes are held that are held at any time of the
        days chosen without being more than the machine has. The very fullest moment may be that of
        one job as wide as the machine, which leaves nothing to choose.
        """
        schedule = self.schedule(now)
        held = occupied_nodes(schedule)
        if not len(held) or not held.any():
            raise ValueError(f"{schedule.name}: no job ever runs; expected at least one that does")
        ends = np.append(held.index[1:], held.index[-1])
        times, ends = np.clip([held.index, ends], *self.seconds(now))
        lasts, nodes = ends - times, held.to_numpy()
        # Records may hold more nodes than there are, which is no moment to show.
        within = (lasts > 0) & (nodes <= schedule.total_nodes)
        within = within if (within & (nodes > 0)).any() else lasts > 0
        full = within & (nodes >= FULL * nodes[within].max(initial=0.0))
        started = np.sort(schedule.start_time).searchsorted(times, side="right")
        ended = np.sort(schedule.end_time).searchsorted(times, side="right")
        best = np.lexsort((lasts, started - ended, full))[-1]
        return float(times[best] + lasts[best] / 2)

    def moment_knob(
        self, step: float, schedule: Callable[[Settings], Schedule] | None = None
    ) -> Knob:
        """A slider of the moments of the days chosen at which jobs run; first that of `fullest`."""
        scheduled = schedule or self.schedule

        def first(now: Settings) -> float:
            return max(self.seconds(now)[0], float(np.nanmin(scheduled(now).start_time)))

        def last(now: Settings) -> float:
            end = min(self.seconds(now)[1], float(np.nanmax(scheduled(now).end_time)))
            return max(first(now), end - step)

        return Knob(
            "at",
            self.fullest,
            "moment",
            step=step,
            low=first,
            high=last,
            readout=lambda now: self.instant(now["at"]),
        )

    def load(self, now: Settings) -> float:
        """Offered load of the days chosen; 1 if there is none."""
        part = self.part(now)
        load = offered_load(part.workload, part.system)
        return load if 0 < load < np.inf else 1.0

    def load_knob(self, most: float) -> Knob:
        """A slider of the offered load, which is at first that of the days chosen."""
        return Knob(
            "load",
            self.load,
            "offered load",
            low=lambda now: min(0.1, self.load(now)),
            high=lambda now: max(most, self.load(now)),
            step=LOAD_STEP,
            near=LOAD_STEP / 2,
            off_when=self._no_load,
        )

    def _no_load(self, now: Settings) -> str:
        """Why the load cannot be changed; "" if it can."""
        part = self.part(now)
        can = 0 < offered_load(part.workload, part.system) < np.inf
        return "" if can else "the jobs offer no load, or all are submitted at once"

    def loaded(self, now: Settings) -> Workload:
        """The jobs of the days chosen at the load chosen: gaps between submissions are scaled."""
        workload, load = self.part(now).workload, now["load"]
        if abs(load - self.load(now)) <= LOAD_STEP / 2:  # a browser's slider rounds to steps
            return workload
        return with_offered_load(workload, self.part(now).system.total_nodes, load=load)

    def _date(self, day: int) -> str:
        """A day in words."""
        began, seconds = self.log.workload.began, self._begin + day * DAY
        if began is None:
            return f"day {seconds / DAY:,.0f}"
        noon = began + pd.Timedelta(round(seconds + DAY / 2), "s")  # in summer and in winter
        return f"{noon:%Y-%m-%d}"

    def _dates(self, now: Settings) -> str:
        first, last = map(self._date, now["period"])
        return first if first == last else f"{first} to {last}"

    def instant(self, seconds: float) -> str:
        """A moment in words short enough for a control's label."""
        return instant(seconds, self.log.workload.began, short=True)

    def drawing(self, now: Settings) -> str:
        """The curve, the days chosen and the moment, if any, as HTML."""
        first, last = now["period"]
        jobs = count(int(self._submitted[first : last + 1].sum()), "job")
        what, mean = self._in_words(now)
        words = f"<b>{html.escape(self._dates(now))}</b>: {jobs} of {len(self.log.workload):,}, "
        legend = {SKY: f"{what} per day", BLUE: "busy"}
        if self._odd.any():
            legend[VERMILION] = "more nodes in use than it has"
        shown = " ".join(
            f'<span style="color:{color}">■</span> {name}' for color, name in legend.items()
        )
        return (
            '<div style="font-size:12px; line-height:16px; display:flex; '
            'justify-content:space-between; margin:0 8px; white-space:nowrap; overflow:hidden">'
            f"<span>{words}{mean}</span><span>{shown}</span></div>{self._curve(now)}"
        )

    def _in_words(self, now: Settings) -> tuple[str, str]:
        """What the curve shows, and its value for the days chosen together."""
        first, last = now["period"]
        if self.whole is not None:
            what = "use of the machine"
            return what, f"{what} {percent(float(self._use[first : last + 1].mean()), 0)}"
        submit = self.log.workload.jobs["submit_time"]
        within = submit[submit.between(*self.seconds(now), inclusive="left")]
        offered = self.log.system.total_nodes * (within.max() - within.min())
        work = float(self._work[first : last + 1].sum())
        load = work / offered if offered > 0 else np.inf
        return "offered load", f"offered load of these days {or_unknown(load, '.2f')}"

    def _curve(self, now: Settings) -> str:
        """Use per day as an image as wide as the slider."""
        most = max(1.0, float(self._use[~self._odd].max(initial=0)))
        high = np.maximum(30 * np.minimum(1.0, self._use / most), 0.5)
        colors = np.where(self._odd, VERMILION, np.where(self._busy, BLUE, SKY))
        bars = [_bar(day, 1, color, high[day]) for day, color in enumerate(colors)]
        first, last = now["period"]
        bars.append(_bar(first, last + 1 - first, BLACK, 32, ' opacity=".15"'))
        moment, width = self._moment(now), self.days / 500
        if moment is not None:
            bars.append(_bar((moment - self._begin) / DAY - width / 2, width, BLACK, 32))
        return (
            f'<svg viewBox="0 0 {self.days} 32" preserveAspectRatio="none" style="display:block; '
            f'height:32px; width:calc(100% - 16px); margin:0 8px">{"".join(bars)}</svg>'
        )


def _bar(left: float, width: float, color: str, high: float, more: str = "") -> str:
    return f'<path d="M{left:.3f} 32v{-high:.1f}h{width:.3f}V32z" fill="{color}"{more}/>'
