"""Metrics of a schedule: one function per metric, by the name that papers give it.

A *step function* is a Series indexed by time in seconds: its value holds from that instant on, to
the next; before the first instant it is 0. Nodes are counted by `Schedule.allocations`, whatever
they are held for. Where jobs share nodes, in a `TimesharedSchedule`, metrics that count nodes raise
a `SharedNodesError`, and `utilization` goes by the schedule's series.

A *window* is given as `start=` and `end=`, both optional, in seconds. Metrics per job are then of
the jobs submitted in it, ``start <= submit_time < end``; metrics of the machine are of what was
held, idle or waiting in it, whenever that was submitted. `window` leaves out the warm-up,
`busiest` finds the window with the most work, and `busy_window` and `busy_stretch` avoid quiet
times. `share_used` tells how much of a log a selection is.
`job_groups` parts jobs by size, length, user or queue. `mean_interval` tells how sure a mean over
seeds is.
"""

from cosimlib.metrics.groups import job_groups
from cosimlib.metrics.intervals import mean_interval
from cosimlib.metrics.jobs import (
    bounded_slowdown,
    by_submission,
    by_user,
    fairness,
    jain_index,
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
    daily,
    held_durations,
    hourly,
    occupied_nodes,
    running_jobs,
    utilization_series,
    waiting_jobs,
    waiting_nodes,
    weekly,
)
from cosimlib.metrics.windows import busiest, busy_stretch, busy_window, share_used, window

__all__ = [
    "bounded_slowdown",
    "busiest",
    "busy_stretch",
    "busy_window",
    "by_submission",
    "by_user",
    "daily",
    "fairness",
    "held_durations",
    "hourly",
    "jain_index",
    "job_groups",
    "loss_of_capacity",
    "makespan",
    "mean_interval",
    "node_hours",
    "node_hours_by_use",
    "occupied_nodes",
    "offered_load",
    "overtaking",
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
    "weekly",
    "window",
]
