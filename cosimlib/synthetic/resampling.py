"""Resampled workloads: users and weeks of a log drawn at random; weekday and hour stay.

One log is one sample of what its users do; logs drawn anew from it are others. After Zakay and
Feitelson, Workload resampling for performance evaluation of parallel job schedulers, Concurrency
and Computation 26(12), 2014: jobs are not modelled but moved, by whole weeks.

- *By users*: users are independent of one another. Each joins in a week drawn at random and stays
  as long as in the log; the weeks of that stay, idle ones among them, are drawn anew with
  replacement from the user's own. Time is a circle: who goes over the end goes on at the beginning,
  so that the new log is as busy at its ends as in the middle. A higher or lower load is a matter of
  more or fewer users, times between submissions stay as they are. (The paper keeps the order of the
  weeks of users who stay for long.)
- *By weeks*: whole weeks are drawn anew with replacement, all users together. Load is changed by
  users of some weeks who are left out, or who join from other weeks.

Users who submit less while a machine is full, or take turns, do so in weeks drawn together and no
longer where users are independent. The more a log is shaped by that the higher its queues become:
under EASY the weekly load of KTH-SP2 varies by 11 points (standard deviation), as drawn by weeks
10, by users 19, and the mean wait is 2.0, 1.8 and 3.1 hours; on SDSC-SP2, which is fuller, it is
6.4, 7.2 and 36 hours. Comparisons on a log's own load take weeks.
"""

from dataclasses import replace
from typing import NamedTuple

import numpy as np
import pandas as pd

from cosimlib import checks as check
from cosimlib.display import duration
from cosimlib.units import DAY, HOUR, WEEK
from cosimlib.workload import InvalidWorkloadError, Workload, check_workload

UNITS = ("users", "weeks")
LEAST = 4
"""Blocks that a log must have to be drawn anew from them."""

BLOCKS = {"weeks": WEEK, "days": DAY, "hours": HOUR}
KEPT = {
    "weeks": "weekday and hour kept",
    "days": "the hour of the day kept, not the weekday",
    "hours": "neither hour nor weekday kept",
}
MOST = 1e8
"""Jobs above which a log is not drawn: a mistake in the load or the length, rather than a wish."""

OF_ANOTHER_ORDER = ("recorded_start", "mate", "job_id")
"""Columns that make no sense once jobs are drawn anew."""


class Plan(NamedTuple):
    """What is drawn anew from a log.

    Parameters
    ----------
    users : bool
        Whether each user's blocks are drawn apart.
    block : str
        One of `BLOCKS`.
    number : int
        Whole blocks in the log.
    why : str
        The reason where it is not each user's weeks; "" if it is.
    """

    users: bool
    block: str
    number: int
    why: str

    @property
    def sentence(self) -> str:
        """What is drawn and what is kept, and the reason."""
        whose = "each user" if self.users else "all users together"
        reason = f" ({self.why})" if self.why else ""
        return (
            f"{self.block} of {whose} drawn anew from {self.number:,}, {KEPT[self.block]}{reason}"
        )


class _Draw(NamedTuple):
    """Jobs drawn: row in the log, blocks by which each moves, and the number of its copy."""

    row: np.ndarray
    moved: np.ndarray
    copy: np.ndarray


def resample(
    workload: Workload,
    seed: int = 0,
    *,
    load: float | None = None,
    length: float | None = None,
    unit: str | None = None,
) -> Workload:
    """New log drawn from a log: users' weeks with replacement; weekday and hour stay.

    Parameters
    ----------
    workload : Workload
    seed : int, default 0
        The same seed draws the same log.
    load : float, optional
        Offered load on the workload's machine, the mean over seeds; by default the log's own.
        More or fewer users submit, each as before.
    length : float, optional
        Seconds from the beginning to the last submission, at most; by default the log's whole
        weeks.
    unit : {"users", "weeks"}, optional
        Weeks of each user, or of all users together; by default of each user where most jobs name
        theirs. A log of fewer than four weeks is drawn anew by days, and one of fewer than four
        days by hours, all users together. The account says which it is.

    Returns
    -------
    Workload
        `source` is the row of the log from which each job was drawn. A second copy of a user is a
        user, such as ``"12 (2)"``. Without recorded starts, mates and numbers of the trace.

    Raises
    ------
    InvalidWorkloadError
        For a log that is shorter than four hours, or names no users where `unit` is ``"users"``;
        for a load where the machine is unknown, and for more than 10⁸ jobs.
    """
    check_workload(workload)
    check.seed(seed, where="resample")
    check.number("load", load, above=0, none="for the log's own", where="resample")
    check.seconds("length", length, above=0, none="for the log's whole weeks", where="resample")
    plan = resampling_plan(workload, unit)
    rng = np.random.default_rng(int(seed))
    block, span = BLOCKS[plan.block], _span(workload)
    length = plan.number * block if length is None else float(length)
    # Blocks begin anywhere in what the whole blocks leave over, so that every job can be drawn.
    phase = np.floor(rng.uniform(0.0, span - plan.number * block))
    origin = float(workload.jobs["submit_time"].min()) + phase
    into = int(np.ceil(length / block))
    factor = 1.0 if load is None else load / _own_load(workload, span)
    expected = len(workload) * factor * length / span
    if expected > MOST:
        raise InvalidWorkloadError(
            f"{workload.name}: a log of length={length:g} s and {factor:,.3g} times the load would "
            f"have about {expected:,.0f} jobs; expected at most {MOST:,.0f}"
        )
    users = pd.factorize(workload.column("user"))[0]
    place = np.floor((workload.jobs["submit_time"].to_numpy() - origin) / block).astype(np.int64)
    draw = _by_users if plan.users else _by_blocks
    drawn = draw(users, place, _work(workload), plan.number, into, factor, rng)
    return _drawn_workload(workload, drawn, block, origin + length, plan, int(seed))


def resampling_plan(workload: Workload, unit: str | None = None) -> Plan:
    """Unit that `resample` draws from a log, and the reason.

    Raises
    ------
    InvalidWorkloadError
        For a log that is shorter than four hours, or names no users where `unit` is ``"users"``.
    """
    check_workload(workload)
    check.that("unit", unit, unit in (*UNITS, None), "'users', 'weeks' or None", where="resample")
    span = _span(workload) if len(workload) else 0.0
    fitting = [name for name, block in BLOCKS.items() if span >= LEAST * block]
    if not fitting:
        raise InvalidWorkloadError(
            f"{workload.name}: its jobs are submitted within {duration(span)}; to be drawn anew a "
            f"log needs at least {duration(LEAST * HOUR)}"
        )
    named = workload.column("user").notna().mean() >= 0.5
    if unit == "users" and not named:
        raise InvalidWorkloadError(
            f"{workload.name}: most jobs do not name their user; expected unit='weeks'"
        )
    block, count = fitting[0], int(span // BLOCKS[fitting[0]])
    if block != "weeks":
        return Plan(False, block, count, f"the log has fewer than {LEAST} weeks")
    return Plan(named and unit != "weeks", block, count, "" if named else "it names no users")


def _span(workload: Workload) -> float:
    """Seconds from the first submission to the last, and one more: the last is in it."""
    return float(np.ptp(workload.jobs["submit_time"].to_numpy())) + 1.0


def _work(workload: Workload) -> np.ndarray:
    """Node-seconds of each job."""
    return (workload.jobs["nodes"] * workload.jobs["run_time"]).to_numpy()


def _own_load(workload: Workload, span: float) -> float:
    machine = check.machine(workload.machine, workload.name, error=InvalidWorkloadError)
    own = float(_work(workload).sum()) / (machine.total_nodes * span)
    if not own > 0:
        raise InvalidWorkloadError(f"{workload.name}: no job has a run time; no load to change")
    return own


def _by_users(
    users: np.ndarray,
    place: np.ndarray,
    work: np.ndarray,
    count: int,
    into: int,
    factor: float,
    rng: np.random.Generator,
) -> _Draw:
    """Each user's blocks drawn from those of their stay, the stay moved on a circle."""
    inside = (place >= 0) & (place < count)
    stays = pd.DataFrame({"place": place, "work": work})[inside].groupby(users[inside])
    stay = stays["place"].agg(["min", "max"]).assign(work=stays["work"].sum())
    # Of a log that is cut shorter the circle is not: a stay would meet itself.
    circle = max(count, into)
    chosen, copy = _copies(stay["work"].to_numpy(), factor * circle / count, rng)
    first = stay["min"].to_numpy()[chosen]
    blocks = stay["max"].to_numpy()[chosen] - first + 1
    member = np.repeat(np.arange(chosen.size), blocks)
    position = np.arange(member.size) - np.repeat(np.cumsum(blocks) - blocks, blocks)
    source = first[member] + np.floor(rng.random(member.size) * blocks[member]).astype(np.int64)
    to = (rng.integers(0, circle, chosen.size)[member] + position) % circle
    kept = to < into
    member, source, to = member[kept], source[kept], to[kept]
    key = stay.index.to_numpy()[chosen][member] * np.int64(count) + source
    row, each = _members(np.where(inside, users * np.int64(count) + place, _NOWHERE), key)
    return _Draw(row, (to - source)[each], copy[member][each])


_NOWHERE = np.iinfo(np.int64).max


def _by_blocks(
    users: np.ndarray,
    place: np.ndarray,
    work: np.ndarray,
    count: int,
    into: int,
    factor: float,
    rng: np.random.Generator,
) -> _Draw:
    """Whole blocks, as many layers of them as the load asks for; of the last layer some users."""
    layers = []
    for layer in range(int(np.ceil(factor))):
        source = rng.integers(0, count, into)
        row, to = _members(place, source)
        if factor - layer < 1:
            # A job that names no user is one of its own.
            whose = np.where(users[row] < 0, users.max(initial=0) + 1 + row, users[row])
            unit = np.unique(np.column_stack([to, whose]), axis=0, return_inverse=True)[1].ravel()
            stays = rng.random(unit.max(initial=0) + 1)[unit] < factor - layer
            row, to = row[stays], to[stays]
        layers.append(_Draw(row, to - source[to], np.full(row.size, layer)))
    return _Draw(*(np.concatenate(parts) for parts in zip(*layers, strict=True)))


def _copies(
    work: np.ndarray, factor: float, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Users, each `factor` times on average, and the number of each copy, from 0.

    Those with a copy more are taken at equal distances in the order of their work, so that their
    work is about its part of all users', too.
    """
    whole, part = divmod(factor, 1.0)
    times = np.full(work.size, int(whole))
    passed = np.floor(np.arange(work.size + 1) * part + rng.random())
    times[np.argsort(work, kind="stable")] += np.diff(passed).astype(np.int64)
    copy = np.arange(times.sum()) - np.repeat(np.cumsum(times) - times, times)
    return np.repeat(np.arange(work.size), times), copy


def _members(values: np.ndarray, wanted: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """All rows that have each wanted value, one after another, and the number of that value."""
    order = np.argsort(values, kind="stable")
    in_order = values[order]
    low, high = (np.searchsorted(in_order, wanted, side) for side in ("left", "right"))
    found = high - low
    each = np.repeat(np.arange(wanted.size), found)
    return order[np.arange(each.size) - np.repeat(np.cumsum(found) - found - low, found)], each


def _drawn_workload(
    workload: Workload, drawn: _Draw, block: float, end: float, plan: Plan, seed: int
) -> Workload:
    """The jobs drawn as a workload, in order of submission."""
    jobs = workload.jobs.drop(columns=list(OF_ANOTHER_ORDER), errors="ignore")
    submit_time = jobs["submit_time"].to_numpy()[drawn.row] + drawn.moved * block
    order = np.lexsort((drawn.copy, drawn.row, submit_time))
    order = order[submit_time[order] < end]
    row, copy = drawn.row[order], drawn.copy[order]
    table = jobs.iloc[row].assign(submit_time=submit_time[order], source=row)
    if "user" in table and copy.any():
        name = table["user"].astype("str") + [f" ({number + 1})" for number in copy]
        table["user"] = table["user"].where((copy == 0) | table["user"].isna(), name)
    name = f"{workload.name} (drawn anew, seed {seed})"
    return replace(workload, jobs=table, name=name).noted("noted", plan.sentence, len(table))
