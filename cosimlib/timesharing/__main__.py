"""Write the numbers of paper scale anew (``python -m cosimlib.timesharing``).

At paper scale that takes most of an hour on two cores; summaries of runs are kept under
``data/cache``, so that what was interrupted goes on from there. With ``--kinds`` only some kinds of
runs are made, always time-sharing without noise ("shared"), and the table's other rows stay::

    python -m cosimlib.timesharing --kinds shared most_taxed
"""

import argparse
from collections.abc import Sequence
from pathlib import Path

from cosimlib.claims import statements_path
from cosimlib.files import write_whole
from cosimlib.timesharing.experiment import SCALES, Jobs, Seeds, measure
from cosimlib.timesharing.paper_scale import in_place, paper_table, read_paper_scale
from cosimlib.timesharing.runs import project_cache


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, judge and write the table, by default `data/paper-scale.csv`."""
    parser = argparse.ArgumentParser(
        prog="python -m cosimlib.timesharing",
        description="Judge the claims about time-sharing on a scale's runs; write their numbers.",
    )
    parser.add_argument("--scale", choices=SCALES, default="paper")
    parser.add_argument("--seed", type=int, default=0, help="the first (default: 0)")
    parser.add_argument(
        "--kinds", nargs="+", choices=Seeds._fields, default=Seeds._fields, metavar="KIND",
        help=f"of runs: some of {', '.join(Seeds._fields)} (default: all); other rows stay",
    )  # fmt: skip
    parser.add_argument("--output", type=Path, help="a CSV file (default: the package's table)")
    chosen = parser.parse_args(arguments)
    output = chosen.output or statements_path().with_name("paper-scale.csv")
    if chosen.output is None and chosen.scale != "paper":
        parser.error("the package's table is of paper scale; say --output for another")
    if not output.parent.is_dir():
        parser.error(f"there is no folder {output.parent}; make it first")
    scale = SCALES[chosen.scale]
    scale = scale._replace(seeds=scale.seeds.only(*chosen.kinds))
    before = read_paper_scale(output) if 0 in scale.seeds and output.is_file() else None
    # Kept like those of the notebook, which has the same.
    cache = project_cache() if chosen.scale == "paper" else None
    measured = measure(Jobs(), scale, seed=chosen.seed, cache=cache, executor="cores")
    table = paper_table(measured, scale, seed=chosen.seed)
    whole = table if before is None else in_place(table, before)
    write_whole(output, whole.to_csv(index=False, lineterminator="\n").encode())
    print(f"{output}: {len(table)} claims")


if __name__ == "__main__":
    main()
