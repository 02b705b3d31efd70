"""Figures that an explorer draws when its controls change."""


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
