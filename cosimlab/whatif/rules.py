"""The frozen rules of a what-if: limits, each with its reason.

They were tuned on the open cells of ``tests/cosimlab/whatif/truth.py``, and committed before a
held-back cell was computed. The errors of the method are of the second version, which was chosen on
all cells that had judged the first one, too, and was judged on a new list. `MOST_TOO_WIDE` came in
between, and is about jobs that no cell has. docs/what-if.md says how the rules did.
"""

from cosimlab.whatif.changes import (
    FEWER_NODES,
    GONE,
    MORE_NODES,
    RUN_TIMES,
    SEVERAL,
    SHORTER_LIMIT,
)
from cosimlib.units import HOUR, MINUTE

NO_WAIT = MINUTE
"""Seconds up to which a wait is none.

Site's schedulers look at their queues once in a minute or so; and the method knows no wait to less.
"""

CYCLE = 2.0
"""The start latency of a site is so many times the median time for which nodes were free at last.

Taken over the jobs that waited and whose nodes were free for at most `LONGEST_LATENCY` before they
started. A scheduler that acts every five minutes has times from 0 to 300 s, whose median is 150 s.
A quantile near 1 finds the same, but takes the jobs that an event-driven scheduler holds back for a
reservation as latency: up to 1,900 s on the open cells, where there is none.
"""

LONGEST_LATENCY = HOUR
"""Longer times before a start are no latency: something held the job.

Sites start a job 2 to 30 minutes after its nodes have become free. With a longer bound the jobs
that a reservation, a limit or a dependency holds would count as latency.
"""

STRICT = 0.01
"""Share of jobs that overtake below which the order of starts is strict, as under FCFS."""

LEAST_FIT = 0.7
"""Mean wait of the replay on the same machine ÷ that recorded, below which there is no number.

A good fit proves nothing; but with a worse one the median error on the open cells was .15 on a log
scale, and 90 % were below .71, in the place of .06 and .30.
"""

MANY_OVERTAKERS = 30
"""Later jobs of its size class that started before a job, from which on it is passed over.

A size class is a power of two of nodes. Backfilling lets a few such jobs pass, a policy that
starves lets hundreds.
"""

MOST_PASSED_OVER = 0.1
"""Share of the waiting by passed-over jobs above which jobs starve, and there is no number.

Only jobs whose nodes were not free count: a limit or a hold lets others pass, too. Above it the
median error on the open cells was .18, and 90 % were below .50, in the place of .06 and .30.
"""

MOST_HELD = 0.5
"""Share of the waited node-hours above which more nodes would not help.

Of *limited* and *held* jobs, while their nodes were free.
"""

MOST_TOO_WIDE = 0.01
"""Share of the node-hours, above which there is no number, of jobs wider than the changed machine.

The replay on the same machine has them and that on the changed one has not: their absence would
count as an effect of the change. 20 % fewer nodes of a made-up machine then seemed to cut the waits
of the others to .35 of themselves.
"""

LEAST_SCORE = 0.5
"""Least score of an idle stretch (`cosimlab.closures`) that is taken as a closure.

In lower ones most of the time nobody waits who would fit: the machine is idle for want of jobs.
"""

LEAST_MEAN_WAIT = 2 * MINUTE
"""Mean wait below which there is nothing to change."""

FEWEST_WAITING = 50
"""Jobs that wait, below which one of them decides the mean."""

LEVEL = 0.9
"""Of the intervals."""

ERROR_PER_EFFECT = 0.5
ERRORS = {
    MORE_NODES: (0.15, 0.42),
    FEWER_NODES: (0.15, 0.35),
    RUN_TIMES: (0.15, 0.35),
    GONE: (0.15, 0.35),
    SHORTER_LIMIT: (0.24, 0.35),
    SEVERAL: (0.24, 0.42),
}
"""Error of the method on a log scale, by the kind of change, where jobs overtake.

The first number plus `ERROR_PER_EFFECT` times the effect's logarithm, at most the second. With the
weeks drawn anew, such intervals held the truth in 93 % of 511 open cells in which jobs overtake.
They are wider than 90 % of these need, because errors of a log under many schedulers are alike:
errors that hold 93 % of the cells of all logs but one held about 90 % of those of that one. Errors
of small effects are small, those of large ones grow no further. A limit has an error although its
effect is near none: the replay keeps the place of a job's pieces in the order of starts, and sees
nothing of what jobs gain that can start between them.
"""

FEWEST_OF_GROUP = 200
"""Jobs that a group has at least to have an interval, and a mean wait of `LEAST_MEAN_WAIT`."""

OWN_PART = 0.5
"""Where jobs overtake, the effect on a group lies so far from that on all jobs to its own replay's.

On a log scale. The order of starts favors or harms sizes more than a scheduler would: on the open
cells the median error of 1,088 classes of sizes was .185 by their own replay, .172 by that of all
jobs and .156 half way; 90 % were below .77, .62 and .55.
"""

GROUP_ERROR_PER_EFFECT = 0.6
GROUP_ERRORS = {
    MORE_NODES: (0.2, 0.7),
    FEWER_NODES: (0.2, 0.7),
    RUN_TIMES: (0.2, 0.5),
    GONE: (0.2, 0.5),
    SHORTER_LIMIT: (0.45, 0.5),
    SEVERAL: (0.45, 0.7),
}
"""The same of groups of jobs: such intervals held the truth in 93 % of the open classes."""

PAIR_ERROR, PAIR_ERROR_PER_EFFECT, MOST_PAIR_ERROR = 0.15, 0.5, 0.42
"""The same of the ratio of two effects on one log: intervals held it in 92 % of the open pairs."""

PAIR_OF_NODES_ERROR, PAIR_OF_NODES_ERROR_PER_EFFECT = 0.05, 0.4
"""The same of two numbers of nodes, both more: in 92 % of 87 open pairs, in which jobs overtake.

Their errors are more alike, and the larger machine had the shorter waits in all of these pairs.
"""

STRICT_ERROR = 0.03
"""The same in a strict order, whatever the effect: 77 open cells had errors of up to .036."""

DRAWS = 400
"""Draws of weeks."""
