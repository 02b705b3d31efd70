"""What a user chooses: how bursts get their nodes, what a notice is used for, which checkpoints.

Each policy has its own knobs, and checks them when it is made. A name, such as ``"shrink"``, stands
for the policy with its default values. `cosimlib.ondemand.simulation` has the model.
"""

from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np

from cosimlib import checks as check
from cosimlib.ondemand import state
from cosimlib.system import System

POLICIES = {
    "wait": state.WAIT,
    "reserve": state.WAIT,
    "kill": state.BY_KILL,
    "greedy": state.GREEDY,
    "dynamic": state.DYNAMIC,
    "dynamic_blocked": state.DYNAMIC_BLOCKED,
    "preempt": state.PREEMPT,
    "shrink": state.SHRINK,
    "share": state.SHARE,
}
"""All policies by name; `reserve` needs a number of nodes, see `Reserve`."""

SOLVERS = ("kill", "greedy", "dynamic", "dynamic_blocked", "preempt")
"""The policies of `Evict`."""

DEADLINES = {
    "least_loss": state.DEADLINE_LEAST_LOSS,
    "earliest": state.DEADLINE_EARLIEST,
    "weighted": state.DEADLINE_WEIGHTED,
}
"""Which deadline of an eviction plan is taken."""

NOTICES = {
    "ignore": state.IGNORE,
    "collect": state.COLLECT,
    "prepare": state.PREPARE,
    "predict": state.PREDICT,
}
"""What the scheduler does at the notice of a burst."""


@dataclass(frozen=True)
class Policy:
    """How bursts get their nodes: one of `Wait`, `Reserve`, `Evict`, `Shrink`, `Share`.

    Examples
    --------
    >>> import cosimlib as cs
    >>> isinstance(cs.ondemand.Share(), cs.ondemand.Policy)
    True
    """

    takes_calendar: ClassVar[bool] = True

    @staticmethod
    def of(policy: object, system: System) -> "Policy":
        """A policy as it is given, or the one that a name stands for, checked for a system."""
        named = {"wait": Wait, "shrink": Shrink, "share": Share}
        if isinstance(policy, str) and policy in named:
            return named[policy]()
        if isinstance(policy, str) and policy in SOLVERS:
            return Evict(policy)
        expected = f"Reserve(nodes=…), with nodes from 1 to {system.total_nodes:,}"
        check.that("policy", policy, policy != "reserve", expected)
        expected = f"one of {', '.join(map(repr, POLICIES))}, or a Policy"
        check.that("policy", policy, isinstance(policy, Policy), expected)
        if isinstance(policy, Reserve):
            check.whole("nodes", policy.nodes, 1, system.total_nodes, where="Reserve")
        return policy  # type: ignore[return-value]

    @property
    def mechanism(self) -> str:
        """The name of the policy, one of `POLICIES`."""
        return type(self).__name__.lower()

    @property
    def label(self) -> str:
        """What the policy's name is followed by in tables, in brackets."""
        return ""

    @property
    def rules(self) -> dict[str, float]:
        """The policy's knobs as fields of `state.RULES`."""
        return {}


@dataclass(frozen=True)
class Wait(Policy):
    """Bursts wait for free nodes, before all batch jobs in the queue.

    Examples
    --------
    >>> import cosimlib as cs
    >>> cs.ondemand.Wait().mechanism
    'wait'
    """


@dataclass(frozen=True)
class Reserve(Policy):
    """Bursts wait as under `Wait`, and nodes are set aside for them.

    Examples
    --------
    >>> import cosimlib as cs
    >>> cs.ondemand.Reserve(nodes=512)
    Reserve(nodes=512)
    """

    takes_calendar: ClassVar[bool] = False

    nodes: int
    """Nodes set aside for bursts. Batch jobs that do not fit on the others may use them."""

    def __post_init__(self) -> None:
        check.whole("nodes", self.nodes, 1, where="Reserve")

    @property
    def label(self) -> str:
        return f"{self.nodes:,}"

    @property
    def rules(self) -> dict[str, float]:
        return {"reserved": self.nodes}


@dataclass(frozen=True)
class Evict(Policy):
    """Running jobs are evicted for a burst, by a plan of one of the solvers.

    Examples
    --------
    >>> import cosimlib as cs
    >>> cs.ondemand.Evict("dynamic", deadline="weighted", weight=100)
    Evict(solver='dynamic', deadline='weighted', weight=100, step=60.0)
    """

    solver: str = "dynamic"
    """``"kill"`` kills the jobs that lose least together. ``"preempt"`` kills one job after the
    other by ascending loss. ``"greedy"`` and ``"dynamic"`` also let jobs write checkpoints, by the
    solvers of Maurya et al.; ``"dynamic_blocked"`` counts nodes that stand still, too."""

    deadline: str = "least_loss"
    """Which deadline of the plan is taken: ``"least_loss"``, the one that loses the fewest node-
    hours, and of these the earliest; ``"earliest"``; or ``"weighted"``, the one of least
    ``loss + weight · delay``. For the solvers that write checkpoints."""

    weight: float = 0.0
    """Node-hours that an hour of delay is worth, for ``deadline="weighted"``."""

    step: float = 60.0
    """Seconds from one deadline to the next."""

    def __post_init__(self) -> None:
        check.choice("solver", self.solver, SOLVERS, where="Evict")
        check.choice("deadline", self.deadline, DEADLINES, where="Evict")
        kind = "node-hours per hour of delay,"
        check.number("weight", self.weight, least=0, kind=kind, where="Evict")
        check.seconds("step", self.step, above=0, where="Evict")

    @property
    def mechanism(self) -> str:
        return self.solver

    @property
    def label(self) -> str:
        if self.deadline == "least_loss" or self.solver in ("kill", "preempt"):
            return ""
        return f"λ = {self.weight:g}" if self.deadline == "weighted" else self.deadline

    @property
    def rules(self) -> dict[str, float]:
        deadline = DEADLINES[self.deadline]
        return {"deadline": deadline, "weight": self.weight, "step": self.step}


@dataclass(frozen=True)
class Shrink(Policy):
    """Malleable jobs give part of their nodes to a burst; where that is not enough, jobs are
    preempted.

    Examples
    --------
    >>> import cosimlib as cs
    >>> cs.ondemand.Shrink(malleable=0.5)
    Shrink(malleable=0.5, least=0.2)
    """

    takes_calendar: ClassVar[bool] = False

    malleable: float = 0.3
    """Share of the jobs that may shrink (Fan et al.)."""

    least: float = 0.2
    """Share of its nodes that a malleable job needs at least (Fan et al.)."""

    def __post_init__(self) -> None:
        for name in ("malleable", "least"):
            value = getattr(self, name)
            fine = check.is_number(value) and 0 <= value <= 1
            check.that(name, value, fine, "a share from 0 to 1", where="Shrink")

    def draw_least_nodes(self, nodes: np.ndarray, seed: int) -> np.ndarray:
        """The fewest nodes of each job: all that it asks for, unless it is drawn as malleable."""
        drawn = np.random.default_rng([seed, 1]).random(len(nodes)) < self.malleable
        fewest = np.maximum(1, np.ceil(self.least * nodes))
        return np.where(drawn, fewest, nodes).astype(np.int64)


@dataclass(frozen=True)
class Share(Policy):
    """A burst and running jobs take turns on the nodes that the burst lacks.

    Examples
    --------
    >>> import cosimlib as cs
    >>> cs.ondemand.Share(turn=0.25)
    Share(turn=0.25)
    """

    takes_calendar: ClassVar[bool] = False

    turn: float = 0.5
    """Part of the time that a burst has on nodes that it shares."""

    def __post_init__(self) -> None:
        fine = check.is_number(self.turn) and 0 < self.turn < 1
        expected = "a part of the time between 0 and 1"
        check.that("turn", self.turn, fine, expected, where="Share")

    @property
    def rules(self) -> dict[str, float]:
        return {"turn": self.turn}


@dataclass(frozen=True)
class Notice:
    """What the scheduler does with the notice of a burst.

    Examples
    --------
    >>> import cosimlib as cs
    >>> cs.ondemand.Notice("prepare", lead=600)
    Notice(use='prepare', lead=600, patience=600.0)
    """

    use: str = "ignore"
    """``"ignore"``: nothing. ``"collect"``: free nodes are held for the burst from the notice on.
    ``"prepare"``: jobs make way by a plan, so that the nodes are free when the burst is expected.
    ``"predict"``: jobs leave after their last checkpoint before that."""

    lead: float = 900.0
    """Seconds before the expected arrival at which ``"prepare"`` begins, or else at the notice."""

    patience: float = 600.0
    """Seconds after the expected arrival for which nodes are held for a burst that has not come."""

    def __post_init__(self) -> None:
        check.choice("use", self.use, NOTICES, where="Notice")
        check.seconds("lead", self.lead, where="Notice")
        check.seconds("patience", self.patience, where="Notice")

    @classmethod
    def of(cls, notice: object) -> Self:
        """A notice as it is given, or the one that a name stands for."""
        if isinstance(notice, cls):
            return notice
        check.choice("notice", notice, NOTICES)
        return cls(notice)  # type: ignore[arg-type]

    def call_time(
        self, submit_time: np.ndarray, notice_time: np.ndarray, expected: np.ndarray
    ) -> np.ndarray:
        """When each burst begins to collect nodes; infinity: not before it arrives."""
        if self.use == "ignore":
            return np.full(submit_time.size, np.inf)
        begins = notice_time
        if self.use == "prepare":
            begins = np.maximum(notice_time, expected - self.lead)
        return np.where(begins < submit_time, begins, np.inf)


@dataclass(frozen=True)
class Checkpoints:
    """How often the applications write checkpoints; see `checkpoint_table`.

    Examples
    --------
    >>> import cosimlib as cs
    >>> cs.ondemand.Checkpoints(interval="daly")
    Checkpoints(interval='daly', node_mtbf=157680000.0)
    """

    interval: float | str | None = 3600.0
    """Seconds of progress from one checkpoint to the next; ``"daly"``: the optimum of each job;
    None: applications write none."""

    node_mtbf: float = 157_680_000.0
    """Mean time between failures of a node, seconds, for ``"daly"``; by default five years."""

    def __post_init__(self) -> None:
        interval = self.interval
        fine = interval == "daly" if isinstance(interval, str) else check.is_number(interval)
        fine = fine and (isinstance(interval, str) or 0 < interval < np.inf)  # type: ignore[operator]
        expected = "seconds above 0, or 'daly'"
        check.that(
            "interval", interval, fine, expected, none="for no checkpoints", where="Checkpoints"
        )
        check.seconds("node_mtbf", self.node_mtbf, above=0, where="Checkpoints")


HOURLY = Checkpoints()
"""A checkpoint after each hour of progress."""
