"""Placement: the choice of a node, and of its GPUs, for a job.

A node fits a request if it has the cores and the memory idle, enough GPUs of which the share asked
for is idle, and, of a request for GPUs, an allowed model. All nodes that fit get a score, a whole
number; the job goes on the node of the highest score, and among equals on the one of the lowest
number. A job of several nodes takes those of the highest scores. The rules are
those that Weng et al. compare (USENIX ATC 2023), as their simulator computes them (hkust-adsl/
kubernetes-scheduler-simulator, commit 8f3d641, ``pkg/simulator/plugin``): numbers there are
truncated to integers from 0 to 100, so that many nodes are equal.

- ``random``: any node that fits (``random_score.go``); a share goes on any of its GPUs.
- ``dot_product``: the mean over cores and GPUs of the product of what the node has idle and what
  the job asks for, both as parts of the largest node's; the least product is best, as in Tetris
  (``dot_product_score.go``, GPUs merged).
- ``gpu_clustering``: nodes whose jobs are all of the same kind as the job, a share of a GPU or so
  many whole GPUs; then those with jobs of that kind and others, then idle ones, then the rest;
  among these the one with the fewest idle GPUs (``gpu_clustering_score.go``).
- ``gpu_packing``: GPUs that are in use already, the least idle best; then idle GPUs of nodes in
  use; then nodes whose GPUs are all idle, those with few GPUs first (``gpu_packing_score.go``).
- ``best_fit``: the mean over cores and GPUs of what remains idle, in parts of the largest node's,
  is least (``best_fit_score.go``); ``worst_fit``: it is largest; ``first_fit``: the lowest number.
- ``fgd``, fragmentation gradient descent: the fragmentation of the node, see below, rises least:
  100 / (1 + e^(rise / 1 GPU)), truncated (``fgd_score.go``).

A share of a GPU goes on the GPU with the least idle part that is enough; with ``worst_fit`` with
the most; with ``fgd`` on the first GPU of the highest score. Whole GPUs are taken by number.

*Fragmentation* (``pkg/utils/frag.go``). A node is looked at by typical requests, each with a weight
(`cosimlib.nodes.requests`). For a typical request that cannot run on the node, all its idle GPU
parts are fragments, and also where the request asks for no GPU. For one that can, the idle parts
that are smaller than the share it asks for are. The fragmentation of a node is the weighted mean,
that of a system the sum over its nodes. Terms are summed by their reason, as there: the difference
between two equal sums decides between scores of 49 and 50.

Scores are kept per request and node until the node changes, so that one arrival costs the scores of
the nodes that changed since such a request came last.
"""

import math
from typing import NamedTuple

import numpy as np

from cosimlib.kernels.jit import kernel
from cosimlib.kernels.records import record_type, whole

PLACEMENTS = (
    "random",
    "dot_product",
    "gpu_clustering",
    "gpu_packing",
    "best_fit",
    "worst_fit",
    "first_fit",
    "fgd",
)
RANDOM, DOT_PRODUCT, CLUSTERING, PACKING, BEST_FIT, WORST_FIT, FIRST_FIT, DESCENT = range(8)

WHOLE = 1000
"""A whole GPU, in thousandths."""
ALL_CORES = -1
"""The cores of a request that takes all of its node's."""
HIGHEST = 100
"""The highest score."""
TAKE, GIVE_BACK = whole(1), whole(-1)
"""What changes a node."""
LEAST, MOST = whole(1), whole(-1)
"""Which GPUs are better: those with the least idle, or the most."""

NODE = record_type(
    floats="fragmented", integers="cores memory idle_gpu gpus model all_cores changed barred_to"
)
"""A node: idle thousandths of cores, bytes and thousandths of GPUs (`idle_gpu`); what it has.

`fragmented` thousandths of GPUs; `changed` is the version of its last change; `barred_to` a job
that must not have it.
"""
REQUEST = record_type(integers="cores memory gpus share models kind row")
"""A request per node. `models` is a set of bits, `kind` 0 for shares of GPUs, else the number of
whole ones, `row` the row of its scores."""
TYPICAL = record_type(floats="weight", integers="cores gpus level models")
"""A typical request; its share is that of a level, −1 for none."""
LEVEL = record_type(integers="share enough below")
"""A share that typical requests ask for; GPUs of a node that have it idle, and what is idle of the
others."""
CLUSTER = record_type(
    floats="fragmented", integers="placement version most_cores most_gpu idle_gpu"
)
"""A cluster's sums and its rule; `most_cores` and `most_gpu` (thousandths) of its largest nodes."""


class Cluster(NamedTuple):
    """Nodes and requests as kernels see them.

    `gpus` idle thousandths per node and GPU, and a last row for trials; `kinds` jobs per node and
    kind; `scores` per row of a request and node: ``STEP × version + score``, where 0 is for a node
    that does not fit, and the last row is not kept; `state` is one record.
    """

    nodes: np.recarray
    gpus: np.ndarray
    kinds: np.ndarray
    requests: np.recarray
    typical: np.recarray
    levels: np.recarray
    scores: np.ndarray
    state: np.recarray


STEP = 256
"""Scores of one version of a node: 0 where it does not fit, else 1 more than the score."""


@kernel
def choose(
    cluster: Cluster,
    number: int,
    job: int,
    draws: np.ndarray,
    chosen: np.ndarray,
    sets: np.ndarray,
) -> bool:
    """Choose as many nodes for a job with a request as `chosen` has room for; False if too few fit.

    `draws` two numbers in [0, 1) per node, for random choices; `chosen` gets the nodes, `sets` the
    GPUs, as bits. Nodes that are `barred_to` the job are left out.
    """
    nodes = np.empty(cluster.nodes.size, np.int64)
    found = _score_nodes(cluster, number, job, nodes)
    if found < chosen.size:
        return False
    if cluster.state[0].placement == RANDOM:
        for place in range(chosen.size):
            other = place + int(draws[place, 0] * (found - place))
            chosen[place] = nodes[other]
            nodes[other] = nodes[place]
    else:
        _take_highest(cluster, number, nodes[:found], chosen)
    for place in range(chosen.size):
        sets[place] = choose_gpus(cluster, number, chosen[place], draws[0, 1])
    return True


@kernel
def fits(cluster: Cluster, number: int, node: int) -> bool:
    """Whether a node has what a request asks for."""
    here, request = cluster.nodes[node], cluster.requests[number]
    if here.cores < cores_of(here, request.cores) or here.memory < request.memory:
        return False
    if request.gpus == 0:
        return True
    if here.idle_gpu < request.gpus * request.share or here.model & request.models == 0:
        return False
    enough = 0
    for gpu in range(here.gpus):
        enough += cluster.gpus[node, gpu] >= request.share
    return enough >= request.gpus


@kernel
def count_fitting(cluster: Cluster) -> np.ndarray:
    """Number of nodes on which each request fits."""
    fitting = np.zeros(cluster.requests.size, np.int64)
    for number in range(fitting.size):
        for node in range(cluster.nodes.size):
            fitting[number] += fits(cluster, number, node)
    return fitting


@kernel
def change(cluster: Cluster, number: int, node: int, gpus: int, sign: int) -> None:
    """Take what a request asks for on a node and a set of its GPUs, or give it back."""
    move(cluster, number, node, gpus, sign)
    here, state = cluster.nodes[node], cluster.state[0]
    if cluster.requests[number].gpus > 0:
        cluster.kinds[node, cluster.requests[number].kind] += sign
    state.version += 1
    here.changed = state.version
    before = here.fragmented
    here.fragmented = fragmentation(cluster, node, here.cores, node)
    state.fragmented += here.fragmented - before


@kernel
def move(cluster: Cluster, number: int, node: int, gpus: int, sign: int) -> None:
    """Change what a node has idle, and nothing else: for trials."""
    here, request = cluster.nodes[node], cluster.requests[number]
    here.cores -= sign * cores_of(here, request.cores)
    here.memory -= sign * request.memory
    if request.gpus > 0:
        for gpu in range(here.gpus):
            cluster.gpus[node, gpu] -= sign * request.share * ((gpus >> gpu) & 1)
        here.idle_gpu -= sign * request.gpus * request.share
        cluster.state[0].idle_gpu -= sign * request.gpus * request.share


@kernel
def copy_idle(cluster: Cluster, other: Cluster) -> None:
    """Give another cluster of the same nodes what the nodes of this one have idle."""
    for node in range(cluster.nodes.size):
        here, there = cluster.nodes[node], other.nodes[node]
        there.cores, there.memory, there.idle_gpu = here.cores, here.memory, here.idle_gpu
        other.gpus[node] = cluster.gpus[node]


@kernel
def cores_of(here: np.record, cores: int) -> int:
    """Thousandths of cores that a request takes on a node."""
    return here.all_cores if cores == ALL_CORES else cores


@kernel
def _score_nodes(cluster: Cluster, number: int, job: int, fitting: np.ndarray) -> int:
    """List the nodes that fit and are not barred, by number, and know their scores; how many."""
    nodes, scores, row = cluster.nodes, cluster.scores, cluster.requests[number].row
    if row == scores.shape[0] - 1:
        scores[row] = -1
    found = 0
    for node in range(nodes.size):
        score = scores[row, node] - STEP * nodes[node].changed
        if score < 0:
            score = 1 + _new_score(cluster, number, node) if fits(cluster, number, node) else 0
            scores[row, node] = STEP * nodes[node].changed + score
        if score > 0 and nodes[node].barred_to != job:
            fitting[found] = node
            found += 1
    return found


@kernel
def _take_highest(cluster: Cluster, number: int, nodes: np.ndarray, chosen: np.ndarray) -> None:
    """Choose the nodes of the highest scores, and of equal ones the first, by their numbers."""
    scores, times = cluster.scores[cluster.requests[number].row], np.zeros(HIGHEST + 2, np.int64)
    for node in nodes:
        times[scores[node] % STEP] += 1
    least, wanted, place = HIGHEST + 1, chosen.size, 0
    while times[least] < wanted:
        wanted -= times[least]
        least -= 1
    for node in nodes:
        score = scores[node] % STEP
        if score > least or (score == least and wanted > 0):
            wanted -= score == least
            chosen[place] = node
            place += 1


@kernel
def _new_score(cluster: Cluster, number: int, node: int) -> int:
    """The score of a node that fits, by the cluster's rule."""
    rule = cluster.state[0].placement
    if rule == DESCENT:
        return _descent(cluster, number, node)[0]
    if rule == CLUSTERING:
        return _clustering(cluster, number, node)
    if rule == PACKING:
        return _packing(cluster, number, node)
    if rule in (RANDOM, FIRST_FIT):
        return 0
    return _remaining(cluster, number, node)


@kernel
def _remaining(cluster: Cluster, number: int, node: int) -> int:
    """Scores of the rules that look at what a node has idle: dot product, best and worst fit."""
    here, request, state = cluster.nodes[node], cluster.requests[number], cluster.state[0]
    cores, gpu = cores_of(here, request.cores), request.gpus * request.share
    if state.placement == DOT_PRODUCT:
        product = (here.cores / state.most_cores) * (cores / state.most_cores)
        product += (here.idle_gpu / state.most_gpu) * (gpu / state.most_gpu)
        return int(HIGHEST * (1.0 - product / 2.0))
    rest = (here.cores - cores) / state.most_cores * 0.5
    rest += (here.idle_gpu - gpu) / state.most_gpu * 0.5
    return int((1.0 - rest) * HIGHEST) if state.placement == BEST_FIT else int(rest * HIGHEST)


@kernel
def _clustering(cluster: Cluster, number: int, node: int) -> int:
    """Score of GPU clustering: nodes with jobs of the same kind first."""
    request, most = cluster.requests[number], cluster.state[0].most_gpu
    if request.gpus == 0:
        return 0
    used = HIGHEST // 4 * (most - cluster.nodes[node].idle_gpu) // most
    kinds = 0
    for kind in range(cluster.kinds.shape[1]):
        kinds += cluster.kinds[node, kind] > 0
    if cluster.kinds[node, request.kind] > 0:
        return used + (HIGHEST * 3 // 4 if kinds == 1 else HIGHEST // 2)
    return used + (HIGHEST // 4 if kinds == 0 else 0)


@kernel
def _packing(cluster: Cluster, number: int, node: int) -> int:
    """Score of GPU packing: GPUs in use first, then idle ones of nodes in use."""
    request, gpus = cluster.requests[number], cluster.gpus[node]
    if request.gpus == 0:
        return 0
    whole = 0
    for gpu in range(cluster.nodes[node].gpus):
        whole += gpus[gpu] == WHOLE
    if whole == cluster.nodes[node].gpus:
        return max(HIGHEST // 3 - whole, whole)
    chosen, opened, idle = _least_idle(cluster, number, node, LEAST), 0, 0
    for gpu in range(cluster.nodes[node].gpus):
        if (chosen >> gpu) & 1:
            opened += gpus[gpu] == WHOLE
            idle += gpus[gpu] * 100 // WHOLE
    if opened > 0:
        return max(HIGHEST // 2 - opened, HIGHEST // 3)
    return max(HIGHEST - idle // 10, HIGHEST // 2)


@kernel
def _descent(cluster: Cluster, number: int, node: int) -> tuple[int, int]:
    """Score of fragmentation gradient descent, and the GPU for a share (−1 for whole GPUs)."""
    here, request, gpus = cluster.nodes[node], cluster.requests[number], cluster.gpus
    cores, trial = here.cores - cores_of(here, request.cores), cluster.nodes.size
    one_share = request.gpus == 1 and request.share < WHOLE
    chosen = 0 if one_share else _least_idle(cluster, number, node, LEAST)
    for gpu in range(here.gpus):
        gpus[trial, gpu] = gpus[node, gpu] - request.share * ((chosen >> gpu) & 1)
    if not one_share:
        return _fall(here.fragmented - fragmentation(cluster, node, cores, trial)), -1
    highest, best = -1, -1
    for gpu in range(here.gpus):
        if gpus[node, gpu] < request.share or (gpu > 0 and gpus[node, gpu] == gpus[node, gpu - 1]):
            continue
        gpus[trial, gpu] -= request.share
        score = _fall(here.fragmented - fragmentation(cluster, node, cores, trial))
        gpus[trial, gpu] += request.share
        if score > highest:
            highest, best = score, gpu
    return highest, best


@kernel
def _fall(fall: float) -> int:
    """The score of a fall of the fragmentation, in thousandths of GPUs."""
    return int(1.0 / (1.0 + math.exp(-fall / WHOLE)) * HIGHEST)


@kernel
def measure(cluster: Cluster) -> None:
    """Know the fragmentation of every node, from which its changes are then followed."""
    cluster.state[0].fragmented = 0.0
    for node in range(cluster.nodes.size):
        here = cluster.nodes[node]
        here.fragmented = fragmentation(cluster, node, here.cores, node)
        cluster.state[0].fragmented += here.fragmented


@kernel
def fragmentation(cluster: Cluster, node: int, cores: int, row: int) -> float:
    """Thousandths of GPUs that are fragments on a node with so many cores, and a row of GPUs."""
    here, idle = cluster.nodes[node], 0
    for gpu in range(here.gpus):
        idle += cluster.gpus[row, gpu]
    if idle == 0 or cluster.typical.size == 0:
        return 0.0
    _count_by_level(cluster, here.gpus, row)
    lacks_both = lacks_gpu = lacks_cores = without = without_cores = no_access = 0.0
    for place in range(cluster.typical.size):
        one = cluster.typical[place]
        has_cores, level = cores >= cores_of(here, one.cores), one.level
        if level < 0:
            if has_cores:
                without += one.weight * idle
            else:
                without_cores += one.weight * idle
        elif here.model & one.models == 0:
            no_access += one.weight * idle
        elif cluster.levels[level].enough < one.gpus:
            if has_cores:
                lacks_gpu += one.weight * idle
            else:
                lacks_both += one.weight * idle
        elif has_cores:
            lacks_gpu += one.weight * cluster.levels[level].below
        else:
            lacks_cores += one.weight * idle
    return lacks_both + lacks_gpu + lacks_cores + without + without_cores + no_access


@kernel
def _count_by_level(cluster: Cluster, number: int, row: int) -> None:
    """GPUs of a row that have each share idle, and the idle parts of the others."""
    for level in range(cluster.levels.size):
        enough, below, share = 0, 0, cluster.levels[level].share
        for gpu in range(number):
            idle = cluster.gpus[row, gpu]
            enough += idle >= share
            below += idle * (idle < share)
        cluster.levels[level].enough, cluster.levels[level].below = enough, below


@kernel
def choose_gpus(cluster: Cluster, number: int, node: int, draw: float) -> int:
    """The GPUs of a node for a request, as bits."""
    request, rule = cluster.requests[number], cluster.state[0].placement
    if request.share < WHOLE and request.gpus == 1 and rule == DESCENT:
        return 1 << _descent(cluster, number, node)[1]
    if request.share < WHOLE and request.gpus == 1 and rule == RANDOM:
        return 1 << _any_gpu(cluster, number, node, draw)
    return _least_idle(cluster, number, node, MOST if rule == WORST_FIT else LEAST)


@kernel
def _any_gpu(cluster: Cluster, number: int, node: int, draw: float) -> int:
    """A random GPU of those with enough idle."""
    gpus, share = cluster.gpus[node], cluster.requests[number].share
    enough = 0
    for gpu in range(cluster.nodes[node].gpus):
        enough += gpus[gpu] >= share
    wanted = int(draw * enough)
    for gpu in range(cluster.nodes[node].gpus):
        if gpus[gpu] >= share:
            if wanted == 0:
                return gpu
            wanted -= 1
    return 0


@kernel
def _least_idle(cluster: Cluster, number: int, node: int, sign: int) -> int:
    """The GPUs with the least idle part that is enough, or with the most, as bits."""
    request, gpus, chosen = cluster.requests[number], cluster.gpus[node], 0
    for _ in range(request.gpus):
        best = -1
        for gpu in range(cluster.nodes[node].gpus):
            if gpus[gpu] < request.share or (chosen >> gpu) & 1:
                continue
            if best < 0 or sign * gpus[gpu] < sign * gpus[best]:
                best = gpu
        chosen |= 1 << best
    return chosen
