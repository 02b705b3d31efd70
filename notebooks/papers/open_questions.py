"""Three questions that the papers leave open: ``python -m papers.open_questions``.

1. At which load, and with which jobs' memory, does time-sharing break down?
2. Evict, shrink, share nodes, or reserve nodes and fill them: which gets most work done, by rate
   and size of bursts and by the file system's bandwidth, on several logs?
3. What would it be worth to LIFO to know how long jobs still run?

The tables are written into `docs/open-questions.md`, each below the line that names it. Names of
questions as arguments (``memory bursts lifo``) renew only these. Intervals are Student's, at 95 %,
over seeds.
"""

import sys
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
import pandas as pd

from cosimlab.comparison.ondemand import compare_ondemand
from cosimlab.folders import checkout
from cosimlab.sweep import sweep
from cosimlab.twins.edison import EDISON
from cosimlib.display import percent
from cosimlib.elastic import execution_states, least_waste
from cosimlib.files import write_whole
from cosimlib.metrics import mean_interval
from cosimlib.ondemand import Reserve
from cosimlib.schedule import Schedule
from cosimlib.system import THETA
from cosimlib.traces import find_trace
from cosimlib.units import HOUR, MINUTE
from papers import duplyakin2017 as cloud
from papers.bursts import experiment as bursts
from papers.claims import Rule, interval
from papers.hofmeyr2016 import experiment as sharing

PAGE = "docs/open-questions.md"

# --- time-sharing: memory and load --------------------------------------------------------------

LOADS = (0.7, 0.8, 0.89, 0.95)
SPAN = sharing.Span(42, 7, EDISON.total_nodes // 8)
MEMORY = {
    "batch scheduling": sharing.BATCH,
    "time-sharing, memory unlimited": sharing.UNLIMITED,
    "the longest jobs need 60 %": sharing.SHARED,
    "any tenth of the jobs needs 60 %": "time-sharing (memory: tenth)",
    "spread as on UniLu-Gaia": "time-sharing (memory: UniLu-Gaia)",
}


def memory() -> pd.DataFrame:
    """Mean slowdown, and the share of jobs that wait, by which jobs need memory and by load."""
    grid = {"policy": list(MEMORY.values()), "load": list(LOADS)}
    found = sweep(_slowdown, grid, range(5), executor="cores", errors="raise")
    cells = found.groupby(["policy", "load"]).apply(_slowdown_in_words, include_groups=False)
    table = cells.unstack("load").reindex(list(MEMORY.values())).set_axis(list(MEMORY))  # noqa: PD010
    return table.rename(columns=lambda load: f"load {load:g}").rename_axis("memory")


def _slowdown(policy: str, load: float, seed: int) -> dict[str, float]:
    """One run's mean slowdown, and the share of its jobs that wait."""
    run = sharing.simulate(SPAN, sharing.Run(policy), seed, load=load)
    return {"slowdown": run.mean_slowdown, "waited": run.waited}


def _slowdown_in_words(part: pd.DataFrame) -> str:
    """The geometric mean with its interval, and the share of jobs that wait."""
    mean, low, high = interval(Rule("geometric mean"), part["slowdown"])
    return f"{mean:.3g} ({low:.3g} to {high:.3g}), {percent(part['waited'].mean(), 1)}"


# --- bursts: which answer -----------------------------------------------------------------------

LOGS = ("theta-2023-prod", "CEA-Curie", "KTH-SP2")
WAYS: dict[str, dict[str, Any]] = {
    "evict": {"policy": "dynamic_blocked"},
    "shrink": bursts.FAN["N & SPAA"],
    "share": {"policy": "share"},
    "reserve": {},
}
RATES, SIZES, SPEEDS = (1.0, 4.0, 12.0), (0.125, 0.5), (0.25, 1.0, 4.0)


def answers() -> pd.DataFrame:
    """The answer to bursts that gets most work done, by log, rate, size and bandwidth."""
    here = [log for log in LOGS if find_trace(log)] or ["synthetic"]
    rows = [_answers(*case) for case in product(here, RATES, SIZES)]
    return pd.DataFrame(rows).set_index("log")


def _answers(log: str, rate: float, size: float) -> dict[str, Any]:
    """The best answers to one stream of bursts, by the file system's bandwidth."""
    study = bursts.prepare(
        trace=log,
        scale="quick",
        seed=0,
        seeds=5,
        bandwidth=1.0,
        rate=rate,
        share=size,
        run_time=HOUR,
        longest_delay=15 * MINUTE,
    )
    row = {"log": log, "bursts per day": f"{rate:g}", "nodes of a burst": percent(size, 1)}
    ways = {name: {**knobs, "start_up": bursts.START_UP} for name, knobs in WAYS.items()}
    ways["reserve"]["policy"] = Reserve(study.stream["nodes"])
    per_node = THETA.aggregate_bandwidth / THETA.total_nodes * study.machine.total_nodes
    for speed in SPEEDS:
        machine = replace(study.machine, aggregate_bandwidth=speed * per_node)
        runs = compare_ondemand(
            study.workload,
            machine,
            ways,
            {"bursts": study.stream},
            study.seeds,
            redrawn=study.redrawn,
            executor="cores",
        )
        row[f"bandwidth × {speed:g}"] = _best(runs.assign(work=runs["kept"] + runs["filled"]))
    means = runs.groupby("policy")[["missed", "slowdown"]].mean()
    slower = means.loc["reserve", "slowdown"] / means.loc["evict", "slowdown"]
    missed = percent(means.loc["reserve", "missed"], 0)
    return row | {"reserve misses": missed, "its slowdown": f"× {float(f'{slower:.2g}'):,g}"}


def _best(runs: pd.DataFrame) -> str:
    """The answer of most work among those that serve bursts, and what seeds do not tell from it."""
    means = runs.groupby("policy")[["work", "missed", "stretch"]].mean()
    served = (means["missed"] <= bursts.MOST_MISSED) & (means["stretch"] <= bursts.MOST_STRETCH)
    if not served.any():
        return "none"
    best = str(means.loc[served, "work"].idxmax())
    others = bursts.paired_table(runs[runs["policy"].map(served)], "work", against=best)
    tied = others.loc[others["distinct"] != "yes", "policy"]
    return ", ".join([f"**{best}** {percent(means.loc[best, 'work'], 1)}", *tied])


# --- elastic partitions: what residual life is worth --------------------------------------------

EVERY = 40
"""Of so many states one is asked."""
GRACE = (1 * MINUTE, 30 * MINUTE, 2 * HOUR, 6 * HOUR)
ERRORS = {
    "not known": None,
    "within × 7.4": 2.0,
    "within × 2.7": 1.0,
    "within × 1.6": 0.5,
    "known": 0.0,
}
"""How well LIFO knows the time that jobs have left: the deviation of its logarithm."""


def residual_life() -> pd.DataFrame:
    """Node-hours that LIFO wastes on PEREGRINE by how well it knows jobs' residual life."""
    setting, inputs = cloud.Setting(), cloud.paper_inputs()
    wasted: dict[str, list[list[float]]] = {}
    for seed in range(20):
        schedule = cloud.simulate(inputs.draw(seed=seed), setting).peregrine
        for words, error in ERRORS.items():
            wasted.setdefault(f"LIFO, {words}", []).append(lifo_waste(schedule, error, seed=seed))
        for known, words in enumerate(("not known", "known")):
            at = execution_states(schedule)[::EVERY]
            least = least_waste(schedule, known_ends=bool(known), grace_periods=GRACE, moments=at)
            wasted.setdefault(f"optimum, {words}", []).append((least.mean() / HOUR).tolist())
    rows = {
        words: [_in_words(values) for values in zip(*each, strict=True)]
        for words, each in wasted.items()
    }
    columns = [f"grace {period / MINUTE:g} min" for period in GRACE]
    return pd.DataFrame(rows, index=columns).T.rename_axis("residual life")


def lifo_waste(
    schedule: Schedule,
    error: float | None,
    *,
    preempted: int = 10,
    seed: int = 0,
    every: int = EVERY,
) -> list[float]:
    """Mean node-hours that LIFO wastes per grace period, at every so many states.

    Jobs are taken from the latest start on; those that LIFO expects to end within the grace period
    come first. `error` is the deviation of the logarithm of the residual life that it expects; None
    where it expects nothing.
    """
    jobs, rng = schedule.workload.jobs, np.random.default_rng(seed)
    start, end = schedule.start_time, schedule.end_time
    nodes = jobs["nodes"].to_numpy()
    off = np.exp((error or 0.0) * rng.standard_normal(nodes.size))
    states, total = execution_states(schedule)[::EVERY], np.zeros(len(GRACE))
    for now in states:
        running = np.flatnonzero((start <= now) & (now < end))
        wanted = preempted - (schedule.total_nodes - nodes[running].sum())
        for place, period in enumerate(GRACE):
            left = end[running] - now
            ends = (left * off[running] < period) & (error is not None)
            order = np.lexsort((-start[running], ~ends))
            before = nodes[running][order].cumsum() - nodes[running][order]
            taken = order[before < wanted]
            killed = running[taken][left[taken] >= period]
            total[place] += ((now - start[killed] + period) * nodes[killed]).sum()
    return (total / max(len(states), 1) / HOUR).tolist()


def _in_words(values: tuple[float, ...]) -> str:
    """A mean with its interval."""
    return "{:.1f} ({:.1f} to {:.1f})".format(*mean_interval(values))


# --- the page -----------------------------------------------------------------------------------

QUESTIONS = {"memory": memory, "bursts": answers, "lifo": residual_life}


def main() -> None:
    """Answer the questions that are asked for, or all, and write the tables into the page."""
    path = checkout() / PAGE
    for name in sys.argv[1:] or QUESTIONS:
        table = _markdown(QUESTIONS[name]().reset_index())
        text = path.read_text(encoding="utf-8")
        mark = f"<!-- {name}: written by python -m papers.open_questions -->\n\n"
        before, _, after = text.partition(mark)
        rest = after.partition("\n\n")[2] if after.startswith("|") else after
        write_whole(path, f"{before}{mark}{table}\n\n{rest}".encode())
        print(table, flush=True)


def _markdown(table: pd.DataFrame) -> str:
    """A table as GitHub shows it."""
    head = [table.columns, ["---"] * table.shape[1]]
    return "\n".join(f"| {' | '.join(row)} |" for row in [*head, *table.to_numpy()])


if __name__ == "__main__":
    main()
