"""Widgets on figures: turn a knob, see what the simulator or the solver says."""

from cosimlib.explorers.eviction import explore_eviction
from cosimlib.explorers.preemption import explore_preemption

__all__ = ["explore_eviction", "explore_preemption"]
