"""Arrivals: jobs are placed on nodes one by one and never leave.

This is how Weng et al. (*Beware of Fragmentation*, USENIX ATC 2023) compare placements: how many
GPUs are allocated when so many have been asked for, and how many of the idle ones are fragments.
"""

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import pandas as pd

from cosimlib import checks as check
from cosimlib.kernels.jit import kernel
from cosimlib.kernels.records import record_type, records
from cosimlib.nodes.placement import TAKE, WHOLE, Cluster, change, choose, measure
from cosimlib.nodes.requests import cluster_of, gpu_numbers, requests_of, typical_requests
from cosimlib.system import System
from cosimlib.workload import Workload, check_run

ARRIVAL = record_type(
    floats="fragmented", integers="request nodes first placed arrived allocated idle"
)


@dataclass(frozen=True, eq=False, repr=False)
class Placed:
    """Placement of jobs on nodes, one by one, without departures.

    Parameters
    ----------
    workload : Workload
    system : System
    placement : str
    arrivals : pd.DataFrame
        One row per job: `placed`; and after it came `arrived`, `allocated`, `idle` and `fragmented`
        GPUs: those asked for by then, those that jobs hold, those idle, and fragments among these.
    node, gpu_set : np.ndarray
        Where each job is on its nodes, job after job, −1 if it is on none; its GPUs as bits.
    """

    workload: Workload
    system: System
    placement: str
    arrivals: pd.DataFrame
    node: np.ndarray = field(repr=False)
    gpu_set: np.ndarray = field(repr=False)

    @cached_property
    def places(self) -> pd.DataFrame:
        """One row per job that is placed and node: `job`, `node`, `gpus` (their numbers)."""
        job = np.repeat(np.arange(len(self.workload)), self.workload.jobs["nodes"])
        table = pd.DataFrame({"job": job, "node": self.node, "gpus": self.gpu_set})
        table = table[table["node"] >= 0].reset_index(drop=True)
        return table.assign(gpus=[gpu_numbers(one) for one in table["gpus"]])

    def curves(self, last: int = 130) -> pd.DataFrame:
        """Means at each percent of the GPUs that has arrived, rounded to a whole percent.

        Parameters
        ----------
        last : int, default 130

        Returns
        -------
        pd.DataFrame
            By percent from 0 to `last`: `allocated` and `fragmented` in percent of all GPUs, and
            `fragmentation_ratio` in percent of the idle ones. Where no job came at a percent, the
            mean of its neighbors; NaN if none came there either.
        """
        table, total = self.arrivals, float(self.system.nodes["gpus"].sum())
        with np.errstate(invalid="ignore", divide="ignore"):
            shares = pd.DataFrame(
                {
                    "allocated": 100 * table["allocated"] / total,
                    "fragmented": 100 * table["fragmented"] / total,
                    "fragmentation_ratio": 100 * table["fragmented"] / table["idle"],
                }
            )
        percent = (100 * table["arrived"] / total).round().rename("arrived")
        at = shares.groupby(percent).agg(["sum", "count"])
        at = at.reindex(range(-1, last + 2), fill_value=0)
        near = at.shift(1) + at + at.shift(-1)
        sums = at.where(at["allocated", "count"] > 0, near).loc[0:last]
        means = {name: sums[name, "sum"] / sums[name, "count"] for name in shares}
        return pd.DataFrame(means).rename_axis("arrived")


def place_jobs(
    workload: Workload,
    system: System,
    placement: str = "fgd",
    *,
    typical: Workload | None = None,
    seed: int = 0,
) -> Placed:
    """Placement of jobs on nodes in order; jobs never leave; jobs that do not fit are skipped.

    Ties between nodes go to the lowest number: the order of the nodes in the system matters.

    Parameters
    ----------
    workload : Workload
        With some of the columns `cores`, `memory`, `gpus`, `gpu_share`, `gpu_models`
        (`cosimlib.nodes.requests`). Times do not matter.
    system : System
        With node types, `System.of_types`.
    placement : str, default "fgd"
        One of `PLACEMENTS` (`cosimlib.nodes.placement`).
    typical : Workload, optional
        Whose commonest requests fragmentation is measured by; by default those of the workload.
    seed : int, default 0
        Of random placement.

    Returns
    -------
    Placed

    Examples
    --------
    >>> import pandas as pd
    >>> import cosimlib as cs
    >>> system = cs.System.of_types([cs.NodeType(2, cores=8, gpus=2)])
    >>> asked = {"cores": [2, 2, 2, 4], "gpus": [1, 1, 2, 2], "gpu_share": [0.5, 0.5, 1, 1]}
    >>> jobs = pd.DataFrame(asked | {"submit_time": 0, "run_time": 1, "nodes": 1})
    >>> cs.place_jobs(cs.Workload(jobs), system, "gpu_packing").places
       job  node    gpus
    0    0     0    (0,)
    1    1     0    (0,)
    2    2     1  (0, 1)
    """
    check_run(workload, system)
    check.seed(seed)
    distinct, number = requests_of(workload)
    common = typical_requests(workload if typical is None else typical)
    cluster = cluster_of(system, distinct, common, placement)
    wanted = workload.jobs["nodes"].to_numpy()
    first = np.concatenate([[0], np.cumsum(wanted)])
    arrivals = records(len(workload), ARRIVAL, request=number, nodes=wanted, first=first[:-1])
    draws = np.random.default_rng(seed).random((first[-1], 2))
    node, gpu_set = np.full(first[-1], -1), np.zeros(first[-1], np.int64)
    _arrive(cluster, arrivals, draws, node, gpu_set)
    gpus = {name: arrivals[name] / WHOLE for name in ("arrived", "allocated", "idle", "fragmented")}
    table = pd.DataFrame({"placed": arrivals.placed == 1, **gpus})
    return Placed(workload, system, placement, table, node, gpu_set)


@kernel
def _arrive(
    cluster: Cluster,
    arrivals: np.recarray,
    draws: np.ndarray,
    node: np.ndarray,
    gpu_set: np.ndarray,
) -> None:
    """Place one job after the other, and note the sums after each."""
    state, arrived, allocated = cluster.state[0], 0, 0
    measure(cluster)
    for job in range(arrivals.size):
        one = arrivals[job]
        request, last = cluster.requests[one.request], one.first + one.nodes
        one.placed = choose(
            cluster,
            one.request,
            job,
            draws[one.first : last],
            node[one.first : last],
            gpu_set[one.first : last],
        )
        asked = one.nodes * request.gpus * request.share
        arrived += asked
        allocated += asked * one.placed
        for place in range(one.first, last):
            if one.placed:
                change(cluster, one.request, node[place], gpu_set[place], TAKE)
            else:
                node[place] = -1
        one.arrived, one.allocated = arrived, allocated
        one.idle, one.fragmented = state.idle_gpu, state.fragmented
