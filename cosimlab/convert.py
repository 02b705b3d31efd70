"""Conversion of job logs between formats: ``python -m cosimlab.convert SOURCE TARGET``.

Data that the new format cannot hold is lost. The account counts, column by column, the jobs that
lose something.
"""

import argparse
import sys
from collections.abc import Callable, Sequence
from functools import partial
from inspect import signature
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from cosimlab.ending import Arguments, check_counts, status_of
from cosimlab.writers import write_batsim, write_csv, write_parquet
from cosimlib import checks as check
from cosimlib import traces
from cosimlib.files import check_writable
from cosimlib.traces.account import Account
from cosimlib.traces.catalog import path_of
from cosimlib.traces.records import AUTO, UNITS, Unit
from cosimlib.traces.swf import FIELDS, LABELS, all_numbers, write_swf
from cosimlib.workload import Workload

WRITERS: dict[str, Callable[..., Path]] = {
    ".swf": write_swf,
    ".json": write_batsim,
    ".csv": write_csv,
    ".parquet": write_parquet,
}
"""Writers by the ending of the file's name; ``.gz`` may follow it."""

HELD_BY_BATSIM = ("submit_time", "run_time", "requested_time", "nodes", "job_id")
HELD_BY_SWF = (*FIELDS, "nodes", "recorded_start", "memory")


def convert(
    source: str | Path,
    target: str | Path,
    *,
    unit: Unit | None = None,
    cores_per_node: int | None = None,
    verbose: bool = True,
) -> pd.DataFrame:
    """Convert a log into another format, and count what is dropped, mended, noted and lost.

    Parameters
    ----------
    source : str or Path
        A log of any format that `traces.load` reads, or the name of a public trace.
    target : str or Path
        The ending chooses the format: ``.swf``, ``.json`` (Batsim), ``.csv`` or ``.parquet``; with
        ``.gz`` after it, the file is compressed.
    unit : {"nodes", "cores", "gpus"}, optional
        What a node of a job is, for a log that counts several (Slurm, PBS, Fugaku, Marconi100).
    cores_per_node : int, optional
        Processors per node, for SWF.
    verbose : bool, default True
        Whether to print the account.

    Returns
    -------
    pd.DataFrame
        `action` ("dropped", "mended", "noted", "lost"), `reason`, `records`.

    Raises
    ------
    FileNotFoundError
    TraceError
        For a damaged source, or a job that the target's format cannot hold.
    ValueError
        If the target is the source itself, its ending is unknown, or the source's reader does not
        know an option.

    Examples
    --------
    >>> import cosimlab as lab
    >>> account = lab.convert("three-jobs.swf.gz", "three-jobs.csv", verbose=False)
    >>> print(account.to_string(index=False))
    action                       reason  records
      lost name, calendar time, account        3
      lost                      machine        3
    """
    path = Path(target)
    ending = Path(path.name.removesuffix(".gz")).suffix
    check.choice("the target's ending", ending, WRITERS)
    check_writable(path, path_of(source))
    write = WRITERS[ending]
    options: dict[str, Any] = {} if unit is None else {"unit": unit}
    if cores_per_node is not None and not (ending == ".swf" and _is_of_nodes(source)):
        options["cores_per_node"] = cores_per_node
    workload = traces.load(source, verbose=verbose, **options)
    written = {"cores_per_node": cores_per_node or 1} if ending == ".swf" else {}
    write(workload, path, **written)
    lost = losses(workload, ending)
    if verbose:
        print(Account(lost).text(path.name, len(workload)))
    return pd.concat(
        [workload.account, pd.DataFrame(lost, columns=list(workload.account))], ignore_index=True
    )


def _is_of_nodes(source: str | Path) -> bool:
    """Whether the format of a log counts nodes, so that only the target counts processors."""
    path = Path(source)
    reader = traces.READERS[traces.recognize(path) if path.is_file() else "swf"].read
    return "cores_per_node" not in signature(reader).parameters


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; status 0 if the target was written, else 1."""
    parser = Arguments("python -m cosimlab.convert", description=__doc__)
    parser.add_argument("source", help="a log of any known format, or the name of a public trace")
    parser.add_argument("target", help=f"ends in {', '.join(WRITERS)}; .gz may follow")
    parser.add_argument("--unit", choices=(*UNITS, AUTO), help="what the jobs' nodes count")
    parser.add_argument(
        "--cores-per-node", type=int, dest="cores", help="processors per node, of SWF"
    )
    return status_of("convert", partial(_convert, parser.parse_args(arguments)))


def _convert(chosen: argparse.Namespace) -> int:
    check_counts(cores_per_node=chosen.cores)
    convert(chosen.source, chosen.target, unit=chosen.unit, cores_per_node=chosen.cores)
    return 0


def losses(workload: Workload, ending: str) -> list[tuple[str, str, int]]:
    """Account entries ("lost", what, number of jobs) of a writer, chosen by the file's ending."""
    by_ending = {".swf": _swf, ".json": _batsim, ".csv": _csv}
    found = by_ending[ending](workload) if ending in by_ending else []
    return [("lost", reason, int(jobs)) for reason, jobs in found if jobs]


def _columns_lost(workload: Workload, kept: tuple[str, ...]) -> list[tuple[str, int]]:
    """The columns that are not kept, and for how many jobs each is known."""
    others = [column for column in workload.jobs if column not in kept]
    return [(f"column {column}", int(workload.jobs[column].notna().sum())) for column in others]


def _swf(workload: Workload) -> list[tuple[str, int]]:
    found = _columns_lost(workload, HELD_BY_SWF)
    for column in LABELS:
        labels = workload.column(column)
        if not all_numbers(labels):
            what = "names of {}s, numbered (they stand in the header)"
            if column not in ("queue", "partition"):
                what = "names of {}s, numbered"
            found.append((what.format(column), int(labels.notna().sum())))
    found.append(("memory of 0, read as unknown", int((workload.column("memory") == 0).sum())))
    return found + _machine_lost(workload, "partitions, memory and bandwidths of the machine")


def _batsim(workload: Workload) -> list[tuple[str, int]]:
    jobs = workload.jobs
    found = [("job of run time 0, which Batsim refuses", int((jobs["run_time"] == 0).sum()))]
    numbers = workload.column("job_id")[jobs["run_time"] > 0]
    if not (numbers.notna().all() and numbers.is_unique):
        found.append(("job number, not one per job: numbered from 1", int(numbers.notna().sum())))
    longer = int((jobs["run_time"] > jobs["requested_time"]).sum())
    found.append(("run time over the requested time: Batsim stops it there", longer))
    found += _columns_lost(workload, HELD_BY_BATSIM)
    return found + _machine_lost(workload, "name, partitions, memory and bandwidths of the machine")


def _csv(workload: Workload) -> list[tuple[str, int]]:
    found = [("name, calendar time, account", len(workload))]
    return found + ([("machine", len(workload))] if workload.machine else [])


def _machine_lost(workload: Workload, what: str) -> list[tuple[str, int]]:
    """What is lost of the machine, entered for all jobs where there is something to lose."""
    machine = workload.machine
    if machine is None:
        return []
    quantities = (machine.memory_per_node, machine.aggregate_bandwidth, machine.node_bandwidth)
    more = len(machine.partitions) > 1 or bool(np.isfinite(quantities).any())
    return [(what, len(workload))] if more or "name" in what else []


if __name__ == "__main__":
    sys.exit(main())
