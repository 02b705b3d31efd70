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
from functools import cached_property

import numpy as np
import pandas as pd

from cosimlib import checks as check
from cosimlib.batch import simulate_easy
from cosimlib.display import count, percent
from cosimlib.explorers.knobs import Knob, Settings, cached
from cosimlib.explorers.logs import Log, busy, fitting, instant
from cosimlib.metrics import daily, occupied_nodes, offered_load
from cosimlib.palette import BLACK, BLUE, SKY, VERMILION
from cosimlib.schedule import Schedule
from cosimlib.synthetic import with_offered_load
from cosimlib.system import System
from cosimlib.traces.oddities import known_starts
from cosimlib.units import DAY
from cosimlib.workload import Workload

Period = tuple[int, int]
"""The first and the last day, counted from the log's first."""

BEYOND = 0.01
"""Node-seconds beyond the machine ÷ those of the machine from which on a day is odd."""
BUSY = 0.9
"""Quantile of use from which on a day is busy."""
LOAD_STEP = 0.01
"""Of sliders of the offered load."""
COLUMNS = 400
"""Of the curve, at most."""
MOST_DAYS = 4000
"""Steps of the slider, at most; of longer logs a step is several days."""


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
        Steps of the slider.
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
        if isinstance(source, Schedule) and not np.isfinite(source.start_time).any():
            raise ValueError(f"{source.name}: no job ever runs; expected at least one that does")
        self.log, self.jobs = fitting(source, system), jobs
        self._fill, self.moment = fill, moment
        self.given = source if isinstance(source, Schedule) else None
        self._starts = ""
        self.whole = self.given or self._recorded()
        table = self.log.workload.jobs
        submit = table["submit_time"].to_numpy()
        ends = submit if self.given is None else self.given.end_time
        began = self.log.workload.began
        midnight = 0.0 if began is None else (began - began.normalize()).total_seconds()
        self._begin = math.floor((submit.min() + midnight) / DAY) * DAY - midnight
        last = max(submit.max(), ends[np.isfinite(ends)].max(initial=1.0) - 1.0)
        length = (last - self._begin) / DAY
        self._step = math.ceil((length + 1e-9) / MOST_DAYS) * DAY
        self.days = int(length * DAY // self._step) + 1
        day = ((submit - self._begin) // self._step).astype(int)
        self._submitted = np.bincount(day, minlength=self.days)
        self._work = np.bincount(day, table["nodes"] * table["run_time"], minlength=self.days)
        self._use, self._odd = self._measure()
        ordinary = self._use[~self._odd]
        least = np.quantile(ordinary, BUSY) if ordinary.size else 0.0
        self._busy = ~self._odd & (self._use >= max(least, 1e-9))
        self.first: Period = self._busiest(at)
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
        if not known:
            return None
        return Schedule.recorded(starts.started, self.log.system)

    @property
    def has_estimates(self) -> bool:
        """Whether any requested time is known."""
        return bool(self.log.workload.jobs["requested_time"].notna().any())

    @property
    def settings(self) -> Settings:
        """The days shown at first."""
        return {knob.name: knob.setting for knob in self.knobs}

    @cached_property
    def knobs(self) -> list[Knob]:
        """The slider of days; none if there is one day."""
        days = range(self.days)
        period = Knob("period", self.first, "days", options=days, named=self._date, kind="range")
        return [period] if self.days > 1 else []

    def _busiest(self, at: float | None) -> Period:
        """The busy day of most work submitted, and those around it while jobs are few enough."""
        if len(self.log.workload) <= self.jobs or self.given is not None:
            return 0, self.days - 1
        some = self._submitted > 0
        usable = next(days for days in (self._busy & some, ~self._odd & some, some) if days.any())
        first = last = int(np.where(usable, self._work, -1.0).argmax())
        if at is not None and self._begin <= at < self.seconds({})[1]:
            first = last = int((at - self._begin) // self._step)
        grown = True
        while grown:
            grown = False
            for begin, end in ((first, last + 1), (first - 1, last)):
                few = self._submitted[max(begin, 0) : end + 1].sum() <= self.jobs
                if begin >= 0 and end < self.days and few:
                    first, last, grown = begin, end, True
                    break
        return first, last

    def seconds(self, now: Settings) -> tuple[float, float]:
        """Where the days chosen begin and end, on the clock of the log."""
        first, last = now.get("period", (0, self.days - 1))
        return self._begin + first * self._step, self._begin + (last + 1) * self._step

    def _part(self, now: Settings) -> Log:
        """The jobs submitted in the days chosen."""
        start, end = self.seconds(now)
        submit = self.log.workload.jobs["submit_time"]
        within = (submit >= start) & (submit < end)
        if not within.any():
            raise ValueError(f"no job is submitted from {self._dates(now)}; choose other days")
        workload = self.log.workload
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

    def notes(self, now: Settings) -> tuple[str, ...]:
        """What is assumed of the jobs of the days chosen."""
        return self.part(now).notes

    def schedule_notes(self, now: Settings) -> tuple[str, ...]:
        """What is assumed of the schedule of the days chosen."""
        if self.given is not None:
            return ()
        log = self.log if self.whole is not None else self.part(now)
        return (*log.notes, self._starts)

    def fullest(self, now: Settings) -> float:
        """The middle of the longest stretch in which the most nodes of the machine are held."""
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
        best = np.lexsort((lasts, np.where(within, nodes, 0)))[-1]
        return float(times[best] + lasts[best] / 2)

    def moment_knob(
        self,
        at: float | None,
        step: float,
        schedule: Callable[[Settings], Schedule] | None = None,
    ) -> Knob:
        """A slider of the moments of the days chosen at which `schedule` runs; first the fullest.

        Raises
        ------
        ValueError
            For a moment that is before the first start, or not before the last end.
        """
        scheduled = schedule or self.schedule
        shown = self.schedule(self.settings)
        begin, end = float(np.nanmin(shown.start_time)), float(np.nanmax(shown.end_time))
        kind = "a moment in seconds"
        check.number("at", at, kind=kind, none="for the fullest", where=shown.name)
        if at is not None and not begin <= at < end:
            raise ValueError(
                f"{shown.name}: at={at:g} is outside of the schedule, which runs from {begin:g} to "
                f"before {end:g} s: choose a moment between, or leave at out"
            )

        def first(now: Settings) -> float:
            return max(self.seconds(now)[0], float(np.nanmin(scheduled(now).start_time)))

        def last(now: Settings) -> float:
            end = min(self.seconds(now)[1], float(np.nanmax(scheduled(now).end_time)))
            return max(first(now), end - step)

        return Knob("at", at, "moment", default=self.fullest, step=step, low=first, high=last,
                    readout=lambda now: self.instant(now["at"]))  # fmt: skip

    def load(self, now: Settings) -> float:
        """Offered load of the days chosen; 1 if there is none."""
        return 1.0 if self._no_load(now) else self._offered_load(now)

    def _offered_load(self, now: Settings) -> float:
        part = self.part(now)
        return offered_load(part.workload, part.system)

    def _no_load(self, now: Settings) -> str:
        """Why the load cannot be changed; "" if it can."""
        can = 0 < self._offered_load(now) < np.inf
        return "" if can else "the jobs offer no load, or all are submitted at once"

    def load_knob(self, load: float | None, most: float) -> Knob:
        """A slider of the offered load, which is that of the days chosen unless it is given."""
        check.number("load", load, above=0, none=True)
        ends = 0.1 if load is None else min(0.1, load), most if load is None else max(most, load)
        return Knob("load", None if self._no_load(self.settings) else load, "offered load",
                    default=self.load, step=LOAD_STEP, form=".2f",
                    low=lambda now: min(ends[0], self.load(now)),
                    high=lambda now: max(ends[1], self.load(now)),
                    off_when=self._no_load)  # fmt: skip

    def loaded(self, now: Settings) -> Workload:
        """The jobs of the days chosen at the load chosen: gaps between submissions are scaled."""
        workload, load = self.part(now).workload, now["load"]
        if abs(load - self.load(now)) <= LOAD_STEP / 2:  # a browser's slider rounds to steps
            return workload
        return with_offered_load(workload, self.part(now).system.total_nodes, load=load)

    def _measure(self) -> tuple[np.ndarray, np.ndarray]:
        """Use of the machine per day, and whether more nodes are held than it has."""
        nodes = self.log.system.total_nodes
        if self.whole is None or len(self.whole.system.partitions) > 1:
            return self._work / (nodes * self._step), np.zeros(self.days, dtype=bool)
        held = occupied_nodes(self.whole)
        return self._mean(held) / nodes, self._mean((held - nodes).clip(lower=0)) > BEYOND * nodes

    def _mean(self, steps: pd.Series) -> np.ndarray:
        """Mean of a step function in each step of the slider."""
        if not len(steps):
            return np.zeros(self.days)
        start, end = self.seconds({})
        means = daily(steps, start, end).to_numpy()
        size = round(self._step / DAY)
        padded = np.append(means, np.zeros(self.days * size - means.size))
        return padded.reshape(self.days, size).mean(axis=1)

    def _date(self, day: int) -> str:
        """The first day of a step in words."""
        began, seconds = self.log.workload.began, self._begin + day * self._step
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
        mean = percent(float(self._use[first : last + 1].mean()), 0)
        what = "use of the machine" if self.whole is not None else "work submitted ÷ machine"
        legend = [f"{_square(SKY)} {what} per day", f"{_square(BLUE)} busy"]
        if self._odd.any():
            legend.append(f"{_square(VERMILION)} more nodes in use than the machine has")
        words = f"<b>{html.escape(self._dates(now))}</b>: {jobs} of {len(self.log.workload):,}, "
        words += f"{what} {mean}"
        return (
            '<div style="font-size:12px; line-height:16px; display:flex; '
            'justify-content:space-between; margin:0 8px; white-space:nowrap; overflow:hidden">'
            f"<span>{words}</span><span>{' '.join(legend)}</span></div>{self._curve(now)}"
        )

    def _curve(self, now: Settings) -> str:
        """Use per day as an image as wide as the slider."""
        size = math.ceil(self.days / COLUMNS)
        columns: dict[str, list[str]] = {SKY: [], BLUE: [], VERMILION: []}
        most = max(1.0, float(self._use[~self._odd].max(initial=0)))
        for left in range(0, self.days, size):
            days = slice(left, left + size)
            high = 30 * min(1.0, float(self._use[days].max()) / most)
            odd, is_busy = self._odd[days].any(), self._busy[days].any()
            color = VERMILION if odd else BLUE if is_busy else SKY
            columns[color].append(f"M{left} 32v{-max(high, 0.5):.1f}h{size}V32z")
        first, last = now["period"]
        paths = [f'<path fill="{color}" d="{"".join(each)}"/>' for color, each in columns.items()]
        paths.append(_bar(first, last + 1 - first, ' opacity=".15"'))
        moment, width = self.moment(now), self.days / 500
        if moment is not None:
            paths.append(_bar((moment - self._begin) / self._step - width / 2, width))
        return (
            f'<svg viewBox="0 0 {self.days} 32" preserveAspectRatio="none" style="display:block; '
            f'height:32px; width:calc(100% - 16px); margin:0 8px">{"".join(paths)}</svg>'
        )


def _bar(left: float, width: float, more: str = "") -> str:
    return f'<rect x="{left:.3f}" width="{width:.3f}" height="32" fill="{BLACK}"{more}/>'


def _square(color: str) -> str:
    return f'<span style="color:{color}">■</span>'
