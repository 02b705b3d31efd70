"""F-DATA and PM100: columns, units, unknown values; damaged parquet."""

import numpy as np
import pandas as pd
import pytest

from cosimlib.traces import TraceError, read_fugaku, read_pm100
from cosimlib.traces.published import FUGAKU
from tests.cosimlib.traces.reading import DATA, counts, fugaku_table, pm100_table

pytest.importorskip("pyarrow")

FIRST = ["submit_time", "run_time", "requested_time", "nodes", "recorded_start"]


@pytest.fixture
def fugaku(tmp_path):
    """The rows of F-DATA as parquet, times as times."""
    table = fugaku_table()
    table["embedding"] = [[0.5] * 384] * len(table)
    table.to_parquet(tmp_path / "23_06.parquet", index=False)
    return tmp_path / "23_06.parquet"


@pytest.fixture
def pm100(tmp_path):
    pm100_table().to_parquet(tmp_path / "job_table.parquet", index=False)
    return tmp_path / "job_table.parquet"


# Fugaku


def test_columns_of_f_data_become_those_of_jobs(fugaku):
    workload = read_fugaku(fugaku, verbose=False)
    jobs = workload.jobs.set_index("job_id")
    first = jobs.loc[17000000]
    assert first[FIRST].tolist() == [0, 6126, 3600, 1, 271]
    assert first[["user", "queue", "status"]].tolist() == ["user_0", "sve_env", 1]
    assert np.isnan(first["memory"])
    assert jobs.loc[17000008, ["memory", "nodes", "energy"]].tolist() == [30.064771072, 1, 238.457]
    assert np.isnan(jobs.loc[17000010, "requested_time"])
    assert workload.machine == FUGAKU
    assert counts(workload)["dropped", "not started"] == 1


def test_csv_of_f_data_gives_the_same_jobs(fugaku):
    first, second = (read_fugaku(path, verbose=False) for path in (fugaku, DATA / "fugaku.csv"))
    pd.testing.assert_frame_equal(first.jobs, second.jobs)
    pd.testing.assert_frame_equal(first.account, second.account)


def test_cores_are_counted_where_they_are_the_unit(fugaku):
    workload = read_fugaku(fugaku, unit="cores", verbose=False)
    assert workload.jobs["nodes"].min() == 48
    assert workload.machine.total_nodes == 158_976 * 48
    assert "memory" not in workload.jobs


# Marconi100


def test_columns_of_pm100_become_those_of_jobs(pm100):
    workload = read_pm100(pm100, verbose=False)
    jobs = workload.jobs.set_index("job_id")
    first = jobs.loc[3000]
    assert first[FIRST].tolist() == [0, 24554, 3600, 2, 3915]
    assert first[["user", "group", "queue", "qos", "memory"]].tolist() == ["0", "0", "1", "0", 240]
    assert jobs.loc[[3000, 3001, 3012], "status"].tolist() == [1, 0, 0]
    assert np.isnan(jobs.loc[3004, "requested_time"])
    assert jobs.loc[3007, "eligible_time"] - jobs.loc[3007, "submit_time"] == 300
    assert workload.machine.total_nodes == 980
    assert counts(workload)["dropped", "not started"] == 1


@pytest.mark.parametrize(
    ("unit", "nodes", "machine", "dropped"), [("cores", 256, 125_440, 0), ("gpus", 8, 3_920, 1)]
)
def test_the_unit_is_chosen_and_not_guessed(pm100, unit, nodes, machine, dropped):
    workload = read_pm100(pm100, unit=unit, arrival="eligible", verbose=False)
    assert workload.jobs["nodes"][0] == nodes
    assert workload.machine.total_nodes == machine
    assert counts(workload).get(("dropped", f"number of {unit} unknown, or none"), 0) == dropped


# Damage


def test_missing_columns_and_damage_are_refused(fugaku, pm100, tmp_path):
    with pytest.raises(TraceError, match=r"23_06.*no column submit_time, start_time, run_time"):
        read_pm100(fugaku)
    with pytest.raises(TraceError, match=r"job_table.*no column adt, sdt, nnumr; expected a month"):
        read_fugaku(pm100)
    whole = fugaku.read_bytes()
    for content in (
        b"",
        b"PAR1",
        whole[:-1],
        whole[:1000],
        whole[:500] + b"\0" * 900 + whole[1400:],
    ):
        (tmp_path / "cut.parquet").write_bytes(content)
        with pytest.raises(TraceError, match=r"cut\.parquet: damaged, or not a month of F-DATA"):
            read_fugaku(tmp_path / "cut.parquet")
    with pytest.raises(FileNotFoundError, match="no file at"):
        read_fugaku(tmp_path / "missing.parquet")


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("read", [read_fugaku, read_pm100])
@pytest.mark.parametrize(
    "odd", [np.inf, -1e300, 2.0**63, 2**62, pd.Timestamp("1600-01-01"), True, "x", "inf"]
)
def test_a_column_of_odd_values_is_a_workload_or_an_error_without_a_warning(tmp_path, read, odd):
    whole = fugaku_table() if read is read_fugaku else pm100_table()
    path = tmp_path / "odd.parquet"
    for column in whole.columns:
        whole.assign(**{column: odd}).to_parquet(path, index=False)
        try:
            assert len(read(path, verbose=False))
        except TraceError as error:
            assert str(path) in str(error)


def test_labels_that_are_numbers_with_gaps_have_no_point(tmp_path):
    """Pandas keeps whole numbers beside unknown ones as floats."""
    table = pm100_table()
    users = pd.Series([1001.0, np.nan] * len(table)).iloc[: len(table)].to_numpy()
    table.assign(user_id=users).to_parquet(tmp_path / "gaps.parquet", index=False)
    found = read_pm100(tmp_path / "gaps.parquet", verbose=False).jobs["user"]
    assert found.dropna().unique().tolist() == ["1001"]
