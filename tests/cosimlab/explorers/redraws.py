"""Figures that an explorer draws when its controls change."""

from cosimlab.explorers.knobs import same


def redraws(panel, name, values) -> list[int]:
    """Figures drawn per change, where the control `name` takes `values` in turn."""
    drawn = []
    draw = panel._draw

    def counted(now):
        drawn[-1] += 1
        return draw(now)

    panel._draw = counted
    for value in values:
        drawn.append(0)
        panel.controls[name].value = value
    panel._draw = draw
    return drawn


def assert_draws(panel, picture) -> None:
    """The panel shows the traces and the title of a picture."""
    shown = panel.picture
    for one, other in zip(shown.data, picture.data, strict=True):
        assert same(one.to_plotly_json(), other.to_plotly_json()), one.name
    assert shown.layout.title.text == picture.layout.title.text
