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
    jobs, number = machine.jobs, machine.state.asking
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


@kernel
def end_sharing(machine: Machine, number: int) -> None:
    """End the sharing of a burst that ends now, or the part in it of a host that does."""
    jobs, lists, lengths, state = machine.jobs, machine.lists, machine.lengths, machine.state
    burst_number = number if jobs[number].on_demand else jobs[number].shares_with
    burst = jobs[burst_number]
    # The stretches of the burst and of all its hosts end together.
    for place in range(lengths[RUNNING]):
        if jobs[lists[RUNNING, place]].shares_with == burst_number:
            log_stretch(machine, lists[RUNNING, place])
    log_stretch(machine, burst_number)
    if number == burst_number:
        burst.hosts = 0
        for place in range(lengths[RUNNING]):
            host = jobs[lists[RUNNING, place]]
            if host.shares_with == burst_number:
                host.shares_with, host.lent = NO_JOB, 0
                change_speed(machine, lists[RUNNING, place], host.width, 1.0)
    else:
        host, lent = jobs[number], jobs[number].lent
        host.shares_with, host.lent = NO_JOB, 0
        host.width -= lent
        state.burst_nodes += lent
        burst.hosts -= 1
        speed = 1.0 if burst.hosts == 0 else burst.speed
        change_speed(machine, burst_number, burst.width + lent, speed)
