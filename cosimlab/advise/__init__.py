"""Advice for a live Slurm: which jobs to stop to free K nodes by a deadline, at the least loss.

`advise` asks a cluster, or reads the output of ``squeue --json`` and ``sinfo --json``. It only
reads. It returns an `Advice`: the plan of every deadline, as `table()` and `jobs()`.
``cosim-advise`` is the same as a command. `read_model` reads what a site knows about the
checkpoints of its applications.
"""

from cosimlab.advise.advice import Advice, advise, spectrum_of
from cosimlab.advise.checkpoints import Application, CheckpointModel, read_model
from cosimlab.advise.cluster import Cluster, read_cluster
from cosimlab.advise.command import commands_of, document_of
from cosimlab.advise.snapshot import Moment, Snapshot
from cosimlab.advise.text import explanation, text_of

__all__ = [
    "Advice",
    "Application",
    "CheckpointModel",
    "Cluster",
    "Moment",
    "Snapshot",
    "advise",
    "commands_of",
    "document_of",
    "explanation",
    "read_cluster",
    "read_model",
    "spectrum_of",
    "text_of",
]
