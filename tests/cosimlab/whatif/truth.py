"""Logs whose answer is known: real submissions, scheduled by policies that the replay is not told.

A *log* is a part of a real log, or a synthetic one; a *scheduler* gives it starts on its own
machine, and on the changed one. What the change did to the waits is then known. `OPEN` lists the
cells on which the method may be tuned, `HELD_BACK` those on which it is judged: other logs or other
parts, and one scheduler more. Both lists stood in this file before a held-back cell was computed.

The logs of `JUDGED_BEFORE` were held back from the first version of the rules, and judged it once.
They are open since.
"""

import os
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numba
import numpy as np
import pandas as pd

from cosimlib.batch import (
    simulate,
    simulate_conservative,
    simulate_easy,
    simulate_fcfs,
    simulate_first_fit,
)
from cosimlib.calendar import Calendar
from cosimlib.schedule import Schedule
from cosimlib.synthetic import lublin, theta, with_estimates, with_offered_load
from cosimlib.system import System
from cosimlib.traces import load
from cosimlib.traces.oddities import fitting, with_requests
from cosimlib.units import HOUR, WEEK
from cosimlib.workload import Workload

CHANGES: dict[str, dict[str, Any]] = {
    "+10 % nodes": {"nodes": "+10%"},
    "+25 % nodes": {"nodes": "+25%"},
    "-5 % nodes": {"nodes": "-5%"},
    "run x .9": {"run_time": 0.9},
    "without a user": {"without": None},
    "limit": {"limit": None},
}
"""Arguments of `what_if` by the name of a change.

The user is the one with most node-hours, the limit the one that `limit_of` finds.
"""

LIMITS = tuple(hours * HOUR for hours in (72, 48, 24, 12, 6, 3, 2, 1))
"""Limits on run time that sites have (s), the longest first."""

LEAST_CUT = 0.02
"""Share of the jobs that a limit cuts, at least."""

ALL = 10**9
PARTS = {
    "KTH": ("KTH-SP2-1996-2.1-cln.swf.gz", 0, ALL),
    "SDSC 1": ("SDSC-SP2-1998-4.2-cln.swf.gz", 0, 30_000),
    "SDSC 2": ("SDSC-SP2-1998-4.2-cln.swf.gz", 30_000, ALL),
    "HPC2N 1": ("HPC2N-2002-2.2-cln.swf.gz", 0, 50_000),
    "HPC2N 2": ("HPC2N-2002-2.2-cln.swf.gz", 100_000, 150_000),
    "Theta 1": ("theta-2023-prod.swf.gz", 0, 15_000),
    "Theta 2": ("theta-2023-prod.swf.gz", 15_000, ALL),
    "Mira": ("mira-2018-aug27-dec31.swf.gz", 0, ALL),
    "Gaia 1": ("UniLu-Gaia-2014-2.swf.gz", 0, 25_000),
    "Gaia 2": ("UniLu-Gaia-2014-2.swf.gz", 25_000, ALL),
    "Curie 1": ("CEA-Curie-2011-2.1-cln.swf.gz", 0, 40_000),
    "Curie 2": ("CEA-Curie-2011-2.1-cln.swf.gz", 150_000, 190_000),
    "RICC 1": ("RICC-2010-2+hdr.swf.gz", 0, 30_000),
    "RICC 2": ("RICC-2010-2+hdr.swf.gz", 200_000, 230_000),
    "HPC2N 3": ("HPC2N-2002-2.2-cln.swf.gz", 50_000, 100_000),
    "HPC2N 4": ("HPC2N-2002-2.2-cln.swf.gz", 150_000, ALL),
    "Curie 3": ("CEA-Curie-2011-2.1-cln.swf.gz", 60_000, 100_000),
    "Curie 4": ("CEA-Curie-2011-2.1-cln.swf.gz", 240_000, 280_000),
    "RICC 3": ("RICC-2010-2+hdr.swf.gz", 100_000, 130_000),
    "RICC 4": ("RICC-2010-2+hdr.swf.gz", 350_000, 380_000),
    "Intrepid": ("intrepid-2009-first3000.swf.gz", 0, ALL),
}
"""File, first and last job of each log."""

SYNTHETIC = {
    "Lublin 1": (0.75, 1),
    "Lublin 2": (0.8, 2),
    "Lublin 3": (0.7, 3),
    "Lublin 4": (0.75, 4),
    "like Theta": (0.8, 5),
}
"""Load and seed of each synthetic log.

10,000 jobs of the Lublin–Feitelson model on 128 nodes, or of the model of Theta on 4,360.
"""

LOADS = {"Intrepid": 0.75}
"""Offered load to which the submissions of a real log are scaled, where nobody would wait else."""

SCHEDULERS = (
    "EASY",
    "conservative",
    "first fit",
    "EASY wfp",
    "EASY shortest",
    "FCFS",
    "every 5 min",
    "limit per user",
    "reservation",
)
OPEN_LOGS = ("KTH", "SDSC 1", "HPC2N 1", "Theta 1", "Gaia 1", "Curie 1", "RICC 1", "Lublin 1")
JUDGED_BEFORE = ("SDSC 2", "HPC2N 2", "Theta 2", "Gaia 2", "Curie 2", "RICC 2", "Mira", "Lublin 2")
OTHER_LOGS = (
    "HPC2N 3",
    "HPC2N 4",
    "Curie 3",
    "Curie 4",
    "RICC 3",
    "RICC 4",
    "Intrepid",
    "Lublin 3",
    "Lublin 4",
    "like Theta",
)
OPEN = dict.fromkeys((*OPEN_LOGS, *JUDGED_BEFORE), (*SCHEDULERS, "EASY sjbf"))
HELD_BACK = dict.fromkeys(OTHER_LOGS, (*SCHEDULERS, "EASY sjbf", "EASY SAF"))
# Intrepid's log names no users.
HELD_BACK["Intrepid"] = tuple(each for each in HELD_BACK["Intrepid"] if each != "limit per user")


@cache
def log_of(name: str) -> Workload:
    """A log with requested times, whose recorded starts are left out."""
    if name in SYNTHETIC:
        offered, seed = SYNTHETIC[name]
        made = lublin if name.startswith("Lublin") else theta
        log = made(10_000, load=offered, seed=seed)
        log = with_estimates(log, seed=seed) if made is lublin else log
        user = np.random.default_rng(seed).zipf(1.5, len(log)) % 40
        return replace(log, jobs=log.jobs.assign(user=user.astype(str)), name=name)
    file, first, last = PARTS[name]
    whole = load(Path(os.environ["COSIMLIB_TRACES"]) / file, verbose=False)
    row = np.arange(len(whole))
    part = fitting(whole.keep((row >= first) & (row < last), "another part"))[0]
    part = with_requests(part)[0]
    if part.jobs["requested_time"].isna().any():
        part = with_requests(part, "run_time")[0]
    if name in LOADS:
        part = with_offered_load(part, part.machine.total_nodes, load=LOADS[name])
    jobs = part.jobs.drop(columns=["recorded_start", "partition"], errors="ignore")
    return replace(part, jobs=jobs, name=name)


@numba.njit
def every_five_minutes(state: Any) -> Any:
    """First fit by a scheduler that acts every five minutes."""
    starts, free = [], state.free_nodes
    following = (np.floor(state.now / 300.0) + 1.0) * 300.0
    if state.now % 300.0 == 0.0:
        for position, nodes in enumerate(state.waiting.nodes):
            if nodes <= free:
                starts.append(position)
                free -= nodes
    return starts, following


MOST = 8
"""Jobs of a user that run at once at most, under the limit per user."""


@numba.njit
def limit_per_user(state: Any) -> Any:
    """First fit among the jobs whose user is below the limit."""
    starts, free = [], state.free_nodes
    waiting, active = state.waiting.columns[0], state.running.columns[0]
    jobs = np.zeros(int(max(waiting.max(), np.append(active, 0.0).max())) + 1)
    for user in active:
        jobs[int(user)] += 1
    for position, nodes in enumerate(state.waiting.nodes):
        user = int(waiting[position])
        if nodes <= free and jobs[user] < MOST:
            starts.append(position)
            free -= nodes
            jobs[user] += 1
    return starts


def reserved(workload: Workload, system: System) -> Schedule:
    """EASY beside a reservation of two fifths of the recorded machine, for eight hours a week."""
    weeks = int(workload.jobs["submit_time"].iloc[-1] // WEEK) + 10
    start = WEEK * np.arange(weeks) + 9 * HOUR
    nodes = int(0.4 * workload.machine.total_nodes)
    windows = pd.DataFrame({"start": start, "end": start + 8 * HOUR, "nodes": nodes})
    return simulate_easy(workload, system, calendar=Calendar(windows.assign(kind="reservation")))


def simulator(name: str) -> Callable[[Workload, System], Schedule]:
    """The simulator of a scheduler in the lists."""
    named: dict[str, Callable[[Workload, System], Schedule]] = {
        "EASY": simulate_easy,
        "conservative": simulate_conservative,
        "first fit": simulate_first_fit,
        "FCFS": simulate_fcfs,
        "reservation": reserved,
        "every 5 min": lambda log, system: simulate(log, system, every_five_minutes),
        "limit per user": lambda log, system: simulate(
            log, system, limit_per_user, columns=["user"]
        ),
    }
    if name in named:
        return named[name]
    order = name.removeprefix("EASY ")
    return lambda log, system: simulate_easy(log, system, order=order)


def changed(log: Workload, change: str) -> tuple[Workload, System]:
    """The jobs that can run on the changed machine, and that machine."""
    total = log.machine.total_nodes
    share = {"+10 % nodes": 1.1, "+25 % nodes": 1.25, "-5 % nodes": 0.95}.get(change, 1.0)
    nodes = round(share * total)
    if change == "run x .9":
        log = replace(log, jobs=log.jobs.assign(run_time=0.9 * log.jobs["run_time"]))
    if change == "without a user":
        log = log.keep((log.jobs["user"] != largest_user(log)).fillna(True), "of the user")
    log = log.keep(log.jobs["nodes"] <= nodes, "too wide")
    return log, log.machine.with_nodes(nodes)


def largest_user(log: Workload) -> str:
    """The user with most node-hours."""
    work = log.jobs["nodes"] * log.jobs["run_time"]
    return str(work.groupby(log.jobs["user"]).sum().idxmax())


def limit_of(log: Workload) -> float:
    """The longest of `LIMITS` that cuts at least `LEAST_CUT` of the jobs; infinite if none does."""
    run_time = log.jobs["run_time"].to_numpy()
    return next((each for each in LIMITS if (run_time > each).mean() >= LEAST_CUT), np.inf)


def starts_under(
    log: Workload, limit: float, run: Callable[[Workload, System], Schedule]
) -> np.ndarray:
    """Start of each job under a limit (s), after which a job is cut and submitted anew.

    A job that is cut counts as started when it would have started without the pauses between its
    pieces: its end less its run time. A piece is submitted at the end of the piece before. No
    simulator knows of such pairs, so the log is scheduled again and again, each time with the ends
    of the time before. No decision of a scheduler rests on later submissions. So each time is
    right for at least one limit longer, and the submissions that come out as they went in are those
    of the limit.
    """
    run_time = log.jobs["run_time"].to_numpy()
    number = np.maximum(np.ceil(run_time / limit), 1.0).astype(np.int64)
    job = np.repeat(np.arange(len(log)), number)
    first = np.cumsum(number) - number
    begun = (np.arange(job.size) - first[job]) * limit
    later = begun > 0
    length = np.minimum(run_time[job] - begun, limit)
    asked = np.minimum(log.jobs["requested_time"].to_numpy()[job] - begun, limit)
    pieces = log.jobs.iloc[job].reset_index(drop=True)
    pieces = pieces.assign(run_time=length, requested_time=np.where(asked > 0, asked, length))
    submit_time = pieces["submit_time"].to_numpy() + begun
    for _ in range(MOST_ROUNDS):
        order = np.argsort(submit_time, kind="stable")
        jobs = pieces.assign(submit_time=submit_time).iloc[order].reset_index(drop=True)
        end_time = np.empty(job.size)
        end_time[order] = run(replace(log, jobs=jobs), log.machine).start_time + length[order]
        before = np.concatenate([[0.0], end_time[:-1]])
        found = np.where(later, before, submit_time)
        if (found == submit_time).all():
            return end_time[first + number - 1] - run_time
        submit_time = found
    raise RuntimeError(f"{log.name}: no end of submissions after {MOST_ROUNDS} rounds")


MOST_ROUNDS = 2_000
"""Rounds of `starts_under`: a log of a year with a limit of an hour has 9,000 limits."""


def true_starts(name: str, scheduler: str) -> dict[str, np.ndarray]:
    """Starts as recorded (``"same"``) and under each change, per job; missing where left out."""
    log, run = log_of(name), simulator(scheduler)
    numbered = replace(log, jobs=log.jobs.assign(row=np.arange(len(log))))
    found = {"same": run(log, log.machine).start_time}
    for change in CHANGES:
        if change == "without a user" and log.column("user").isna().all():
            continue
        if change == "limit":
            if np.isfinite(limit_of(log)):
                found[change] = starts_under(log, limit_of(log), run)
            continue
        jobs, machine = changed(numbered, change)
        starts = np.full(len(log), np.nan)
        starts[jobs.jobs["row"].to_numpy()] = run(jobs, machine).start_time
        found[change] = starts
    return found


def stored_starts(folder: Path, name: str, scheduler: str) -> dict[str, np.ndarray]:
    """The same, computed once and kept in a folder."""
    path = folder / f"{name}-{scheduler}.npz"
    if not path.exists():
        folder.mkdir(parents=True, exist_ok=True)
        unfinished = path.with_suffix(".part.npz")
        np.savez_compressed(unfinished, **true_starts(name, scheduler))
        unfinished.rename(path)
    with np.load(path) as stored:
        return dict(stored)
