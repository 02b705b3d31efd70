"""How a command ends: its status, and one line for an error."""

import argparse
import io
import sys
from collections.abc import Callable
from typing import NoReturn

from cosimlab.interrupts import say_interrupted
from cosimlib import checks as check
from cosimlib.system import MOST_CORES

INTERRUPTED = 130
"""Status of a command that was stopped by Ctrl-C, as shells have it."""


class Arguments(argparse.ArgumentParser):
    """Arguments of a command; the error of a wrong one is one line, and status 2."""

    def error(self, message: str) -> NoReturn:
        """End with the message and where help is."""
        self.exit(2, f"{self.prog}: {message}; {self.prog} --help lists all\n")


def status_of(name: str, work: Callable[[], int]) -> int:
    """The status of a command that does some work.

    Parameters
    ----------
    name : str
        Of the command, before the message.
    work : callable
        Returns the status where it ends well.

    Returns
    -------
    int
        1 for an error, whose message goes to stderr; 130 if interrupted; 0 if whoever read the
        output, such as ``head``, has read enough.
    """
    _write_any_character()
    try:
        status = work()
        # Here rather than at Python's end, where a reader that has gone away is an error.
        sys.stdout.flush()
        return status
    except KeyboardInterrupt:
        say_interrupted()
        return INTERRUPTED
    except BrokenPipeError:
        # Python would complain at its end.
        sys.stdout = None
        return 0
    except (OSError, ValueError, MemoryError, ImportError) as error:
        print(f"{name}: {words_of(error)}", file=sys.stderr)
        return 1


def check_counts(**counts: int | None) -> None:
    """Check the numbers of options such as `--nodes`, by their names; None was not given."""
    for name, value in counts.items():
        if value is not None:
            check.whole(f"--{name.replace('_', '-')}", value, 1, MOST_CORES)


def words_of(error: Exception) -> str:
    """The message of an error; of one of the operating system, without its number."""
    if isinstance(error, OSError) and error.filename is not None and error.strerror:
        reason = f"{error.strerror[0].lower()}{error.strerror[1:]}"
        return f"{error.filename}: {reason}; give another path, or make this one usable"
    if isinstance(error, MemoryError):
        return f"memory is full ({error})" if str(error) else "memory is full"
    return str(error)


def _write_any_character() -> None:
    """Let streams escape what their encoding lacks, such as a dash in ASCII."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
