"""Nodes of ``sinfo --json``: which are there, and which of them a burst could use.

Slurm 22.05 lists nodes, newer ones list partitions with the nodes of one state; a node then stands
under each of its partitions. ``scontrol show nodes --json`` is read as well.

Trackable resources of Slurm as text: ``cpu=16,mem=4000M,node=4,gres/gpu=8``.
"""

import math
import re
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from cosimlib.traces.account import TraceError
from cosimlib.traces.documents import Document, label, number
from cosimlib.traces.hosts import expand_hosts, is_host_list

EXPECTED = "what sinfo --json prints"
WORDS = {
    "down": "DOWN ERROR FUTURE",
    "failing": "FAIL FAILING",
    "not responding": "NOT_RESPONDING NO_RESPOND",
    "draining or drained": "DRAIN DRAINED DRAINING",
    "in maintenance": "MAINT MAINTENANCE",
    "reserved": "RESERVED RES",
    "about to reboot": "REBOOT REBOOT_REQUESTED REBOOT_ISSUED",
    "powered down": "POWERED_DOWN POWERING_DOWN POWER_DOWN",
    "powering up": "POWERING_UP POWER_UP",
    "blocked by an exclusive topology": "BLOCKED",
    "in an invalid state": "INVAL INVALID_REG",
    "in use by network counters": "PERFCTRS",
    "in an unknown state": "UNKNOWN",
}
UNUSABLE = {state: why for why, states in WORDS.items() for state in states.split()}
"""Why a node in one of these states, or with one of these flags, is of no use to a burst."""
BUSY = {"ALLOCATED", "ALLOC", "MIXED", "MIX", "COMPLETING", "COMP"}
IDLE = {"IDLE"}
MEGABYTES = {"K": 1 / 1024, "M": 1.0, "G": 1024.0, "T": 1024.0**2, "P": 1024.0**3}
GB = 1024.0**2 / 1e9
"""GB (10⁹ bytes) per megabyte of Slurm's."""
AMOUNT = re.compile(r"(\d{1,15}(?:\.\d{1,15})?)([KMGTP]?)")
GPUS = re.compile(r"(?:^|,)gpu(?::[^:,(]*)?:(\d{1,9})")


def read_machine(path: Path, data: bytes, name: str) -> tuple[pd.DataFrame, dict[str, Any]]:
    """The nodes, and the other values of the document.

    Parameters
    ----------
    path : Path
        For errors.
    data : bytes
    name : {"sinfo", "nodes"}
        The list in which they stand.

    Returns
    -------
    pd.DataFrame
        Indexed by name: `why` it is of no use (empty where it is usable), `busy` (Slurm says that
        jobs are on it), `planned` for a waiting job, `partitions` and `features` as frozensets,
        `cpus`, `memory` (GB) and `gpus`.

    Raises
    ------
    TraceError
    """
    document = Document(path, data, EXPECTED)
    found: dict[str, dict[str, Any]] = {}
    for place, entry in document.jobs(name):
        if not isinstance(entry, dict):
            raise document.refuse(place, f"an entry is {type(entry).__name__}, not a record")
        names, record = _entry(entry)
        if names is None:
            raise document.refuse(place, "an entry names no nodes")
        for node in names:
            known = found.setdefault(node, record)
            if known is not record:
                found[node] = _joined(known, record)
    columns = list(_entry({})[1])
    table = pd.DataFrame.from_dict(found, orient="index", columns=columns)
    table.index.name = "node"
    return table.astype({"cpus": "float64", "memory": "float64", "gpus": "float64"}), document.rest


def _entry(entry: dict[str, Any]) -> tuple[list[str] | None, dict[str, Any]]:
    """The names of the nodes that an entry is about, and what it says of them."""
    grouped = isinstance(entry.get("nodes"), dict)
    node = entry.get("node")
    state = node.get("state") if isinstance(node, dict) else entry.get("state")
    states = {part for text in _texts(state) for part in text.upper().replace("*", "").split("+")}
    states |= {text.upper() for text in _texts(entry.get("state_flags"))}
    features, reservation = entry.get("features"), label(entry.get("reservation"))
    if isinstance(features, dict):
        features = [*_texts(features.get("active")), *_texts(features.get("total"))]
    partition = entry.get("partition")
    partitions = _texts(entry.get("partitions"))
    if isinstance(partition, dict):
        partitions = _texts(partition.get("name"))
    why = next((UNUSABLE[state] for state in UNUSABLE if state in states), "")
    if not why and not states & (BUSY | IDLE):
        why = "in an unknown state"
    record = {
        "why": why or ("reserved" if reservation else ""),
        "busy": bool(states & BUSY),
        "planned": "PLANNED" in states,
        "partitions": frozenset(partitions),
        "features": frozenset(part.strip() for text in _texts(features) for part in text.split(",")
                              if part.strip()),
        **_capacity(entry),
    }  # fmt: skip
    named = entry["nodes"].get("nodes") if grouped else entry.get("name")
    return _names(named), record


def _capacity(entry: dict[str, Any]) -> dict[str, float]:
    """What each of an entry's nodes has."""
    resources = granted(entry.get("tres"))
    if resources is not None:
        return resources._asdict()
    cpus, memory, gres = (entry.get(key) for key in ("cpus", "memory", "gres"))
    cpus = cpus.get("maximum") if isinstance(cpus, dict) else cpus
    memory = memory.get("maximum") if isinstance(memory, dict) else entry.get("real_memory")
    gres = gres.get("total") if isinstance(gres, dict) else gres
    return {"cpus": _positive(cpus), "memory": _positive(memory) * GB, "gpus": gpus(gres)}


def _positive(value: Any) -> float:
    value = number(value)
    return value if value > 0 else np.nan


def _names(value: Any) -> list[str] | None:
    """Names from a host list or a list of such; None if there is none."""
    texts = _texts(value)
    if not texts or not all(map(is_host_list, texts)):
        return [] if value == [] else None
    names = [name for text in texts for name in expand_hosts(text)]
    return names or None


def _texts(value: Any) -> list[str]:
    """A text, or each of a list of them."""
    return [text for text in _each(value) if text]


def _each(value: Any) -> Iterator[str]:
    for part in value if isinstance(value, list) else [value]:
        if isinstance(part, str):
            yield part


def _joined(one: dict[str, Any], other: dict[str, Any]) -> dict[str, Any]:
    """What two entries say of a node together."""
    return {
        **one,
        "why": one["why"] or other["why"],
        "busy": one["busy"] or other["busy"],
        "planned": one["planned"] or other["planned"],
        "partitions": one["partitions"] | other["partitions"],
        "features": one["features"] | other["features"],
    }


def satisfying(nodes: pd.DataFrame, constraint: str) -> np.ndarray:
    """Whether each node has the features of a constraint: ``a&b``, ``a|b``, ``(a|b)&c``.

    Raises
    ------
    ValueError
        Naming the constraint and what was expected.
    """
    parser = _Parser(constraint)
    return np.array([parser.holds(features) for features in nodes["features"]], dtype=bool)


class _Parser:
    """A constraint as alternatives of sets of features."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.tokens = [token for token in _tokens(text) if token]
        self.any_of = self._alternatives()
        if self.tokens:
            raise self._error()

    def holds(self, features: frozenset[str]) -> bool:
        """Whether one of the alternatives is among the features."""
        return any(wanted <= features for wanted in self.any_of)

    def _alternatives(self) -> list[frozenset[str]]:
        found = self._together()
        while self.tokens and self.tokens[0] == "|":
            self.tokens.pop(0)
            found = found + self._together()
        return found

    def _together(self) -> list[frozenset[str]]:
        found = self._one()
        while self.tokens and self.tokens[0] == "&":
            self.tokens.pop(0)
            found = [one | other for other in self._one() for one in found]
        return found

    def _one(self) -> list[frozenset[str]]:
        token = self.tokens.pop(0) if self.tokens else ""
        if token == "(":
            found = self._alternatives()
            if not self.tokens or self.tokens.pop(0) != ")":
                raise self._error()
            return found
        if not token or token in "&|)":
            raise self._error()
        return [frozenset([token])]

    def _error(self) -> ValueError:
        return ValueError(
            f"constraint={self.text!r}; expected features joined by & and |, such as 'a&(b|c)'"
        )


def _tokens(text: str) -> list[str]:
    """Features, operators and parentheses; a comma means &."""
    spaced = text.replace(",", "&")
    for sign in "&|()":
        spaced = spaced.replace(sign, f" {sign} ")
    return spaced.split()


def refuse_no_partition(path: str, partition: str, known: set[str]) -> TraceError:
    """The error for a partition that is not there."""
    listed = ", ".join(sorted(known)[:12]) or "none"
    return TraceError(f"{path}: no partition {partition!r}; there are: {listed}")


class Resources(NamedTuple):
    """CPUs, memory (GB) and GPUs; NaN if unknown."""

    cpus: float
    memory: float
    gpus: float


UNKNOWN_RESOURCES = Resources(math.nan, math.nan, math.nan)


@lru_cache(maxsize=4096)
def _parsed(text: str) -> Resources:
    found = {"cpu": math.nan, "mem": math.nan, "gres/gpu": 0.0}
    for part in text.split(","):
        name, _, amount = part.partition("=")
        match = AMOUNT.fullmatch(amount)
        if name in found and match:
            found[name] = float(match[1]) * (MEGABYTES.get(match[2], 1.0) if name == "mem" else 1.0)
    return Resources(found["cpu"], found["mem"] * GB, found["gres/gpu"])


def granted(text: Any) -> Resources | None:
    """The resources in a text such as ``cpu=4,mem=4000M``; None if it is none."""
    return _parsed(text) if isinstance(text, str) and text else None


def gpus(text: Any) -> float:
    """GPUs in a text such as ``gpu:a100:4(S:0-1)``."""
    return float(sum(map(int, GPUS.findall(text)))) if isinstance(text, str) else 0.0
