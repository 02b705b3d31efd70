"""Whether the runs of jobs, and the nodes that they hold, could have been."""

import numpy as np
import pandas as pd

from cosimlib.preemption.auditing.demanding import demand, demand_apart
from cosimlib.schedulers.elastic import ElasticSchedule


def runs_on_nodes(schedule: ElasticSchedule) -> pd.DataFrame:
    """One row a node of a run: `attempt`, `node`, and the run's columns."""
    count = len(schedule.attempts)
    known = schedule.holdings["attempt"].between(0, count - 1)
    demand(schedule, known, schedule.holdings["attempt"], "nodes are held by no run {}")
    attempts = schedule.attempts.reset_index(drop=True)
    return schedule.holdings.join(attempts, on="attempt")


def check_runs(schedule: ElasticSchedule) -> None:
    """Raise for a job that is lost, ends twice, or runs where it could not."""
    jobs, attempts = schedule.workload.jobs, schedule.attempts
    demand(schedule, attempts["job"].isin(jobs.index), attempts["job"], "there is no job {}")
    completed = attempts[attempts["completed"]]
    ends = completed["job"].value_counts().reindex(jobs.index, fill_value=0)
    demand(schedule, ends == 1, jobs.index, "job {} does not end exactly once")
    whole = attempts["start_time"] + jobs["run_time"].to_numpy()[attempts["job"]]
    fine = (attempts["end_time"] == whole) | ~attempts["completed"]
    demand(schedule, fine, attempts["job"], "job {} ends before or after its run time")
    fine = attempts["end_time"].between(attempts["start_time"], whole)
    demand(schedule, fine, attempts["job"], "job {} is killed before its start or after its end")
    submitted = jobs["submit_time"].to_numpy()[attempts["job"]]
    demand(schedule, attempts["start_time"] >= submitted, attempts["job"],
           "job {} runs before its submission")  # fmt: skip
    own = attempts.sort_values(["job", "start_time", "end_time"], kind="stable")
    again = own["job"] == own["job"].shift()
    apart = ~again | (own["start_time"] >= own["end_time"].shift())
    demand(schedule, apart, own["job"], "job {} runs twice at a time")
    _check_times(schedule)


def _check_times(schedule: ElasticSchedule) -> None:
    """Raise where a job's start or end is not that of its first or last run."""
    jobs = schedule.workload.jobs.index
    by_job = schedule.attempts.groupby("job")
    for name, times, of_runs in (
        ("start", schedule.start_time, by_job["start_time"].min()),
        ("end", schedule.end_time, by_job["end_time"].max()),
    ):
        fine = np.asarray(times) == of_runs.reindex(jobs).to_numpy()
        demand(schedule, fine, jobs, f"job {{}} does not {name} when its runs do")
    last = schedule.attempts.loc[schedule.attempts["completed"]].set_index("job")["end_time"]
    fine = np.asarray(schedule.end_time) == last.reindex(jobs).to_numpy()
    demand(schedule, fine, jobs, "job {} runs again after its end")


def check_nodes(schedule: ElasticSchedule, runs: pd.DataFrame) -> None:
    """Raise for a run on too few nodes, and for a node on two runs at a time."""
    attempts = schedule.attempts.reset_index(drop=True)
    counts = runs.groupby("attempt")["node"].nunique().reindex(attempts.index, fill_value=0)
    wanted = schedule.workload.jobs["nodes"].to_numpy()[attempts["job"]]
    demand(schedule, counts.to_numpy() == wanted, attempts["job"],
           "job {} runs on another number of nodes than it wants")  # fmt: skip
    lasting = runs[runs["end_time"] > runs["start_time"]]
    demand_apart(schedule, lasting, "node {} is on two runs at a time")
