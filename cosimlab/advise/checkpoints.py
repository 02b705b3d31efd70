"""Checkpoint model of a site's applications, from a TOML file: which jobs can write one, how long.

Without a file, or if no application in it matches, a job can only be killed, and loses all its work
since its start. An application matches jobs by patterns (``*``, ``?``, ``[abc]``) of `job_name`,
`command` (the batch script's path), `account`, `partition`, `user` or `qos`. All its patterns must
match; the first application that matches counts. It has these keys:

- `checkpoint`: ``["app"]``, ``["sys"]``, both or none. ``"app"``: the application saves itself
  after every `interval` of its run, and its work until then survives a kill. ``"sys"``: all its
  memory can be written at any moment;
- `interval`: by default an hour;
- `memory`: GB per node of a system-level checkpoint; by default what Slurm granted, else the
  machine's `memory_per_node`;
- `critical`: GB per node of a checkpoint by the application; by default 40 % of `memory`;
- `node_bandwidth`: GB/s that one of its nodes can write; by default the machine's;
- `checkpoint_command`: command for a system-level checkpoint, with ``{job}`` for the job's number;
- `evict`: false for jobs that must not be stopped.

A checkpoint takes ``max(nodes · size / aggregate_bandwidth, size / node_bandwidth)`` seconds, as in
Maurya et al. (DS-RT 2020), Equation 1.

Durations are written as ``900``, ``90s``, ``15m``, ``1h30m`` or ``2d``.
"""

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from cosimlab.advise.slurm import RUNNING
from cosimlib import checks as check
from cosimlib.units import DAY, HOUR, MINUTE

PATTERNS = {
    "job_name": "name",
    "command": "command",
    "account": "account",
    "partition": "partition",
    "user": "user",
    "qos": "qos",
}
"""Keys of an application that are patterns, and the column of a job that each is about."""
LEVELS = ("app", "sys")
CRITICAL_SHARE = 0.4
"""Critical data per memory: the middle of the 20–60 % that Maurya et al. take."""
NODE_BANDWIDTH = 1.0
INTERVAL = HOUR
UNITS = {"s": 1.0, "m": MINUTE, "min": MINUTE, "h": HOUR, "d": DAY}
PART = re.compile(r"(\d+(?:\.\d+)?)\s*(s|min|m|h|d)")
WHOLE = re.compile(rf"(?:{PART.pattern}\s*)+")


@dataclass(frozen=True)
class Application:
    """Application of the model: what one kind of job can do to save itself."""

    name: str
    patterns: Mapping[str, str]
    checkpoint: tuple[str, ...] = ()
    interval: float = INTERVAL
    memory: float | None = None
    critical: float | None = None
    node_bandwidth: float | None = None
    checkpoint_command: str = ""
    evict: bool = True

    def matches(self, job: Mapping[str, str]) -> bool:
        """Whether all its patterns match a job's values."""
        return all(fnmatchcase(job[PATTERNS[key]], text) for key, text in self.patterns.items())


NO_APPLICATION = Application("", {})


@dataclass(frozen=True)
class CheckpointModel:
    """Checkpoint model of a site: its applications, and the bandwidths of its machine.

    Parameters
    ----------
    applications : tuple of Application
        The first that matches a job counts.
    aggregate_bandwidth : float
        Of the parallel file system, GB/s; infinite if no application writes checkpoints.
    node_bandwidth : float, default 1.0
        Bandwidth of one node, GB/s.
    memory_per_node : float, optional
        GB, for jobs whose memory is unknown to Slurm.
    """

    applications: tuple[Application, ...] = ()
    aggregate_bandwidth: float = np.inf
    node_bandwidth: float = NODE_BANDWIDTH
    memory_per_node: float | None = None
    source: str = field(default="", compare=False)

    def scaled(self, *, bandwidth: float = 1.0, interval: float = 1.0) -> "CheckpointModel":
        """The same with bandwidths and intervals multiplied."""
        applications = tuple(
            replace(
                each,
                interval=each.interval * interval,
                node_bandwidth=each.node_bandwidth and each.node_bandwidth * bandwidth,
            )
            for each in self.applications
        )
        return replace(
            self,
            applications=applications,
            aggregate_bandwidth=self.aggregate_bandwidth * bandwidth,
            node_bandwidth=self.node_bandwidth * bandwidth,
        )

    def applied(self, jobs: pd.DataFrame, held: np.ndarray) -> pd.DataFrame:
        """What the model says of each job.

        Jobs of `salloc` and `srun` are never requeued: whatever they write, a stop is a kill.

        Parameters
        ----------
        jobs : pd.DataFrame
            Of a `Cluster`.
        held : np.ndarray
            Nodes of each.

        Returns
        -------
        pd.DataFrame
            `application` (empty where none matches), `evict`, `lost` (seconds of work that a kill
            loses), `app_wait`, `app_write`, `sys_write` (seconds; inf if there is none),
            `checkpoint_command`.
        """
        known = pd.DataFrame([self._known(each) for each in (*self.applications, NO_APPLICATION)])
        matched = known.iloc[self._matched(jobs)].set_axis(jobs.index)
        fallback = np.nan if self.memory_per_node is None else self.memory_per_node
        granted = jobs["memory"] / np.maximum(held, 1)
        memory = matched["memory"].fillna(granted.where(granted > 0, fallback))
        critical = matched["critical"].fillna(CRITICAL_SHARE * memory)
        alive = (jobs["state"] == RUNNING) & jobs["batch"]
        run, interval, node = jobs["run"], matched["interval"], matched["node_bandwidth"]
        app, sys = (matched[level] & alive for level in LEVELS)
        return matched[["application", "evict", "checkpoint_command"]].assign(
            lost=run.where(~(matched["app"] & jobs["batch"]), run % interval),
            app_wait=(interval - run % interval).where(app, np.inf),
            app_write=self._write(held, critical, node).where(app, np.inf),
            sys_write=self._write(held, memory, node).where(sys, np.inf),
        )

    def _known(self, each: Application) -> dict[str, Any]:
        """What the model says of one application; NaN where it does not tell."""
        sizes = {"memory": each.memory, "critical": each.critical}
        node = self.node_bandwidth if each.node_bandwidth is None else each.node_bandwidth
        return {
            "application": each.name,
            "evict": each.evict,
            "interval": each.interval,
            "checkpoint_command": each.checkpoint_command,
            "node_bandwidth": node,
            **{level: level in each.checkpoint for level in LEVELS},
            **{name: np.nan if size is None else size for name, size in sizes.items()},
        }

    def _matched(self, jobs: pd.DataFrame) -> list[int]:
        """The place of each job's application; one behind the last where none matches."""
        columns = list(PATTERNS.values())
        kinds = list(jobs[columns].itertuples(index=False, name=None))
        found = {kind: self._match(dict(zip(columns, kind, strict=True))) for kind in set(kinds)}
        return [found[kind] for kind in kinds]

    def _match(self, job: Mapping[str, str]) -> int:
        """The place of the first application that matches a job's values."""
        matching = (n for n, each in enumerate(self.applications) if each.matches(job))
        return next(matching, len(self.applications))

    def _write(self, held: np.ndarray, size: pd.Series, node: pd.Series) -> pd.Series:
        """Seconds of a checkpoint of `size` GB per node; inf where the size is unknown."""
        return np.maximum(held * size / self.aggregate_bandwidth, size / node).fillna(np.inf)


def read_model(path: str | Path) -> CheckpointModel:
    """Checkpoint model in a TOML file; ``docs/advise.example.toml`` is an example.

    Raises
    ------
    ValueError
        If it is wrong; names file, application, key, value and what was expected.
    """
    path = Path(path)
    try:
        table = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ValueError(f"{path}: {error.strerror or error}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ValueError(f"{path}: not TOML: {error}") from error
    return model_of(table, str(path))


def model_of(table: Mapping[str, Any], where: str = "model") -> CheckpointModel:
    """The model of a TOML document that is read already."""
    _only(table, ("machine", "application"), where)
    machine, listed = table.get("machine", {}), table.get("application", [])
    _table(machine, "[machine]", where)
    if not isinstance(listed, list):
        check.that("application", listed, False, "tables [[application]]", where=where)
    keys = ("aggregate_bandwidth", "node_bandwidth", "memory_per_node")
    _only(machine, keys, f"{where}: machine")
    numbers = {key: _amount(machine, key, f"{where}: machine") for key in keys if key in machine}
    applications = tuple(
        _application(each, f"{where}: application {n}") for n, each in enumerate(listed, 1)
    )
    if any(each.checkpoint for each in applications) and "aggregate_bandwidth" not in numbers:
        raise ValueError(
            f"{where}: machine has no aggregate_bandwidth; expected GB/s of the parallel file "
            "system, because applications write checkpoints to it"
        )
    return CheckpointModel(applications, source=where, **numbers)


def _application(table: Any, where: str) -> Application:
    """One table of a TOML document, checked."""
    _table(table, "a table [[application]]", where)
    known = {each.name for each in fields(Application)} - {"patterns"}
    _only(table, [*sorted(known), *PATTERNS], where)
    values = dict(table)
    name = values.pop("name", None)
    if not isinstance(name, str) or not name:
        check.that("name", name, False, "a text", where=where)
    where = f"{where} ({name})"
    patterns = {key: values.pop(key) for key in PATTERNS if key in values}
    for key, text in patterns.items():
        check.that(key, text, isinstance(text, str) and bool(text), "a pattern", where=where)
    if not patterns:
        raise ValueError(f"{where}: no pattern; expected one of {', '.join(PATTERNS)}")
    levels = values.pop("checkpoint", [])
    fine = isinstance(levels, list) and all(level in LEVELS for level in levels)
    check.that("checkpoint", levels, fine, "a list of 'app' and 'sys'", where=where)
    if "evict" in values:
        check.flag("evict", values["evict"], where=where)
    command = values.get("checkpoint_command", "")
    fine = isinstance(command, str) and command.isprintable()
    check.that("checkpoint_command", command, fine, "one line of text", where=where)
    if "interval" in values:
        try:
            values["interval"] = seconds_of(values["interval"], "interval", above=0)
        except ValueError as error:
            raise ValueError(f"{where}: {error}") from error
    for key in ("memory", "critical", "node_bandwidth"):
        if key in values:
            values[key] = _amount(values, key, where)
    return Application(name, patterns, tuple(levels), **values)


def _amount(table: Mapping[str, Any], key: str, where: str) -> float:
    unit = "GB" if key in ("memory", "critical", "memory_per_node") else "GB/s"
    check.number(key, table[key], above=0, below=1e12, kind=f"{unit}", where=where)
    return float(table[key])


def _table(value: object, expected: str, where: str) -> None:
    check.that("value", value, isinstance(value, dict), expected, where=where)


def _only(table: Mapping[str, Any], known: Any, where: str) -> None:
    """Raise an error for the first key that is not known: it may be misspelled."""
    for key in table:
        if key not in known:
            raise ValueError(f"{where}: unknown key {key!r}; expected {', '.join(known)}")


def seconds_of(value: object, name: str, *, above: float | None = None) -> float:
    """Seconds of a number or of a text such as ``"15m"``.

    Raises
    ------
    ValueError
        Naming the value and what was expected.
    """
    found = value
    if isinstance(value, str):
        text = value.strip().lower()
        if re.fullmatch(r"\d+(?:\.\d+)?", text):
            found = float(text)
        elif WHOLE.fullmatch(text):
            found = sum(float(number) * UNITS[unit] for number, unit in PART.findall(text))
        else:
            check.that(name, value, False, "seconds, or a duration such as '90s', '15m', '1h30m'")
    check.seconds(name, found, above=above)
    return float(found)  # type: ignore[arg-type]
