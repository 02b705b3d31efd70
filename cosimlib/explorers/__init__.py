"""Widgets on figures: turn a knob, see what the simulator or the solver says."""

from cosimlib.explorers.eviction import explore_eviction

__all__ = ["explore_eviction"]
