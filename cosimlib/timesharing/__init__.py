"""Time-sharing of nodes against batch scheduling (Hofmeyr et al., HPCC 2016).

- `simulate_timesharing`: jobs share nodes; a `TimesharedSchedule`, audited by `audit_timeshared`
- `simulate_batch`, `with_noise`, `noise_cost`: EASY in steps, under the same noise; a
  `SteppedSchedule`, audited by `audit_stepped`
- `draw_noise`, with `NOISE`, `SLOWEST`, `STEP`: nodes slowed for a step; `in_steps`
- `with_node_memory`: a log with what time-sharing needs; `bearable_noise`: noise for large ones
- `run_policies`, `run_batch`, `run_timesharing`: runs, summarized and kept in files
- `RunSummary`, `summarize_run`, `overview`: a run in a few hundred numbers
- `applications`, `read_applications`, `turnaround_times`: strong scaling
- `crossover_hours`, `won_bins`, `ratio_by_length`, `slower_if_large`, `kept_speedups`: of runs;
  `printed_statistics`
- `measure`, with `Jobs`, `SCALES`, `Scale`, `Span`, `Seeds`, `Run`, `node_noise`: all runs that the
  claims need, over seeds, `Measured`; `Evidence`, of one seed, with `NoisyDays`
- `inverse_table`, `compare_printed`, `compare_in_words`, with `ASSUMED`, `SOURCES`, `PRINTED`;
  `sharing_factor`: from printed results back to jobs
- `judge`, with `OF_BATCH`, `OF_OVERHEADS`, `ON_NOISY_DAYS`, `WITH_MORE_JOBS`: the paper's claims;
  `beside_paper_scale`, `read_paper_scale`: stored numbers of paper scale; `paper_table`, which
  ``python -m cosimlib.timesharing`` writes anew
"""

from cosimlib.timesharing.audit import audit_stepped, audit_timeshared
from cosimlib.timesharing.batch import noise_cost, simulate_batch, with_noise
from cosimlib.timesharing.claims import (
    OF_BATCH,
    OF_OVERHEADS,
    ON_NOISY_DAYS,
    WITH_MORE_JOBS,
    judge,
)
from cosimlib.timesharing.comparison import (
    crossover_hours,
    gain_at_largest,
    kept_speedups,
    lost_late,
    overview,
    printed_statistics,
    ratio_by_length,
    slower_if_large,
    undecided,
    won_bins,
)
from cosimlib.timesharing.experiment import (
    SCALES,
    Jobs,
    Measured,
    Run,
    Scale,
    Seeds,
    Span,
    measure,
    node_noise,
)
from cosimlib.timesharing.findings import Evidence, NoisyDays
from cosimlib.timesharing.inverse import (
    ASSUMED,
    PRINTED,
    SOURCES,
    compare_in_words,
    compare_printed,
    inverse_table,
    sharing_factor,
)
from cosimlib.timesharing.logs import bearable_noise, with_node_memory
from cosimlib.timesharing.noise import NOISE, SLOWEST, STEP, check_noise, draw_noise
from cosimlib.timesharing.paper_scale import beside_paper_scale, paper_table, read_paper_scale
from cosimlib.timesharing.runs import (
    Policies,
    cached_summary,
    project_cache,
    run_batch,
    run_policies,
    run_timesharing,
)
from cosimlib.timesharing.scaling import applications, read_applications, turnaround_times
from cosimlib.timesharing.schedule import SteppedSchedule, TimesharedSchedule
from cosimlib.timesharing.simulation import QUEUES, check_knobs, in_steps, simulate_timesharing
from cosimlib.timesharing.summary import RunSummary, summarize_run

__all__ = [
    "ASSUMED",
    "NOISE",
    "OF_BATCH",
    "OF_OVERHEADS",
    "ON_NOISY_DAYS",
    "PRINTED",
    "QUEUES",
    "SCALES",
    "SLOWEST",
    "SOURCES",
    "STEP",
    "WITH_MORE_JOBS",
    "Evidence",
    "Jobs",
    "Measured",
    "NoisyDays",
    "Policies",
    "Run",
    "RunSummary",
    "Scale",
    "Seeds",
    "Span",
    "SteppedSchedule",
    "TimesharedSchedule",
    "applications",
    "audit_stepped",
    "audit_timeshared",
    "bearable_noise",
    "beside_paper_scale",
    "cached_summary",
    "check_knobs",
    "check_noise",
    "compare_in_words",
    "compare_printed",
    "crossover_hours",
    "draw_noise",
    "gain_at_largest",
    "in_steps",
    "inverse_table",
    "judge",
    "kept_speedups",
    "lost_late",
    "measure",
    "node_noise",
    "noise_cost",
    "overview",
    "paper_table",
    "printed_statistics",
    "project_cache",
    "ratio_by_length",
    "read_applications",
    "read_paper_scale",
    "run_batch",
    "run_policies",
    "run_timesharing",
    "sharing_factor",
    "simulate_batch",
    "simulate_timesharing",
    "slower_if_large",
    "summarize_run",
    "turnaround_times",
    "undecided",
    "with_node_memory",
    "with_noise",
    "won_bins",
]
