"""What holds of all readers: damaged files, units, machines."""

import pytest

from cosimlib import traces
from cosimlib.audit import audit
from cosimlib.nodes import simulate_nodes
from cosimlib.system import System
from tests.cosimlib.traces.damage import SAMPLES, outcomes, sample
from tests.cosimlib.traces.reading import DATA
from tests.suites import THOROUGH


@pytest.mark.parametrize("name", SAMPLES)
def test_a_damaged_file_is_read_or_refused(name, tmp_path):
    """Each is a workload with an account, or refused with a TraceError that names it."""
    if SAMPLES[name][1].endswith(".parquet"):
        pytest.importorskip("pyarrow")
    files = 100 if THOROUGH else 30
    counts = outcomes(name, files, tmp_path)
    assert counts["read"] + counts["refused"] == files
    assert counts["refused"]


@pytest.mark.parametrize(
    "file",
    [
        "polaris.csv",
        "fugaku.parquet",
        "pm100.parquet",
        "alibaba/openb_pod_list.csv",
        "slurm-24.11/sacct_X_parsable2_epoch.txt",
        "slurm-22.05/sacct.json",
    ],
)
def test_a_log_runs_on_its_own_machine(file, tmp_path):
    path = DATA / file
    if file.endswith(".parquet"):
        pytest.importorskip("pyarrow")
        path = tmp_path / file
        path.write_bytes(sample(file, tmp_path))
    workload = traces.load(path, verbose=False)
    audit(simulate_nodes(workload, workload.machine, policy="fcfs"))
    if "sacct" in file:
        assert workload.machine.nodes["cores"].unique().tolist() == [4]
        assert workload.machine.nodes["memory"].unique() == pytest.approx([4.194304])


@pytest.mark.parametrize("file", ["slurm-24.11/sacct.json", "pbs-accounting", "batsim-jobs.csv"])
def test_a_system_given_is_the_machine(file):
    system = System.of(64)
    assert traces.load(DATA / file, system=system, verbose=False).machine is system


@pytest.mark.parametrize(
    ("file", "name", "value"),
    [
        ("slurm-24.11/sacct.json", "unit", "sockets"),
        ("slurm-24.11/sacct.json", "arrival", "start"),
        ("pbs-accounting", "unit", "sockets"),
        ("pbs-accounting", "arrival", "start"),
    ],
)
def test_unknown_choices_are_refused(file, name, value):
    with pytest.raises(ValueError, match=f"{name}='{value}'; expected one of"):
        traces.load(DATA / file, **{name: value})
