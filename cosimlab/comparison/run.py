"""Runs of a comparison: all policies on the log itself, and on the same new logs drawn from it."""

import time
import warnings
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numba.extending import is_jitted

from cosimlab.comparison.intervals import (
    FEWEST_WEEKS,
    KEYS,
    STATISTICS,
    WHOLE,
    Comparison,
    Measure,
    chosen_measures,
    interval_table,
    long_table,
    measure_rows,
)
from cosimlab.sweep import Workers, sweep
from cosimlib import checks as check
from cosimlib.audit import audit
from cosimlib.batch.orders import values_by_job
from cosimlib.batch.simulation import function_name
from cosimlib.display import count, duration, durations
from cosimlib.metrics import job_groups
from cosimlib.metrics.groups import GROUPS
from cosimlib.policies import BUILT_IN, decided, simulator_of, with_knobs_of
from cosimlib.schedule import Schedule
from cosimlib.slurm import Site
from cosimlib.slurm import simulate as simulate_slurm
from cosimlib.synthetic.resampling import UNITS, resample, resampling_plan
from cosimlib.system import System
from cosimlib.units import WEEK
from cosimlib.workload import Workload, check_run, check_workload

FEWEST = 20
"""Jobs between warm-up and cool-down that a log must have to be compared on."""

PART = 0.1
"""Of the log: the warm-up and the cool-down, each at most a week."""


SLOW = 60.0
"""Seconds that the replicates of an uncompiled policy may take without a warning."""


class SlowPolicyWarning(UserWarning):
    """Warning that a comparison takes long, because a policy is not compiled."""


class Contestant(NamedTuple):
    """A policy to be compared.

    Parameters
    ----------
    label : str
        What tables and figures call it.
    simulate : function of a workload and a system
    trusted : bool
        Whether its schedules are made by this package, so that one audit is enough.
    order : np.ndarray, optional
        The policy's knob `order`, where it is one number per job of the log.
    interpreted : bool
        Whether it is a decision function that Numba has not compiled.
    """

    label: str
    simulate: Callable[..., Schedule]
    trusted: bool
    order: np.ndarray | None = None
    interpreted: bool = False

    def run(
        self,
        workload: Workload,
        system: System,
        *,
        audited: bool,
        source: np.ndarray | None = None,
    ) -> Schedule:
        """The schedule, audited on request and always where the policy is one's own.

        `source` are the rows of the log from which the jobs are drawn; by default they are the log.
        """
        order = None if self.order is None or source is None else self.order[source]
        knobs = {} if order is None else {"order": order}
        try:
            schedule = self.simulate(workload, system, **knobs)
        except Exception as error:
            error.add_note(f"raised by the policy {self.label!r} on {workload.name}")
            raise
        check.instance(f"the result of {self.label!r}", schedule, Schedule)
        return audit(schedule) if audited or not self.trusted else schedule


class Trial(NamedTuple):
    """What is simulated and measured on the log, and on each log drawn anew from it.

    Parameters
    ----------
    workload : Workload
        The log.
    system : System
    runs : list of Contestant
    measures : dict of str to function
    groups : pd.Series, optional
        The group of each job of the log.
    margins : tuple of float
        Warm-up and cool-down, seconds.
    unit : str
        What is drawn.
    """

    workload: Workload
    system: System
    runs: list[Contestant]
    measures: dict[str, Measure]
    groups: pd.Series | None
    margins: tuple[float, float]
    unit: str

    def rows(
        self,
        workload: Workload,
        groups: pd.Series | None,
        *,
        audited: bool,
        source: np.ndarray | None = None,
    ) -> list[dict[str, Any]]:
        """Rows of all policies on a log whose jobs have these groups, and are rows of the log."""
        limits, rows = _limits(workload, self.margins), []
        for run in self.runs:
            schedule = run.run(workload, self.system, audited=audited, source=source)
            rows += measure_rows(schedule, run.label, self.measures, groups, limits)
        return rows


def compare(
    workload: Workload,
    policies: Iterable[Any] | Mapping[str, Any],
    *,
    replicates: int = 100,
    measures: Iterable[str] | Mapping[str, Measure] = ("wait_time", "bounded_slowdown"),
    by: str | None = None,
    system: System | None = None,
    unit: str = "weeks",
    warm_up: float | None = None,
    cool_down: float | None = None,
    seed: int = 0,
    executor: Workers = None,
    folder: str | Path | None = None,
) -> Comparison:
    """Comparison of policies on a log, with 95 % intervals, paired differences and ratios.

    Parameters
    ----------
    workload : Workload
    policies : list or dict
        Registered names (`cosimlib.register` adds one), pairs of a name and arguments such as
        ``("EASY", {"order": "wfp"})``, functions of a workload and a system, functions of a `State`
        (see `cosimlib.simulate`), sites of Slurm (`cosimlab.slurm.read_site`); or a dict, whose
        keys are the names in tables. Each is compared with all before it. An `order` may be one
        number per job of the log; in logs drawn anew, each job keeps its number.
    replicates : int, default 100
        Number of logs drawn. With fewer than 39, an interval goes from the smallest to the largest
        value, and its level is lower: 90 % for 20 logs.
    measures : list or dict, default ("wait_time", "bounded_slowdown")
        Names in `comparison.MEASURES`, or a dict of functions of a schedule, `start` and `end`,
        which return one number, or one per job as `metrics.wait_time` does.
    by : {"size", "length", "user", "group", "queue", "partition"}, optional
        Adds groups of jobs, those of `metrics.job_groups`.
    system : System, optional
        By default the workload's machine.
    unit : {"weeks", "users"}, default "weeks"
        What is drawn, see `synthetic.resample`. Users drawn separately load the machine less evenly
        than in the log, so waits tend to be longer.
    warm_up, cool_down : float, optional
        Seconds after the first and before the last submission in which jobs do not count; by
        default a tenth of the log each, at most a week.
    seed : int, default 0
    executor, folder : optional
        As in `cosimlab.sweep`: one log after the other by default, all cores with
        ``executor="cores"``; cells are stored in the folder. If the replicates of decision
        functions that are not compiled will take more than a minute, a `SlowPolicyWarning` says how
        long, and what is faster.

    Returns
    -------
    Comparison
        Without intervals and verdicts if the log has fewer than six whole weeks.

    Raises
    ------
    ValueError
        If fewer than 20 jobs count, the log is shorter than four hours, a policy cannot schedule
        it, or a setting is out of range.

    Examples
    --------
    >>> import cosimlab as lab
    >>> import cosimlib as cs
    >>> jobs = cs.synthetic.lublin(9_000, types=False, load=0.7, seed=1)
    >>> log = cs.synthetic.with_estimates(jobs)
    >>> comparison = lab.compare(log, ["FCFS", "EASY"], replicates=20)
    >>> for sentence in comparison.sentences():
    ...     print(sentence)
    mean wait_time, EASY ÷ FCFS: 0.0749, 90.5 % interval 0.0327 to 0.197: EASY is lower
    mean bounded_slowdown, EASY ÷ FCFS: 0.0408, 90.5 % interval 0.019 to 0.12: EASY is lower
    """
    check_workload(workload)
    check.whole("replicates", replicates, 2)
    check.seed(seed)
    check.choice("unit", unit, UNITS)
    check.that("by", by, by in GROUPS, f"one of {', '.join(map(repr, GROUPS))}", none=True)
    chosen, runs = chosen_measures(measures), contestants(policies, workload)
    system = check.machine(system or workload.machine, workload.name)
    check_run(workload, system)
    plan = resampling_plan(workload, unit)
    margins = _margins(workload, warm_up, cool_down)
    counted = _counted(workload, margins)
    groups = None if by is None else _groups(workload, by)
    trial = Trial(workload, system, runs, chosen, groups, margins, unit)
    own = _own_rows(trial, int(replicates))
    seeds = np.random.SeedSequence(int(seed)).generate_state(int(replicates)).tolist()
    shared = {"trial": trial}
    rows = sweep(
        replicate, {}, seeds, shared=shared, executor=executor, folder=folder, errors="raise"
    )
    values = long_table(pd.DataFrame(own), (*STATISTICS, WHOLE)).set_index(KEYS)["number"].dropna()
    drawn = long_table(rows, (*STATISTICS, WHOLE)).set_index(["seed", *KEYS])["number"]
    drawn = drawn.unstack(KEYS).reindex(columns=values.index)  # noqa: PD010
    labels, weeks = tuple(run.label for run in runs), _whole_weeks(workload)
    first, last = durations(*margins)
    return Comparison(
        workload.name,
        labels,
        interval_table(values, drawn, labels, weeks),
        drawn,
        plan.sentence,
        f"Jobs submitted in the first {first} and in the last {last} are left out: "
        f"{counted:,} of {count(len(workload), 'job')} of the log count",
        weeks,
    )


def _own_rows(trial: Trial, replicates: int) -> list[dict[str, Any]]:
    """Rows of all policies on the log itself; warns if the replicates will take long."""
    rows, spent = [], {}
    for run in trial.runs:
        begin = time.perf_counter()
        rows += trial._replace(runs=[run]).rows(trial.workload, trial.groups, audited=True)
        spent[run.label] = time.perf_counter() - begin
    slow = {run.label: spent[run.label] for run in trial.runs if run.interpreted}
    seconds = replicates * sum(slow.values())
    if seconds > SLOW:
        names = ", ".join(map(repr, slow))
        verb = "is not" if len(slow) == 1 else "are not"
        warnings.warn(
            f"{count(replicates, 'replicate')} will take about {duration(seconds)} of one core, as "
            f"{names} {verb} compiled; numba.njit makes a decision function ten times as fast or "
            "more, and executor='cores' takes all cores",
            SlowPolicyWarning,
            stacklevel=3,
        )
    return rows


def compare_where_possible(
    workload: Workload, policies: Iterable[Any], **knobs: Any
) -> tuple[Comparison | None, str]:
    """Comparison, or None and the reason if the log is too short for intervals, or too small.

    The parameters are those of `compare`.
    """
    try:
        resampling_plan(workload, knobs.get("unit", "weeks"))
        weeks = _whole_weeks(workload)
        if weeks < FEWEST_WEEKS:
            expected = f"intervals need {FEWEST_WEEKS}"
            return None, f"the log has {count(weeks, 'whole week')}, and {expected}"
        _counted(workload, _margins(workload, knobs.get("warm_up"), knobs.get("cool_down")))
    except ValueError as error:
        return None, str(error)
    return compare(workload, policies, **knobs), ""


def replicate(seed: int, trial: Trial) -> list[dict[str, Any]]:
    """Rows of one log drawn anew, all policies on it: the function that is swept over."""
    new, groups = resample(trial.workload, seed, unit=trial.unit), trial.groups
    source = new.jobs["source"].to_numpy()
    if groups is not None:
        groups = groups.iloc[source].reset_index(drop=True)
    return trial.rows(new, groups, audited=False, source=source)


def _whole_weeks(workload: Workload) -> int:
    """Whole weeks from the first submission to the last, which is in them."""
    first, last = _limits(workload, (0.0, 0.0))
    return int((last - first + 1.0) // WEEK)


def _groups(workload: Workload, by: str) -> pd.Series:
    """Groups of jobs by names that say what they are."""
    groups = job_groups(workload, by)
    if by != "size":
        check.that("by", by, len(groups.cat.categories) > 0, f"jobs that name their {by}")
        return groups
    units = {
        name: f"{name} node" if name == "1" else f"{name} nodes" for name in groups.cat.categories
    }
    return groups.cat.rename_categories(units)


def _margins(
    workload: Workload, warm_up: float | None, cool_down: float | None
) -> tuple[float, float]:
    """Warm-up and cool-down, by default a tenth of the log each, at most a week."""
    check.seconds("warm_up", warm_up, none="for a tenth of the log, at most a week")
    check.seconds("cool_down", cool_down, none="for a tenth of the log, at most a week")
    first, last = _limits(workload, (0.0, 0.0))
    margin = min(WEEK, PART * (last - first))
    return margin if warm_up is None else warm_up, margin if cool_down is None else cool_down


def _counted(workload: Workload, margins: tuple[float, float]) -> int:
    """Jobs between warm-up and cool-down, which must not be few."""
    start, end = _limits(workload, margins)
    counted = int(workload.jobs["submit_time"].between(start, end, inclusive="left").sum())
    if counted < FEWEST:
        first, last = durations(*margins)
        raise ValueError(
            f"{workload.name}: {count(counted, 'job')} between the first {first} and the last "
            f"{last}; to compare policies on, a log needs at least {FEWEST}"
        )
    return counted


def _limits(workload: Workload, margins: tuple[float, float]) -> tuple[float, float]:
    """The window in which jobs count (s); it has no length if there is no job."""
    submit_time = workload.jobs["submit_time"]
    if not len(submit_time):
        return 0.0, 0.0
    first, last = float(submit_time.iloc[0]), float(submit_time.iloc[-1])
    # The last job of a log without a cool-down counts.
    return first + margins[0], float(np.nextafter(last - margins[1], np.inf))


def contestants(policies: Any, workload: Workload | None = None) -> list[Contestant]:
    """Policies by distinct labels, in the order given; an `order` by jobs is of this workload's.

    Raises
    ------
    ValueError
        For what is no policy, and where two have the same label.
    """
    plural = isinstance(policies, Iterable) and not isinstance(policies, str)
    check.that("policies", policies, plural, "a list or dict of policies")
    named = policies.items() if isinstance(policies, Mapping) else ((None, p) for p in policies)
    found = [_contestant(policy, label, workload) for label, policy in named]
    check.that("policies", policies, bool(found), "at least one")
    labels = [each.label for each in found]
    twice = next((label for label in labels if labels.count(label) > 1), None)
    check.that("policies", twice, twice is None, "every policy once, or a dict of them by names")
    return found


def _contestant(policy: Any, label: Any, workload: Workload | None) -> Contestant:
    """A policy, or a pair of one and its knobs; by default its name says both."""
    if isinstance(policy, Site):
        label = policy.name if label is None else str(label)
        return Contestant(label, partial(_simulate_site, policy), trusted=True)
    policy, knobs = with_knobs_of(policy)
    settings = ", ".join(f"{name}={_setting(value)}" for name, value in knobs.items())
    name, simulator = simulator_of(policy, **knobs)
    named = f"{name} ({settings})" if settings else name
    built_in = isinstance(policy, str) and policy in BUILT_IN
    is_decision = getattr(simulator, "func", None) is decided
    order = None if is_decision or workload is None else _by_job(workload, knobs.get("order"))
    trusted = built_in or is_decision
    interpreted = is_decision and not is_jitted(policy)
    shown = named if label is None else str(label)
    return Contestant(shown, simulator, trusted, order, interpreted)


def _simulate_site(site: Site, workload: Workload, system: System) -> Schedule:
    """The schedule of Slurm on a site, which has nodes of its own."""
    return simulate_slurm(workload, site)


def _by_job(workload: Workload, order: Any) -> np.ndarray | None:
    """An order that is one number per job of a log, and no name or function."""
    if isinstance(order, str) or np.ndim(order) != 1 or len(order) != len(workload):
        return None
    return values_by_job(workload, order)


def _setting(value: Any) -> str:
    """The value of a knob in a label."""
    if callable(value):
        return function_name(value)
    return str(value) if np.ndim(value) == 0 else "own order"
