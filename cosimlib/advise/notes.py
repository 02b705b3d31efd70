"""Remarks on an advice: what was left out of account, what was assumed, what to know."""

from collections import Counter

import numpy as np

from cosimlib.advise.queue import COMPLETING, RUNNING, SUSPENDED
from cosimlib.advise.situation import GRACE, Situation
from cosimlib.display import count, duration


def notes_on(situation: Situation) -> list[str]:
    """All remarks, one sentence each."""
    return [*_on_nodes(situation), *_on_jobs(situation), *_on_model(situation),
            *situation.cluster.notes]  # fmt: skip


def unused(situation: Situation) -> dict[str, int]:
    """Numbers of nodes asked for that are of no use, by the reason."""
    why = situation.why[situation.asked]
    return dict(sorted(Counter(why[why != ""].tolist()).items()))


def _on_nodes(situation: Situation) -> list[str]:
    cluster = situation.cluster
    if cluster.nodes is None:
        return ["without the output of sinfo nobody knows which nodes are free, drained or "
                "reserved: only nodes with jobs count, each job with whole nodes"]  # fmt: skip
    notes = []
    if situation.planned:
        notes.append(
            f"Slurm plans {count(situation.planned, 'free node')} for waiting jobs, which may "
            "start there first"
        )
    if not situation.asked.any():
        notes.append("no node is in the partition and has the features asked for")
    return notes


def _on_jobs(situation: Situation) -> list[str]:
    """Jobs that are not simply running, each kind in a sentence."""
    jobs, until = situation.cluster.jobs, situation.until
    state = jobs["state"].to_numpy()
    completing, endless = state == COMPLETING, ~np.isfinite(until)
    over = (state == RUNNING) & (jobs["end"].to_numpy() < situation.cluster.now - GRACE)
    reserved = (jobs["reservation"] != "").to_numpy()
    kept = ~situation.judged["evict"].to_numpy()
    limitless = (state == RUNNING) & np.isnan(jobs["end"].to_numpy())
    told = [
        (state == SUSPENDED, "suspended: can only be killed, and does not end by itself"),
        (completing & ~endless, "completing: expected to be gone within the first step"),
        (completing & endless,
         f"completing for more than {duration(GRACE)}: its nodes are not counted on"),
        (over, "past its limit: not expected to end by itself"),
        (limitless, "without a limit: not expected to end by itself"),
        (reserved, "in a reservation, to which its nodes fall back: left alone"),
        (kept, "protected by the model: left alone"),
    ]  # fmt: skip
    return [f"{count(int(mask.sum()), 'job')} {text}" for mask, text in told if mask.any()]


def _on_model(situation: Situation) -> list[str]:
    """What the checkpoint model knows of the jobs that may be stopped."""
    if not situation.model.applications:
        return ["no checkpoint model: every job can only be killed, and loses all since its start"]
    judged = situation.judged
    may = situation.stoppable
    writes = np.isfinite(judged["app_write"]) | np.isfinite(judged["sys_write"])
    unknown = may & (judged["application"] == "").to_numpy()
    notes = []
    if unknown.any():
        notes.append(
            f"{count(int(unknown.sum()), 'job')} of no application of the model: can only be killed"
        )
    named = judged["application"].isin(
        [each.name for each in situation.model.applications if each.checkpoint]
    )
    unsized = may & (named & ~writes & (situation.cluster.jobs["state"] == RUNNING)).to_numpy()
    if unsized.any():
        notes.append(
            f"{count(int(unsized.sum()), 'job')} whose memory neither Slurm nor the model tells: "
            "can only be killed"
        )
    return notes
