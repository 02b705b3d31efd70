"""Jobs for a site: accounting records of sacct, or a list of submissions (``.events``).

A list of submissions is that of the UB Slurm Simulator, plain or gzip: one job a line, such as
``-dt 49 -e submit_batch_job | -sim-walltime 1201 --uid=anna -t 30 -n 24 -p main``. `-dt` is the
time of submission (s), `-sim-walltime` how long the job really runs (s; −1: until its limit); the
rest are options of sbatch. A job given by `-n` alone gets as many nodes as these tasks need on the
largest nodes of its partition, unless ``--ntasks-per-node`` says otherwise.

A job that sacct records with UNLIMITED or Partition_Limit, or that is submitted with ``-t 0`` or
``-t UNLIMITED``, has no limit of its own: it is `unlimited`, and has the MaxTime of its partition.
"""

import gzip
import math
import re
from collections.abc import Callable
from pathlib import Path

import pandas as pd

from cosimlab.slurm.configuration import gres_of
from cosimlib.slurm.site import NO_LIMIT, Site
from cosimlib.slurm.values import SettingError, memory_of, number, time_of, whole
from cosimlib.traces import read_sacct
from cosimlib.traces.account import TraceError
from cosimlib.workload import Workload

MEGABYTES = 1024
GIGABYTE = 2**30 / 1e9
"""GB of 10⁹ bytes, in which logs tell memory, in one of Slurm's GB."""

SUBMISSION = re.compile(r"\s*-dt\s+(\S+)\s+-e\s+submit_batch_job\s*\|\s*(.*)")
OPTION = re.compile(r"(?<!\S)(--?[A-Za-z][\w-]*)(?:=|\s+)?((?!-[A-Za-z-])\S*)")
SHORT = {
    "-N": "nodes",
    "-n": "ntasks",
    "-t": "time",
    "-q": "qos",
    "-p": "partition",
    "-A": "account",
    "-c": "cpus-per-task",
    "-C": "constraint",
    "-sim-walltime": "run",
    "-jid": "job",
    "-J": "name",
}
FEATURES = r"[\w.:-]+(&[\w.:-]+)*"
KNOWN = frozenset(
    [*SHORT.values(), "uid", "mem", "mem-per-cpu", "gres", "ntasks-per-node", "exclusive", "nice"]
)


def read_jobs(path: str | Path, site: Site) -> Workload:
    """Jobs of a file, with the columns that `cosimlib.slurm.simulate` takes.

    Parameters
    ----------
    path : str or Path
        What ``sacct`` printed (see `cosimlib.read_sacct`), or a list of submissions, whose name has
        ``.events`` in it.
    site : Site
        Its nodes tell how many of them a number of tasks needs.

    Returns
    -------
    Workload
        `recorded_start` is missing for submissions.

    Raises
    ------
    FileNotFoundError
    TraceError
        If a line is damaged.
    """
    path = Path(path)
    return _events(path, site) if ".events" in path.name else _sacct(path)


def _sacct(path: Path) -> Workload:
    """Records of sacct; memory in Slurm's GB, the group as account, the queue as partition.

    Of constraints only lists of features (``a&b``) are taken.
    """
    read = read_sacct(path, verbose=False)
    jobs = read.jobs.assign(
        account=read.column("group"),
        partition=read.column("queue"),
        memory=read.column("memory") / GIGABYTE,
        unlimited=read.jobs["requested_time"].isna(),
    )
    if "constraint" in jobs:
        is_list = jobs["constraint"].str.fullmatch(FEATURES).fillna(False)
        jobs["constraint"] = jobs["constraint"].where(is_list)
    return Workload(jobs, read.name, read.machine, read.account, read.began)


def _events(path: Path, site: Site) -> Workload:
    """A list of submissions."""
    open_text = gzip.open if path.suffix == ".gz" else open
    rows = []
    with open_text(path, "rt", encoding="utf-8", errors="replace") as file:
        for line_number, line in enumerate(file, 1):
            if not line.strip() or line.lstrip().startswith("#"):
                continue
            place = f"{path}: line {line_number}"
            match = SUBMISSION.match(line)
            if match is None:
                raise TraceError(
                    f"{place}: {line.strip()[:80]!r}; expected -dt SECONDS -e submit_batch_job | "
                )
            try:
                rows.append(_submission(match[1], match[2], site))
            except SettingError as error:
                raise TraceError(f"{place}: {error}; mend or remove the line") from None
    if not rows:
        raise TraceError(f"{path}: no submission in it; expected one a line")
    jobs = pd.DataFrame(rows).sort_values("submit_time", kind="stable", ignore_index=True)
    return Workload(jobs, path.name.partition(".")[0])


def _submission(at: str, text: str, site: Site) -> dict:
    """The job of a submission."""
    asked = {SHORT.get(m[1], m[1].lstrip("-")): m[2] for m in OPTION.finditer(text)}
    unknown = [name for name in asked if name not in KNOWN]
    if unknown:
        raise SettingError(f"option {unknown[0]!r}; expected one of {', '.join(sorted(KNOWN))}")
    if "uid" not in asked or "run" not in asked:
        raise SettingError("a job without --uid and -sim-walltime; expected both")
    limit = _value(asked, "time", time_of, math.nan)
    unlimited = limit in (0.0, NO_LIMIT)
    limit = math.nan if unlimited else limit
    run = _value(asked, "run", number, 0.0)
    nodes, cores = _size(asked, site)
    row = {
        "submit_time": _value({"dt": at}, "dt", number, 0.0),
        "run_time": (limit if limit > 0 else 365 * 86_400.0) if run < 0 else run,
        "requested_time": limit,
        "unlimited": unlimited,
        "nodes": nodes,
        "requested_nodes": nodes if "nodes" in asked else 1,
        "cores": math.nan if "exclusive" in asked else float(cores),
        "memory": _memory(asked, cores),
        "gpus": gres_of(asked.get("gres", "")).get("gpu", 0),
        "exclusive": "exclusive" in asked,
        "nice": _value(asked, "nice", number, 0.0),
        "user": asked["uid"],
    }
    names = ("account", "qos", "partition", "constraint")
    return row | {name: asked.get(name) or pd.NA for name in names}


def _value(asked: dict[str, str], name: str, read: Callable[[str], float], missing: float) -> float:
    """An option's value; the error names both."""
    if name not in asked:
        return missing
    try:
        return read(asked[name])
    except SettingError as error:
        raise SettingError(f"{name} {asked[name]!r}; expected {error}") from None


def _size(asked: dict[str, str], site: Site) -> tuple[int, int]:
    """Nodes, and cores of each."""
    tasks = _value(asked, "ntasks", whole, 0)
    per_task = _value(asked, "cpus-per-task", whole, 1)
    per_node = _value(asked, "ntasks-per-node", whole, 0)
    if "nodes" in asked:
        least = asked["nodes"].partition("-")[0]
        nodes = _value({"nodes": least}, "nodes", whole, 1)
    elif per_node:
        nodes = math.ceil(max(tasks, 1) / per_node)
    else:
        nodes = math.ceil(max(tasks, 1) * per_task / _largest(asked, site))
    nodes = max(int(nodes), 1)
    per_node = math.ceil(tasks / nodes) if tasks else max(per_node, 1)
    return nodes, int(max(per_node, 1) * per_task)


def _largest(asked: dict[str, str], site: Site) -> int:
    """Cores of the largest node of a job's partition."""
    name = asked.get("partition", "")
    default = [one for one in site.partitions.values() if one.default]
    chosen = site.partitions.get(name) or (default or list(site.partitions.values()))[0]
    return max((site.nodes[row].cores for row in chosen.nodes), default=1)


def _memory(asked: dict[str, str], cores: int) -> float:
    """Slurm's GB per node; NaN for the partition's default."""
    if "mem" in asked:
        return _value(asked, "mem", memory_of, 0.0) / MEGABYTES
    if "mem-per-cpu" in asked:
        return _value(asked, "mem-per-cpu", memory_of, 0.0) * cores / MEGABYTES
    return math.nan
