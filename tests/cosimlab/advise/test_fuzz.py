"""Damaged, absurd and huge documents: a plan, or an error in one sentence; never a traceback."""

import copy
import json
import math
import random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cosimlab.advise import advise, commands_of, document_of, explanation, read_cluster, text_of
from cosimlab.advise.advice import spectrum_of
from cosimlab.advise.command import main
from cosimlib.eviction import InfeasibleEvictionError
from tests.cosimlab.advise.queues import DIALECTS, NOW, Job, machine_of
from tests.suites import ROOT, THOROUGH

ABSURD = (
    None,
    True,
    False,
    0,
    -1,
    -5.5,
    1e300,
    -1e300,
    math.inf,
    -math.inf,
    math.nan,
    2**70,
    "",
    "x",
    "n[1-",
    "n[3-1]",
    "n[1-99999999999]",
    "\ud83d",
    [],
    [None],
    {},
    {"set": True},
    {"set": True, "infinite": True, "number": 0},
    {"set": False, "infinite": False, "number": -1},
    {"set": "yes", "infinite": "no", "number": "4"},
    ["RUNNING"],
    ["COMPLETING", "RUNNING"],
    {"number": {"number": 1}},
    "2026-11-22T08:00:00",
    "n1,n1,n1",
)
MACHINE = machine_of(
    (
        Job(1, ("n1", "n2"), cpus=8, memory=4000),
        Job(2, ("n2",), cpus=1),
        Job(3, ("n3",), left=None, array=(3, 1)),
        Job(4, ("n4",), state="SUSPENDED", resumed=(9, 9)),
        Job(5, ("n5",), state="RUNNING+COMPLETING"),
        Job(6, (), state="PENDING"),
        Job(7, ("n6",), leader=7),
        Job(8, ("n7",), leader=7, offset=1),
    ),
    9,
    n8=("IDLE", "DRAIN"),
)


def damage(document, random_):
    """Replace, remove or nest a few values anywhere."""
    for _ in range(random_.randint(1, 4)):
        place = document
        for _ in range(random_.randint(1, 7)):
            inner = list(place) if isinstance(place, dict) else range(len(place))
            deeper = [key for key in inner if isinstance(place[key], dict | list) and place[key]]
            if not deeper:
                break
            place = place[random_.choice(deeper)]
        keys = list(place) if isinstance(place, dict) else list(range(len(place)))
        if not keys:
            continue
        key = random_.choice(keys)
        if random_.random() < 0.2:
            del place[key]
        else:
            place[key] = copy.deepcopy(random_.choice(ABSURD))


def all_of(cluster) -> None:
    """Everything that can be asked for; errors must be of the caller's input."""
    for needed in (2, 8):
        advice = advise(needed, cluster, within=120)
        text_of(advice)
        explanation(advice)
        json.dumps(document_of(advice), allow_nan=False)
        if advice.choice().possible:
            commands_of(advice)
    spectrum_of(advice)


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow], max_examples=50)
@given(st.integers(0, 2**32), st.sampled_from(DIALECTS))
def test_damaged_documents_give_a_plan_or_an_error(tmp_path_factory, seed, dialect):
    folder, random_ = tmp_path_factory.mktemp("fuzz"), random.Random(seed)
    paths = []
    for name, document in (("squeue", MACHINE.squeue(dialect)), ("sinfo", MACHINE.sinfo(dialect))):
        if random_.random() < 0.7:
            damage(document, random_)
        path = folder / f"{name}.json"
        path.write_bytes(json.dumps(document).encode("utf-8", "surrogatepass"))
        paths.append(path)
    try:
        all_of(read_cluster(*paths, now=None if dialect == "24.11" else NOW))
    except ValueError as error:
        assert str(error) and not isinstance(error, InfeasibleEvictionError), error
        assert type(error).__name__ in ("TraceError", "ValueError"), repr(error)


@settings(deadline=None, max_examples=40)
@given(st.sampled_from(DIALECTS), st.data())
def test_real_documents_cut_or_overwritten_anywhere(tmp_path_factory, dialect, data):
    folder = ROOT / "tests" / "data" / f"slurm-{dialect}"
    content = bytearray((folder / "squeue-2.json").read_bytes())
    place = data.draw(st.integers(0, len(content) - 1))
    if data.draw(st.booleans()):
        del content[place:]
    else:
        content[place : place + data.draw(st.integers(1, 30))] = data.draw(st.binary(max_size=30))
    path = tmp_path_factory.mktemp("cut") / "squeue.json"
    path.write_bytes(bytes(content))
    try:
        text_of(advise(1, read_cluster(path, folder / "sinfo.json", now=1795304561)))
    except ValueError as error:
        assert "squeue.json" in str(error)


def test_a_hundred_thousand_jobs(tmp_path, capsys, dialect="24.11"):
    """A tenth of them run on shared nodes, the others wait; by day there are twenty thousand."""
    running = 10_000 if THOROUGH else 2_000
    jobs = [
        Job(n, (f"n{n // 4}",), ran=60 + n % 7000, left=600 + n % 9000, cpus=1)
        for n in range(4, running + 4)
    ]
    one = json.dumps(MACHINE.squeue(dialect)["jobs"][5])
    document = machine_of(tuple(jobs), 2510).squeue(dialect)
    text = json.dumps(document)
    assert text.count('"jobs": [') == 1
    text = text.replace('"jobs": [', '"jobs": [' + f"{one}, " * (9 * running), 1)
    paths = machine_of(tuple(jobs), 2510).save(tmp_path, dialect)[1:]
    (tmp_path / "squeue.json").write_text(text)
    status = main(["100", str(tmp_path / "squeue.json"), *paths, "--now", str(NOW)])
    told = capsys.readouterr().out
    assert status == 0 and f"{running:,} on nodes, {9 * running:,} waiting" in told


def test_ten_thousand_jobs_that_all_hold_several_nodes_have_a_proven_plan(tmp_path):
    """The least loss of 64 nodes by hand: the cheapest 32 jobs of two nodes each."""
    jobs = tuple(
        Job(n, (f"n{2 * n}", f"n{2 * n + 1}"), ran=3600 + n, left=9000) for n in range(1, 10_001)
    )
    cluster = read_cluster(*machine_of(jobs, 20_001).save(tmp_path))
    advice = advise(65, cluster, within=300)
    assert advice.free == 1 and advice.table()["proven"].all()
    assert advice.choice().loss == pytest.approx(sum(2 * (3600 + n) / 3600 for n in range(1, 33)))
    assert sorted(advice.jobs()["job_id"]) == list(range(1, 33))
