"""Scorecard: the verdicts of all notebooks in one table, ``python -m papers.scorecard FIGURES``.

It writes `claims.csv`, and `scorecard.md` for GitHub, which shows the statistic and the limits of
each verdict beside our number. With ``--store`` it writes what notebooks found at paper scale into
`data/paper-scale.csv` instead, with the date and the commit; it then stands beside quick scale.
With ``--keep`` it writes what they found at quick scale into `data/quick-scale.csv`.
``--against OTHER`` prints which verdicts differ from those of another folder, such as one that was
made with another first seed (``make reproduce ARGS="-p seed 100"``).
"""

import json
import sys
from pathlib import Path

import pandas as pd

from cosimlib.display import count
from cosimlib.files import write_whole
from papers.claims import JUDGED, VERDICTS
from papers.stored import (
    compared_with_committed,
    history_path,
    keep_quick,
    quick_path,
    store,
    stored_path,
)

RECORD = "run.json"
COLUMNS = {
    "number": "no.",
    "statement": "the paper says",
    "paper": "its value",
    "statistic": "statistic",
    "limits": "limits",
    "ours": "ours",
    "data": "data",
    "verdict": "verdict",
    "best": "best evidence",
    "why": "why",
}
"""Columns that readers see, by their names in `claims.csv`."""


FIVE_PAPERS = r"(Maurya|Tang|Hofmeyr|Duplyakin) et al\.|Polyakov & Dubenskaya"
"""Sources of the statements that the project is about; others are ours, and of other papers."""


def main() -> None:
    """Write the scorecard of a folder of results, or store its runs at paper scale."""
    figures = Path(sys.argv[1])
    if "--store" in sys.argv:
        print(store_runs(figures))
        return
    if "--keep" in sys.argv:
        print(keep_runs(figures))
        return
    if "--against" in sys.argv:
        print(differences(read_all(figures), read_all(Path(sys.argv[-1]))))
        return
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
    own = own_parameters(_parameters(record))
    table["data"] = ["; ".join([data, *own]) for data in table["data"]]
    return table[JUDGED]


def store_runs(figures: Path) -> str:
    """Store the verdicts of the runs at paper scale that a folder has; what was done, in words.

    What is stored of claims that a run did not measure stays.
    """
    runs, found = _at_scale(figures, "paper")
    stored = store(found, stored_path(), history_path())
    return f"{count(stored, 'claim')} of {count(runs, 'run')} at paper scale"


def keep_runs(figures: Path) -> str:
    """Keep the verdicts of the runs at quick scale that a folder has; what was done, in words."""
    runs, found = _at_scale(figures, "quick")
    kept = keep_quick(found, quick_path())
    return f"{count(kept, 'claim')} of {count(runs, 'run')} at quick scale"


def _at_scale(figures: Path, scale: str) -> tuple[int, pd.DataFrame]:
    """How many runs at a scale a folder has, and their verdicts."""
    records = sorted(figures.glob(f"[!.]*/{RECORD}"))
    runs = [each for each in records if _parameters(each).get("scale", "quick") == scale]
    return len(runs), pd.concat([pd.DataFrame(columns=JUDGED), *map(_read, runs)])


def differences(one: pd.DataFrame, other: pd.DataFrame) -> str:
    """The claims whose verdicts differ between two tables, a line each, and how many they are."""
    both = one.merge(other, on=["system", "claim"], suffixes=("", " there"))
    differ = both[both["verdict"] != both["verdict there"]]
    lines = [
        f"{row.system} {row.claim}: {row.verdict} ({row.ours}); there {there} ({ours})"
        for row, there, ours in zip(
            differ.itertuples(), differ["verdict there"], differ["ours there"], strict=True
        )
    ]
    return "\n".join([*lines, f"{len(differ)} of {count(len(both), 'verdict')} differ"])


def _parameters(record: Path) -> dict[str, object]:
    """The parameters that a run was given."""
    return dict(json.loads(record.read_text(encoding="utf-8"))["parameters"])


def own_parameters(parameters: dict[str, object]) -> list[str]:
    """What a run was given besides its scale and its log, in words."""
    return [f"{name} {v}" for name, v in parameters.items() if name not in ("scale", "trace")]


def markdown(table: pd.DataFrame) -> str:
    """A heading, the counts and a table per system, for GitHub."""
    lines = ["# Scorecard", "", f"{counts(table)}.", ""]
    committed = compared_with_committed(table)
    if committed:
        lines += [f"{committed}.", ""]
    for system, claims in table.groupby("system"):
        lines += [f"## {_escaped(system)}", "", f"{counts(claims)}.", ""]
        lines += [
            f"| {' | '.join(COLUMNS.values())} |",
            "|---:" + "|---" * (len(COLUMNS) - 1) + "|",
        ]
        for row in claims[list(COLUMNS)].itertuples(index=False):
            lines.append(f"| {' | '.join(map(_escaped, row))} |")
        lines.append("")
    return "\n".join(lines)


def counts(table: pd.DataFrame) -> str:
    """How many claims there are, and how many of each verdict by the best evidence."""
    if table.empty:
        return "no claim: no notebook here has checked one"
    ours = ~table["source"].str.match(FIVE_PAPERS)
    parts = [f"{count((~ours).sum(), 'claim')} of the five papers: {_verdicts(table[~ours])}"]
    if ours.any():
        parts.append(f"{count(ours.sum(), 'other claim')}: {_verdicts(table[ours])}")
    undecided = (table["verdict"] == "unknown") & (table["best"] != "unknown")
    if undecided.any():
        parts.append(f"of these, stored runs at paper scale decide {undecided.sum()}")
    return "; ".join(parts)


def _verdicts(table: pd.DataFrame) -> str:
    """The number of claims by verdict."""
    found = table["best"].value_counts().reindex(VERDICTS, fill_value=0)
    holds, fails, unknown, built_in = found
    verbs = f"{holds} hold{'s' * (holds == 1)}, {fails} fail{'s' * (fails == 1)}"
    return f"{verbs}, {unknown} unknown, {built_in} by construction"


def _escaped(cell: object) -> str:
    """A text in a table's cell, without what GitHub takes for markup."""
    text = "".join(f"\\{letter}" if letter in "\\`*_[]<>|~$" else letter for letter in str(cell))
    return "<br>".join(text.split("\n"))


if __name__ == "__main__":
    main()
