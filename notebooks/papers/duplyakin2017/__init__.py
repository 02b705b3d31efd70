"""Duplyakin, Johnson and Ricci (ScienceCloud 2017): elastic partitions and preemption vectors.

- `make_paper`: a run of the notebook, with its figures and its scorecard
- `paper_inputs`, `Setting`: the workloads and the parameters; `simulate`: schedules; `Inputs`
- `waste`, `summarize`, `quantiles`: what a preemption at any state wastes, by policy
- `waste_by_priority`, `priority_change`: the same by priority; `example`: vectors of figure 5
- `table_1`, `waste_by_state`, `waste_statistics`, `cumulative_table`, `nodes_owned`, `shares`,
  `beside_printed`, `in_percent`, `waste_beside_optimum`, `relative_waste`: tables behind figures
- `measure_schedules`, `numbers`, `compare_sizes`: what the claims are decided by
- `drained`: jobs killed, and nodes that idle within the grace period
- `measure_seed`, `measure_assumption`: one seed under `SCHEDULERS` or `ASSUMPTIONS`, for `sweep`
- `lend`, `sweep_sequences`: the protocol with users; `samples`: the samples of every claim
"""

from pathlib import Path

from papers.duplyakin2017.experiment import (
    ASSUMPTIONS,
    SCHEDULERS,
    Inputs,
    Setting,
    drained,
    lend,
    paper_inputs,
    simulate,
    sweep_sequences,
)
from papers.duplyakin2017.measures import (
    compare_sizes,
    measure_assumption,
    measure_schedules,
    measure_seed,
    numbers,
    priority_change,
    quantiles,
    samples,
    summarize,
    waste,
    waste_by_priority,
)
from papers.duplyakin2017.tables import (
    beside_printed,
    cumulative_table,
    example,
    in_percent,
    nodes_owned,
    relative_waste,
    shares,
    table_1,
    waste_beside_optimum,
    waste_by_state,
    waste_statistics,
)
from papers.paper import Paper

__all__ = [
    "ASSUMPTIONS",
    "SCHEDULERS",
    "Inputs",
    "Setting",
    "beside_printed",
    "compare_sizes",
    "cumulative_table",
    "drained",
    "example",
    "in_percent",
    "lend",
    "make_paper",
    "measure_assumption",
    "measure_schedules",
    "measure_seed",
    "nodes_owned",
    "numbers",
    "paper_inputs",
    "priority_change",
    "quantiles",
    "relative_waste",
    "samples",
    "shares",
    "simulate",
    "summarize",
    "sweep_sequences",
    "table_1",
    "waste",
    "waste_beside_optimum",
    "waste_by_priority",
    "waste_by_state",
    "waste_statistics",
]


def make_paper(inputs: Inputs, *, seed: int = 0, output: str | Path = "") -> Paper:
    """A run of the notebook on these inputs."""
    label = f"{inputs.label} (seed {seed})"
    return Paper("5-elastic", "Duplyakin et al. 2017", data=label, output=output)
