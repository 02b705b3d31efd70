"""Missing requested times: filled by each rule, counted, never below the run time."""

import numpy as np
import pandas as pd
import pytest

from cosimlib import traces
from cosimlib.batch import simulate_easy
from cosimlib.synthetic import with_missing_estimates
from cosimlib.workload import InvalidWorkloadError, Workload
from tests import zoo


def log(requested, run_time=10.0, **columns):
    """Jobs of given requested times, NaN where unknown."""
    table = {"submit_time": 0.0, "run_time": run_time, "requested_time": requested, "nodes": 1}
    return Workload(pd.DataFrame(table | columns), "L")


def requests(workload, how):
    return with_missing_estimates(workload, how).jobs["requested_time"].tolist()


def entries(workload, how):
    return with_missing_estimates(workload, how).account.to_numpy().tolist()


UNKNOWN = "requested time unknown, set to "


def test_the_run_time_is_asked_for_and_at_least_a_second():
    workload = log([np.nan, 50, np.nan], run_time=[7.5, 60, 0])
    assert requests(workload, "run_time") == [7.5, 50, 1]
    assert entries(workload, "run_time") == [["mended", UNKNOWN + "the run time", 2]]
    assert workload.jobs["requested_time"].isna().sum() == 2


def test_users_ask_for_their_median_and_strangers_for_that_of_all():
    asked = [20, 40, 60, 100, np.nan, np.nan, np.nan, np.nan]
    user = ["a", "a", "b", "b", "a", "b", "c", None]
    workload = log(asked, user=user, run_time=[1, 1, 1, 1, 1, 90, 1, 55])
    assert requests(workload, "user_median") == [20, 40, 60, 100, 30, 90, 50, 55]
    assert entries(workload, "user_median") == [
        ["mended", UNKNOWN + "the user's median, or the run time if longer", 2],
        ["mended", UNKNOWN + "the median of all, or the run time if longer", 2],
    ]


def test_a_log_without_users_has_the_median_of_all():
    assert requests(log([30, 50, np.nan]), "user_median") == [30, 50, 40]


def test_a_constant_is_lengthened_to_the_run_time():
    workload = log([np.nan, 50, np.nan], run_time=[10, 10, 200])
    assert requests(workload, 60) == [60, 50, 200]
    assert entries(workload, 60) == [["mended", UNKNOWN + "60 s, or the run time if longer", 2]]


@pytest.mark.parametrize("how", ["run_time", "user_median", 5.0])
def test_nothing_is_done_where_nothing_is_missing(how):
    whole = log([30, 50, 20])
    assert with_missing_estimates(whole, how) is whole
    nothing = log([])
    assert with_missing_estimates(nothing, how) is nothing


def test_without_any_request_there_is_no_median():
    message = "L: no job has a requested_time, .* fill them in with how='run_time' or seconds"
    with pytest.raises(InvalidWorkloadError, match=message):
        with_missing_estimates(log([np.nan, np.nan]), "user_median")


@pytest.mark.parametrize("how", ["median", "", 0, -1, np.inf, np.nan, True, None])
def test_an_unknown_rule_is_refused(how):
    message = "how=.*; expected 'run_time', 'user_median', or seconds above 0"
    with pytest.raises(ValueError, match=message):
        with_missing_estimates(log([30, 50, 20]), how)


@pytest.mark.parametrize("name", ["six-requested-times-missing", "no-requested-times", "no-users"])
def test_the_error_names_the_repair_and_the_repair_removes_the_error(name):
    workload = traces.load(zoo.ZOO / f"{name}.swf.gz", verbose=False)
    if name != "no-users":
        with pytest.raises(InvalidWorkloadError, match=r"synthetic\.with_missing_estimates"):
            simulate_easy(workload, workload.machine)
    repaired = with_missing_estimates(workload, "run_time")
    assert len(simulate_easy(repaired, workload.machine).workload) == zoo.JOBS
