"""Random small clusters and jobs, as the library and as `tests.cosimlib.nodes.naive` take them."""

import numpy as np
import pandas as pd

from cosimlib.system import System
from cosimlib.workload import Workload
from tests.cosimlib.nodes import naive


def random_system(rng, nodes=4):
    """Nodes of few kinds, with two models of GPU or none."""
    gpus = rng.integers(0, 5, nodes)
    model = np.where(gpus > 0, rng.choice(["A", "B"], nodes), "")
    table = {"cores": rng.choice([4, 8], nodes), "memory": rng.choice([8, 32], nodes)}
    return System.of_types(pd.DataFrame(table | {"gpus": gpus, "model": model}))


def random_workload(rng, jobs=12, most_nodes=2):
    """Jobs that ask for cores, memory, GPUs or shares of one, some for a model."""
    n = jobs
    shared = rng.random(n) < 0.4
    times = {
        "submit_time": np.sort(rng.integers(0, 20, n)),
        "run_time": rng.integers(0, 12, n),
        "requested_time": rng.integers(1, 14, n),
        "nodes": rng.integers(1, most_nodes + 1, n),
    }
    gpus = np.where(shared, 1, rng.choice([0, 1, 2], n))
    asked = {
        "cores": rng.choice([0.5, 1, 2, 4, np.nan], n),
        "memory": rng.choice([1, 4, 9], n),
        "gpus": gpus,
        "gpu_share": np.where(shared, rng.choice([0.25, 0.5, 0.3], n), 1.0),
        "gpu_models": rng.choice(["", "", "A", "A|B"], n),
    }
    return Workload(pd.DataFrame(times | asked), "random")


def fitting(workload, system):
    """The jobs that fit on the empty system."""
    nodes, jobs = naive_nodes(system), naive_jobs(workload)
    kept = [sum(naive.fits(node, job[0]) for node in nodes) >= job[1] for job in jobs]
    return workload.keep(np.array(kept, dtype=bool), "never fits")


def naive_nodes(system):
    return [
        naive.Node(round(1000 * row.cores), row.memory, [1000] * row.gpus, row.model)
        for row in system.nodes.itertuples()
    ]


def naive_jobs(workload):
    return [
        (
            naive.Request(
                None if np.isnan(row.cores) else round(1000 * row.cores),
                row.memory,
                int(row.gpus),
                round(1000 * row.gpu_share) if row.gpus else 0,
                tuple(row.gpu_models.split("|")) if row.gpu_models and row.gpus else (),
            ),
            row.nodes,
            row.submit_time,
            row.run_time,
            row.requested_time,
        )
        for row in workload.jobs.itertuples()
    ]
