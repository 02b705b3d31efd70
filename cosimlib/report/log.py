"""Logs made ready for a report: a machine, jobs that fit, starts, and what the log does not tell.

What a log lacks is said in a sentence, by what it lacks, in `Log.lacks`; what is filled in is an
entry of the account. Where fewer than half of the jobs have a requested time none is made up.
"""

from typing import NamedTuple

import numpy as np
import pandas as pd

from cosimlib import checks as check
from cosimlib import synthetic, traces
from cosimlib.batch import simulate_easy, simulate_fcfs
from cosimlib.display import UNKNOWN, calendar, count, duration, percent
from cosimlib.eviction import EXPENDABLE
from cosimlib.metrics import share_used
from cosimlib.schedule import Schedule
from cosimlib.system import System
from cosimlib.traces import SYNTHETIC
from cosimlib.traces.oddities import (
    Oversubscription,
    fitting,
    known_starts,
    oversubscription,
    with_assumed_machine,
    with_requests,
)
from cosimlib.units import HOUR
from cosimlib.workload import Workload


class Log(NamedTuple):
    """A log, the schedule that stands for it, and what it does not tell.

    Parameters
    ----------
    workload : Workload
        The jobs that fit on the machine.
    machine : System
        Of one partition; its size is that of the header, or the most nodes ever held at once.
    schedule : Schedule
        What happened: as recorded, of the jobs whose start is known; where more than a few are
        not known, as EASY (without requested times FCFS) would have scheduled the jobs.
    lacks : dict of str to str
        A sentence by what is unknown: `machine`, `starts`, `waits` (where submissions are taken as
        starts), `requests`, `users`, `idle nodes` (of which the record holds more than there are);
        none of what is known.
    used : float
        Node-hours of the schedule's jobs ÷ those of all jobs in the log.
    held : Oversubscription
        How far the schedule holds more nodes than the machine has.
    """

    workload: Workload
    machine: System
    schedule: Schedule
    lacks: dict[str, str]
    used: float
    held: Oversubscription


def open_log(
    trace: str = SYNTHETIC,
    *,
    seed: int = 0,
    cores_per_node: int | None = None,
    nodes: int | None = None,
) -> Log:
    """A log made ready for a report, whatever it lacks.

    Parameters
    ----------
    trace : str, default "synthetic"
        ``"synthetic"`` for `example_log`, or a name or path for `traces.load`.
    seed : int, default 0
        Of the synthetic log.
    cores_per_node : int, optional
        For `traces.load`.
    nodes : int, optional
        The machine's size, of a log that does not tell it or is wrong about it.
    """
    if trace == SYNTHETIC:
        check.that("nodes", nodes, nodes is None, "None, as the synthetic log knows its machine")
        read = example_log(seed)
    else:
        read = traces.load(trace, cores_per_node=cores_per_node, verbose=False)
    lacks: dict[str, str] = {}
    known = with_assumed_machine(read, nodes)
    machine = check.machine(known.machine, known.name)
    if read.machine is None and nodes is None:
        lacks["machine"] = (
            "this log does not tell the size of its machine; "
            f"{count(machine.total_nodes, 'node')} assumed"
        )
    workload = with_requests(fitting(known)[0])[0]
    requested = workload.jobs["requested_time"].notna()
    if not requested.all():
        lacks["requests"] = "this log has no requested times"
        if requested.any():
            lacks["requests"] = f"this log tells {percent(requested.mean())} of the requested times"
    if workload.column("user").isna().all():
        lacks["users"] = "this log names no users"
    schedule = _schedule(workload, lacks)
    held = oversubscription(schedule)
    if held.most > held.nodes:
        workload = workload.noted("noted", held.note, held.jobs)
    if held.lack:
        lacks["idle nodes"] = held.lack
    return Log(workload, machine, schedule, lacks, share_used(schedule, read), held)


def example_log(seed: int = 0, *, jobs: int = 4000, nodes: int = 128) -> Workload:
    """A small synthetic log of the Lublin-Feitelson model, with users and recorded starts.

    Starts are those of EASY with a queue in another order than that of submission: each user has
    some hours of priority, as on a machine with fair shares.

    Parameters
    ----------
    seed : int, default 0
    jobs : int, default 4000
    nodes : int, default 128
    """
    plain = synthetic.lublin(jobs, nodes=nodes, types=False, load=0.8, seed=seed)
    plain = synthetic.with_estimates(plain, seed=seed)
    random = np.random.default_rng(seed)
    user = random.zipf(1.6, jobs).clip(max=25)
    rank = plain.jobs["submit_time"] + random.exponential(6 * HOUR, 26)[user]
    machine = System("a made-up machine", {"main": nodes})
    recorded = simulate_easy(plain, machine, order=rank.to_numpy())
    table = plain.jobs.assign(recorded_start=recorded.start_time, user=user.astype(str))
    return Workload(table, f"synthetic log (seed {seed})", machine, plain.account)


def reading_table(workload: Workload) -> pd.DataFrame:
    """The account of a log's records: jobs read, and entries dropped, mended and noted."""
    read = pd.DataFrame([("read", "jobs of this report", len(workload))])
    account = workload.account
    table = pd.concat([read.set_axis(account.columns, axis=1), account], ignore_index=True)
    return table.rename(columns={"action": "what", "reason": "which"})


def machine_table(log: Log) -> pd.DataFrame:
    """The machine and the log in words: size, span, load, jobs, users, what is unknown."""
    jobs, machine, held = log.workload.jobs, log.machine, log.held
    first, last = log.schedule.span
    users = log.workload.column("user").nunique()
    requests = jobs["requested_time"]
    rows = {
        "machine": f"{machine.name}, {count(machine.total_nodes, 'node')}",
        # One is what a system has that nobody told of its cores.
        "cores per node": f"{machine.cores_per_node:,}" if machine.cores_per_node > 1 else UNKNOWN,
        "memory per node": _known(machine.memory_per_node, "GB"),
        "jobs": f"{len(jobs):,} in {duration(last - first)}",
        "utilization": percent(log.schedule.utilization(first, last)),
        "most nodes held at once": f"{held.most:,} of {held.nodes:,}",
        "median nodes": f"{jobs['nodes'].median():,.0f}",
        "median run time": duration(jobs["run_time"].median()),
        "jobs under 30 minutes": percent((jobs["run_time"] < EXPENDABLE).mean()),
        "requested times": _requests(requests),
        "run time ÷ requested": _known(100 * (jobs["run_time"] / requests).median(), "% (median)"),
        "users": f"{users:,}" if users else UNKNOWN,
        "node-hours in this report": f"{percent(log.used)} of those in the log",
        "starts": f"{log.schedule.policy}, {count(len(log.schedule.workload), 'job')}",
    }
    if log.workload.began is not None:
        rows["second 0 of the log"] = calendar(log.workload.began)
    rows |= {f"unknown: {what}": why for what, why in log.lacks.items()}
    return pd.DataFrame({"what": list(rows), "this log": list(rows.values())})


def _requests(requests: pd.Series) -> str:
    known = requests.notna().mean()
    if not known:
        return UNKNOWN
    return f"median {duration(requests.median())}" + (
        "" if known == 1 else f", {percent(known, 0)} known"
    )


def _known(value: float, unit: str) -> str:
    return f"{value:,.3g} {unit}" if np.isfinite(value) else UNKNOWN


def _schedule(workload: Workload, lacks: dict[str, str]) -> Schedule:
    """The recorded schedule, or a simulated one where most starts are unknown."""
    starts = known_starts(workload)
    if starts.known.any():
        if not starts.waits:
            lacks["waits"] = starts.sentence
        return Schedule.recorded(starts.started)
    simulate = simulate_fcfs if "requests" in lacks else simulate_easy
    schedule = simulate(workload, check.machine(workload.machine, workload.name))
    lacks["starts"] = f"{starts.sentence}; {schedule.policy} stands in"
    return schedule
