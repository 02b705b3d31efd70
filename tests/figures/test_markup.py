"""Names of logs are text in figures and the explorers' lines, whatever they hold."""

import dataclasses
import json

import numpy as np
import pandas as pd
import plotly.graph_objects as go
import pytest

import cosimlib as cs
from cosimlib.figures.markup import plain
from cosimlib.figures.publishing import Publisher

ATTACK = "<img src=x onerror=\"document.title='run'\"></script><script>run()</script><a href='x'>"
TEXT = ATTACK.replace("<", "&lt;")


def test_foreign_markup_is_text_in_every_part_of_a_figure():
    figure = go.Figure(go.Bar(x=np.array([ATTACK, "a<br>b"], dtype=object), y=[1, 2], name=ATTACK))
    figure.add_table(header={"values": [f"<b>{ATTACK}</b>"]}, cells={"values": [[ATTACK, 1.5]]})
    figure.update_layout(title=f"{ATTACK}<br>a < b <5 &lt;", template="plotly_white")
    figure.add_annotation(text=ATTACK)
    before = figure.to_json()
    drawn = plain(figure)
    assert figure.to_json() == before
    assert list(drawn.data[0].x) == [TEXT, "a<br>b"] and drawn.data[0].name == TEXT
    assert drawn.data[1].header["values"][0] == f"<b>{TEXT}</b>"
    assert list(drawn.data[1].cells["values"][0]) == [TEXT, 1.5]
    assert drawn.layout.title.text == f"{TEXT}<br>a < b <5 &lt;"
    assert drawn.layout.annotations[0].text == TEXT
    assert plain(drawn) is drawn


def test_what_is_published_names_the_data_in_text(tmp_path):
    publish = Publisher(tmp_path, ATTACK, paper=ATTACK).publish
    numbers = pd.DataFrame({"y": [1]})
    figure = publish(go.Figure(go.Bar(y=[1], name=ATTACK)), "a", numbers, note=f"of {ATTACK}")
    published = json.loads((tmp_path / "a.json").read_text())
    assert published == json.loads(figure.to_json())
    assert published["data"][0]["name"] == TEXT
    assert all("&lt;img" in note["text"] for note in published["layout"]["annotations"])
    page = (tmp_path / "a.html").read_text()
    assert "<img" not in page and page.count("<script") == page.count("</script>")


@pytest.mark.parametrize("name", ["batch", "filling"])
def test_explorers_tell_the_log_in_text(name):
    explore = pytest.importorskip("cosimlib.explorers")
    workload = dataclasses.replace(cs.synthetic.theta(1, seed=1), name=ATTACK)
    panel = getattr(explore, f"explore_{name}")(workload, workload.machine)
    assert "<img" not in panel.text.value and "&lt;img" in panel.text.value
