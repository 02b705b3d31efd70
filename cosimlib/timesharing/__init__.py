"""Time-sharing against batch scheduling: runs, and what figures and claims need of them."""

from cosimlib.timesharing.batch import lengthened, noise_cost, simulate_batch
from cosimlib.timesharing.caching import cached_summary, project_cache
from cosimlib.timesharing.comparing import (
    crossover,
    gain_at_largest,
    kept_speedups,
    overview,
    printed_statistics,
    ratio_by_length,
    undecided,
    won_bins,
)
from cosimlib.timesharing.evidence import Evidence, Verdict
from cosimlib.timesharing.judging import judge
from cosimlib.timesharing.logs import with_node_memory
from cosimlib.timesharing.runs import Policies, run_batch, run_policies, run_timesharing
from cosimlib.timesharing.scaling import applications, read_applications, turnaround_times
from cosimlib.timesharing.summary import RunSummary, slowdowns, summarize_run, use_by_hour

__all__ = [
    "Evidence",
    "Policies",
    "RunSummary",
    "Verdict",
    "applications",
    "cached_summary",
    "crossover",
    "gain_at_largest",
    "judge",
    "kept_speedups",
    "lengthened",
    "noise_cost",
    "overview",
    "printed_statistics",
    "project_cache",
    "ratio_by_length",
    "read_applications",
    "run_batch",
    "run_policies",
    "run_timesharing",
    "simulate_batch",
    "slowdowns",
    "summarize_run",
    "turnaround_times",
    "undecided",
    "use_by_hour",
    "with_node_memory",
    "won_bins",
]
