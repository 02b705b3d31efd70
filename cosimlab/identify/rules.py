"""The rules that `identify` knows: families of policies, each in every order that has a name."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from cosimlab.identify.recorded import Record
from cosimlab.identify.replay import KEPT, REPLANNED, Replay, replay
from cosimlib import checks as check
from cosimlib.batch import (
    ORDERS,
    simulate_conservative,
    simulate_easy,
    simulate_fcfs,
    simulate_first_fit,
)
from cosimlib.batch.easy import EXTRA_NODES, NO_BACKFILLING, NO_RESERVATION, STRICTLY_BEFORE
from cosimlib.batch.orders import WITHOUT_REQUEST, Prepared, policy_name, prepare
from cosimlib.display import count
from cosimlib.schedule import Schedule
from cosimlib.system import System
from cosimlib.units import MINUTE
from cosimlib.workload import InvalidWorkloadError, Workload

REQUESTS, RUN_TIMES, IN_MINUTES = "", "by true run times", "requests in whole minutes"
"""The lengths of jobs by which a rule plans, as its name says them."""

PER_EVENT, NARROW = {"decide": "per_event"}, {"extra_nodes": False}


class Family(NamedTuple):
    """A policy without its order.

    Parameters
    ----------
    name : str
    simulate : function
        The policy of this package.
    kind : int
        What the kernel calls the rule.
    knobs : dict
        Of the policy.
    details : tuple of str
        The knobs, as names of policies say them.
    plans_by : str
        The lengths by which it plans, such as `RUN_TIMES`.
    """

    name: str
    simulate: Callable[..., Schedule]
    kind: int
    knobs: Mapping[str, Any] = MappingProxyType({})
    details: tuple[str, ...] = ()
    plans_by: str = REQUESTS


WHEN: tuple[tuple[dict[str, Any], tuple[str, ...]], ...] = (({}, ()), (PER_EVENT, ("per event",)))
"""When a rule decides, as knobs and as its name says: once per instant, or after each event."""

FAMILIES = (
    *(
        Family("FCFS", simulate_fcfs, NO_BACKFILLING, plans_by=plans_by)
        for plans_by in (REQUESTS, RUN_TIMES)
    ),
    *(
        Family("first fit", simulate_first_fit, NO_RESERVATION, knobs, details, plans_by)
        for plans_by in (REQUESTS, RUN_TIMES)
        for knobs, details in WHEN
    ),
    *(
        Family("EASY", simulate_easy, EXTRA_NODES, knobs, details, plans_by)
        for plans_by in (REQUESTS, RUN_TIMES, IN_MINUTES)
        for knobs, details in WHEN
    ),
    *(
        Family(
            "EASY",
            simulate_easy,
            STRICTLY_BEFORE,
            knobs | NARROW,
            (*details, "no extra nodes"),
            plans_by,
        )
        for plans_by in (REQUESTS, RUN_TIMES)
        for knobs, details in WHEN
    ),
    *(
        Family("conservative", simulate_conservative, kind, knobs, details, plans_by)
        for plans_by in (REQUESTS, RUN_TIMES)
        for kind, knobs, details in (
            (KEPT, {}, ()),
            (REPLANNED, {"reservations": "replanned"}, ("replanned",)),
        )
    ),
)


class Rule(NamedTuple):
    """A family in an order; it can be simulated, and asked at the instants of a record."""

    family: Family
    order: str

    @property
    def name(self) -> str:
        """Its name in tables, such as ``EASY (per event, wfp)``."""
        family = self.family
        details = [*family.details, *([family.plans_by] if family.plans_by else [])]
        return policy_name(family.name, self.order, *details)

    @property
    def reserves(self) -> str:
        """Which jobs have a reservation: ``"none"``, ``"head"`` or ``"all"``."""
        kind = self.family.kind
        if kind in (KEPT, REPLANNED):
            return "all"
        return "head" if kind in (EXTRA_NODES, STRICTLY_BEFORE) else "none"

    @property
    def equals_another(self) -> bool:
        """Whether it equals an earlier rule on every log.

        Without backfilling `sjbf` is the order of submission. Rules without reservations read
        lengths of jobs for their order only: by true run times they are others in some orders only.
        """
        kind, order = self.family.kind, self.order
        if kind == NO_BACKFILLING and order == "sjbf":
            return True
        reads_lengths = kind not in (NO_BACKFILLING, NO_RESERVATION) or order == "sjbf"
        reads_lengths = reads_lengths or order not in WITHOUT_REQUEST
        return self.family.plans_by != REQUESTS and not reads_lengths

    def seen(self, workload: Workload) -> Workload:
        """The workload with the lengths by which the rule plans as requested times."""
        jobs, plans_by = workload.jobs, self.family.plans_by
        if plans_by == RUN_TIMES:
            # A request is above 0. A job of no length has ended before the next instant anyway.
            length = jobs["run_time"].where(jobs["run_time"] > 0, 1.0)
        elif plans_by == IN_MINUTES:
            length = np.ceil(jobs["requested_time"] / MINUTE) * MINUTE
        else:
            return workload
        return replace(workload, jobs=jobs.assign(requested_time=length))

    def prepared(self, workload: Workload, system: System) -> Prepared:
        """What the kernel takes of the jobs.

        Raises
        ------
        InvalidWorkloadError
            If the rule needs a number of a job that is not known.
        """
        by_request = self.family.kind not in (NO_BACKFILLING, NO_RESERVATION)
        by_request = by_request or self.order == "sjbf"
        return prepare(self.seen(workload), system, self.order, False, requested_time=by_request)

    def simulated(self, workload: Workload, system: System) -> Schedule:
        """The schedule under the rule."""
        knobs = dict(self.family.knobs)
        return self.family.simulate(self.seen(workload), system, order=self.order, **knobs)

    def asked(
        self,
        run: Prepared,
        start_time: np.ndarray,
        record: Record | None = None,
        until: float = np.inf,
    ) -> Replay:
        """What the rule decides at the instants of a record; `until` one (s), if given."""
        per_event = self.family.knobs.get("decide") == "per_event"
        kind = self.family.kind
        return replay(run, start_time, kind, per_event=per_event, record=record, until=until)


RULES: Mapping[str, Rule] = MappingProxyType(
    {
        rule.name: rule
        for order in ORDERS
        for rule in (Rule(family, order) for family in FAMILIES)
        if not rule.equals_another
    }
)
"""All rules by name, the plainest first."""


def chosen_rules(names: Iterable[str] | None) -> list[Rule]:
    """The rules of these names, or all."""
    if names is None:
        return list(RULES.values())
    check.instance("rules", names, Iterable, expected="names of rules")
    asked = [names] if isinstance(names, str) else list(names)
    for name in asked:
        check.choice("rules", name, RULES)
    check.that("rules", asked, bool(asked), "at least one name")
    return [RULES[name] for name in asked]


def divided(
    rules: Iterable[Rule], workload: Workload, system: System
) -> tuple[list[tuple[Rule, Prepared]], str]:
    """The rules to ask, with what the kernel takes of the jobs for each; and who is not asked.

    A rule that equals an earlier one is left out without a word: where all requests are whole
    minutes, to round them makes no other rule.

    Raises
    ------
    InvalidWorkloadError
        If every rule reads a number that is unknown.
    """
    asked, refused, known = [], [], set()
    for rule in rules:
        try:
            run = rule.prepared(workload, system)
        except InvalidWorkloadError as error:
            refused.append(rule)
            reason = error
            continue
        family = rule.family
        same = (family.name, family.details, rule.order, run.jobs.requested_time.tobytes())
        if same not in known:
            known.add(same)
            asked.append((rule, run))
    if refused and not asked:
        raise reason
    return asked, _not_asked(refused, workload)


def _not_asked(rules: list[Rule], workload: Workload) -> str:
    """Which rules are not asked, why, and what to do; empty if there are none."""
    if not rules:
        return ""
    families = list(dict.fromkeys(rule.family.name for rule in rules if rule.order == "submit"))
    names = families or [rule.name for rule in rules]
    shown = ", ".join(names[:2]) + (" …" if len(rules) > len(names[:2]) else "")
    missing = int(workload.jobs["requested_time"].isna().sum())
    verb, jobs = ("has", "the job") if missing == 1 else ("have", "these jobs")
    return (
        f"{count(len(rules), 'rule')} ({shown}) {'was' if len(rules) == 1 else 'were'} not asked: "
        f"{count(missing, 'job')} {verb} no requested_time; fill it in "
        f"(synthetic.with_missing_estimates) or leave {jobs} out (Workload.keep)"
    )
