"""Intervals over logs drawn anew: values of policies, paired differences and ratios, sentences.

Percentiles alone are too low: weeks drawn independently lose the long queues that several bad weeks
in a row leave behind, and a log with few, quiet weeks does not show how bad weeks can be. So values
above their mean are moved away from it (`widen`) before percentiles are taken, the more the fewer
weeks there are. An interval is extended to the log's own value where that lies outside. Logs of
less than six whole weeks have no intervals. docs/intervals.md has the experiment.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd

from cosimlib import checks as check
from cosimlib.display import UNKNOWN, Displayed, Facts, count, durations, percent
from cosimlib.metrics import (
    bounded_slowdown,
    loss_of_capacity,
    turnaround_time,
    utilization,
    wait_time,
)
from cosimlib.schedule import Schedule

Measure = Callable[..., Any]

MEASURES: dict[str, Measure] = {
    "wait_time": wait_time,
    "turnaround_time": turnaround_time,
    "bounded_slowdown": bounded_slowdown,
    "utilization": utilization,
    "loss_of_capacity": loss_of_capacity,
}
"""Metrics per job, and of the machine; all take the window as `start` and `end`."""

SECONDS = ("wait_time", "turnaround_time")
QUANTILES = {"p50": 0.5, "p90": 0.9, "p99": 0.99}
STATISTICS = ("mean", *QUANTILES)
WHOLE = "value"
"""The statistic of a measure that is one number per schedule."""
ALL = "all jobs"

LEVEL = 0.95
"""Level that intervals have at least, if there are logs enough."""

WIDENING = 2.7
"""Draws above their mean are ``1 + WIDENING / √weeks`` times as far above it."""

FEWEST_WEEKS, FEW_WEEKS = 6, 12
"""Whole weeks of a log below which there are no intervals, and below which each ratio says how
often such intervals miss."""

RATIOS_MISS = "may miss up to 1 in 8"
MISSES = (
    "in tests, 1 in 4 missed where single users carry the load, and the truth was usually higher; "
    "of ratios up to 1 in 8"
)
"""What 95 % intervals did on logs of 7 and of 12 weeks (docs/intervals.md)."""

WIDE = 10.0
"""High ÷ low of an interval above which the log does not determine the value."""

KEYS = ["policy", "measure", "group", "statistic"]
COLUMNS = [
    "policy",
    "against",
    "measure",
    "group",
    "statistic",
    "quantity",
    "log",
    "median",
    "low",
    "high",
    "verdict",
]
TOLD = ["log", "low", "high"]
NUMBERS = [*TOLD, "median"]
LOWER, HIGHER, EQUAL, CANNOT_TELL = "lower", "higher", "equal", "cannot tell"


@dataclass(frozen=True, eq=False, repr=False)
class Comparison(Displayed):
    """Comparison of policies on one log, with intervals over logs drawn anew from it.

    Parameters
    ----------
    name : str
        Name of the log.
    policies : tuple of str
    table : pd.DataFrame
        One row per policy or pair of policies, measure, group of jobs, statistic and quantity.
        `quantity` is ``"value"`` of a policy, ``"difference"`` (`policy` − `against`) or
        ``"ratio"`` (`policy` ÷ `against`). `log` is the value of the log itself; `median`, `low`
        and `high` are over the logs drawn anew, widened for few weeks; no interval excludes `log`.
        `verdict` judges the difference: ``"lower"``, ``"higher"``, ``"equal"``, ``"cannot tell"``
        if its interval contains 0, or ``"unknown"``. The interval of the difference contains 0
        exactly if that of the ratio contains 1.
        Waits and turnaround times are in seconds. Numbers that are unknown are missing. A ratio is
        unknown if a value that it would divide by is negative.
    drawn : pd.DataFrame
        Values of each log drawn anew (rows, by seed), by policy, measure, group and statistic.
    logs : str
        How the logs were drawn.
    left_out : str
        Warm-up and cool-down in words.
    weeks : float, default infinite
        Whole weeks of the log. Below 6 there are no intervals: `low` and `high` are missing, and
        verdicts are ``"unknown"``.
    """

    name: str
    policies: tuple[str, ...]
    table: pd.DataFrame
    drawn: pd.DataFrame = field(repr=False)
    logs: str
    left_out: str
    weeks: float = np.inf

    @property
    def has_intervals(self) -> bool:
        """Whether the log has the weeks that intervals need."""
        return self.weeks >= FEWEST_WEEKS

    @property
    def level(self) -> float:
        """Level of the intervals."""
        return interval_level(len(self.drawn))

    @property
    def note(self) -> str:
        """Text on how many logs were drawn and how, what intervals mean, and what is left out."""
        if not self.has_intervals:
            return f"{_no_interval(self.weeks)}. {self.left_out}"
        misses = f"; {MISSES}" if self.level == LEVEL else ""
        return (
            f"{percent(self.level)} intervals over {count(len(self.drawn), 'log')} drawn anew: "
            f"{self.logs}{misses}. {self._undetermined()}{self.left_out}"
        )

    def _undetermined(self) -> str:
        """Text on the means that the log does not determine, by measure; "" if there is none."""
        values = self._means()
        is_mean = (values["quantity"] == "value") & (values["statistic"] == "mean")
        wide = values[is_mean & (values["high"] > WIDE * values["low"])]
        return "".join(
            f"The log does not determine the mean {measure.replace('_', ' ')} of "
            f"{', '.join(rows['policy'])}; compare by ratio. "
            for measure, rows in wide.groupby("measure", sort=False)
        )

    def rows(
        self,
        quantity: str,
        *,
        measure: str | None = None,
        statistic: str | None = None,
        group: str = ALL,
    ) -> pd.DataFrame:
        """Rows of the table: values, differences or ratios of a group, of some or all measures."""
        table = self.table
        chosen = (table["quantity"] == quantity) & (table["group"] == group)
        for column, wanted in (("measure", measure), ("statistic", statistic)):
            if wanted is not None:
                chosen &= table[column] == wanted
        return table[chosen].reset_index(drop=True)

    def sentences(self, *, against: str | None = None) -> list[str]:
        """One sentence per pair of policies and measure: which is lower, or that it is unknown.

        The sentences are on means over all jobs, and measures with one number per schedule. All
        pairs are used, or only those whose second policy is `against`.
        """
        check.that(
            "against",
            against,
            against in self.policies,
            f"one of {', '.join(map(repr, self.policies))}",
            none="for all",
        )
        pairs = self._means()
        if against is not None:
            pairs = pairs[pairs["against"] == against]
        differences = pairs[pairs["quantity"] == "difference"].to_dict("records")
        ratios = pairs[pairs["quantity"] == "ratio"].to_dict("records")
        return [
            _sentence(difference, ratio, self.level, self.weeks)
            for difference, ratio in zip(differences, ratios, strict=True)
        ]

    def brief(self) -> pd.DataFrame:
        """Means as text, "2.0 h (1.6 h to 2.4 h)": one row per policy, one column per measure.

        Without intervals it is the mean alone.
        """
        means = self._means()
        values = means[means["quantity"] == "value"]
        texts = []
        for row in values.to_dict("records"):
            on_log, low, high = in_unit(row, row["measure"])
            interval = f" ({UNKNOWN if low == UNKNOWN else f'{low} to {high}'})"
            texts.append(on_log + (interval if self.has_intervals else ""))
        table = values.assign(text=texts).pivot_table("text", "policy", "measure", "first")
        return table.loc[[*self.policies], [*values["measure"].unique()]].rename_axis(columns=None)

    def _means(self) -> pd.DataFrame:
        """Rows of means over all jobs, or of measures that have none."""
        of_both = self.table["statistic"].isin(["mean", WHOLE])
        return self.table[of_both & (self.table["group"] == ALL)]

    def _heading(self) -> str:
        return f"{self.name}: {', '.join(self.policies)}"

    def _facts(self) -> Facts:
        brief = self.brief()
        values = {
            f"{policy}, {measure}": text
            for measure in brief
            for policy, text in brief[measure].items()
        }
        pairs = {f"pair {number}": text for number, text in enumerate(self.sentences(), start=1)}
        texts = values | pairs | {"note": self.note}
        return {name: partial(str, text) for name, text in texts.items()}


def interval_level(logs: int) -> float:
    """The level that an interval over so many logs has at least: 95 %, or less of fewer than 39."""
    return min(LEVEL, (logs - 1) / (logs + 1))


def interval_ends(values: np.ndarray) -> tuple[float, float]:
    """The ends of a 95 % interval: order statistics, the i-th least and the i-th largest value.

    With n values, i is the largest whole number with ``i / (n + 1) <= 2.5 %``, or 1. Nothing is
    interpolated: so the interval of differences contains 0 exactly if that of ratios contains 1.
    """
    ordered = np.sort(values)
    rank = max(1, int((1 - LEVEL) / 2 * (ordered.size + 1)))
    return float(ordered[rank - 1]), float(ordered[-rank])


def in_unit(row: Mapping[Any, Any], measure: str) -> list[str]:
    """A measure on the log, and its interval's ends, in one unit; "unknown" if there is none."""
    numbers = [np.nan if row[name] is None else row[name] for name in TOLD]
    if measure in SECONDS:
        return durations(*numbers)
    return [_written(number) for number in numbers]


def ratio_text(ratio: float) -> str:
    """A ratio in three digits, or in more where it would read 1 and is not."""
    texts = (f"{ratio:,.{digits}g}" for digits in range(3, 18))
    return next(text for text in texts if ratio == 1 or text != "1")


def _written(number: float) -> str:
    """A number without a unit in three digits, or more before the point."""
    if not np.isfinite(number):
        return UNKNOWN
    return f"{number:,.3g}" if abs(number) < 1000 else f"{number:,.0f}"


def long_table(rows: pd.DataFrame, statistics: Sequence[str]) -> pd.DataFrame:
    """Rows of measures with one column per statistic as one row per value."""
    found = [name for name in statistics if name in rows]
    kept = [name for name in ("seed", *KEYS) if name in rows]
    return rows.melt(kept, found, var_name="statistic", value_name="number")


def interval_table(
    own: pd.Series, drawn: pd.DataFrame, policies: Sequence[str], weeks: float = np.inf
) -> pd.DataFrame:
    """Values of each policy and of each pair, on the log and over logs drawn anew.

    Parameters
    ----------
    own : pd.Series
        Of the log, by policy, measure, group and statistic.
    drawn : pd.DataFrame
        The same of each log drawn anew, one row each, with columns like the index of `own`.
    policies : sequence of str
        In order; each later one is compared with each earlier one.
    weeks : float, default infinite
        Whole weeks of the log from which logs were drawn, see `widen`. Below 6 there are no
        intervals.
    """
    wide = widen(drawn, weeks) if weeks >= FEWEST_WEEKS else drawn
    parts = []
    for policy in policies:
        interval = _interval(own[policy], wide[policy])
        parts.append(interval.assign(policy=policy, against="", quantity="value", verdict=""))
    for against, policy in combinations(policies, 2):
        one, other = wide[policy], wide[against]
        # What is equal on a log stays equal.
        one = one.mask(drawn[policy] == drawn[against], other)
        difference = _interval(own[policy] - own[against], one - other)
        is_negative = (own[against] < 0) | (other < 0).any()
        ratio = _interval(_ratio(own[policy], own[against]), _ratio(one, other))
        ratio.loc[is_negative[own[against].index].to_numpy(), NUMBERS] = np.nan
        verdict = _verdicts(difference)
        for quantity, table in (("difference", difference), ("ratio", ratio)):
            parts.append(
                table.assign(policy=policy, against=against, quantity=quantity, verdict=verdict)
            )
    table = pd.concat(parts)[COLUMNS].reset_index(drop=True)
    if weeks < FEWEST_WEEKS:
        table[["low", "high"]] = np.nan
        table["verdict"] = table["verdict"].where(table["quantity"] == "value", UNKNOWN)
    return table


def widen(drawn: pd.DataFrame, weeks: float) -> pd.DataFrame:
    """Draws of statistics of jobs, those above their mean ``1 + WIDENING / √weeks`` times as far.

    Distances are on a log scale, from the geometric mean; where a draw is 0 or less they are plain.
    All policies are widened alike, so that ratios and differences of the draws agree in sign. What
    is one number per schedule, such as a utilization, stays as it is.
    """
    factor = 1.0 + WIDENING / np.sqrt(weeks)
    whole = drawn.columns.get_level_values("statistic") == WHOLE
    positive = (drawn > 0).where(drawn.notna(), True).all() & ~whole
    logs = np.log(drawn.loc[:, positive])
    wide = drawn.copy()
    wide.loc[:, positive] = np.exp(_stretched(logs, factor)).where(logs > logs.mean(), drawn)
    others = ~positive & ~whole
    wide.loc[:, others] = _stretched(drawn.loc[:, others], factor)
    return wide


def _stretched(values: pd.DataFrame, factor: float) -> pd.DataFrame:
    """Values above the mean of their column, `factor` times as far from it; the others as is."""
    mean = values.mean()
    return values.where(~(values > mean), mean + factor * (values - mean))


def _interval(own: pd.Series, drawn: pd.DataFrame) -> pd.DataFrame:
    """`log`, `median`, `low` and `high`, one row per column of `drawn`.

    The interval includes the log's own value. Missing where fewer than half of the logs drawn have
    the value, or an end is infinite.
    """
    drawn = drawn[own.index]
    low, median, high = np.full((3, len(own)), np.nan)
    values = drawn.to_numpy(dtype=np.float64)
    for column in range(len(own)):
        known = values[~np.isnan(values[:, column]), column]
        if known.size and 2 * known.size >= len(values):
            low[column], high[column] = interval_ends(known)
            median[column] = np.median(known)
    log = own.to_numpy(dtype=np.float64)
    low, high = np.minimum(low, log), np.maximum(high, log)
    table = own.rename("log").to_frame()
    table = table.assign(median=median, low=low, high=high).reset_index()
    return table.replace([np.inf, -np.inf], np.nan)


def _ratio(one: Any, other: Any) -> Any:
    """One ÷ the other; 1 if both are 0."""
    return (one / other).mask((one == 0) & (other == 0), 1.0)


def _verdicts(difference: pd.DataFrame) -> list[str]:
    """What the interval of each difference says."""
    low, high = difference["low"], difference["high"]
    verdicts = np.select(
        [low.isna() | high.isna(), low > 0, high < 0, (low == 0) & (high == 0)],
        [UNKNOWN, HIGHER, LOWER, EQUAL],
        CANNOT_TELL,
    )
    return verdicts.tolist()


def _no_interval(weeks: float) -> str:
    """Why there is no interval."""
    return f"no interval: it needs {FEWEST_WEEKS} whole weeks, and the log has {int(weeks)}"


def _sentence(difference: dict, ratio: dict, level: float, weeks: float) -> str:
    """A pair in one sentence, by its ratio where it has one."""
    policy, against, measure = (difference[name] for name in ("policy", "against", "measure"))
    quantity = (
        measure if difference["statistic"] == "value" else f"{difference['statistic']} {measure}"
    )
    sign = "÷"
    numbers = [ratio_text(ratio[name]) for name in TOLD]
    ends = TOLD if weeks >= FEWEST_WEEKS else ["log"]
    if not np.isfinite([ratio[name] for name in ends]).all():
        sign = "−"
        numbers = in_unit(difference, measure)
    on_log, low, high = numbers
    if weeks < FEWEST_WEEKS:
        return f"{quantity}, {policy} {sign} {against}: {on_log}; {_no_interval(weeks)}"
    if difference["verdict"] == UNKNOWN:
        return f"{quantity}, {policy} and {against}: unknown, too few of the logs have such jobs"
    if difference["verdict"] == EQUAL:
        return f"{quantity}, {policy} and {against}: equal in {percent(level)} of logs"
    verdict = difference["verdict"]
    ending = "this log cannot tell" if verdict == CANNOT_TELL else f"{policy} is {verdict}"
    misses = f" ({RATIOS_MISS})" if weeks < FEW_WEEKS and level == LEVEL and sign == "÷" else ""
    interval = f"{percent(level)} interval {low} to {high}{misses}"
    return f"{quantity}, {policy} {sign} {against}: {on_log}, {interval}: {ending}"


def chosen_measures(measures: Iterable[str] | Mapping[str, Measure]) -> dict[str, Measure]:
    """Measures by name: names in `MEASURES`, or a mapping with your own functions."""
    plural = f"names of measures, {', '.join(MEASURES)}, or functions by name"
    fine = isinstance(measures, Iterable) and not isinstance(measures, str)
    check.that("measures", measures, fine, plural)
    if isinstance(measures, Mapping):
        found = dict(measures)
    else:
        for name in (names := list(measures)):
            check.choice("measure", name, MEASURES)
        found = {name: MEASURES[name] for name in names}
    check.that("measures", measures, bool(found), "at least one")
    for name, measure in found.items():
        check.that(
            f"measures[{name!r}]",
            measure,
            callable(measure),
            "a function of a schedule, start and end",
        )
    return found


def measure_rows(
    schedule: Schedule,
    label: str,
    measures: Mapping[str, Measure],
    groups: pd.Series | None,
    limits: tuple[float, float],
) -> list[dict[str, Any]]:
    """One row per measure and group: `policy`, `measure`, `group` and the statistics.

    Parameters
    ----------
    schedule : Schedule
    label : str
        The policy's name.
    measures : mapping of str to function
    groups : pd.Series, optional
        The group of each job, a categorical; all jobs are a group in any case.
    limits : tuple of float
        The window in seconds; all statistics are missing where it has no length.
    """
    rows = []
    start, end = limits
    for name, measure in measures.items():
        result: Any = measure(schedule, start=start, end=end) if start < end else np.nan
        row = {"policy": label, "measure": name, "group": ALL}
        if check.is_number(result):
            rows.append({**row, WHOLE: float(result)})
            continue
        check.instance(
            f"the result of {name!r}",
            result,
            pd.Series,
            expected="a number, or a Series of one number per job",
        )
        values = result.to_numpy(dtype=np.float64)
        _check_known(values, name, schedule, label)
        rows.append({**row, **_statistics(values)})
        if groups is not None:
            code = groups.cat.codes.to_numpy()[result.index.to_numpy()]
            rows += [
                {**row, "group": str(group), **_statistics(values[code == number])}
                for number, group in enumerate(groups.cat.categories)
            ]
    return rows


def _check_known(values: np.ndarray, name: str, schedule: Schedule, label: str) -> None:
    unknown = int((~np.isfinite(values)).sum())
    if unknown:
        raise ValueError(
            f"{label}, {schedule.workload.name}: {name} of {unknown} jobs is no number; expected "
            "one per job: does the policy start all jobs?"
        )


def _statistics(values: np.ndarray) -> dict[str, float | None]:
    """Mean and quantiles; none of no values."""
    if not values.size:
        return dict.fromkeys(STATISTICS)
    quantiles = np.quantile(values, list(QUANTILES.values())).tolist()
    return {"mean": float(values.mean()), **dict(zip(QUANTILES, quantiles, strict=True))}
