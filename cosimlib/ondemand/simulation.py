"""Batch jobs and bursts of on-demand work on one machine, for as long as a log lasts.

The eviction problem (Maurya et al., DS-RT 2020) answers one instant: who is killed and who writes a
checkpoint, so that nodes are free in time. Here a machine answers it whenever a burst comes, and
pays for the answers.

*Batch jobs* are scheduled by EASY: first come, first served, with one reservation. One that is
evicted waits again at the place of its submission, and starts from its last checkpoint once that
has been read. Without bursts the schedule is that of `simulate_easy`.

*Checkpoints.* Applications write one whenever progress reaches a multiple of their interval. A
log's run times include that (``charged="included"``), or each costs its writing time besides
(``"added"``), for requested times, too. To make way for a burst a job writes one of the two kinds
of the paper: `app`, when the application reaches its next, or `sys`, at once. The file system
writes these one after another; jobs stand still from the moment their own is due. Rereading takes
as long as writing, whatever else is read or written then. All such times are whole seconds.

*Bursts* are jobs with `longest_delay` (s), after which a start is a missed deadline, and perhaps a
notice: at `notice_time` the scheduler learns of them and of the `expected_time` of arrival. None is
ever evicted. Under `wait` they stand before all batch jobs in the queue, under `reserve`
``reserved`` nodes are kept for them besides: batch jobs use these only where they are too wide for
the others. Under the other policies a burst holds what is free and evicts the rest: `kill` whatever
loses least, `greedy` and `dynamic` by the paper's solvers. `cosimlib.ondemand.gathering` has the
rules: jobs are killed at the moment of the burst's start, not before it.

*Deadlines.* A plan exists for each whole step of delay up to the longest. `deadline` says which is
taken: ``"earliest"``; ``"least_loss"``, the one that loses the fewest node-hours and of these the
earliest; or ``"weighted"``, least ``loss + weight · delay`` in node-hours and hours.

*Notices*: ``"ignore"``; ``"collect"``, from the notice on free nodes are held for the burst;
``"prepare"``, `lead` seconds before the expected arrival it is served as if it had come, by a plan
that has until then and the longest delay after it. What is held for a burst that has not come
`patience` seconds after it was expected is given up.
"""

from dataclasses import replace

import numpy as np
import pandas as pd

from cosimlib import checks as check
from cosimlib.ondemand.checkpoints import checkpoint_table
from cosimlib.ondemand.loop import simulate
from cosimlib.ondemand.planning import (
    COLLECT,
    DYNAMIC,
    DYNAMIC_BLOCKED,
    EARLIEST,
    GREEDY,
    IGNORE,
    LEAST_LOSS,
    LEAST_LOSS_KILL,
    NO_SOLVER,
    PREPARE,
    WEIGHTED,
    Rules,
)
from cosimlib.ondemand.schedule import OnDemandSchedule, eviction_table, plan_table, stretch_table
from cosimlib.ondemand.state import OnDemandJobs
from cosimlib.system import System
from cosimlib.workload import InvalidWorkloadError, Workload, check_run

POLICIES = {
    "wait": NO_SOLVER,
    "reserve": NO_SOLVER,
    "kill": LEAST_LOSS_KILL,
    "greedy": GREEDY,
    "dynamic": DYNAMIC,
    "dynamic_blocked": DYNAMIC_BLOCKED,
}
DEADLINES = {"earliest": EARLIEST, "least_loss": LEAST_LOSS, "weighted": WEIGHTED}
NOTICES = {"ignore": IGNORE, "collect": COLLECT, "prepare": PREPARE}
CHARGES = ("included", "added")
LONGEST_DELAY = 900.0
"""Of bursts that tell none: the paper's latest deadline, seconds."""


def simulate_ondemand(
    workload: Workload,
    system: System,
    bursts: Workload | None = None,
    *,
    policy: str = "dynamic",
    deadline: str = "least_loss",
    weight: float = 0.0,
    notice: str = "ignore",
    reserved: int = 0,
    step: float = 60.0,
    lead: float = 900.0,
    patience: float = 600.0,
    interval: float | str | None = 3600.0,
    charged: str = "included",
    node_mtbf: float = 157_680_000.0,
    seed: int = 0,
) -> OnDemandSchedule:
    """Run batch jobs by EASY, and bursts of on-demand work that make them give way.

    Parameters
    ----------
    workload : Workload
        The batch jobs, with requested times.
    system : System
        Of one partition; with memory and bandwidths unless no job ever writes a checkpoint.
    bursts : Workload, optional
        On-demand jobs on the same clock. `longest_delay` (s, 900 where missing), `notice_time` and
        `expected_time` (s, NaN: no notice) are columns of their own; as of `synthetic.bursts`.
    policy : str, default "dynamic"
        One of `POLICIES`.
    deadline : {"least_loss", "earliest", "weighted"}
    weight : float, default 0.0
        Node-hours that an hour of delay is worth, for ``"weighted"``.
    notice : {"ignore", "collect", "prepare"}
    reserved : int, default 0
        Nodes kept for bursts, under `reserve` and only there.
    step : float, default 60.0
        Seconds between two deadlines.
    lead, patience : float, default 900.0, 600.0
        Seconds.
    interval, node_mtbf, seed
        Of checkpoints, see `checkpoint_table`.
    charged : {"included", "added"}
        Whether applications' checkpoints are part of the run times.

    Returns
    -------
    OnDemandSchedule
        Of batch jobs and bursts together, in order of submission; at equal times batch jobs first.

    Raises
    ------
    InvalidWorkloadError
        Where a job or burst is wider than the system, a batch job has no requested time, or a
        burst's delay or notice makes no sense.
    """
    check_run(workload, system)
    if bursts is not None:
        check.instance("bursts", bursts, Workload, expected="a Workload, as synthetic.bursts draws")
    _check(policy, deadline, weight, notice, reserved, step, lead, patience, interval, charged)
    check.seconds("node_mtbf", node_mtbf, above=0)
    check.seed(seed)
    workload.arrays(system)
    most = system.total_nodes
    if policy == "reserve":
        check.whole("reserved", reserved, 1, most, where="reserve")
    writes = POLICIES[policy] != NO_SOLVER or charged == "added"
    checkpoints = _checkpoints(workload, system, writes, interval, node_mtbf, seed)
    joined, batch_rows = _joined(workload, bursts, system)
    checkpoints = checkpoints.set_index(batch_rows).reindex(joined.jobs.index)
    checkpoints = checkpoints.fillna({"interval": np.inf, "app_write": 0.0, "sys_write": 0.0})
    jobs = _arrays(joined, system, checkpoints, charged, notice, lead)
    rules = Rules(
        most, int(reserved), POLICIES[policy], DEADLINES[deadline], float(weight), float(step),
        NOTICES[notice], float(patience),
    )  # fmt: skip
    start_time, end_time, log = simulate(jobs, rules)
    return OnDemandSchedule(
        joined,
        system,
        _name(policy, deadline, weight, notice, reserved),
        start_time,
        end_time,
        on_demand=jobs.on_demand,
        stretches=stretch_table(log.stretches),
        evictions=eviction_table(log.evictions),
        plans=plan_table(log.plans),
        checkpoints=checkpoints.assign(charge=jobs.charge),
        reserved=int(reserved),
    )


def _check(
    policy: str,
    deadline: str,
    weight: float,
    notice: str,
    reserved: int,
    step: float,
    lead: float,
    patience: float,
    interval: float | str | None,
    charged: str,
) -> None:
    """Raise for the first argument that is out of its range."""
    check.choice("policy", policy, POLICIES)
    check.choice("deadline", deadline, DEADLINES)
    check.number("weight", weight, least=0, kind="node-hours per hour of delay,")
    check.choice("notice", notice, NOTICES)
    unused = reserved == 0 or policy == "reserve"
    check.that("reserved", reserved, unused, "0 unless policy='reserve'")
    check.seconds("step", step, above=0)
    check.seconds("lead", lead)
    check.seconds("patience", patience)
    check.choice("charged", charged, CHARGES)
    fine = interval == "daly" if isinstance(interval, str) else check.is_number(interval)
    fine = fine and (isinstance(interval, str) or 0 < interval < np.inf)  # type: ignore[operator]
    check.that("interval", interval, fine, "seconds above 0, or 'daly'", none="for no checkpoints")


def _checkpoints(
    workload: Workload,
    system: System,
    needed: bool,
    interval: float | str | None,
    node_mtbf: float,
    seed: int,
) -> pd.DataFrame:
    """The checkpoints of batch jobs; without any where no policy asks for one."""
    if needed and len(workload):
        return checkpoint_table(workload, system, interval=interval, node_mtbf=node_mtbf, seed=seed)
    none = {"interval": np.inf, "app_write": 0.0, "sys_write": 0.0}
    return pd.DataFrame(none, index=workload.jobs.index, dtype=np.float64)


def _joined(
    workload: Workload, bursts: Workload | None, system: System
) -> tuple[Workload, np.ndarray]:
    """Batch jobs and bursts in one workload, and the rows of the batch jobs in it."""
    batch = workload.jobs.drop(columns="mate", errors="ignore").assign(on_demand=False)
    if bursts is None or not len(bursts):
        return replace(workload, jobs=batch), np.arange(len(batch))
    extra = _burst_table(bursts, system)
    table = pd.concat([batch, extra], ignore_index=True)
    order = np.argsort(table["submit_time"].to_numpy(), kind="stable")
    place = np.empty(len(order), dtype=np.int64)
    place[order] = np.arange(len(order))
    joined = replace(workload, jobs=table.iloc[order], name=f"{workload.name} + {bursts.name}")
    return joined, place[: len(batch)]


def _burst_table(bursts: Workload, system: System) -> pd.DataFrame:
    """The bursts' jobs with all their columns filled in, and checked."""
    bursts.arrays(system, requested_time=False)
    jobs = bursts.jobs.drop(columns="mate", errors="ignore")
    submit = jobs["submit_time"]
    delay = (
        jobs["longest_delay"] if "longest_delay" in jobs else pd.Series(LONGEST_DELAY, jobs.index)
    )
    notice, expected = (
        jobs[name].astype("float64") if name in jobs else pd.Series(np.nan, jobs.index)
        for name in ("notice_time", "expected_time")
    )
    rules = (
        ("longest_delay", delay, (delay >= 0) & (delay < np.inf), "seconds from 0"),
        ("notice_time", notice, notice.isna() | ((notice >= 0) & (notice <= submit)),
         "seconds from 0 to its submit_time, or NaN for no notice"),
        ("expected_time", expected, expected.isna() | ((expected >= notice) & (expected < np.inf)),
         "seconds from its notice_time on, or NaN for no notice"),
    )  # fmt: skip
    for name, values, fine, text in rules:
        check.rows(name, values, fine, text, row=bursts.label, error=InvalidWorkloadError)
    requested = jobs["requested_time"].fillna(jobs["run_time"].clip(lower=1.0))
    return jobs.assign(
        on_demand=True,
        requested_time=requested,
        longest_delay=delay.astype("float64"),
        notice_time=notice,
        expected_time=expected.fillna(submit),
    )


def _arrays(
    joined: Workload,
    system: System,
    checkpoints: pd.DataFrame,
    charged: str,
    notice: str,
    lead: float,
) -> OnDemandJobs:
    """The bridge to the kernels."""
    arrays, jobs = joined.arrays(system), joined.jobs
    on_demand = np.array(jobs["on_demand"], dtype=np.bool_)

    def column(name: str) -> np.ndarray:
        values = jobs[name] if name in jobs else pd.Series(np.nan, jobs.index)
        return np.array(values, dtype=np.float64)

    told, expected = column("notice_time"), column("expected_time")
    call = np.full(len(jobs), np.inf)
    if notice != "ignore":
        call = np.maximum(told, expected - lead) if notice == "prepare" else told
        call = np.where(call < arrays.submit_time, call, np.inf)
    app_write = np.array(checkpoints["app_write"], dtype=np.float64)
    return OnDemandJobs(
        *arrays,
        on_demand,
        np.array(checkpoints["interval"], dtype=np.float64),
        app_write.copy() if charged == "added" else np.zeros(len(jobs)),
        app_write,
        np.array(checkpoints["sys_write"], dtype=np.float64),
        column("longest_delay"),
        call,
        expected,
    )


def _name(policy: str, deadline: str, weight: float, notice: str, reserved: int) -> str:
    """Name of the policy in tables, with the knobs that are not as by default."""
    knobs = []
    if policy == "reserve":
        knobs.append(f"{reserved:,}")
    if policy in ("greedy", "dynamic") and deadline != "least_loss":
        knobs.append(f"λ = {weight:g}" if deadline == "weighted" else deadline)
    if notice != "ignore":
        knobs.append(notice)
    return f"{policy} ({', '.join(knobs)})" if knobs else policy
