"""Losses of a workload when it is written: per column that a format does not hold, its jobs."""

import numpy as np

from cosimlib.traces.swf import FIELDS, LABELS, all_numbers
from cosimlib.workload import Workload

BATSIM = ("submit_time", "run_time", "requested_time", "nodes", "job_id")
SWF = (*FIELDS, "nodes", "recorded_start", "memory")


def losses(workload: Workload, ending: str) -> list[tuple[str, str, int]]:
    """Entries ("lost", what, number of jobs) for a writer, by the ending of its files."""
    found = {".swf": _swf, ".json": _batsim, ".csv": _csv, ".parquet": _nothing}[ending](workload)
    return [("lost", reason, int(jobs)) for reason, jobs in found if jobs]


def _columns(workload: Workload, kept: tuple[str, ...]) -> list[tuple[str, int]]:
    """The columns that are not kept, and for how many jobs each is known."""
    others = [column for column in workload.jobs if column not in kept]
    return [(f"column {column}", int(workload.jobs[column].notna().sum())) for column in others]


def _swf(workload: Workload) -> list[tuple[str, int]]:
    found = _columns(workload, SWF)
    for column in LABELS:
        labels = workload.column(column)
        if not all_numbers(labels):
            what = "names of {}s, numbered (they stand in the header)"
            if column not in ("queue", "partition"):
                what = "names of {}s, numbered"
            found.append((what.format(column), int(labels.notna().sum())))
    found.append(("memory of 0, read as unknown", int((workload.column("memory") == 0).sum())))
    return found + _machine(workload, "partitions, memory and bandwidths of the machine")


def _batsim(workload: Workload) -> list[tuple[str, int]]:
    jobs = workload.jobs
    found = [("job of run time 0, which Batsim refuses", int((jobs["run_time"] == 0).sum()))]
    numbers = workload.column("job_id")[jobs["run_time"] > 0]
    if not (numbers.notna().all() and numbers.is_unique):
        found.append(("job number, not one per job: numbered from 1", int(numbers.notna().sum())))
    longer = int((jobs["run_time"] > jobs["requested_time"]).sum())
    found.append(("run time over the requested time: Batsim stops it there", longer))
    found += _columns(workload, BATSIM)
    return found + _machine(workload, "name, partitions, memory and bandwidths of the machine")


def _csv(workload: Workload) -> list[tuple[str, int]]:
    found = [("name, calendar time, account", len(workload))]
    return found + ([("machine", len(workload))] if workload.machine else [])


def _nothing(workload: Workload) -> list[tuple[str, int]]:
    return []


def _machine(workload: Workload, what: str) -> list[tuple[str, int]]:
    """What is lost of the machine, entered for all jobs where there is something to lose."""
    machine = workload.machine
    if machine is None:
        return []
    quantities = (machine.memory_per_node, machine.aggregate_bandwidth, machine.node_bandwidth)
    more = len(machine.partitions) > 1 or bool(np.isfinite(quantities).any())
    return [(what, len(workload))] if more or "name" in what else []
