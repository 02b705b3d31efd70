"""Metrics of a schedule: one function per metric, named as in papers.

A *step function* is a Series indexed by time in seconds. Each value holds from its instant to the
next one; before the first instant the value is 0. Nodes are counted from `Schedule.allocations`,
whatever their use. If jobs share nodes (`TimesharedSchedule`), metrics that count nodes raise a
`SharedNodesError`, and `utilization` uses the schedule's series.

A *window* is given as `start=` and `end=` in seconds; both are optional. Metrics per job then cover
the jobs submitted in the window, ``start <= submit_time < end``. Metrics of the machine cover
everything that is held, idle or waiting in the window. `window` leaves out the warm-up, `busiest`
finds the window with the most work, and `busy_window` and `busy_stretch` avoid quiet times.
`share_used` is the share of a log in a selection of its jobs.

`job_groups` divides jobs by size, length or a label, such as the user. `by_size_and_length` is the
mean of a metric by size and length of jobs, and `ratio_by_size_and_length` compares two schedules.
`mean_interval` is the confidence interval of a mean over seeds.
"""

from cosimlib.metrics.groups import by_size_and_length, job_groups, ratio_by_size_and_length
from cosimlib.metrics.intervals import mean_interval
from cosimlib.metrics.jobs import (
    bounded_slowdown,
    fairness,
    makespan,
    overtaking,
    slowdown,
    turnaround_time,
    wait_time,
)
from cosimlib.metrics.machine import (
    loss_of_capacity,
    node_hours,
    node_hours_by_use,
    offered_load,
    summarize,
    utilization,
)
from cosimlib.metrics.series import (
    held_durations,
    hourly,
    occupied_nodes,
    running_jobs,
    utilization_series,
    waiting_jobs,
    waiting_nodes,
)
from cosimlib.metrics.windows import busiest, busy_stretch, busy_window, share_used, window

__all__ = [
    "bounded_slowdown",
    "busiest",
    "busy_stretch",
    "busy_window",
    "by_size_and_length",
    "fairness",
    "held_durations",
    "hourly",
    "job_groups",
    "loss_of_capacity",
    "makespan",
    "mean_interval",
    "node_hours",
    "node_hours_by_use",
    "occupied_nodes",
    "offered_load",
    "overtaking",
    "ratio_by_size_and_length",
    "running_jobs",
    "share_used",
    "slowdown",
    "summarize",
    "turnaround_time",
    "utilization",
    "utilization_series",
    "wait_time",
    "waiting_jobs",
    "waiting_nodes",
    "window",
]
