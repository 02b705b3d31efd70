"""The command as an operator types it: text, JSON, commands, reasons, figure, watch."""

import contextlib
import json
import os
import pty
import select
import shlex
import shutil
import string
import subprocess
import sys
import time
import tomllib
from pathlib import Path

import pytest

from cosimlab.advise import advise, commands_of, document_of, explanation, read_cluster, text_of
from cosimlab.advise.advice import MOST_ROWS, deadlines_of
from cosimlab.advise.checkpoints import model_of
from cosimlab.advise.command import FROM, UNLESS_FAILED, main
from tests.cosimlab.advise import printed
from tests.cosimlab.advise.queues import Job, Machine, Node, machine_of
from tests.suites import ROOT

SAVED = [str(ROOT / "docs" / "advise" / name) for name in ("squeue.json", "sinfo.json")]
HARMLESS = {*string.ascii_letters, *string.digits, *"# .,:_/%+-=@"}
MODEL = str(ROOT / "docs" / "advise.example.toml")
MACHINE = {"aggregate_bandwidth": 1.0, "node_bandwidth": 1.0}


def run(capsys, *arguments: str) -> tuple[int, str, str]:
    """Status, output and errors."""
    status = main(arguments)
    told = capsys.readouterr()
    return status, told.out, told.err


def test_the_script_is_installed():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert project["scripts"]["cosim-advise"] == "cosimlab.advise.command:main"


def test_the_last_deadline_or_the_one_asked_for(capsys):
    status, text, _ = run(capsys, "16", *SAVED, "--by", "2m")
    assert status == 0 and "\nby 2 min: stop " in text
    status, _, errors = run(capsys, "16", *SAVED, "--by", "1h")
    assert status == 1 and "--by='1h'; expected at most 15m, which is --within" in errors


def test_json_holds_what_the_table_says(capsys):
    status, text, _ = run(capsys, "16", *SAVED, "--model", MODEL, "--json")
    document = json.loads(text)
    advice = advise(16, SAVED, model=MODEL)
    table = advice.table()
    assert status == 0 and document["format"] == "cosim-advise 2"
    for row, expected in zip(document["deadlines"], table.to_dict("records"), strict=True):
        assert {name: row[name] for name in expected} == expected
        assert row["jobs"] == advice.jobs(row["deadline"]).to_dict("records")
    assert document["deadlines"][0]["nodes free now"] == "g8,n[38-39]"


def test_impossible_is_said_everywhere(capsys, tmp_path):
    paths = machine_of((Job(1, ("n1",)),), 2, n2=("DOWN",)).save(tmp_path)
    status, text, _ = run(capsys, "2", *paths)
    assert status == 3 and "1 node at most" in text and "impossible, 1 node at most" in text
    status, text, _ = run(capsys, "2", *paths, "--json")
    assert status == 3 and json.loads(text)["deadlines"][0]["loss"] is None
    status, text, errors = run(capsys, "2", *paths, "--commands")
    assert (status, text) == (3, "") and "nodes_needed=2; expected at most 1" in errors
    status, text, _ = run(capsys, "2", *paths, "--explain")
    assert "no set of jobs is enough" in text


def test_commands_come_in_time_and_match_what_slurm_may_do(tmp_path):
    """A system checkpoint of 100 s, an own one reached in 200 s, a kill; one is not requeued."""
    kinds = [
        {
            "name": "s",
            "job_name": "s",
            "checkpoint": ["sys"],
            "memory": 100.0,
            "checkpoint_command": "dump --of {job}",
        },
        {"name": "a", "job_name": "a", "checkpoint": ["app"], "interval": 1000, "memory": 10.0},
    ]
    jobs = (
        Job(1, ("n1",), 9000, name="s"),
        Job(2, ("n2",), 9800, name="a", requeue=False),
        Job(3, ("n3",), 60),
        Job(11, ("n4",), 60, leader=11),
        Job(12, ("n5",), 60, leader=11, offset=1),
    )
    cluster = read_cluster(*machine_of(jobs, 5).save(tmp_path))
    model = model_of({"machine": MACHINE, "application": kinds})
    lines = commands_of(advise(5, cluster, model=model, within=360))
    assert lines == [
        "# queue of example: 5 nodes within 6 min, 0.05 node-hours of work lost",
        "# all lines may be pasted at once: the block in brackets waits for the time of each step",
        "# Ctrl-C ends it: what was stopped by then stays stopped",
        "cosim_burst_over() {",
        "scontrol release 3,11,1",
        "}",
        "(",
        "begin=$(date +%s)",
        FROM,
        "failed=",
        UNLESS_FAILED,
        "echo 'job 3 of user ann is stopped, loses 0.0167 node-hours'",
        "scontrol requeuehold 3",
        "echo 'job 11 of user ann is stopped, loses 0.0167 node-hours'",
        "scontrol requeuehold 11",
        "echo 'waits until 1 min after the beginning'",
        "from 60",
        "echo 'job 1: system-level checkpoint'",
        "{ dump --of 1",
        '} || failed="$failed 1 "',
        "echo 'waits until 3 min after the beginning'",
        "from 180",
        "echo 'job 1 of user ann is stopped, after its checkpoint'",
        "unless_failed 1 scontrol requeuehold 1",
        "echo 'waits until 3.3 min after the beginning'",
        "from 200",
        "echo 'job 2 reaches its own checkpoint: Ctrl-C if it is not written'",
        "echo 'waits until 4 min after the beginning'",
        "from 240",
        "echo 'job 2 of user ann is stopped, after its checkpoint'",
        "scancel 2",
        "echo 'done: once the burst is over, type cosim_burst_over'",
        ") </dev/null",
    ]


SHELLS = [shell for shell in ("bash", "zsh", "dash") if shutil.which(shell)]
TOLD = """#!/bin/sh
echo "$(cat "$CLOCK") $(basename "$0") $*" >>"$LOG"
case " $FAILS " in *" $(basename "$0") "*) exit 1 ;; esac
"""
CLOCK = {
    "date": '#!/bin/sh\ncat "$CLOCK"\n',
    "sleep": '#!/bin/sh\necho $(($(cat "$CLOCK") + $1)) >"$CLOCK"\n',
}


def pasted(folder, lines, shell, *, fails="", interactive=False):
    """What Slurm is told, each with its second, when lines are pasted at once into a shell.

    Slurm's commands and the clock are made up; a command that `fails` does nothing.
    """
    place = folder / f"{shell}{fails}{interactive}"
    place.mkdir()
    texts = CLOCK | dict.fromkeys(("scontrol", "scancel", "dump"), TOLD)
    for name, text in texts.items():
        (place / name).write_text(text, encoding="utf-8")
        (place / name).chmod(0o755)
    log, clock = place / "log", place / "clock"
    log.write_text("", encoding="utf-8")
    clock.write_text("1000\n", encoding="utf-8")
    environment = {**os.environ, "LOG": str(log), "CLOCK": str(clock), "FAILS": fails}
    environment |= {"PATH": f"{place}:{os.environ['PATH']}", "ZDOTDIR": str(place), "TERM": "dumb"}
    text = "\n".join([*lines, ""])
    subprocess.run([shell, "-n"], input=text, text=True, check=True)
    if interactive:
        typed_into(shell, text, environment)
    else:
        knobs = {"env": environment, "timeout": 60, "start_new_session": True}
        subprocess.run([shell], input=text, text=True, check=False, **knobs)
    return [
        f"{int(line.split()[0]) - 1000} {line.partition(' ')[2]}"
        for line in log.read_text(encoding="utf-8").splitlines()
    ]


def typed_into(shell, text, environment):
    """Paste a text into an interactive shell on a terminal of its own, and leave it."""
    child, terminal = pty.fork()
    if child == 0:
        quiet = {"bash": ["--norc", "-i"], "zsh": ["-f", "-i"]}.get(shell, ["-i"])
        os.execvpe(shell, [shell, *quiet], environment)
    shown = b""

    def wait_for(said):
        nonlocal shown
        until = time.monotonic() + 60
        while said not in shown and time.monotonic() < until:
            if select.select([terminal], [], [], 1)[0]:
                shown += os.read(terminal, 65536)
        assert said in shown, shown.decode(errors="replace")

    os.write(terminal, b"echo rea''dy\n")
    wait_for(b"ready")
    os.write(terminal, text.encode() + b"echo aft''erwards\n")
    wait_for(b"afterwards")
    os.write(terminal, b"exit\n")
    with contextlib.suppress(OSError):  # the terminal's end
        while os.read(terminal, 65536):
            pass
    os.close(terminal)
    os.waitpid(child, 0)


def steps_of_three(tmp_path):
    """A job that is killed at once, one that is checkpointed and stopped later; others wait."""
    kind = {
        "name": "s",
        "job_name": "s",
        "checkpoint": ["sys"],
        "memory": 100.0,
        "checkpoint_command": "dump --of {job}",
    }
    jobs = (Job(1, ("n1",), 9000, name="s"), Job(3, ("n3",), 60), Job(4, (), state="PENDING"))
    cluster = read_cluster(*machine_of(jobs, 3).save(tmp_path))
    model = model_of({"machine": MACHINE, "application": [kind]})
    return commands_of(advise(3, cluster, model=model, within=360), user="ann")


@pytest.mark.parametrize("shell", SHELLS)
@pytest.mark.parametrize("interactive", [False, True])
def test_all_lines_may_be_pasted_at_once(tmp_path, shell, interactive):
    """Each step waits for its time; what ends the burst is not done until it is called."""
    lines = steps_of_three(tmp_path)
    told = pasted(tmp_path, lines, shell, interactive=interactive)
    assert told[0].startswith("0 scontrol create reservation reservationname=cosim-burst ")
    assert told[1:] == [
        "0 scontrol requeuehold 3",
        "0 dump --of 1",
        "120 scontrol requeuehold 1",
    ]


@pytest.mark.parametrize("shell", SHELLS)
def test_the_burst_is_over_when_its_function_is_called(tmp_path, shell):
    lines = [*steps_of_three(tmp_path), "cosim_burst_over"]
    told = pasted(tmp_path, lines, shell)
    assert told[-2:] == [
        "120 scontrol delete reservationname=cosim-burst",
        "120 scontrol release 3,1",
    ]


@pytest.mark.parametrize("shell", SHELLS)
def test_a_step_that_fails_stops_nothing_that_rests_on_it(tmp_path, shell):
    lines = steps_of_three(tmp_path)
    told = pasted(tmp_path, lines, shell, fails="dump")
    assert told[1:] == ["0 scontrol requeuehold 3", "0 dump --of 1"]
    told = pasted(tmp_path, lines, shell, fails="scontrol")
    assert len(told) == 1, "no reservation, and no job is stopped"


@pytest.mark.parametrize("shell", SHELLS)
def test_a_checkpoint_by_hand_is_asked_for(tmp_path, shell):
    """Without a terminal nobody can say that it is written, and the job keeps running."""
    kind = {"name": "s", "job_name": "s", "checkpoint": ["sys"], "memory": 100.0}
    cluster = read_cluster(*machine_of((Job(1, ("n1",), 9000, name="s"),), 1).save(tmp_path))
    model = model_of({"machine": MACHINE, "application": [kind]})
    lines = commands_of(advise(1, cluster, model=model, within=360))
    assert "written 1 && scontrol requeuehold 1" in lines
    assert "echo 'job 1: take a system-level checkpoint here'" in lines
    assert pasted(tmp_path, lines, shell) == []


def test_a_job_of_salloc_is_cancelled_and_counts_as_killed(tmp_path):
    """Slurm requeues jobs of sbatch only; this one would have been checkpointed for 0."""
    kinds = [{"name": "s", "job_name": "s", "checkpoint": ["sys"], "memory": 10.0}]
    model = model_of({"machine": MACHINE, "application": kinds})
    for batch, command, loss in ((True, "scontrol requeuehold 1", 0), (False, "scancel 1", 2.5)):
        folder = tmp_path / command.split()[0]
        folder.mkdir()
        jobs = (Job(1, ("n1",), 9000, name="s", batch=batch),)
        advice = advise(1, read_cluster(*machine_of(jobs, 1).save(folder)), model=model, within=360)
        assert advice.choice().loss == loss
        assert any(line.endswith(command) for line in commands_of(advice))


def test_where_jobs_wait_the_nodes_are_reserved_first(tmp_path):
    jobs = (Job(1, ("n1",), 60), Job(2, (), state="PENDING"))
    lines = commands_of(advise(2, read_cluster(*machine_of(jobs, 2).save(tmp_path)), within=0))
    reserve = "scontrol create reservation reservationname=cosim-burst starttime=now "
    assert lines[1].startswith("# this reserves 2 nodes for 1 h: 2.00 node-hours that waiting jobs")
    assert lines[2] == "# start the burst with --reservation=cosim-burst"
    knobs = 'duration=0-01:00:00 users="$(id -un)" flags=ignore_jobs nodes='
    assert lines.index(f"{reserve}{knobs}'n[1-2]' || exit 1") < lines.index(
        "scontrol requeuehold 1"
    )
    over = lines.index("cosim_burst_over() {")
    assert lines[over + 1 : over + 4] == [
        "scontrol delete reservationname=cosim-burst",
        "scontrol release 1",
        "}",
    ]
    held = (Job(1, ("n1",), 60), Job(2, (), state="PENDING", reason="JobHeldUser"))
    folder = tmp_path / "held"
    folder.mkdir()
    lines = commands_of(advise(2, read_cluster(*machine_of(held, 2).save(folder)), within=0))
    assert not any("reservation" in line for line in lines)


def test_names_of_users_steer_neither_terminal_nor_shell(tmp_path, capsys):
    """Control characters, newlines and commands in names stay text."""
    evil = "x\n\033[2Jscancel 1; rm -rf\r\u202e"
    job = Job(7, ("n1",), name=evil, user=evil, account=evil)
    paths = machine_of((job,), 1).save(tmp_path)
    for options in ([], ["--explain"], ["--commands"]):
        _, text, _ = run(capsys, "1", *paths, *options)
        assert "\033" not in text and "\r" not in text and "\u202e" not in text
        assert not any(line.startswith("\x1b") for line in text.splitlines())
    commands = [line for line in text.splitlines() if line.startswith("sc")]
    assert commands == ["scontrol release 7", "scontrol requeuehold 7"]
    said = [line for line in text.splitlines() if line.startswith("echo ")]
    assert all(set(shlex.split(line)[1]) <= HARMLESS for line in said) and len(said) == 2
    # An interactive zsh runs comments, too: they hold nothing that it would act on.
    assert all(set(line) <= HARMLESS for line in text.splitlines() if line.startswith("#"))
    _, text, _ = run(capsys, "1", *paths, "--json")
    assert json.loads(text)["deadlines"][0]["jobs"][0]["name"] == evil


def test_reasons_are_differences_of_least_losses(tmp_path):
    """Two of three nodes: 1 and 2 node-hours are lost; the third job would lose 3."""
    jobs = tuple(Job(n, (f"n{n}",), 3600 * n) for n in (1, 2, 3))
    advice = advise(2, read_cluster(*machine_of(jobs, 3).save(tmp_path)), within=0)
    told = explanation(advice)
    assert "The least loss is 3.00 node-hours" in told
    assert (
        "job 1 (job), 1 node: kill now, 1.00 node-hours lost; without it the least loss is "
        "2.00 node-hours more" in told
    )
    assert (
        "job 3 (job), 1 node: killed, it loses 3.00 node-hours; no checkpoint is known; with "
        "it killed, the least loss is 1.00 node-hours more" in told
    )
    assert "without it the nodes cannot be had" in explanation(advise(3, advice.cluster, within=0))


def test_reasons_where_nothing_is_stopped(tmp_path):
    cluster = read_cluster(*machine_of((Job(1, ("n1",)),), 2).save(tmp_path))
    assert "that is enough, and no job has to be stopped" in explanation(advise(1, cluster))


def test_a_figure_is_written_whole(capsys, tmp_path):
    page = tmp_path / "loss.html"
    status, _, errors = run(capsys, "8", *SAVED, "--within", "3m", "--html", str(page))
    assert status == 0 and "loss.html" in errors
    text = page.read_text(encoding="utf-8")
    assert "plotly" in text and "nodes needed" in text
    assert [path.name for path in tmp_path.iterdir()] == ["loss.html"]


def test_a_figure_without_plotly_says_what_to_install(capsys, monkeypatch, tmp_path):
    for name in ("cosimlab.figures.eviction", "cosimlab.figures.publishing"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    monkeypatch.setitem(sys.modules, "plotly", None)
    monkeypatch.setitem(sys.modules, "plotly.graph_objects", None)
    page = tmp_path / "loss.html"
    status, _, errors = run(capsys, "8", *SAVED, "--within", "3m", "--html", str(page))
    assert status != 0 and not page.exists()
    assert 'pip install "cosimlib[figures]"' in errors


def test_watching_goes_on_after_a_failure_until_it_is_stopped(capsys, tmp_path, monkeypatch):
    paths = machine_of((Job(1, ("n1",)),), 1).save(tmp_path)
    whole = (tmp_path / "squeue.json").read_text()
    naps = []

    def nap(seconds: float) -> None:
        naps.append(seconds)
        (tmp_path / "squeue.json").write_text("{" if len(naps) == 1 else whole)
        if len(naps) == 3:
            raise KeyboardInterrupt

    monkeypatch.setattr(time, "sleep", nap)
    status, text, errors = run(capsys, "1", *paths, "--watch", "60")
    assert status == 0 and naps == [60.0] * 3
    assert text.count("stop 1 job") == 2 and "not JSON" in errors
    status, _, errors = run(capsys, "1", "-", "--watch", "60")
    assert status == 1 and "expected no - beside it" in errors


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["0", *SAVED], "nodes=0; expected a whole number from 1"),
        (["1", *SAVED, "--within", "soon"], "--within='soon'"),
        (["1", *SAVED, "--step", "0"], "--step=0.0; expected seconds above 0"),
        (["1", *SAVED, "--step", "0.001s", "--within", "9d"], "take a longer step"),
        (["1", *SAVED, "--within", "1000d"], "--within='1000d'; expected at most 1,000,000 steps"),
        (["1", *SAVED, "--by", "2h"], "--by='2h'; expected at most 15m, which is --within"),
        (["1", "-", "-"], "standard input is given twice, and can be read only once; save one"),
        (["1", *SAVED, "--when", "1h", "--history", "nofile"], "no file at nofile; give the path"),
        (["1", *SAVED, "--partition", "none"], "no partition 'none'; there are: gpu, main"),
        (["1", *SAVED, "--constraint", "("], "expected features joined"),
        (["1", *SAVED, "--duration", "4h"], "--duration='4h'; expected --commands beside it"),
        (["1", *SAVED, "--user", "eve"], "--user='eve'; expected --commands beside it"),
        (["1", *SAVED, "--commands", "--user", ""], "--user=''; expected the name of a user"),
        (["1", *SAVED, "--commands", "--user", "a b;rm"], "--user='a b;rm'; expected the name"),
        (["1", *SAVED, "--commands", "--duration", "-1h"], "--duration='-1h'; expected seconds"),
        (["1", *SAVED, "--html", "nowhere/loss.html"], "there is no folder nowhere"),
        (["1", *SAVED, "--model", "nowhere.toml"], "nowhere.toml: No such file"),
        (["1", "nowhere.json"], "nowhere.json: No such file"),
    ],
)
def test_errors_name_the_argument(capsys, arguments, expected):
    status, text, errors = run(capsys, *arguments)
    assert (status, text) == (1, "")
    assert errors.startswith("cosim-advise: ") and expected in errors
    assert len(errors.splitlines()) == 1


def test_standard_input_and_a_reader_that_goes_away():
    program = [sys.executable, "-m", "cosimlab.advise", "4", "-", SAVED[1]]
    with Path(SAVED[0]).open("rb") as file:
        done = subprocess.run(program, stdin=file, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0 and done.stderr == ""
    assert done.stdout.startswith("4 nodes within 15 min\n")
    program[-2:] = SAVED
    with subprocess.Popen(program, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        process.stdout.close()
        errors = process.stderr.read()
    assert (process.returncode, errors) == (0, b"")


def test_an_empty_machine_and_one_without_jobs(tmp_path):
    cluster = read_cluster(*Machine((), (Node("n1"), Node("n2"))).save(tmp_path))
    advice = advise(2, cluster)
    assert advice.table()["loss"].tolist() == [0.0] * 16
    assert "stop no job" in text_of(advice) and document_of(advice)["possible"]


def test_the_page_shows_what_its_commands_print():
    assert printed.printed() == printed.PAGE.read_text(encoding="utf-8"), (
        "run: python -m tests.cosimlab.advise.printed"
    )


def test_a_reservation_has_the_nodes_asked_for_free_ones_first(tmp_path):
    """Of eight nodes three are free; a job of four ends in time, two others are stopped for one."""
    jobs = (
        Job(1, ("n1", "n2", "n3", "n4"), left=30),
        Job(2, ("n5",), 7200),
        Job(3, (), state="PENDING"),
    )
    cluster = read_cluster(*machine_of(jobs, 8).save(tmp_path))
    wanted = {1: "n6", 3: "'n[6-8]'", 5: "'n[1-2,6-8]'", 8: "'n[1-8]'"}
    for nodes, names in wanted.items():
        lines = commands_of(advise(nodes, cluster), 600, lasts=7200, user="ann b")
        (made,) = (line for line in lines if line.startswith("scontrol create"))
        assert made.endswith(f"nodes={names} || exit 1"), made
        assert "duration=0-02:10:00 users='ann b'" in made
        assert "#" not in made and f"reserves {nodes} node" in lines[1]
        assert ("scontrol requeuehold 2" in lines) == (nodes == 8)


def test_no_work_lost_is_never_said_without_what_is_blocked(capsys):
    status, text, _ = run(capsys, "1", *SAVED, "--commands", "--duration", "1d", "--user", "eve")
    lines = text.splitlines()
    assert status == 0 and lines[0].endswith("0 node-hours of work lost")
    assert "24.2 node-hours that waiting jobs cannot use" in lines[1].replace("24.25", "24.2")
    (made,) = (line for line in lines if line.startswith("scontrol create"))
    assert "duration=1-00:15:00 users=eve" in made and "nodes=n38 " in made


def test_deadlines_in_a_row_with_the_same_plan_have_one_line(tmp_path):
    """One of the jobs ends by itself within three minutes."""
    jobs = (Job(1, ("n1",), left=150), Job(2, ("n2",), left=86_400))
    paths = machine_of(jobs, 2).save(tmp_path)
    _, table, *_ = text_of(advise(1, read_cluster(*paths), within=300)).split("\n\n")
    deadlines = [line.strip().partition("  ")[0] for line in table.splitlines()]
    assert deadlines == ["deadline", "now to 2 min", "3 min to 5 min"]


def test_a_week_has_at_most_twenty_deadlines_and_the_one_asked_for(capsys):
    began = time.process_time()
    status, text, _ = run(capsys, "8", *SAVED, "--within", "7d", "--by", "90m")
    assert status == 0 and time.process_time() - began < 15
    assert "24 h to 7 days " in text and "\nby 1.5 h: " in text
    assert len(text.splitlines()) < 60
    _, text, _ = run(capsys, "8", *SAVED, "--within", "7d", "--by", "90m", "--json")
    deadlines = [row["deadline"] for row in json.loads(text)["deadlines"]]
    assert 5 <= len(deadlines) <= 20 and 5400 in deadlines


@pytest.mark.parametrize(
    ("within", "step", "number", "second"),
    [(900, 60, 16, 60), (1140, 60, 20, 60), (1200, 60, 11, 120), (604_800, 60, 15, 43_200)],
)
def test_deadlines_are_even_and_end_with_the_last(within, step, number, second):
    deadlines = deadlines_of(within, step)
    assert (len(deadlines), deadlines[1], deadlines[-1]) == (number, second, within)
    odd = deadlines_of(1000, 7)
    assert len(odd) <= MOST_ROWS and odd[-1] == 994 and set(odd % 7) == {0}
    assert 49 in deadlines_of(1000, 7, by=50)
