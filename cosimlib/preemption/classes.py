"""Classes of jobs to give priorities to, in logs whose queues tell nothing."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from cosimlib.schedulers.elastic import generator
from cosimlib.workload import InvalidWorkloadError, Workload

LOT = "lot"


def priority_classes(
    workload: Workload, shares: Sequence[float], *, by: str = "user", seed: int = 0
) -> tuple[Workload, dict[str, str]]:
    """The workload, and one class of jobs a share: its name, and the column that has it.

    Classes are values of the column `by`, such as users: for each share in turn the one whose part
    of the jobs is nearest to it, ties to the first in the workload. A value with half of the jobs
    or more is no class, for nobody would be left to compare it with. Where there are too few, as in
    a log that names no users, jobs are drawn by lot, and the workload gets a column ``lot``.

    Parameters
    ----------
    workload : Workload
    shares : sequence of float
        Parts of the number of jobs, such as 0.01 and 0.05.
    by : str, default "user"
    seed : int, default 0
        Of the lots.

    Raises
    ------
    InvalidWorkloadError
        Where there are not more jobs than classes.
    ValueError
        For shares that are not above 0 or make up half of the jobs or more.
    """
    if not shares or min(shares) <= 0 or sum(shares) >= 0.5:
        raise ValueError(f"shares={shares!r}; expected parts above 0 that sum to less than 0.5")
    parts = workload.column(by).value_counts() / max(len(workload), 1)
    parts = parts[parts < 0.5]
    classes: dict[str, str] = {}
    if len(parts) >= len(shares):
        for share in shares:
            classes[str((parts.drop(list(classes)) - share).abs().idxmin())] = by
        return workload, classes
    return _by_lot(workload, shares, seed), {f"{share:.1%}": LOT for share in shares}


def _by_lot(workload: Workload, shares: Sequence[float], seed: int) -> Workload:
    """The workload with a column that names the share that a job was drawn for."""
    if len(workload) <= len(shares):
        raise InvalidWorkloadError(
            f"{workload.name}: {len(workload)} jobs do not make {len(shares)} classes and others; "
            "take a longer log"
        )
    drawn = generator(seed).permutation(len(workload))
    lot = np.full(len(workload), "", dtype=object)
    for share in shares:
        count = max(1, round(share * len(workload)))
        lot[drawn[:count]], drawn = f"{share:.1%}", drawn[count:]
    return replace(workload, jobs=workload.jobs.assign(**{LOT: lot}))
