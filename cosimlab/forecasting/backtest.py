"""Backtests: how often a log's own past would have been forecast within the intervals.

A case is a job that waits at an instant of the log. Its start is forecast from what was known at
the instant, and compared with when it started. A site seldom does what a policy does: jobs are
held, depend on others, or wait for a partition. So each forecast is corrected by earlier cases:

1. Of the latest `PAST` cases of earlier instants, the `NEAR` are taken whose median forecast and
   time waited so far are most like this one's.
2. Each tells a factor: its wait, divided by its median forecast; `FLOOR` seconds are added to both.
3. The quantiles of these factors, times this case's median, are the corrected quantiles.

A job that had not started by this instant has waited for at least so long: its factor is censored,
and counts by the method of Kaplan and Meier (1958). Cases of one instant are much alike. So where
the cases are from n instants, the level p of a quantile becomes p (n + 1) / n, in both tails. This
wider level is that of split conformal prediction (Vovk, Gammerman and Shafer, Algorithmic Learning
in a Random World, 2005), but its guarantee does not hold here: cases depend on each other, and the
nearest are chosen. The backtest measures how often the intervals hold.

The cases of the first instants only correct later ones. The cases of the other instants are judged.
There are three baselines. One is the static plan: the policy's schedule with requests as run times
and without arrivals, as ``squeue --start`` has it. The other two are the median of how much longer
jobs of the same user, or of the same queue, went on to wait that had waited as long (all jobs,
where the log has no queues). Jobs that were cancelled before they ran are not in most logs, and
then in no queue here.
"""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from cosimlab.forecasting.forecast import Forecast, setting_of
from cosimlab.forecasting.futures import Policy, Setting, snapshot, starts_in_futures
from cosimlab.forecasting.history import History
from cosimlab.sweep import Workers, sweep
from cosimlib import checks as check
from cosimlib.display import Displayed, Facts, count, percent
from cosimlib.schedule import Schedule
from cosimlib.system import System
from cosimlib.units import HOUR
from cosimlib.workload import Workload

LEVELS = np.linspace(0.05, 0.95, 19)
"""Quantiles that are kept of each forecast."""

COLUMNS = [f"q{round(100 * level):02}" for level in LEVELS]
BASELINES = ("static", "user", "queue")
LATEST_STARTS = 20_000
"""Latest starts among which those of a user, or of a queue, are sought."""

ALIKE = 200
"""Of them, the latest of the user or the queue that count."""

PAST, NEAR, FEWEST = 1000, 100, 100
"""Earlier cases that are looked at, those of them that correct, and those there must be."""

FLOOR = 600.0
"""Seconds added to waits before ratios are taken, so that those of short waits count less."""

WEIGHT = 0.5
"""Of the distance in time waited, beside that in the median."""

WARM_UP, PRACTICE = 0.15, 0.35
"""Shares of the log's time without an instant, and of instants that only correct later ones."""

FINE = (0.75, 0.85)
"""Coverage of 80 % intervals on held-back weeks between which forecasts count as calibrated."""

FEW_INSTANTS = 10
"""Instants from which nothing is judged."""

PINBALL = (0.1, 0.25, 0.5, 0.75, 0.9)
PARTS = 8
"""Batches of instants, among which workers choose."""

NOT_ASKED = "the job asked for is not corrected, and not tested"

CORRECTED = [f"corrected_{name}" for name in COLUMNS]
METHODS = {
    "corrected forecast": CORRECTED,
    "simulation alone": COLUMNS,
    "static plan": ["static"] * len(LEVELS),
    "user's median wait": ["user"] * len(LEVELS),
    "queue's median wait": ["queue"] * len(LEVELS),
}


@dataclass(frozen=True, eq=False, repr=False)
class Backtest(Displayed):
    """Forecasts of a log's past, and the starts that really happened.

    Parameters
    ----------
    name : str
        Name of the log, and the policy.
    cases : pd.DataFrame
        A row per instant `at` and waiting `job`: seconds it had `waited`, how long it went on to
        `wait` (infinite of a job that never started), quantiles of the simulation (``q05`` …) and
        of the corrected forecast, the baselines, and whether it is `held` back to be judged.
    """

    name: str
    cases: pd.DataFrame

    @cached_property
    def judged(self) -> pd.DataFrame:
        """The cases that are judged: held back, and the start known."""
        return self.cases[self.cases["held"] & np.isfinite(self.cases["wait"])]

    @cached_property
    def instants(self) -> int:
        """Number of instants of the judged cases."""
        return int(self.judged["at"].nunique())

    @cached_property
    def scores(self) -> pd.DataFrame:
        """One row per method: `coverage_50`, `coverage_80`, `pinball` and `loss_ratio`.

        `pinball` is the mean pinball loss at the quantiles 10, 25, 50, 75 and 90 %, in hours;
        `loss_ratio` that of the corrected forecast divided by this. A baseline is one number at
        all quantiles, and has no interval.
        """
        cases, rows = self.judged, {}
        for method, columns in METHODS.items():
            quantiles = dict(zip(np.round(LEVELS, 2), cases[columns].to_numpy().T, strict=True))
            wait = cases["wait"].to_numpy()
            rows[method] = {
                "coverage_50": _coverage(quantiles[0.25], wait, quantiles[0.75]),
                "coverage_80": _coverage(quantiles[0.1], wait, quantiles[0.9]),
                "pinball": np.mean([_pinball(p, quantiles[p], wait) for p in PINBALL]) / HOUR,
            }
            if columns[0] in BASELINES:
                rows[method] |= {"coverage_50": np.nan, "coverage_80": np.nan}
        table = pd.DataFrame.from_dict(rows, orient="index")
        return table.assign(loss_ratio=table["pinball"].iloc[0] / table["pinball"])

    def losses(self, method: str) -> np.ndarray:
        """Pinball loss of a method at each judged case, hours; `scores` has the means."""
        quantiles = dict(zip(np.round(LEVELS, 2), METHODS[method], strict=True))
        wait = self.judged["wait"].to_numpy()
        missed = [(p, wait - self.judged[quantiles[p]].to_numpy()) for p in PINBALL]
        return np.mean([np.maximum(p * miss, (p - 1) * miss) for p, miss in missed], axis=0) / HOUR

    def holds(self, level: float) -> np.ndarray:
        """Whether the corrected interval of a level, such as 0.8, holds the wait of each case."""
        check.number("level", level, above=0.0, below=1.0, kind="a share")
        quantiles = dict(zip(np.round(LEVELS, 2), CORRECTED, strict=True))
        low, high = (quantiles[round((1 + sign * level) / 2, 2)] for sign in (-1, 1))
        cases = self.judged
        return cases["wait"].between(cases[low], cases[high]).to_numpy().astype(float)

    @cached_property
    def pit(self) -> pd.DataFrame:
        """Probability integral transforms: share of the cases in each tenth, a column per method.

        All are 0.1 if forecasts are calibrated; large at the ends where they are too narrow.
        """
        cases, rng, columns = self.judged, np.random.default_rng(0), {}
        wait = cases["wait"].to_numpy()[:, np.newaxis]
        for method in ("corrected forecast", "simulation alone"):
            quantiles = cases[METHODS[method]].to_numpy()
            below, to = (quantiles < wait).sum(axis=1), (quantiles <= wait).sum(axis=1)
            place = (below + rng.random(len(cases)) * (to - below + 1)) / (len(LEVELS) + 1)
            columns[method] = np.histogram(place, np.linspace(0, 1, 11))[0] / max(len(cases), 1)
        tenths = [f"{tenth / 10:.1f}–{(tenth + 1) / 10:.1f}" for tenth in range(10)]
        return pd.DataFrame(columns, index=tenths)

    @property
    def calibrated(self) -> bool:
        """Whether 80 % intervals of held-back weeks hold between 75 and 85 % of the cases."""
        coverage = self.scores["coverage_80"].iloc[0]
        return bool(self.instants > FEW_INSTANTS and FINE[0] <= coverage <= FINE[1])

    @property
    def sentence(self) -> str:
        """What the backtest says of forecasts on this log."""
        if self.instants <= FEW_INSTANTS:
            return f"not judged: too few instants ({self.instants})"
        if not self.calibrated:
            return "not calibrated for this log"
        scores = self.scores.iloc[0]
        return (
            f"80 % intervals held {percent(scores['coverage_80'], 0)} and 50 % intervals "
            f"{percent(scores['coverage_50'], 0)} of {count(len(self.judged), 'past wait')}"
        )

    def corrected(self, forecast: Forecast) -> Forecast:
        """A forecast for the same log, corrected by the cases before its instant.

        Cases are waiting jobs. So the job that is asked for is not corrected, and `calibrated` says
        so.

        Raises
        ------
        ArgumentError
            For a forecast of another log, or under another policy.
        """
        check.instance("forecast", forecast, Forecast)
        check.that("forecast", forecast.name, forecast.name == self.name, f"one of {self.name!r}")
        past = self.cases[self.cases["at"] < forecast.at]
        if not self.calibrated or len(past) < FEWEST:
            reason = "not judged: too few earlier cases" if self.calibrated else self.sentence
            return replace(forecast, calibrated=reason)
        ahead = np.median(np.maximum(forecast.starts - forecast.at, 0.0), axis=1)
        waited = forecast.at - forecast.jobs["submit_time"].to_numpy()
        levels = (np.arange(forecast.starts.shape[1]) + 0.5) / forecast.starts.shape[1]
        starts = forecast.at + _correct(past, forecast.at, ahead, waited, levels)
        sentence = self.sentence if forecast.asked is None else f"{self.sentence}; {NOT_ASKED}"
        return replace(forecast, starts=starts, calibrated=sentence)

    def _heading(self) -> str:
        return f"{self.name}: {self.sentence}"

    def _facts(self) -> Facts:
        static = "static plan"
        return {
            "instants": lambda: f"{self.cases['at'].nunique():,}",
            "cases": lambda: f"{len(self.cases):,}, {len(self.judged):,} of them judged",
            "loss": lambda: (
                f"{percent(self.scores['loss_ratio'][static], 0)} of the {static}'s"
                if self.calibrated
                else ""
            ),
        }


def backtest(
    log: Workload | Schedule,
    *,
    policy: Policy = "EASY",
    instants: int = 300,
    futures: int = 100,
    jobs: int = 10,
    system: System | None = None,
    seed: int = 0,
    executor: Workers = None,
) -> Backtest:
    """Backtest: how often forecasts on a log's own past are right, corrected by earlier cases.

    Parameters
    ----------
    log : Workload or Schedule
        With recorded starts, or a schedule. A job without a recorded start waits, and is not
        judged; one whose `status` tells that it has ended is left out.
    policy : str or function, default "EASY"
        As in `forecast`.
    instants : int, default 300
        Random instants at which jobs wait.
    futures : int, default 100
    jobs : int, default 10
        Random waiting jobs that count at each instant.
    system : System, optional
        By default the log's machine.
    seed : int, default 0
    executor : optional
        As in `cosimlab.sweep`: ``"cores"`` for all cores.

    Returns
    -------
    Backtest

    Raises
    ------
    InvalidWorkloadError
        If a job is wider than the system, has no requested time, or starts are unknown.
    ValueError
        If jobs never wait, or a setting is out of range.

    Examples
    --------
    >>> import cosimlab as lab
    >>> import cosimlib as cs
    >>> log = cs.synthetic.with_estimates(cs.synthetic.lublin(1000, nodes=64, load=0.9, seed=1))
    >>> backtest = lab.backtest(cs.simulate_easy(log, log.machine), instants=10, futures=5)
    >>> backtest.cases["at"].nunique()
    10
    """
    check.seed(seed)
    check.whole("instants", instants, 1)
    check.whole("jobs", jobs, 1)
    name, setting = setting_of(log, policy, system, futures)
    at = drawn_instants(History.of(log).with_known_waits(), WARM_UP, int(instants), int(seed))
    check.that("log", name, at.size > 0, "jobs that wait after a sixth of its time")
    shared = {"log": log, "instants": at.tolist(), "setting": setting, "most": jobs, "seed": seed}
    parts = list(range(min(PARTS, at.size)))
    cases = sweep(_part, {"part": parts}, shared=shared, executor=executor, errors="raise")
    cases = cases.drop(columns="part").sort_values("at", kind="stable", ignore_index=True)
    first = np.quantile(at, PRACTICE)
    corrected = pd.DataFrame(_corrections(cases), columns=CORRECTED)
    held = (cases["at"] > first) & corrected[CORRECTED[0]].notna()
    return Backtest(name, pd.concat([cases, corrected], axis=1).assign(held=held))


def _part(part: int, log: Any, instants: list[float], setting: Any, most: int, seed: int) -> list:
    """The cases of every so many instants."""
    history = History.of(log).with_known_waits()
    chosen = instants[part :: min(PARTS, len(instants))]
    return [row for at in chosen for row in cases_at(at, history, setting, most, int(seed))]


def _corrections(cases: pd.DataFrame) -> np.ndarray:
    """Corrected quantiles of every case, from earlier ones; NaN if these are too few."""
    corrected = np.full((len(cases), len(LEVELS)), np.nan)
    at = cases["at"].to_numpy()
    for instant in np.unique(at):
        first, last = np.searchsorted(at, [instant, np.nextafter(instant, np.inf)])
        if first >= FEWEST:
            here = cases.iloc[first:last]
            median, waited = here["q50"].to_numpy(), here["waited"].to_numpy()
            past = cases.iloc[max(0, first - PAST) : first]
            corrected[first:last] = _correct(past, instant, median, waited, LEVELS)
    return corrected


def _correct(
    past: pd.DataFrame, at: float, median: np.ndarray, waited: np.ndarray, levels: np.ndarray
) -> np.ndarray:
    """Quantiles (s) for cases of these medians and times waited, a row per case."""
    past = past.iloc[::-1].head(PAST)  # of cases that are equally near, the latest
    known = (past["at"] + past["wait"] <= at).to_numpy()
    lasted = np.where(known, past["wait"], at - past["at"])
    factor, instants = _log(lasted) - _log(past["q50"]), past["at"].to_numpy()
    quantiles = np.empty((median.size, levels.size))
    for row in range(median.size):
        distance = np.abs(_log(past["q50"]) - _log(median[row]))
        distance += WEIGHT * np.abs(_log(past["waited"]) - _log(waited[row]))
        near = np.argsort(distance, kind="stable")[:NEAR]
        outer = _outward(levels, np.unique(instants[near]).size)
        factors = _kaplan_meier(factor[near], known[near], outer)
        quantiles[row] = np.exp(_log(median[row]) + factors) - FLOOR
    return np.maximum(quantiles, 0.0)


def _outward(levels: np.ndarray, number: int) -> np.ndarray:
    """Levels moved outward: p to ``p (n + 1) / n`` in the upper tail, the same in the lower."""
    tail = np.where(levels > 0.5, levels, np.where(levels < 0.5, levels - 1.0, 0.0))
    return np.clip(levels + tail / number, 0.001, 0.999)


def _log(seconds: Any) -> np.ndarray:
    return np.log(np.asarray(seconds, dtype=np.float64) + FLOOR)


def _kaplan_meier(values: np.ndarray, known: np.ndarray, levels: np.ndarray) -> np.ndarray:
    """Quantiles of values of which some are lower bounds only: where they are not `known`."""
    order = np.lexsort((~known, values))
    left = np.arange(values.size, 0, -1)
    below = 1.0 - np.cumprod(np.where(known[order], 1.0 - 1.0 / left, 1.0))
    place = np.searchsorted(below, levels - 1e-12)
    return values[order][np.minimum(place, values.size - 1)]


def _coverage(low: np.ndarray, wait: np.ndarray, high: np.ndarray) -> float:
    return float(((low <= wait) & (wait <= high)).mean()) if wait.size else np.nan


def _pinball(level: float, quantile: np.ndarray, wait: np.ndarray) -> float:
    """Pinball loss: what is over costs 1 - level, what is under costs level."""
    over = quantile - wait
    return float(np.maximum((1.0 - level) * over, -level * over).mean()) if wait.size else np.nan


def drawn_instants(history: History, share: float, number: int, seed: int) -> np.ndarray:
    """Instants (s) at random at which jobs wait, in order, after a share of the log's time."""
    first, last = history.submit_time[[0, -1]]
    rng = np.random.default_rng(seed)
    at = np.floor(rng.uniform(first + share * (last - first), last, 50 * number))
    started = np.sort(history.start_time)
    waiting = np.searchsorted(history.submit_time, at, "right") - np.searchsorted(
        started, at, "right"
    )
    return np.sort(at[waiting > 0][:number])


def cases_at(
    at: float, history: History, setting: Setting, most: int, seed: int
) -> list[dict[str, Any]]:
    """A row per waiting job, of at most so many at random: its forecast, baselines, its start."""
    rng = np.random.default_rng([seed, int(at)])
    now = snapshot(history, at)
    chosen = np.sort(rng.permutation(now.waiting.size)[:most])
    ahead = np.maximum(starts_in_futures(history, now, setting, rng)[chosen] - at, 0.0)
    plan = setting._replace(run_times="requested", arrivals=False, futures=1)
    planned = starts_in_futures(history, now, plan, rng)[chosen, 0] - at
    rows = now.waiting[chosen]
    table = pd.DataFrame(np.quantile(ahead, LEVELS, axis=1).T, columns=COLUMNS)
    wait = history.start_time[rows] - at
    return table.assign(
        at=at,
        job=history.jobs.index[rows],
        waited=at - history.submit_time[rows],
        wait=wait,
        static=planned,
        user=_usual(history, now.at, rows, "user"),
        queue=_usual(history, now.at, rows, "queue"),
    ).to_dict("records")


def _usual(history: History, at: float, rows: np.ndarray, column: str) -> np.ndarray:
    """How long jobs like these usually went on to wait: the median over those that started.

    Jobs of the same user, or queue, that had waited for longer than this one has so far; else all
    such jobs. Where no job has waited for so long, this one goes on for the longest known wait.
    """
    order, started = history.by_start
    past = order[: np.searchsorted(started, at, "right")][-LATEST_STARTS:]
    waits = history.start_time[past] - history.submit_time[past]
    codes = history.codes[column]
    usual = np.empty(rows.size)
    for place, row in enumerate(rows):
        so_far = at - history.submit_time[row]
        alike = waits[codes[past] == codes[row]][-ALIKE:]
        longer = alike[alike > so_far]
        if not longer.size:
            longer = waits[waits > so_far]
        usual[place] = np.median(longer) - so_far if longer.size else waits.max(initial=0.0)
    return usual
