"""Command line of the zoo: which logs and policies, and where tables and cells go.

docs/zoo.md is the page of a run on all known traces.
"""

import argparse
import runpy
import sys
import traceback
import warnings
from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from cosimlib.files import write_whole
from cosimlib.policies import SIMULATORS
from cosimlib.sweep import SweepWarning
from cosimlib.zoo.page import NOT_SCHEDULED, page
from cosimlib.zoo.runs import JOBS, REPLICATES, run_zoo, zoo_logs
from cosimlib.zoo.standing import BASELINE


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the zoo: 0 where it was written, 1 where it could not be."""
    options = _parser().parse_args(arguments)
    try:
        for path in options.policy:
            register_from(path)
        logs = zoo_logs(options.logs, cores_per_node=options.cores, nodes=options.nodes)
        with warnings.catch_warnings():
            # The page tells what failed, and the last line how much.
            warnings.simplefilter("ignore", SweepWarning)
            runs = run_zoo(
                logs,
                replicates=options.replicates,
                jobs=options.jobs,
                executor=options.workers or "cores",
                folder=options.out / "cells",
            )
        check_baseline(runs)
        write_whole(options.out / "zoo.csv", runs.to_csv(index=False).encode())
        write_whole(options.out / "zoo.md", page(runs, SIMULATORS).encode())
    except (ImportError, OSError, ValueError) as error:
        print(f"zoo: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("zoo: interrupted; the next call goes on from here", file=sys.stderr)
        return 130
    failed = int(runs["error"].notna().sum()) if "error" in runs else 0
    told = f"{len(runs) - failed:,} schedules"
    if failed:
        told += f", {failed:,} failed: see {NOT_SCHEDULED!r} in zoo.md"
    print(f"zoo: {told}; {options.out / 'zoo.md'} and zoo.csv")
    return 0


def check_baseline(runs: pd.DataFrame) -> None:
    """Raise where the policy that all others are compared with could schedule nothing."""
    failed = runs["error"].notna() if "error" in runs else pd.Series(False, runs.index)
    of_baseline = runs["policy"] == BASELINE
    if (failed | ~of_baseline).all():
        row = runs[of_baseline].iloc[0]
        raise ValueError(
            f"{BASELINE}, with which the others are compared, could schedule none of the logs "
            f"drawn; the first, of {row['log']}: {row['error']}"
        )


def register_from(path: Path) -> None:
    """Run a file of Python, which must register a policy.

    Raises
    ------
    ValueError
        Where it is no such file, registers nothing, or fails; the error names the line.
    """
    if not path.is_file():
        what = "is a folder" if path.is_dir() else "is not there"
        raise ValueError(f"policy {path} {what}; give a file of Python that registers policies")
    before = dict(SIMULATORS)
    try:
        runpy.run_path(str(path))
    except (Exception, SystemExit) as error:  # a user's file may raise anything
        raise ValueError(
            f"policy {_place(path, error)}: {type(error).__name__}: {error}"
        ) from error
    if before == SIMULATORS:
        raise ValueError(
            f'policy {path} registers nothing; expected @cosimlib.register("a name") above a '
            "function of a workload and a system"
        )


def _place(path: Path, error: BaseException) -> str:
    """A file, and the line of it at which an error was raised."""
    frames = traceback.extract_tb(error.__traceback__)
    lines = [frame.lineno for frame in frames if frame.filename == str(path)]
    if isinstance(error, SyntaxError) and error.filename == str(path):
        lines = [error.lineno]
    return f"{path}, line {lines[-1]}" if lines else str(path)


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
    add("--nodes", type=int, metavar="N", help="of the log's machine; default: as the log says")
    add("--cores", type=int, metavar="N", help="of each of its nodes; default: as the log says")
    add("--workers", type=int, default=0, metavar="N", help="processes; default: cores")
    add("--out", type=Path, default=Path("figures/zoo"), metavar="FOLDER")
    return parser
