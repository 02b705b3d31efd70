"""Users' estimates of run times: Tsafrir's model, multiples of run times, a given accuracy.

- `with_estimates`, Tsafrir's model: few round values, none below the run time;
- `with_scaled_estimates`: a multiple of the run time;
- `with_round_estimates`, Polyakov and Dubenskaya's model: exact with a given probability, else one
  of the next two round values;
- `with_drawn_estimates`: the run time divided by a uniform accuracy;
- `with_missing_estimates`: the run time, the user's median or a constant, where a log has none.

Tsafrir, Etsion and Feitelson, Modeling User Runtime Estimates, JSSPP 2005, with the constants of
the generator that they published. Users choose few round values, the longest allowed most of all:

- *Number.* Distinct estimates follow from the number of jobs, piecewise linearly.
- *Head.* Twenty popular ones take 89 % of the jobs: the maximum, fifteen that all logs share,
  and multiples of round lengths, longest first, from the maximum down. The maximum is the most
  popular; the others' shares fall exponentially with their rank. Ranks are drawn: by ascending
  length, each estimate takes the more popular of two draws among the ranks that estimates of its
  place had in four logs, or that shorter ones had and did not take; a rank that no later one had
  is due.
- *Tail.* The other estimates are dense where short, on whole minutes, and share 11 % of the jobs
  by a power law of their rank, in random order.
- *Assignment.* By descending run time, each job draws uniformly among the unused estimates that
  are long enough (`shapes.fitting_estimates`), so that no job outruns its estimate.
"""

import math
from dataclasses import replace

import numpy as np
import pandas as pd

from cosimlib import checks as check
from cosimlib.synthetic import shapes
from cosimlib.units import DAY, HOUR, MINUTE
from cosimlib.workload import InvalidWorkloadError, Workload, check_workload

HEAD = 20
HEAD_SHARE = 0.89

DISTINCT = ((0, 20, 200, 1_000, 10_000, 70_000, 250_000), (0, 10, 20, 35, 90, 340, 565))
"""Jobs, and the distinct estimates that so many have; more jobs have no more."""

COMMON_MINUTES = (5, 10, 15, 20, 30, 60, 120, 180, 240, 300, 360, 480, 600, 720, 1_080)
"""Popular estimates in all four logs."""

ROUND_MINUTES = (12_000, 6_000, 3_000, 600, 300, 120, 60, 20, 10, 5)
"""Lengths of which the other popular estimates are multiples, in order of preference."""

RANKS_IN_LOGS = (
    (3, 1, 1, 1), (1, 3, 4, 6), (4, 4, 10, 5), (17, 2, 14, 3), (13, 12, 20, 7),
    (7, 9, 2, 2), (8, 8, 3, 18), (18, 18, 7, 19), (2, 6, 12, 4), (6, 7, 6, 11),
    (16, 11, 19, 20), (10, 20, 5, 9), (5, 16, 18, 10), (15, 5, 16, 14), (14, 14, 9, 13),
    (19, 13, 17, 16), (11, 10, 15, 15), (12, 15, 13, 17), (9, 17, 8, 8), (20, 19, 11, 12),
)  # fmt: skip
"""Popularity rank of the maximum, then of the other popular estimates by length, in four logs
(SDSC SP2, CTC SP2, KTH SP2 up to 4 hours, SDSC Blue Horizon)."""

ROUND_VALUES = np.concatenate([
    MINUTE * np.array([1, 2, 5, 10, 20, 30]),
    HOUR * np.array([1, 2, 3, 6, 8, 12]),
    DAY * np.array([1, 1.5, 2, 3, 5, 7, 10, 15]),
])  # fmt: skip
"""Polyakov and Dubenskaya's estimates of users who do not know the run time, seconds."""

LEAST_ACCURACY, ESTIMATE_STEP, LONGEST_ESTIMATE = 0.05, 5 * MINUTE, DAY
"""Of `accuracy_estimates`: run time ÷ estimate, and seconds."""

RULES = ("run_time", "user_median")
"""Rules of `with_missing_estimates`."""


def with_estimates(workload: Workload, *, seed: int = 0, maximum: int | None = None) -> Workload:
    """Workload with requested times from Tsafrir's model, none below the run time.

    Parameters
    ----------
    workload : Workload
        Requested times that it has are replaced.
    seed : int, default 0
        Of the PCG64 generator, 0 or more.
    maximum : int, optional
        The longest estimate, in whole seconds from an hour; about a fifth of the jobs ask for it.
        By default the longest run time, up to the next whole hour.

    Returns
    -------
    Workload
        Its account says how many estimates were drawn. Where too few of them are long enough for
        all long jobs, some are lengthened to the next one that fits, and the account says how many:
        a longer maximum makes them fewer.

    Raises
    ------
    InvalidWorkloadError
        If a job runs longer than the maximum.
    """
    check_workload(workload)
    check.seed(seed, where="estimates")
    run_time = workload.jobs["run_time"].to_numpy()
    if maximum is None:
        maximum = max(HOUR, HOUR * math.ceil(run_time.max(initial=0) / HOUR))
    too_long = run_time > maximum
    if too_long.any():
        job = int(too_long.argmax())
        raise InvalidWorkloadError(
            f"{workload.label(job)} has run_time={run_time[job]:g}; the longest estimate is "
            f"maximum={maximum:g} s (as for {int(too_long.sum()) - 1} others); give a longer one "
            "or cut run times first"
        )
    rng = np.random.Generator(np.random.PCG64(int(seed)))
    shares = _shares(run_time.size, maximum, rng)
    menu = shares.index.to_numpy(np.float64)
    drawn = _counts(run_time.size, shares.to_numpy())
    estimates = np.repeat(menu, drawn)
    fitting = shapes.fitting_estimates(run_time, estimates, menu, snug=0.0, rng=rng)
    used = np.bincount(np.searchsorted(menu, fitting), minlength=menu.size)
    lengthened = int(np.maximum(used - drawn, 0).sum())
    drawn_from = "requested_time drawn from Tsafrir's model"
    estimated = _with_requests(workload, fitting).noted("mended", drawn_from, len(workload))
    return estimated.noted("mended", "drawn requested_time lengthened to fit the run", lengthened)


def with_scaled_estimates(workload: Workload, factor: float = 1.0) -> Workload:
    """Workload with requested times of `factor` times the run time, at least one second.

    Parameters
    ----------
    workload : Workload
        Requested times that it has are replaced.
    factor : float, default 1.0
        From 1, the exact run time.
    """
    check_workload(workload)
    check.number("factor", factor, least=1, where="estimates")
    requested_time = np.maximum(factor * workload.jobs["run_time"].to_numpy(), 1.0)
    reason = f"requested_time set to {factor:g} times run_time"
    return _with_requests(workload, requested_time).noted("mended", reason, len(workload))


def with_round_estimates(workload: Workload, accuracy: float, *, seed: int = 0) -> Workload:
    """Workload with exact requested times at a given probability, else round ones.

    Polyakov and Dubenskaya (GRID 2018) estimate the run time itself with probability p, the run
    time rounded up to the next of 20 round values with probability p(1 - p), and the value after
    that one with probability (1 - p)². Beyond the longest round value an estimate is that value,
    or the run time where that is longer. The jobs whose estimates are exact at one accuracy are so
    at every higher one.

    Parameters
    ----------
    workload : Workload
        Requested times that it has are replaced.
    accuracy : float
        The paper's p, from 0 to 1.
    seed : int, default 0
    """
    check_workload(workload)
    estimate = round_estimates(workload.jobs["run_time"].to_numpy(), accuracy, seed=seed)
    return _with_requests(workload, estimate)


def round_estimates(run_time: np.ndarray, accuracy: float, *, seed: int = 0) -> np.ndarray:
    """The requested times of `with_round_estimates`, in seconds."""
    check.number("accuracy", accuracy, least=0, most=1)
    check.seed(seed)
    rng = np.random.Generator(np.random.PCG64([int(seed), 1]))
    draw = rng.random(run_time.size)
    rounded = np.searchsorted(ROUND_VALUES, run_time)
    rounded += draw >= accuracy + accuracy * (1 - accuracy)
    estimate = ROUND_VALUES[np.minimum(rounded, ROUND_VALUES.size - 1)]
    estimate = np.maximum(np.where(draw < accuracy, run_time, estimate), run_time)
    # A job of zero run time can only be estimated by the shortest round value.
    return np.where(estimate > 0, estimate, ROUND_VALUES[0])


def with_drawn_estimates(workload: Workload, *, seed: int = 0) -> Workload:
    """Workload with missing requested times drawn as in `accuracy_estimates`.

    Parameters
    ----------
    workload : Workload
        Requested times that it has are kept.
    seed : int, default 0
    """
    check_workload(workload)
    check.seed(seed, where="estimates")
    known = workload.jobs["requested_time"]
    rng = np.random.default_rng([int(seed), 2])
    drawn = accuracy_estimates(workload.jobs["run_time"].to_numpy(), rng)
    return _with_requests(workload, known.where(known.notna(), drawn))


def with_missing_estimates(workload: Workload, how: str | float = "user_median") -> Workload:
    """Workload with missing requested times filled in; known ones stay.

    Parameters
    ----------
    workload : Workload
    how : {"run_time", "user_median"} or float, default "user_median"
        The run time itself, at least one second; the median of what the job's user asks for, or
        of all known requests where the user asks for nothing known; or so many seconds. No fill is
        shorter than the job's run time.

    Returns
    -------
    Workload
        Its account says how many requested times were filled in, and with what.

    Raises
    ------
    InvalidWorkloadError
        For ``"user_median"`` where no requested time is known.
    """
    check_workload(workload)
    fine = how in RULES if isinstance(how, str) else check.is_number(how) and 0 < how < float("inf")
    expected = f"{', '.join(map(repr, RULES))}, or seconds above 0"
    check.that("how", how, fine, expected, where="with_missing_estimates")
    known = workload.jobs["requested_time"]
    missing = known.isna()
    if not missing.any():
        return workload
    if how == "user_median":
        return _by_user(workload, known, missing)
    fill = 1.0 if isinstance(how, str) else float(how)
    reason = "the run time" if how == "run_time" else f"{fill:g} s, or the run time if longer"
    return _filled(workload, pd.Series(fill, index=known.index), missing, reason)


def _by_user(workload: Workload, known: pd.Series, missing: pd.Series) -> Workload:
    """Medians of each user, and of all jobs for users of whom nothing is known."""
    if missing.all():
        raise InvalidWorkloadError(
            f"{workload.name}: no job has a requested_time, so users have no median; fill them in "
            "with how='run_time' or seconds"
        )
    median = known.groupby(workload.column("user")).transform("median")
    own = missing & median.notna()
    filled = _filled(workload, median, own, "the user's median, or the run time if longer")
    overall = pd.Series(known.median(), index=known.index)
    reason = "the median of all, or the run time if longer"
    return _filled(filled, overall, missing & ~own, reason)


def accuracy_estimates(run_time: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Estimates in seconds: run time ÷ uniform accuracy, in whole five minutes, up to a day.

    No estimate is below its run time.
    """
    accuracy = rng.uniform(LEAST_ACCURACY, 1.0, run_time.size)
    estimate = np.minimum(run_time / accuracy, np.maximum(run_time, LONGEST_ESTIMATE))
    return np.maximum(np.ceil(estimate / ESTIMATE_STEP), 1.0) * ESTIMATE_STEP


def _shares(jobs: int, maximum: int, rng: np.random.Generator) -> pd.Series:
    """The model's shares of estimates, which add up to 1, by ascending seconds."""
    check.whole("maximum", maximum, HOUR, floats=True, where="estimates")
    distinct = max(1, math.floor(np.interp(jobs, *DISTINCT) + 0.5))
    head = _head(int(maximum), rng)
    if distinct <= len(head):
        shares = head.nlargest(distinct)
    else:
        tail = _tail_values(set(head.index), int(maximum), distinct - len(head), distinct)
        power = (HEAD + 1.0 + np.arange(len(tail))) ** -2.267
        power *= (1.0 - HEAD_SHARE) / power.sum() if len(tail) else 1.0
        shares = pd.concat([head, pd.Series(rng.permutation(power), index=tail)])
    shares = shares.sort_index() / shares.sum()
    return shares.rename("share").rename_axis("requested_time")


def _head(maximum: int, rng: np.random.Generator) -> pd.Series:
    """Share of each popular estimate."""
    values = [maximum, *sorted(_popular_values(maximum))]
    ranks = np.argsort(np.argsort(_drawn_ranks(rng)[: len(values)])) + 1
    share = (14.0491 * np.exp(-0.177531 * ranks) + 0.462513) / 100
    share[0] = HEAD_SHARE - share[1:].sum()
    return pd.Series(share, index=values)


def _popular_values(maximum: int) -> list[int]:
    """The popular estimates below the maximum, in whole seconds; nineteen if there are so many."""
    values = [60 * minutes for minutes in COMMON_MINUTES if 60 * minutes < maximum]
    for length in (60 * minutes for minutes in ROUND_MINUTES):
        for value in range(maximum // length * length, 0, -length):
            if len(values) < HEAD - 1 and value != maximum and value not in values:
                values.append(value)
    return values


def _drawn_ranks(rng: np.random.Generator) -> np.ndarray:
    """A popularity rank for the maximum, which is 1, and for the others by length."""
    latest = {rank: row for row, ranks in enumerate(RANKS_IN_LOGS) for rank in ranks}
    taken: list[int] = []
    pool: list[int] = []
    for row, ranks in enumerate(RANKS_IN_LOGS):
        pool = [rank for rank in [*pool, *ranks] if rank not in taken]
        pending = [rank for rank in latest if latest[rank] <= row and rank not in taken]
        if row == 0:
            taken.append(1)
        elif pending:
            taken.append(min(pending))
        else:
            taken.append(min(pool[place] for place in rng.integers(len(pool), size=2)))
    return np.array(taken)


def _tail_values(head: set[int], maximum: int, count: int, distinct: int) -> list[int]:
    """Other estimates on whole minutes; one that exists moves by seconds, or is left out."""
    bend = 1 + 12.1039 * distinct**-0.6026
    place = np.arange(1, count + 1) / count
    minutes = np.floor((bend - 1) * place / (bend - place) * maximum / MINUTE + 0.5)
    values: set[int] = set()
    for minute in minutes.astype(int):
        for offset in (0, 30, -30, 20, -20, 10, -10):
            value = 60 * int(minute) + offset
            if 0 < value < maximum and value not in head and value not in values:
                values.add(value)
                break
    return sorted(values)


def _counts(jobs: int, shares: np.ndarray) -> np.ndarray:
    """Whole numbers of jobs, next to their shares and at least 1 each while there are jobs."""
    counts = np.maximum(np.floor(shares * jobs).astype(np.int64), 1)
    # What rounding left over goes to those that lost most by it, or is taken from the largest.
    order = np.argsort(counts - shares * jobs, kind="stable")
    left = jobs - int(counts.sum())
    if left >= 0:
        counts[order[:left]] += 1
    for _ in range(-left):
        counts[counts.argmax()] -= 1
    return counts


def _with_requests(workload: Workload, requested_time: np.ndarray | pd.Series) -> Workload:
    """The workload with new requested times."""
    return replace(workload, jobs=workload.jobs.assign(requested_time=requested_time))


def _filled(workload: Workload, fill: pd.Series, where: pd.Series, reason: str) -> Workload:
    """Requested times of the jobs marked set to `fill`, or to the run time where that is longer."""
    known = workload.jobs["requested_time"]
    fill = fill.clip(lower=workload.jobs["run_time"])
    jobs = workload.jobs.assign(requested_time=known.where(~where, fill))
    reason = f"requested time unknown, set to {reason}"
    return replace(workload, jobs=jobs).noted("mended", reason, int(where.sum()))
