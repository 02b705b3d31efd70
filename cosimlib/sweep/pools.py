"""Places to compute cells: this process, worker processes of our own, any other executor.

A worker process that dies, such as one that the system killed for its memory, takes with it the
cell that it was at and nothing else: each has a pool of its own, which is made anew. A cell whose
workers die `TRIES` times is given up, with an error. On an executor that is not ours, whatever it
raises in place of a result counts as a try.
"""

import multiprocessing
import os
from collections import Counter, deque
from collections.abc import Callable, Generator, Sequence
from concurrent.futures import (
    FIRST_COMPLETED,
    BrokenExecutor,
    CancelledError,
    Executor,
    Future,
    ProcessPoolExecutor,
    wait,
)
from importlib import import_module
from typing import Any, Generic, Literal, TypeVar

from cosimlib import checks as check
from cosimlib.sweep.work import WORKERS, Outcome, is_ready, prepare_worker

CORES = "cores"
TRIES = 3
AHEAD = 1000
"""Cells that another executor is given at a time."""
SHORT = 0.05
"""Seconds: below, the next cell waits in its worker's queue, so that workers need not wait."""
PRELOADED = ("cosimlib.sweep.preload", "cosimlib.sweep.work")

Workers = Executor | int | Literal["cores"] | None
"""Where cells are computed; `sweep` says what each means."""

Cell = TypeVar("Cell")
Call = Callable[[Cell], tuple[Any, ...]]
"""From a cell to a function and its arguments, for `Executor.submit`."""
Outcomes = Generator[tuple[Cell, Outcome], None, None]


class LostWorkerError(RuntimeError):
    """A cell's worker died, `TRIES` times."""


class BrokenSweepError(RuntimeError):
    """The executor cannot go on; cells that are done are not lost where there is a folder."""


def count_cores() -> int:
    """Processes that ``executor="cores"`` means: `COSIMLIB_WORKERS`, or the cores of this process.

    One within a worker process, which may have none of its own.
    """
    if multiprocessing.current_process().daemon:
        return 1
    named = os.environ.get(WORKERS)
    if named is not None:
        number = int(named) if named.isdecimal() else named
        check.whole(WORKERS, number, 1, where="environment variable")
        return int(number)
    if hasattr(os, "process_cpu_count"):  # from Python 3.13 on
        return os.process_cpu_count() or 1
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def in_this_process(cells: Sequence[Cell], call: Call) -> Outcomes:
    """One cell after the other."""
    for cell in cells:
        function, *arguments = call(cell)
        yield cell, function(*arguments)


def on_workers(cells: Sequence[Cell], call: Call, workers: int, module: str) -> Outcomes:
    """On worker processes of our own; `module` is where the function comes from."""
    waiting, tries, ahead = deque(cells), Counter[Cell](), 1
    context = _context(module)
    lanes = [_Lane[Cell](context) for _ in range(min(workers, len(cells)))]
    try:
        while running := _feed(lanes, waiting, call, ahead):
            wait(running, return_when=FIRST_COMPLETED)
            for lane in lanes:
                ended, unreached = lane.collect()
                waiting.extendleft(reversed(unreached))
                for cell, future in ended:
                    error = future.exception()
                    if error is None:
                        outcome = future.result()
                        ahead = 2 if outcome.seconds < SHORT else 1
                        yield cell, outcome
                        continue
                    tries[cell] += 1
                    if tries[cell] < TRIES:
                        waiting.appendleft(cell)
                    else:
                        yield cell, _lost(error)
    finally:
        for lane in lanes:
            lane.stop()


def on_executor(cells: Sequence[Cell], call: Call, executor: Executor) -> Outcomes:
    """On an executor that is not ours and is left as it is."""
    waiting, tries = deque(cells), Counter[int]()
    running: dict[Future, Cell] = {}
    try:
        while waiting or running:
            while waiting and len(running) < AHEAD:
                cell = waiting.popleft()
                running[_submitted(executor, call(cell))] = cell
            for future in wait(running, return_when=FIRST_COMPLETED).done:
                cell = running.pop(future)
                error = CancelledError() if future.cancelled() else future.exception()
                if error is None:
                    yield cell, future.result()
                    continue
                if isinstance(error, BrokenExecutor):
                    raise BrokenSweepError(_broken(executor, error)) from error
                tries[id(cell)] += 1
                if tries[id(cell)] < TRIES:
                    waiting.append(cell)
                else:
                    yield cell, _lost(error)
    finally:
        for future in running:
            future.cancel()


class _Lane(Generic[Cell]):
    """A worker process, and the cells that it was given, in order."""

    def __init__(self, context: Any) -> None:
        self.context = context
        self.failed_starts = 0
        self._start()

    def _start(self) -> None:
        self.given: deque[tuple[Cell, Future]] = deque()
        self.pool = ProcessPoolExecutor(1, self.context, initializer=prepare_worker)
        self.started = self.pool.submit(is_ready)

    def give(self, cell: Cell, call: tuple[Any, ...]) -> bool:
        """Put a cell into the worker's queue; not where the worker has died of the one before."""
        try:
            future = self.pool.submit(*call)
        except BrokenExecutor:
            if self.given:
                return False
            self._renew()
            future = self.pool.submit(*call)
        self.given.append((cell, future))
        return True

    def collect(self) -> tuple[list[tuple[Cell, Future]], list[Cell]]:
        """The cells that have ended, in a result or a death; and those to be given anew."""
        ended = []
        while self.given and self.given[0][1].done():
            if isinstance(self.given[0][1].exception(), BrokenExecutor):
                at_work = self._has_started()
                if at_work:
                    ended.append(self.given.popleft())
                unreached = [cell for cell, _ in self.given]
                self._renew()
                return ended, unreached
            ended.append(self.given.popleft())
        return ended, []

    def stop(self) -> None:
        """End the worker, at once where it is at a cell."""
        if self.given:
            for process in list((self.pool._processes or {}).values()):
                process.kill()
        self.pool.shutdown(cancel_futures=True)

    def _has_started(self) -> bool:
        return self.started.done() and not self.started.exception()

    def _renew(self) -> None:
        """A new worker for a dead one; give up where several in a row never got to a cell."""
        self.failed_starts = 0 if self._has_started() else self.failed_starts + 1
        if self.failed_starts == TRIES:
            raise BrokenSweepError(
                "worker processes end as soon as they start; a script that sweeps on several "
                'processes does so under: if __name__ == "__main__":'
            )
        self.pool.shutdown()
        self._start()


def _feed(lanes: list[_Lane[Cell]], waiting: deque[Cell], call: Call, ahead: int) -> list[Future]:
    """Give workers their cells, all a first one before any a second; what runs and waits there."""
    for level in range(1, ahead + 1):
        for lane in lanes:
            if waiting and len(lane.given) < level and lane.give(waiting[0], call(waiting[0])):
                waiting.popleft()
    return [future for lane in lanes for _, future in lane.given]


def _context(module: str) -> Any:
    """How this platform starts processes, with kernels loaded before the first one starts."""
    context = multiprocessing.get_context()
    if context.get_start_method() == "fork":
        import_module(PRELOADED[0])
    elif context.get_start_method() == "forkserver":
        context.set_forkserver_preload(["__main__", *PRELOADED, module])
    return context


def _submitted(executor: Executor, call: tuple[Any, ...]) -> Future:
    try:
        return executor.submit(*call)
    except Exception as error:  # each kind of executor has errors of its own
        raise BrokenSweepError(_broken(executor, error)) from error


def _broken(executor: Executor, error: BaseException) -> str:
    return (
        f"the {type(executor).__name__} takes no more cells ({type(error).__name__}: {error}); "
        "call sweep again with a new one, or with a number of processes, which are replaced when "
        "they die. Cells that are done are kept where a folder was given"
    )


def check_open(executor: Executor) -> None:
    """Refuse an executor that is shut down."""
    try:
        executor.submit(is_ready)
    except Exception as error:
        kind = f"{type(executor).__name__} that is shut down ({error})"
        raise ValueError(f"executor is a {kind}; give one that is open, or a number") from error


def _lost(error: BaseException) -> Outcome:
    """The outcome of a cell that no worker survives."""
    why = "" if isinstance(error, BrokenExecutor) else f" ({type(error).__name__}: {error})"
    return Outcome([], LostWorkerError(f"its worker process died {TRIES} times{why}"))
