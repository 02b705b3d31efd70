"""Changes of a machine and of its jobs, as `what_if` takes them."""

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from cosimlib import checks as check
from cosimlib.display import count, duration, percent
from cosimlib.system import System
from cosimlib.units import DAY, HOUR, MINUTE
from cosimlib.workload import Workload

NODES = (
    'a whole number of nodes from 1 on, a change such as "+10%", or a dict of these by partition'
)
LIMIT = 'seconds above 0, or a text such as "24h", "90min" or "2d"'
LENGTHS = {"s": 1.0, "min": MINUTE, "m": MINUTE, "h": HOUR, "d": DAY}
SHARE_TEXT = re.compile(r"\s*([+\-−])\s*(\d+(?:\.\d+)?)\s*%\s*")
LENGTH_TEXT = re.compile(r"\s*(\d+(?:\.\d+)?)\s*(s|min|m|h|d)\s*")
NAMED = ("user", "group", "queue", "partition")
QUESTIONS = {
    "nodes": "nodes=+10%, nodes=141 or, by partition, nodes=gpu:+10%,cpu:141",
    "limit": "limit=24h (s, min, h or d)",
    "without": "without=user:NAME (or group, queue, partition)",
    "run_time": "run_time=0.9",
}
"""Kinds of changes that a text may name, each with what it looks like."""

MORE_NODES, FEWER_NODES, SHORTER_LIMIT = "more nodes", "fewer nodes", "limit"
GONE, RUN_TIMES, SEVERAL = "jobs gone", "run times", "several"
KINDS = (MORE_NODES, FEWER_NODES, SHORTER_LIMIT, GONE, RUN_TIMES, SEVERAL)
"""Kinds of changes: of one thing, or of several, such as more nodes and a limit."""

MOST_TIMES = 10
"""Times the nodes of the record, at most: it says nothing of far larger machines."""

MOST_PIECES = 1_000_000
"""Pieces into which a limit cuts the jobs of a log, at most: they take seconds and 0.5 GB."""


@dataclass(frozen=True, eq=False)
class Change:
    """What is other than in the record.

    Parameters
    ----------
    text : str
        In words, such as "10 % more nodes".
    nodes : dict of str to int
        Nodes of each partition.
    limit : float
        Longest run time (s); longer jobs restart. Infinite without a limit.
    stays : np.ndarray
        Whether each job of the log is still submitted.
    factor : np.ndarray
        By which the run time of each job is multiplied.
    nothing : str
        Why nothing changes; empty if anything does.
    """

    text: str
    nodes: Mapping[str, int]
    limit: float
    stays: np.ndarray
    factor: np.ndarray
    nothing: str = ""

    def kind(self, machine: System) -> str:
        """Kind of the change of a machine, one of `KINDS`."""
        more = sum(self.nodes.values()) - machine.total_nodes
        found = {
            MORE_NODES: more > 0,
            FEWER_NODES: more < 0,
            SHORTER_LIMIT: bool(np.isfinite(self.limit)),
            GONE: not self.stays.all(),
            RUN_TIMES: bool((self.factor != 1).any()),
        }
        kinds = [name for name, here in found.items() if here]
        return kinds[0] if len(kinds) == 1 else SEVERAL


def change_of(
    workload: Workload, system: System, nodes: Any, limit: Any, without: Any, run_time: Any
) -> Change:
    """Checked change; see `what_if` for the arguments.

    Raises
    ------
    ValueError
        If no change is named, or an argument is out of range.
    """
    texts: list[str] = []
    asked = any(each is not None for each in (nodes, limit, without, run_time))
    expected = "one of nodes, limit, without and run_time"
    check.that("change", None, asked, expected, where="what_if")
    found = Change(
        "",
        _nodes_of(system, nodes, texts),
        _limit_of(limit, texts),
        _stays(workload, without, texts),
        _factors(workload, run_time, texts),
    )
    run_times = (workload.jobs["run_time"].to_numpy() * found.factor)[found.stays]
    _check_pieces(limit, found.limit, run_times)
    longest = float(run_times.max(initial=0.0))
    other = dict(system.partitions) != dict(found.nodes) or bool((found.factor != 1).any())
    whys = {
        f"the machine has {count(system.total_nodes, 'node')} already": nodes,
        f"no job runs longer than {duration(longest)}": limit,
        "run times are multiplied by 1": run_time,
    }
    nothing = " and ".join(why for why, given in whys.items() if given is not None)
    if other or not found.stays.all() or longest > found.limit:
        nothing = ""
    return replace(found, text=" and ".join(texts), nothing=nothing)


def _check_pieces(limit: Any, seconds: float, run_times: np.ndarray) -> None:
    """Refuse a limit that would cut the jobs into more pieces than can be replayed."""
    most = max(MOST_PIECES, 2 * run_times.size)
    if not np.isfinite(seconds) or run_times.sum() / seconds <= most - run_times.size:
        return
    least = MINUTE * math.ceil(run_times.sum() / (most - run_times.size) / MINUTE)
    check.that(
        "limit",
        limit,
        False,
        f"at least {least / MINUTE:g}min: shorter ones cut the jobs of this log into more than "
        f"{most:,} pieces",
    )


def question_of(text: str, name: str = "what_if") -> dict[str, Any]:
    """Argument of `what_if` that a text names, such as ``"nodes=+10%"``.

    Parameters
    ----------
    text : str
        ``nodes=+10%``, ``nodes=141``, ``nodes=gpu:+10%,cpu:64``, ``limit=24h``,
        ``without=user:NAME`` or ``run_time=0.9``.
    name : str, optional
        Of the text in errors.

    Raises
    ------
    ValueError
        If the text is of no such form.

    Examples
    --------
    >>> question_of("nodes=+10%"), question_of("without=user:7")
    ({'nodes': '+10%'}, {'without': {'user': '7'}})
    >>> question_of("nodes=gpu:+10%")
    {'nodes': {'gpu': '+10%'}}
    """
    check.that(name, text, isinstance(text, str), "a text such as nodes=+10%")
    kind, _, value = (part.strip() for part in text.partition("="))
    check.that(name, text, kind in QUESTIONS, ", ".join(QUESTIONS.values()))
    found = _value_of(kind, value)
    check.that(name, text, found is not None, QUESTIONS[kind])
    if kind in POSSIBLE:
        is_possible, expected = POSSIBLE[kind]
        values = found.values() if isinstance(found, dict) else [found]
        check.that(name, text, all(map(is_possible, values)), expected)
    return {kind: found}


def _leaves_nodes(nodes: int | str) -> bool:
    """Whether a number or a share of nodes leaves any."""
    return _share(nodes) > -1 if isinstance(nodes, str) else nodes >= 1


def _value_of(kind: str, value: str) -> Any:
    """Value of a kind of change in a text; None if the text is of another form."""
    if kind == "nodes":
        return _nodes_by_partition(value) if ":" in value else _nodes_in(value)
    if kind == "limit":
        return value if LENGTH_TEXT.fullmatch(value) else None
    if kind == "without":
        column, _, name = value.partition(":")
        return {column: name} if column in NAMED and name else None
    return float(value) if re.fullmatch(r"\d*\.?\d+", value) else None


def _nodes_in(value: str) -> int | str | None:
    """A number of nodes, or a share such as "+10%"; None if the text is neither."""
    if value.isdecimal():
        return int(value)
    return value if SHARE_TEXT.fullmatch(value) else None


def _nodes_by_partition(value: str) -> dict[str, int | str] | None:
    """Nodes by partition, from a text such as "gpu:+10%,cpu:64"; None if it is of another form."""
    found: dict[str, int | str] = {}
    for part in value.split(","):
        name, _, each = part.rpartition(":")
        nodes = _nodes_in(each.strip())
        if not name.strip() or nodes is None:
            return None
        found[name.strip()] = nodes
    return found


def _nodes_of(system: System, nodes: Any, texts: list[str]) -> dict[str, int]:
    """Nodes of each partition."""
    before = dict(system.partitions)
    if nodes is None:
        return before
    if isinstance(nodes, Mapping):
        for name in nodes:
            check.choice("nodes", name, before, where=system.name)
        after = {**before, **{name: _number(before[name], each) for name, each in nodes.items()}}
    else:
        names = ", ".join(before)
        expected = f'a dict of nodes by partition ({names}), or a change of all such as "+10%"'
        fine = len(before) == 1 or isinstance(nodes, str)
        check.that("nodes", nodes, fine, expected, where=system.name)
        after = {name: _number(each, nodes) for name, each in before.items()}
    for name, each in after.items():
        most = MOST_TIMES * before[name]
        many = (
            f"at most {most:,}: the record says nothing of more than {MOST_TIMES} times the nodes"
        )
        check.that("nodes", nodes, each <= most, many)
        if each != before[name]:
            of = f" of {name}" if len(before) > 1 else ""
            more = "more" if each > before[name] else "fewer"
            asked = nodes[name] if isinstance(nodes, Mapping) else nodes
            # As it was asked for: 10 % of 104 nodes are ten nodes, or 9.62 %.
            share = percent(_share(asked) if isinstance(asked, str) else each / before[name] - 1)
            share = share.removeprefix("−")
            texts.append(f"{share} {more} nodes{of} ({each:,} in the place of {before[name]:,})")
    if not texts:
        texts.append("as many nodes")
    return after


def largest_user(workload: Workload) -> Any:
    """The user with most node-hours; None if the log names no users."""
    jobs, user = workload.jobs, workload.column("user")
    work = (jobs["nodes"] * jobs["run_time"]).groupby(user).sum()
    return work.idxmax() if len(work) else None


def _number(before: int, nodes: Any) -> int:
    """Number of nodes after a change."""
    if isinstance(nodes, str):
        after = round(before * (1 + _share(nodes)))
    else:
        check.that("nodes", nodes, check.is_whole(nodes, 1), NODES)
        after = int(nodes)
    check.that("nodes", nodes, after >= 1, "at least one node afterwards")
    return after


def _share(nodes: str) -> float:
    """The share of the nodes that a text adds; below 0 those that it takes away."""
    matched = SHARE_TEXT.fullmatch(nodes)
    check.that("nodes", nodes, matched is not None, NODES)
    assert matched is not None
    share = float(matched[2]) / 100
    return share if matched[1] == "+" else -share


def _seconds(limit: str) -> float:
    """Seconds of a text such as "24h"."""
    matched = LENGTH_TEXT.fullmatch(limit)
    assert matched is not None
    return float(matched[1]) * LENGTHS[matched[2]]


POSSIBLE: dict[str, tuple[Callable[[Any], bool], str]] = {
    "nodes": (_leaves_nodes, "at least one node afterwards"),
    "limit": (lambda limit: 0 < _seconds(limit) < np.inf, "a limit above 0"),
    "run_time": (lambda factor: 0 < factor < np.inf, "a factor above 0"),
}
"""Kinds of changes that no log allows with some values: the test of a value, what is expected."""


def _limit_of(limit: Any, texts: list[str]) -> float:
    """The longest run time, seconds."""
    if limit is None:
        return np.inf
    if isinstance(limit, str):
        check.that("limit", limit, LENGTH_TEXT.fullmatch(limit) is not None, LIMIT)
        seconds = _seconds(limit)
    else:
        check.that("limit", limit, check.is_number(limit), LIMIT)
        seconds = float(limit)
    check.that("limit", limit, 0 < seconds < np.inf, LIMIT)
    texts.append(f"a limit of {duration(seconds)} after which jobs restart")
    return seconds


def _stays(workload: Workload, without: Any, texts: list[str]) -> np.ndarray:
    """Whether each job is still submitted."""
    stays = np.ones(len(workload), dtype=bool)
    if without is None:
        return stays
    expected = "a dict such as {'user': 'alice'}, of a user, group, queue or partition"
    fine = isinstance(without, Mapping) and len(without) > 0
    check.that("without", without, fine, expected)
    for column, names in without.items():
        check.choice("without", column, NAMED)
        named = workload.column(column)
        wanted = [str(each) for each in np.atleast_1d(names)]
        for name in wanted:
            known = bool((named == name).any())
            check.that("without", name, known, f"a {column} of a job of {workload.name}")
        stays &= ~named.isin(wanted).fillna(False).to_numpy(dtype=bool)
        texts.append(f"without {column} {', '.join(wanted)}")
    check.that("without", without, bool(stays.any()), "at least one job left")
    return stays


def _factors(workload: Workload, run_time: Any, texts: list[str]) -> np.ndarray:
    """By what the run time of each job is multiplied."""
    factors = np.ones(len(workload))
    if run_time is None:
        return factors
    expected = "a factor above 0, or one per job (an array, or a Series with the index of the jobs)"
    if check.is_number(run_time):
        check.that("run_time", run_time, 0 < run_time < np.inf, "a factor above 0")
    if isinstance(run_time, pd.Series):
        factors = run_time.reindex(workload.jobs.index).to_numpy(dtype=np.float64)
    elif check.is_number(run_time):
        factors = factors * float(run_time)
    else:
        factors = np.asarray(run_time, dtype=np.float64)
    fine = factors.shape == (len(workload),) and bool((factors > 0).all())
    fine = fine and bool(np.isfinite(factors).all())
    check.that("run_time", run_time, fine, expected)
    other = factors[factors != 1.0]
    times = f"run times × {other[0]:g}" if np.unique(other).size == 1 else "other run times"
    if not other.size:
        texts.append("run times × 1")
        return factors
    all_jobs = other.size == factors.size
    texts.append(times if all_jobs else f"{times} of {count(int(other.size), 'job')}")
    return factors
