"""Could an elastic schedule have happened? Raises where it could not.

`cosimlib.audit` wants jobs that run once, so schedules that kill jobs have a check of their own.
"""

from cosimlib.preemption.auditing.ownership import check_ownership
from cosimlib.preemption.auditing.reclaims import check_kills, check_reclaims
from cosimlib.preemption.auditing.runs import check_nodes, check_runs, runs_on_nodes
from cosimlib.preemption.auditing.users import check_users
from cosimlib.schedulers.elastic import ElasticSchedule


def audit_elastic(schedule: ElasticSchedule) -> ElasticSchedule:
    """The schedule itself, once it is shown that it could have happened.

    - *Jobs*: every job completes exactly once and after its full run time, none of its runs overlap
      or come before its submission, and its start and end are those of its first and last run.
    - *Nodes*: every run holds as many nodes as the job wants, no node is on two runs at a time.
    - *Owners*: every node has exactly one owner from 0 to infinity, and a run's nodes belong to its
      job's partition as long as it lasts.
    - *Reclaims*: a node that was wanted back left when its run ended, and if that was a kill, the
      run's grace period was over on one of its nodes; every kill has such a reclaim. Notices were
      given at once and each minute.
    - *Users*: each has the nodes granted, no more than asked for, for as long as asked for; where
      it got fewer, nobody had any left.

    Raises
    ------
    InfeasibleScheduleError
        Naming the policy, and the job, the node or the preemption.
    """
    runs = runs_on_nodes(schedule)
    check_runs(schedule)
    check_nodes(schedule, runs)
    check_ownership(schedule, runs)
    check_reclaims(schedule, runs)
    check_kills(schedule, runs)
    check_users(schedule)
    return schedule


__all__ = ["audit_elastic"]
