"""Results go to where they belong, wholly or not at all; then the scorecard of them all."""

from pathlib import Path

import pandas as pd

from cosimlib.claims import CHECKED, scorecard
from cosimlib.files import write_whole


def place(folder: Path, target: Path, spare: Path) -> None:
    """Put a finished folder in a target's place; the target's old content goes to `spare`.

    All three are on one file system. Where the move fails, the old content is put back.
    """
    try:
        if target.exists():
            target.rename(spare)
        folder.rename(target)
    except BaseException:
        if spare.exists() and not target.exists():
            spare.rename(target)
        raise


def write_scorecard(figures: Path) -> str:
    """Write `claims.csv` and `claims.md` from those of every notebook; the line of counts."""
    tables = [_read(path) for path in sorted(figures.glob("[!.]*/claims.csv"))]
    text, markdown = scorecard(tables)
    for name, content in {"claims.csv": text, "claims.md": markdown}.items():
        write_whole(figures / name, content.encode())
    return markdown.splitlines()[2]


def _read(path: Path) -> pd.DataFrame:
    """One notebook's claims."""
    try:
        table = pd.read_csv(path, dtype=str, keep_default_na=False, encoding="utf-8")
    except pd.errors.EmptyDataError:
        table = pd.DataFrame()
    missing = [name for name in CHECKED if name not in table]
    if missing:
        place = f"{path.parent.name}/{path.name}"
        raise ValueError(f"{place} has no column '{missing[0]}'; write it with Claims.write")
    return table
