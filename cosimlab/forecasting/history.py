"""Run times of jobs that have ended, as predictions for jobs that have not.

A job's run time is drawn from the run times of similar jobs that had ended by then. Similar jobs
are the latest `MOST` of the same user, request and nodes. Only those count that ran for longer than
the job has run so far; where they are fewer than `LEAST`, a wider group is taken (`LEVELS`). The
run time of a similar job is scaled: it is the same share of the job's own requested time. Where no
group has enough jobs, the run time is uniform between the time that has passed and the requested
time. Some logs have jobs that ran for longer than they requested; their run times are drawn, too.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas as pd

from cosimlib import checks as check
from cosimlib.kernels.jit import allocating_kernel
from cosimlib.schedule import Schedule
from cosimlib.workload import InvalidWorkloadError, Workload

LEVELS = (
    ("user", "requested_time", "nodes"),
    ("user", "requested_time"),
    ("user",),
    ("requested_time", "nodes"),
    ("requested_time",),
    (),
)
"""What similar jobs have in common: the narrowest groups first."""

MOST, LEAST = 50, 5
"""Ended jobs of a group from which a run time is drawn."""

METHODS = ("request", "last two", "history")


@dataclass(frozen=True, eq=False)
class History:
    """Jobs of a log in order of submission, and when each was started and ended, if ever.

    Whoever asks says at which instant, and only jobs that had ended by then are looked at.

    Parameters
    ----------
    jobs : pd.DataFrame
        `submit_time`, `requested_time`, `nodes`, and `user` where it is known.
    start_time, end_time : np.ndarray
        Seconds; infinite if it is still to come.
    """

    jobs: pd.DataFrame
    start_time: np.ndarray
    end_time: np.ndarray

    @classmethod
    def of(cls, log: Workload | Schedule) -> "History":
        """The history of a log's recorded starts, those of jobs not started missing, or a schedule.

        Raises
        ------
        InvalidWorkloadError
            If a log records no start.
        """
        check.instance("log", log, Workload, Schedule, expected="a Workload or a Schedule")
        if isinstance(log, Schedule):
            workload, started, ended = log.workload, log.start_time, log.end_time
        else:
            workload, started = log, log.column("recorded_start").to_numpy(np.float64)
            ended = started + log.jobs["run_time"].to_numpy()
            if np.isnan(started).all():
                raise InvalidWorkloadError(
                    f"{log.name}: no job has a recorded start; give a schedule, such as "
                    "simulate_easy returns"
                )
        over = np.isnan(started) & workload.column("status").notna().to_numpy()
        over &= isinstance(log, Workload)
        jobs = workload.jobs.assign(user=workload.column("user"), over=over)
        return cls(jobs, *(np.nan_to_num(times, nan=np.inf) for times in (started, ended)))

    def until(self, at: float, *, exact: bool = False) -> "History":
        """What is known at an instant: no later submission, start or end (unless `exact`)."""
        known = int(np.searchsorted(self.submit_time, at, side="right"))
        start_time, end_time = self.start_time[:known], self.end_time[:known]
        if not exact:
            end_time = np.where(end_time > at, np.inf, end_time)
            start_time = np.where(start_time > at, np.inf, start_time)
        return History(self.jobs.iloc[:known], start_time, end_time)

    def with_known_waits(self) -> "History":
        """The same without jobs that have ended but have no recorded start.

        Their status tells that they ended. Nobody knows when they waited.
        """
        kept = ~self.jobs["over"].to_numpy()
        return History(self.jobs[kept], self.start_time[kept], self.end_time[kept])

    def with_jobs(self, asked: pd.DataFrame) -> "History":
        """The same with more jobs, submitted last, that have not started."""
        never = np.full(len(asked), np.inf)
        asked = asked.astype({"user": self.jobs["user"].dtype})
        jobs = pd.concat([self.jobs, asked]) if len(asked) else self.jobs
        return History(jobs, np.append(self.start_time, never), np.append(self.end_time, never))

    @cached_property
    def submit_time(self) -> np.ndarray:
        """Submissions, in order (s)."""
        return self.jobs["submit_time"].to_numpy(np.float64)

    @cached_property
    def nodes(self) -> np.ndarray:
        """Nodes of each job."""
        return self.jobs["nodes"].to_numpy(np.int64)

    @cached_property
    def requested_time(self) -> np.ndarray:
        """Requested times; of a job without one infinite, so that it never is the limit."""
        return np.nan_to_num(self.jobs["requested_time"].to_numpy(np.float64), nan=np.inf)

    @cached_property
    def run_time(self) -> np.ndarray:
        """Seconds from start to end; infinite of jobs that have not ended."""
        ended = np.isfinite(self.end_time)
        return np.where(ended, self.end_time - np.where(ended, self.start_time, 0.0), np.inf)

    @cached_property
    def scale(self) -> np.ndarray:
        """Seconds of which run times are shares: the requested time, or 1 if it is unknown."""
        return np.where(np.isfinite(self.requested_time), self.requested_time, 1.0)

    @cached_property
    def by_start(self) -> tuple[np.ndarray, np.ndarray]:
        """Rows in order of start, and the starts (s)."""
        order = np.argsort(self.start_time, kind="stable")
        return order, self.start_time[order]

    @cached_property
    def codes(self) -> dict[str, np.ndarray]:
        """A number per user, and per queue, of each job; all the same where none is named."""
        named = {
            name: self.jobs.get(name, pd.Series(index=self.jobs.index, dtype="string"))
            for name in ("user", "queue")
        }
        return {name: pd.factorize(values)[0] for name, values in named.items()}

    @cached_property
    def groups(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """By level, jobs sorted by group and end: ends, shares; and per job where its group is."""
        n, share = len(self.jobs), self.run_time / self.scale
        ends, shares = np.empty((len(LEVELS), n)), np.empty((len(LEVELS), n))
        bounds = np.zeros((2, len(LEVELS), n), np.int64)
        for level, columns in enumerate(LEVELS):
            code = np.zeros(n, np.int64)
            if columns:
                code = (
                    self.jobs.groupby(list(columns), dropna=False, sort=False).ngroup().to_numpy()
                )
            order = np.lexsort((self.end_time, code))
            ends[level], shares[level] = self.end_time[order], share[order]
            bounds[0, level] = np.searchsorted(code[order], code, "left")
            bounds[1, level] = np.searchsorted(code[order], code, "right")
        return ends, shares, bounds[0], bounds[1]

    def run_times(self, rows: np.ndarray, at: np.ndarray, uniform: np.ndarray) -> np.ndarray:
        """Run times of some jobs as far as they can be told at an instant.

        Parameters
        ----------
        rows : np.ndarray
            Which jobs.
        at : np.ndarray
            The instant of each, seconds.
        uniform : np.ndarray
            Numbers from 0 to below 1, a row per job: each picks a quantile.

        Returns
        -------
        np.ndarray
            Seconds, of the shape of `uniform`.
        """
        ends, shares, first, last = self.groups
        elapsed = np.maximum(at - self.start_time[rows], 0.0)
        limit = np.minimum(self.requested_time[rows], 1e9)
        jobs = np.column_stack([at, elapsed, self.scale[rows], limit])
        drawn = np.empty(uniform.shape)
        _draw(ends, shares, np.stack([first[:, rows], last[:, rows]]), jobs, uniform, drawn)
        return drawn

    def last_two(self, rows: np.ndarray, at: np.ndarray) -> np.ndarray:
        """Mean run time of the last two jobs of each job's user that had ended at an instant."""
        level = LEVELS.index(("user",))
        ends, first = self.groups[0][level], self.groups[2][level]
        order = np.lexsort((self.end_time, first))
        run_time = self.run_time[order]
        # Complex numbers are sorted by real, then by imaginary part: by group, then by end.
        place = np.searchsorted(first[order] + 1j * ends, first[rows] + 1j * at, "right")
        known = (place - first[rows] >= 2) & self.jobs["user"].notna().to_numpy()[rows]
        mean = (run_time[np.maximum(place - 1, 0)] + run_time[np.maximum(place - 2, 0)]) / 2.0
        return np.where(known, np.minimum(mean, self.scale[rows]), self.scale[rows])


def predict(
    log: Workload | Schedule, method: str = "last two", *, quantile: float = 0.5
) -> pd.Series:
    """Predicted run time of each job, from jobs that had ended when it was submitted.

    Parameters
    ----------
    log : Workload or Schedule
        A log with recorded starts, or a schedule: it says when jobs ended.
    method : {"last two", "request", "history"}, default "last two"
        The mean of the last two jobs of the user (Tsafrir, Etsion and Feitelson, IEEE TPDS 18(6),
        2007), the requested time, or a quantile over similar jobs (see
        `cosimlab.forecasting.history`). None predicts more than the requested time.
    quantile : float, default 0.5
        Quantile for ``"history"``.

    Returns
    -------
    pd.Series
        Seconds, indexed by job; `simulate_easy` takes them as `predict`.

    Raises
    ------
    InvalidWorkloadError
        If requested times or recorded starts are unknown.

    Examples
    --------
    >>> import cosimlab as lab
    >>> import cosimlib as cs
    >>> jobs = cs.synthetic.lublin(300, nodes=64, load=0.8, seed=1)
    >>> log = cs.synthetic.with_estimates(jobs)
    >>> schedule = cs.simulate_easy(log, log.machine)
    >>> bool((lab.predict(schedule) <= log.jobs["requested_time"]).all())
    True
    """
    check.choice("method", method, METHODS)
    check.number("quantile", quantile, least=0.0, most=1.0)
    history = History.of(log)
    if not np.isfinite(history.requested_time).all():
        raise InvalidWorkloadError(
            f"{log.name}: jobs without requested_time; fill them in with "
            "synthetic.with_missing_estimates"
        )
    rows, at = np.arange(len(history.jobs)), history.submit_time
    seconds = history.requested_time
    if method == "last two":
        seconds = history.last_two(rows, at)
    if method == "history":
        same = np.full((rows.size, 1), min(float(quantile), np.nextafter(1.0, 0.0)))
        seconds = np.minimum(history.run_times(rows, at, same)[:, 0], seconds)
    return pd.Series(seconds, index=history.jobs.index, name="predicted_run_time")


@allocating_kernel
def _draw(
    ends: np.ndarray,
    shares: np.ndarray,
    bounds: np.ndarray,
    jobs: np.ndarray,
    uniform: np.ndarray,
    drawn: np.ndarray,
) -> None:
    """Write run times drawn for each job: rows of `jobs` are instant, elapsed, scale, limit."""
    found = np.empty(MOST)
    for job in range(len(jobs)):
        at, elapsed, scale, limit = jobs[job]
        count = level = 0
        while count < LEAST and level < len(ends):
            first, last = bounds[0, level, job], bounds[1, level, job]
            place = first + np.searchsorted(ends[level, first:last], at, side="right") - 1
            count, earliest = 0, max(first, place - 4 * MOST)
            while place >= earliest and count < MOST:
                run_time = shares[level, place] * scale
                if run_time > elapsed:
                    rank = count
                    while rank > 0 and found[rank - 1] > run_time:
                        found[rank] = found[rank - 1]
                        rank -= 1
                    found[rank] = run_time
                    count += 1
                place -= 1
            level += 1
        longest = max(limit, 1.1 * elapsed + 60.0)
        for number in range(uniform.shape[1]):
            if count >= LEAST:
                drawn[job, number] = found[int(uniform[job, number] * count)]
            else:
                drawn[job, number] = longest - uniform[job, number] * (longest - elapsed)
