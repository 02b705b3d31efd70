"""Slow, obvious versions of every scheduling rule, written from the papers and not from our code.

`jobs` is a workload's frame, `nodes` the machine's; each function returns the start times in order
of jobs as plain numbers. The queue's order is one of those that papers name, or a list of one
number per job, lowest first.
"""

import math

import numpy as np


def in_turn(waiting, order, now):
    """The waiting jobs in the queue's order; ties by submission."""
    by_age = sorted(waiting, key=lambda job: job.Index)
    if isinstance(order, list):
        return sorted(by_age, key=lambda job: order[job.Index])
    if order == "sjbf":
        return by_age[:1] + in_turn(by_age[1:], "shortest", now)
    keys = {
        "submit": lambda job: job.Index,
        "shortest": lambda job: job.requested_time,
        "longest": lambda job: -job.requested_time,
        "smallest": lambda job: job.nodes,
        "largest": lambda job: -job.nodes,
        "wfp": lambda job: -wfp_score(job, now),
        "SAF": lambda job: job.requested_time * job.nodes,
        "UNICEF": lambda job: -unicef_score(job, now),
        "LXF": lambda job: -(now - job.submit_time + job.requested_time) / job.requested_time,
    }
    return sorted(by_age, key=keys[order])


def learned_scores(jobs, order):
    """F1 to F4 of Carastan-Santos and de Camargo (SC 2017), job by job; the lowest is first."""
    first, found = min(jobs["submit_time"], default=0.0), []
    for job in jobs.itertuples():
        r, n = max(job.requested_time, 1.0), float(job.nodes)
        age = np.log10(max(job.submit_time - first, 1.0))
        scores = {
            "F1": np.log10(r) * n + 870.0 * age,
            "F2": np.sqrt(r) * n + 25600.0 * age,
            "F3": r * n + 6860000.0 * age,
            "F4": r * np.sqrt(n) + 530000.0 * age,
        }
        found.append(float(scores[order]))
    return found


def listed(jobs, order):
    """An order as the functions below take it: F1 to F4 as lists of numbers."""
    return learned_scores(jobs, order) if order in ("F1", "F2", "F3", "F4") else order


def unicef_score(job, now):
    """Waited over log2 of nodes times requested (Tang et al., 2009); one node before all others."""
    if job.nodes == 1:
        return math.inf
    return (now - job.submit_time) / (math.log2(job.nodes) * job.requested_time)


def wfp_score(job, now):
    """Waited over requested, cubed, times nodes (Tang et al., Cluster 2009)."""
    waited = (now - job.submit_time) / job.requested_time
    return waited * waited * waited * job.nodes


def fcfs_starts(jobs, nodes):
    """A job starts at the first moment, not before its predecessor, at which enough is free."""
    placed = []
    for job in jobs.itertuples():
        earliest = max([job.submit_time] + [start for start, _, _ in placed[-1:]])
        moments = sorted({earliest} | {end for _, end, _ in placed if end > earliest})
        for moment in moments:
            held = sum(held for start, end, held in placed if start <= moment < end)
            if held + job.nodes <= nodes:
                placed.append((moment, moment + job.run_time, job.nodes))
                break
    return [start for start, _, _ in placed]


def strict_starts(jobs, nodes, order):
    """At every instant the job whose turn it is starts, if it fits; the others wait for it."""
    coming, waiting, running, starts = list(jobs.itertuples()), [], [], {}
    order = listed(jobs, order)
    while coming or waiting or running:
        now = min([job.submit_time for job in coming] + [end for end, _ in running])
        running = [(end, job) for end, job in running if end > now]
        waiting += [job for job in coming if job.submit_time <= now]
        coming = [job for job in coming if job.submit_time > now]
        for job in in_turn(waiting, order, now):
            if job.nodes > nodes - sum(other.nodes for _, other in running):
                break
            starts[job.Index] = now
            waiting.remove(job)
            running.append((now + job.run_time, job))
    return [starts[job] for job in range(len(jobs))]


def easy_starts(jobs, nodes, order="submit", decide="per_instant", extra_nodes=True):
    """Textbook EASY; without extra nodes a job may pass that asks for less than the head waits."""
    order = listed(jobs, order)

    def choose(waiting, running, starts, now):
        return easy_choice(waiting, running, starts, now, nodes, order, extra_nodes)

    return starts_in_passes(jobs, decide, choose)


def first_fit_starts(jobs, nodes, order="submit", decide="per_instant"):
    """Backfilling without a reservation: whatever fits starts."""
    order = listed(jobs, order)

    def choose(waiting, running, starts, now):
        return first_fit_choice(waiting, running, now, nodes, order)

    return starts_in_passes(jobs, decide, choose)


def starts_in_passes(jobs, decide, choose):
    """The instant's ends, its submissions, then one pass that chooses; again while it changes.

    With a pass after every event: the ends in order of start, then the submissions, one by one.
    """
    coming = list(jobs.itertuples())
    waiting, running, starts = [], [], {}
    while coming or waiting or running:
        submissions = [job.submit_time for job in coming]
        ends = [starts[job.Index] + job.run_time for job in running]
        now = min(submissions + ends)
        ended = [job for job in running if starts[job.Index] + job.run_time <= now]
        submitted = [job for job in coming if job.submit_time <= now]
        if decide == "per_event":
            ended, submitted = ended[:1], [] if ended else submitted[:1]
        running = [job for job in running if job not in ended]
        coming = [job for job in coming if job not in submitted]
        waiting += submitted
        for job in choose(waiting, running, starts, now):
            starts[job.Index] = now
            waiting.remove(job)
            running.append(job)
    return [starts[job] for job in range(len(jobs))]


def first_fit_choice(waiting, running, now, nodes, order):
    """The jobs that one pass starts now: heads, in turn, and then all that fit beside them."""
    free, chosen = nodes - sum(job.nodes for job in running), []
    queue = in_turn(waiting, order, now)
    while queue and queue[0].nodes <= free:
        free -= queue[0].nodes
        chosen.append(queue[0])
        queue = in_turn(queue[1:], order, now)
    for job in queue:
        if job.nodes <= free:
            free -= job.nodes
            chosen.append(job)
    return chosen


def easy_choice(waiting, running, starts, now, nodes, order, extra_nodes):
    """The jobs that one pass of EASY starts now."""
    queue, running, chosen = in_turn(waiting, order, now), list(running), []
    promised = {job.Index: max(starts[job.Index] + job.requested_time, now) for job in running}

    def free_at(moment):
        """Nodes free then if every running job ends as promised; ends count at their moment."""
        return nodes - sum(job.nodes for job in running if promised[job.Index] > moment)

    def free_now():
        return nodes - sum(job.nodes for job in running)

    def take(job):
        queue.remove(job)
        running.append(job)
        chosen.append(job)
        promised[job.Index] = now + job.requested_time

    while queue and queue[0].nodes <= free_now():
        take(queue[0])
        queue = in_turn(queue, order, now)
    if not queue:
        return chosen
    head = queue[0]
    shadow_time = min(
        (moment for moment in promised.values() if free_at(moment) >= head.nodes), default=math.inf
    )
    extra = free_at(shadow_time) - head.nodes
    for job in queue[1:]:
        if job.nodes > free_now():
            continue
        if not extra_nodes:
            if job.requested_time < shadow_time - now:
                take(job)
        elif now + job.requested_time <= shadow_time:
            take(job)
        elif job.nodes <= extra:
            take(job)
            extra -= job.nodes
    return chosen


def conservative_starts(jobs, nodes, order="submit", reservations="kept"):
    """Starts, and the starts first promised, under a reservation for every job."""
    coming, waiting, running = list(jobs.itertuples()), [], []
    starts, plan, promised = {}, {}, {}
    order = listed(jobs, order)
    now, broken = -math.inf, False

    def place(job):
        """Reserve the earliest hole beside the running jobs and the reservations of the others."""
        taken = [(starts[r.Index], starts[r.Index] + r.requested_time, r.nodes) for r in running]
        others = [w for w in waiting if w.Index in plan and w is not job]
        taken += [(plan[w.Index], plan[w.Index] + w.requested_time, w.nodes) for w in others]
        plan[job.Index] = earliest_hole(taken, job, now, nodes)
        promised.setdefault(job.Index, plan[job.Index])
        start_if_due(job)

    def start_if_due(job):
        if plan[job.Index] <= now and job.nodes <= nodes - sum(r.nodes for r in running):
            starts[job.Index] = now
            waiting.remove(job)
            running.append(job)

    while coming or waiting or running:
        ends = [starts[job.Index] + job.run_time for job in running]
        due = [plan[job.Index] for job in waiting if plan[job.Index] > now]
        now = min([job.submit_time for job in coming] + ends + due)
        ended = [job for job in running if starts[job.Index] + job.run_time <= now]
        running = [job for job in running if job not in ended]
        was_broken = broken
        broken = any(starts[job.Index] + job.requested_time <= now for job in running)
        submitted = [job for job in coming if job.submit_time <= now]
        coming = [job for job in coming if job.submit_time > now]
        if reservations == "replanned":
            waiting, plan = waiting + submitted, {}
            for job in in_turn(waiting, order, now):
                place(job)
            continue
        queue = in_turn(waiting, order, now)
        if broken or was_broken:
            old, plan = plan, {}
            for job in sorted(queue, key=lambda job, old=old: old[job.Index]):
                place(job)
        else:
            for job in queue:
                start_if_due(job)
            for job in [job for job in queue if ended and job in waiting]:
                place(job)
        for job in submitted:
            waiting.append(job)
            place(job)
    n = len(jobs)
    return [starts[job] for job in range(n)], [promised[job] for job in range(n)]


def earliest_hole(taken, job, now, nodes):
    """The first moment from now on at which the job fits beside what is taken while it lasts."""
    for moment in sorted({now} | {end for _, end, _ in taken if end > now}):
        until = moment + job.requested_time
        looked_at = [moment] + [begin for begin, _, _ in taken if moment < begin < until]
        if all(
            sum(held for begin, end, held in taken if begin <= look < end) + job.nodes <= nodes
            for look in looked_at
        ):
            return moment
    raise AssertionError("a job that is not wider than the machine fits in the end")


def replay_starts(order, jobs, total_nodes, closed=(), strict=False):
    """Each job in its turn at the earliest moment at which it fits for its whole run time.

    `jobs` are dicts of `earliest`, `run_time`, `nodes`, `lag`, `latest`, `follows`, `after_end`.
    """
    taken = [(begin, end, nodes) for begin, end, nodes in closed]
    starts, previous = {}, -math.inf

    def free(moment):
        return total_nodes - sum(n for begin, end, n in taken if begin <= moment < end)

    def fits(job, start):
        end = start + job["run_time"]
        inside = [edge for part in taken for edge in part[:2] if start < edge < end]
        return all(free(moment) >= job["nodes"] for moment in [start, *inside])

    def first(job, since):
        moments = sorted({since} | {edge for part in taken for edge in part[:2] if edge > since})
        return next(moment for moment in moments if fits(job, moment))

    for number in order:
        job = jobs[number]
        since = job["earliest"]
        if job["follows"] >= 0:
            led = starts[job["follows"]]
            since = max(since, led + job["after_end"] * jobs[job["follows"]]["run_time"])
        if strict:
            since = max(since, previous)
        start = first(job, since)
        lagged = min(start + job["lag"], job["latest"])
        if lagged > start:
            start = first(job, lagged)
        starts[number] = previous = start
        if job["run_time"] > 0:
            taken.append((start, start + job["run_time"], job["nodes"]))
    return [starts[number] for number in range(len(jobs))]


def free_before(jobs, total_nodes, closed=()):
    """Whole seconds for which each job's nodes were free: right before its start, and in all.

    `jobs` are tuples of submission, start, end and nodes.
    """
    taken = [(start, end, nodes) for _, start, end, nodes in jobs] + list(closed)
    rows = []
    for submitted, started, _, nodes in jobs:
        seconds = range(int(submitted), int(started))
        free = [
            total_nodes - sum(n for begin, end, n in taken if begin <= second < end) >= nodes
            for second in seconds
        ]
        at_last = 0
        while at_last < len(free) and free[len(free) - 1 - at_last]:
            at_last += 1
        rows.append((at_last, sum(free)))
    return rows


def overtakers(position, kind):
    """Later submitted jobs of each job's kind that are placed before it."""
    n = len(position)
    return [
        sum(kind[later] == kind[job] and position[later] < position[job] for later in range(job, n))
        for job in range(n)
    ]
