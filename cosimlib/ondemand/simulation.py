"""On-demand bursts on a batch machine, for as long as a log lasts.

The eviction problem (Maurya et al., DS-RT 2020) covers one instant: which jobs are killed and which
write a checkpoint, so that enough nodes are free in time. Here a machine solves it whenever a burst
comes, and pays the cost.

*Batch jobs* are scheduled by EASY: first come, first served, with one reservation. An evicted job
waits again at the place of its submission. It starts again from its last checkpoint, once that has
been read. Without bursts the schedule is that of `simulate_easy`.

*Checkpoints.* Applications write one whenever their progress reaches a multiple of their interval.
The run times of a log include this time (``charged="included"``), or each checkpoint costs its
writing time in addition (``"added"``), for requested times too. To make way for a burst, a job
writes one of the paper's two kinds: `app`, when the application reaches its next checkpoint, or
`sys`, at once. The file system writes these one after another; a job stops when it is ready to
write. Reading takes as long as writing, whatever else is read or written. All these times are whole
seconds.

*Bursts* are jobs with `longest_delay` (s), after which a start misses its deadline. They may have a
notice: at `notice_time` the scheduler learns of the burst and its `expected_time` of arrival.
Bursts are never evicted. Under `wait` they stand before all batch jobs in the queue. Under
`reserve`, ``reserved`` nodes are kept for them in addition; batch jobs use these only if they are
too wide for the other nodes. Under the other policies a burst takes the free nodes and evicts jobs
for the rest: `kill` kills those that lose least, `greedy` and `dynamic` use the paper's solvers.
`cosimlib.ondemand.kernel` has the rules: jobs are killed when the burst starts, not before.
`cosimlib.ondemand.planning` has the choice between sets that lose equally little, and the order of
writing.

*Deadlines.* There is a plan for each whole step of delay up to the longest. `deadline` chooses one:
``"earliest"``; ``"least_loss"``, the one that loses the fewest node-hours, and of these the
earliest; or ``"weighted"``, least ``loss + weight · delay`` in node-hours and hours.

*Malleable jobs* and *time-sharing* avoid evictions. Under `shrink`, jobs give part of their nodes
to a burst, and take free nodes back when it is over, before the queue does. On part of its nodes a
job is slower in proportion. Under `share`, a burst and running jobs take turns on the nodes that
the burst lacks. The burst gets the share `turn` of the time and takes longer; memory is assumed to
suffice for both. A parallel job that shares some of its nodes waits with all of them. See
`cosimlib.ondemand.planning`.

*Fan, Rich, Allcock, Papka and Lan* (Hybrid Workload Scheduling on HPC Systems, arXiv 2109.05412)
have six mechanisms. At the notice: nothing (N: ``"ignore"``), collect nodes until the actual
arrival (CUA: ``"collect"``) or until the predicted one (CUP: ``"predict"``, see
`cosimlib.ondemand.planning`). At the arrival: preempt (PAA: `preempt`, least loss first), or shrink
and then preempt (SPAA: `shrink`). We know their abstract and summaries, not their full text, and
assume: a job is malleable with probability `malleable`, not by its project; it starts on all its
nodes, and needs at least the share `least` of them; SPAA shrinks no job if shrinking is not enough,
and preempts instead; preempted malleable jobs continue from their last checkpoint as others do,
without warning; setting up a job again costs nothing; chosen jobs that are not needed are spared.

*Fillers.* With `start_up`, containers run on all idle nodes, and never delay a job or burst
(`cosimlib.ondemand.schedule`).

*Notices*: ``"ignore"``; ``"collect"``: free nodes are held from the notice on; ``"prepare"``: the
burst is served `lead` seconds before its expected arrival, by a plan that may take until that
arrival plus the longest delay; ``"predict"``: from the notice on, jobs are stopped after their last
checkpoint before the expected arrival. Nodes held for a burst are released if it has not come
`patience` seconds after its expected arrival.

*Calendars* (`cosimlib.calendar`). Batch jobs, and bursts under `wait`, follow EASY's rule: none
starts where its requested time would cross a known window, unless enough nodes stay open. For an
evicted job that is what is left of it after the checkpoint, and the time to read that. Under the
other policies a burst starts as soon as it has open nodes, and may run into a window, which waits
for it. A window takes idle nodes first, then nodes held for bursts, of which the last called gives
first. While a window waits for nodes, no burst chooses jobs to evict. Windows kill nobody, and the
policies of `WITHOUT_CALENDAR` take none.
"""

from dataclasses import replace

import numpy as np
import pandas as pd

from cosimlib import checks as check
from cosimlib.calendar import ALWAYS_OPEN, Calendar
from cosimlib.eviction.problem import checkpoint_table
from cosimlib.kernels.records import records
from cosimlib.ondemand import planning
from cosimlib.ondemand.kernel import simulate
from cosimlib.ondemand.schedule import (
    CHANGES_RATES,
    EVICTS_NOBODY,
    OnDemandSchedule,
    eviction_table,
    merge,
    stretch_table,
)
from cosimlib.ondemand.state import GRAIN, JOB, STATE
from cosimlib.system import System
from cosimlib.workload import Workload, check_run

POLICIES = {
    "wait": planning.NO_SOLVER,
    "reserve": planning.NO_SOLVER,
    "kill": planning.LEAST_LOSS_KILL,
    "greedy": planning.GREEDY,
    "dynamic": planning.DYNAMIC,
    "dynamic_blocked": planning.DYNAMIC_BLOCKED,
    "preempt": planning.PREEMPT,
    "shrink": planning.SHRINK,
    "share": planning.SHARE,
}
DEADLINES = {
    "earliest": planning.EARLIEST,
    "least_loss": planning.LEAST_LOSS,
    "weighted": planning.WEIGHTED,
}
NOTICES = {
    "ignore": planning.IGNORE,
    "collect": planning.COLLECT,
    "prepare": planning.PREPARE,
    "predict": planning.PREDICT,
}
CHARGES = ("included", "added")
WITHOUT_CALENDAR = ("reserve", "shrink", "share")
"""Policies that take no calendar."""

MOST_CHECKPOINTS = 10_000_000
"""Checkpoints of all jobs at most that cost time, each of which is a row."""


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
    calendar: Calendar = ALWAYS_OPEN,
) -> OnDemandSchedule:
    """On-demand bursts on a batch machine: EASY for batch jobs, which make way for bursts.

    Parameters
    ----------
    workload : Workload
        The batch jobs, with requested times.
    system : System
        One partition; with memory and bandwidths if jobs write checkpoints.
    bursts : Workload, optional
        On-demand jobs with the same time 0. Additional columns: `longest_delay` (s, 900 if
        missing), `notice_time` and `expected_time` (s, NaN: no notice); see `synthetic.bursts`.
    policy : str, default "dynamic"
        One of `POLICIES`.
    deadline : {"least_loss", "earliest", "weighted"}
    weight : float, default 0.0
        Node-hours that an hour of delay is worth, for ``"weighted"``.
    notice : {"ignore", "collect", "prepare", "predict"}
    reserved : int, default 0
        Nodes kept for bursts; only under `reserve`.
    step : float, default 60.0
        Seconds between two deadlines.
    lead, patience : float, default 900.0, 600.0
        Seconds.
    malleable, least : float, default 0.3, 0.2
        Under `shrink`: share of the jobs that may shrink, and the share of their nodes that these
        need (Fan et al.).
    turn : float, default 0.5
        Under `share`: share of the time that a burst gets on shared nodes.
    start_up : float, optional
        Seconds that filler containers take to start; None: no containers.
    interval, node_mtbf, seed
        Parameters of checkpoints, see `checkpoint_table`.
    charged : {"included", "added"}
        Whether applications' checkpoints are part of the run times.
    calendar : Calendar, optional
        When nodes are closed, with ``on_overrun="wait"``; not under `reserve`, `shrink` or `share`,
        nor with containers.

    Returns
    -------
    OnDemandSchedule
        Batch jobs and bursts together, in order of submission; at equal times batch jobs first.

    Raises
    ------
    InvalidWorkloadError
        If a job or burst is wider than the system, a batch job has no requested time, or a burst's
        delay or notice is impossible.

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
    _check_shares(malleable, least, turn, start_up)
    check.seconds("node_mtbf", node_mtbf, above=0)
    check.seed(seed)
    _check_calendar(calendar, policy, start_up)
    workload.arrays(system)
    most = system.total_nodes
    if policy == "reserve":
        check.whole("reserved", reserved, 1, most, where="reserve")
    writes = policy not in EVICTS_NOBODY or charged == "added"
    checkpoints = _checkpoints_of(workload, system, writes, interval, node_mtbf, seed)
    joined, batch_rows = merge(workload, bursts, system)
    joined = _in_grains(joined) if policy in CHANGES_RATES else joined
    checkpoints = checkpoints.set_index(batch_rows).reindex(joined.jobs.index)
    checkpoints = checkpoints.fillna({"interval": np.inf, "app_write": 0.0, "sys_write": 0.0})
    least_nodes = np.array(joined.jobs["nodes"], dtype=np.int64)
    least_nodes[batch_rows] = _draw_least_nodes(workload.jobs, malleable, least, seed)
    jobs = _job_arrays(joined, system, checkpoints, charged, notice, lead, least_nodes)
    rules = records(
        1,
        STATE,
        total_nodes=most,
        reserved=reserved,
        solver=POLICIES[policy],
        deadline=DEADLINES[deadline],
        weight=weight,
        step=step,
        notice=NOTICES[notice],
        patience=patience,
        turn=turn,
    )
    _check_checkpoints(joined, jobs)
    start_time, end_time, stretches, evictions = simulate(jobs, rules, calendar=calendar)
    return OnDemandSchedule(
        joined,
        system,
        _name(policy, deadline, weight, notice, reserved, calendar),
        start_time,
        end_time,
        on_demand=jobs.on_demand == 1,
        mechanism=policy,
        stretches=stretch_table(stretches),
        evictions=eviction_table(evictions),
        checkpoints=checkpoints.assign(charge=jobs.charge),
        reserved=int(reserved),
        least_nodes=least_nodes,
        start_up=start_up,
        calendar=calendar,
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
    """Raise an error for the first argument that is out of its range."""
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
    """Raise an error if checkpoints that cost time, each of which is a row, are too many."""
    number = np.where(jobs.charge > 0, jobs.run_time / jobs.interval, 0.0)
    if number.size:
        job = int(number.argmax())
        where = f"{workload.label(job)} runs for {jobs.run_time[job]:.15g} s"
        advice = "give a longer interval, or charged='included'"
        check.room(
            "checkpoints of all jobs",
            float(number.sum()),
            advice,
            most=MOST_CHECKPOINTS,
            where=where,
        )


def _check_shares(malleable: float, least: float, turn: float, start_up: float | None) -> None:
    """Raise an error for the first of these that is out of its range."""
    for name, value in (("malleable", malleable), ("least", least)):
        fine = check.is_number(value) and 0 <= value <= 1
        check.that(name, value, fine, "a share from 0 to 1")
    fine = check.is_number(turn) and 0 < turn < 1
    check.that("turn", turn, fine, "a part of the time between 0 and 1")
    if start_up is not None:
        check.seconds("start_up", start_up)


def _check_calendar(calendar: Calendar, policy: str, start_up: float | None) -> None:
    """Raise an error for a calendar that this simulation cannot follow."""
    check.instance("calendar", calendar, Calendar)
    if len(calendar):
        others = ", ".join(name for name in POLICIES if name not in WITHOUT_CALENDAR)
        expected = f"one of {others} with a calendar"
        check.that("policy", policy, policy not in WITHOUT_CALENDAR, expected)
        waits = calendar.on_overrun == "wait"
        check.that("on_overrun", calendar.on_overrun, waits, "'wait' on a machine with bursts")
        expected = "None: with a calendar no containers run"
        check.that("start_up", start_up, start_up is None, expected)


def _name(
    policy: str, deadline: str, weight: float, notice: str, reserved: int, calendar: Calendar
) -> str:
    """Name of the policy in tables, with the knobs that are not as by default."""
    knobs = []
    if policy == "reserve":
        knobs.append(f"{reserved:,}")
    if policy in ("greedy", "dynamic") and deadline != "least_loss":
        knobs.append(f"λ = {weight:g}" if deadline == "weighted" else deadline)
    if notice != "ignore":
        knobs.append(notice)
    if len(calendar):
        knobs.append("calendar")
    return f"{policy} ({', '.join(knobs)})" if knobs else policy


def _checkpoints_of(
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


def _job_arrays(
    joined: Workload,
    system: System,
    checkpoints: pd.DataFrame,
    charged: str,
    notice: str,
    lead: float,
    least_nodes: np.ndarray,
) -> np.recarray:
    """The bridge to the kernels: one `JOB` per job."""
    jobs = joined.jobs
    arrays = joined.arrays(system)._asdict()
    own = {name: np.array(checkpoints[name], np.float64) for name in checkpoints}
    unknown = pd.Series(np.nan, jobs.index)
    longest, notified, expected = (
        np.array(jobs.get(name, unknown), np.float64)
        for name in ("longest_delay", "notice_time", "expected_time")
    )
    call = np.full(len(jobs), np.inf)
    if notice != "ignore":
        call = np.maximum(notified, expected - lead) if notice == "prepare" else notified
        call = np.where(call < arrays["submit_time"], call, np.inf)
    return records(
        len(jobs),
        JOB,
        **arrays,
        **own,
        on_demand=np.array(jobs["on_demand"], np.bool_),
        charge=own["app_write"] if charged == "added" else 0.0,
        longest_delay=longest,
        call_time=call,
        expected_time=expected,
        least_nodes=least_nodes,
    )


def _draw_least_nodes(jobs: pd.DataFrame, malleable: float, least: float, seed: int) -> np.ndarray:
    """Nodes that each batch job may shrink to: all of them, but for a random share of the jobs.

    Each job is malleable with probability `malleable`, and needs `least` of its nodes, rounded up.
    """
    nodes = jobs["nodes"].to_numpy(dtype=np.int64)
    drawn = np.random.default_rng([seed, 1]).random(len(jobs)) < malleable
    return np.where(drawn, np.maximum(1, np.ceil(least * nodes)), nodes).astype(np.int64)
