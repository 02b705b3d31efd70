"""Maurya et al. (DS-RT 2020): evicting batch jobs for on-demand ones.

`experiment` prepares a log and runs evictions, `measures` has a function per claim, `tables` what
figures draw, `figures` the larger drawings; `sensitivity` changes the file system; `printed` is
Algorithm 1 to the letter.
`paper_of` makes the run of the notebook on a log.
"""

from pathlib import Path

from papers.maurya2020.experiment import Log
from papers.paper import Paper


def paper_of(log: Log, output: str | Path = "") -> Paper:
    """A run of the notebook on a log; its figures and claims are written into `output`."""
    return Paper(
        "1-eviction",
        "Maurya et al. 2020",
        data=log.name,
        output=output,
        own=log.own,
        used=log.used,
    )
