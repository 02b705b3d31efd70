"""Comparison of coscheduling schemes and knobs over workloads and seeds, with intervals.

Beside the schemes stand the base, without coscheduling, and the ideal (`ideal_schedule`): what
pairing itself costs.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from cosimlib.coscheduling.audit import audit_coupled
from cosimlib.coscheduling.measures import IDEAL, MEASURES, ideal_schedule, summarize_machines
from cosimlib.coscheduling.simulation import simulate_coscheduling
from cosimlib.coscheduling.workloads import EUREKA, first_machine, month_of_intrepid
from cosimlib.display import count
from cosimlib.metrics import mean_interval
from cosimlib.sweep import Workers, sweep
from cosimlib.synthetic.intrepid import EUREKA_NODES
from cosimlib.system import System
from cosimlib.workload import Workload

SCHEMES = ("HH", "HY", "YH", "YY")
BASE = "base"
UNSCHEDULED = (BASE, IDEAL)
"""What is compared with the schemes, and is none."""
SUMMARIZED = (*MEASURES, "sync_up_median", "sync_up_late", "waited", "wait_paired", "wait_alone",
              "lost_share")  # fmt: skip


def compare_schemes(
    make: Callable[..., Workload],
    values: Iterable[float],
    *,
    by: str,
    seeds: Sequence[int],
    log: Workload | None = None,
    days: float = 30.0,
    schemes: Sequence[str] = SCHEMES,
    executor: Workers = None,
    folder: str | Path | None = None,
    **knobs: Any,
) -> pd.DataFrame:
    """The base, the ideal and each scheme, on each workload and seed.

    Parameters
    ----------
    make : callable
        `by_utilization` or `by_proportion`.
    values : iterable of float
        The values of its keyword `by`.
    by : str
        ``"load"`` or ``"share"``, also the column of the values.
    seeds : sequence of int
    log, days
        As for `month_of_intrepid`.
    schemes : sequence of str
        Besides ``"base"``, without coscheduling, and ``"ideal"``.
    executor, folder
        As for `sweep`, whose cells are one value and seed: where they are computed and kept.
    **knobs
        For `simulate_coscheduling`.

    Returns
    -------
    pd.DataFrame
        `by` and `seed`, the rows of `summarize_machines`, `scheme`, `stuck` (jobs that never start)
        and `apart` (jobs that did not start with their mates). Each schedule was audited.
    """
    shared = {"make": make, "log": log, "days": days, "schemes": tuple(schemes), "knobs": knobs}
    place: dict[str, Any] = {"executor": executor, "folder": folder}
    return sweep(_compare, {by: values}, seeds, shared=shared, errors="raise", **place)


def compare_knobs(
    cases: Mapping[float | str, Mapping[str, Any]],
    *,
    by: str,
    make: Callable[..., Workload],
    at: Mapping[str, float],
    seeds: Sequence[int],
    log: Workload | None = None,
    days: float = 30.0,
    schemes: Sequence[str] = SCHEMES,
    executor: Workers = None,
    folder: str | Path | None = None,
    **knobs: Any,
) -> pd.DataFrame:
    """The base, the ideal and each scheme under other knobs, on one workload per seed.

    Parameters
    ----------
    cases : mapping to mappings
        The knobs for `simulate_coscheduling` of each case, by what the table calls it.
    by : str
        The column of the cases.
    make, at
        `by_utilization` or `by_proportion`, and its keyword's value, such as ``{"load": 0.75}``.
    seeds, log, days, schemes, executor, folder
        As for `compare_schemes`.
    **knobs
        For `simulate_coscheduling` in all cases.

    Returns
    -------
    pd.DataFrame
        As of `compare_schemes`.
    """
    shared = {"make": make, "log": log, "days": days, "schemes": tuple(schemes), **at}
    grid = {"knobs": {case: knobs | dict(changed) for case, changed in cases.items()}}
    place: dict[str, Any] = {"executor": executor, "folder": folder}
    table = sweep(_compare, grid, seeds, shared=shared, errors="raise", **place)
    return table.rename(columns={"knobs": by})


def compare_on(
    workload: Workload, system: System, *, schemes: Sequence[str] = SCHEMES, **knobs: Any
) -> pd.DataFrame:
    """The base, the ideal and each scheme on one workload, each schedule audited.

    Returns
    -------
    pd.DataFrame
        The rows of `summarize_machines` with `scheme`, `stuck` and `apart`.
    """
    tables: list[pd.DataFrame] = []
    for scheme in (None, *schemes):
        schedule = simulate_coscheduling(workload, system, schemes=scheme, **knobs)
        audit_coupled(schedule, all_start=False)
        for each in [schedule] if scheme else [schedule, ideal_schedule(schedule)]:
            table = summarize_machines(each).assign(scheme=each.policy)
            tables.append(table.assign(stuck=len(each.stuck), apart=len(each.apart)))
    return pd.concat(tables, ignore_index=True)


def averages(comparison: pd.DataFrame, by: str) -> pd.DataFrame:
    """Mean over seeds of what was compared, and its 95 % confidence interval.

    Runs in which jobs never start are left out: of those jobs nothing is measured.

    Parameters
    ----------
    comparison : pd.DataFrame
        Of `compare_schemes` or `compare_knobs`.
    by : str
        Column of the workloads or cases.

    Returns
    -------
    pd.DataFrame
        `machine`, `by`, `scheme`, `measure` (one of `SUMMARIZED`), `mean`, `low`, `high` (see
        `mean_interval`; NaN of one seed), `seeds`.
    """
    comparison = comparison[comparison["stuck"] == 0]
    keys = ["machine", by, "scheme", "measure"]
    long = comparison.melt(["machine", by, "scheme", "seed"], list(SUMMARIZED), "measure")
    cells = long.groupby(keys, sort=False)["value"]
    rows = [(*key, *_interval(values), len(values)) for key, values in cells]
    return pd.DataFrame(rows, columns=[*keys, "mean", "low", "high", "seeds"])


def in_letters(machines: Iterable[str]) -> str:
    """What the letters of a scheme say, in words for the small print of a figure."""
    names = " and ".join(name[:1].upper() + name[1:] for name in machines)
    return (
        f"A scheme's letters stand for {names}, in this order: H, a job holds its nodes idle until "
        "its mate starts; Y, it yields its turn."
    )


def never_started(comparison: pd.DataFrame, by: str) -> str:
    """The runs in which jobs never start, in words, or that there is none."""
    runs = comparison[comparison["stuck"] > 0].drop_duplicates([by, "seed", "scheme"])
    if runs.empty:
        return "All jobs start in every run."
    told = [
        f"{by} {case}, seed {seed}, {scheme}: {count(stuck, 'job')}"
        for case, seed, scheme, stuck in runs[[by, "seed", "scheme", "stuck"]].itertuples(
            index=False
        )
    ]
    return f"Jobs that never start, in runs that the averages leave out: {'; '.join(told)}."


def over_ideal(comparison: pd.DataFrame, by: str, measure: str = "wait") -> pd.DataFrame:
    """What coscheduling costs beyond pairing itself: a measure over the ideal's, paired by seed.

    Returns
    -------
    pd.DataFrame
        `machine`, `by`, `scheme`, and mean, `low` and `high` of the ratios over seeds; NaN or
        infinite where the ideal measures 0.
    """
    return over(comparison, by, IDEAL, measure)


def over(comparison: pd.DataFrame, by: str, reference: str, measure: str = "wait") -> pd.DataFrame:
    """A measure of each scheme over that of a reference, ``"base"`` or ``"ideal"``, by seed."""
    cells = _by_scheme(comparison, by, measure)
    schemes = [name for name in cells if name not in UNSCHEDULED]
    return _intervals(cells[schemes].div(cells[reference], axis=0), by)


def yield_minus_hold(comparison: pd.DataFrame, by: str, measure: str = "sync_up") -> pd.DataFrame:
    """A machine's measure where it yields minus that where it holds, the other's scheme the same.

    Returns
    -------
    pd.DataFrame
        `machine`, `by`, `scheme` (``"other machine holds"`` or ``"other machine yields"``), and
        mean, `low` and `high` of the differences over seeds.
    """
    tables = []
    for machine, cells in _by_scheme(comparison, by, measure).groupby("machine", sort=False):
        pairs = {"holds": ("YH", "HH"), "yields": ("YY", "HY")}
        if machine == EUREKA:
            pairs = {"holds": ("HY", "HH"), "yields": ("YY", "YH")}
        found = {
            f"other machine {other}": cells[yields] - cells[holds]
            for other, (yields, holds) in pairs.items()
        }
        tables.append(_intervals(pd.DataFrame(found), by))
    return pd.concat(tables, ignore_index=True)


def _by_scheme(comparison: pd.DataFrame, by: str, measure: str) -> pd.DataFrame:
    """A measure by machine, `by` and seed, a column per scheme; runs with stuck jobs left out."""
    keys, order = ["machine", by, "seed"], list(dict.fromkeys(comparison["scheme"]))
    machines = list(dict.fromkeys(comparison["machine"]))
    comparison = comparison[comparison["stuck"] == 0]
    cells = comparison.pivot(index=keys, columns="scheme", values=measure)  # noqa: PD010
    return cells.reindex(columns=order).reindex(machines, level="machine")


def _intervals(cells: pd.DataFrame, by: str) -> pd.DataFrame:
    """Intervals over seeds of a table by machine, `by` and seed, a column per scheme."""
    rows = [
        (machine, value, scheme, *_interval(part[scheme].dropna()))
        for (machine, value), part in cells.groupby(["machine", by], sort=False)
        for scheme in cells
    ]
    return pd.DataFrame(rows, columns=["machine", by, "scheme", "mean", "low", "high"])


def _interval(values: pd.Series) -> tuple[float, float, float]:
    """Mean and interval, whose ends are NaN where they are infinite."""
    mean, *ends = mean_interval(values)
    low, high = (end if np.isfinite(end) else np.nan for end in ends)
    return mean, low, high


def _compare(
    make: Callable[..., Workload],
    log: Workload | None,
    days: float,
    schemes: Sequence[str],
    knobs: Mapping[str, Any],
    seed: int,
    **value: float,
) -> pd.DataFrame:
    """The base, the ideal and all schemes on one workload and seed."""
    workload, system = _coupled(make, log, days, seed, **value)
    return compare_on(workload, system, schemes=schemes, **knobs)


@lru_cache(maxsize=16)
def _coupled(
    make: Callable[..., Workload], log: Workload | None, days: float, seed: int, **value: float
) -> tuple[Workload, System]:
    """A month of coupled machines, made once for all cases."""
    intrepid = month_of_intrepid(seed=seed, log=log, days=days)
    name, nodes = first_machine(log)
    workload = make(intrepid, seed=seed, name=name, **value)
    return workload, System(f"{name}+{EUREKA}", {name: nodes, EUREKA: EUREKA_NODES})
