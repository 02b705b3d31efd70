"""Explorer of advice: what the controls say is what the figure and the list of jobs show."""

import html

import numpy as np
import pytest

from cosimlab.advise import advise, read_cluster, read_model
from cosimlab.advise.advice import spectrum_of
from cosimlab.advise.text import jobs_table, title_of
from cosimlab.explorers import explore_advise
from cosimlab.figures import caption
from tests.cosimlab.advise.queues import Job, machine_of
from tests.suites import ROOT

SAVED = [ROOT / "docs" / "advise" / name for name in ("squeue.json", "sinfo.json")]
MODEL = ROOT / "docs" / "advise.example.toml"


def assert_shows(panel, *, bandwidth: float = 1.0, interval: float = 1.0) -> None:
    """Title, surface, mark and jobs are those of an advice asked for without the panel."""
    chosen = panel.settings
    model = read_model(MODEL).scaled(bandwidth=bandwidth, interval=interval)
    asked = advise(chosen["nodes_needed"], read_cluster(*SAVED), model=model, within=300)
    deadline = chosen["deadline"]
    surface, mark = panel.figure.data
    losses = spectrum_of(asked)
    assert panel.figure.layout.title.text == html.escape(title_of(asked, deadline))
    assert panel.text.value.startswith("<pre style='font-family: monospace;")
    assert panel.text.value.endswith(f">{html.escape(jobs_table(asked, deadline))}</pre>")
    assert ("White:" in caption(panel.picture)[0]) == bool(losses.isna().to_numpy().any())
    assert list(surface.y) == losses.index.tolist()
    assert np.array_equal(surface.customdata, losses.round(3).to_numpy(), equal_nan=True)
    assert (mark.x[0], mark.y[0]) == (deadline / 60, chosen["nodes_needed"])
    shown = losses.loc[chosen["nodes_needed"], deadline]
    assert shown == pytest.approx(asked.choice(deadline).loss), "surface and plan are one model"


def test_controls_move_what_is_shown():
    panel = explore_advise(SAVED, model=MODEL, within=300)
    assert list(panel.controls) == ["nodes_needed", "deadline", "bandwidth", "interval"]
    assert_shows(panel)
    panel.controls["nodes_needed"].value = 20
    assert_shows(panel)
    panel.controls["deadline"].value = 240.0
    assert_shows(panel)
    panel.choose(bandwidth=0.1, interval=10.0)
    assert_shows(panel, bandwidth=0.1, interval=10.0)


def test_without_checkpoints_their_controls_are_switched_off(tmp_path):
    paths = machine_of((Job(1, ("n1",)),), 2).save(tmp_path)
    panel = explore_advise(paths, within=60)
    assert panel.controls["bandwidth"].disabled and panel.controls["interval"].disabled
    assert '"checkpoint interval ×": no application of the model writes' in panel.notes.value


def test_names_of_a_queue_are_text_not_html(tmp_path):
    paths = machine_of((Job(1, ("n1",), name="<img src=x>"),), 1).save(tmp_path)
    panel = explore_advise(paths, within=60)
    assert "&lt;img" in panel.text.value and "<img" not in panel.text.value


def test_nothing_to_choose_is_named(tmp_path):
    paths = machine_of((), 1, n1=("DOWN",)).save(tmp_path)
    with pytest.raises(ValueError, match="0 nodes can be had, 16 deadlines; expected a node"):
        explore_advise(paths)
    paths = machine_of((), 1).save(tmp_path)
    with pytest.raises(ValueError, match="nodes_needed=2; expected a whole number from 1 to 1"):
        explore_advise(paths, nodes_needed=2)
    with pytest.raises(ValueError, match="1 deadlines; expected"):
        explore_advise(paths, within=0)
