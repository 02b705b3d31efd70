"""First screen of a report: tiles, the picture, changes; and the knobs of the command."""

import html
import re
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import cosimlab as lab
import cosimlib as cs
from cosimlab.report import example_log, open_log, overview
from cosimlab.report.command import Report, columns_of, main
from cosimlab.report.overview import Change, Changes, changes, picture, ranks_of, tiles
from cosimlab.report.page import MOST_WORDS
from cosimlab.report.waits import CAUSES, causes_of
from cosimlab.whatif import evidence, question_of
from cosimlib.display import percent
from cosimlib.units import DAY, HOUR
from tests.cosimlab.report.test_report import report_on
from tests.suites import ROOT
from tests.zoo import odd


@pytest.fixture(scope="module")
def log():
    return open_log(example_log(), budget=1)


def test_tiles_tell_use_waits_unexplained_waiting_and_jobs(log):
    use, waits, unexplained, jobs = tiles(log)
    span = log.schedule.span
    assert use.value == percent(log.schedule.utilization(*span)) and use.name == "of 128 nodes used"
    wait = log.schedule.jobs["wait_time"]
    assert waits.value == f"{wait.mean() / HOUR:.1f} h, {wait.median() / HOUR:.1f} h"
    assert waits.interval.startswith("mean ") and "; median " in waits.interval
    table = causes_of(log)
    share = table[list(CAUSES)[-1]].sum() / table["waited"].sum()
    assert unexplained.value == percent(share) and " to " in unexplained.interval
    assert jobs.value == "4,000" and jobs.interval.endswith(" a day")
    each = [float(end.replace(",", "")) for end in jobs.interval.split()[:3:2]]
    assert each[0] <= 4000 / np.ceil((span[1] - span[0]) / 86_400) * 1.05 and each[0] < each[1]


def test_tiles_are_open_where_the_log_cannot_tell():
    for name, values in (("submissions-are-starts", (1, 2)), ("three-jobs", ())):
        found = report_on(name).tiles
        assert [place for place, tile in enumerate(found) if tile.value == "open"] == list(values)
    assert all("too short" in report_on("three-jobs").tiles[place].interval for place in (0, 1, 3))


def test_the_picture_has_use_queue_and_closures(log):
    drawn, note = picture(log)
    assert drawn.count("<polyline") == 2 and "% used" in drawn and "jobs waiting" in drawn
    assert "Grey" not in note and "#bbb" not in drawn
    drawn, _ = report_on("submissions-are-starts").picture
    assert drawn.count("<polyline") == 1


@pytest.fixture(scope="module")
def crowded():
    """A log whose waits are for nodes alone: scheduled by first fit, which a replay reproduces."""
    jobs = cs.synthetic.with_estimates(cs.synthetic.lublin(3_000, load=0.7, seed=1))
    user = np.where(np.arange(3_000) % 5 == 0, "7", "8")
    jobs = replace(jobs, jobs=jobs.jobs.assign(user=user))
    starts = cs.simulate_first_fit(jobs, jobs.machine).start_time
    return open_log(replace(jobs, jobs=jobs.jobs.assign(recorded_start=starts)), budget=1)


def test_the_page_promises_no_help_until_there_is_some(log):
    found = changes(log)
    assert found.rows == () and len(found.sentences) == 2
    assert "is open: the replay on the same machine gives" in found.sentences[0]
    assert found.sentences[1].startswith("A record of holds, reservations and nodes out of")
    page = Report("log", (), "basis", changes=found)._repr_html_()
    assert "What would help most" not in page and found.sentences[0] in page
    assert "<h2>What if</h2>" in page and "held the truth" not in page
    change = Change("10 % more nodes", "0.8 times the mean wait", "wide jobs", "nobody", "1")
    some = Changes("What would help most", (change,), (), "")
    page = Report("log", (), "basis", changes=some)._repr_html_()
    assert "What would help most" in page and "10 % more nodes" in page


def test_changes_are_those_of_what_if_and_the_best_is_first(crowded):
    found = changes(crowded)
    assert 1 <= len(found.rows) <= 3 and "where it is known, was counted" in found.computed
    by_text = {row.change: row for row in found.rows}
    held = {row.change.split(" nodes")[0]: row.held_truth for row in found.rows}
    assert held["10 % more"] == str(evidence.NODES[0.1])
    assert held["25 % more"] == str(evidence.NODES[0.25])
    assert found.sentences[0].startswith("The replay on the same machine has ")
    assert found.sentences[0].endswith(" of the recorded mean wait; a number needs 70 %.")
    answer = lab.what_if(crowded.schedule, nodes="+25%")
    ratio, low, high = answer.table.loc[0, ["ratio", "low", "high"]]
    assert f"{ratio:.2f} times as long ({low:.2f} to {high:.2f})" in by_text[answer.change].effect
    best = answer.table[(answer.table["by"] == "size") & (answer.table["verdict"] == "wins")]
    named = by_text[answer.change].gains
    assert not len(best) or any(f"jobs of {group} nodes" in named for group in best["group"])
    shown = [float(row.effect.split(" is ")[1].split()[0]) for row in found.rows]
    assert shown == sorted(shown)
    limited = changes(crowded, ["limit=2h"])
    assert limited.rows[0].held_truth.startswith(f"{evidence.LIMIT} with limits that cut ")
    assert "where it is known" in limited.computed


def test_sentences_of_changes_are_short(crowded, log):
    for each in (changes(crowded), changes(log), changes(log, ["nodes=+10%", "limit=24h"])):
        for sentence in (*each.sentences, *re.split(r"\.\s", str(each).replace("- ", ""))):
            assert len(sentence.split()) <= MOST_WORDS


def test_changes_that_would_change_nothing_are_refused(crowded):
    for text, why in (
        ("nodes=128", "--what-if nodes=128: Nothing changes: the machine has 128 nodes already"),
        ("limit=9999h", "--what-if limit=9999h: Nothing changes: no job runs longer than"),
    ):
        with pytest.raises(ValueError, match=why):
            changes(crowded, [text])


def test_a_machine_of_assumed_size_has_no_number(crowded):
    unknown = replace(crowded.workload, machine=None)
    found = changes(open_log(unknown, budget=1), ["nodes=+10%"])
    assert found.rows == () and found.sentences == (
        "What a change would bring is open: this log does not record the size of its machine.",
        "Give it: --nodes, or nodes= in Python.",
    )
    assert changes(open_log(unknown, nodes=128, budget=1), ["nodes=+10%"]).rows


def test_a_rank_begins_where_all_before_are_surely_better_than_all_after():
    def ranks(*pairs, number=4):
        better = np.zeros((number, number), dtype=bool)
        better[tuple(zip(*pairs, strict=True))] = True
        return ranks_of(better)

    apart = [(one, other) for one in range(4) for other in range(one + 1, 4)]
    assert ranks(*apart) == [1, 2, 3, 4]
    # The second and third are not told apart; so are, in a chain, the first three.
    assert ranks(*(pair for pair in apart if pair != (1, 2))) == [1, 2, 2, 4]
    assert ranks((0, 2), (0, 3), (1, 3), (2, 3)) == [1, 1, 1, 4]
    assert ranks_of(np.zeros((0, 0), dtype=bool)) == []


def test_ranks_are_those_of_pairs(crowded):
    found = changes(crowded)
    answers = [lab.what_if(crowded.schedule, nodes=each) for each in ("+25%", "+10%")]
    pair = lab.whatif.compare_answers(*answers)
    assert pair.low < pair.ratio < pair.high < 1
    rows = {row.change.split(" more")[0]: row for row in found.rows}
    assert int(rows["25 %"].rank[0]) < int(rows["10 %"].rank[0])
    assert f"{evidence.ORDERED} of {evidence.ORDERED.of} such pairs" in found.computed


def test_a_reason_of_one_change_does_not_stop_the_usual_ones(crowded, monkeypatch):
    """Without the user whose jobs wait, hardly anyone waits; more nodes still have numbers."""
    monkeypatch.setattr(overview, "_usual", lambda log: ["nodes=20", "nodes=+10%", "nodes=128"])
    found = changes(crowded)
    assert [row.change.split(" nodes")[0] for row in found.rows] == ["10 % more"]
    assert any(each.endswith(" cannot run on the changed machine.") for each in found.sentences)
    monkeypatch.setattr(overview, "_usual", lambda log: ["nodes=128"])
    assert changes(crowded).sentences == (overview.NOTHING_CHANGES,)


def test_nodes_of_a_partition_are_asked_for(tmp_path, capsys):
    assert question_of("nodes=gpu:+10%, a+b:64") == {"nodes": {"gpu": "+10%", "a+b": 64}}
    jobs = cs.synthetic.lublin(3_000, load=0.7, seed=1)
    starts = cs.simulate_first_fit(jobs, jobs.machine).start_time
    named = jobs.jobs.assign(recorded_start=starts, partition="gpu")
    log = open_log(replace(jobs, jobs=named, machine=cs.System.of(gpu=128, cpu=4)), budget=1)
    found = changes(log, ["nodes=gpu:+10%"])
    assert found.rows[0].change == "10 % more nodes of gpu (141 in the place of 128)"
    with pytest.raises(ValueError, match=r"--what-if nodes=tpu:1: .*nodes='tpu'; expected one of"):
        changes(log, ["nodes=tpu:1"])


def test_more_nodes_would_not_help_where_most_waiting_is_held():
    jobs = cs.synthetic.lublin(1_000, load=0.3, seed=2)
    late = jobs.jobs["submit_time"] + 5 * HOUR
    held = replace(jobs, jobs=jobs.jobs.assign(recorded_start=late))
    found = changes(open_log(held, nodes=10_000, budget=1))
    assert found.rows == () and found.sentences[0].startswith("More nodes would not help: ")
    assert found.sentences[1] == f"Such an answer was {evidence.NO_HELP_WAS_FALSE}."


IMPOSSIBLE = {
    "nodes=-100%": "--what-if='nodes=-100%'; expected at least one node afterwards",
    "nodes=-200%": "--what-if='nodes=-200%'; expected at least one node afterwards",
    "nodes=0": "--what-if='nodes=0'; expected at least one node afterwards",
    "nodes=gpu:0": "--what-if='nodes=gpu:0'; expected at least one node afterwards",
    "limit=0h": "--what-if='limit=0h'; expected a limit above 0",
    "run_time=0": "--what-if='run_time=0'; expected a factor above 0",
}


def test_changes_are_refused_also_where_it_is_open_what_they_bring(tmp_path, capsys):
    known = [odd("over-committed"), "-o", str(tmp_path / "page.html"), "--budget", "1"]
    for wrong, said in (
        *IMPOSSIBLE.items(),
        (
            "nodes=gpu:+10%",
            "--what-if nodes=gpu:+10%: over-committed: nodes='gpu'; expected one of",
        ),
        ("without=user:zz", "--what-if without=user:zz: without='zz'; expected a user of a job"),
    ):
        assert main([*known, "--what-if", wrong]) == 1
        assert said in capsys.readouterr().err
    assert main([*known, "--what-if", "nodes=+10%"]) == 0
    assert "What a change would bring is open: " in capsys.readouterr().out


def test_changes_are_asked_for_on_the_command_line(crowded, tmp_path, capsys):
    path, page = tmp_path / "mine.csv", tmp_path / "page.html"
    columns = ["submit_time", "recorded_start", "run_time", "requested_time", "nodes", "user"]
    crowded.workload.jobs[columns].to_csv(path, index=False)
    asked = ["--what-if", "nodes=+10%", "--what-if", "without=user:7"]
    known = [str(path), "--nodes", "128", "-o", str(page), "--budget", "1"]
    assert main([*known, *asked]) == 0
    assert "- With 10" in capsys.readouterr().out
    text = page.read_text(encoding="utf-8")
    assert "<h2>What if</h2>" in text and "without user 7" in text and "25 % more" not in text
    for wrong, said in (
        ("nodes=much", "--what-if='nodes=much'; expected nodes=+10%, nodes=141 or"),
        ("nodes=gpu:", "--what-if='nodes=gpu:'; expected nodes=+10%, nodes=141 or"),
        ("limit=1w", "--what-if='limit=1w'; expected limit=24h"),
        ("without=7", "--what-if='without=7'; expected without=user:NAME"),
        ("run_time=", "--what-if='run_time='; expected run_time=0.9"),
        ("cores=8", "--what-if='cores=8'; expected nodes=+10%"),
        ("without=user:none", "--what-if without=user:none: without='none'; expected a user of a"),
        *IMPOSSIBLE.items(),
    ):
        assert main([*known, "--what-if", wrong]) == 1
        assert said in capsys.readouterr().err
    with pytest.raises(ValueError, match="what_if='nodes=much'; expected nodes"):
        lab.report(crowded, what_if=["nodes=much"])


def test_findings_stand_once_on_the_page_and_how_they_were_computed_is_folded(log):
    report = lab.report(log)
    page = report._repr_html_()
    for section in report.sections:
        for finding in section.findings:
            assert page.count(finding) == 1
        for how in filter(None, section.computed.values()):
            assert page.count(f"<p>{html.escape(how)}</p></details>") >= 1
    assert page.index('class="tiles"') < page.index("<svg") < page.index("<section")


def test_cores_and_gpus_are_counted_on_request():
    sacct = next(iter(sorted((ROOT / "tests" / "data" / "slurm-24.11").glob("sacct*epoch*"))))
    cores = open_log(sacct, unit="cores", budget=1)
    assert cores.unit == "core" and "core" in lab.report(cores).findings[0]
    eight = ROOT / "tests" / "data" / "zoo" / "nodes-of-eight-processors.swf.gz"
    assert open_log(eight).machine.total_nodes == 8
    counted = open_log(eight, unit="cores")
    assert counted.machine.total_nodes == 64 and counted.unit == "core"
    with pytest.raises(ValueError, match="unit='gpus', which read_swf does not take"):
        open_log(eight, unit="gpus")
    with pytest.raises(ValueError, match="cores_per_node=8; expected 1, as cores are counted"):
        open_log(eight, unit="cores", cores_per_node=8)


def test_a_partition_is_reported_on_by_itself():
    several = ROOT / "tests" / "data" / "zoo" / "several-partitions.swf.gz"
    whole = cs.load_trace(several, verbose=False)
    name = whole.column("partition").dropna().iloc[0]
    log = open_log(several, partition=name)
    assert len(log.workload) == (whole.column("partition") == name).sum() < len(whole)
    assert log.machine.total_nodes <= 64 and "machine" in log.lacks
    assert f"the size of partition {name}; " in log.lacks["machine"]
    assert log.workload.account["reason"].str.contains("may share its nodes with others").any()
    with pytest.raises(ValueError, match="no partition 'none'; expected one of"):
        open_log(several, partition="none")
    with pytest.raises(
        ValueError, match=r"partition='gpu', but synthetic log .* names no partition"
    ):
        open_log(partition="gpu")


def test_a_partition_has_no_more_nodes_than_the_machine_and_no_closures():
    """Two jobs overlap, which hold 12 of 10 nodes; the queue then is idle for a day."""
    jobs = {
        "submit_time": [0, 0, HOUR, 2 * HOUR],
        "recorded_start": [0, 0, 24 * HOUR, 24 * HOUR],
        "run_time": [HOUR] * 4,
        "nodes": [6, 6, 1, 1],
        "queue": ["short"] * 4,
    }
    others = pd.DataFrame({name: values[:1] for name, values in jobs.items()})
    table = pd.concat([pd.DataFrame(jobs), others.assign(queue="long", nodes=1)], ignore_index=True)
    read = cs.Workload(table.sort_values("submit_time"), "log", cs.System.of(10))
    assert len(open_log(read, nodes=14, budget=1).windows) == 1
    log = open_log(read, partition="short", budget=1)
    assert log.machine.total_nodes == 10 and not len(log.windows)
    assert "all of the machine in the header" in " ".join(log.workload.account["reason"])


def test_use_is_counted_from_the_first_start(log):
    """A log of jobs that start from day 40 on: one was submitted on day 0."""
    jobs = log.workload.jobs
    late = jobs.assign(
        submit_time=(jobs["submit_time"] + 40 * DAY).where(jobs.index > 0, 0.0),
        recorded_start=log.schedule.start_time + 40 * DAY,
    )
    moved = open_log(replace(log.workload, jobs=late), budget=1)
    assert moved.window == tuple(each + 40 * DAY for each in log.window)
    for before, after in zip(tiles(log), tiles(moved), strict=True):
        if before.name != "mean and median wait":
            assert before == after
    assert picture(log)[0].count("<polyline") == picture(moved)[0].count("<polyline")


def test_columns_of_a_csv_are_named_on_the_command_line(tmp_path, capsys):
    table = pd.DataFrame(
        {
            "queued": ["2026-01-01T00:00:00", "2026-01-01T01:00:00"],
            "began": ["2026-01-01T00:00:00", "2026-01-01T02:00:00"],
            "elapsed": ["01:00:00", "1800"],
            "size": [2, 4],
        }
    )
    path = tmp_path / "mine.csv"
    table.to_csv(path, index=False)
    text = "submit_time=queued,recorded_start=began,run_time=elapsed,nodes=size"
    log = open_log(path, columns=columns_of(text))
    assert log.workload.jobs["run_time"].tolist() == [3600, 1800]
    assert log.schedule.jobs["wait_time"].tolist() == [0, 3600]
    page = tmp_path / "page.html"
    assert main([str(path), "-o", str(page), "--columns", text, "--budget", "1"]) == 0
    capsys.readouterr()
    for wrong, said in (
        ("submit_time", "--columns='submit_time'; expected pairs such as"),
        ("submit_time=when,run_time=elapsed,nodes=size", "no column 'when' for submit_time"),
        ("arrival=queued", "columns='arrival'; expected one of"),
        ("submit_time=queued", "no column run_time, nodes; expected a CSV with"),
    ):
        assert main([str(path), "-o", str(page), "--columns", wrong]) == 1
        assert said in capsys.readouterr().err
