"""Missing requested times filled in: by the run time, by what the user asks for, or by a constant.

A limit is never set below the run time: the job ran for so long, so its limit was no shorter.
"""

from dataclasses import replace

import pandas as pd

from cosimlib import checks as check
from cosimlib.workload import InvalidWorkloadError, Workload, check_workload

RULES = ("run_time", "user_median")


def with_missing_estimates(workload: Workload, how: str | float = "user_median") -> Workload:
    """The workload with requested times where they are unknown; those that are known stay.

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


def _filled(workload: Workload, fill: pd.Series, where: pd.Series, reason: str) -> Workload:
    """Requested times of the jobs marked set to `fill`, or to the run time where that is longer."""
    known = workload.jobs["requested_time"]
    fill = fill.clip(lower=workload.jobs["run_time"])
    jobs = workload.jobs.assign(requested_time=known.where(~where, fill))
    reason = f"requested time unknown, set to {reason}"
    return replace(workload, jobs=jobs).noted("mended", reason, int(where.sum()))
