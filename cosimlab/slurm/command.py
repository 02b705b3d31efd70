"""Command ``cosim-slurm``: a site as configured against as recorded, and what changes would do."""

import argparse
from collections.abc import Sequence
from functools import partial

from cosimlab.ending import Arguments, status_of
from cosimlab.slurm.answer import report_on
from cosimlab.slurm.jobs import read_jobs
from cosimlab.slurm.reading import read_site


def parser() -> argparse.ArgumentParser:
    """Arguments of the command line."""
    made = Arguments(
        prog="cosim-slurm",
        description="Simulate your Slurm from its configuration, beside its record, and changed.",
        epilog='example: cosim-slurm site/ --jobs sacct.txt --set "QOS long MaxJobsPerUser=8"',
    )
    add = made.add_argument
    add("site", nargs="+", help="folder with slurm.conf and what sacctmgr prints, or the files")
    add(
        "--jobs", required=True, metavar="PATH", help="what sacct printed, or a list of submissions"
    )
    add(
        "--set",
        action="append",
        default=[],
        metavar="CHANGE",
        help="such as PriorityWeightFairshare=0 or bf_window=1440; all of them make one change",
    )
    add(
        "--no-record",
        action="store_true",
        help="answer although starts are not recorded, so that nothing tells whether the site fits",
    )
    add(
        "--replicates",
        type=int,
        default=0,
        metavar="N",
        help="logs drawn anew by weeks, for intervals of mean waits: 39 give 95 %%",
    )
    return made


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the report on a site; status 0 for success, 1 and a message for an error."""
    return status_of("cosim-slurm", partial(_report, parser().parse_args(arguments)))


def _report(given: argparse.Namespace) -> int:
    site = read_site(given.site[0] if len(given.site) == 1 else given.site)
    sites = {"as configured": site}
    if given.set:
        sites["changed"] = site.with_(*given.set)
    jobs = read_jobs(given.jobs, site)
    print(report_on(jobs, sites, no_record=given.no_record, replicates=given.replicates))
    return 0
