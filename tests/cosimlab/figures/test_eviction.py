"""The surface of losses is the spectrum's."""

import numpy as np
import pytest

from cosimlab.figures import caption
from cosimlab.figures.eviction import LARGEST_HEIGHT, plot_trade_off, surface_table
from cosimlib.eviction import solve_dynamic, solve_spectrum
from cosimlib.eviction.scenarios import scaled_problem


@pytest.fixture(scope="module")
def problem():
    return scaled_problem(8, 1000, needed=0.5, seed=4)


def test_the_surface_is_the_spectrum(problem):
    spectrum = solve_spectrum(problem)
    table = surface_table(spectrum)
    assert len(table) == LARGEST_HEIGHT + 1 and table.index[-1] == problem.total_nodes
    np.testing.assert_allclose(table, spectrum.loss[table.index], atol=0.051)
    plan = solve_dynamic(problem)
    figure = plot_trade_off(spectrum, plan, 120.0, title="S")
    heat, point, *jobs, contours = figure.data
    np.testing.assert_array_equal(heat.customdata, table)
    lost = table.to_numpy() >= 1
    np.testing.assert_allclose(heat.z[lost], np.log10(table.to_numpy()[lost]), atol=1e-4)
    assert (heat.z[~lost] < 0).all() and heat.zmin == 0 and heat.colorbar.ticktext[0] == "≤ 1"
    np.testing.assert_array_equal(contours.z, heat.z)
    assert (contours.contours.start, contours.contours.size) == (0, 1)
    assert (point.x[0], point.y[0]) == (2, problem.nodes_needed)
    assert "black lines are contours" in caption(figure)[0]
    held = np.array([bar.x for bar in jobs])
    np.testing.assert_array_equal(held.sum(axis=0), problem.jobs["nodes"])
    assert ((held > 0).sum(axis=0) == 1).all(), "every job has one color"
    evicted = sum(bar.x.sum() for bar in jobs if bar.name != "left running")
    assert evicted == plan.nodes_freed[plan.row(120.0)]
