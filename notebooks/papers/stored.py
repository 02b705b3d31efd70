"""Stored verdicts: those of runs at paper scale, which take hours, and their history.

`data/paper-scale.csv` has a row per claim that was stored: our number, the verdict, what it was
measured on, a mark of the rule by which it was judged, and a fingerprint of the code that measured.
A row is *stale* if its rule is no longer that of `data/claims.csv` and `data/readings.csv`, or its
fingerprint no longer today's. A stale row is shown, and decides nothing.

A *fingerprint* is a mark of what the same code finds in a small run: the run at quick scale whose
verdicts are in `data/quick-scale.csv`. It is empty where that number is a time of this machine, or
where the row was stored before there were fingerprints; then it is not compared.

`data/verdicts-history.csv` has every verdict that was ever stored, with its rule. Its column
`revised` says what was changed after an earlier result of the same claim had been seen: ``rule``
(statistic, limits, data or readings), ``runs`` (their days or seeds), both (``rule, runs``),
``measure`` (entered by hand, alone or after these), ``no``, or ``not known`` (before rules were in
a file).
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
from cosimlib.display import count
from cosimlib.files import write_whole
from papers.claims import Verdict, read_rules

MEASURED = ["system", "claim", "ours", "verdict", "readings", "data", "date", "commit"]
STORED = [*MEASURED, "rule", "fingerprint"]
"""Columns of `data/paper-scale.csv`."""
HISTORY = [*MEASURED, "statistic", "limits", "rule", "revised"]
"""Columns of `data/verdicts-history.csv`."""
QUICK = ["system", "claim", "ours", "verdict", "data"]
"""Columns of `data/quick-scale.csv`."""
KEYS = ["system", "claim"]
STALE = "stale"

TIMED = {
    ("1-eviction", "linear-in-deadline"),
    ("1-eviction", "greedy-fastest"),
    ("1-eviction", "backtracking-wins-small"),
    ("1-eviction", "dynamic-wins-large"),
    ("1-eviction", "five-orders-of-magnitude"),
    ("1-eviction", "dynamic-in-milliseconds"),
    ("1-eviction", "same-optimum"),
}
"""Claims about times, or about what ends within a time: their numbers differ from run to run."""


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
    return _hashed(statistic, limits, data, *sorted(readings))


def _hashed(*texts: str) -> str:
    """Eight letters that change with any of some texts."""
    return hashlib.sha256("|".join(texts).encode()).hexdigest()[:8]


def quick_path() -> Path:
    """The file of the verdicts of runs at quick scale, on the data of the committed notebooks."""
    return checkout() / "data" / "quick-scale.csv"


def keep_quick(found: pd.DataFrame, path: Path) -> int:
    """Put verdicts of runs at quick scale in the place of those of the same claims; how many.

    Parameters
    ----------
    found : pd.DataFrame
        Columns of `papers.claims.JUDGED`. Rows without a number, and those about times, are left
        out.
    path : Path
        Of `data/quick-scale.csv`.
    """
    timed = pd.MultiIndex.from_frame(found[KEYS]).isin(list(TIMED))
    found = found[(found["ours"] != "") & ~timed]
    kept = _read(path) if path.is_file() else pd.DataFrame(columns=QUICK)
    _write(path, _replaced(kept, found[QUICK]))
    return len(found)


def fingerprints() -> dict[tuple[str, str], str]:
    """A mark of what each claim's code finds at quick scale; it changes with any printed digit.

    Returns
    -------
    dict
        Eight letters, by system and claim. Claims about times have none.
    """
    rows = _read(quick_path()).itertuples(index=False)
    return {(row.system, row.claim): _hashed(row.ours, row.data) for row in rows}


def compared_with_committed(table: pd.DataFrame) -> str:
    """How many verdicts are those of `data/quick-scale.csv`, in words; "" where none is comparable.

    Parameters
    ----------
    table : pd.DataFrame
        Columns of `papers.claims.JUDGED`. Only claims on the same data are compared.
    """
    both = table.merge(_read(quick_path()), on=[*KEYS, "data"], suffixes=("", " committed"))
    if both.empty:
        return ""
    differ = both[both["verdict"] != both["verdict committed"]]
    text = f"{len(both) - len(differ)} of {count(len(both), 'verdict')} that can be compared are "
    text += "those of data/quick-scale.csv"
    others = [
        f"{row.claim} ({there}, here {row.verdict})"
        for row, there in zip(differ.itertuples(), differ["verdict committed"], strict=True)
    ]
    return f"{text}; not {', '.join(others)}" if others else text


def read_stored(system: str) -> dict[str, Verdict]:
    """Verdicts of a larger run of a system by claim; `STALE` where rule or code changed since."""
    table = _read(stored_path())
    current = is_current(table)
    return {
        row.claim: Verdict(
            row.ours,
            row.verdict if of_today else STALE,
            data=f"{row.data} ({row.date}, {row.commit})",
            readings=row.readings,
        )
        for row, of_today in zip(table.itertuples(index=False), current, strict=True)
        if row.system == system
    }


def is_current(table: pd.DataFrame) -> list[bool]:
    """Whether each row of `data/paper-scale.csv` has today's rule and fingerprint."""
    rules, prints = rule_marks(), fingerprints()
    return [
        row.rule == rules.get((row.system, row.claim))
        and row.fingerprint in ("", prints.get((row.system, row.claim), ""))
        for row in table.itertuples(index=False)
    ]


def with_stored(found: Verdict, stored: Verdict) -> Verdict:
    """A verdict with that of a larger run; its number stands after the reason, unless both hold."""
    if stored.verdict == STALE:
        text = f"the stored number of {stored.data} is stale, for its rule or code has changed"
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
    marks, prints = rule_marks(), fingerprints()
    found = found[found["ours"] != ""]
    keys = list(zip(found["system"], found["claim"], strict=True))
    found = found.assign(
        date=date.today().isoformat(),
        commit=head(),
        rule=[marks[key] for key in keys],
        fingerprint=[prints.get(key, "") for key in keys],
    )
    table, before = _replaced(_read(path), found[STORED]), _read(history)
    last = before.drop_duplicates(KEYS, keep="last").set_index(KEYS)
    revised = [
        _revised(last.loc[key], row) if (key := (row.system, row.claim)) in last.index else "no"
        for row in found.itertuples(index=False)
    ]
    _write(history, pd.concat([before, found.assign(revised=revised)[HISTORY]]))
    _write(path, table)
    return len(found)


def _replaced(kept: pd.DataFrame, found: pd.DataFrame) -> pd.DataFrame:
    """Rows, those of the same claims replaced; by system."""
    again = pd.MultiIndex.from_frame(kept[KEYS]).isin(pd.MultiIndex.from_frame(found[KEYS]))
    return pd.concat([kept[~again], found]).sort_values(KEYS[0], kind="stable")


def _revised(last: pd.Series, row: Any) -> str:
    """What a new verdict has changed against the last one that was stored of its claim."""
    changed = {"rule": last["rule"] != row.rule, "runs": last["data"] != row.data}
    return ", ".join(name for name, differs in changed.items() if differs) or "no"


def _read(path: Path) -> pd.DataFrame:
    return pd.read_csv(path, dtype=str, keep_default_na=False, encoding="utf-8")


def _write(path: Path, table: pd.DataFrame) -> None:
    write_whole(path, table.to_csv(index=False, lineterminator="\n").encode())
