"""Users' estimates of run times, for jobs that come without: Tsafrir's model, and plain multiples.

Tsafrir, Etsion and Feitelson, Modeling User Runtime Estimates, JSSPP 2005, with the constants of
the generator that they published. Users choose few round values, the longest allowed most of all:

- *How many.* Distinct estimates follow from the number of jobs, piecewise linearly.
- *The head.* Twenty popular ones take 89 % of the jobs: the maximum, fifteen that all logs share,
  and multiples of round lengths, longest first, from the maximum down. The maximum is the most
  popular; the others' shares fall exponentially with their rank. Which has which rank is drawn: by
  ascending length, each takes the more popular of two draws among the ranks that its like had in
  four logs, or that shorter ones had and did not take; a rank that no later one had is due.
- *The tail.* The other estimates are dense where short, on whole minutes, and share 11 % of the
  jobs by a power law of their rank, in random order.
- *Whose.* By descending run time, each job draws uniformly among the unused estimates that are
  long enough (`shapes.fitting_estimates`), so that nobody outruns an estimate.
"""

import math
from dataclasses import replace

import numpy as np
import pandas as pd

from cosimlib import checks as check
from cosimlib.synthetic import shapes
from cosimlib.workload import ACCOUNT_COLUMNS, InvalidWorkloadError, Workload

MINUTE = 60
HOUR = 3_600
HEAD = 20
HEAD_SHARE = 0.89

DISTINCT = ((0, 20, 200, 1_000, 10_000, 70_000, 250_000), (0, 10, 20, 35, 90, 340, 565))
"""Jobs, and the distinct estimates that so many have; more jobs have no more."""

JOINT_MINUTES = (5, 10, 15, 20, 30, 60, 120, 180, 240, 300, 360, 480, 600, 720, 1_080)
"""Popular estimates that all four logs share."""

ROUND_MINUTES = (12_000, 6_000, 3_000, 600, 300, 120, 60, 20, 10, 5)
"""Lengths of which other popular estimates are multiples, in order of preference."""

RANKS_IN_LOGS = (
    (3, 1, 1, 1), (1, 3, 4, 6), (4, 4, 10, 5), (17, 2, 14, 3), (13, 12, 20, 7),
    (7, 9, 2, 2), (8, 8, 3, 18), (18, 18, 7, 19), (2, 6, 12, 4), (6, 7, 6, 11),
    (16, 11, 19, 20), (10, 20, 5, 9), (5, 16, 18, 10), (15, 5, 16, 14), (14, 14, 9, 13),
    (19, 13, 17, 16), (11, 10, 15, 15), (12, 15, 13, 17), (9, 17, 8, 8), (20, 19, 11, 12),
)  # fmt: skip
"""Popularity rank of the maximum, then of the other popular estimates by length, in four logs
(SDSC SP2, CTC SP2, KTH SP2 up to 4 hours, SDSC Blue Horizon)."""


def with_estimates(
    workload: Workload, *, seed: int = 0, distinct: int | None = None, maximum: int | None = None
) -> Workload:
    """The workload with requested times as users would give them, none below its run time.

    Parameters
    ----------
    workload : Workload
        Requested times that it has are replaced.
    seed : int, default 0
        Of the PCG64 generator, 0 or more.
    distinct : int, optional
        How many different estimates; by default as many as the model has for so many jobs.
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
        Where a job runs longer than the maximum.
    """
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
    rng = _generator(seed)
    shares = _shares(run_time.size, maximum, distinct, rng)
    menu = shares.index.to_numpy(np.float64)
    drawn = _counts(run_time.size, shares.to_numpy())
    estimates = np.repeat(menu, drawn)
    fitting = shapes.fitting_estimates(run_time, estimates, menu, snug=0.0, rng=rng)
    given = np.bincount(np.searchsorted(menu, fitting), minlength=menu.size)
    return _entered(workload, fitting, int(np.maximum(given - drawn, 0).sum()))


def with_scaled_estimates(workload: Workload, factor: float = 1.0) -> Workload:
    """The workload with requested times of `factor` times the run time; 1 knows the run times.

    Parameters
    ----------
    workload : Workload
        Requested times that it has are replaced. Nobody asks for less than a second.
    factor : float, default 1.0
        From 1.
    """
    check.number("factor", factor, least=1, where="estimates")
    requested_time = np.maximum(factor * workload.jobs["run_time"].to_numpy(), 1.0)
    account = pd.DataFrame(
        [("mended", f"requested_time set to {factor:g} times run_time", len(workload))],
        columns=list(ACCOUNT_COLUMNS),
    )
    return replace(
        workload,
        jobs=workload.jobs.assign(requested_time=requested_time),
        account=pd.concat([workload.account, account], ignore_index=True),
    )


def estimate_shares(
    jobs: int, *, maximum: int, seed: int = 0, distinct: int | None = None
) -> pd.Series:
    """The model's distribution of estimates: shares of the jobs that add up to 1, by seconds.

    Parameters
    ----------
    jobs : int
        From which follows how many distinct estimates there are, unless `distinct` says so.
    maximum : int
        The longest estimate, in whole seconds from an hour.
    seed : int, default 0
    distinct : int, optional
        Below the twenty popular ones, only the most popular remain. A short maximum may have room
        for fewer.
    """
    check.whole("jobs", jobs, 1, where="estimates")
    return _shares(int(jobs), maximum, distinct, _generator(seed))


def _generator(seed: int) -> np.random.Generator:
    check.seed(seed, where="estimates")
    return np.random.Generator(np.random.PCG64(int(seed)))


def _shares(jobs: int, maximum: int, distinct: int | None, rng: np.random.Generator) -> pd.Series:
    """Share of each estimate, by ascending seconds."""
    check.whole("maximum", maximum, HOUR, floats=True, where="estimates")
    if distinct is None:
        distinct = max(1, math.floor(np.interp(jobs, *DISTINCT) + 0.5))
    elif jobs:
        check.whole("distinct", distinct, 1, jobs, floats=True, where="estimates")
    head = _head(int(maximum), rng)
    if distinct <= len(head):
        shares = head.nlargest(int(distinct))
    else:
        tail = _tail_values(set(head.index), int(maximum), int(distinct) - len(head), distinct)
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
    """The popular estimates below the maximum, as many of nineteen as there are."""
    values = [MINUTE * minutes for minutes in JOINT_MINUTES if MINUTE * minutes < maximum]
    for length in (MINUTE * minutes for minutes in ROUND_MINUTES):
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
        due = [rank for rank in latest if latest[rank] <= row and rank not in taken]
        if row == 0:
            taken.append(1)
        elif due:
            taken.append(min(due))
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
            value = int(minute) * MINUTE + offset
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


def _entered(workload: Workload, requested_time: np.ndarray, lengthened: int) -> Workload:
    """The workload with its new requested times, and that said in its account."""
    entries = [("mended", "requested_time drawn from Tsafrir's model", len(workload))]
    if lengthened:
        entries.append(("mended", "drawn requested_time lengthened to fit the run", lengthened))
    account = pd.DataFrame(entries, columns=list(ACCOUNT_COLUMNS))
    return replace(
        workload,
        jobs=workload.jobs.assign(requested_time=requested_time),
        account=pd.concat([workload.account, account], ignore_index=True),
    )
