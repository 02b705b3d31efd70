"""Time-sharing: a burst and running jobs, its *hosts*, take turns on nodes that the burst lacks.

The burst has the part `turn` of the time, its hosts have the rest. A parallel job computes only
while all its nodes do. So in the burst's turn, the nodes of a host that the burst does not need
stand still, and in the hosts' turn the burst's own nodes do. When a host ends, the nodes that it
lent become the burst's own. When the last host has ended, the burst goes on at full speed; when the
burst ends, its hosts do.
"""

import numpy as np

from cosimlib.kernels.jit import kernel
from cosimlib.ondemand.changes import change_speed, end_collecting, start_job
from cosimlib.ondemand.log import log_stretch
from cosimlib.ondemand.state import NO_JOB, RUNNING, Machine


def share_nodes(machine: Machine, candidates: np.ndarray, lacking: int) -> None:
    """Start the burst that asks on the nodes held for it, and on nodes of the hosts it needs."""
    hosts = _choose_hosts(candidates, machine.jobs.width[candidates], lacking)
    start_sharing(machine, hosts)


def _choose_hosts(candidates: np.ndarray, width: np.ndarray, lacking: int) -> np.ndarray:
    """The hosts of a burst, in the order chosen.

    The narrowest job that is wide enough by itself is chosen, or else the widest, and again for
    what is lacking then. Of equal ones, it is the job submitted first.
    """
    width, hosts = width.copy(), []
    while lacking > 0:
        enough = np.where(width >= lacking, width, np.iinfo(np.int64).max)
        host = int(enough.argmin() if (width >= lacking).any() else width.argmax())
        hosts.append(candidates[host])
        lacking -= width[host]
        width[host] = 0
    return np.array(hosts, dtype=np.int64)


@kernel
def start_sharing(machine: Machine, hosts: np.ndarray) -> None:
    """Start the burst that asks on the nodes held for it; on the others it takes turns."""
    jobs, state = machine.jobs, machine.state
    number = state.asking
    burst = jobs[number]
    held = burst.held
    lacking = burst.nodes - held
    end_collecting(machine, number)
    start_job(machine, number, held, machine.rules.turn)
    for host in hosts:
        job = jobs[host]
        change_speed(machine, host, job.width, 1.0 - burst.speed)
        job.shares_with, job.lent = number, min(lacking, job.width)
        lacking -= job.lent
    burst.hosts = hosts.size
    state.served = 0


@kernel
def end_sharing(machine: Machine, number: int) -> None:
    """End the part of a burst, or of one of its hosts, in their sharing; it ends now itself."""
    jobs = machine.jobs
    if jobs[number].on_demand:
        _log_sharing(machine, number)
        _release_hosts(machine, number)
    else:
        _log_sharing(machine, jobs[number].shares_with)
        _leave_burst(machine, number)


@kernel
def _log_sharing(machine: Machine, burst: int) -> None:
    """Log what a burst and all its hosts did, so that their stretches end together."""
    jobs, lists = machine.jobs, machine.lists
    for place in range(machine.lengths[RUNNING]):
        if jobs[lists[RUNNING, place]].shares_with == burst:
            log_stretch(machine, lists[RUNNING, place])
    log_stretch(machine, burst)


@kernel
def _release_hosts(machine: Machine, burst: int) -> None:
    """Let all hosts of a burst that ends go on at full speed."""
    jobs, lists = machine.jobs, machine.lists
    for place in range(machine.lengths[RUNNING]):
        number = lists[RUNNING, place]
        host = jobs[number]
        if host.shares_with == burst:
            host.shares_with, host.lent = NO_JOB, 0
            change_speed(machine, number, host.width, 1.0)
    jobs[burst].hosts = 0


@kernel
def _leave_burst(machine: Machine, number: int) -> None:
    """Give the nodes that a host lent to its burst when the host ends."""
    jobs, host = machine.jobs, machine.jobs[number]
    burst = jobs[host.shares_with]
    lent = host.lent
    host.width -= lent
    burst.hosts -= 1
    machine.state.used += lent
    speed = 1.0 if burst.hosts == 0 else burst.speed
    change_speed(machine, host.shares_with, burst.width + lent, speed)
    host.shares_with, host.lent = NO_JOB, 0
