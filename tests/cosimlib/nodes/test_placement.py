"""Placement on nodes, one job after the other: against plain rules, and published results."""

import numpy as np
import pandas as pd
import pytest

import cosimlib as cs
from cosimlib.nodes import PLACEMENTS, typical_requests
from cosimlib.nodes.requests import requests_of
from cosimlib.workload import InvalidWorkloadError
from tests.cosimlib.nodes import naive
from tests.cosimlib.nodes.cases import naive_jobs, naive_nodes, random_system, random_workload

DETERMINISTIC = [name for name in PLACEMENTS if name != "random"]


def nodes_and_gpus(placed):
    """(node, GPUs) of each job in order of nodes, as the naive version has them."""
    table = placed.places
    return [
        sorted((node, list(gpus)) for node, gpus in rows[["node", "gpus"]].itertuples(index=False))
        for _, rows in ((job, table[table["job"] == job]) for job in range(len(placed.arrivals)))
    ]


@pytest.mark.parametrize("placement", DETERMINISTIC)
def test_jobs_go_where_the_rule_says(placement):
    for seed in range(12):
        rng = np.random.default_rng(seed)
        system, workload = random_system(rng), random_workload(rng, 20)
        jobs = naive_jobs(workload)
        typical = naive.typical_requests([job[0] for job in jobs for _ in range(job[1])])
        expected = naive.places(naive_nodes(system), [job[:2] for job in jobs], placement, typical)
        expected = [[(node, sorted(gpus)) for node, gpus in one] for one in expected]
        placed = cs.nodes.place_jobs(workload, system, placement)
        assert nodes_and_gpus(placed) == expected, (seed, placement)


@pytest.mark.parametrize("placement", PLACEMENTS)
def test_sums_are_those_of_the_nodes(placement):
    rng = np.random.default_rng(5)
    system, workload = random_system(rng, 6), random_workload(rng, 30)
    placed = cs.nodes.place_jobs(workload, system, placement, seed=3)
    nodes, jobs = naive_nodes(system), naive_jobs(workload)
    for job, node, gpus in placed.places.itertuples(index=False):
        assert naive.fits(nodes[node], jobs[job][0])
        naive.take(nodes[node], jobs[job][0], gpus)
    typical = naive.typical_requests([job[0] for job in jobs for _ in range(job[1])])
    last = placed.arrivals.iloc[-1]
    idle = sum(sum(node.gpus) for node in nodes) / 1000
    assert last["idle"] == idle
    assert last["allocated"] == pytest.approx(system.nodes["gpus"].sum() - idle)
    fragments = sum(naive.fragmentation(node, typical) for node in nodes) / 1000
    assert last["fragmented"] == pytest.approx(fragments)


def test_random_placement_is_that_of_its_seed():
    rng = np.random.default_rng(1)
    system, workload = random_system(rng, 8), random_workload(rng, 20)
    first, again, other = (
        cs.nodes.place_jobs(workload, system, "random", seed=seed).places for seed in (1, 1, 2)
    )
    assert first.equals(again)
    assert not first.equals(other)


def test_typical_requests_are_the_commonest():
    jobs = {"submit_time": 0, "run_time": 1, "nodes": 1, "gpus": [0, 1, 1, 1, 2], "cores": 2}
    table = typical_requests(cs.Workload(pd.DataFrame(jobs)), part=0.6)
    assert table[["cores", "gpus", "share", "weight"]].to_numpy().tolist() == [[2000, 1, 1000, 1]]
    everything = typical_requests(cs.Workload(pd.DataFrame(jobs)), part=1)
    assert everything["gpus"].tolist() == [1, 2, 0]
    assert everything["weight"].tolist() == [0.6, 0.2, 0.2]


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"gpus": [1, 99]}, r"job 1 has gpus=99; expected a whole number from 0 to 62"),
        ({"gpu_share": [0.5, 1.5]}, r"job 1 has gpu_share=1.5; expected a part from 0.001 to 1"),
        ({"cores": [-1, 2]}, r"job 0 has cores=-1; expected 0 or more, or NaN"),
        ({"memory": [1, -2]}, r"job 1 has memory=-2; expected GB, 0 or more, or NaN"),
        ({"nodes": [1, 10**12]}, r"job 1 asks for 1,?000,?000,?000,?000 nodes; .* has 2"),
    ],
)
def test_requests_nobody_can_have_are_named(columns, message):
    jobs = {"submit_time": 0, "run_time": 1, "nodes": [1, 1]} | columns
    with pytest.raises(cs.workload.InvalidWorkloadError, match=message):
        cs.nodes.place_jobs(cs.Workload(pd.DataFrame(jobs), "W"), cs.System.of(2))


def test_arguments_of_other_kinds_are_named():
    jobs = cs.Workload(pd.DataFrame({"submit_time": [0], "run_time": 1, "nodes": 1}), "W")
    with pytest.raises(TypeError, match="Workload"):
        cs.nodes.place_jobs(jobs, cs.System.of(2), typical=5)
    with pytest.raises(InvalidWorkloadError, match="2 partitions"):
        cs.nodes.place_jobs(jobs, cs.System.of(a=1, b=1))


def test_models_are_named_with_blanks_and_bars():
    jobs = pd.DataFrame({"gpus": [1, 1, 1, 0], "gpu_models": ["|A", " B | A|", None, "A"]})
    jobs = jobs.assign(submit_time=0.0, run_time=1.0, nodes=1, gpu_share=[1.0, 1.0, 1.0, np.nan])
    distinct, number = requests_of(cs.Workload(jobs, "W"))
    assert distinct["models"].iloc[number].tolist() == ["A", "B|A", "", ""]


@pytest.mark.parametrize(
    ("column", "value"),
    [("memory", np.inf), ("memory", 1e10), ("cores", 1e17), ("cores", 1e-4), ("gpus", 0.5)],
)
def test_nodes_that_cannot_be_are_refused(column, value):
    with pytest.raises(ValueError, match=f"{column}=.*; expected "):
        cs.NodeType(1, **{column: value})


def test_a_part_of_a_gpu_is_a_share():
    jobs = pd.DataFrame({"submit_time": [0.0], "run_time": 1.0, "nodes": 1, "gpus": 0.5})
    with pytest.raises(InvalidWorkloadError, match=r"gpus=0.5; .* use gpu_share"):
        cs.Workload(jobs, "W")
