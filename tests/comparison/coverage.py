"""Coverage of intervals on logs whose truth is known: the Lublin-Feitelson model, drawn many times.

``python -m tests.comparison.coverage [logs] [weeks] [replicates]`` prints how often the 95 %
intervals of a comparison cover the model's expected value, and how many single logs lie in them.
100 logs of 10 weeks with 60 replicates each, the default, take four minutes on one core.
"""

import sys
from itertools import product

import numpy as np
import pandas as pd

from cosimlib import synthetic
from cosimlib.comparison import compare
from cosimlib.comparison.contestants import contestants
from cosimlib.comparison.measures import MEASURES, measure_rows
from cosimlib.system import System
from cosimlib.units import WEEK
from cosimlib.workload import Workload

POLICIES = ("EASY", "EASY (sjbf)")
METRICS = ("wait_time", "bounded_slowdown")
MACHINE = System.of(128)
JOBS_PER_WEEK = 900
"""More than the model submits in a week, about 690."""
APART = 1_000_000
"""Seeds from which on logs are for the truth."""


def model_log(seed: int, weeks: int) -> Workload:
    """So many weeks of the model, of jobs without types, with round estimates."""
    log = synthetic.lublin(weeks * JOBS_PER_WEEK, nodes=128, types=False, seed=seed)
    assert log.jobs["submit_time"].iloc[-1] > weeks * WEEK
    log = log.keep(log.jobs["submit_time"] < weeks * WEEK, "later")
    return synthetic.with_estimates(log, seed=seed)


def true_values(logs: int, weeks: int) -> pd.DataFrame:
    """Means of each log drawn from the model (rows), by policy and measure."""
    measures = {name: MEASURES[name] for name in METRICS}
    margin = min(WEEK, weeks * WEEK / 10)
    records = []
    for seed in range(logs):
        log = model_log(APART + seed, weeks)
        limits = margin, weeks * WEEK - margin
        record = {}
        for run in contestants(POLICIES):
            schedule = run.run(log, MACHINE, audited=False)
            for row in measure_rows(schedule, run.label, measures, None, limits):
                record[run.label, row["measure"]] = row["mean"]
        records.append(record)
    return pd.DataFrame(records)


def intervals(logs: int, weeks: int, replicates: int) -> pd.DataFrame:
    """Rows of means of comparisons, one comparison per log."""
    tables = []
    for seed in range(logs):
        comparison = compare(
            model_log(seed, weeks), POLICIES, replicates=replicates, measures=METRICS, seed=seed
        )
        table = comparison.table
        tables.append(table[table["statistic"] == "mean"].assign(seed=seed))
    return pd.concat(tables, ignore_index=True)


def coverage(truth: pd.DataFrame, found: pd.DataFrame) -> pd.DataFrame:
    """Part of the intervals that cover the expected value, and of single logs that lie in them.

    Returns
    -------
    pd.DataFrame
        Indexed by quantity, policy and measure: `expected` value, `covered`, `single`, and `width`,
        the mean width of an interval ÷ that from the 2.5th to the 97.5th percentile of the truth.
    """
    rows = {}
    for (quantity, policy), measure in product(
        [("value", "EASY"), ("value", "EASY (sjbf)"), ("difference", "EASY (sjbf)"),
         ("ratio", "EASY (sjbf)")], METRICS,
    ):  # fmt: skip
        one, other = truth[policy, measure], truth["EASY", measure]
        single = {"value": one, "difference": one - other, "ratio": one / other}[quantity]
        chosen = found[(found["quantity"] == quantity) & (found["policy"] == policy)]
        chosen = chosen[chosen["measure"] == measure]
        low, high = chosen["low"].to_numpy(), chosen["high"].to_numpy()
        # A ratio's expected value is that of long logs: the ratio of the expected values.
        expected = one.mean() / other.mean() if quantity == "ratio" else single.mean()
        inside = (low[:, None] <= single.to_numpy()) & (single.to_numpy() <= high[:, None])
        true_width = np.ptp(np.quantile(single, [0.025, 0.975]))
        rows[quantity, policy, measure] = {
            "expected": expected,
            "covered": ((low <= expected) & (expected <= high)).mean(),
            "single": inside.mean(),
            "width": (high - low).mean() / true_width,
        }
    return pd.DataFrame(rows).T


if __name__ == "__main__":
    number, weeks, replicates = (*map(int, sys.argv[1:]), *(100, 10, 60)[len(sys.argv) - 1 :])
    table = coverage(true_values(300, weeks), intervals(number, weeks, replicates))
    print(table.round(3).to_string())
