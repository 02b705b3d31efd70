"""The spectrum of an advice: the least loss for any number of nodes and every deadline."""

import numpy as np
import pandas as pd

from cosimlib.advise.advice import Advice, runs_of_deadlines
from cosimlib.eviction import least_losses

HIGHEST = 160
"""Numbers of nodes, at most, that the spectrum has a row for."""
CELLS = 4_000_000_000
"""Cells of tables, at most, that are improved for a spectrum; a billion takes about two seconds."""


def spectrum_of(advice: Advice) -> pd.DataFrame:
    """The least loss for any number of nodes, by every deadline, in node-hours.

    Returns
    -------
    pd.DataFrame
        Rows: numbers of nodes, about `HIGHEST` at most, from 0 to all that can be had; columns:
        deadlines (seconds); NaN where so many cannot be had.

    Raises
    ------
    ValueError
        Where the cluster is too large for it: with a longer step, a shorter horizon or a partition
        it may do.
    """
    situation, step = advice.situation, advice.step
    runs = list(runs_of_deadlines(situation, advice.deadlines))
    moments = [situation.at(float(run[-1])) for run in runs]
    _check_size(moments, step)
    most = max(moment.reachable for moment in moments)
    nodes = np.unique(np.linspace(0, most, min(most, HIGHEST) + 1).round().astype(np.int64))
    columns = []
    for run, moment in zip(runs, moments, strict=True):
        losses = least_losses(moment.problem(moment.deadline, step), memory_limit=2**31)
        had = advice.free + moment.ended
        row = np.clip(nodes - had, 0, losses.shape[0] - 1)
        places = np.rint(run / step).astype(np.int64)
        columns.append(np.where(nodes[:, None] <= moment.reachable, losses[row][:, places], np.nan))
    index = pd.Index(nodes, name="nodes_needed")
    deadlines = pd.Index(advice.deadlines, name="deadline")
    return pd.DataFrame(np.hstack(columns), index=index, columns=deadlines)


def _check_size(moments: list, step: float) -> None:
    """Raise where the tables of all problems would take minutes."""
    cells = 0.0
    for moment in moments:
        rows = moment.deadline / step + 1
        cells += rows * (rows + 1) / 2 * moment.groups * len(moment.nodes) / 2
    if cells > CELLS:
        raise ValueError(
            f"the spectrum of {moments[0].groups:,} groups and {len(moments[0].nodes):,} nodes has "
            f"{cells:,.0f} cells; expected at most {CELLS:,}: take a longer step, a shorter "
            "horizon or one partition"
        )
