"""Plotly figures of schedules and of what was measured on them, and the tables behind them.

A plain noun draws a tidy table; `plot_x` draws a schedule, a plan or another result. All of them
return a figure, and do not show or write it.

- `theme`: colors, patterns and layout
- `Publisher`: gives figures their captions, writes them with their data to a folder
- `caption`, `captioned`, `page`: the lines under a figure, a figure with more of them, its page
- `paper_style`: a figure in the size and the letters of a printed column

Charts of tables

- `lines`: lines over a parameter or over time, in panels, with bands
- `bars`: bars beside or on one another, in panels, with intervals
- `areas`: areas on one another over time
- `heat_map`: a cell for each pair of values, such as slowdown by size and length of jobs
- `ecdf`: distributions as cumulative curves
- `violins`: distributions as violins
- `boxes`, `BOX`: distributions as boxes whose quantiles are given, and their columns
- `plot_comparison`: policies with intervals over logs drawn anew, and their ratios
- `plot_what_if`: waits of groups of jobs, as recorded and after a change
- `plot_winners`: waits by size, and who wins and loses by a change
- `plot_sites`: waits of accounts, QOS, partitions and sizes under configurations of Slurm
- `plot_forecast`: when waiting jobs start, with intervals
- `plot_pit`: how often waits were in each tenth of their forecasts
- `plot_table`: a table as a figure
- `in_words`: a table to show, with words in the place of numbers that are none
- `plot_empty`: a sentence in the place of a figure, where the data cannot answer

Schedules

- `plot_gantt`: any schedule, nodes over time
- `plot_witness`: a decision of a record beside that of a rule
- `plot_batch`: one machine under a batch policy, with its utilization and queue
- `plot_coupled_moment`: coupled machines at an instant
- `plot_day`: a machine with on-demand bursts
- `plot_use`: filler containers
- `plot_sharing`: jobs that share nodes, at a moment
- `plot_preemption`: nodes taken from running jobs
- `plot_vectors`: what partitions say their nodes are worth, over time

Eviction

- `plot_trade_off`, `surface_table`: the loss of all plans, and one plan's jobs
- `plot_solvers`: eviction solvers with intervals over the days of a log
- `plot_advice`: the loss for any number of nodes of a live cluster
"""

from typing import Any

import lazy_loader

from cosimlab.imports import import_jsonschema
from cosimlib.extras import needed_by

import_jsonschema()
_load, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)


def __getattr__(name: str) -> Any:
    with needed_by(name):
        value = _load(name)
    return value
