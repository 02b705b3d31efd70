"""Simulator of coscheduling on coupled machines, after Tang, Desai, Vishwanath, Buettner and Lan.

Coupled machines have their own queues and policies. Some jobs have *mates* on other machines. A job
and its mates form a group, and all jobs of a group must start at the same instant, without manual
reservations. The rule is Algorithm 1 of the slides (*Job Coscheduling on Coupled High-End Computing
Systems*). When it is a job's turn on one machine, the machine asks for the status of the mates:

- All mates hold nodes: they start together with the job.
- A mate is queued: its machine runs a scheduling pass, in which that mate may start. If it can,
  both start. If it cannot, the job *holds* (keeps its nodes idle) or *yields* (gives up its turn).
  Which of the two is the *scheme* of the machine.
- A mate is not submitted yet: the job holds or yields.
- The status of a mate is unknown, because its machine is down or because it started without
  waiting: nobody waits for this mate; the others are still waited for.

The slides leave details open. They follow the authors' simulator Qsim, or are our choice (*).

*Instants and passes.*

- At each instant, ends come first, then outages, submissions and releases. Then each machine with
  one of these events has one pass, in the order of machines. When an outage begins, every machine
  that is up has a pass. A machine that is down has none.
- A pass goes through the queue by WFP, ``(waited / requested)³ · nodes``, or by submission; ties go
  to the lower row. The first job that does not fit gets a reservation, as in EASY. Jobs that yield
  get none.
- For the reservation, a running job is expected to end at ``max(start + requested, now + 5 min)``.
  A holding job, which has no end, counts as if it started now (*).
- In the nested pass for a queued mate, jobs without mates may start. Jobs of other groups take no
  part: they do not start and reserve nothing. Jobs without mates may therefore overtake them. They
  stay started even if the mate cannot start.

*Holds and their releases.*

- Every 1,200 s, counted from the first submission, jobs that have held for 600 s or more return to
  their queue. They are last in it at that instant. A machine without such jobs has no pass (*).
- A hold can therefore last almost 1,800 s: the interval and the 600 s.
- A machine's holds take 60 % of its nodes at most, rounded down, but it may always hold one node
  (*). A job yields instead of holding if its machine would then hold more. A job wider than this
  limit always yields.
- A job holds instead of yielding after it has yielded `max_yields` times.
- With `most_idle`, which is our addition, a machine that holds decides job by job: a job yields if
  its hold is expected to leave more node-hours idle than that. A queued mate is expected to start
  when it would fit if it were next; a mate that is not submitted yet, never.

*Outages.*

- An outage is an outage of a machine's resource manager (*): no job starts or holds there, but
  running jobs continue. Nobody waits for a mate there, whether it is submitted or not.
- When an outage begins, the holds there end. A job that holds elsewhere starts if its missing mates
  are all on machines that are down. Then every machine that is up has a pass, in which queued jobs
  may start without their mates on the machine that is down.

*Differences from the authors' code.*

- By the slides' rule, every queued mate is tried, and all machines release at the same instant.
- In the authors' code only mates that yielded in their machine's latest pass of its own are tried,
  and the k-th machine after the first releases every 1,200 + k s.
- In the authors' rule this offset is needed. Without it each machine would hold again before the
  other one looks, for ever.
- With the slides' rule such an offset does harm: a released job finds the other machine full of
  holding jobs. Some pairs then start only when both machines release at the same instant.
- With intervals of 1,200 s and 1,201 s this is once in 1,201 intervals of the first machine, which
  are 16.7 days.

*Deadlock.* Jobs count as deadlocked after many instants in a row at which only releases could
happen and nothing started. On two machines these are 2,002 instants by default and 6,802 with an
offset of 1 s. `_most_futile_instants` has the rule.

*Larger groups.* Groups may have more than two jobs, on as many machines (*). Each waiting mate is
given nodes in a nested pass of its machine, one after another; if one fails, those before it give
theirs back. Jobs without mates that these passes started stay started.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pandas as pd

from cosimlib import checks as check
from cosimlib.coscheduling.audit import audit_coupled
from cosimlib.coscheduling.kernel import (
    CHANGE,
    ENDED_HOLD,
    JOB,
    KNOBS,
    MACHINE,
    NO_JOB,
    PROGRESS,
    State,
    coschedule,
)
from cosimlib.coscheduling.mates import mate_groups
from cosimlib.coscheduling.schedule import (
    BASE,
    HOLD,
    YIELD,
    CoupledSchedule,
    ideal_schedule,
    summarize_machines,
)
from cosimlib.kernels.backfilling import STEP
from cosimlib.kernels.records import records
from cosimlib.schedule import partition_numbers
from cosimlib.system import System
from cosimlib.units import HOUR
from cosimlib.workload import InvalidWorkloadError, Workload, check_run

MACHINE_ORDERS = ("wfp", "submit")
MATE_RULES = ("queuing", "yielding")
NEVER = np.iinfo(np.int64).max

MOST_RELEASES = 1_000_000
"""Releases at most while nothing else happens: at intervals of 1,200 s as many are 38 years."""
FUTILE_INSTANTS, MOST_FUTILE_INSTANTS = 1000, 20_000
"""Instants per machine in `_most_futile_instants`: those that jobs are always given, and the most
that they are given together with the two periods of an offset."""
SCHEMES = ("HH", "HY", "YH", "YY")

Outage = tuple[str, float, float]


def simulate_coscheduling(
    workload: Workload,
    system: System,
    *,
    schemes: str | None = "H",
    order: str = "wfp",
    release_interval: float | None = 1200.0,
    release_after: float = 600.0,
    release_offset: float | None = None,
    held_share: float = 0.6,
    max_yields: int | None = None,
    most_idle: float | None = None,
    mate_rule: str = "queuing",
    outages: Sequence[Outage] = (),
    least_remaining: float = 300.0,
) -> CoupledSchedule:
    """Coscheduling: start mates on coupled machines at the same instant.

    Parameters
    ----------
    workload : Workload
        With requested times; `partition` is a job's machine (the system's first by default), `mate`
        a row of its group (see `coscheduling.mates`).
    system : System
        One partition per machine.
    schemes : str or None, default "H"
        H (hold) or Y (yield) for each machine in order, such as ``"HY"``; one letter is for all
        machines. None: no coscheduling; mates are ignored.
    order : str, default "wfp"
        Order of the queue: ``"wfp"`` or ``"submit"``.
    release_interval : float or None, default 1200
        Seconds between releases of held nodes; None: never, and holding may deadlock.
    release_after : float, default 600
        Seconds that a job must have held to be released.
    release_offset : float, optional
        Seconds by which a machine's interval of releases is longer than that of the machine before;
        by default 1 with `mate_rule` ``"yielding"``, as in the authors' code, else 0.
    held_share : float, default 0.6
        Largest share of a machine's nodes that may be held at a time. It is rounded down to whole
        nodes, but to no less than one node, unless it is 0. A job wider than this limit always
        yields.
    max_yields : int, optional
        Yields after which a job holds instead.
    most_idle : float, optional
        Most node-hours that a hold may be expected to leave idle; by default no limit.
    mate_rule : str, default "queuing"
        Which queued mates are tried: all, or only those ``"yielding"`` in their machine's latest
        pass of its own, as the authors' code has it.
    outages : sequence of (partition, start, end), default none
        Seconds between which a machine's resource manager is down.
    least_remaining : float, default 300
        For reservations, a running job is expected to run at least this many seconds more.

    Returns
    -------
    CoupledSchedule
        Its policy is the schemes, such as ``"HY"``, or ``"base"``. Deadlocked jobs have no start
        (NaN).

    Raises
    ------
    InvalidWorkloadError
        If a machine cannot run one of its jobs, or mates do not form a group.

    Examples
    --------
    >>> import cosimlib as cs
    >>> example, machines = cs.coscheduling.deadlock_example(), cs.coscheduling.MACHINES
    >>> held = cs.simulate_coscheduling(example, machines, schemes="H", release_interval=None)
    >>> int(held.jobs["start_time"].isna().sum())
    7
    >>> released = cs.simulate_coscheduling(example, machines, schemes="H")
    >>> int(released.jobs["start_time"].isna().sum())
    0
    """
    check_run(workload, system)
    partitions = list(system.partitions)
    letters = _letters(schemes, partitions)
    check.choice("order", order, MACHINE_ORDERS)
    check.choice("mate_rule", mate_rule, MATE_RULES)
    check.seconds("release_interval", release_interval, above=0, none="for never")
    check.seconds("release_after", release_after)
    if release_offset is None:
        release_offset = float(mate_rule == "yielding")
    check.seconds("release_offset", release_offset)
    check.number("held_share", held_share, least=0, most=1, kind="a part of the machine")
    check.whole("max_yields", max_yields, 0, floats=True, none=True)
    check.number("most_idle", most_idle, least=0, kind="node-hours", none="for any number")
    check.seconds("least_remaining", least_remaining)
    group, jobs = _coupled_jobs(workload, system, together=schemes is not None)
    interval = np.inf if release_interval is None else float(release_interval)
    intervals = interval + release_offset * np.arange(len(partitions), dtype=np.float64)
    machines = _machines(system, letters, held_share)
    _set_releases(workload, jobs, machines, intervals)
    knobs = records(
        1,
        KNOBS,
        wfp=order == "wfp",
        only_yielding=mate_rule == "yielding",
        release_after=release_after,
        max_yields=NEVER if max_yields is None else int(max_yields),
        most_idle=np.inf if most_idle is None else float(most_idle) * HOUR,
        least_remaining=least_remaining,
        most_futile_instants=_most_futile_instants(machines.release_interval, float(release_after)),
    )
    merged = _merged(outages, partitions)
    holds = _simulate(jobs, machines, knobs[0], _changes(merged, partitions))
    return CoupledSchedule(
        workload,
        system,
        BASE if schemes is None else letters,
        jobs.start_time.copy(),
        jobs.start_time + jobs.run_time,
        schemes=None if schemes is None else letters,
        max_yields=None if max_yields is None else int(max_yields),
        group=group,
        holds=holds,
        first_try=jobs.first_try.copy(),
        yields=jobs.yields.copy(),
        outages=merged,
        longest_hold=float(intervals[-1] + release_after),
    )


def compare_on(
    workload: Workload, system: System, *, schemes: Sequence[str] = SCHEMES, **knobs: Any
) -> pd.DataFrame:
    """The base, `ideal_schedule` and each scheme on one workload, with knobs, each audited.

    Returns
    -------
    pd.DataFrame
        The rows of `summarize_machines` with `scheme`, `stuck` (jobs that never start) and `apart`
        (jobs that did not start with their mates).
    """
    tables: list[pd.DataFrame] = []
    for scheme in (None, *schemes):
        schedule = simulate_coscheduling(workload, system, schemes=scheme, **knobs)
        audit_coupled(schedule, all_start=False)
        for each in [schedule] if scheme else [schedule, ideal_schedule(schedule)]:
            table = summarize_machines(each).assign(scheme=each.policy)
            tables.append(table.assign(stuck=len(each.stuck), apart=len(each.apart)))
    return pd.concat(tables, ignore_index=True)


def _machines(system: System, letters: str, held_share: float) -> np.recarray:
    """Machines as records, without jobs and releases."""
    capacity = np.array(list(system.partitions.values()), dtype=np.int64)
    least = 1 if held_share > 0 else 0
    held_limit = np.maximum(least, np.floor(held_share * capacity + 1e-9))
    return records(
        capacity.size,
        MACHINE,
        free=capacity,
        prefers_hold=np.array([letter == HOLD for letter in letters]),
        held_limit=held_limit,
    )


def _set_releases(
    workload: Workload, jobs: np.recarray, machines: np.recarray, intervals: np.ndarray
) -> None:
    """Set the machines' clocks of releases; without mates there are none.

    Raises where mates could hold and be released all too often between two other events.
    """
    machines.release_interval = machines.next_release = np.inf
    if (jobs.first_mate == NO_JOB).all():
        return
    interval = float(intervals[0])
    requires = f"releases at intervals of {interval:.15g} s"
    advice = "give a longer release_interval, or None for no releases"
    gap = np.diff(jobs.submit_time, prepend=jobs.submit_time[0])
    for seconds, what in ((jobs.run_time, "runs for"), (gap, "is submitted after a gap of")):
        job = int(seconds.argmax())
        where = f"{workload.label(job)} {what} {seconds[job]:.15g} s"
        check.room(requires, seconds[job] / interval, advice, most=MOST_RELEASES, where=where)
    machines.release_interval = intervals
    machines.next_release = jobs.submit_time[0] + intervals


def _most_futile_instants(intervals: np.ndarray, release_after: float) -> float:
    """Instants in a row at which only releases could happen, before the simulation ends.

    The jobs left are then taken to be deadlocked. The number is a sum over the machines, because
    with an offset each machine releases at instants of its own. Without an offset all machines
    release at the same instants, and the number is larger than needed.

    With an offset, some jobs start only if the first two machines release at one time. In the
    meantime the first machine releases interval ÷ offset times, and once more. The jobs are given
    two such periods, unless these have more than `MOST_FUTILE_INSTANTS` instants per machine.
    """
    first, second = intervals[0], intervals[:2][-1]
    per_machine = float(FUTILE_INSTANTS)
    if first < second < np.inf:
        per_machine += 2 * first / (second - first)
    per_machine = min(per_machine, MOST_FUTILE_INSTANTS)
    # A hold outlasts many releases where they come more often than it may last.
    per_machine += 2 * release_after / first
    return intervals.size * per_machine


def _simulate(
    jobs: np.recarray, machines: np.recarray, knobs: np.record, changes: np.recarray
) -> pd.DataFrame:
    """Write what becomes of the jobs; return the intervals in which they held nodes."""
    # A job has at least one node, so at most this many have nodes on one machine.
    most_running = min(jobs.size, int(machines.free.max()))
    state = State(
        jobs,
        machines,
        queue=np.empty((machines.size, jobs.size), np.int64),
        candidates=np.empty((machines.size, jobs.size), np.int64),
        started=np.empty(jobs.size, np.int64),
        ended_holds=records(jobs.size, ENDED_HOLD),
        expected=np.recarray((machines.size, most_running), STEP),
        limits=np.recarray((machines.size, 1), STEP),
        knobs=knobs,
        progress=records(1, PROGRESS)[0],
    )
    holds = coschedule(state, changes)
    for_ever = np.flatnonzero(~np.isnan(jobs.hold_start))
    holds += [(row, jobs.hold_start[row], np.inf) for row in for_ever.tolist()]
    table = pd.DataFrame(holds, columns=["job", "start", "end"])
    table = table.astype({"job": "int64", "start": "float64", "end": "float64"})
    return table.sort_values(["start", "job"], ignore_index=True)


def _letters(schemes: str | None, partitions: list[str]) -> str:
    """One letter per machine."""
    if schemes is None:
        return YIELD * len(partitions)
    letters = schemes * len(partitions) if len(schemes) == 1 else schemes
    fine = len(letters) == len(partitions) and set(letters) <= {HOLD, YIELD}
    example = ("HY" * len(partitions))[: len(partitions)]
    expected = f"H (hold) or Y (yield) for each of {', '.join(partitions)}, such as {example!r}"
    check.that("schemes", schemes, fine, f"{expected}, one letter for all, or None")
    return letters


def _coupled_jobs(
    workload: Workload, system: System, *, together: bool
) -> tuple[np.ndarray, np.recarray]:
    """Groups of mates, and the jobs as records for the kernels, checked against the system."""
    jobs, partitions = workload.jobs, list(system.partitions)
    partition = workload.column("partition").fillna(partitions[0])
    _refuse(
        workload,
        ~partition.isin(partitions),
        lambda job: (
            f"asks for partition {partition[job]!r}; the system has {', '.join(partitions)}"
        ),
    )
    capacity = partition.map(dict(system.partitions)).astype("int64")
    _refuse(
        workload,
        jobs["nodes"] > capacity,
        lambda job: (
            f"asks for {jobs['nodes'][job]} nodes; partition {partition[job]!r} has "
            f"{capacity[job]}; drop it with Workload.keep or take a wider system"
        ),
    )
    missing = jobs["requested_time"].isna()
    _refuse(
        workload,
        missing,
        lambda _: (
            f"has no requested_time{check.nor_others(int(missing.sum()) - 1)}, which backfilling "
            "needs; fill it in with synthetic.with_missing_estimates"
        ),
    )
    group = mate_groups(workload, partition) if together else np.full(len(jobs), -1)
    rows = records(
        len(jobs),
        JOB,
        submit_time=jobs["submit_time"],
        run_time=jobs["run_time"],
        requested_time=jobs["requested_time"],
        nodes=jobs["nodes"],
        machine=partition_numbers(workload, system),
        first_mate=NO_JOB,
        next_mate=NO_JOB,
        start_time=np.nan,
        hold_start=np.nan,
        first_try=np.nan,
        yield_pass=-1,
    )
    members = np.argsort(group, kind="stable")[(group < 0).sum() :]
    first = np.searchsorted(group[members], group[members])
    rows.first_mate[members] = members[first]
    same = np.flatnonzero(group[members[1:]] == group[members[:-1]])
    rows.next_mate[members[same]] = members[same + 1]
    return group, rows


def _refuse(workload: Workload, wrong: pd.Series, why: Callable[[int], str]) -> None:
    """Raise an error for the first job that its machine cannot run."""
    if wrong.any():
        job = int(wrong.idxmax())
        raise InvalidWorkloadError(f"{workload.label(job)} {why(job)}")


def _merged(outages: Sequence[Outage], partitions: list[str]) -> tuple[Outage, ...]:
    """Outages by their beginning, those of a machine that touch or overlap merged into one."""
    for outage in outages:
        triple = isinstance(outage, Sequence) and not isinstance(outage, str) and len(outage) == 3
        check.that("outage", outage, triple, "(partition, start, end)")
        partition, start, end = outage
        check.choice("partition", partition, partitions, where=f"outage {outage!r}")
        fine = check.is_number(start) and check.is_number(end) and 0 <= start < end < np.inf
        check.that("outage", outage, fine, "0 <= start < end, in seconds")
    merged: list[Outage] = []
    for partition, start, end in sorted(outages, key=lambda outage: (outage[0], outage[1])):
        if merged and merged[-1][0] == partition and start <= merged[-1][2]:
            merged[-1] = (partition, merged[-1][1], max(end, merged[-1][2]))
        else:
            merged.append((partition, float(start), float(end)))
    return tuple(sorted(merged, key=lambda outage: outage[1]))


def _changes(outages: tuple[Outage, ...], partitions: list[str]) -> np.recarray:
    """Records of `CHANGE` for every beginning and end, ends first at equal times."""
    changes = [(start, 1, partitions.index(name)) for name, start, _ in outages]
    changes += [(end, -1, partitions.index(name)) for name, _, end in outages]
    return np.array(sorted(changes), CHANGE).view(np.recarray)
