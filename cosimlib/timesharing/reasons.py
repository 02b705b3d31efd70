"""What is told of a claim about time-sharing that fails: memory, little load, or neither."""

import math

import numpy as np

from cosimlib.timesharing.summary import RunSummary
from cosimlib.units import HOUR

LIGHT = 6.0
"""CPU load with unlimited memory below which there is no backlog like Edison's, whose load is 9."""

LONG = 100.0
"""Days from which on a backlog has had time to build up."""


def no_backlog(roomy: RunSummary) -> str:
    """Says so where the load is far below Edison's even with unlimited memory, empty elsewhere."""
    load = roomy.cpu_load
    return f"too few jobs at once: CPU load {load:.1f}, Edison's is 9" if load < LIGHT else ""


def explain(shared: RunSummary, roomy: RunSummary, *, roomy_holds: bool, synthetic: bool) -> str:
    """Why a claim fails under `shared`: memory if it is that, or how days are unlike Edison's.

    Parameters
    ----------
    shared, roomy : RunSummary
        Time-shared with limited memory, and unlimited.
    roomy_holds : bool
        Whether the claim would hold on `roomy`; only then is memory the cause.
    synthetic : bool
        Whether the jobs are like Edison's, or else of a log.
    """
    if roomy_holds and shared.waited:
        unknown = (
            "which of them need much is" if synthetic else "nodes' memory is assumed, for it is"
        )
        source = "not printed" if synthetic else "not in the log"
        return f"{shared.waited:.1%} of the jobs wait for memory; {unknown} {source}"
    if synthetic and no_backlog(roomy):
        return no_backlog(roomy)
    unknown = "; how sizes go with lengths and estimates is not printed" if synthetic else ""
    return f"so with unlimited memory, too{unknown}"


def few_days(days: float) -> str:
    """What is said beside a number that needs a long run; empty for one."""
    late = "what is late ends after the last submission"
    return f"; {days:.0f} days are few: {late}" if days < LONG else ""


def lost_late(batch: RunSummary, shared: RunSummary, *, hours: float, at_least: int = 10) -> float:
    """Of the bins that time-sharing loses, the share of those of jobs longer than so many hours.

    Bins with fewer than `at_least` jobs do not count; NaN where none is lost.
    """
    counted = np.array(batch.counts) >= at_least
    lost = (counted & (batch.bins <= shared.bins)).sum(axis=0)
    late = np.array(batch.length_edges[:-1]) >= hours * HOUR
    return float(lost[late].sum() / lost.sum()) if lost.any() else math.nan
