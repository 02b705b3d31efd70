"""Workbench for co-scheduling on supercomputers.

A `Workload` (jobs) meets a `System` (nodes) in a simulator and becomes a `Schedule` (starts and
ends). Everything else reads that schedule. Names are loaded when they are first used::

    import cosimlib as cs

    workload = cs.load_trace("KTH-SP2")
    schedule = cs.simulate_easy(workload, workload.machine)
    cs.metrics.summarize([cs.audit(schedule)])

Nouns

- `Workload`: jobs in order of submission, and the account of dropped records
- `System`: partitions of nodes, their memory and bandwidths
- `NodeType`: cores, memory and GPUs of equal nodes
- `Calendar`: windows in which nodes are closed: maintenance, reservations, failures, drains
- `Schedule`: start, end and nodes of each job of a workload on a system
- `EvictionProblem`: running jobs, nodes needed, deadlines
- `EvictionPlan`: the action for each running job, and the node-hours lost

Traces

- `read_swf`: a log in the Standard Workload Format
- `read_alcf`: a job log of the Argonne Leadership Computing Facility
- `read_sacct`: output of Slurm's sacct, as text or JSON
- `read_pbs`: an accounting log of PBS or Torque
- `read_batsim`: Batsim's jobs.csv, or its workload document
- `read_fugaku`: a month of F-DATA, the jobs of Fugaku
- `read_pm100`: the job table of PM100, of Marconi100
- `read_alibaba`: Alibaba's high-priority and spot GPU jobs
- `read_openb`: Alibaba's pods that share GPUs, of 2023
- `load_trace`: a public trace by name, or a log by its path
- `fetch_trace`: the path of a public trace, downloaded if it is missing
- `write_swf`: a workload as a file in the Standard Workload Format
- `convert`: a log in another format (SWF, Batsim's JSON, CSV, parquet), and what is lost
- `report`: a report on a log, as sentences, tables and one page
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
- `place_jobs`: jobs are placed on nodes with cores, memory and GPUs, and never leave
- `simulate`: your own policy, a function that is called at each instant
- `BatchEnv`: Gymnasium environment for reinforcement learning
- `register`: your own policy under a name, in explorers and figures
- `compare`: policies on a log and on new logs drawn from it, with intervals
- `drain_or_evict`: node-hours that maintenance costs, by the hours of notice
- `sweep`: table of a function's results on a grid of arguments and seeds, in parallel
- `audit`: check of a schedule; an error names the job and the broken rule

Forecasts

- `forecast`: start times of waiting jobs and of a new job, with intervals
- `backtest`: how often such forecasts are right on a log's own past
- `predict`: predicted run times, from requests, the user's last two jobs, or similar jobs

Eviction: problem to plan

- `solve_dynamic`: least loss, by dynamic programming
- `solve_greedy`: a fast plan, never proven optimal
- `solve_backtracking`: least loss, by search
- `solve_spectrum`: least loss for every number of nodes and every deadline
- `advise`: jobs of a live Slurm to stop, to free nodes by a deadline

Explorers: widgets for a notebook

- `explore_advise`: advice on a saved queue
- `explore_batch`: batch policies
- `explore_coscheduling`: hold and yield on coupled machines
- `explore_elastic`: preemption policies
- `explore_eviction`: nodes, deadline and loss
- `explore_filling`: filler containers
- `explore_ondemand`: on-demand bursts on a batch machine
- `explore_timesharing`: shares of nodes

Modules

- `batch`: FCFS, EASY, conservative backfilling, queue orders
- `comparison`: intervals of metrics, paired differences and ratios of policies
- `coscheduling`: coupled machines, mates, deadlock
- `elastic`: elastic partitions, preemption vectors, wasted cycles
- `eviction`: checkpoints, scenarios, comparison of solvers
- `figures`: plotly figures, `plot_*`, and `Publisher`
- `filling`: filler containers, efficiency
- `forecasting`: futures of a queue
- `nodes`: nodes with cores, memory and GPUs; placements, fragmentation
- `ondemand`: bursts of on-demand work, checkpoints, ledger of node-hours
- `metrics`: utilization, slowdown, waits, node-hours, time series
- `synthetic`: workloads from a seed and published statistics
- `testing`: the laws of scheduling, checked on your own policy
- `timesharing`: time-sharing against batch scheduling
- `traces`: public traces, readers and writers
- `units`: seconds per minute, hour, day, week
"""

from importlib.metadata import version

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
__version__ = version(__name__)
