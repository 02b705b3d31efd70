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

from cosimlib.kernels.jit import allocating_kernel, kernel
from cosimlib.kernels.records import record_type

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
TAKE, GIVE_BACK = 1, -1
"""What changes a node."""
LEAST, MOST = 1, -1
"""Which GPUs are better: those with the least idle, or the most."""

CORES, MEMORY, GPU, FIRST_GPU = range(4)
"""Columns of what nodes have idle: thousandths of cores, bytes, thousandths of all its GPUs, and
from the last on of each of its GPUs."""

NODE = record_type(floats="fragmented", integers="all_cores gpus model changed barred_to")
"""A node: thousandths of cores and number of GPUs that it has, their model as a bit.

`fragmented` thousandths of GPUs; `changed` is the version of its last change; `barred_to` a job
that must not have it.
"""
REQUEST = record_type(
    integers="cores memory gpus share models kind row fitting jobs place refused most"
)
"""A request per node. `models` is a set of bits, `kind` 0 for shares of GPUs, else the number of
whole ones, `row` the row of its scores.

Of a queue: nodes on which it fits and jobs that wait with it; its place among the requests with
any; `refused` is the pass in which a late job of `most` nodes was refused.
"""
TYPICAL = record_type(floats="weight", integers="cores gpus share models first enough below")
"""A typical request. The `first` of those with its share knows how many GPUs of a node have the
share idle, and what is idle of the others."""
STATE = record_type(
    floats="fragmented shadow_time next_start",
    integers="placement version most_cores most_gpu idle_gpu "
    "policy first last running submitted active passes reserved spare planned",
)
"""A cluster's sums and its rule; `most_cores` and `most_gpu` (thousandths) of its largest nodes.

Of a queue: its policy; it is from `first` to `last`; so many jobs are running and submitted, and so
many requests have waiting jobs. `reserved` is the number of nodes on which its blocked head fits at
the shadow time, `spare` how many of them it leaves over. `planned` counts the reservations that
were made at instants at which no job came or ended; `next_start` is when the next one begins (s).
"""
PLACE = record_type(floats="draw gpu_draw", integers="node gpus")
"""A node of a job, and its GPUs there as bits; numbers in [0, 1) for random choices of both."""


class Cluster(NamedTuple):
    """Nodes and requests as kernels see them.

    `idle` per node and column; `kinds` jobs per node and kind; `scores` per row of a request and
    node: ``STEP × version + score``, where 0 is for a node that does not fit, and the last row is
    not kept; `state` is one record.
    """

    nodes: np.recarray
    idle: np.ndarray
    kinds: np.ndarray
    requests: np.recarray
    typical: np.recarray
    scores: np.ndarray
    state: np.recarray


STEP = 256
"""Scores of one version of a node: 0 where it does not fit, else 1 more than the score."""


@allocating_kernel
def choose(cluster: Cluster, number: int, job: int, places: np.ndarray) -> bool:
    """Choose a node for each place of a job with a request; False if too few fit.

    Nodes that are `barred_to` the job are left out.
    """
    nodes = np.empty(cluster.nodes.size, np.int64)
    found = _score_nodes(cluster, number, job, nodes)
    if found < places.size:
        return False
    if cluster.state[0].placement == RANDOM:
        for place in range(places.size):
            other = place + int(places[place].draw * (found - place))
            places[place].node = nodes[other]
            nodes[other] = nodes[place]
    else:
        _take_highest(cluster.scores[cluster.requests[number].row], nodes[:found], places)
    for place in range(places.size):
        places[place].gpus = choose_gpus(cluster, number, places[place].node, places[0].gpu_draw)
    return True


@kernel
def fits(nodes: np.recarray, idle: np.ndarray, node: int, request: np.record) -> bool:
    """Whether a node has what a request asks for idle."""
    here = nodes[node]
    if idle[node, CORES] < cores_of(here, request.cores) or idle[node, MEMORY] < request.memory:
        return False
    if request.gpus == 0:
        return True
    if idle[node, GPU] < request.gpus * request.share or here.model & request.models == 0:
        return False
    enough = 0
    for gpu in range(FIRST_GPU, FIRST_GPU + here.gpus):
        enough += idle[node, gpu] >= request.share
    return enough >= request.gpus


@kernel
def count_fitting(cluster: Cluster, number: int) -> int:
    """Number of nodes on which a request fits."""
    fitting = 0
    for node in range(cluster.nodes.size):
        fitting += fits(cluster.nodes, cluster.idle, node, cluster.requests[number])
    return fitting


@kernel
def change(cluster: Cluster, number: int, node: int, gpus: int, sign: int) -> None:
    """Take what a request asks for on a node and a set of its GPUs, or give it back."""
    here, request, state = cluster.nodes[node], cluster.requests[number], cluster.state[0]
    move(cluster.nodes, cluster.idle, node, request, gpus, sign)
    state.idle_gpu -= sign * request.gpus * request.share
    if request.gpus > 0:
        cluster.kinds[node, request.kind] += sign
    state.version += 1
    here.changed = state.version
    before = here.fragmented
    here.fragmented = fragmentation(cluster, node)
    state.fragmented += here.fragmented - before


@kernel
def move(
    nodes: np.recarray, idle: np.ndarray, node: int, request: np.record, gpus: int, sign: int
) -> None:
    """Change what a node has idle, and nothing else."""
    idle[node, CORES] -= sign * cores_of(nodes[node], request.cores)
    idle[node, MEMORY] -= sign * request.memory
    idle[node, GPU] -= sign * request.gpus * request.share
    for gpu in range(nodes[node].gpus):
        idle[node, FIRST_GPU + gpu] -= sign * request.share * ((gpus >> gpu) & 1)


@kernel
def cores_of(here: np.record, cores: int) -> int:
    """Thousandths of cores that a request takes on a node."""
    return here.all_cores if cores == ALL_CORES else cores


@kernel
def _score_nodes(cluster: Cluster, number: int, job: int, fitting: np.ndarray) -> int:
    """List the nodes that fit and are not barred, by number, and know their scores; how many."""
    nodes, scores, row = cluster.nodes, cluster.scores, cluster.requests[number].row
    is_kept, found = row < scores.shape[0] - 1, 0
    for node in range(nodes.size):
        score = scores[row, node] - STEP * nodes[node].changed
        if score < 0 or not is_kept:
            is_fitting = fits(nodes, cluster.idle, node, cluster.requests[number])
            score = 1 + _new_score(cluster, number, node) if is_fitting else 0
            scores[row, node] = STEP * nodes[node].changed + score
        if score > 0 and nodes[node].barred_to != job:
            fitting[found] = node
            found += 1
    return found


@allocating_kernel
def _take_highest(scores: np.ndarray, nodes: np.ndarray, places: np.ndarray) -> None:
    """Choose the nodes of the highest scores, and of equal ones the first, by their numbers."""
    times = np.zeros(HIGHEST + 2, np.int64)
    for node in nodes:
        times[scores[node] % STEP] += 1
    least, wanted, place = HIGHEST + 1, places.size, 0
    while times[least] < wanted:
        wanted -= times[least]
        least -= 1
    for node in nodes:
        score = scores[node] % STEP
        if score > least or (score == least and wanted > 0):
            wanted -= score == least
            places[place].node = node
            place += 1


@kernel
def _new_score(cluster: Cluster, number: int, node: int) -> int:
    """The score of a node that fits, by the cluster's rule."""
    rule = cluster.state[0].placement
    if rule in (RANDOM, FIRST_FIT):
        return 0
    if rule == DESCENT:
        return _descent(cluster, number, node)[0]
    if rule == CLUSTERING:
        return _clustering(cluster, number, node)
    if rule == PACKING:
        return _packing(cluster, number, node)
    return _remaining(cluster, number, node)


@kernel
def _remaining(cluster: Cluster, number: int, node: int) -> int:
    """Scores of the rules that look at what a node has idle: dot product, best and worst fit."""
    request, state, idle = cluster.requests[number], cluster.state[0], cluster.idle
    cores, gpu = cores_of(cluster.nodes[node], request.cores), request.gpus * request.share
    if state.placement == DOT_PRODUCT:
        product = (idle[node, CORES] / state.most_cores) * (cores / state.most_cores)
        product += (idle[node, GPU] / state.most_gpu) * (gpu / state.most_gpu)
        return int(HIGHEST * (1.0 - product / 2.0))
    rest = (idle[node, CORES] - cores) / state.most_cores * 0.5
    rest += (idle[node, GPU] - gpu) / state.most_gpu * 0.5
    return int((1.0 - rest) * HIGHEST) if state.placement == BEST_FIT else int(rest * HIGHEST)


@kernel
def _clustering(cluster: Cluster, number: int, node: int) -> int:
    """Score of GPU clustering: nodes with jobs of the same kind first."""
    request, most = cluster.requests[number], cluster.state[0].most_gpu
    if request.gpus == 0:
        return 0
    used = HIGHEST // 4 * (most - cluster.idle[node, GPU]) // most
    kinds = 0
    for kind in range(cluster.kinds.shape[1]):
        kinds += cluster.kinds[node, kind] > 0
    if cluster.kinds[node, request.kind] > 0:
        return used + (HIGHEST * 3 // 4 if kinds == 1 else HIGHEST // 2)
    return used + (HIGHEST // 4 if kinds == 0 else 0)


@kernel
def _packing(cluster: Cluster, number: int, node: int) -> int:
    """Score of GPU packing: GPUs in use first, then idle ones of nodes in use."""
    request, gpus = cluster.requests[number], cluster.nodes[node].gpus
    if request.gpus == 0:
        return 0
    chosen, whole, opened, parts = least_idle(cluster.idle, node, request, LEAST), 0, 0, 0
    for gpu in range(gpus):
        idle, is_chosen = cluster.idle[node, FIRST_GPU + gpu], (chosen >> gpu) & 1
        whole += idle == WHOLE
        opened += is_chosen * (idle == WHOLE)
        parts += is_chosen * (idle * 100 // WHOLE)
    if whole == gpus:
        return max(HIGHEST // 3 - whole, whole)
    if opened > 0:
        return max(HIGHEST // 2 - opened, HIGHEST // 3)
    return max(HIGHEST - parts // 10, HIGHEST // 2)


@kernel
def _descent(cluster: Cluster, number: int, node: int) -> tuple[int, int]:
    """Score of fragmentation gradient descent, and the GPUs as bits."""
    request, idle = cluster.requests[number], cluster.idle
    if request.gpus != 1 or request.share == WHOLE:
        gpus = least_idle(idle, node, request, LEAST)
        return _score_of_fall(cluster, number, node, gpus), gpus
    highest, best = -1, 0
    for gpu in range(cluster.nodes[node].gpus):
        here = idle[node, FIRST_GPU + gpu]
        if here < request.share or (gpu > 0 and here == idle[node, FIRST_GPU + gpu - 1]):
            continue
        score = _score_of_fall(cluster, number, node, 1 << gpu)
        if score > highest:
            highest, best = score, 1 << gpu
    return highest, best


@kernel
def _score_of_fall(cluster: Cluster, number: int, node: int, gpus: int) -> int:
    """The score of how far a node's fragmentation falls if a request takes a set of its GPUs."""
    nodes, idle, request = cluster.nodes, cluster.idle, cluster.requests[number]
    move(nodes, idle, node, request, gpus, TAKE)
    fall = nodes[node].fragmented - fragmentation(cluster, node)
    move(nodes, idle, node, request, gpus, GIVE_BACK)
    return int(1.0 / (1.0 + math.exp(-fall / WHOLE)) * HIGHEST)


@kernel
def measure(cluster: Cluster) -> None:
    """Know the fragmentation of every node, from which its changes are then followed."""
    state, nodes = cluster.state[0], cluster.nodes
    state.fragmented = 0.0
    for node in range(nodes.size):
        nodes[node].fragmented = fragmentation(cluster, node)
        state.fragmented += nodes[node].fragmented


@kernel
def fragmentation(cluster: Cluster, node: int) -> float:
    """Thousandths of GPUs that are fragments on a node."""
    here, typical, idle = cluster.nodes[node], cluster.typical, cluster.idle[node, GPU]
    if idle == 0 or typical.size == 0:
        return 0.0
    lacks_both = lacks_gpu = lacks_cores = without = without_cores = no_access = 0.0
    for place in range(typical.size):
        one, alike = typical[place], typical[typical[place].first]
        if one.first == place:
            _count_enough(cluster.idle, node, one)
        has_cores = cluster.idle[node, CORES] >= cores_of(here, one.cores)
        if one.gpus == 0:
            if has_cores:
                without += one.weight * idle
            else:
                without_cores += one.weight * idle
        elif here.model & one.models == 0:
            no_access += one.weight * idle
        elif alike.enough < one.gpus:
            if has_cores:
                lacks_gpu += one.weight * idle
            else:
                lacks_both += one.weight * idle
        elif has_cores:
            lacks_gpu += one.weight * alike.below
        else:
            lacks_cores += one.weight * idle
    return lacks_both + lacks_gpu + lacks_cores + without + without_cores + no_access


@kernel
def _count_enough(idle: np.ndarray, node: int, one: np.record) -> None:
    """Count the GPUs of a node that have a typical request's share idle; sum up the others."""
    one.enough, one.below = 0, 0
    for gpu in range(FIRST_GPU, idle.shape[1]):
        one.enough += idle[node, gpu] >= one.share
        one.below += idle[node, gpu] * (idle[node, gpu] < one.share)


@kernel
def choose_gpus(cluster: Cluster, number: int, node: int, draw: float) -> int:
    """The GPUs of a node for a request, as bits."""
    request, rule = cluster.requests[number], cluster.state[0].placement
    if rule == DESCENT:
        return _descent(cluster, number, node)[1]
    if rule == RANDOM and request.gpus == 1 and request.share < WHOLE:
        return _any_gpu(cluster.idle, node, request.share, draw)
    return least_idle(cluster.idle, node, request, MOST if rule == WORST_FIT else LEAST)


@kernel
def _any_gpu(idle: np.ndarray, node: int, share: int, draw: float) -> int:
    """A random GPU of those with enough idle, as a bit."""
    enough = 0
    for gpu in range(FIRST_GPU, idle.shape[1]):
        enough += idle[node, gpu] >= share
    wanted = int(draw * enough)
    for gpu in range(FIRST_GPU, idle.shape[1]):
        if idle[node, gpu] >= share:
            if wanted == 0:
                return 1 << (gpu - FIRST_GPU)
            wanted -= 1
    return 0


@kernel
def least_idle(idle: np.ndarray, node: int, request: np.record, sign: int) -> int:
    """The GPUs of a node with the least idle part that is enough, or with the most, as bits."""
    chosen = 0
    for _ in range(request.gpus):
        best = -1
        for gpu in range(idle.shape[1] - FIRST_GPU):
            part = idle[node, FIRST_GPU + gpu]
            if part < request.share or (chosen >> gpu) & 1:
                continue
            if best < 0 or sign * part < sign * idle[node, FIRST_GPU + best]:
                best = gpu
        chosen |= 1 << best
    return chosen
