"""Your own Slurm: its files read as a site, compared with its record, and changed.

- `read_site`: slurm.conf, gres.conf and what sacctmgr prints, as a `cosimlib.slurm.Site`
"""

from cosimlab.slurm.reading import read_site

__all__ = ["read_site"]
