"""A research workbench for co-scheduling on supercomputers.

A `Workload` meets a `System` in a simulator and becomes a `Schedule`; everything else reads that
schedule. Every name below is loaded when it is first used::

    import cosimlib as cs

    workload = cs.load_trace("KTH-SP2")
    schedule = cs.simulate_easy(workload, workload.machine)
    cs.metrics.summarize([cs.audit(schedule)])

Nouns

- `Workload`: jobs in order of submission, and the account of what reading them dropped
- `System`: partitions of nodes, their memory and bandwidths
- `NodeType`: cores, memory and GPUs of nodes that are alike
- `Calendar`: windows in which nodes are closed: maintenance, reservations, failures, drains
- `Schedule`: start, end and nodes held, for each job of a workload on a system
- `EvictionProblem`: running jobs, nodes needed, a deadline
- `EvictionPlan`: the action for each running job, and the node-hours lost

Traces

- `read_swf`: a log in the Standard Workload Format
- `read_alcf`: a job log of the Argonne Leadership Computing Facility
- `read_sacct`: what Slurm's sacct prints, as text or as JSON
- `read_pbs`: an accounting log of PBS or Torque
- `read_batsim`: Batsim's jobs.csv, or a workload that it reads
- `read_fugaku`: a month of F-DATA, the jobs of Fugaku
- `read_pm100`: the job table of PM100, of Marconi100
- `read_alibaba`: Alibaba's GPU jobs of high priority, and on spot instances
- `load_trace`: a public trace by name, or a log by its path
- `fetch_trace`: the path of a public trace, downloaded where it is not on this machine
- `write_swf`: a workload as a file in the Standard Workload Format
- `convert`: a log in another format, and what is lost: SWF, Batsim's JSON, CSV, parquet
- `report`: what a log says about its machine, as sentences, tables and one page
- `prepare_workload`: the jobs of a trace that fit its machine
- `prepare_schedule`: the recorded schedule of a trace, or a simulated one

Simulators: workload and system to schedule

- `simulate_fcfs`: first come, first served
- `simulate_first_fit`: backfilling without a reservation
- `simulate_easy`: backfilling around one reservation, that of the queue's head
- `simulate_conservative`: backfilling around a reservation for every waiting job
- `simulate_ondemand`: batch jobs make way for bursts of on-demand work
- `simulate_filling`: filler containers on the nodes that a batch policy leaves idle
- `simulate_coscheduling`: mates on coupled machines start together
- `simulate_timesharing`: jobs share nodes
- `simulate_elastic`: elastic partitions: a host takes nodes back, and jobs on them are killed
- `place_jobs`: jobs come to nodes with cores, memory and GPUs one by one, and never leave
- `simulate`: a policy of your own, a function that is asked once per instant what to start
- `BatchEnv`: the same for an agent that learns, as a Gymnasium environment
- `register`: a policy of your own by a name, in explorers and figures
- `compare`: policies on a log and on logs drawn anew from it, with intervals
- `drain_or_evict`: node-hours that maintenance costs, by the hours from which it is known
- `sweep`: a function on a grid of arguments and seeds, in parallel, as one tidy table
- `audit`: the schedule, or an error that names the job and the rule it breaks

Forecasts

- `forecast`: when the jobs of a queue start, and one that is submitted now, with intervals
- `backtest`: how often such intervals would have held on a log's own past
- `predict`: run times, from requests, the user's last two jobs, or similar jobs

Eviction: problem to plan

- `solve_dynamic`: least loss, by dynamic programming
- `solve_greedy`: a fast plan, never proven optimal
- `solve_backtracking`: least loss, by search
- `solve_spectrum`: least loss for every number of nodes and every deadline
- `advise`: which jobs of a live Slurm to stop for some nodes by when

Explorers: widgets for a notebook

- `explore_advise`: advice on a saved queue
- `explore_batch`: batch policies
- `explore_coscheduling`: hold and yield on coupled machines
- `explore_elastic`: preemption policies
- `explore_eviction`: nodes, deadline and loss
- `explore_filling`: filler containers
- `explore_ondemand`: bursts that make batch jobs give way
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
- `testing`: the laws of scheduling, checked on a policy of your own
- `timesharing`: time-sharing against batch scheduling
- `traces`: public traces, readers and writers
- `units`: seconds per minute, hour, day, week
"""

from importlib.metadata import version

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
__version__ = version(__name__)
