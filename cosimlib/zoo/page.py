"""Page of the zoo: tables in Markdown of how policies stand to EASY on each log."""

from collections.abc import Iterable, Mapping
from functools import partial

import pandas as pd

from cosimlib.comparison.intervals import interval_level
from cosimlib.display import UNKNOWN, duration, percent
from cosimlib.policies import Simulator
from cosimlib.zoo.standing import BASELINE, speeds, standing

TITLES = {
    "wait": "Mean wait",
    "wait_p99": "Waits: the 99th percentile",
    "bounded_slowdown": "Mean bounded slowdown",
    "utilization": "Utilization, containers of fillers included",
    "loss_of_capacity": "Loss of capacity",
}
HOW = """Each log is drawn anew by whole weeks, by days or hours where it is shorter than four weeks
or days (`synthetic.resample`). All policies schedule the same logs, and jobs near both ends of a
log do not count. So the numbers are of each log's own users, machine and load; what holds on one
need not hold on another. Long logs are drawn shorter.

`make zoo` writes this page to `figures/zoo/`, of the logs that are in `data/traces/` or where
`COSIMLIB_TRACES` points, and goes on where it was interrupted. `make zoo POLICY=mine.py` adds the
policies that a file registers (`docs/own-policy.md`) and computes only theirs."""

NOT_SCHEDULED = "Not scheduled"
RELATIVE = {"wait": " h", "wait_p99": " h", "bounded_slowdown": ""}
"""Measures that are shown divided by the baseline's, and their units."""


def semantics(simulator: Simulator) -> str:
    """What a policy does: the first line of its docstring, and its settings."""
    knobs: Mapping[str, object] = {}
    while isinstance(simulator, partial):
        knobs = {**simulator.keywords, **knobs}
        simulator = simulator.func
    first = (simulator.__doc__ or "").strip().partition("\n")[0].rstrip(".") or UNKNOWN
    told = ", ".join(f"{name}={value!r}" for name, value in knobs.items())
    return f"{first} (`{told}`)" if told else first


def page(runs: pd.DataFrame, policies: Mapping[str, Simulator]) -> str:
    """The zoo as Markdown: what the policies do, measures per log, speeds, and what failed.

    Parameters
    ----------
    runs : pd.DataFrame
        Of `run_zoo`.
    policies : mapping of str to simulator
        For what they do.
    """
    replicates = runs["replicate"].nunique()
    table = standing(runs)
    simulated = int(runs["jobs"].count()) if "error" in runs else len(runs)
    parts = [
        "# Zoo of policies",
        f"{simulated:,} schedules, all audited: {runs['policy'].nunique()} policies on "
        f"{replicates} logs drawn anew from each of {runs['log'].nunique()}. Intervals are from "
        f"the least to the most of these ({percent(interval_level(replicates))}). The simulations "
        f"took {duration(runs['seconds'].sum())} of processor time.",
        HOW,
        "## Policies",
        _markdown(["policy", "what it does"], _semantics(runs, policies), align="---"),
        "## Logs",
        _markdown(["log", "jobs drawn", "utilization under EASY"], _logs(runs, table)),
    ]
    for measure, title in TITLES.items():
        parts += [f"## {title}", *_measure(table, measure)]
    parts += ["## Speed", "Thousands of jobs per second of processor time, medians.", _speeds(runs)]
    if "error" in runs:
        parts += [f"## {NOT_SCHEDULED}", _failures(runs)]
    return "\n\n".join(parts) + "\n"


def _semantics(runs: pd.DataFrame, policies: Mapping[str, Simulator]) -> list[list[str]]:
    names = dict.fromkeys(runs["policy"])
    return [[name, semantics(policies[name]) if name in policies else UNKNOWN] for name in names]


def _logs(runs: pd.DataFrame, table: pd.DataFrame) -> list[list[str]]:
    jobs = runs.groupby("log", sort=False)["jobs"].median()
    held = table[(table["policy"] == BASELINE) & (table["measure"] == "utilization")]
    held = held.set_index("log")
    return [
        [name, f"{count:,.0f}", f"{100 * held['low'][name]:.0f}–{100 * held['high'][name]:.0f} %"]
        for name, count in jobs.items()
        if name in held.index
    ]


def _measure(table: pd.DataFrame, measure: str) -> list[str]:
    """A sentence and a table of one measure, policies by logs."""
    rows = table[table["measure"] == measure].set_index(["policy", "log"])
    logs, names = (list(dict.fromkeys(table[column])) for column in ("log", "policy"))
    relative = measure in RELATIVE
    text = _ratio if relative else _percents
    body = [
        [name, *(text(rows.loc[(name, log)]) if (name, log) in rows.index else "–" for log in logs)]
        for name in names
        if not (relative and name == BASELINE)
    ]
    if not relative:
        return ["Percent, medians.", _markdown(["policy", *logs], body)]
    own = [_own(rows.loc[(BASELINE, log)], RELATIVE[measure]) for log in logs]
    sentence = (
        f"The first line is {BASELINE}'s own, median and interval; the others are divided by it, "
        "log by log, and **bold** where all logs drawn say lower, or all say higher."
    )
    return [sentence, _markdown(["policy", *logs], [[f"*{BASELINE}*", *own], *body])]


def _own(row: pd.Series, unit: str) -> str:
    return f"{_short(row['median'])}{unit} ({_short(row['low'])}–{_short(row['high'])})"


def _ratio(row: pd.Series) -> str:
    if row["verdict"] == "equal":
        return "="
    if pd.isna(row["ratio"]):
        return row["verdict"]
    low, high = _short(row["ratio_low"]), _short(row["ratio_high"])
    text = f"{_short(row['ratio'])} ({low}–{high})"
    return text if row["verdict"] == "cannot tell" else f"**{text}**"


def _percents(row: pd.Series) -> str:
    return f"{100 * row['median']:.1f}"


def _short(value: float) -> str:
    """Three digits, but no more than three places."""
    if 0 < value < 0.001:
        return "<0.001"
    return f"{value:,.0f}" if value >= 100 else f"{float(f'{value:.3g}'):.15g}"


def _speeds(runs: pd.DataFrame) -> str:
    table = speeds(runs) / 1000
    body = [
        [name, *("–" if pd.isna(value) else _short(value) for value in values)]
        for name, values in zip(table.index, table.to_numpy(), strict=True)
    ]
    return _markdown(["policy", *table.columns], body)


def _failures(runs: pd.DataFrame) -> str:
    failed = runs[runs["error"].notna()]
    reasons = failed.groupby(["log", "policy"], sort=False)["error"].agg(["first", "size"])
    return "\n".join(
        f"- {policy} on {log}, {number} of its logs drawn: {text}"
        for (log, policy), (text, number) in zip(reasons.index, reasons.to_numpy(), strict=True)
    )


def _markdown(head: Iterable[str], body: Iterable[Iterable[str]], *, align: str = "---:") -> str:
    """A table in Markdown, the first column left, the others right or as `align` says."""
    head = list(head)
    rule = ["---", *[align] * (len(head) - 1)]
    return "\n".join(f"| {' | '.join(row)} |" for row in [head, rule, *map(list, body)])
