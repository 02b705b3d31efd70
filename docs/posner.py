"""The rigid jobs of Posner et al. (PECS 2023) from their seeds, and their "EASY" as a policy.

``python -m docs.posner`` prints the numbers of the page "Which rule made this schedule?" and draws
its pictures. The generation follows `jobGenerator.py` of projectwagomu/MalleableJobScheduling, with
the arguments of `runExperimentsPECS23.sh` of projectwagomu/ArtefactPECS23 (both EPL): thirty days,
128 nodes of 1e12 flop/s, jobs of 1 to 128 nodes and of 5e12 to 4e17 flop, all rigid.
"""

import math
import random
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd

import cosimlab as lab
import cosimlib as cs

SECONDS, NODES, SPEED = 30 * 86_400, 128, 1e12
FLOPS = range(int(5e12), int(4e17))
PARALLEL = (0.999, 0.995, 0.99, 0.985, 0.98, 0.975, 0.97, 0.965, 0.96, 0.955, 0.95)
PUBLISHED = {
    "S0": 209519.4583,
    "S1": 203554.4340,
    "S2": 190196.5828,
    "S3": 200049.0355,
    "S4": 193567.8858,
    "S5": 171824.6266,
    "S6": 210628.6013,
    "S7": 229955.4616,
    "S8": 212815.1173,
    "S9": 229141.8294,
}
"""Mean waits (s) under `rigid_easy_backfill` that their artefact stores, by seed."""

HERE = Path(__file__).resolve().parent
ACCASIM = HERE.parent / "tests" / "data" / "identify" / "accasim.csv"
SIZE = {"width": 900, "height": 480}


@cache
def efficiency(nodes: int, parallel: float) -> float:
    """Speedup per node, by Amdahl's law."""
    return 1 / ((1 - parallel) + parallel / nodes) / nodes


@cache
def parallel_part(nodes: int) -> float:
    """The parallel part of a job's work with which its efficiency is closest above .8."""
    above = [part for part in PARALLEL if efficiency(nodes, part) > 0.8]
    return min(above, key=lambda part: efficiency(nodes, part), default=max(PARALLEL))


def draw(seed: str, number: int) -> tuple[int, int, float]:
    """Submission (s), nodes and flop of a job, drawn in the order in which they draw."""
    drawn = random.Random()
    drawn.seed(seed + str(number))
    drawn.choices(["RIGID", "MOLDABLE", "MALLEABLE"], [100, 0, 0], k=1)
    submit = drawn.choice(range(SECONDS))
    nodes = 2 ** int(math.log2(drawn.choice(range(1, NODES))))
    span = FLOPS.stop - FLOPS.start
    mean = (nodes - 1) * span / (NODES - 1) + FLOPS.start
    flops = min(max(drawn.gauss(mean, span / 100), FLOPS.start), FLOPS.stop)
    return submit, nodes, flops


def workload(seed: str) -> cs.Workload:
    """The rigid jobs of a seed: as many as the machine could do in thirty days."""
    rows, work = [], 0.0
    while work < SECONDS * SPEED * NODES - FLOPS.stop:
        submit, nodes, flops = draw(seed, len(rows))
        rows.append((submit, nodes, flops))
        work += flops / efficiency(nodes, parallel_part(nodes))
    rows.append(draw(seed, len(rows)))
    jobs = pd.DataFrame(rows, columns=["submit_time", "nodes", "flops"])
    jobs["submit_time"] -= jobs["submit_time"].min()
    jobs = jobs.sort_values("submit_time", kind="stable", ignore_index=True)
    speedup = [n * efficiency(n, parallel_part(n)) for n in jobs["nodes"].tolist()]
    run_time = jobs["flops"] / SPEED / np.array(speedup)
    times = {"run_time": run_time, "requested_time": run_time}
    return cs.Workload(jobs.assign(**times), f"Posner {seed}", cs.System.of(NODES))


def their_easy(state) -> tuple[list[int], float]:
    """`rigid_easy_backfill` as it reads; ElastiSim calls it at every event, and every minute.

    A job may not overtake if the head's start "is before" the head's own run time. The estimated
    run time is in flop per node, and the head's start is a start in seconds plus such an estimate:
    of the job whose end lets the head fit. A job is removed from the list over which the loop goes:
    so the next one is skipped.
    """
    flops = state.waiting.columns[0] / state.waiting.nodes
    ends = state.running.start_time + state.running.columns[0] / state.running.nodes
    by_end = np.argsort(ends, kind="stable")
    pending, free, starts, place = list(range(flops.size)), state.free_nodes, [], 0
    while place < len(pending) and free:
        job = pending[place]
        place += 1
        if state.waiting.nodes[job] > free:
            continue
        head = pending[0]
        needed, head_start = state.waiting.nodes[job] - free, state.now
        for running in by_end if job != head else ():
            if needed <= 0:
                break
            needed, head_start = needed - state.running.nodes[running], ends[running]
        if job != head and needed <= 0 and head_start < flops[head]:
            continue
        starts.append(job)
        pending.remove(job)
        free -= state.waiting.nodes[job]
    return starts, (state.now // 60 + 1) * 60.0


def scheduled(jobs: cs.Workload) -> cs.Schedule:
    """The schedule of a workload under their rule."""
    return cs.simulate(jobs, jobs.machine, their_easy, name="their EASY", columns=["flops"])


def main() -> None:
    """Print the numbers, and draw the witnesses."""
    for seed, published in PUBLISHED.items():
        jobs = workload(seed)
        plans = scheduled(jobs), cs.simulate_fcfs(jobs, jobs.machine)
        waits = [
            float(cs.metrics.wait_time(plan).mean())
            for plan in (*plans, cs.simulate_easy(jobs, jobs.machine))
        ]
        print(seed, len(jobs), f"{published:.2f}", *(f"{wait:.2f}" for wait in waits))
    jobs = workload("S0")
    found = lab.identify(jobs, scheduled(jobs), precision=60)
    print(found)
    print(found.table[found.table["rule"].isin(["FCFS", "EASY", "EASY (no extra nodes)"])])
    witness = lab.identify(jobs, scheduled(jobs), rules=["EASY"], precision=60).witness
    print(witness)
    lab.figures.plot_witness(witness).write_image(HERE / "identify-posner.png", **SIZE)
    accasim = cs.traces.read_columns(ACCASIM, system=cs.System.of(128), verbose=False)
    print(lab.identify(accasim, accasim.jobs["start_time"]))
    found = lab.identify(accasim, accasim.jobs["start_time"], rules=["EASY"])
    print(found, found.witness)
    lab.figures.plot_witness(found.witness).write_image(HERE / "identify-accasim.png", **SIZE)


if __name__ == "__main__":
    main()
