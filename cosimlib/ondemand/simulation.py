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

*Malleable jobs* and *time-sharing* are ways not to evict. Under `shrink` jobs give up part of their
nodes for a burst, and take free ones back, before the queue does, when it is over; at part of their
nodes they go that much slower. Under `share` a burst takes turns with running jobs on the nodes
that it lacks: it has `turn` of the time, they have the rest, memory is supposed to do for both, and
the burst itself takes longer. A parallel job that shares some of its nodes waits with all of them.
See `cosimlib.ondemand.pace`.

*Fan, Rich, Allcock, Papka and Lan* (Hybrid Workload Scheduling on HPC Systems, arXiv 2109.05412)
have six mechanisms. At the notice nothing (N: ``"ignore"``), collect until the actual arrival (CUA:
``"collect"``) or until the predicted one (CUP: ``"predict"``, see `cosimlib.ondemand.predicting`);
at the arrival preempt (PAA: `preempt`, whoever loses least first) or shrink, then preempt (SPAA:
`shrink`). We know their abstract and summaries, not their full text, and suppose: a job is
malleable with probability `malleable`, not by its project; it starts on all its nodes, and can do
with `least` of them; SPAA shrinks nobody where that would not do, and preempts instead; malleable
jobs that are preempted go on from their last checkpoint as others do, and have no warning; no job
pays for being set up anew; of the jobs chosen, those that are not needed are spared.

*Fillers.* With `start_up`, containers work on all nodes that would idle, and never delay a job or
burst (`cosimlib.ondemand.fillers`).

*Notices*: ``"ignore"``; ``"collect"``, from the notice on free nodes are held for the burst;
``"prepare"``, `lead` seconds before the expected arrival it is served as if it had come, by a plan
that has until then and the longest delay after it; ``"predict"``, from the notice on jobs are
stopped after their last checkpoint before the expected arrival. What is held for a burst that has
not come `patience` seconds after it was expected is given up.
"""

from dataclasses import replace

import numpy as np

from cosimlib import checks as check
from cosimlib.ondemand.joining import checkpoints_of, draw_least_nodes, job_arrays, join
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
    PREDICT,
    PREEMPT,
    PREPARE,
    SHARE,
    SHRINK,
    WEIGHTED,
    Rules,
)
from cosimlib.ondemand.schedule import OnDemandSchedule, eviction_table, plan_table, stretch_table
from cosimlib.ondemand.state import GRAIN
from cosimlib.system import System
from cosimlib.workload import Workload, check_run

POLICIES = {
    "wait": NO_SOLVER,
    "reserve": NO_SOLVER,
    "kill": LEAST_LOSS_KILL,
    "greedy": GREEDY,
    "dynamic": DYNAMIC,
    "dynamic_blocked": DYNAMIC_BLOCKED,
    "preempt": PREEMPT,
    "shrink": SHRINK,
    "share": SHARE,
}
DEADLINES = {"earliest": EARLIEST, "least_loss": LEAST_LOSS, "weighted": WEIGHTED}
NOTICES = {"ignore": IGNORE, "collect": COLLECT, "prepare": PREPARE, "predict": PREDICT}
CHARGES = ("included", "added")

PACED = ("shrink", "share")
"""Policies under which jobs go slower: all times are rounded to `state.GRAIN`, a millionth."""

MOST_CHECKPOINTS = 10_000_000
"""Checkpoints of all jobs at most that cost time, and are told one by one."""


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
    malleable: float = 0.3,
    least: float = 0.2,
    turn: float = 0.5,
    start_up: float | None = None,
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
    notice : {"ignore", "collect", "prepare", "predict"}
    reserved : int, default 0
        Nodes kept for bursts, under `reserve` and only there.
    step : float, default 60.0
        Seconds between two deadlines.
    lead, patience : float, default 900.0, 600.0
        Seconds.
    malleable, least : float, default 0.3, 0.2
        Share of the jobs that may shrink, under `shrink`, and the part of their nodes that they
        then need (Fan et al.).
    turn : float, default 0.5
        Part of the time that a burst has on nodes that it shares, under `share`.
    start_up : float, optional
        Seconds that filler containers take to start; None: there are none.
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

    Examples
    --------
    >>> import cosimlib as cs
    >>> workload = cs.synthetic.theta(200, seed=0)
    >>> bursts = cs.synthetic.bursts(rate=4, nodes=1024, horizon=86_400, seed=0)
    >>> schedule = cs.audit(cs.simulate_ondemand(workload, workload.machine, bursts, policy="kill"))
    >>> cs.metrics.node_hours_by_use(schedule).round(1)
    use
    run       178677.4
    killed      1720.1
    reread       137.9
    idle       75176.1
    Name: node_hours, dtype: float64
    """
    check_run(workload, system)
    if bursts is not None:
        check.instance("bursts", bursts, Workload, expected="a Workload, as synthetic.bursts draws")
    _check(policy, deadline, weight, notice, reserved, step, lead, patience, interval, charged)
    _check_pace(malleable, least, turn, start_up)
    check.seconds("node_mtbf", node_mtbf, above=0)
    check.seed(seed)
    workload.arrays(system)
    most = system.total_nodes
    if policy == "reserve":
        check.whole("reserved", reserved, 1, most, where="reserve")
    writes = policy not in ("wait", "reserve", "share") or charged == "added"
    checkpoints = checkpoints_of(workload, system, writes, interval, node_mtbf, seed)
    joined, batch_rows = join(workload, bursts, system)
    joined = _in_grains(joined) if policy in PACED else joined
    checkpoints = checkpoints.set_index(batch_rows).reindex(joined.jobs.index)
    checkpoints = checkpoints.fillna({"interval": np.inf, "app_write": 0.0, "sys_write": 0.0})
    least_nodes = np.array(joined.jobs["nodes"], dtype=np.int64)
    least_nodes[batch_rows] = draw_least_nodes(workload.jobs, malleable, least, seed)
    jobs = job_arrays(joined, system, checkpoints, charged, notice, lead, least_nodes)
    rules = Rules(
        most, int(reserved), POLICIES[policy], DEADLINES[deadline], float(weight), float(step),
        NOTICES[notice], float(patience), float(turn),
    )  # fmt: skip
    _check_checkpoints(joined, jobs)
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
        least_nodes=least_nodes,
        start_up=start_up,
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


def _in_grains(joined: Workload) -> Workload:
    """The same jobs with times rounded to whole grains, none but 0 to less than one."""
    jobs = joined.jobs
    times = {n: jobs[n].to_numpy() for n in ("submit_time", "run_time", "requested_time")}
    rounded = {n: np.maximum(np.round(t / GRAIN), np.sign(t)) * GRAIN for n, t in times.items()}
    return replace(joined, jobs=jobs.assign(**rounded))


def _check_checkpoints(workload: Workload, jobs: np.recarray) -> None:
    """Raise where checkpoints that cost time, each of which is told, are all too many."""
    number = np.where(jobs.charge > 0, jobs.run_time / jobs.interval, 0.0)
    if number.size:
        job = int(number.argmax())
        where = f"{workload.label(job)} runs for {jobs.run_time[job]:.15g} s"
        advice = "give a longer interval, or charged='included'"
        check.room("checkpoints of all jobs", float(number.sum()), advice,
                   most=MOST_CHECKPOINTS, where=where)  # fmt: skip


def _check_pace(malleable: float, least: float, turn: float, start_up: float | None) -> None:
    """Raise for the first of these that is out of its range."""
    for name, value in (("malleable", malleable), ("least", least)):
        fine = check.is_number(value) and 0 <= value <= 1
        check.that(name, value, fine, "a share from 0 to 1")
    fine = check.is_number(turn) and 0 < turn < 1
    check.that("turn", turn, fine, "a part of the time between 0 and 1")
    if start_up is not None:
        check.seconds("start_up", start_up)


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
