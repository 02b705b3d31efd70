"""Which rule made a schedule: shares of equal decisions and starts, the best rule, a witness."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from cosimlab.identify.printed import overfull, printed_precision, snapped
from cosimlab.identify.recorded import record_of
from cosimlab.identify.replay import RIGHT, WRONG, Replay
from cosimlab.identify.rules import RULES, Rule, chosen_rules, divided
from cosimlab.identify.shrinking import smallest_log
from cosimlab.identify.witness import Witness, witness_of
from cosimlab.testing.policies import Case, as_python
from cosimlib import checks as check
from cosimlib.batch.orders import Prepared
from cosimlib.display import Displayed, Facts, count
from cosimlib.policies import simulator_of, with_knobs_of
from cosimlib.schedule import Schedule, check_rigid
from cosimlib.system import System
from cosimlib.units import LATEST
from cosimlib.workload import InvalidWorkloadError, Workload, check_run, check_workload

JUDGED = (RIGHT, WRONG)
"""Notes of an instant that is a decision."""

SHOWN = 5
"""Rules that a summary lists."""

MOST_OVERFULL = 0.05
"""Share of the jobs of a log that may start when more nodes are held than the machine has, because
clocks of real logs are not exact. Of a simulator no job may."""


@dataclass(frozen=True, eq=False, repr=False)
class Identification(Displayed):
    """Which rule made a schedule; ``print`` shows a sentence, the nearest rules and the witness.

    Parameters
    ----------
    name : str
        Of the workload.
    table : pd.DataFrame
        One row per `rule`, the nearest first: `equal_decisions` (share of the decisions that the
        rule makes as the record does), `equal_starts` (share of the jobs that start within the
        precision when the rule schedules the whole log), `decisions` that were judged, and how many
        of them are `wrong`. A rule is not asked any more after 1,000 wrong ones.
    decisions : int
        Instants of the record at which a job waits for which enough nodes are free, as the rule saw
        them that was followed for longest: a rule is left after a thousand wrong decisions.
    precision : float
        Seconds to which the starts are known.
    witness : Witness, optional
        The first wrong decision of the nearest rule; None if it makes them all.
    smallest : Workload, optional
        Where a simulator was given: the smallest log found that it schedules otherwise than the
        nearest rule, with its machine. Its jobs have new numbers, from 0. The witness is of this
        log, unless the rule makes all decisions on it. `print` shows it as Python that you can
        paste.
    not_asked : str
        How many rules were not asked, and why; empty if all were.
    notes : tuple of str
        Instants that could not be judged, and numbers of jobs that are not unique.
    """

    name: str
    table: pd.DataFrame
    decisions: int
    precision: float
    witness: Witness | None
    smallest: Workload | None = None
    not_asked: str = ""
    notes: tuple[str, ...] = ()

    @property
    def best(self) -> str:
        """The nearest rule."""
        return str(self.table["rule"].iloc[0])

    @property
    def exact(self) -> tuple[str, ...]:
        """The rules that make all decisions; a log may be too easy to tell several apart."""
        return tuple(self.table.loc[self.table["wrong"] == 0, "rule"])

    def sentence(self) -> str:
        """Which rule it is, or that it is none of them, which is nearest, and who was not asked."""
        return "; ".join(filter(None, [self._verdict(), self.not_asked]))

    def _verdict(self) -> str:
        """Which rule it is, or that it is none of them, and which is nearest."""
        decisions = count(self.decisions, "decision")
        if self.exact:
            others = len(self.exact) - 1
            do = "does" if others == 1 else "do"
            more = f"; so {do} {count(others, 'other rule')}: {', '.join(self.exact[1:4])}"
            more += " …" if others > 3 else ""
            made = "the only decision" if self.decisions == 1 else f"all {decisions}"
            return f"{self.best}: it makes {made}{more if others else ''}"
        first = self.table.iloc[0]
        made, begun = _share(first["equal_decisions"]), _share(first["equal_starts"])
        if len(self.table) == 1:
            return f"not {self.best}, which makes {made} of {decisions} and {begun} of starts"
        return (
            f"none of these {count(len(self.table), 'rule')}; nearest is {self.best}: "
            f"{made} of {decisions}, {begun} of starts"
        )

    def _heading(self) -> str:
        return f"{self.name}: {self.sentence()}"

    def _facts(self) -> Facts:
        rows = self.table.head(SHOWN).to_dict("records")
        told = {row["rule"]: partial(_row, row) for row in rows}
        if self.witness is not None:
            told |= {"witness": partial(str, self.witness.sentence)}
        if self.smallest is not None:
            nodes = (
                count(self.smallest.machine.total_nodes, "node") if self.smallest.machine else ""
            )
            jobs = count(len(self.smallest), "job")
            is_of = self.witness and self.witness.workload.name.startswith(self.smallest.name)
            ending = ", which the witness is of" if is_of else ""
            told |= {"smallest log": partial(str, f"{jobs} on {nodes}{ending}")}
        if self.notes:
            told |= {"note": partial(str, "; ".join(self.notes))}
        return told

    def __str__(self) -> str:
        """The summary, and the smallest log as Python."""
        if self.smallest is None or self.smallest.machine is None:
            return super().__str__()
        case = Case(self.smallest.jobs, self.smallest.machine.total_nodes)
        return f"{super().__str__()}\n\nThe smallest log found that shows it:\n\n{as_python(case)}"


def identify(
    workload: Workload,
    starts: Any = None,
    *,
    system: System | None = None,
    rules: Iterable[str] | None = None,
    precision: float | None = None,
) -> Identification:
    """Which rule made a schedule, judged decision by decision, with a witness if it is none.

    At each instant of the record, each rule is asked what it would start, from the jobs that run
    and wait then. So one wrong decision does not make all later ones wrong.

    Parameters
    ----------
    workload : Workload
        With requested times, for rules that plan.
    starts : array, pd.Series, Schedule, str or function, optional
        The start of each job, seconds; or a simulator, whose schedule is judged: a policy, or a
        pair of one and its knobs, as for `cosimlab.compare`. By default the starts that the log
        recorded.
    system : System, optional
        By default the log's own.
    rules : names, optional
        Of `cosimlab.identify.RULES`; by default all. Rules that plan by requested times are not
        asked if a job has none; the result says so.
    precision : float, optional
        Seconds by which a start may differ from an end or a submission and still mean it. By
        default found from the digits: 1 where starts are whole seconds and other times are not.

    Returns
    -------
    Identification

    Raises
    ------
    InvalidWorkloadError
        If there is no start for a job, a job starts before its submission, or more than 5 % of the
        jobs start when more nodes are held than there are. The message names the job. So if none
        of the chosen rules can be asked, because they need requested times.
    ValueError
        If a rule is unknown, or the system.

    Examples
    --------
    >>> import pandas as pd
    >>> import cosimlab as lab
    >>> import cosimlib as cs
    >>> times = {"submit_time": [0, 1, 2], "run_time": [10, 10, 9], "requested_time": [10, 10, 9]}
    >>> workload = cs.Workload(pd.DataFrame(times | {"nodes": [3, 4, 1]}), "three jobs")
    >>> found = lab.identify(workload, [0, 11, 2], system=cs.System.of(4), rules=["EASY"])
    >>> found.sentence()
    'not EASY, which makes 66.6 % of 3 decisions and 33.3 % of starts'
    >>> found.witness.sentence
    "job 2 starts at 2 s; under EASY it would delay job 1's reservation at 10 s"
    """
    check_workload(workload)
    system = check.machine(system or workload.machine, workload.name)
    check_run(workload, system)
    simulate = _simulator(starts, workload.name)
    if simulate is not None:
        starts = simulate(workload, system)
        check.instance("what the simulator returns", starts, Schedule)
    start_time = _starts(workload, system, starts)
    precision = _precision(workload, start_time, precision)
    start_time = snapped(workload, system, start_time, precision)
    most_share = MOST_OVERFULL if simulate is None else 0.0
    notes = overfull(workload, system, start_time, most_share), _repeated_numbers(workload)
    asked, not_asked = divided(chosen_rules(rules), workload, system)
    table, replays = _table(workload, system, start_time, precision, asked)
    best = table["rule"].iloc[0]
    smallest = witness = None
    if table["wrong"].iloc[0] > 0 and simulate is not None:
        smallest = smallest_log(RULES[best], simulate, workload, system, precision)
        witness = _witness_of_smallest(RULES[best], simulate, smallest)
    if table["wrong"].iloc[0] > 0 and witness is None:
        run, found = replays[best]
        time = _first_wrong(workload, start_time, found)
        witness = witness_of(RULES[best], run, workload, start_time, time)
    decisions = max(int(np.isin(found.noted, JUDGED).sum()) for _, found in replays.values())
    noted = tuple(filter(None, notes))
    return Identification(
        workload.name, table, decisions, precision, witness, smallest, not_asked, noted
    )


def _simulator(starts: Any, where: str) -> Callable[..., Schedule] | None:
    """The simulator, if one is given; its errors have a note that names it and the log."""
    policy, knobs = with_knobs_of(starts)
    if not (isinstance(policy, str) or callable(policy)):
        return None
    name, simulator = simulator_of(policy, **knobs)

    def simulate(workload: Workload, system: System) -> Schedule:
        try:
            return simulator(workload, system)
        except Exception as error:
            jobs = count(len(workload), "job")
            error.add_note(f"raised by the simulator {name!r} on {where}, {jobs}")
            raise

    return simulate


def _repeated_numbers(workload: Workload) -> str:
    """What is said of a job number that several jobs have; empty if there is none."""
    numbers = workload.column("job_id").dropna()
    repeated = numbers[numbers.duplicated()]
    if repeated.empty:
        return ""
    return f"job_id {repeated.iloc[0]} names several jobs, so jobs are named by their rows"


def _witness_of_smallest(
    rule: Rule, simulate: Callable[..., Schedule], log: Workload | None
) -> Witness | None:
    """The witness on the smallest log; None where the rule makes all decisions of the simulator."""
    if log is None or log.machine is None:
        return None
    start_time = simulate(log, log.machine).start_time
    run = rule.prepared(log, log.machine)
    asked = rule.asked(run, start_time)
    if not (asked.noted == WRONG).any():
        return None
    return witness_of(rule, run, log, start_time, _first_wrong(log, start_time, asked))


def _starts(workload: Workload, system: System, starts: Any) -> np.ndarray:
    """One start per job (s), as given, scheduled or recorded."""
    if starts is None:
        starts = Schedule.recorded(workload, system)
    if isinstance(starts, Schedule):
        check_rigid(starts, "identify")
        _check_same_jobs(workload, starts.workload)
        starts = starts.start_time
    if isinstance(starts, pd.Series) and not starts.index.equals(workload.jobs.index):
        if not starts.index.symmetric_difference(workload.jobs.index, sort=False).empty:
            raise InvalidWorkloadError(
                f"{workload.name}: the index of starts is not that of the jobs; "
                "expected one start under the index of each job, or an array in order of jobs"
            )
        starts = starts.reindex(workload.jobs.index)
    values = np.asarray(starts)
    if values.shape != (len(workload),) or not len(workload):
        raise InvalidWorkloadError(
            f"{workload.name}: starts have the shape {values.shape}; expected one start per job, "
            f"of {count(len(workload), 'job')}, and at least one"
        )
    if values.dtype.kind not in "iuf":
        values = values.astype(object)
    fine = [check.is_number(value) and bool(value < LATEST) for value in values.tolist()]
    expected = f"a start in seconds below {LATEST:,.0f}; drop other jobs with Workload.keep"
    check.rows("start", values, fine, expected, row=workload.label, error=InvalidWorkloadError)
    return values.astype(np.float64)


def _check_same_jobs(workload: Workload, scheduled: Workload) -> None:
    """Raise where a schedule is of other jobs than the workload's."""
    columns = ["submit_time", "run_time", "nodes"]
    same = len(scheduled) == len(workload)
    if same:
        differ = (scheduled.jobs[columns].to_numpy() != workload.jobs[columns].to_numpy()).any(1)
        if not differ.any():
            return
        where, which = workload.label(int(differ.argmax())), "differs in the schedule of starts"
    else:
        where = workload.name
        which = f"the schedule of starts has {count(len(scheduled), 'job')}, not {len(workload):,}"
    raise InvalidWorkloadError(f"{where}: {which}; expected a schedule of these jobs")


def _precision(workload: Workload, start_time: np.ndarray, precision: float | None) -> float:
    """The precision that is given, or found from the digits (s)."""
    if precision is None:
        return printed_precision(workload, start_time)
    check.seconds("precision", precision)
    return float(precision)


def _table(
    workload: Workload,
    system: System,
    start_time: np.ndarray,
    precision: float,
    rules: list[tuple[Rule, Prepared]],
) -> tuple[pd.DataFrame, dict[str, tuple[Prepared, Replay]]]:
    """The shares of all rules, the nearest first; and what each decided."""
    run_time = workload.jobs["run_time"].to_numpy(np.float64)
    submit_time = workload.jobs["submit_time"].to_numpy(np.float64)
    record = record_of(submit_time, start_time, run_time)
    rows, replays = [], {}
    for rule, run in rules:
        found = rule.asked(run, start_time, record)
        wrong, right = int((found.noted == WRONG).sum()), int((found.noted == RIGHT).sum())
        simulated = rule.simulated(workload, system).start_time
        equal = float((np.abs(simulated - start_time) <= precision).mean())
        rows.append((rule.name, right / max(right + wrong, 1), equal, right + wrong, wrong))
        replays[rule.name] = run, found
    columns = ["rule", "equal_decisions", "equal_starts", "decisions", "wrong"]
    table = pd.DataFrame(rows, columns=columns)
    by = ["equal_decisions", "equal_starts"]
    return table.sort_values(by, ascending=False, kind="stable", ignore_index=True), replays


def _first_wrong(workload: Workload, start_time: np.ndarray, found: Replay) -> float:
    """The instant of the first wrong decision (s)."""
    run_time = workload.jobs["run_time"].to_numpy(np.float64)
    submit_time = workload.jobs["submit_time"].to_numpy(np.float64)
    instants = record_of(submit_time, start_time, run_time).instants.time
    return float(instants[int((found.noted == WRONG).argmax())])


def _share(share: float) -> str:
    """A share in percent, rounded down, so that 100 means all."""
    return f"{np.floor(1000 * share + 1e-9) / 10:.1f} %"


def _row(row: dict) -> str:
    """A line of the summary."""
    return f"{_share(row['equal_decisions'])} of decisions, {_share(row['equal_starts'])} of starts"
