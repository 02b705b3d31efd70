"""Preparation of experiments: a trace's name to a workload or a schedule.

A log may say neither what machine it is of nor hold to what it says. A machine that is unknown is
assumed, and named so; jobs wider than the machine are left out, and counted.

Both functions take `estimates`, the repair of requested times that a log does not have, for
`synthetic.with_missing_estimates`: ``"run_time"``, ``"user_median"`` or seconds. By default, which
is "", they are set to medians of users where at least half of all are known, and stay unknown
elsewhere; ``"none"`` leaves them as they are. What is filled in is printed, and in the account.
"""

from dataclasses import replace

from cosimlib import checks as check
from cosimlib import synthetic, traces
from cosimlib.audit import audit
from cosimlib.display import count
from cosimlib.kernels.steps import step_function
from cosimlib.policies import SIMULATORS
from cosimlib.schedule import Schedule
from cosimlib.synthetic.missing import RULES, with_missing_estimates
from cosimlib.system import System
from cosimlib.traces import SYNTHETIC
from cosimlib.workload import Workload

ESTIMATES = ("", "none", *RULES)
KNOWN = 0.5
"""Share of jobs of known requested time from which on the others are filled in by default."""


def prepare_schedule(
    trace: str = SYNTHETIC,
    *,
    seed: int = 0,
    policy: str = "",
    cores_per_node: int | None = None,
    nodes: int | None = None,
    estimates: str | float = "",
) -> Schedule:
    """The recorded schedule of a trace, or a simulated one where starts are not recorded.

    Jobs wider than the machine are dropped, and their number is printed.

    Parameters
    ----------
    trace : str, default "synthetic"
        ``"synthetic"`` for `synthetic.theta`, or a name or path for `traces.load`.
    seed : int, default 0
        Of the synthetic workload.
    policy : str, default ""
        One of `SIMULATORS`, for a trace without the start of each job. Empty: EASY, or FCFS where
        requested times are missing.
    cores_per_node : int, optional
        For `traces.load`.
    nodes : int, optional
        For `with_assumed_machine`, of a log.
    estimates : str or float, default ""
        By default requested times are filled in for a simulation only.

    Examples
    --------
    >>> import cosimlib as cs
    >>> schedule = cs.prepare_schedule("three-jobs.swf.gz")
    three-jobs: 3 jobs from 3 records
    >>> schedule.policy
    'recorded'
    """
    if policy:
        check.choice("policy", policy, SIMULATORS)
    if trace == SYNTHETIC:
        check.that("nodes", nodes, nodes is None, "None, as the synthetic workload is of Theta")
        workload = synthetic.theta(seed=seed)
    else:
        workload = traces.load(trace, cores_per_node=cores_per_node)
    workload = _fitting(with_assumed_machine(workload, nodes))
    if workload.column("recorded_start").notna().all():
        return Schedule.recorded(_repaired(workload, "none" if estimates == "" else estimates))
    workload = _repaired(workload, estimates)
    if not policy:
        known = workload.jobs["requested_time"].notna().all()
        policy = "EASY" if known else "FCFS"
    return audit(SIMULATORS[policy](workload, workload.machine))


def prepare_workload(
    trace: str,
    *,
    cores_per_node: int | None = None,
    nodes: int | None = None,
    estimates: str | float = "",
) -> Workload:
    """The jobs of a trace that fit on its machine; the number of the others is printed.

    Parameters
    ----------
    trace : str
        A name or path for `traces.load`.
    cores_per_node : int, optional
        For `traces.load`.
    nodes : int, optional
        For `with_assumed_machine`.
    estimates : str or float, default ""

    Examples
    --------
    >>> import cosimlib as cs
    >>> print(cs.prepare_workload("three-jobs.swf.gz"))
    three-jobs: 3 jobs from 3 records
    Workload three-jobs: 3 jobs
      jobs       of 1 to 16 nodes, submitted over 2.5 h
      run time   mean 1.5 h, longest 2.2 h
      requested  mean 4.3 h, longest 6 h
      machine    three-jobs (64 nodes)
    """
    workload = traces.load(trace, cores_per_node=cores_per_node)
    return _repaired(_fitting(with_assumed_machine(workload, nodes)), estimates)


def _repaired(workload: Workload, estimates: str | float) -> Workload:
    """The workload with missing requested times filled in as `estimates` says, and that printed."""
    check.that(
        "estimates", estimates, not isinstance(estimates, str) or estimates in ESTIMATES,
        f"one of {', '.join(map(repr, ESTIMATES))}, or seconds above 0",
    )  # fmt: skip
    known = float(workload.jobs["requested_time"].notna().mean())
    if estimates == "none" or (estimates == "" and not known >= KNOWN):
        return workload
    repaired = with_missing_estimates(workload, "user_median" if estimates == "" else estimates)
    for _, reason, records in repaired.account[len(workload.account) :].itertuples(index=False):
        print(f"{workload.name}: {records:,} of {count(len(workload), 'job')}: {reason}")
    return repaired


def with_assumed_machine(workload: Workload, nodes: int | None = None) -> Workload:
    """The workload with a machine: of `nodes`, its own, or one that just holds what it records.

    That last one has the most nodes that were ever held at once, or those of the widest job where
    not all starts are recorded. The name and the account say so.

    Parameters
    ----------
    workload : Workload
    nodes : int, optional
        The machine's size, of a log that does not tell it or is wrong about it.
    """
    check.whole("nodes", nodes, 1, none="for what the log says")
    if nodes is not None:
        machine = (workload.machine or System(workload.name, {"main": nodes})).with_nodes(nodes)
        known = replace(workload, machine=machine)
        return known.noted("noted", f"machine of {count(nodes, 'node')}, as given", len(workload))
    if workload.machine is not None or not len(workload):
        return workload
    width, start = workload.jobs["nodes"].to_numpy(), workload.column("recorded_start")
    most, how = int(width.max()), "its widest job"
    if start.notna().all():
        end = start + workload.jobs["run_time"]
        held = step_function(start.to_numpy(), end.to_numpy(), width)[1]
        most, how = max(most, int(held.max())), "the most nodes ever held at once"
    machine = System(workload.name, {"main": most})
    reason = f"machine unknown, assumed to have {count(most, 'node')}, {how}"
    named = replace(
        workload, name=f"{workload.name} ({count(most, 'node')} assumed)", machine=machine
    )
    return named.noted("noted", reason, len(workload))


def _fitting(workload: Workload) -> Workload:
    """The jobs that fit on the machine."""
    narrow = workload.jobs["nodes"] <= check.machine(workload.machine, workload.name).total_nodes
    if not narrow.all():
        wide = count(int((~narrow).sum()), "job")
        verb = "is" if wide == "1 job" else "are"
        print(f"{workload.name}: {wide} wider than its machine {verb} left out")
    return workload.keep(narrow, "wider than the machine")
