"""Functions to sweep over, where worker processes can import them."""

import os
import signal
import time
from pathlib import Path

import pandas as pd


def product(x, seed=0, by=1.0):
    """One row."""
    return {"product": x * by + seed}


def multiples(x, seed):
    """As many rows as the seed says."""
    return [{"times": k, "multiple": k * x, "even": (k * x) % 2 == 0} for k in range(seed)]


def table(x):
    """A table with an index that has a name, and one number that binary fractions do not hold."""
    index = pd.Index(["first", "second"], name="which")
    return pd.DataFrame({"tenth": [x / 10, None], "text": ["é", "b"]}, index=index)


def size(x, workload):
    """A number of a large argument."""
    return {"jobs": len(workload), "last": float(workload.jobs["submit_time"].iloc[-1]) + x}


def fail(x, seed):
    """An error in some cells."""
    if x == 2:
        raise ValueError(f"two is wrong, {seed}")
    return {"x times seed": x * seed}


def die_once(x, folder):
    """A worker that is killed at x = 3, the first time; and a note of who came by."""
    with (Path(folder) / str(x)).open("a") as file:
        file.write(f"{os.getpid()}\n")
    if x == 3 and len((Path(folder) / "3").read_text().split()) == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    return {"square": x * x}


def process(x):
    """The process that a cell is computed in."""
    return {"process": os.getpid()}


def slowly(x, folder):
    """Half a second of work, and a note of the Slurm job that did it."""
    with (Path(folder) / str(x)).open("a") as file:
        file.write(os.environ.get("SLURM_JOB_ID", "here") + "\n")
    time.sleep(0.5)
    return {"square": x * x}
