"""Reports: sentences, tables, one page that needs nothing else, and the command."""

import re
from functools import cache

import numpy as np
import pandas as pd
import pytest

import cosimlab as lab
import cosimlib as cs
from cosimlab.report import (
    Report,
    bursts_section,
    example_log,
    fillers_section,
    lending_section,
    log_section,
    months_section,
    open_log,
    outcomes_section,
    policies_section,
    waits_section,
)
from cosimlab.report.command import main
from cosimlab.report.nodes import SMALL, checkpoint_machines, fine_step
from cosimlab.report.overview import tiles
from cosimlab.report.page import MOST_WORDS, axis, cell, hours_axis, line_chart, table_html
from cosimlab.report.waits import _was
from cosimlib.display import times_as_long
from cosimlib.system import THETA, System
from cosimlib.units import HOUR
from tests.cosimlab.report.test_closures import CAPTION
from tests.cosimlab.report.test_nodes import scheduled
from tests.notebooks.cells import NO_NUMBER
from tests.zoo import ZOO, odd_logs


def name_of(path) -> str:
    return path.name.removesuffix(".swf.gz")


def outside_of_their_interval(text: str) -> list[str]:
    """Intervals in brackets that contain none of the numbers before them in the sentence."""
    found, number = [], r"[0-9][0-9,]*\.?[0-9]*"
    span = re.compile(rf"\(({number})[^()]*? to ({number})[^()]*\)")
    for sentence in text.splitlines():
        for interval in span.finditer(sentence):
            low, high = (float(end.replace(",", "")) for end in interval.groups())
            told = sentence[: interval.start()].replace(" times as long", " times")
            before = re.findall(number, told.replace(" as long", " 1 times"))
            if not any(low <= float(each.replace(",", "")) <= high for each in before):
                found.append(interval[0])
    return found


@cache
def report_on(name: str) -> Report:
    """The report on an odd log."""
    return lab.report(str(ZOO / f"{name}.swf.gz"), budget=1)


@pytest.fixture(scope="module")
def example():
    return lab.report(example_log(jobs=600), budget=2)


@pytest.mark.parametrize("log", odd_logs(), ids=name_of)
def test_every_odd_log_has_a_page(log, tmp_path):
    report = report_on(name_of(log))
    page = report.to_html(tmp_path / "report.html").read_text(encoding="utf-8")
    assert not NO_NUMBER.search(re.sub("<[^>]*>", " ", page))
    assert 8 <= len(report.findings) <= 25
    assert "src=" not in page and "http" not in page.replace("http://www.w3.org/2000/svg", "")
    for section in report.sections:
        assert section.findings and all(each.endswith(".") for each in section.findings)
        assert all(len(each.split()) <= MOST_WORDS for each in section.findings)
        assert set(section.computed) <= set(section.findings)
        assert outside_of_their_interval(str(section)) == []
        assert all(picture.count("<text") > 3 for picture in section.pictures)


def test_a_section_is_made_once_for_a_log_and_anew_with_other_knobs():
    log = open_log(example_log(jobs=300), budget=1)
    section = lending_section(log)
    assert lending_section(log) is section
    assert lab.report(log)["lending"] is section
    assert lending_section(log, leases=(2,)) is not section
    assert lending_section(open_log(example_log(jobs=300), budget=1)) is not section


def test_a_report_is_sentences_tables_and_a_page(example):
    text = str(example)
    assert text.startswith("Report on synthetic log (seed 0)\n- ") and "\n- 600 jobs hold " in text
    assert all(isinstance(table, pd.DataFrame) for table in example.tables.values())
    assert example["waits"].title in example._repr_html_()
    with pytest.raises(ValueError, match="section='wait'; expected one of 'log', 'waits'"):
        example["wait"]


def test_a_report_is_the_same_each_time(example):
    again = lab.report(example_log(jobs=600), budget=2)
    assert again._repr_html_() == example._repr_html_()


def test_a_log_without_closures_says_nothing_of_them(example):
    assert "closed" not in str(example) and CAPTION not in example.tables
    assert "closed" not in example._repr_html_() and "#bbb" not in example._repr_html_()


def test_waits_of_a_log_whose_submissions_are_starts_are_open():
    report = report_on("submissions-are-starts")
    for name in ("waits", "policies", "timesharing"):
        assert "is open" in report[name].findings[0] and not report[name].pictures
    assert report["lending"].pictures


def test_idle_nodes_of_a_record_beyond_the_machine_are_open():
    report = report_on("over-committed")
    assert any("NODES=" in how for how in report["log"].computed.values())
    assert_idle_nodes_are_open(report)


def assert_idle_nodes_are_open(report: Report) -> None:
    """No section tells anything that rests on idle nodes."""
    for name in ("bursts", "lending", "fillers", "timesharing", "policies"):
        assert "is open" in report[name].findings[0] and not report[name].tables
    waits = report["waits"].findings[-1]
    assert waits == "No job waits." or "is open, as idle nodes are unknown" in waits


def test_a_machine_that_is_never_full_needs_no_evictions():
    section = bursts_section(open_log(str(ZOO / "only-one-node-jobs.swf.gz")))
    assert "of the machine is ever held" in section.findings[0] and not section.pictures


def test_a_machine_that_is_full_between_whole_hours_is_not_told_to_be_empty():
    jobs = {"submit_time": [0.0, 600.0], "run_time": [9000.0, 1200.0], "nodes": [2, 97]}
    jobs["recorded_start"] = jobs["submit_time"]
    log = open_log(cs.Workload(pd.DataFrame(jobs), "log", System.of(100)), budget=1)
    assert bursts_section(log).findings == (
        "What a burst would cost is open: 90 % of the nodes are held at times, but at no whole "
        "hour.",
    )


def test_memory_and_file_system_are_given_or_a_range():
    machine = System.of(8)
    small, large = checkpoint_machines(machine)
    assert small.memory_per_node == SMALL.memory_per_node and small.total_nodes == 8
    assert large.aggregate_bandwidth == THETA.aggregate_bandwidth
    log = open_log(ZOO / "three-jobs.swf.gz", memory_per_node=96, bandwidth=10)
    (own,) = checkpoint_machines(log.machine)
    assert (own.memory_per_node, own.aggregate_bandwidth, own.node_bandwidth) == (96, 10, 2)
    with pytest.raises(ValueError, match=r"bandwidth=-1; expected .* above 0"):
        open_log(ZOO / "three-jobs.swf.gz", bandwidth=-1)


def test_the_step_of_checkpoints_decides_nothing():
    """Forty jobs of one node, of which a checkpoint each takes seconds: minutes are too long."""
    schedule = scheduled([(k / 100, 9, 12, 1) for k in range(40)], nodes=40)
    system = System("small", {"main": 40}, 1, 16.0, 10.0, 1.0)
    step = fine_step(schedule, np.array([3 * HOUR]), system)
    assert step < 60


def test_the_finding_on_lending_is_of_the_whole_log():
    section = lending_section(open_log("synthetic"))
    assert "128 nodes" in section.findings[0]
    assert "95 % of 1,000 redraws" in section.computed[section.findings[0]]


def test_axes_have_round_ticks():
    assert [name for _, name in axis([83.0], "x").ticks] == ["0", "20", "40", "60", "80", "100"]
    assert len(axis([0.00003], "x").ticks) >= 3 and len(axis([], "x").ticks) >= 3
    assert [name for _, name in hours_axis([5], "x").ticks][-1] == "10 h"


def test_shares_are_percent_in_tables_and_words_stand_on_the_left():
    page = table_html(pd.DataFrame({"share": [0.0973], "why": ["so"], "jobs": [3]}), "caption")
    assert "<td>9.73 %</td>" in page and '<td class="words">so</td><td>3</td>' in page
    assert '<th class="words">why</th><th>jobs</th>' in page


def test_names_in_a_log_are_text():
    table = pd.DataFrame({"user": ["<script>"]})
    assert "<script>" not in table_html(table, "<b>")
    picture = line_chart(pd.DataFrame({"<i>": [0, 1]}), "&", "y")
    assert "<i>" not in picture and "&amp;" in picture


@pytest.mark.parametrize(
    ("value", "text"),
    [(float("nan"), "unknown"), (None, "unknown"), (3.0, "3"), (0.12345, "0.123"), (1e4, "10,000")],
)
def test_numbers_of_tables_have_three_digits(value, text):
    assert cell(value) == text


def test_the_command_writes_the_page_and_says_what_it_does(tmp_path, capsys):
    path = tmp_path / "report.html"
    assert main([str(ZOO / "three-jobs.swf.gz"), "-o", str(path), "--budget", "1"]) == 0
    printed = capsys.readouterr()
    assert path.is_file() and printed.out.startswith("Report on three-jobs\n- What a ")
    assert "waits: 3 jobs" in printed.err and f"wrote {path}" in printed.err


def test_the_command_names_what_is_wrong(tmp_path, capsys):
    assert main(["synthetic", "-o", str(tmp_path / "none" / "report.html")]) == 1
    said = capsys.readouterr().err
    assert "there is no folder" in said and "opening" not in said
    assert main([str(tmp_path / "no.swf")]) == 1
    assert "no trace at" in capsys.readouterr().err
    broken = tmp_path / "broken.swf"
    broken.write_text("1 2 x 4\n")
    assert main([str(broken), "-o", str(tmp_path / "report.html")]) == 1
    said = capsys.readouterr().err
    assert said.splitlines()[-1].startswith(f"cosim-report: {broken}: ") and "line 1" in said
    assert not (tmp_path / "report.html").exists()


def test_wrong_arguments_and_paths_are_one_line(capsys):
    with pytest.raises(SystemExit) as ended:
        main(["synthetic", "--seed", "x"])
    said = capsys.readouterr().err
    assert ended.value.code == 2 and said.count("\n") == 1
    assert said.startswith("cosim-report: argument --seed: invalid int value: 'x'; ")
    with pytest.raises(OSError, match="/proc"):
        Report("log", (), "basis").to_html("/proc/a.html")


def test_an_interval_that_leaves_out_its_own_number_is_found():
    said = "would cut it from 5.4 h to 2.9 h, 0.534 times (0.556 to 0.782)."
    assert outside_of_their_interval(said) == ["(0.556 to 0.782)"]
    assert outside_of_their_interval("4.2 h on average (3.6 to 5 h), half of them 5 min.") == []
    assert outside_of_their_interval("7 % (8 % to 9 %)") == ["(8 % to 9 %)"]


@pytest.mark.parametrize("seed", range(2))
def test_no_ratio_of_the_tables_is_outside_of_its_interval(seed):
    tables = policies_section(open_log(example_log(seed, jobs=9000), budget=1)).tables
    (ratios,) = (table for caption, table in tables.items() if caption.startswith("Ratios"))
    known = ratios.dropna(subset=["log", "low", "high"])
    assert ((known["low"] <= known["log"]) & (known["log"] <= known["high"])).all()


def lacking(share: float) -> cs.Workload:
    """A synthetic log; the widest jobs that have so much of the node-hours have no start."""
    log = example_log(jobs=600)
    work = log.jobs["nodes"] * log.jobs["run_time"]
    order = work.sort_values(ascending=False, kind="stable").cumsum() / work.sum()
    start = log.jobs["recorded_start"].mask(order.sort_index() <= share)
    return cs.Workload(log.jobs.assign(recorded_start=start), "lacking", log.machine)


def test_one_set_of_jobs_is_counted_and_measured():
    log = open_log(lacking(0.05), budget=1)
    started = len(log.schedule.workload)
    assert len(log.workload) == started < 600
    (said,) = (each for each in log_section(log).findings if "jobs hold" in each)
    held = (log.schedule.workload.jobs["nodes"] * log.schedule.workload.jobs["run_time"]).sum()
    first, last = log.window
    share = 100 * held / (128 * (last - first))
    assert said.startswith(f"{started} jobs hold {share:.3g} %")


def test_idle_nodes_are_open_where_starts_of_more_than_a_hundredth_of_the_work_are_missing():
    assert_idle_nodes_are_open(lab.report(lacking(0.05), budget=1))
    log = example_log(jobs=600)
    work = log.jobs["nodes"] * log.jobs["run_time"]
    start = log.jobs["recorded_start"].mask(work.rank(method="first") <= 3)
    few = open_log(cs.Workload(log.jobs.assign(recorded_start=start), "few", log.machine))
    assert 0.99 < few.used < 1 and len(few.workload) < 600 and "idle nodes" not in few.lacks


def test_idle_nodes_are_open_where_the_header_counts_many_more_jobs(tmp_path):
    log, path = example_log(jobs=300), tmp_path / "cleaned.swf"
    cs.write_swf(log, path)
    text = path.read_text().replace("; MaxJobs: 300", "; MaxJobs: 400\n; Note: cleaned of 100 jobs")
    path.write_text(text)
    report = lab.report(str(path), budget=1)
    assert_idle_nodes_are_open(report)
    assert any(
        "25 % of the jobs that the log's header counts are not in the file" in each
        for each in report["log"].findings
    )
    account = report.tables["Records dropped, mended and noted"]["reason"]
    assert account.str.contains('the header says: "cleaned of 100 jobs"', regex=False).any()
    path.write_text(text.replace("MaxJobs: 400", "MaxJobs: 330"))
    assert "idle nodes" not in open_log(str(path), budget=1).lacks


def test_fillers_never_tell_that_endless_fillers_fill_a_machine():
    section = fillers_section(open_log(example_log(), budget=1))
    assert "99 %" not in str(section) and "100 %" not in str(section)
    assert "on starts and saves" in section.findings[0]


@pytest.mark.parametrize(("ratio", "words"), [("1", "as long"), ("0.81", "0.81 times as long")])
def test_a_ratio_that_reads_1_is_as_long(ratio, words):
    assert times_as_long(ratio) == words


def test_the_screen_has_the_order_of_the_page(example):
    lines = str(example).splitlines()
    first = str(example.changes).splitlines()
    assert first and lines[1 : 1 + len(first)] == first
    assert lines[1 + len(first) :] == [f"- {finding}" for finding in example.findings]


def test_one_job_holds_and_one_window_was_known():
    jobs = {"submit_time": [0.0], "run_time": [HOUR], "nodes": [2], "recorded_start": [0.0]}
    section = log_section(open_log(cs.Workload(pd.DataFrame(jobs), "one", System.of(4)), budget=1))
    assert section.findings[0].startswith("1 job holds 50 % of 4 nodes")
    assert (_was(1), _was(2)) == ("was", "were")


REAL = (
    "KTH-SP2-1996-2.1-cln",
    "SDSC-SP2-1998-4.2-cln",
    "HPC2N-2002-2.2-cln",
    "theta-2023-prod",
    "mira-2018-aug27-dec31",
)


@pytest.mark.traces
@pytest.mark.parametrize("name", REAL)
def test_findings_on_real_logs_are_short_and_inside_their_intervals(trace_path, name):
    log = open_log(trace_path(f"{name}.swf.gz"), budget=1)
    quick = (log_section, waits_section, lending_section, months_section, outcomes_section)
    for section in filter(None, (make(log) for make in quick)):
        assert all(len(each.split()) <= MOST_WORDS for each in section.findings)
        assert outside_of_their_interval("\n".join(section.findings)) == []
    assert len(tiles(log)) == 4
