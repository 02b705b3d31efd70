"""In words: what happened on coupled machines at a moment, who holds, and who waits for whom."""

from collections.abc import Sequence

import numpy as np

from cosimlib.coscheduling.deadlock import (
    Standing,
    circle,
    delayed_by,
    free_nodes,
    moments,
    standing,
)
from cosimlib.coscheduling.schedule import CoupledSchedule
from cosimlib.units import MINUTE

MOST = 6
"""So many waiting jobs are told one by one."""


def tell(schedule: CoupledSchedule, at: float, names: Sequence[str]) -> list[str]:
    """Sentences: what happened, who holds for whom, who waits for what, and whether all are stuck.

    Parameters
    ----------
    schedule : CoupledSchedule
    at : float
        One of `waiting.moments`, seconds.
    names : sequence of str
        What jobs are called.
    """
    now = standing(schedule, at)
    sentences = [f"Minute {at / MINUTE:g}: {_happened(schedule, at, names)}."]
    holders = np.flatnonzero(now.state == "holding")
    if holders.size:
        told = [_holding(schedule, now, int(job), names) for job in holders]
        sentences.append(f"{'; '.join(told)}.")
    queue = np.flatnonzero(now.state == "waiting")
    if queue.size:
        free = free_nodes(schedule, at).to_dict()
        told = [_waiting(schedule, at, now, int(job), names, free) for job in queue[:MOST]]
        more = [f"{queue.size - MOST} more wait"] if queue.size > MOST else []
        sentences.append(f"{'; '.join([*told, *more])}.")
    return [*sentences, *_stuck(schedule, at, names)]


def job_names(schedule: CoupledSchedule) -> list[str]:
    """a1, a2, …, b1, …: a letter a machine, a number a job in order of its submission there."""
    letters = dict(zip(schedule.system.partitions, "abcdefghijklmnopqrstuvwxyz", strict=False))
    number = schedule.partition.groupby(schedule.partition).cumcount() + 1
    return [f"{letters[m]}{n}" for m, n in zip(schedule.partition, number, strict=True)]


def _happened(schedule: CoupledSchedule, at: float, names: Sequence[str]) -> str:
    """All that comes to pass at the moment itself."""
    submit_time = schedule.workload.jobs["submit_time"].to_numpy()
    begun = schedule.holds.loc[schedule.holds["start"] == at, "job"].to_numpy()
    over = schedule.holds.loc[schedule.holds["end"] == at, "job"].to_numpy()
    given_back = over[schedule.start_time[over] != at]
    tried = np.flatnonzero(schedule.first_try == at)
    parts = [
        *(f"{partition} goes down" for partition, start, _ in schedule.outages if start == at),
        *(f"{partition} is back" for partition, _, end in schedule.outages if end == at),
        _several(np.flatnonzero(schedule.end_time == at), names, "ends", "end"),
        _several(np.flatnonzero(submit_time == at), names, "is submitted", "are submitted"),
        _given_back(schedule, at, given_back, names),
        *_starts(schedule, at, names),
        _several(np.intersect1d(begun, given_back), names, "takes them again", "take them again"),
        _several(np.setdiff1d(begun, given_back), names, "begins to hold", "begin to hold"),
        _several(np.setdiff1d(tried, begun), names, "yields for the first time",
                 "yield for the first time"),
    ]  # fmt: skip
    return ", ".join(part for part in parts if part) or "nothing happens"


def _given_back(
    schedule: CoupledSchedule, at: float, jobs: np.ndarray, names: Sequence[str]
) -> str:
    """Who gives held nodes back: all that a release comes to, or the jobs of a machine down."""
    down = {partition for partition, start, _ in schedule.outages if start == at}
    released = any(schedule.partition[job] not in down for job in jobs)
    back = _several(jobs, names, "gives its nodes back", "give their nodes back")
    return f"held nodes are released, {back}" if released else back


def _starts(schedule: CoupledSchedule, at: float, names: Sequence[str]) -> list[str]:
    """Who starts: mates together, and jobs without."""
    started = np.flatnonzero(schedule.start_time == at)
    parts = []
    for group in np.unique(schedule.group[started]):
        jobs = started[schedule.group[started] == group]
        together = " together" if group >= 0 and jobs.size > 1 else ""
        parts.append(_several(jobs, names, "starts", f"start{together}"))
    return parts


def _holding(schedule: CoupledSchedule, now: Standing, job: int, names: Sequence[str]) -> str:
    """What a job holds, and for whom."""
    nodes, machine = schedule.workload.jobs["nodes"][job], schedule.partition[job]
    for_whom = _unready(schedule, now, job, names)
    return f"{names[job]} holds {_nodes(nodes)} of {machine} and waits for {for_whom}"


def _waiting(
    schedule: CoupledSchedule,
    at: float,
    now: Standing,
    job: int,
    names: Sequence[str],
    free: dict[str, int],
) -> str:
    """Why a job in a queue does not run."""
    nodes, machine = int(schedule.workload.jobs["nodes"][job]), schedule.partition[job]
    if nodes <= free[machine]:
        if mates := _unready(schedule, now, job, names):
            return f"{names[job]} waits for {mates}"
        delayed = " or ".join(names[head] for head in delayed_by(schedule, at, job))
        return f"{names[job]} " + (f"would delay {delayed}" if delayed else "waits for its turn")
    here = (schedule.partition == machine).to_numpy() & (now.state == "holding")
    held = int(schedule.workload.jobs["nodes"].to_numpy()[here].sum())
    whole = schedule.system.partitions[machine]
    wants = f"{names[job]} wants {nodes:,} of the {_nodes(whole)} of {machine}"
    if nodes > whole - held:
        holders = _several(np.flatnonzero(here), names, "holds", "hold")
        return f"{wants}, of which {holders} {held:,}"
    return f"{wants}, of which {_are(free[machine])} free"


def _unready(schedule: CoupledSchedule, now: Standing, job: int, names: Sequence[str]) -> str:
    """The mates of a job that have no nodes yet."""
    mates = np.flatnonzero((schedule.group == schedule.group[job]) & (schedule.group >= 0))
    told = [
        names[mate] + (", not submitted yet" if now.state[mate] == "unsubmitted" else "")
        for mate in mates.tolist()
        if mate != job and now.state[mate] in ("unsubmitted", "waiting")
    ]
    return _and(told)


def _stuck(schedule: CoupledSchedule, at: float, names: Sequence[str]) -> list[str]:
    """The circle of a deadlock, how it ends or that it was just broken; who never starts."""
    every = moments(schedule)
    before = every[every < at]
    sentences = []
    if chain := circle(schedule, at):
        sentences.append(_deadlock(schedule, at, chain, names))
    elif before.size and circle(schedule, float(before[-1])):
        sentences.append("That breaks the circle.")
    if at == every[-1] and len(schedule.stuck):
        never = _several(schedule.stuck, names, "never starts", "never start")
        sentences.append(f"Nothing more happens: {never}.")
    return sentences


def _deadlock(schedule: CoupledSchedule, at: float, chain: list[int], names: Sequence[str]) -> str:
    """Who waits for whom in a circle, and until when."""
    shown = " → ".join(names[job] for job in chain)
    holds = schedule.holds
    ends = holds.loc[holds["job"].isin(chain) & (holds["start"] <= at) & (at < holds["end"]), "end"]
    until = float(ends.min())
    how = (
        f"held nodes are given back at minute {until / MINUTE:g}"
        if np.isfinite(until)
        else "nobody releases held nodes, so none of them will ever start"
    )
    return f"Deadlock: {shown}, each waits for the next; {how}."


def _several(jobs: np.ndarray, names: Sequence[str], one: str, many: str) -> str:
    """Jobs and what they do; empty for nobody."""
    if not len(jobs):
        return ""
    return f"{_and([names[job] for job in jobs])} {one if len(jobs) == 1 else many}"


def _and(words: Sequence[str]) -> str:
    """Words as a list in a sentence."""
    return " and ".join(filter(None, [", ".join(words[:-1]), *words[-1:]]))


def _nodes(number: int) -> str:
    return f"{number:,} node{'' if number == 1 else 's'}"


def _are(number: int) -> str:
    return f"{number:,} {'is' if number == 1 else 'are'}"
