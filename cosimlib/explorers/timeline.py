"""The time of a log: a thin curve of its use per day, and the days that an explorer takes of it.

A day is *odd* where jobs together hold more nodes than the machine has, for more than a moment, and
*busy* where it is among the tenth of the other days with the highest use. An explorer begins with
the busy day in which most work is submitted, and the days around it, as many as have the jobs
wanted. Use is what the log recorded, or where starts are unknown the node-hours of the jobs
submitted in a day.
"""

import html
import math
from collections.abc import Callable
from functools import lru_cache

import numpy as np
import pandas as pd

from cosimlib.batch import simulate_easy
from cosimlib.display import count, percent
from cosimlib.explorers.knobs import Knob, Settings
from cosimlib.explorers.logs import Log, Recorded, busy, fitting
from cosimlib.metrics import daily, occupied_nodes, offered_load
from cosimlib.palette import BLACK, BLUE, SKY, VERMILION
from cosimlib.schedule import Schedule
from cosimlib.synthetic import with_offered_load
from cosimlib.system import System
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
        if isinstance(source, Schedule) and not np.isfinite(source.start_time).any():
            raise ValueError(f"{source.name}: no job ever runs; expected at least one that does")
        self.log, self.jobs = fitting(source, system), jobs
        self._fill, self.moment = fill, moment
        self.given = source if isinstance(source, Schedule) else None
        self.whole = self.given or self._recorded()
        submit = self.log.workload.jobs["submit_time"].to_numpy()
        ends = submit if self.given is None else self.given.end_time
        began = self.log.workload.began
        midnight = 0.0 if began is None else (began - began.normalize()).total_seconds()
        self._begin = math.floor((submit.min() + midnight) / DAY) * DAY - midnight
        last = max(submit.max(), ends[np.isfinite(ends)].max(initial=1.0) - 1.0)
        length = (last - self._begin) / DAY
        self._step = math.ceil((length + 1e-9) / MOST_DAYS) * DAY
        self.days = int(length * DAY // self._step) + 1
        day = ((submit - self._begin) // self._step).astype(int)
        table = self.log.workload.jobs
        self._submitted = np.bincount(day, minlength=self.days)
        self._work = np.bincount(day, table["nodes"] * table["run_time"], minlength=self.days)
        self._use, self._odd = self._measure()
        calm = self._use[~self._odd]
        least = np.quantile(calm, BUSY) if calm.size else 0.0
        self._busy = ~self._odd & (self._use >= max(least, 1e-9))
        whole = 0, self.days - 1
        self.first: Period = whole if self.given is not None else self._busiest(at)
        self._parts = lru_cache(maxsize=4)(self._taken)
        self._schedules = lru_cache(maxsize=4)(self._scheduled)

    def _recorded(self) -> Schedule | None:
        """The schedule that the log recorded; None where most starts are unknown."""
        workload = self.log.workload
        known = workload.column("recorded_start").notna()
        if known.mean() <= 0.5 or len(self.log.system.partitions) > 1:
            return None
        return Schedule.recorded(workload.keep(known, "unknown start"), self.log.system)

    @property
    def has_estimates(self) -> bool:
        """Whether any requested time is known."""
        return bool(self.log.workload.jobs["requested_time"].notna().any())

    @property
    def settings(self) -> Settings:
        """The days shown at first."""
        return {knob.name: knob.setting for knob in self.knobs}

    @property
    def knobs(self) -> list[Knob]:
        """The slider of days; none where there is one day."""
        if self.days == 1:
            return []
        options = [(self._date(day), day) for day in range(self.days)]
        return [Knob("period", self.first, "days", options=options, kind="range")]

    def _busiest(self, at: float | None) -> Period:
        """The busy day of most work submitted, and those around it while jobs are few enough."""
        if len(self.log.workload) <= self.jobs:
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

    def seconds(self, settings: Settings) -> tuple[float, float]:
        """Where the days chosen begin and end, on the clock of the log."""
        first, last = settings.get("period", (0, self.days - 1))
        return self._begin + first * self._step, self._begin + (last + 1) * self._step

    def part(self, settings: Settings) -> Log:
        """The jobs submitted in the days chosen, at most `jobs` in a row where those are busy.

        Raises
        ------
        ValueError
            Where no job is submitted in these days.
        """
        return self._parts(settings.get("period", (0, self.days - 1)))

    def _taken(self, period: Period) -> Log:
        """As `part`, once per days."""
        start, end = self.seconds({"period": period})
        submit = self.log.workload.jobs["submit_time"]
        within = (submit >= start) & (submit < end)
        if not within.any():
            raise ValueError(f"no job is submitted from {self._dates(period)}; choose other days")
        log = self.log
        if not within.all():
            log = log._replace(workload=log.workload.keep(within, "outside of the days chosen"))
        return self._fill(busy(log, self.jobs))

    def schedule(self, settings: Settings) -> Recorded:
        """The jobs that run in the days chosen as given or recorded, else under EASY.

        Raises
        ------
        ValueError
            Where no job is there in these days.
        """
        return self._schedules(settings.get("period", (0, self.days - 1)))

    def _scheduled(self, period: Period) -> Recorded:
        """As `schedule`, once per days."""
        if self.given is not None:
            return Recorded(self.given)
        unknown = int(self.log.workload.column("recorded_start").isna().sum())
        starts = "Starts" if unknown == len(self.log.workload) else count(unknown, "start")
        if self.whole is None:
            part = self._parts(period)
            verb = "is" if unknown == 1 < len(self.log.workload) else "are"
            note = f"{starts} {verb} not recorded; all starts shown are EASY's."
            return Recorded(simulate_easy(part.workload, part.system), part.noted(note).notes)
        start, end = self.seconds({"period": period})
        running = (self.whole.end_time > start) & (self.whole.start_time < end)
        if not running.any():
            raise ValueError(f"no job runs from {self._dates(period)}; choose other days")
        kept = self.whole.workload.keep(running, "not running in the days chosen")
        note = f"{starts} not recorded: these jobs are left out." if unknown else ""
        return Recorded(Schedule.recorded(kept, self.whole.system), self.log.noted(note).notes)

    def fullest(self, settings: Settings) -> float:
        """The middle of the longest stretch in which the most nodes of the machine are held."""
        schedule = self.schedule(settings).schedule
        held = occupied_nodes(schedule)
        if not len(held) or not held.any():
            raise ValueError(f"{schedule.name}: no job ever runs; expected at least one that does")
        ends = np.append(held.index[1:], held.index[-1])
        times, ends = np.clip([held.index, ends], *self.seconds(settings))
        lasts, nodes = ends - times, held.to_numpy()
        # Records may hold more nodes than there are, which is no moment to show.
        within = (lasts > 0) & (nodes <= schedule.total_nodes)
        within = within if (within & (nodes > 0)).any() else lasts > 0
        best = np.lexsort((lasts, np.where(within, nodes, 0)))[-1]
        return float(times[best] + lasts[best] / 2)

    def notes(self, settings: Settings) -> tuple[str, ...]:
        """What was supposed of the jobs of the days chosen."""
        return self.part(settings).notes

    def load(self, settings: Settings) -> float:
        """Offered load of the days chosen; 1 where there is none."""
        part = self.part(settings)
        load = offered_load(part.workload, part.system)
        return load if 0 < load < np.inf else 1.0

    def no_load(self, settings: Settings) -> str:
        """Why the load cannot be changed; "" where it can."""
        part = self.part(settings)
        load = offered_load(part.workload, part.system)
        return "" if 0 < load < np.inf else "the jobs offer no load, or all are submitted at once"

    def follow(self, before: Settings, now: Settings) -> Settings:
        """The load and the fullest moment of other days, where there are controls of them."""
        if before.get("period") == now.get("period"):
            return {}
        values = {"load": self.load, "at": self.fullest}
        return {name: value(now) for name, value in values.items() if name in now}

    def moment_knob(self, at: float, step: float, schedule: Callable[[Settings], Schedule]) -> Knob:
        """A slider of the moments of the days chosen at which `schedule` runs."""

        def first(now: Settings) -> float:
            return max(self.seconds(now)[0], float(np.nanmin(schedule(now).start_time)))

        def last(now: Settings) -> float:
            end = min(self.seconds(now)[1], float(np.nanmax(schedule(now).end_time)))
            return max(first(now), end - step)

        return Knob("at", at, "moment", step=step, low=first, high=last,
                    readout=lambda now: self.instant(now["at"]))  # fmt: skip

    def loaded(self, load: float, period: Period | None = None) -> Workload:
        """The jobs of the days chosen at a load: times between submissions are scaled."""
        settings: Settings = {} if period is None else {"period": period}
        part = self.part(settings)
        if abs(load - self.load(settings)) <= LOAD_STEP / 2:  # a browser's slider rounds to steps
            return part.workload
        return with_offered_load(part.workload, part.system.total_nodes, load=load)

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

    def _dates(self, period: Period) -> str:
        first, last = map(self._date, period)
        return first if first == last else f"{first} to {last}"

    def instant(self, seconds: float) -> str:
        """A moment in words short enough for a control's label."""
        began = self.log.workload.began
        if began is None:
            return f"day {seconds / DAY:,.2f}"
        return f"{began + pd.Timedelta(round(seconds), 's'):%m-%d %H:%M}"

    def drawing(self, settings: Settings) -> str:
        """The curve, the days chosen and the moment, if any, as HTML."""
        period = settings["period"]
        first, last = period
        jobs = count(int(self._submitted[first : last + 1].sum()), "job")
        mean = percent(float(self._use[first : last + 1].mean()), 0)
        what = "use of the machine" if self.whole is not None else "work submitted ÷ machine"
        legend = [f"{_square(SKY)} {what} per day", f"{_square(BLUE)} busy"]
        if self._odd.any():
            legend.append(f"{_square(VERMILION)} more nodes in use than the machine has")
        words = f"<b>{html.escape(self._dates(period))}</b>: {jobs} of {len(self.log.workload):,}, "
        words += f"{what} {mean}"
        return (
            '<div style="font-size:12px; line-height:16px; display:flex; '
            'justify-content:space-between; margin:0 8px; white-space:nowrap; overflow:hidden">'
            f"<span>{words}</span><span>{' '.join(legend)}</span></div>{self._curve(settings)}"
        )

    def _curve(self, settings: Settings) -> str:
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
        first, last = settings["period"]
        paths = [f'<path fill="{color}" d="{"".join(each)}"/>' for color, each in columns.items()]
        paths.append(_bar(first, last + 1 - first, ' opacity=".15"'))
        moment, width = self.moment(settings), self.days / 500
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
