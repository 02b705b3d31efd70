"""The saved queue of the pages and the notebook: a machine that never was, at one moment.

``python -m tests.advise.saved`` writes ``docs/advise/squeue.json`` and ``sinfo.json`` in the
dialect of Slurm 24.11. The jobs of partition `main` are those of a Lublin workload under EASY at a
moment at which many run and two reach their limits soon; names and users are drawn, and so are the
small jobs that share the nodes of partition `gpu`.
"""

import numpy as np

from cosimlib.batch import simulate_easy
from cosimlib.synthetic import lublin, with_estimates
from cosimlib.system import System
from tests.advise.queues import Job, Machine, Node
from tests.suites import ROOT

FOLDER = ROOT / "docs" / "advise"
MAIN, GPU, SEED = 40, 8, 3
KINDS = (("gmx_npt", "ann", "chem"), ("gmx_prod", "bo", "chem"), ("vasp_relax", "cy", "solid"),
         ("openfoam", "dee", "flow"), ("analysis", "eve", "bio"))  # fmt: skip


def machine() -> Machine:
    """Both partitions: jobs on whole nodes of `main`, small ones on shared nodes of `gpu`."""
    random = np.random.default_rng(SEED)
    jobs = [*_main(random), *_gpu(random, 9000)]
    held = {host for job in jobs for host in job.hosts}
    nodes = [_node(f"n{n:02d}", held, "main", n) for n in range(1, MAIN + 1)]
    nodes += [_node(f"g{n}", held, "gpu", n) for n in range(1, GPU + 1)]
    return Machine(tuple(jobs), tuple(nodes))


def _main(random: np.random.Generator) -> list[Job]:
    """The jobs of a schedule at an interesting moment, and those that then wait."""
    workload = with_estimates(lublin(3000, nodes=MAIN, load=0.9, seed=SEED), seed=SEED)
    schedule = simulate_easy(workload, System.of(MAIN - 2))
    jobs = schedule.jobs
    start, end = schedule.start_time, schedule.end_time
    limit = start + jobs["requested_time"].to_numpy()
    moments = start[(start > np.quantile(start, 0.2)) & (start < np.quantile(start, 0.8))] + 1200.0

    def interest(at: float) -> tuple[bool, int]:
        runs = (start <= at) & (at < end)
        return int((runs & (limit < at + 900)).sum()) == 2, int(runs.sum())

    now = max(moments.tolist(), key=interest)
    made: list[Job] = []
    free = [f"n{n:02d}" for n in range(1, MAIN + 1)]
    for row in np.flatnonzero((start <= now) & (now < end)).tolist():
        size = int(jobs["nodes"].iloc[row])
        hosts, free = free[:size], free[size:]
        name, user, account = KINDS[int(random.integers(len(KINDS)))]
        ran = float(now - start[row])
        made.append(
            Job(
                4000 + row,
                tuple(hosts),
                round(ran),
                round(float(limit[row] - now)),
                name=name,
                user=user,
                account=account,
                cpus=32 * size,
                memory=64_000 * size,
            )
        )
    waits = (jobs["submit_time"].to_numpy() <= now) & (start > now)
    for row in np.flatnonzero(waits).tolist():
        made.append(Job(4000 + row, (), 0, 3600, "PENDING", reason="Priority"))
    return made


def _gpu(random: np.random.Generator, first: int) -> list[Job]:
    """Jobs of one to four GPUs, two or three per node, and one that spans two nodes."""
    jobs = []
    for n in range(1, GPU):
        for part in range(int(random.integers(1, 4))):
            hosts = (f"g{n}", f"g{n + 1}") if (n, part) == (2, 0) else (f"g{n}",)
            ran, left = (int(x) for x in random.integers(300, 20_000, 2))
            name = ("train", "infer", "notebook")[int(random.integers(3))]
            jobs.append(
                Job(
                    first + len(jobs),
                    hosts,
                    ran,
                    left,
                    name=name,
                    user="fay",
                    account="ml-vision",
                    partition="gpu",
                    cpus=8 * len(hosts),
                    gpus=len(hosts),
                    memory=32_000 * len(hosts),
                    qos="urgent" if n == 7 else "normal",
                )
            )
    return jobs


def _node(name: str, held: set[str], partition: str, n: int) -> Node:
    """A node in the state that its jobs make; two are drained and in maintenance."""
    states = ("MIXED" if partition == "gpu" else "ALLOCATED",) if name in held else ("IDLE",)
    states += {"n40": ("DRAIN",), "n39": ("PLANNED",)}.get(name, ())
    features = ("a100" if n <= 4 else "h100",) if partition == "gpu" else ("milan", "ib")
    gpus = 4 if partition == "gpu" else 0
    return Node(name, states, (partition,), features, 32, 128_000, gpus)


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    machine().save(FOLDER, indent=None)
