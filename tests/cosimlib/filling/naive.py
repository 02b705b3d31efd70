"""Conservative backfilling with containers, slot by slot and node by node: slow and obvious.

Written from the rules in prose. `jobs` is a workload's frame whose times are whole slots.
"""


class Filled:
    """A run: starts, first reservations, jobs held up, and (from, to, saved) of containers.

    Containers are open in order of their start, each with when it was started or saved last.
    """

    def __init__(
        self,
        jobs,
        nodes,
        *,
        policy=None,
        reclaim="save",
        save_every=10**9,
        depth=10**9,
        reschedule=True,
    ):
        self.jobs = [job._replace(submit_time=int(job.submit_time)) for job in jobs.itertuples()]
        self.nodes, self.policy, self.reclaim, self.depth = nodes, policy, reclaim, depth
        self.save_every, self.reschedule = save_every, reschedule
        self.starts, self.promised, self.reserved = {}, {}, {}
        self.coming, self.waiting, self.running = list(self.jobs), [], []
        self.expected_end, self.open, self.closed = {}, [], []
        self.held_up, self.wanted = set(), 0
        self.barred, self.now = 0, min(job.submit_time for job in self.jobs)
        while self.coming or self.waiting or self.running:
            self.one_slot()
            self.now += 1
        # The last slot looked at is the one in which the last job is found to have ended.
        self.now -= 1
        while self.open:
            self.close(saved=True)

    def one_slot(self):
        due = sum(job.nodes for job in self.waiting if self.reserved[job.Index] == self.now)
        released = sum(
            job.nodes for job in self.running if self.expected_end[job.Index] <= self.now
        )
        self.save_now_and_then()
        self.save(max(0, due - released))
        holds_back = self.policy == "B" and self.reclaim == "save"
        self.barred, self.wanted = len(self.open) if holds_back else 0, 0
        ended = [job for job in self.running if self.end(job) == self.now]
        self.running = [job for job in self.running if job not in ended]
        for job in self.running:
            if self.expected_end[job.Index] <= self.now:
                self.expected_end[job.Index] = self.now + 1
        if any(self.free(moment) < 0 for moment in self.moments()):
            self.reserved = {}
            for job in self.waiting:
                self.place(job)
        elif ended and self.reschedule:
            for job in self.waiting:
                del self.reserved[job.Index]
                self.place(job)
        while self.let_in() + self.start():
            pass
        self.run_containers(self.nodes - sum(job.nodes for job in self.running))

    def end(self, job):
        return self.starts[job.Index] + job.run_time

    def moments(self):
        """Slots in which what is free may change."""
        changes = {self.now, self.now + 1, *self.expected_end.values()}
        for job in self.waiting:
            if job.Index in self.reserved:
                start = self.reserved[job.Index]
                changes |= {start, start + int(job.requested_time)}
        return sorted(moment for moment in changes if moment >= self.now)

    def free(self, moment):
        held = sum(job.nodes for job in self.running if self.expected_end[job.Index] > moment)
        for job in self.waiting:
            start = self.reserved.get(job.Index, float("inf"))
            if start <= moment < start + job.requested_time:
                held += job.nodes
        return self.nodes - held - (self.barred if moment == self.now else 0)

    def place(self, job):
        """Reserve the first slot from which enough nodes are free for the requested time."""
        moments = self.moments()
        for start in moments:
            inside = [start, *(m for m in moments if start < m < start + job.requested_time)]
            if all(self.free(moment) >= job.nodes for moment in inside):
                self.note_held_up(job, start)
                self.reserved[job.Index] = start
                return
        raise AssertionError("after everything there is room for every job")

    def note_held_up(self, job, start):
        """A job is held up if it would start now but for containers, others that would counted."""
        if start == self.now:
            return
        now = self.free(self.now) + self.barred - self.wanted
        later = [self.free(m) for m in range(self.now + 1, self.now + int(job.requested_time))]
        if min([now, *later]) >= job.nodes:
            self.held_up.add(job.Index)
            self.wanted += job.nodes

    def let_in(self):
        entered = 0
        while self.coming and self.coming[0].submit_time <= self.now:
            if len(self.waiting) >= self.depth:
                break
            job = self.coming.pop(0)
            self.waiting.append(job)
            self.place(job)
            self.promised[job.Index] = self.reserved[job.Index]
            entered += 1
        return entered

    def start(self):
        due = [job for job in self.waiting if self.reserved[job.Index] == self.now]
        for job in due:
            self.starts[job.Index] = self.now
            self.expected_end[job.Index] = self.now + int(job.requested_time)
            self.running.append(job)
            self.waiting.remove(job)
        return len(due)

    def save_now_and_then(self):
        """Each container that was not saved for so many slots was saved in the slot before."""
        for place, since in enumerate(self.open):
            if self.policy == "C" and self.now - since == self.save_every:
                self.closed.append((since, self.now, True))
                self.open[place] = self.now

    def save(self, count):
        """The youngest containers, if any, were saved in the slot before."""
        if self.policy in ("B", "C"):
            for _ in range(count):
                self.close(saved=True)

    def close(self, saved):
        """The youngest container stops; it is not counted if it was saved just now."""
        since = self.open.pop()
        if since < self.now:
            self.closed.append((since, self.now, saved))

    def run_containers(self, idle):
        """Every idle node runs a container."""
        if self.policy == "A":
            self.closed += [(self.now, self.now + 1, True)] * idle * bool(self.busy_later())
        if self.policy in ("B", "C"):
            while len(self.open) > idle:
                self.close(saved=False)
            self.open += [self.now] * (idle - len(self.open))

    def busy_later(self):
        return self.coming or self.waiting or self.running
