"""Batch scheduling of rigid jobs on one partition: FCFS, first fit, EASY, conservative, your own.

Things happen when a job ends, when a job is submitted, and when a reservation begins. At each such
instant all ends are processed first, then all submissions. Then the policy decides, once (ties: the
lower job first).

**FCFS** starts the head of the queue as long as it fits; no job overtakes another. **First fit**
starts every job that fits, in order: backfilling without a reservation. **EASY** lets jobs overtake
if they do not delay the reservation of the blocked head. **Conservative** backfilling makes a
reservation for every job, and no job may delay the reservation of another. `simulate` simulates the
machine under your own rule, a function of what a scheduler may know at an instant.

Papers leave two cases open. A running job that exceeds its requested time is expected to end now:
at ``max(start_time + requested_time, now)``. A job with a run time of zero holds its nodes to the
end of the pass that starts it. Then its end is processed, and there is another pass at the same
instant, until a pass starts no such job.

The argument `order` chooses the order of the queue; ties go to the job submitted first:

========== ================================================================================
`submit`   first come, first served
`shortest` least requested time first; `longest` the reverse
`smallest` fewest nodes first; `largest` the reverse
`wfp`      greatest ``(waited / requested_time)³ · nodes`` first, computed at every pass
           (Tang et al., Fault-aware, utility-based job scheduling on Blue Gene/P systems, Cluster
           2009)
`UNICEF`   greatest ``waited / (log2(nodes) · requested_time)`` first, computed at every pass (as
           `wfp`); jobs of one node come before all others
`LXF`      largest expansion factor first: ``(waited + requested_time) / requested_time``, computed
           at every pass (Srinivasan et al., ICPP Workshops 2002)
`SAF`      smallest area first: least ``requested_time · nodes`` (Lelong, Reis and Trystram, Tuning
           EASY-backfilling queues, JSSPP 2017)
`F1`       least ``log10(r) · n + 870 · log10(s)`` first, where r is the requested time, n the nodes
           and s the seconds from the first submission to the job's; times below 1 s count as 1 s
           (Carastan-Santos and de Camargo, SC 2017)
`F2`       as `F1`: ``√r · n + 25 600 · log10(s)``
`F3`       as `F1`: ``r · n + 6 860 000 · log10(s)``
`F4`       as `F1`: ``r · √n + 530 000 · log10(s)``
`sjbf`     shortest-job backfilling (Tsafrir, Etsion and Feitelson, IEEE TPDS 18(6), 2007):
           the head is the job submitted first, the others are in order of `shortest`
a column   of numbers of the workload, such as ``"queue_rank"``: lowest first, like ranks. Only
           ``"priority"`` is greatest first, because its meaning is "more is more urgent".
           Columns that are known only after a job has ended, such as ``"run_time"``, are refused
an array   one number per job, lowest first: an array in order of jobs, or a series with the index
           of ``workload.jobs``, such as ``jobs["nodes"] * jobs["requested_time"]``. Negate it for
           the greatest first. Tables call it "own order", whatever the name of the series; so
           ``jobs["priority"]`` is also lowest first
a function of one argument, which gets the table of all jobs, once; or of two, which gets the table
           of the jobs that wait and the moment in seconds at every pass. It returns one number per
           row, lowest first. Arguments with a default do not count. Columns that are known only
           after a job has ended are not in the table
========== ================================================================================

Papers also call `wfp` ``"WFP3"``, `smallest` ``"SQF"``, and `shortest` ``"SPT"`` or ``"SJF"``.
These names are accepted.
"""

from cosimlib.batch.conservative import promised_starts, simulate_conservative
from cosimlib.batch.easy import simulate_easy, simulate_fcfs, simulate_first_fit
from cosimlib.batch.orders import ORDERS
from cosimlib.batch.simulation import simulate

__all__ = [
    "ORDERS",
    "promised_starts",
    "simulate",
    "simulate_conservative",
    "simulate_easy",
    "simulate_fcfs",
    "simulate_first_fit",
]
