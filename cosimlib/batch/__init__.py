"""Batch scheduling of rigid jobs on one partition: FCFS, first fit, EASY, conservative, your own.

At every instant at which a job ends, is submitted, or is due by its reservation, all ends and then
all submissions of that instant are absorbed, and then the policy decides once (ties: the lower job
first).

**FCFS** starts the head of the queue as long as it fits; no job overtakes another. **First fit**
starts every job that fits, in order: backfilling without a reservation. **EASY** lets
jobs overtake as long as they do not delay the reservation of the blocked head. **Conservative**
backfilling reserves for every job, and no job may delay the reservation of another. `simulate` runs
the machine around any other rule, a function of what a scheduler may know at an instant.

Two cases that papers leave open. A running job that has outlived its requested time is expected to
end now: at ``max(start_time + requested_time, now)``. A job of zero run time holds its nodes to the
end of the pass that starts it; its end is then absorbed and there is another pass at the same
instant, until a pass starts no such job.

The queue's order is a knob, `order`; ties go to the job submitted first:

========== ================================================================================
`submit`   first come, first served
`shortest` least requested time first; `longest` the reverse
`smallest` fewest nodes first; `largest` the reverse
`wfp`      greatest ``(waited / requested_time)³ · nodes`` first, found anew at every pass
           (Tang et al., Cluster 2009)
`sjbf`     shortest-job backfilling (Tsafrir, Etsion and Feitelson, IEEE TPDS 18(6), 2007):
           the head is the job submitted first, the others are in order of `shortest`
a column   of numbers of the workload, such as ``"queue_rank"``: lowest first, like ranks. Only
           ``"priority"`` is greatest first, for its declared meaning is "more is more urgent".
           Columns that are known only after a job has ended, such as ``"run_time"``, are refused
an array   one number per job, lowest first: an array in order of jobs, or a series under the
           index of ``workload.jobs``, such as ``jobs["nodes"] * jobs["requested_time"]``. Take
           its negative for the greatest first. Tables call it "own order", whatever the name of
           the series: ``jobs["priority"]`` is lowest first too
========== ================================================================================
"""

from cosimlib.batch.conservative import promised_starts, simulate_conservative
from cosimlib.batch.easy import simulate_easy
from cosimlib.batch.fcfs import simulate_fcfs
from cosimlib.batch.first_fit import simulate_first_fit
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
