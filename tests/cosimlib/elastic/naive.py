"""Preemptions the slow, obvious way: state by state, node by node, in plain Python."""

from itertools import chain, combinations

import numpy as np


def nodes_held(schedule):
    """The set of nodes of each job: at its start, the lowest that no running job holds."""
    jobs = list(zip(schedule.start_time, schedule.end_time, schedule.jobs["nodes"], strict=True))
    total, held = schedule.system.total_nodes, {}
    for job in sorted(range(len(jobs)), key=lambda job: (jobs[job][0], job)):
        start, end, count = jobs[job]
        if end == start:
            held[job] = set()
            continue
        busy = {node for other in held if jobs[other][1] > start for node in held[other]}
        held[job] = set([node for node in range(total) if node not in busy][:count])
    return held


def moments(schedule, every=30.0):
    """Every end, and `every` seconds after the last moment as long as no end comes before."""
    ends = sorted(set(schedule.end_time))
    now, last = min(schedule.start_time), ends[-1]
    found = []
    while now < last:
        found.append(now)
        now = min([now + every] + [end for end in ends if end > now])
    return found


def vector(schedule, held, now, policy, draws=None):
    """Each node's value at a moment, as a list."""
    jobs = schedule.jobs
    priority = schedule.workload.column("priority")
    running = {
        node: job
        for job in held
        if schedule.start_time[job] <= now < schedule.end_time[job]
        for node in held[job]
    }
    elapsed = {job: now - schedule.start_time[job] for job in running.values()}
    worth = {
        "FIFO": lambda job: max(elapsed.values()) - elapsed[job] + 1,
        "LIFO": lambda job: elapsed[job],
        "PAP": lambda job: elapsed[job] * jobs["nodes"][job],
        "PAP+": lambda job: elapsed[job] * jobs["nodes"][job] * priority[job],
    }
    values = []
    for node in range(schedule.system.total_nodes):
        if node not in running:
            values.append(0.0)
        elif policy == "RANDOM":
            values.append(1.0 - draws[node])
        else:
            values.append(worth[policy](running[node]))
    largest = 1.0 if policy == "RANDOM" else max(values, default=0.0)
    return [value / largest if largest > 0 else 0.0 for value in values], running


def wasted_cycles(schedule, policy, preempted, grace_periods, seed=0):
    """One row per state, one column per grace period: the paper's formula, term by term."""
    held, rng = nodes_held(schedule), np.random.default_rng(seed)
    rows = []
    for now in moments(schedule):
        draws = rng.random(schedule.system.total_nodes) if policy == "RANDOM" else None
        values, running = vector(schedule, held, now, policy, draws)
        taken = sorted(range(len(values)), key=lambda node: (values[node], node))[:preempted]
        touched = {running[node] for node in taken if node in running}
        row = []
        for grace in grace_periods:
            waste = 0.0
            for job in touched:
                if schedule.end_time[job] - now >= grace:
                    elapsed = now - schedule.start_time[job]
                    waste += (elapsed + grace) * schedule.jobs["nodes"][job]
            row.append(waste)
        rows.append(row)
    return rows


def drained(schedule, policy, preempted, grace):
    """Touched jobs, killed jobs and idle node-seconds, summed over the states."""
    held = nodes_held(schedule)
    touched = killed = idle = 0
    for now in moments(schedule):
        values, running = vector(schedule, held, now, policy)
        taken = sorted(range(len(values)), key=lambda node: (values[node], node))[:preempted]
        jobs = [running[node] for node in taken if node in running]
        for job in set(jobs):
            left = schedule.end_time[job] - now
            touched += 1
            killed += left >= grace
            idle += (grace - left) * jobs.count(job) if left < grace else 0
    return touched, killed, idle


def least_waste(schedule, preempted, grace, known_ends):
    """Per state, what the cheapest set of jobs really wastes, of all sets that free enough nodes.

    Of sets that seem to cost the same, the least and the greatest waste.
    """
    held, rows = nodes_held(schedule), []
    for now in moments(schedule):
        running = [job for job in held if schedule.start_time[job] <= now < schedule.end_time[job]]
        idle = schedule.system.total_nodes - sum(len(held[job]) for job in running)
        found = []
        for chosen in chain.from_iterable(
            combinations(running, k) for k in range(len(running) + 1)
        ):
            if idle + sum(len(held[job]) for job in chosen) < preempted:
                continue
            whole = {
                job: (now - schedule.start_time[job] + grace) * len(held[job]) for job in chosen
            }
            real = sum(cost for job, cost in whole.items() if schedule.end_time[job] - now >= grace)
            found.append((real if known_ends else sum(whole.values()), real))
        cheapest = min(found)[0]
        wastes = [real for cost, real in found if cost == cheapest]
        rows.append((min(wastes), max(wastes)))
    return rows
