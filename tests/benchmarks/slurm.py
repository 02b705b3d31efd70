"""Slurm's simulator by number of jobs: ``python -m tests.benchmarks.slurm 60_000 200_000``.

It prints a row of Markdown per number of jobs: processor seconds, mean number of waiting jobs,
passes of backfill, microseconds per pass, memory of the process, and a checksum of the starts.

The machine is like ARCHER2's: 5,860 whole nodes, 400 users of 40 accounts, four QOS with limits,
fair share, and a job every 17 s. Jobs are drawn: more by day, sizes and run times log-normal,
requests longer than needed. Kernels are compiled before.
"""

import argparse
import subprocess
import sys
import time
import zlib
from pathlib import Path

import numpy as np
import pandas as pd

import cosimlib as cs
from cosimlib.slurm import (
    QOS,
    Association,
    Limits,
    Node,
    Partition,
    PrioritySettings,
    SchedulerSettings,
    Site,
)
from cosimlib.slurm.simulation import simulate_events, world_of
from cosimlib.units import DAY, HOUR, MINUTE
from tests.benchmarks.large import peak

ROOT = Path(__file__).resolve().parents[2]
NODES = 5_860
USERS, ACCOUNTS = 400, 40
EVERY = 17.28
"""Seconds between two submissions, on average: 600,000 in four months."""
SWING = 0.6
"""By how much submissions are denser by day."""
LONGEST_RUN, LONGEST_REQUEST = 24 * HOUR, 96 * HOUR


def site() -> Site:
    """A machine of whole nodes with fair share, QOS and limits."""
    accounts = [f"a{number}" for number in range(ACCOUNTS)]
    users = [f"u{number}" for number in range(USERS)]
    tree = (
        Association("root"),
        *(Association(name, "", "root", 1 + place % 5) for place, name in enumerate(accounts)),
        *(
            Association(accounts[place % ACCOUNTS], user, accounts[place % ACCOUNTS], 1)
            for place, user in enumerate(users)
        ),
    )
    qos = {
        "standard": QOS("standard", 500, Limits(jobs_per_user=16.0)),
        "short": QOS("short", 500, Limits(wall_time=20 * MINUTE)),
        "long": QOS("long", 500, Limits(group_jobs=200.0, jobs_per_user=16.0)),
        "largescale": QOS("largescale", 500, Limits(jobs_per_user=1.0)),
    }
    every = tuple(range(NODES))
    partition = Partition("standard", every, exclusive=True, max_time=LONGEST_REQUEST, default=True)
    priority = PrioritySettings(
        age=500,
        fair_share=300,
        job_size=100,
        qos=400,
        max_age=14 * DAY,
        half_life=2 * DAY,
        period=300.0,
    )
    return Site(
        "like ARCHER2",
        tuple(Node(f"n{number:04}", 128, 262_144.0) for number in every),
        {"standard": partition},
        qos,
        tree,
        priority,
        SchedulerSettings(bf_window=4 * DAY, bf_max_job_test=1_000),
        enforce=frozenset({"limits"}),
        counts_memory=False,
    )


def log(jobs: int, load: float, seed: int = 0) -> cs.Workload:
    """Jobs that load the machine so much."""
    rng = np.random.default_rng(seed)
    span = jobs * EVERY
    even = np.sort(rng.random(jobs)) * span
    submit_time = even - SWING * DAY / (2 * np.pi) * np.sin(2 * np.pi * even / DAY)
    nodes = np.clip(np.round(np.exp(rng.normal(0.9, 1.35, jobs))), 1, 1024)
    run_time = np.exp(rng.normal(8.0, 1.6, jobs))
    # The longest are cut, so that a factor alone does not give the load.
    for _ in range(8):
        cut = np.clip(run_time, 10, LONGEST_RUN)
        run_time *= load * NODES * span / (cut * nodes).sum()
    run_time = np.round(np.clip(run_time, 10, LONGEST_RUN))
    request = np.ceil(run_time * np.exp(np.abs(rng.normal(0, 1, jobs))) / 600) * 600
    request = np.where(rng.random(jobs) < 0.4, DAY, np.minimum(LONGEST_REQUEST, request))
    request = np.maximum(request, run_time)
    user = np.minimum(USERS - 1, rng.geometric(1 / 60, jobs) - 1)
    table = {
        "submit_time": np.sort(np.round(submit_time - submit_time[0])),
        "run_time": run_time,
        "requested_time": request,
        "nodes": nodes.astype(int),
        "user": [f"u{number}" for number in user],
        "qos": np.where(nodes >= 256, "largescale", np.where(request > DAY, "long", "standard")),
        "partition": "standard",
    }
    return cs.Workload(pd.DataFrame(table), "synthetic")


def measure(jobs: int, load: float) -> None:
    """Print the row of a number of jobs."""
    machine = site()
    simulate_events(world_of(log(60, load), machine)[0])
    world, _ = world_of(log(jobs, load), machine)
    begin = time.process_time()
    simulate_events(world)
    seconds = time.process_time() - begin
    clock, start_time = world.clock, np.array(world.jobs.start_time)
    waited = np.nansum(start_time - world.jobs.submit_time)
    waiting = waited / np.nanmax(world.jobs.end_time)
    print(
        f"| {jobs:,} | {seconds:.1f} s | {waiting:,.0f} | {clock.plans:,} | "
        f"{seconds / clock.plans * 1e6:.0f} µs | {peak() / 1e9:.2f} GB | "
        f"{zlib.crc32(start_time.tobytes())} |",
        flush=True,
    )


def main() -> None:
    """Measure each number of jobs in a process of its own."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("jobs", nargs="+", type=int)
    parser.add_argument("--load", type=float, default=0.85)
    parser.add_argument("--one", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.one:
        measure(given.jobs[0], given.load)
        return
    print("| jobs | processor time | waiting | passes | a pass | memory | starts |")
    print("|---:|---:|---:|---:|---:|---:|---:|", flush=True)
    for jobs in given.jobs:
        command = [sys.executable, "-m", __spec__.name, str(jobs), "--load", str(given.load)]
        subprocess.run([*command, "--one"], cwd=ROOT, check=True)


if __name__ == "__main__":
    main()
