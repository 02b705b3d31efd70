"""Report on a log: what an operator asks of a machine's job log first, as tables.

The log

- `open_log`: a log made ready for all that follows; `Log`
- `example_log`: a small synthetic log, starts and users included
- `oversubscription`: nodes held beyond those of the machine; `Oversubscription`
- `reading_table`, `machine_table`: the account of its records, and the machine

What happened

- `weekly_use`: load, utilization and queue by week
- `waits_by`: waits by size, length or user of the jobs
- `window_name`: the dates of a window, such as the busiest (`metrics.busiest`)
- `window_blocks`: jobs on their nodes in a window

What a policy would have done

- `replay`: the log's jobs under batch policies
- `compare_to_recorded`, `wait_quantiles`, `wait_classes`: their waits beside the recorded ones
- `grade`: how well a policy explains the recorded waits

Nodes for others

- `freeable_nodes`: nodes that can be freed within minutes, and at what loss; `mean_costs`
- `sample_hours`: at which hours; `with_checkpoints`: whose memory and bandwidth
- `idle_by_length`: idle nodes by how long they stay so; `fill_idle`: what fillers would use,
  in which `filled_window`
- `lendable_nodes`: nodes that could be lent for hours
"""

from cosimlib.report.eviction import (
    Freeable,
    freeable_nodes,
    mean_costs,
    sample_hours,
    with_checkpoints,
)
from cosimlib.report.idle import fill_idle, filled_window, idle_by_length, lendable_nodes
from cosimlib.report.log import Log, example_log, machine_table, open_log, reading_table
from cosimlib.report.replay import (
    Grade,
    compare_to_recorded,
    grade,
    replay,
    wait_classes,
    wait_quantiles,
)
from cosimlib.report.use import (
    waits_by,
    weekly_use,
    window_blocks,
    window_name,
)
from cosimlib.traces.oddities import Oversubscription, oversubscription

__all__ = [
    "Freeable",
    "Grade",
    "Log",
    "Oversubscription",
    "compare_to_recorded",
    "example_log",
    "fill_idle",
    "filled_window",
    "freeable_nodes",
    "grade",
    "idle_by_length",
    "lendable_nodes",
    "machine_table",
    "mean_costs",
    "open_log",
    "oversubscription",
    "reading_table",
    "replay",
    "sample_hours",
    "wait_classes",
    "wait_quantiles",
    "waits_by",
    "weekly_use",
    "window_blocks",
    "window_name",
    "with_checkpoints",
]
