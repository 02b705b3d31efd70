"""Verdicts: a paper's statements, the rules that decide them, and our numbers beside them.

`data/claims.csv` has one row per statement: what the paper says and where, and the rule by which
it is judged. A paper measures `Samples`; `decide` is the only place that judges them.

A rule has a *statistic* and *limits*. Several named samples must all meet the limits; with "any"
before the statistic, one is enough.

- ``value``: every number lies within the limits.
- ``by construction``: the same, but the model or its input builds the statement in. It says nothing
  about the paper, and is counted apart.
- ``mean``, ``geometric mean``: a relation, judged by the confidence interval of the mean over
  seeds. It holds if the interval lies within the limits, fails if it lies outside, and is unknown
  if it contains a limit. So "the same" needs a margin on both sides, and more seeds only decide
  more. One number decides alone. ``mean, 99 %`` has another level than 95 %.
- ``prediction``: a printed number, which is one draw like ours. It holds if the 95 % prediction
  interval of one more seed meets the limits, and fails if that of the rule's level does not. Where
  many numbers are printed, a level above 95 % keeps one from failing by chance; it makes none hold,
  so that a number between the two intervals is unknown. It is unknown, too, with one seed, and if
  the interval contains 0, for then the seeds do not even tell the number's sign.
- ``none``: nothing printed could decide it; it is unknown.

A paper's words may leave something open, such as which backfilling it simulated. Each choice that
quoted words leave open, and that no other sentence of the paper contradicts, is a *reading*
(`data/readings.csv`). A statement with readings is judged under each of them. It holds only if it
holds under all. It fails only if it fails under all, with numbers on the same side of the limits,
and without a `doubt`. Else it is unknown, and says which reading decides what.
"""

import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd

from cosimlab.folders import checkout
from cosimlib.display import UNKNOWN, percent
from cosimlib.metrics import mean_interval
from cosimlib.metrics.intervals import Interval

STATED = ["system", "number", "claim", "statement", "paper_value", "source"]
RULED = ["statistic", "limits", "reason", "data"]
VERDICTS = ("holds", "fails", "unknown", "by construction")
LEVEL = 0.95
LIMITS = re.compile(
    r"(?P<sign>[<>≤≥=]) (?P<one>\S+)|(?P<least>\S+) to (?P<most>\S+)|(?P<mid>\S+) ± (?P<off>\S+)"
)
STATISTIC = re.compile(
    r"(?P<some>any )?(?P<name>value|by construction|(?:geometric )?mean|prediction|none)"
    r"(?:, (?P<level>[\d.]+) %)?"
)


class Limits(NamedTuple):
    """The numbers between which a statement is true; an end counts unless it is `open`."""

    least: float = -math.inf
    most: float = math.inf
    open: bool = False

    def hold(self, value: float) -> bool:
        """Whether a number lies within them; NaN does not."""
        if self.open:
            return bool(self.least < value < self.most)
        return bool(self.least <= value <= self.most)


class Rule(NamedTuple):
    """How a statement is judged: a row of `data/claims.csv`.

    `reason` says why the limits are what they are, `data` what the numbers must be measured on.
    """

    statistic: str
    limits: Limits = Limits()
    words: str = ""
    reason: str = ""
    data: str = ""
    level: float = LEVEL
    some: bool = False


class Samples(NamedTuple):
    """What was measured for one statement: a number per seed.

    Parameters
    ----------
    values : sequence of float, or mapping of str to sequences
        One number per seed; several quantities by their names.
    shown : str
        The format of a number, with its unit; where a % follows the number, it is times 100.
    ours : str
        The numbers in words, where the format is not enough; by default they are made from it.
    why : str
        What explains that the statement fails, or what builds it in.
    details : str
        What is said after the numbers, such as those that they are made of.
    missing : str
        Why the data cannot decide; empty where they can.
    doubt : str
        Why numbers outside the limits decide nothing, such as a time limit that makes them lower
        bounds: what would fail is unknown then. Empty where they decide.
    bias : int
        1 where the numbers of the paper's own data would be greater than these, −1 where they would
        be less. A verdict that this could not change then stands although something is `missing`.
    data : str
        What these numbers were measured on, where that is not what the others were.
    beside : mapping of str to sequences
        The same under other assumptions, by their names: shown beside the values, never decisive.
        Where a statement does not hold, the reason names those under which it would.
    readings : mapping of str to values
        The numbers under each reading of the paper's words, by the names of `data/readings.csv`,
        in the place of `values`. Each is judged; see the top of this module.
    """

    values: Sequence[float] | Mapping[str, Sequence[float]] = ()
    shown: str = "{:.3g}"
    ours: str = ""
    why: str = ""
    details: str = ""
    missing: str = ""
    doubt: str = ""
    bias: int = 0
    data: str = ""
    beside: Mapping[str, Sequence[float]] = {}
    readings: Mapping[str, Sequence[float] | Mapping[str, Sequence[float]]] = {}


class Verdict(NamedTuple):
    """Our numbers beside a statement, what they decide, and why.

    `stored` is the verdict of a larger run, where one is stored. `readings` has the verdict under
    each reading, such as ``"EASY: holds; first fit: fails"``; empty where the words leave none.
    """

    ours: str
    verdict: str
    why: str = ""
    data: str = ""
    stored: str = ""
    readings: str = ""

    @property
    def best(self) -> str:
        """The verdict of the best evidence: of the larger run, where it decides."""
        return self.stored if self.stored not in ("", "unknown") else self.verdict


def decide(samples: Samples, rule: Rule) -> Verdict:
    """The verdict of a rule on samples: holds, fails, unknown, or by construction.

    Raises
    ------
    ValueError
        Where a statement fails, or is unknown or built in, and nothing says why.
    """
    if samples.readings:
        return _decide_readings(samples, rule)
    named = _named(samples.values)
    shown = {**named, **samples.beside}
    ours = samples.ours or "; ".join(_words(rule, samples.shown, *each) for each in shown.items())
    ours += f"; {samples.details}" if samples.details else ""
    if rule.statistic == "none" or (samples.missing and not samples.bias):
        return Verdict(ours, "unknown", samples.missing or rule.reason, samples.data)
    if not named or any(len(values) == 0 or np.isnan(values).any() for values in named.values()):
        return Verdict(ours, "unknown", samples.why or "no number", samples.data)
    found = {name: _judge(rule, np.asarray(each, float)) for name, each in named.items()}
    verdict = _together(list(found.values()), rule.some)
    if samples.missing and not _is_certain(verdict, rule, named, samples.bias):
        return Verdict(ours, "unknown", samples.missing, samples.data)
    why = samples.why
    if verdict == "fails" and samples.doubt:
        return Verdict(ours, "unknown", samples.doubt, samples.data)
    if verdict == "unknown":
        why = _undecided(rule, {name: named[name] for name in found if found[name] == verdict})
    if verdict != "holds":
        why += "".join(
            f"; with {name} it holds"
            for name, values in samples.beside.items()
            if len(values) and _judge(rule, np.asarray(values, float)) == "holds"
        )
    if verdict == "holds" and rule.statistic == "by construction":
        verdict = "by construction"
    if verdict != "holds" and not why.strip():
        raise ValueError(f"a statement is '{verdict}' ({ours}) and nothing says why")
    return Verdict(ours, verdict, "" if verdict == "holds" else why, samples.data)


def _decide_readings(samples: Samples, rule: Rule) -> Verdict:
    """The verdict on a statement whose words leave several readings open."""
    alone = {
        name: decide(samples._replace(values=values, readings={}, details="", doubt=""), rule)
        for name, values in samples.readings.items()
    }
    ours = "; ".join(f"{name}: {one.ours}" for name, one in alone.items())
    ours += f"; {samples.details}" if samples.details else ""
    each = "; ".join(f"{name}: {one.verdict}" for name, one in alone.items())
    first = next(iter(alone.values()))
    verdicts = {one.verdict for one in alone.values()}
    same_side = len({_side(values, rule) for values in samples.readings.values()}) == 1
    if verdicts == {"fails"} and same_side and samples.doubt:
        return Verdict(ours, "unknown", samples.doubt, samples.data, readings=each)
    if len(verdicts) == 1 and (verdicts != {"fails"} or same_side):
        return Verdict(ours, first.verdict, first.why, samples.data, readings=each)
    if verdicts == {"fails"}:
        why = f"the readings fail on opposite sides of the limits ({rule.words})"
    elif {"holds", "fails"} <= verdicts:
        why = f"the paper's words leave more than one reading open ({each})"
    else:
        named: dict[str, list[str]] = {}
        for name, one in alone.items():
            if one.verdict == "unknown":
                named.setdefault(one.why, []).append(name)
        why = "; ".join(f"{' / '.join(names)}: {reason}" for reason, names in named.items())
    return Verdict(ours, "unknown", why, samples.data, readings=each)


def _side(values: Sequence[float] | Mapping[str, Sequence[float]], rule: Rule) -> int:
    """On which side of the limits numbers lie: 1 above, −1 below; 0 within, or on both sides."""
    sides = set()
    for each in _named(values).values():
        middle = float(np.mean(np.asarray(each, float)))
        if not rule.limits.hold(middle):
            sides.add(1 if middle >= rule.limits.most else -1)
    return sides.pop() if len(sides) == 1 else 0


def _named(values: Sequence[float] | Mapping[str, Sequence[float]]) -> dict[str, Sequence[float]]:
    """Samples by name; those of one quantity have an empty name."""
    if isinstance(values, Mapping):
        return dict(values)
    return {"": values} if len(values) else {}


def _judge(rule: Rule, values: np.ndarray) -> str:
    """What one quantity's numbers decide."""
    limits = rule.limits
    within = np.array([limits.hold(value) for value in values])
    if rule.statistic in ("value", "by construction"):
        return "holds" if within.all() else "fails"
    if rule.statistic == "prediction":
        _, low, high = interval(rule, values)
        if low <= 0 <= high:
            return "unknown"
        if not _meets(limits, low, high):
            return "fails"
        _, low, high = interval(rule._replace(level=LEVEL), values)
        return "holds" if _meets(limits, low, high) else "unknown"
    no_logarithm = rule.statistic == "geometric mean" and values.min() <= 0
    if values.size == 1 or not np.isfinite(values).all() or no_logarithm:
        return "holds" if within.all() else "unknown" if within.any() else "fails"
    _, low, high = interval(rule, values)
    if limits.hold(low) and limits.hold(high):
        return "holds"
    outside = high < limits.least or low > limits.most
    touching = limits.open and (high == limits.least or low == limits.most)
    return "fails" if outside or touching else "unknown"


def _meets(limits: Limits, low: float, high: float) -> bool:
    """Whether an interval and the limits have a number in common."""
    return low <= limits.most and high >= limits.least


def _together(found: list[str], some: bool) -> str:
    """One verdict of several: all must hold, or with `some` one."""
    decisive, other = ("holds", "fails") if some else ("fails", "holds")
    if decisive in found:
        return decisive
    return other if set(found) == {other} else "unknown"


def _is_certain(verdict: str, rule: Rule, named: Mapping[str, Sequence[float]], bias: int) -> bool:
    """Whether numbers farther in the direction of `bias` could not change the verdict."""
    ahead = rule.limits.most if bias > 0 else rule.limits.least
    if verdict == "holds":
        return math.isinf(ahead)
    beyond = [bias * (float(np.median(values)) - ahead) > 0 for values in named.values()]
    return verdict == "fails" and all(beyond)


def interval(rule: Rule, values: Iterable[float]) -> tuple[float, float, float]:
    """The mean of numbers over seeds with the ends of its interval.

    The interval is of the mean, or of one more seed for the statistic ``prediction``.
    """
    if rule.statistic == "prediction":
        found = np.asarray(list(values), float)
        mean, low, high = mean_interval(found, level=rule.level)
        wider = math.sqrt(found.size + 1)
        return mean, mean - wider * (mean - low), mean + wider * (high - mean)
    if rule.statistic != "geometric mean":
        return mean_interval(values, level=rule.level)
    mean, low, high = np.exp(mean_interval(np.log(list(values)), level=rule.level))
    return float(mean), float(low), float(high)


def interval_of_seeds(values: Iterable[float]) -> Interval:
    """The mean of numbers over seeds with its interval, whose ends are NaN for a single seed."""
    mean, *ends = mean_interval(values)
    return Interval(mean, *(end if np.isfinite(end) else np.nan for end in ends))


def _undecided(rule: Rule, named: Mapping[str, Sequence[float]]) -> str:
    """Why numbers do not decide."""
    name, values = next(iter(named.items()))
    of = f" of {name}" if name else ""
    true = sum(map(rule.limits.hold, values))
    if rule.statistic == "prediction":
        _, low, high = interval(rule, values)
        if low <= 0 <= high:
            return f"the interval{of} of one more seed contains 0"
        level = percent(rule.level, 1)
        return f"the printed number{of} lies between the intervals of 95 % and of {level}"
    if not np.isfinite(values).all():
        return f"true{of} with {true} of {len(values)} seeds"
    return f"the interval{of} over {len(values)} seeds contains the limit ({rule.words})"


def _words(rule: Rule, shown: str, name: str, values: Sequence[float]) -> str:
    """A quantity's numbers in words: mean and interval, or mean, least and greatest."""
    found = np.asarray(values, float)
    if not found.size:
        return f"{name} –".strip()
    if np.isnan(found).any():
        return f"{name} {UNKNOWN}".strip()
    averaged = rule.statistic in ("mean", "geometric mean", "prediction")
    positive = rule.statistic != "geometric mean" or found.min() > 0
    if averaged and found.size > 1 and np.isfinite(found).all() and positive:
        middle, low, high = interval(rule, found)
    else:
        middle, low, high = found.mean(), found.min(), found.max()
    text = written(shown, middle)
    ends = [_number(written(shown, end)) for end in (low, high)]
    if ends[0] != ends[1]:
        text += f" ({ends[0]} to {ends[1]}; {found.size} seeds)"
    return f"{name} {text}" if name else text


def written(shown: str, value: float) -> str:
    """A number in its format, times 100 before a %, with a real minus sign."""
    text = shown.format(100 * value if "} %" in shown else value)
    return text.replace("-", "−", 1) if value < 0 else text


def _number(text: str) -> str:
    """The number in a text, without its words."""
    found = re.search(r"[+−]?(?:[\d,.]*\d(?:e[+-]\d+)?|inf)(?: %)?", text)
    return found[0] if found else text


def read_rules(path: Path | None = None) -> pd.DataFrame:
    """Statements of papers with their rules, in order: the columns of `data/claims.csv`.

    Raises
    ------
    ValueError
        Names the line that lacks a value, or whose number, statistic or limits cannot be read.
    """
    path = checkout() / "data" / "claims.csv" if path is None else path
    table = pd.read_csv(path, dtype=str, keep_default_na=False, encoding="utf-8")
    expected = STATED + RULED
    if list(table.columns) != expected:
        raise ValueError(
            f"{path.name}: line 1: columns are {', '.join(table.columns)}; "
            f"expected {', '.join(expected)}"
        )
    for line, row in enumerate(table.itertuples(index=False), start=2):
        where = f"{path.name}: line {line}"
        optional = ("limits",) if row.statistic == "none" else ()
        empty = [n for n in expected if not getattr(row, n).strip() and n not in optional]
        if empty:
            raise ValueError(f"{where}: no {empty[0]}; every column is needed")
        if not row.number.isdecimal():
            raise ValueError(f"{where}: number {row.number!r} is not a number")
        read_rule(row, where)
    twice = table.duplicated(["system", "claim"])
    if twice.any():
        line = int(twice.to_numpy().argmax())
        claim = table["claim"].iloc[line]
        raise ValueError(f"{path.name}: line {line + 2}: claim '{claim}' is there twice; rename it")
    return table.assign(number=table["number"].astype(int))


def read_rule(row: object, where: str = "claims.csv") -> Rule:
    """The rule of a row of `data/claims.csv`."""
    texts = {name: str(getattr(row, name)) for name in RULED}
    found = STATISTIC.fullmatch(texts["statistic"])
    if found is None:
        raise ValueError(
            f"{where}: statistic {texts['statistic']!r}; expected value, by construction, mean, "
            "geometric mean, prediction or none, such as 'any mean, 99 %'"
        )
    level = float(found["level"]) / 100 if found["level"] else LEVEL
    words = texts["limits"]
    limits = read_limits(words, where) if found["name"] != "none" else Limits()
    return Rule(
        found["name"], limits, words, texts["reason"], texts["data"], level, bool(found["some"])
    )


def read_limits(text: str, where: str = "claims.csv") -> Limits:
    """Limits such as "> 0", "≤ 0.1", "= 1", "0.8 to 1.2" (ends included), "14.3 ± 0.05"."""
    found = LIMITS.fullmatch(text)
    try:
        if found is None:
            raise ValueError
        if found["sign"]:
            one = float(found["one"])
            least = one if found["sign"] in ">≥=" else -math.inf
            most = one if found["sign"] in "<≤=" else math.inf
            return Limits(least, most, open=found["sign"] in "<>")
        if found["mid"]:
            middle, off = float(found["mid"]), float(found["off"])
            return Limits(middle - off, middle + off)
        return Limits(float(found["least"]), float(found["most"]))
    except ValueError:
        expected = "such as '> 0', '≤ 0.1', '= 1', '0.8 to 1.2', '14.3 ± 0.05'"
        raise ValueError(f"{where}: limits {text!r}; expected {expected}") from None


class Claims:
    """The statements about one system, to be judged by our samples.

    Parameters
    ----------
    system : str
        As in the first column of `data/claims.csv`, such as ``"1-eviction"``.
    data : str
        What our numbers were measured on, as the scorecard prints it.
    table : pd.DataFrame, optional
        As `read_rules` returns it.
    """

    def __init__(self, system: str, *, data: str, table: pd.DataFrame | None = None) -> None:
        table = read_rules() if table is None else table
        rows = table[table["system"] == system]
        if rows.empty:
            known = ", ".join(table["system"].drop_duplicates())
            raise KeyError(f"no claims about system '{system}'; known are {known}")
        self.system, self.data = system, data
        self._stated = rows.set_index("claim")
        self.rules = {row.claim: read_rule(row) for row in rows.itertuples(index=False)}
        self.verdicts: dict[str, Verdict] = {}

    def judge(self, samples: Mapping[str, Samples]) -> None:
        """Decide every statement that samples are given of, each once."""
        for claim, measured in samples.items():
            if claim not in self.rules:
                known = ", ".join(self.rules)
                raise KeyError(f"{self.system} has no claim '{claim}'; known are {known}")
            if claim in self.verdicts:
                raise ValueError(
                    f"{self.system}: claim '{claim}' was judged already; judge it once"
                )
            try:
                self.verdicts[claim] = decide(measured, self.rules[claim])
            except ValueError as error:
                raise ValueError(f"{self.system}: claim '{claim}': {error}") from error

    def table(self) -> pd.DataFrame:
        """Every statement about the system, in the table's order, with our number and the verdict.

        Returns
        -------
        pd.DataFrame
            `system`, `number`, `claim`, `statement`, `source`, `paper` (its value), `statistic`,
            `limits`, `reason`, `ours`, `data`, `verdict`, `best` (of the best evidence), `why`,
            `readings` (the verdict under each).
        """
        unjudged = Verdict("", "unknown", "not measured in this run")
        found = [self.verdicts.get(claim, unjudged) for claim in self._stated.index]
        table = self._stated.reset_index().rename(columns={"paper_value": "paper"})
        table = table.assign(
            ours=[one.ours for one in found],
            data=[one.data or self.data for one in found],
            verdict=[one.verdict for one in found],
            best=[one.best for one in found],
            why=[one.why for one in found],
            readings=[one.readings for one in found],
        )
        return table[JUDGED]


JUDGED = [
    "system",
    "number",
    "claim",
    "statement",
    "source",
    "paper",
    "statistic",
    "limits",
    "reason",
    "ours",
    "data",
    "verdict",
    "best",
    "why",
    "readings",
]


def of_enough_jobs(
    samples: Mapping[str, Samples], jobs: float, *, least: int = 100
) -> dict[str, Samples]:
    """The samples; none decides anything where jobs are fewer than `least`."""
    if jobs >= least:
        return dict(samples)
    why = f"too few jobs: {jobs:,}, of at least {least}"
    return {claim: one._replace(missing=one.missing or why) for claim, one in samples.items()}


def of_enough_use(
    samples: Mapping[str, Samples], used: float | None, *, least: float = 0.5
) -> dict[str, Samples]:
    """The samples; none decides anything where less of a log's node-hours is used.

    `used` is their share, as `cs.metrics.share_used` gives it; None where nothing is left out.
    """
    if used is None or used >= least:
        return dict(samples)
    part = f"only {percent(used)} of the log's node-hours were used"
    return {
        claim: one._replace(missing=f"{one.missing}; {part}" if one.missing else part)
        for claim, one in samples.items()
    }


def measure(measures: Mapping[str, Callable[..., Samples]], *results: object) -> dict[str, Samples]:
    """The samples of every claim: each function of a paper's measures called on its results."""
    return {claim: one(*results) for claim, one in measures.items()}
