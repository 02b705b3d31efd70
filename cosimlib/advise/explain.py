"""Reasons of an advice: why these jobs are stopped, and not others.

Both questions are answered by solving again. *Without* a stopped group, the least loss is larger,
or the nodes cannot be freed: the difference is the value of its place in the plan. *With* a group
that is left running, if it must be stopped, the least loss is larger as well.
"""

import numpy as np
import pandas as pd

from cosimlib.advise.advice import Advice, Choice, plan_for
from cosimlib.advise.text import clean, deadline_text, lost, what
from cosimlib.display import count, duration
from cosimlib.eviction import EvictionProblem

MOST = 10
"""Groups of either kind that are explained."""
LARGEST = 200_000_000
"""Cells of a table up to which a group is forced into a plan."""


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
    order = np.argsort(-table["loss"].to_numpy()[choice.groups], kind="stable")
    lines = []
    for place in order[:MOST].tolist():
        group = int(choice.groups[place])
        rest = problem.jobs.drop(index=group)
        if rest["nodes"].sum() < needed:
            reason = "without it the nodes cannot be had"
        else:
            other = _least(rest, needed, problem)
            reason = f"without it {_more(other - choice.loss)}"
        times = (float(each[place]) for each in (choice.stop, choice.begin, choice.end))
        action = ("", "kill", "app", "sys")[int(choice.action[place])]
        loss = f", {lost(table['loss'][group])} node-hours lost" if action == "kill" else ""
        lines.append(f"- {_named(advice, choice, group)}: {what(action, *times)}{loss}; {reason}")
    if len(order) > MOST:
        lines.append(f"- … and {len(order) - MOST:,} more, each of which loses less")
    return lines


def _left(advice: Advice, choice: Choice, needed: int) -> list[str]:
    """The groups that are left running, those that lose the least per node first."""
    table, problem = choice.moment.table, _problem(advice, choice)
    left = np.setdiff1d(np.arange(len(table)), choice.groups)
    if not len(left):
        return ["- none: all are needed"]
    rate = (table["loss"] / table["nodes"]).to_numpy()[left]
    lines = []
    for group in left[np.argsort(rate, kind="stable")][:MOST].tolist():
        row = table.iloc[group]
        extra = _forced(problem, group, needed) - choice.loss
        reason = "" if np.isnan(extra) else f"; with it {_more(extra)}"
        lines.append(
            f"- {_named(advice, choice, group)}: killed, it loses {lost(row['loss'])} "
            f"node-hours{_ways(row, choice.moment.deadline)}{reason}"
        )
    if len(left) > MOST:
        lines.append(f"- … and {len(left) - MOST:,} more, each of which loses more per node")
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


def _forced(problem: EvictionProblem, group: int, needed: int) -> float:
    """The least loss of a plan that stops one group at all costs; NaN if that takes too long.

    The group is given so many more nodes, and so many more are needed, that no plan does without.
    """
    jobs = problem.jobs
    rows = len(problem.deadlines)
    more = int(jobs["nodes"].sum())
    if len(jobs) * rows * (rows + 1) * more > LARGEST:
        rest = jobs.drop(index=group)
        size = int(jobs["nodes"][group])
        killed = float(jobs["loss"][group])
        by_checkpoint = min(jobs["app_time"][group], jobs["sys_time"][group]) <= problem.horizon
        if by_checkpoint or rest["nodes"].sum() < needed - size:
            return np.nan
        return killed + _least(rest, needed - size, problem)
    changed = jobs.copy()
    changed.loc[group, "nodes"] += more
    asked = EvictionProblem(changed, more + max(needed, 1), problem.horizon, problem.step)
    return float(plan_for(asked, more + needed)[0].loss[-1])


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
