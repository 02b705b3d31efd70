"""Your own Slurm: its files read as a site, compared with its record, and changed.

- `read_site`: slurm.conf, gres.conf and what sacctmgr prints, as a `cosimlib.slurm.Site`
- `read_jobs`: what sacct prints, or a list of submissions, as jobs for the site
- `report_on`: a site as configured against as recorded, and changed; `SlurmReport`
"""

from cosimlab.slurm.answer import SlurmReport, report_on
from cosimlab.slurm.jobs import read_jobs
from cosimlab.slurm.reading import read_site

__all__ = ["SlurmReport", "read_jobs", "read_site", "report_on"]
