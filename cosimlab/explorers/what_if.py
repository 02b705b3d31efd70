"""Explorer of another machine: more or fewer nodes and a run-time limit, by a log's own record.

Every control asks `cosimlab.what_if` again, which replays the record. Where it has no number, the
explorer has none either, and says why.
"""

from dataclasses import replace
from typing import Any

import numpy as np

from cosimlab.explorers.answer import Answer
from cosimlab.explorers.knobs import Knob, Settings, cached
from cosimlab.explorers.panel import Panel, explorer
from cosimlab.figures.what_if import plot_winners
from cosimlab.whatif import WhatIf, what_if
from cosimlib import checks as check
from cosimlib import synthetic
from cosimlib.batch import simulate_first_fit
from cosimlib.display import durations
from cosimlib.schedule import Schedule
from cosimlib.system import System
from cosimlib.units import HOUR
from cosimlib.workload import Workload

NO_LIMIT = 0.0
LIMITS = (NO_LIMIT, 168.0, 96.0, 72.0, 48.0, 24.0, 12.0, 6.0, 3.0, 1.0)
"""Hours after which a job is cut, and restarts."""

FEWEST = -25.0
"""Percent by which the nodes may be changed, at least."""

LOAD, USERS = 0.75, 12


@explorer
def explore_what_if(
    source: Workload | Schedule | None = None,
    system: System | None = None,
    *,
    jobs: int = 4000,
    seed: int = 0,
    **settings: Any,
) -> Panel:
    """Explorer of another machine: waits by size as recorded and expected, winners and losers.

    Parameters
    ----------
    source : Workload or Schedule, optional
        A log with recorded starts; by default jobs of `synthetic.lublin` under first fit.
    system : System, optional
        By default the source's own machine.
    jobs : int, default 4000
        How many are made where no source is given.
    seed : int, default 0
        Of made jobs, and of the weeks that intervals draw anew.
    **settings
        First values of the controls, see below.

    Returns
    -------
    Panel
        Its `controls` are `nodes` and `limit`.

    Other Parameters
    ----------------
    nodes : float, default 10.0
        Percent of the nodes that are added; below 0 those taken away.
    limit : float, default 0.0
        One of `LIMITS`, in hours: longer jobs are cut, and restart; 0 is no limit.

    Raises
    ------
    ValueError
        If the starts or the machine of a source are unknown, or a setting is out of range.

    Examples
    --------
    >>> import cosimlab as lab
    >>> panel = lab.explore_what_if(jobs=800, nodes=25)
    >>> panel.settings["nodes"]
    25.0
    """
    check.whole("jobs", jobs, 1)
    log = _made(jobs, seed) if source is None else source
    knobs = [
        Knob("nodes", 10.0, "nodes, percent more", low=FEWEST, high=50, step=5),
        Knob("limit", NO_LIMIT, "run-time limit", LIMITS, kind="slider", named=_hours),
    ]

    def asked(now: Settings) -> WhatIf:
        limit = now["limit"] * HOUR if now["limit"] else None
        nodes = f"{now['nodes']:+.0f}%"
        return what_if(log, nodes=nodes, limit=limit, system=system, seed=seed)

    answers = cached(asked, "nodes", "limit", size=64)

    def draw(now: Settings) -> Answer:
        answer = answers(now)
        picture = plot_winners(answer, title=_title(now, answer))
        return Answer(picture, [answer.sentence], answer.notes, _numbers(answer), answer.table.copy)

    return Panel(knobs, draw, settings)


def _made(jobs: int, seed: int) -> Schedule:
    """Jobs of some users as first fit would have recorded them."""
    made = synthetic.with_estimates(synthetic.lublin(jobs, load=LOAD, seed=seed), seed=seed)
    users = np.random.default_rng(seed).zipf(1.5, jobs) % USERS
    named = made.jobs.assign(user=[str(number + 1) for number in users])
    machine = check.machine(made.machine, made.name)
    # A machine with a quarter fewer nodes still runs them all.
    fits = made.jobs["nodes"] <= (1 + FEWEST / 100) * machine.total_nodes
    workload = replace(made, jobs=named).keep(fits.to_numpy(), "wider than three quarters")
    return simulate_first_fit(workload, machine)


def _hours(limit: float) -> str:
    """The name of a limit."""
    return f"{limit:g} h" if limit else "none"


def _title(now: Settings, answer: WhatIf) -> str:
    """The change in few words, and the effect on the mean wait or that there is no number."""
    change = f"{now['nodes']:+.0f} % nodes".replace("-", "−")
    if now["limit"]:
        change += f", limit {_hours(now['limit'])}"
    if answer.reason:
        return f"{change}: no number"
    row = answer.table.iloc[0]
    before, after = durations(row["recorded"], row["expected"])
    return f"{change}: mean wait {after}, recorded {before}"


def _numbers(answer: WhatIf) -> dict[str, float]:
    """What two changes are compared by; NaN where there is no number."""
    row = answer.table.iloc[0]
    return {
        "mean wait, recorded (h)": float(row["recorded"]) / HOUR,
        "mean wait, expected (h)": float(row["expected"]) / HOUR,
        "ratio": float(row["ratio"]),
        "ratio, low end of 90 %": float(row["low"]),
        "ratio, high end of 90 %": float(row["high"]),
        "jobs too wide": float(len(answer.too_wide)),
    }
