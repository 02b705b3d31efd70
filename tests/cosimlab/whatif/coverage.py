"""How often the intervals of a what-if hold the truth, on cells whose truth is known.

``python -m tests.cosimlab.whatif.coverage FOLDER [open|held-back]`` schedules the logs of
`truth.OPEN` or `truth.HELD_BACK`, asks `what_if` for every change, stores a row per cell and per
class of sizes in the folder, and prints the table of docs/what-if.md. It goes on where it stopped.
One process; the held-back cells take about five minutes of processor time, the open ones three.
"""

import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from cosimlab.whatif import WhatIf, answer, rules, what_if
from cosimlib.metrics import job_groups
from cosimlib.workload import Workload
from tests.cosimlab.whatif import truth

LISTS = {"open": truth.OPEN, "held-back": truth.HELD_BACK}
FEWEST = 200
"""Jobs of a class of sizes that counts."""

UNCHANGED = 0.1
"""On a log scale: more nodes that change the mean wait by less do not help."""


def cell_rows(folder: Path, name: str, scheduler: str) -> list[dict[str, Any]]:
    """A row per change, of all jobs and of each large class of sizes."""
    starts = truth.stored_starts(folder / "truth", name, scheduler)
    log = truth.log_of(name)
    jobs = log.jobs.assign(recorded_start=starts["same"])
    recorded, rows = replace(log, jobs=jobs), []
    for change, knobs in truth.CHANGES.items():
        if change in starts:
            if "without" in knobs:
                knobs = {"without": {"user": truth.largest_user(log)}}
            found = what_if(recorded, **knobs)
            key = {"log": name, "scheduler": scheduler, "change": change}
            rows += [key | row for row in _scored(recorded, found, starts[change])]
    return rows


def _scored(log: Workload, found: WhatIf, start_time: np.ndarray) -> list[dict[str, Any]]:
    """The answer beside the truth."""
    jobs = log.jobs
    before = (jobs["recorded_start"] - jobs["submit_time"]).to_numpy()
    after = start_time - jobs["submit_time"].to_numpy()
    stays = ~np.isnan(after)
    sizes = job_groups(log.keep(stays, "gone"), "size").to_numpy()
    table = found.table[found.table["statistic"] == "mean"]
    rows = []
    for row in table[table["by"].isin(["all", "size"])].to_dict("records"):
        chosen = (
            np.ones(int(stays.sum()), dtype=bool) if row["by"] == "all" else sizes == row["group"]
        )
        mean = float(before[stays][chosen].mean())
        if row["by"] == "size" and (row["jobs"] < FEWEST or mean < rules.LEAST_MEAN_WAIT):
            continue
        rows.append(
            {
                "by": row["by"],
                "group": row["group"],
                "answer": _kind(found),
                "reason": found.reason,
                "fit": found.fit,
                "wait": mean,
                "true": float(after[stays][chosen].mean()) / mean if mean else np.nan,
                "ratio": row["ratio"],
                "replayed": _replayed(found) if row["by"] == "all" else np.nan,
                "low": row["low"],
                "high": row["high"],
            }
        )
    return rows


def _replayed(found: WhatIf) -> float:
    """The ratio of mean waits, also where it is no answer."""
    means = found.waits.dropna()[["same", "changed"]].mean()
    return float(means["changed"] / means["same"]) if means["same"] else np.nan


def _kind(found: WhatIf) -> str:
    """Number, held, or the kind of reason for which there is none."""
    kinds = {
        "": found.reason == "",
        "held": "nodes were free" in found.reason,
        "fit": "same machine" in found.reason,
        "starvation": "starve" in found.reason,
    }
    return next((kind or "number" for kind, fine in kinds.items() if fine), "few wait")


def cells(folder: Path, which: str) -> pd.DataFrame:
    """All rows of a list of cells, computed once."""
    parts = []
    for name, schedulers in LISTS[which].items():
        for scheduler in schedulers:
            path = folder / "cells" / f"{name}-{scheduler}.csv"
            if not path.exists():
                path.parent.mkdir(parents=True, exist_ok=True)
                rows = pd.DataFrame(cell_rows(folder, name, scheduler))
                unfinished = path.with_suffix(".part")
                rows.to_csv(unfinished, index=False)
                unfinished.rename(path)
                print(name, scheduler, flush=True)
            parts.append(pd.read_csv(path))
    return pd.concat(parts, ignore_index=True)


def summary(table: pd.DataFrame, by: str) -> pd.DataFrame:
    """Cells, share without a number, coverage, error and width, by a column."""
    rows = []
    for name, part in [*table.groupby(by, sort=False), ("all", table)]:
        number = part[part["answer"] == "number"]
        error = _errors(number, "ratio")
        inside = (number["true"] >= number["low"]) & (number["true"] <= number["high"])
        width = number["high"] / number["low"]
        rows.append(
            {
                by: name,
                "cells": len(part),
                "held %": 100 * (part["answer"] == "held").mean(),
                "no answer %": 100 * (~part["answer"].isin(["number", "held"])).mean(),
                "coverage %": 100 * inside.mean(),
                "median error": error.abs().median(),
                "90 % error": error.abs().quantile(0.9),
                "bias": error.mean(),
                "median high ÷ low": width.median(),
            }
        )
    return pd.DataFrame(rows).round(2)


def _errors(part: pd.DataFrame, column: str) -> pd.Series:
    """Logarithm of a ratio ÷ the true one, of waits of which a minute is none."""
    minute = rules.NO_WAIT / part["wait"]
    return np.log((part[column] + minute) / (part["true"] + minute))


def main(folder: Path, which: str) -> None:
    """Compute what is missing, and print the tables."""
    answer.GROUPS = ("size",)  # others are not scored
    table = cells(folder, which)
    overall = table[table["by"] == "all"]
    print(overall["answer"].value_counts().to_string())
    for by in ("change", "scheduler", "log"):
        print(summary(overall, by).to_markdown(index=False))
    print(summary(table[table["by"] == "size"], "change").to_markdown(index=False))
    held = overall[(overall["answer"] == "held") & overall["change"].str.contains(r"\+")]
    same = np.log(held["true"]).abs() < UNCHANGED
    print(f"more nodes would not help: true of {same.sum()} of {len(held)}")
    overall = overall.assign(replayed=overall["replayed"].fillna(overall["ratio"]))
    overall = overall.assign(error=_errors(overall, "replayed").abs())
    kinds = overall.groupby("answer")["error"].describe(percentiles=[0.5, 0.9])
    print("errors of replays by the kind of answer, also of those that are withheld")
    print(kinds[["count", "50%", "90%"]].round(2).to_markdown())


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2] if len(sys.argv) > 2 else "open")
