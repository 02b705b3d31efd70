"""Queues and machines written as Slurm writes them, in the dialects of 22.05 and of 24.11."""

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from cosimlib.traces.hosts import fold_hosts

NOW = 1_800_000_000
DIALECTS = ("22.05", "24.11")


@dataclass(frozen=True)
class Job:
    """A job: `ran` seconds from its start, `left` seconds to its limit (None: without one)."""

    job_id: int
    hosts: tuple[str, ...]
    ran: float = 3600
    left: float | None = 36_000
    state: str = "RUNNING"
    name: str = "job"
    user: str = "ann"
    account: str = "lab"
    partition: str = "main"
    qos: str = "normal"
    command: str = ""
    cpus: int | None = None
    memory: int | None = None
    """MB in all."""
    gpus: int = 0
    reservation: str = ""
    requeue: bool = True
    batch: bool = True
    leader: int = 0
    offset: int = 0
    array: tuple[int, int] | None = None
    resumed: tuple[float, float] | None = None
    """Seconds since it was resumed or suspended, and seconds that it ran before."""
    reason: str = "None"


@dataclass(frozen=True)
class Node:
    """A node: Slurm's states, the first the base, the others flags."""

    name: str
    states: tuple[str, ...] = ("IDLE",)
    partitions: tuple[str, ...] = ("main",)
    features: tuple[str, ...] = ()
    cpus: int = 4
    memory: int = 4000
    gpus: int = 0
    reservation: str = ""


@dataclass(frozen=True)
class Machine:
    """Jobs and nodes of a cluster."""

    jobs: tuple[Job, ...]
    nodes: tuple[Node, ...] = field(default=())

    def save(self, folder: Path, dialect: str = "24.11") -> list[str]:
        """Write both documents; their paths. Each tells the moment `NOW` where its dialect can."""
        paths = []
        for name, document in (("squeue", self.squeue(dialect)), ("sinfo", self.sinfo(dialect))):
            path = folder / f"{name}.json"
            path.write_text(json.dumps(document, ensure_ascii=False), encoding="utf-8")
            paths.append(str(path))
        return paths if self.nodes else paths[:1]

    def squeue(self, dialect: str = "24.11") -> dict[str, Any]:
        """What ``squeue --json`` prints."""
        jobs = [job_record(job, dialect) for job in self.jobs]
        if dialect == "22.05":
            slurm = {"version": {"major": 22, "micro": 8, "minor": 5}, "release": "22.05.8"}
            return {"meta": {"Slurm": slurm}, "errors": [], "jobs": jobs}
        slurm = {"release": "24.11.5", "cluster": "example"}
        return {"jobs": jobs, "last_update": number(NOW), "meta": {"slurm": slurm}, "errors": []}

    def sinfo(self, dialect: str = "24.11") -> dict[str, Any]:
        """What ``sinfo --json`` prints: nodes, or per partition groups of alike nodes."""
        if dialect == "22.05":
            return {"meta": {}, "errors": [], "nodes": [_node(node) for node in self.nodes]}
        entries: dict[tuple, list[Node]] = {}
        for node in self.nodes:
            for partition in node.partitions:
                alike = (
                    partition,
                    node.states,
                    node.features,
                    node.cpus,
                    node.memory,
                    node.gpus,
                    node.reservation,
                )
                entries.setdefault(alike, []).append(node)
        return {"sinfo": [_entry(key[0], nodes) for key, nodes in entries.items()], "errors": []}


def number(value: float | None, *, unlimited: bool = False) -> dict[str, Any]:
    """A number of the newer dialect; None is unset."""
    return {"set": value is not None, "infinite": unlimited, "number": value or 0}


def job_record(job: Job, dialect: str) -> dict[str, Any]:
    """One job as its dialect writes it, with the fields that matter here."""
    new = dialect != "22.05"
    waits = job.state == "PENDING"
    start = 0 if waits else NOW - job.ran
    limit = None if job.left is None else (job.ran + job.left) / 60
    end = 0 if waits else NOW + (365 * 86_400 if job.left is None else job.left)
    since, before = job.resumed or (None, 0)
    suspended = 0 if since is None else NOW - since
    plain = {
        "start_time": start,
        "end_time": end,
        "suspend_time": suspended,
        "pre_sus_time": before,
        "time_limit": limit,
        "node_count": len(job.hosts),
        "cpus": job.cpus,
        "array_job_id": job.array[0] if job.array else 0,
        "array_task_id": job.array[1] if job.array else None,
        "het_job_id": job.leader,
        "het_job_offset": job.offset,
    }
    tres = [f"cpu={job.cpus}"] if job.cpus else []
    tres += [f"mem={job.memory}M"] if job.memory else []
    tres += [f"node={len(job.hosts)}"]
    tres += [f"gres/gpu={job.gpus}"] if job.gpus else []
    written = {key: number(value) for key, value in plain.items()} if new else dict(plain)
    if new:
        written["time_limit"] = number(limit, unlimited=job.left is None)
        if limit is None:
            written["time_limit"]["set"] = False
    states = job.state.split("+")
    return {
        "job_id": job.job_id,
        "job_state": states if new else states[-1],
        "name": job.name,
        "user_name": job.user,
        "account": job.account,
        "qos": job.qos,
        "partition": job.partition,
        "command": job.command,
        "state_reason": job.reason,
        "nodes": fold_hosts(job.hosts),
        "resv_name": job.reservation,
        "requeue": job.requeue,
        "batch_flag": job.batch,
        "job_resources": None if waits else {"nodes": fold_hosts(job.hosts)},
        "tres_alloc_str": "" if waits or not (job.cpus or job.memory) else ",".join(tres),
        "features": "",
        "exit_code": {"status": ["SUCCESS"]} if new else 0,
        **written,
    }


def _node(node: Node) -> dict[str, Any]:
    base, *flags = node.states
    tres = f"cpu={node.cpus},mem={node.memory}M,billing={node.cpus}"
    return {
        "name": node.name,
        "state": base.lower(),
        "state_flags": list(flags),
        "partitions": list(node.partitions),
        "features": ",".join(node.features),
        "active_features": ",".join(node.features),
        "cpus": node.cpus,
        "real_memory": node.memory,
        "tres": tres + (f",gres/gpu={node.gpus}" if node.gpus else ""),
    }


def _entry(partition: str, nodes: list[Node]) -> dict[str, Any]:
    first, n = nodes[0], len(nodes)
    features = ",".join(first.features)
    return {
        "node": {"state": list(first.states)},
        "nodes": {"total": n, "hostnames": [], "nodes": [node.name for node in nodes]},
        "cpus": {"minimum": first.cpus, "maximum": first.cpus, "total": n * first.cpus},
        "memory": {"minimum": first.memory, "maximum": first.memory},
        "gres": {"total": f"gpu:a100:{first.gpus}(S:0-1)" if first.gpus else "", "used": ""},
        "features": {"total": features, "active": features},
        "reservation": first.reservation,
        "partition": {"name": partition, "partition": {"state": ["UP"]}},
    }


def machine_of(jobs: tuple[Job, ...], nodes: int, **flags: tuple[str, ...]) -> Machine:
    """Nodes n1, n2, … in the states that the jobs on them make; `flags` gives others by name."""
    held = {host for job in jobs if job.state != "PENDING" for host in job.hosts}
    names = [f"n{n}" for n in range(1, nodes + 1)]
    made = [
        Node(name, flags.get(name, ("MIXED",) if name in held else ("IDLE",))) for name in names
    ]
    return Machine(jobs, tuple(made))
