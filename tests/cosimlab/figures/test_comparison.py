"""The figure of a comparison draws the table's numbers."""

import numpy as np
import pandas as pd
import plotly.graph_objects as go
import pytest

from cosimlab.comparison import compare
from cosimlab.figures import plot_comparison
from cosimlab.palette import color
from cosimlib import synthetic
from cosimlib.units import DAY, HOUR
from cosimlib.workload import Workload

POLICIES = ["EASY", "FCFS", "conservative"]


def model(jobs: int) -> Workload:
    """Of 5,000 jobs, seven weeks."""
    return synthetic.with_estimates(synthetic.lublin(jobs, nodes=32, types=False, seed=1), seed=1)


@pytest.fixture(scope="module")
def comparison():
    log = model(5_000)
    return compare(log, POLICIES, replicates=6, by="size", measures=["wait_time", "utilization"])


def drawn(picture: go.Figure, policy: str) -> list[pd.DataFrame]:
    """Symbols, ends of intervals and marks of a policy's traces, in order."""
    return [
        pd.DataFrame(
            {
                "log": trace.x,
                "low": np.array(trace.x) - trace.error_x.arrayminus,
                "high": np.array(trace.x) + trace.error_x.array,
                "open": [symbol.endswith("-open") for symbol in trace.marker.symbol],
                "group": trace.text,
            }
        )
        for trace in picture.data
        if trace.name == policy and len(trace.x)
    ]


def test_values_and_ratios_are_those_of_the_table(comparison):
    picture = plot_comparison(comparison, title="title")
    table = comparison.table[comparison.table["statistic"].isin(["mean", "value"])]
    for policy in POLICIES:
        expected = []
        for measure, unit in (("wait_time", HOUR), ("utilization", 1.0)):
            rows = table[(table["measure"] == measure) & (table["policy"] == policy)]
            values = rows[rows["quantity"] == "value"]
            expected.append(values[["log", "low", "high"]] / unit)
            both = table[(table["quantity"] == "ratio") & (table["measure"] == measure)]
            ratios = both[(both["policy"] == policy) & (both["against"] == POLICIES[0])]
            if len(ratios):
                expected.append(ratios[["log", "low", "high"]])
        found = drawn(picture, policy)
        assert len(found) == len(expected)
        for one, other in zip(found, expected, strict=True):
            np.testing.assert_allclose(one[["log", "low", "high"]], other, atol=3e-5)


def test_open_symbols_are_what_the_log_cannot_tell(comparison):
    picture = plot_comparison(comparison, title="title")
    table = comparison.table
    for policy in POLICIES[1:]:
        pairs = table[(table["policy"] == policy) & (table["against"] == "EASY")]
        pairs = pairs[(pairs["quantity"] == "ratio") & (pairs["statistic"] == "mean")]
        ratios = drawn(picture, policy)[1]
        assert ratios["open"].tolist() == (pairs["verdict"] == "cannot tell").tolist()
    names = [trace.name for trace in picture.data]
    assert ("open: this log cannot tell" in names) == (table["verdict"] == "cannot tell").any()


def test_panels_have_headings_ticks_and_the_policies_colors(comparison):
    picture = plot_comparison(comparison, title="title", statistic="p90")
    headings = [note.text for note in picture.layout.annotations]
    assert headings == ["p90 wait time (hours)", "÷ that of EASY", "utilization", "÷ that of EASY"]
    assert picture.layout.yaxis.ticktext[0] == "all jobs"
    assert list(picture.layout.yaxis3.ticktext) == POLICIES
    assert {trace.marker.color for trace in picture.data if trace.name == "FCFS"} == {color("FCFS")}


def test_one_policy_has_no_ratios_and_nothing_is_said_in_words(comparison):
    alone = compare(model(400), ["FCFS"], replicates=3, warm_up=DAY / 4, cool_down=0)
    assert len(plot_comparison(alone, title="title").data) == 2
    comparison = compare(model(5_000), ["EASY", "FCFS"], replicates=3)
    nothing = comparison.table.assign(low=np.nan, high=np.nan, verdict="unknown")
    object.__setattr__(comparison, "table", nothing)
    assert (
        "Nothing to draw" in plot_comparison(comparison, title="title").layout.annotations[0].text
    )


def test_a_short_log_has_values_without_intervals():
    told = compare(model(400), ["EASY", "FCFS"], replicates=2, measures=["wait_time"])
    picture = plot_comparison(told, title="title")
    headings = [note.text for note in picture.layout.annotations]
    assert headings == ["mean wait time (hours), no interval", "÷ that of EASY, no interval"]
    (value, ratio) = drawn(picture, "FCFS")
    for found, quantity, unit in ((value, "value", HOUR), (ratio, "ratio", 1.0)):
        rows = told.rows(quantity, statistic="mean")
        expected = rows[rows["policy"] == "FCFS"]["log"] / unit
        assert found["log"].tolist() == found["low"].tolist() == found["high"].tolist()
        assert found["log"].tolist() == pytest.approx(expected.tolist(), abs=3e-5)


def test_names_that_are_not_there_are_refused(comparison):
    with pytest.raises(ValueError, match="statistic='p95'; expected one of 'mean', 'p50'"):
        plot_comparison(comparison, title="title", statistic="p95")
