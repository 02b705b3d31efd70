"""Ctrl-C ends a command with one word, also while its modules are imported.

Modules of commands are imported before any function of theirs can catch Ctrl-C, and they take
seconds. This file is imported first, and imports little.
"""

import sys
from itertools import pairwise
from pathlib import Path
from types import TracebackType

COMMANDS = ("cosim-advise", "cosim-report", "cosim-slurm")
"""Commands with a name of their own; the others are ``python -m cosimlab.NAME``."""


def say_interrupted() -> None:
    """Say on stderr that somebody has stopped the command."""
    print("interrupted", file=sys.stderr)


def expect_interrupts() -> None:
    """Where Python was started for a command, let Ctrl-C during imports end it with one word."""
    modules = [name for flag, name in pairwise(sys.orig_argv) if flag == "-m"]
    script = Path(next(iter(sys.argv), "")).name
    if "".join(modules[:1]).startswith("cosimlab.") or script in COMMANDS:
        sys.excepthook = _excepthook


def _excepthook(
    kind: type[BaseException], error: BaseException, trace: TracebackType | None
) -> None:
    """Python's own words on an error that nobody has caught, but for Ctrl-C."""
    if issubclass(kind, KeyboardInterrupt):
        say_interrupted()
    else:
        sys.__excepthook__(kind, error, trace)
