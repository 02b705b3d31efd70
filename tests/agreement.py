"""How many jobs start when other people's simulators start them: the table of docs/agreement.md.

``python -m tests.agreement`` simulates the workloads of the oracles anew and writes the table into
the page. The oracles are looked for where COSIMLIB_ORACLES points.
"""

import os
import sys
from functools import partial
from pathlib import Path

import pandas as pd

from cosimlib.audit import audit
from cosimlib.batch import simulate_conservative, simulate_easy, simulate_fcfs
from cosimlib.schedule import Schedule
from cosimlib.system import System
from cosimlib.workload import Workload

MACHINES = {"kth": 100, "sdsc5k": 128, "lublin10k": 256}
OURS = {
    "FCFS": simulate_fcfs,
    "EASY": simulate_easy,
    "EASY (per event)": partial(simulate_easy, decide="per_event"),
    "conservative": simulate_conservative,
    "conservative (replanned)": partial(simulate_conservative, reservations="replanned"),
}
THEIRS = {
    "fcfs_pyss": "FCFS",
    "easy_per_instant": "EASY",
    "easy_per_event": "EASY (per event)",
    "easy_per_event_cqsim": "EASY (per event)",
    "easy_pyss": "EASY",
    "conservative_kept": "conservative",
    "conservative_kept_pyss": "conservative",
    "conservative_replanned": "conservative (replanned)",
    "conservative_replanned_cqsim": "conservative (replanned)",
}
"""Every column of the oracles, and which of our policies means the same."""

PAGE = Path(__file__).resolve().parents[1] / "docs" / "agreement.md"
BEGIN, END = "<!-- table: python -m tests.agreement -->\n", "<!-- end of table -->"


def simulated(path: Path) -> tuple[pd.DataFrame, dict[str, Schedule]]:
    """An oracle's table, and our schedules of the same workload, audited."""
    table = pd.read_csv(path)
    name = path.name.split(".")[0]
    asked = Workload(table[["submit_time", "run_time", "nodes", "requested_time"]], name)
    system = System.of(MACHINES[name])
    return table, {policy: audit(run(asked, system)) for policy, run in OURS.items()}


def shares(table: pd.DataFrame, schedules: dict[str, Schedule]) -> pd.DataFrame:
    """Percent of jobs that start at the same second: columns of theirs × policies of ours.

    Only policies of one family are compared: EASY with EASY, and so on.
    """
    return pd.DataFrame(
        {
            policy: {
                column: 100.0 * float((schedule.start_time == table[column]).mean())
                for column, meant in THEIRS.items()
                if column in table and meant.split()[0] == policy.split()[0]
            }
            for policy, schedule in schedules.items()
        }
    )


def markdown(results: dict[str, pd.DataFrame]) -> str:
    """The table of the page: for every column of theirs the share of each workload's jobs."""
    head = ["other", "ours", *results]
    lines = [head, ["---"] * 2 + ["---:"] * len(results)]
    for column in THEIRS:
        for policy in OURS:
            if policy.split()[0] == THEIRS[column].split()[0]:
                cells = [_cell(result, column, policy) for result in results.values()]
                mark = "**" if policy == THEIRS[column] else ""
                lines.append([f"`{column}`", f"{mark}{policy}{mark}", *cells])
    return "".join("| " + " | ".join(line) + " |\n" for line in lines)


def _cell(result: pd.DataFrame, column: str, policy: str) -> str:
    """A share with two digits, and 100 only where not one job differs."""
    if column not in result.index:
        return "–"
    share = result.loc[column, policy]
    return "100" if share == 100.0 else f"{min(share, 99.99):.2f}"


def with_table(page: str, table: str) -> str:
    """The page with its table replaced."""
    before, rest = page.split(BEGIN)
    return before + BEGIN + "\n" + table + "\n" + END + rest.split(END)[1]


def main() -> None:
    """Simulate, compare, write the page."""
    folder = os.environ.get("COSIMLIB_ORACLES")
    paths = [Path(folder or ".") / f"{name}.csv.gz" for name in MACHINES]
    missing = [path.name for path in paths if not path.is_file()]
    if not folder or missing:
        sys.exit(f"agreement: no {', '.join(missing)}; let COSIMLIB_ORACLES name their folder")
    results = {path.name.split(".")[0]: shares(*simulated(path)) for path in paths}
    table = markdown(results)
    temporary = PAGE.with_name(f".{PAGE.name}.{os.getpid()}")
    temporary.write_text(with_table(PAGE.read_text(encoding="utf-8"), table), encoding="utf-8")
    temporary.replace(PAGE)
    print(table, end="")


if __name__ == "__main__":
    main()
