"""Solvers of the eviction problem and simulators of scheduling on supercomputers.

A `Workload` (jobs) meets a `System` (nodes) in a simulator and becomes a `Schedule` (starts and
ends). Everything else reads that schedule. Names are loaded when they are first used::

    import cosimlib as cs

    workload = cs.load_trace("KTH-SP2")
    schedule = cs.simulate_easy(workload, workload.machine)
    cs.metrics.summarize([cs.audit(schedule)])

`cosimlab` beside it compares, forecasts, draws and reports: ``import cosimlab as lab``.

Nouns

- `Workload`: jobs in order of submission, and the account of dropped records
- `System`: partitions of nodes, their memory and bandwidths
- `NodeType`: cores, memory and GPUs of equal nodes
- `Calendar`: windows in which nodes are closed: maintenance, reservations, failures, drains
- `Schedule`: start, end and nodes of each job of a workload on a system
- `EvictionProblem`: running jobs, nodes needed, deadlines
- `EvictionPlan`: the action for each running job, and the node-hours lost

Traces; readers of other formats are in `traces`

- `load_trace`: a public trace by name, or a log in any known format by its path
- `read_swf`: a log in the Standard Workload Format
- `read_sacct`: output of Slurm's sacct, as text or JSON
- `read_pbs`: an accounting log of PBS or Torque
- `write_swf`: a workload as a file in the Standard Workload Format
- `prepare_workload`: the jobs of a trace that fit its machine
- `prepare_schedule`: the recorded schedule of a trace, or a simulated one

Simulators: workload and system to schedule

- `simulate_fcfs`: first come, first served
- `simulate_first_fit`: first fit, backfilling without a reservation
- `simulate_easy`: EASY backfilling, with a reservation for the queue's head
- `simulate_conservative`: conservative backfilling, with a reservation for every job
- `simulate_ondemand`: batch jobs make way for bursts of on-demand work
- `simulate_filling`: filler containers on the nodes that a batch policy leaves idle
- `simulate_coscheduling`: mates on coupled machines start together
- `simulate_timesharing`: jobs share nodes
- `simulate_elastic`: a host takes nodes back from elastic partitions, and jobs are killed
- `simulate_nodes`: jobs queue for nodes with cores, memory and GPUs, and share them
- `simulate`: your own policy, a function that is called at each instant
- `register`: your own policy under a name, in comparisons, explorers and figures
- `audit`: check of a schedule or an eviction plan; an error names the job and the broken rule

Eviction: problem to plan

- `solve_dynamic`: least loss, by dynamic programming
- `solve_greedy`: a fast plan, never proven optimal
- `solve_backtracking`: least loss, by search
- `solve_spectrum`: least loss for every number of nodes and every deadline
- `solve`: your own solver, a function of a problem and a deadline that returns actions

Rooms

- `batch`: FCFS, EASY, conservative backfilling, queue orders
- `coscheduling`: coupled machines, mates, deadlock
- `elastic`: elastic partitions, preemption vectors, wasted cycles
- `eviction`: checkpoints, scenarios
- `filling`: filler containers, efficiency
- `nodes`: nodes with cores, memory and GPUs; placements, fragmentation
- `ondemand`: bursts of on-demand work, checkpoints, ledger of node-hours
- `slurm`: Slurm's scheduler, simulated from a site's configuration
- `timesharing`: shares of nodes
- `metrics`: utilization, slowdown, waits, node-hours, time series
- `synthetic`: workloads from a seed and published statistics
- `traces`: public traces and readers
- `units`: seconds per minute, hour, day, week
"""

from importlib.metadata import version

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
__version__ = version(__name__)
