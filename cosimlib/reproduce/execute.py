"""Execution of notebooks, each in a process of its own, several at once.

Where a notebook takes too long, or the caller is interrupted, the process is ended, and its kernel
with all that the kernel has started.
"""

import os
import sys
import time
from collections.abc import Generator, Mapping, Set
from multiprocessing import connection
from typing import Any

from tqdm import tqdm

from cosimlib.display import duration
from cosimlib.reproduce.copies import context
from cosimlib.reproduce.process import (
    BEFORE,
    GRACE_SECONDS,
    Compilation,
    Outcome,
    Task,
    compile_kernels,
    end_group,
    execute,
    first_line,
)
from cosimlib.sweep.pools import count_cores
from cosimlib.sweep.work import SCRATCH, WORKERS

THREADS = {"OPENBLAS_NUM_THREADS": "1"}
"""Unless the environment says otherwise: threads for small sums only take cores from each other."""
LEAST_WORKERS = 2
"""Processes that a notebook may use at least: the last one has the cores for itself."""


def execute_all(
    tasks: Mapping[str, Task | Compilation], jobs: int, limit: float | None = None
) -> Generator[tuple[str, Outcome], None, None]:
    """Execute tasks, `jobs` at once, which share the cores; name and outcome of each as it ends.

    A task that takes longer than `limit` seconds is ended.
    """
    waiting = list(tasks)
    notebooks = sum(isinstance(task, Task) for task in tasks.values())
    workers = max(LEAST_WORKERS, count_cores() // max(1, min(jobs, notebooks)))
    running: dict[Any, _Running] = {}
    try:
        while waiting or running:
            while len(running) < jobs:
                name = first_ready(tasks, waiting, {each.name for each in running.values()})
                if name is None:
                    break
                waiting.remove(name)
                started = _Running(name, tasks[name], workers, limit)
                running[started.channel] = started
            ends = [each.end for each in running.values()]
            pause = max(0.0, min(ends) - time.monotonic()) if limit else None
            for channel in connection.wait(list(running), pause):
                running[channel].listen()
            for each in list(running.values()):
                outcome = each.outcome(limit)
                if outcome is not None:
                    del running[each.channel]
                    each.stop()
                    yield each.name, outcome
    finally:
        for each in running.values():
            each.process.terminate()
        for each in running.values():
            each.stop()


def first_ready(
    tasks: Mapping[str, Task | Compilation], waiting: list[str], running: Set[str]
) -> str | None:
    """The first waiting task that needs none of those waiting or running; None without one."""
    unended = running | {*waiting}
    return next((name for name in waiting if not tasks[name].after & unended), None)


class _Running:
    """A task at work: its process, what it has said, and when it must end."""

    def __init__(
        self, name: str, task: Task | Compilation, workers: int, limit: float | None
    ) -> None:
        own = {WORKERS: str(workers), SCRATCH: str(task.log.parent)}
        processes, told = context(), THREADS | os.environ | own
        target = execute if isinstance(task, Task) else compile_kernels
        self.name, self.log = name, task.log
        self.channel, sender = processes.Pipe(duplex=False)
        self.process = processes.Process(target=target, args=(task, sender, told))
        self.process.start()
        sender.close()
        self.end = time.monotonic() + (limit or 0.0)
        self.group, self.cell = 0, BEFORE
        self._outcome: Outcome | None = None
        # A bar on a terminal, and none elsewhere.
        self.bar = tqdm(desc=name, unit="cell", leave=False, disable=None)

    def listen(self) -> None:
        """Take one message."""
        try:
            message = self.channel.recv()
        except (EOFError, OSError):
            self.process.join(GRACE_SECONDS)
            self._outcome = Outcome(error=self._death())
            return
        if isinstance(message, Outcome):
            self._outcome = message
        elif isinstance(message, int):
            self.group = message
        else:
            number, self.bar.total, self.cell = message
            self.bar.update(number - 1 - self.bar.n)

    def outcome(self, limit: float | None) -> Outcome | None:
        """How the task ended; None while it is at work."""
        if self._outcome is None and limit and time.monotonic() >= self.end:
            told = f"no end after {duration(limit)}; --limit allows more"
            self._outcome = Outcome(error=f"{self.cell}: {told}")
        return self._outcome

    def stop(self) -> None:
        """End the process, and whatever its kernel has left behind."""
        if self._outcome is None or self._outcome.error:
            self.process.terminate()
        self.process.join(GRACE_SECONDS)
        self.process.kill()
        end_group(self.group)
        self.process.join()
        self.channel.close()
        self.bar.close()

    def _death(self) -> str:
        """Why there is no outcome."""
        lines = self.log.read_text(errors="replace").splitlines() if self.log.is_file() else []
        last = first_line("\n".join(reversed(lines))) or "no word of why"
        return f"{self.cell}: its process ended with status {self.process.exitcode}: {last}"


def say(line: str) -> None:
    """Print a line above the bars that may be there."""
    tqdm.write(line, file=sys.stdout)
    sys.stdout.flush()
