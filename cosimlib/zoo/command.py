"""Command line of the zoo: which logs and policies, and where tables and cells go.

docs/zoo.md is the page of a run on all known traces.
"""

import argparse
import runpy
import sys
from collections.abc import Sequence
from pathlib import Path

from cosimlib.files import write_whole
from cosimlib.policies import SIMULATORS
from cosimlib.zoo.page import page
from cosimlib.zoo.runs import JOBS, REPLICATES, run_zoo, zoo_logs


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the zoo: 0 where it was written, 1 where it could not be."""
    options = _parser().parse_args(arguments)
    try:
        for path in options.policy:
            runpy.run_path(str(path))
        runs = run_zoo(
            zoo_logs(options.logs),
            replicates=options.replicates,
            jobs=options.jobs,
            executor=options.workers or "cores",
            folder=options.out / "cells",
        )
        write_whole(options.out / "zoo.csv", runs.to_csv(index=False).encode())
        write_whole(options.out / "zoo.md", page(runs, SIMULATORS).encode())
    except (OSError, ValueError) as error:
        print(f"zoo: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("zoo: interrupted; the next call goes on from here", file=sys.stderr)
        return 130
    print(f"zoo: {len(runs):,} schedules; {options.out / 'zoo.md'} and zoo.csv")
    return 0


def _parser() -> argparse.ArgumentParser:
    """What the command line may say."""
    parser = argparse.ArgumentParser(
        prog="python -m cosimlib.zoo",
        description="All registered policies on all logs that are here, with intervals.",
    )
    add = parser.add_argument
    add("logs", nargs="*", metavar="LOG", help="traces by name or path; default: all that are here")
    add("--policy", type=Path, action="append", default=[], metavar="FILE.py",
        help="Python that registers policies of your own")  # fmt: skip
    add("--replicates", type=int, default=REPLICATES, metavar="N", help="logs drawn from each")
    add("--jobs", type=int, default=JOBS, metavar="N", help="of a log drawn, at most about")
    add("--workers", type=int, default=0, metavar="N", help="processes; default: cores")
    add("--out", type=Path, default=Path("figures/zoo"), metavar="FOLDER")
    return parser
