"""Requests: what jobs ask for per node, and what nodes have, as arrays for kernels.

A job asks for `nodes` nodes and on each of them for `cores` (all of the node's where missing),
`memory` (GB; missing counts as nothing) and `gpus`, of each of which it takes `gpu_share`, one of
`gpu_models` where it names some (``"V100|T4"``). These are columns of the workload; one that it
lacks has the default of `cosimlib.workload.OPTIONAL_COLUMNS`, so that a workload without any takes
whole nodes and no GPU. Blanks around the names of models are ignored. Kernels count in thousandths
of a core and of a GPU, and in bytes.
"""

import numpy as np
import pandas as pd

from cosimlib import checks as check
from cosimlib.kernels.records import records
from cosimlib.nodes.placement import (
    ALL_CORES,
    NODE,
    PLACEMENTS,
    REQUEST,
    STATE,
    TYPICAL,
    WHOLE,
    Cluster,
)
from cosimlib.system import MOST_CORES, MOST_GPUS, MOST_MEMORY, System
from cosimlib.workload import InvalidWorkloadError, Workload, check_workload

TYPICAL_SHARE = 0.95
"""Part of the requests that the typical ones make up at least, as Weng et al. have it."""

UNLIMITED = 2**62
"""Bytes of a node of unknown memory."""
GIGABYTE = 1e9
MOST_SCORES = 2**22
"""Scores that are kept: requests × nodes."""

COLUMNS = ["cores", "memory", "gpus", "share", "models"]


def requests_of(workload: Workload) -> tuple[pd.DataFrame, np.ndarray]:
    """Different requests of a workload, most frequent first, and the number of each job's request.

    Returns
    -------
    pd.DataFrame
        `cores`, `gpus` × `share` (thousandths), `memory` (bytes), `models` by name, parted by ``|``
        without blanks, as they stand: typical requests of Weng et al. differ by such texts, too.
        Empty where any will do.
    np.ndarray
        The row of each job's request.

    Raises
    ------
    InvalidWorkloadError
        Naming the first job that asks for what nobody can have.
    """
    given = {name: workload.column(name) for name in ("cores", "memory", "gpus", "gpu_share")}
    cores, memory, gpus, share = (
        values.to_numpy(np.float64, na_value=np.nan) for values in given.values()
    )
    gpus = np.nan_to_num(gpus)
    share = np.where((gpus == 0) & ((share == 0) | np.isnan(share)), 1.0, share)
    rules = (
        ("cores", np.isnan(cores) | ((cores >= 0) & (cores < MOST_CORES)), "0 or more, or NaN"),
        (
            "memory",
            np.isnan(memory) | ((memory >= 0) & (memory < MOST_MEMORY)),
            "GB, 0 or more, or NaN",
        ),
        ("gpus", (gpus >= 0) & (gpus <= MOST_GPUS), f"a whole number from 0 to {MOST_GPUS}"),
        ("gpu_share", (share >= 1 / WHOLE) & (share <= 1), f"a part from {1 / WHOLE:g} to 1"),
    )
    for name, fine, expected in rules:
        check.rows(
            name, given[name], fine, expected, row=workload.label, error=InvalidWorkloadError
        )
    table = pd.DataFrame(
        {
            "cores": np.where(np.isnan(cores), ALL_CORES, np.rint(np.nan_to_num(cores) * WHOLE)),
            "memory": np.rint(np.nan_to_num(memory) * GIGABYTE),
            "gpus": gpus,
            "share": np.where(gpus > 0, np.rint(share * WHOLE), 0),
            "models": _models(workload.column("gpu_models").fillna("").where(gpus > 0, "")),
        }
    ).astype(dict.fromkeys(COLUMNS[:4], np.int64))
    number = table.groupby(COLUMNS, sort=False).ngroup().to_numpy()
    times = np.bincount(number)
    order = np.argsort(-times, kind="stable")
    rank = np.empty_like(order)
    rank[order] = np.arange(order.size)
    distinct = table.drop_duplicates(COLUMNS).iloc[order].reset_index(drop=True)
    return distinct, rank[number]


def typical_requests(workload: Workload, part: float = TYPICAL_SHARE) -> pd.DataFrame:
    """The commonest requests that together make up a part of all, and the weight of each.

    Memory does not tell requests apart. A job of several nodes counts once per node. Among equally
    common ones the larger come first (``GetTypicalPods`` in ``pkg/utils/frag.go``).

    Parameters
    ----------
    workload : Workload
    part : float, default 0.95

    Returns
    -------
    pd.DataFrame
        `cores` and `share` in thousandths, `gpus`, `models`, `weight` (they add up to 1).
    """
    check_workload(workload)
    check.number("part", part, above=0, most=1)
    distinct, number = requests_of(workload)
    keys = ["cores", "share", "gpus", "models"]
    times = np.bincount(number, workload.jobs["nodes"], len(distinct))
    common = distinct.assign(times=times).groupby(keys, as_index=False)["times"].sum()
    common = common.sort_values(["times", *keys], ascending=False, ignore_index=True)
    total = common["times"].sum()
    reached = int(np.searchsorted(common["times"].cumsum(), part * total)) + 1
    kept = common.head(reached)
    weight = kept["times"] / total
    if len(kept) < len(common):
        weight /= kept["times"].sum() / total
    return kept.drop(columns="times").assign(weight=weight)


def cluster_of(
    system: System, requests: pd.DataFrame, typical: pd.DataFrame, placement: str
) -> Cluster:
    """Idle nodes, and the requests that come to them."""
    check.choice("placement", placement, PLACEMENTS)
    table = system.nodes
    gpus = table["gpus"].to_numpy()
    names = sorted(set(table["model"]) - {""})
    if len(names) >= MOST_GPUS:
        raise ValueError(f"{system.name}: {len(names)} models of GPU; expected {MOST_GPUS} at most")
    bit = {name: 1 << place for place, name in enumerate(names)} | {"": 1 << MOST_GPUS}
    cores = np.rint(table["cores"].to_numpy() * WHOLE).astype(np.int64)
    memory = table["memory"].to_numpy(np.float64)
    most = max(1, int(gpus.max()))
    nodes = records(
        len(table), NODE, all_cores=cores, gpus=gpus, model=table["model"].map(bit), barred_to=-1
    )
    memory = np.where(np.isnan(memory), UNLIMITED, np.rint(np.nan_to_num(memory) * GIGABYTE))
    each = WHOLE * (np.arange(most) < gpus[:, None])
    idle = np.column_stack([cores, memory.astype(np.int64), gpus * WHOLE, each])
    rows = min(len(requests), MOST_SCORES // len(table))
    asked = records(
        len(requests),
        REQUEST,
        **{name: requests[name] for name in COLUMNS[:4]},
        models=_model_sets(requests["models"], bit),
        kind=np.where(requests["share"] == WHOLE, requests["gpus"], 0),
        row=np.minimum(np.arange(len(requests)), rows),
    )
    _, first, alike = np.unique(typical["share"], return_index=True, return_inverse=True)
    looked_for = records(
        len(typical),
        TYPICAL,
        **{name: typical[name] for name in ("weight", "cores", "gpus", "share")},
        models=_model_sets(typical["models"], bit),
        first=first[alike],
    )
    state = records(
        1,
        STATE,
        placement=PLACEMENTS.index(placement),
        most_cores=cores.max(),
        most_gpu=max(1, gpus.max()) * WHOLE,
        idle_gpu=gpus.sum() * WHOLE,
    )
    kinds = np.zeros((len(table), most + 1), np.int64)
    scores = np.full((rows + 1, len(table)), -1, np.int64)
    return Cluster(nodes, idle, kinds, asked, looked_for, scores, state)


def gpu_numbers(bits: int) -> tuple[int, ...]:
    """The numbers in a set of bits."""
    return tuple(gpu for gpu in range(int(bits).bit_length()) if int(bits) >> gpu & 1)


def _models(texts: pd.Series) -> pd.Series:
    """The models that jobs name: ``" B | A|"`` names B and A."""
    named = {text: (name.strip() for name in text.split("|")) for text in texts.unique()}
    parted = {text: "|".join(filter(None, names)) for text, names in named.items()}
    return texts.map(parted).astype("str")


def _model_sets(requested: pd.Series, bit: dict[str, int]) -> np.ndarray:
    """The models that each request names as a set of bits; all of them where it names none."""
    named = [set(models.split("|")) if models else set() for models in requested]
    return np.array([sum(bit.get(name, 0) for name in one) if one else -1 for one in named])
