"""Slurm's scheduler, simulated from a site's configuration.

The rules stand where they are simulated: jobs and refusals (`jobs`), limits (`limits`), priorities
(`priority`), fair share (`fairshare`), nodes that a job gets (`selection`), `preemption`,
`backfill`. This module has the order of events and the *main loop* (``schedule``,
``_schedule`` in ``src/slurmctld/job_scheduler.c``).

At an instant, in this order: jobs end; usage and priorities are brought up to date, if it is time;
jobs are submitted; the main loop runs; backfill runs. Clocks start at the first submission.

- The main loop runs when a job was submitted or ended, and every `sched_interval` over the full
  queue. Otherwise it stops after `default_queue_depth` + 1 jobs (the source counts so).
- The queue is ordered by the partition's tier, then priority, submission and number.
- For each job in turn: it is passed over if its partition has failed already or a limit is in its
  way. If it fits, it starts. If not, its partition has failed: none of its nodes are available any
  more in this pass, also not to other partitions that have them.
- `partition_job_depth` jobs of a partition are looked at, at most.
- Before its `eligible_time` a job is in the queue and is not looked at.

Differences from Slurm, beside those that a site lists in `not_modeled`
------------------------------------------------------------------------
Passes take no time and see all that happened. Slurm tries batch jobs up to `batch_sched_delay`
(3 s) after their submission. Nodes are free as soon as a job ends, without an epilog. Jobs take the
same number of cores on each node. Sockets, cores of a socket, switches (``topology/tree``),
licences, reservations, arrays, heterogeneous jobs, dependencies and holds do not exist: a workload
gives a job's `eligible_time` instead. Of a list of partitions the first one counts. Jobs that could
never run are refused, where Slurm may keep them waiting.
"""

import numpy as np
import pandas as pd

from cosimlib import checks as check
from cosimlib.kernels import heap
from cosimlib.kernels.jit import kernel
from cosimlib.kernels.records import records
from cosimlib.slurm.backfill import run_backfill
from cosimlib.slurm.bits import WORD, ZERO, sets_of, words_for
from cosimlib.slurm.fairshare import (
    add_usage,
    decay_usage,
    rank_users,
    set_classic_factors,
    set_effective_usage,
    tree_of,
)
from cosimlib.slurm.jobs import Jobs, gpus_of, jobs_of
from cosimlib.slurm.limits import (
    REFUSED,
    RUNS,
    SIZE,
    START,
    SUBMISSION,
    WAITS,
    count_job,
    exceeded,
)
from cosimlib.slurm.preemption import REQUEUE, is_on, make_room, note_stopped, set_preemption
from cosimlib.slurm.priority import set_parts, set_priority
from cosimlib.slurm.schedule import SlurmSchedule
from cosimlib.slurm.selection import (
    COUNT,
    MOST_TIMES,
    NOBODY,
    NODE,
    PLACE,
    ROW,
    RUN,
    Machine,
    choose,
    count_common,
    row_of,
)
from cosimlib.slurm.site import Site
from cosimlib.slurm.sorting import sort_items
from cosimlib.slurm.state import (
    CLOCK,
    KEY,
    PARTITION,
    RUNNING,
    SETTINGS,
    SLOT,
    STOPPED,
    Map,
    World,
    drop_started,
    enqueue,
    start,
    stop,
)
from cosimlib.slurm.values import is_before
from cosimlib.units import DAY
from cosimlib.workload import Workload, check_workload

LN2 = 0.693
"""As Slurm has it."""


def simulate(workload: Workload, site: Site) -> SlurmSchedule:
    """What Slurm would do with the jobs of a workload on a site.

    Parameters
    ----------
    workload : Workload
        The columns that count are listed in `cosimlib.slurm.jobs`. Times are seconds; second 0 is
        at a full minute, as backfill plans on full minutes.
    site : Site

    Returns
    -------
    SlurmSchedule
        Starts, ends and nodes; which jobs were refused and why; priorities at the start.

    Raises
    ------
    InvalidWorkloadError
        If a column has a value that is none.
    ValueError
        If the site has no partitions, or its tree of accounts has a gap.

    Examples
    --------
    >>> import pandas as pd
    >>> import cosimlib as cs
    >>> from cosimlib.slurm import Node, Partition, Site
    >>> nodes = tuple(Node(f"n{number}", cores=4, memory=8192) for number in range(2))
    >>> site = Site("two nodes", nodes, {"main": Partition("main", nodes=(0, 1), max_time=3600)})
    >>> times = {"submit_time": [0, 1, 2], "run_time": 100, "requested_time": [600, 600, 7200]}
    >>> jobs = pd.DataFrame(times | {"nodes": [1, 2, 1], "cores": 4, "memory": 8})
    >>> schedule = cs.slurm.simulate(cs.Workload(jobs, "three jobs"), site)
    >>> schedule.jobs[["start_time", "end_time"]]
       start_time  end_time
    0         0.0     100.0
    1       100.0     200.0
    2         NaN       NaN
    >>> schedule.refused
       job              reason
    0    2  PartitionTimeLimit
    """
    check_workload(workload)
    check.instance("site", site, Site)
    if not site.partitions:
        raise ValueError(f"{site.name}: a site without partitions; expected one at least")
    room = len(workload) if is_on(site) else 0
    while True:
        world, jobs = world_of(workload, site, room)
        simulate_events(world)
        if not world.clock.overflows:
            break
        room *= 2
    reasons = jobs.reasons.copy()
    late = (jobs.table.state == REFUSED) & (reasons == "")
    reasons[late] = [jobs.words[number] for number in jobs.table.reason[late]]
    stopped = world.stopped[: world.clock.stopped]
    places = world.machine.places
    return SlurmSchedule.of(
        workload, site, jobs.table, places, reasons, stopped, world.stopped_nodes
    )


def plan(
    workload: Workload, site: Site, running: pd.DataFrame | None = None, now: float | None = None
) -> pd.DataFrame:
    """When and where one pass of backfill plans the jobs of a workload.

    Parameters
    ----------
    workload : Workload
        All jobs are in the queue when the pass begins, but for those that run.
    site : Site
    running : pd.DataFrame, optional
        Jobs that run: `job` (row of the workload), `start` (s) and `nodes` (numbers).
    now : float, optional
        When the pass begins (s); by default at the last submission.

    Returns
    -------
    pd.DataFrame
        One row per job: `start` (s; now for jobs that start at once, NaN for those that are not
        planned) and `nodes`, a tuple of numbers.
    """
    world, _ = world_of(workload, site)
    jobs = world.jobs
    now = float(jobs.submit_time.max()) if now is None else now
    if running is not None:
        sizes = running["nodes"].map(len).to_numpy(np.int64)
        nodes = np.array([node for each in running["nodes"] for node in each], dtype=np.int64)
        job = running["job"].to_numpy(np.int64)
        start_time = running["start"].to_numpy(np.float64)
        let_run(world, job, start_time, np.cumsum(sizes) - sizes, nodes)
    plan_jobs(world, now)
    started = np.where(jobs.state == RUNS, jobs.start_time, jobs.planned_time)
    places = [
        tuple(sorted(world.machine.places.node[first : first + size].tolist())) if planned else ()
        for first, size, planned in zip(jobs.first, jobs.nodes, ~np.isnan(started), strict=True)
    ]
    return pd.DataFrame({"start": started, "nodes": places})


def world_of(workload: Workload, site: Site, room: int = 0) -> tuple[World, Jobs]:
    """The state before the first job, with room for so many runs that are preempted."""
    tree, branches = tree_of(site) if site.associations else tree_of(Site("", (), {}))
    jobs = jobs_of(workload, site, branches)
    set_parts(jobs, site)
    n, table = len(workload), jobs.table
    first = float(table.submit_time.min()) if n else 0.0
    partitions = list(site.partitions.values())
    members = np.array([np.isin(np.arange(len(site.nodes)), one.nodes) for one in partitions])
    preempts = set_preemption(jobs, site)
    world = World(
        jobs=table,
        ends=records(n, KEY, place=-1),
        heap=heap.empty(n),
        queue=np.empty(n, np.int64),
        running=records(n, RUNNING),
        room=np.empty(n, np.int64),
        machine=machine_of(site, jobs),
        map=map_of(site),
        tree=tree,
        ledger=jobs.ledger,
        members=sets_of(members),
        partitions=records(len(partitions), PARTITION),
        by_user=np.zeros(table.user.max() + 2 if n else 1, np.int64),
        available=np.zeros(words_for(len(site.nodes)), np.uint64),
        preempts=preempts,
        candidates=np.empty(n if preempts.any() else 0, np.int64),
        stopped=records(room, STOPPED),
        stopped_nodes=np.empty(room * (int(table.nodes.max()) if room else 0), np.int64),
        resets=resets_of(workload, site, first),
        settings=settings_of(site, bool(preempts.any())),
        clock=records(
            1,
            CLOCK,
            next_full=first,
            next_backfill=first + site.scheduler.bf_interval,
            next_period=first,
            last_pass=-np.inf,
            last_period=np.nan,
        )[0],
    )
    return world, jobs


def machine_of(site: Site, jobs: Jobs) -> Machine:
    """Idle nodes, and the requests that come to them."""
    nodes = records(
        len(site.nodes), NODE, head=-1, cores=[one.cores for one in site.nodes],
        memory=[one.memory for one in site.nodes], weight=[one.weight for one in site.nodes],
        gpus=[gpus_of(one.gres) for one in site.nodes],
    )  # fmt: skip
    size = max(1, len(nodes))
    words = words_for(len(nodes))
    rows = 1 + max(1, min(len(jobs.requests), MOST_TIMES // size))
    places = int(jobs.table.nodes.sum())
    return Machine(
        nodes=nodes,
        requests=jobs.requests,
        places=records(places, PLACE, node=-1),
        eligible=jobs.eligible,
        considered=jobs.considered,
        rows=records(rows, ROW, request=-1),
        times=np.full((rows, words * WORD), np.nan),
        lasts=np.full((rows, words * WORD), NOBODY),
        fits=np.zeros((rows, words), np.uint64),
        changed=np.zeros(2 * size, np.int64),
        chosen=np.zeros(size, np.int64),
        idle=np.zeros(size, np.int64),
        runs=records(size, RUN),
        counts=records(1, COUNT, is_before_26_05=is_before(site.release, 26, 5))[0],
    )


def map_of(site: Site) -> Map:
    """Room for backfill's map."""
    scheduler, words = site.scheduler, words_for(len(site.nodes))
    slots = (scheduler.bf_node_space_size or scheduler.bf_max_job_test) + 3
    free = np.zeros((slots, words), np.uint64)
    return Map(records(slots, SLOT), free, np.zeros(words, np.uint64), np.zeros(words, np.uint64))


def settings_of(site: Site, preempts: bool) -> np.record:
    """The site's settings as numbers; and whether any job may stop others."""
    weights, scheduler, preemption = site.priority, site.scheduler, site.preemption
    half_life = weights.half_life
    backfills = scheduler.backfill and np.isfinite(scheduler.bf_interval)
    names = (
        "interval", "least_interval", "queue_depth", "partition_depth", "bf_interval", "bf_window",
        "bf_resolution", "bf_max_job_test", "bf_max_job_user", "bf_max_job_part",
        "bf_max_job_start", "over_time_limit", "kill_wait", "requeue_delay",
    )  # fmt: skip
    return records(
        1, SETTINGS, age=weights.age, fair_share=weights.fair_share, max_age=weights.max_age,
        decay=1 - LN2 / half_life if half_life > 0 else 1.0, period=weights.period,
        damping=weights.damping, multifactor=weights.multifactor, fair_tree=weights.fair_tree,
        accrue_always=weights.accrue_always, backfill=backfills, preempts=preempts,
        youngest_first=preemption.youngest_first, reorder_count=preemption.reorder_count,
        message_timeout=preemption.message_timeout,
        is_before_24_11=is_before(site.release, 24, 11),
        bf_node_space_size=scheduler.bf_node_space_size or scheduler.bf_max_job_test,
        **{name: getattr(scheduler, name) for name in names},
    )[0]  # fmt: skip


RESETS = {"DAILY": "D", "WEEKLY": "W-SUN", "MONTHLY": "MS", "QUARTERLY": "QS", "YEARLY": "YS"}
"""Periods of resets and their name in pandas: at midnight, weeks begin on Sunday."""


def resets_of(workload: Workload, site: Site, first: float) -> np.ndarray:
    """When usage is forgotten (s); for a year after the last submission.

    Where the workload does not know its date, second 0 is the midnight of a Sunday, January 1.
    """
    kind = site.priority.reset.upper()
    check.that(
        "reset", kind, kind in {"NONE", "NOW", *RESETS}, f"NONE, NOW or one of {', '.join(RESETS)}"
    )
    if kind == "NOW":
        return np.array([first])
    if kind == "NONE" or not len(workload):
        return np.array([])
    began = workload.began if workload.began is not None else pd.Timestamp("2023-01-01")
    began = began.tz_localize(None) if began.tzinfo is not None else began
    last = began + pd.Timedelta(seconds=float(workload.jobs["submit_time"].iloc[-1]) + 366 * DAY)
    days = pd.date_range(began.normalize(), last, freq=RESETS[kind])
    seconds = (days - began).total_seconds().to_numpy()
    return seconds[seconds > first]


# --- events ---------------------------------------------------------------------------------------


@kernel
def simulate_events(world: World) -> None:
    """Simulate until all jobs have ended, or those that wait can never start."""
    clock, settings = world.clock, world.settings
    while not clock.overflows:
        now = _next_instant(world)
        if now == np.inf:
            return
        while world.heap.state.length and world.ends[world.heap.items[0]].key <= now:
            _finish(world, world.heap.items[0], now)
        while clock.next_period <= now:
            _update(world, clock.next_period)
            clock.next_period += settings.period
        _submit(world, now)
        _schedule(world, now)


@kernel
def let_run(
    world: World, jobs: np.ndarray, starts: np.ndarray, first: np.ndarray, nodes: np.ndarray
) -> None:
    """Let jobs run since their starts; `first` is where the nodes of each are listed."""
    machine = world.machine
    for row in range(jobs.size):
        wanted: int = world.jobs[jobs[row]].nodes
        for number in range(wanted):
            machine.chosen[number] = nodes[first[row] + number]
        start(world, jobs[row], starts[row])


@kernel
def plan_jobs(world: World, now: float) -> None:
    """One pass of backfill over all jobs."""
    _update(world, now)
    _submit(world, now)
    run_backfill(world, now, True)


@kernel
def _next_instant(world: World) -> float:
    """When something happens next; infinity for never."""
    clock, settings = world.clock, world.settings
    instant = np.inf
    if clock.submitted < world.jobs.size:
        instant = world.jobs[clock.submitted].submit_time
    if world.heap.state.length:
        instant = min(instant, world.ends[world.heap.items[0]].key)
    if clock.waiting == 0:
        return instant
    if instant == np.inf and clock.stuck:
        return instant
    instant = min(instant, clock.next_period, clock.next_full)
    if clock.is_requested:
        instant = min(instant, clock.last_pass + settings.least_interval)
    if settings.backfill:
        instant = min(instant, clock.next_backfill)
    return instant


@kernel
def _finish(world: World, job: int, now: float) -> None:
    """End a job, and count its usage since the last period; if it was preempted, requeue it."""
    one, clock = world.jobs[job], world.clock
    _use(world.tree.branches, one, clock.last_period, now, world.settings.decay)
    if one.preempted_by < 0 or one.began + one.run_time <= now:
        stop(world, job, now)
        return
    note_stopped(world, job, now)
    stop(world, job, now)
    if one.mode == REQUEUE:
        _requeue(world, job, now)


@kernel
def _requeue(world: World, job: int, now: float) -> None:
    """Submit a job that was preempted anew."""
    settings, one = world.settings, world.jobs[job]
    one.state, one.preempted_by = WAITS, -1
    one.restarts += 1
    one.start_time = one.end_time = np.nan
    one.submit_time, one.eligible_time = now, now + settings.requeue_delay + 1
    one.accrues = now if settings.accrue_always else one.eligible_time
    count_job(world.ledger, one, True, 1)
    set_priority(world.jobs, job, world.tree, settings, now)
    enqueue(world.queue, world.clock, world.jobs, job)


@kernel
def _use(branches: np.recarray, one: np.record, since: float, now: float, decay: float) -> None:
    """Add what a running job used since the last period to its association and those above."""
    if one.association < 0 or branches.size == 0:
        return
    seconds = max(0.0, now - max(one.began, since))
    billed = seconds * decay**seconds * one.billing * one.usage_factor
    add_usage(branches, one.association, billed)


@kernel
def _update(world: World, now: float) -> None:
    """Decay usage, add that of running jobs, and bring fair share and priorities up to date."""
    clock, settings, tree = world.clock, world.settings, world.tree
    if clock.resets < world.resets.size and now >= world.resets[clock.resets]:
        decay_usage(tree.branches, 0.0)
        while clock.resets < world.resets.size and now >= world.resets[clock.resets]:
            clock.resets += 1
    if now > clock.last_period:
        decay_usage(tree.branches, settings.decay ** (now - clock.last_period))
        jobs, running = world.jobs, world.running
        for place in range(clock.running):
            one = jobs[running[place].job]
            _use(tree.branches, one, clock.last_period, now, settings.decay)
    clock.last_period = now
    if not settings.multifactor:
        return
    if tree.branches.size and settings.fair_tree:
        rank_users(tree)
    elif tree.branches.size:
        set_effective_usage(tree)
        set_classic_factors(tree, settings.damping)
    queue = world.queue[: clock.waiting]
    for job in queue:
        set_priority(world.jobs, job, tree, settings, now)
    sort_items(queue, world.jobs.rank, world.jobs.submit_time, world.room)


@kernel
def _submit(world: World, now: float) -> None:
    """Take the jobs that are submitted by now, or refuse them."""
    clock, jobs = world.clock, world.jobs
    while clock.submitted < jobs.size and jobs[clock.submitted].submit_time <= now:
        job = clock.submitted
        clock.submitted += 1
        if jobs[job].state != WAITS:
            continue
        limit = exceeded(world.ledger, jobs[job], SUBMISSION)
        if limit >= 0:
            jobs[job].state, jobs[job].reason = REFUSED, world.ledger.limits[limit].reason
            continue
        count_job(world.ledger, jobs[job], True, 1)
        set_priority(jobs, job, world.tree, world.settings, now)
        enqueue(world.queue, clock, jobs, job)
        clock.is_requested = 1


@kernel
def _schedule(world: World, now: float) -> None:
    """Run the main loop and backfill, whatever is due."""
    clock, settings = world.clock, world.settings
    is_full = now >= clock.next_full
    if is_full:
        clock.next_full = _after(clock.next_full, settings.interval, now)
    if clock.waiting and (
        is_full or (clock.is_requested and now >= clock.last_pass + settings.least_interval)
    ):
        before = clock.starts
        clock.is_requested = 0
        clock.last_pass = now
        clock.passes += 1
        run_main_loop(world, now, is_full)
        is_idle = is_full and clock.running == 0 and clock.starts == before
        clock.stuck = is_idle and _are_eligible(world.queue[: clock.waiting], world.jobs, now)
    if settings.backfill and now >= clock.next_backfill:
        clock.next_backfill = _after(clock.next_backfill, settings.bf_interval, now)
        if clock.waiting:
            run_backfill(world, now, False)


@kernel
def _are_eligible(waiting: np.ndarray, jobs: np.recarray, now: float) -> bool:
    """Whether all jobs that wait may start."""
    for job in waiting:  # noqa: SIM110 (kernels know no generators)
        if jobs[job].eligible_time > now:
            return False
    return True


@kernel
def _after(due: float, interval: float, now: float) -> float:
    """The next time after now at which something is due every so often."""
    return due + (np.floor((now - due) / interval) + 1) * interval


# --- main loop ------------------------------------------------------------------------------------


@kernel
def run_main_loop(world: World, now: float, is_full: bool) -> None:
    """One pass over the queue: jobs start in order, each partition up to the first that cannot."""
    clock, settings, machine = world.clock, world.settings, world.machine
    available, found = world.available, world.map.found
    for number in range(available.size):
        available[number] = ~ZERO
    for number in range(world.partitions.size):
        world.partitions[number].failed = world.partitions[number].looked_at = 0
    depth, begun = 0, clock.starts
    for place in range(clock.waiting):
        job = world.queue[place]
        one = world.jobs[job]
        partition = world.partitions[one.part]
        if one.eligible_time > now:
            continue
        partition.looked_at += 1
        if settings.partition_depth and partition.looked_at > settings.partition_depth:
            continue
        if not is_full and depth > settings.queue_depth:
            break
        depth += 1
        if partition.failed or exceeded(world.ledger, one, START) >= 0:
            continue
        if count_common(world.members[one.part], available, found) >= one.nodes:
            if exceeded(world.ledger, one, SIZE) >= 0:
                continue
            row = row_of(machine, one.request)
            if count_common(machine.fits[row], available, found) >= one.nodes:
                choose(machine, one.request, found, one.nodes, -np.inf, NOBODY)
                start(world, job, now)
                continue
            if settings.preempts:
                count_common(world.members[one.part], available, world.map.common)
                make_room(world, job, world.map.common, now)
        partition.failed = 1
        for number in range(available.size):
            available[number] &= ~world.members[one.part, number]
    if clock.starts > begun:
        drop_started(world.queue, clock, world.jobs)
