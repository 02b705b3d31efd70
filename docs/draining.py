"""Numbers and picture of "Drain or evict?" in docs/calendar.md: ``python -m docs.draining``.

Prints the tables and writes docs/draining.png. Needs the log of Theta in 2023, in the folder that
``COSIMLIB_TRACES`` names, and a Chromium.
"""

import os
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd

import cosimlab as lab
import cosimlib as cs
from cosimlab.comparison import mean_costs
from cosimlib.system import THETA
from cosimlib.units import DAY, HOUR, WEEK

FOLDER = Path(__file__).parent
LOG = "theta-2023-prod.swf.gz"
RANDOM, LENGTH = 100, 3 * HOUR
"""Windows at random instants, and their length (s)."""

INTERVALS = {"checkpoints every hour": HOUR, "no checkpoints of their own": 1e9}
VARIANTS = {"one hour late": {"horizon": HOUR}, "four weeks before": {"stretch": 4 * WEEK}}
"""Other settings, on the log's own windows."""

ACTIONS = {"evicted by plan": "cost", "killed": "cost_killed"}


def main() -> None:
    """Measure, print and draw."""
    folder = Path(os.environ.get("COSIMLIB_TRACES", "data/traces"))
    workload = cs.load_trace(folder / LOG, verbose=False)
    calendar = cs.Calendar(lab.closures(workload))
    parts = {
        f"Its {len(calendar)} windows": calendar,
        f"{RANDOM} random windows of three hours": random_windows(workload, calendar),
    }
    lines = []
    for panel, windows in parts.items():
        for checkpoints, interval in INTERVALS.items():
            table = costs(workload, windows, calendar, interval)
            for action, column in ACTIONS.items():
                means = mean_costs(table, cost=column)
                print(f"{panel}, {checkpoints}, {action}")
                print(means.round(0).astype(int).to_string(index=False), "\n")
                lines.append(means.assign(panel=panel, line=f"{checkpoints}; {action}"))
    for name, knobs in VARIANTS.items():
        for checkpoints, interval in INTERVALS.items():
            print(f"{name}, {checkpoints}")
            means = mean_costs(costs(workload, calendar, calendar, interval, **knobs))
            print(means[["notice", "mean", "low", "high"]].round(0).astype(int).to_string(), "\n")
    write_picture(pd.concat(lines))


def costs(
    workload: cs.Workload,
    windows: cs.Calendar,
    calendar: cs.Calendar,
    interval: float,
    **knobs: float,
) -> pd.DataFrame:
    """Costs by window, notice and seed; with those of killing instead of evicting by plan."""
    system = replace(
        workload.machine,
        memory_per_node=THETA.memory_per_node,
        aggregate_bandwidth=THETA.aggregate_bandwidth,
        node_bandwidth=THETA.node_bandwidth,
    )
    table = lab.drain_or_evict(
        workload, windows, calendar=calendar, system=system, interval=interval, **knobs
    )
    return table.assign(cost_killed=table["idle"] + table["killed"])


def random_windows(workload: cs.Workload, calendar: cs.Calendar) -> cs.Calendar:
    """Windows at random instants, more than a day from those of the log."""
    rng, (first, last) = np.random.default_rng(0), workload.jobs["submit_time"].iloc[[0, -1]]
    own = calendar.windows
    start: list[float] = []
    while len(start) < RANDOM:
        moment = float(np.floor(rng.uniform(first + 14 * DAY, last)))
        if not ((own["start"] - DAY < moment + LENGTH) & (moment < own["end"] + DAY)).any():
            start.append(moment)
    begins = np.sort(start)
    return cs.Calendar({"start": begins, "end": begins + LENGTH})


def write_picture(means: pd.DataFrame) -> None:
    """Costs over the hours of notice, with intervals."""
    picture = lab.figures.lines(
        means,
        x="notice",
        y="mean",
        line="line",
        panel="panel",
        band=("low", "high"),
        labels={"notice": "Notice (h)", "mean": "Node-hours per window"},
        title="What a window costs on Theta, by the notice of it",
    )
    picture.update_layout(title={"y": 0.98, "yanchor": "top"}, margin={"t": 60})
    picture.write_image(FOLDER / "draining.png", width=1200, height=500)


if __name__ == "__main__":
    main()
