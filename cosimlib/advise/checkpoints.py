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

from cosimlib import checks as check
from cosimlib.advise.slurm import RUNNING
from cosimlib.units import DAY, HOUR, MINUTE

PATTERNS = {"job_name": "name", "command": "command", "account": "account",
            "partition": "partition", "user": "user", "qos": "qos"}  # fmt: skip
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
        place = self._matched(jobs)
        known = [*self.applications, Application("", {})]
        sized = {id(each): self._sizes(each) for each in known}
        interval = np.array([each.interval for each in known])[place]
        levels = [np.array([level in each.checkpoint for each in known])[place] for level in LEVELS]
        memory, critical, node = np.array([sized[id(each)] for each in known], dtype=float)[place].T
        granted = jobs["memory"].to_numpy() / np.maximum(held, 1)
        fallback = np.nan if self.memory_per_node is None else self.memory_per_node
        memory = np.where(np.isnan(memory), np.where(granted > 0, granted, fallback), memory)
        critical = np.where(np.isnan(critical), CRITICAL_SHARE * memory, critical)
        alive = ((jobs["state"] == RUNNING) & jobs["batch"]).to_numpy()
        run = jobs["run"].to_numpy()
        app, sys = (level & alive for level in levels)
        lost = np.where(levels[0] & jobs["batch"].to_numpy(), run % interval, run)
        return pd.DataFrame(
            {
                "application": np.array([each.name for each in known], dtype=object)[place],
                "evict": np.array([each.evict for each in known])[place],
                "lost": lost,
                "app_wait": np.where(app, interval - run % interval, np.inf),
                "app_write": np.where(app, self._write(held, critical, node), np.inf),
                "sys_write": np.where(sys, self._write(held, memory, node), np.inf),
                "checkpoint_command": np.array(
                    [each.checkpoint_command for each in known], dtype=object
                )[place],
            },
            index=jobs.index,
        )

    def _matched(self, jobs: pd.DataFrame) -> np.ndarray:
        """The place of each job's application; one behind the last where none matches."""
        columns = list(PATTERNS.values())
        found: dict[tuple, int] = {}
        places = np.empty(len(jobs), dtype=np.int64)
        for row, values in enumerate(zip(*(jobs[name] for name in columns), strict=True)):
            if values not in found:
                job = dict(zip(columns, values, strict=True))
                matching = (n for n, each in enumerate(self.applications) if each.matches(job))
                found[values] = next(matching, len(self.applications))
            places[row] = found[values]
        return places

    def _sizes(self, each: Application) -> tuple[float, float, float]:
        """Memory, critical data (GB per node) and bandwidth of a node; NaN if not told."""
        memory = np.nan if each.memory is None else each.memory
        critical = np.nan if each.critical is None else each.critical
        node = self.node_bandwidth if each.node_bandwidth is None else each.node_bandwidth
        return memory, critical, node

    def _write(self, held: np.ndarray, size: np.ndarray, node: np.ndarray) -> np.ndarray:
        """Seconds of a checkpoint of `size` GB per node; inf where the size is unknown."""
        seconds = np.maximum(held * size / self.aggregate_bandwidth, size / node)
        return np.where(np.isnan(seconds), np.inf, seconds)


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
    applications = tuple(_application(each, f"{where}: application {n}")
                         for n, each in enumerate(listed, 1))  # fmt: skip
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
            raise ValueError(f"{where}: no key {key!r}; expected {', '.join(known)}")


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
