"""Command ``cosim-slurm``: a site as configured against as recorded, and what changes would do."""

import argparse
import sys
from collections.abc import Sequence
from contextlib import AbstractContextManager
from functools import partial

from cosimlab import compiling
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
        help="such as PriorityWeightFairshare=0 or bf_window=1440; all of them make one change; "
        "SLURM_VERSION=23.11 says which release the site runs",
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
    # The release is a fact about the site, not a change.
    release = [one for one in given.set if one.strip().upper().startswith("SLURM_VERSION=")]
    changes = [one for one in given.set if one not in release]
    if given.replicates < 0 or (given.replicates and not changes):
        raise ValueError(
            f"--replicates {given.replicates}: expected a number above 0, and a change to compare "
            "with; add --set"
        )
    site = read_site(given.site[0] if len(given.site) == 1 else given.site).with_(*release)
    sites = {"as configured": site}
    if changes:
        sites["changed"] = site.with_(*changes)
    jobs = read_jobs(given.jobs, site)
    with tells_compiling():
        report = report_on(jobs, sites, no_record=given.no_record, replicates=given.replicates)
    print(report)
    return 0


def tells_compiling() -> AbstractContextManager[None]:
    """Say on stderr that something is compiled, as soon as that begins; not where it is not."""

    def say() -> None:
        text = "compiling, once per installation: up to half a minute"
        print(text, file=sys.stderr, flush=True)

    return compiling.tells_compiling(say, lambda: None)
