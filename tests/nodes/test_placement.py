"""Placement on nodes, one job after the other: against plain rules, and published results."""

import numpy as np
import pandas as pd
import pytest

import cosimlib as cs
from cosimlib.nodes import PLACEMENTS, typical_requests
from cosimlib.nodes.requests import gpu_numbers, requests_of
from cosimlib.workload import InvalidWorkloadError
from tests.nodes import naive
from tests.nodes.cases import naive_jobs, naive_nodes, random_system, random_workload

DETERMINISTIC = [name for name in PLACEMENTS if name != "random"]


def nodes_and_gpus(placed):
    """(node, GPUs) of each job in order of nodes, as the naive version has them."""
    table = placed.places
    return [
        sorted((node, list(gpus)) for node, gpus in rows[["node", "gpus"]].itertuples(index=False))
        for _, rows in ((job, table[table["job"] == job]) for job in range(len(placed.workload)))
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
        placed = cs.place_jobs(workload, system, placement)
        assert nodes_and_gpus(placed) == expected, (seed, placement)


@pytest.mark.parametrize("placement", PLACEMENTS)
def test_sums_are_those_of_the_nodes(placement):
    rng = np.random.default_rng(5)
    system, workload = random_system(rng, 6), random_workload(rng, 30)
    placed = cs.place_jobs(workload, system, placement, seed=3)
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
        cs.place_jobs(workload, system, "random", seed=seed).node for seed in (1, 1, 2)
    )
    assert (first == again).all()
    assert (first != other).any()


def test_typical_requests_are_the_commonest():
    jobs = {"submit_time": 0, "run_time": 1, "nodes": 1, "gpus": [0, 1, 1, 1, 2], "cores": 2}
    table = typical_requests(cs.Workload(pd.DataFrame(jobs)), part=0.6)
    assert table[["cores", "gpus", "share", "weight"]].to_numpy().tolist() == [[2000, 1, 1000, 1]]
    everything = typical_requests(cs.Workload(pd.DataFrame(jobs)), part=1)
    assert everything["gpus"].tolist() == [1, 2, 0]
    assert everything["weight"].tolist() == [0.6, 0.2, 0.2]


def test_curves_are_means_at_whole_percents():
    system = cs.System.of_types([cs.NodeType(1, cores=8, gpus=4)])
    jobs = {"submit_time": 0, "run_time": 1, "nodes": 1, "cores": 1, "gpus": [1, 0, 2, 4]}
    curves = cs.place_jobs(cs.Workload(pd.DataFrame(jobs)), system, "first_fit").curves(200)
    assert curves.loc[[25, 75, 175], "allocated"].tolist() == [25.0, 75.0, 75.0]
    assert curves["allocated"].notna().sum() == 9  # percents beside one at which a job came, too
    assert np.isnan(curves.loc[50, "allocated"])


def test_a_set_of_bits_has_numbers():
    assert gpu_numbers(0b1011) == (0, 1, 3)


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
        cs.place_jobs(cs.Workload(pd.DataFrame(jobs), "W"), cs.System.of(2))


POLICIES = {
    "dot_product": "02-DotProd",
    "gpu_clustering": "03-GpuClustering",
    "gpu_packing": "04-GpuPacking",
    "best_fit": "05-BestFit",
    "fgd": "06-FGD",
}
CURVES = {"allo": "allocated", "frag": "fragmented", "frag_ratio": "fragmentation_ratio"}
"""The published simulator's policies and results, and what ours call them."""


@pytest.mark.parametrize(("pods", "seed"), [("default", 42), ("gpuspec25", 47)])
def test_curves_are_those_of_the_published_simulator(pods, seed, oracle_path, trace_path):
    """To 0.01 points, which is how its results are rounded."""
    from papers.weng2023.arrivals import draw_arrivals

    workload = read_pods(trace_path(f"gpu/openb_pod_list_{pods}.csv.gz"))
    nodes = pd.read_csv(trace_path("gpu/openb_node_list_gpu_node.csv"))
    table = nodes.assign(cores=nodes["cpu_milli"] / 1000, memory=gigabytes(nodes["memory_mib"]))
    jobs = workload.jobs
    demand = (jobs["gpus"].astype(float) * jobs["gpu_share"] * 1000).round().astype(int)
    drawn = draw_arrivals(demand.tolist(), nodes["gpu"].tolist(), seed=seed)
    arriving = cs.Workload(jobs.iloc[drawn.pods].reset_index(drop=True))
    system = cs.System.of_types(table.rename(columns={"gpu": "gpus"}).iloc[drawn.nodes])
    for placement, name in POLICIES.items():
        curves = cs.place_jobs(arriving, system, placement, typical=workload).curves()
        for file, column in CURVES.items():
            published = pd.read_csv(oracle_path(f"gpu-placement/analysis_{file}_discrete.csv.gz"))
            published = published.set_index(["workload", "sc_policy", "seed"])
            row = published.loc[(f"openb_pod_list_{pods}", name, seed)]
            expected = row[[str(percent) for percent in range(131)]].to_numpy(float)
            np.testing.assert_allclose(curves[column], expected, atol=0.011, err_msg=placement)


def read_pods(path):
    """A list of pods as a workload."""
    pods = pd.read_csv(path)
    whole = pods["num_gpu"] == 0
    jobs = pd.DataFrame({"submit_time": 0.0, "run_time": 1.0, "nodes": 1, "gpus": pods["num_gpu"]})
    return cs.Workload(
        jobs.assign(
            cores=pods["cpu_milli"] / 1000,
            memory=gigabytes(pods["memory_mib"]),
            gpu_share=(pods["gpu_milli"] / 1000).mask(whole, 1.0),
            gpu_models=pods.get("gpu_spec"),
        )
    )


def gigabytes(mebibytes):
    return mebibytes * 2**20 / 1e9


def test_arguments_of_other_kinds_are_named():
    jobs = cs.Workload(pd.DataFrame({"submit_time": [0], "run_time": 1, "nodes": 1}), "W")
    with pytest.raises(TypeError, match="Workload"):
        cs.place_jobs(jobs, cs.System.of(2), typical=5)
    with pytest.raises(InvalidWorkloadError, match="2 partitions"):
        cs.place_jobs(jobs, cs.System.of(a=1, b=1))


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
