"""Preparation of experiments: from the name of a trace to a workload or a schedule.

Oddities of the log are found first, by the rules of `cosimlib.traces.oddities`, and printed.

Both functions take `estimates`, which fills in missing requested times as
`synthetic.with_missing_estimates` does: ``"run_time"``, ``"user_median"`` or seconds. By default
(``""``) the median of each user is used if at least half of all requested times are known;
otherwise they stay unknown. ``"none"`` leaves them as they are. What is filled in is printed, and
is in the account.
"""

from cosimlib import checks as check
from cosimlib import synthetic, traces
from cosimlib.audit import audit
from cosimlib.policies import SIMULATORS
from cosimlib.schedule import Schedule
from cosimlib.traces import SYNTHETIC
from cosimlib.traces.oddities import fitting, known_starts, with_assumed_machine, with_requests
from cosimlib.workload import Workload


def prepare_schedule(
    trace: str = SYNTHETIC,
    *,
    seed: int = 0,
    policy: str = "",
    cores_per_node: int | None = None,
    nodes: int | None = None,
    estimates: str | float = "",
) -> Schedule:
    """The recorded schedule of a trace, or a simulated one if starts are not recorded.

    Dropped, with a printed message: jobs wider than the machine, and the jobs without a start if
    only few lack it.

    Parameters
    ----------
    trace : str, default "synthetic"
        ``"synthetic"`` for `synthetic.theta`, or a name or path for `traces.load`.
    seed : int, default 0
        Of the synthetic workload.
    policy : str, default ""
        One of `SIMULATORS`, for a trace without starts. Empty: EASY, or FCFS if requested times
        are missing.
    cores_per_node : int, optional
        For `traces.load`.
    nodes : int, optional
        For `with_assumed_machine`, of a log.
    estimates : str or float, default ""
        By default, requested times are filled in only if the schedule is simulated.

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
        workload = _prepared(trace, cores_per_node, nodes)
        starts = known_starts(workload)
        if starts.known.any() and (starts.waits or not policy):
            recorded = _repaired(starts.started, "none" if estimates == "" else estimates)
            return Schedule.recorded(
                _with_notes(recorded, [starts.sentence if starts.waits else ""])
            )
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
    """The jobs of a trace that fit on its machine; the number of other jobs is printed.

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
    return _repaired(_prepared(trace, cores_per_node, nodes), estimates)


def _prepared(trace: str, cores_per_node: int | None, nodes: int | None) -> Workload:
    """The jobs of a trace that fit on its machine, which is assumed if it is unknown."""
    read = traces.load(trace, cores_per_node=cores_per_node)
    workload, left_out = fitting(with_assumed_machine(read, nodes))
    return _with_notes(workload, [left_out])


def _repaired(workload: Workload, estimates: str | float) -> Workload:
    """The workload with missing requested times filled in as `estimates` says."""
    return _with_notes(*with_requests(workload, estimates))


def _with_notes(workload: Workload, sentences: list[str]) -> Workload:
    """The workload; the sentences on it are printed, empty ones left out."""
    for sentence in filter(None, sentences):
        print(f"{workload.name}: {sentence}")
    return workload
