"""Oddities of a log, found before anything is computed from it: one rule and one sentence each.

A log may lack the size of its machine, requested times or starts; it may have jobs wider than the
machine, or hold more nodes than there are. Each rule below returns the log in a usable form, and a
sentence on what was done (empty if nothing was). Readers, `prepare_*`, reports and explorers share
these rules.

*Starts.* If at least 90 % of the starts are recorded, jobs without a start are left out only if
starts are needed. Some logs record the start of a job as its submission. The sign: if each job
starts at its submission, jobs fill the machine, and yet hold more nodes than it has for under 1 %
of their node-hours; in logs of real queues it is 8 to 30 %. Such submissions are taken as starts,
and waits are unknown.

*Nodes beyond the machine.* Clocks that are not exact, and machines that grow, overrun by little.
Jobs that share nodes, of which each counts for all of each node, and sizes in another unit than the
machine's, overrun by much: the record does not show what is idle on such a machine.

*Requested times.* Where at least half are known, the others are set to the median of the job's
user, or of all; elsewhere none is made up.
"""

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from cosimlib import checks as check
from cosimlib.display import count, percent
from cosimlib.kernels.steps import step_function
from cosimlib.schedule import Schedule
from cosimlib.synthetic.estimates import RULES, with_missing_estimates
from cosimlib.system import System
from cosimlib.traces.swf_header import PROCESSOR_COUNTS
from cosimlib.workload import InvalidWorkloadError, Workload

TOLERATED = 0.01
"""Share of the node-seconds beyond the machine up to which a record shows what is idle."""

FEW = 0.1
"""Share of jobs without a start up to which they alone are left out."""

KNOWN = 0.5
"""Share of jobs of known requested time from which on the others are filled in by default."""

NEARLY_FULL = 0.9
"""Share of the nodes held from which on a machine is nearly full."""

ESTIMATES = ("", "none", *RULES)


class Oversubscription(NamedTuple):
    """Oversubscription: nodes held beyond those of the machine.

    Parameters
    ----------
    most : int
        Nodes held at once at most.
    nodes : int
        Of the machine.
    share : float
        Node-seconds held beyond the machine's nodes ÷ all that are held; 0 if none is held.
    jobs : int
        That run at such times.
    """

    most: int
    nodes: int
    share: float
    jobs: int

    @property
    def held(self) -> str:
        """The most nodes held, of the machine's, in words."""
        return f"up to {self.most:,} of {count(self.nodes, 'node')} held at once"

    @property
    def note(self) -> str:
        """An entry of an account."""
        return f"{self.held}, {percent(self.share)} of the node-hours beyond the machine"

    @property
    def lack(self) -> str:
        """Why idle nodes are unknown and what to do, in a sentence; empty if they are known."""
        if self.share <= TOLERATED:
            return ""
        return (
            f"{self.held}, so that idle nodes are unknown: count cores if jobs share nodes, or "
            "give the machine's size (--nodes, NODES=)"
        )


class Starts(NamedTuple):
    """Starts of a log's jobs.

    Parameters
    ----------
    workload : Workload
        All jobs; `recorded_start` is the submission where submissions are taken as starts.
    known : np.ndarray
        Whether the start of each job is known; no True if most are unknown, so that a simulated
        schedule has to stand in.
    waits : bool
        Whether waits are known.
    sentence : str
    """

    workload: Workload
    known: np.ndarray
    waits: bool
    sentence: str

    @property
    def started(self) -> Workload:
        """The jobs of known start."""
        return self.workload.keep(self.known, "start unknown, not in the schedule")


def known_starts(workload: Workload) -> Starts:
    """Starts of a log on its machine: as recorded, or as submissions that seem to be starts."""
    start, submit_time = workload.column("recorded_start"), workload.jobs["submit_time"]
    known = start.notna().to_numpy()
    missing = int((~known).sum())
    if known.any() and missing <= FEW * known.size:
        waited = bool((start[known] > submit_time[known]).any())
        if not waited and _submissions_fill(workload):
            return _submissions(workload)
        left_out = ""
        if missing:
            left_out = f"the start of {count(missing, 'job')} is unknown: left out of the schedule"
        return Starts(workload, known, True, left_out)
    if not known.any() and _submissions_fill(workload):
        return _submissions(workload)
    share = f"{percent(1 - known.mean())} of " if known.any() else ""
    sentence = f"this log does not record when {share}its jobs started" if len(workload) else ""
    return Starts(workload, np.zeros(known.size, dtype=bool), False, sentence)


def oversubscription(schedule: Schedule) -> Oversubscription:
    """How far a schedule holds more nodes than its machine has."""
    allocations, nodes = schedule.allocations, schedule.total_nodes
    columns = (allocations[name].to_numpy() for name in ("start", "end", "nodes"))
    times, held = step_function(*columns)
    length = np.diff(times, append=times[-1:])
    over, beyond = length * (held > nodes), length * np.maximum(held - nodes, 0)
    total = float((length * held).sum())
    # Time overrun until each instant, so that jobs of which some is overrun have more at their end.
    until = np.append(0.0, np.cumsum(over))[:-1] if times.size else np.zeros(0)
    ends = (schedule.start_time, schedule.end_time)
    begin, end = (np.interp(at, times, until) if times.size else np.zeros_like(at) for at in ends)
    return Oversubscription(
        int(held.max(initial=0)),
        nodes,
        float(beyond.sum()) / total if total > 0 else 0.0,
        int((end > begin).sum()),
    )


def oddities(workload: Workload) -> list[str]:
    """Sentences about oddities of a log: its starts, and nodes held beyond its machine.

    Jobs that are wider than the machine do not count.
    """
    if workload.machine is None or not len(workload):
        return []
    fits = workload.jobs["nodes"] <= workload.machine.total_nodes
    if not fits.any():
        return []
    starts = known_starts(workload.keep(fits, "wider than the machine"))
    sentences = [starts.sentence] if starts.known.any() and not starts.waits else []
    started = starts.workload.column("recorded_start").notna()
    held = oversubscription(Schedule.recorded(starts.workload.keep(started, "start unknown")))
    return [*sentences, *([held.note] if held.most > held.nodes else [])]


def with_assumed_machine(
    workload: Workload, nodes: int | None = None, *, most: int | None = None, unit: str = "node"
) -> Workload:
    """Workload with a machine: of `nodes`, its own, or of the most nodes that it records at once.

    That last one has the most nodes that were ever held at once, or those of the widest job where
    not all starts are recorded. The name and the account say so.

    Parameters
    ----------
    workload : Workload
    nodes : int, optional
        Size of the machine, if the log's is missing or wrong.
    most : int, optional
        Nodes that are assumed at most: those of a machine of which these jobs had a part.
    unit : str, default "node"
        What a node of the log is, for the name and the account.
    """
    check.whole("nodes", nodes, 1, none="for what the log says")
    check.whole("most", most, 1, none="for no bound")
    if nodes is not None:
        machine = (workload.machine or System(workload.name, {"main": nodes})).with_nodes(nodes)
        known = replace(workload, machine=machine)
        return known.noted("noted", f"machine of {count(nodes, unit)}, as given", len(workload))
    if workload.machine is not None or not len(workload):
        return workload
    width, start = workload.jobs["nodes"].to_numpy(), workload.column("recorded_start")
    size, how = int(width.max()), "its widest job"
    if start.notna().all():
        end = start + workload.jobs["run_time"]
        held = step_function(start.to_numpy(), end.to_numpy(), width)[1]
        size, how = max(size, int(held.max())), f"the most {unit}s ever held at once"
    if most is not None and size > most:
        size, how = most, "all of the machine in the header"
    machine = System(workload.name, {"main": size})
    reason = f"machine unknown, assumed to have {count(size, unit)}, {how}"
    named = replace(
        workload, name=f"{workload.name} ({count(size, unit)} assumed)", machine=machine
    )
    return named.noted("noted", reason, len(workload))


def fitting(workload: Workload) -> tuple[Workload, str]:
    """Jobs that fit on the machine, and the number of other jobs.

    Raises
    ------
    InvalidWorkloadError
        If no job fits.
    """
    total = check.machine(workload.machine, workload.name).total_nodes
    narrow = workload.jobs["nodes"] <= total
    if narrow.all():
        return workload, ""
    if not narrow.any():
        raise InvalidWorkloadError(
            f"{workload.name}: all jobs are wider than the {total} nodes of its machine, the "
            f"narrowest has {int(workload.jobs['nodes'].min())}; mend the header or give its nodes"
        )
    wide = count(int((~narrow).sum()), "job")
    verb = "is" if wide == "1 job" else "are"
    sentence = f"{wide} wider than its machine {verb} left out"
    return workload.keep(narrow, "wider than the machine"), sentence


def with_requests(workload: Workload, estimates: str | float = "") -> tuple[Workload, list[str]]:
    """Workload with missing requested times filled in, and sentences about that.

    Parameters
    ----------
    workload : Workload
    estimates : str or float, default ""
        A rule of `synthetic.with_missing_estimates`; "": medians of users where at least half of
        all are known; ``"none"``: they stay unknown.
    """
    check.that(
        "estimates",
        estimates,
        not isinstance(estimates, str) or estimates in ESTIMATES,
        f"one of {', '.join(map(repr, ESTIMATES))}, or seconds above 0",
    )
    known = float(workload.jobs["requested_time"].notna().mean())
    if estimates == "none" or (estimates == "" and not known >= KNOWN):
        return workload, []
    repaired = with_missing_estimates(workload, "user_median" if estimates == "" else estimates)
    entries = repaired.account[len(workload.account) :].itertuples(index=False)
    return repaired, [f"{n:,} of {count(len(workload), 'job')}: {why}" for _, why, n in entries]


def unit_of(workload: Workload) -> str:
    """What a node of a log is: "processor" where its jobs hold parts of nodes, else "node"."""
    counted = workload.account["reason"].str.contains(PROCESSOR_COUNTS, regex=False)
    return "processor" if counted.any() else "node"


def _submissions(workload: Workload) -> Starts:
    """Submissions taken as starts."""
    jobs = workload.jobs.assign(recorded_start=workload.jobs["submit_time"])
    sentence = (
        "submissions are taken as starts, so that waits are unknown: begun there, jobs hold more "
        f"than the machine for under {percent(TOLERATED)} of their node-hours"
    )
    taken = replace(workload, jobs=jobs).noted("noted", sentence, len(workload))
    return Starts(taken, np.ones(len(workload), dtype=bool), False, sentence)


def _submissions_fill(workload: Workload) -> bool:
    """Whether jobs begun at their submission fill the machine together, and yet fit on it.

    On a machine that is never full no job waits: submissions are starts, and waits are 0.
    """
    if not len(workload):
        return False
    start = workload.jobs["submit_time"].to_numpy()
    system = check.machine(workload.machine, workload.name)
    begun = Schedule.from_starts(workload, system, start, "begun at submission")
    allocations = begun.allocations
    start, end, nodes = (allocations[name].to_numpy() for name in ("start", "end", "nodes"))
    times, held = step_function(start, end, nodes)
    running = step_function(start, end, np.ones_like(nodes))[1]
    area = np.diff(times, append=times[-1:]) * held
    full = (held >= NEARLY_FULL * system.total_nodes) & (running > 1)
    filled = float(area[full].sum()) > TOLERATED * float(area.sum())
    return filled and oversubscription(begun).share < TOLERATED
