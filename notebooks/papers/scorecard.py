"""Scorecard: the verdicts of all notebooks in one table, ``python -m papers.scorecard FIGURES``.

It writes `claims.csv`, and `scorecard.md` for GitHub, which shows the statistic and the limits of
each verdict beside our number.
"""

import json
import sys
from pathlib import Path

import pandas as pd

from cosimlib.display import count
from cosimlib.files import write_whole
from papers.claims import JUDGED, VERDICTS

RECORD = "run.json"
COLUMNS = {
    "number": "no.", "statement": "the paper says", "paper": "its value", "statistic": "statistic",
    "limits": "limits", "ours": "ours", "data": "data", "verdict": "verdict", "why": "why",
}  # fmt: skip
"""Columns that readers see, by their names in `claims.csv`."""


def main() -> None:
    """Write the scorecard of a folder of results."""
    figures = Path(sys.argv[1])
    table = read_all(figures)
    write_whole(figures / "claims.csv", table.to_csv(index=False, lineterminator="\n").encode())
    write_whole(figures / "scorecard.md", markdown(table).encode())


def read_all(figures: Path) -> pd.DataFrame:
    """The verdicts of all notebooks that have results in a folder, by system."""
    tables = [_read(path) for path in sorted(figures.glob(f"[!.]*/{RECORD}"))]
    table = pd.concat([pd.DataFrame(columns=JUDGED), *tables])
    table = table.drop_duplicates(["system", "claim", "data"])
    return table.sort_values("system", kind="stable", ignore_index=True)


def _read(record: Path) -> pd.DataFrame:
    """One notebook's verdicts; their data name the parameters that its run was given."""
    path = record.with_name("claims.csv")
    if not path.is_file():
        return pd.DataFrame(columns=JUDGED)
    table = pd.read_csv(path, dtype=str, keep_default_na=False, encoding="utf-8")
    own = own_parameters(json.loads(record.read_text(encoding="utf-8"))["parameters"])
    table["data"] = ["; ".join([data, *own]) for data in table["data"]]
    return table[JUDGED]


def own_parameters(parameters: dict[str, object]) -> list[str]:
    """What a run was given besides its scale and its log, in words."""
    return [f"{name} {v}" for name, v in parameters.items() if name not in ("scale", "trace")]


def markdown(table: pd.DataFrame) -> str:
    """A heading, the counts and a table per system, for GitHub."""
    lines = ["# Scorecard", "", f"{counts(table)}.", ""]
    for system, claims in table.groupby("system"):
        lines += [f"## {_escaped(system)}", "", f"{counts(claims)}.", ""]
        lines += [f"| {' | '.join(COLUMNS.values())} |", "|---:" + "|---" * 8 + "|"]
        for row in claims[list(COLUMNS)].itertuples(index=False):
            lines.append(f"| {' | '.join(map(_escaped, row))} |")
        lines.append("")
    return "\n".join(lines)


def counts(table: pd.DataFrame) -> str:
    """How many claims there are, and how many of each verdict."""
    if table.empty:
        return "no claim: no notebook here has checked one"
    found = table["verdict"].value_counts().reindex(VERDICTS, fill_value=0)
    holds, fails, unknown, built_in = found
    verbs = f"{holds} hold{'s' * (holds == 1)}, {fails} fail{'s' * (fails == 1)}"
    return f"{count(len(table), 'claim')}: {verbs}, {unknown} unknown, {built_in} by construction"


def _escaped(cell: object) -> str:
    """A text in a table's cell, without what GitHub takes for markup."""
    text = "".join(f"\\{letter}" if letter in "\\`*_[]<>|~$" else letter for letter in str(cell))
    return "<br>".join(text.split("\n"))


if __name__ == "__main__":
    main()
