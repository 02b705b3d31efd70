"""Batch scheduling as in the paper: FCFS with backfilling, in steps, under noise.

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
from dataclasses import replace

import numpy as np

from cosimlib import checks as check
from cosimlib.audit import audit
from cosimlib.batch import simulate_easy
from cosimlib.kernels.jit import kernel
from cosimlib.system import System
from cosimlib.timesharing.kernel import ROUNDING, SLOWEST, STEP
from cosimlib.timesharing.schedule import SteppedSchedule
from cosimlib.timesharing.simulation import check_knobs, check_slowed, in_steps
from cosimlib.workload import Workload, check_run


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
    details = ["extra nodes"] if extra_nodes else []
    details += [] if spmd else ["not SPMD"]
    details += ["noise"] if noise else []
    name = "batch" + (f" ({', '.join(details)})" if details else "")
    return SteppedSchedule(
        stepped,
        system,
        name,
        schedule.start_time,
        schedule.end_time,
        step=float(step),
        slowest=SLOWEST if noise else 1.0,
    )


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


def noise_cost(workload: Workload, *, noise: float, seed: int = 0) -> float:
    """Node-seconds that noise adds to SPMD jobs in batch, as a part of those without noise.

    The larger a job, the more often its slowest node is a slowed one.
    """
    nodes = workload.jobs["nodes"].to_numpy()
    slowed, clean = (
        float(nodes @ with_noise(workload, noise=p, seed=seed).jobs["run_time"].to_numpy())
        for p in (noise, None)
    )
    return slowed / clean - 1.0 if clean else 0.0


def _check(noise: float | None, spmd: bool, step: float, seed: int) -> None:
    """Validate the knobs of batch scheduling, which has no exact times."""
    check.seconds("step", step, above=0.0)
    check_knobs(noise=noise, spmd=spmd, step=step, seed=seed)


@kernel
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


@kernel
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
