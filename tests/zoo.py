"""A zoo of small odd logs: what a site's log may lack or exaggerate, one oddity per file.

``python -m tests.zoo`` writes ``tests/data/zoo/*.swf.gz`` anew, the same bytes each time. All logs
but those of another oddity are of 300 jobs over four weeks on a machine of 64 nodes, scheduled
first come, first served.
"""

import gzip
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd

from cosimlib.batch import simulate_fcfs
from cosimlib.files import write_whole
from cosimlib.system import System
from cosimlib.units import DAY, HOUR, WEEK
from cosimlib.workload import Workload
from tests.suites import THOROUGH

ZOO = Path(__file__).parent / "data" / "zoo"
ODDEST = {
    "a-day-beyond-the-machine", "no-header", "no-requested-times", "no-run-lasts",
    "over-committed", "submissions-are-starts", "three-jobs",
}  # fmt: skip
"""Logs that slow tests take by day; at night they take all."""

JOBS, NODES, SPAN = 300, 64, 4 * WEEK
COLUMNS = ["job", "submit", "wait", "run", "processors", "cpu", "memory", "requested_processors",
           "requested_time", "requested_memory", "status", "user", "group", "executable", "queue",
           "partition", "preceding", "think"]  # fmt: skip
ODDITIES: dict[str, tuple[Callable[[pd.DataFrame], pd.DataFrame], str]] = {}
"""By name: what is done to the plain log, and its header."""


def oddity(header: str | None = f"; MaxNodes: {NODES}\n; MaxProcs: {NODES}\n") -> Callable:
    """Enter a function that makes a log odd under its own name, with dashes."""

    def enter(change: Callable[[pd.DataFrame], pd.DataFrame]) -> Callable:
        ODDITIES[change.__name__.replace("_", "-")] = change, header or ""
        return change

    return enter


def plain(jobs: int = JOBS, span: float = SPAN, nodes: int = NODES, seed: int = 0) -> pd.DataFrame:
    """A log without oddities: daily cycles, sizes of powers of two, ten users."""
    draw = np.random.default_rng(seed)
    day = np.sort(draw.integers(0, max(1, int(span / DAY)), jobs)) * DAY
    hour = draw.normal(14, 4, jobs).clip(0, 23.9) * HOUR
    submit = np.sort(day + hour).round()
    run = draw.lognormal(8.3, 1.2, jobs).clip(30, 1.5 * DAY).round()
    size = 2 ** draw.integers(0, int(np.log2(nodes)) + 1, jobs)
    requested = (np.ceil(run * draw.uniform(1.1, 4, jobs) / HOUR) * HOUR).clip(max=2 * DAY)
    user = draw.integers(1, 11, jobs)
    table = pd.DataFrame({
        "job": np.arange(1, jobs + 1), "submit": submit - submit.min(), "run": run,
        "processors": size, "cpu": -1, "memory": -1, "requested_processors": size,
        "requested_time": requested, "requested_memory": -1, "status": 1, "user": user,
        "group": user % 3, "executable": user % 5, "queue": 1 + (size > 8), "partition": 1,
        "preceding": -1, "think": -1,
    })  # fmt: skip
    return waited(table, nodes)


def waited(table: pd.DataFrame, nodes: int) -> pd.DataFrame:
    """The log with the waits of first come, first served."""
    names = {"submit": "submit_time", "run": "run_time", "processors": "nodes"}
    jobs = table[list(names)].rename(columns=names)
    start = simulate_fcfs(Workload(jobs), System.of(nodes)).start_time
    return table.assign(wait=start - table["submit"])[COLUMNS]


def odd(name: str) -> str:
    """The path of a log of the zoo."""
    return str(ZOO / f"{name}.swf.gz")


def odd_logs() -> list[Path]:
    """The logs that slow tests take, in order."""
    logs = sorted(ZOO.glob("*.swf.gz"))
    return [path for path in logs if THOROUGH or path.name.partition(".")[0] in ODDEST]


@oddity()
def no_requested_times(table: pd.DataFrame) -> pd.DataFrame:
    """No job says for how long it asks."""
    return table.assign(requested_time=-1)


@oddity()
def some_requested_times(table: pd.DataFrame) -> pd.DataFrame:
    """Every third job says for how long it asks."""
    return table.assign(requested_time=table["requested_time"].where(table["job"] % 3 == 0, -1))


@oddity()
def six_requested_times_missing(table: pd.DataFrame) -> pd.DataFrame:
    """All jobs but six say for how long they ask."""
    return table.assign(requested_time=table["requested_time"].where(table["job"] % 50 > 0, -1))


@oddity()
def no_waits(table: pd.DataFrame) -> pd.DataFrame:
    """No job says when it started."""
    return table.assign(wait=-1)


@oddity()
def one_partition_named(table: pd.DataFrame) -> pd.DataFrame:
    """The partition field is filled, with one number that is not 1."""
    return table.assign(partition=7)


@oddity()
def several_partitions(table: pd.DataFrame) -> pd.DataFrame:
    """Jobs ask for one of three partitions."""
    return table.assign(partition=1 + table["job"] % 3)


@oddity()
def first_weeks_almost_empty(table: pd.DataFrame) -> pd.DataFrame:
    """Two short jobs in the first three weeks, all others after them."""
    submit = table["submit"] + 3 * WEEK
    submit[:2] = [0, WEEK]
    table = table.assign(submit=submit)
    table.loc[:1, ["run", "processors", "requested_processors"]] = 10, 1, 1
    return waited(table, NODES)


@oddity()
def only_one_node_jobs(table: pd.DataFrame) -> pd.DataFrame:
    """Every job asks for one node."""
    return waited(table.assign(processors=1, requested_processors=1, queue=1), NODES)


@oddity()
def two_sizes(table: pd.DataFrame) -> pd.DataFrame:
    """Jobs ask for one node or for half of the machine."""
    size = np.where(table["job"] % 2 == 0, 1, NODES // 2)
    return waited(table.assign(processors=size, requested_processors=size), NODES)


@oddity()
def over_committed(table: pd.DataFrame) -> pd.DataFrame:
    """No job waits, although more nodes are held at times than there are."""
    return table.assign(wait=0, submit=(table["submit"] / 4).round())


@oddity(header="; MaxNodes: 16\n; MaxProcs: 16\n")
def wider_than_the_machine(table: pd.DataFrame) -> pd.DataFrame:
    """The header's machine has a quarter of the nodes that the widest jobs hold."""
    return table


@oddity(header="; MaxNodes: 8\n; MaxProcs: 64\n")
def nodes_of_eight_processors(table: pd.DataFrame) -> pd.DataFrame:
    """Sizes are in processors, eight of them per node."""
    size = (table["processors"] * 8).clip(upper=NODES)
    return waited(table.assign(processors=size, requested_processors=size), NODES)


@oddity(header=None)
def no_header(table: pd.DataFrame) -> pd.DataFrame:
    """Records only."""
    return table


@oddity()
def one_user(table: pd.DataFrame) -> pd.DataFrame:
    """All jobs are one user's, of one application."""
    return table.assign(user=1, group=1, executable=1)


@oddity()
def no_users(table: pd.DataFrame) -> pd.DataFrame:
    """No job says whose it is."""
    return table.assign(user=-1, group=-1, executable=-1, queue=-1, partition=-1)


@oddity()
def all_at_one_second(table: pd.DataFrame) -> pd.DataFrame:
    """All jobs are submitted at once."""
    return waited(table.assign(submit=0), NODES)


@oddity()
def three_jobs(table: pd.DataFrame) -> pd.DataFrame:
    """Three jobs."""
    return waited(table.head(3).reset_index(drop=True), NODES)


@oddity()
def a_year_of_gaps(table: pd.DataFrame) -> pd.DataFrame:
    """Four busy weeks, thirteen weeks apart from one another."""
    week = table["submit"] // WEEK
    return waited(table.assign(submit=table["submit"] + 13 * WEEK * week), NODES)


@oddity()
def no_run_lasts(table: pd.DataFrame) -> pd.DataFrame:
    """Every job runs for a second."""
    return waited(table.assign(run=1), NODES)


@oddity()
def submissions_are_starts(table: pd.DataFrame) -> pd.DataFrame:
    """The log gives the start of each job as its submission."""
    started = table.assign(submit=table["submit"] + table["wait"], wait=0)
    return started.sort_values("submit", kind="stable")


@oddity()
def one_start_missing(table: pd.DataFrame) -> pd.DataFrame:
    """One job does not say when it started."""
    return table.assign(wait=table["wait"].where(table["job"] != 100, -1))


@oddity()
def seconds_since_1970(table: pd.DataFrame) -> pd.DataFrame:
    """Times are seconds since 1970, and the header has no start."""
    return table.assign(submit=table["submit"] + 1_669_852_800)


@oddity()
def a_day_beyond_the_machine(table: pd.DataFrame) -> pd.DataFrame:
    """On one day jobs hold three times the nodes that there are."""
    day = table.iloc[:3].assign(submit=20 * DAY, wait=0, run=DAY, processors=NODES)
    day = day.assign(job=JOBS + 1 + np.arange(3), requested_processors=NODES)
    return pd.concat([table.iloc[:-3], day]).sort_values("submit", kind="stable")


def write(folder: Path = ZOO) -> list[Path]:
    """Write all logs of the zoo into a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    paths = []
    for name, (change, header) in ODDITIES.items():
        table = change(plain()).astype("int64")
        text = f"; {change.__doc__}\n{header}" + table.to_csv(sep=" ", header=False, index=False)
        paths.append(folder / f"{name}.swf.gz")
        write_whole(paths[-1], gzip.compress(text.encode(), mtime=0))
    return paths


if __name__ == "__main__":
    print("\n".join(str(path.name) for path in write()))
    sys.exit(0)
