"""Witness of a wrong decision: the few jobs that decide it, a sentence, and two plans to draw.

The jobs are those that run, wait or start at the moment of the decision. They are dropped, first
many at a time and then one by one, as long as the rule still decides otherwise than the record on
the same jobs. A dropped job that holds nodes takes its nodes with it: so the machine gets smaller,
and no node becomes free. If a job that waits is then too wide, it loses as many nodes.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import NamedTuple, TypeVar

import numpy as np

from cosimlab.identify.replay import Replay
from cosimlab.identify.rules import Rule
from cosimlib.batch.orders import HEAD_FIRST, Prepared
from cosimlib.display import Displayed, Facts, count
from cosimlib.schedule import RECORDED, Schedule
from cosimlib.system import System
from cosimlib.workload import Workload

Part = TypeVar("Part")
"""A part of a log: jobs of a moment, or a log with fewer jobs."""


@dataclass(frozen=True, eq=False, repr=False)
class Witness(Displayed):
    """A decision of a record that a rule would not make, with just the jobs that decide it.

    Parameters
    ----------
    rule : str
    moment : float
        Of the decision, seconds.
    sentence : str
        What the record starts and the rule does not, or the reverse, and why.
    workload : Workload
        The jobs. The machine and some waiting jobs may have fewer nodes than in the log.
    names : tuple of str
        The job numbers of the log, or its rows where it has none.
    recorded, expected : Schedule
        The plans at the moment, as recorded and under the rule: each job runs as long as the rule
        plans, or as it ran if its requested time is unknown. Those that wait are in the order of
        the queue, each at its earliest start.
    """

    rule: str
    moment: float
    sentence: str
    workload: Workload
    names: tuple[str, ...]
    recorded: Schedule
    expected: Schedule

    def _heading(self) -> str:
        return f"against {self.rule}: {count(len(self.workload), 'job')}"

    def _facts(self) -> Facts:
        jobs = ", ".join(self.names)
        nodes = count(self.expected.total_nodes, "node")
        return {"says": lambda: self.sentence, "jobs": lambda: f"{jobs}, on {nodes}"}


class Moment(NamedTuple):
    """Some jobs of a log at a moment: their rows, their nodes, and the nodes of the machine."""

    rows: np.ndarray
    nodes: np.ndarray
    total_nodes: int


class Decision(NamedTuple):
    """Jobs of a moment that only the record starts, or only the rule, by their rows in the log.

    `head` is the head of the queue, behind which they wait; -1 where that does not matter.
    """

    only_recorded: frozenset[int]
    only_chosen: frozenset[int]
    head: int

    def is_part_of(self, other: "Decision") -> bool:
        """Whether it is wrong, for the same head, and all that is wrong is so in another, too."""
        is_wrong = bool(self.only_recorded or self.only_chosen)
        within = self.only_recorded <= other.only_recorded and self.only_chosen <= other.only_chosen
        return is_wrong and within and self.head == other.head


class Question(NamedTuple):
    """A rule, a record, and the moment (s) at which the rule is asked: of a wrong decision."""

    rule: Rule
    run: Prepared
    start_time: np.ndarray
    time: float

    def ask(self, moment: Moment) -> tuple[Decision, Replay]:
        """What the rule decides with these jobs alone."""
        rows, nodes, total_nodes = moment
        jobs = self.run.jobs
        arrays = jobs._replace(
            **{name: getattr(jobs, name)[rows] for name in ("submit_time", "run_time")},
            requested_time=jobs.requested_time[rows],
            nodes=nodes,
        )
        part = self.run._replace(
            jobs=arrays, rank=self.run.rank[rows], system=System.of(total_nodes)
        )
        found = self.rule.asked(part, self.start_time[rows], until=self.time)
        starts, chosen = self.start_time[rows] == self.time, found.jobs.chosen == 1
        extra, missing = np.flatnonzero(starts & ~chosen), np.flatnonzero(chosen & ~starts)
        wrong = extra if extra.size else missing
        is_behind = wrong.size > 0 and _is_behind_head(self, moment, found, int(wrong[0]))
        head = int(rows[found.state.head]) if is_behind else -1
        return Decision(
            frozenset(rows[extra].tolist()), frozenset(rows[missing].tolist()), head
        ), found

    def planned(self, rows: np.ndarray) -> np.ndarray:
        """How long jobs run as the rule plans (s); how long they ran if no request is known."""
        jobs = self.run.jobs
        request = jobs.requested_time[rows]
        return np.where(np.isnan(request), jobs.run_time[rows], request)

    def holds(self, moment: Moment) -> np.ndarray:
        """Nodes that each job holds at the moment, those that start now included."""
        start = self.start_time[moment.rows]
        runs = (start <= self.time) & (start + self.run.jobs.run_time[moment.rows] > self.time)
        return np.where(runs | (start == self.time), moment.nodes, 0)


def witness_of(
    rule: Rule, run: Prepared, workload: Workload, start_time: np.ndarray, time: float
) -> Witness:
    """The witness of a wrong decision."""
    question = Question(rule, run, start_time, time)
    moment = _smallest(question)
    _, found = question.ask(moment)
    starts = start_time[moment.rows] == time
    recorded = _plan(question, moment, found, starts)
    expected = _plan(question, moment, found, found.jobs.chosen == 1)
    names = _names(workload, moment.rows)
    jobs = workload.jobs.iloc[moment.rows].assign(nodes=moment.nodes)
    jobs = jobs.drop(columns="mate", errors="ignore")
    witness = Workload(jobs, f"{workload.name}, {len(jobs)} of its jobs")
    planned = replace(witness, jobs=witness.jobs.assign(run_time=question.planned(moment.rows)))
    system = System.of(moment.total_nodes)
    plans = [
        Schedule.from_starts(planned, system, plan, name)
        for plan, name in ((recorded, RECORDED), (expected, rule.name))
    ]
    sentence = _sentence(Told(question, moment, found, expected, names), starts)
    return Witness(rule.name, time, sentence, witness, names, *plans)


def _names(workload: Workload, rows: np.ndarray) -> tuple[str, ...]:
    """The job numbers of some rows; the rows if a job has none, or two of the log have the same."""
    known = workload.column("job_id")
    numbers = known.iloc[rows]
    by_row = numbers.isna().any() or known.dropna().duplicated().any()
    return tuple(map(str, rows.tolist() if by_row else numbers.tolist()))


# --- the fewest jobs ------------------------------------------------------------------------------


def _smallest(question: Question) -> Moment:
    """The fewest jobs on which the rule still decides otherwise, and on the same jobs."""
    jobs, start = question.run.jobs, question.start_time
    end = start + jobs.run_time
    come = jobs.submit_time <= question.time
    now = np.flatnonzero(come & ((end > question.time) | (start == question.time)))
    total_nodes = question.run.total_nodes
    past = Moment(np.flatnonzero(come), jobs.nodes[come], total_nodes)
    whole, _ = question.ask(past)
    moment = Moment(now, jobs.nodes[now], total_nodes)
    if not question.ask(moment)[0].is_part_of(whole):
        moment = past  # kept reservations depend on jobs that have ended
    return fewest(
        moment,
        lambda moment: len(moment.rows),
        lambda moment, dropped: _dropped(question, moment, dropped),
        lambda smaller: question.ask(smaller)[0].is_part_of(whole),
    )


def fewest(
    case: Part,
    size: Callable[[Part], int],
    dropped: Callable[[Part, np.ndarray], Iterator[Part]],
    shows: Callable[[Part], bool],
) -> Part:
    """A case of which no part can be dropped: first halves are tried, last single parts.

    This is delta debugging (Zeller and Hildebrandt, IEEE TSE 28(2), 2002) without its complements.
    """
    length = max(1, size(case) // 2)
    while True:
        first, before = 0, size(case)
        while first < size(case):
            part = np.arange(first, min(first + length, size(case)))
            smaller = next(filter(shows, dropped(case, part)), None)
            if smaller is None:
                first += length
            else:
                case = smaller
        if length == 1 and size(case) == before:
            return case
        length = max(1, length // 2)


def _dropped(question: Question, moment: Moment, places: np.ndarray) -> Iterator[Moment]:
    """The moment without the jobs at some places, in two ways.

    Waiting jobs keep their nodes, or those that do not fit now lose as many as the machine does.
    """
    held = question.holds(moment)
    kept = np.delete(np.arange(moment.rows.size), places)
    lost, rows, nodes = int(held[places].sum()), moment.rows[kept], moment.nodes[kept]
    total_nodes = moment.total_nodes - lost
    if total_nodes < 1 or not rows.size:
        return
    if nodes.max() <= total_nodes:
        yield Moment(rows, nodes, total_nodes)
    if lost:
        waits = question.start_time[rows] > question.time
        free = moment.total_nodes - int(held.sum())
        started = int(held[(question.start_time[moment.rows] == question.time)].sum())
        wide = waits & (nodes > free + started)
        fewer = np.where(wide, np.maximum(nodes - lost, free + started + 1), nodes)
        if fewer.max() <= total_nodes:
            yield Moment(rows, fewer, total_nodes)


# --- plans and words ------------------------------------------------------------------------------


def _seconds(time: float) -> str:
    """A time to the millisecond, without zeros at the end."""
    return f"{time:,.3f}".rstrip("0").rstrip(".") + " s"


def _plan(question: Question, moment: Moment, found: Replay, starts: np.ndarray) -> np.ndarray:
    """Planned starts (s): these jobs now, the others later, in order, each as early as it fits."""
    now, rows = question.time, moment.rows
    length, start = question.planned(rows), question.start_time[rows].copy()
    runs = (start < now) & (question.holds(moment) > 0)
    taken = [
        (begin, max(begin + planned, now), nodes)
        for begin, planned, nodes in zip(start, length, moment.nodes, strict=True)
    ]
    taken = [each for each, is_running in zip(taken, runs, strict=True) if is_running]
    taken += [(now, now + length[job], moment.nodes[job]) for job in np.flatnonzero(starts)]
    start[starts] = now
    has_ended = (start < now) & ~runs
    for job in _queue(question, found, ~runs & ~starts & ~has_ended):
        nodes = moment.nodes[job]
        later = _earliest(taken, nodes, length[job], now, moment.total_nodes)
        start[job] = start[job] if later is None else later
        taken.append((start[job], start[job] + length[job], nodes))
    return start


def _queue(question: Question, found: Replay, waits: np.ndarray) -> np.ndarray:
    """The places of waiting jobs in the order of the queue."""
    places = np.flatnonzero(waits)
    order = places[np.argsort(found.jobs.rank[places], kind="stable")]
    if question.run.kind == HEAD_FIRST and places.size:
        order = np.concatenate([places[:1], order[order != places[0]]])
    return order


def _is_behind_head(question: Question, moment: Moment, found: Replay, job: int) -> bool:
    """Whether a job waits behind the head of the queue that the rule has left."""
    head = int(found.state.head)
    queue = _queue(question, found, question.start_time[moment.rows] >= question.time).tolist()
    return head >= 0 and queue.index(head) < queue.index(job)


def _earliest(
    taken: list[tuple[float, float, int]], nodes: int, length: float, now: float, total_nodes: int
) -> float | None:
    """The first end after now from which a job finds its nodes free (s), if there is one."""
    for moment in sorted({end for _, end, _ in taken if end > now}):
        looked_at = [moment, *(begin for begin, _, _ in taken if moment < begin < moment + length)]
        held = [sum(n for begin, end, n in taken if begin <= at < end) for at in looked_at]
        if max(held) + nodes <= total_nodes:
            return moment
    return None


class Told(NamedTuple):
    """What a sentence tells of: a moment, what the rule found and plans (s), and names of jobs."""

    question: Question
    moment: Moment
    found: Replay
    expected: np.ndarray
    names: tuple[str, ...]

    @property
    def head(self) -> int:
        """The place of the head of the queue; negative if there is none."""
        return int(self.found.state.head)

    @property
    def reservation(self) -> str:
        """The reservation of the head, in words."""
        shadow_time = _seconds(float(self.found.state.shadow_time))
        return f"job {self.names[self.head]}'s reservation at {shadow_time}"

    def planned_end(self, job: int) -> float:
        """When a job would end by plan if it started now (s)."""
        return self.question.time + float(
            self.question.run.jobs.requested_time[self.moment.rows[job]]
        )


def _sentence(told: Told, starts: np.ndarray) -> str:
    """Which job the record starts and the rule does not, or the reverse, and why."""
    chosen, names = told.found.jobs.chosen == 1, told.names
    extra, missing = np.flatnonzero(starts & ~chosen), np.flatnonzero(chosen & ~starts)
    now, rule = _seconds(told.question.time), told.question.rule.name
    if extra.size and missing.size:
        return (
            f"job {names[extra[0]]} starts at {now}; under {rule}, job {names[missing[0]]} would "
            "start then and not it"
        )
    if extra.size:
        job = int(extra[0])
        return f"job {names[job]} starts at {now}; under {rule} it {_reason_against(told, job)}"
    job = int(missing[0])
    reason = _reason_for(told, job)
    return f"job {names[job]} does not start at {now}; under {rule} it would: {reason}"


def _reason_against(told: Told, job: int) -> str:
    """Why the rule does not start a job."""
    reserves = told.question.rule.reserves
    if reserves == "all":
        return f"has its reservation at {_seconds(told.expected[job])}"
    if told.head < 0 or told.head == job:
        return "would not"
    if reserves == "none":
        return f"would not overtake job {told.names[told.head]}, the head of the queue"
    if told.planned_end(job) == float(told.found.state.shadow_time):
        return f"would not end before {told.reservation}"
    return f"would delay {told.reservation}"


def _reason_for(told: Told, job: int) -> str:
    """Why the rule starts a job."""
    question, moment, reserves = told.question, told.moment, told.question.rule.reserves
    if reserves == "all":
        return "its reservation begins then"
    free = moment.total_nodes - int(question.holds(moment).sum())
    fits = f"it fits on the {count(free, 'free node')}"
    if not _is_behind_head(question, moment, told.found, job):
        return f"it is the head of the queue, and {fits}"
    if reserves == "none":
        return fits
    if told.planned_end(job) <= float(told.found.state.shadow_time):
        return f"{fits}, and ends by {told.reservation}"
    extra = count(int(told.found.state.extra), "extra node")
    return f"{fits}, and within the {extra} of job {told.names[told.head]}'s reservation"
