"""Placement on nodes and queues for them as their rules say it, slowly and with plain lists.

Written from Weng et al.'s simulator (hkust-adsl/kubernetes-scheduler-simulator, 8f3d641) and from
the text of `cosimlib.nodes.simulation`, not from our kernels. Amounts are in thousandths.
"""

import math
from collections import Counter
from copy import deepcopy
from dataclasses import dataclass, field


@dataclass
class Node:
    """What a node has, and what is idle of it."""

    cores: int
    memory: float
    gpus: list
    model: str
    kinds: Counter = field(default_factory=Counter)

    def __post_init__(self):
        self.all_cores, self.used = self.cores, False


@dataclass(frozen=True)
class Request:
    """What a job asks for on each of its nodes; None for all cores."""

    cores: int | None
    memory: float
    gpus: int
    share: int
    models: tuple = ()

    @property
    def kind(self):
        return "share" if self.share < 1000 else f"{self.gpus}-gpu"


def cores_on(node, request):
    return node.all_cores if request.cores is None else request.cores


def is_allowed(node, request):
    return not request.models or node.model in request.models


def fits(node, request):
    if node.cores < cores_on(node, request) or node.memory < request.memory:
        return False
    if request.gpus == 0:
        return True
    enough = [idle for idle in node.gpus if idle >= request.share]
    return is_allowed(node, request) and len(enough) >= request.gpus


def take(node, request, gpus, sign=1):
    node.cores -= sign * cores_on(node, request)
    node.memory -= sign * request.memory
    for gpu in gpus:
        node.gpus[gpu] -= sign * request.share
    if gpus:
        node.kinds[request.kind] += sign


def typical_requests(requests, part=0.95):
    """(request without memory, weight), the commonest first."""
    times = Counter((r.cores, r.share, r.gpus, r.models) for r in requests)

    def size(key):
        cores, share, gpus, models = key
        return (-1 if cores is None else cores, share, gpus, "|".join(models))

    ordered = sorted(times, key=lambda key: (times[key], size(key)), reverse=True)
    kept, reached = [], 0
    for key in ordered:
        if reached >= part * len(requests):
            break
        kept.append(key)
        reached += times[key]
    weights = [times[key] / len(requests) for key in kept]
    if len(kept) < len(ordered):
        weights = [weight / (reached / len(requests)) for weight in weights]
    return [
        (Request(cores, 0, gpus, share, models), weight)
        for (cores, share, gpus, models), weight in zip(kept, weights, strict=True)
    ]


def fragmentation(node, typical):
    """Thousandths of GPUs that are fragments, summed by the reason."""
    reasons = ["lacks both", "lacks gpu", "lacks cores", "no gpu", "no gpu or cores", "no access"]
    amounts, idle = dict.fromkeys(reasons, 0.0), sum(node.gpus)
    for request, weight in typical:
        has_cores = node.cores >= cores_on(node, request)
        if request.gpus == 0:
            amounts["no gpu" if has_cores else "no gpu or cores"] += weight * idle
        elif not is_allowed(node, request):
            amounts["no access"] += weight * idle
        elif sum(each >= request.share for each in node.gpus) < request.gpus:
            amounts["lacks gpu" if has_cores else "lacks both"] += weight * idle
        elif has_cores:
            small = sum(each for each in node.gpus if each < request.share)
            amounts["lacks gpu"] += weight * small
        else:
            amounts["lacks cores"] += weight * idle
    return sum(amounts.values())


def by_idle(node, request, most=False):
    """The GPUs with the least idle that is enough, or with the most."""
    enough = [gpu for gpu, idle in enumerate(node.gpus) if idle >= request.share]
    enough.sort(key=lambda gpu: -node.gpus[gpu] if most else node.gpus[gpu])
    return enough[: request.gpus]


def descent(node, request, typical):
    """Score of fragmentation gradient descent, and the GPUs."""

    def score(gpus):
        after = deepcopy(node)
        take(after, request, gpus)
        fall = fragmentation(node, typical) - fragmentation(after, typical)
        return int(1 / (1 + math.exp(-fall / 1000)) * 100)

    if request.gpus != 1 or request.share == 1000:
        gpus = by_idle(node, request)
        return score(gpus), gpus
    enough = [gpu for gpu, idle in enumerate(node.gpus) if idle >= request.share]
    best = max(enough, key=lambda gpu: (score([gpu]), -gpu))
    return score([best]), [best]


def scored(node, request, placement, largest, typical):
    """Score of a node that fits, and the GPUs that the job would get."""
    most_cores, most_gpu = largest
    wanted, idle, gpus = request.gpus * request.share, sum(node.gpus), by_idle(node, request)
    cores = cores_on(node, request)
    if placement == "first_fit":
        return 0, gpus
    if placement == "fgd":
        return descent(node, request, typical)
    if placement == "dot_product":
        dot = node.cores / most_cores * (cores / most_cores)
        dot += idle / most_gpu * (wanted / most_gpu)
        return int(100 * (1 - dot / 2)), gpus
    if placement in ("best_fit", "worst_fit"):
        rest = (node.cores - cores) / most_cores * 0.5 + (idle - wanted) / most_gpu * 0.5
        worst = placement == "worst_fit"
        return int(rest * 100 if worst else (1 - rest) * 100), by_idle(node, request, worst)
    if request.gpus == 0:
        return 0, gpus
    if placement == "gpu_clustering":
        used = 25 * (most_gpu - idle) // most_gpu
        kinds = [kind for kind, jobs in node.kinds.items() if jobs > 0]
        if request.kind in kinds:
            return used + (75 if len(kinds) == 1 else 50), gpus
        return used + (0 if kinds else 25), gpus
    whole = sum(each == 1000 for each in node.gpus)
    if whole == len(node.gpus):
        return max(33 - whole, whole), gpus
    opened = sum(node.gpus[gpu] == 1000 for gpu in gpus)
    if opened:
        return max(50 - opened, 33), gpus
    return max(100 - sum(node.gpus[gpu] * 100 // 1000 for gpu in gpus) // 10, 50), gpus


def choose(nodes, request, wanted, placement, typical, barred=()):
    """(node, its GPUs) for each of the nodes wanted, by number; None if too few fit."""
    largest = max(n.all_cores for n in nodes), 1000 * max(1, *(len(n.gpus) for n in nodes))
    options = []
    for number, node in enumerate(nodes):
        if number not in barred and fits(node, request):
            score, gpus = scored(node, request, placement, largest, typical)
            options.append((-score, number, gpus))
    if len(options) < wanted:
        return None
    return sorted((number, gpus) for _, number, gpus in sorted(options)[:wanted])


def places(nodes, jobs, placement, typical):
    """Where each (request, nodes wanted) goes that arrives and never leaves; [] if nowhere."""
    nodes, found = deepcopy(nodes), []
    for request, wanted in jobs:
        chosen = choose(nodes, request, wanted, placement, typical) or []
        for number, gpus in chosen:
            take(nodes[number], request, gpus)
        found.append(chosen)
    return found


# --- queues ---------------------------------------------------------------------------------------


class Machine:
    """Nodes, who runs where, and who waits: (request, nodes, submit, run, requested) per job."""

    def __init__(self, nodes, jobs, placement="first_fit", typical=()):
        self.nodes, self.empty, self.jobs = deepcopy(nodes), nodes, jobs
        self.placement, self.typical = placement, typical
        self.waiting, self.running, self.starts = [], {}, {}
        self.next_reserved = math.inf

    def options(self, job, barred=()):
        request, wanted = self.jobs[job][:2]
        return choose(self.nodes, request, wanted, self.placement, self.typical, barred)

    def start(self, job, now, barred=(), chosen=None):
        chosen = chosen or self.options(job, barred)
        for number, gpus in chosen:
            take(self.nodes[number], self.jobs[job][0], gpus)
        self.starts[job] = now
        self.running[job] = chosen
        self.waiting.remove(job)

    def end(self, job):
        for number, gpus in self.running.pop(job):
            take(self.nodes[number], self.jobs[job][0], gpus, -1)

    def expected_end(self, job, now):
        return max(self.starts[job] + self.jobs[job][4], now)

    def nodes_at(self, moment, now):
        """Nodes as they are at a moment, if running jobs end when expected and nobody starts."""
        nodes = deepcopy(self.nodes)
        for job, chosen in self.running.items():
            if self.expected_end(job, now) <= moment:
                for number, gpus in chosen:
                    take(nodes[number], self.jobs[job][0], gpus, -1)
        return nodes


def starts(nodes, jobs, policy, placement="first_fit", typical=()):
    """Start of each job, job by job, instant by instant."""
    machine = Machine(nodes, jobs, placement, typical)
    coming = list(range(len(jobs)))
    while coming or machine.running:
        ends = {job: machine.starts[job] + jobs[job][3] for job in machine.running}
        now = min([jobs[job][2] for job in coming[:1]] + list(ends.values()))
        now = min(now, machine.next_reserved)
        for job in [job for job, end in ends.items() if end <= now]:
            machine.end(job)
        while coming and jobs[coming[0]][2] <= now:
            machine.waiting.append(coming.pop(0))
        (plan_pass if policy == "conservative" else run_pass)(machine, policy, now)
    return [machine.starts[job] for job in range(len(jobs))]


def run_pass(machine, policy, now):
    while machine.waiting and machine.options(machine.waiting[0]) is not None:
        machine.start(machine.waiting[0], now)
    if policy == "fcfs" or not machine.waiting:
        return
    head, *others = machine.waiting
    request, wanted = machine.jobs[head][:2]
    if policy == "first_fit":
        for job in others:
            if machine.options(job) is not None:
                machine.start(job, now)
        return

    def fitting(nodes):
        return [number for number, node in enumerate(nodes) if fits(node, request)]

    moments = sorted({now} | {machine.expected_end(job, now) for job in machine.running})
    shadow = next(m for m in moments if len(fitting(machine.nodes_at(m, now))) >= wanted)
    for job in others:
        if machine.options(job) is None:
            continue
        if now + machine.jobs[job][4] <= shadow:
            machine.start(job, now)
            continue
        then = machine.nodes_at(shadow, now)
        spare = len(fitting(then)) - wanted
        barred = set()
        if spare < machine.jobs[job][1]:
            own, taking = machine.jobs[job][0], []
            largest = (max(n.all_cores for n in then), 1000 * max(1, *(len(n.gpus) for n in then)))
            for number in fitting(then):
                if fits(machine.nodes[number], own):
                    args = machine.placement, largest, machine.typical
                    gpus = scored(machine.nodes[number], own, *args)[1]
                    take(then[number], own, gpus)
                    if not fits(then[number], request):
                        taking.append(number)
                    take(then[number], own, gpus, -1)
            barred = set(taking[max(spare, 0) :])
        if machine.options(job, barred) is not None:
            machine.start(job, now, barred)


# --- conservative backfilling ---------------------------------------------------------------------


def plan_pass(machine, policy, now):
    """Reserve nodes and GPUs for each waiting job, in order; who can begin now, begins."""
    machine.next_reserved = math.inf
    holds = []  # (request, its nodes and GPUs, from, until): of all that run and are reserved
    for job, chosen in machine.running.items():
        request, _, _, _, requested = machine.jobs[job]
        end = machine.starts[job] + requested
        holds.append((request, chosen, -math.inf, end if end > now else now + AFTERWARDS))
    for job in list(machine.waiting):
        request, wanted, _, _, requested = machine.jobs[job]
        moments = sorted({now, now + AFTERWARDS} | {hold[3] for hold in holds if hold[3] > now})
        for begin in moments:
            idle = [
                least(machine, holds, number, begin, begin + requested)
                for number in range(len(machine.nodes))
            ]
            fitting = [number for number, node in enumerate(idle) if fits(node, request)]
            if len(fitting) >= wanted:
                break
        if begin == now:
            barred = set(range(len(idle))) - set(fitting)
            fitting = [number for number, _ in machine.options(job, barred)]
        else:
            before = [moment for moment in moments if moment < begin]

            def idle_since(number, before=before, request=request):
                """At how many moments before, one after the other, the job fits on a node."""
                fit = [fits(at_moment(machine, holds, number, one), request) for one in before]
                return next((n for n, each in enumerate(fit[::-1]) if not each), len(fit))

            fitting.sort(key=idle_since)
        chosen = [(number, by_idle(idle[number], request)) for number in fitting[:wanted]]
        holds.append((request, chosen, begin, begin + requested))
        if begin > now + AFTERWARDS:
            # Whole seconds, also where it follows on one for right after now.
            machine.next_reserved = min(machine.next_reserved, math.floor(begin))
        if begin == now:
            machine.start(job, now, chosen=chosen)


AFTERWARDS = 1e-6
"""Seconds from now to right after now; all times of cases are whole."""


def least(machine, holds, number, begin, end):
    """A node with what is idle on it, and on each of its GPUs, all the time."""
    moments = {begin} | {hold[2] for hold in holds if begin < hold[2] < end}
    states = [at_moment(machine, holds, number, moment) for moment in moments]
    found = deepcopy(states[0])
    found.cores = min(state.cores for state in states)
    found.memory = min(state.memory for state in states)
    found.gpus = [min(parts) for parts in zip(*(state.gpus for state in states), strict=True)]
    return found


def at_moment(machine, holds, number, moment):
    """A node with what is idle on it at a moment."""
    node = deepcopy(machine.empty[number])
    for request, chosen, begin, end in holds:
        for place, gpus in chosen:
            if place == number and begin <= moment < end:
                take(node, request, gpus)
    return node
