"""Start times against the schedules that other simulators made of real traces, job by job."""

import numpy as np
import pytest

from tests import agreement

EXACT = {
    "fcfs_pyss": "FCFS",
    "easy_per_instant": "EASY",
    "easy_per_event": "EASY (per event)",
    "easy_per_event_cqsim": "EASY (per event)",
    "conservative_kept": "conservative",
    "conservative_replanned": "conservative (replanned)",
}
"""Columns whose semantics is ours: every job starts at the same second."""

NEAR = {
    "kth": {
        "easy_pyss": ("EASY", 98.3),
        "conservative_kept_pyss": ("conservative", 97.5),
        "conservative_replanned_cqsim": ("conservative (replanned)", 97.7),
    },
    "sdsc5k": {
        "easy_pyss": ("EASY", 99.9),
        "conservative_kept_pyss": ("conservative", 100.0),
        "conservative_replanned_cqsim": ("conservative (replanned)", 100.0),
    },
    "lublin10k": {
        "easy_pyss": ("EASY", 100.0),
        "conservative_kept_pyss": ("conservative", 100.0),
    },
}
"""Columns of another semantics: measured shares of equal starts, in percent."""


@pytest.fixture(scope="module")
def compared():
    """A function from an oracle's path to its table, our schedules and the shares, made once."""
    known = {}

    def compare(path):
        if path.name not in known:
            table, schedules = agreement.simulated(path)
            known[path.name] = table, schedules, agreement.shares(table, schedules)
        return known[path.name]

    return compare


@pytest.mark.oracles
@pytest.mark.parametrize("trace", agreement.MACHINES)
@pytest.mark.parametrize("column", EXACT)
def test_starts_agree_job_by_job(oracle_path, compared, trace, column):
    table, schedules, _ = compared(oracle_path(f"{trace}.csv.gz"))
    if column not in table:
        assert trace == "lublin10k", f"{trace} has lost its column {column}"
        pytest.skip(f"no reference for {column} of {trace}")
    schedule = schedules[EXACT[column]]
    differ = np.flatnonzero(schedule.start_time != table[column].to_numpy())
    assert differ.size == 0, f"{differ.size} of {len(table)} differ, first job {differ[:1]}"


@pytest.mark.oracles
@pytest.mark.parametrize("trace", NEAR)
def test_other_semantics_agree_as_far_as_measured(oracle_path, compared, trace):
    result = compared(oracle_path(f"{trace}.csv.gz"))[2]
    for column, (policy, share) in NEAR[trace].items():
        assert round(result.loc[column, policy], 1) == share, column


@pytest.mark.oracles
def test_the_page_shows_what_a_run_measures(oracle_path, compared):
    paths = {trace: oracle_path(f"{trace}.csv.gz") for trace in agreement.MACHINES}
    table = agreement.markdown({trace: compared(path)[2] for trace, path in paths.items()})
    page = agreement.PAGE.read_text(encoding="utf-8")
    assert agreement.with_table(page, table) == page, "run: python -m tests.agreement"
