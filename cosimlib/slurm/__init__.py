"""A machine under Slurm: its configuration as data, and what Slurm would do with jobs.

- `Site`: nodes, partitions, QOS, accounts, priorities and scheduler of a cluster
"""

from cosimlib.slurm.site import Site

__all__ = ["Site"]
