"""Jobs as Slurm takes them: what they ask for, who they belong to, and which are refused.

Columns of a workload: `nodes`, `cores` (per node; missing: whole nodes), `memory` (GB of 1,024 MB
per node; 0: all of it, as ``--mem=0``; missing: the partition's default, and without one all of
it), `gpus` (per node), `requested_time`, `partition`, `user`; and, beyond those that every workload
knows, `requested_nodes` (of ``-N``; missing: as many as the job has), `account` (missing: the
user's first), `qos` (missing: the association's default, else ``normal`` if there is one),
`eligible_time` (s, from when it may start), `nice`, `constraint` (features, joined by ``&``),
`exclusive` and `unlimited` (it was submitted or recorded without a limit).

- Slurm counts time limits in minutes: a limit is rounded up. A job without one has the default of
  its partition, else its longest time, else a year. An unlimited job has no default: it has the
  longest time of its partition, else a year, which is what backfill reckons with.
- A job without ``-N`` asks for one node, whatever it gets: only one counts in its priority.
- A job that outlives its limit ends at limit + OverTimeLimit + KillWait, or when it would end by
  itself, if that is earlier: it is taken to ignore the signal that comes before the kill. Slurm
  looks for such jobs every 30 s, of which nothing is simulated.
- Refused are jobs that Slurm refuses, and those that it would keep waiting without end: what the
  partition, the QOS or the account never allows, and what no set of nodes has.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd

from cosimlib import checks as check
from cosimlib.kernels.records import record_type, records
from cosimlib.slurm.bits import sets_of, size_of
from cosimlib.slurm.limits import (
    CPU,
    GPU,
    MEMORY,
    NODES,
    REFUSED,
    START,
    WAITS,
    Ledger,
    Owner,
    bound_limits,
    by_name,
    largest_sizes,
    ledger_of,
    wall_time_limit,
)
from cosimlib.slurm.selection import REQUEST
from cosimlib.slurm.site import Partition, Site
from cosimlib.workload import InvalidWorkloadError, Workload

YEAR = 365 * 86_400.0
MINUTE = 60.0
MEGABYTES = 1024
"""MB in a GB of the column `memory`."""


JOB = record_type(
    floats="requested_nodes submit_time eligible_time accrues run_time limit start_time "
    "expected_end end_time cpus memory gpus billing usage_factor size_part partition_part qos_part "
    "tres_part nice priority rank order began planned_time exempt_time grace_time preempt_start "
    "victim_rank usable position",
    integers="nodes request part qos user association group first state restarts reason "
    "preempted_by rung mode",
)
"""A job; `began` is when its present run began, `first` where its nodes are listed.

`order` comes before priority. For preemption, a job has a `rung` (its partition or QOS, a row in
`World.preempts`) and a `mode`. It was stopped by `preempted_by`, and stopped others last at
`preempt_start`. Of several candidates the one of the largest `victim_rank` stops first; `usable`
and `position` are keys by which candidates are put in another order.
"""


@dataclass(frozen=True, eq=False)
class Jobs:
    """Jobs and requests as records, the ledger of limits, and why jobs are refused.

    `reasons` has the word for each job that is refused at once, and is empty for others. `words`
    are those of limits that refuse a submission.
    """

    table: np.recarray
    requests: np.recarray
    eligible: np.ndarray
    considered: np.ndarray
    ledger: Ledger
    reasons: np.ndarray
    words: list[str]


def jobs_of(workload: Workload, site: Site, branches: dict[tuple[str, str], int]) -> Jobs:
    """Jobs of a workload, as a site takes them.

    Raises
    ------
    InvalidWorkloadError
        If a column has a value that is none.
    """
    asked = _asked(workload, site)
    owners, group = _owners(asked, site)
    requests, eligible, considered, number = _requests(asked, site)
    members = by_name(site)
    bounds = [bound_limits(site, owner, members) for owner in owners]
    ledger, words = ledger_of(bounds)
    association = [branches.get((owner.account, owner.user), -1) for owner in owners]
    table = records(
        len(asked),
        JOB,
        submit_time=asked["submit_time"],
        run_time=_run_time(asked, site),
        limit=asked["limit"],
        eligible_time=asked["eligible_time"],
        nodes=asked["nodes"],
        requested_nodes=asked["requested_nodes"],
        nice=asked["nice"],
        cpus=asked["cpus"],
        memory=asked["all_memory"],
        gpus=asked["gpus"] * asked["nodes"],
        billing=_billing(asked, site),
        request=number,
        group=group,
        part=asked["partition"].cat.codes,
        qos=asked["qos"].cat.codes,
        user=pd.factorize(asked["user"])[0],
        association=np.array(association, int)[group],
        start_time=np.nan,
        end_time=np.nan,
        priority=np.nan,
        planned_time=np.nan,
        first=_first(asked["nodes"]),
        usage_factor=_usage_factors(asked, site),
        preempted_by=-1,
        preempt_start=-np.inf,
    )
    reasons = _refusals(asked, site, owners, group, bounds, members, eligible, number)
    table.state = np.where(reasons == "", WAITS, REFUSED)
    return Jobs(table, requests, eligible, considered, ledger, reasons, words)


def limits_of(workload: Workload, site: Site) -> np.ndarray:
    """The time limit (s) of each job, as a site takes it."""
    return _asked(workload, site)["limit"].to_numpy(np.float64)


# --- columns --------------------------------------------------------------------------------------


def _asked(workload: Workload, site: Site) -> pd.DataFrame:
    """What each job asks for: the workload's columns with the site's defaults."""
    jobs = workload.jobs
    names = pd.Series(list(site.partitions))
    partition = _texts(workload, "partition").str.split(",").str[0]
    partition = partition.where(partition != "", _default_partition(site))
    table = pd.DataFrame(
        {
            "submit_time": jobs["submit_time"],
            "run_time": jobs["run_time"],
            "nodes": jobs["nodes"],
            "partition": pd.Categorical(partition.where(partition.isin(names), None), names),
            "user": _texts(workload, "user"),
            "account": _texts(workload, "account"),
            "constraint": _texts(workload, "constraint"),
            "gpus": workload.column("gpus").fillna(0).astype(np.int64),
            "nice": _numbers(workload, "nice", 0.0),
        }
    )
    requested = _numbers(workload, "requested_nodes", np.nan)
    table["requested_nodes"] = requested.fillna(table["nodes"])
    eligible = _numbers(workload, "eligible_time", np.nan)
    table["eligible_time"] = np.fmax(eligible, table["submit_time"])
    code = table["partition"].cat.codes.to_numpy()
    cores = _numbers(workload, "cores", np.nan)
    exclusive = flags(workload, "exclusive")
    whole = _by_partition(site, code, lambda one: one.exclusive, False)
    table["is_whole"] = site.whole_nodes | whole | exclusive | cores.isna()
    table["cores"] = np.ceil(cores.fillna(1.0)).clip(lower=1).astype(np.int64)
    table["cpus"] = table["cores"] * table["nodes"]
    _set_memory(table, workload, site, code)
    _set_limits(table, workload, site, code)
    _set_associations(table, workload, site)
    return table


def _set_memory(table: pd.DataFrame, workload: Workload, site: Site, code: np.ndarray) -> None:
    """Add `memory` (MB per node), `takes_all` and `all_memory` (MB together)."""
    per_node = _by_partition(site, code, lambda one: one.memory_per_node, np.nan)
    per_core = _by_partition(site, code, lambda one: one.memory_per_core, np.nan)
    default = np.where(np.isnan(per_node), per_core * table["cores"], per_node)
    given = _numbers(workload, "memory", np.nan) * MEGABYTES
    memory = np.rint(given.where(given.notna(), default))
    if not site.counts_memory:
        memory = pd.Series(0.0, index=table.index)
    table["takes_all"] = site.counts_memory & ~(memory > 0)
    table["memory"] = memory.where(memory > 0, 0.0)
    table["all_memory"] = table["memory"] * table["nodes"]


def _set_limits(table: pd.DataFrame, workload: Workload, site: Site, code: np.ndarray) -> None:
    """Add `asked_limit` and `limit` (s)."""
    default = _by_partition(site, code, _default_time, YEAR)
    longest = _by_partition(site, code, lambda one: one.max_time, np.inf)
    requested = workload.jobs["requested_time"]
    default = np.where(flags(workload, "unlimited"), np.minimum(longest, YEAR), default)
    asked = np.where(requested.isna(), default, requested)
    table["asked_limit"] = np.where(requested.isna(), 0.0, asked)
    rounded = np.ceil(asked / MINUTE) * MINUTE
    table["limit"] = np.where(np.isfinite(longest), np.minimum(rounded, longest), rounded)


def _set_associations(table: pd.DataFrame, workload: Workload, site: Site) -> None:
    """Fill in accounts that jobs do not name, and add `qos`."""
    first: dict[str, str] = {}
    for one in site.associations:
        first.setdefault(one.user, one.account)
    named = table["account"] != ""
    table["account"] = table["account"].where(
        named, table["user"].map(lambda user: first.get(user, ""))
    )
    default = {(one.account, one.user): one.default_qos for one in site.associations}
    own = pd.Series(
        [default.get(key, "") for key in zip(table["account"], table["user"], strict=True)],
        index=table.index,
        dtype="str",
    )
    own = own.where(own != "", "normal" if "normal" in site.qos else "")
    qos = _texts(workload, "qos")
    qos = qos.where(qos != "", own)
    table["unknown_qos"] = (qos != "") & ~qos.isin(list(site.qos)) & bool(site.qos)
    table["qos"] = pd.Categorical(qos.where(qos.isin(list(site.qos)), None), list(site.qos))


def _texts(workload: Workload, name: str) -> pd.Series:
    """A column as texts, empty where it is missing."""
    if name not in workload.jobs:
        return pd.Series("", index=workload.jobs.index, dtype="str")
    return workload.jobs[name].astype("string").fillna("").str.strip().astype("str")


def flags(workload: Workload, name: str) -> pd.Series:
    """A column as true or false, false where it is missing."""
    return _texts(workload, name).str.lower().isin(["true", "1", "1.0", "yes"])


def _numbers(workload: Workload, name: str, missing: float) -> pd.Series:
    """A column as numbers."""
    if name not in workload.jobs:
        return pd.Series(missing, index=workload.jobs.index, dtype=np.float64)
    given = workload.jobs[name]
    values = pd.to_numeric(given, errors="coerce").astype("float64")
    fine = (values.notna() & (values >= 0)) | given.isna() | (name == "nice") & values.notna()
    expected = "a number from 0, or a missing one" if name != "nice" else "a number"
    check.rows(name, given, fine, expected, row=workload.label, error=InvalidWorkloadError)
    return values.fillna(missing)


def _by_partition(
    site: Site, code: np.ndarray, value: Callable[[Partition], object], missing: object
) -> np.ndarray:
    """A value of each job's partition; `missing` where it has none."""
    values = [value(one) for one in site.partitions.values()]
    table = np.array([missing if one is None else one for one in [*values, missing]])
    return table[code]


def _default_partition(site: Site) -> str:
    names = [name for name, one in site.partitions.items() if one.default]
    return (names or list(site.partitions) or [""])[0]


def _default_time(partition: Partition) -> float:
    if partition.default_time is not None:
        return partition.default_time
    return partition.max_time if np.isfinite(partition.max_time) else YEAR


def _run_time(asked: pd.DataFrame, site: Site) -> np.ndarray:
    """How long each job runs at most."""
    settings = site.scheduler
    return np.minimum(
        asked["run_time"], asked["limit"] + settings.over_time_limit + settings.kill_wait
    )


def _billing(asked: pd.DataFrame, site: Site) -> np.ndarray:
    """What each job is billed by: weighted TRES of its partition, or CPUs."""
    amounts = {
        "cpu": asked["cpus"],
        "mem": asked["all_memory"],
        "node": asked["nodes"],
        "gres/gpu": asked["gpus"] * asked["nodes"],
    }
    billing = asked["cpus"].to_numpy(np.float64)
    code = asked["partition"].cat.codes
    for number, one in enumerate(site.partitions.values()):
        if one.billing_weights:
            total = sum(
                amounts[name] * weight
                for name, weight in one.billing_weights.items()
                if name in amounts
            )
            billing = np.where(code == number, total, billing)
    return billing


def _usage_factors(asked: pd.DataFrame, site: Site) -> np.ndarray:
    """How often the usage of each job counts."""
    factors = np.array([*(one.usage_factor for one in site.qos.values()), 1.0])
    return factors[asked["qos"].cat.codes]


def _first(nodes: pd.Series) -> np.ndarray:
    """Where the list of each job's nodes begins."""
    check.room("nodes of all jobs together", float(nodes.sum()), "take fewer jobs")
    return np.cumsum(nodes) - nodes


# --- owners and requests --------------------------------------------------------------------------


def _owners(asked: pd.DataFrame, site: Site) -> tuple[list[Owner], np.ndarray]:
    """Who jobs belong to, without repetition, and the number of each job's owner."""
    first = next(iter(site.partitions))
    table = pd.DataFrame(
        {
            "partition": asked["partition"].astype(object).fillna(first),
            "qos": asked["qos"].astype(object).fillna(""),
            "account": asked["account"],
            "user": asked["user"],
        }
    )
    group = table.groupby(list(table), sort=False).ngroup().to_numpy()
    owners = [Owner(*row) for row in table.drop_duplicates().itertuples(index=False)]
    return owners, group


def _requests(
    asked: pd.DataFrame, site: Site
) -> tuple[np.recarray, np.ndarray, np.ndarray, np.ndarray]:
    """Different requests, the nodes on which each may be, and the number of each job's request.

    Between nodes and numbers: the nodes that backfill considers, which may lack GPUs.
    """
    names = ["partition", "cores", "memory", "gpus", "is_whole", "takes_all", "constraint"]
    table = asked[names].assign(partition=asked["partition"].cat.codes)
    number = table.groupby(names, sort=False).ngroup().to_numpy()
    distinct = table.drop_duplicates().reset_index(drop=True)
    requests = records(
        len(distinct),
        REQUEST,
        memory=distinct["memory"],
        cores=distinct["cores"],
        gpus=distinct["gpus"],
        is_whole=distinct["is_whole"],
        all_memory=distinct["takes_all"],
        part=distinct["partition"],
    )
    cores = np.array([one.cores for one in site.nodes])
    memory = np.array([one.memory for one in site.nodes])
    gpus = np.array([gpus_of(one.gres) for one in site.nodes])
    members = {-1: np.zeros(len(site.nodes), bool)}
    for code, one in enumerate(site.partitions.values()):
        members[code] = np.isin(np.arange(len(site.nodes)), one.nodes)
    featured = {text: _featured(site, text) for text in distinct["constraint"].unique()}
    shape = (len(distinct), len(site.nodes))
    considered = np.array(
        [
            members[one.partition]
            & featured[one.constraint]
            & (cores >= one.cores)
            & (memory >= one.memory)
            for one in distinct.itertuples()
        ],
        dtype=bool,
    ).reshape(shape)
    eligible = considered & (gpus >= distinct["gpus"].to_numpy()[:, None]).reshape(shape)
    return requests, sets_of(eligible), sets_of(considered), number


def gpus_of(gres: Mapping[str, int]) -> int:
    """GPUs among generic resources, whatever their type."""
    return sum(count for name, count in gres.items() if name.split(":")[0] == "gpu")


def _featured(site: Site, constraint: str) -> np.ndarray:
    """Which nodes have the features of a constraint."""
    wanted = {name.strip() for name in constraint.split("&")} - {""}
    return np.array([wanted <= one.features for one in site.nodes], dtype=bool)


# --- refusals -------------------------------------------------------------------------------------


def _refusals(asked, site, owners, group, bounds, members, eligible, number) -> np.ndarray:
    """Slurm's word for why each job is refused; empty for jobs that are taken."""
    reasons = np.full(len(asked), "", dtype=object)

    def refuse(jobs: object, word: str) -> None:
        reasons[np.asarray(jobs, dtype=bool) & (reasons == "")] = word

    code = asked["partition"].cat.codes.to_numpy()
    refuse(code < 0, "InvalidPartition")
    refuse(~_by_partition(site, code, lambda one: one.up, True).astype(bool), "PartitionDown")
    _refuse_owners(asked, site, owners, group, members, refuse)
    longest = _by_partition(site, code, lambda one: one.max_time, np.inf)
    refuse(asked["asked_limit"] > longest, "PartitionTimeLimit")
    most = _by_partition(site, code, lambda one: one.max_nodes, np.inf)
    least = _by_partition(site, code, lambda one: one.min_nodes, 0)
    refuse((asked["nodes"] > most) | (asked["nodes"] < least), "PartitionNodeLimit")
    wall = [wall_time_limit(site, owner, members) for owner in owners]
    for word in {word for _, word in wall if word}:
        allowed = np.array([limit if other == word else np.inf for limit, other in wall])
        refuse(asked["limit"] > allowed[group], word)
    amounts = {
        CPU: asked["cpus"],
        MEMORY: asked["all_memory"],
        NODES: asked["nodes"],
        GPU: asked["gpus"] * asked["nodes"],
    }
    for owner, each in enumerate(bounds):
        for one in each:
            if one.stage == START and one.most < 1:
                refuse(group == owner, one.reason)
        for resource, (largest, word) in largest_sizes(each).items():
            if resource in amounts:
                refuse((group == owner) & (amounts[resource] > largest), word)
    enough = np.array([size_of(row) for row in eligible])[number] if len(asked) else group
    refuse(asked["nodes"] > enough, "BadConstraints")
    return reasons


def _refuse_owners(asked, site, owners, group, members, refuse) -> None:
    """Refuse jobs whose account, QOS or partition do not go together."""
    enforces = {"associations", "limits", "qos", "safe"} & site.enforce
    refuse(asked["unknown_qos"], "InvalidQOS")
    found = []
    for owner in owners:
        partition = site.partitions[owner.partition]
        one = members.get((owner.account, owner.user))
        if enforces and site.associations and one is None:
            found.append("InvalidAccount")
        elif "qos" in site.enforce and owner.qos and not _allows(members, owner, one):
            found.append("InvalidQOS")
        elif not _is_in(owner.qos, partition.allow_qos, partition.deny_qos):
            found.append("PartitionQOS")
        elif not _is_in(owner.account, partition.allow_accounts, partition.deny_accounts):
            found.append("PartitionAccount")
        else:
            found.append("")
    words = np.array([*found, ""], dtype=object)[group]
    for word in {*words} - {""}:
        refuse(words == word, word)


def _allows(members, owner: Owner, one) -> bool:
    """Whether an association, or else the accounts above, name a QOS; naming none allows all."""
    while one is not None:
        if one.qos:
            return owner.qos in one.qos
        one = members.get((one.account if one.user else one.parent, ""))
    return True


def _is_in(name: str, allowed: tuple[str, ...] | None, denied: tuple[str, ...]) -> bool:
    return (allowed is None or name in allowed) and name not in denied
