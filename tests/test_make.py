"""The Makefile: what is stale, several notebooks at once, and variables that are data to it."""

import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.suites import ROOT

STUB = """\
#!/bin/bash
# In the place of Python: notes its arguments, and writes what the real one would.
printf '%s\\n' "$*" >>"$LOGGED"
case "$2" in
  papers.run)
    [ "$3" != notebooks/9-failing.ipynb ] || exit 1
    mkdir -p "$4" && touch "$4/run.json" && cp "$3" "$4" ;;
  papers.scorecard) printf '# Scorecard\\n\\n2 claims.\\n' >"$3/scorecard.md" ;;
  papers.gallery) touch "$3/index.html" ;;
esac
"""
NOTEBOOKS = {"1-eviction": '"trace: str"', "4-filling": '"scale: str"'}
VALUES = [
    "$(shell touch pwned)x.swf",
    "`touch pwned`",
    "$$(touch pwned)",
    "';touch pwned;'",
    '";touch pwned;"',
    "a b;touch pwned",
    "a\ntouch pwned",
    "x\\y %s $x",
    "-x",
]
TARGETS = [
    "help",
    "setup",
    "reproduce",
    "figures/1-eviction",
    "test",
    "lab",
    "app",
    "docs",
    "zoo",
    "bench",
    "check",
    "notebooks",
    "lock",
]
NAMES = ["PYTHON", "SCALE", "TRACE", "JOBS", "CORES", "NODES", "POLICY", "LOG", "ARGS"]


@pytest.fixture
def project(tmp_path):
    """A checkout with two small notebooks, whose environment has a stub for Python."""
    for name in ("Makefile", ".ci/setup"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    texts = {f"notebooks/{name}.ipynb": text for name, text in NOTEBOOKS.items()}
    names = ("__init__.py", "claims.py", "paper.py", "gallery.py", "gallery.html", "reading.py")
    names += ("results.py", "scorecard.html", "scorecard.py")
    texts |= {f"notebooks/papers/{name}": "" for name in (*names, "maurya2020/measures.py")}
    texts |= {
        "cosimlib/batch/easy.py": "",
        "cosimlab/sweep.py": "",
        "data/claims.csv": "",
        "notebooks/index.ipynb": "",
    }
    texts |= {"pyproject.toml": "", "requirements.lock": "", ".venv/bin/python": STUB}
    texts |= {".venv/bin/lint-imports": "#!/bin/bash\n"}
    for name, text in texts.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    for path in (tmp_path / ".venv" / "bin").iterdir():
        path.chmod(0o755)
    for path in tmp_path.rglob("*"):
        os.utime(path, (1e9, 1e9))
    (tmp_path / ".venv" / "setup.stamp").touch()
    return tmp_path


def make(project: Path, *arguments: str, **environment: str) -> subprocess.CompletedProcess:
    """Run make in a project, with no variable of ours in the environment but those given."""
    ours = {
        "VENV",
        "MAKEFLAGS",
        "MAKELEVEL",
        "MFLAGS",
        "COSIMLIB_TRACES",
        "COSIMLIB_WORKERS",
        "OMP_NUM_THREADS",  # which nproc obeys, and which Dask sets in processes that use it
        *NAMES,
    }
    env = {name: value for name, value in os.environ.items() if name not in ours}
    env |= {"LOGGED": str(project / "logged"), **environment}
    return subprocess.run(
        ["make", *arguments], cwd=project, env=env, capture_output=True, text=True
    )


def ran(project: Path, *arguments: str, **environment: str) -> list[str]:
    """The notebooks that a call of make runs."""
    (project / "logged").unlink(missing_ok=True)
    done = make(project, *(arguments or ("reproduce",)), **environment)
    assert done.returncode == 0, done.stdout + done.stderr
    return sorted(
        line.split()[3].removeprefix("figures/") for line in logged(project, "papers.run")
    )


def logged(project: Path, module: str) -> list[str]:
    """The arguments of every call of a module of Python."""
    path = project / "logged"
    lines = path.read_text().splitlines() if path.exists() else []
    return [line for line in lines if line.startswith(f"-m {module}")]


def touch(path: Path) -> None:
    """Make a file newer than all that was written until now, whatever the clock's resolution."""
    path.parent.mkdir(exist_ok=True)
    path.touch()
    os.utime(path, (time.time() + 5, time.time() + 5))


def test_all_run_once_and_then_nothing_is_written(project):
    """So that it works in a folder that cannot be written."""
    assert ran(project) == [*NOTEBOOKS]
    assert len(logged(project, "papers.gallery")) == 1
    before = {path: path.stat().st_mtime_ns for path in project.rglob("*")}
    done = make(project, "reproduce")
    assert done.returncode == 0 and done.stderr == ""
    assert done.stdout.endswith("scorecard: 2 claims.\ngallery: figures/index.html\n")
    assert {path: path.stat().st_mtime_ns for path in project.rglob("*")} == before


@pytest.mark.parametrize(
    ("edited", "stale"),
    [
        ("notebooks/4-filling.ipynb", ["4-filling"]),
        ("notebooks/papers/maurya2020/measures.py", ["1-eviction"]),
        ("notebooks/papers/claims.py", [*NOTEBOOKS]),
        ("cosimlib/batch/easy.py", [*NOTEBOOKS]),
        ("cosimlab/sweep.py", [*NOTEBOOKS]),
        ("data/claims.csv", [*NOTEBOOKS]),
        ("notebooks/index.ipynb", []),
        ("notebooks/papers/gallery.py", []),
    ],
)
def test_what_is_edited_makes_its_notebooks_stale(project, edited, stale):
    ran(project)
    touch(project / edited)
    assert ran(project) == stale


def test_variables_make_notebooks_stale_that_read_them(project):
    log = project / "a log.swf"
    log.write_text("1")
    assert ran(project) == [*NOTEBOOKS]
    assert ran(project, "reproduce", "SCALE=paper") == [*NOTEBOOKS]
    assert ran(project, "reproduce", "SCALE=paper") == []
    assert ran(project, "reproduce", f"TRACE={log}", SCALE="paper") == ["1-eviction"]
    assert ran(project, TRACE=str(log), SCALE="paper") == []
    log.write_text("2")
    assert ran(project, TRACE=str(log), SCALE="paper") == ["1-eviction"]
    assert ran(project, TRACE=str(log), SCALE="paper", NODES="9") == ["1-eviction"]
    [line] = logged(project, "papers.run")
    assert line.endswith(f"--scale=paper --trace={log} --nodes=9")


def test_the_longest_notebook_is_first_and_cores_are_divided(project):
    (project / "notebooks" / "3-timesharing.ipynb").write_text("")
    stub = project / ".venv" / "bin" / "python"
    stub.write_text(stub.read_text().replace("'%s\\n' \"$*\"", "'%s\\n' \"$* $COSIMLIB_WORKERS\""))
    assert make(project, "reproduce", "JOBS=1").returncode == 0
    run = [line.split()[3].removeprefix("figures/") for line in logged(project, "papers.run")]
    assert run == ["3-timesharing", *NOTEBOOKS]
    workers = {line.split()[-1] for line in logged(project, "papers.run")}
    assert workers == {str(len(os.sched_getaffinity(0)))}
    assert make(project, "reproduce", "JOBS=999", SCALE="paper").returncode == 0
    assert logged(project, "papers.run")[-1].endswith(" 1")


def test_results_of_the_future_are_made_anew(project):
    """The clock was set back: what was edited since then looks older than the results."""
    assert ran(project) == [*NOTEBOOKS]
    path = project / "figures" / "1-eviction" / "run.json"
    os.utime(path, (time.time() + 3600, time.time() + 3600))
    assert ran(project) == ["1-eviction"]
    assert ran(project) == []


SLOW_PYTHON = """\
#!/bin/bash
# In the place of Python: says when it begins and ends to install, which takes a while.
case "$*" in
  *fcntl*) exec {python} "$@" ;;
  *"print(sys.version_info[:2])"*) echo "(3, 12)" ;;
  "-m venv"*) mkdir -p "$VENV/bin"; cp "$0" "$VENV/bin/python"; cp "$0" "$VENV/bin/uv" ;;
  *install*) echo begin >>"$LOGGED"; sleep 0.2; echo end >>"$LOGGED" ;;
esac
"""


@pytest.fixture
def unready(project):
    """A project without an environment, and a stub for the Python that makes it."""
    shutil.rmtree(project / ".venv")
    (project / ".ci" / "build.txt").touch()
    path = project / "python"
    path.write_text(SLOW_PYTHON.format(python=sys.executable))
    path.chmod(0o755)
    return project


def start_setup(project, **environment):
    env = {**os.environ, "PYTHON": str(project / "python"), "VENV": str(project / ".venv")}
    env |= {"LOGGED": str(project / "logged"), **environment}
    command = ["bash", project / ".ci" / "setup"]
    return subprocess.Popen(command, env=env, text=True, stdout=-1, stderr=subprocess.STDOUT)


def test_two_setups_at_once_make_one_environment(unready):
    calls = [start_setup(unready) for _ in range(2)]
    said = sorted(call.communicate(timeout=60)[0] for call in calls)
    assert said == ["", f"setup: {unready / '.venv'} is ready\n"]
    assert (unready / "logged").read_text().split() == ["begin", "end"] * 3


def test_an_environment_of_the_future_is_made_anew(unready):
    start_setup(unready).wait()
    stamp = unready / ".venv" / "setup.stamp"
    assert start_setup(unready).communicate()[0] == ""
    os.utime(stamp, (time.time() + 3600, time.time() + 3600))
    assert start_setup(unready).communicate()[0].endswith(" is ready\n")
    assert stamp.stat().st_mtime < time.time() + 60


def test_an_environment_that_cannot_be_written_is_named(unready):
    place = unready / "python" / "venv"  # inside a file
    said = start_setup(unready, VENV=str(place)).communicate()[0]
    assert said.startswith(f"setup: '{place}' is older than pyproject.toml or missing, and nothing")
    assert said.endswith("Name another place: make VENV=/some/where\n")


def test_one_notebook_alone(project):
    assert ran(project, "figures/1-eviction") == ["1-eviction"]
    assert ran(project, "figures/1-eviction/", "ARGS=-p horizon 1800") == ["1-eviction"]
    assert logged(project, "papers.run")[0].endswith("--trace= -p horizon 1800")
    assert ran(project, "figures/1-eviction") == ["1-eviction"]


def test_others_go_on_where_one_fails_and_it_is_run_again(project):
    (project / "notebooks" / "9-failing.ipynb").write_text("")
    for _ in range(2):
        done = make(project, "reproduce")
        assert done.returncode == 2 and "figures/9-failing/run.json" in done.stderr
        assert done.stdout.endswith("scorecard: 2 claims.\ngallery: figures/index.html\n")
    assert len(logged(project, "papers.run")) == 4
    assert (project / "figures" / "index.html").is_file()


@pytest.mark.parametrize("jobs", ["many", "0", "1 2", "-1", ""])
def test_a_number_of_jobs_that_is_none_is_refused(project, jobs):
    done = make(project, "reproduce", f"JOBS={jobs}")
    assert done.returncode == 2 and f"JOBS='{jobs}'; expected a number" in done.stderr
    assert not (project / "logged").exists()


@pytest.mark.parametrize("value", VALUES)
def test_variables_are_data(project, value):
    given = [f"{name}={value}" for name in NAMES]
    all_targets = ["--ignore-errors", "--keep-going", *TARGETS]
    make(project, *all_targets, *given)
    make(project, *all_targets, *given, "-n")
    make(project, *all_targets, **dict.fromkeys(NAMES, value))
    make(project, *all_targets, f"VENV={value}", "PYTHON=nowhere")
    assert not list(project.rglob("pwned*"))
    assert f" TRACE={value} " in make(project, "help", *given).stdout
    make(project, "figures/1-eviction", f"TRACE={value}")
    assert f"--trace={value}" in (project / "logged").read_text()
