"""Batch policies and time-sharing on the jobs of a log, beside the recorded waits.

A *replay* schedules all jobs of the log. Policies do not know what else moved the recorded starts:
holds, dependencies, quotas, drained nodes. A policy *describes* the site if its waits rank the jobs
like the recorded waits do (Spearman's rank correlation of `LEAST_RANK` or more) and have about the
same mean (at most `MOST_OFF` times larger or smaller). The one that ranks best is the baseline of a
comparison. Where no policy describes the site, nothing follows from replays, and none is shown.
"""

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pandas as pd

from cosimlab.comparison import Comparison, compare_where_possible
from cosimlab.report.log import Log, made_once, span_text, weeks_of, window_name
from cosimlab.report.page import Section, cell, dot_chart
from cosimlib.batch import simulate_easy, simulate_fcfs
from cosimlib.calendar import ALWAYS_OPEN, Calendar
from cosimlib.display import count, duration, durations, percent, times_as_long
from cosimlib.policies import SIMULATORS
from cosimlib.schedule import RECORDED, Schedule
from cosimlib.timesharing import STEP, simulate_timesharing
from cosimlib.units import HOUR, MINUTE, WEEK
from cosimlib.workload import Workload

REPLAYED = ("FCFS", "EASY", "conservative", "EASY (sjbf)")
MOST_WAITING = 2e7
"""Jobs · jobs that wait on average, up to which conservative backfilling is tried."""

BUDGET = 0.4
"""Share of the report's budget."""

SECONDS, QUEUE = 1.2e-6, 0.15
"""CPU time of a policy per job; conservative backfilling's part more of it per job that waits."""

FEWEST_LOGS, MOST_LOGS = 20, 59
"""Logs drawn anew, each as long as the log."""

EQUAL = 0.05
"""Difference of mean waits up to which policies are alike."""

LEAST_RANK, MOST_OFF = 0.5, 1.25
"""Rank correlation and factor between mean waits within which a policy describes a site."""

FEWEST_WEEKS = 4
"""Weeks that decide whether sharing helps."""

MOST_HELD = 200_000
"""Nodes of all jobs of a week at most that share nodes: the first jobs of the week are taken."""


def replay(
    workload: Workload,
    policies: Sequence[str] = REPLAYED,
    *,
    most: float = np.inf,
    calendar: Calendar = ALWAYS_OPEN,
) -> tuple[list[Schedule], dict[str, str]]:
    """Schedules of the log's jobs under batch policies, and the reasons for omitted policies.

    Parameters
    ----------
    workload : Workload
        With its machine.
    policies : sequence of str
        Names in `SIMULATORS`. Those after the first are left out where a requested time is missing.
    most : float, optional
        Jobs · jobs that wait on average under EASY up to which conservative backfilling, which
        keeps a reservation for each waiting job, is tried.
    calendar : Calendar, optional
        When nodes are closed, for policies that take one; where a requested time is missing, never.
    """
    schedules: list[Schedule] = []
    left_out = {}
    known = workload.jobs["requested_time"].notna().all()
    closed = {"calendar": calendar} if known and len(calendar) else {}
    for policy in policies:
        if policy != "FCFS" and not known:
            left_out[policy] = "it needs requested times"
        elif policy == "conservative" and schedules and _queue(schedules[-1]) > most:
            waiting = _queue(schedules[-1]) / len(workload)
            left_out[policy] = f"{waiting:,.0f} jobs wait on average, and each has a reservation"
        else:
            run = SIMULATORS[policy](workload, workload.machine, **closed)
            schedules.append(replace(run, policy=policy) if closed else run)
    return schedules, left_out


def compare_to_recorded(schedules: Sequence[Schedule]) -> pd.DataFrame:
    """Waits of the recorded schedule and of policies on the same jobs, one row each.

    Returns
    -------
    pd.DataFrame
        Indexed by policy: mean, median and p90 of the wait (h), mean `bounded slowdown` (10 s), and
        of policies the `rank correlation` with the recorded waits; NaN if all are equal.
        Without recorded starts there is no recorded row, and all jobs count.
    """
    jobs = schedules[0].workload.jobs
    recorded = schedules[0].workload.column("recorded_start") - jobs["submit_time"]
    waits = pd.DataFrame({run.policy: run.jobs["wait_time"] for run in schedules})
    if recorded.notna().any():
        waits.insert(0, RECORDED, recorded)
    waits = waits.dropna()
    run_time = jobs["run_time"].loc[waits.index]
    slowdown = waits.add(run_time, axis=0).div(run_time.clip(lower=10), axis=0).clip(lower=1)
    ranks = waits.loc[:, waits.min() < waits.max()].rank().corr()
    table = {
        "mean wait (h)": waits.mean() / HOUR,
        "median wait (h)": waits.median() / HOUR,
        "p90 wait (h)": waits.quantile(0.9) / HOUR,
        "bounded slowdown": slowdown.mean(),
        "rank correlation": ranks.get(RECORDED, pd.Series(dtype=float)).reindex(waits.columns),
    }
    return pd.DataFrame(table).rename_axis("policy")


@made_once
def policies_section(log: Log) -> Section:
    """Section: what batch policies would have done, if one of them describes the site."""
    title, open_as = "Policies", "What another policy would do is open"
    if log.lacks.keys() & {"waits", "starts"}:
        why = f"{open_as}: a log with submissions and starts would decide it."
        return Section("policies", title, (why,))
    if "idle nodes" in log.lacks:
        return Section("policies", title, (f"{open_as}, as idle nodes are unknown.",))
    calendar = Calendar(log.windows)
    runs, left_out = replay(log.workload, most=MOST_WAITING, calendar=calendar)
    table = compare_to_recorded(runs)
    base, nearest = _describes(table)
    log.kept["policies"] = table
    if base is None:
        return Section("policies", title, (nearest,), computed={nearest: BOUNDS})
    tables = {"All jobs of the log": table}
    compared, why = _compared(log, runs, base)
    if compared is None:
        computed = {f"Which policy is better is open: {why}.": ""}
        means = table[["mean wait (h)"]].set_axis(["mean of the log"], axis=1)
    else:
        sentence, how = _best(compared, " without closures" * bool(len(calendar)))
        open_always = " These numbers are of a machine that never closes." * bool(len(calendar))
        computed = {sentence: f"{how}{open_always}"}
        values = compared.rows("value", measure="wait_time", statistic="mean").set_index("policy")
        means = values[["log", "low", "high"]].astype(float) / HOUR
        means = means.rename(columns={"log": "mean of the log, and its interval"})
        tables[f"Ratios to {base}, with intervals"] = _ratios(compared)
    computed[nearest] = BOUNDS
    how_to_read = (
        "Every policy schedules the same jobs, with their own submissions, requests and run times; "
        "EASY (sjbf) backfills by shortest request. Intervals show how much the mean varies "
        "from one log like this to another. Policies share these logs, so that ratios decide where "
        "intervals overlap. Policies know nothing of holds, quotas, partitions or drained nodes."
        + "".join(f" {name} is left out: {reason}." for name, reason in left_out.items())
    )
    if len(runs[0].calendar):
        how_to_read += (
            " In the table of all jobs, and in rank correlations, policies keep the machine closed "
            f"in the {count(len(calendar), 'window')} of the record. Means with an interval, and "
            "ratios, are of a machine that never closes, as logs drawn anew have other weeks."
        )
    picture = dot_chart(means, "mean wait (hours)")
    return Section("policies", title, tuple(computed), (picture,), tables, how_to_read, computed)


BOUNDS = (
    "A policy describes a site if its waits rank the jobs as the recorded waits do, with a "
    f"correlation (Spearman's) of {LEAST_RANK:g} or more, and its mean wait is at most "
    f"{MOST_OFF:g} times larger or smaller than the recorded one."
)


def described_by(log: Log) -> str | None:
    """The policy that describes a site, if any, once its `policies_section` has been made."""
    table = log.kept.get("policies")
    return None if table is None else _describes(table)[0]


def _describes(table: pd.DataFrame) -> tuple[str | None, str]:
    """The policy that describes the site best, or none; a finding that shows how well it does."""
    # Conservative backfilling ranks jobs as EASY does, and takes longer to compare with.
    ranks = table["rank correlation"].drop([RECORDED, "conservative"], errors="ignore")
    ranks = ranks.dropna().round(2)
    if RECORDED not in table.index or ranks.empty:
        return None, "Whether a policy describes this site is open: all jobs wait the same time."
    recorded = table.loc[RECORDED, "mean wait (h)"]
    off = np.exp(np.abs(np.log(table["mean wait (h)"].clip(lower=1e-9) / max(recorded, 1e-9))))
    fits = ranks[(ranks >= LEAST_RANK) & (off[ranks.index] <= MOST_OFF)]
    if len(fits):
        best = fits.idxmax()
        return best, f"{_capital(best)} describes this site: {_fit(table, best)}."
    nearest = ranks.idxmax()
    best, fit = _spoken(nearest), _fit(table, nearest)
    return None, f"No policy tried describes this site; {best} is nearest: {fit}."


def _fit(table: pd.DataFrame, policy: str) -> str:
    """Rank correlation and mean wait of a policy, beside the recorded mean."""
    mean, recorded = (
        duration(table.loc[name, "mean wait (h)"] * HOUR) for name in (policy, RECORDED)
    )
    rank = table.loc[policy, "rank correlation"]
    return f"rank correlation {rank:.2f}, mean wait {mean}, recorded {recorded}"


def _capital(policy: str) -> str:
    name = _spoken(policy)
    return f"{name[0].upper()}{name[1:]}"


@made_once
def timesharing_section(log: Log, *, weeks: int = 6) -> Section:
    """Section: what time-sharing would do, where every job starts at once and jobs share nodes.

    Parameters
    ----------
    log : Log
    weeks : int, default 6
        Weeks of the log, evenly from all of it, of which each is simulated by itself.
    """
    title = "Time-sharing"
    if "waits" in log.lacks:
        why = "Whether jobs should share nodes is open: a log with submissions would decide it."
        return Section("timesharing", title, (why,))
    if "idle nodes" in log.lacks:
        why = "Whether jobs should share nodes is open, as the record does not show what is idle."
        return Section("timesharing", title, (why,))
    batch = simulate_fcfs if "requests" in log.lacks else simulate_easy
    rows = {}
    for start in weeks_of(log.workload, weeks):
        jobs = _week(log.workload, start)
        step = float(np.clip(jobs.jobs["run_time"].mean() / 100, 1.0, STEP))
        alone = batch(jobs, log.machine)
        shared = simulate_timesharing(jobs, log.machine, step=step)
        row = {"jobs": len(jobs)}
        for name, run in {"batch": alone, "shared": shared}.items():
            row[f"hours, {name}"] = run.jobs["turnaround_time"].mean() / HOUR
            row[f"slowdown, {name}"] = run.bounded_slowdown().mean()
        rows[window_name(alone, start, start + WEEK)] = row
    table = pd.DataFrame(rows).T.rename_axis("week").astype({"jobs": int})
    ratios = table["hours, shared"] / table["hours, batch"].clip(lower=1e-9)
    table.insert(1, "ratio", ratios)
    ratio = float(table["hours, shared"].sum() / max(table["hours, batch"].sum(), 1e-9))
    least, most = cell(ratios.min()), cell(ratios.max())
    by_week = f" ({least} to {most} by week)" * (least != most)
    finding = (
        f"{_helps(ratios)}: jobs would take {times_as_long(cell(ratio))} from submission to end"
        f"{by_week}."
    )
    how = (
        f"All jobs start at once and share nodes, against {alone.policy} on the same jobs, in "
        f"{count(len(table), 'week')}, evenly from the log. Memory is taken to be enough."
    )
    hours = table[["hours, batch", "hours, shared"]].set_axis(["batch", "shared"], axis=1)
    if log.workload.began is not None:
        hours.index = [name[:10] for name in hours.index]
    picture = dot_chart(hours, "mean hours from submission to end")
    how_to_read = (
        "Jobs share nodes equally and run at the speed of their slowest node; nothing is lost by "
        "sharing itself. Short jobs gain, as none waits; long ones take longer where nodes are "
        f"crowded. Each week (its first jobs, up to {MOST_HELD:,} {log.unit}s in all) is simulated "
        "by itself, from an empty machine."
    )
    tables = {"Time from submission to end, by week": table}
    computed = {finding: how}
    return Section("timesharing", title, (finding,), (picture,), tables, how_to_read, computed)


def _helps(ratios: pd.Series) -> str:
    """What the ratios of some weeks decide about sharing."""
    low, high = ratios.min(), ratios.max()
    if low > 1 - EQUAL and high < 1 + EQUAL:
        return "Time-sharing would change little"
    if len(ratios) < FEWEST_WEEKS:
        return f"Whether time-sharing would help is open for under {FEWEST_WEEKS} weeks"
    if high < 1:
        return "Time-sharing would help"
    if low > 1 - EQUAL:
        return "Time-sharing would not help"
    return "Whether time-sharing would help differs from week to week"


def _week(workload: Workload, start: float) -> Workload:
    """The jobs of a week, as if memory were always enough; at most `MOST_HELD` nodes of them."""
    chosen = workload.jobs["submit_time"].between(start, start + WEEK, inclusive="left")
    held = workload.jobs["nodes"].where(chosen, 0).cumsum()
    few = workload.keep(
        (chosen & (held <= max(MOST_HELD, held[chosen].iloc[0]))).to_numpy(), "other"
    )
    return replace(few, jobs=few.jobs.drop(columns="memory", errors="ignore"))


def _compared(log: Log, runs: Sequence[Schedule], base: str) -> tuple[Comparison | None, str]:
    """A comparison with the base as the budget allows, or why there is none.

    Of FCFS, all others are better, so that it is compared where it is the base only.
    """
    workload, budget = log.workload, BUDGET * log.budget
    costs = {
        run.policy: SECONDS
        * (len(workload) + QUEUE * _queue(run) * run.policy.startswith("conservative"))
        for run in sorted(runs, key=lambda run: run.policy != base)
        if run.policy in (base, "EASY", "conservative", "EASY (sjbf)")
    }
    # More logs tell more than one more policy does.
    if budget < (FEWEST_LOGS + 1) * sum(costs.values()):
        costs.pop("conservative", None)
    logs = int(np.clip(budget / sum(costs.values()) - 1, FEWEST_LOGS, MOST_LOGS))
    return compare_where_possible(
        workload, list(costs), replicates=logs, seed=log.seed, warm_up=0.0, cool_down=0.0
    )


def _best(compared: Comparison, closed: str) -> tuple[str, str]:
    """Finding: the policy of the shortest mean wait beside the base, or that none is better.

    `closed` says where it is that machines that close are compared without that.
    """
    base = compared.policies[0]
    values = compared.rows("value", measure="wait_time", statistic="mean").set_index("policy")
    how = f"Intervals: {percent(compared.level)} of {len(compared.drawn)} logs drawn anew."
    own, low, high = durations(*values.loc[base, ["log", "low", "high"]].astype(float))
    today = f"{_spoken(base)}{closed}"
    pairs = compared.rows("ratio", measure="wait_time", statistic="mean")
    pairs = pairs[pairs["against"] == base].dropna(subset=["log", "low", "high"])
    if not len(pairs):
        return f"Under {today} jobs would wait {own} on average ({span_text(low, high)}).", how
    if pairs["low"].min() > 1 - EQUAL and pairs["high"].max() < 1 + EQUAL:
        alike = f"changes the mean wait under {today}, {own}, by more than {percent(EQUAL)}."
        return f"No policy tried {alike}", how
    lower = pairs["verdict"] == "lower"
    best = (pairs[lower] if lower.any() else pairs).sort_values("log", kind="stable").iloc[0]
    name, (ratio, least, most) = _spoken(best["policy"]), best[["log", "low", "high"]]
    times = "as long" if cell(ratio) == "1" else f"{cell(ratio)} times"
    span = f"{times} ({cell(least)} to {cell(most)})"
    if best["verdict"] == "lower":
        other = duration(float(values.loc[best["policy"], "log"]))
        better = f"{_capital(best['policy'])} would cut the mean wait under {today}"
        return f"{better} from {own} to {other}, {span}.", how
    if best["verdict"] == "higher":
        return f"No policy tried waits less than {today}, {own} on average: {name} {span}.", how
    would = _would_decide(ratio, least, most)
    return f"Whether {name} waits less than {today} is open: {span}.", f"{would} {how}"


def _ratios(compared: Comparison) -> pd.DataFrame:
    """Ratios of means to the base, with intervals."""
    rows = compared.rows("ratio", statistic="mean")
    rows = rows[rows["against"] == compared.policies[0]].set_index("policy")
    return rows[["measure", "log", "low", "high", "verdict"]]


def _would_decide(ratio: float, low: float, high: float) -> str:
    """What would decide on a ratio whose interval holds 1: intervals shrink with √(weeks)."""
    if low < ratio < high:
        distance, width = abs(math.log(ratio)), math.log(high / low) / 2
        if width <= 4 * distance:
            times = max(2, math.ceil((width / distance) ** 2))
            return f"About {times} times as long a log would decide, if the ratio stays."
    return "Weeks differ more than policies, so that a longer log is unlikely to decide."


def _spoken(policy: str) -> str:
    names = {"conservative": "conservative backfilling", "EASY (sjbf)": "EASY by shortest request"}
    return names.get(policy, policy)


def _queue(schedule: Schedule) -> float:
    """Jobs · jobs that wait on average between the first and the last submission."""
    span = max(float(np.ptp(schedule.workload.jobs["submit_time"])), MINUTE)
    return len(schedule.workload) * float(schedule.jobs["wait_time"].sum()) / span
