"""Preparation of experiments: a trace's name to a workload or a schedule."""

from cosimlib import checks as check
from cosimlib import synthetic, traces
from cosimlib.audit import audit
from cosimlib.policies import SIMULATORS
from cosimlib.schedule import Schedule
from cosimlib.traces import SYNTHETIC
from cosimlib.workload import Workload


def prepare_schedule(trace: str = SYNTHETIC, *, seed: int = 0, policy: str = "") -> Schedule:
    """The recorded schedule of a trace, or a simulated one where starts are not recorded.

    A simulation drops jobs wider than the machine and prints how many.

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
    if workload.column("recorded_start").notna().all():
        return Schedule.recorded(workload)
    workload = _fitting(workload, "its starts are not recorded")
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
    return _fitting(traces.load(trace), "its jobs are to be simulated")


def _fitting(workload: Workload, why: str) -> Workload:
    """The jobs that fit on the machine, which must be known; `why` is for the error."""
    if workload.machine is None:
        raise ValueError(
            f"{workload.name}: its header has neither MaxNodes nor MaxProcs, and {why}; add the "
            "size of the machine to the header"
        )
    narrow = workload.jobs["nodes"] <= workload.machine.total_nodes
    if not narrow.all():
        print(f"{workload.name}: {int((~narrow).sum())} jobs wider than its machine are left out")
    return workload.keep(narrow, "wider than the machine")
