"""Explorers before their kernels are compiled: another process interprets these meanwhile.

To compile what an explorer calls takes 5 to 40 s, once per version. Kernels are Python too, and an
explorer's jobs are few: interpreted, most take a second or two. So one process compiles, a second
one interprets, and whoever asks gets the answer of the one that is done first.
"""

import atexit
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from functools import wraps
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from pathlib import Path
from threading import Lock, RLock, Thread
from typing import Any, TypeVar

from cosimlib.compiled import compile_apart, is_compiled, part_of
from cosimlib.files import importing_this
from cosimlib.kernels.jit import is_interpreted
from cosimlib.policies import BUILT_IN, SIMULATORS
from cosimlib.sweep import count_cores

PAUSE = 0.1
"""Seconds after which a process that waits for an answer looks whether it can do without."""
TOLD = (
    "Simulators are being compiled, once per version; until then some answers take a few seconds."
)

Function = TypeVar("Function", bound=Callable[..., Any])
Question = tuple[Path, Callable[..., Any], tuple, dict[str, Any]]
"""The folder in which it is asked, a function and its arguments."""
Answer = tuple[Any, Exception | None]
"""A value, or what was raised."""
REFUSALS = (ValueError, MemoryError)
"""What functions raise for arguments that they refuse, wherever they run."""

_compiling: dict[str, subprocess.Popen] = {}
_interpreters: list["_Interpreter"] = []
_changing = RLock()
"""Held by a thread that starts or ends a process."""


def answered_meanwhile(function: Function, part: str) -> Function:
    """`function`, whose answers an interpreting process gives until a part is compiled.

    What that process cannot do, such as a function of a notebook's own, is done in this one.

    Parameters
    ----------
    function : callable
        Of a module, with arguments and an answer that can be pickled.
    part : str
        Of `cosimlib.warm`: the part that compiles what it calls. Compiling begins at once.
    """
    if _is_ready(part) or not begin(part):
        _end_idle()
        return function

    @wraps(function)
    def answer(*given: Any, **knobs: Any) -> Any:
        found = None
        if _is_ready(part):
            _end_idle()
        else:
            found = _ask((Path.cwd(), function, given, knobs), part)
        if found is None:
            return function(*given, **knobs)
        value, refusal = found
        if refusal is not None:
            raise refusal
        return value

    return answer  # type: ignore[return-value]


def simulator(policy: str) -> Callable[..., Any]:
    """What simulates a registered policy now; ours are answered meanwhile, a user's own are not."""
    simulate = SIMULATORS[policy]
    if simulate is not BUILT_IN.get(policy):
        return simulate
    return answered_meanwhile(simulate, part_of(policy))


def begin(*parts: str) -> bool:
    """Compile parts in another process, unless they are; whether there is a core for it."""
    if is_interpreted() or os.name != "posix" or count_cores() < 2:
        return False
    try:
        for part in parts:
            with _changing:
                if part not in _compiling and not is_compiled(part):
                    _compiling[part] = compile_apart("--jobs", "1", part)
    except OSError:  # no room for another process
        return False
    return True


def told() -> str:
    """What a reader should know while something is being compiled; else empty."""
    return "" if all(map(_is_ready, list(_compiling))) else TOLD


def when_compiled(act: Callable[[], None]) -> None:
    """Call `act` in a thread once all that was asked for is compiled."""

    def wait() -> None:
        while told():
            time.sleep(PAUSE)
        end_interpreter()
        act()

    Thread(target=wait, daemon=True).start()


def _is_ready(part: str) -> bool:
    """Whether a part is compiled, or whoever compiled it has ended."""
    process = _compiling.get(part)
    return is_compiled(part) if process is None else process.poll() is not None


def _ask(question: Question, part: str) -> Answer | None:
    """The interpreter's answer; None where the part is compiled before, or there is none."""
    try:
        with _changing:
            if not _interpreters:
                _interpreters.append(_Interpreter())
            interpreter = _interpreters[0]
        return interpreter.ask(question, part)
    except OSError:  # no room for another process
        return None


def _end_idle() -> None:
    """End the interpreting process where all that was asked for is compiled."""
    if not told():
        end_interpreter()


@atexit.register
def end_interpreter() -> None:
    """End the interpreting process, if there is one."""
    with _changing:
        for each in list(_interpreters):
            each.end()


class _Interpreter:
    """A process that answers one question after the other, with nothing compiled."""

    def __init__(self) -> None:
        self._one_by_one = Lock()
        self._channel, other = Pipe()
        with other:
            self._process = subprocess.Popen(
                [sys.executable, "-c", f"from {__name__} import main; main({other.fileno()})"],
                env=importing_this(os.environ | {"NUMBA_DISABLE_JIT": "1"}),
                pass_fds=[other.fileno()], stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            )  # fmt: skip

    def ask(self, question: Question, part: str) -> Answer | None:
        """The answer; None where the part is compiled before, or there is none."""
        try:
            with self._one_by_one:
                self._channel.send(question)
                while not self._channel.poll(PAUSE):
                    if _is_ready(part):
                        self.end()
                        return None
                return self._channel.recv()
        except BaseException as error:
            self.end()
            if not isinstance(error, Exception):
                raise
            return None  # whatever went wrong there, this process can do it

    def end(self) -> None:
        """End the process, and what it is at."""
        with _changing:
            if self in _interpreters:
                _interpreters.remove(self)
            self._channel.close()
            self._process.kill()
            self._process.wait()


def main(descriptor: int) -> None:
    """Answer questions until nobody asks any more."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    Thread(target=_leave_with, args=(os.getppid(),), daemon=True).start()
    with Connection(descriptor) as channel:
        while True:
            try:
                channel.send(_answer_to(channel.recv()))
            except EOFError:
                return
            except Exception:  # whoever asked does it too, and says what is wrong
                channel.send(None)


def _answer_to(question: Question) -> Answer:
    """What a function returns, or for what it refuses its arguments."""
    folder, function, given, knobs = question
    os.chdir(folder)
    try:
        return function(*given, **knobs), None
    except REFUSALS as refusal:
        return None, refusal


def _leave_with(parent: int) -> None:
    """End this process once the one that started it is gone, whatever it is at."""
    while os.getppid() == parent:
        time.sleep(1.0)
    os._exit(1)
