"""The experiment: seven lists of pods, six placements, and seeds that draw the order of arrivals.

Pods come one by one and never leave, until they have asked for 1.3 times the GPUs of the cluster;
one that fits on no node is left out. A list is Alibaba's own (``default``) or one that the authors
drew from it with another mix: more pods without a GPU (``cpu``), other shares of the demand for
GPUs by pods that share one (``gpushare``), more pods of several GPUs (``multigpu``), and a share of
the demand that names a model of GPU (``gpuspec``). The paper has seventeen; these seven are those
whose results the authors published and that we compare with.

Arrivals are drawn as the authors' simulator draws them (`arrivals`). So placements without
randomness put every pod where theirs did; random placement draws other numbers.

Without the lists a twin takes their place: a tenth of the cluster by the totals that the authors
print, with a mix of pods that we made up. On the twin nothing is judged.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

import cosimlab as lab
import cosimlib as cs
from cosimlib import traces
from papers.weng2023.arrivals import draw_arrivals

LISTS = {
    "default": "default",
    "cpu100": "as many without GPU as with",
    "gpushare40": "40 % share GPUs",
    "gpushare100": "all share GPUs",
    "multigpu20": "20 % more of several GPUs",
    "multigpu50": "50 % more of several GPUs",
    "gpuspec25": "25 % name a model",
}
"""Lists of pods, and what they have more of than the default one."""

POLICIES = {
    "FGD": "fgd",
    "BestFit": "best_fit",
    "Packing": "gpu_packing",
    "Clustering": "gpu_clustering",
    "DotProd": "dot_product",
    "Random": "random",
}
"""Placements of `cs.nodes.place_jobs` by the paper's names."""

FIRST_SEED = 42
SCALES = {"quick": (3, 1), "paper": (10, 10)}
"""By scale: seeds of the default list, and of each other list."""

NODES = "openb-nodes"
LAST = 130
"""Percent of the GPUs' capacity that has been asked for in the end."""

TWIN_NODES = (
    cs.NodeType(55, cores=96, memory=470, gpus=8, model="G2"),
    cs.NodeType(38, cores=104, memory=510, gpus=2, model="T4"),
    cs.NodeType(12, cores=64, memory=314, gpus=4, model="V100M16"),
    cs.NodeType(28, cores=24, memory=118, gpus=2, model="P100"),
)
"""A tenth of 6,212 GPUs, 107,018 cores and 528 TB; which nodes have how many is made up."""

TWIN_PODS = 815
"""A tenth of the pods."""


class Mix(NamedTuple):
    """Made-up parts of a twin's pods: without GPU, sharing one, with several, naming a model."""

    without: float = 0.15
    sharing: float = 0.4
    several: float = 0.01
    naming: float = 0.0


TWIN_MIXES = {
    "default": Mix(),
    "cpu100": Mix(without=0.5),
    "gpushare40": Mix(sharing=0.5),
    "gpushare100": Mix(sharing=0.85, several=0.0),
    "multigpu20": Mix(several=0.03),
    "multigpu50": Mix(several=0.08),
    "gpuspec25": Mix(naming=0.25),
}


@dataclass(frozen=True, eq=False)
class Study:
    """Lists of pods, the cluster, and the seeds.

    Parameters
    ----------
    lists : mapping of str to Workload
        By the names of `LISTS`, the pods in the order of their names.
    cluster : System
        Its nodes in the order of their names.
    seeds, fewer : range
        Of the default list, and of the others.
    own : bool
        Whether these are the paper's lists.
    """

    lists: Mapping[str, cs.Workload]
    cluster: cs.System
    seeds: range
    fewer: range
    own: bool

    @property
    def data(self) -> str:
        """What the study shows, in words."""
        kind = "Alibaba's pods" if self.own else "a synthetic twin of Alibaba's pods"
        return f"{kind}, seeds {self.seeds[0]} to {self.seeds[-1]}"


def prepare(trace: str, scale: str, *, seed: int = FIRST_SEED, seeds: int = 0) -> Study:
    """The lists and their cluster; with ``"synthetic"``, or where a list is missing, the twin.

    Parameters
    ----------
    trace : str
        ``"synthetic"``, or anything else for the public lists.
    scale : str
        One of `SCALES`.
    seed : int, default 42
        The first of the seeds.
    seeds : int, default 0
        How many; 0: as the scale says.
    """
    most, fewer = (seeds, seeds) if seeds else SCALES[scale]
    how: dict[str, Any] = {"seeds": range(seed, seed + most), "fewer": range(seed, seed + fewer)}
    missing = [name for name in (NODES, *map(_public, LISTS)) if not traces.find_trace(name)]
    if trace == traces.SYNTHETIC or missing:
        if trace != traces.SYNTHETIC:
            print(f"{', '.join(missing)} not here: a synthetic twin takes the place of all lists")
        return Study(
            {name: twin(mix, seed=place) for place, (name, mix) in enumerate(TWIN_MIXES.items())},
            cs.System.of_types(TWIN_NODES, "a tenth of the cluster"),
            own=False,
            **how,
        )
    nodes = traces.find_trace(NODES)
    assert nodes is not None
    lists = {name: read_list(traces.fetch_trace(_public(name)), nodes) for name in LISTS}
    cluster = lists["default"].machine
    assert cluster is not None
    return Study(lists, cluster, own=True, **how)


def _public(name: str) -> str:
    """The name of a list among the public traces."""
    return f"openb-{name}"


def read_list(path: Path, nodes: Path) -> cs.Workload:
    """A list's pods in the order of their names."""
    pods = traces.read_openb(path, nodes=nodes, verbose=False)
    jobs = pods.jobs.sort_values("job_id").assign(submit_time=0.0, run_time=0.0)
    return cs.Workload(jobs, pods.name, pods.machine)


def twin(mix: Mix, *, seed: int) -> cs.Workload:
    """A made-up list of pods: the mix's parts, a few cores per GPU, and memory to match."""
    random = np.random.default_rng(seed)
    kind = random.random(TWIN_PODS)
    without, sharing = kind < mix.without, kind >= 1 - mix.sharing
    several = ~without & (kind < mix.without + mix.several)
    gpus = np.where(without, 0, np.where(several, random.choice([2, 4, 8], TWIN_PODS), 1))
    parts = random.choice([0.25, 0.3, 0.46, 0.5, 0.65, 0.8], TWIN_PODS)
    cores = random.choice([2.0, 4.0, 6.0, 8.0, 10.0, 12.0], TWIN_PODS) * np.maximum(gpus, 1)
    models = random.choice([each.model for each in TWIN_NODES], TWIN_PODS)
    naming = (random.random(TWIN_PODS) < mix.naming) & (gpus > 0) & ~several
    columns = {
        "submit_time": 0.0,
        "run_time": 0.0,
        "nodes": 1,
        "cores": cores,
        "memory": 4 * cores,
        "gpus": gpus,
        "gpu_share": np.where(sharing, parts, 1.0),
        "gpu_models": pd.Series(models).where(naming),
    }
    return cs.Workload(pd.DataFrame(columns), "twin")


def place_all(study: Study) -> pd.DataFrame:
    """Curves of all runs: one row per list, policy, seed and percent of the GPUs asked for.

    Returns
    -------
    pd.DataFrame
        `pods`, `policy`, `seed`, `arrived` (percent); `allocated` and `fragmented` (percent of all
        GPUs), `fragmentation_ratio` (percent of the idle ones); `total`, the GPUs of the cluster;
        `final_allocated` and `final_fragmented`, GPUs after the last pod.
    """
    first = {name: pods for name, pods in study.lists.items() if name == "default"}
    others = {name: pods for name, pods in study.lists.items() if name != "default"}
    # The twin's runs take a twentieth of a second each: less than a worker needs to begin.
    parts = [
        lab.sweep(
            place_list,
            {"pods": pods, "policy": POLICIES},
            seeds,
            shared={"cluster": study.cluster},
            errors="raise",
            executor="cores" if study.own else None,
        )
        for pods, seeds in ((first, study.seeds), (others, study.fewer))
    ]
    return pd.concat(parts, ignore_index=True)


def place_list(pods: cs.Workload, policy: str, cluster: cs.System, seed: int) -> pd.DataFrame:
    """One run: the curves of a list under a policy, in the order of arrivals of a seed."""
    placed = cs.nodes.place_jobs(*arrive(pods, cluster, seed), policy, typical=pods, seed=seed)
    last, total = placed.arrivals.iloc[-1], float(cluster.nodes["gpus"].sum())
    return (
        curves(placed.arrivals, total)
        .reset_index()
        .assign(total=total, final_allocated=last["allocated"], final_fragmented=last["fragmented"])
    )


def curves(arrivals: pd.DataFrame, total: float, last: int = LAST) -> pd.DataFrame:
    """Means at each percent of the `total` GPUs that has arrived, rounded to a whole percent.

    Returns
    -------
    pd.DataFrame
        By percent from 0 to `last`: `allocated` and `fragmented` in percent of all GPUs, and
        `fragmentation_ratio` in percent of the idle ones. Where no job came at a percent, the
        mean of its neighbors; NaN if none came there either.
    """
    percent = (100 * arrivals["arrived"] / total).round().rename("arrived")
    shares = 100 * arrivals[["allocated", "fragmented"]] / total
    shares["fragmentation_ratio"] = 100 * arrivals["fragmented"] / arrivals["idle"]
    at = shares.groupby(percent).agg(["sum", "count"])
    at = at.reindex(range(-1, last + 2), fill_value=0)
    near = at.shift(1) + at + at.shift(-1)
    sums = at.where(at["allocated", "count"] > 0, near).loc[0:last]
    means = {name: sums[name, "sum"] / sums[name, "count"] for name in shares}
    return pd.DataFrame(means).rename_axis("arrived")


def arrive(pods: cs.Workload, cluster: cs.System, seed: int) -> tuple[cs.Workload, cs.System]:
    """The pods that arrive, in order, and the nodes in the order in which ties prefer them."""
    demand = (1000 * pods.jobs["gpus"] * pods.jobs["gpu_share"]).round().astype("int64")
    nodes = cluster.nodes
    drawn = draw_arrivals(demand.tolist(), nodes["gpus"].tolist(), seed=seed)
    jobs = pods.jobs.iloc[drawn.pods]
    return cs.Workload(jobs, pods.name), cs.System.of_types(nodes.iloc[drawn.nodes], cluster.name)
