"""Audit of machines with bursts: progress is kept, bursts are not evicted, one writer at a time."""

from functools import partial
from typing import Literal

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from cosimlib.audit import (
    audit_rule,
    check_calendar,
    check_capacity,
    check_columns,
    demand,
    demand_column,
    demand_of_jobs,
)
from cosimlib.kernels.steps import step_function
from cosimlib.ondemand.schedule import (
    CHANGES_SPEED,
    EVICTS_NOBODY,
    WITHOUT_WRITES,
    OnDemandSchedule,
    attempt_keys,
)

EXACT = 1e-6
"""Seconds by which sums of times may differ, besides what floats do not tell apart."""

ROUNDED = 1e-5
"""Seconds by which they may where jobs go slower, whose times are rounded to `state.GRAIN`."""

ROUNDINGS = 8
"""Distances of consecutive floats, at the last end, by which they may differ besides."""


@audit_rule.register
def audit_ondemand(schedule: OnDemandSchedule) -> None:
    """Raise an error if a schedule of batch jobs and bursts could not have happened.

    - *Nodes*: no more nodes are held at any time than there are. From its start on, a job holds the
      nodes that it asked for, without a break until it ends or is evicted. Under `shrink` it may
      hold fewer, down to what it needs, at a speed in proportion.
    - *Progress* is what each job computes. Each attempt begins with the progress that the eviction
      before it kept, once that has been read. The last attempt ends with the job's run time. A
      killed job keeps its last application checkpoint, and a job whose checkpoint was written keeps
      all that it did.
    - *Bursts* start when they are submitted or later, run for their run time, and are never
      evicted. No nodes are held for a burst after its start, and never more than it asked for.
    - *Checkpoints* to evict jobs are written one at a time, each for as long as it takes.
    - *Turns*: jobs and bursts stand still for each other only under `share`, and go on from where
      they were. What they hold together is never more than there is.
    - *Policies*: under `wait`, `reserve` and `share` nobody is evicted, under `kill`, `preempt` and
      `shrink` nobody writes. Batch jobs that fit on the nodes that are not set aside for bursts
      leave those of them free that no burst uses.
    - *Windows*: while more nodes are taken than the calendar leaves open, no job starts, also after
      an eviction, and no more nodes are held for a burst.

    Raises
    ------
    InfeasibleScheduleError
        Naming the policy, and the job, or the time and the nodes.
    """
    check_columns(schedule, on_demand="truth value")
    table = schedule.stretches
    _check_stretches(schedule)
    _check_kept(schedule)
    _check_attempts(schedule)
    _check_bursts(schedule)
    _check_writes(schedule)
    _check_policy(schedule)
    check_capacity(schedule)
    in_order = table.sort_values("start", kind="stable")
    attempts = in_order.drop_duplicates(["job", "attempt"])["start"]
    held = table.loc[table["kind"] == "hold", "start"]
    check_calendar(schedule, np.union1d(attempts, held))


Attempts = dict[str, np.ndarray]
"""Arrays by name, one entry per attempt, in order of their `attempt_keys`."""


def _demand_of(
    schedule: OnDemandSchedule,
    table: pd.DataFrame | Attempts,
    fine: ArrayLike,
    message: str,
    *columns: str,
) -> None:
    """As `demand_of_jobs`, of a table with a column `job`; the others are named."""
    demand_of_jobs(schedule, fine, message, *(table[name] for name in columns), job=table["job"])


def _check_stretches(schedule: OnDemandSchedule) -> None:
    """Raise for a stretch of the wrong nodes, length or progress."""
    table = schedule.stretches
    demand = partial(demand_column, schedule, job=table["job"])
    kind, job = table["kind"].to_numpy(), table["job"].to_numpy()
    wanted = schedule.workload.jobs["nodes"].to_numpy()[job]
    nodes, start, end = (table[name].to_numpy() for name in ("nodes", "start", "end"))
    some = (nodes > 0) & (nodes <= wanted)
    turn = kind == "turn"
    fewer = np.isin(kind, ["read", "compute"]) & _may_shrink(schedule, nodes)
    fine = np.where(kind == "hold", some, (nodes == wanted) | fewer)
    demand(
        "nodes",
        nodes,
        np.where(turn, (nodes >= 0) & (nodes <= wanted), fine),
        "what it asks for, or some of it while nodes are held for it",
    )
    demand("kind", kind, ~turn | (schedule.mechanism == "share"), "no turns but under share")
    demand("end", end, (start < end) & (end < np.inf), "an end after its start")
    of_bursts = np.isin(kind, ["hold", "burst"])
    of_class = turn | (of_bursts == schedule.on_demand[job])
    demand("kind", kind, of_class, "that of a job of its class")
    before, after = table["before"].to_numpy(), table["after"].to_numpy()
    demand("before", before, before >= 0, "progress from 0")
    idle = np.isin(kind, ["read", "write", "stand", "turn"])
    demand("after", after, ~idle | (after == before), "the same progress as before")
    length, exact = (end - start) * nodes / wanted, _exact(schedule)
    fine = np.abs(after - before - length) <= exact
    demand(
        "after",
        after,
        ~np.isin(kind, ["compute", "burst"]) | fine,
        "the progress that its time allows",
    )


def _exact(schedule: OnDemandSchedule, *, slower: bool = True) -> float:
    """Seconds by which sums of times may differ; `slower` where jobs may have gone slower."""
    slower = slower and schedule.mechanism in CHANGES_SPEED
    ends = schedule.end_time[np.isfinite(schedule.end_time)]
    last = float(np.abs(ends).max(initial=0.0))
    return (ROUNDED if slower else EXACT) + ROUNDINGS * float(np.spacing(last))


def _may_shrink(schedule: OnDemandSchedule, nodes: np.ndarray) -> np.ndarray:
    """Whether the job of each stretch may hold so few nodes."""
    if schedule.least_nodes is None or schedule.mechanism != "shrink":
        return np.zeros(len(nodes), bool)
    job = schedule.stretches["job"].to_numpy()
    wanted = schedule.workload.jobs["nodes"].to_numpy()[job]
    return (nodes >= schedule.least_nodes[job]) & (nodes <= wanted)


def _check_attempts(schedule: OnDemandSchedule) -> None:
    """Raise if a job's stretches have gaps, or its attempts do not lead to its run time."""
    table = schedule.stretches[schedule.stretches["kind"] != "hold"]
    order = np.lexsort([table[name].to_numpy() for name in ("end", "start", "job")])
    table = table.iloc[order]
    job, attempt, start, end, before, after = (
        table[name].to_numpy() for name in ("job", "attempt", "start", "end", "before", "after")
    )
    same = (job[1:] == job[:-1]) & (attempt[1:] == attempt[:-1])
    goes_on = ~same | ((start[1:] == end[:-1]) & (before[1:] == after[:-1]))
    message = "has a gap of time or progress at t={:.15g}"
    demand_of_jobs(schedule, goes_on, message, start[1:], job=job[1:])
    attempts = _attempts(schedule, table)
    _check_beginnings(schedule, attempts)
    _check_ends(schedule, attempts)
    _check_first_and_last(schedule, attempts)


def _attempts(schedule: OnDemandSchedule, table: pd.DataFrame) -> Attempts:
    """Per attempt: what it did, what its eviction says, and what it should begin with.

    The table has the stretches that hold nodes of jobs, by job and start.
    """
    key = attempt_keys(table)
    by_attempt = np.argsort(key, kind="stable")
    table, key = table.iloc[by_attempt], key[by_attempt]

    # The rows at which an attempt begins and ends.
    differs = key[1:] != key[:-1]
    first = np.flatnonzero(np.append(True, differs)[: key.size])
    last = np.flatnonzero(np.append(differs, True)[: key.size])
    attempts = {
        name: table[name].to_numpy()[first] for name in ("job", "attempt", "start", "before")
    }
    attempts |= {name: table[name].to_numpy()[last] for name in ("end", "after")}

    # A job on a part of its nodes takes longer to read: count seconds on all of them.
    asked = schedule.workload.jobs["nodes"].to_numpy()[table["job"].to_numpy()]
    seconds = (table["end"] - table["start"]).to_numpy() * (table["nodes"].to_numpy() / asked)
    kind = table["kind"].to_numpy()
    attempts["read"] = np.zeros(first.size)
    attempts["computes"] = np.zeros(first.size, dtype=bool)
    if first.size:
        attempts["read"] = np.add.reduceat(np.where(kind == "read", seconds, 0.0), first)
        attempts["computes"] = np.logical_or.reduceat(kind == "compute", first)
    return attempts | _expected(schedule, key[first], attempts["job"])


def _expected(schedule: OnDemandSchedule, key: np.ndarray, job: np.ndarray) -> Attempts:
    """By attempt, what its eviction says, and what it should begin with after the one before it.

    Attempts are in order of their `attempt_keys`.
    """
    evictions = schedule.evictions.sort_values("job", kind="stable")
    evicted = attempt_keys(evictions)
    for fine in (np.isin(evicted, key), ~evictions.duplicated(["job", "attempt"])):
        _demand_of(schedule, evictions, fine, "is evicted without a run")
    place = np.searchsorted(key, evicted)
    said = {name: np.full(key.size, np.nan) for name in ("time", "done", "kept")}
    for name, values in said.items():
        values[place] = evictions[name].to_numpy()
    action = np.full(key.size, "", dtype=object)
    action[place] = evictions["action"].to_numpy()
    again = np.append(False, job[1:] == job[:-1])[: key.size]

    def before(values: np.ndarray, first: np.ndarray | float) -> np.ndarray:
        """The value of the attempt before; `first` if there is none or it is unknown."""
        former = np.where(again, np.roll(values, 1), np.nan)
        return np.where(np.isnan(former), first, former)

    begins = before(said["kept"], 0.0)
    ready = before(said["time"], schedule.workload.jobs["submit_time"].to_numpy()[job])
    app, sys = (schedule.checkpoints[name].to_numpy()[job] for name in ("app_write", "sys_write"))
    reads = np.where((action == "app") | (said["kept"] > begins), app, np.nan)
    reads = np.where(action == "sys", sys, reads)
    place = np.arange(key.size)
    carried = np.maximum.accumulate(np.where(np.isnan(reads) & again, 0, place))
    number = place - np.maximum.accumulate(np.where(again, 0, place))
    reread = before(reads[carried], 0.0)
    return said | {"from": begins, "ready": ready, "reread": reread, "number": number}


def _check_beginnings(schedule: OnDemandSchedule, attempts: Attempts) -> None:
    """Raise for an attempt that is too early, from other progress, or reads for another time."""
    fine = (attempts["attempt"] == attempts["number"]) & (attempts["before"] == attempts["from"])
    fine &= ~(attempts["start"] < attempts["ready"])
    message = (
        "starts attempt {} at t={:.15g} with progress {:.15g}; expected attempt {} from t={:.15g} "
        "on with {:.15g}"
    )
    columns = ("attempt", "start", "before", "number", "ready", "from")
    _demand_of(schedule, attempts, fine, message, *columns)
    exact = _exact(schedule)
    fine = ~(attempts["read"] > attempts["reread"] + exact)
    fine &= ~(attempts["computes"] & (attempts["read"] < attempts["reread"] - exact))
    message = "reads its checkpoint for {:.15g} s from t={:.15g} on; it takes {:.15g} s"
    _demand_of(schedule, attempts, fine, message, "read", "start", "reread")


def _check_ends(schedule: OnDemandSchedule, attempts: Attempts) -> None:
    """Raise for an attempt that ends neither in an eviction nor in the end of its job."""
    evicted = ~np.isnan(attempts["time"])
    fine = (attempts["time"] == attempts["end"]) & (attempts["done"] == attempts["after"])
    message = (
        "is evicted at t={:.15g} with progress {:.15g}; it ran until t={:.15g} and had {:.15g}"
    )
    _demand_of(schedule, attempts, ~evicted | fine, message, "time", "done", "end", "after")
    job = attempts["job"]
    last = np.append(job[1:] != job[:-1], True)[: job.size]
    run_time = schedule.workload.jobs["run_time"].to_numpy()[job]
    attempts = attempts | {"run_time": run_time, "job_end": schedule.end_time[job]}
    done = np.abs(attempts["after"] - run_time) <= _exact(schedule, slower=False)
    fine = evicted | (last & done & (attempts["end"] == attempts["job_end"]))
    message = "ends at t={:.15g} with progress {:.15g} at t={:.15g}; it runs {:.15g} s"
    _demand_of(schedule, attempts, fine, message, "job_end", "after", "end", "run_time")
    _demand_of(schedule, attempts, ~(evicted & last), "is evicted and never ends")


def _check_first_and_last(schedule: OnDemandSchedule, attempts: Attempts) -> None:
    """Raise if starts and ends are not those of the stretches; jobs of no length have none."""
    submit = schedule.workload.jobs["submit_time"].to_numpy()
    run_time = schedule.workload.jobs["run_time"].to_numpy()
    begun = np.full(len(submit), np.nan)
    np.fmin.at(begun, attempts["job"], attempts["start"])
    never = np.isnan(begun)
    begun = np.where(never & (run_time == 0), schedule.end_time, begun)
    fine = (schedule.start_time == begun) & (begun >= submit)
    message = "starts at t={:.15g}; it was submitted at t={:.15g} and held nodes from t={:.15g} on"
    demand_of_jobs(schedule, fine, message, schedule.start_time, submit, begun)


def _check_kept(schedule: OnDemandSchedule) -> None:
    """Raise an error if an evicted job keeps another progress than its checkpoint holds."""
    table = schedule.evictions
    action = table["action"].to_numpy()
    job, done, kept = (table[name].to_numpy() for name in ("job", "done", "kept"))
    interval = schedule.checkpoints["interval"].to_numpy()[job]
    demand = partial(demand_column, schedule, job=job)
    demand("action", action, np.isin(action, ["kill", "app", "sys"]), "kill, app or sys")
    demand("job", job, ~schedule.on_demand[job], "a batch job: bursts are never evicted")
    former = table.groupby("job")["kept"].shift(fill_value=0.0).to_numpy()
    last = _last_checkpoint(done, interval)
    fine = kept == np.maximum(former, last)
    written = np.isin(action, ["app", "sys"])
    demand("kept", kept, np.where(written, kept == done, fine), "what its last checkpoint holds")
    at_checkpoint = (done == last) & (done > 0)
    demand("done", done, (action != "app") | at_checkpoint, "a multiple of its interval")


def _last_checkpoint(done: np.ndarray, interval: np.ndarray) -> np.ndarray:
    """The last multiple of the interval that is not above the progress, of each job."""
    number = np.rint(done / interval)
    finite = np.where(np.isfinite(interval), interval, 0.0)
    return (number - (number * finite > done)) * finite


def _check_bursts(schedule: OnDemandSchedule) -> None:
    """Raise if nodes are held for a burst after its start, or it does not run in one go."""
    table = schedule.stretches
    held = table[table["kind"] == "hold"]
    held = held.assign(started=schedule.start_time[held["job"].to_numpy()])
    message = "has nodes held for it until t={:.15g}; it started at t={:.15g}"
    _demand_of(schedule, held, ~(held["end"] > held["started"]), message, "end", "started")
    overlap = held.sort_values(["job", "start"]).groupby("job")
    before = overlap["end"].shift().reindex(held.index)
    _demand_of(schedule, held, ~(held["start"] < before), "has nodes held for it twice")
    bursts = table[table["kind"] == "burst"]
    once = ~bursts["job"].duplicated() | (schedule.mechanism == "share")
    _demand_of(schedule, bursts, once, "runs in several stretches")


def _check_writes(schedule: OnDemandSchedule) -> None:
    """Raise an error if two checkpoints are written at a time, or one is written too fast."""
    table = schedule.stretches
    writes = table[table["kind"] == "write"].sort_values("start", kind="stable")
    start, end = writes["start"].to_numpy(), writes["end"].to_numpy()
    message = "two checkpoints are written at t={:.15g}; the file system writes one at a time"
    demand(schedule, ~(start[1:] < end[:-1]), message, start[1:])
    evicted = schedule.evictions[schedule.evictions["action"].isin(["app", "sys"])]
    last = dict(zip(attempt_keys(writes).tolist(), (end - start).tolist(), strict=True))
    wrote = np.array([last.get(key, 0.0) for key in attempt_keys(evicted).tolist()])
    checkpoints = schedule.checkpoints.iloc[evicted["job"].to_numpy()]
    of_application = (evicted["action"] == "app").to_numpy()
    takes = np.where(of_application, checkpoints["app_write"], checkpoints["sys_write"])
    evicted = evicted.assign(wrote=wrote, takes=takes)
    message = "writes its checkpoint for {:.15g} s until t={:.15g}; it takes {:.15g} s"
    fine = np.abs(wrote - takes) <= _exact(schedule)
    _demand_of(schedule, evicted, fine, message, "wrote", "time", "takes")


def _check_policy(schedule: OnDemandSchedule) -> None:
    """Raise for evictions that the policy does not make, and for reserved nodes that are taken."""
    name, table = schedule.mechanism, schedule.evictions
    if name in EVICTS_NOBODY:
        _demand_of(schedule, table, table["job"] < 0, f"is evicted; {name} evicts nobody")
    if name in WITHOUT_WRITES and (table["action"] != "kill").any():
        _demand_of(schedule, table, table["job"] < 0, f"writes a checkpoint; {name} writes none")
    if schedule.reserved:
        _check_reserved(schedule)


def _check_reserved(schedule: OnDemandSchedule) -> None:
    """Raise if a batch job starts on nodes set aside for bursts, unless it fits on no others."""
    total, reserved = schedule.system.total_nodes, schedule.reserved
    nodes = schedule.workload.jobs["nodes"].to_numpy()
    start, end, burst = schedule.start_time, schedule.end_time, schedule.on_demand
    held = schedule.stretches[schedule.stretches["kind"] == "hold"]
    times, ahead = step_function(*(held[name].to_numpy() for name in ("start", "end", "nodes")))
    narrow = ~burst & (nodes <= total - reserved)
    wide = ~burst & ~narrow
    starts = np.unique(start[narrow & (start < end)])

    def running(jobs: np.ndarray, side: Literal["left", "right"]) -> np.ndarray:
        """Nodes of these jobs that run at the starts; on the left, started before them."""
        came, went = np.sort(start[jobs]), np.sort(end[jobs])
        come = np.append(0, np.cumsum(nodes[jobs][np.argsort(start[jobs], kind="stable")]))
        gone = np.append(0, np.cumsum(nodes[jobs][np.argsort(end[jobs], kind="stable")]))
        before = come[np.searchsorted(came, starts, side=side)]
        return before - gone[np.searchsorted(went, starts, side="right")]

    waiting = np.append(0, ahead)[np.searchsorted(times, starts, side="right")]
    used = running(burst, "right") + waiting
    free = total - used - running(narrow, "right") - np.maximum(running(wide, "left"), 0)
    jobs = np.flatnonzero(narrow)
    moments, first = np.unique(start[jobs], return_index=True)
    job = jobs[first[np.searchsorted(moments, starts)]]
    fine = ~(free < np.maximum(reserved - used, 0))
    message = "starts at t={:.15g} and leaves {} nodes free; {} are reserved and bursts use {}"
    demand_of_jobs(schedule, fine, message, starts, free, reserved, used, job=job)
