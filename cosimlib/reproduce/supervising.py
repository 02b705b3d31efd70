"""Several notebooks at once, each in its own process, and what they say meanwhile."""

import multiprocessing
import sys
from collections.abc import Generator, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing import connection
from multiprocessing.process import BaseProcess
from typing import Any

from tqdm import tqdm

from cosimlib.reproduce.executing import Task, execute

GRACE_SECONDS = 10.0


@dataclass(frozen=True)
class Outcome:
    """How a notebook ended: in how many seconds and cells, or why not."""

    seconds: float = 0.0
    cells: int = 0
    error: str = ""


def supervise(tasks: dict[str, Task], jobs: int) -> Generator[tuple[str, Outcome], None, None]:
    """Execute tasks, `jobs` at once; name and outcome of each as it ends."""
    waiting = list(tasks.items())
    context = multiprocessing.get_context("spawn")
    with _running() as running, _Bars() as bars:
        while waiting or running:
            while waiting and len(running) < jobs:
                name, task = waiting.pop(0)
                receiver, sender = context.Pipe(duplex=False)
                process: BaseProcess = context.Process(target=execute, args=(task, sender))
                process.start()
                running[receiver] = (name, process)
                sender.close()
            for channel in _with_news(running):
                name, process = running[channel]
                outcome = _heard(channel, process, tasks[name], bars, name)
                if outcome is not None:
                    del running[channel]
                    channel.close()
                    process.join()
                    bars.close(name)
                    yield name, outcome


def say(line: str) -> None:
    """Print a line above the bars that may be there."""
    tqdm.write(line, file=sys.stdout)
    sys.stdout.flush()


def _with_news(channels: Iterable[Any]) -> list[Any]:
    """Those channels, at least one, that have something to say or were closed."""
    return connection.wait(list(channels))


def _heard(
    channel: Any, process: BaseProcess, task: Task, bars: "_Bars", name: str
) -> Outcome | None:
    """The outcome, where that is what a process told or its end tells."""
    try:
        kind, *facts = channel.recv()
    except EOFError:
        process.join()
        said = task.log.read_text(errors="replace").splitlines() if task.log.is_file() else []
        last = next((line.strip() for line in reversed(said) if line.strip()), "no word of why")
        return Outcome(error=f"its process ended with status {process.exitcode}: {last}")
    if kind == "cell":
        bars.update(name, *facts)
        return None
    return Outcome(error=facts[0]) if kind == "failed" else Outcome(*facts)


@contextmanager
def _running() -> Iterator[dict[Any, tuple[str, BaseProcess]]]:
    """The processes at work, which are ended where the caller is."""
    running: dict[Any, tuple[str, BaseProcess]] = {}
    try:
        yield running
    finally:
        processes = [process for _, process in running.values()]
        for process in processes:
            process.terminate()
        for process in processes:
            process.join(GRACE_SECONDS)
            if process.is_alive():
                process.kill()
                process.join()


class _Bars:
    """On a terminal a bar for each notebook at work; elsewhere nothing."""

    def __init__(self) -> None:
        self._shown = sys.stderr.isatty()
        self._bars: dict[str, tqdm] = {}

    def __enter__(self) -> "_Bars":
        return self

    def __exit__(self, *_: object) -> None:
        for name in list(self._bars):
            self.close(name)

    def update(self, name: str, cell: int, cells: int) -> None:
        """Show that a notebook is at its `cell`-th code cell of `cells`."""
        if self._shown and name not in self._bars:
            self._bars[name] = tqdm(total=cells, desc=name, unit="cell", leave=False)
        if self._shown:
            bar = self._bars[name]
            bar.update(cell - 1 - bar.n)

    def close(self, name: str) -> None:
        """Take a notebook's bar away."""
        if name in self._bars:
            self._bars.pop(name).close()
