"""Time-sharing event by event or step by step, in fractions: slow and obvious.

Written from the paper and its summary in prose. `jobs` is a workload's frame; `memory` in it is GB
a node. Numbers are `Fraction`s inside, so that there is no rounding.
"""

import math
from fractions import Fraction


def filled(where, capacity):
    """Max-min fair rates by progressive filling: all rise together until their node is full.

    `where` has the nodes of each job; `capacity` is that of each node.
    """
    rates, left = {}, dict(capacity)
    while len(rates) < len(where):
        rising = [job for job in where if job not in rates]
        counts = {node: sum(node in where[job] for job in rising) for node in left}
        level = min(left[node] / counts[node] for node in left if counts[node])
        full = [node for node in left if counts[node] and left[node] / counts[node] == level]
        for job in rising:
            if any(node in full for node in where[job]):
                rates[job] = level
                for node in where[job]:
                    left[node] -= level
    return rates


def parted(where, capacity):
    """Mean over its nodes of the equal parts that each job has there."""
    loads = {node: sum(node in nodes for nodes in where.values()) for node in capacity}
    parts = {node: capacity[node] / max(1, loads[node]) for node in capacity}
    return {job: sum(parts[node] for node in where[job]) / len(where[job]) for job in where}


class Shared:
    """A run: `starts`, `ends`, `where` each job ran, and what `utilization` and the like were.

    `log` has a line for each stretch: from, to, useful node-seconds a second, jobs × nodes, queue;
    `rates` has those of the jobs in each of them.
    """

    def __init__(
        self,
        jobs,
        nodes,
        *,
        overhead=0,
        spmd=True,
        memory=math.inf,
        queue="first_fit",
        placement=None,
        step=None,
        noise=(),
    ):
        self.jobs = {job.Index: job for job in jobs.itertuples()}
        self.memory, self.queue, self.placement = memory, queue, placement
        self.speed = 1 - Fraction(overhead)
        self.nodes, self.spmd = range(nodes), spmd
        self.slowed = {(Fraction(t), node): Fraction(speed) for t, node, speed in noise}
        self.coming, self.waiting = list(self.jobs), []
        self.left, self.where, self.starts, self.ends, self.log, self.rates = {}, {}, {}, {}, [], []
        self.step = None if step is None else Fraction(step)
        self.now = Fraction(0)
        while self.coming or self.waiting or self.left:
            self.one_instant()
            self.go_on()

    def submitted(self, job):
        """When a job is submitted: in steps, at the nearest one."""
        time = Fraction(self.jobs[job].submit_time)
        if self.step is None:
            return time
        return math.floor(time / self.step + Fraction(1, 2)) * self.step

    def one_instant(self):
        """Whoever is done leaves, then whoever may enters; again while that makes somebody done."""
        while True:
            for job in [job for job in self.left if self.left[job] <= 0]:
                self.ends[job] = self.now
                del self.left[job]
            self.waiting += [job for job in self.coming if self.submitted(job) <= self.now]
            self.coming = [job for job in self.coming if job not in self.waiting]
            for job in list(self.waiting):
                chosen = self.chosen(job)
                if chosen:
                    self.waiting.remove(job)
                    self.where[job], self.starts[job] = chosen, self.now
                    self.left[job] = Fraction(self.jobs[job].run_time)
                elif self.queue == "fcfs":
                    break
            if all(left > 0 for left in self.left.values()):
                return

    def chosen(self, job):
        """The nodes for a job, None while too few have the memory."""
        fitting = [node for node in self.nodes if self.free(node) >= self.needs(job)]
        if self.placement is not None:
            given = [int(node) for node in self.placement[job]]
            return given if set(given) <= set(fitting) else None
        by_load = sorted(fitting, key=lambda node: (len(self.jobs_on(node)), node))
        size = self.jobs[job].nodes
        return sorted(by_load[:size]) if len(by_load) >= size else None

    def jobs_on(self, node):
        return [job for job in self.left if node in self.where[job]]

    def needs(self, job):
        memory = getattr(self.jobs[job], "memory", 0)
        return 0 if math.isnan(memory) else memory

    def free(self, node):
        return self.memory - sum(self.needs(job) for job in self.jobs_on(node))

    def capacity(self):
        """What each node gives now."""
        return {n: self.speed * self.slowed.get((self.now, n), 1) for n in self.nodes}

    def go_on(self):
        """Everybody works until the next step, or the next end or submission."""
        where = {job: self.where[job] for job in self.left}
        rates = (filled if self.spmd else parted)(where, self.capacity())
        ends = [self.now + self.left[job] / rate for job, rate in rates.items() if rate > 0]
        submissions = [self.submitted(job) for job in self.coming]
        until = self.now + self.step if self.step else min(ends + submissions, default=self.now)
        sizes = {job: len(nodes) for job, nodes in where.items()}
        useful = sum(rates[job] * sizes[job] for job in where)
        self.log.append((self.now, until, useful, sum(sizes.values()), len(self.waiting)))
        self.rates.append(rates)
        for job, rate in rates.items():
            self.left[job] -= rate * (until - self.now)
        self.now = until

    def shares(self, moment):
        """Rates from a moment on; nobody runs where there is no stretch."""
        for (begin, until, *_), rates in zip(self.log, self.rates, strict=True):
            if begin <= moment < until:
                return {job: float(rate) for job, rate in rates.items() if rate > 0}
        return {}

    def means(self, width):
        """Means of the log's last three columns over windows."""
        windows = math.ceil(self.log[-1][1] / width)
        sums = [[0, 0, 0] for _ in range(windows)]
        for begin, end, *values in self.log:
            for window in range(int(begin // width), math.ceil(end / width)):
                inside = min(end, (window + 1) * width) - max(begin, window * width)
                sums[window] = [s + inside * v for s, v in zip(sums[window], values, strict=True)]
        return [[float(total / width) for total in row] for row in sums]
