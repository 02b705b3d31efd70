"""All policies on all logs that are here: ``make zoo``, or ``python -m cosimlab.zoo``.

From each log, new logs (replicates) are drawn: whole weeks at random (`synthetic.resample`). Logs
of less than four weeks are drawn by days, of less than four days by hours; long logs give shorter
replicates. All policies schedule the same replicates, and jobs near both ends of a replicate do not
count. The numbers describe each log's own users, machine and load: a result on one log need not
hold on another. An interrupted run is continued, and ``make zoo POLICY=mine.py`` adds the policies
that a file registers and computes only those.

docs/zoo.md is the page of a run on all known traces.
"""

import argparse
import runpy
import sys
import time
import traceback
import warnings
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd

from cosimlab.comparison.intervals import interval_level
from cosimlab.comparison.run import PART
from cosimlab.ending import Arguments, check_counts, status_of
from cosimlab.folders import check_folder
from cosimlab.sweep import SweepWarning, sweep
from cosimlib import checks as check
from cosimlib import metrics, synthetic
from cosimlib.audit import audit
from cosimlib.display import count, percent
from cosimlib.files import check_readable, check_writable, write_whole
from cosimlib.policies import SIMULATORS, Simulator
from cosimlib.prepare import prepare_workload
from cosimlib.traces import TRACES, find_trace
from cosimlib.traces.catalog import OPENB, path_of
from cosimlib.units import DAY, HOUR, WEEK
from cosimlib.workload import Workload

BASELINE = "EASY"
REPLICATES, JOBS = 20, 20_000
"""Logs drawn from each log; jobs of one, about: longer logs give whole weeks, at least one."""

MEASURES: dict[str, tuple[str, str | None, Callable[..., Any]]] = {
    "wait": ("Mean wait", " h", lambda run, **at: metrics.wait_time(run, **at).mean() / HOUR),
    "wait_p99": (
        "Waits: the 99th percentile",
        " h",
        lambda run, **at: metrics.wait_time(run, **at).quantile(0.99) / HOUR,
    ),
    "bounded_slowdown": (
        "Mean bounded slowdown",
        "",
        lambda run, **at: metrics.bounded_slowdown(run, **at).mean(),
    ),
    "utilization": ("Utilization, containers of fillers included", None, metrics.utilization),
    "loss_of_capacity": ("Loss of capacity", None, metrics.loss_of_capacity),
}
"""Title, unit and function of a schedule; without a unit it is shown in percent, else by ratios."""

NO_LOG = (
    "no known trace in data/traces or COSIMLIB_TRACES: two synthetic logs instead; for a log of "
    "yours, give its path"
)

RELATIVE = (
    f"The first row has {BASELINE}'s values: median and interval. Other rows are ratios to "
    f"{BASELINE} on the same replicate. **Bold**: all replicates agree that the policy is lower, "
    "or all that it is higher."
)


def zoo_logs(names: Sequence[str] = (), **machine: int | None) -> dict[str, Workload]:
    """Logs by name, of the jobs that fit their machine, with drawn estimates where there are none.

    By default the known traces that are here, and two synthetic logs where there is none. `machine`
    is `cores_per_node` and `nodes` of `prepare_workload`, of the one log that is named.
    """
    one = len(names) == 1 or not any(machine.values())
    check.that("nodes or cores_per_node of logs", list(names), one, "one log")
    found = names or _known_here()
    logs = [prepare_workload(name, **machine, estimates="none") for name in found]
    made = synthetic.with_estimates(synthetic.lublin(5_000, load=0.8)), synthetic.theta(5_000)
    return {log.name: synthetic.with_drawn_estimates(log) for log in logs or made}


def _known_here() -> list[str]:
    """Names of the known traces that are on this machine, without those of jobs on shared nodes."""
    shared = {f"openb-{kind}" for kind in OPENB}
    return [name for name in TRACES if name not in shared and find_trace(name) is not None]


def run_zoo(
    logs: Mapping[str, Workload],
    policies: Mapping[str, Simulator] | None = None,
    *,
    replicates: int = REPLICATES,
    jobs: int = JOBS,
    **place: Any,
) -> pd.DataFrame:
    """One row per log, replicate and policy, each schedule audited; by default all policies.

    `jobs`, the columns of `MEASURES`, and `seconds` of processor time. A policy that cannot
    schedule a log, or whose schedule does not pass the audit, has its reason in `error`. `place`
    is `executor` and `folder` of `sweep`.
    """
    check.whole("replicates", replicates, 2)
    grid = {"log": logs, "replicate": range(replicates), "policy": dict(policies or SIMULATORS)}
    return sweep(measured, grid, shared={"jobs": jobs}, **place)


def measured(log: Workload, replicate: int, policy: Simulator, jobs: int) -> dict[str, float]:
    """Measures of a policy's schedule of a log drawn anew."""
    workload = drawn(log, replicate, jobs)
    machine = check.machine(workload.machine, workload.name)
    began = time.process_time()
    schedule = policy(workload, machine)
    seconds = time.process_time() - began
    submit_time = audit(schedule).workload.jobs["submit_time"]
    margin = min(WEEK, PART * float(submit_time.iloc[-1] - submit_time.iloc[0]))
    limits = metrics.window(schedule, warm_up=margin, cool_down=margin)
    values = {name: float(measure(schedule, **limits)) for name, (*_, measure) in MEASURES.items()}
    return {"jobs": len(workload), **values, "seconds": seconds}


def drawn(log: Workload, replicate: int, jobs: int) -> Workload:
    """A log drawn anew by weeks, of whole weeks (days where one week has too many jobs)."""
    if len(log) <= jobs:
        return synthetic.resample(log, replicate, unit="weeks")
    submit_time = log.jobs["submit_time"]
    length = float(submit_time.iloc[-1] - submit_time.iloc[0]) * jobs / len(log)
    whole = WEEK if length >= WEEK else DAY
    return synthetic.resample(log, replicate, length=max(length // whole, 1) * whole, unit="weeks")


def page(runs: pd.DataFrame) -> str:
    """The zoo as Markdown: measures by policy and log, and speeds."""
    own, replicates = runs[runs["policy"] == BASELINE], runs["replicate"].nunique()
    if "error" in runs and own["error"].notna().all():
        raise ValueError(f"{BASELINE}, the baseline, fails on all logs: {own['error'].iloc[0]}")
    parts = [
        "# Zoo of policies",
        f"{runs['policy'].nunique()} policies schedule {replicates} replicates (logs drawn anew) "
        f"of each of {runs['log'].nunique()} logs: {runs['jobs'].count():,} schedules, which "
        "passed the audit. Intervals go from the smallest to the largest replicate "
        f"({percent(interval_level(replicates))}).",
    ]
    for measure, (title, unit, _) in MEASURES.items():
        how = "Medians, in percent." if unit is None else RELATIVE
        parts += [f"## {title}", how, _markdown(_texts(runs, measure, unit))]
    rate = runs.assign(rate=runs["jobs"] / runs["seconds"].clip(lower=1e-6) / 1000)
    speed = "Thousands of jobs per second of processor time, medians."
    parts += ["## Speed", speed, _markdown(_medians(rate, "rate").map(_short))]
    return "\n\n".join(parts) + "\n"


def _medians(runs: pd.DataFrame, measure: str) -> pd.DataFrame:
    """Medians over the logs drawn, policies by logs."""
    return runs.pivot_table(measure, "policy", "log", "median", sort=False, dropna=False)


def _texts(runs: pd.DataFrame, measure: str, unit: str | None) -> pd.DataFrame:
    """A measure in words, policies by logs: percent, or the baseline's own and ratios to it."""
    if unit is None:
        return (100 * _medians(runs, measure)).map("{:.1f}".format)
    texts = {}
    for log, part in runs.groupby("log", sort=False):
        wide = part.pivot_table(measure, "replicate", "policy", sort=False, dropna=False)
        base = wide.pop(BASELINE)
        own = {f"*{BASELINE}*": _interval(base, unit)}
        texts[log] = own | {policy: ratio_text(wide[policy], base) for policy in wide}
    return pd.DataFrame(texts)


def ratio_text(values: pd.Series, base: pd.Series) -> str:
    """A policy's numbers over the baseline's on the same logs drawn: median, least and most.

    Bold where all are lower, or all are higher; "=" where all are equal. Without a ratio, as the
    baseline's numbers are all 0, "higher" or "cannot tell".
    """
    more, ratio = (values - base).dropna(), values / base.where(base != 0)
    if more.empty or (more == 0).all():
        return "–" if more.empty else "="
    is_sure = bool((more > 0).all() or (more < 0).all())
    if ratio.isna().all():
        return "higher" if is_sure else "cannot tell"
    return f"**{_interval(ratio)}**" if is_sure else _interval(ratio)


def _interval(values: pd.Series, unit: str = "") -> str:
    low, middle, high = (_short(value) for value in (values.min(), values.median(), values.max()))
    return f"{middle}{unit} ({low}–{high})"


def _short(value: float) -> str:
    """Three digits, but no more than three places."""
    if 0 < value < 0.001:
        return "<0.001"
    return f"{value:,.0f}" if value >= 100 else f"{float(f'{value:.3g}'):.15g}"


def _markdown(table: pd.DataFrame) -> str:
    """A table of texts in Markdown."""
    lines = [["policy", *table], ["---", *["---:"] * table.shape[1]]]
    lines += [[name, *row] for name, row in zip(table.index, table.to_numpy(), strict=True)]
    return "\n".join(f"| {' | '.join(line)} |".replace(" nan |", " – |") for line in lines)


def main(arguments: Sequence[str] | None = None) -> int:
    """Compare all policies on all logs; status 0 for success, 1 for an error."""
    return status_of("zoo", partial(_compare, _parser().parse_args(arguments)))


def _compare(options: argparse.Namespace) -> int:
    """Write page and table; status 1 if a policy has failed."""
    check_counts(nodes=options.nodes, cores=options.cores)
    check.whole("--replicates", options.replicates, 2)
    read = [*filter(None, map(path_of, options.logs)), *options.policy]
    places = [options.out / name for name in ("zoo.md", "zoo.csv")]
    _check_places(options.out, places, read)
    for path in options.policy:
        register_from(path)
    if not options.logs and not _known_here():
        print(f"zoo: {NO_LOG}", file=sys.stderr, flush=True)
    logs = zoo_logs(options.logs, cores_per_node=options.cores, nodes=options.nodes)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SweepWarning)  # failures are said below, by policy
        runs = run_zoo(
            logs,
            replicates=options.replicates,
            executor="cores",
            folder=options.out / "cells",
        )
    page_of_runs, table = places
    write_whole(page_of_runs, page(runs).encode())
    write_whole(table, runs.to_csv(index=False).encode())
    print(f"zoo: {runs['jobs'].count():,} of {len(runs):,} schedules; {page_of_runs} and zoo.csv")
    failed = failures(runs)
    for line in failed:
        print(f"zoo: {line}", file=sys.stderr)
    return 1 if failed else 0


def _check_places(folder: Path, places: Sequence[Path], read: Sequence[str | Path]) -> None:
    """Refuse a folder that cannot be one, and results in the place of what is read."""
    check_folder("--out", folder)
    if folder.is_dir():
        for place in places:
            check_writable(place, *read)
    else:
        above = next(each for each in folder.absolute().parents if each.is_dir())
        check_writable(above / "zoo.md")


def failures(runs: pd.DataFrame) -> list[str]:
    """A line for each policy that failed: how often, and its first error."""
    if "error" not in runs:
        return []
    lines = []
    for policy, part in runs.groupby("policy", sort=False):
        errors = part["error"].dropna()
        if len(errors):
            first = part.loc[errors.index[0]]
            lines.append(
                f"policy {policy!r} failed on {len(errors)} of {count(len(part), 'replicate')}, "
                f"first on {first['log']}: {' '.join(str(errors.iloc[0]).split())}"
            )
    return lines


def register_from(path: str | Path) -> None:
    """Run a file of Python that registers policies.

    Raises
    ------
    ValueError
        If it cannot be run, or registers no policy; names file and line.
    """
    check_readable(path, "a file of Python that registers a policy")
    before = dict(SIMULATORS)
    try:
        runpy.run_path(str(path))
    except SyntaxError as error:
        where = error.filename or path
        raise ValueError(f"{where}, line {error.lineno}: no Python, {error.msg}") from error
    except Exception as error:  # whatever the file does
        lines = [
            at.lineno
            for at in traceback.extract_tb(error.__traceback__)
            if at.filename == str(path)
        ]
        where = f"{path}, line {lines[-1]}" if lines else str(path)
        raise ValueError(f"{where}: {type(error).__name__}: {error}") from error
    if dict(SIMULATORS) == before:
        raise ValueError(
            f"{path}: registers no policy; expected cosimlib.register, as docs/own-policy.md has it"
        )


def _parser() -> argparse.ArgumentParser:
    """What the command line may say."""
    parser = Arguments(prog="python -m cosimlab.zoo", description=main.__doc__)
    add = parser.add_argument
    add("logs", nargs="*", metavar="LOG", help="traces by name or path; default: all that are here")
    add("--policy", action="append", default=[], metavar="FILE.py", help="registers more policies")
    add("--replicates", type=int, default=REPLICATES, metavar="N", help="new logs drawn from each")
    add("--nodes", type=int, metavar="N", help="size of the machine; default: the log's")
    add("--cores", type=int, metavar="N", help="cores per node; default: the log's")
    add("--out", type=Path, default=Path("figures/zoo"), metavar="FOLDER")
    return parser


if __name__ == "__main__":
    from cosimlab.zoo import main  # workers import its functions by this name

    sys.exit(main())
