"""Polyakov and Dubenskaya (GRID 2018): filler containers on idle nodes."""

from papers.paper import Paper
from papers.polyakov2018.experiment import (
    Experiment,
    average_gains,
    best_intervals,
    compare_arrivals,
    compare_variants,
    container_costs,
    cost_table,
    efficiencies,
    ended_early,
    fill,
    fill_all,
    load_table,
    loads_by_length,
    prepare,
    queue_for,
    reached_loads,
    recorded_loads,
    save_intervals,
    schedule_seven,
    shifted_starts,
    time_run,
    unused_ends,
    used_shares,
    useful_by_interval,
)
from papers.polyakov2018.figures import node_table, plot_slots
from papers.polyakov2018.measures import Results, measure_claims

__all__ = [
    "Results",
    "average_gains",
    "begin",
    "best_intervals",
    "compare_arrivals",
    "compare_variants",
    "container_costs",
    "cost_table",
    "efficiencies",
    "ended_early",
    "fill",
    "fill_all",
    "load_table",
    "loads_by_length",
    "measure_claims",
    "node_table",
    "plot_slots",
    "prepare",
    "queue_for",
    "reached_loads",
    "recorded_loads",
    "save_intervals",
    "schedule_seven",
    "shifted_starts",
    "time_run",
    "unused_ends",
    "used_shares",
    "useful_by_interval",
]


def begin(run: Experiment, *, output: str = "") -> Paper:
    """The run's figures and scorecard."""
    citation, data = "Polyakov, Dubenskaya 2018", run.workload.name
    return Paper("4-filling", citation, data=data, output=output)
