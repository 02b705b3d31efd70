"""A log of one's own as explorers take it: what it lacks is supposed, and that is said.

A log may name no machine, have jobs wider than it, ask for no times, tell of no memory, or hold
more nodes than there are. No explorer refuses it for that. What is supposed instead is a note under
the controls. Of long logs explorers take jobs in a row, from where the log is busy.
"""

from dataclasses import dataclass, replace

import pandas as pd

from cosimlib import checks as check
from cosimlib.display import calendar, count, or_unknown
from cosimlib.metrics import busy_stretch
from cosimlib.schedule import Schedule
from cosimlib.synthetic import with_missing_estimates
from cosimlib.system import System
from cosimlib.traces.oddities import fitting as jobs_that_fit
from cosimlib.traces.oddities import with_assumed_machine
from cosimlib.units import DAY, HOUR
from cosimlib.workload import Workload, check_run


@dataclass(frozen=True)
class Log:
    """Jobs, whose workload has a machine, and what was supposed of both, one sentence each.

    `start` is where the clock of the jobs begins, on that of the whole log.
    """

    workload: Workload
    notes: tuple[str, ...] = ()
    start: float = 0.0

    @property
    def system(self) -> System:
        """The machine."""
        return check.machine(self.workload.machine, self.workload.name)

    def of(self, workload: Workload, *notes: str, start: float = 0.0) -> "Log":
        """Other jobs, with more notes; empty ones are left out."""
        return Log(workload, (*self.notes, *filter(None, notes)), start)


def fitting(source: Workload | Schedule, system: System | None = None) -> Log:
    """All jobs that fit on the machine: that given, the source's own, or else one that holds them.

    Raises
    ------
    TypeError
        If `source` is neither, or `system` no System.
    ValueError
        If no job is left, and where a schedule comes with a system.
    """
    check.instance("source", source, Workload, Schedule)
    if isinstance(source, Schedule):
        if system is not None:
            raise ValueError("a schedule has its system; leave system out, or give the workload")
        system = source.system
        source = source.workload
    if not len(source):
        raise ValueError(f"{source.name}: no jobs; expected at least one")
    assumed = ""
    if system is None and source.machine is None:
        source = with_assumed_machine(source)
        nodes = count(check.machine(source.machine, source.name).total_nodes, "node")
        assumed = (
            f"The log names no machine; {nodes} are assumed (in Python, system= gives another)."
        )
    system = check.machine(system or source.machine, source.name)
    check_run(source, system)
    kept, wide = jobs_that_fit(replace(source, machine=system))
    return Log(kept).of(kept, assumed, f"{wide}." if wide else "")


def busy(log: Log, jobs: int) -> Log:
    """So many jobs in a row, from where the log is busy."""
    if len(log.workload) <= jobs:
        return log
    kept = busy_stretch(log.workload, jobs)
    when = instant(float(kept.jobs["submit_time"].min()), kept.began)
    return log.of(kept, f"{jobs:,} of {count(len(log.workload), 'job')}, submitted from {when} on.")


def estimated(log: Log, *, all_made: bool = False) -> Log:
    """The log with requested times that are unknown set to the run times; a note says that.

    With `all_made`, requested times of which none is known stay so: controls make them.
    """
    missing = int(log.workload.jobs["requested_time"].isna().sum())
    if not missing:
        return log
    if missing == len(log.workload) and all_made:
        return log.of(
            log.workload, "Requested times are unknown; they are made as the controls say."
        )
    which = "Requested times" if missing == len(log.workload) else f"{missing:,} requested times"
    filled = with_missing_estimates(log.workload, "run_time")
    return log.of(filled, f"{which} are unknown; run times are taken instead.")


def instant(seconds: float, began: pd.Timestamp | None, *, short: bool = False) -> str:
    """A moment of a log in words: a date where the log tells when it began, else a day."""
    if began is None:
        return f"day {seconds / DAY:,.2f}"
    moment = began + pd.Timedelta(round(seconds), "s")
    return f"{moment:%m-%d %H:%M}" if short else calendar(moment)


def mean_wait(waits: pd.Series) -> str:
    """The mean wait of jobs in hours, or a sentence where no job waits."""
    if len(waits) and (waits == 0).all():
        return "no job waits"
    return f"mean wait {or_unknown(float(waits.mean()) / HOUR, ',.2f', ' h')}"
