"""Explorers: widgets with a figure, which follows each control by a new simulation or solution.

- `explore_advise`: jobs of a saved queue to stop for some nodes
- `explore_batch`: batch policies, queue orders, users' estimates
- `explore_coscheduling`: hold and yield on coupled machines
- `explore_elastic`: preemption of nodes at an instant, policy by policy
- `explore_eviction`: nodes, deadline and loss
- `explore_filling`: filler containers on idle nodes
- `explore_ondemand`: on-demand bursts on a batch machine
- `explore_timesharing`: jobs that share nodes
- `explore_what_if`: another machine, by a log's own record
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
