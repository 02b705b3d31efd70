"""Batch scheduling as in the paper: FCFS with backfilling, in steps, under noise; and its logs.

"If the smaller job's requested walltime is less than the time the job at the head of the queue must
wait, then the smaller job can run on unused nodes" (Hofmeyr et al., HPCC 2016). So a job overtakes
only if it ends strictly before the head's promised start, however few nodes it takes:
`simulate_easy` without extra nodes. EASY as it is known lets it take those, too.

In a batch system jobs do not share nodes, and noise slows nodes and steps independently. How long
noise makes a job therefore depends neither on where nor on when it runs: its run time can be
drawn first and scheduled then, with the same distribution as if noise came in between.

An SPMD job runs in each step at the speed of its slowest node, another at the mean speed of its
nodes. Jobs end with a step. No job is killed for outrunning an estimate because of noise.
"""

import math
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from cosimlib import checks as check
from cosimlib.audit import audit, audit_rule, check_capacity, check_columns, demand_of_jobs
from cosimlib.batch import simulate_easy
from cosimlib.kernels.jit import allocating_kernel, kernel
from cosimlib.metrics import busy_stretch
from cosimlib.schedule import Schedule
from cosimlib.system import System
from cosimlib.timesharing.kernel import ROUNDING, SLOWEST, STEP
from cosimlib.timesharing.simulation import check_knobs, check_slowed, in_steps, policy_name
from cosimlib.workload import InvalidWorkloadError, Workload, check_run


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class SteppedSchedule(Schedule):
    """Batch schedule in steps: a job ends with the step in which its work is done.

    Parameters
    ----------
    workload, system, policy, start_time, end_time
        As of a `Schedule`; the run times are dedicated ones, which noise makes longer.
    step : float
        Seconds.
    slowest : float
        The least speed of a node under noise; 1 without.
    """

    step: float
    slowest: float


def simulate_batch(
    workload: Workload,
    system: System,
    *,
    noise: float | None = None,
    spmd: bool = True,
    extra_nodes: bool = False,
    step: float = STEP,
    seed: int = 0,
) -> SteppedSchedule:
    """FCFS with backfilling as in the paper, in steps of time, with nodes slowed by noise.

    Parameters
    ----------
    workload : Workload
        With requested times.
    system : System
    noise : float, optional
        Probability that a node is slowed in a step.
    spmd : bool, default True
        Whether a job runs at the speed of its slowest node, or at the mean speed.
    extra_nodes : bool, default False
        Whether a job that overtakes may take nodes that the head leaves over, as in EASY. In the
        paper it must end before the head's promised start.
    step : float, default 10
        Seconds.
    seed : int, default 0
        Of the noise.

    Returns
    -------
    SteppedSchedule
        Of the workload with submissions in steps; runs end with the step in which they are done,
        so that they take longer than the workload's dedicated run times.

    Raises
    ------
    InvalidWorkloadError
        For a job wider than the system, or without a requested time.
    """
    check_run(workload, system)
    _check(noise, spmd, step, seed)
    check.flag("extra_nodes", extra_nodes)
    stepped = in_steps(workload, step)
    slowed = with_noise(stepped, noise=noise, spmd=spmd, step=step, seed=seed)
    schedule = audit(simulate_easy(slowed, system, extra_nodes=extra_nodes))
    details = {"extra nodes": extra_nodes, "not SPMD": not spmd, "noise": noise}
    return SteppedSchedule(
        stepped,
        system,
        policy_name("batch", details),
        schedule.start_time,
        schedule.end_time,
        step=float(step),
        slowest=SLOWEST if noise else 1.0,
    )


@audit_rule.register
def audit_stepped(schedule: SteppedSchedule) -> None:
    """Raise an error if a batch schedule in steps could not have happened.

    Jobs start with a step, not before their submission, and end with the first step by which they
    can be done, or under noise later, with that by which even the slowest nodes are done, at most.
    No more nodes are held than there are.

    Raises
    ------
    InfeasibleScheduleError
        Naming the policy, and the job, or the time and the nodes.
    """
    check_columns(schedule)
    jobs, step = schedule.workload.jobs, schedule.step
    submit_time, run_time = jobs["submit_time"].to_numpy(), jobs["run_time"].to_numpy()
    start, end = schedule.start_time, schedule.end_time
    length, least = (end - start) / step, run_time / step
    # Of sums and quotients of floats, some of the last digits are rounding.
    exact = ROUNDING + 4 * np.spacing(np.abs(end)) / step
    rules = (
        ("starts before its submission", (start >= submit_time) & (start < np.inf)),
        ("starts inside a step", np.abs(start / step - np.rint(start / step)) <= exact),
        ("does not run for whole steps", np.abs(length - np.rint(length)) <= exact),
        ("ends before it is done", length >= least - exact),
        ("runs on when it is done", length <= np.ceil(least / schedule.slowest - ROUNDING) + exact),
    )
    times = "submitted at t={:.15g}, from t={:.15g} to t={:.15g}, {:.15g} s alone"
    for wrong, fine in rules:
        message = f"{wrong}: {times}, in steps of {step:.15g} s"
        demand_of_jobs(schedule, fine, message, submit_time, start, end, run_time)
    check_capacity(schedule)


def with_noise(
    workload: Workload,
    *,
    noise: float | None = None,
    spmd: bool = True,
    step: float = STEP,
    seed: int = 0,
) -> Workload:
    """The workload with run times as they are in whole steps and under noise."""
    _check(noise, spmd, step, seed)
    jobs = workload.jobs
    run_time = jobs["run_time"].to_numpy(np.float64).copy()
    nodes = jobs["nodes"].to_numpy(np.int64).copy()
    check_slowed(workload, float(noise or 0.0), step, float(nodes @ run_time))
    lengthen = _slowest if spmd else _mean
    rng = np.random.default_rng(seed)
    steps = lengthen(run_time, nodes, float(noise or 0.0), float(step), rng)
    jobs = jobs.assign(run_time=steps * step)
    return replace(workload, jobs=jobs)


def with_node_memory(
    workload: Workload,
    *,
    memory_per_node: float | None = None,
    jobs: int | None = None,
    node_starts: int | None = None,
) -> Workload:
    """Workload on its machine, with the memory per node that time-sharing needs.

    Jobs wider than the machine are dropped, and so are jobs that need more memory than a node has.
    The account counts them, and the jobs with unknown memory, which count as 0. Times are counted
    from the first submission. Missing requested times are set to the run times.

    Parameters
    ----------
    workload : Workload
        With a machine.
    memory_per_node : float, optional
        GB; by default twice what 99 % of the jobs need at most. Logs do not contain the memory of
        nodes, and a node that holds just one job cannot be shared. NaN (unlimited) if the memory of
        all jobs is unknown.
    jobs : int, optional
        Number of consecutive jobs to keep, from a busy time on (`metrics.busy_stretch`).
    node_starts : int, optional
        Most node starts (starts times nodes) of the kept jobs; beyond it, fewer jobs are kept. Each
        start and end changes rates on all nodes of a job and of its neighbors, so wide jobs on
        very large machines take long to simulate.

    Raises
    ------
    InvalidWorkloadError
        If the machine is unknown, or no job is left.
    """
    check.whole("jobs", jobs, 1, none=True)
    check.whole("node_starts", node_starts, 1, none=True)
    check.number("memory_per_node", memory_per_node, above=0, kind="GB", none=True)
    if workload.machine is None:
        raise InvalidWorkloadError(
            f"{workload.name}: its machine is unknown; name its nodes in the log's header "
            "(; MaxNodes: 128), or make the Workload with a machine"
        )
    memory = workload.column("memory")
    if memory_per_node is None:
        memory_per_node = 2.0 * float(memory.quantile(0.99))
    table = workload.jobs.drop(columns="partition", errors="ignore")
    requested = table["requested_time"].fillna(table["run_time"].clip(lower=1.0))
    total_nodes = workload.machine.total_nodes
    system = replace(workload.machine.with_nodes(total_nodes), memory_per_node=memory_per_node)
    one = replace(workload, jobs=table.assign(requested_time=requested), machine=system)
    one = one.noted("noted", "memory unknown, counted as none", int(memory.isna().sum()))
    one = one.keep(one.jobs["nodes"] <= total_nodes, "wider than the machine")
    small = ~(one.column("memory") > memory_per_node)
    if len(one) and not small.any():
        raise InvalidWorkloadError(
            f"{workload.name}: no job fits a node of {memory_per_node:.3g} GB; expected more"
        )
    one = one.keep(small, f"more memory than the {memory_per_node:.3g} GB of a node")
    kept = one if jobs is None else busy_stretch(one, int(jobs))
    if node_starts is not None and kept.jobs["nodes"].sum() > node_starts:
        kept = _starting_on(one, int(node_starts), len(kept))
    return _from_first_submission(kept)


def _starting_on(workload: Workload, node_starts: int, most: int) -> Workload:
    """The busiest jobs in a row that together have so many nodes; one job at least."""
    number = min(most, math.ceil(node_starts / workload.jobs["nodes"].mean()))
    busy = busy_stretch(workload, number)
    inside = int((busy.jobs["nodes"].cumsum() <= node_starts).sum())
    started = np.arange(len(busy)) < max(1, inside)
    return busy.keep(started, f"submitted after jobs that start on {node_starts:,} nodes")


def _from_first_submission(workload: Workload) -> Workload:
    """The workload with its times counted from the first submission."""
    if not len(workload):
        return workload
    table, began = workload.jobs, workload.began
    first = float(table["submit_time"].min())
    clocks = [name for name in ("submit_time", "recorded_start") if name in table]
    if began is not None:
        began += pd.Timedelta(seconds=first)
    shifted = table.assign(**{name: table[name] - first for name in clocks})
    return replace(workload, jobs=shifted, began=began)


def _check(noise: float | None, spmd: bool, step: float, seed: int) -> None:
    """Validate the knobs of batch scheduling, which has no exact times."""
    check.seconds("step", step, above=0.0)
    check_knobs(noise=noise, spmd=spmd, step=step, seed=seed)


@allocating_kernel
def _slowest(
    run_time: np.ndarray, nodes: np.ndarray, p: float, step: float, rng: np.random.Generator
) -> np.ndarray:
    """Steps that each job needs at the speed of its slowest node."""
    steps = np.empty(run_time.size)
    for job in range(run_time.size):
        left, taken = run_time[job] / step, 0
        chance = -math.expm1(nodes[job] * math.log1p(-p)) if p < 1.0 else 1.0
        while left > ROUNDING:
            clear = _before_next(chance, rng)
            if left - ROUNDING <= clear:
                taken += math.ceil(left - ROUNDING)
                break
            taken += clear + 1
            left -= clear + _slowest_speed(nodes[job], p, chance, rng)
        steps[job] = taken
    return steps


@allocating_kernel
def _mean(
    run_time: np.ndarray, nodes: np.ndarray, p: float, step: float, rng: np.random.Generator
) -> np.ndarray:
    """Steps that each job needs at the mean speed of its nodes."""
    steps = np.empty(run_time.size)
    for job in range(run_time.size):
        work = run_time[job] / step * nodes[job]
        taken, lost = math.ceil(run_time[job] / step - ROUNDING), 0.0
        next_slowed = _before_next(p, rng)
        while taken * nodes[job] - lost < work - ROUNDING or next_slowed < taken * nodes[job]:
            if next_slowed < taken * nodes[job]:
                lost += (1.0 - SLOWEST) * rng.random()
                next_slowed += 1 + _before_next(p, rng)
            else:
                taken += 1
        steps[job] = taken
    return steps


@kernel
def _before_next(p: float, rng: np.random.Generator) -> int:
    """How many trials fail before one of probability `p` succeeds; very many where none will."""
    if p <= 0.0:
        return 1 << 62
    if p >= 1.0:
        return 0
    return int(min(math.log(1.0 - rng.random()) / math.log1p(-p), 1e18))


@kernel
def _slowest_speed(nodes: int, p: float, any_slowed: float, rng: np.random.Generator) -> float:
    """Speed of the slowest of `nodes` in a step in which at least one is slowed."""
    at = rng.random() * any_slowed
    slowed = 1
    if p < 1.0:
        chance = nodes * p * math.exp((nodes - 1) * math.log1p(-p))
        while at > chance and slowed < nodes:
            at -= chance
            chance *= (nodes - slowed) / (slowed + 1) * p / (1.0 - p)
            slowed += 1
    else:
        slowed = nodes
    return SLOWEST + (1.0 - SLOWEST) * (1.0 - rng.random() ** (1.0 / slowed))
