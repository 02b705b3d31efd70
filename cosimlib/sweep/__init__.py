"""Parameter sweeps: a function on a grid of arguments and seeds, in parallel, as one tidy table.

The function returns rows. Each point of the grid with each seed is a cell; cells run in this
process, in processes of our own, or on any `concurrent.futures.Executor`, and with a folder they
are files, so that a sweep that was interrupted goes on where it stopped::

    def waits(policy, seed, workload):
        log = synthetic.lublin(1000, seed=seed)
        return metrics.summarize([SIMULATORS[policy](log, log.machine)])

    sweep(waits, {"policy": ["FCFS", "EASY"]}, range(20), executor="cores", folder="waits")
"""

from cosimlib.sweep.pools import Workers
from cosimlib.sweep.run import SweepWarning, sweep

__all__ = ["SweepWarning", "Workers", "sweep"]
