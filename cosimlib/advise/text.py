"""Advice as text for a terminal: the table of deadlines, the jobs to stop, the remarks.

Names of jobs and users are anyone's choice: what could steer a terminal is taken out of them.

Remarks on an advice: what was left out of account, what was assumed, what to know.
"""

import math
from collections import Counter
from collections.abc import Sequence

import numpy as np

from cosimlib.advise.advice import Advice, Choice
from cosimlib.advise.queue import COMPLETING, RUNNING, SUSPENDED
from cosimlib.advise.snapshot import GRACE, Snapshot
from cosimlib.display import count, duration
from cosimlib.traces.hosts import fold_hosts

WIDEST = 24
"""Characters of a name that are shown."""
LONGEST = 60
"""Characters of a host list that are shown in a line."""
MOST_JOBS = 40
"""Jobs to stop that a text lists; `--json` and `--commands` have all."""


def text_of(advice: Advice, deadline: float | None = None) -> str:
    """Everything about an advice; the jobs are those to stop by a deadline, by default the last."""
    parts = [
        heading(advice),
        deadlines_table(advice),
        jobs_table(advice, deadline),
        "\n".join(f"note: {clean(note, 400)}" for note in notes_on(advice.snapshot)),
    ]
    return "\n\n".join(part for part in parts if part)


def heading(advice: Advice) -> str:
    """What is asked, and the nodes and jobs of the cluster."""
    snapshot, cluster = advice.snapshot, advice.cluster
    asked = [f"partition {snapshot.partition}"] if snapshot.partition else []
    asked += [f"with {snapshot.constraint}"] if snapshot.constraint else []
    slurm = f", Slurm {clean(cluster.release)}" if cluster.release else ""
    where = clean(" ".join(asked), 80)
    within = f"within {duration(advice.horizon)}" if advice.horizon else "now"
    lines = [
        f"{count(advice.nodes_needed, 'node')} {within}{', ' + where if where else ''}",
        f"{clean(cluster.name, 60)} at {cluster.moment:%Y-%m-%d %H:%M:%S %Z}{slurm}",
    ]
    if cluster.nodes is not None:
        bad = ", ".join(f"{number:,} {why}" for why, number in unused(snapshot).items())
        lines.append(
            f"nodes: {int(snapshot.asked.sum()):,}, of which {advice.free:,} free"
            f"{'; of no use: ' + bad if bad else ''}"
        )
    state = cluster.jobs["state"]
    kinds = [(SUSPENDED, "suspended"), (COMPLETING, "completing")]
    remarks = [
        f"{int((state == kind).sum()):,} {name}" for kind, name in kinds if (state == kind).any()
    ]
    held = f" ({cluster.held:,} held)" if cluster.held else ""
    inside = f" ({', '.join(remarks)})" if remarks else ""
    lines.append(f"jobs: {len(state):,} on nodes{inside}, {cluster.waiting:,} waiting{held}")
    return "\n".join(lines)


def title_of(advice: Advice, deadline: float | None = None) -> str:
    """One line: what is asked by a deadline, and what it loses."""
    choice = advice.choice(deadline)
    by = "at once" if choice.moment.deadline == 0 else f"within {duration(choice.moment.deadline)}"
    outcome = f"{lost(choice.loss)} node-hours lost" if choice.possible else "impossible"
    where = f"queue of {clean(advice.cluster.name, 60)}"
    return f"{where}: {count(advice.nodes_needed, 'node')} {by}, {outcome}"


def deadlines_table(advice: Advice) -> str:
    """The least-loss plan of every deadline, one line each."""
    table = advice.table()
    rows = [
        ["deadline", "free", "end", "stopped", "node-hours lost", "kill", "app", "sys", "written"]
    ]
    unproven = False
    for row in table.itertuples():
        shown = "now" if row.deadline == 0 else duration(row.deadline)
        if math.isnan(row.loss):
            words = f"{count(row.reachable, 'node')} at most"
            rows.append([shown, f"{row.free:,}", f"{row.end:,}", "", words, "", "", "", ""])
            continue
        loss = lost(row.loss) + ("" if row.proven else " *")
        unproven |= not row.proven
        written = duration(row.ready) if row.app or row.sys else "-"
        counts = (row.free, row.end, row.freed)
        rows.append([shown, *(f"{n:,}" for n in counts), loss,
                     *(f"{n:,}" for n in (row.kill, row.app, row.sys)), written])  # fmt: skip
    text = columns(rows)
    return f"{text}\n* not proven to be the least" if unproven else text


def deadline_text(choice: Choice, before: str = "by") -> str:
    """The deadline of a choice: "now", or "by" so long."""
    deadline = choice.moment.deadline
    return "now" if deadline == 0 else f"{before} {duration(deadline)}"


def jobs_table(advice: Advice, deadline: float | None = None) -> str:
    """The jobs to stop by a deadline, and the nodes that the burst then has."""
    choice = advice.choice(deadline)
    by = deadline_text(choice)
    if not choice.possible:
        return (
            f"{by}: impossible, {count(choice.moment.reachable, 'node')} at most can be free "
            f"({advice.nodes_needed:,} needed)"
        )
    jobs = advice.jobs(deadline)
    lines = [f"{by}: stop {count(len(jobs), 'job')}" if len(jobs) else f"{by}: stop no job"]
    if len(jobs):
        rows = [["job", "user", "name", "nodes", "group", "what", "node-hours lost"]]
        shown = jobs.head(MOST_JOBS)
        for job in shown.itertuples():
            rows.append([
                job.label, clean(job.user), clean(job.name), clean(job.hosts, LONGEST),
                f"{job.group}", what(job.action, job.stop, job.begin, job.end), lost(job.loss),
            ])  # fmt: skip
        lines.append(columns(rows, left=6))
        if len(jobs) > len(shown):
            lines.append(f"… and {count(len(jobs) - len(shown), 'job')} more: --json lists all")
    lines += [
        f"{name}: {clean(shorter(fold_hosts(nodes)), 400)}"
        for name, nodes in nodes_of(advice, choice).items()
        if nodes
    ]
    return "\n".join(lines)


def nodes_of(advice: Advice, choice: Choice) -> dict[str, list[str]]:
    """Names of the nodes that a burst has by a deadline, by how they become free."""
    index, moment = advice.cluster.places[0], choice.moment
    taken = moment.nodes[np.isin(moment.owner, choice.groups)]
    return {
        "free now": index[advice.snapshot.free].tolist(),
        "free by themselves": index[moment.gone].tolist(),
        "freed": index[taken].tolist(),
    }


def what(action: str, stop: float, begin: float, end: float) -> str:
    """What happens to a job, and when."""
    if action == "kill":
        return "kill now"
    if action == "app":
        return f"own checkpoint in {duration(stop)}, stop by {duration(end)}"
    since = "now" if begin == 0 else f"in {duration(begin)}"
    return f"system checkpoint {since}, stop by {duration(end)}"


def lost(value: float) -> str:
    """Node-hours, small ones with three digits."""
    if value == 0:
        return "0"
    return f"{value:,.2f}" if value >= 1 else f"{value:.3g}"


def clean(text: str, most: int = WIDEST) -> str:
    """A text of a user as one line without control characters, cut at `most` characters."""
    shown = "".join(character if character.isprintable() else "?" for character in text)
    return shown if len(shown) <= most else f"{shown[: most - 1]}…"


def shorter(text: str, most: int = 380) -> str:
    """A host list cut between two of its parts."""
    return text if len(text) <= most else f"{text[:most].rpartition(',')[0]},…"


def columns(rows: Sequence[Sequence[str]], *, left: int = 0) -> str:
    """Rows as aligned columns: the first `left` flush left, the others flush right."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = []
    for row in rows:
        cells = [
            cell.ljust(width) if place < left else cell.rjust(width)
            for place, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        lines.append("  ".join(cells).rstrip())
    return "\n".join(lines)


def notes_on(snapshot: Snapshot) -> list[str]:
    """All remarks, one sentence each."""
    return [*_on_nodes(snapshot), *_on_jobs(snapshot), *_on_model(snapshot),
            *snapshot.cluster.notes]  # fmt: skip


def unused(snapshot: Snapshot) -> dict[str, int]:
    """Numbers of nodes asked for that are of no use, by the reason."""
    why = snapshot.why[snapshot.asked]
    return dict(sorted(Counter(why[why != ""].tolist()).items()))


def _on_nodes(snapshot: Snapshot) -> list[str]:
    cluster = snapshot.cluster
    if cluster.nodes is None:
        return ["without the output of sinfo nobody knows which nodes are free, drained or "
                "reserved: only nodes with jobs count, each job with whole nodes"]  # fmt: skip
    notes = []
    if snapshot.planned:
        notes.append(
            f"Slurm plans {count(snapshot.planned, 'free node')} for waiting jobs, which may "
            "start there first"
        )
    if not snapshot.asked.any():
        notes.append("no node is in the partition and has the features asked for")
    return notes


def _on_jobs(snapshot: Snapshot) -> list[str]:
    """Jobs that are not simply running, each kind in a sentence."""
    jobs, until = snapshot.cluster.jobs, snapshot.until
    state = jobs["state"].to_numpy()
    completing, endless = state == COMPLETING, ~np.isfinite(until)
    over = (state == RUNNING) & (jobs["end"].to_numpy() < snapshot.cluster.now - GRACE)
    reserved = (jobs["reservation"] != "").to_numpy()
    kept = ~snapshot.judged["evict"].to_numpy()
    limitless = (state == RUNNING) & np.isnan(jobs["end"].to_numpy())
    cases = [
        (state == SUSPENDED, "suspended: can only be killed, and does not end by itself"),
        (completing & ~endless, "completing: expected to be gone within the first step"),
        (completing & endless,
         f"completing for more than {duration(GRACE)}: its nodes are not counted on"),
        (over, "past its limit: not expected to end by itself"),
        (limitless, "without a limit: not expected to end by itself"),
        (reserved, "in a reservation, to which its nodes fall back: left alone"),
        (kept, "protected by the model: left alone"),
    ]  # fmt: skip
    return [f"{count(int(mask.sum()), 'job')} {text}" for mask, text in cases if mask.any()]


def _on_model(snapshot: Snapshot) -> list[str]:
    """What the checkpoint model knows of the jobs that may be stopped."""
    if not snapshot.model.applications:
        return ["no checkpoint model: every job can only be killed, and loses all since its start"]
    judged = snapshot.judged
    may = snapshot.stoppable
    writes = np.isfinite(judged["app_write"]) | np.isfinite(judged["sys_write"])
    unknown = may & (judged["application"] == "").to_numpy()
    notes = []
    if unknown.any():
        notes.append(
            f"{count(int(unknown.sum()), 'job')} of no application of the model: can only be killed"
        )
    named = judged["application"].isin(
        [each.name for each in snapshot.model.applications if each.checkpoint]
    )
    unsized = may & (named & ~writes & (snapshot.cluster.jobs["state"] == RUNNING)).to_numpy()
    if unsized.any():
        notes.append(
            f"{count(int(unsized.sum()), 'job')} whose memory neither Slurm nor the model gives: "
            "can only be killed"
        )
    return notes
