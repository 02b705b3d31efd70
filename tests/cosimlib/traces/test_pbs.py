"""Accounting logs of PBS Professional (first ten jobs of the sample) and Torque (the others)."""

import pytest

from cosimlib.traces import TraceError, read_pbs
from tests.cosimlib.traces.reading import DATA, counts

FIRST = ["submit_time", "run_time", "requested_time", "nodes", "recorded_start"]
LOG = DATA / "pbs-accounting"


def pbs(tmp_path, change, **options):
    """The workload of the sample with its text changed."""
    path = tmp_path / "20260212"
    path.write_text(change(LOG.read_text()))
    return read_pbs(path, verbose=False, **options)


def test_e_records_become_jobs_and_others_are_counted():
    workload = read_pbs(LOG, verbose=False)
    jobs = workload.jobs.set_index("job_id")
    first = jobs.loc[2281300]
    assert first[FIRST].tolist() == [0, 7185, 3600, 4, 1880]
    assert first[["user", "group", "queue"]].tolist() == ["user0", "SCSG0000", "main"]
    assert jobs.loc[[2281300, 2281306, 2281315], "status"].tolist() == [1, 5, 0]
    assert jobs.loc[2281311, "group"] == "phys"
    assert workload.machine is None
    assert str(workload.began) == "2026-02-12 02:57:48+00:00"
    assert counts(workload) == {
        ("dropped", "record of another kind than E, the end of a job"): 6,
        ("noted", "eligible later than submitted"): 1,
        ("noted", "run time over the requested time"): 4,
        ("noted", "requested time unknown"): 1,
    }


@pytest.mark.parametrize(
    ("unit", "jobs"),
    [
        ("nodes", {2281300: 4, 2281312: 16, 2281313: 1}),
        ("cores", {2281300: 512, 2281312: 128, 2281313: 128}),
        ("gpus", {2281300: 16, 2281309: 64}),
    ],
)
def test_the_unit_is_chosen_and_not_guessed(unit, jobs):
    nodes = read_pbs(LOG, unit=unit, verbose=False).jobs.set_index("job_id")["nodes"]
    assert nodes[list(jobs)].to_dict() == jobs


@pytest.mark.parametrize(
    ("chunks", "nodes", "cores", "gpus"),
    [
        ("2:ncpus=4:ngpus=1+1:ncpus=8", 3, 16, 2),
        ("3", 3, 3, 0),
        ("node1:ppn=4+node2.site:ppn=2", 2, 6, 0),
        ("1:ppn=8:gpus=2", 1, 8, 2),
    ],
)
def test_chunks_give_what_nodect_and_ncpus_do_not(tmp_path, chunks, nodes, cores, gpus):
    pairs = f"user=a ctime=100 etime=100 start=110 end=120 Resource_List.select={chunks}"
    content = f"02/12/2026 05:28:53;E;1.server;{pairs}\n"
    for unit, expected in (("nodes", nodes), ("cores", cores), ("gpus", gpus)):
        if expected:
            assert pbs(tmp_path, lambda _: content, unit=unit).jobs["nodes"].tolist() == [expected]


def test_arrival_is_submission_or_eligibility(tmp_path):
    submitted, eligible = (
        pbs(tmp_path, str, arrival=arrival) for arrival in ("submit", "eligible")
    )
    waited = submitted.jobs["eligible_time"] - submitted.jobs["submit_time"]
    assert waited.max() == 600
    later = eligible.jobs.set_index("job_id").loc[2281304, "submit_time"]
    assert later == submitted.jobs.set_index("job_id").loc[2281304, "eligible_time"]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            lambda text: text.replace("start=1770866948", "start=noon"),
            r"line 3 has start='noon'; expected seconds of the epoch",
        ),
        (
            lambda text: text.replace("walltime=01:00:00", "walltime=1h", 1),
            r"line 3 has limit='1h'; expected seconds or \[days-\]hours:minutes:seconds",
        ),
        (
            lambda text: text.replace("02/12/2026 05:28:53;E", "E", 1),
            r"line 3 reads 'E;2281300.*expected a record of PBS accounting",
        ),
        (lambda text: "", "no job left of 0 records"),
        (lambda text: text.replace(";E;", ";S;"), r"no job left of 26 records \(26 record of an"),
    ],
)
def test_a_bad_log_is_refused_with_its_line(tmp_path, change, message):
    with pytest.raises(TraceError, match=message):
        pbs(tmp_path, change)
