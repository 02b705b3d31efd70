"""Checkpoints of batch jobs: how often applications write them, and how long each takes.

Sizes and bandwidths are those of `cosimlib.eviction.problem`; seconds are rounded up to whole
ones, so that times stay exact. Reading takes as long as writing. Daly's optimum interval for a
checkpoint of δ seconds and a mean time M between failures is, for δ < 2M,
``√(2δM) · (1 + √(δ / 2M) / 3 + δ / 18M) − δ``, else M (Daly, Future Generation Computer Systems
22(3), 2006); M is that of a node divided by the nodes of the job.
"""

import numpy as np
import pandas as pd

from cosimlib.eviction.problem import checkpoint_time, draw_memory
from cosimlib.system import System
from cosimlib.workload import Workload

COLUMNS = ("interval", "app_write", "sys_write")


def checkpoint_table(
    workload: Workload,
    system: System,
    *,
    interval: float | str | None = 3600.0,
    node_mtbf: float = 157_680_000.0,
    seed: int = 0,
) -> pd.DataFrame:
    """Interval and writing times of each job's checkpoints, seconds.

    Parameters
    ----------
    workload : Workload
    system : System
        With memory and bandwidths.
    interval : float, "daly" or None, default 3600.0
        Seconds of progress from one application checkpoint to the next; None: there are none.
    node_mtbf : float, default 5 years
        Mean time between failures of a node, for Daly's interval, seconds.
    seed : int, default 0
        Of the memory drawn per job, see `eviction.draw_memory`.

    Returns
    -------
    pd.DataFrame
        `interval` (infinite where there is none), `app_write`, `sys_write`; one row per job.
    """
    memory = draw_memory(workload, system, seed=seed)
    nodes = workload.jobs["nodes"].to_numpy()
    app, sys = (
        np.ceil(checkpoint_time(nodes, memory[size].to_numpy(), system))
        for size in ("critical", "allocated")
    )
    if interval is None:
        seconds = np.full(len(workload), np.inf)
    elif isinstance(interval, str):
        seconds = np.maximum(1.0, np.round(daly_interval(app, node_mtbf / nodes)))
    else:
        seconds = np.full(len(workload), float(interval))
    return pd.DataFrame({"interval": seconds, "app_write": app, "sys_write": sys})


def daly_interval(checkpoint: np.ndarray, mtbf: np.ndarray) -> np.ndarray:
    """Daly's optimum seconds of work between two checkpoints of `checkpoint` seconds each."""
    part = checkpoint / (2.0 * mtbf)
    optimum = np.sqrt(2.0 * checkpoint * mtbf) * (1.0 + np.sqrt(part) / 3.0 + part / 9.0)
    return np.where(part < 1.0, optimum - checkpoint, mtbf)
