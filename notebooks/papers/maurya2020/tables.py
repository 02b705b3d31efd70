"""Tables that the notebook shows and its figures draw: scenarios, plans, and full moments."""

from collections.abc import Iterable, Mapping

import pandas as pd

from cosimlab.figures import theme
from cosimlib.eviction import EvictionPlan, EvictionProblem, Scenario
from cosimlib.eviction.problem import ACTIONS, KEEP
from cosimlib.units import MINUTE
from papers.maurya2020.experiment import SURVEY, Case

ORIGINS = {
    "exact": "in the schedule exactly these jobs run at this moment, on this number of nodes",
    "nearest": "in the schedule exactly these jobs run at this moment; no other set of as many "
    "jobs holds a number of nodes nearer to the one wanted",
    "drawn": "jobs of the schedule, drawn until they fill this number of nodes, each at a random "
    "point of its run",
}
"""What the word in a scenario's name means."""
KINDS = {
    "nobody loses": ("no loss: greedy finds that too", theme.SKY, ""),
    "greedy is enough": ("a loss, and greedy's is the least", theme.GREEN, "."),
    "greedy loses, needlessly": ("no loss is possible, but greedy has one", theme.ORANGE, "/"),
    "greedy loses more": ("a loss, and greedy's is larger", theme.VERMILION, "x"),
}
"""Kinds of evictions by the least loss and greedy's: meaning, color and pattern."""
PLANS = {
    "greedy": ("greedy", "lost"),
    "optimum": ("least loss (paper)", "lost"),
    "overlapping": ("least loss, waits overlap", "lost"),
    "cost_of_optimum": ("least loss (paper)", "lost or blocked"),
    "least_cost": ("least loss and standing still", "lost or blocked"),
}
"""The plan, and the node-hours of it that a column of the survey counts."""
TAKEN = tuple(ACTIONS[KEEP + 1 :])
"""Actions that free nodes."""


def scenario_table(cases: Iterable[Case]) -> pd.DataFrame:
    """Where each scenario comes from, and how long it lasts."""
    rows = [
        (each.name, each.origin, each.nodes, each.end - each.begin, each.end - each.at)
        for each, _ in cases
        if each is not None
    ]
    columns = ["scenario", "origin", "nodes", "lasts (s)", "after the eviction (s)"]
    return pd.DataFrame(rows, columns=columns)


def first_jobs(problems: Mapping[str, EvictionProblem]) -> pd.DataFrame:
    """The jobs of the first problem, rounded."""
    return next(iter(problems.values()), EvictionProblem.empty()).jobs.round(1)


def jobs_of(case: Case) -> pd.DataFrame:
    """The jobs of a scenario, in seconds after their earliest start; none where there is none."""
    if case.scenario is None:
        return pd.DataFrame(columns=["nodes", "run_time", "start", "end"])
    jobs = case.scenario.schedule.jobs.iloc[case.scenario.jobs]
    first = float(jobs["start_time"].min())
    columns = {"start": jobs["start_time"] - first, "end": jobs["end_time"] - first}
    table = jobs[["nodes", "run_time"]].assign(**columns).rename_axis("job")
    return table.sort_values("start", kind="stable")


def times_of(scenario: Scenario) -> tuple[float, float, float]:
    """Begin, end and eviction of a scenario, in seconds after the earliest start of its jobs."""
    first = float(scenario.schedule.jobs["start_time"].iloc[scenario.jobs].min())
    return scenario.begin - first, scenario.end - first, scenario.at - first


def origin_of(case: Case) -> str:
    """The origin of a scenario's jobs, in a sentence."""
    return f"{case.scenario.origin}: {ORIGINS[case.scenario.origin]}." if case.scenario else ""


def plan_table(plan: EvictionPlan) -> pd.DataFrame:
    """Nodes freed by each action, one row per deadline (minutes), beside the loss (node-hours)."""
    nodes = plan.problem.arrays.nodes
    freed = {action: (plan.choices == ACTIONS.index(action)) @ nodes for action in TAKEN}
    index = pd.Index(plan.deadlines / 60, name="deadline_minutes")
    return pd.DataFrame(freed, index=index).assign(loss=plan.loss.round(6))


def kinds_of_evictions(survey: pd.DataFrame) -> pd.DataFrame:
    """The share of moments of each of `KINDS`, by nodes needed and deadline of `survey_moments`.

    Returns
    -------
    pd.DataFrame
        `nodes_needed`, `deadline` (s), `kind`, `share`.
    """
    lossless = survey["optimum"] <= 1e-9
    worse = survey["greedy"] > survey["optimum"] + 1e-9
    conditions = [lossless & ~worse, ~lossless & ~worse, lossless & worse, ~lossless & worse]
    kinds = dict(zip(KINDS, conditions, strict=True))
    keys = [survey["nodes_needed"], survey["deadline"]]
    share = pd.DataFrame(kinds, index=survey.index).groupby(keys).mean()
    return share.rename_axis(columns="kind").stack().rename("share").reset_index()  # noqa: PD013


def mean_node_hours(survey: pd.DataFrame) -> pd.DataFrame:
    """Mean node-hours over the moments of `survey_moments`, by nodes needed, deadline and plan.

    Returns
    -------
    pd.DataFrame
        `nodes_needed`, `deadline` (s), `plan`, `counted` (`lost`, or `lost or blocked`),
        `node_hours`, `minutes`.
    """
    mean = survey.groupby(["nodes_needed", "deadline"], as_index=False)[SURVEY[4:]].mean()
    parts = [
        mean[["nodes_needed", "deadline"]].assign(
            plan=plan, counted=counted, node_hours=mean[column], minutes=mean["deadline"] / MINUTE
        )
        for column, (plan, counted) in PLANS.items()
    ]
    return pd.concat(parts, ignore_index=True)
