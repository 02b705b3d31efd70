"""Slow, obvious versions of batch policies on a machine with a calendar.

Written from the semantics in prose and not from our code. `windows` are tuples (start, end, nodes,
kind, known_from); `jobs` is a workload's frame. Each function returns the starts and the run times,
which kills cut.
"""

import math

from tests.cosimlib.batch.naive import earliest_hole, in_turn


class Machine:
    """Time, running jobs and windows: what all policies share."""

    def __init__(self, jobs, nodes, windows, on_overrun):
        self.nodes, self.on_overrun = nodes, on_overrun
        self.coming, self.waiting, self.running = list(jobs.itertuples()), [], []
        first = min([job.submit_time for job in self.coming], default=0)
        self.windows = [window for window in windows if window[1] > first]
        self.instants = sorted({t for s, e, _, _, k in self.windows for t in (k, s, e)})
        self.starts, self.run_time = {}, {job.Index: job.run_time for job in self.coming}
        self.now = -math.inf

    def end(self, job):
        return self.starts[job.Index] + self.run_time[job.Index]

    def expected_end(self, job):
        return max(self.starts[job.Index] + job.requested_time, self.now)

    def known(self):
        """Windows that a scheduler knows now."""
        return [window for window in self.windows if window[4] <= self.now]

    def held(self):
        return sum(job.nodes for job in self.running)

    def open_now(self, kinds=("maintenance", "reservation", "down", "drain")):
        return self.nodes - sum(
            n for s, e, n, k, _ in self.windows if s <= self.now < e and k in kinds
        )

    def free_now(self):
        return self.open_now() - self.held()

    def start(self, job):
        self.starts[job.Index] = self.now
        self.waiting.remove(job)
        self.running.append(job)

    def go_on(self, due=()):
        """The next instant: its ends, then kills, then its submissions, which are returned."""
        instants = [t for t in self.instants if t > self.now] if self.is_busy() else []
        submissions = [job.submit_time for job in self.coming]
        first = min(submissions, default=math.inf) if self.now == -math.inf else -math.inf
        instants = [max(t, first) for t in instants]
        self.now = min(submissions + [self.end(job) for job in self.running] + instants + [*due])
        ended = [job for job in self.running if self.end(job) <= self.now]
        self.running = [job for job in self.running if job not in ended]
        killed = self.kill()
        submitted = [job for job in self.coming if job.submit_time <= self.now]
        self.coming = [job for job in self.coming if job.submit_time > self.now]
        return ended, killed, submitted

    def is_busy(self):
        return bool(self.coming or self.waiting or self.running)

    def kill(self):
        """Kill until the others fit: the overdue first, then the last to start, the higher row."""
        killed, kinds = [], ("maintenance", "reservation", "down")
        begins = self.on_overrun == "kill" and any(s == self.now for s, _, _, _, _ in self.windows)
        while begins and self.running and self.held() > self.open_now(kinds):
            victim = max(
                self.running,
                key=lambda job: (
                    self.starts[job.Index] + job.requested_time <= self.now,
                    self.starts[job.Index],
                    job.Index,
                ),
            )
            self.run_time[victim.Index] = self.now - self.starts[victim.Index]
            self.running.remove(victim)
            killed.append(victim)
        return killed

    def result(self):
        n = len(self.starts)
        return [self.starts[j] for j in range(n)], [self.run_time[j] for j in range(n)]


def starts_in_passes(jobs, nodes, windows, on_overrun, rule, order="submit"):
    """FCFS, first fit, EASY, and EASY without extra nodes, by their names."""
    machine = Machine(jobs, nodes, windows, on_overrun)
    while machine.is_busy():
        _, _, submitted = machine.go_on()
        machine.waiting += submitted
        run_pass(machine, rule, order)
    return machine.result()


def run_pass(machine, rule, order):
    queue = in_turn(machine.waiting, order, machine.now)
    while queue and can_start(machine, queue[0], []):
        machine.start(queue[0])
        queue = in_turn(queue[1:], order, machine.now)
    if not queue or rule == "fcfs":
        return
    head, kept, latest = queue[0], [], math.inf
    if rule != "first fit":
        shadow_time = earliest_start(machine, head)
        if rule == "easy":
            kept = [(shadow_time, shadow_time + head.requested_time, head.nodes)]
        else:
            latest = shadow_time
    for job in queue[1:]:
        in_time = latest == math.inf or job.requested_time < latest - machine.now
        if in_time and can_start(machine, job, kept):
            machine.start(job)


def taken(machine, kept):
    """What takes nodes from now on: running jobs, windows that are known, what is kept."""
    jobs = [(machine.now, machine.expected_end(job), job.nodes) for job in machine.running]
    return jobs + [window[:3] for window in machine.known()] + kept


def fits_from(machine, job, moment, kept):
    """Whether enough nodes are free from a moment for the requested time."""
    intervals, until = taken(machine, kept), moment + job.requested_time
    looked_at = [moment] + [begin for begin, _, _ in intervals if moment < begin < until]
    return all(
        sum(n for begin, end, n in intervals if begin <= look < end) + job.nodes <= machine.nodes
        for look in looked_at
    )


def can_start(machine, job, kept):
    return job.nodes <= machine.free_now() and fits_from(machine, job, machine.now, kept)


def earliest_start(machine, job):
    moments = {machine.now} | {end for _, end, _ in taken(machine, [])}
    later = sorted(moment for moment in moments if moment >= machine.now)
    return next(moment for moment in later if fits_from(machine, job, moment, []))


def conservative_starts(jobs, nodes, windows, on_overrun, order="submit", reservations="kept"):
    """Starts, run times, and the starts first promised, under a reservation for every job."""
    machine = Machine(jobs, nodes, windows, on_overrun)
    plan, promised, broken = {}, {}, False

    def place(job):
        running = [
            (machine.starts[r.Index], machine.starts[r.Index] + r.requested_time, r.nodes)
            for r in machine.running
        ]
        others = [w for w in machine.waiting if w.Index in plan and w is not job]
        reserved = [(plan[w.Index], plan[w.Index] + w.requested_time, w.nodes) for w in others]
        closed = [window[:3] for window in machine.known()]
        plan[job.Index] = earliest_hole(running + reserved + closed, job, machine.now, nodes)
        promised.setdefault(job.Index, plan[job.Index])
        start_if_due(job)

    def start_if_due(job):
        if plan[job.Index] <= machine.now and job.nodes <= machine.free_now():
            machine.start(job)

    while machine.is_busy():
        due = [plan[job.Index] for job in machine.waiting if plan[job.Index] > machine.now]
        known_before = machine.known()
        ended, killed, submitted = machine.go_on(due)
        new = [window for window in machine.known() if window not in known_before]
        was_broken = broken
        broken = any(
            machine.starts[job.Index] + job.requested_time <= machine.now for job in machine.running
        )
        if reservations == "replanned":
            machine.waiting, plan = machine.waiting + submitted, {}
            for job in in_turn(machine.waiting, order, machine.now):
                place(job)
            continue
        queue = in_turn(machine.waiting, order, machine.now)
        if broken or was_broken or killed or do_not_fit(machine, new, plan):
            old, plan = plan, {}
            for job in sorted(queue, key=lambda job, old=old: old[job.Index]):
                place(job)
        else:
            for job in queue:
                start_if_due(job)
            for job in [job for job in queue if ended and job in machine.waiting]:
                place(job)
        for job in submitted:
            machine.waiting.append(job)
            place(job)
    n = len(jobs)
    return *machine.result(), [promised[job] for job in range(n)]


def do_not_fit(machine, new, plan):
    """Whether new windows take nodes that running jobs or reservations were promised."""
    running = [(machine.now, machine.expected_end(job), job.nodes) for job in machine.running]
    reserved = [(plan[w.Index], plan[w.Index] + w.requested_time, w.nodes) for w in machine.waiting]
    everything = running + reserved + [window[:3] for window in machine.known()]
    for begin, until, _, _, _ in new:
        looks = [max(begin, machine.now)]
        looks += [b for b, _, _ in everything if looks[0] < b < until]
        for look in looks:
            if sum(n for b, e, n in everything if b <= look < e) > machine.nodes:
                return True
    return False
