"""Priorities: a job's factors times the site's weights, anew at every PriorityCalcPeriod.

Place in Slurm: ``_get_priority_internal`` and ``set_priority_factors`` of
``src/plugins/priority/multifactor/priority_multifactor.c``.

priority = age + fair share + size + partition + QOS + TRES - nice, a whole number from 1 on.

- *Age*: min(1, seconds since the job could start / PriorityMaxAge). With ``ACCRUE_ALWAYS`` since
  its submission.
- *Fair share*: the factor of the job's association (`cosimlib.slurm.fairshare`) as of the last
  period, 1 for all where a site has no associations, 0 for a job without one.
- *Size*: (nodes / all nodes + CPUs / all CPUs) / 2, where nodes are those that the job asked for
  with ``-N``, or one. ``PriorityFavorSmall`` takes one minus each. ``SMALL_RELATIVE_TO_TIME``
  takes max(nodes × CPUs per node, CPUs) / minutes of the limit / CPUs.
- *Partition* and *QOS*: their priority divided by the largest one, unless ``NO_NORMAL_...``.
- *TRES*: for each weighted one what the job asks for / what its partition has, or the bare amount
  with ``NO_NORMAL_TRES``.

A job has its priority from its submission on; then all change at the same instants, when usage is
decayed, too. ``priority/basic`` is first come, first served.
"""

import numpy as np
import pandas as pd

from cosimlib.kernels.jit import kernel
from cosimlib.slurm.fairshare import Tree
from cosimlib.slurm.jobs import MINUTE, Jobs, gpus_of
from cosimlib.slurm.site import Site

LARGEST = 2.0**32 - 1


def set_parts(jobs: Jobs, site: Site) -> None:
    """Set the parts of priorities that do not change: size, partition, QOS, TRES; and `accrues`."""
    table, weights = jobs.table, site.priority
    since = table.submit_time if weights.accrue_always else table.eligible_time
    table.accrues = since
    if not weights.multifactor:
        return
    partitions, names = list(site.partitions.values()), weights.no_normal_all
    factors = np.array([one.priority_factor for one in partitions] + [0], dtype=np.float64)
    table.partition_part = _shares(factors, "part" in names)[table.part] * weights.partition
    qos = np.array([one.priority for one in site.qos.values()] + [0], dtype=np.float64)
    table.qos_part = _shares(qos, "qos" in names)[table.qos] * weights.qos
    table.size_part = _sizes(table, site) * weights.job_size
    table.tres_part = _tres(table, site)


def _shares(values: np.ndarray, is_bare: bool) -> np.ndarray:
    """Values divided by the largest."""
    largest = values.max()
    return values if is_bare or largest == 0 else values / largest


def _sizes(table: np.recarray, site: Site) -> np.ndarray:
    """The factor of size."""
    nodes, cores = len(site.nodes), float(sum(one.cores for one in site.nodes))
    if nodes == 0 or cores == 0:
        return np.zeros(table.size)
    if site.priority.size_relative_to_time:
        size = np.maximum(table.requested_nodes * cores / nodes, table.cpus)
        size = size / np.floor(table.limit / MINUTE) / cores
        size = 1 - size if site.priority.favor_small else size
    elif site.priority.favor_small:
        left = np.maximum(0, nodes - table.requested_nodes) / nodes
        size = (left + (cores - table.cpus) / cores) / 2
    else:
        size = (table.requested_nodes / nodes + table.cpus / cores) / 2
    return np.clip(size, 0.0, 1.0)


def _tres(table: np.recarray, site: Site) -> np.ndarray:
    """The weighted sum of the factors of TRES."""
    total = np.zeros(table.size)
    amounts = {
        "cpu": table.cpus,
        "mem": table.memory,
        "node": table.requested_nodes,
        "gres/gpu": table.gpus,
    }
    for name, weight in site.priority.tres.items():
        if name not in amounts:
            continue
        if "tres" in site.priority.no_normal_all:
            total += amounts[name] * weight
            continue
        has = np.array([_amount(site, one.nodes, name) for one in site.partitions.values()] + [0.0])
        have = has[table.part]
        total += np.where(have > 0, amounts[name] / np.where(have > 0, have, 1.0), 0.0) * weight
    return total


def _amount(site: Site, nodes: tuple[int, ...], name: str) -> float:
    """How much of a TRES some nodes have."""
    amounts = pd.DataFrame(
        [
            (one.cores, one.memory, 1, gpus_of(one.gres))
            for one in (site.nodes[node] for node in nodes)
        ],
        columns=["cpu", "mem", "node", "gres/gpu"],
    )
    return float(amounts[name].sum())


# --- kernels --------------------------------------------------------------------------------------


@kernel
def set_priority(jobs: np.recarray, job: int, tree: Tree, weights: np.record, now: float) -> None:
    """Set a job's priority, and its rank among all, by which queues are ordered."""
    one = jobs[job]
    if weights.multifactor:
        age = (
            min(1.0, max(0.0, now - one.accrues) / weights.max_age) if weights.max_age > 0 else 1.0
        )
        share = 1.0
        if tree.branches.size:
            share = tree.branches[one.association].factor if one.association >= 0 else 0.0
        total = age * weights.age + share * weights.fair_share + one.size_part
        total = total + one.partition_part + one.qos_part + one.tres_part - one.nice
        one.priority = min(LARGEST, max(1.0, np.floor(total)))
    else:
        one.priority = LARGEST - job
    one.rank = one.order * (LARGEST + 1) + one.priority
