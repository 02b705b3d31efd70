"""Slow, obvious versions of every scheduling rule, written from the papers and not from our code.

`jobs` is a workload's frame, `nodes` the machine's; each function returns the start times in order
of jobs as plain numbers.
"""

import math


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


def easy_starts(jobs, nodes):
    """Textbook EASY: the instant's ends, its submissions, then one pass; again while it changes."""
    coming = list(jobs.itertuples())
    waiting, running, starts = [], [], {}
    while coming or waiting or running:
        submissions = [job.submit_time for job in coming]
        ends = [starts[job.Index] + job.run_time for job in running]
        now = min(submissions + ends)
        running = [job for job in running if starts[job.Index] + job.run_time > now]
        waiting += [job for job in coming if job.submit_time <= now]
        coming = [job for job in coming if job.submit_time > now]
        for job in easy_choice(waiting, running, starts, now, nodes):
            starts[job.Index] = now
            waiting.remove(job)
            running.append(job)
    return [starts[job] for job in range(len(jobs))]


def easy_choice(waiting, running, starts, now, nodes):
    """The jobs that one pass of EASY starts now."""
    queue, running, chosen = list(waiting), list(running), []
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
        if now + job.requested_time <= shadow_time:
            take(job)
        elif job.nodes <= extra:
            take(job)
            extra -= job.nodes
    return chosen
