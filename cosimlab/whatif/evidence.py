"""How often a what-if was right where the truth is known: what answers say of themselves.

The numbers are those of ``tests/data/what-if/held-back.csv``, a row per cell; a test compares them.
``python -m tests.cosimlab.whatif.coverage`` computes the rows. docs/what-if.md explains them.
"""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from cosimlab.whatif.changes import (
    FEWER_NODES,
    GONE,
    MORE_NODES,
    SEVERAL,
    SHORTER_LIMIT,
    Change,
    largest_user,
)
from cosimlib.display import percent
from cosimlib.system import System
from cosimlib.units import DAY
from cosimlib.workload import Workload


class Held(NamedTuple):
    """Cells whose interval held the truth, of those that have a number."""

    held: int
    of: int

    def __str__(self) -> str:
        return percent(self.held / self.of, 0)


NODES: Mapping[float, Held] = {0.10: Held(47, 56), 0.25: Held(46, 56), -0.05: Held(34, 36)}
"""More or fewer nodes, by the share that is added."""

TIMES, USER, LIMIT = Held(51, 56), Held(46, 49), Held(31, 46)
"""Run times × `TRIED_FACTOR`; without the user of most node-hours; a limit on run time."""

EVERY = Held(255, 299)
"""All changes that were tried."""

SHORT = 60 * DAY
"""Length of a log (s) below which intervals held the truth less often."""

OF_SHORT, OF_LONG = Held(128, 168), Held(127, 131)
"""All changes on shorter and on longer logs. This was seen after the cells had been judged."""

PAIRS, ORDERED = Held(534, 660), Held(456, 474)
"""Pairs of changes of one log and scheduler, see `compare_answers`.

The second are those whose interval says which change is better, and those of them in which it was.
"""

NO_HELP = Held(6, 8)
"""Answers that more nodes would not help, in all cells, and those of them that were true."""

NO_HELP_WAS_FALSE = f"false in {NO_HELP.of - NO_HELP.held} of {NO_HELP.of} cases with known truth"
"""How sure it is that more nodes would not help."""

TRIED_FACTOR, ALIKE = 0.9, 0.01
"""Of run times; how near a change is to one that was tried."""

NOT_TRIED = "this change was not tried"


def held_truth_of(change: Change, workload: Workload, machine: System) -> str:
    """Share of the cells whose truth is known in which the interval of such a change held it."""
    kind = change.kind(machine)
    if kind == SEVERAL:
        return f"{EVERY} over all changes that were tried, of which this is none"
    if kind in (MORE_NODES, FEWER_NODES):
        return _of_nodes(sum(change.nodes.values()) / machine.total_nodes - 1)
    if kind == SHORTER_LIMIT:
        return f"{LIMIT} with limits that cut at least 2 % of the jobs"
    if kind == GONE:
        is_largest = workload.column("user") == largest_user(workload)
        was_tried = bool((is_largest == ~change.stays).all())
        return f"{USER} without the largest user" + f", {NOT_TRIED}" * (not was_tried)
    factors = np.unique(change.factor)
    alike = factors.size == 1 and abs(factors[0] - TRIED_FACTOR) <= ALIKE
    return str(TIMES) if alike else f"{TIMES} at run times × {TRIED_FACTOR:g}, {NOT_TRIED}"


def held_on_such_logs(workload: Workload) -> str:
    """Share of all these cells, of all changes, on logs as short or as long as this one."""
    days = round(SHORT / DAY)
    if is_short(workload):
        return f"{OF_SHORT} on logs of less than {days} days"
    return f"{OF_LONG} on logs of {days} days or more"


def is_short(workload: Workload) -> bool:
    """Whether a log is so short that intervals held the truth less often."""
    submit_time = workload.jobs["submit_time"]
    return float(submit_time.max() - submit_time.min()) < SHORT


def _of_nodes(growth: float) -> str:
    """The same of more or fewer nodes, by the share that is added."""
    tried = {each: held for each, held in NODES.items() if (each > 0) == (growth > 0)}
    same = [str(held) for each, held in tried.items() if abs(growth - each) <= ALIKE]
    if same:
        return same[0]
    listed = " and ".join(f"{held} at {percent(each, signed=True)}" for each, held in tried.items())
    return f"{listed} nodes, {NOT_TRIED}"
