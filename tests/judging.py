"""Pytest plugin that runs tests on mutations of kernels, each in a fork of one loaded process.

All is imported and collected once, interpreted. A fork then runs every test as it is, with a few
random examples, and notes how long each takes and which kernels it enters; tests that take very
long are left out. A further fork per mutation gives the kernel its changed code and runs the tests
that enter it, until one fails: those of a file after each other, the quickest first. A test that
takes much longer than it did has noticed the change, too. What no test notices is tried again with
as many random examples as the tests themselves ask for.
"""

import ast
import importlib
import math
import os
import pickle
import resource
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from itertools import pairwise
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import pytest
from _pytest.runner import runtestprotocol
from hypothesis import Phase, settings

from tests.mutants import ROOT, Mutation

PATIENCE, GRACE = 2.0, 20.0
"""How many times as much processor time as without a mutation a test may take, and seconds."""
WALL = 600.0
"""Seconds after which a fork that waits for something is given up."""
MEMORY = 4 * 2**30
"""Bytes that a fork may ask for beyond those of the process that it is a copy of."""
LONG = 20.0
"""Seconds of processor time from which on a test is left out."""
FEW = 8
"""Random examples of a test at first."""

Item = pytest.Item


class TooLong(BaseException):
    """A test takes too long to be run for every mutation."""


Told = Callable[[Mutation, str], None]


class Judge:
    """Tells for each mutation the first test that notices it, or "" where none does."""

    def __init__(self, mutations: Sequence[Mutation], told: Told) -> None:
        self.mutations, self.told = mutations, told
        self.seconds: dict[str, float] = {}
        self.entered: dict[str, set[str]] = {}

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """Instead of running the tests once, run them on every mutation."""
        if session.testsfailed:
            raise session.Interrupted("tests cannot be collected")
        items = [item for item in session.items if not item.get_closest_marker("skip")]
        failed, self.seconds, self.entered = _forked(lambda _: _as_they_are(items, self._kernels()))
        if failed:
            # Pytest shows nothing of why a session failed.
            print(f"fails without a mutation: {failed}", flush=True)
            raise session.Failed(f"fails without a mutation: {failed}")
        items = [item for item in items if item.nodeid in self.seconds]
        print(f"{sum(self.seconds.values()):.0f} s of tests without a mutation", flush=True)
        for mutation in self.mutations:
            self.told(mutation, self._found(mutation, items))
        return True

    def _kernels(self) -> set[tuple[str, str]]:
        return {(str(ROOT / each.file), each.kernel) for each in self.mutations}

    def _found(self, mutation: Mutation, items: Sequence[Item]) -> str:
        """What fails on a mutation: with few examples, or else with many."""
        order = self._order(mutation, items)
        for most in (FEW, sys.maxsize):
            tried = partial(_first_failing, mutation, order, self.seconds, most)
            if found := _forked(tried, WALL):
                return found
        return ""

    def _order(self, mutation: Mutation, items: Sequence[Item]) -> list[Item]:
        """The tests that may enter the kernel; fixtures are made in a file's first test."""
        kernel = f"{ROOT / mutation.file}:{mutation.kernel}"
        enter = [item for item in items if kernel in self.entered[item.nodeid]]
        total: dict[Path, float] = {}
        for item in enter:
            total[item.path] = total.get(item.path, 0.0) + self.seconds[item.nodeid]
        enter.sort(key=lambda item: (total[item.path], item.path, self.seconds[item.nodeid]))
        rest = [item for item in items if item.path in total and item not in enter]
        return enter + sorted(rest, key=lambda item: (total[item.path], item.path))


def _forked(work: Callable[[Callable], Any], wall: float = math.inf) -> Any:
    """What a function answers in a fork, or else how that ended; it may answer early."""
    with tempfile.NamedTemporaryFile(prefix="judging-") as file:
        child = os.fork()
        if not child:
            os.setpgid(0, 0)

            def answer(found: object) -> None:
                Path(file.name).write_bytes(pickle.dumps(found))
                os._exit(0)

            try:
                answer(work(answer))
            finally:
                os._exit(1)
        begin = time.monotonic()
        while (ended := os.waitpid(child, os.WNOHANG))[0] == 0:
            if time.monotonic() - begin > wall:
                os.kill(child, signal.SIGKILL)
            time.sleep(0.02)
        with suppress(ProcessLookupError):
            os.killpg(child, signal.SIGKILL)
        content = Path(file.name).read_bytes()
        return pickle.loads(content) if content else f"ended with {ended[1]}"


def _as_they_are(items: Sequence[Item], kernels: set[tuple[str, str]]) -> tuple:
    """The first test that fails without a mutation, each test's seconds, the kernels it enters."""
    seconds, entered, codes, interrupted = {}, {}, set[CodeType](), set[str]()

    def notice(frame: FrameType, event: str, _: object) -> None:
        if event == "call":
            codes.add(frame.f_code)

    def interrupt(name: str, *_: object) -> None:
        interrupted.add(name)
        raise TooLong

    _with_examples(items, FEW)
    for item, following in pairwise([*items, None]):
        codes.clear()
        signal.signal(signal.SIGPROF, partial(interrupt, item.nodeid))
        begin, clock = time.process_time(), time.monotonic()
        signal.setitimer(signal.ITIMER_PROF, LONG)
        sys.setprofile(notice)
        fine = _passes(item, following)
        sys.setprofile(None)
        signal.setitimer(signal.ITIMER_PROF, 0.0)
        seconds[item.nodeid] = time.process_time() - begin
        # The timer's clock and the process's differ by some milliseconds: asked is what rang.
        if item.nodeid in interrupted or time.monotonic() - clock >= 4 * LONG:
            print(f"left out, for it takes long: {item.nodeid}", flush=True)
            del seconds[item.nodeid]
            continue
        if not fine:
            return item.nodeid, {}, {}
        places = {(code.co_filename, code.co_name) for code in codes}
        entered[item.nodeid] = {f"{file}:{name}" for file, name in places & kernels}
    return "", seconds, entered


def _first_failing(
    mutation: Mutation,
    items: Sequence[Item],
    seconds: dict[str, float],
    most: int,
    answer: Callable[[str], None],
) -> str:
    """The first of some tests that fails once the kernel has its changed code, or ""."""
    _change(mutation)
    now = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (now + MEMORY, now + MEMORY))
    grown = _with_examples(items, most)
    for item, following in pairwise([*items, None]):
        signal.signal(signal.SIGPROF, lambda *_, name=item.nodeid: answer(f"too long: {name}"))
        expected = seconds[item.nodeid] * (1.0 if most == FEW else grown.get(item.nodeid, 1.0))
        signal.setitimer(signal.ITIMER_PROF, PATIENCE * expected + GRACE)
        if not _passes(item, following):
            return item.nodeid
    return ""


def _with_examples(items: Sequence[Item], most: int) -> dict[str, float]:
    """Let tests draw so many examples at most; how many times as many as at first each draws."""
    grown = {}
    for item in items:
        test = getattr(item, "obj", None)
        drawn = getattr(test, "_hypothesis_internal_use_settings", None)
        if drawn is not None:
            number = min(drawn.max_examples, most)
            grown[item.nodeid] = number / min(number, FEW)
            phases = (Phase.explicit, Phase.generate)
            changed = settings(drawn, max_examples=number, phases=phases, database=None)
            test._hypothesis_internal_use_settings = changed
    return grown


def _passes(item: Item, following: Item | None) -> bool:
    reports = runtestprotocol(item, log=False, nextitem=following)
    return not any(report.failed for report in reports)


def _change(mutation: Mutation) -> None:
    """Give a kernel, which without the JIT is a plain function, its changed code."""
    module = importlib.import_module(mutation.file.removesuffix(".py").replace("/", "."))
    tree = ast.parse(mutation.text())
    code = compile(tree, str(ROOT / mutation.file), "exec", dont_inherit=True)
    changed = [part for part in code.co_consts if getattr(part, "co_name", "") == mutation.kernel]
    getattr(module, mutation.kernel).__code__ = changed[0]
