"""Explorer of the advice for a cluster: nodes needed, deadline, bandwidth, checkpoint intervals.

Controls of the number of nodes and of the deadline read the spectrum that is solved already and
solve one advice; those of bandwidths and intervals change the checkpoint model and solve all anew.
"""

import html
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from cosimlab.advise import Advice, CheckpointModel, Cluster, advise, read_cluster, read_model
from cosimlab.advise.advice import spectrum_of
from cosimlab.advise.text import jobs_table, title_of
from cosimlab.explorers.answer import Answer
from cosimlab.explorers.knobs import FACTORS, Knob, Settings, cached, in_minutes
from cosimlab.explorers.panel import Panel, explorer
from cosimlab.figures.eviction import plot_advice
from cosimlib.eviction.problem import ACTIONS, KEEP
from cosimlib.units import MINUTE

NO_MODEL = "no application of the model writes checkpoints, so that jobs can only be killed"
FIXED = "font-family: monospace; line-height: 1.4; white-space: pre; overflow-x: auto"
"""Of tables: pages outside of notebooks have no font for code, and break its lines."""


@explorer
def explore_advise(
    source: Cluster | str | Path | Sequence[str | Path],
    *,
    within: float = 15 * MINUTE,
    model: CheckpointModel | str | Path | None = None,
    partition: str | None = None,
    constraint: str | None = None,
    **settings: Any,
) -> Panel:
    """Explorer of advice: least loss for any number of nodes, and the jobs to stop.

    Parameters
    ----------
    source : Cluster, path or sequence of paths
        Saved output of ``squeue --json`` and ``sinfo --json``.
    within, model, partition, constraint
        As for `cosimlab.advise.advise`.
    **settings
        First values of the controls, see below.

    Returns
    -------
    Panel
        Its `controls` are `nodes_needed`, `deadline` (seconds), `bandwidth` and `interval` (factors
        on all bandwidths and intervals of the model).

    Other Parameters
    ----------------
    nodes_needed : int, optional
        By default a quarter of the nodes that can be had.
    deadline : float, optional
        Seconds, by default a third of the horizon.
    bandwidth, interval : float, default 1.0
        One of `knobs.FACTORS`.

    Raises
    ------
    ValueError
        As for `cosimlab.advise.advise`, and where no node can be had or there is one deadline only.

    Examples
    --------
    >>> import cosimlab as lab
    >>> panel = lab.explore_advise(["squeue.json", "sinfo.json"], nodes_needed=16)
    >>> panel.settings["nodes_needed"]
    16
    """
    if not isinstance(source, Cluster):
        paths = [source] if isinstance(source, str | Path) else source
        source = read_cluster(*paths)
    if not isinstance(model, CheckpointModel):
        model = CheckpointModel() if model is None else read_model(model)
    asked: dict[str, Any] = {"within": within, "partition": partition, "constraint": constraint}
    first = advise(1, source, model=model, **asked)
    most = max(choice.moment.reachable for choice in first.choices)
    if most < 1 or len(first.choices) == 1:
        raise ValueError(
            f"{source.name}: {most} nodes can be had, {len(first.choices)} deadlines; expected a "
            "node and a horizon of at least one step"
        )
    fixed = not any(each.checkpoint for each in model.applications)
    deadlines = first.deadlines.tolist()
    factor: dict[str, Any] = {
        "options": FACTORS,
        "named": "{:g}".format,
        "kind": "slider",
        "off_when": lambda now: NO_MODEL if fixed else "",
    }
    knobs = [
        Knob("nodes_needed", max(1, most // 4), "nodes needed", low=1, high=most, whole=True),
        Knob(
            "deadline",
            deadlines[len(deadlines) // 3],
            "deadline (min)",
            kind="slider",
            options=deadlines,
            named=in_minutes,
        ),
        Knob("bandwidth", 1.0, "write bandwidth ×", **factor),
        Knob("interval", 1.0, "checkpoint interval ×", **factor),
    ]

    def advised(now: Settings) -> Advice:
        scaled = model.scaled(bandwidth=now["bandwidth"], interval=now["interval"])
        return advise(now.get("nodes_needed", 1), source, model=scaled, **asked)

    answers = cached(advised, "nodes_needed", "bandwidth", "interval", size=64)
    losses = cached(lambda now: spectrum_of(advised(now)), "bandwidth", "interval")

    def draw(now: Settings) -> Answer:
        advice, deadline = answers(now), now["deadline"]
        picture = plot_advice(
            losses(now),
            nodes_needed=now["nodes_needed"],
            deadline=deadline,
            title=html.escape(title_of(advice, deadline)),
        )
        jobs = html.escape(jobs_table(advice, deadline))
        text = f"<pre style='{FIXED}'>{jobs}</pre>"
        numbers = _numbers(advice, deadline)
        return Answer(picture, text, (), numbers, lambda: _table(advice, deadline))

    return Panel(knobs, draw, settings)


def _numbers(advice: Advice, deadline: float) -> dict[str, float]:
    """What two plans are compared by; NaN where the nodes cannot be had."""
    choice = advice.choice(deadline)
    actions = choice.jobs()["action"]
    known = 1.0 if choice.possible else np.nan
    return {
        "lost (node-hours)": known * choice.loss,
        "nodes freed by stopping jobs": known * choice.freed,
        "jobs killed": known * (actions == "kill").sum(),
        "stopped by a checkpoint": known * (actions != "kill").sum(),
        "last checkpoint written after (s)": known * choice.ready,
        "nodes that can be had": float(choice.moment.reachable),
    }


def _table(advice: Advice, deadline: float) -> pd.DataFrame:
    """One row per job on nodes: its action, loss (node-hours), and when it stops (s)."""
    stopped = advice.choice(deadline).jobs().set_index("job")
    shown = ["job_id", "label", "user", "name", "partition", "state", "hosts", "run"]
    jobs = advice.cluster.jobs.reset_index(drop=True)[shown]
    table = jobs.join(stopped[["action", "loss", "stop", "begin", "end"]])
    return table.fillna({"action": ACTIONS[KEEP], "loss": 0.0})
