"""Preparation of experiments: a trace's name to a workload or a schedule.

A log may say neither what machine it is of nor hold to what it says. A machine that is unknown is
assumed, and named so; jobs wider than the machine are left out, and counted.
"""

from dataclasses import replace

from cosimlib import checks as check
from cosimlib import synthetic, traces
from cosimlib.audit import audit
from cosimlib.kernels.steps import step_function
from cosimlib.policies import SIMULATORS
from cosimlib.schedule import Schedule
from cosimlib.system import System
from cosimlib.traces import SYNTHETIC
from cosimlib.workload import Workload


def prepare_schedule(trace: str = SYNTHETIC, *, seed: int = 0, policy: str = "") -> Schedule:
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
    """
    if policy:
        check.choice("policy", policy, SIMULATORS)
    workload = synthetic.theta(seed=seed) if trace == SYNTHETIC else traces.load(trace)
    workload = _fitting(with_assumed_machine(workload))
    if workload.column("recorded_start").notna().all():
        return Schedule.recorded(workload)
    if not policy:
        known = workload.jobs["requested_time"].notna().all()
        policy = "EASY" if known else "FCFS"
    return audit(SIMULATORS[policy](workload, workload.machine))


def prepare_workload(trace: str) -> Workload:
    """The jobs of a trace that fit on its machine; the number of the others is printed.

    Parameters
    ----------
    trace : str
        A name or path for `traces.load`.
    """
    return _fitting(with_assumed_machine(traces.load(trace)))


def with_assumed_machine(workload: Workload) -> Workload:
    """The workload with a machine: its own, or one that just holds what the log records.

    That one has the most nodes that were ever held at once, or those of the widest job where not
    all starts are recorded. The name and the account say so.
    """
    if workload.machine is not None or not len(workload):
        return workload
    nodes, start = workload.jobs["nodes"].to_numpy(), workload.column("recorded_start")
    most, how = int(nodes.max()), "its widest job"
    if start.notna().all():
        end = start + workload.jobs["run_time"]
        held = step_function(start.to_numpy(), end.to_numpy(), nodes)[1]
        most, how = max(most, int(held.max())), "the most nodes ever held at once"
    machine = System(workload.name, {"main": most})
    reason = f"machine unknown, assumed to have {most:,} nodes, {how}"
    named = replace(workload, name=f"{workload.name} ({most:,} nodes assumed)", machine=machine)
    return named.noted("noted", reason, len(workload))


def _fitting(workload: Workload) -> Workload:
    """The jobs that fit on the machine."""
    narrow = workload.jobs["nodes"] <= check.machine(workload.machine, workload.name).total_nodes
    if not narrow.all():
        print(f"{workload.name}: {int((~narrow).sum())} jobs wider than its machine are left out")
    return workload.keep(narrow, "wider than the machine")
