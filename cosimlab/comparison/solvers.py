"""Comparison of eviction solvers on one log: at random moments at which its machine is nearly full.

At a *full moment*, a whole hour of the log, jobs hold at least 90 % of the machine's nodes, and no
more than there are. At each moment that is drawn, for each number of nodes and each deadline, each
solver plans an eviction of the jobs that run. All solvers get the same evictions.

*Intervals.* The days of the moments are drawn anew, with replacement; all moments of a day come
together, because mostly the same jobs run at them. The ends of an interval are the means of two
draws, 2.5 % of them outside at each end. It says how well the moments drawn stand for all full
moments of the log. It says nothing about other logs.

The *optimum* is that of `solve_dynamic`, as the paper counts: waits for checkpoints add up. Solvers
whose waits overlap (`solve_overlapping`, `solve_blocked`) may lose less.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from cosimlab.comparison.intervals import LEVEL, interval_ends, ratio_text
from cosimlib import checks as check
from cosimlib.audit import audit
from cosimlib.batch import simulate_easy, simulate_fcfs
from cosimlib.display import Displayed, Facts, count, percent
from cosimlib.eviction import EvictionPlan, EvictionProblem, solve_dynamic
from cosimlib.eviction.problem import draw_memory, running_jobs_at
from cosimlib.eviction.solving import solver_of
from cosimlib.kernels.steps import steps_at
from cosimlib.metrics import occupied_nodes
from cosimlib.schedule import Schedule
from cosimlib.system import System, with_memory
from cosimlib.traces.oddities import NEARLY_FULL, known_starts
from cosimlib.units import DAY, HOUR
from cosimlib.workload import Workload

OPTIMUM = "optimum"
FEW = 8
"""Days with full moments below which intervals are rough."""
CLOSE = 1e-9
"""Node-hours by which equal losses may differ."""
KEYS = ["nodes_needed", "deadline"]
COLUMNS = ["solver", "against", *KEYS, "quantity", "mean", "low", "high", "verdict"]
ENDINGS = {
    "lower": "{} loses less",
    "higher": "{} loses more",
    "equal": "they lose the same",
    "cannot tell": "these moments cannot tell",
    "unknown": "unknown, as all moments are of one day",
}
"""What a sentence says of a solver by its verdict."""


class Question(NamedTuple):
    """What is asked of the solvers at each moment; times in seconds."""

    nodes: list[int]
    deadlines: list[float]
    step: float
    system: System
    interval: float
    seed: int


@dataclass(frozen=True, eq=False, repr=False)
class SolverComparison(Displayed):
    """Comparison of eviction solvers at full moments of a log, with intervals over its days.

    Parameters
    ----------
    name : str
        Name of the schedule.
    solvers : tuple of str
        The optimum is not among them.
    table : pd.DataFrame
        One row per solver or pair of solvers, number of nodes, deadline (seconds) and quantity;
        `nodes_needed` and `deadline` are missing where all evictions are taken together.
        `quantity` is ``"loss"`` (mean node-hours), ``"optimal"`` (share of evictions that lose the
        least), ``"difference"`` (`solver` − `against`) or ``"ratio"`` (of mean losses, `solver` ÷
        `against`). `against` is an earlier solver or ``"optimum"``. `verdict` judges the
        difference: ``"lower"``, ``"higher"``, ``"equal"``, ``"cannot tell"`` or ``"unknown"``. The
        interval of the difference contains 0 exactly if that of the ratio contains 1.
    evictions : pd.DataFrame
        One row per eviction and solver: `moment` (s), `jobs`, `nodes_needed`, `deadline` (s),
        `solver`, `loss` and `optimum` (node-hours).
    note : str
        The moments, the log, and what was drawn.
    """

    name: str
    solvers: tuple[str, ...]
    table: pd.DataFrame
    evictions: pd.DataFrame
    note: str

    def sentences(self) -> list[str]:
        """One sentence per solver, on the optimum, and one per pair of solvers.

        They are on the mean node-hours lost by an eviction, over all numbers of nodes and
        deadlines.
        """
        whole = self.table[self.table["deadline"].isna()]
        rows = whole.set_index(["solver", "against", "quantity"]).to_dict("index")
        told = [self._on_optimum(rows, solver) for solver in self.solvers]
        pairs = [self._on_pair(rows, *pair) for pair in combinations(self.solvers, 2)]
        return told + pairs

    def _on_optimum(self, rows: Mapping[Any, dict], solver: str) -> str:
        """What a solver loses above the least, and how often it loses the least."""
        loss, least = rows[solver, "", "loss"]["mean"], rows[OPTIMUM, "", "loss"]["mean"]
        evictions = len(self.evictions) // len(self.solvers)
        share = percent(rows[solver, "", "optimal"]["mean"])
        return (
            f"{solver} loses {loss:,.1f} node-hours on average and the optimum {least:,.1f} "
            f"({_in_words(rows, solver, OPTIMUM)}); {solver} is optimal in {share} of "
            f"{count(evictions, 'eviction')}"
        )

    def _on_pair(self, rows: Mapping[Any, dict], against: str, solver: str) -> str:
        """Which of two solvers loses less."""
        ending = ENDINGS[rows[solver, against, "difference"]["verdict"]].format(solver)
        return f"mean loss, {_in_words(rows, solver, against)}: {ending}"

    def _heading(self) -> str:
        return f"{self.name}: {', '.join(self.solvers)}"

    def _facts(self) -> Facts:
        texts = {f"{number}": text for number, text in enumerate(self.sentences(), start=1)}
        return {name: partial(str, text) for name, text in {**texts, "note": self.note}.items()}


def compare_solvers(
    solvers: Iterable[Any] | Mapping[str, Any],
    log: Schedule | Workload,
    *,
    nodes: int | Iterable[int],
    deadlines: Iterable[float] = (0.0, 300.0, 600.0, 900.0),
    moments: int = 100,
    replicates: int = 1000,
    step: float = 60.0,
    system: System | None = None,
    interval: float = HOUR,
    seed: int = 0,
) -> SolverComparison:
    """Comparison of eviction solvers at random full moments of a log, with 95 % intervals.

    Parameters
    ----------
    solvers : list or dict
        Names, functions as `cosimlib.solve` takes them, and pairs of one of these and its
        arguments; or a dict, whose keys are the names in tables. Each is compared with the optimum
        and with all before it.
    log : Schedule or Workload
        Of a workload the recorded starts are taken, or else those of EASY (of FCFS if a requested
        time is unknown).
    nodes : int or list of int
        Nodes needed, up to 90 % of the machine's.
    deadlines : list of float, default 0, 300, 600 and 900
        Seconds from the eviction.
    moments : int, default 100
        Full moments that are drawn, without replacement; all if there are fewer.
    replicates : int, default 1000
        Draws of days for the intervals.
    step : float, default 60.0
        Seconds to which checkpoints are rounded up. Solvers plan for each step up to the last
        deadline.
    system : System, optional
        With memory and bandwidths; by default the log's own. What is unknown is as on Theta.
    interval : float, default 3600.0
        Seconds between application checkpoints of a job.
    seed : int, default 0
        Of the moments, the memory per job and the draws of days.

    Returns
    -------
    SolverComparison

    Raises
    ------
    InfeasiblePlanError
        If a plan breaks a rule.
    ValueError
        If the machine is never nearly full, or a setting is out of range.

    Examples
    --------
    >>> import cosimlab as lab
    >>> import cosimlib as cs
    >>> log = cs.simulate_easy(cs.synthetic.theta(1000, seed=1), cs.synthetic.theta(1000).machine)
    >>> comparison = lab.compare_solvers(["greedy"], log, nodes=1024, moments=20)
    >>> comparison.table.query("quantity == 'loss' and deadline == 900")["solver"].tolist()
    ['optimum', 'greedy']
    """
    check.whole("moments", moments, 1)
    check.whole("replicates", replicates, 100)
    check.seconds("step", step, above=0)
    check.seconds("interval", interval, above=0)
    check.seed(seed)
    named = _named(solvers)
    schedule = _schedule_of(log, system)
    machine, assumed = with_memory(schedule.system)
    needed, asked = _asked(machine, nodes, deadlines)
    full, of = _full_moments(schedule)
    random = np.random.default_rng(seed)
    chosen = np.sort(random.choice(full, min(int(moments), full.size), replace=False))
    question = Question(needed, asked, step, machine, interval, seed)
    evictions = _evictions(schedule, chosen, named, question)
    day = np.floor((evictions["moment"] - schedule.span[0]) / DAY).astype(int)
    table, days = _interval_table(evictions, day, tuple(named), replicates, random)
    rough = "; of so few days the intervals are rough" if days < FEW else ""
    note = (
        f"{percent(LEVEL)} intervals over {replicates:,} draws of {count(days, 'day')}, all "
        f"moments of a day together{rough}. {chosen.size:,} {of}. They stand for the full "
        f"moments of this log, not for other logs. {assumed}"
    ).strip()
    return SolverComparison(schedule.name, tuple(named), table, evictions, note)


def _named(solvers: Any) -> dict[str, Callable[[EvictionProblem], EvictionPlan]]:
    """Functions from a problem to a plan, by distinct names, in the order given."""
    plural = isinstance(solvers, Iterable) and not isinstance(solvers, str)
    check.that("solvers", solvers, plural, "a list or dict of solvers")
    pairs = solvers.items() if isinstance(solvers, Mapping) else (("", each) for each in solvers)
    named: dict[str, Callable[[EvictionProblem], EvictionPlan]] = {}
    for label, solver in pairs:
        is_pair = isinstance(solver, tuple) and len(solver) == 2 and isinstance(solver[1], Mapping)
        solver, knobs = solver if is_pair else (solver, {})
        name, function = solver_of(solver, name=str(label), **knobs)
        settings = ", ".join(f"{knob}={value}" for knob, value in knobs.items())
        name = f"{name} ({settings})" if settings and not label else name
        free = name not in named and name != OPTIMUM
        expected = (
            f"names that differ, none of them {OPTIMUM!r}: give a dict of solvers by name, such as "
            "{'mine': solver}"
        )
        check.that("name of a solver", name, free, expected)
        named[name] = function
    check.that("solvers", solvers, bool(named), "at least one")
    return named


def _schedule_of(log: Schedule | Workload, system: System | None) -> Schedule:
    """The schedule, that of the recorded starts, or one that is simulated."""
    expected = "a Schedule or a Workload; cs.prepare_schedule gives the schedule of a log by name"
    check.instance("log", log, Schedule, Workload, expected=expected)
    if isinstance(log, Schedule):
        return log if system is None else replace(log, system=system)
    machine = check.machine(system or log.machine, log.name)
    log = replace(log, machine=machine)
    starts = known_starts(log)
    if starts.waits:
        return Schedule.recorded(starts.started)
    known = log.jobs["requested_time"].notna().all()
    return audit((simulate_easy if known else simulate_fcfs)(log, machine))


def _asked(system: System, nodes: Any, deadlines: Any) -> tuple[list[int], list[float]]:
    """Numbers of nodes and deadlines, ascending, checked."""
    needed = [nodes] if check.is_number(nodes) else list(nodes)
    most = int(NEARLY_FULL * system.total_nodes)
    check.that("nodes", needed, bool(needed), "at least one number of nodes")
    for number in needed:
        check.whole("nodes", number, 1, most, where=system.name)
    asked = [deadlines] if check.is_number(deadlines) else list(deadlines)
    check.that("deadlines", asked, bool(asked), "at least one")
    for deadline in asked:
        check.seconds("deadlines", deadline)
    return sorted({int(each) for each in needed}), sorted({float(each) for each in asked})


def _full_moments(schedule: Schedule) -> tuple[np.ndarray, str]:
    """Whole hours of a schedule at which its machine is nearly full, and which those are."""
    total = schedule.total_nodes
    if not len(schedule.workload):
        raise ValueError(f"{schedule.name}: no jobs; expected at least one")
    first, last = schedule.start_time.min(), schedule.end_time.max()
    hours = first + HOUR * np.arange(1 + int((last - first) // HOUR))
    steps = occupied_nodes(schedule)
    held = steps_at(steps.index.to_numpy(), steps.to_numpy(), hours)
    full = hours[(held >= NEARLY_FULL * total) & (held <= total)]
    if not full.size:
        most = percent(held[held <= total].max(initial=0) / total)
        raise ValueError(
            f"{schedule.name}: jobs hold at most {most} of {count(total, 'node')} at any whole "
            f"hour; expected {percent(NEARLY_FULL)} at one of them: take a busier log"
        )
    of = (
        f"of {count(full.size, 'full moment')} (whole hours at which {percent(NEARLY_FULL)} of "
        f"{count(total, 'node')} are held) of {schedule.name}"
    )
    return full, of


def _evictions(
    schedule: Schedule,
    moments: np.ndarray,
    solvers: Mapping[str, Callable[[EvictionProblem], EvictionPlan]],
    question: Question,
) -> pd.DataFrame:
    """What each solver loses in each eviction."""
    memory = draw_memory(schedule.workload, question.system, seed=question.seed)
    rows = []
    for moment in moments.tolist():
        jobs = running_jobs_at(
            schedule, moment, system=question.system, interval=question.interval, memory=memory
        )
        posed = EvictionProblem(jobs, 0, question.deadlines[-1], question.step)
        for needed in question.nodes:
            problem = posed.asking(needed)
            best = solve_dynamic(problem)
            at = [best.row(deadline) for deadline in question.deadlines]
            for name, solve in solvers.items():
                try:
                    loss = solve(problem).loss
                except Exception as error:
                    error.add_note(f"raised by the solver {name!r} at t={moment:.15g}")
                    raise
                rows += [
                    (moment, len(jobs), needed, deadline, name, loss[row], best.loss[row])
                    for deadline, row in zip(question.deadlines, at, strict=True)
                ]
    return pd.DataFrame(rows, columns=["moment", "jobs", *KEYS, "solver", "loss", OPTIMUM])


def _interval_table(
    evictions: pd.DataFrame,
    day: pd.Series,
    solvers: tuple[str, ...],
    replicates: int,
    random: np.random.Generator,
) -> tuple[pd.DataFrame, int]:
    """Means with intervals over days drawn anew, and the number of days.

    All means are of the same draws, so that differences and ratios are paired.
    """
    code, days = pd.factorize(day)
    drawn = random.multinomial(len(days), np.full(len(days), 1 / len(days)), size=replicates)
    # The first row stands for the moments themselves, the others for the draws. One day alone tells
    # nothing about others.
    weights = np.vstack([np.ones((1, len(days))), drawn[: replicates if len(days) > 1 else 0]])
    groups: list[tuple[dict, pd.Index]] = [({}, evictions.index)]
    for (needed, deadline), part in evictions.groupby(KEYS):
        groups.append(({"nodes_needed": needed, "deadline": deadline}, part.index))
    rows = []
    for keys, index in groups:
        part, codes = evictions.loc[index], code[index]
        mean = partial(_means, weights=weights, days=len(days))
        first = (part["solver"] == solvers[0]).to_numpy()
        losses = {OPTIMUM: mean(part.loc[first, OPTIMUM], codes[first])}
        rows.append(_row(OPTIMUM, "", keys, "loss", losses[OPTIMUM], ""))
        for solver in solvers:
            own = (part["solver"] == solver).to_numpy()
            losses[solver] = mean(part.loc[own, "loss"], codes[own])
            best = part.loc[own, "loss"] <= part.loc[own, OPTIMUM] + CLOSE
            rows.append(_row(solver, "", keys, "loss", losses[solver], ""))
            optimal = mean(best.astype(float), codes[own])
            rows.append(_row(solver, "", keys, "optimal", optimal, ""))
        for against, solver in combinations(losses, 2):
            rows += _pair_rows(solver, against, keys, losses[solver], losses[against])
    return pd.DataFrame(rows, columns=COLUMNS).astype({"nodes_needed": "Int64"}), len(days)


def _means(values: pd.Series, codes: np.ndarray, *, weights: np.ndarray, days: int) -> np.ndarray:
    """Mean of the values under each row of weights of days."""
    sums = np.bincount(codes, values.to_numpy(dtype=np.float64), days)
    numbers = np.bincount(codes, minlength=days)
    return (weights @ sums) / (weights @ numbers)


def _pair_rows(
    solver: str, against: str, keys: dict, one: np.ndarray, other: np.ndarray
) -> list[tuple]:
    """Difference and ratio of two mean losses."""
    difference = np.where(np.abs(one - other) < CLOSE, 0.0, one - other)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.where(difference == 0, 1.0, one / other)
    low, high = _ends(difference)
    verdict = "cannot tell"
    if np.isnan(low):
        verdict = "unknown"
    elif low > 0 or high < 0:
        verdict = "higher" if low > 0 else "lower"
    elif low == high == 0:
        verdict = "equal"
    return [
        _row(solver, against, keys, "difference", difference, verdict),
        _row(solver, against, keys, "ratio", ratio, verdict),
    ]


def _row(
    solver: str, against: str, keys: dict, quantity: str, values: np.ndarray, verdict: str
) -> tuple:
    """A row of the table: the value of the moments themselves, and the interval of the draws."""
    shown = (values[0] if np.isfinite(values[0]) else np.nan, *_ends(values))
    needed, deadline = keys.get("nodes_needed", pd.NA), keys.get("deadline", np.nan)
    return (solver, against, needed, deadline, quantity, *shown, verdict)


def _ends(values: np.ndarray) -> tuple[float, float]:
    """The interval of the draws; missing where all are of one day, or an end is infinite."""
    draws = values[1:]
    if not draws.size or not np.isfinite(draws).all():
        return np.nan, np.nan
    return interval_ends(draws)


def _in_words(rows: Mapping[Any, dict], solver: str, against: str) -> str:
    """The ratio of two mean losses with its interval, or their difference if there is none."""
    ratio, difference = (rows[solver, against, each] for each in ("ratio", "difference"))
    sign, shown, unit = "÷", ratio, ""
    if not np.isfinite([ratio["mean"], ratio["low"], ratio["high"]]).all():
        sign, shown, unit = "−", difference, " node-hours"
    text = ratio_text if sign == "÷" else "{:,.3g}".format
    mean, low, high = (text(shown[name]) for name in ("mean", "low", "high"))
    if "nan" in (low, high):
        return f"{solver} {sign} {against}: {mean}{unit}, no interval"
    return f"{solver} {sign} {against}: {mean}{unit}, {percent(LEVEL)} interval {low} to {high}"
