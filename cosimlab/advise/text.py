"""Advice as text for a terminal: the table of deadlines, the jobs to stop, the remarks.

Names of jobs and users are anyone's choice: what could steer a terminal is taken out of them.

Remarks on an advice: what was left out of account, what was assumed, what to know.

Reasons of an advice: why these jobs are stopped, and not others. Both questions are answered by
solving again. *Without* a stopped group, the least loss is larger, or the nodes cannot be freed:
the difference is the value of its place in the plan. *With* a group that is left running killed
instead, the least loss is larger as well.
"""

import math
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from cosimlab.advise.advice import Advice, Choice, plan_for
from cosimlab.advise.slurm import COMPLETING, RUNNING, SUSPENDED
from cosimlab.advise.snapshot import GRACE, Snapshot
from cosimlib.display import count, duration
from cosimlib.eviction import EvictionProblem
from cosimlib.eviction.problem import ACTIONS
from cosimlib.traces.hosts import fold_hosts

WIDEST = 24
"""Characters of a name that are shown."""
LONGEST = 60
"""Characters of a host list that are shown in a line."""
MOST_JOBS = 40
"""Jobs to stop that a text lists; `--json` and `--commands` have all."""


MOST_GROUPS = 10
"""Groups of either kind that are explained."""


def text_of(advice: Advice, deadline: float | None = None) -> str:
    """Everything about an advice; the jobs are those to stop by a deadline, by default the last."""
    notes = notes_on(advice.snapshot)
    doubted = int(bool(advice.cluster.doubt))
    parts = [
        f"note: {advice.cluster.doubt}" if doubted else "",
        heading(advice),
        deadlines_table(advice),
        jobs_table(advice, deadline),
        "\n".join(f"note: {clean(note, 400)}" for note in notes[doubted:]),
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
    bad = ", ".join(f"{number:,} {why}" for why, number in unused(snapshot).items())
    lines.append(
        f"nodes: {int(snapshot.asked.sum()):,}, of which {advice.free:,} free"
        f"{'; of no use: ' + bad if bad else ''}"
    )
    held = f" ({cluster.held:,} held)" if cluster.held else ""
    states = cluster.jobs["state"].value_counts()
    odd = [f"{states[kind]:,} {kind}" for kind in (SUSPENDED, COMPLETING) if kind in states]
    inside = f" ({', '.join(odd)})" if odd else ""
    lines.append(f"jobs: {states.sum():,} on nodes{inside}, {cluster.waiting:,} waiting{held}")
    return "\n".join(lines)


def title_of(advice: Advice, deadline: float | None = None) -> str:
    """One line: what is asked by a deadline, and what it loses."""
    choice = advice.choice(deadline)
    by = "at once" if choice.moment.deadline == 0 else f"within {duration(choice.moment.deadline)}"
    outcome = f"{lost(choice.loss)} node-hours of work lost" if choice.possible else "impossible"
    where = f"queue of {clean(advice.cluster.name, 60)}"
    return f"{where}: {count(advice.nodes_needed, 'node')} {by}, {outcome}"


def deadlines_table(advice: Advice) -> str:
    """The least-loss plan of every deadline; deadlines in a row that are alike have one line."""
    heads = ["free", "end", "stopped", "node-hours lost", "kill", "app", "sys", "written"]
    lines: list[tuple[list[str], list[str]]] = []
    unproven = False
    for row in advice.table().itertuples():
        shown, cells = "now" if row.deadline == 0 else duration(row.deadline), _cells_of(row)
        unproven |= not (math.isnan(row.loss) or row.proven)
        if lines and lines[-1][1] == cells:
            lines[-1][0].append(shown)
        else:
            lines.append(([shown], cells))
    spans = [" to ".join(dict.fromkeys((deadlines[0], deadlines[-1]))) for deadlines, _ in lines]
    rows = [[span, *cells] for span, (_, cells) in zip(spans, lines, strict=True)]
    text = columns([["deadline", *heads], *rows])
    return f"{text}\n* not proven to be the least" if unproven else text


def _cells_of(row: Any) -> list[str]:
    """The plan of a deadline, a row of `Advice.table`, as the cells of a line."""
    if math.isnan(row.loss):
        words = f"{count(row.reachable, 'node')} at most"
        return [f"{row.free:,}", f"{row.end:,}", "", words, "", "", "", ""]
    counts = (f"{n:,}" for n in (row.free, row.end, row.freed))
    actions = (f"{n:,}" for n in (row.kill, row.app, row.sys))
    written = duration(row.ready) if row.app or row.sys else "-"
    return [*counts, lost(row.loss) + ("" if row.proven else " *"), *actions, written]


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
            rows.append(
                [
                    job.label,
                    clean(job.user),
                    clean(job.name),
                    clean(job.hosts, LONGEST),
                    f"{job.group}",
                    what(job.action, job.stop, job.begin, job.end),
                    lost(job.loss),
                ]
            )
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
    taken = moment.nodes[np.isin(moment.owner, choice.stops.index)]
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
    """All remarks, one sentence each; first, if there is one, the doubt about the moment."""
    return [
        *filter(None, [snapshot.cluster.doubt]),
        *_on_nodes(snapshot),
        *_on_jobs(snapshot),
        *_on_model(snapshot),
        *snapshot.cluster.notes,
    ]


def unused(snapshot: Snapshot) -> dict[str, int]:
    """Numbers of nodes asked for that are of no use, by the reason."""
    why = snapshot.why[snapshot.asked]
    return dict(sorted(Counter(why[why != ""].tolist()).items()))


def _on_nodes(snapshot: Snapshot) -> list[str]:
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
        (
            completing & endless,
            f"completing for more than {duration(GRACE)}: its nodes are not counted on",
        ),
        (over, "beyond the limit: not expected to end by itself"),
        (limitless, "without a limit: not expected to end by itself"),
        (reserved, "in a reservation, to which its nodes fall back: left alone"),
        (kept, "protected by the model: left alone"),
    ]
    return [f"{count(int(mask.sum()), 'job')} {text}" for mask, text in cases if mask.any()]


def _on_model(snapshot: Snapshot) -> list[str]:
    """What the checkpoint model knows of the jobs that may be stopped."""
    if not snapshot.model.applications:
        return ["no checkpoint model: every job can only be killed, and loses all since its start"]
    writes = np.isfinite(snapshot.judged[["app_write", "sys_write"]]).any(axis=1)
    running = snapshot.cluster.jobs["state"] == RUNNING
    bare = int((snapshot.stoppable & running & ~writes).sum())
    if not bare:
        return []
    return [
        f"{count(bare, 'job')} can only be killed: no application of the model that writes "
        "checkpoints, memory unknown, or of salloc and srun"
    ]


def explanation(advice: Advice, deadline: float | None = None) -> str:
    """Text on why these jobs, and not others, are stopped by a deadline (s; default: the last)."""
    choice = advice.choice(deadline)
    by = deadline_text(choice)
    if not choice.possible:
        return (
            f"{by}: no set of jobs is enough; all that may be stopped, what is free and what ends "
            f"by itself are {count(choice.moment.reachable, 'node')}"
        )
    had = advice.free + choice.moment.ended
    needed = choice.moment.needed(advice.nodes_needed)
    free = (
        f"{count(advice.free, 'node')} free now, {choice.moment.ended:,} more by themselves as "
        "jobs reach their limits"
    )
    if needed == 0:
        return f"{by}: {free}; that is enough, and no job has to be stopped"
    lines = [
        f"{by}: {free}; that leaves {advice.nodes_needed - had:,} to be had from "
        f"{count(choice.moment.groups, 'group')} of jobs. The least loss is "
        f"{lost(choice.loss)} node-hours."
    ]
    lines += ["", "stopped, because without it the plan is worse:"]
    lines += _stopped(advice, choice, needed)
    lines += ["", "left running, because stopping it is worse:"]
    lines += _left(advice, choice, needed)
    return "\n".join(lines)


def _stopped(advice: Advice, choice: Choice, needed: int) -> list[str]:
    """The groups that are stopped, the dearest first."""
    table, problem = choice.moment.table, _problem(advice, choice)
    stops = choice.stops.assign(loss=table["loss"])
    stops = stops.sort_values("loss", ascending=False, kind="stable")
    lines = []
    for row in stops.head(MOST_GROUPS).itertuples():
        group = row.Index
        rest = problem.jobs.drop(index=group)
        if rest["nodes"].sum() < needed:
            reason = "without it the nodes cannot be had"
        else:
            other = _least(rest, needed, problem)
            reason = f"without it {_more(other - choice.loss)}"
        action = ACTIONS[row.action]
        loss = f", {lost(row.loss)} node-hours lost" if action == "kill" else ""
        how = what(action, row.stop, row.begin, row.end)
        lines.append(f"- {_named(advice, choice, group)}: {how}{loss}; {reason}")
    if len(stops) > MOST_GROUPS:
        lines.append(f"- … and {len(stops) - MOST_GROUPS:,} more, each of which loses less")
    return lines


def _left(advice: Advice, choice: Choice, needed: int) -> list[str]:
    """The groups that are left running, those that lose the least per node first."""
    table, problem = choice.moment.table, _problem(advice, choice)
    left = np.setdiff1d(np.arange(len(table)), choice.stops.index)
    if not len(left):
        return ["- none: all are needed"]
    rate = (table["loss"] / table["nodes"]).to_numpy()[left]
    lines = []
    for group in left[np.argsort(rate, kind="stable")][:MOST_GROUPS].tolist():
        row = table.iloc[group]
        more = _more(_with(problem, group, needed) - choice.loss)
        lines.append(
            f"- {_named(advice, choice, group)}: killed, it loses {lost(row['loss'])} "
            f"node-hours{_ways(row, choice.moment.deadline)}; with it killed, {more}"
        )
    if len(left) > MOST_GROUPS:
        lines.append(f"- … and {len(left) - MOST_GROUPS:,} more, each of which loses more per node")
    return lines


def _ways(row: pd.Series, deadline: float) -> str:
    """The checkpoints of a group in words."""
    ways = []
    for name, column in (("its own checkpoint", "app_time"), ("a system one", "sys_time")):
        seconds = row[column]
        if np.isfinite(seconds):
            late = " (too late)" if seconds > deadline else ""
            ways.append(f"{name} takes {duration(seconds)}{late}")
    return f"; {', '.join(ways)}" if ways else "; no checkpoint is known"


def _more(extra: float) -> str:
    """A difference of losses in words; the same within rounding."""
    if extra < 1e-6:
        return "another plan loses as much"
    return f"the least loss is {lost(extra)} node-hours more"


def _problem(advice: Advice, choice: Choice) -> EvictionProblem:
    return choice.moment.problem(choice.moment.deadline, advice.step)


def _least(jobs: pd.DataFrame, needed: int, problem: EvictionProblem) -> float:
    """The least loss of freeing nodes with some of the groups."""
    if needed <= 0:
        return 0.0
    smaller = EvictionProblem(jobs.reset_index(drop=True), 0, problem.horizon, problem.step)
    return float(plan_for(smaller, needed)[0].loss[-1])


def _with(problem: EvictionProblem, group: int, needed: int) -> float:
    """The least loss of a plan that kills one group."""
    jobs = problem.jobs
    others = _least(jobs.drop(index=group), needed - int(jobs["nodes"][group]), problem)
    return float(jobs["loss"][group]) + others


def _named(advice: Advice, choice: Choice, group: int) -> str:
    """A group's jobs, nodes and application."""
    moment = choice.moment
    rows = moment.jobs[moment.group == group]
    jobs = advice.cluster.jobs.iloc[rows]
    applications = sorted(set(advice.snapshot.judged["application"].iloc[rows]) - {""})
    labels = jobs["label"].tolist()
    shown = f"job {labels[0]} ({clean(jobs['name'].iloc[0])})"
    if len(labels) > 1:
        shown = f"{len(labels):,} jobs that share nodes ({', '.join(labels[:4])}"
        shown += ", …)" if len(labels) > 4 else ")"
    names = f", {', '.join(clean(name) for name in applications)}" if applications else ""
    return f"{shown}{names}, {count(int(moment.table['nodes'][group]), 'node')}"
