"""How long an explorer takes to follow a knob."""

import time


def least_seconds(panel, name, values):
    """Least wall-clock seconds of one change, where the control `name` takes `values` in turn."""
    took = []
    for value in values:
        begin = time.perf_counter()
        panel.controls[name].value = value
        took.append(time.perf_counter() - begin)
    return min(took)
