"""Random small sites and workloads, and their jobs as the plain version takes them."""

import math
from dataclasses import replace

import numpy as np
import pandas as pd

from cosimlib.slurm.site import (
    QOS,
    Association,
    Limits,
    Node,
    Partition,
    PreemptionSettings,
    PrioritySettings,
    SchedulerSettings,
    Site,
)
from cosimlib.workload import Workload
from tests.cosimlib.slurm import naive

USERS = ("ann", "bob", "cem", "dia")
ACCOUNTS = {"ann": "art", "bob": "art", "cem": "bio", "dia": "bio"}


def random_site(rng, preempts=False):
    """A site of 2 to 7 nodes of some kinds and weights, 1 to 3 partitions and 0 to 2 QOS.

    Where jobs preempt others, there are up to 3 QOS.
    """
    size = int(rng.integers(2, 8))
    kinds = [(4, 8.0, 0, 1, ()), (4, 16.0, 2, 3, ("x",)), (8, 8.0, 0, 1, ("x", "y"))]
    some = [kinds[k] for k in rng.choice(3, size=int(rng.integers(1, 4)))]
    nodes = []
    for number in range(size):
        cores, memory, gpus, weight, features = some[int(rng.integers(len(some)))]
        gres = {"gpu": gpus} if gpus else {}
        nodes.append(Node(f"n{number}", cores, memory, gres, weight, frozenset(features)))
    partitions = {}
    for name in ("main", "side", "fast")[: int(rng.integers(1, 4))]:
        members = tuple(
            sorted(rng.choice(size, int(rng.integers(1, size + 1)), replace=False).tolist())
        )
        partitions[name] = Partition(
            name, members, tier=int(rng.integers(1, 3)), priority_factor=int(rng.integers(0, 4)),
            exclusive=bool(rng.random() < 0.3), memory_per_core=1.0,
        )  # fmt: skip
    site = Site(
        "random", tuple(nodes), partitions, _qos(rng), _tree(rng), _weights(rng), _scheduler(rng),
        enforce=frozenset({"limits"} if rng.random() < 0.7 else ()),
        release=str(rng.choice(["", "22.05.8", "25.05"])),
    )  # fmt: skip
    return _with_preemption(rng, site) if preempts else site


def _with_preemption(rng, site):
    """A site where jobs stop others, by partition or by QOS."""
    pick = lambda *values: values[int(rng.integers(len(values)))]  # noqa: E731
    partitions = {
        name: replace(
            one, tier=int(rng.integers(1, 4)), grace_time=float(pick(0, 0, 25)),
            preempt_mode=pick(*["CLUSTER"] * 4, "CANCEL", "REQUEUE", "OFF"),
        )
        for name, one in site.partitions.items()
    }  # fmt: skip
    below = {"normal": (), "high": ("normal",), "low": ()}
    qos = {
        name: QOS(
            name, int(rng.integers(0, 3)), preempts=below[name],
            grace_time=float(pick(0, 0, 40)), exempt_time=float(pick(0, 0, 60)),
            preempt_mode=pick("CLUSTER", "CLUSTER", "CANCEL"),
        )
        for name in below
    }  # fmt: skip
    if rng.random() < 0.3:
        qos["low"] = replace(qos["low"], preempts=("high",))
    settings = PreemptionSettings(
        pick("partition", "qos"), pick("REQUEUE", "REQUEUE", "CANCEL"),
        exempt_time=float(pick(0, 0, 30)), youngest_first=bool(rng.random() < 0.3),
        requeue=bool(rng.random() < 0.8), reorder_count=int(rng.integers(0, 3)),
        message_timeout=float(pick(0, 10)),
    )  # fmt: skip
    scheduler = replace(site.scheduler, requeue_delay=float(pick(0, 30, 120)))
    return replace(site, partitions=partitions, qos=qos, preemption=settings, scheduler=scheduler)


def _qos(rng):
    if rng.random() < 0.4:
        return {}
    pick = lambda *values: values[int(rng.integers(len(values)))]  # noqa: E731
    return {
        name: QOS(
            name,
            int(rng.integers(0, 3)),
            Limits(
                group_jobs=pick(math.inf, math.inf, 2, 3),
                jobs_per_user=pick(math.inf, math.inf, 1, 2),
                group_tres=pick({}, {}, {"cpu": 24}, {"cpu": 33, "node": 7}),
                tres_per_user=pick({}, {}, {"cpu": 25}),
                submitted_per_user=pick(math.inf, math.inf, 4),
            ),
            usage_factor=pick(1.0, 2.0, 0.5),
        )
        for name in ("normal", "high")
    }


def _tree(rng):
    if rng.random() < 0.3:
        return ()
    shares = [int(one) for one in rng.integers(0, 4, 6)]
    accounts = [
        Association("art", "", "root", shares[4]),
        Association("bio", "", "root", shares[5]),
    ]
    users = [
        Association(ACCOUNTS[user], user, ACCOUNTS[user], share)
        for user, share in zip(USERS, shares, strict=False)
    ]
    return (Association("root"), *accounts, *users)


def _weights(rng):
    return PrioritySettings(
        multifactor=bool(rng.random() < 0.9), age=int(rng.integers(0, 3)) * 500,
        fair_share=int(rng.integers(0, 3)) * 700, job_size=int(rng.integers(0, 2)) * 900,
        partition=int(rng.integers(0, 2)) * 400, qos=int(rng.integers(0, 2)) * 300,
        max_age=1000.0, half_life=float(rng.integers(0, 3)) * 900, period=60.0 * rng.integers(1, 5),
        favor_small=bool(rng.random() < 0.3), accrue_always=bool(rng.random() < 0.3),
        tres={"mem": 3.0} if rng.random() < 0.3 else {}, no_normal_all=frozenset({"tres"}),
    )  # fmt: skip


def _scheduler(rng):
    few = lambda most: 0 if rng.random() < 0.6 else int(rng.integers(1, most))  # noqa: E731
    return SchedulerSettings(
        backfill=bool(rng.random() < 0.8), interval=float(rng.integers(2, 8) * 10),
        queue_depth=int(rng.integers(1, 12)), partition_depth=few(5),
        bf_interval=float(rng.integers(2, 9) * 5), bf_window=float(rng.integers(5, 90) * 60),
        bf_max_job_test=int(rng.integers(2, 40)), bf_max_job_user=few(6), bf_max_job_part=few(8),
        bf_max_job_start=few(4), kill_wait=float(rng.integers(0, 40)),
        over_time_limit=float(rng.choice([0, 0, 60])), least_interval=rng.choice([2e-6, 4]),
    )  # fmt: skip


def random_workload(rng, site, size=24, longest=600):
    """Jobs that crowd a site, with limits that are longer or shorter than they run."""
    whole = lambda low, high: rng.integers(low, high, size)  # noqa: E731
    submit = np.sort(whole(0, 900))
    run = whole(1, longest)
    jobs = pd.DataFrame(
        {
            "submit_time": submit,
            "run_time": run,
            "requested_time": np.maximum(1, run + whole(-80, 400)),
            "nodes": rng.choice([1, 1, 1, 2, 2, 3, 5], size),
            "cores": rng.choice([1.0, 2.0, 4.0, 6.0, np.nan], size, p=[0.3, 0.25, 0.2, 0.1, 0.15]),
            "memory": rng.choice([np.nan, 2.0, 7.0], size) / 1024,
            "gpus": rng.choice([0, 0, 0, 0, 1], size),
            "constraint": rng.choice(["", "", "", "x", "x&y"], size),
            "partition": rng.choice(list(site.partitions), size),
            "user": rng.choice(USERS, size),
            "qos": rng.choice([*site.qos, ""], size),
            "nice": rng.choice([0, 0, 50], size),
            "exclusive": rng.random(size) < 0.15,
        }
    )
    jobs["eligible_time"] = np.where(rng.random(size) < 0.2, submit + whole(0, 300), np.nan)
    return Workload(jobs, "random")


def naive_jobs(workload, site):
    """The jobs of a workload; those that fit nowhere are refused."""
    jobs = []
    for number, row in enumerate(workload.jobs.to_dict("records")):
        partition = site.partitions[row["partition"]]
        cores = 1 if math.isnan(row["cores"]) else int(row["cores"])
        memory = row["memory"] * 1024
        limit = math.ceil(row["requested_time"] / 60) * 60
        longest = limit + site.scheduler.over_time_limit + site.scheduler.kill_wait
        qos = row["qos"] or ("normal" if "normal" in site.qos else "")
        job = naive.Job(
            number, row["submit_time"], np.fmax(row["eligible_time"], row["submit_time"]),
            min(row["run_time"], longest), limit, row["nodes"], cores,
            cores * partition.memory_per_core if math.isnan(memory) else round(memory), row["gpus"],
            math.isnan(row["cores"]) or bool(row["exclusive"]) or partition.exclusive,
            frozenset(filter(None, row["constraint"].split("&"))), row["partition"], qos,
            ACCOUNTS[row["user"]] if site.associations else "", row["user"], row["nice"],
        )  # fmt: skip
        slurm = naive.Slurm(site, [])
        too_large = any(
            job.tres(name) > most
            for limits, _ in slurm.limits_of(job)
            for name, most in limits[2].items()
        )
        if too_large or len(slurm.fits(job, partition.nodes, [])) < job.nodes:
            job.state = "refused"
        jobs.append(job)
    return jobs
