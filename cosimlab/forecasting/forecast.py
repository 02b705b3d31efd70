"""Forecasts of start times: of waiting jobs, and of a job that is submitted now, with intervals."""

from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np
import pandas as pd

from cosimlab.forecasting.futures import (
    REFUSED,
    RUN_TIMES,
    Policy,
    Setting,
    snapshot,
    starts_in_futures,
)
from cosimlab.forecasting.history import History
from cosimlib import checks as check
from cosimlib.display import Displayed, Facts, count, duration, percent
from cosimlib.policies import simulator_of
from cosimlib.schedule import Schedule
from cosimlib.system import System
from cosimlib.units import HOUR, WEEK
from cosimlib.workload import InvalidWorkloadError, Workload

INTERVALS = {"80": (0.1, 0.9), "50": (0.25, 0.75)}
"""Quantiles between which an interval lies, by its percentage."""

PARTS = (1.0, 0.5, 0.25)
"""Parts of the nodes and of the time, in the table of what a job could ask for instead."""

MOST_FUTURES = 100_000
MOST_HOURS = 366 * 24
"""Hours that a job can be asked for."""

SHOWN = 5
"""Jobs that a printed forecast lists."""


@dataclass(frozen=True, eq=False, repr=False)
class Forecast(Displayed):
    """Start times of the jobs that wait at an instant, in each of many simulated futures.

    Parameters
    ----------
    name : str
        Name of the log, and the policy.
    at : float
        The instant, in seconds of the log.
    jobs : pd.DataFrame
        The waiting jobs in order of submission, by their rows in the log.
    starts : np.ndarray
        Start times in seconds of the log: one row per waiting job, one column per future.
    running : int
        Number of running jobs.
    asked : pd.DataFrame, optional
        The columns of `table` for a job that is submitted now (first row), and for the same job
        with fewer nodes or less time.
    calibrated : str
        Result of a backtest on forecasts of waiting jobs.
    note : str
        What is not known of the job that is asked for.
    """

    name: str
    at: float
    jobs: pd.DataFrame
    starts: np.ndarray
    running: int
    asked: pd.DataFrame | None = None
    calibrated: str = "not tested; lab.backtest tests forecasts on a log"
    note: str = ""

    @cached_property
    def table(self) -> pd.DataFrame:
        """One row per waiting job: `nodes`, `requested_time`, `waited`, and when it starts.

        All times are seconds, those of the start from the instant: `median`, `low_80` and
        `high_80`, `low_50` and `high_50`; `latest` is that of the latest future; `within_hour` is
        the chance to start within an hour.
        """
        return start_table(self.jobs, self.starts, self.at)

    def _heading(self) -> str:
        return f"{self.name}: {count(len(self.jobs), 'waiting job')}"

    def _facts(self) -> Facts:
        rows = {
            "instant": f"{self.at:,.0f} s, {count(self.running, 'job')} running",
            "futures": f"{self.starts.shape[1]:,}",
        }
        for row, job in self.table.head(SHOWN).iterrows():
            rows[f"job {job.get('job_id', row)}"] = start_text(job)
        if len(self.jobs) > SHOWN:
            rows["and"] = f"{len(self.jobs) - SHOWN:,} more in .table"
        for place, job in enumerate([] if self.asked is None else self.asked.to_dict("records")):
            shape = f"{count(int(job['nodes']), 'node')} for {duration(job['requested_time'])}"
            rows[shape if place else f"asked: {shape}"] = start_text(job)
        return {name: partial(str, text) for name, text in rows.items()} | {
            "calibration": lambda: self.calibrated,
            "note": lambda: self.note,
        }


def start_table(jobs: pd.DataFrame, starts: np.ndarray, at: float) -> pd.DataFrame:
    """The table of a `Forecast`."""
    ahead = np.maximum(starts - at, 0.0)
    wanted = [name for name in ("job_id", "user") if name in jobs]
    table = jobs[[*wanted, "nodes", "requested_time"]].assign(waited=at - jobs["submit_time"])
    levels = {"median": 0.5} | {
        f"{side}_{percentage}": level
        for percentage, pair in INTERVALS.items()
        for side, level in zip(("low", "high"), pair, strict=True)
    }
    quantiles = np.quantile(ahead, list(levels.values()), axis=1) if len(jobs) else ()
    for place, name in enumerate(levels):
        table[name] = quantiles[place] if len(jobs) else np.empty(0)
    return table.assign(latest=ahead.max(axis=1), within_hour=(ahead <= HOUR).mean(axis=1))


def start_text(job: "pd.Series | dict") -> str:
    """When a job starts: "in 2.1 h (80 %: 1 h to 5.5 h); 12 % within an hour"."""
    if job["high_80"] == 0:
        return "now" if job["latest"] == 0 else f"now or in at most {duration(job['latest'])}"
    low, high = (duration(job[name]) for name in ("low_80", "high_80"))
    chance = percent(job["within_hour"], 0)
    return f"in {duration(job['median'])} (80 %: {low} to {high}); {chance} within an hour"


def forecast(
    log: Workload | Schedule,
    at: float | None = None,
    *,
    policy: Policy = "EASY",
    nodes: int | None = None,
    hours: float | None = None,
    user: str | None = None,
    system: System | None = None,
    futures: int = 200,
    seed: int = 0,
    run_times: str = "history",
    arrivals: bool = True,
) -> Forecast:
    """Forecast of start times at an instant of a log, with intervals, also for a job of your own.

    Only data known at the instant are used: neither the ends of running jobs nor later submissions.
    Futures are drawn from jobs that had ended by then, and simulated (see
    `cosimlab.forecasting.futures`). `backtest` says how often such intervals are right on a log.

    Parameters
    ----------
    log : Workload or Schedule
        With recorded starts (missing or infinite for jobs that have not started), or a schedule.
        A job without a recorded start that has ended by its `status` never waits.
    at : float, optional
        The instant, in seconds of the log; by default the last submission.
    policy : str or function, default "EASY"
        The site's policy: a registered name, a function of a workload and a system, or a decision
        function of a `State`. Two kinds are refused: policies with filler containers, which act
        only at whole minutes, and ``"conservative"``, which keeps reservations from before the
        instant (use ``"conservative (replanned)"``).
    nodes, hours : int and float, optional
        A job that is submitted now: its nodes and requested hours. `Forecast.asked` then has its
        start, and the starts with a half and a quarter of the nodes or of the time.
    user : str, optional
        The user of that job, whose earlier jobs predict its run time.
    system : System, optional
        By default the log's machine.
    futures : int, default 200
    seed : int, default 0
    run_times : {"history", "requested", "exact"}, default "history"
        Run times: drawn; as requested, as a scheduler plans; or those of the log (for tests).
    arrivals : bool, default True
        Whether new jobs are submitted after the instant.

    Returns
    -------
    Forecast

    Raises
    ------
    InvalidWorkloadError
        If a job is wider than the system, has no requested time, or starts are unknown.
    ValueError
        If a setting is out of range, or the policy cannot continue from an instant.

    Examples
    --------
    >>> import cosimlab as lab
    >>> import cosimlib as cs
    >>> log = cs.synthetic.with_estimates(cs.synthetic.lublin(2000, nodes=64, load=0.9, seed=1))
    >>> forecast = lab.forecast(cs.simulate_easy(log, log.machine), nodes=8, hours=2)
    >>> len(forecast.asked)
    5
    """
    check.seed(seed)
    name, setting = setting_of(log, policy, system, futures, run_times, arrivals)
    history = History.of(log).with_known_waits()
    check.that("log", log, len(history.jobs) > 0, "at least one job")
    at = float(history.submit_time[-1]) if at is None else at
    check.number("at", at, least=0.0, kind="seconds")
    known = history.until(at, exact=run_times == "exact")
    shapes = () if nodes is None and hours is None else _shapes(nodes, hours, setting.nodes)
    asked = pd.DataFrame(shapes, columns=["nodes", "requested_time"])
    is_unknown = len(shapes) > 0 and user is not None and not (known.jobs["user"] == user).any()
    note = f"no earlier job of user {user!r}: run times of all users" if is_unknown else ""
    known = known.with_jobs(asked.assign(submit_time=at, user=user, over=False))
    now, first = snapshot(known, at), len(known.jobs) - len(asked)
    waiting = now.waiting[now.waiting < first]
    ends = history.end_time[np.isfinite(history.end_time)]
    last = max(history.submit_time[-1], ends.max(initial=0.0))
    known_time = at <= last + WEEK or waiting.size > 0 or now.running.size > 0
    check.that("at", at, known_time, f"seconds up to the end of the log, {last:,.0f}")

    def starts(rows: np.ndarray) -> np.ndarray:
        rng = np.random.default_rng(int(seed))
        return starts_in_futures(known, now._replace(waiting=rows), setting, rng)

    of_asked = [starts(np.append(waiting, first + row))[-1:] for row in range(len(asked))]
    table = None
    if of_asked:
        table = start_table(known.jobs.iloc[first:], np.vstack(of_asked), at)
        table = table.drop(columns=["job_id", "user", "waited"], errors="ignore")
    return Forecast(
        name,
        at,
        known.jobs.iloc[waiting],
        starts(waiting),
        now.running.size,
        None if table is None else table.reset_index(drop=True),
        note=note,
    )


def setting_of(
    log: Workload | Schedule,
    policy: Policy,
    system: System | None,
    futures: int,
    run_times: str = "history",
    arrivals: bool = True,
) -> tuple[str, Setting]:
    """The name of a forecast, and what its futures are made of; refuses what cannot be simulated.

    Raises
    ------
    InvalidWorkloadError
        If a job is wider than the system or has no requested time.
    ValueError
        For settings out of range.
    """
    check.instance("log", log, Workload, Schedule, expected="a Workload or a Schedule")
    check.whole("futures", futures, 1, MOST_FUTURES)
    check.choice("run_times", run_times, RUN_TIMES)
    check.flag("arrivals", arrivals)
    name, simulator = simulator_of(policy)
    why = REFUSED.get(policy) if isinstance(policy, str) else None
    check.that("policy", policy, why is None, f"another policy (this one {why})")
    workload = log.workload if isinstance(log, Schedule) else log
    given = log.system if isinstance(log, Schedule) else log.machine
    if isinstance(log, Schedule) and len(log.calendar):
        raise InvalidWorkloadError(
            f"{workload.name}: its schedule has a calendar; expected one without, for forecasts "
            "know no windows"
        )
    if system is not None:
        check.instance("system", system, System, expected="a System, e.g. System.of(128)")
    machine = check.machine(system or given, workload.name, error=InvalidWorkloadError)
    workload.arrays(machine)
    known = policy if isinstance(policy, str) else simulator
    setting = Setting(known, machine.total_nodes, int(futures), run_times, arrivals)
    return f"{workload.name} under {name}", setting


def _shapes(nodes: object, hours: object, most: int) -> list[tuple[int, float]]:
    """Nodes and seconds of the job asked for, and of smaller ones."""
    check.whole("nodes", nodes, 1, most)
    check.number("hours", hours, above=0.0, most=MOST_HOURS, kind="hours")
    wide, long = int(nodes), float(hours) * HOUR  # type: ignore[call-overload, arg-type]
    fewer = dict.fromkeys(max(1, round(wide * part)) for part in PARTS)
    return [(each, long) for each in fewer] + [(wide, long * part) for part in PARTS[1:]]
