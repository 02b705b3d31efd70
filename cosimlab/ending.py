"""How a command ends: its status, and one line for an error."""

import argparse
import sys
from collections.abc import Callable
from typing import NoReturn

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
    try:
        return work()
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        # Python would complain at its end.
        sys.stdout = None
        return 0
    except (OSError, ValueError, MemoryError, ImportError) as error:
        print(f"{name}: {error}", file=sys.stderr)
        return 1
