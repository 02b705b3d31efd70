"""Weng et al. (2023): the order in which pods arrive, the published curves, and the study."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import cosimlib as cs
from papers.claims import Claims
from papers.weng2023 import arrivals, arrive, measures, prepare, samples, savings, unallocated
from papers.weng2023.arrivals import GoRandom, draw_arrivals
from papers.weng2023.experiment import POLICIES, curves, place_list, read_list


def test_numbers_of_go() -> None:
    """Go's documentation prints `Intn(100)` after these seeds."""
    random = GoRandom(1)
    assert [random.below(100) for _ in range(10)] == [81, 87, 47, 59, 81, 18, 25, 40, 56, 0]
    random = GoRandom(42)
    assert [random.below(100) for _ in range(2)] == [5, 87]


def test_first_words_of_go() -> None:
    """The words with which Go's source combines a seed, modulo 2**63."""
    words = [word % 2**63 for word in arrivals._warm_words()]
    assert words[:2] == [5041579894721019882, 4646389086726545243]
    assert words[-1] == 4152330101494654406


def test_jump_equals_single_steps() -> None:
    """The power of x says what the generator holds after so many steps."""
    random = GoRandom(7)
    words = list(random._words)
    for _ in range(2000):
        random.int63()
    assert arrivals._words_after(2000, words) == random._words


def test_shuffles_and_permutations_hold_every_number() -> None:
    """Each number below n comes once."""
    random = GoRandom(3)
    assert sorted(random.shuffled(500)) == list(range(500))
    assert sorted(random.permutation(500)) == list(range(500))


def test_pods_are_drawn_again_up_to_the_limit() -> None:
    """A list that demands too little is drawn from again; its own pods all arrive."""
    drawn = draw_arrivals([500] * 10, [8], seed=42)
    assert np.bincount(drawn.pods).min() == 1
    assert drawn.pods.size == 1.3 * 8000 // 500
    assert sorted(drawn.nodes) == [0]


def test_pods_are_left_out_down_to_the_limit() -> None:
    """A list that demands too much loses pods."""
    drawn = draw_arrivals([1000, 0] * 20, [4, 4], seed=42)
    assert np.bincount(drawn.pods).max() == 1
    assert (drawn.pods % 2 == 0).sum() == 10


# The published curves

GOLDEN = {
    "allocated": "analysis_allo_discrete.csv.gz",
    "fragmented": "analysis_frag_discrete.csv.gz",
    "fragmentation_ratio": "analysis_frag_ratio_discrete.csv.gz",
}
NAMES = {
    "FGD": "06-FGD",
    "BestFit": "05-BestFit",
    "Packing": "04-GpuPacking",
    "Clustering": "03-GpuClustering",
    "DotProd": "02-DotProd",
}
TOLERANCE = 0.0135
"""Percent: the published numbers are means of numbers rounded to hundredths."""


@pytest.mark.oracles
@pytest.mark.compiled("a run places 10,000 pods on 1,213 nodes")
@pytest.mark.parametrize(
    ("name", "seed"), [("default", 42), ("gpuspec25", 42), ("gpuspec25", 47), ("multigpu50", 42)]
)
def test_curves_are_those_that_the_authors_published(oracle_path, trace_path, name, seed):
    nodes = trace_path("gpu/openb_node_list_gpu_node.csv")
    pods = read_list(trace_path(f"gpu/openb_pod_list_{name}.csv.gz"), nodes)
    drawn = {
        policy: place_list(pods, POLICIES[policy], pods.machine, seed=seed).set_index("arrived")
        for policy in NAMES
    }
    for quantity, file_name in GOLDEN.items():
        golden = pd.read_csv(oracle_path(f"gpu-placement/{file_name}"))
        golden = golden.set_index(["workload", "seed", "sc_policy"])
        for policy, found in drawn.items():
            row = golden.loc[(f"openb_pod_list_{name}", seed, NAMES[policy])]
            published = row[[str(percent) for percent in found.index]].to_numpy(float)
            assert np.abs(found[quantity] - published).max() <= TOLERANCE, policy


def test_curves_are_means_at_whole_percents():
    system = cs.System.of_types([cs.NodeType(1, cores=8, gpus=4)])
    jobs = {"submit_time": 0, "run_time": 1, "nodes": 1, "cores": 1, "gpus": [1, 0, 2, 4]}
    placed = cs.nodes.place_jobs(cs.Workload(pd.DataFrame(jobs)), system, "first_fit")
    found = curves(placed.arrivals, 4.0, 200)
    assert found.loc[[25, 75, 175], "allocated"].tolist() == [25.0, 75.0, 75.0]
    assert found["allocated"].notna().sum() == 9  # percents beside one at which a job came, too
    assert np.isnan(found.loc[50, "allocated"])


# The study on its twin


@pytest.fixture(scope="module")
def study():
    """Two lists of the twin with one seed."""
    whole = prepare("synthetic", "quick", seeds=1)
    return replace(whole, lists={name: whole.lists[name] for name in ("default", "cpu100")})


@pytest.fixture(scope="module")
def runs(study):
    """All policies on both lists."""
    cells = [
        place_list(pods, rule, study.cluster, 42).assign(pods=name, policy=policy, seed=42)
        for name, pods in study.lists.items()
        for policy, rule in POLICIES.items()
    ]
    return pd.concat(cells, ignore_index=True)


def test_a_twin_has_a_tenth_of_the_printed_totals(study):
    nodes = study.cluster.nodes
    assert nodes["gpus"].sum() == pytest.approx(621.2, rel=0.01)
    assert nodes["cores"].sum() == pytest.approx(10_701.8, rel=0.01)
    assert nodes["memory"].sum() == pytest.approx(52_830, rel=0.01)
    gpus = study.lists["default"].jobs["gpus"]
    assert (study.lists["cpu100"].jobs["gpus"] == 0).sum() > 2 * (gpus == 0).sum()


def test_arrivals_ask_for_up_to_130_percent(study):
    pods, cluster = arrive(study.lists["default"], study.cluster, 42)
    asked = (pods.jobs["gpus"] * pods.jobs["gpu_share"]).sum() / cluster.nodes["gpus"].sum()
    assert 1.29 < asked <= 1.3
    assert sorted(cluster.nodes["gpus"]) == sorted(study.cluster.nodes["gpus"])


def test_means_of_one_seed_are_the_curves(runs):
    found = measures.means(runs, "allocated").set_index(["pods", "policy", "arrived"])["mean"]
    same = runs.set_index(["pods", "policy", "arrived"])["allocated"]
    pd.testing.assert_series_equal(found, same, check_names=False)


def test_what_is_not_allocated_is_idle(runs):
    idle = unallocated(runs).loc[("default", 42)]
    at = runs[(runs["pods"] == "default") & (runs["arrived"] == 100)].set_index("policy")
    allocated, total = at.loc["FGD", ["allocated", "total"]]
    assert idle["FGD"] == pytest.approx(total * (1 - allocated / 100))
    saved = savings(runs)
    assert saved.loc[("default", "Packing"), "gpus"] == pytest.approx(idle["Packing"] - idle["FGD"])


def test_a_twin_judges_nothing_and_the_lists_judge_every_claim(study, runs):
    claims = Claims("7-nodes", data="lists")
    assert list(samples(study, runs)) == list(claims.rules)
    claims.judge(samples(study, runs))
    assert set(claims.table()["verdict"]) == {"unknown"}
    claims = Claims("7-nodes", data="lists")
    claims.judge(samples(replace(study, own=True), runs))
    verdicts = claims.table().set_index("claim")["verdict"]
    assert verdicts["hundreds-of-fragments"] == verdicts["printed-allocation"] == "fails"
    assert verdicts["unallocated-less"] == verdicts["additional-gpus"] == "fails"


def test_bars_have_a_row_per_policy_and_list_and_notes_say_how_many_seeds(runs):
    table = measures.unallocated_by_list(runs, ["default", "cpu100"])
    assert table["policy"].drop_duplicates().tolist() == list(POLICIES)
    idle = unallocated(runs).xs("default", level="pods")["FGD"]
    shown = table.query("policy == 'FGD' and pods == 'default'").iloc[0]
    assert shown["mean"] == pytest.approx(100 * idle.mean() / runs["total"].iloc[0], abs=1e-4)
    assert shown["count"] == len(idle) == runs.query("pods == 'default'")["seed"].nunique()
    drawn = measures.with_whiskers(table)
    assert drawn["pods"].drop_duplicates().tolist() == ["default", "as many without GPU as with"]
    assert "Means over " in measures.explain_curves(runs)
    assert "pods have asked for 100 % of the GPUs" in measures.explain_bars(table)
