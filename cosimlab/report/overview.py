"""First screen of a report: four numbers, a picture over time, and changes ranked by their effect.

`changes` asks `cosimlab.what_if`, which replays the record in its own order of starts and assumes
no policy. A change ranks above another only where it is surely better on the same weeks. On a
machine of assumed size there is no number: what is free on it, and thus why jobs waited, is
assumed, too.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import pandas as pd

from cosimlab.report.log import (
    MOST_ABSENT,
    Interval,
    Log,
    interval_of,
    interval_of_median,
    span_text,
)
from cosimlab.report.page import capital, panels_chart
from cosimlab.report.waits import CAUSES, causes_of, period_of, use_interval, wait_interval
from cosimlab.whatif import Reason, WhatIf, compare_answers, question_of, rules, what_if
from cosimlab.whatif.answer import size_text
from cosimlab.whatif.changes import change_of, largest_user
from cosimlab.whatif.evidence import NO_HELP_WAS_FALSE, ORDERED, held_on_such_logs
from cosimlab.whatif.reasons import HELD, NO_HELP
from cosimlib.display import count, duration, durations, percent
from cosimlib.metrics import hourly, utilization_series, waiting_jobs
from cosimlib.metrics.groups import OTHERS
from cosimlib.traces.swf_header import absent_share
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
RANKED = (
    "Two changes are compared over the same draws of weeks. One ranks above the other if the 90 % "
    f"interval of the ratio of both effects is below 1. On logs of known truth, it was better in "
    f"{ORDERED} of {ORDERED.of} such pairs."
)
HOW_HELD = (
    "A job's nodes were free before it started: a limit, a dependency, a hold or a reservation "
    'kept it. Each job counts by itself here; under "Who waits" it counts only if all that had '
    "waited longer would have fitted, too. That more nodes would not help was "
    f"{NO_HELP_WAS_FALSE}: a reservation can keep nodes idle (docs/what-if.md)."
)
NO_STARTS = "A log with submissions and starts would decide it."
NOTHING_CHANGES = "No usual change changes anything here; --what-if asks for others."
DECIDES = {
    "starts": NO_STARTS,
    "waits": NO_STARTS,
    "machine": "Give it: --nodes, or nodes= in Python.",
}
"""What would decide the question, by what a log lacks."""


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
    use = log.schedule.utilization(first, last)
    used = Tile(f"of {machine} used", percent(use), _span(use_interval(log), percent))
    if use > 1:
        used = Tile(f"of {machine} used", OPEN, log.held.held)
    return (
        used,
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
    _check_asked(log, asked)
    title = "What if" if asked else "What would help most"
    lack = _lack_of(log)
    if lack is not None:
        return _open(lack, log)
    try:
        answers = _answers(log, asked)
    except InvalidWorkloadError as error:
        return _open(Reason("log", *_parted(str(error))), log)
    if not answers:
        return Changes("What if", (), (NOTHING_CHANGES,), "")
    why = answers[-1].why
    alike = all(answer.why == why for answer in answers)
    if why is not None and not asked and (why.of_record or alike):
        return _open(why, log)
    return _ranked(title, answers, log, bool(asked))


def _check_asked(log: Log, asked: Sequence[str]) -> None:
    """Refuse changes that cannot be made to this log, also where it is open what they bring."""
    jobs, machine = log.schedule.workload, log.schedule.system
    for text in asked:
        question = question_of(text)
        if "nodes" in question and "machine" in log.lacks:
            continue
        values = [question.get(name) for name in ("nodes", "limit", "without", "run_time")]
        with _named(text):
            change_of(jobs, machine, *values)


@contextmanager
def _named(text: str) -> Iterator[None]:
    """Name the change in errors of its values, not in those of the log."""
    try:
        yield
    except InvalidWorkloadError:
        raise
    except ValueError as error:
        raise ValueError(f"--what-if {text}: {error}") from error


def _answers(log: Log, asked: Sequence[str]) -> list[WhatIf]:
    """Answers to what was asked, or else to the usual changes that change anything.

    Of the usual ones, the last is the first whose reason is of the record: it holds for the others.
    """
    answers: list[WhatIf] = []
    for text in asked or _usual(log):
        with _named(text):
            answer = what_if(log.schedule, seed=log.seed, **question_of(text))
        if answer.unchanged:
            if asked:
                why = _in_units(answer.unchanged, log)
                raise ValueError(f"--what-if {text}: Nothing changes: {why}")
            continue
        answers.append(answer)
        if answer.why is not None and answer.why.of_record and not asked:
            break
    return answers


def _lack_of(log: Log) -> Reason | None:
    """What the log lacks that every change needs; None if nothing."""
    for name in ("starts", "waits", "machine", "idle nodes"):
        if name in log.lacks:
            sentence, rest = _parted(log.lacks[name])
            return Reason(name, sentence, rest, DECIDES.get(name) or _decides_idle_nodes(log))
    return None


def _decides_idle_nodes(log: Log) -> str:
    """What would tell which nodes were idle."""
    if log.held.lack:
        return "Count cores if jobs share nodes, or give the machine's size with --nodes."
    account = log.workload.account
    if absent_share(account["reason"], account["records"]) > MOST_ABSENT:
        return "The log with all these jobs would decide it."
    return "A log with all starts would decide it."


def _usual(log: Log) -> list[str]:
    """Changes that are tried on every log, by a plain rule."""
    questions = [*USUAL]
    if (log.workload.jobs["run_time"] > LONGEST).any():
        questions.append(LIMIT)
    if len(log.workload.column("user").dropna().unique()) > 1:
        questions.append(f"without=user:{largest_user(log.workload)}")
    return questions


def _open(why: Reason, log: Log) -> Changes:
    """No rows: a sentence with the reason, and one on what would decide; the rest is folded."""
    if why.kind == NO_HELP:
        said = [f"{capital(why.sentence)}: {why.rest}.", f"{_was(why)}."]
        return Changes("What if", (), tuple(_in_units(each, log) for each in said), HOW_HELD)
    said = [f"What a change would bring is open: {why.sentence}.", why.decides]
    sentences = tuple(_in_units(each, log) for each in said if each)
    return Changes("What if", (), sentences, f"{_rest(why, log)} {REPLAYED}".strip())


def _was(why: Reason) -> str:
    """How often a reason was false."""
    return f"Such an answer was {why.sure}"


def _rest(why: Reason, log: Log) -> str:
    """What explains a reason, as a sentence; empty if nothing does."""
    return _in_units(f"{capital(why.rest)}." if why.rest else "", log)


def _parted(lack: str) -> tuple[str, str]:
    """The first part of what a log lacks, and the rest."""
    for mark in ("; ", ": "):
        first, found, more = lack.partition(mark)
        if found:
            return first, more
    return lack, ""


def _ranked(title: str, answers: Sequence[WhatIf], log: Log, asked: bool) -> Changes:
    """Rows of the answers that have a number; sentences on the ranks and on the others."""
    known = [answer for answer in answers if answer.why is None]
    helps = [answer for answer in known if asked or _ratio(answer) < 1]
    helps.sort(key=_ratio)
    ranks = _ranks(helps, log.seed)
    shown = len(helps) if asked else MOST_CHANGES
    tied = {each for each in ranks if ranks.count(each) > 1}
    rows = tuple(
        _row(answer, log, f"{rank}{' =' * (rank in tied)}")
        for answer, rank in list(zip(helps, ranks, strict=True))[:shown]
    )
    sentences, computed = [], [REPLAYED]
    if rows:
        fit, least = percent(known[0].fit), percent(rules.LEAST_FIT)
        sentences.append(
            f"The replay on the same machine has {fit} of the recorded mean wait; a number needs "
            f"{least}."
        )
        such = held_on_such_logs(log.schedule.workload)
        sentences.append(f"Over all changes, such intervals held the truth in {such}.")
    if tied & set(ranks[:shown]):
        sentences.append("Equal ranks: which of these changes is better is open.")
    for answer in answers:
        change = capital(_in_units(answer.change, log))
        if answer.why is not None:
            sentences.append(f"{change}: {_outcome(answer.why)}.")
        elif answer not in helps:
            sentences.append(f"{change}: the mean wait would not be shorter.")
    for why in filter(None, (answer.why for answer in answers)):
        is_held = why.kind in (HELD, NO_HELP)
        if is_held:
            sentences += [_rest(why, log), f"{_was(why)}." if why.sure else ""]
        else:
            sentences += [_in_units(f"{capital(why.sentence)}.", log), why.decides]
        computed.append(HOW_HELD if is_held else _rest(why, log))
    computed += [MEASURED] * any(row.held_truth != NOT_MEASURED for row in rows)
    computed += [RANKED] * (len(rows) > 1)
    how = " ".join(dict.fromkeys(filter(None, computed)))
    said = tuple(dict.fromkeys(filter(None, sentences)))
    return Changes(title if rows else "What if", rows, said, how)


def _ratio(answer: WhatIf) -> float:
    """Effect on the mean wait of all jobs."""
    return float(answer.table["ratio"].iloc[0])


def _outcome(why: Reason) -> str:
    """What a reason says of a change, in few words."""
    if why.kind == NO_HELP:
        return why.sentence
    return f"open, as {why.sentence}" if why.kind == HELD else OPEN


def _ranks(answers: Sequence[WhatIf], seed: int) -> list[int]:
    """Rank of each change, of which the first is best.

    A change begins a new rank if each one before it is surely better than it and all after it.
    """
    n = len(answers)
    better = np.zeros((n, n), dtype=bool)
    for one, other in combinations(range(n), 2):
        pair = compare_answers(answers[one], answers[other], seed=seed)
        better[one, other] = pair.high < 1
    return ranks_of(better)


def ranks_of(better: np.ndarray) -> list[int]:
    """Ranks in order, by whether each one is surely better than each later one."""
    ranks: list[int] = []
    for place in range(len(better)):
        begins = bool(better[:place, place:].all())
        ranks.append(place + 1 if begins else ranks[-1])
    return ranks


def _row(answer: WhatIf, log: Log, rank: str) -> Change:
    """An answer as a row: its effect, and who gains and loses most, where that is sure."""
    first = answer.table.iloc[0]
    before, after = durations(first["recorded"], first["expected"])
    of_others = " of the other jobs" if answer.waits["changed"].isna().any() else ""
    effect = f"the mean wait{of_others} is {first['ratio']:.2f} times as long"
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
            sizes = f"jobs of {size_text(row['group'], log.unit)}"
            of = sizes if row["by"] == "size" else row["group"]
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
