"""The zoo of odd logs: the files are those that the script writes, and every one can be read."""

import pytest

from cosimlib import traces
from tests import zoo


def test_the_stored_zoo_is_what_the_script_writes(tmp_path):
    written = {path.name: path.read_bytes() for path in zoo.write(tmp_path)}
    assert {path.name: path.read_bytes() for path in zoo.ZOO.iterdir()} == written


@pytest.mark.parametrize("name", zoo.ODDITIES)
def test_every_odd_log_is_a_workload(name):
    workload = traces.load(zoo.ZOO / f"{name}.swf.gz", verbose=False)
    assert len(workload) == (3 if name == "three-jobs" else zoo.JOBS)
