"""Alibaba's high-priority and spot GPU jobs: columns, units, machine, bursts; damage by line."""

import numpy as np
import pytest

from cosimlib.ondemand import bursts_from_queue
from cosimlib.traces import TraceError, load, read_alibaba, read_openb, recognize
from tests.cosimlib.traces.reading import DATA, counts

FOLDER = DATA / "alibaba"
JOBS = FOLDER / "job_info_df.csv"


@pytest.fixture
def copy(tmp_path):
    """A function that writes the table of jobs with one text replaced, away from its nodes."""

    def write(before: str = "", after: str = ""):
        text = JOBS.read_text()
        assert before in text
        (tmp_path / JOBS.name).write_text(text.replace(before, after, 1))
        return tmp_path / JOBS.name

    return write


def test_columns_become_those_of_jobs():
    workload = read_alibaba(JOBS, verbose=False)
    jobs = workload.jobs.set_index("job_id")
    columns = ["submit_time", "run_time", "nodes", "group", "queue", "gpu_model", "workers"]
    assert jobs.loc[239255, columns].tolist() == [0, 2764799, 1, "13", "HP", "A10", 1]
    assert jobs.loc[260002, columns].tolist() == [300, 71718, 32, "57", "Spot", "A100-SXM4-80GB", 4]
    assert jobs.loc[[260005, 260006, 260007], "nodes"].tolist() == [1, 1, 94]
    assert jobs.loc[260014, "queue"] == "HP" and jobs["requested_time"].isna().all()
    assert (np.diff(jobs["submit_time"]) >= 0).all()
    assert counts(workload) == {
        ("dropped", "time of submission unknown"): 1,
        ("dropped", "run time unknown"): 1,
        ("dropped", "number of instances unknown, or none"): 1,
        ("dropped", "number of gpus unknown, or none"): 1,
        ("noted", "neither HP nor Spot, queue as it is written"): 1,
        ("mended", "out of order, put in order of submission"): 1,
        ("noted", "run time 0"): 1,
        ("noted", "requested time unknown"): 16,
        ("noted", "start unknown"): 16,
        ("noted", "job number used before"): 1,
    }


def test_the_machine_is_counted_from_the_table_of_nodes_beside_it(copy):
    assert read_alibaba(JOBS, verbose=False).machine.partitions == {"main": 134}
    alone = copy()
    assert read_alibaba(alone, verbose=False).machine is None
    told = read_alibaba(alone, nodes=FOLDER / "node_info_df.csv", verbose=False)
    assert told.machine.total_nodes == 134


def test_one_model_has_its_own_jobs_and_nodes():
    workload = read_alibaba(JOBS, gpu_model="A10", verbose=False)
    assert set(workload.jobs["gpu_model"]) == {"A10"} and workload.machine.total_nodes == 97
    assert counts(workload)["dropped", "asks for other GPUs than A10"] == 11
    with pytest.raises(ValueError, match="gpu_model='V100'; expected one of 'A10', 'A100-SXM4"):
        read_alibaba(JOBS, gpu_model="V100", verbose=False)


def test_high_priority_jobs_are_bursts():
    log = read_alibaba(JOBS, gpu_model="A10", verbose=False)
    spot, bursts = bursts_from_queue(log, "HP", longest_delay=0.0)
    assert set(bursts.jobs["queue"]) == {"HP"} and set(spot.jobs["queue"]) == {"Spot"}


def test_a_heading_tells_the_format(copy):
    path = copy()
    assert recognize(path) == recognize(JOBS) == "alibaba"
    assert load(path, verbose=False).jobs.equals(read_alibaba(path, verbose=False).jobs)


@pytest.mark.parametrize(
    ("before", "after", "message"),
    [
        (
            ",300,41060,",
            ",soon,41060,",
            "line 5 has submit_time='soon'; expected a number, or nothing",
        ),
        (",960,7200,", ",960,1e99,", "line 7 has duration='1e99'; expected a number"),
        (",0.5,1,", ",half,1,", "line 9 has gpu_request='half'; expected a number"),
        ("260003,57,", "260003,57,1,2,", "line 7 has 11 fields; expected 9"),
        ("worker_num", "workers", "no column worker_num; expected a table of jobs such as Aliba"),
        ("gpu_request", "gpus", "no column gpu_request"),
    ],
)
def test_damage_is_refused_by_its_line(copy, before, after, message):
    path = copy(before, after)
    with pytest.raises(TraceError, match=message) as caught:
        read_alibaba(path, verbose=False)
    assert str(path) in str(caught.value)


def test_a_damaged_table_of_nodes_is_refused_by_its_line(copy, tmp_path):
    path = copy()
    (tmp_path / "node_info_df.csv").write_text("gpu_model,gpu_capacity_num\nA10,4\nA10,many\n")
    with pytest.raises(TraceError, match=r"node_info_df.csv: line 3 has gpu_capacity_num='many'"):
        read_alibaba(path, verbose=False)
    (tmp_path / "node_info_df.csv").write_text("gpu_model\nA10\n")
    with pytest.raises(
        TraceError, match="no column gpu_capacity_num; expected a table of nodes su"
    ):
        read_alibaba(path, verbose=False)


# Pods that share GPUs, 2023

PODS = FOLDER / "openb_pod_list.csv"


def test_pods_ask_for_parts_of_nodes():
    workload = read_openb(PODS, verbose=False)
    jobs = workload.jobs.set_index("job_id")
    asked = ["nodes", "cores", "gpus", "gpu_share"]
    assert jobs.loc[1, asked].tolist() == [1, 6.0, 1, 0.46]
    assert jobs.loc[2, asked].tolist() == [1, 88.0, 8, 1.0]
    assert jobs.loc[4, asked].tolist() == [1, 4.0, 0, 1.0]
    assert jobs.loc[2, "memory"] == pytest.approx(327680 * 2**20 / 1e9)
    assert jobs["gpu_models"].dropna().to_dict() == {3: "V100M16|V100M32"}
    assert jobs.loc[3, ["submit_time", "run_time", "recorded_start"]].tolist() == [
        9967058,
        1512,
        9967063,
    ]
    assert jobs["status"].dropna().to_dict() == {2: 1, 3: 0}
    dropped = ("dropped", "part of each GPU unknown, or none")
    assert counts(workload)[dropped] == 1
    assert counts(workload)["noted", "never scheduled, run time from creation to deletion"] == 1


def test_pods_have_the_nodes_of_the_list_beside_them(tmp_path):
    nodes = read_openb(PODS, verbose=False).machine.nodes
    assert nodes["name"].tolist() == ["openb-node-0000", "openb-node-0001", "openb-node-0002"]
    assert nodes["gpus"].tolist() == [2, 2, 8] and nodes["model"].iloc[2] == "V100M32"
    alone = tmp_path / PODS.name
    alone.write_text("\n".join(line.rsplit(",", 6)[0] for line in PODS.read_text().splitlines()))
    assert recognize(PODS) == recognize(alone) == "openb"
    workload = load(alone, verbose=False)
    assert workload.machine is None and (workload.jobs["run_time"] == 0).all()
    assert counts(workload)["noted", "times unknown, taken as 0"] == 5


def test_pods_of_a_public_list_are_placed_as_asked(trace_path):
    workload = read_openb(trace_path("gpu/openb_pod_list_default.csv.gz"), verbose=False)
    assert len(workload) == 8152
    assert workload.machine.nodes["gpus"].sum() == 6212
