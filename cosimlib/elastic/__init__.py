"""Elastic partitions: a host lends nodes to partitions, and preempts the least valued of them.

The protocol

- `simulate_elastic`: elastic partitions on one hosting cluster; `ElasticSchedule`
- `draw_preemptions`: a Poisson process of preemptions
- `sweep_preemptions`, `average_sweep`: what sequences of preemptions cost, over their parameters
- `nodes_owned`: nodes per owner over time; `HOST` and `USER` own what no partition has

A single preemption, at any moment of a schedule

- `execution_states`: the moments; `preemption_values`, `occupants`: vectors and jobs on the nodes
- `preempted_jobs`: the jobs that a preemption touches
- `same_choice`, `compare_choices`: whether policies agree, and how many nodes they have in common
- `wasted_cycles`, `compare_policies`: what it wastes, by policy and grace period
- `medians`: medians of that; `drained`: how many jobs are killed, and what idles meanwhile
- `least_waste`: the least that any choice of nodes can waste, an exact optimum
- `lifo_against_others`, `remaining_time`: from which grace period on LIFO loses
- `cumulative_waste`, `final_waste`, `priority_change`: the same by priority of the jobs

Workloads

- `paper_inputs`, `public_inputs`, `Inputs`, `draw_peregrine`: the paper's, public or twins
- `as_batch`, `describe`: a log as one batch; Table 1 of the paper; `TABLE_1`: as printed
- `prioritize`, `priority_classes`: priorities, and classes of jobs to give them to

Claims of the paper

- `judge`: verdicts, by `Evidence`
- `measure_seed`, `measure_assumption`: one seed of the evaluation, for `cosimlib.sweep`, under one
  of `SCHEDULERS` or `ASSUMPTIONS`
- `read`, `read_workloads`, `Reading`, `measure`: what the claims are decided by
- `compare_readings`, `compare_sizes`, `intervals`: that, side by side
"""

from cosimlib.elastic.audit import audit_elastic
from cosimlib.elastic.claims import Evidence, compare_readings, intervals, judge
from cosimlib.elastic.crossover import lifo_against_others, remaining_time
from cosimlib.elastic.draining import drained
from cosimlib.elastic.inputs import (
    TABLE_1,
    Inputs,
    draw_peregrine,
    paper_inputs,
    public_inputs,
)
from cosimlib.elastic.optimum import least_waste
from cosimlib.elastic.policies import POLICIES
from cosimlib.elastic.reading import Reading, compare_sizes, measure, read
from cosimlib.elastic.repetition import (
    ASSUMPTIONS,
    CLASSES,
    SCHEDULERS,
    measure_assumption,
    measure_seed,
    read_workloads,
)
from cosimlib.elastic.schedule import HOST, USER, ElasticSchedule
from cosimlib.elastic.sequences import (
    average_sweep,
    draw_preemptions,
    nodes_owned,
    sweep_preemptions,
)
from cosimlib.elastic.simulation import simulate_elastic
from cosimlib.elastic.states import (
    GRACE_PERIODS,
    LONG_GRACE_PERIODS,
    PREEMPTED,
    SAMPLING_INTERVAL,
    SHORT_GRACE_PERIODS,
    execution_states,
)
from cosimlib.elastic.vectors import (
    compare_choices,
    occupants,
    preempted_jobs,
    preemption_values,
    prioritize,
    same_choice,
)
from cosimlib.elastic.waste import (
    Comparison,
    compare_policies,
    cumulative_waste,
    final_waste,
    medians,
    priority_change,
    wasted_cycles,
)
from cosimlib.elastic.workloads import as_batch, describe, priority_classes

__all__ = [
    "ASSUMPTIONS",
    "CLASSES",
    "GRACE_PERIODS",
    "HOST",
    "LONG_GRACE_PERIODS",
    "POLICIES",
    "PREEMPTED",
    "SAMPLING_INTERVAL",
    "SCHEDULERS",
    "SHORT_GRACE_PERIODS",
    "TABLE_1",
    "USER",
    "Comparison",
    "ElasticSchedule",
    "Evidence",
    "Inputs",
    "Reading",
    "as_batch",
    "audit_elastic",
    "average_sweep",
    "compare_choices",
    "compare_policies",
    "compare_readings",
    "compare_sizes",
    "cumulative_waste",
    "describe",
    "drained",
    "draw_peregrine",
    "draw_preemptions",
    "execution_states",
    "final_waste",
    "intervals",
    "judge",
    "least_waste",
    "lifo_against_others",
    "measure",
    "measure_assumption",
    "measure_seed",
    "medians",
    "nodes_owned",
    "occupants",
    "paper_inputs",
    "preempted_jobs",
    "preemption_values",
    "prioritize",
    "priority_change",
    "priority_classes",
    "public_inputs",
    "read",
    "read_workloads",
    "remaining_time",
    "same_choice",
    "simulate_elastic",
    "sweep_preemptions",
    "wasted_cycles",
]
