"""Backfill: one pass over the queue; a job that cannot start gets particular nodes later.

Places in Slurm: ``src/plugins/sched/backfill/backfill.c`` (`bf`), and for who could run when,
``_will_run_test`` and ``_future_run_test`` in ``src/plugins/select/cons_tres/job_test.c`` (`jt`).

1. *The map* (`bf` ``_attempt_backfill``, ``_add_reservation``): slots of time, each with the nodes
   that no planned job has. It begins at now rounded down to bf_resolution and ends after bf_window.
   Planned jobs take whole nodes in it, from their start rounded down to their limit rounded up.
   Running jobs are not in it, but for jobs on whole nodes that this pass starts.
2. *Times tried*: now, then each time at which a node of the job's partition becomes free in the
   map. Where none does before the first slot after the job's limit, the end of the next slot.
3. *Nodes at a time*: those free in all slots from the start to the limit. The end counts: a slot
   that begins exactly at the limit counts too (``begin_time <= end_time``). Of these the job's
   common nodes have its features, cores and memory, but maybe too few GPUs.
4. *Running jobs* (`jt`): the job starts now if it fits on these nodes now. Else jobs whose limit is
   before the time tried are taken as gone; if it fits then, it starts at that time. Else jobs end
   at their limits, in groups: the first group spans 30 s, from a full half minute on, and each
   further one twice as much. After each group the job is tried. It starts when the last of the jobs
   that were on its nodes ends. Jobs that end after the next time to be tried do not count.
5. *Too late*: if that is after the next time to be tried, or planned jobs have these nodes then,
   the next time is tried.
6. A job that can start now starts, by the rules of the main loop, among the nodes of 3. If it
   cannot, as a job on its nodes has outlived its limit or has to be preempted, it is planned from
   now on.
7. *Not planned*: jobs with a limit in their way, and jobs that start after the window.
8. *The pass ends* after bf_max_job_test jobs that came to step 4, after bf_max_job_start starts,
   and when the map has bf_node_space_size slots (counting each that was ever made). Of a user and a
   partition it looks at bf_max_job_user and bf_max_job_part jobs.

Slurm before 24.11 (22.05 was read): planned jobs have their nodes until their limit rounded *down*
(1); where no node becomes free, no further time is tried (2); a job that fits beside those that run
now is planned on these nodes for the time tried, too; jobs end in groups from the first on, without
a bound, and the job starts when the last one of a group ends, on its nodes or not (4).

A group ends with the first job on the nodes that is followed by one whose limit is after the
group's span (4). After 202 jobs Slurm breaks a group off, without trying the job, and goes on with
the rest of it as the next group. That is left out: it makes no difference unless the 202nd was the
last on the nodes. Whether the job fits at all by the next time is asked first, as then most groups
need not be looked at.

A pass takes no time here, so that bf_continue, bf_max_time and yields make no difference. Equal
limits of running jobs are in the order of the jobs. A pass is left out while no job waits.

Where a pass may end earlier
----------------------------
Plans are made anew in each pass. So all that a pass leaves behind are the jobs that it starts and
those that it stops for others. It may end as soon as no job further down the queue can do either;
what it would plan from there on, nobody sees. A job *may act* if all of these hold:

- Its `eligible_time` has come, and no limit is in its way.
- It fits now on enough nodes, and these are free in the map from now to its limit. Or it may
  preempt others: then the map and the nodes are not asked.

During a pass, jobs start and plans are made. Both only take nodes and use up limits, so that a job
that may not act may not act later in this pass either. The numbers of jobs tested, of a user and of
a partition can only keep more jobs from acting. So it is enough to know the last place of the queue
whose job may act. After each job that was looked at, this place is looked for again, from where it
was towards the front. The order of the queue does not change during a pass. Nothing is kept from
one pass to the next, so that neither ages nor fair shares matter. `plan` asks for all plans, and
its pass does not end early.

In the same way a later time (2) needs no nodes to be listed if the job does not fit by the next
time on the nodes that are free in the map. This is asked of new releases without preemption, where
(4) asks the same, and of jobs that were tested before, as tested jobs are counted (8).
"""

import numpy as np

from cosimlib.kernels.jit import kernel
from cosimlib.slurm.bits import WORD, ZERO, exclude, has, keep_common, size_of
from cosimlib.slurm.limits import SIZE, START, Ledger, exceeded
from cosimlib.slurm.preemption import has_node_of, list_candidates, make_room, mark
from cosimlib.slurm.selection import (
    LAST,
    NOBODY,
    NOWHERE,
    Machine,
    choose,
    count_common,
    is_up_to_date,
    place_of,
    row_of,
    row_without,
)
from cosimlib.slurm.state import Map, World, drop_started, start

GROUP = 30.0
"""Seconds of the first group of running jobs."""
YEAR = 365 * 86_400.0
NOT_LATER = -1.0
"""In the place of the next time to be tried: there is none."""

SKIPPED, PLANNED, STARTED, FULL = range(4)


@kernel
def run_backfill(world: World, now: float, plans_all: bool) -> None:
    """One pass: jobs that do not delay those planned before them start, the others are planned.

    It ends where no job further down the queue may act, unless all plans are asked for.
    """
    settings, clock = world.settings, world.clock
    _clear_map(world.map, clock, settings, now)
    for number in range(world.partitions.size):
        world.partitions[number].looked_at = 0
    for number in range(world.by_user.size):
        world.by_user[number] = 0
    begun = clock.starts
    clock.plans += 1
    clock.tested = 0
    last = clock.waiting - 1
    if not plans_all:
        last = _last_that_may_act(world, last, 0, now)
    for place in range(clock.waiting):
        if place > last or clock.tested >= settings.bf_max_job_test:
            break
        job = world.queue[place]
        one = world.jobs[job]
        if one.eligible_time > now or exceeded(world.ledger, one, START) >= 0:
            continue
        partition = world.partitions[one.part]
        if settings.bf_max_job_part and partition.looked_at >= settings.bf_max_job_part:
            continue
        if settings.bf_max_job_user and world.by_user[one.user] >= settings.bf_max_job_user:
            continue
        partition.looked_at += 1
        world.by_user[one.user] += 1
        if _place_job(world, job, now) == FULL:
            break
        if settings.bf_max_job_start and clock.starts - begun >= settings.bf_max_job_start:
            break
        if not plans_all:
            last = _last_that_may_act(world, last, place + 1, now)
    if clock.starts > begun:
        drop_started(world.queue, clock, world.jobs)


@kernel
def _last_that_may_act(world: World, last: int, first: int, now: float) -> int:
    """The last place of the queue, from one place back to another, whose job may act; else −1."""
    settings, jobs, queue = world.settings, world.jobs, world.queue
    rows, counts, fits = world.machine.rows, world.machine.counts, world.machine.fits
    for place in range(last, first - 1, -1):
        one = jobs[queue[place]]
        if one.eligible_time > now:
            continue
        if settings.preempts and world.preempts[one.rung].any():
            return place
        row = place_of(rows, one.request)
        if not is_up_to_date(rows[row], one.request, counts.changes):
            row_of(world.machine, one.request)
        if rows[row].fitting < one.nodes:
            continue
        if _may_start(world.map, world.ledger, fits[row], one, now):
            return place
    return NOWHERE


@kernel
def _may_start(plan: Map, ledger: Ledger, fits: np.ndarray, one: np.record, now: float) -> bool:
    """Whether a job could start now, if all jobs before it were passed over."""
    slot, end = 0, now + one.limit
    if exceeded(ledger, one, START) >= 0 or exceeded(ledger, one, SIZE) >= 0:
        return False
    for number in range(plan.found.size):
        plan.found[number] = fits[number]
    while plan.slots[slot].begin <= end:
        if plan.slots[slot].end > now:
            keep_common(plan.found, plan.free, slot)
            if size_of(plan.found) < one.nodes:
                return False
        slot = plan.slots[slot].next
        if slot == 0:
            break
    return True


@kernel
def _place_job(world: World, job: int, now: float) -> int:
    """Start a job, or plan it for the first time that will do."""
    clock, plan, settings, chosen = world.clock, world.map, world.settings, world.machine.chosen
    one, later, was_tested = world.jobs[job], now, False
    while True:
        tried = later
        if tried > clock.map_end:
            return SKIPPED
        later = _free_throughout(world, one, tried, was_tested)
        begins = np.nan
        if size_of(plan.common) >= one.nodes:
            clock.tested += not was_tested
            was_tested = True
            begins = _earliest(world, job, tried, later, now)
        if np.isnan(begins):
            if later < 0:
                return SKIPPED
            continue
        begins = max(begins, tried)
        if begins > now:
            if not settings.is_before_24_11 and _is_taken(plan, settings, chosen, one, begins):
                later = begins + settings.bf_resolution * (begins == tried)
                continue
        else:
            result = _start_now(world, job, now)
            if result != PLANNED:
                return result
            later = NOT_LATER
        if later >= 0 and begins > later:
            continue
        is_in_window = begins <= now + settings.bf_window
        is_checked_late = settings.is_before_24_11 and begins > now and is_in_window
        if is_checked_late and _is_taken(plan, settings, chosen, one, begins):
            later = begins
            continue
        if not is_in_window or exceeded(world.ledger, one, SIZE) >= 0:
            return SKIPPED
        if clock.slots >= settings.bf_node_space_size:
            return FULL
        one.planned_time = begins
        _note_nodes(world.machine, one)
        begin, end = _grid(settings, begins, 0), _end_on_grid(settings, begins + one.limit)
        _reserve(plan, clock, settings, chosen[: one.nodes], begin, end)
        return PLANNED


@kernel
def _start_now(world: World, job: int, now: float) -> int:
    """Start a job on nodes that are free in the map, or say that it is to be planned."""
    one, machine, plan, settings = world.jobs[job], world.machine, world.map, world.settings
    if exceeded(world.ledger, one, SIZE) >= 0:
        return SKIPPED
    row = row_of(machine, one.request)
    if count_common(machine.fits[row], plan.common, plan.found) < one.nodes:
        if settings.preempts:
            # `make_room` chooses other nodes, so these are kept in the job's places meanwhile.
            _note_nodes(machine, one)
            make_room(world, job, plan.common, now)
            for number in range(one.nodes):
                machine.chosen[number] = machine.places[one.first + number].node
        return PLANNED
    choose(machine, one.request, plan.found, one.nodes, -np.inf, NOBODY)
    start(world, job, now)
    has_room = world.clock.slots < settings.bf_node_space_size
    if machine.requests[one.request].is_whole and has_room:
        begin, end = plan.slots[0].begin, _end_on_grid(settings, one.expected_end)
        _reserve(plan, world.clock, settings, machine.chosen[: one.nodes], begin, end)
    return STARTED


@kernel
def _note_nodes(machine: Machine, one: np.record) -> None:
    """Note the chosen nodes in the job's places."""
    for number in range(one.nodes):
        machine.places[one.first + number].node = machine.chosen[number]


@kernel
def _grid(settings: np.record, time: float, up: int) -> float:
    """A time rounded down to bf_resolution, or up."""
    step = settings.bf_resolution
    return np.ceil(time / step) * step if up else np.floor(time / step) * step


@kernel
def _end_on_grid(settings: np.record, time: float) -> float:
    """The end of a plan on the grid of bf_resolution."""
    return _grid(settings, time, 0 if settings.is_before_24_11 else 1)


# --- running jobs ---------------------------------------------------------------------------------


@kernel
def _earliest(world: World, job: int, tried: float, later: float, now: float) -> float:
    """When a job could start on the common nodes, chosen with it; NaN where it could not."""
    machine, plan, one = world.machine, world.map, world.jobs[job]
    row = row_of(machine, one.request)
    looks_now = tried <= now or world.settings.is_before_24_11
    if looks_now and count_common(machine.fits[row], plan.common, plan.found) >= one.nodes:
        choose(machine, one.request, plan.found, one.nodes, -np.inf, NOBODY)
        return now
    count = list_candidates(world, job, now) if world.settings.preempts else 0
    if count == 0:
        return _after_others(world, one, row, tried, later, now)
    for place in range(count):
        mark(machine, world.jobs[world.candidates[place]], 1)
    begins = _after_others(world, one, row_without(machine, one.request), tried, later, now)
    for place in range(count):
        mark(machine, world.jobs[world.candidates[place]], 0)
    return begins


@kernel
def _after_others(
    world: World, one: np.record, row: int, tried: float, later: float, now: float
) -> float:
    """When a job could start as running jobs end, but for those that are gone."""
    machine, plan, settings = world.machine, world.map, world.settings
    running = world.running[: world.clock.running]
    places, common = machine.places, plan.common
    times, lasts = machine.times[row], machine.lasts[row]
    is_old = settings.is_before_24_11
    gone_by = -np.inf if is_old else tried
    if _count_free_by(plan, times, lasts, gone_by, LAST) >= one.nodes:
        choose(machine, one.request, plan.found, one.nodes, gone_by, LAST)
        return now
    latest = np.inf if is_old or later < 0 else later
    if _count_free_by(plan, times, lasts, latest, LAST) < one.nodes:
        return np.nan
    place = _on_common(running, places, common, _first_after(running, gone_by), 1)
    anchor = (np.floor(_end_of(running, place) / GROUP) + 1) * GROUP
    window = GROUP
    while True:
        place = _last_of_group(running, places, common, place, anchor + window, latest)
        end, last = _end_of(running, place), running[place].job
        if _count_free_by(plan, times, lasts, end, last) >= one.nodes:
            break
        place += 1
        window *= 2
        following = _end_of(running, _next_counted(running, places, place))
        while window <= YEAR and following > anchor + window:
            window *= 2
    choose(machine, one.request, plan.found, one.nodes, end, last)
    if not is_old:
        return _last_end(machine, one.nodes, tried, end)
    if end > now:
        return end
    # The last job has outlived its limit: when it ends is a guess.
    return max(now + 1, end + settings.over_time_limit + settings.kill_wait)


@kernel
def _last_of_group(
    running: np.ndarray,
    places: np.recarray,
    common: np.ndarray,
    place: int,
    by: float,
    latest: float,
) -> int:
    """The place of the last job of a group that begins at a place.

    It is the first on common nodes that is followed by a job whose limit is after the group's span,
    so that its own limit may be after it. No limit is after the next time to be tried.
    """
    place = _on_common(running, places, common, max(place, _last_by(running, places, by)), 1)
    if place == running.size or running[place].end > latest:
        place = _on_common(running, places, common, _first_after(running, latest) - 1, -1)
    return place


@kernel
def _end_of(running: np.ndarray, place: int) -> float:
    """When the limit of a running job is; infinity after the last one."""
    if place == running.size:
        return np.inf
    return running[place].end


@kernel
def _first_after(running: np.ndarray, time: float) -> int:
    """The first of the running jobs whose limit is after a time."""
    low, high = 0, running.size
    while low < high:
        middle = (low + high) // 2
        if running[middle].end <= time:
            low = middle + 1
        else:
            high = middle
    return low


@kernel
def _last_by(running: np.ndarray, places: np.recarray, time: float) -> int:
    """The last of the running jobs whose limit is by a time and which is not gone; −1 for none."""
    place = _first_after(running, time) - 1
    while place >= 0 and places[running[place].first].is_gone:
        place -= 1
    return place


@kernel
def _next_counted(running: np.ndarray, places: np.recarray, place: int) -> int:
    """The first of the running jobs from a place on that is not gone."""
    while place < running.size and places[running[place].first].is_gone:
        place += 1
    return place


@kernel
def _on_common(
    running: np.ndarray, places: np.recarray, common: np.ndarray, place: int, step: int
) -> int:
    """The first of the running jobs from a place on, or back, with common nodes and not gone."""
    while 0 <= place < running.size:
        one = running[place]
        is_on_common = has(common, one.node)
        if one.nodes > 1 and not is_on_common:
            is_on_common = has_node_of(places, one, common)
        if is_on_common and not places[one.first].is_gone:
            break
        place += step
    return place


@kernel
def _count_free_by(plan: Map, times: np.ndarray, lasts: np.ndarray, time: float, last: int) -> int:
    """Find the common nodes on which a job fits once all limits up to a time have passed.

    `times` says when it fits on each node, and `lasts` which job ends last by then. Of jobs that
    end at that very time, those count that are not after the last one.
    """
    # All nodes are compared, without a branch: that is faster than to go from one common node to
    # the next.
    for number in range(plan.common.size):
        fits = ZERO
        for bit in range(WORD):
            node = number * WORD + bit
            is_free = (times[node] < time) | ((times[node] == time) & (lasts[node] <= last))
            fits |= np.uint64(is_free) << np.uint64(bit)
        plan.found[number] = plan.common[number] & fits
    return size_of(plan.found)


@kernel
def _last_end(machine: Machine, nodes: int, tried: float, latest: float) -> float:
    """The last end, after the time tried, among jobs on the chosen nodes that end by a time."""
    last = tried
    for number in range(nodes):
        place = machine.nodes[machine.chosen[number]].head
        while place >= 0 and machine.places[place].end <= latest:
            if not machine.places[place].is_gone:
                last = max(last, machine.places[place].end)
            place = machine.places[place].next
    return last


# --- the map --------------------------------------------------------------------------------------


@kernel
def _clear_map(plan: Map, clock: np.record, settings: np.record, now: float) -> None:
    """A map without planned jobs: one slot, with all nodes."""
    first = plan.slots[0]
    clock.slots = 1
    clock.map_end = _grid(settings, now + settings.bf_window, 0)
    first.begin, first.end, first.next = _grid(settings, now, 0), clock.map_end, 0
    for number in range(plan.free.shape[1]):
        plan.free[0, number] = ~np.uint64(0)


@kernel
def _free_throughout(world: World, one: np.record, tried: float, was_tested: bool) -> float:
    """Find the common nodes from a time to the job's limit; the next time to try, −1 for none.

    The slots are looked at in order of time, and the common nodes become fewer with each. The next
    time to try is the end of the first slot that is followed by one with a free node which is not
    common so far. A job that was tested before, and cannot fit by then, is left at once: it has no
    common nodes.
    """
    settings, plan, slot, later = world.settings, world.map, 0, NOT_LATER
    members, end = world.members[one.part], tried + one.limit
    may_leave = was_tested and not settings.is_before_24_11 and not settings.preempts
    for number in range(members.size):
        plan.common[number] = members[number]
    while True:
        this, following = plan.slots[slot], plan.slots[slot].next
        if this.end > tried:
            if following and later < 0 and _gains(plan, members, slot, following):
                later = this.end
                if may_leave and not _may_fit_by(plan, world.machine, one, slot, later, end):
                    plan.common[:] = ZERO
                    return later
            if this.begin > end:
                is_new = not settings.is_before_24_11
                if is_new and later < 0 and following and plan.slots[following].next:
                    later = plan.slots[following].end
                break
            keep_common(plan.common, plan.free, slot)
        slot = following
        if slot == 0:
            break
    count_common(plan.common, world.machine.considered[one.request], plan.common)
    return later


@kernel
def _may_fit_by(
    plan: Map, machine: Machine, one: np.record, slot: int, time: float, end: float
) -> bool:
    """Whether a job fits, by a time, on nodes that are free in the map from a slot to its limit."""
    row = row_of(machine, one.request)
    size = _count_free_by(plan, machine.times[row], machine.lasts[row], time, LAST)
    while size >= one.nodes and plan.slots[slot].begin <= end:
        keep_common(plan.found, plan.free, slot)
        size = size_of(plan.found)
        slot = plan.slots[slot].next
        if slot == 0:
            break
    return size >= one.nodes


@kernel
def _gains(plan: Map, members: np.ndarray, slot: int, following: int) -> bool:
    """Whether the next slot has a node that the common ones of this slot have not."""
    for number in range(members.size):
        here = plan.common[number] & plan.free[slot, number]
        if members[number] & plan.free[following, number] & ~here:
            return True
    return False


@kernel
def _is_taken(
    plan: Map, settings: np.record, chosen: np.ndarray, one: np.record, begins: float
) -> bool:
    """Whether a planned job has one of the chosen nodes while this one would run."""
    begin, end, slot = _grid(settings, begins, 0), _end_on_grid(settings, begins + one.limit), 0
    while True:
        this = plan.slots[slot]
        if this.end > begin and this.begin < end:
            free = plan.free[slot]
            for number in range(one.nodes):
                if not has(free, chosen[number]):
                    return True
        slot = this.next
        if slot == 0:
            return False


@kernel
def _reserve(
    plan: Map,
    clock: np.record,
    settings: np.record,
    nodes: np.ndarray,
    begin: float,
    end: float,
) -> None:
    """Take nodes out of the map for a time."""
    begin = max(begin, plan.slots[0].begin)
    end = max(end, begin + settings.bf_resolution)
    slot, before, after = 0, 0, -1
    while plan.slots[slot].end < begin:
        before, slot = slot, plan.slots[slot].next
        if slot == 0:
            return
    if plan.slots[slot].end > begin:
        _split(plan, clock, slot, begin)
    while True:
        slot = plan.slots[slot].next
        if slot == 0:
            break
        if end < plan.slots[slot].end:
            _split(plan, clock, slot, end)
        free = plan.free[slot]
        for node in nodes:
            exclude(free, node)
        if end == plan.slots[slot].end:
            after = plan.slots[slot].next or after
            break
    _merge_one(plan, before, after)


@kernel
def _split(plan: Map, clock: np.record, slot: int, time: float) -> None:
    """Split a slot at a time."""
    this = plan.slots[slot]
    new = plan.slots[clock.slots]
    new.begin, new.end, new.next = time, this.end, this.next
    this.end, this.next = time, clock.slots
    for number in range(plan.free.shape[1]):
        plan.free[clock.slots, number] = plan.free[slot, number]
    clock.slots += 1


@kernel
def _merge_one(plan: Map, before: int, after: int) -> None:
    """Merge the first two neighboring slots with the same nodes, from one slot to another."""
    slot = before
    while slot != after:
        following = plan.slots[slot].next
        if following == 0:
            return
        if _are_equal(plan.free[slot], plan.free[following]):
            plan.slots[slot].end = plan.slots[following].end
            plan.slots[slot].next = plan.slots[following].next
            return
        slot = following


@kernel
def _are_equal(one: np.ndarray, other: np.ndarray) -> bool:
    """Whether two sets are equal."""
    for number in range(one.size):  # noqa: SIM110 (kernels know no generators)
        if one[number] != other[number]:
            return False
    return True
