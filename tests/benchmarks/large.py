"""Large logs: processor time and memory of reading, of EASY and of metrics, by number of jobs.

``python -m tests.benchmarks.large 1_000_000 3_000_000 10_000_000`` prints a row of Markdown per
measurement: seconds, memory, and from each number of jobs to the next the exponent with which the
time grows. ``--task sacct`` measures one task alone.

Jobs are drawn for a grid site: most take one node, and the machine is full by day. Each task has a
process of its own for each number of jobs. The memory of readers is the peak beyond what the
imports take, as a multiple of the decompressed text. The memory of EASY and of metrics is the peak
of the whole process, in which the workload is drawn, too. Kernels are compiled before.
"""

import argparse
import gzip
import math
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd

import cosimlib as cs
from cosimlib.traces import read_sacct, read_swf
from cosimlib.units import DAY

ROOT = Path(__file__).resolve().parents[2]
PIECE = 1_000_000
"""Jobs that are drawn and written at a time."""
WIDTHS, SHARES = (1, 2, 4, 8, 16, 32), (0.90, 0.04, 0.03, 0.015, 0.01, 0.005)
RATE, LENGTH, SPREAD = 1.4, 6.5, 1.3
"""Submissions per second (44 million a year); of the logarithm of run times, mean and deviation."""
BUSY, SWING = 0.75, 0.4
"""Share of the machine that jobs hold; by how much intervals are shorter by day."""
SECOND_ZERO = 1_700_000_000


def columns(jobs: int, seed: int = 0) -> dict[str, np.ndarray]:
    """Submissions, run times and requested times (whole seconds) and nodes of jobs of a grid."""
    rng = np.random.default_rng(seed)
    gaps = rng.exponential(1 / RATE, jobs)
    gaps *= 1 - SWING * np.sin(np.arange(jobs) * (2 * math.pi / (DAY * RATE)))
    submit_time = np.floor(np.cumsum(gaps, out=gaps), out=gaps)
    run_time = np.ceil(np.minimum(rng.lognormal(LENGTH, SPREAD, jobs), 3 * 86_400.0))
    requested_time = np.ceil(run_time * rng.uniform(1.0, 4.0, jobs) / 600.0) * 600.0
    nodes = rng.choice(np.array(WIDTHS), jobs, p=SHARES)
    return {
        "submit_time": submit_time,
        "run_time": run_time,
        "requested_time": requested_time,
        "nodes": nodes,
    }


def machine_nodes() -> int:
    """Nodes of the machine that the jobs keep busy at `BUSY`, over days."""
    mean = math.exp(LENGTH + SPREAD**2 / 2) * float(np.dot(WIDTHS, SHARES))
    return round(RATE * mean / BUSY)


def grid(jobs: int) -> cs.Workload:
    """Workload of a grid site."""
    return cs.Workload(pd.DataFrame(columns(jobs), copy=False), "grid")


def swf_table(first: int, jobs: int) -> pd.DataFrame:
    """Records of 18 whole numbers."""
    rng, drawn = np.random.default_rng(first), columns(jobs, first)
    unknown = np.full(jobs, -1)
    table = {
        "job_id": np.arange(first + 1, first + jobs + 1),
        "submit_time": drawn["submit_time"] + first / RATE,
        "wait_time": rng.integers(0, 5_000, jobs),
        "run_time": drawn["run_time"],
        "allocated": drawn["nodes"],
        "cpu_time": drawn["run_time"] * 0.9,
        "used_memory": rng.integers(1_000, 4_000_000, jobs),
        "requested": drawn["nodes"],
        "requested_time": drawn["requested_time"],
        "requested_memory": unknown,
        "status": rng.choice([0, 1, 5], jobs, p=[0.06, 0.93, 0.01]),
        "user": rng.zipf(1.5, jobs) % 2_000 + 1,
        "group": rng.zipf(1.5, jobs) % 100 + 1,
        "application": rng.zipf(1.5, jobs) % 5_000 + 1,
        "queue": rng.integers(1, 9, jobs),
        "partition": unknown,
        "preceding_job": unknown,
        "think_time": unknown,
    }
    return pd.DataFrame({name: np.asarray(values, np.int64) for name, values in table.items()})


def sacct_table(first: int, jobs: int) -> pd.DataFrame:
    """Records as ``sacct --parsable2`` prints them, with times in seconds of the epoch."""
    rng, drawn = np.random.default_rng(first), columns(jobs, first)
    number = pd.Series(np.arange(first + 1, first + jobs + 1)).astype("str")
    submit = (drawn["submit_time"] + first / RATE).astype(np.int64) + SECOND_ZERO
    start = submit + rng.integers(0, 5_000, jobs)
    run_time = drawn["run_time"].astype(np.int64)
    width = pd.Series(drawn["nodes"]).astype("str")
    cores = pd.Series(drawn["nodes"] * 16).astype("str")
    users = pd.Series(rng.zipf(1.5, jobs) % 2_000).astype("str")
    host = pd.Series(rng.integers(100, 4_000, jobs))
    last = (host + drawn["nodes"] - 1).astype("str")
    host = host.astype("str")
    return pd.DataFrame(
        {
            "JobIDRaw": number,
            "JobID": number,
            "User": "user" + users,
            "Account": rng.choice(["physics", "chemistry", "lab", "biology"], jobs),
            "Partition": rng.choice(["batch", "long", "debug"], jobs, p=[0.8, 0.15, 0.05]),
            "QOS": "normal",
            "Submit": submit,
            "Eligible": submit,
            "Start": start,
            "End": start + run_time,
            "ElapsedRaw": run_time,
            "TimelimitRaw": (drawn["requested_time"] / 60).astype(np.int64),
            "Suspended": "00:00:00",
            "NNodes": width,
            "NCPUS": cores,
            "AllocTRES": "billing=" + cores + ",cpu=" + cores + ",mem=64000M,node=" + width,
            "NodeList": ("n" + host).where(width == "1", "n[" + host + "-" + last + "]"),
            "State": rng.choice(["COMPLETED", "FAILED", "TIMEOUT"], jobs, p=[0.92, 0.06, 0.02]),
            "JobName": "run",
        }
    )


def write(path: Path, jobs: int, table: Callable[[int, int], pd.DataFrame], delimiter: str) -> None:
    """Write a log in pieces: with a header of SWF, or a heading of ``sacct``."""
    is_swf = delimiter == " "
    with path.open("wb") as file:
        if is_swf:
            file.write(f"; Version: 2.2\n; MaxNodes: {machine_nodes()}\n".encode())
        for first in range(0, jobs, PIECE):
            piece = table(first, min(PIECE, jobs - first))
            heading = first == 0 and not is_swf
            file.write(piece.to_csv(sep=delimiter, index=False, header=heading).encode())


def measure_reading(folder: Path, jobs: int, kind: str) -> list[tuple[str, float, float, str]]:
    """Reading a log: what, processor seconds, memory and its unit."""
    plain, packed = folder / "log", folder / "log.gz"
    is_swf = kind.startswith("swf")
    write(plain, jobs, *((swf_table, " ") if is_swf else (sacct_table, "|")))
    size = plain.stat().st_size
    if kind == "swf.gz":
        with plain.open("rb") as text, gzip.open(packed, "wb", 1) as file:
            shutil.copyfileobj(text, file)
    # Writing took memory, too: the peak is that of a process that only reads.
    command = [sys.executable, "-m", __spec__.name, "--read", kind, str(folder)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    seconds, memory = map(float, done.stdout.split()[-2:])
    return [(f"reading {kind}", seconds, memory / size, "× the text")]


def read(folder: Path, kind: str) -> None:
    """Print processor seconds and bytes beyond the imports of reading a log."""
    reader = read_swf if kind.startswith("swf") else read_sacct
    pd.array(["a"], dtype="string")  # loads what pandas loads late
    before, begin = peak(), time.process_time()
    workload = reader(folder / ("log.gz" if kind == "swf.gz" else "log"), verbose=False)
    seconds = time.process_time() - begin
    assert len(workload)
    print(seconds, peak() - before)


def measure_easy(jobs: int) -> list[tuple[str, float, float, str]]:
    """EASY, and metrics of its schedule: what, processor seconds, memory and its unit."""
    system = cs.System.of(machine_nodes())
    cs.simulate_easy(grid(1_000), system)
    workload, rows = grid(jobs), []
    begin = time.process_time()
    schedule = cs.simulate_easy(workload, system)
    rows.append(("EASY", time.process_time() - begin, peak() / 1e9, "GB"))
    for name, metric in METRICS.items():
        begin = time.process_time()
        metric(schedule)
        rows.append((name, time.process_time() - begin, peak() / 1e9, "GB"))
    return rows


METRICS: dict[str, Callable[[cs.Schedule], object]] = {
    "mean wait": lambda schedule: cs.metrics.wait_time(schedule).mean(),
    "utilization": cs.metrics.utilization,
    "mean wait by size": lambda schedule: (
        cs.metrics.wait_time(schedule)
        .groupby(cs.metrics.job_groups(schedule.workload, "size"), observed=True)
        .mean()
    ),
}
TASKS = ("swf", "swf.gz", "sacct", "easy")


def peak() -> float:
    """The most memory that the process has had, in bytes.

    On Linux `ru_maxrss` also counts the process that started this one; macOS counts in bytes.
    """
    status = Path("/proc/self/status")
    if status.exists():
        line = next(each for each in status.read_text().splitlines() if each.startswith("VmHWM"))
        return float(line.split()[1]) * 1024
    return float(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)


def measure(task: str, jobs: int) -> None:
    """Print the rows of a task, separated by tabs."""
    if task == "easy":
        rows = measure_easy(jobs)
    else:
        with tempfile.TemporaryDirectory() as folder:
            rows = measure_reading(Path(folder), jobs, task)
    for row in rows:
        print(*row, sep="\t")


def measured(task: str, jobs: int) -> list[list[str]]:
    """The rows of a task in a process of its own."""
    command = [sys.executable, "-m", __spec__.name, "--one", "--task", task, str(jobs)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    return [line.split("\t") for line in done.stdout.splitlines()]


def table(task: str, sizes: list[int]) -> None:
    """Print a row of Markdown per measurement of a task."""
    runs = [measured(task, jobs) for jobs in sizes]
    for rows in zip(*runs, strict=True):
        seconds = [float(row[1]) for row in rows]
        times = " / ".join(f"{each:.3g}" for each in seconds)
        memory = " / ".join(f"{float(row[2]):.2g}" for row in rows)
        steps = zip(sizes[1:], sizes, seconds[1:], seconds, strict=False)
        growth = " / ".join(
            f"{math.log(longer / shorter) / math.log(more / fewer):.2f}"
            for more, fewer, longer, shorter in steps
        )
        print(f"| {rows[0][0]} | {times} s | {memory} {rows[0][3]} | {growth} |", flush=True)


def main() -> None:
    """Measure what the command line says."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("jobs", nargs="*", help="numbers of jobs, ascending")
    parser.add_argument("--task", choices=TASKS)
    parser.add_argument("--one", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--read", choices=TASKS, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.read:
        read(Path(given.jobs[0]), given.read)
    elif given.one:
        measure(given.task, int(given.jobs[0]))
    else:
        for task in [given.task] if given.task else TASKS:
            table(task, [int(jobs) for jobs in given.jobs])


if __name__ == "__main__":
    main()
