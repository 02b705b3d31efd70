"""A log of one's own as explorers take it: what it lacks is supposed, and that is said.

A log may name no machine, have jobs wider than it, ask for no times, tell of no memory, or hold
more nodes than there are. No explorer refuses it for that. What is supposed instead is a note under
the controls. Of long logs explorers take jobs in a row, from where the log is busy.
"""

from dataclasses import replace
from typing import NamedTuple

import numpy as np
import pandas as pd

from cosimlib import checks as check
from cosimlib.display import calendar, count, or_unknown
from cosimlib.metrics import busy_stretch
from cosimlib.schedule import Schedule
from cosimlib.synthetic import with_missing_estimates
from cosimlib.system import THETA, System
from cosimlib.traces.oddities import oversubscription, with_assumed_machine
from cosimlib.units import DAY, HOUR
from cosimlib.workload import InvalidWorkloadError, Workload, check_run

MEMORY = ("memory_per_node", "aggregate_bandwidth", "node_bandwidth")


class Log(NamedTuple):
    """Jobs, their machine, and what was supposed of both, one sentence each.

    `start` is where the clock of the jobs begins, on that of the whole log.
    """

    workload: Workload
    system: System
    notes: tuple[str, ...] = ()
    start: float = 0.0

    def noted(self, *notes: str) -> "Log":
        """The same with more notes, empty ones left out."""
        return self._replace(notes=(*self.notes, *filter(None, notes)))


class Recorded(NamedTuple):
    """A schedule, and what was supposed of it, one sentence each."""

    schedule: Schedule
    notes: tuple[str, ...] = ()


def fitting(source: Workload | Schedule, system: System | None = None) -> Log:
    """All jobs that fit on the machine: that given, the source's own, or else one that holds them.

    Raises
    ------
    TypeError
        Where `source` is neither, or `system` no System.
    ValueError
        Where no job is left.
    """
    check.instance("source", source, Workload, Schedule)
    if isinstance(source, Schedule):
        system = system or source.system
        source = source.workload
    if not len(source):
        raise ValueError(f"{source.name}: no jobs; expected at least one")
    notes = []
    if system is None and source.machine is None:
        source = with_assumed_machine(source)
        nodes = check.machine(source.machine, source.name).total_nodes
        notes.append(
            f"The machine is unknown; supposed are {count(nodes, 'node')} (in code, system= gives "
            "another)."
        )
    system = check.machine(system or source.machine, source.name)
    check_run(source, system)
    wide = (source.jobs["nodes"] > system.total_nodes).to_numpy()
    if wide.all():
        raise InvalidWorkloadError(
            f"{source.name}: all {len(source):,} jobs are wider than the "
            f"{count(system.total_nodes, 'node')} of {system.name}; take a wider system"
        )
    if wide.any():
        verb = "is" if wide.sum() == 1 else "are"
        notes.append(f"{count(int(wide.sum()), 'job')} wider than the machine {verb} left out.")
        source = source.keep(~wide, "wider than the machine")
    return Log(source, system, tuple(notes))


def busy(log: Log, jobs: int) -> Log:
    """So many jobs in a row, from where the log is busy."""
    if len(log.workload) <= jobs:
        return log
    kept = busy_stretch(log.workload, jobs)
    when = instant(float(kept.jobs["submit_time"].min()), kept.began)
    return log._replace(workload=kept).noted(
        f"{jobs:,} of {count(len(log.workload), 'job')}, submitted from {when} on."
    )


def estimated(log: Log) -> Log:
    """The log with requested times that are unknown set to the run times."""
    missing = int(log.workload.jobs["requested_time"].isna().sum())
    if not missing:
        return log
    which = "Requested times" if missing == len(log.workload) else f"{missing:,} requested times"
    filled = log._replace(workload=with_missing_estimates(log.workload, "run_time"))
    return filled.noted(f"{which} are unknown; supposed are the run times.")


def partly_estimated(log: Log) -> Log:
    """As `estimated` where some requested times are known; where none is, a note only."""
    if log.workload.jobs["requested_time"].isna().all():
        return log.noted("Requested times are unknown; they are made, as the controls say.")
    return estimated(log)


def with_memory(system: System) -> tuple[System, str]:
    """The system with Theta's memory and bandwidths where its own are unknown, and a note."""
    unknown = [name for name in MEMORY if np.isnan(getattr(system, name))]
    words = {"memory_per_node": "memory", "aggregate_bandwidth": "the file system's bandwidth",
             "node_bandwidth": "a node's bandwidth"}  # fmt: skip
    if not unknown:
        return system, ""
    named = ", ".join(f"{words[name]} ({getattr(THETA, name):g} "
                      f"{'GB' if name == MEMORY[0] else 'GB/s'})" for name in unknown)  # fmt: skip
    known = {name: getattr(THETA, name) for name in unknown}
    return replace(system, **known), f"Unknown, and supposed as on Theta: {named}."


def wide_enough(schedule: Schedule) -> Recorded:
    """The schedule on a machine of as many nodes as it ever holds, where it has fewer."""
    most, had, *_ = oversubscription(schedule)
    if len(schedule.system.partitions) > 1 or most <= had:
        return Recorded(schedule)
    wider = Schedule(schedule.workload, schedule.system.with_nodes(most), schedule.policy,
                     schedule.start_time, schedule.end_time)  # fmt: skip
    return Recorded(
        wider,
        (f"The log holds up to {most:,} nodes at once, more than the {had:,} of its machine; the "
         "machine is supposed to have them.",),
    )  # fmt: skip


def instant(seconds: float, began: pd.Timestamp | None) -> str:
    """A moment of a log in words: a date where the log tells when it began, else a day."""
    if began is None:
        return f"day {seconds / DAY:,.2f}"
    return calendar(began + pd.Timedelta(round(seconds), "s"))


def mean_wait(waits: pd.Series, *, why: bool = False) -> str:
    """The mean wait of jobs in hours, or a sentence, with its reason, where no job waits."""
    if len(waits) and (waits == 0).all():
        return "no job waits" + (": each finds free nodes when it is submitted" if why else "")
    return f"mean wait {or_unknown(float(waits.mean()) / HOUR, ',.2f', ' h')}"
