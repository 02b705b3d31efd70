"""Runs at paper scale, in parts that can be stopped and resumed: ``python -m papers.paper_scale``.

Each part takes at most an hour or two of processor time, prints what it does, and stores its
verdicts and the tables behind its figures when it is done. A part that was interrupted goes on
from the runs that it kept in `data/cache`. Names of parts on the command line run these alone.

The seeds and days of each part are those of the plan in the paper's folder: no more and no fewer.
"""

import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pandas as pd

from cosimlab.folders import checkout
from papers import hofmeyr2016, run, scorecard
from papers.claims import Claims
from papers.stored import history_path, keep_tables, store, stored_path

CACHE = checkout() / "data" / "cache" / "hofmeyr2016"


class Part(NamedTuple):
    """A part of the runs: about how many hours of processor time it takes, and what it does."""

    hours: float
    run: Callable[[], str]


def main() -> int:
    """Run the parts that are named, or all of them: 0, or 2 for a name that is none."""
    names = sys.argv[1:] or list(PARTS)
    unknown = [name for name in names if name not in PARTS]
    if unknown:
        print(f"paper-scale: no part {unknown[0]!r}; expected {', '.join(PARTS)}", file=sys.stderr)
        return 2
    for name in names:
        print(f"{name}: about {PARTS[name].hours:g} hours of processor time", flush=True)
        began = time.process_time()
        done = PARTS[name].run()
        print(f"{name}: {done}; {(time.process_time() - began) / 60:.1f} minutes here", flush=True)
    return 0


def _notebook(name: str, trace: str = "") -> str:
    """Run a notebook at paper scale, on its own log or another, and store its verdicts."""
    with tempfile.TemporaryDirectory() as folder:
        figures = Path(folder)
        notebook = checkout() / "notebooks" / f"{name}.ipynb"
        asked = [str(notebook), str(figures / name), "--scale=paper", f"--trace={trace}"]
        status = run.main(asked)
        if status:
            raise SystemExit(status)
        judged = pd.read_csv(figures / name / "claims.csv", dtype=str, keep_default_na=False)
        tables = keep_tables(figures / name, name, judged["data"].mode().iloc[0])
        return f"{scorecard.store_runs(figures)}, {tables} tables"


def _timesharing(*kinds: str) -> str:
    """Measure some kinds of runs of time-sharing, and store the verdicts that they decide."""
    plan = hofmeyr2016.plan("paper")
    runs = hofmeyr2016.measure({kind: plan[kind] for kind in kinds}, folder=CACHE, executor="cores")
    claims = Claims("3-timesharing", data=runs.data(kinds[0]))
    claims.judge(hofmeyr2016.samples(runs, some=True))
    table = claims.table()
    table = table[table["claim"].isin(claims.verdicts)]
    for span in {plan[kind].span for kind in kinds}:
        days = f"{span.days:g} days,"
        named = f"{days} of which {span.warm_up:g} do not count,"
        table = table.assign(data=table["data"].str.replace(days, named))
    stored = store(table, stored_path(), history_path())
    return f"{stored} claims of {', '.join(kinds)}"


PARTS: dict[str, Part] = {
    "1-eviction": Part(0.6, lambda: _notebook("1-eviction")),
    "2-coscheduling": Part(0.2, lambda: _notebook("2-coscheduling", "synthetic")),
    "3-batch": Part(0.3, lambda: _timesharing("batch", "noisy batch")),
    "3-sharing": Part(1.6, lambda: _timesharing("sharing")),
    "3-overheads": Part(1.0, lambda: _timesharing("overheads", "greatest overhead")),
    "4-filling": Part(0.1, lambda: _notebook("4-filling")),
    "5-elastic": Part(0.2, lambda: _notebook("5-elastic")),
    "6-ondemand": Part(1.0, lambda: _notebook("6-ondemand", "theta-2023-prod")),
    "7-nodes": Part(0.05, lambda: _notebook("7-nodes")),
}
"""The parts, in their order. Time-sharing under noise is none of them: it takes 3 hours a seed."""


if __name__ == "__main__":
    sys.exit(main())
