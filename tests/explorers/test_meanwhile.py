"""Until kernels are compiled another process answers, the same, and never longer than needed."""

import os
import sys
import time
from pathlib import Path

import numba
import pytest

import cosimlib as cs
from cosimlib import compiled, warm
from cosimlib.compiled import BATCH, CONSERVATIVE
from cosimlib.explorers import meanwhile
from cosimlib.explorers.meanwhile import answered_meanwhile, begin, end_interpreter, told
from cosimlib.files import checkout
from cosimlib.policies import BUILT_IN, SIMULATORS
from cosimlib.workload import InvalidWorkloadError

pytestmark = pytest.mark.skipif(
    numba.config.DISABLE_JIT or os.name != "posix", reason="nothing is compiled here"
)


def process_and_mode():
    return os.getpid(), bool(numba.config.DISABLE_JIT)


def here(seconds=60):
    """Whether this is the process that asked; elsewhere after a while."""
    if numba.config.DISABLE_JIT:
        time.sleep(seconds)
    return not numba.config.DISABLE_JIT


def divide(one, other):
    return one / other


class Compiler:
    """A compiling process that ends when a test says so."""

    ended = False

    def __init__(self, command, **options):
        self.command = command

    def poll(self):
        return 0 if self.ended else None


@pytest.fixture
def compilers(alone, monkeypatch, tmp_path):
    """Compiling processes by part; nothing is compiled yet."""
    started = {}
    monkeypatch.setattr(compiled, "cache_folder", lambda: tmp_path)
    monkeypatch.setattr(meanwhile, "_compiling", started)
    monkeypatch.setattr(meanwhile, "count_cores", lambda: 2)
    real = meanwhile.subprocess.Popen

    def start(command, **options):
        return (Compiler if "cosimlib.warm" in command else real)(command, **options)

    monkeypatch.setattr(meanwhile.subprocess, "Popen", start)
    yield started
    end_interpreter()


def test_an_interpreting_process_answers_until_the_part_is_compiled(compilers):
    asked = answered_meanwhile(process_and_mode, BATCH)
    there, interpreted = asked()
    assert there != os.getpid() and interpreted
    assert asked() == (there, True), "the same process answers again"
    assert told() == meanwhile.TOLD
    compilers[BATCH].ended = True
    assert asked() == (os.getpid(), False)
    assert told() == ""
    with pytest.raises(ProcessLookupError):
        os.kill(there, 0)


def test_what_is_compiled_already_is_asked_directly(compilers):
    with compiled.compiling(BATCH):
        pass
    assert answered_meanwhile(process_and_mode, BATCH) is process_and_mode
    assert not compilers


def test_no_process_is_started_where_there_is_one_core(compilers, monkeypatch):
    monkeypatch.setattr(meanwhile, "count_cores", lambda: 1)
    assert answered_meanwhile(process_and_mode, BATCH) is process_and_mode
    assert not compilers


def test_what_the_other_process_cannot_do_is_done_here(compilers):
    assert answered_meanwhile(lambda: os.getpid(), BATCH)() == os.getpid()
    assert answered_meanwhile(lambda: 1, BATCH)() == 1, "and again"
    with pytest.raises(ZeroDivisionError):
        answered_meanwhile(divide, BATCH)(1, 0)
    assert answered_meanwhile(divide, BATCH)(1, other=2) == 0.5


def refuse(value, error):
    raise error(value)


def test_what_is_refused_there_is_refused_and_not_tried_again(compilers):
    for error in (ValueError, MemoryError, InvalidWorkloadError):
        with pytest.raises(error, match=r"^3 at 9$"):
            answered_meanwhile(refuse, BATCH)("3 at 9", error)
    with pytest.raises(RuntimeError):
        answered_meanwhile(refuse, BATCH)("done here again", RuntimeError)


def give_what_cannot_be_sent():
    return lambda: 1


def test_an_answer_that_cannot_be_sent_is_found_here_and_ends_nobody(compilers):
    there, _ = answered_meanwhile(process_and_mode, BATCH)()
    assert answered_meanwhile(give_what_cannot_be_sent, BATCH)()() == 1
    assert answered_meanwhile(process_and_mode, BATCH)() == (there, True)


def folder():
    return Path.cwd()


def test_paths_are_those_of_the_folder_in_which_is_asked(compilers, monkeypatch, tmp_path):
    answered_meanwhile(process_and_mode, BATCH)()
    monkeypatch.chdir(tmp_path)
    assert answered_meanwhile(folder, BATCH)() == tmp_path


def test_nobody_waits_for_an_answer_once_the_part_is_compiled(compilers):
    asked = answered_meanwhile(here, BATCH)
    poll, since = compilers[BATCH].poll, time.monotonic()
    compilers[BATCH].poll = lambda: 0 if time.monotonic() > since + 1 else poll()
    assert asked()


def test_a_part_is_compiled_by_one_process_and_by_a_command_that_there_is(compilers, monkeypatch):
    assert begin(BATCH, CONSERVATIVE) and begin(BATCH)
    assert list(compilers) == [BATCH, CONSERVATIVE]
    interpreter, *options = compilers[CONSERVATIVE].command
    assert interpreter == sys.executable and options[:2] == ["-m", "cosimlib.warm"]
    ran = []
    for part in warm.PARTS:
        monkeypatch.setitem(warm.PARTS, part, lambda part=part: ran.append(part))
    assert warm.main(options[2:]) == 0
    assert set(ran) == warm.NEEDS[CONSERVATIVE] | {CONSERVATIVE} and ran[-1] == CONSERVATIVE


def test_an_explorer_shows_the_same_and_says_that_simulators_are_being_compiled(compilers):
    panel = cs.explore_batch(jobs=40, policy="conservative")
    first, text = panel.picture, panel.text.value
    assert meanwhile.TOLD in panel.told.value
    compilers[BATCH].ended = compilers[CONSERVATIVE].ended = True
    until = time.monotonic() + 60
    while meanwhile.TOLD in panel.told.value and time.monotonic() < until:
        time.sleep(0.1)
    assert meanwhile.TOLD not in panel.told.value, "as soon as it is so, whatever controls do"
    panel.choose(policy="FCFS")
    assert panel.picture != first
    panel.choose(policy="conservative")
    assert panel.picture == first and panel.text.value == text
    assert not meanwhile._interpreters, "nobody needs it any more"


def schedule():
    workload = cs.synthetic.with_scaled_estimates(cs.synthetic.lublin(60, nodes=64, seed=1))
    return cs.simulate_easy(workload, workload.machine)


def saved_queue():
    return [checkout() / "docs" / "advise" / name for name in ("squeue.json", "sinfo.json")]


@pytest.mark.parametrize(
    ("explore", "source", "change"),
    [
        (cs.explore_eviction, schedule, {"solver": "greedy"}),
        (cs.explore_elastic, schedule, {"policy": "LIFO", "nodes": 70}),
        (cs.explore_advise, saved_queue, {"nodes_needed": 3}),
    ],
)
def test_what_solves_for_one_moment_is_interpreted_too(compilers, explore, source, change):
    source = source()
    early = explore(source)
    early.choose(**change)
    assert meanwhile._interpreters and meanwhile.TOLD in early.told.value
    assert " ms" not in early.text.value, "an interpreter's times are not the solver's"
    for compiler in compilers.values():
        compiler.ended = True
    late = explore(source)
    late.choose(**change)
    assert not meanwhile._interpreters
    assert early.picture == late.picture
    assert (" ms" in late.text.value) == ("solver" in change)
    if "solver" not in change:
        assert early.text.value == late.text.value


def test_a_policy_that_a_user_put_in_the_place_of_ours_is_asked_here(compilers, monkeypatch):
    called = []

    def own(name):
        return lambda *given, **knobs: called.append(name) or BUILT_IN[name](*given, **knobs)

    for name in ("EASY", "filling A"):
        monkeypatch.setitem(SIMULATORS, name, own(name))
    cs.explore_batch(jobs=40)
    assert not meanwhile._interpreters
    cs.explore_filling(jobs=40)
    assert called == ["EASY", "filling A"]


def test_without_room_for_processes_all_is_done_here(compilers, monkeypatch):
    def refuse(*_, **__):
        raise BlockingIOError("no more processes")

    begin(BATCH)
    monkeypatch.setattr(meanwhile.subprocess, "Popen", refuse)
    assert answered_meanwhile(process_and_mode, BATCH)() == (os.getpid(), False)
    assert not begin(CONSERVATIVE)
    assert answered_meanwhile(process_and_mode, CONSERVATIVE) is process_and_mode
