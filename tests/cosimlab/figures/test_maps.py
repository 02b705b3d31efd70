"""Heat maps of tables have a cell per row, in place, in its color."""

import numpy as np
import pandas as pd
import pytest

from cosimlab.figures import caption, heat_map

TABLE = pd.DataFrame(
    {
        "nodes": [1, 1, 2, 2],
        "run_time": [3_600.0, 36_000.0] * 2,
        "jobs": [2, 40, 5, 1],
        "ratio": [10, 0.5, 100, 0.1],
    }
)
AXES = {"x": "run_time", "y": "nodes", "value": "ratio"}


def test_cells_of_logarithmic_axes_end_where_the_next_begin():
    """The last one is as wide as the one before it. Colors are logarithms of the ratios."""
    limits = {"diverging_at": 1, "limits": (0.001, 1_000)}
    heat, veil = heat_map(TABLE, **AXES, log="xy", seconds="x", count="jobs", **limits).data
    assert (list(heat.x), list(heat.y)) == ([3_600, 36_000, 360_000], [1, 2, 4])
    np.testing.assert_allclose(heat.z, [[1, np.log10(0.5)], [2, -1]], atol=1e-6)
    assert (heat.zmin, heat.zmax) == pytest.approx((-3, 3))
    np.testing.assert_allclose(veil.z, np.log10([[2, 40], [5, 1]]))
    assert heat.customdata[0, 1].tolist() == ["10 h", "1", 0.5, 40]


def test_other_cells_are_equally_wide_and_named_by_their_values():
    table = TABLE.assign(policy=["b", "a"] * 2)
    figure = heat_map(table, x="policy", y="nodes", value="ratio", title="T", labels={"nodes": "N"})
    assert figure.layout.xaxis.ticktext == ("b", "a"), "names keep the order of the table"
    assert list(figure.data[0].z[1]) == [100, 0.1]
    assert figure.layout.yaxis.title.text == "N" and figure.layout.title.text == "T"
    ordered = table.assign(policy=pd.Categorical(table["policy"], ["a", "b"]))
    figure = heat_map(ordered, x="policy", y="nodes", value="ratio")
    assert figure.layout.xaxis.ticktext == ("a", "b")


@pytest.mark.parametrize(
    ("values", "knobs", "ends"),
    [
        ([1, 2, 3, 4], {}, (1, 4)),
        ([0.5, 1, 1.1, 1.9], {"diverging_at": 1}, (-np.log10(2), np.log10(2))),
        ([0.5, 1, 1, 40], {"diverging_at": 1}, (-np.log10(50), np.log10(50))),
        ([-3, 0, 1, 2], {"diverging_at": 0}, (-3, 3)),
        ([1, 10, 100, 1_000], {"log": "z"}, (0, 3)),
        ([2, 2, 2, 2], {}, (1, 3)),
        ([0, 0, 0, 0], {"log": "z"}, (-1, 1)),
    ],
)
def test_colors_span_the_values_and_lie_around_a_middle(values, knobs, ends):
    heat = heat_map(TABLE.assign(ratio=values), **AXES, **knobs).data[0]
    assert (heat.zmin, heat.zmax) == pytest.approx(ends)


def test_values_beyond_the_limits_have_the_last_colors_and_ticks_say_so():
    heat = heat_map(TABLE, **AXES, log="z", limits=(1, 10)).data[0]
    assert heat.colorbar.ticktext[0] == "≤ 1" and heat.colorbar.ticktext[-1] == "≥ 10"
    assert heat.customdata[1, 0, 2] == 100, "one who points at a cell is told its own value"


def test_cells_without_a_value_are_gray_and_the_caption_says_so():
    figure = heat_map(TABLE.assign(ratio=[1, np.nan, 2, 3]), **AXES)
    assert figure.data[0].z[0][1] is None
    assert caption(figure) == ["Gray cells have no value."]
    left_out = heat_map(TABLE[:3], **AXES, count="jobs")
    assert caption(left_out)[0].endswith("Gray cells have no jobs.")
    nothing = heat_map(TABLE.assign(ratio=np.nan), **AXES)
    assert caption(nothing) == ["Nothing to draw: none of these cases has a value."]


def test_wrong_tables_are_named():
    with pytest.raises(ValueError, match=r"two rows have run_time=3600\.0 and nodes=1"):
        heat_map(TABLE.assign(run_time=3_600.0), **AXES)
    with pytest.raises(ValueError, match="no column 'gain'"):
        heat_map(TABLE, x="run_time", y="nodes", value="gain")
    with pytest.raises(ValueError, match=r"run_time=0\.0; expected above 0 on a logarithmic"):
        heat_map(TABLE.assign(run_time=[0.0, 1.0] * 2), **AXES, log="x")
