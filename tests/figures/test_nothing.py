"""A sentence in the place of a figure."""

import pandas as pd

import cosimlib as cs


def test_says_why_there_is_nothing_to_draw():
    picture = cs.figures.plot_nothing("Figure 9", "no job of this log waits.")
    (note,) = picture.layout.annotations
    assert note.text == "Nothing to draw: no job of this log waits."
    assert picture.layout.title.text == "Figure 9" and not picture.layout.xaxis.visible


def test_long_sentence_is_broken_into_lines():
    (note,) = cs.figures.plot_nothing("T", "some words " * 20).layout.annotations
    assert max(map(len, note.text.split("<br>"))) <= 90


def test_is_published_like_any_figure():
    picture = cs.figures.plot_nothing("T", "no job")
    marked = cs.figures.Publisher("", "a log").publish(picture, "t", pd.DataFrame())
    assert [note.text for note in marked.layout.annotations][1] == "data: a log"
