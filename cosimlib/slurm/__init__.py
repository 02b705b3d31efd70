"""A machine under Slurm: its configuration as data, and what Slurm would do with jobs.

- `Site`: nodes, partitions, QOS, accounts, priorities and scheduler of a cluster
- `fair_shares`: fair-share factors of users who have used so much
"""

from cosimlib.slurm.fairshare import fair_shares
from cosimlib.slurm.site import Association, Site

__all__ = ["Association", "Site", "fair_shares"]
