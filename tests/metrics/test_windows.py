"""Windows of time: warm-up and cool-down."""

import math

import pytest

from cosimlib import metrics
from tests.metrics.conftest import no_jobs


def test_warm_up_and_cool_down_make_a_window(schedule):
    assert metrics.window(schedule) == {"start": 10}
    assert metrics.window(schedule, warm_up=5) == {"start": 15}
    assert metrics.window(schedule, warm_up=5, cool_down=0) == {"start": 15, "end": 30}
    assert metrics.window(schedule, cool_down=8) == {"start": 10, "end": 22}
    inside = metrics.window(schedule, warm_up=5, cool_down=3)
    assert metrics.utilization(schedule, **inside) == (5 * 3 + 7 * 2) / (4 * 12)
    assert metrics.wait_time(schedule, **metrics.window(schedule, warm_up=2)).tolist() == [8, 0]


@pytest.mark.parametrize(
    ("lengths", "message"),
    [
        ({"warm_up": -1}, "warm_up=-1; expected seconds from 0"),
        ({"cool_down": math.inf}, "cool_down=inf; expected seconds from 0, or None"),
        ({"warm_up": math.nan}, "warm_up=nan; expected seconds"),
        ({"warm_up": 12, "cool_down": 8}, "leave nothing of the 20 s of submissions"),
        ({"warm_up": 50}, "leave nothing of the 20 s of submissions"),
    ],
)
def test_windows_that_leave_nothing_are_refused(schedule, lengths, message):
    with pytest.raises(ValueError, match=message):
        metrics.window(schedule, **lengths)
    with pytest.raises(ValueError, match="leave nothing"):
        metrics.window(no_jobs())
