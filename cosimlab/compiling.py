"""Who waits is told when Numba compiles: once, and not where nothing is compiled."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from numba.core import event


@contextmanager
def tells_compiling(begins: Callable[[], None], ends: Callable[[], None]) -> Iterator[None]:
    """Call `begins` once Numba compiles something, and then `ends` at the end of the block."""

    class Listener(event.Listener):
        said = False

        def on_start(self, event: Any) -> None:
            if not self.said:
                self.said = True
                begins()

        def on_end(self, event: Any) -> None:
            pass

    listener = Listener()
    with event.install_listener("numba:compile", listener):
        try:
            yield
        finally:
            if listener.said:
                ends()
