"""First screen of a report: four numbers, a picture over time, and changes ranked by their effect.

`changes` has a place on the page and no rows: effects are to come from a replay of the record in
its own order of starts, which assumes no policy.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pandas as pd

from cosimlab.report.log import Interval, Log, interval_of, interval_of_median, span_text
from cosimlab.report.page import panels_chart
from cosimlab.report.waits import CAUSES, causes_of, period_of, use_interval, wait_interval
from cosimlib.display import count, duration, durations, percent
from cosimlib.metrics import hourly, utilization_series, waiting_jobs
from cosimlib.units import DAY, MINUTE, WEEK

OPEN = "open"


@dataclass(frozen=True)
class Tile:
    """A number of the first screen: its name, its value in words, and its interval."""

    name: str
    value: str
    interval: str


@dataclass(frozen=True)
class Change:
    """A change of the machine or its rules: what it would bring, who gains and who loses."""

    change: str
    effect: str
    gains: str
    loses: str


def tiles(log: Log) -> tuple[Tile, ...]:
    """Use, mean and median wait, waiting without an explanation, and jobs, with intervals."""
    first, last = log.schedule.span
    machine = count(log.machine.total_nodes, log.unit)
    use = percent(log.schedule.utilization(first, last))
    return (
        Tile(f"of {machine} used", use, _span(use_interval(log), percent)),
        _wait_tile(log),
        _unexplained_tile(log),
        _jobs_tile(log),
    )


def changes(log: Log) -> tuple[Change, ...]:
    """Changes ranked by what they would bring on this machine, at most three; none for now."""
    return ()


def picture(log: Log) -> tuple[str, str]:
    """Use and queue over time with closures shaded, and a sentence on how to read it."""
    first, last = log.schedule.span
    end, length = max(last, first + MINUTE), period_of(log)
    panels = {"% used": 100 * utilization_series(log.schedule, length, first, end)}
    queue = ""
    if not log.lacks.keys() & {"waits", "starts"}:
        panels["jobs waiting"] = hourly(waiting_jobs(log.schedule), length, first, end)
        queue = " and jobs waiting"
    shaded = log.windows[["start", "end"]].to_numpy()
    each = "week" if length == WEEK else "day"
    note = f"Use{queue}: means of each {each}."
    note += " Grey: the machine seems to have been closed." * bool(len(shaded))
    return panels_chart(panels, end, log.workload.began, shaded), note


def _span(interval: Interval, spoken: Callable[[float], str]) -> str:
    """The ends of an interval, or why there is none."""
    if np.isnan(interval.low):
        return "no interval: too short a log"
    return span_text(spoken(interval.low), spoken(interval.high))


def _wait_tile(log: Log) -> Tile:
    """The mean and the median wait."""
    name = "mean and median wait"
    if log.lacks.keys() & {"waits", "starts"}:
        return Tile(name, OPEN, "the log does not record waits")
    jobs = log.schedule.jobs
    at, wait = jobs["submit_time"] - log.schedule.span[0], jobs["wait_time"]
    intervals = wait_interval(log), interval_of_median(at, wait, seed=log.seed)
    spans = []
    for own, interval in zip((wait.mean(), wait.median()), intervals, strict=True):
        if np.isnan(interval.low):
            return Tile(name, _pair(wait), _span(interval, duration))
        spans.append(span_text(*durations(own, interval.low, interval.high)[1:]))
    return Tile(name, _pair(wait), f"mean {spans[0]}; median {spans[1]}")


def _pair(wait: pd.Series) -> str:
    return f"{duration(wait.mean())}, {duration(wait.median())}"


def _unexplained_tile(log: Log) -> Tile:
    """Share of the waited node-hours that passed while nodes were idle, for no visible cause."""
    name = "of the waiting has no explanation"
    if log.lacks.keys() & {"waits", "starts"}:
        return Tile(name, OPEN, "the log does not record waits")
    if "idle nodes" in log.lacks:
        return Tile(name, OPEN, "the log does not show idle nodes")
    waits = causes_of(log)
    total = float(waits["waited"].sum())
    if total == 0:
        return Tile(name, "0 %", "no job waits two minutes")
    at = waits.index.to_numpy() - log.schedule.span[0]
    other = list(CAUSES)[-1]
    interval = interval_of(at, waits[other], waits["waited"], seed=log.seed)
    return Tile(name, percent(waits[other].sum() / total), _span(interval, percent))


def _jobs_tile(log: Log) -> Tile:
    """The number of jobs, and how many are submitted in a week (day)."""
    jobs = log.schedule.jobs
    at = (jobs["submit_time"] - log.schedule.span[0]).to_numpy()
    length, each = (WEEK, "week") if period_of(log) == WEEK else (DAY, "day")
    periods = max(1, int(np.ceil(at.max() / length)))
    number = np.bincount(np.minimum(at // length, periods - 1).astype(int), minlength=periods)
    middle = length * (np.arange(periods) + 0.5)
    interval = interval_of(middle, number, np.ones(periods), seed=log.seed)
    if np.isnan(interval.low):
        return Tile("jobs", f"{len(jobs):,}", _span(interval, percent))
    return Tile("jobs", f"{len(jobs):,}", f"{_span(interval, '{:,.0f}'.format)} a {each}")
