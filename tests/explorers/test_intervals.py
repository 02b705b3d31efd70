"""The button of the batch explorer: what it compares, what it shows, when the table goes."""

import re

import numpy as np
import pytest

from cosimlib import policies, synthetic
from cosimlib.comparison import compare
from cosimlib.explorers import explore_batch
from cosimlib.explorers.batch import OFFERED, REPLICATES
from cosimlib.schedule import Schedule


@pytest.fixture
def panel():
    return explore_batch(jobs=300, load=0.8, policy="EASY", order="wfp", seed=2)


def words(table) -> str:
    return re.sub(r"<[^>]*>|&#x27;", " ", table.value).replace("&amp;", "&")


def test_the_table_is_that_of_compare_on_the_jobs_shown(panel):
    beneath = panel.children[-1]
    assert beneath.table.value == ""
    beneath.button.click()
    jobs = synthetic.with_scaled_estimates(synthetic.lublin(300, nodes=64, load=0.8, seed=2), 1.0)
    asked = {"EASY (wfp)": ("EASY", {"order": "wfp"}), **{name: name for name in OFFERED}}
    expected = compare(jobs, asked, replicates=REPLICATES, seed=2)
    shown = words(beneath.table)
    for text in (*expected.brief().to_numpy().ravel(), *expected.sentences(against="EASY (wfp)")):
        assert text in shown
    assert expected.note in shown and "nan" not in shown
    assert not beneath.button.disabled


def test_it_goes_when_a_control_moves_and_nothing_is_compared_before_a_click(panel):
    beneath = panel.children[-1]
    beneath.button.click()
    assert "÷ EASY (wfp)" in words(beneath.table)
    panel.choose(load=0.6)
    assert beneath.table.value == ""


def test_logs_that_cannot_be_compared_and_policies_that_break_rules_are_told_in_words():
    few = synthetic.with_scaled_estimates(synthetic.lublin(6, nodes=32, seed=1), 1.0)
    beneath = explore_batch(few).children[-1]
    beneath.button.click()
    assert "needs at least" in beneath.table.value and not beneath.button.disabled

    def never(workload, system):
        return Schedule.from_starts(workload, system, np.full(len(workload), np.nan), "never")

    policies.register("never", never)
    try:
        beneath = explore_batch(jobs=200, policy="never").children[-1]
        beneath.button.click()
    finally:
        policies.unregister("never")
    assert "never" in beneath.table.value and "Traceback" not in beneath.table.value
    assert not beneath.button.disabled
