"""The protocol of elastic partitions the slow, obvious way: plain Python, from its description.

Nothing is kept that can be asked for: queues, free nodes, promises and vectors are made anew from
all runs and all nodes each time. RANDOM is left out.
"""

from math import ceil, inf
from types import SimpleNamespace


def simulate(workload, system, policies, requests=(), grace=120.0, staleness=0.0, spare=0):
    """Everything that `ElasticSchedule` tells: runs, reclaims, owners' stretches, grants."""
    names = list(system.partitions)
    owners = [name for name in names for _ in range(system.partitions[name])] + ["host"] * spare
    home = workload.column("partition").fillna(names[0]).tolist()
    rows = zip(workload.jobs.itertuples(), home, workload.column("priority"), strict=True)
    world = SimpleNamespace(
        sizes=dict(system.partitions),
        policies=policies,
        grace=grace,
        staleness=staleness,
        now=0.0,
        runs=[],
        reclaims=[],
        granted=[],
        seen={},
        came=set(),
        done=set(),
        jobs=[
            SimpleNamespace(
                number=number,
                submit=job.submit_time,
                run=job.run_time,
                requested=job.requested_time,
                nodes=job.nodes,
                home=home,
                priority=priority,
            )
            for number, (job, home, priority) in enumerate(rows)
        ],
        nodes=[
            SimpleNamespace(
                number=number, owner=owner, run=None, drains=None, back=inf, past=[(0.0, owner)]
            )
            for number, owner in enumerate(owners)
        ],
    )
    requests = list(requests)
    while (now := instant(world, requests)) < inf:
        world.now = now
        withdraw(world)
        finish(world)
        admit(world)
        settle(world)
        while len(world.granted) < len(requests) and requests[len(world.granted)][0] <= now:
            serve(world, *requests[len(world.granted)][1:])
            settle(world)
    return world


def instant(world, requests):
    """When something happens next."""
    times = [job.submit for job in world.jobs if job.number not in world.came]
    times += [request[0] for request in requests[len(world.granted) :]]
    times += [node.back for node in world.nodes]
    for node in world.nodes:
        if node.run:
            times.append(node.run.start + node.run.job.run)
            times.append(node.drains.deadline if node.drains else inf)
    return min(times, default=inf)


def withdraw(world):
    """Kill the jobs on nodes whose grace period is over."""
    for node in world.nodes:
        if node.drains and node.drains.deadline <= world.now:
            stop(world, node.run, completed=False)


def finish(world):
    """End what ends, and take back what users had."""
    for node in world.nodes:
        if node.run and node.run.start + node.run.job.run <= world.now:
            stop(world, node.run, completed=True)
        if node.back <= world.now:
            move(world, node, "host")


def admit(world):
    """Admit the jobs that are due."""
    for job in world.jobs:
        if job.number not in world.came and job.submit <= world.now:
            world.came.add(job.number)


def move(world, node, owner):
    """Another owner from now on."""
    node.owner, node.drains, node.back = owner, None, inf
    node.past.append((world.now, owner))


def stop(world, run, completed):
    """End a run; those of its nodes that drain leave."""
    run.end, run.completed = world.now, completed
    if completed:
        world.done.add(run.job.number)
    for node in world.nodes:
        if node.run is run:
            node.run = None
            if node.drains:
                leave(world, node, -1 if completed else run.job.number)


def reclaim(world, node, request, use):
    """Let a node drain, for a user's request or (None) for another partition."""
    node.drains = SimpleNamespace(
        node=node.number,
        partition=node.owner,
        notified=world.now,
        released=None,
        killed=None,
        request=-1 if request is None else request,
        use=use,
        deadline=world.now + world.grace,
    )
    world.reclaims.append(node.drains)
    if not node.run:
        leave(world, node, -1)


def leave(world, node, killed):
    """A draining node goes to the user or to the host."""
    drains = node.drains
    drains.released, drains.killed = world.now, killed
    move(world, node, "user" if drains.request >= 0 else "host")
    if drains.request >= 0:
        node.back = world.now + drains.use


def usable(world, partition, idle=False):
    """A partition's nodes that do not drain."""
    return [
        node
        for node in world.nodes
        if node.owner == partition and not node.drains and not (idle and node.run)
    ]


def waiting(world, partition):
    """A partition's queue, in order."""
    running = {node.run.job.number for node in world.nodes if node.run}
    running |= {run.job.number for run in world.runs if run.end is None}
    gone = world.done | running
    return [job for job in world.jobs if job.home == partition and job.number in world.came - gone]


def wanted(world, partition):
    """What AddNodes asks for."""
    queue = waiting(world, partition)
    wanted_nodes = sum(job.nodes for job in queue) - len(usable(world, partition, idle=True))
    return wanted_nodes if queue else 0


def settle(world):
    """Partitions, then DeleteNodes, then AddNodes, again and again; rebalance when all is still."""
    while True:
        for partition in world.sizes:
            if sight(world, partition) != world.seen.get(partition):
                schedule(world, partition)
                world.seen[partition] = sight(world, partition)
        deleted = [delete_nodes(world, partition) for partition in world.sizes]
        if any(deleted) | hand_out(world):
            continue
        if not rebalance(world):
            return


def sight(world, partition):
    """What a partition's scheduler goes by, but for the time: its queue, its nodes, their runs."""
    nodes = [node for node in world.nodes if node.owner == partition]
    return (
        [job.number for job in waiting(world, partition)],
        [(node.number, world.runs.index(node.run) if node.run else None) for node in nodes],
        [(node.number, node.drains.deadline) for node in nodes if node.drains],
    )


def schedule(world, partition):
    """EASY by the textbook: the first jobs start; later ones must not delay the next in line."""
    queue = waiting(world, partition)
    while queue and queue[0].nodes <= len(usable(world, partition, idle=True)):
        start(world, queue.pop(0))
    if not queue:
        return
    shadow, extra = promise(world, partition, queue[0])
    for job in queue[1:]:
        if job.nodes > len(usable(world, partition, idle=True)):
            continue
        if world.now + job.requested > shadow:
            if job.nodes > extra:
                continue
            extra -= job.nodes
        start(world, job)


def promise(world, partition, head):
    """When the first in the queue is to start, and how many nodes are left over then."""
    times = [world.now] * len(usable(world, partition, idle=True))
    for node in usable(world, partition):
        if node.run:
            mine = [
                other.drains.deadline
                for other in world.nodes
                if other.run is node.run and other.drains
            ]
            due = max(node.run.start + node.run.job.requested, world.now)
            times.append(min([due, *mine]))
    times.sort()
    if len(times) < head.nodes:
        return inf, 0
    shadow = times[head.nodes - 1]
    return shadow, sum(time <= shadow for time in times) - head.nodes


def start(world, job):
    """Run on the lowest idle nodes."""
    run = SimpleNamespace(job=job, start=world.now, end=None, completed=False, nodes=[])
    world.runs.append(run)
    for node in usable(world, job.home, idle=True)[: job.nodes]:
        node.run = run
        run.nodes.append(node.number)


def delete_nodes(world, partition):
    """Give idle nodes back where no job waits."""
    idle = [] if waiting(world, partition) else usable(world, partition, idle=True)
    for node in idle:
        move(world, node, "host")
    return bool(idle)


def hand_out(world):
    """Node by node, to the partition that wants some and has least for its size."""
    given = False
    for node in world.nodes:
        asking = [partition for partition in world.sizes if wanted(world, partition) > 0]
        if node.owner == "host" and asking:
            has = {name: len(usable(world, name)) / world.sizes[name] for name in asking}
            move(world, node, min(asking, key=has.get))
            given = True
    return given


def rebalance(world):
    """Reclaim nodes of partitions that have too many; whether one of them was idle."""
    missing = -sum(node.drains is not None and node.drains.request < 0 for node in world.nodes)
    for partition, size in world.sizes.items():
        short = size - len(usable(world, partition))
        missing += max(0, min(short, wanted(world, partition)))
    worth, freed = vector(world), False
    for _ in range(max(0, missing)):
        rich = [
            node
            for name, size in world.sizes.items()
            if len(usable(world, name)) > size
            for node in usable(world, name)
        ]
        if not rich:
            break
        node = min(rich, key=lambda node: (worth[node.number], node.number))
        reclaim(world, node, None, 0.0)
        freed |= node.owner == "host"
    return freed


def serve(world, count, use):
    """A user's request: the host's nodes, then the least valued, then nothing."""
    own = [node for node in world.nodes if node.owner == "host"][:count]
    for node in own:
        move(world, node, "user")
        node.back = world.now + use
    worth = vector(world)
    others = [node for name in world.sizes for node in usable(world, name)]
    others.sort(key=lambda node: (worth[node.number], node.number))
    taken = others[: count - len(own)]
    for node in sorted(taken, key=lambda node: node.number):
        reclaim(world, node, len(world.granted), use)
    world.granted.append(len(own) + len(taken))


def vector(world):
    """Node values reported `staleness` seconds ago by owners that still have the nodes."""
    then, worth = world.now - world.staleness, {node.number: 0.0 for node in world.nodes}
    for partition in world.sizes:
        reported = report(world, partition, then)
        worth |= {
            node.number: reported[node.number]
            for node in world.nodes
            if node.owner == partition and node.number in reported
        }
    return worth


def report(world, partition, then):
    """The preemption vector that a partition reported at a moment, of its busy nodes then."""
    seen = {}
    for node in world.nodes:
        owners = [owner for time, owner in node.past if time <= then]
        if not owners or owners[-1] != partition:
            continue
        for run in world.runs:
            over = run.end is not None and run.end <= then
            if node.number in run.nodes and run.start <= then and not over:
                seen[node.number] = (then - run.start, run.job)
    longest = max((elapsed for elapsed, _ in seen.values()), default=0.0)
    reported = {
        number: {
            "FIFO": longest - elapsed + 1.0,
            "LIFO": elapsed,
            "PAP": elapsed * job.nodes,
            "PAP+": elapsed * job.nodes * job.priority,
        }[world.policies[partition]]
        for number, (elapsed, job) in seen.items()
    }
    largest = max(reported.values(), default=0.0)
    return {number: value / largest if largest > 0 else 0.0 for number, value in reported.items()}


def stretches(world):
    """Node, owner, from, to: those that lasted, by node."""
    rows = []
    for node in world.nodes:
        ends = [time for time, _ in node.past[1:]] + [inf]
        rows += [
            [node.number, owner, begin, end]
            for (begin, owner), end in zip(node.past, ends, strict=True)
            if end > begin
        ]
    return rows


def reclaimed(world):
    """The reclaims as rows, with a notice at 0, 60, 120, … s as long as the node was there."""
    return [
        [
            each.node,
            each.partition,
            each.notified,
            each.released,
            each.request,
            each.killed,
            max(1, ceil((each.released - each.notified) / 60)),
        ]
        for each in world.reclaims
    ]
