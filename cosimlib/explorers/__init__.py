"""Widgets on figures: turn a knob, see what the simulator or the solver says."""

from cosimlib.explorers.batch import explore_batch
from cosimlib.explorers.coscheduling import explore_coscheduling
from cosimlib.explorers.elastic import explore_elastic
from cosimlib.explorers.eviction import explore_eviction
from cosimlib.explorers.filling import explore_filling
from cosimlib.explorers.timesharing import explore_timesharing

__all__ = [
    "explore_batch",
    "explore_coscheduling",
    "explore_elastic",
    "explore_eviction",
    "explore_filling",
    "explore_timesharing",
]
