"""Hofmeyr et al. (HPCC 2016): time-sharing the nodes of a supercomputer.

- `plan`, `jobs_of`, `measure`: days and seeds of a scale, its jobs, and all runs as `Runs`
- `printed_statistics`, `memory_needs`, `overview`: tables of jobs and of runs
- `node_hours_by_size`, `weeks`, `distributions`, `overheads`, `by_overhead`, `by_size_and_length`,
  `quartiles`: tables behind the figures
- `read_applications`, `turnarounds`: strong scaling
- `inverse_table`, `compare_printed`, `crossover_by_correlation`, `sharing_factors`: from printed
  results back to jobs
- `noise_cost`, `samples`: numbers for the claims; `make_paper`: figures and scorecard
"""

from pathlib import Path

from cosimlib.workload import Workload
from papers.hofmeyr2016.experiment import (
    BATCH,
    EASY,
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
from papers.hofmeyr2016.measures import noise_cost, samples
from papers.hofmeyr2016.sensitivity import (
    ASSUMED,
    compare_printed,
    crossover_by_correlation,
    inverse_table,
)
from papers.hofmeyr2016.tables import (
    by_overhead,
    by_size_and_length,
    distributions,
    memory_needs,
    node_hours_by_size,
    overheads,
    overview,
    printed_statistics,
    quartiles,
    sharing_factors,
    weeks,
)
from papers.hofmeyr2016.turnaround import turnarounds
from papers.paper import Paper


def make_paper(workload: Workload, output: str | Path = "", *, own: bool = True) -> Paper:
    """A run of the notebook on a workload; `own` says whether load and noise are the paper's."""
    citation = "Hofmeyr et al. 2016"
    return Paper("3-timesharing", citation, data=workload.name, output=output, own=own)


__all__ = [
    "ASSUMED",
    "BATCH",
    "EASY",
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
    "by_overhead",
    "by_size_and_length",
    "compare_printed",
    "crossover_by_correlation",
    "distributions",
    "inverse_table",
    "jobs_of",
    "make_paper",
    "measure",
    "memory_needs",
    "node_hours_by_size",
    "noise_cost",
    "overheads",
    "overview",
    "plan",
    "printed_statistics",
    "quartiles",
    "read_applications",
    "samples",
    "sharing_factors",
    "turnarounds",
    "weeks",
]
