"""How often the intervals of a what-if hold the truth, on cells whose truth is known.

``python -m tests.cosimlab.whatif.coverage FOLDER [open|held-back]`` schedules the logs of
`truth.OPEN` or `truth.HELD_BACK`, asks `what_if` for every change, stores a row per cell, per pair
of changes and per class of sizes in the folder, and prints the tables of docs/what-if.md. It goes
on where it stopped. Rows of cells and pairs are also stored in `STORED`, from which a test counts
what answers say of themselves (`cosimlab.whatif.evidence`).

One process; either list takes six to nine minutes of processor time.
"""

import sys
from dataclasses import replace
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from cosimlab.whatif import WhatIf, answer, compare_answers, rules, what_if
from cosimlab.whatif.reasons import HELD as IS_HELD
from cosimlab.whatif.reasons import NO_HELP
from cosimlib.metrics import job_groups
from cosimlib.units import DAY
from cosimlib.workload import Workload
from tests.cosimlab.whatif import truth
from tests.suites import ROOT

LISTS = {"open": truth.OPEN, "held-back": truth.HELD_BACK}
HELD = (IS_HELD, NO_HELP)
FEWEST = 200
"""Jobs of a class of sizes that counts."""

STORED = ROOT / "tests" / "data" / "what-if"
COLUMNS = ["log", "days", "scheduler", "change", "by", "answer", "fit", "strict", "wait", "true"]
COLUMNS += ["ratio", "low", "high"]
"""Columns of the stored rows: days of the log, waits in seconds, ratios of mean waits."""

UNCHANGED = 0.1
"""On a log scale: more nodes that change the mean wait by less do not help."""


def cell_rows(folder: Path, name: str, scheduler: str) -> list[dict[str, Any]]:
    """A row per change, of all jobs and of each large class of sizes."""
    starts = truth.stored_starts(folder / "truth", name, scheduler)
    log = truth.log_of(name)
    jobs = log.jobs.assign(recorded_start=starts["same"])
    recorded, rows, answers = replace(log, jobs=jobs), [], {}
    key = {"log": name, "scheduler": scheduler}
    for change, knobs in truth.CHANGES.items():
        if change in starts:
            found = what_if(recorded, **_knobs(log, change, knobs))
            scored = _scored(recorded, found, starts[change])
            rows += [key | {"change": change} | row for row in scored]
            answers[change] = found, _effect(scored[0], "true")
    return rows + [key | row for row in _pairs(answers)]


def _knobs(log: Workload, change: str, knobs: dict[str, Any]) -> dict[str, Any]:
    """Arguments of `what_if` for a change of a log."""
    if change == "without a user":
        return {"without": {"user": truth.largest_user(log)}}
    return {"limit": truth.limit_of(log)} if change == "limit" else knobs


def _pairs(answers: dict[str, tuple[WhatIf, float]]) -> list[dict[str, Any]]:
    """A row per pair of changes that have a number: how their effects compare, and did."""
    rows = []
    known = {name: each for name, each in answers.items() if each[0].why is None}
    for (one, (left, true)), (other, (right, other_true)) in combinations(known.items(), 2):
        found = compare_answers(left, right)
        row = {"change": f"{one}, {other}", "by": "pair", "group": "pair", "answer": "number"}
        row |= {"fit": left.fit, "strict": left.strict, "true": np.exp(true - other_true)}
        rows.append(row | found._asdict())
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
                "answer": found.kind or "number",
                "fit": found.fit,
                "strict": found.strict,
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
    return pd.concat(parts, ignore_index=True).fillna({"wait": np.inf})


def store(table: pd.DataFrame, which: str) -> None:
    """Write the rows of cells and pairs into the project."""
    STORED.mkdir(exist_ok=True)
    days = {name: np.ptp(truth.log_of(name).jobs["submit_time"]) / DAY for name in LISTS[which]}
    rows = table.assign(days=table["log"].map(days)).loc[table["by"] != "size", COLUMNS]
    rows.to_csv(STORED / f"{which}.csv", index=False, float_format="%.5g")


def stored(which: str) -> pd.DataFrame:
    """The rows of cells and pairs that are in the project."""
    return pd.read_csv(STORED / f"{which}.csv")


def summary(table: pd.DataFrame, by: str) -> pd.DataFrame:
    """Cells, share without a number, coverage, error and width, by a column."""
    rows = []
    for name, part in [*table.groupby(by, sort=False), ("all", table)]:
        number = part[part["answer"] == "number"]
        error = errors_of(number, "ratio")
        inside = holds(number)
        width = number["high"] / number["low"]
        rows.append(
            {
                by: name,
                "cells": len(part),
                "held %": 100 * part["answer"].isin(HELD).mean(),
                "no answer %": 100 * (~part["answer"].isin(["number", *HELD])).mean(),
                "coverage %": 100 * inside.mean(),
                "median error": error.abs().median(),
                "90 % error": error.abs().quantile(0.9),
                "bias": error.mean(),
                "median high ÷ low": width.median(),
            }
        )
    return pd.DataFrame(rows).round(2)


def holds(number: pd.DataFrame) -> pd.Series:
    """Whether the interval of each row holds the truth."""
    return (number["true"] >= number["low"]) & (number["true"] <= number["high"])


def errors_of(part: pd.DataFrame, column: str) -> pd.Series:
    """Logarithm of a ratio ÷ the true one, of waits of which a minute is none."""
    return _effect(part, column) - _effect(part, "true")


def _effect(rows: Any, column: str) -> Any:
    """Logarithm of a ratio of mean waits of which a minute is none."""
    minute = rules.NO_WAIT / rows["wait"]
    return np.log((rows[column] + minute) / (1 + minute))


def no_help(overall: pd.DataFrame) -> tuple[int, int]:
    """Answers that more nodes would not help: those that were true, and all."""
    said = overall[overall["answer"] == NO_HELP]
    return int((np.log(said["true"]).abs() < UNCHANGED).sum()), len(said)


def ordered(pairs: pd.DataFrame) -> tuple[int, int]:
    """Pairs whose interval says which change is better: those in which it was, and all."""
    first, second = pairs["high"] < 1, pairs["low"] > 1
    right = (first & (pairs["true"] < 1)) | (second & (pairs["true"] > 1))
    return int(right.sum()), int((first | second).sum())


def main(folder: Path, which: str) -> None:
    """Compute what is missing, and print the tables."""
    answer.GROUPS = ("size",)  # others are not scored
    table = cells(folder, which)
    store(table, which)
    overall = table[table["by"] == "all"]
    print(overall["answer"].value_counts().to_string())
    for by in ("change", "scheduler", "log"):
        print(summary(overall, by).to_markdown(index=False))
    print(summary(table[table["by"] == "size"], "change").to_markdown(index=False))
    print(summary(table[table["by"] == "pair"], "change").to_markdown(index=False))
    print("pairs in order: {} of {}".format(*ordered(table[table["by"] == "pair"])))
    true, of = no_help(overall)
    print(f"more nodes would not help: true of {true} of {of}")
    overall = overall.assign(replayed=overall["replayed"].fillna(overall["ratio"]))
    overall = overall.assign(error=errors_of(overall, "replayed").abs())
    kinds = overall.groupby("answer")["error"].describe(percentiles=[0.5, 0.9])
    print("errors of replays by the kind of answer, also of those that are withheld")
    print(kinds[["count", "50%", "90%"]].round(2).to_markdown())


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2] if len(sys.argv) > 2 else "open")
