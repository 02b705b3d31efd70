"""A zoo of small odd logs: what a site's log may lack or exaggerate, one oddity per file.

The first line of a log in `tests/data/zoo` says what is odd about it. All logs but those of another
oddity are of 300 jobs over four weeks on a machine of 64 nodes, scheduled first come, first served.
"""

from pathlib import Path

from tests.suites import THOROUGH

ZOO = Path(__file__).parent / "data" / "zoo"
JOBS, NODES = 300, 64
ODDITIES = sorted(path.name.partition(".")[0] for path in ZOO.glob("*.swf.gz"))
ODDEST = {
    "a-day-beyond-the-machine",
    "no-header",
    "no-requested-times",
    "no-run-lasts",
    "over-committed",
    "submissions-are-starts",
    "three-jobs",
}
"""Logs that slow tests take by day; at night they take all."""


def odd(name: str) -> str:
    """The path of a log of the zoo."""
    return str(ZOO / f"{name}.swf.gz")


def odd_logs() -> list[Path]:
    """The logs that slow tests take, in order."""
    return [Path(odd(name)) for name in ODDITIES if THOROUGH or name in ODDEST]
