"""PM100: the exclusive jobs of Marconi100 from May to October 2020, with their power, in parquet.

The file, job_table.parquet, is at https://doi.org/10.5281/zenodo.10127767 (Antici et al., SC-W,
2023); the job tables of the M100 data set have the same columns. Its Slurm's time_limit is in
minutes, its run_time in seconds; times bear their zone. The lists of power samples are not loaded.
"""

from pathlib import Path

import pandas as pd

from cosimlib import checks as check
from cosimlib.system import NodeType, System
from cosimlib.traces import records
from cosimlib.traces.account import Account, assemble, base_name, parses
from cosimlib.traces.parquet import labels, numbers, read_batches, seconds
from cosimlib.traces.records import ARRIVALS, AUTO, UNITS, Arrival, Unit
from cosimlib.units import MINUTE
from cosimlib.workload import Workload

CORES, THREADS, GPUS = 32, 128, 4
MARCONI100 = System(
    "Marconi100",
    {"main": 980},
    cores_per_node=CORES,
    memory_per_node=256.0,
    node_types=(NodeType(980, cores=THREADS, memory=256.0, gpus=GPUS, model="V100"),),
)
"""CINECA's IBM AC922: 2 × 16 cores of POWER9 with 4 threads each, and 4 V100 per node.

Slurm counted threads there, so that `cores` of the log and of the node types are threads.
"""
TIMES = ("submit_time", "eligible_time", "start_time", "end_time")
NUMBERS = ("run_time", "time_limit", "num_nodes_alloc", "num_nodes_req", "num_cores_alloc",
           "num_cores_req", "num_gpus_alloc", "num_gpus_req", "mem_alloc", "job_id")  # fmt: skip
LABELS = ("user_id", "group_id", "partition", "qos", "job_state")
NEEDED = ("submit_time", "start_time", "run_time", "num_nodes_alloc")
FORMAT = "the job table of PM100"
FINISHED = {"COMPLETED": 1, "CANCELLED": 5}
INFINITE = 2.0**31
"""Slurm's INFINITE and NO_VAL, as time limits, are close to 2³²."""


@parses("the job table of PM100")
def read_pm100(
    path: str | Path,
    *,
    unit: Unit = "nodes",
    arrival: Arrival = "submit",
    name: str | None = None,
    verbose: bool = True,
) -> Workload:
    """Workload of PM100, or of a job table of M100. Needs the extra `parquet`.

    Parameters
    ----------
    path : str or Path
    unit : {"nodes", "cores", "gpus", "auto"}
        What a node of the workload is, as allocated, or as requested if that is unknown;
        ``"auto"``: what is scarce, nodes unless jobs share them.
    arrival : {"submit", "eligible"}
        What counts as `submit_time`.
    name : str, optional
        Name of the workload; by default the file's name without its endings.
    verbose : bool, default True
        Whether to print the account of dropped, mended and noted records.

    Returns
    -------
    Workload
        `submit_time` counts from the first arrival; `eligible_time` is kept beside it; `memory` is
        GB per node, `cores` and `gpus` are those of a node; `machine` Marconi100, in the unit
        chosen. All jobs are exclusive: those that shared nodes are not in PM100, so that the
        machine looks emptier than it was.

    Raises
    ------
    ImportError
        Without pyarrow, naming the extra.
    FileNotFoundError
    TraceError

    Examples
    --------
    >>> import cosimlib as cs
    >>> workload = cs.read_pm100("job_table.parquet", verbose=False)
    >>> workload.jobs[["submit_time", "run_time", "nodes"]].head(3)
       submit_time  run_time  nodes
    0          0.0   24554.0      2
    1        430.0   36503.0      2
    2       1099.0    1915.0      1
    """
    check.choice("unit", unit, (*UNITS, AUTO))
    check.choice("arrival", arrival, ARRIVALS)
    path, account = Path(path), Account()
    wanted = (*TIMES, *NUMBERS, *LABELS)
    batches = read_batches(path, wanted, needed=NEEDED, format_name=FORMAT)
    tables = [_columns(batch) for batch in batches]
    table = pd.concat(tables or [records.table_of({}, 0)], ignore_index=True)
    count = len(table)
    unit = records.scarce_unit(table, account) if unit == AUTO else unit
    table = account.drop(table, records.drop_rules(table, unit))
    state = table["state"].str.upper()
    jobs = records.jobs(table, unit, arrival, account).assign(
        memory=table["memory"],
        status=state.map(FINISHED).astype("Int64").fillna(0).where(state.notna()),
    )
    per_node = {"nodes": 1, "cores": THREADS, "gpus": GPUS}[unit]
    if unit != "nodes":
        jobs = jobs.drop(columns="memory")
    machine = records.machine_in(MARCONI100, unit, per_node)
    name = name or base_name(path)
    first = records.began(records.arrivals(table, arrival))
    return assemble(
        jobs, name, machine, account, path=path, records=count, verbose=verbose, began=first
    )


def is_pm100(beginning: bytes) -> bool:
    """Whether the footer of a parquet file names the columns of PM100."""
    return beginning[:4] == b"PAR1" and b"num_nodes_alloc" in beginning


def _columns(batch: pd.DataFrame) -> pd.DataFrame:
    """The columns of records from those of the job table."""
    limit = numbers(batch, "time_limit")
    columns = {
        name: seconds(batch[column])
        for name, column in zip(("submit", "eligible", "start", "end"), TIMES, strict=True)
        if column in batch
    }
    columns |= {
        "elapsed": numbers(batch, "run_time"),
        "limit": limit.where((limit > 0) & (limit < INFINITE)) * MINUTE,
        "job": numbers(batch, "job_id"),
        "user": labels(batch, "user_id"),
        "group": labels(batch, "group_id"),
        "queue": labels(batch, "partition"),
        "qos": labels(batch, "qos"),
        "state": labels(batch, "job_state"),
    }
    for kind in UNITS:
        allocated, requested = (numbers(batch, f"num_{kind}_{end}") for end in ("alloc", "req"))
        columns[kind] = allocated.where(allocated > 0, requested)
    memory = numbers(batch, "mem_alloc") / columns["nodes"]
    columns = {name: values.reset_index(drop=True) for name, values in columns.items()}
    return records.table_of(columns, len(batch)).assign(memory=memory.where(memory > 0))
