"""Stored verdicts: those of runs at paper scale, which take hours, and their history.

`data/paper-scale.csv` has a row per claim that was stored: our number, the verdict, what it was
measured on, and a mark of the rule by which it was judged. A row whose rule is no longer that of
`data/claims.csv` and `data/readings.csv` is *stale*: it is shown, and decides nothing.

`data/verdicts-history.csv` has every verdict that was ever stored, with its rule. Its column
`revised` says what was changed after an earlier result of the same claim had been seen: ``rule``
(statistic, limits, data or readings), ``runs`` (their days or seeds), ``measure`` (entered by
hand), ``no``, or ``not known`` (before rules were in a file).
"""

import hashlib
import json
import subprocess
from collections.abc import Sequence
from datetime import date
from pathlib import Path
from typing import Any

import pandas as pd

from cosimlab.folders import checkout
from cosimlib.files import write_whole
from papers.claims import Verdict, read_rules

STORED = ["system", "claim", "ours", "verdict", "readings", "data", "date", "commit", "rule"]
"""Columns of `data/paper-scale.csv`."""
HISTORY = [*STORED[:-1], "statistic", "limits", "rule", "revised"]
"""Columns of `data/verdicts-history.csv`."""
KEYS = ["system", "claim"]
STALE = "stale"


def stored_path() -> Path:
    """The file of the verdicts of runs at paper scale."""
    return checkout() / "data" / "paper-scale.csv"


def history_path() -> Path:
    """The file of all verdicts that were ever stored."""
    return checkout() / "data" / "verdicts-history.csv"


def stored_table(system: str, name: str) -> Path:
    """The file of the table behind a figure of a stored run, or of what is said about the run."""
    return checkout() / "data" / "paper-scale" / system / f"{name}.csv"


def keep_tables(folder: Path, system: str, data: str) -> int:
    """Keep the tables of a run's figures in `data/paper-scale`; how many they are.

    Parameters
    ----------
    folder : Path
        Of the run's results.
    system : str
    data : str
        What the run shows, such as "60 months, seeds 0 to 59".
    """
    target = stored_table(system, "about").parent
    target.mkdir(parents=True, exist_ok=True)
    tables = [path for path in sorted(folder.glob("*.csv")) if path.name != "claims.csv"]
    for path in tables:
        write_whole(target / path.name, path.read_bytes())
    about = {"data": data, "date": date.today().isoformat(), "commit": head()}
    text = json.dumps(about, indent=2, ensure_ascii=False)
    write_whole(target / "about.json", f"{text}\n".encode())
    return len(tables)


def head() -> str:
    """The commit that is checked out."""
    git = ["git", "-C", str(checkout()), "rev-parse", "--short", "HEAD"]
    return subprocess.run(git, capture_output=True, text=True, check=True).stdout.strip()


def readings_path() -> Path:
    """The file of what the papers' words leave open."""
    return checkout() / "data" / "readings.csv"


def read_readings() -> pd.DataFrame:
    """What the papers' words leave open, a row per claim and reading: see `data/readings.csv`.

    Returns
    -------
    pd.DataFrame
        `system`, `claim`, `open` (what is left open), `reading` (its name in the scorecard),
        `quote` (the words that admit it), `points` ("yes" where they point to it rather than to the
        others), `admissible` ("yes", or the sentence that contradicts it).
    """
    return _read(readings_path())


def rule_marks() -> dict[tuple[str, str], str]:
    """A mark of each claim's rule: it changes with statistic, limits, data and readings.

    Returns
    -------
    dict
        Eight letters, by system and claim.
    """
    readings = read_readings().query("admissible == 'yes'").groupby(KEYS)["reading"].apply(list)
    return {
        (row.system, row.claim): mark(
            row.statistic, row.limits, row.data, readings.get((row.system, row.claim), [])
        )
        for row in read_rules().itertuples(index=False)
    }


def mark(statistic: str, limits: str, data: str, readings: Sequence[str] = ()) -> str:
    """The mark of one rule."""
    text = "|".join([statistic, limits, data, *sorted(readings)])
    return hashlib.sha256(text.encode()).hexdigest()[:8]


def read_stored(system: str) -> dict[str, Verdict]:
    """Verdicts of a larger run of a system by claim; `STALE` where its rule has changed since."""
    marks, table = rule_marks(), _read(stored_path())
    rows = table[table["system"] == system].itertuples(index=False)
    return {
        row.claim: Verdict(
            row.ours,
            row.verdict if row.rule == marks.get((system, row.claim)) else STALE,
            data=f"{row.data} ({row.date}, {row.commit})",
            readings=row.readings,
        )
        for row in rows
    }


def with_stored(found: Verdict, stored: Verdict) -> Verdict:
    """A verdict with that of a larger run; its number stands after the reason, unless both hold."""
    if stored.verdict == STALE:
        text = f"the stored number of {stored.data} is stale, for its rule has changed"
        return found._replace(why=f"{found.why}; {text}" if found.why else text)
    found = found._replace(stored=stored.verdict)
    if found.verdict == stored.verdict == "holds":
        return found
    text = f"stored number of {stored.data}: {stored.ours}, {stored.verdict}"
    if {found.verdict, stored.verdict} == {"holds", "fails"}:
        text = f"the larger run contradicts this: {text}"
    return found._replace(why=f"{found.why}; {text}" if found.why else text)


def store(found: pd.DataFrame, path: Path, history: Path) -> int:
    """Put verdicts in the place of those that are stored of the same claims; how many they are.

    Parameters
    ----------
    found : pd.DataFrame
        Columns of `papers.claims.JUDGED`. Rows without a number are left out.
    path, history : Path
        Of `data/paper-scale.csv`, and of the history, to which the new rows are appended.
    """
    marks = rule_marks()
    found = found[found["ours"] != ""]
    found = found.assign(
        date=date.today().isoformat(),
        commit=head(),
        rule=[marks[key] for key in zip(found["system"], found["claim"], strict=True)],
    )
    kept, before = _read(path), _read(history)
    again = pd.MultiIndex.from_frame(kept[KEYS]).isin(pd.MultiIndex.from_frame(found[KEYS]))
    table = pd.concat([kept[~again], found[STORED]]).sort_values(KEYS[0], kind="stable")
    last = before.drop_duplicates(KEYS, keep="last").set_index(KEYS)
    revised = [
        _revised(last.loc[key], row) if (key := (row.system, row.claim)) in last.index else "no"
        for row in found.itertuples(index=False)
    ]
    _write(history, pd.concat([before, found.assign(revised=revised)[HISTORY]]))
    _write(path, table)
    return len(found)


def _revised(last: pd.Series, row: Any) -> str:
    """What a new verdict has changed against the last one that was stored of its claim."""
    if last["rule"] != row.rule:
        return "rule"
    return "no" if last["data"] == row.data else "runs"


def _read(path: Path) -> pd.DataFrame:
    return pd.read_csv(path, dtype=str, keep_default_na=False, encoding="utf-8")


def _write(path: Path, table: pd.DataFrame) -> None:
    write_whole(path, table.to_csv(index=False, lineterminator="\n").encode())
