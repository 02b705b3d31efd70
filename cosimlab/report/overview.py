"""First screen of a report: four numbers, a picture over time, and changes ranked by their effect.

`changes` asks `cosimlab.what_if`, which replays the record in its own order of starts and assumes
no policy. A change ranks above another only where their intervals do not overlap. On a machine of
assumed size there is no number: what is free on it, and thus why jobs waited, is assumed, too.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from cosimlab.report.log import Interval, Log, interval_of, interval_of_median, span_text
from cosimlab.report.page import capital, panels_chart
from cosimlab.report.waits import CAUSES, causes_of, period_of, use_interval, wait_interval
from cosimlab.whatif import WhatIf, question_of, rules, what_if
from cosimlab.whatif.answer import NOTHING
from cosimlib.display import count, duration, durations, percent
from cosimlib.metrics import hourly, utilization_series, waiting_jobs
from cosimlib.metrics.groups import OTHERS
from cosimlib.units import DAY, HOUR, WEEK
from cosimlib.workload import InvalidWorkloadError

OPEN, NOBODY, NOT_MEASURED = "open", "no group surely", "not measured"

USUAL = ("nodes=+10%", "nodes=+25%")
LONGEST, LIMIT = 24 * HOUR, "limit=24h"
"""Of every report: more nodes; a limit, if a job runs longer; the largest user gone."""

MOST_CHANGES = 3
"""Changes that the page shows, if it was not asked for others."""

REPLAYED = (
    "Each effect is the ratio of two replays of the record in its own order of starts, on the "
    "changed machine and on the same one. No policy is assumed, and submissions do not react."
)
MEASURED = (
    "How many intervals held the truth, where it is known, was counted on other logs "
    "(docs/what-if.md, How well it works)."
)
RELATED = "All changes replay one record, so that their errors are related."

DECIDES = {
    "size of": "Give it: --nodes, or nodes= in Python.",
    "header counts": "The log with all these jobs would decide it.",
    "no recorded start": "A log with all starts would decide it.",
    "when its jobs started": "A log with submissions and starts would decide it.",
    "are taken as starts": "A log with submissions and starts would decide it.",
    "jobs started": "A log with submissions and starts would decide it.",
    "held at once": "Count cores if jobs share nodes, or give the machine's size with --nodes.",
    "are needed": f"A longer log, in which {rules.FEWEST_WAITING} jobs wait, would decide it.",
    "of the recorded mean wait": (
        "A record of holds, reservations and nodes out of service would show what it is."
    ),
    "jobs starve": "A simulation of the rule by which the site starts jobs would decide it.",
    "on the changed machine": "A machine on which these jobs fit has a number.",
}
"""What would decide an open question, by words of the reason why it is open."""


@dataclass(frozen=True)
class Tile:
    """A number of the first screen: its name, its value in words, and its interval."""

    name: str
    value: str
    interval: str


@dataclass(frozen=True)
class Change:
    """A change of the machine or its rules: what it would bring, who gains and who loses.

    Parameters
    ----------
    change, effect, gains, loses : str
    rank : str, optional
    means : str, optional
        The mean wait after the change, and before it.
    held_truth : str, optional
        In how many cases such intervals held the truth, where it is known.
    """

    change: str
    effect: str
    gains: str
    loses: str
    rank: str = ""
    means: str = ""
    held_truth: str = NOT_MEASURED


@dataclass(frozen=True)
class Changes:
    """What changes would bring: rows, the best first, or a sentence on why there are none.

    Parameters
    ----------
    title : str
    rows : tuple of Change
    sentences : tuple of str
        On the ranks, and on what has no number.
    computed : str
        How the rows or the sentence were computed.
    """

    title: str
    rows: tuple[Change, ...]
    sentences: tuple[str, ...]
    computed: str

    def __str__(self) -> str:
        lines = [f"- {each}" for each in self.sentences]
        for row in reversed(self.rows):
            more = [
                f"  {capital(row.means)}." * bool(row.means),
                f"  Gain: {row.gains}. Lose: {row.loses}.",
                f"  Such intervals held the truth: {row.held_truth}.",
            ]
            first = f"- With {row.change}, {row.effect}.".replace("With without", "Without")
            lines = [first, *filter(str.strip, more), *lines]
        return "\n".join(lines)


def tiles(log: Log) -> tuple[Tile, ...]:
    """Use, mean and median wait, waiting without an explanation, and jobs, with intervals."""
    first, last = log.window
    machine = count(log.machine.total_nodes, log.unit)
    use = percent(log.schedule.utilization(first, last))
    return (
        Tile(f"of {machine} used", use, _span(use_interval(log), percent)),
        _wait_tile(log),
        _unexplained_tile(log),
        _jobs_tile(log),
    )


def changes(log: Log, asked: Sequence[str] = ()) -> Changes:
    """What changes would bring on this machine, by a replay of its record, the best first.

    Parameters
    ----------
    log : Log
    asked : sequence of str, optional
        Texts such as ``"nodes=+10%"``, see `cosimlab.whatif.question_of`. By default a short list:
        10 and 25 % more nodes, a limit of 24 h, and the user of the most node-hours gone. Of these,
        at most three that shorten the mean wait are shown.

    Raises
    ------
    ValueError
        If a change cannot be made to this log, as it has no such user.
    """
    title = "What if" if asked else "What would help most"
    lacks = ("starts", "waits", "machine", "idle nodes")
    lack = next((log.lacks[each] for each in lacks if each in log.lacks), "")
    if lack:
        return _open(_in_units(lack, log))
    answers: list[WhatIf] = []
    for text in asked or _usual(log):
        try:
            answers.append(_answered(log, text))
        except InvalidWorkloadError as error:
            return _open(str(error))
        except ValueError as error:
            raise ValueError(f"--what-if {text}: {error}") from error
        # A reason is one of the record, so that the other changes would have no number either.
        if answers[-1].reason and not asked:
            return _open(_in_units(answers[-1].reason, log))
    return _ranked(title, answers, log, bool(asked))


def _answered(log: Log, text: str) -> WhatIf:
    """The answer to a text; an error if it changes nothing."""
    answer = what_if(log.schedule, seed=log.seed, **question_of(text))
    if answer.sentence.startswith(NOTHING):
        raise ValueError(_in_units(answer.sentence.rstrip("."), log))
    return answer


def _usual(log: Log) -> list[str]:
    """Changes that are tried on every log, by a plain rule."""
    jobs, user = log.workload.jobs, log.workload.column("user")
    questions = [*USUAL]
    if (jobs["run_time"] > LONGEST).any():
        questions.append(LIMIT)
    if len(user.dropna().unique()) > 1:
        work = (jobs["nodes"] * jobs["run_time"]).groupby(user).sum()
        questions.append(f"without=user:{work.idxmax()}")
    return questions


HELD = (
    "A job's nodes were free before it started: a limit, a dependency, a hold or a reservation "
    'kept it. Each job counts by itself here; under "Who waits" it counts only if all that had '
    "waited longer would have fitted, too. Where a weekly reservation keeps nodes idle, this was "
    "false twice in eight cases whose truth is known (docs/what-if.md)."
)


def _open(reason: str) -> Changes:
    """No rows: a sentence with the reason, and one on what would decide; the rest is folded."""
    if reason.startswith("more "):
        return Changes("What if", (), (f"{capital(reason)}.",), HELD)
    first, rest = _parted(reason)
    sentences = (f"What a change would bring is open: {first}.", *_deciding(reason))
    return Changes("What if", (), sentences, f"{rest}{REPLAYED}")


def _parted(reason: str) -> tuple[str, str]:
    """The first part of a reason, and the rest as a sentence with a blank after it."""
    for mark in ("; ", ": "):
        first, found, more = reason.partition(mark)
        if found:
            return first, f"{capital(more)}. "
    return reason, ""


def _deciding(reason: str) -> tuple[str, ...]:
    """What would decide an open question, in a sentence; none if nothing is known."""
    return tuple(said for words, said in DECIDES.items() if words in reason)[:1]


def _ranked(title: str, answers: Sequence[WhatIf], log: Log, asked: bool) -> Changes:
    """Rows of the answers that have a number; sentences on the ranks and on the others."""
    known = [answer for answer in answers if not answer.reason]
    helps = [answer for answer in known if asked or answer.table["ratio"].iloc[0] < 1]
    ranks = _ranks([answer.table.iloc[0] for answer in helps])
    order = sorted(
        range(len(helps)),
        key=lambda place: (not ranks[place], ranks[place], helps[place].table["ratio"].iloc[0]),
    )
    shown = order if asked else order[:MOST_CHANGES]
    tied = [each for each in set(ranks) - {0} if ranks.count(each) > 1]
    rows = tuple(
        _row(helps[place], log, f"{ranks[place] or OPEN}{' =' * (ranks[place] in tied)}")
        for place in shown
    )
    sentences, computed = [], [REPLAYED]
    if rows:
        fit, least = percent(known[0].fit), percent(rules.LEAST_FIT)
        sentences.append(
            f"The replay on the same machine has {fit} of the recorded mean wait; a number needs "
            f"{least}."
        )
    if any(ranks[place] in tied for place in shown):
        sentences.append("Equal ranks: the intervals overlap, and which change is better is open.")
    reasons = []
    for answer in answers:
        change, reason = (_in_units(each, log) for each in (answer.change, answer.reason))
        if reason:
            outcome = {"more": _parted(reason)[0], "most": f"open, as {_parted(reason)[0]}"}
            sentences.append(f"{capital(change)}: {outcome.get(reason[:4], OPEN)}.")
            reasons.append(reason)
        elif answer not in helps:
            sentences.append(f"{capital(change)}: the mean wait would not be shorter.")
    for reason in reasons:
        first, rest = _parted(reason)
        is_held = reason.startswith(("more ", "most "))
        sentences += [rest.strip() if is_held else f"{capital(first)}.", *_deciding(reason)]
        computed.append(HELD if is_held else rest.strip())
    sentences = list(dict.fromkeys(sentences))
    computed += [MEASURED] * any(row.held_truth != NOT_MEASURED for row in rows)
    computed += [RELATED] * (len(rows) > 1)
    how = " ".join(dict.fromkeys(filter(None, computed)))
    return Changes(title if rows else "What if", rows, tuple(sentences), how)


def _ranks(rows: Sequence[pd.Series]) -> list[int]:
    """Rank of each effect, the lowest ratio first; 0 without an interval.

    Effects that a chain of overlapping intervals joins have the same rank.
    """
    ranks, number, top, rank = [0] * len(rows), 0, -np.inf, 0
    for place in sorted(range(len(rows)), key=lambda place: rows[place]["low"]):
        if np.isnan(rows[place]["low"]):
            continue
        number += 1
        if rows[place]["low"] > top:
            rank = number
        ranks[place], top = rank, max(top, rows[place]["high"])
    return ranks


def _row(answer: WhatIf, log: Log, rank: str) -> Change:
    """An answer as a row: its effect, and who gains and loses most, where that is sure."""
    first = answer.table.iloc[0]
    before, after = durations(first["recorded"], first["expected"])
    of_others = " of the other jobs" if answer.waits["changed"].isna().any() else ""
    effect = f"the mean wait{of_others} is {first['ratio']:.2f} times as long"
    if np.isnan(first["low"]):
        spans, gains, loses = " (interval unknown)", "open", "open"
    else:
        spans = f" ({first['low']:.2f} to {first['high']:.2f})"
        means = answer.table[(answer.table["by"] != "all") & (answer.table["statistic"] == "mean")]
        saved = (means["recorded"] - means["expected"]) * means["jobs"]
        alone = "all jobs together, no group by itself surely"
        gains = _most(means, saved, "wins", log) or (alone if first["high"] < 1 else NOBODY)
        loses = _most(means, -saved, "loses", log) or (alone if first["low"] > 1 else NOBODY)
    effect, times = f"{effect}{spans}", f"{after} in the place of {before}"
    held = answer.held_truth or NOT_MEASURED
    return Change(_in_units(answer.change, log), effect, gains, loses, rank, times, held)


def _most(means: pd.DataFrame, moved: pd.Series, verdict: str, log: Log) -> str:
    """The size and the other group whose waiting surely moves most, with their ratios; or ""."""
    texts = []
    for chosen in (means["by"] == "size", means["by"] != "size"):
        sure = means[chosen & (means["verdict"] == verdict)]
        if len(sure):
            row = means.loc[moved[sure.index].idxmax()]
            of = f"jobs of {row['group']} {log.unit}s" if row["by"] == "size" else row["group"]
            of = f"all other {row['by']}s" if of == OTHERS else of
            texts.append(f"{of}, {row['ratio']:.2f} times ({row['low']:.2f} to {row['high']:.2f})")
    return "; ".join(texts)


def _in_units(text: str, log: Log) -> str:
    """A text about nodes, in what the log counts."""
    if log.unit == "node":
        return text
    counted = {" nodes": f" {log.unit}s", " node-": f" {log.unit}-", " node ": f" {log.unit} "}
    for ours, theirs in counted.items():
        text = text.replace(ours, theirs)
    return text


def picture(log: Log) -> tuple[str, str]:
    """Use and queue over time with closures shaded, and a sentence on how to read it."""
    (first, end), length = log.window, period_of(log)
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
    name = f"of the waited {log.unit}-hours: {log.unit}s idle, no cause visible"
    if log.lacks.keys() & {"waits", "starts"}:
        return Tile(name, OPEN, "the log does not record waits")
    if "idle nodes" in log.lacks:
        return Tile(name, OPEN, "the log does not show idle nodes")
    waits = causes_of(log)
    total = float(waits["waited"].sum())
    if total == 0:
        return Tile(name, "0 %", "no job waits two minutes")
    at = waits.index.to_numpy() - log.window[0]
    other = list(CAUSES)[-1]
    interval = interval_of(at, waits[other], waits["waited"], seed=log.seed)
    return Tile(name, percent(waits[other].sum() / total), _span(interval, percent))


def _jobs_tile(log: Log) -> Tile:
    """The number of jobs, and how many start in a week (day)."""
    jobs = log.schedule.jobs
    at = log.schedule.start_time - log.window[0]
    length, each = (WEEK, "week") if period_of(log) == WEEK else (DAY, "day")
    periods = max(1, int(np.ceil(at.max() / length)))
    number = np.bincount(np.minimum(at // length, periods - 1).astype(int), minlength=periods)
    middle = length * (np.arange(periods) + 0.5)
    interval = interval_of(middle, number, np.ones(periods), seed=log.seed)
    if np.isnan(interval.low):
        return Tile("jobs", f"{len(jobs):,}", _span(interval, percent))
    return Tile("jobs", f"{len(jobs):,}", f"{_span(interval, '{:,.0f}'.format)} start a {each}")
