"""The runner: an interrupt, kernels compiled beforehand, results put in their place."""

import os
import signal as signals
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

import pytest

from cosimlib.eviction import SOLVERS
from cosimlib.policies import SIMULATORS
from cosimlib.reproduce import command
from cosimlib.reproduce.command import place, write_scorecard
from tests.reproduce.test_execute import contents, names, write_notebook
from tests.suites import ROOT


def test_every_registered_solver_and_simulator_runs_once(monkeypatch):
    called = []

    def noted(register):
        return {
            name: lambda *given, name=name, run=run: called.append(name) or run(*given)
            for name, run in register.items()
        }

    monkeypatch.setattr(command, "SOLVERS", noted(SOLVERS))
    monkeypatch.setattr(command, "SIMULATORS", noted(SIMULATORS))
    command.warm()
    assert called == [*SOLVERS, *SIMULATORS]


def test_old_results_come_back_where_the_move_fails(tmp_path):
    old = tmp_path / "figures"
    old.mkdir()
    (old / "line.csv").write_text("old")
    with pytest.raises(FileNotFoundError):
        place(tmp_path / "absent", old, tmp_path / "spare")
    assert contents(tmp_path) == {"figures/line.csv": b"old"}
    (tmp_path / "new").mkdir()
    place(tmp_path / "new", old, tmp_path / "spare")
    assert contents(tmp_path) == {"spare/line.csv": b"old"}


@pytest.mark.parametrize("text", ["", "system,claim\n"])
def test_claims_that_are_no_table_are_named(tmp_path, text):
    (tmp_path / "one").mkdir()
    (tmp_path / "one" / "claims.csv").write_text(text)
    with pytest.raises(ValueError, match=r"one/claims\.csv: no column"):
        write_scorecard(tmp_path)
    assert not (tmp_path / "claims.csv").exists()


SLEEPING = """\
import os, time
from pathlib import Path
Path(os.environ["SLEEPER"]).write_text(f"{os.getpid()} {os.getppid()}")
time.sleep(3600)
"""


linux = pytest.mark.skipif(not Path("/proc").is_dir(), reason="looks for processes in /proc")


@pytest.fixture
def sleeper(tmp_path, monkeypatch):
    """A runner at work on a notebook that sleeps; the ids of its kernel and of its process."""
    started = tmp_path / "started"
    monkeypatch.setenv("SLEEPER", str(started))
    monkeypatch.setenv("PYTHONPATH", str(ROOT), prepend=os.pathsep)
    notebook = write_notebook(tmp_path / "sleeping.ipynb", SLEEPING)
    command = [sys.executable, "-m", "cosimlib.reproduce", str(notebook)]
    command += ["--out", str(tmp_path / "figures")]
    # Whatever started the tests may have had interrupts ignored, which processes inherit.
    heard = partial(signals.signal, signals.SIGINT, signals.SIG_DFL)
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, preexec_fn=heard) as runner:
        kernel, process = wait_for(lambda: started.is_file() and started.read_text().split())
        yield runner, int(kernel), int(process)
        runner.kill()


@linux
@pytest.mark.parametrize("signal", [signals.SIGINT, signals.SIGTERM])
def test_an_interrupt_ends_processes_and_kernels_and_leaves_nothing(sleeper, tmp_path, signal):
    runner, kernel, process = sleeper
    runner.send_signal(signal)
    _, complaints = runner.communicate(timeout=120)
    assert runner.returncode == 130
    assert complaints == "reproduce: interrupted; results that were not finished are dropped\n"
    assert list((tmp_path / "figures").iterdir()) == []
    assert wait_for(lambda: not is_running(kernel) and not is_running(process))


@linux
def test_a_notebook_whose_process_is_killed_fails_and_its_kernel_ends(sleeper, tmp_path):
    runner, kernel, process = sleeper
    os.kill(process, signals.SIGKILL)
    _, complaints = runner.communicate(timeout=120)
    assert runner.returncode == 1
    failed = "reproduce: sleeping.ipynb (quick, synthetic): its process ended with status -9: "
    assert complaints.startswith(failed)
    assert names(tmp_path / "figures") == [
        "claims.csv",
        "claims.md",
        "index.html",
    ]
    assert wait_for(lambda: not is_running(kernel))


def wait_for(value, seconds=120):
    """The first value that is true; the limit only keeps a failure from lasting for ever."""
    last = time.monotonic() + seconds
    while not (found := value()) and time.monotonic() < last:
        time.sleep(0.02)
    return found


def is_running(process: int) -> bool:
    """Whether a process runs, which one that has ended and was not waited for does not."""
    try:
        state = Path(f"/proc/{process}/stat").read_text()
    except OSError:
        return False
    return state.rpartition(")")[2].split()[0] != "Z"
