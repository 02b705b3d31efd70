"""First come, first served, backfilling, and policies of your own, on one machine.

Jobs are rigid and run on a system of one partition. At every instant at which something ends, is
submitted, or is due by its reservation, all ends and then all submissions of that instant are
absorbed, and then the policy decides once (ties: the lower job first).

**FCFS** starts the head of the queue as long as it fits; nobody overtakes anybody. **EASY** lets
jobs overtake as long as they do not delay the promise made to the blocked head. **Conservative**
backfilling makes a promise to every job, and nobody may delay anybody's. `simulate` runs the
machine around any other rule, a function of what a scheduler may know at an instant.

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
           the head is the job submitted first, the others have their turn as in `shortest`
========== ================================================================================
"""

from cosimlib.batch.conservative import promised_starts, simulate_conservative
from cosimlib.batch.easy import simulate_easy
from cosimlib.batch.fcfs import simulate_fcfs
from cosimlib.batch.orders import ORDERS
from cosimlib.batch.simulation import simulate

__all__ = [
    "ORDERS",
    "promised_starts",
    "simulate",
    "simulate_conservative",
    "simulate_easy",
    "simulate_fcfs",
]
