"""Plotly figures of schedules and of what was measured on them, and the tables behind them.

Every `plot_x` takes data and returns a figure; it does not show or write it.

- `theme`: colors, patterns and layout
- `Publisher`: writes figures with their data to a folder, and shows them

Schedules

- `plot_gantt`, `plot_nodes`: jobs over time, by job or by node
- `plot_batch`, `block_table`: one machine under a batch policy
- `plot_coupled_gantt`, `plot_coupled_moment`: coupled machines, over time or at an instant
- `plot_use`: filler containers
- `plot_sharing`, `share_table`, `crowd_table`, `ratio_table`: jobs that share nodes
- `plot_preemption`, `plot_owners`: nodes taken from running jobs; nodes per owner

A log

- `plot_weeks`, `plot_waits`, `plot_wait_classes`: load, queue and waits
- `plot_window`: a Gantt chart by node, colored by user
- `plot_freeable`, `plot_idle`: nodes for others, at once, within minutes or for hours

Eviction

- `plot_plan`, `plan_table`, `plot_jobs`: a plan
- `plot_loss_surface`, `surface_table`, `plot_trade_off`: the loss of all plans
- `plot_advice`: the loss for any number of nodes of a live cluster

On-demand bursts

- `plot_ondemand`, `plot_day`: a machine's nodes and what they are used for

Comparisons

- `plot_comparison`: policies with intervals over logs drawn anew, and their ratios
- `plot_curves`, `plot_series`: lines over a parameter, or over time
- `plot_table`, `in_words`: a table as a figure, and one to show, without numbers that are none
- `plot_nothing`: a sentence in the place of a figure, where the data cannot answer
"""

import lazy_loader

from cosimlib.extras import import_jsonschema

import_jsonschema()
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
