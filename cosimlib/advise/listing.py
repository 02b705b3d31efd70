"""Advice as a JSON document, and as the commands that an operator would type.

The commands are printed and never run. If jobs wait, the nodes are reserved first: waiting jobs
would take the freed nodes, for example other tasks of a stopped array. Jobs that Slurm may requeue
are requeued and held, so that they do not start again on the nodes that they gave up. Other jobs
are cancelled: those that forbid requeuing, and those of `salloc` and `srun`, which Slurm refuses to
requeue.
"""

import math
import shlex
from typing import Any

import pandas as pd

from cosimlib.advise.advice import Advice, Choice
from cosimlib.advise.text import clean, deadline_text, lost, nodes_of, notes_on, unused
from cosimlib.display import duration
from cosimlib.traces.hosts import fold_hosts

FORMAT = "cosim-advise 1"
RESERVATION = "cosim-burst"


def document_of(advice: Advice) -> dict[str, Any]:
    """Advice as a document for `json.dumps`; unknown values are null."""
    snapshot, cluster = advice.snapshot, advice.cluster
    return {
        "format": FORMAT,
        "asked": {
            "nodes": advice.nodes_needed,
            "within_seconds": advice.horizon,
            "step_seconds": advice.step,
            "partition": snapshot.partition,
            "constraint": snapshot.constraint,
            "model": snapshot.model.source or None,
        },
        "cluster": {
            "name": cluster.name,
            "slurm": cluster.release or None,
            "now": cluster.now,
            "nodes": int(snapshot.asked.sum()),
            "free": advice.free,
            "free_nodes": fold_hosts(nodes_of(advice, advice.choices[0])["free now"]),
            "planned": snapshot.planned,
            "unused": unused(snapshot),
            "jobs": len(cluster.jobs),
            "waiting": cluster.waiting,
            "held": cluster.held,
        },
        "possible": advice.possible,
        "deadlines": [_deadline(advice, choice) for choice in advice.choices],
        "notes": notes_on(snapshot),
    }


def _deadline(advice: Advice, choice: Choice) -> dict[str, Any]:
    """One plan, its jobs in the order of doing it."""
    nodes = nodes_of(advice, choice)
    return {
        "seconds": choice.moment.deadline,
        "possible": choice.possible,
        "reachable": choice.moment.reachable,
        "free_by_themselves": choice.moment.ended,
        "nodes_free_by_themselves": fold_hosts(nodes["free by themselves"]),
        "freed": choice.freed,
        "nodes_freed": fold_hosts(nodes["freed"]),
        "node_hours_lost": choice.loss if choice.possible else None,
        "written_seconds": choice.ready if choice.possible else None,
        "proven_least": choice.proven,
        "jobs": [_job(job) for job in advice.jobs(choice.moment.deadline).to_dict("records")],
    }


def _job(job: dict[Any, Any]) -> dict[str, Any]:
    seconds = {f"{name}_seconds": float(job[name]) for name in ("stop", "begin", "end")}
    whole = {name: int(job[name]) for name in ("job_id", "nodes", "group", "freed")}
    texts = {name: str(job[name]) for name in
             ("label", "user", "name", "partition", "application", "hosts", "action")}  # fmt: skip
    return {**whole, **texts, "node_hours_lost": float(job["loss"]), **seconds}


def commands_of(advice: Advice, deadline: float | None = None) -> list[str]:
    """Commands to type, one per line, in order of time; lines that begin with # explain them.

    Raises
    ------
    ValueError
        If the nodes cannot be had by the deadline.
    """
    choice = advice.choice(deadline)
    if not choice.possible:
        raise ValueError(
            f"nodes_needed={advice.nodes_needed}; expected at most {choice.moment.reachable}, "
            f"which can be free by {duration(choice.moment.deadline)}"
        )
    jobs, table = choice.jobs(), advice.cluster.jobs
    steps: list[tuple[float, str, str]] = []
    stopped: set[int] = set()
    held: list[str] = []
    for taken in jobs.itertuples():
        job = table.iloc[taken.job]
        leader = int(job["leader"]) or int(job["job_id"])
        steps += _checkpoint(advice, taken, job)
        if leader in stopped:
            continue
        stopped.add(leader)
        name = str(leader) if job["leader"] else str(job["label"])
        requeues = bool(job["requeue"])
        held += [name] if requeues else []
        command = f"scontrol requeuehold {name}" if requeues else f"scancel {name}"
        why = f"loses {lost(taken.loss)} node-hours" if taken.action == "kill" else "checkpointed"
        owner = clean(str(job["user"]))
        steps.append((taken.end, command, f"{why}; user {owner}" if owner else why))
    reservation = _reservation(advice, choice)
    lines = [_opening(advice, choice), *reservation]
    said = 0.0 if reservation else -1.0
    for at, command, why in sorted(steps, key=lambda step: step[0]):
        if at != said:
            lines.append(f"# {'at once' if at == 0 else f'in {duration(at)}'}")
            said = at
        lines.append(f"{command}  # {why}" if command else f"# {why}")
    after = [f"scontrol delete reservationname={RESERVATION}"] * bool(reservation)
    after += [f"scontrol release {','.join(held)}"] * bool(held)
    return [*lines, *(["# once the burst is over"] if after else []), *after]


def _reservation(advice: Advice, choice: Choice) -> list[str]:
    """The reservation that keeps waiting jobs off the nodes; none if no job waits."""
    nodes = [name for each in nodes_of(advice, choice).values() for name in each]
    if not nodes or advice.cluster.waiting == advice.cluster.held:
        return []
    return [
        "# at once; start the burst with --reservation=" + RESERVATION,
        f"scontrol create reservation reservationname={RESERVATION} starttime=now duration=1-0 "
        f'users="$(id -un)" flags=ignore_jobs nodes={shlex.quote(fold_hosts(nodes))}  '
        "# of a day: keeps waiting jobs off",
    ]


def _opening(advice: Advice, choice: Choice) -> str:
    by = deadline_text(choice, before="within")
    return (
        f"# {advice.nodes_needed:,} nodes {by}: {advice.free:,} free, {choice.moment.ended:,} by "
        f"themselves, {choice.freed:,} by stopping; {lost(choice.loss)} node-hours lost"
    )


def _checkpoint(advice: Advice, taken: Any, job: pd.Series) -> list[tuple[float, str, str]]:
    """The step that comes before a job with a checkpoint is stopped."""
    name = str(job["label"])
    if taken.action == "app":
        return [(taken.stop, "", f"{name} reaches its own checkpoint: see that it is written")]
    if taken.action != "sys" or not math.isfinite(taken.begin):
        return []
    template = advice.snapshot.judged["checkpoint_command"].iloc[taken.job]
    if not template:
        return [(taken.begin, "", f"{name}: take a system-level checkpoint here")]
    command = template.replace("{job}", shlex.quote(name))
    return [(taken.begin, command, "system-level checkpoint")]
