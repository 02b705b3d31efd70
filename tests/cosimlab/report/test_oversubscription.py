"""Records that hold more nodes than there are, in closed form, and what a report says of them."""

import gzip

import pytest

from cosimlab.report import log_section
from cosimlab.report.log import machine_table, open_log
from cosimlab.report.overview import Tile, tiles
from cosimlib.traces import load
from cosimlib.traces.oddities import oversubscription
from tests.cosimlab.report.test_nodes import scheduled
from tests.zoo import ZOO


def test_nodes_beyond_the_machine_are_counted_for_as_long_as_they_are_held():
    """Ten nodes: 14 are held for one hour of six, and of the three jobs two run then."""
    schedule = scheduled([(0, 3, 4, 8), (2, 2, 4, 6), (5, 1, 4, 10)], nodes=10)
    held = oversubscription(schedule)
    assert held.most == 14 and held.jobs == 2
    assert held.share == pytest.approx(4 / (24 + 12 + 10))
    assert "up to 14 of 10 nodes held at once" in held.lack and "NODES=" in held.lack


def test_little_beyond_the_machine_is_noted_and_idle_nodes_are_known():
    held = oversubscription(scheduled([(0, 100, 100, 8), (99, 1, 1, 3)], nodes=10))
    assert (held.most, held.jobs, held.lack) == (11, 2, "")
    assert held.share == pytest.approx(1 / 803) and "0.125 % of the node-hours" in held.note


def test_a_full_machine_and_jobs_that_last_no_time_are_not_overrun():
    assert oversubscription(scheduled([(0, 1, 1, 10), (1, 1, 1, 10)], nodes=10))[2:] == (0.0, 0)
    assert oversubscription(scheduled([(0, 0, 1, 10), (0, 0, 1, 10)], nodes=10))[2:] == (0.0, 0)


def test_a_log_says_so_where_it_is_loaded(capsys):
    crowded = str(ZOO / "over-committed.swf.gz")
    told = open_log(crowded).held
    assert told.most > told.nodes == 64 and not capsys.readouterr().out
    load(crowded)
    assert capsys.readouterr().out.splitlines()[-1] == f"over-committed: {told.note}"
    load(str(ZOO / "three-jobs.swf.gz"))
    load(crowded, verbose=False)
    assert "held at once" not in capsys.readouterr().out


def test_a_report_says_that_a_log_does_not_fit_its_machine(tmp_path):
    rows = [f"{job} 0 0 3600 6 -1 -1 6 7200 -1 1 1 1 1 1 1 -1 -1" for job in (1, 2)]
    path = tmp_path / "shared.swf.gz"
    path.write_bytes(gzip.compress("\n".join(["; MaxProcs: 10", *rows, ""]).encode()))
    log = open_log(str(path))
    table = machine_table(log)["this log"]
    assert table["most nodes held at once"] == "12 of 10" and table["utilization"] == "120 %"
    assert table["unknown: idle nodes"] == log.lacks["idle nodes"]
    assert table["cores per node"] == "unknown"
    assert log.workload.account["reason"].str.contains("up to 12 of 10 nodes").any()
    found = log_section(log).findings[0]
    assert found.startswith("2 jobs hold 1.2 times the node-hours of 10 nodes over 1 h")
    assert found.endswith(": the machine is taken too small.")
    assert tiles(log)[0] == Tile("of 10 nodes used", "open", "up to 12 of 10 nodes held at once")
    assert "idle nodes" not in open_log(str(path), nodes=12).lacks
