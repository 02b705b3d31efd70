"""Time-sharing against batch scheduling: runs, and what figures and claims need of them."""

from cosimlib.timesharing.batch import lengthened, simulate_batch
from cosimlib.timesharing.caching import cached_summary
from cosimlib.timesharing.summary import RunSummary, slowdowns, summarize_run

__all__ = [
    "RunSummary",
    "cached_summary",
    "lengthened",
    "simulate_batch",
    "slowdowns",
    "summarize_run",
]
