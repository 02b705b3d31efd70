"""From the name of a trace to a schedule to experiment on."""

from cosimlib import synthetic, traces
from cosimlib.audit import audit
from cosimlib.schedule import Schedule
from cosimlib.schedulers import SIMULATORS

SYNTHETIC = "synthetic"


def prepare_schedule(trace: str = SYNTHETIC, *, seed: int = 0, policy: str = "EASY") -> Schedule:
    """What a trace says happened, or what a policy makes of it where it does not tell.

    Parameters
    ----------
    trace : str, default "synthetic"
        ``"synthetic"`` for `synthetic.theta`, else what `traces.load` takes: a name or a path.
    seed : int, default 0
        Of the synthetic workload.
    policy : str, default "EASY"
        One of `SIMULATORS`; takes effect where some job's start is not recorded.

    Raises
    ------
    ValueError
        For an unknown policy, or a trace that the policy cannot schedule on its machine.
    """
    if policy not in SIMULATORS:
        raise ValueError(f"policy={policy!r}; expected one of {', '.join(SIMULATORS)}")
    workload = synthetic.theta(seed=seed) if trace == SYNTHETIC else traces.load(trace)
    if workload.column("recorded_start").notna().all():
        return Schedule.recorded(workload)
    if workload.machine is None:
        raise ValueError(
            f"{workload.name}: its header has neither MaxNodes nor MaxProcs, and its starts are "
            "not recorded; add the size of the machine to the header"
        )
    return audit(SIMULATORS[policy](workload, workload.machine))
