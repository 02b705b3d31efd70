"""On-demand bursts on a batch machine, for as long as a log lasts.

The eviction problem (Maurya et al., DS-RT 2020) covers one instant: which jobs are killed and which
write a checkpoint, so that enough nodes are free in time. Here a machine solves it whenever a burst
comes, and pays the cost.

*Batch jobs* are scheduled by EASY: first come, first served, with one reservation. An evicted job
waits again at the place of its submission. It starts again from its last checkpoint, once that has
been read. Without bursts the schedule is that of `simulate_easy`.

*Checkpoints.* Applications write a checkpoint whenever their progress reaches a multiple of their
interval. The run times of a log include this time. To make way for a burst, a job writes one of the
paper's two kinds: `app`, when the application reaches its next checkpoint, or `sys`, at once. The
file system writes these one after another. An `app` job stands still from its checkpoint on, a
`sys` job from when its write begins. Reading takes as long as writing, whatever else is read or
written. Reading and writing take whole seconds.

*Bursts* are jobs with a `longest_delay` (s), after which a start misses its deadline. Bursts are
never evicted, and run at full speed from start to end, except under `share`. Bursts that wait for
nodes are served in the order in which they began to collect them: at their notice if that is used,
or else at their arrival. At the same instant, bursts that arrive come before those whose notice is
due. An eviction may free more nodes than the burst needs. These go to the other waiting bursts at
the same instant, in the same order, and only after that to batch jobs.

*Policies* say how bursts get their nodes:

============================== =====================================================================
`wait`                         Bursts stand before all batch jobs in the queue.
`reserve`                      As `wait`, and nodes are set aside for bursts. Batch jobs use these
                               nodes only if they are too wide for the others.
`kill`                         The jobs are killed that lose least together.
`greedy`, `dynamic`            Jobs are killed or write checkpoints, by the solvers of Maurya et al.
`dynamic_blocked`              As `dynamic`; the loss includes the nodes that stand still.
`preempt`                      Jobs are killed one after the other, by ascending loss.
`shrink`                       Malleable jobs give part of their nodes, and take free nodes back
                               later, before the queue does (`cosimlib.ondemand.shrinking`).
`share`                        Bursts and jobs take turns on the nodes that the bursts lack; memory
                               is assumed to suffice for both (`cosimlib.ondemand.sharing`).
============================== =====================================================================

Under all but `wait` and `reserve`, a burst takes the free nodes first, and jobs make way for the
rest. Jobs are killed when the burst starts, not before. `cosimlib.ondemand.kernel` has the rules of
that, and `cosimlib.ondemand.planning` the choice between sets that lose equally little, and the
order of writing. Under `greedy`, `dynamic` and `dynamic_blocked` there is a plan for each whole
step of delay up to the longest, and the policy's `deadline` chooses one of them (`Evict`): by
default the plan that loses least, however late within the longest delay; of equal ones, the
earliest.

*Notices.* A burst may have a notice: at `notice_time` the scheduler learns of the burst and its
`expected_time` of arrival. Under the notice ``"collect"``, free nodes are held from the notice on.
Under ``"prepare"``, the burst is served `lead` seconds before its expected arrival, by a plan that
may take until that arrival plus the longest delay. Under ``"predict"``, jobs leave right after
their last checkpoint before the expected arrival (`cosimlib.ondemand.stopping`). Nodes held for a
burst are released if it has not come `patience` seconds after its expected arrival.

*Fan, Rich, Allcock, Papka and Lan* (Hybrid Workload Scheduling on HPC Systems, arXiv 2109.05412)
have six mechanisms: one of three at the notice, and one of two at the arrival.

====================================== =============================== =============================
at the notice                          PAA: preempt, least loss first  SPAA: shrink, or else preempt
====================================== =============================== =============================
N: nothing                             `preempt`, ``"ignore"``         `shrink`, ``"ignore"``
CUA: collect until the burst comes     `preempt`, ``"collect"``        `shrink`, ``"collect"``
CUP: collect until it is predicted to  `preempt`, ``"predict"``        `shrink`, ``"predict"``
====================================== =============================== =============================

We know their abstract and summaries, not their full text, and assume the following. A job is
malleable with a fixed probability (0.3), not by its project. It starts on all its nodes, and needs
at least a fixed share of them (0.2). SPAA shrinks no job if shrinking is not enough, and preempts
instead. Preempted malleable jobs continue from their last checkpoint as others do, without warning.
To set up a job again costs nothing. Chosen jobs that are not needed are spared.

*Fillers.* With `start_up`, containers run on all idle nodes, and never delay a job or burst
(`cosimlib.ondemand.schedule`).

*Calendars* (`cosimlib.calendar`). No batch job starts where it would run into a known window; a
burst may, except under `wait`, and the window waits for it (`cosimlib.ondemand.easy`). `reserve`,
`shrink` and `share` take no calendar.
"""

from dataclasses import replace

import numpy as np
import pandas as pd

from cosimlib import checks as check
from cosimlib.calendar import ALWAYS_OPEN, Calendar
from cosimlib.eviction.problem import checkpoint_table
from cosimlib.kernels.records import records
from cosimlib.ondemand.kernel import simulate
from cosimlib.ondemand.policies import (
    HOURLY,
    NOTICES,
    POLICIES,
    Checkpoints,
    Notice,
    Policy,
    Shrink,
)
from cosimlib.ondemand.schedule import (
    CHANGES_SPEED,
    EVICTS_NOBODY,
    OnDemandSchedule,
    eviction_table,
    merge,
    stretch_table,
)
from cosimlib.ondemand.state import GRAIN, REQUEST, RULES
from cosimlib.system import System
from cosimlib.workload import Workload, check_run


def simulate_ondemand(
    workload: Workload,
    system: System,
    bursts: Workload | None = None,
    *,
    policy: str | Policy = "dynamic",
    notice: str | Notice = "ignore",
    checkpoints: Checkpoints = HOURLY,
    start_up: float | None = None,
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
    policy : str or Policy, default "dynamic"
        How bursts get their nodes: one of `Wait`, `Reserve`, `Evict`, `Shrink`, `Share`, with their
        knobs; or a name of `POLICIES`, for the same with default values.
    notice : {"ignore", "collect", "prepare", "predict"} or Notice
        What the scheduler does at the notice of a burst.
    checkpoints : Checkpoints, optional
        How often the applications write checkpoints; by default after each hour of progress.
    start_up : float, optional
        Seconds that filler containers take to start; None: no containers.
    seed : int, default 0
        Of the memory drawn per job (see `checkpoint_table`), and of the jobs that are malleable.
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
    policy, notice = Policy.of(policy, system), Notice.of(notice)
    check.instance("checkpoints", checkpoints, Checkpoints)
    check.seed(seed)
    if start_up is not None:
        check.seconds("start_up", start_up)
    _check_calendar(calendar, policy, start_up)
    workload.arrays(system)
    table = _checkpoints_of(workload, system, policy, checkpoints, seed)
    joined, batch_rows = merge(workload, bursts, system)
    if policy.mechanism in CHANGES_SPEED:
        joined = _in_grains(joined)
    table = table.set_index(batch_rows).reindex(joined.jobs.index)
    table = table.fillna({"interval": np.inf, "app_write": 0.0, "sys_write": 0.0})
    least_nodes = np.array(joined.jobs["nodes"], dtype=np.int64)
    # Drawn under every policy, so that measures of malleable jobs are of the same jobs.
    malleable = policy if isinstance(policy, Shrink) else Shrink()
    least_nodes[batch_rows] = malleable.draw_least_nodes(least_nodes[batch_rows], seed)
    requests = _requests(joined, system, table, notice, least_nodes)
    rules = _rules(policy, notice, system)
    start_time, end_time, stretches, evictions = simulate(requests, rules, calendar=calendar)
    return OnDemandSchedule(
        joined,
        system,
        _name(policy, notice, calendar),
        start_time,
        end_time,
        on_demand=requests.on_demand == 1,
        mechanism=policy.mechanism,
        stretches=stretch_table(stretches),
        evictions=eviction_table(evictions),
        checkpoints=table,
        reserved=int(rules.reserved[0]),
        least_nodes=least_nodes,
        start_up=start_up,
        calendar=calendar,
    )


def _check_calendar(calendar: Calendar, policy: Policy, start_up: float | None) -> None:
    """Raise an error for a calendar that this simulation cannot follow."""
    check.instance("calendar", calendar, Calendar)
    if len(calendar):
        expected = "one that takes a calendar: wait, or one that evicts"
        check.that("policy", policy.mechanism, policy.takes_calendar, expected)
        waits = calendar.on_overrun == "wait"
        check.that("on_overrun", calendar.on_overrun, waits, "'wait' on a machine with bursts")
        expected = "None: with a calendar no containers run"
        check.that("start_up", start_up, start_up is None, expected)


def _checkpoints_of(
    workload: Workload, system: System, policy: Policy, checkpoints: Checkpoints, seed: int
) -> pd.DataFrame:
    """The checkpoints of batch jobs; without any where the policy evicts nobody."""
    if policy.mechanism not in EVICTS_NOBODY and len(workload):
        interval, node_mtbf = checkpoints.interval, checkpoints.node_mtbf
        return checkpoint_table(workload, system, interval=interval, node_mtbf=node_mtbf, seed=seed)
    none = {"interval": np.inf, "app_write": 0.0, "sys_write": 0.0}
    return pd.DataFrame(none, index=workload.jobs.index, dtype=np.float64)


def _in_grains(joined: Workload) -> Workload:
    """The same jobs with times rounded to whole grains, none but 0 to less than one."""
    jobs = joined.jobs
    times = {n: jobs[n].to_numpy() for n in ("submit_time", "run_time", "requested_time")}
    rounded = {n: np.maximum(np.round(t / GRAIN), np.sign(t)) * GRAIN for n, t in times.items()}
    return replace(joined, jobs=jobs.assign(**rounded))


def _requests(
    joined: Workload,
    system: System,
    checkpoints: pd.DataFrame,
    notice: Notice,
    least_nodes: np.ndarray,
) -> np.recarray:
    """The bridge to the kernels: one `REQUEST` per job."""
    jobs = joined.jobs
    arrays = joined.arrays(system)._asdict()
    unknown = pd.Series(np.nan, jobs.index)
    longest_delay, notice_time, expected = (
        np.array(jobs.get(name, unknown), np.float64)
        for name in ("longest_delay", "notice_time", "expected_time")
    )
    return records(
        len(jobs),
        REQUEST,
        **arrays,
        **{name: np.array(checkpoints[name], np.float64) for name in checkpoints},
        on_demand=np.array(jobs["on_demand"], np.bool_),
        longest_delay=longest_delay,
        call_time=notice.call_time(arrays["submit_time"], notice_time, expected),
        expected_arrival=expected,
        least_nodes=least_nodes,
    )


def _rules(policy: Policy, notice: Notice, system: System) -> np.recarray:
    """The bridge to the kernels: one record of `RULES`."""
    return records(
        1,
        RULES,
        total_nodes=system.total_nodes,
        mechanism=POLICIES[policy.mechanism],
        notice=NOTICES[notice.use],
        patience=notice.patience,
        **policy.rules,
    )


def _name(policy: Policy, notice: Notice, calendar: Calendar) -> str:
    """Name of the policy in tables, with the knobs that are not as by default."""
    knobs = [policy.label, notice.use * (notice.use != "ignore"), "calendar" * bool(len(calendar))]
    shown = ", ".join(knob for knob in knobs if knob)
    return f"{policy.mechanism} ({shown})" if shown else policy.mechanism
