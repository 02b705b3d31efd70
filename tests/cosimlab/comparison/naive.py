"""Comparisons by plain loops: draw, simulate, average, sort."""

import numpy as np

from cosimlib import synthetic
from cosimlib.metrics import job_groups

STATISTICS = {
    "mean": np.mean,
    "p50": lambda x: np.percentile(x, 50),
    "p90": lambda x: np.percentile(x, 90),
    "p99": lambda x: np.percentile(x, 99),
}


def ends(numbers):
    """The largest order statistic with at most 2.5 % of n + 1 below it, and its mirror image."""
    ordered = sorted(numbers)
    rank = 1
    while 40 * (rank + 1) <= len(ordered) + 1:
        rank += 1
    return ordered[rank - 1], ordered[len(ordered) - rank]


def values(workload, simulators, groups, margin):
    """By policy, measure, group and statistic."""
    first, last = workload.jobs["submit_time"].iloc[[0, -1]]
    found = {}
    for policy, simulate in simulators.items():
        start = simulate(workload, workload.machine).start_time
        waits, slowdowns = {}, {}
        for job, row in workload.jobs.iterrows():
            if not first + margin <= row["submit_time"] <= last - margin:
                continue
            wait = start[job] - row["submit_time"]
            slowdown = max(1.0, (wait + row["run_time"]) / max(row["run_time"], 10.0))
            for group in ("all jobs", groups[job]):
                waits.setdefault(group, []).append(wait)
                slowdowns.setdefault(group, []).append(slowdown)
        for measure, by_group in (("wait_time", waits), ("bounded_slowdown", slowdowns)):
            for group, numbers in by_group.items():
                for name, statistic in STATISTICS.items():
                    found[policy, measure, group, name] = statistic(numbers)
    return found


def drawn_logs(workload, replicates, seed):
    """Logs drawn anew by weeks, and the group of each of their jobs by queue."""
    groups = job_groups(workload, "queue").astype(str).tolist()
    for state in np.random.SeedSequence(seed).generate_state(replicates).tolist():
        new = synthetic.resample(workload, state, unit="weeks")
        yield new, [groups[row] for row in new.jobs["source"]]


def widened(draws, factor):
    """Values above their mean over the draws, so many times as far above it; their logarithms
    where all are above 0.
    """
    found = [dict(draw) for draw in draws]
    for key in draws[0]:
        values = [draw[key] for draw in draws]
        in_logs = all(value > 0 for value in values)
        scaled = [np.log(value) if in_logs else value for value in values]
        mean = sum(scaled) / len(scaled)
        for draw, value in zip(found, scaled, strict=True):
            if value > mean:
                moved = mean + factor * (value - mean)
                draw[key] = np.exp(moved) if in_logs else moved
    return found
