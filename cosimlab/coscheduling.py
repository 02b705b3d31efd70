"""Sentences about an instant of a coscheduled schedule: events, holds, waits and deadlock."""

from collections.abc import Sequence

import numpy as np

from cosimlib.coscheduling.deadlock import (
    JobStates,
    circular_wait,
    event_times,
    free_nodes,
    job_states,
)
from cosimlib.coscheduling.schedule import CoupledSchedule
from cosimlib.units import MINUTE

MOST_DESCRIBED = 6
"""Waiting jobs that are described one by one; of more only the number is given."""


def describe(schedule: CoupledSchedule, at: float, names: Sequence[str]) -> list[str]:
    """Sentences about one instant: its events, which jobs hold and wait for what, and the deadlock.

    Parameters
    ----------
    schedule : CoupledSchedule
    at : float
        One of `event_times`, seconds.
    names : sequence of str
        The name of each job, such as `job_names`.
    """
    states = job_states(schedule, at)
    sentences = [f"Minute {at / MINUTE:g}: {_events(schedule, at, names)}."]
    holders = np.flatnonzero(states.state == "holding")
    if holders.size:
        clauses = [_holding(schedule, states, int(job), names) for job in holders]
        sentences.append(f"{'; '.join(clauses)}.")
    queue = np.flatnonzero(states.state == "waiting")
    if queue.size:
        free = free_nodes(schedule, at).to_dict()
        described = queue[:MOST_DESCRIBED]
        clauses = [_waiting(schedule, states, int(job), names, free) for job in described]
        if queue.size > described.size:
            clauses.append(f"{queue.size - described.size} more wait")
        sentences.append(f"{'; '.join(clauses)}.")
    return [*sentences, *_deadlock(schedule, at, names)]


def job_names(schedule: CoupledSchedule) -> list[str]:
    """a1, a2, …, b1, …: a letter per machine, a number per job in order of submission there."""
    letters = dict(zip(schedule.system.partitions, "abcdefghijklmnopqrstuvwxyz", strict=False))
    number = schedule.partition.groupby(schedule.partition).cumcount() + 1
    return [f"{letters[m]}{n}" for m, n in zip(schedule.partition, number, strict=True)]


def _events(schedule: CoupledSchedule, at: float, names: Sequence[str]) -> str:
    """All events of the instant itself."""
    submit_time = schedule.workload.jobs["submit_time"].to_numpy()
    begun = schedule.holds.loc[schedule.holds["start"] == at, "job"].to_numpy()
    over = schedule.holds.loc[schedule.holds["end"] == at, "job"].to_numpy()
    given_back = over[schedule.start_time[over] != at]
    tried = np.flatnonzero(schedule.first_try == at)
    clauses = [
        *(f"{partition} goes down" for partition, start, _ in schedule.outages if start == at),
        *(f"{partition} is back" for partition, _, end in schedule.outages if end == at),
        _clause(np.flatnonzero(schedule.end_time == at), names, "ends", "end"),
        _clause(np.flatnonzero(submit_time == at), names, "is submitted", "are submitted"),
        _clause(given_back, names, "gives its nodes back", "give their nodes back"),
        *_starts(schedule, at, names),
        _clause(np.intersect1d(begun, given_back), names, "takes them again", "take them again"),
        _clause(np.setdiff1d(begun, given_back), names, "begins to hold", "begin to hold"),
        _clause(
            np.setdiff1d(tried, begun),
            names,
            "yields for the first time",
            "yield for the first time",
        ),
    ]
    return ", ".join(filter(None, clauses)) or "nothing happens"


def _starts(schedule: CoupledSchedule, at: float, names: Sequence[str]) -> list[str]:
    """Starts, one clause per group and one for the jobs without mates."""
    started = np.flatnonzero(schedule.start_time == at)
    clauses = []
    for group in np.unique(schedule.group[started]):
        jobs = started[schedule.group[started] == group]
        together = " together" if group >= 0 and jobs.size > 1 else ""
        clauses.append(_clause(jobs, names, "starts", f"start{together}"))
    return clauses


def _holding(schedule: CoupledSchedule, states: JobStates, job: int, names: Sequence[str]) -> str:
    """The nodes that a job holds, and the mates it waits for."""
    nodes, machine = schedule.workload.jobs["nodes"][job], schedule.partition[job]
    mates = _unready(schedule, states, job, names)
    return f"{names[job]} holds {_nodes(nodes)} of {machine} and waits for {mates}"


def _waiting(
    schedule: CoupledSchedule,
    states: JobStates,
    job: int,
    names: Sequence[str],
    free: dict[str, int],
) -> str:
    """Why a queued job does not run."""
    nodes, machine = int(schedule.workload.jobs["nodes"][job]), schedule.partition[job]
    if nodes <= free[machine]:
        if mates := _unready(schedule, states, job, names):
            return f"{names[job]} waits for {mates}"
        return f"{names[job]} waits for its turn"
    here = (schedule.partition == machine).to_numpy() & (states.state == "holding")
    held = int(schedule.workload.jobs["nodes"].to_numpy()[here].sum())
    capacity = schedule.system.partitions[machine]
    wants = f"{names[job]} wants {nodes:,} of the {_nodes(capacity)} of {machine}"
    if nodes > capacity - held:
        holders = _clause(np.flatnonzero(here), names, "holds", "hold")
        return f"{wants}, of which {holders} {held:,}"
    return f"{wants}, of which {free[machine]:,} {'is' if free[machine] == 1 else 'are'} free"


def _unready(schedule: CoupledSchedule, states: JobStates, job: int, names: Sequence[str]) -> str:
    """The mates of a job that have no nodes yet."""
    mates = np.flatnonzero((schedule.group == schedule.group[job]) & (schedule.group >= 0))
    unready = [
        names[mate] + (", not submitted yet" if states.state[mate] == "unsubmitted" else "")
        for mate in mates.tolist()
        if mate != job and states.state[mate] in ("unsubmitted", "waiting")
    ]
    return _and(unready)


def _deadlock(schedule: CoupledSchedule, at: float, names: Sequence[str]) -> list[str]:
    """The deadlock or that it was just broken; at the last event, the jobs that never start."""
    events = event_times(schedule)
    earlier = events[events < at]
    sentences = []
    if chain := circular_wait(schedule, at):
        sentences.append(_circular_wait(schedule, at, chain, names))
    elif earlier.size and circular_wait(schedule, float(earlier[-1])):
        sentences.append("That breaks the circle.")
    if at == events[-1] and len(schedule.stuck):
        never = _clause(schedule.stuck, names, "never starts", "never start")
        sentences.append(f"Nothing more happens: {never}.")
    return sentences


def _circular_wait(
    schedule: CoupledSchedule, at: float, chain: list[int], names: Sequence[str]
) -> str:
    """The jobs of a circular wait, and until when they wait."""
    shown = " → ".join(names[job] for job in chain)
    holds = schedule.holds
    ends = holds.loc[holds["job"].isin(chain) & (holds["start"] <= at) & (at < holds["end"]), "end"]
    until = float(ends.min())
    how = (
        f"held nodes are given back at minute {until / MINUTE:g}"
        if np.isfinite(until)
        else "held nodes are never released, so none of them will ever start"
    )
    return f"Deadlock: {shown}, each waits for the next; {how}."


def _clause(jobs: np.ndarray, names: Sequence[str], singular: str, plural: str) -> str:
    """Jobs and their verb; empty without jobs."""
    if not len(jobs):
        return ""
    return f"{_and([names[job] for job in jobs])} {singular if len(jobs) == 1 else plural}"


def _and(words: Sequence[str]) -> str:
    """Words as a list in a sentence."""
    return " and ".join(filter(None, [", ".join(words[:-1]), *words[-1:]]))


def _nodes(number: int) -> str:
    return f"{number:,} node{'' if number == 1 else 's'}"
