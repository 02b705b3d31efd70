"""Preemption: running jobs stop, so that a job of a higher tier or QOS can start.

Places in Slurm: ``src/interfaces/preempt.c`` (`pr`) with its plugins ``preempt/partition_prio`` and
``preempt/qos``, and ``_run_now`` in ``src/plugins/select/cons_tres/job_test.c`` (`jt`).

1. *Who stops whom*: by partition, a job those of partitions of a lower tier whose mode is not
   ``OFF``; by QOS, a job those of the QOS that its own names. A partition's or QOS's own mode comes
   before the cluster's.
2. *Candidates* (`pr` ``slurm_find_preemptable_jobs``): running jobs of those, on a node of the
   preemptor's partition, that have run for PreemptExemptTime: that of the partition's QOS, else of
   the job's QOS, else the cluster's. Jobs of the lowest tier or QOS priority come first, of those
   the ones on fewest nodes; with ``youngest_first`` the jobs that began last.
3. *How many* (`jt`): if a job does not fit, the candidates are taken away one by one, in this
   order, until it does. Then the last one taken comes first, and after it the others that had most
   of the nodes found; all is tried anew, `reorder_count` + 1 times. Of the jobs taken away in the
   last try those stop that have one of the nodes found.
4. *The end*: they stop after the grace time of their partition or QOS, and are requeued or
   cancelled by their mode. Their nodes are free after a second (a live Slurm takes .1 to .3 s). The
   preemptor fails in this pass, like any job that does not fit, and starts in a later one. For
   KillWait + MessageTimeout it stops no further jobs.
5. A *requeued* job is submitted anew: its age begins again, it waits for at least requeue_delay +
   1 s (two minutes), and it runs from its beginning.
6. *Backfill* (`jt` ``_future_run_test``) takes all candidates of a job for gone. If the job fits
   then, jobs stop as in 3, and it is planned from now on.
7. *The queue*: by partition, tiers decide its order in any case. By QOS, a job that may preempt
   another comes before it. Slurm compares jobs by twos; here a QOS comes before all that it may
   preempt, those that these may preempt, and all others that preempt no more than these.

Differences: jobs stop at the end of their grace time, and no earlier, as those that end at the
first signal do. ``SUSPEND`` and ``GANG``, ``WITHIN`` and ``PRIORITY`` do not exist: such jobs run
on. Licences are not preempted.
"""

from collections.abc import Sequence

import numpy as np

from cosimlib.kernels.jit import kernel
from cosimlib.slurm.bits import has, include
from cosimlib.slurm.jobs import Jobs
from cosimlib.slurm.selection import (
    NOBODY,
    Machine,
    choose,
    count_common,
    row_of,
    set_gone,
    time_of,
)
from cosimlib.slurm.site import NotModeled, Site
from cosimlib.slurm.sorting import sort_items
from cosimlib.slurm.state import World, end_by

OFF, CANCEL, REQUEUE = range(3)
ENDING = 1.0
"""Seconds until the nodes of a job that was stopped are free."""
NOT_FOLLOWED = {
    "SUSPEND": "jobs would be suspended; here they run on",
    "GANG": "jobs would take turns on their nodes",
    "WITHIN": "jobs would stop others of their own QOS",
    "PRIORITY": "jobs would stop only those of lower priority",
}
"""Modes that are not followed, and what they would do."""
SIZES = 2.0**16
"""More than the nodes that count when candidates are put in order."""
BEFORE_ALL = 99_999.0


def set_preemption(jobs: Jobs, site: Site) -> np.ndarray:
    """Set what jobs need for preemption, and their `order` in the queue.

    Returns
    -------
    np.ndarray
        Whether the jobs of a partition (or QOS) may stop those of another.
    """
    table = jobs.table
    tiers = np.array([*(one.tier for one in site.partitions.values()), 0])
    table.exempt_time = _exempt_times(table, site)
    if not is_on(site):
        table.order = tiers[table.part]
        return np.zeros((1, 1), np.bool_)
    if site.preemption.by == "partition":
        table.order = tiers[table.part]
        return _by_partition(table, site, tiers[:-1])
    preempts = _by_qos(table, site)
    table.order = levels_of(preempts)[table.qos] * SIZES + tiers[table.part]
    return preempts


def _by_partition(table: np.recarray, site: Site, tiers: np.ndarray) -> np.ndarray:
    """Set what jobs have by their partitions; which partitions' jobs may stop which others."""
    partitions = list(site.partitions.values())
    modes = [mode_of(site, one.preempt_mode) for one in partitions]
    table.rung = table.part
    _set_each(table, table.part, modes, [one.grace_time for one in partitions], tiers)
    is_higher = tiers[:, None] > tiers[None, :]
    return is_higher & (np.array(modes) != OFF)[None, :]


def _by_qos(table: np.recarray, site: Site) -> np.ndarray:
    """Set what jobs have by their QOS; whose jobs may stop which others. The last row is no QOS."""
    qos = list(site.qos.values())
    row = {one.name: number for number, one in enumerate(qos)}
    modes = [*(mode_of(site, one.preempt_mode) for one in qos), OFF]
    preempts = np.zeros((len(modes), len(modes)), np.bool_)
    for one in qos:
        for name in one.preempts:
            if name in row and name != one.name:
                preempts[row[one.name], row[name]] = modes[row[name]] != OFF
    table.rung = table.qos
    priorities = np.array([*(one.priority for one in qos), 0])
    _set_each(table, table.qos, modes, [*(one.grace_time for one in qos), 0.0], priorities)
    return preempts


def is_on(site: Site) -> bool:
    """Whether any job may stop others."""
    preemption = site.preemption
    return bool(preemption.by) and mode_of(site, "CLUSTER") != OFF


def mode_of(site: Site, own: str) -> int:
    """What happens to jobs that are preempted, by their own mode or the cluster's."""
    words = own.upper().split(",")
    if words == ["OFF"] and site.preemption.by == "partition":
        return OFF
    if words in (["CLUSTER"], ["OFF"], [""]):
        words = site.preemption.mode.upper().split(",")
    if "REQUEUE" in words:
        return REQUEUE if site.preemption.requeue else CANCEL
    return CANCEL if "CANCEL" in words else OFF


def not_followed(site: Site) -> list[NotModeled]:
    """Modes of preemption that a site has and the simulator does not follow."""
    if not site.preemption.by:
        return []
    places = [("slurm.conf", site.preemption.mode)]
    if site.preemption.by == "partition":
        places += [
            (f"PartitionName={one.name}", one.preempt_mode) for one in site.partitions.values()
        ]
    else:
        places += [(f"QOS {one.name}", one.preempt_mode) for one in site.qos.values()]
    return [
        NotModeled("PreemptMode", text, place, effect)
        for place, text in places
        for word, effect in NOT_FOLLOWED.items()
        if word in text.upper().split(",")
    ]


def levels_of(preempts: np.ndarray) -> np.ndarray:
    """How many others, each preempted by the one before, are below a QOS at most."""
    levels = np.zeros(len(preempts))
    for _ in range(len(preempts)):
        below = np.where(preempts, levels[None, :] + 1, 0.0)
        levels = below.max(axis=1, initial=0.0)
    return levels


def _set_each(
    table: np.recarray,
    kind: np.ndarray,
    modes: Sequence[int],
    grace: Sequence[float],
    priorities: np.ndarray,
) -> None:
    """Set each job's mode, grace time and rank among candidates from its partition or QOS."""
    table.mode = np.array(modes)[kind]
    table.grace_time = np.array(grace)[kind]
    table.victim_rank = -(priorities[kind] * SIZES + np.minimum(table.nodes, SIZES - 1))


def _exempt_times(table: np.recarray, site: Site) -> np.ndarray:
    """For how long each job may not be stopped (s)."""
    own = {name: one.exempt_time for name, one in site.qos.items()}
    of_job = np.array([*own.values(), 0.0])[table.qos]
    of_partition = [own.get(one.qos, 0.0) for one in site.partitions.values()]
    first = np.array([*of_partition, 0.0])[table.part]
    cluster = np.where(of_job > 0, of_job, site.preemption.exempt_time)
    return np.where(first > 0, first, cluster)


# --- kernels --------------------------------------------------------------------------------------


@kernel
def list_candidates(world: World, job: int, now: float) -> int:
    """List the running jobs that a job may stop, in order; how many they are."""
    one, clock, jobs = world.jobs[job], world.clock, world.jobs
    if not world.settings.preempts or not world.preempts[one.rung].any():
        return 0
    count = 0
    for place in range(clock.running):
        number = world.running[place].job
        other = jobs[number]
        if not world.preempts[one.rung, other.rung] or now < other.began + other.exempt_time:
            continue
        if not has_node_of(world.machine.places, other, world.members[one.part]):
            continue
        other.position = 0.0
        world.candidates[count] = number
        count += 1
    sort_items(world.candidates[:count], jobs.victim_rank, jobs.position, world.room)
    return count


@kernel
def has_node_of(places: np.recarray, one: np.record, nodes: np.ndarray) -> bool:
    """Whether a running job has one of a set of nodes."""
    for place in range(one.first, one.first + one.nodes):  # noqa: SIM110 (as in `_are_equal`)
        if has(nodes, places[place].node):
            return True
    return False


@kernel
def mark(machine: Machine, one: np.record, is_gone: int) -> None:
    """Take a running job for gone, or not."""
    for place in range(one.first, one.first + one.nodes):
        set_gone(machine, place, is_gone)


@kernel
def make_room(world: World, job: int, allowed: np.ndarray, now: float) -> None:
    """Stop jobs, if that lets a job that does not fit have enough nodes of a set."""
    one, settings = world.jobs[job], world.settings
    count = list_candidates(world, job, now)
    stopped = _choose_victims(world, one, allowed, count)
    if stopped == 0 or now < one.preempt_start + settings.kill_wait + settings.message_timeout:
        return
    one.preempt_start = now
    for place in range(stopped):
        victim = world.candidates[place]
        other = world.jobs[victim]
        if other.preempted_by < 0:
            other.preempted_by = job
            end_by(world, victim, now + max(other.grace_time, ENDING))


@kernel
def _choose_victims(world: World, one: np.record, allowed: np.ndarray, count: int) -> int:
    """Put the candidates that are to stop first in their list; how many they are."""
    candidates, jobs, tries = world.candidates, world.jobs, 0
    places, found = world.machine.places, world.map.found
    while True:
        last = _take_away(world, one, allowed, count)
        if last < 0:
            return 0
        tries += 1
        if tries > world.settings.reorder_count + 1 or count <= tries:
            break
        for place in range(count):
            other = jobs[candidates[place]]
            other.position = place
            other.usable = 0.0
            if place < last:
                other.usable = _count_found(places, other, found)
        jobs[candidates[last]].usable = BEFORE_ALL
        sort_items(candidates[:count], jobs.usable, jobs.position, world.room)
    stopped = 0
    for place in range(last + 1):
        if _count_found(places, jobs[candidates[place]], found):
            candidates[stopped] = candidates[place]
            stopped += 1
    return stopped


@kernel
def _take_away(world: World, one: np.record, allowed: np.ndarray, count: int) -> int:
    """Take candidates for gone until a job fits, and find its nodes; the last one, or −1."""
    machine, found = world.machine, world.map.found
    row = row_of(machine, one.request)
    size, last = count_common(machine.fits[row], allowed, found), -1
    while size < one.nodes and last + 1 < count:
        last += 1
        other = world.jobs[world.candidates[last]]
        mark(machine, other, 1)
        for place in range(other.first, other.first + other.nodes):
            node = machine.places[place].node
            if has(found, node) or not has(allowed, node):
                continue
            if not has(machine.eligible[one.request], node):
                continue
            if time_of(machine, one.request, node)[0] == -np.inf:
                include(found, node)
                size += 1
    if size >= one.nodes:
        choose(machine, one.request, found, one.nodes, -np.inf, NOBODY)
    for place in range(last + 1):
        mark(machine, world.jobs[world.candidates[place]], 0)
    if size < one.nodes:
        return -1
    for number in range(found.size):
        found[number] = 0
    for number in range(one.nodes):
        include(found, machine.chosen[number])
    return last


@kernel
def _count_found(places: np.recarray, other: np.record, found: np.ndarray) -> int:
    """How many of the nodes found a running job has."""
    size = 0
    for place in range(other.first, other.first + other.nodes):
        size += has(found, places[place].node)
    return size


@kernel
def note_stopped(world: World, job: int, now: float) -> None:
    """Note a run that was preempted, and its nodes, where there is room for them."""
    clock, one = world.clock, world.jobs[job]
    if (
        clock.stopped >= world.stopped.size
        or clock.stopped_nodes + one.nodes > world.stopped_nodes.size
    ):
        clock.overflows = 1
        return
    note = world.stopped[clock.stopped]
    note.start, note.end, note.job, note.preempted_by = one.began, now, job, one.preempted_by
    note.requeued, note.first = one.mode == REQUEUE, clock.stopped_nodes
    for number in range(one.nodes):
        node = world.machine.places[one.first + number].node
        world.stopped_nodes[clock.stopped_nodes + number] = node
    clock.stopped += 1
    clock.stopped_nodes += one.nodes
