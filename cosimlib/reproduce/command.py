"""Command line of the runner: what to run, where results go, and the exit status.

Notebooks and values that the command line gives are checked before anything is imported that takes
long: figures, simulators and what reads logs.
"""

import argparse
from collections.abc import Sequence
from pathlib import Path

from cosimlib.files import FRONT_PAGE, checkout
from cosimlib.reproduce.copies import COMPILATION, prepare
from cosimlib.reproduce.interrupts import complain, interrupts
from cosimlib.reproduce.parameters import (
    CORES,
    NODES,
    OPTIONS,
    BadArgumentError,
    check_notebooks,
)
from cosimlib.units import MINUTE

FAILED, BAD_ARGUMENTS, INTERRUPTED = 1, 2, 130
LONGEST = 1e6
QUICK_LIMIT = 60 * MINUTE
"""Seconds that a notebook may take at quick scale, unless the command line says otherwise."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run what is due: 0 where all ran, 1 where a notebook failed, 2 for bad arguments."""
    options = _parser().parse_args(arguments)
    try:
        return _run(options)
    except BadArgumentError as error:
        return _complain(str(error), BAD_ARGUMENTS)
    except OSError as error:
        told = f"{error.strerror}: {error.filename or options.out}" if error.strerror else error
        return _complain(f"{told}; results from before are as they were", FAILED)
    except ValueError as error:
        return _complain(str(error), FAILED)
    except KeyboardInterrupt:
        return _complain("interrupted; its results are dropped, older ones stay", INTERRUPTED)


def _run(options: argparse.Namespace) -> int:
    """Check what is asked for, then run what is due of it; the exit status."""
    notebooks = options.notebooks or _default_notebooks()
    values, size = _values(options.parameters), _given(options)
    check_notebooks(notebooks, values)
    # Kernels are compiled apart where there are notebooks to run meanwhile.
    prepare(*([COMPILATION] if len(notebooks) > 1 and options.jobs != 1 else []))

    from cosimlib.reproduce.plan import plan_runs

    runs = plan_runs(notebooks, scale=options.scale, trace=options.trace, values=values, size=size)

    from cosimlib.reproduce.due import run_all, say

    for name in size:
        without = [run.name for run in runs if name not in run.parameters]
        if without:
            say(f"{OPTIONS[name]} plays no part in {', '.join(without)}: no parameter {name}")
    with interrupts():
        limit = {"quick": QUICK_LIMIT, "paper": None}[options.scale]
        limit = limit if options.limit is None else options.limit * MINUTE
        knobs = {"force": options.force, "jobs": options.jobs, "limit": limit}
        return FAILED if run_all(runs, options.out, **knobs) else 0


def _parser() -> argparse.ArgumentParser:
    """What the command line may say."""
    parser = argparse.ArgumentParser(
        prog="python -m cosimlib.reproduce",
        description="Run notebooks into figures/, those whose results are out of date.",
    )
    add = parser.add_argument
    add("notebooks", nargs="*", type=Path, metavar="NOTEBOOK", help="default: notebooks/*.ipynb")
    add("--scale", choices=["quick", "paper"], default="quick", help="default: quick")
    add("--trace", metavar="PATH", help="a trace file for all notebooks, or 'synthetic'")
    add("--cores", type=_positive, metavar="N", help="of each node; default: as the trace says")
    add("--nodes", type=_positive, metavar="N", help="of its machine; default: as the trace says")
    add(
        "--out",
        type=Path,
        default=checkout() / "figures",
        metavar="FOLDER",
        help="default: figures",
    )
    add("--jobs", type=_positive, metavar="N", help="at once; default: cores")
    add(
        "--limit",
        type=_minutes,
        metavar="MINUTES",
        help="of each notebook; default: 60 at quick scale, none at paper scale",
    )
    add("--force", action="store_true", help="run what is up to date, too")
    add(
        "-p",
        dest="parameters",
        nargs=2,
        action="append",
        default=[],
        metavar=("NAME", "VALUE"),
        help="a parameter of the notebooks",
    )
    return parser


def _given(options: argparse.Namespace) -> dict[str, int]:
    """What the command line says of the trace's machine, by the notebooks' parameters."""
    told = {CORES: options.cores, NODES: options.nodes}
    return {name: number for name, number in told.items() if number is not None}


def _positive(text: str) -> int:
    """A whole number from 1 on."""
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"got {text!r}; expected a whole number from 1 on")
    return int(text)


def _minutes(text: str) -> float:
    """A number above 0."""
    try:
        minutes = float(text)
    except ValueError:
        minutes = 0.0
    if not 0 < minutes < LONGEST:
        raise argparse.ArgumentTypeError(f"got {text!r}; expected a number of minutes above 0")
    return minutes


def _values(pairs: list[list[str]]) -> dict[str, str]:
    """The `-p` pairs by name."""
    names = [name for name, _ in pairs]
    for name in names:
        if names.count(name) > 1:
            raise BadArgumentError(f"parameter '{name}' is given twice")
    return dict(pairs)


def _default_notebooks() -> list[Path]:
    """The checkout's notebooks."""
    notebooks = sorted((checkout() / "notebooks").glob("*.ipynb"))
    notebooks = [path for path in notebooks if path.name != FRONT_PAGE]
    if not notebooks:
        raise BadArgumentError("no notebooks/*.ipynb here; name the notebooks to run")
    return notebooks


def _complain(line: str, status: int) -> int:
    """Say on the error stream what is wrong, and hand on the exit status."""
    complain(line)
    return status
