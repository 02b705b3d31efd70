"""Interrupts of a run: from the keyboard, from a scheduler, by a terminal that is closed."""

import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager

NAMES = ("SIGINT", "SIGTERM", "SIGHUP")


def leave_at_once() -> None:
    """From now on Ctrl-C ends this process without a word but one line: nothing has begun yet.

    An exception in the middle of an import would be a traceback, wherever it comes up.
    """

    def leave(*_: object) -> None:
        os.write(2, b"reproduce: interrupted\n")
        os._exit(130)

    if signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:
        signal.signal(signal.SIGINT, leave)


def complain(line: str) -> None:
    """Say on the error stream what is wrong."""
    sys.stdout.flush()
    print(f"reproduce: {line}", file=sys.stderr)


@contextmanager
def interrupts() -> Iterator[None]:
    """Within the block Ctrl-C, SIGTERM and a closed terminal interrupt, the first one alone.

    What follows it could only cut short what clears up.
    """
    heard = [number for name in NAMES if (number := getattr(signal, name, None)) is not None]
    previous = {number: signal.getsignal(number) for number in heard}

    def interrupt(*_: object) -> None:
        for number in heard:
            signal.signal(number, signal.SIG_IGN)
        raise KeyboardInterrupt

    for number in heard:
        # Who starts this with `nohup`, or in the background of a script, wants it to go on.
        if previous[number] is not signal.SIG_IGN:
            signal.signal(number, interrupt)
    try:
        yield
    finally:
        for number in heard:
            signal.signal(number, previous[number])
