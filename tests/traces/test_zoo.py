"""The zoo of odd logs: every one can be read."""

import pytest

from cosimlib import traces
from tests import zoo


@pytest.mark.parametrize("name", zoo.ODDITIES)
def test_every_odd_log_is_a_workload(name):
    workload = traces.load(zoo.ZOO / f"{name}.swf.gz", verbose=False)
    assert len(workload) == (3 if name == "three-jobs" else zoo.JOBS)
