"""What a change would do to the waits of a log, by its own record: `what_if` and its result."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from cosimlab.whatif import rules
from cosimlab.whatif.changes import Change, change_of
from cosimlab.whatif.evidence import held_on_such_logs, held_truth_of, is_short
from cosimlab.whatif.reasons import NO_HELP, Reason, Seen, held_share, reason_of
from cosimlab.whatif.record import Classes, Record, classify, pools_of, records_of
from cosimlab.whatif.record import shares as shares_of
from cosimlab.whatif.replaying import replay
from cosimlib import checks as check
from cosimlib.display import Displayed, Facts, count, duration, durations, percent
from cosimlib.metrics import job_groups
from cosimlib.schedule import Schedule, check_rigid
from cosimlib.synthetic.resampling import BLOCKS, resampling_plan
from cosimlib.system import System
from cosimlib.traces.oddities import known_starts, oversubscription
from cosimlib.workload import InvalidWorkloadError, Workload, check_workload

ALL = "all jobs"
GROUPS = ("size", "queue", "group", "user")
STATISTICS = {"mean": None, "p50": 0.5, "p90": 0.9}
COLUMNS = (
    "by",
    "group",
    "jobs",
    "statistic",
    "recorded",
    "expected",
    "ratio",
    "low",
    "high",
    "verdict",
)
WINS, LOSES, CANNOT_TELL, OPEN = "wins", "loses", "cannot tell", "open"


@dataclass(frozen=True, eq=False, repr=False)
class WhatIf(Displayed):
    """Answer to what a change would do to the waits of a log.

    Parameters
    ----------
    name : str
        Name of the log.
    change : str
        The change in words.
    what : str
        What is changed: ``"more nodes"``, ``"fewer nodes"``, ``"limit"``, ``"jobs gone"``, ``"run
        times"`` or ``"several"``.
    sentence : str
        The answer: a ratio with its interval, how well the record is met, and how often such
        intervals held the truth; or that more nodes would not help, or why there is no number.
    why : Reason or None
        Why there is no number: its kind, its sentence, and what would decide the question. None if
        there is a number.
    unchanged : str
        Why the change changes nothing; empty if it changes anything.
    table : pd.DataFrame
        One row per group of jobs (all, by size, queue, group and user where known) and statistic
        of the wait (``"mean"``, ``"p50"``, ``"p90"``): `jobs`, `recorded` and `expected` (s),
        `ratio` (replay on the changed machine ÷ replay on the same one), `low` and `high` of the
        90 % interval of means, and `verdict`: ``"wins"``, ``"loses"``, ``"cannot tell"``, or
        ``"open"`` without an interval. `expected` is recorded × ratio. Without a number, `expected`
        and all after it are missing.
    waiting : pd.DataFrame
        One row per class of waiting jobs (see `cosimlab.whatif`): `jobs`, waited `node_hours`,
        `free_node_hours` in which the jobs' nodes were free, `share` of the node-hours.
    waits : pd.DataFrame
        One row per job that counts: `job` (row of the log), `recorded`, `same` and `changed` (s),
        the waits of the record and of both replays; `changed` is missing for jobs that are gone.
        `block` is the week of the submission (day or hour of a short log), from 0.
    held_truth : str
        In how many cells whose truth is known such intervals held it (docs/what-if.md); empty
        without an interval.
    fit : float
        Mean wait of the replay on the same machine ÷ that recorded.
    strict : bool
        Whether (nearly) no job overtakes.
    latency : float
        The site's own start latency (s); the longest of its pools.
    too_wide : pd.DataFrame
        Jobs that need more nodes than the changed machine has: `job`, `nodes`.
    notes : tuple of str
        What is left out, and what the answer supposes.
    """

    name: str
    change: str
    what: str
    sentence: str
    why: Reason | None
    unchanged: str
    table: pd.DataFrame = field(repr=False)
    waiting: pd.DataFrame = field(repr=False)
    waits: pd.DataFrame = field(repr=False)
    held_truth: str
    fit: float
    strict: bool
    latency: float
    too_wide: pd.DataFrame = field(repr=False)
    notes: tuple[str, ...]

    @property
    def reason(self) -> str:
        """Why there is no number, in words; empty if there is one."""
        return "" if self.why is None else str(self.why)

    @property
    def kind(self) -> str:
        """Kind of the reason, such as ``"starvation"``; empty if there is a number."""
        return "" if self.why is None else self.why.kind

    @property
    def note(self) -> str:
        """What the answer rests on, in one text."""
        return " ".join(self.notes)

    def figure(self) -> Any:
        """Mean waits as recorded and as expected, by size, queue and group: a plotly figure."""
        from cosimlab.figures import plot_what_if

        return plot_what_if(self, title=f"{self.name}: {self.change}")

    def _heading(self) -> str:
        return f"{self.name}: {self.change}"

    def _facts(self) -> Facts:
        waiting = self.waiting[self.waiting["share"] > 0]
        parts = [f"{row['class']} {percent(row['share'])}" for row in waiting.to_dict("records")]
        texts = {
            "answer": self.sentence,
            "waiting": ", ".join(parts),
            "nodes free": (
                f"{percent(held_share(self.waiting))} of the waited node-hours, of limited and "
                f"held jobs; above {percent(rules.MOST_HELD)} more nodes would not help"
            ),
            "latency": duration(self.latency),
            "same machine": f"{percent(self.fit)} of the recorded mean wait",
            "note": self.note,
        }
        return {name: partial(str, text) for name, text in texts.items()}


class _Method(NamedTuple):
    """What the error of the method depends on: the kind of change, and whether no job overtakes."""

    kind: str
    strict: bool


class _Replays(NamedTuple):
    """Record, classes and waits (s) of all pools; waits have a value per job of the workload."""

    workload: Workload
    pools: Mapping[str, tuple[Record, Classes]]
    same: np.ndarray
    changed: np.ndarray

    @property
    def recorded(self) -> np.ndarray:
        """Recorded wait of each job (s)."""
        jobs = self.workload.jobs
        return (jobs["recorded_start"] - jobs["submit_time"]).to_numpy()

    @property
    def counts(self) -> np.ndarray:
        """Jobs that are there after the change."""
        return ~np.isnan(self.changed)

    @property
    def strict(self) -> bool:
        """Whether no job overtakes in any pool."""
        return all(classes.strict for _, classes in self.pools.values())

    @property
    def passed_over(self) -> float:
        """Share of the waiting, of all pools together, by jobs that many later ones overtook."""
        waited = {name: record.wait_time.sum() for name, (record, _) in self.pools.items()}
        passed = sum(
            classes.passed_over * waited[name] for name, (_, classes) in self.pools.items()
        )
        return float(passed / max(sum(waited.values()), 1.0))


def what_if(
    log: Workload | Schedule,
    *,
    nodes: int | str | Mapping[str, int | str] | None = None,
    limit: float | str | None = None,
    without: Mapping[str, Any] | None = None,
    run_time: Any = None,
    system: System | None = None,
    seed: int = 0,
) -> WhatIf:
    """What another machine, a limit, or other jobs would do to a log's waits, with an interval.

    The record is replayed in its own order of starts, on the same machine and on the changed one.
    No policy is assumed. The effect is the ratio of the two. docs/what-if.md says how well that is
    known to work, and when there is no number.

    Parameters
    ----------
    log : Workload or Schedule
        With recorded starts and a machine.
    nodes : int, str or dict, optional
        Nodes of the changed machine, ``"+10%"``, or a dict of these by partition.
    limit : float or str, optional
        Longest run time: seconds or a text such as ``"24h"``. Longer jobs restart where they were
        cut.
    without : dict, optional
        Jobs that are gone: ``{"user": "alice"}``, of a user, group, queue or partition; or a list
        of these.
    run_time : float, np.ndarray or pd.Series, optional
        Factor of all run times, or one per job.
    system : System, optional
        By default the log's machine. A partition whose name joins names by a plus sign is the union
        of partitions that overlap; jobs on a system of one partition share all its nodes.
    seed : int, default 0
        Of the draws of weeks.

    Returns
    -------
    WhatIf

    Raises
    ------
    ValueError
        If the log's starts or machine are unknown, no change is named, or an argument is out of
        range.

    Examples
    --------
    >>> import cosimlab as lab
    >>> import cosimlib as cs
    >>> log = cs.synthetic.with_estimates(cs.synthetic.lublin(5_000, load=0.6, seed=1))
    >>> answer = lab.what_if(cs.simulate_first_fit(log, log.machine), nodes="+10%")
    >>> answer.change
    '10 % more nodes (141 in the place of 128)'
    >>> bool(answer.table["ratio"][0] < 1)
    True
    """
    check.seed(seed)
    workload, machine = _log_of(log, system)
    change = change_of(workload, machine, nodes, limit, without, run_time)
    kept, jobs, notes = _usable(workload, machine)
    replays = _replays(jobs, machine, _of_jobs(change, kept))
    fit = _ratio(float(replays.same.mean()), float(replays.recorded.mean()))
    waiting = shares_of(replays.pools)
    more_nodes = sum(change.nodes.values()) > machine.total_nodes
    gone = ~replays.counts & change.stays[kept]
    seen = _seen(replays, machine, fit, waiting, gone, change)
    why = reason_of(seen, more_nodes=more_nodes)
    held_truth = "" if why or change.nothing else held_truth_of(change, workload, machine)
    waits = pd.DataFrame(
        {
            "job": np.flatnonzero(kept),
            "recorded": replays.recorded,
            "same": replays.same,
            "changed": replays.changed,
            "block": _blocks(jobs),
        }
    )
    draws = draws_of(waits, int(seed))
    table = _table(replays, waits, draws, change.kind(machine))
    if why is not None:
        table[["expected", "ratio", "low", "high"]] = np.nan
        table["verdict"] = OPEN
    if gone.any():
        too_wide = count(int(gone.sum()), "job")
        notes.append(f"{too_wide} cannot run on the changed machine: see too_wide.")
    such = held_on_such_logs(jobs) if len(jobs) else ""
    if held_truth:
        notes.append(f"Over all changes, such intervals held the truth in {such}.")
    notes.append("Submissions do not react to shorter or longer waits.")
    sure = (
        f"{held_truth}, and over all changes in {such}"
        if len(jobs) and is_short(jobs)
        else held_truth
    )
    return WhatIf(
        name=jobs.name,
        change=change.text,
        what=change.kind(machine),
        sentence=_sentence(change, table, why, fit, sure),
        why=why,
        unchanged=change.nothing,
        table=table,
        waiting=waiting,
        waits=waits,
        held_truth=held_truth,
        fit=fit,
        strict=replays.strict,
        latency=max(classes.latency for _, classes in replays.pools.values()),
        too_wide=pd.DataFrame(
            {"job": np.flatnonzero(kept)[gone], "nodes": jobs.jobs["nodes"].to_numpy()[gone]}
        ),
        notes=tuple(notes),
    )


def _log_of(log: Any, system: System | None) -> tuple[Workload, System]:
    """The workload with recorded starts, and its machine."""
    check.instance("log", log, Workload, Schedule)
    if isinstance(log, Schedule):
        check_rigid(log, "what_if")
        jobs = log.workload.jobs.assign(recorded_start=log.start_time)
        log, system = replace(log.workload, jobs=jobs), system or log.system
    check_workload(log)
    machine = check.machine(system or log.machine, log.name, error=InvalidWorkloadError)
    return replace(log, machine=machine), machine


def _usable(workload: Workload, machine: System) -> tuple[np.ndarray, Workload, list[str]]:
    """Which jobs can be replayed, these jobs, and sentences about the others."""
    notes: list[str] = []
    fits = workload.jobs["nodes"].to_numpy() <= _nodes_of_pool(workload, machine)
    if not fits.all():
        notes.append(f"{count(int((~fits).sum()), 'job')} wider than the machine: left out.")
    starts = known_starts(workload.keep(fits, "wider than the machine"))
    if not starts.waits or not starts.known.any():
        why = starts.sentence or "no job has a start"
        raise InvalidWorkloadError(
            f"{workload.name}: {why}; expected recorded starts of at least 90 % of the jobs, as a "
            "what-if replays them: simulate a policy, and give its schedule"
        )
    kept = fits.copy()
    kept[fits] = starts.known
    missing = int((~starts.known).sum())
    if missing:
        notes.append(f"{count(missing, 'job')} without a start: left out.")
    return kept, workload.keep(kept, "not in a what-if"), notes


def _nodes_of_pool(workload: Workload, machine: System) -> np.ndarray:
    """Nodes of the pool of each job."""
    return np.array(list(machine.partitions.values()))[pools_of(workload, machine)]


def _of_jobs(change: Change, kept: np.ndarray) -> Change:
    """The change of the jobs that are kept."""
    return replace(change, stays=change.stays[kept], factor=change.factor[kept])


def _replays(workload: Workload, machine: System, change: Change) -> _Replays:
    """Replays on the same machine and on the changed one."""
    same, changed = np.full((2, len(workload)), np.nan)
    pools = {}
    for name, record in records_of(workload, machine):
        classes = classify(record)
        pools[name] = (record, classes)
        same[record.jobs] = replay(record, classes)
        changed[record.jobs] = replay(
            record,
            classes,
            total_nodes=change.nodes[name],
            run_time=record.run_time * change.factor[record.jobs],
            stays=change.stays[record.jobs],
            limit=change.limit,
        )
    return _Replays(workload, pools, same, changed)


def _seen(
    replays: _Replays,
    machine: System,
    fit: float,
    waiting: pd.DataFrame,
    gone: np.ndarray,
    change: Change,
) -> Seen:
    """What decides whether there is a number."""
    jobs = replays.workload.jobs
    strict = any(classes.strict for _, classes in replays.pools.values())
    work = (jobs["nodes"] * jobs["run_time"]).to_numpy()
    return Seen(
        wait_time=replays.recorded[replays.counts],
        fit=fit,
        beyond=oversubscription(Schedule.recorded(replays.workload, machine)),
        passed_over=replays.passed_over,
        waiting=waiting,
        gone=int(gone.sum()),
        gone_work=float(work[gone].sum() / max(work.sum(), 1.0)),
        strict_and_cut=strict and np.isfinite(change.limit) and not change.nothing,
    )


def _table(replays: _Replays, waits: pd.DataFrame, draws: np.ndarray, kind: str) -> pd.DataFrame:
    """Rows of all jobs and of each group, for a kind of change."""
    counts = replays.counts
    jobs = replays.workload.keep(counts, "gone")
    waits = waits[counts]
    method = _Method(kind, replays.strict)
    rows = _rows("all", ALL, waits, draws, method)
    means = waits[["same", "changed"]].mean()
    overall = effect_of(means["same"], means["changed"], replays.strict, None)
    for by in GROUPS if len(jobs) else ():
        groups = job_groups(jobs, by)
        for name in groups.cat.categories:
            part = waits[(groups == name).to_numpy()]
            if len(part):
                rows += _rows(by, str(name), part, draws, method, overall)
    return pd.DataFrame(rows, columns=list(COLUMNS))


def _blocks(workload: Workload) -> np.ndarray:
    """The week (day, hour) of each job's submission, from 0."""
    if not len(workload):
        return np.zeros(0, dtype=np.int64)
    submit_time = workload.jobs["submit_time"].to_numpy()
    try:
        length = BLOCKS[resampling_plan(workload, "weeks").block]
    except InvalidWorkloadError:  # shorter than four hours
        length = BLOCKS["hours"]
    return ((submit_time - submit_time[0]) // length).astype(np.int64)


def draws_of(waits: pd.DataFrame, seed: int) -> np.ndarray:
    """How often each week is drawn, a row per draw; the same for all changes of a log."""
    blocks = int(waits["block"].max()) + 1 if len(waits) else 1
    random = np.random.default_rng(seed)
    return random.multinomial(blocks, np.full(blocks, 1 / blocks), size=rules.DRAWS)


def _rows(
    by: str,
    group: str,
    waits: pd.DataFrame,
    draws: np.ndarray,
    method: _Method,
    overall: float | None = None,
) -> list[tuple]:
    """A row per statistic of the waits of a group, or of all jobs; `overall` is their effect."""
    rows = []
    for name, quantile in STATISTICS.items():
        values = waits[["recorded", "same", "changed"]]
        recorded, same, changed = values.mean() if quantile is None else values.quantile(quantile)
        ratio, low, high, verdict = _ratio(changed, same), np.nan, np.nan, OPEN
        if quantile is None and same > 0:
            effect = effect_of(same, changed, method.strict, overall)
            ratio = _as_ratio(effect, same)
            enough = len(waits) >= rules.FEWEST_OF_GROUP and recorded >= rules.LEAST_MEAN_WAIT
            if enough or overall is None:
                error = method_error(effect, *method, group=overall is not None)
                low, high = _ends(waits, draws, effect, error)
                verdict = WINS if high < 1 else LOSES if low > 1 else CANNOT_TELL
        expected = changed if same == 0 else recorded * ratio
        rows.append((by, group, len(waits), name, recorded, expected, ratio, low, high, verdict))
    return rows


def effect_of(same: float, changed: float, strict: bool, overall: float | None) -> float:
    """Logarithm of the ratio of two mean waits (s), of which a minute is none.

    Where jobs overtake, that of a group is drawn towards that of all jobs, `overall`.
    """
    own = float(np.log((changed + rules.NO_WAIT) / (same + rules.NO_WAIT)))
    if overall is None or strict:
        return own
    return rules.OWN_PART * own + (1 - rules.OWN_PART) * overall


def method_error(effect: float, kind: str, strict: bool, *, group: bool = False) -> float:
    """Half of the method's own 90 % interval of an effect of a kind of change, on a log scale."""
    if strict:
        return rules.STRICT_ERROR
    errors = rules.GROUP_ERRORS if group else rules.ERRORS
    slope = rules.GROUP_ERROR_PER_EFFECT if group else rules.ERROR_PER_EFFECT
    least, most = errors[kind]
    return min(least + slope * abs(effect), most)


def _ends(
    waits: pd.DataFrame, draws: np.ndarray, effect: float, error: float
) -> tuple[float, float]:
    """The 90 % interval of a ratio of mean waits: of weeks drawn anew, and of the method's error.

    Both are distances on a log scale, and are added as squares.
    """
    own, drawn = effects_drawn(waits, draws)
    below, above = tails(own, drawn)
    mean = float(waits["same"].mean())
    low = _as_ratio(effect - float(np.hypot(below, error)), mean)
    return low, _as_ratio(effect + float(np.hypot(above, error)), mean)


def effects_drawn(waits: pd.DataFrame, draws: np.ndarray) -> tuple[float, np.ndarray]:
    """Logarithm of the ratio of the mean waits of both replays: of all weeks, and of each draw.

    It is missing for a draw in which no job was submitted.
    """
    blocks = draws.shape[1]
    number = np.bincount(waits["block"], minlength=blocks) * rules.NO_WAIT
    same, changed = (
        np.bincount(waits["block"], waits[name], blocks) + number for name in ("same", "changed")
    )
    known = draws @ number > 0
    drawn = np.full(len(draws), np.nan)
    drawn[known] = np.log((draws @ changed)[known] / (draws @ same)[known])
    return float(np.log(changed.sum() / same.sum())), drawn


def tails(own: float, drawn: np.ndarray) -> tuple[float, float]:
    """Distances from a value to the ends of the middle `LEVEL` of the drawn ones; none below 0."""
    tail = (1 - rules.LEVEL) / 2
    low, high = np.nanquantile(drawn, [tail, 1 - tail]).tolist()
    return max(own - low, 0.0), max(high - own, 0.0)


def _as_ratio(effect: float, same: float) -> float:
    """The ratio of mean waits without the minute that an effect counts as none."""
    return max(float(np.exp(effect) * (same + rules.NO_WAIT) - rules.NO_WAIT) / same, 0.0)


def _ratio(one: float, other: float) -> float:
    """One ÷ the other; 1 if both are 0."""
    if other == 0:
        return 1.0 if one == 0 else np.nan
    return float(one / other)


def _sentence(
    change: Change, table: pd.DataFrame, why: Reason | None, fit: float, sure: str
) -> str:
    """The answer in words."""
    if why is not None:
        if why.kind == NO_HELP:
            return f"{str(why)[0].upper()}{str(why)[1:]}."
        return f"No number for {change.text}: {why}."
    if change.nothing:
        return f"Nothing changes: {change.nothing}."
    row = table.iloc[0]
    before, after = durations(row["recorded"], row["expected"])
    effect = (
        f"With {change.text}, the mean wait would be {row['ratio']:.2f} times as long, "
        f"{percent(rules.LEVEL)} interval {row['low']:.2f} to {row['high']:.2f}: {after} in the "
        f"place of {before}"
    ).replace("With without", "Without")
    met = f"the replay meets {percent(fit, 0)} of the record"
    return f"{effect} ({met}; such intervals held the truth in {sure}). {_who(table)}".strip()


def _who(table: pd.DataFrame) -> str:
    """Who wins most, and who loses, in words."""
    means = table[(table["by"] != "all") & (table["statistic"] == "mean")]
    if not (means["verdict"] != OPEN).any():
        return ""
    saved = (means["recorded"] - means["expected"]) * means["jobs"]
    sizes = means["by"] == "size"
    wins, loses = means[sizes & (means["verdict"] == WINS)], means[means["verdict"] == LOSES]
    texts = []
    if len(wins):
        best = means.loc[saved[wins.index].idxmax()]
        shorter = percent(1 - best["ratio"], 0)
        jobs = f"Jobs of {size_text(best['group'])}"
        texts.append(f"{jobs} gain most: {shorter} of their mean wait.")
    if len(loses):
        worst = means.loc[saved[loses.index].idxmin()]
        of = f"jobs of {size_text(worst['group'])}" if worst["by"] == "size" else worst["group"]
        others = f" and {count(len(loses) - 1, 'other group')}" if len(loses) > 1 else ""
        texts.append(f"Longer waits: {of} ({worst['ratio']:.2f} times){others}.")
    else:
        texts.append("No group surely waits longer.")
    return " ".join(texts)


def size_text(group: str, unit: str = "node") -> str:
    """A class of sizes in words: "1 node", "2-3 nodes"."""
    return f"{group} {unit}" if str(group) == "1" else f"{group} {unit}s"
