"""Cluster at one moment: its nodes and the jobs that hold them, from the output of Slurm.

Nothing here changes a cluster: the only commands run are ``squeue --json`` and ``sinfo --json``.
"""

import os
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from pathlib import Path

import numpy as np
import pandas as pd

from cosimlab.advise.slurm import (
    EARLIEST,
    LATEST,
    RUNNING,
    UNKNOWN,
    Printed,
    held_by,
    read_machine,
    read_queue,
    refuse_errors,
)
from cosimlib import checks as check
from cosimlib.display import Displayed, Facts, count
from cosimlib.files import STANDARD_INPUT
from cosimlib.traces.account import TraceError, read_bytes
from cosimlib.traces.texts import label, read_json

COMMANDS = {"squeue": ("squeue", "--all", "--json"), "sinfo": ("sinfo", "--all", "--json")}
PATIENCE = 60.0
"""Seconds that one of Slurm's commands may take."""
EXPECTED = "what squeue --json or sinfo --json prints"
STALE = 600.0
"""Seconds after which a file's time is doubted as that of its content."""


@dataclass(frozen=True, eq=False, repr=False)
class Cluster(Displayed):
    """Cluster at one moment: the jobs that hold nodes, and the nodes.

    Parameters
    ----------
    name : str
        Name of the cluster, or of the file.
    now : float
        Seconds since 1970.
    jobs : pd.DataFrame
        One row per job that holds nodes (see `cosimlab.advise.slurm`).
    nodes : pd.DataFrame
        One row per node (see `cosimlab.advise.slurm`).
    waiting, held : int
        Number of waiting jobs, and of those that are held.
    release : str
        Release of Slurm; empty if unknown.
    notes : tuple of str
        Oddities of the output of Slurm.
    queue : pd.DataFrame, optional
        One row per job that waits and is not held (see `cosimlab.advise.slurm`).
    doubt : str
        Why `now` is doubtful, which is the time of a file; else empty.
    """

    name: str
    now: float
    jobs: pd.DataFrame
    nodes: pd.DataFrame
    waiting: int = 0
    held: int = 0
    release: str = ""
    notes: tuple[str, ...] = ()
    queue: pd.DataFrame | None = None
    doubt: str = ""

    @property
    def moment(self) -> datetime:
        """The moment on the local clock."""
        return datetime.fromtimestamp(self.now).astimezone()

    @cached_property
    def places(self) -> tuple[pd.Index, np.ndarray, np.ndarray]:
        """Names of all nodes; then, per pair of a job and a node it holds, the rows of both."""
        names = list(held_by(self.jobs))
        sizes = np.array([len(each) for each in names], dtype=np.int64)
        flat = [name for each in names for name in each]
        index = self.nodes.index.astype("object").append(pd.Index(flat, dtype="object")).unique()
        return index, np.repeat(np.arange(len(names)), sizes), index.get_indexer(flat)

    @cached_property
    def shares(self) -> np.ndarray:
        """Whole nodes' worth of each job: its dominant share of CPUs, memory or GPUs.

        Times the nodes that it holds; all of them where its share cannot be told.
        """
        index, job, node = self.places
        held = np.bincount(job, minlength=len(self.jobs)).astype(np.float64)
        share = np.full(len(self.jobs), np.nan)
        for name in ("cpus", "memory", "gpus"):
            has = self.nodes[name].reindex(index).to_numpy(dtype=np.float64)[node]
            total = np.bincount(job, weights=has, minlength=len(self.jobs))
            with np.errstate(divide="ignore", invalid="ignore"):
                part = self.jobs[name].to_numpy() / total
            share = np.fmax(share, np.where(np.isfinite(part), part, np.nan))
        share = np.where(share > 0, share, 1.0)
        return held * np.minimum(share, 1.0)

    def _heading(self) -> str:
        return f"{self.name} at {self.moment:%Y-%m-%d %H:%M:%S %Z}"

    def _facts(self) -> Facts:
        return {
            "jobs": lambda: f"{count(len(self.jobs), 'job')} on nodes, {self.waiting:,} waiting",
            "nodes": lambda: f"{len(self.nodes):,}",
            "Slurm": lambda: self.release,
        }


def read_cluster(*sources: str | Path, now: float | None = None) -> Cluster:
    """Cluster from saved output of ``squeue --json`` and ``sinfo --json``, or from Slurm itself.

    Parameters
    ----------
    *sources : str or Path
        Both files in any order, recognized by their structure, gzip allowed; ``"-"`` is standard
        input. Without files, both commands are run here.
    now : float, optional
        Time of the saved output, seconds since 1970; by default the time in the output (from Slurm
        23.11 on), else the time of the file.

    Raises
    ------
    TraceError
        If a file is something else (names file, place and value), a command cannot be run or fails,
        one of the two files is missing, or there are two of one kind.
    """
    if now is not None:
        check.number("now", now, above=EARLIEST, below=LATEST, kind="seconds since 1970,")
    inputs = [source for source in sources if str(source) == STANDARD_INPUT]
    if len(inputs) > 1:
        raise TraceError(
            "standard input is given twice, and can be read only once; save one of the outputs "
            "in a file, and name that"
        )
    texts = [_loaded(source) for source in sources] or [_asked(name) for name in COMMANDS]
    found: dict[str, Printed] = {}
    for path, data, recorded_at in texts:
        kind, records, document = read_json(path, data, EXPECTED, "jobs", "nodes", "sinfo")
        refuse_errors(path, document)
        command = "squeue" if kind == "jobs" else "sinfo"
        if command in found:
            raise TraceError(
                f"{path}: a second output of {command}; {found[command].path} is the first"
            )
        found[command] = Printed(path, kind, records, document, recorded_at)
    for command in COMMANDS:
        if command not in found:
            names = ", ".join(str(path) for path, _, _ in texts)
            raise TraceError(f"{names}: expected also what {command} --json prints")
    return _assembled(found["squeue"], found["sinfo"], now, saved=bool(sources))


def _assembled(squeue: Printed, sinfo: Printed, now: float | None, *, saved: bool) -> Cluster:
    """The cluster of what squeue and sinfo said."""
    jobs, queue, counts, moment = read_queue(squeue, now)
    by_file = saved and now is None and "last_update" not in squeue.document
    meta = squeue.document.get("meta")
    slurm = (meta.get("slurm") or meta.get("Slurm")) if isinstance(meta, dict) else None
    slurm = slurm if isinstance(slurm, dict) else {}
    name = label(slurm.get("cluster")) or (squeue.path.name if saved else "this cluster")
    return Cluster(
        name,
        moment,
        jobs,
        read_machine(sinfo),
        counts["waiting"] + counts["held"],
        counts["held"],
        label(slurm.get("release")) or "",
        tuple(_oddities(jobs, moment)),
        queue,
        _doubt(jobs, moment) if by_file else "",
    )


def _doubt(jobs: pd.DataFrame, now: float) -> str:
    """Why the time of a file is hardly that of its content; empty if it may be."""
    running = jobs[jobs["state"] == RUNNING]
    past = running["end"] < now - STALE
    if not len(running) or past.mean() <= 0.5:
        return ""
    return (
        f"{int(past.sum()):,} of {count(len(running), 'running job')} past their limits by the "
        "time of the file, which may be newer than what it says; losses may be too high: give the "
        "time at which squeue ran with --now"
    )


def _oddities(jobs: pd.DataFrame, now: float) -> list[str]:
    """Records that are odd at a moment."""
    notes = []
    running = jobs[jobs["state"] == RUNNING]
    if ahead := int((running["start"] > now + STALE).sum()):
        notes.append(
            f"{count(ahead, 'job')} started after the moment of the advice: is it the right one?"
        )
    unknown = jobs.loc[jobs["state"] == UNKNOWN, "label"].tolist()
    if unknown:
        notes.append(
            f"{count(len(unknown), 'job')} left alone: state, start or nodes are unknown "
            f"({', '.join(unknown[:5])}{', …' * (len(unknown) > 5)})"
        )
    return notes


def _loaded(source: str | Path) -> tuple[Path, bytes, float]:
    """A saved output, and the time of its file."""
    if str(source) == STANDARD_INPUT:
        return Path("standard input"), sys.stdin.buffer.read(), time.time()
    path = Path(source)
    try:
        # A pipe, such as the shell's <(squeue --json), is no regular file.
        data = read_bytes(path) if path.is_file() else path.read_bytes()
        return path, data, path.stat().st_mtime
    except OSError as error:
        raise TraceError(f"{path}: {error.strerror or error}") from error


def _asked(name: str) -> tuple[Path, bytes, float]:
    """What one of Slurm's commands prints now."""
    command = COMMANDS[name]
    advice = f"run it on the cluster, {name} --json > {name}.json, and name the file"
    return Path(" ".join(command)), printed_by(command, advice), time.time()


def printed_by(command: Sequence[str], advice: str, **variables: str) -> bytes:
    """What a command of Slurm's prints; the error for one that is not installed gives advice."""
    shown = " ".join(command[:3])
    try:
        done = subprocess.run(
            command,
            capture_output=True,
            timeout=PATIENCE,
            check=False,
            env={**os.environ, **variables},
        )
    except FileNotFoundError as error:
        raise TraceError(f"{command[0]} is not installed here; {advice}") from error
    except (OSError, subprocess.TimeoutExpired) as error:
        raise TraceError(f"{shown}: {error}; {advice}") from error
    if done.returncode:
        lines = done.stderr.decode("utf-8", "replace").strip().splitlines()
        raise TraceError(f"{shown} failed: {lines[-1] if lines else f'code {done.returncode}'}")
    return done.stdout
