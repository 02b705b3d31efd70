"""Limits of QOS and associations: which bind a job, and what counts towards each.

Place in Slurm: ``src/slurmctld/acct_policy.c``. Limits bind only where the site enforces them.

- The QOS of the partition comes first, then the job's QOS, then the user's association and the
  accounts above. Of each kind of limit only the first one found binds, and what runs under the
  QOS or association that has it is counted.
- `Grp...` of a QOS or of an account counts all its jobs, `...PerUser` and `...PerAccount` of a QOS
  those of the user and of the account in it. `MaxJobs` and `MaxSubmitJobs` of an association count
  the user's jobs in the account; an association without them has those of the account above.
- A job that a limit of submitted jobs keeps out is refused. A job that a limit of running jobs or
  of TRES keeps waiting does not hold up its partition, and backfill plans nothing for it.
- A job that alone asks for more than a limit is refused. Slurm does so with ``DenyOnLimit``, and
  else keeps it waiting until somebody changes the limit.
"""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

import numpy as np

from cosimlib.kernels.jit import kernel
from cosimlib.kernels.records import record_type, records
from cosimlib.slurm.site import NO_LIMIT, Association, Limits, Site

JOBS, CPU, MEMORY, NODES, GPU, BILLING = range(6)
TRES = {"cpu": CPU, "mem": MEMORY, "node": NODES, "gres/gpu": GPU, "billing": BILLING}
RESOURCES = 6

SUBMISSION, START, SIZE = range(3)
"""When a limit is looked at: of submitted jobs at submission, of others before a start."""

WAITS, RUNS, ENDED, REFUSED = range(4)
"""What becomes of a job: of its state the limits count what waits and what runs."""

EACH_JOB = "each job"
"""A limit of the size of a job, of which nothing is counted."""

LIMIT = record_type(floats="most", integers="counter resource stage reason")
GROUP = record_type(integers="first limits")
"""Jobs that the same limits bind: a stretch of the list of limits."""


class Ledger(NamedTuple):
    """Limits of all groups of jobs, group after group, and what each counter has."""

    groups: np.recarray
    limits: np.recarray
    used: np.ndarray


Members = dict[tuple[str, str], Association]
"""Associations by account and user."""


class Bound(NamedTuple):
    """A limit that binds a job: what is counted, up to how much, and Slurm's word for it."""

    counter: tuple
    resource: int
    stage: int
    most: float
    reason: str


class Owner(NamedTuple):
    """Who a job belongs to."""

    partition: str
    qos: str
    account: str
    user: str


def by_name(site: Site) -> Members:
    """The associations of a site by their account and user."""
    return {(one.account, one.user): one for one in site.associations}


def bound_limits(site: Site, owner: Owner, members: Members) -> list[Bound]:
    """The limits that bind the jobs of an owner."""
    if "limits" not in site.enforce:
        return []
    found: dict[tuple, Bound] = {}
    own = site.partitions[owner.partition].qos
    for name in dict.fromkeys([own, owner.qos]):
        if name in site.qos:
            _add(found, _of_qos(site.qos[name].limits, name, owner))
    for one in _associations(members, owner):
        _add(found, _of_association(one, owner))
    return list(found.values())


def largest_sizes(bounds: list[Bound]) -> dict[int, tuple[float, str]]:
    """The most of each resource that one job may ask for, and Slurm's word for it."""
    sizes: dict[int, tuple[float, str]] = {}
    for one in bounds:
        if one.stage == SIZE and one.most < sizes.get(one.resource, (NO_LIMIT, ""))[0]:
            sizes[one.resource] = (one.most, one.reason)
    return sizes


def wall_time_limit(site: Site, owner: Owner, members: Members) -> tuple[float, str]:
    """The longest time limit that QOS and associations allow an owner (s), and Slurm's word."""
    if "limits" not in site.enforce:
        return NO_LIMIT, ""
    for name in (site.partitions[owner.partition].qos, owner.qos):
        if name in site.qos and site.qos[name].limits.wall_time < NO_LIMIT:
            return site.qos[name].limits.wall_time, "QOSMaxWallDurationPerJobLimit"
    for one in _associations(members, owner):
        if one.limits.wall_time < NO_LIMIT:
            return one.limits.wall_time, "AssocMaxWallDurationPerJobLimit"
    return NO_LIMIT, ""


def ledger_of(groups: list[list[Bound]]) -> tuple[Ledger, list[str]]:
    """The ledger of all groups, and Slurm's words for what refuses a submission."""
    counters: dict[tuple, int] = {}
    words: dict[str, int] = {}
    counted = [[one for one in group if one.counter[-1] != EACH_JOB] for group in groups]
    rows = [one for group in counted for one in group]
    limits = records(len(rows), LIMIT)
    for row, one in enumerate(rows):
        number = counters.setdefault(
            (one.counter, one.resource, one.stage == SUBMISSION), len(counters)
        )
        word = words.setdefault(one.reason, len(words))
        limits[row] = (one.most, number, one.resource, one.stage, word)
    sizes = np.array([len(group) for group in counted], dtype=np.int64)
    table = records(len(groups), GROUP, first=np.cumsum(sizes) - sizes, limits=sizes)
    return Ledger(table, limits, np.zeros(len(counters))), list(words)


def _add(found: dict, bounds: Iterator[tuple[tuple, Bound]]) -> None:
    """Add the limits of kinds that are not limited yet."""
    for key, one in list(bounds):
        if key not in found and (*key[:3], "") not in found:
            found[key] = one


def _of_qos(limits: Limits, name: str, owner: Owner) -> Iterator[tuple[tuple, Bound]]:
    """Limits that a QOS has for an owner, by kind."""
    who = {"": (), "user": (owner.user,), "account": (owner.account,)}
    jobs = (
        ("", limits.group_jobs, limits.group_submitted, "Grp", "GrpSubmitJobs"),
        (
            "user",
            limits.jobs_per_user,
            limits.submitted_per_user,
            "MaxPerUser",
            "MaxSubmitJobPerUser",
        ),
        (
            "account",
            limits.jobs_per_account,
            limits.submitted_per_account,
            "MaxPerAccount",
            "MaxSubmitJobPerAccount",
        ),
    )
    for kind, running, submitted, prefix, word in jobs:
        counter = ("qos", name, kind, *who[kind])
        job = f"QOS{prefix}JobsLimit" if not kind else f"QOSMaxJobsPer{kind.title()}Limit"
        yield from _count(kind, counter, running, submitted, job, f"QOS{word}Limit")
    tres = (
        ("", limits.group_tres, "QOSGrp{}Limit"),
        ("user", limits.tres_per_user, "QOSMax{}PerUserLimit"),
        ("account", limits.tres_per_account, "QOSMax{}PerAccount"),
        ("job", limits.tres_per_job, "QOSMax{}PerJobLimit"),
    )
    for kind, most, word in tres:
        yield from _tres(kind, ("qos", name, kind, *who.get(kind, ())), most, word)


def _of_association(one: Association, owner: Owner) -> Iterator[tuple[tuple, Bound]]:
    """Limits that an association has for an owner, by kind; those of groups at each level."""
    level = f"group {one.account} {one.user}"
    limits = one.limits
    counter = ("association", one.account, one.user)
    yield from _count(
        "",
        counter,
        limits.group_jobs,
        limits.group_submitted,
        "AssocGrpJobsLimit",
        "AssocGrpSubmitJobsLimit",
        level,
    )
    yield from _tres("", counter, limits.group_tres, "AssocGrp{}Limit", level)
    own = ("association", owner.account, owner.user)
    yield from _count(
        "user",
        own,
        limits.jobs_per_user,
        limits.submitted_per_user,
        "AssocMaxJobsLimit",
        "AssocMaxSubmitJobLimit",
    )
    yield from _tres("job", own, limits.tres_per_job, "AssocMax{}PerJobLimit")


def _count(
    kind: str,
    counter: tuple,
    running: float,
    submitted: float,
    word: str,
    refusal: str,
    level: str = "",
) -> Iterator[tuple[tuple, Bound]]:
    """Limits of running and of submitted jobs."""
    if running < NO_LIMIT:
        yield (kind, JOBS, START, level), Bound(counter, JOBS, START, running, word)
    if submitted < NO_LIMIT:
        yield (kind, JOBS, SUBMISSION, level), Bound(counter, JOBS, SUBMISSION, submitted, refusal)


def _tres(
    kind: str, counter: tuple, most: Mapping[str, float], word: str, level: str = ""
) -> Iterator[tuple[tuple, Bound]]:
    """Limits of trackable resources."""
    for name, amount in most.items():
        if name not in TRES:
            raise ValueError(
                f"a limit of TRES {name!r} of {' '.join(map(str, counter))}; expected one of "
                f"{', '.join(TRES)}, of which the simulator keeps account"
            )
        title = {
            "cpu": "Cpu",
            "mem": "Mem",
            "node": "Node",
            "gres/gpu": "GRES",
            "billing": "Billing",
        }
        reason = word.format(title[name])
        key = (kind, TRES[name], SIZE, level)
        counted = (*counter, EACH_JOB) if kind == "job" else counter
        yield key, Bound(counted, TRES[name], SIZE, amount, reason)


def _associations(members: Members, owner: Owner) -> Iterator[Association]:
    """The association of an owner and the accounts above, up to the root."""
    one = members.get((owner.account, owner.user))
    while one is not None:
        yield one
        one = members.get((one.account if one.user else one.parent, ""))


# --- kernels --------------------------------------------------------------------------------------


@kernel
def amount_of(job: np.record, resource: int) -> float:
    """How much of a resource a job takes."""
    if resource == CPU:
        return job.cpus
    if resource == MEMORY:
        return job.memory
    if resource == NODES:
        return job.nodes
    if resource == GPU:
        return job.gpus
    return job.billing if resource == BILLING else 1.0


@kernel
def exceeded(ledger: Ledger, job: np.record, stage: int) -> int:
    """The first limit of a stage that a job would exceed; −1 for none."""
    group = ledger.groups[job.group]
    for row in range(group.first, group.first + group.limits):
        limit = ledger.limits[row]
        if limit.stage != stage:
            continue
        if ledger.used[limit.counter] + amount_of(job, limit.resource) > limit.most:
            return row
    return -1


@kernel
def count_job(ledger: Ledger, job: np.record, is_submission: bool, sign: int) -> None:
    """Count a job that is submitted, or starts, or the reverse."""
    group = ledger.groups[job.group]
    for row in range(group.first, group.first + group.limits):
        limit = ledger.limits[row]
        if (limit.stage == SUBMISSION) == is_submission:
            ledger.used[limit.counter] += sign * amount_of(job, limit.resource)
