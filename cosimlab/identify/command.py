"""Which rule made a schedule: ``python -m cosimlab.identify jobs.csv --nodes 128``."""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from cosimlab.figures import plot_witness
from cosimlab.identify.identification import identify
from cosimlib import checks as check
from cosimlib import traces
from cosimlib.files import check_writable
from cosimlib.system import System
from cosimlib.traces import TraceError


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; status 0 if a rule was named, 3 if it is none of them, 1 for an error."""
    parser = argparse.ArgumentParser("python -m cosimlab.identify", description=__doc__)
    parser.add_argument(
        "jobs",
        help="a CSV with submit_time, run_time, requested_time (seconds), nodes and the starts, or "
        "a log of any format with starts",
    )
    parser.add_argument(
        "--starts", default="start_time", help="column of starts, by default %(default)s"
    )
    parser.add_argument("--nodes", type=int, help="nodes of the machine")
    parser.add_argument("--precision", type=float, help="seconds to which starts are known")
    parser.add_argument("--rules", nargs="+", help="names of rules, by default all")
    parser.add_argument("--figure", help="where to write the witness, as HTML")
    parser.add_argument("--table", help="where to write the shares of all rules, as CSV")
    chosen = parser.parse_args(arguments)
    try:
        for path in filter(None, (chosen.figure, chosen.table)):
            check_writable(Path(path))
        workload = traces.load(chosen.jobs, verbose=False)
        system = System.of(chosen.nodes) if chosen.nodes is not None else None
        starts = workload.jobs.get(chosen.starts)
        if starts is None and chosen.starts != "start_time":
            check.columns(workload.jobs, [chosen.starts], where=workload.name)
        found = identify(
            workload, starts, system=system, rules=chosen.rules, precision=chosen.precision
        )
    except (OSError, TraceError, ValueError, ImportError) as error:
        print(error, file=sys.stderr)
        return 1
    print(found)
    if chosen.table:
        found.table.to_csv(chosen.table, index=False)
    if chosen.figure and found.witness is not None:
        plot_witness(found.witness).write_html(chosen.figure)
    return 0 if found.exact else 3
