"""Writers of workloads: CSV and parquet with all columns, and the document that Batsim reads.

`cosimlib.write_swf` writes the Standard Workload Format. `traces.load` reads all of them back.
"""

import io
import json
from dataclasses import asdict, fields
from pathlib import Path

import pandas as pd

from cosimlib.extras import needed_by
from cosimlib.files import write_whole
from cosimlib.system import System
from cosimlib.traces.account import TraceError, compressed, written
from cosimlib.traces.columns import KEY
from cosimlib.workload import Workload, check_workload


def write_csv(workload: Workload, path: str | Path) -> Path:
    """Write the columns of a workload as CSV, as gzip if `path` ends in ``.gz``."""
    check_workload(workload)
    path = Path(path)
    write_whole(path, compressed(path, written(workload.jobs)))
    return path


def write_parquet(workload: Workload, path: str | Path) -> Path:
    """Write a workload as parquet, with name, machine and account. Needs the extra `parquet`."""
    check_workload(workload)
    path = Path(path)
    with needed_by(f"writing {path.name}"):
        import pyarrow
        import pyarrow.parquet as parquet
    table = pyarrow.Table.from_pandas(workload.jobs, preserve_index=False)
    machine = None
    if workload.machine is not None:
        values = {field.name: getattr(workload.machine, field.name) for field in fields(System)}
        machine = values | {
            "partitions": dict(values["partitions"]),
            "node_types": [asdict(each) for each in values["node_types"]],
        }
    began = workload.began
    known = {
        "name": workload.name,
        "machine": machine,
        "account": workload.account.to_numpy().tolist(),
        "began": began
        and [began.tz_localize(None).isoformat(), began.tzinfo and str(began.tzinfo)],
    }
    metadata = {**(table.schema.metadata or {}), KEY: json.dumps(known).encode()}
    content = io.BytesIO()
    parquet.write_table(table.replace_schema_metadata(metadata), content)
    write_whole(path, content.getvalue())
    return path


def write_batsim(workload: Workload, path: str | Path) -> Path:
    """Write a workload as a document that Batsim reads, as gzip if `path` ends in ``.gz``.

    A job's profile is a delay of its run time; Batsim stops it at its walltime, the requested time,
    and refuses delays of 0: such jobs are left out. Numbers of jobs are kept where each has one of
    its own. `cosimlab.convert` counts what else a document does not hold.

    Parameters
    ----------
    workload : Workload
    path : str or Path
        An existing file is replaced only after everything has been written.

    Returns
    -------
    Path
        The path of the file.
    """
    check_workload(workload)
    path = Path(path)
    jobs = workload.jobs[workload.jobs["run_time"] > 0]
    if not len(jobs):
        raise TraceError(f"{workload.name}: no job to write to {path}")
    numbers = workload.column("job_id")[jobs.index]
    own = numbers.notna().all() and numbers.is_unique
    table = pd.DataFrame(
        {
            "id": (numbers if own else jobs.index + 1).astype("int64").astype("str"),
            "subtime": jobs["submit_time"],
            "walltime": jobs["requested_time"],
            "res": jobs["nodes"],
            "profile": jobs["run_time"].map("{:.15g}".format),
        },
        index=jobs.index,
    )
    rows = (
        {key: value for key, value in row.items() if not pd.isna(value)}
        for row in table.to_dict("records")
    )
    profiles = {f"{run:.15g}": {"type": "delay", "delay": run} for run in jobs["run_time"].unique()}
    machine = workload.machine
    resources = machine.total_nodes if machine else int(jobs["nodes"].max())
    text = ",\n".join(json.dumps(row) for row in rows)
    document = (
        f'{{"nb_res": {resources},\n"jobs": [\n{text}\n],\n"profiles": {json.dumps(profiles)}}}\n'
    )
    write_whole(path, compressed(path, document.encode()))
    return path
