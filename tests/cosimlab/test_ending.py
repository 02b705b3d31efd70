"""How commands end: outputs that are no inputs, errors of one line, Ctrl-C, and any encoding."""

import gzip
import json
import os
import signal
import subprocess
import sys
from functools import partial
from importlib import import_module
from pathlib import Path

import pytest

from cosimlab import app, launch, zoo
from cosimlab.advise import command as advise
from cosimlab.ending import status_of
from cosimlab.identify import command as identify
from cosimlab.report import command as report
from cosimlab.slurm import command as slurm
from tests.cosimlab.advise.test_command import MODEL, SAVED
from tests.zoo import odd

convert = import_module("cosimlab.convert")  # the package has the function under this name
STARTS = "submit_time,run_time,requested_time,nodes,start_time\n0,10,10,3,0\n1,10,10,3,11\n"
COMMANDS = {
    "cosim-advise": advise.main,
    "cosim-report": report.main,
    "cosim-slurm": slurm.main,
    "convert": convert.main,
    "identify": identify.main,
    "zoo": zoo.main,
}


@pytest.fixture
def log(tmp_path):
    path = tmp_path / "log.swf"
    path.write_bytes(gzip.decompress(Path(odd("three-jobs")).read_bytes()))
    return path


@pytest.fixture
def starts(tmp_path):
    path = tmp_path / "jobs.csv"
    path.write_text(STARTS)
    return path


def said(capsys) -> str:
    """The one line of an error."""
    (line,) = capsys.readouterr().err.splitlines()
    return line


def test_no_command_writes_over_what_it_reads(log, starts, tmp_path, capsys):
    queue, model, policy = tmp_path / "sq.json", tmp_path / "m.toml", tmp_path / "zoo.csv"
    queue.write_bytes(Path(SAVED[0]).read_bytes())
    model.write_bytes(Path(MODEL).read_bytes())
    policy.write_bytes(log.read_bytes())
    linked = tmp_path / "link.html"
    linked.symlink_to(log)
    files = [str(queue), SAVED[1]]
    asked = [str(starts), "--nodes", "4"]
    for main, arguments, target in (
        (report.main, [str(log), "-o", str(log)], log),
        (report.main, [str(log), "-o", str(linked)], linked),
        (advise.main, ["2", *files, "--html", str(queue)], queue),
        (advise.main, ["2", *files, "--model", str(model), "--html", str(model)], model),
        (identify.main, [*asked, "--table", str(starts)], starts),
        (identify.main, [*asked, "--figure", str(starts)], starts),
        (zoo.main, [str(policy), "--out", str(tmp_path)], policy),
        (convert.main, [str(log), str(log)], log),
    ):
        before = target.read_bytes()
        assert main(arguments) == 1
        assert f"{target}: the target is the source " in said(capsys)
        assert target.read_bytes() == before


def test_no_command_replaces_a_pipe(log, starts, tmp_path, capsys):
    pages, table = tmp_path / "pipe.html", tmp_path / "pipe.csv"
    for path in (pages, table):
        os.mkfifo(path)
    for main, arguments in (
        (report.main, [str(log), "-o", str(pages)]),
        (advise.main, ["2", *SAVED, "--html", str(pages)]),
        (identify.main, [str(starts), "--figure", str(pages)]),
        (identify.main, [str(starts), "--table", str(table)]),
        (convert.main, [str(log), str(table)]),
    ):
        assert main(arguments) == 1
        assert "is no regular file; give another name" in said(capsys)
    assert pages.is_fifo() and table.is_fifo()


def test_a_page_with_the_name_of_something_else_is_refused_at_once(log, tmp_path, capsys):
    wrong = str(tmp_path / "page.pdf")
    assert report.main([str(log), "-o", wrong]) == 1
    assert "--output='" in (line := said(capsys)) and "ends in .html or .htm" in line
    assert advise.main(["2", *SAVED, "--html", wrong]) == 1
    assert "--html='" in said(capsys)
    assert not Path(wrong).exists()


def test_options_are_checked_before_the_work_and_by_their_names(log, starts, tmp_path, capsys):
    huge, page = "1" + "0" * 23, ["-o", str(tmp_path / "page.html")]
    most = "expected a whole number from 1 to 1,099,511,627,776"
    figure = str(tmp_path / "w.html")
    for main, arguments, expected in (
        (report.main, [str(log), "--nodes", huge], f"--nodes={huge}; {most}"),
        (report.main, [str(log), "--cores", "0"], f"--cores=0; {most}"),
        (report.main, [str(log), "--memory", "nan"], "--memory=nan; expected GB above 0"),
        (report.main, [str(log), "--seed", "-1"], "--seed=-1; expected a whole number from 0"),
        (identify.main, [str(starts), "--nodes", huge], f"--nodes={huge}; {most}"),
        (
            identify.main,
            [str(starts), "--figure", figure, "--table", figure],
            "expected another file than that of --figure",
        ),
        (zoo.main, [str(log), "--nodes", huge], f"--nodes={huge}; {most}"),
        (zoo.main, [str(log), "--replicates", "1"], "--replicates=1; expected a whole number"),
        (
            convert.main,
            [str(log), "new.csv", "--cores-per-node", "0"],
            f"--cores-per-node=0; {most}",
        ),
        (convert.main, [str(log), str(tmp_path / "none" / "x.csv")], "there is no folder"),
        (advise.main, ["2", *SAVED, "--when", "999d"], "--when='999d'; expected at most 366d"),
    ):
        given = [*arguments, *page] if main is report.main else arguments
        assert main(given) == 1
        assert expected in said(capsys)


@pytest.mark.parametrize("name", COMMANDS)
def test_ctrl_c_is_one_word(name, log, starts, monkeypatch, capsys):
    def stop(*_, **__):
        raise KeyboardInterrupt

    for module, function in (
        (report, "open_log"),
        (advise, "read_cluster"),
        (slurm, "read_site"),
        (convert, "convert"),
        (identify, "identify"),
        (zoo, "zoo_logs"),
    ):
        monkeypatch.setattr(module, function, stop)
    arguments = {
        "cosim-advise": ["2", *SAVED],
        "cosim-report": [str(log)],
        "cosim-slurm": ["site", "--jobs", "sacct.txt"],
        "convert": [str(log), "new.csv"],
        "identify": [str(starts), "--nodes", "4"],
        "zoo": [str(log)],
    }
    assert COMMANDS[name](arguments[name]) == 130
    assert capsys.readouterr().err.splitlines()[-1] == "interrupted"


@pytest.mark.parametrize("module", ["report", "identify", "zoo"])
def test_ctrl_c_during_imports_is_one_word(module):
    program = (
        "import sys, runpy\n"
        f"sys.orig_argv[:] = ['python', '-m', 'cosimlab.{module}']\n"
        "class Stop:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        "        if name == 'pandas':\n"
        "            raise KeyboardInterrupt\n"
        "sys.meta_path.insert(0, Stop())\n"
        f"runpy.run_module('cosimlab.{module}', run_name='__main__')\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stderr == "interrupted\n" and done.stdout == ""
    assert done.returncode == -signal.SIGINT


def test_other_errors_during_imports_are_python_s_own():
    program = (
        "import sys; sys.orig_argv[:] = ['python', '-m', 'cosimlab.report']\n"
        "import cosimlab\nraise LookupError('lost')"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert "Traceback" in done.stderr and done.stderr.endswith("LookupError: lost\n")


def run(*arguments, **variables) -> subprocess.CompletedProcess:
    return subprocess.run(
        [sys.executable, "-m", *map(str, arguments)],
        capture_output=True,
        env={**os.environ, **variables},
        timeout=600,
    )


def test_words_are_written_in_any_encoding(log, tmp_path):
    page = tmp_path / "page.html"
    ascii_only = {"PYTHONIOENCODING": "ascii"}
    done = run("cosimlab.report", log, "-o", page, "--budget", "1", **ascii_only)
    assert (done.returncode, page.is_file()) == (0, True), done.stderr
    done = run("cosimlab.advise", "2", *SAVED, **ascii_only)
    assert done.returncode == 0 and done.stdout.isascii()
    named = Path(SAVED[0]).read_text(encoding="utf-8").replace('"example"', '"Zür–ich"')
    queue = tmp_path / "squeue.json"
    queue.write_text(named, encoding="utf-8")
    done = run("cosimlab.advise", "2", queue, SAVED[1], "--json", **ascii_only)
    assert json.loads(done.stdout)["cluster"] == "Zür–ich"


def test_names_that_are_no_text_are_read_and_written(log, tmp_path):
    odd_log = Path(os.fsdecode(os.fsencode(tmp_path) + b"/l\xf6g.swf"))
    odd_page = Path(os.fsdecode(os.fsencode(tmp_path) + b"/p\xe4ge.html"))
    log.rename(odd_log)
    done = run("cosimlab.report", odd_log, "-o", odd_page, "--budget", "1")
    assert done.returncode == 0, done.stderr
    assert "l\N{REPLACEMENT CHARACTER}g" in odd_page.read_text(encoding="utf-8")
    done = run("cosimlab.report", odd_page.with_name("n\udcf6.swf"))
    assert (
        done.returncode == 1 and b"no trace at " in done.stderr and rb"n\udcf6.swf" in done.stderr
    )


def test_a_reader_that_has_read_enough_is_no_error(log, tmp_path):
    program = [sys.executable, "-m", "cosimlab.convert", str(log), str(tmp_path / "x.csv")]
    with subprocess.Popen(program, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        process.stdout.close()
        errors = process.stderr.read()
    assert (process.returncode, errors) == (0, b"")


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (PermissionError(13, "Permission denied", "a.swf"), "a.swf: permission denied; give"),
        (OSError(28, "No space left on device", "b"), "b: no space left on device; give"),
        (MemoryError(), "memory is full"),
        (ValueError("a.swf: line 1 has x=2; expected 1"), "a.swf: line 1 has x=2; expected 1"),
    ],
)
def test_errors_are_one_line_without_a_number(error, text, capsys):
    def fail():
        raise error

    assert status_of("command", fail) == 1
    assert (line := said(capsys)).startswith(f"command: {text}") and "Errno" not in line


def test_commands_for_servers_have_a_help_of_their_own(capsys):
    for module, name in ((app, "app"), (launch, "launch")):
        assert module.main(["--no-browser", "--help"]) == 0
        told = capsys.readouterr().out
        assert told.startswith(f"usage: python -m cosimlab.{name} ") and "checkout" in told


HIDDEN = """
import sys
for package in ("plotly", "kaleido", "ipywidgets", "nbformat", "pyarrow", "voila"):
    sys.modules[package] = None
"""


@pytest.mark.parametrize("module", ["identify", "app"])
def test_help_needs_no_extra(module):
    start = f"{HIDDEN}import runpy\nsys.argv[1:] = ['--help']\n"
    start += f"runpy.run_module('cosimlab.{module}', run_name='__main__')"
    done = subprocess.run([sys.executable, "-c", start], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(f"usage: python -m cosimlab.{module} ")


def test_identify_needs_plotly_for_a_figure_only(starts, tmp_path):
    start = f"{HIDDEN}import runpy\nsys.argv[1:] = {[str(starts), '--nodes', '4']!r} + %s\n"
    start += "runpy.run_module('cosimlab.identify', run_name='__main__')"
    runs = partial(subprocess.run, capture_output=True, text=True)
    done = runs([sys.executable, "-c", start % []])
    assert (done.returncode, done.stderr) == (3, "") and "Identification jobs" in done.stdout
    figure = tmp_path / "witness.html"
    done = runs([sys.executable, "-c", start % ["--figure", str(figure)]])
    expected = 'identify: --figure needs plotly: pip install "cosimlib[figures]"\n'
    assert (done.returncode, done.stderr, done.stdout) == (1, expected, "")
