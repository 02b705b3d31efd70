"""Hofmeyr et al. (HPCC 2016): time-sharing the nodes of a supercomputer.

- `plan`, `jobs_of`, `measure`: days and seeds of a scale, its jobs, and all runs as `Runs`
- `printed_statistics`, `memory_needs`, `overview`: tables of jobs and of runs
- `read_applications`, `turnarounds`: strong scaling
- `inverse_table`, `compare_printed`, `crossover_by_correlation`, `sharing_factors`: from printed
  results back to jobs
- `noise_cost`, `samples`: numbers for the claims; `paper`: figures and scorecard
"""

from pathlib import Path

from cosimlib.workload import Workload
from papers.hofmeyr2016.experiment import (
    BATCH,
    FCFS,
    NOT_SPMD,
    NOT_SPMD_BATCH,
    NOT_SPMD_UNLIMITED,
    ON_NOISY_DAYS,
    SHARED,
    SPREADS,
    UNLIMITED,
    Kind,
    Runs,
    Span,
    jobs_of,
    measure,
    plan,
    read_applications,
)
from papers.hofmeyr2016.figures import (
    FIGURES,
    memory_needs,
    overview,
    printed_statistics,
    sharing_factors,
)
from papers.hofmeyr2016.measures import noise_cost, samples
from papers.hofmeyr2016.sensitivity import (
    ASSUMED,
    compare_printed,
    crossover_by_correlation,
    inverse_table,
)
from papers.hofmeyr2016.turnaround import turnarounds
from papers.paper import Paper

SYSTEM = "3-timesharing"


def paper(workload: Workload, output: str | Path = "", *, own: bool = True) -> Paper:
    """A run of the notebook on a workload; `own` says whether load and noise are the paper's."""
    return Paper(SYSTEM, "Hofmeyr et al. 2016", FIGURES, data=workload.name, output=output, own=own)


__all__ = [
    "ASSUMED",
    "BATCH",
    "FCFS",
    "NOT_SPMD",
    "NOT_SPMD_BATCH",
    "NOT_SPMD_UNLIMITED",
    "ON_NOISY_DAYS",
    "SHARED",
    "SPREADS",
    "UNLIMITED",
    "Kind",
    "Runs",
    "Span",
    "compare_printed",
    "crossover_by_correlation",
    "inverse_table",
    "jobs_of",
    "measure",
    "memory_needs",
    "noise_cost",
    "overview",
    "paper",
    "plan",
    "printed_statistics",
    "read_applications",
    "samples",
    "sharing_factors",
    "turnarounds",
]
