"""Other simulators: EASY on the same jobs, in jobs per second, and the share of equal starts.

``python -m tests.benchmarks.peers --accasim PYTHON --pyss FOLDER --cqsim FOLDER`` prints a table of
Markdown with a row per simulator and a column per log. A cell has the jobs per second of processor
time and the share of jobs that start at the same second as in cosimlib. A simulator that is not
named is left out. Other logs are named after the options; ``HPC2N:30_000`` are the first 30,000
jobs of a log. ``--jobs 500`` takes at most so many jobs of every log, for a trial.

- AccaSim: the Python of an environment with ``pip install accasim==1.1.3``. Its EASY is
  `EASYBackfilling` with the allocator `FirstFit`.
- pyss: a clone of github.com/dinesh121991/pyss, and Python 2.7 (``--python2``), with ``-O``
  because its assertions search the whole queue of events. Its EASY is `EasyBackfillScheduler`.
- CQSim: a clone of github.com/SPEAR-UIC/CQSim, and the Python that runs this module. Its settings
  are those that it has in ``src/Config``, except for those in `CQSIM_SETTINGS`.

No source of these simulators is changed. All simulators read the same log in SWF: whole seconds
from the first submission, run times of at least 1 s, requested times of at least the run time, no
job wider than the machine, a processor for each node. The processor time of another simulator is
that of its whole process: its start, reading, simulating and writing. AccaSim writes its schedule
in processes of their own, whose time is not counted. There are two rows for cosimlib. The first has
the time of `simulate_easy`, the median of several calls, from workload to schedule. The second has
that of a whole process, too, and also checks that the log in SWF has the same jobs. Kernels are
compiled before.
"""

import argparse
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd

import cosimlib as cs
from cosimlib import traces
from tests.benchmarks.batch import ready
from tests.cosimlab.identify import accasim

ROOT = Path(__file__).resolve().parents[2]
LOGS = ("KTH-SP2", "SDSC-SP2", "HPC2N:30_000")
REPEATS = 7

OURS = """
import sys
import cosimlib as cs

workload = cs.read_swf(sys.argv[1], verbose=False)
jobs = cs.simulate_easy(workload, workload.machine).jobs
for job, start_time in zip(jobs["job_id"], jobs["start_time"]):
    print(job, start_time)
"""
"""What a process of cosimlib runs."""

PYSS = """
import sys
sys.path.insert(0, sys.argv[1])
from base.prototype import _job_inputs_to_jobs
from base.workload_parser import parse_lines
from schedulers.easy_scheduler import EasyBackfillScheduler
from schedulers.simulator import Simulator

processors = int(sys.argv[3])
jobs = _job_inputs_to_jobs(parse_lines(open(sys.argv[2])), processors)
simulator = Simulator(jobs, processors, EasyBackfillScheduler(processors))
simulator.run()
for job in simulator.terminated_jobs:
    print("%d %d" % (job.id, job.start_to_run_at_time))
"""
"""What Python 2.7 runs: pyss's own command prints no starts."""

CQSIM_SETTINGS = """
backfill=1
read_num=-1
debug_lvl=0
monitor=
"""
"""EASY, all jobs, no text for debugging, and no events that only monitor."""


class Log(NamedTuple):
    """Jobs as all simulators get them, the machine, the file in SWF, and starts in cosimlib."""

    workload: cs.Workload
    system: cs.System
    path: Path
    start_time: pd.Series


class Run(NamedTuple):
    """Processor seconds of a simulator, and the start of each job by its number."""

    seconds: float
    start_time: Mapping[int, float]


def same_jobs(workload: cs.Workload, limits: Sequence[int]) -> cs.Workload:
    """The first jobs of a log in whole seconds, numbered from 1, with requests that suffice."""
    jobs = workload.jobs.head(min(limits, default=len(workload)))
    run_time = np.ceil(jobs["run_time"].clip(lower=1.0))
    table = {
        "job_id": pd.array(range(1, len(jobs) + 1), dtype="Int64"),
        "submit_time": np.floor(jobs["submit_time"] - jobs["submit_time"].iloc[0]),
        "run_time": run_time,
        "requested_time": np.ceil(np.maximum(jobs["requested_time"], run_time)),
        "nodes": jobs["nodes"],
    }
    return cs.Workload(pd.DataFrame(table), workload.name, workload.machine)


def prepared(log: str, limit: int | None, folder: Path) -> Log:
    """A log such as ``KTH-SP2`` or ``HPC2N:30_000``, written to a folder."""
    name, _, first = log.partition(":")
    limits = [int(number) for number in (first, limit) if number]
    workload = same_jobs(ready(traces.load(name, verbose=False)), limits)
    system = workload.machine
    if system is None:
        raise ValueError(f"{log} does not say how many nodes its machine has")
    path = cs.write_swf(workload, folder / "jobs.swf")
    jobs = cs.simulate_easy(workload, system).jobs
    return Log(workload, system, path, jobs.set_index("job_id")["start_time"])


def processor_seconds(command: Sequence[str], folder: Path) -> tuple[float, str]:
    """Processor seconds of a process in a folder, and what it prints."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(command, cwd=folder, stdout=subprocess.PIPE, text=True, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return seconds, done.stdout


def with_cosimlib(log: Log, folder: Path) -> Run:
    """EASY of cosimlib in this process, from workload to schedule."""
    times = []
    for _ in range(REPEATS):
        begin = time.process_time()
        cs.simulate_easy(log.workload, log.system)
        times.append(time.process_time() - begin)
    return Run(float(np.median(times)), log.start_time.to_dict())


def with_process(log: Log, folder: Path) -> Run:
    """EASY of cosimlib in a process of its own."""
    seconds, printed = processor_seconds([sys.executable, "-c", OURS, str(log.path)], ROOT)
    return Run(seconds, pair_starts(printed))


def with_accasim(python: str, log: Log, folder: Path) -> Run:
    """EASY of AccaSim."""
    command = accasim.command(python, log.path, log.system.total_nodes, folder)
    _, printed = processor_seconds(command, folder)
    (schedule,) = (folder / "results").rglob("sched-*")
    start_time = accasim.read_starts(schedule.read_text(encoding="utf-8"))
    return Run(float(printed.split()[-1]), start_time)


def with_pyss(python: str, sources: Path, log: Log, folder: Path) -> Run:
    """EASY of pyss."""
    arguments = [str(sources / "src"), str(log.path), str(log.system.total_nodes)]
    seconds, printed = processor_seconds([python, "-O", "-c", PYSS, *arguments], folder)
    return Run(seconds, pair_starts(printed))


def with_cqsim(sources: Path, log: Log, folder: Path) -> Run:
    """EASY of CQSim, which looks for settings and logs beside the folder in which it runs."""
    inside = folder / "src"
    shutil.copytree(sources / "src" / "Config", inside / "Config")
    settings = inside / "Config" / "config_sys.set"
    # Of two lines with the same name CQSim takes the later.
    settings.write_text(settings.read_text().rstrip() + CQSIM_SETTINGS)
    data = folder / "data" / "InputFiles"
    data.mkdir(parents=True)
    shutil.copy(log.path, data)
    script = str(sources / "src" / "cqsim.py")
    command = [sys.executable, script, "-j", log.path.name, "-n", log.path.name]
    seconds, _ = processor_seconds(command, inside)
    return Run(seconds, cqsim_starts((folder / "data" / "Results" / "jobs.rst").read_text()))


def pair_starts(printed: str) -> dict[int, float]:
    """Start of each job by its number, from lines of a number and a start."""
    pairs = [line.split() for line in printed.splitlines()]
    return {int(job): float(start_time) for job, start_time in pairs}


def cqsim_starts(printed: str) -> dict[int, float]:
    """Start of each job by its number, from CQSim's table of results."""
    rows = [line.split(";") for line in printed.splitlines()]
    return {int(row[0]): float(row[7]) for row in rows}


def cell(log: Log, run: Run) -> str:
    """Jobs per second, and the share of starts that are those of cosimlib."""
    if run.start_time.keys() != set(log.start_time.index):
        raise ValueError(
            f"{len(run.start_time):,} starts were read for {len(log.start_time):,} jobs of "
            f"{log.workload.name}"
        )
    speed = float(f"{len(log.start_time) / run.seconds:.3g}")
    share = (pd.Series(run.start_time).reindex(log.start_time.index) == log.start_time).mean()
    return f"{speed:,.0f} ({100 * share:.1f} %)"


def program(name: str) -> str:
    """Absolute path of a program; processes run in folders of their own."""
    found = shutil.which(name)
    if found is None:
        raise FileNotFoundError(f"there is no program {name}")
    return str(Path(found).absolute())


def python_version(python: str) -> str:
    """Version of an interpreter."""
    asked = "import platform; print(platform.python_version())"
    return subprocess.check_output([python, "-c", asked], text=True).strip()


def commit(folder: Path) -> str:
    """Short name of the commit of a clone; ``unknown commit`` without git."""
    command = ["git", "-C", str(folder), "rev-parse", "--short", "HEAD"]
    found = subprocess.run(command, capture_output=True, text=True, check=False)
    return found.stdout.strip() or "unknown commit"


def simulators(given: argparse.Namespace) -> dict[str, Callable[[Log, Path], Run]]:
    """Simulators by their names in the table; prints which are left out."""
    ours = f"cosimlib {cs.__version__}, {commit(ROOT)}"
    rows: dict[str, Callable[[Log, Path], Run]] = {
        f"{ours}, `simulate_easy`": with_cosimlib,
        f"{ours}, whole process": with_process,
    }
    if given.accasim:
        python = program(given.accasim)
        reason = accasim.missing(python)
        if reason:
            raise ValueError(reason)
        name = f"AccaSim {accasim.VERSION} (Python {python_version(python)})"
        rows[name] = partial(with_accasim, python)
    else:
        print("AccaSim is left out: no --accasim")
    if given.pyss:
        python = program(given.python2)
        name = f"pyss {commit(given.pyss)} (Python {python_version(python)} -O)"
        rows[name] = partial(with_pyss, python, given.pyss.resolve())
    else:
        print("pyss is left out: no --pyss")
    if given.cqsim:
        name = f"CQSim {commit(given.cqsim)} (Python {python_version(sys.executable)})"
        rows[name] = partial(with_cqsim, given.cqsim.resolve())
    else:
        print("CQSim is left out: no --cqsim")
    return rows


def main() -> None:
    """Print the row of each simulator."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("logs", nargs="*", default=LOGS, metavar="LOG")
    parser.add_argument("--jobs", type=int, help="at most so many jobs of every log")
    parser.add_argument("--accasim", metavar="PYTHON", help="interpreter that has AccaSim")
    parser.add_argument("--pyss", type=Path, metavar="FOLDER", help="clone of pyss")
    parser.add_argument("--python2", default="python2.7", help="interpreter for pyss")
    parser.add_argument("--cqsim", type=Path, metavar="FOLDER", help="clone of CQSim")
    given = parser.parse_args()
    rows = simulators(given)
    with tempfile.TemporaryDirectory() as name:
        logs = []
        for log in given.logs:
            folder = Path(tempfile.mkdtemp(dir=name))
            logs.append(prepared(log, given.jobs, folder))
        names = [f"{log.workload.name}, {len(log.workload):,} jobs" for log in logs]
        print(f"\n| EASY | {' | '.join(names)} |\n|---|{'---:|' * len(logs)}", flush=True)
        for simulator, run in rows.items():
            cells = [cell(log, run(log, Path(tempfile.mkdtemp(dir=name)))) for log in logs]
            print(f"| {simulator} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
