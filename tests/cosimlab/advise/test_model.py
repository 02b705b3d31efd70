"""Checkpoint models from TOML: what each key means, and what is refused."""

import math

import numpy as np
import pytest

from cosimlab.advise import CheckpointModel, advise, read_cluster, read_model
from cosimlab.advise.checkpoints import model_of, seconds_of
from tests.cosimlab.advise.queues import Job, machine_of
from tests.suites import ROOT

EXAMPLE = ROOT / "docs" / "advise.example.toml"
MACHINE = {"aggregate_bandwidth": 10.0, "node_bandwidth": 2.0, "memory_per_node": 50.0}


def judged(tmp_path, job: Job, *applications: dict, machine=MACHINE) -> dict:
    """What a model says of one job on nodes n1, n2, …"""
    cluster = read_cluster(*machine_of((job,), max(1, len(job.hosts))).save(tmp_path))
    model = model_of({"machine": machine, "application": list(applications)})
    return advise(1, cluster, model=model).snapshot.judged.iloc[0].to_dict()


def test_checkpoints_by_hand(tmp_path):
    """Three nodes: 20 GB each take max(60 / 10, 20 / 2) = 10 s, 8 GB each max(2.4, 4) = 4 s."""
    job = Job(1, ("n1", "n2", "n3"), ran=4000, name="gmx_a")
    told = {
        "name": "md",
        "job_name": "gmx*",
        "checkpoint": ["app", "sys"],
        "interval": "15m",
        "memory": 20.0,
        "critical": 8.0,
    }
    found = judged(tmp_path, job, told)
    assert found["application"] == "md" and found["evict"]
    assert (found["lost"], found["app_wait"]) == (400.0, 500.0)
    assert (found["app_write"], found["sys_write"]) == (4.0, 10.0)
    del told["critical"]
    assert judged(tmp_path, job, told)["app_write"] == 4.0, "40 % of memory"
    del told["memory"]
    assert judged(tmp_path, job, told)["sys_write"] == 25.0, "the machine's memory: 50 ÷ 2"
    told["node_bandwidth"] = 25.0
    assert judged(tmp_path, job, told)["sys_write"] == 15.0, "150 ÷ 10"
    granted = Job(1, ("n1", "n2"), ran=4000, name="gmx_a", cpus=8, memory=40_000)
    size = 20_000 * 1024**2 / 1e9
    assert judged(tmp_path, granted, told)["sys_write"] == pytest.approx(2 * size / 10)


def test_without_a_size_a_job_can_only_be_killed(tmp_path):
    told = {"name": "any", "job_name": "*", "checkpoint": ["sys"]}
    machine = {"aggregate_bandwidth": 10.0}
    found = judged(tmp_path, Job(1, ("n1",)), told, machine=machine)
    assert math.isinf(found["sys_write"]) and found["lost"] == 3600.0


def test_a_job_with_its_own_checkpoints_loses_what_it_did_since_even_if_suspended(tmp_path):
    told = {"name": "any", "job_name": "*", "checkpoint": ["app"], "interval": 1000}
    job = Job(1, ("n1",), ran=9000, state="SUSPENDED", resumed=(100, 3300))
    found = judged(tmp_path, job, told)
    assert found["lost"] == 300.0
    assert math.isinf(found["app_write"]), "it reaches no checkpoint while it stands"


def test_the_first_application_that_matches_all_patterns_counts(tmp_path):
    kinds = (
        {"name": "one", "job_name": "a*", "account": "lab"},
        {"name": "two", "partition": "ma?n", "user": "ann", "qos": "[mn]*"},
        {"name": "three", "command": "*/run.sh", "evict": False},
    )
    assert judged(tmp_path, Job(1, ("n1",), name="abc"), *kinds)["application"] == "one"
    other = Job(1, ("n1",), name="abc", account="x")
    assert judged(tmp_path, other, *kinds)["application"] == "two"
    third = Job(1, ("n1",), user="bo", command="/opt/run.sh")
    found = judged(tmp_path, third, *kinds)
    assert found["application"] == "three" and not found["evict"]
    assert judged(tmp_path, Job(1, ("n1",), user="bo"), *kinds)["application"] == ""


def test_protected_jobs_stay_and_their_shared_nodes_do_not_count(tmp_path):
    jobs = (Job(1, ("n1",), name="keep"), Job(2, ("n1", "n2")), Job(3, ("n3",)))
    cluster = read_cluster(*machine_of(jobs, 3).save(tmp_path))
    model = model_of({"application": [{"name": "k", "job_name": "keep", "evict": False}]})
    advice = advise(2, cluster, model=model, within=0)
    assert advice.table()["reachable"].tolist() == [2]
    assert advice.jobs()["label"].tolist() == ["2", "3"]


def test_the_example_is_read_and_says_the_defaults():
    model = read_model(EXAMPLE)
    assert [each.name for each in model.applications] == [
        "urgent",
        "molecular dynamics",
        "training",
    ]
    assert model.applications[1].interval == 900.0 and not model.applications[0].evict
    text = EXAMPLE.read_text(encoding="utf-8")
    assert '"1h" if left out' in text
    made = model_of(_one(checkpoint=["app"]))
    assert made.applications[0].interval == 3600.0
    assert CheckpointModel().node_bandwidth == 1.0 and "1.0 if left out" in text
    assert CheckpointModel().memory_per_node is None and "unknown if left out" in text


def _one(**keys) -> dict:
    return {"machine": dict(MACHINE), "application": [{"name": "a", "job_name": "*", **keys}]}


def test_scaling_multiplies_bandwidths_and_intervals():
    model = model_of(_one(checkpoint=["app"], interval=600, node_bandwidth=3.0))
    scaled = model.scaled(bandwidth=2.0, interval=0.5)
    assert (scaled.aggregate_bandwidth, scaled.node_bandwidth) == (20.0, 4.0)
    assert scaled.applications[0].interval == 300.0
    assert scaled.applications[0].node_bandwidth == 6.0


@pytest.mark.parametrize(
    ("told", "expected"),
    [
        ({"machines": {}}, "unknown key 'machines'; expected machine, application"),
        ({"machine": 3}, "value=3"),
        ({"machine": {"aggregate_bandwidth": "fast"}}, "aggregate_bandwidth='fast'; expected GB/s"),
        ({"machine": {"aggregate_bandwidth": math.inf}}, "aggregate_bandwidth=inf"),
        ({"machine": {"node_bandwidth": -1.0}}, "node_bandwidth=-1.0"),
        ({"application": {}}, r"expected tables \[\[application\]\]"),
        ({"application": [{}]}, "application 1: name=None; expected a text"),
        ({"application": [{"name": "a"}]}, r"application 1 \(a\): no pattern; expected one of"),
        (_one(checkpoint=["own"]), r"checkpoint=\['own'\]; expected a list of 'app' and 'sys'"),
        (_one(checkpoint="app"), "checkpoint='app'"),
        (_one(interval="soon"), "interval='soon'; expected seconds, or a duration"),
        (_one(interval=0), "interval=0; expected seconds above 0"),
        (_one(interval=True), "interval=True"),
        (_one(memory=0), "memory=0; expected GB above 0"),
        (_one(evict="no"), "evict='no'; expected True or False"),
        (_one(checkpoint_command="a\nb"), "expected one line of text"),
        (_one(job_name=""), "job_name=''; expected a pattern"),
        (_one(intervall=3), "unknown key 'intervall'"),
        (
            {"application": [{"name": "a", "job_name": "*", "checkpoint": ["sys"]}]},
            "machine has no aggregate_bandwidth",
        ),
    ],
)
def test_what_is_no_model_is_refused(told, expected):
    with pytest.raises(ValueError, match=expected):
        model_of(told, "site.toml")


def test_a_file_that_is_no_toml_is_refused(tmp_path):
    path = tmp_path / "site.toml"
    path.write_text("[machine")
    with pytest.raises(ValueError, match=r"site.toml: not TOML"):
        read_model(path)
    with pytest.raises(ValueError, match="No such file"):
        read_model(tmp_path / "none.toml")


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("900", 900),
        ("90s", 90),
        ("15m", 900),
        ("1h30m", 5400),
        ("1 h 30 min", 5400),
        ("2d", 172_800),
        ("0.5h", 1800),
        (45, 45),
    ],
)
def test_durations(text, seconds):
    assert seconds_of(text, "x") == seconds


@pytest.mark.parametrize("text", ["", "soon", "-5", "5 m s", "inf", "nan", np.nan, None, "1e9"])
def test_no_durations(text):
    with pytest.raises(ValueError, match="x="):
        seconds_of(text, "x")
