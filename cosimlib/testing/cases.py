"""Random small workloads, and the search for the smallest one that fails.

Times are whole seconds within a minute. So many events happen at the same instant, and shifted or
doubled schedules are exactly equal. Some jobs run longer than their request; some have a run time
of 0.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd

from cosimlib.system import System
from cosimlib.workload import Workload

LEAST = {"submit_time": 0, "run_time": 0}
"""The least values of columns; of all others 1."""

ATTEMPTS = 2_000
"""Smaller cases that are tried, at most."""


class Case(NamedTuple):
    """A workload's jobs and the nodes of its machine."""

    jobs: pd.DataFrame
    nodes: int

    @property
    def workload(self) -> Workload:
        """The jobs as a workload, a copy."""
        return Workload(self.jobs.copy(), "random workload")

    @property
    def system(self) -> System:
        """The machine."""
        return System.of(self.nodes)


Fault = Callable[[Case], Exception | None]
"""A function from a case to its error, or None."""


def random_cases(random: np.random.Generator, count: int, columns: Sequence[str]) -> Iterator[Case]:
    """Random cases: up to ten jobs on up to eight nodes; 1 to 3 in additional columns."""
    for _ in range(count):
        n, nodes = int(random.integers(1, 11)), int(random.integers(1, 9))
        run_time = random.integers(0, 13, n)
        beyond = random.integers(0, 9, n)
        if random.random() < 0.5:
            beyond -= random.integers(0, 13, n)
        jobs = pd.DataFrame(
            {
                "submit_time": np.sort(random.integers(0, random.choice([1, 13, 61]), n)),
                "run_time": run_time,
                "requested_time": np.maximum(run_time + beyond, 1),
                "nodes": random.integers(1, nodes + 1, n),
            }
        )
        yield Case(jobs.assign(**{name: random.integers(1, 4, n) for name in columns}), nodes)


def smallest(fault: Fault, case: Case, found: Exception) -> tuple[Case, Exception]:
    """Smallest faulty case (no job can be dropped, no number made smaller), and its fault."""
    candidates = _smaller_cases(case)
    for _ in range(ATTEMPTS):
        smaller = next(candidates, None)
        if smaller is None:
            break
        error = fault(smaller)
        if error is not None:
            case, found, candidates = smaller, error, _smaller_cases(smaller)
    return case, found


def _smaller_cases(case: Case) -> Iterator[Case]:
    """The case without one job, with fewer nodes, narrower jobs, one smaller number."""
    jobs, nodes = case
    for job in reversed(jobs.index):
        yield Case(jobs.drop(index=job).reset_index(drop=True), nodes)
    for fewer in _smaller_numbers(nodes, max(jobs["nodes"], default=1)):
        yield Case(jobs, fewer)
    for fewer in _smaller_numbers(nodes, 1):
        yield Case(jobs.assign(nodes=np.minimum(jobs["nodes"], fewer)), fewer)
    for column in jobs:
        values = jobs[column].to_numpy()
        for job in jobs.index:
            for number in _smaller_numbers(values[job], LEAST.get(column, 1)):
                changed = np.where(jobs.index == job, number, values)
                if column != "submit_time" or (np.diff(changed) >= 0).all():
                    yield Case(jobs.assign(**{column: changed}), nodes)


def _smaller_numbers(value: int, least: int) -> list[int]:
    """The least number, the one halfway, the next smaller one."""
    tried = {least, (least + value) // 2, value - 1}
    return sorted(int(number) for number in tried if least <= number < value)


def as_python(case: Case) -> str:
    """Lines of Python that make the case."""
    width = max(len(column) for column in case.jobs) + 3
    rows = [
        "    " + f'"{column}":'.ljust(width) + f" {values.tolist()},\n"
        for column, values in case.jobs.items()
    ]
    return (
        "import cosimlib as cs\nimport pandas as pd\n\n"
        f"jobs = pd.DataFrame({{\n{''.join(rows)}}})\n"
        f"workload, system = cs.Workload(jobs), cs.System.of({case.nodes})"
    )
