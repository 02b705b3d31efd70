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
           (Tang et al., Cluster 2009)
`sjbf`     shortest-job backfilling (Tsafrir, Etsion and Feitelson, IEEE TPDS 18(6), 2007):
           the head is the job submitted first, the others are in order of `shortest`
a column   of numbers of the workload, such as ``"queue_rank"``: lowest first, like ranks. Only
           ``"priority"`` is greatest first, because its meaning is "more is more urgent".
           Columns that are known only after a job has ended, such as ``"run_time"``, are refused
an array   one number per job, lowest first: an array in order of jobs, or a series with the index
           of ``workload.jobs``, such as ``jobs["nodes"] * jobs["requested_time"]``. Negate it for
           the greatest first. Tables call it "own order", whatever the name of the series; so
           ``jobs["priority"]`` is also lowest first
========== ================================================================================
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
