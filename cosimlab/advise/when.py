"""Forecast of a job's start on a Slurm, from its queue, its nodes and its accounting.

Whole nodes are counted. A node that several jobs share counts for one of them only: the one whose
limit is the latest. Jobs that wait for a part of a node are taken to wait for all of it. Jobs that
are held, depend on others or are to begin later are left out, and the scheduler is taken to be EASY
in order of eligibility, whatever the site's priorities are. Without accounting a run time is drawn
uniformly up to the limit, and nobody else is expected to submit.
"""

import os
import tempfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from cosimlab.advise.checkpoints import CheckpointModel
from cosimlab.advise.cluster import Cluster, printed_by
from cosimlab.advise.snapshot import Snapshot
from cosimlab.forecasting.forecast import Forecast, forecast, start_text
from cosimlib.display import count, duration
from cosimlib.system import System
from cosimlib.traces.account import TraceError
from cosimlib.traces.slurm import read_sacct
from cosimlib.units import DAY, HOUR, WEEK
from cosimlib.workload import Workload

SHOWN = 10
UNLIMITED = 30 * DAY
"""Seconds that a job without a limit is expected to ask for."""

ACCOUNTING = (
    "sacct",
    "-a",
    "-X",
    "--noconvert",
    "--parsable2",
    "--delimiter=\x1f",
    "--format=JobIDRaw,JobID,User,Account,Partition,QOS,Submit,Eligible,Start,End,ElapsedRaw,"
    "TimelimitRaw,Suspended,NNodes,NCPUS,AllocTRES,NodeList,State,JobName",
)
OLDEST = 8 * WEEK
"""Seconds for which a job is taken to have waited at most."""

WEEKS = 8
"""Of accounting that are asked for."""


def when_text(cluster: Cluster, made: Forecast, notes: Sequence[str]) -> str:
    """When the job asked for would start, and the waiting ones, as text with notes."""
    on_nodes = count(len(cluster.jobs), "job")
    few = f", of which {made.running:,} count" * (made.running < len(cluster.jobs))
    lines = [
        f"{cluster.name}, {cluster.moment:%Y-%m-%d %H:%M}: {on_nodes} on nodes{few}; "
        f"{len(made.jobs):,} waiting",
        "",
    ]
    asked = [] if made.asked is None else made.asked.to_dict("records")
    for place, job in enumerate(asked):
        shape = f"{count(int(job['nodes']), 'node')} for {duration(job['requested_time'])}"
        lines.append(f"{'  if it were ' * bool(place)}{shape}: {start_text(job)}")
    for _, job in made.table.head(SHOWN).iterrows():
        lines.append(f"job {job['job_id']}: {start_text(job)}")
    left = len(made.jobs) - SHOWN
    lines += [f"and {count(left, 'more job')}"] if left > 0 else []
    return "\n".join([*lines, "", *(f"note: {note}" for note in notes)])


def forecast_of(
    cluster: Cluster,
    nodes: int,
    seconds: float,
    *,
    partition: str | None = None,
    history: str | None = None,
    live: bool = False,
) -> tuple[Forecast, list[str]]:
    """The forecast for a cluster's queue, and what to know of it."""
    seen = Snapshot(cluster, CheckpointModel(), partition)
    index, _, node = cluster.places
    held, shared = _held_nodes(cluster, seen)
    running = _running(cluster, np.flatnonzero(held), held[held > 0])
    waiting, left_out = _waiting(cluster, partition)
    notes = [
        *filter(None, [cluster.doubt]),
        "not tested on this cluster; lab.backtest on its accounting says how often such "
        "intervals hold",
    ]
    notes += [f"{count(left_out, 'job')} left out: not eligible yet"] if left_out else []
    notes += (
        [
            f"{count(shared, 'shared node')}: each is taken to be held until the latest limit of "
            "its jobs, by that job alone"
        ]
        if shared
        else []
    )
    past = _accounting(history, live, cluster.now, partition)
    users = pd.concat([running["user"], waiting.get("user", pd.Series(dtype=object))])
    notes += _notes_on(past, history is not None or live, users, cluster.now)
    total = int((seen.counting | (np.bincount(node, minlength=len(index)) > 0) & seen.asked).sum())
    table = pd.concat([each for each in (past, running, waiting) if len(each)] or [running])
    table = table[table["nodes"] <= total]
    table = table.sort_values("submit_time", kind="stable", ignore_index=True)
    zero = min([cluster.now - 1.0, *table["submit_time"]])
    for name in ("submit_time", "recorded_start"):
        table[name] = table[name].astype(np.float64) - zero
    log, system = Workload(table, cluster.name), System.of(total)
    made = forecast(
        log,
        cluster.now - zero,
        nodes=nodes,
        hours=seconds / HOUR,
        system=system,
        user=os.environ.get("USER"),
    )
    return made, notes + [made.note] * bool(len(past) and made.note)


def _notes_on(past: pd.DataFrame, is_given: bool, users: pd.Series, now: float) -> list[str]:
    """What accounting lacks for forecasts of a queue of some users."""
    if past.empty:
        lack = (
            "no job of the accounting had ended by now and has a limit"
            if is_given
            else ("without accounting of ended jobs (--history)")
        )
        return [f"{lack}: run times are uniform up to the limit, no job is submitted"]
    idle = now - float((past["recorded_start"] + past["run_time"]).max())
    found = [f"the latest job of the accounting ended {duration(idle)} ago"] if idle > WEEK else []
    if len(users) and not users.isin(past["user"]).any():
        found.append("nobody in the queue is in the accounting: it may be of another cluster")
    return found


def _held_nodes(cluster: Cluster, seen: Snapshot) -> tuple[np.ndarray, int]:
    """How many nodes each job holds, each node counted once; how many of them jobs share."""
    index, job, node = cluster.places
    job, node = job[seen.asked[node]], node[seen.asked[node]]
    order = np.argsort(cluster.jobs["end"].fillna(np.inf).to_numpy()[job], kind="stable")
    owner = np.full(len(index), -1)
    owner[node[order]] = job[order]  # the last one stays
    shared = int((np.bincount(node) > 1).sum())
    return np.bincount(owner[owner >= 0], minlength=len(cluster.jobs)), shared


def _running(cluster: Cluster, rows: np.ndarray, held: np.ndarray) -> pd.DataFrame:
    """Jobs that hold nodes; what is known of their submission is their start."""
    jobs, now = cluster.jobs.iloc[rows], cluster.now
    start = jobs["start"].where(jobs["start"] < now, now - 1.0).to_numpy()
    end = jobs["end"].fillna(now + UNLIMITED).to_numpy()
    return pd.DataFrame(
        {
            "submit_time": start,
            "recorded_start": start,
            "run_time": now - start + 1.0,
            "requested_time": np.maximum(end - start, 1.0),
            "nodes": held,
            "job_id": jobs["job_id"].to_numpy(),
            "user": jobs["user"].to_numpy(),
        }
    )


def _waiting(cluster: Cluster, partition: str | None) -> tuple[pd.DataFrame, int]:
    """Jobs that are eligible, a row per task of an array; and how many others wait."""
    queue = cluster.queue if cluster.queue is not None else pd.DataFrame()
    if queue.empty:
        return pd.DataFrame(columns=["submit_time"]), cluster.held
    if partition:
        queue = queue[[partition in names.split(",") for names in queue["partition"]]]
    eligible = queue[queue["eligible"] <= cluster.now]
    rows = eligible.loc[eligible.index.repeat(eligible["tasks"])]
    limit = rows["limit"].where(rows["limit"] > 0, UNLIMITED)
    table = pd.DataFrame(
        {
            "submit_time": rows["eligible"].clip(lower=cluster.now - OLDEST),
            "recorded_start": np.nan,
            "run_time": 0.0,
            "requested_time": limit,
            "nodes": rows["nodes"],
            "job_id": rows["job_id"],
            "user": rows["user"],
        }
    )
    return table, len(queue) - len(eligible) + cluster.held


def _accounting(history: str | None, live: bool, now: float, partition: str | None) -> pd.DataFrame:
    """Jobs of a partition that have ended, in seconds since 1970; none without accounting."""
    if history is None and not live:
        return pd.DataFrame()
    log = read_sacct(history, verbose=False) if history else _asked(now)
    if log.began is None:
        source = history or "sacct"
        raise TraceError(f"{source}: no calendar time; ask sacct with SLURM_TIME_FORMAT=%s")
    began, jobs = log.began.timestamp(), log.jobs
    table = jobs.assign(
        submit_time=jobs["submit_time"] + began,
        user=log.column("user"),
        recorded_start=log.column("recorded_start") + began,
    )
    ended = table["recorded_start"] + table["run_time"] <= now
    known = ended & table["requested_time"].notna() & (table["requested_time"] > 0)
    if partition:
        known &= log.column("queue").fillna("") == partition
    columns = ["submit_time", "recorded_start", "run_time", "requested_time", "nodes", "job_id"]
    return table.loc[known, [*columns, "user"]]


def _asked(now: float) -> Workload:
    """What sacct prints of the latest weeks; nothing of it stays on the disk."""
    since = f"--starttime={pd.Timestamp(now - WEEKS * WEEK, unit='s'):%Y-%m-%d}"
    printed = printed_by(
        [*ACCOUNTING, since], "give its output with --history", SLURM_TIME_FORMAT="%s"
    )
    # Only this user may enter such a folder.
    with tempfile.TemporaryDirectory(prefix="cosim-advise-") as folder:
        path = Path(folder) / "sacct.txt"
        path.write_bytes(printed)
        return read_sacct(path, verbose=False)
