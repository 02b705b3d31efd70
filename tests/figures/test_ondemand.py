"""Pictures of a machine with bursts: what is drawn is what its nodes hold."""

import numpy as np
import pytest

from cosimlib import figures
from tests.ondemand.test_simulation import run


def test_a_gantt_chart_draws_all_that_is_held():
    schedule = run(policy="dynamic", step=1.0)
    gantt = figures.plot_ondemand(schedule, start=0.0, end=20_000.0, title="day")
    (arrival,) = (trace for trace in gantt.data if trace.name == "a burst comes")
    assert {line.line.color for line in gantt.layout.shapes} == {arrival.line.color}
    drawn = sum(
        float(np.dot(bar.x, bar.width)) for bar in gantt.data if bar.type == "bar" and len(bar.x)
    )
    held = float(schedule.held(0.0, 20_000.0).sum()) / 3600
    assert drawn == pytest.approx(held, abs=0.01)
    empty = figures.plot_ondemand(schedule, start=1e6, end=2e6, title="t")
    assert not empty.data and "no job runs" in str(empty.layout.annotations)
