"""Time-sharing against batch scheduling: runs, and what figures and claims need of them."""

from cosimlib.timesharing.batch import lengthened, simulate_batch
from cosimlib.timesharing.caching import cached_summary, project_cache
from cosimlib.timesharing.logs import with_node_memory
from cosimlib.timesharing.runs import run_batch, run_timesharing
from cosimlib.timesharing.scaling import applications, read_applications, turnaround_times
from cosimlib.timesharing.summary import RunSummary, slowdowns, summarize_run

__all__ = [
    "RunSummary",
    "applications",
    "cached_summary",
    "lengthened",
    "project_cache",
    "read_applications",
    "run_batch",
    "run_timesharing",
    "simulate_batch",
    "slowdowns",
    "summarize_run",
    "turnaround_times",
    "with_node_memory",
]
