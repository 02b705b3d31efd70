"""A site: what Slurm's configuration and its accounting database say about a cluster.

Every class is a plain record with the defaults of Slurm's documentation (slurm.conf, sacctmgr). All
times are in seconds, memory is in MB as Slurm counts it, and `NO_LIMIT` stands for what has none.
`cosimlab.slurm.read_site` makes a site from files; tests make them by hand.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from cosimlib import checks as check

NO_LIMIT = float("inf")
"""A limit that nothing reaches."""

NOTHING: Mapping[str, float] = MappingProxyType({})
"""No trackable resources."""


def nothing() -> Mapping[str, float]:
    """No trackable resources, as a default."""
    return NOTHING


DAY = 86_400.0


@dataclass(frozen=True)
class Node:
    """A node: one line's worth of ``NodeName=``.

    Attributes
    ----------
    cores, memory : int, float
        What jobs can take of it: CPUs as Slurm counts them, MB.
    gres : mapping of str to int
        Generic resources by name, without their type: ``{"gpu": 2}``.
    weight : int
        Nodes of the lowest weight are taken first.
    features : frozenset of str
        What ``--constraint`` asks for.
    """

    name: str
    cores: int = 1
    memory: float = 1.0
    gres: Mapping[str, int] = field(default_factory=dict)
    weight: int = 1
    features: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Limits:
    """Limits of a QOS or an association; TRES by name: ``cpu``, ``node``, ``mem``, ``gres/gpu``.

    `per_user` and `per_account` bound what each user and each account has running at a time in this
    QOS; `group` bounds what all jobs of it have together.
    """

    group_jobs: float = NO_LIMIT
    group_submitted: float = NO_LIMIT
    group_tres: Mapping[str, float] = field(default_factory=nothing)
    jobs_per_user: float = NO_LIMIT
    jobs_per_account: float = NO_LIMIT
    submitted_per_user: float = NO_LIMIT
    submitted_per_account: float = NO_LIMIT
    tres_per_job: Mapping[str, float] = field(default_factory=nothing)
    tres_per_user: Mapping[str, float] = field(default_factory=nothing)
    tres_per_account: Mapping[str, float] = field(default_factory=nothing)
    wall_time: float = NO_LIMIT


@dataclass(frozen=True)
class QOS:
    """A quality of service.

    Attributes
    ----------
    preempts : tuple of str
        The QOS whose running jobs a job of this one may preempt.
    preempt_mode : str
        What happens to its own jobs when they are preempted: ``CLUSTER`` is the cluster's mode.
    exempt_time : float
        A job that ran for less is not preempted.
    usage_factor : float
        Its jobs count so many times in fair share.
    """

    name: str
    priority: int = 0
    limits: Limits = Limits()
    preempts: tuple[str, ...] = ()
    preempt_mode: str = "CLUSTER"
    exempt_time: float = 0.0
    grace_time: float = 0.0
    usage_factor: float = 1.0


@dataclass(frozen=True)
class Association:
    """A place in the tree of accounts: an account, or a user in an account.

    Attributes
    ----------
    account : str
        The account itself, or the one in which the user is.
    user : str
        Empty for an account.
    parent : str
        The account above; empty for the root. A user's parent is the account.
    shares : int or None
        None means ``Fairshare=parent``: its children compete with those of the account above.
    """

    account: str
    user: str = ""
    parent: str = ""
    shares: int | None = 1
    limits: Limits = Limits()
    qos: tuple[str, ...] = ()
    default_qos: str = ""


@dataclass(frozen=True)
class Partition:
    """A partition: one line of ``PartitionName=``.

    Attributes
    ----------
    nodes : tuple of int
        Rows in the site's `nodes`.
    priority_factor, tier : int
        ``PriorityJobFactor``, part of a job's priority; ``PriorityTier``, which comes before it and
        decides who preempts whom under ``preempt/partition_prio``.
    exclusive : bool
        Jobs get whole nodes (``OverSubscribe=EXCLUSIVE``).
    qos : str
        The QOS whose limits also bind all jobs of the partition; empty if there is none.
    allow_qos, allow_accounts : tuple of str or None
        None allows all.
    billing_weights : mapping of str to float
        ``TRESBillingWeights``: what a job's usage is counted by. Empty counts CPUs.
    """

    name: str
    nodes: tuple[int, ...] = ()
    default: bool = False
    up: bool = True
    max_time: float = NO_LIMIT
    default_time: float | None = None
    max_nodes: float = NO_LIMIT
    min_nodes: int = 0
    priority_factor: int = 1
    tier: int = 1
    exclusive: bool = False
    qos: str = ""
    allow_qos: tuple[str, ...] | None = None
    deny_qos: tuple[str, ...] = ()
    allow_accounts: tuple[str, ...] | None = None
    deny_accounts: tuple[str, ...] = ()
    memory_per_core: float | None = None
    memory_per_node: float | None = None
    preempt_mode: str = "CLUSTER"
    grace_time: float = 0.0
    billing_weights: Mapping[str, float] = field(default_factory=nothing)


@dataclass(frozen=True)
class PrioritySettings:
    """Weights and clocks of ``priority/multifactor``.

    Attributes
    ----------
    multifactor : bool
        False is ``priority/basic``: first come, first served.
    tres : mapping of str to float
        ``PriorityWeightTRES``.
    half_life : float
        Usage halves in this time; 0 means that it never decays.
    reset : str
        ``PriorityUsageResetPeriod``, such as ``NONE`` or ``WEEKLY``.
    fair_tree : bool
        Fair Tree, Slurm's default since 19.05; else classic fair share.
    no_normal_all : frozenset of str
        Which factors are not divided by the largest one: ``assoc``, ``part``, ``qos``, ``tres``.
    damping : int
        ``FairShareDampeningFactor``, of classic fair share only.
    """

    multifactor: bool = True
    age: int = 0
    association: int = 0
    fair_share: int = 0
    job_size: int = 0
    partition: int = 0
    qos: int = 0
    tres: Mapping[str, float] = field(default_factory=nothing)
    max_age: float = 7 * DAY
    favor_small: bool = False
    size_relative_to_time: bool = False
    accrue_always: bool = False
    no_normal_all: frozenset[str] = frozenset()
    half_life: float = 7 * DAY
    period: float = 300.0
    reset: str = "NONE"
    fair_tree: bool = True
    damping: int = 1

    def __post_init__(self) -> None:
        check.number("period", self.period, above=0, where="PrioritySettings")
        check.number("half_life", self.half_life, least=0, where="PrioritySettings")
        check.number("damping", self.damping, above=0, where="PrioritySettings")


@dataclass(frozen=True)
class SchedulerSettings:
    """The main loop and the backfill loop: ``SchedulerParameters`` in seconds.

    `bf_window` is in minutes in Slurm's file and in seconds here. A `bf_node_space_size` of 0 is
    `bf_max_job_test`, as in Slurm. With an infinite `bf_interval` (-1 in Slurm's file) backfill
    never runs.
    """

    backfill: bool = True
    interval: float = 60.0
    least_interval: float = 2e-6
    queue_depth: int = 100
    partition_depth: int = 0
    bf_interval: float = 30.0
    bf_window: float = 1440 * 60.0
    bf_resolution: float = 60.0
    bf_max_job_test: int = 500
    bf_max_job_user: int = 0
    bf_max_job_part: int = 0
    bf_max_job_start: int = 0
    bf_node_space_size: int = 0
    bf_continue: bool = False
    over_time_limit: float = 0.0
    kill_wait: float = 30.0
    requeue_delay: float = 120.0

    def __post_init__(self) -> None:
        where = "SchedulerSettings"
        check.that("bf_interval", self.bf_interval, self.bf_interval > 0, "above 0", where=where)
        for name in ("interval", "bf_window", "bf_resolution"):
            check.number(name, getattr(self, name), above=0, where=where)
        for name in ("least_interval", "kill_wait", "requeue_delay"):
            check.number(name, getattr(self, name), least=0, where=where)
        limit = self.over_time_limit
        check.that("over_time_limit", limit, limit >= 0, "0 or above", where=where)
        check.whole("bf_max_job_test", self.bf_max_job_test, 1, where=where)


@dataclass(frozen=True)
class PreemptionSettings:
    """``PreemptType`` and ``PreemptMode``: by nothing, by ``partition`` tier, or by ``qos``.

    Attributes
    ----------
    mode : str
        ``OFF``, ``CANCEL`` or ``REQUEUE``; parts such as ``GANG`` and ``SUSPEND`` are not followed.
    requeue : bool
        ``JobRequeue``: whether jobs may be requeued; else ``REQUEUE`` cancels them.
    reorder_count : int
        How often a preemptor looks for fewer jobs to stop (``preempt_reorder_count``).
    """

    by: str = ""
    mode: str = "OFF"
    exempt_time: float = 0.0
    youngest_first: bool = False
    requeue: bool = True
    reorder_count: int = 1
    message_timeout: float = 10.0


@dataclass(frozen=True)
class NotModeled:
    """A setting that the simulator does not follow: where it stands, and what it would do."""

    setting: str
    value: str
    place: str
    effect: str


@dataclass(frozen=True)
class Site:
    """A cluster as Slurm's configuration and accounting database describe it.

    Attributes
    ----------
    whole_nodes : bool
        ``select/linear``: a job gets whole nodes; else cores, memory and GPUs (``cons_tres``).
    counts_memory : bool
        Whether memory is given to jobs (``CR_Core_Memory``, Slurm's default) or ignored.
    associations : tuple of Association
        The tree of accounts and users, the root first. Empty where accounting is not at hand: then
        fair share is 1 for all.
    release : str
        Slurm's release, such as ``22.05.8``. Backfill differs before 24.11. Empty is the newest.
    enforce : frozenset of str
        ``AccountingStorageEnforce``: ``limits`` and ``qos`` bind only where they stand here.
    not_modeled : tuple of NotModeled
        What the answer must name.
    """

    name: str
    nodes: tuple[Node, ...]
    partitions: Mapping[str, Partition]
    qos: Mapping[str, QOS] = field(default_factory=dict)
    associations: tuple[Association, ...] = ()
    priority: PrioritySettings = PrioritySettings()
    scheduler: SchedulerSettings = SchedulerSettings()
    preemption: PreemptionSettings = PreemptionSettings()
    whole_nodes: bool = False
    counts_memory: bool = True
    release: str = ""
    enforce: frozenset[str] = frozenset()
    not_modeled: tuple[NotModeled, ...] = ()

    def with_(self, *changes: str, **options: object) -> "Site":
        """This site with other settings, in Slurm's names and units.

        Parameters
        ----------
        *changes : str
            Such as ``"bf_window=1440"``, ``"QOS long MaxJobsPerUser=8"``, ``"Account physics
            Fairshare=20"``, ``"User anna Account=physics MaxJobs=2"`` or ``"PartitionName main
            MaxTime=1-0"``.
        **options
            Options of slurm.conf, such as ``PriorityWeightFairshare=0``.

        Raises
        ------
        ValueError
            If a name is unknown (names the nearest ones) or is not modeled, or a value is none.

        Examples
        --------
        >>> from cosimlib.slurm import Node, Partition, Site
        >>> site = Site("one node", (Node("n1"),), {"main": Partition("main", nodes=(0,))})
        >>> site.with_("PartitionName main MaxTime=1-0").partitions["main"].max_time
        86400.0
        """
        # `changes` knows the records of this file.
        from cosimlib.slurm.changes import change

        site = self
        for text in (*changes, *(f"{name}={value}" for name, value in options.items())):
            site = change(site, text)
        return site
