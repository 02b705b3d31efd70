"""Every name of both front doors has an example, and it prints what it shows."""

import doctest
import inspect
import shutil

import pytest

import cosimlab as lab
import cosimlib as cs
from tests.cosimlib.traces.reading import pm100_table
from tests.suites import ROOT

DATA = ROOT / "tests" / "data"
LOGS = (
    "alcf.csv",
    "batsim-workload.json",
    "fugaku.csv",
    "pbs-accounting",
    "slurm-24.11/sacct_X_parsable2_epoch.txt",
    "zoo/three-jobs.swf.gz",
)
NAMES = [
    (door, name)
    for door in (cs, lab)
    for name in dir(door)
    if not inspect.ismodule(getattr(door, name))
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with small logs, where the examples run."""
    folder = tmp_path_factory.mktemp("examples")
    for name in LOGS:
        shutil.copy(DATA / name, folder)
    for name in ("squeue.json", "sinfo.json"):
        shutil.copy(ROOT / "docs" / "advise" / name, folder)
    shutil.copytree(DATA / "alibaba", folder / "alibaba")
    pm100_table().to_parquet(folder / "job_table.parquet", index=False)
    return folder


@pytest.mark.parametrize(("door", "name"), NAMES, ids=lambda part: getattr(part, "__name__", part))
def test_the_example_of_a_name_prints_what_it_shows(door, name, folder, monkeypatch):
    shown = getattr(door, name)
    text = inspect.getdoc(shown) or ""
    parsed = doctest.DocTestParser().get_doctest(text, {}, name, None, 0)
    assert parsed.examples, f"{door.__name__}.{name} has no example"
    monkeypatch.chdir(folder)
    report = []
    flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    runner = doctest.DocTestRunner(optionflags=flags)
    assert runner.run(parsed, out=report.append).failed == 0, "".join(report)
