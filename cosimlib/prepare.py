"""From the name of a trace to a workload, and to a schedule to experiment on."""

from cosimlib import checks as check
from cosimlib import synthetic, traces
from cosimlib.audit import audit
from cosimlib.policies import SIMULATORS
from cosimlib.schedule import Schedule
from cosimlib.workload import Workload

SYNTHETIC = "synthetic"


def prepare_schedule(trace: str = SYNTHETIC, *, seed: int = 0, policy: str = "") -> Schedule:
    """What a trace says happened, or what a policy makes of it where it does not tell.

    Jobs wider than the machine are left out of a simulation; a printed line says how many.

    Parameters
    ----------
    trace : str, default "synthetic"
        ``"synthetic"`` for `synthetic.theta`, else what `traces.load` takes: a name or a path.
    seed : int, default 0
        Of the synthetic workload.
    policy : str, default ""
        One of `SIMULATORS`; takes effect where some job's start is not recorded. Empty: EASY, or
        FCFS where requested times are missing.

    Raises
    ------
    ValueError
        For a trace that the policy cannot schedule on its machine.
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
    """The jobs of a trace that fit on its machine; a printed line says how many do not.

    Parameters
    ----------
    trace : str
        What `traces.load` takes: a name or a path.

    Raises
    ------
    ValueError
        For a trace that does not tell the size of its machine.
    """
    return _fitting(traces.load(trace), "its jobs are to be simulated")


def _fitting(workload: Workload, why: str) -> Workload:
    """The jobs that fit on the machine, which must be known, because of `why`."""
    if workload.machine is None:
        raise ValueError(
            f"{workload.name}: its header has neither MaxNodes nor MaxProcs, and {why}; add the "
            "size of the machine to the header"
        )
    narrow = workload.jobs["nodes"] <= workload.machine.total_nodes
    if not narrow.all():
        print(f"{workload.name}: {int((~narrow).sum())} jobs wider than its machine are left out")
    return workload.keep(narrow, "wider than the machine")
