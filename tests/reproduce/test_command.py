"""The runner: an interrupt, and results put in their place."""

import json
import os
import signal as signals
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

import pandas as pd
import pytest

from cosimlib.claims import CHECKED
from cosimlib.reproduce.command import main
from cosimlib.reproduce.due import place, write_scorecard
from cosimlib.reproduce.interrupts import interrupts
from cosimlib.reproduce.workspace import workspace
from tests.reproduce.test_execute import contents, names, write_notebook
from tests.suites import ROOT


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


def test_the_scorecard_tells_what_parameters_a_run_was_given(tmp_path):
    (tmp_path / "one").mkdir()
    row = dict.fromkeys(CHECKED, "x") | {"data": "a log", "verdict": "holds"}
    pd.DataFrame([row]).to_csv(tmp_path / "one" / "claims.csv", index=False)
    parameters = {"scale": "quick", "trace": "synthetic", "horizon": 1800}
    (tmp_path / "one" / "run.json").write_text(json.dumps({"parameters": parameters}))
    write_scorecard(tmp_path)
    assert pd.read_csv(tmp_path / "claims.csv")["data"].tolist() == ["a log; horizon 1800"]


SLEEPING = """\
import os, subprocess, time
from pathlib import Path
child = subprocess.Popen(["sleep", "3600"])
(Path(os.environ["COSIMLIB_SCRATCH"]) / "of a sweep").touch()
started = Path(os.environ["SLEEPER"] + "-")
started.write_text(f"{os.getpid()} {child.pid} {os.getppid()}")
started.rename(os.environ["SLEEPER"])
time.sleep(3600)
"""


linux = pytest.mark.skipif(not Path("/proc").is_dir(), reason="looks for processes in /proc")


@pytest.fixture
def sleeper(tmp_path, monkeypatch):
    """A runner at work on a notebook that sleeps; kernel, its child, and the process above it."""
    started = tmp_path / "started"
    monkeypatch.setenv("SLEEPER", str(started))
    monkeypatch.setenv("PYTHONPATH", str(ROOT), prepend=os.pathsep)
    notebook = write_notebook(tmp_path / "sleeping.ipynb", SLEEPING)
    command = [sys.executable, "-m", "cosimlib.reproduce", str(notebook)]
    command += ["--out", str(tmp_path / "figures")]
    # Whatever started the tests may have had interrupts ignored, which processes inherit.
    heard = partial(signals.signal, signals.SIGINT, signals.SIG_DFL)
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, preexec_fn=heard) as runner:
        pids = wait_for(lambda: started.is_file() and started.read_text().split())
        yield runner, list(map(int, pids))
        runner.kill()


HEAVY = """
import sys
from cosimlib.reproduce.command import main
status = main(sys.argv[1:])
print(sorted({"pandas", "numba", "plotly"} & set(sys.modules)))
sys.exit(status)
"""


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["-p", "nothing", "3"], "one.ipynb has no parameter 'nothing'"),
        (["-p", "n", "many"], "one.ipynb: parameter 'n' got 'many'; expected int"),
        (["absent.ipynb"], "notebook absent.ipynb is not there"),
    ],
)
def test_bad_names_and_values_are_refused_before_anything_heavy_is_imported(
    tmp_path, arguments, said
):
    notebook = write_notebook(tmp_path / "one.ipynb")
    command = [sys.executable, "-c", HEAVY, str(notebook), *arguments]
    ended = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert (ended.returncode, ended.stdout) == (2, "[]\n")
    assert ended.stderr.startswith(f"reproduce: {said}")


def test_an_interrupt_while_modules_are_imported_is_one_line(tmp_path):
    """Told by Python itself, as it imports, so that the signal comes in the midst of it."""
    command = [sys.executable, "-X", "importtime", "-m", "cosimlib.reproduce"]
    heard = partial(signals.signal, signals.SIGINT, signals.SIG_DFL)
    with subprocess.Popen(
        [*command, "--out", str(tmp_path / "figures")], cwd=ROOT, stderr=subprocess.PIPE, text=True,
        preexec_fn=heard,
    ) as runner:  # fmt: skip
        for line in runner.stderr:
            if line.endswith("cosimlib.extras\n"):
                runner.send_signal(signals.SIGINT)
                break
        said = [line for line in runner.stderr if not line.startswith("import time:")]
        assert runner.wait(timeout=60) == 130
    assert said == ["reproduce: interrupted\n"]
    assert list(tmp_path.iterdir()) == []


@linux
def test_an_interrupt_ends_all_processes_and_leaves_nothing(sleeper, tmp_path):
    runner, processes = sleeper
    runner.send_signal(signals.SIGINT)
    _, complaints = runner.communicate(timeout=120)
    assert runner.returncode == 130
    assert complaints == "reproduce: interrupted; its results are dropped, older ones stay\n"
    assert list((tmp_path / "figures").iterdir()) == []
    assert wait_for(lambda: not any(map(is_running, processes)))


@linux
def test_where_the_runner_is_killed_all_ends_and_the_next_one_clears_up(sleeper, tmp_path):
    runner, processes = sleeper
    runner.kill()
    assert wait_for(lambda: not any(map(is_running, processes)))
    assert [name[:11] for name in names(tmp_path / "figures")] == [".reproduce-"]
    with workspace(tmp_path / "figures") as folder:
        assert names(tmp_path / "figures") == [folder.name]


@linux
def test_a_notebook_whose_process_is_killed_fails_and_its_kernel_ends(sleeper, tmp_path):
    runner, processes = sleeper
    os.kill(processes[-1], signals.SIGKILL)
    _, complaints = runner.communicate(timeout=120)
    assert runner.returncode == 1
    failed = "reproduce: sleeping.ipynb (quick, synthetic): cell 2 (import os, subprocess, time): "
    assert complaints.startswith(f"{failed}its process ended with status -9: ")
    assert names(tmp_path / "figures") == ["claims.csv", "claims.md", "index.html"]
    assert wait_for(lambda: not any(map(is_running, processes)))


def test_a_notebook_that_takes_too_long_is_ended(tmp_path, capsys):
    notebook = write_notebook(tmp_path / "long.ipynb", "import time; time.sleep(3600)")
    command = [str(notebook), "--out", str(tmp_path / "figures"), "--limit", "0.02"]
    assert main(command) == 1
    told = capsys.readouterr().err
    assert told.startswith("reproduce: long.ipynb (quick, synthetic): ")
    assert told.endswith(": no end after 1.2 s; --limit allows more\n")
    assert names(tmp_path / "figures") == ["claims.csv", "claims.md", "index.html"]


@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM", "SIGHUP"])
def test_only_the_first_of_several_interrupts_is_heard(name):
    number = getattr(signals, name)
    before = signals.getsignal(number)
    signals.signal(number, signals.SIG_DFL)
    try:
        with pytest.raises(KeyboardInterrupt), interrupts():
            try:
                os.kill(os.getpid(), number)
            finally:
                os.kill(os.getpid(), number)
        assert signals.getsignal(number) == signals.SIG_DFL
        signals.signal(number, signals.SIG_IGN)
        with interrupts():
            os.kill(os.getpid(), number)
    finally:
        signals.signal(number, before)


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
