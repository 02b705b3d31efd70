"""A schedule of AccaSim: the command that made ``tests/data/identify/accasim.csv``.

``python -m tests.cosimlab.identify.accasim [PYTHON]`` runs AccaSim 1.1.3 with the interpreter of
another environment, into which ``pip install accasim==1.1.3`` has put it; by default with this one.
The jobs are 400 of the Lublin-Feitelson model, with requests of the model of Tsafrir, on 128 nodes
of one core. AccaSim's EASY (`EASYBackfilling`, with the allocator `FirstFit`) schedules them. The
command says how many starts are those of the stored file. With ``--write`` it writes the file.
"""

import json
import subprocess
import sys
import tempfile
from datetime import datetime
from pathlib import Path

import numpy as np
import pandas as pd

import cosimlib as cs

STORED = Path(__file__).resolve().parents[2] / "data" / "identify" / "accasim.csv"
NODES, SEED = 128, 7
VERSION = "1.1.3"
COLUMNS = ["job_id", "submit_time", "run_time", "requested_time", "nodes"]

PROGRAM = """
import collections
import collections.abc
import os
import sys
import time

collections.Mapping = collections.abc.Mapping  # as it was called before Python 3.10
os.environ["TZ"] = "UTC"  # AccaSim prints local times
time.tzset()
from accasim.base.allocator_class import FirstFit
from accasim.base.scheduler_class import EASYBackfilling
from accasim.base.simulator_class import Simulator

log, config, folder = sys.argv[1:]
scheduler = EASYBackfilling(FirstFit())
simulator = Simulator(
    log,
    config,
    scheduler,
    RESULTS_FOLDER_NAME=folder,
    LOG_LEVEL="ERROR",
    statistics_output=False,
    show_statistics=False,
)
simulator.start_simulation()
print(time.process_time())
"""
"""What the other interpreter runs. It prints its processor seconds last.

They leave out the processes in which AccaSim writes its schedule.
"""


def jobs() -> pd.DataFrame:
    """The jobs, in whole seconds from the first submission."""
    log = cs.synthetic.with_estimates(cs.synthetic.lublin(400, load=0.95, seed=SEED), seed=SEED)
    table = log.jobs.assign(job_id=np.arange(1, len(log) + 1))
    table["submit_time"] = np.floor(table["submit_time"] - table["submit_time"].iloc[0])
    for name in ("run_time", "requested_time"):
        table[name] = np.ceil(table[name])
    return table[COLUMNS].astype(int)


def missing(python: str) -> str:
    """Why AccaSim cannot be run by an interpreter; empty if it can."""
    asked = "from importlib.metadata import version; print(version('accasim'))"
    found = subprocess.run([python, "-c", asked], capture_output=True, text=True, check=False)
    version = found.stdout.strip()
    if found.returncode:
        return (
            f"{python} has no AccaSim; pip install accasim=={VERSION} in an environment of its own"
        )
    return "" if version == VERSION else f"AccaSim is of version {version}, not {VERSION}"


def starts(python: str, table: pd.DataFrame) -> np.ndarray:
    """The start of each job under AccaSim's EASY (s)."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        log = folder / "jobs.swf"
        cs.write_swf(cs.Workload(table.astype({"job_id": "Int64"}), "AccaSim"), log)
        call = command(python, log, NODES, folder)
        subprocess.run(call, check=True, cwd=folder, stdout=subprocess.DEVNULL)
        (printed,) = (folder / "results").rglob("sched-*")
        start = read_starts(printed.read_text(encoding="utf-8"))
    return table["job_id"].map(start).to_numpy()


def command(python: str, log: Path, nodes: int, folder: Path) -> list[str]:
    """The call of AccaSim for a log and so many nodes of one core; it writes to ``results``."""
    config, results = folder / "system.json", folder / "results"
    system = {
        "system_name": f"{nodes} nodes of one core",
        "start_time": 0,
        "equivalence": {"processor": {"core": 1}},
        "groups": {"node": {"core": 1}},
        "resources": {"node": nodes},
    }
    config.write_text(json.dumps(system), encoding="utf-8")
    results.mkdir()
    return [python, "-c", PROGRAM, str(log), str(config), str(results)]


def read_starts(printed: str) -> dict[int, int]:
    """Start of each job (s) by its number, in a schedule that AccaSim printed."""
    rows = [line.split("__") for line in printed.splitlines()]
    return {int(row[0].split(";")[0]): _seconds(row[2].split(";")[0]) for row in rows}


def _seconds(printed: str) -> int:
    """Seconds of a time of day as AccaSim prints it, from the first of January 1970."""
    return int((datetime.fromisoformat(printed) - datetime(1970, 1, 1)).total_seconds())


def main(arguments: list[str]) -> int:
    """Schedule the jobs, and compare with the stored file or write it."""
    python = next((each for each in arguments if each != "--write"), sys.executable)
    reason = missing(python)
    if reason:
        print(f"skipped: {reason}")
        return 0
    table = jobs()
    table["start_time"] = starts(python, table)
    if "--write" in arguments:
        table.to_csv(STORED, index=False)
    stored = pd.read_csv(STORED)
    same_jobs = bool((stored[COLUMNS] == table[COLUMNS]).all(axis=None))
    equal = int((stored["start_time"] == table["start_time"]).sum())
    print(
        f"the same jobs: {same_jobs}; {equal} of {len(stored)} starts are those of the stored file"
    )
    return 0 if same_jobs and equal == len(stored) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
