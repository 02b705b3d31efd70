"""Bursts on a machine whose nodes are closed at times, second by second, written from the prose."""

from tests.cosimlib.ondemand.naive import Machine


class ClosingMachine(Machine):
    """A machine with windows of start, end, nodes, and the time from which each is known."""

    def __init__(self, *args, windows, **knobs):
        self.windows = windows
        super().__init__(*args, **knobs)

    def windows_change(self):
        """Close idle nodes first, then those held for the bursts that were called last."""
        self.closed = sum(n for start, end, n, _ in self.windows if start <= self.now < end)
        for burst in reversed(self.gathering):
            burst.held -= min(burst.held, max(-self.free, 0))
        return any(self.now in (start, end, known) for start, end, _, known in self.windows)

    def plan(self, burst, needed):
        if self.free >= 0:
            super().plan(burst, needed)

    def predict(self, burst):
        if self.free >= 0:
            super().predict(burst)

    def backfill(self):
        while self.queue and self.fits_on(self.queue[0]):
            self.begin(self.queue.pop(0))
        if not self.queue:
            return
        head = self.queue[0]
        begin = next(m for m in self.moments() if self.fits_from(head, m))
        kept = begin, begin + self.duration(head), head.nodes
        for job in self.queue[1:]:
            if self.fits_on(job, kept):
                self.queue.remove(job)
                self.begin(job)

    def duration(self, job):
        return job.reread + job.estimate(max(job.requested, job.saved))

    def holders(self):
        """Ends and nodes of all that holds nodes, as far as is known."""
        ends = [(max(job.expected, self.now), job.width) for job in self.running]
        for burst in self.gathering:
            arrival = self.now if burst.submit <= self.now else max(burst.expected_at, self.now)
            ends.append((arrival + burst.requested, burst.held))
        return ends

    def known(self):
        return [window for window in self.windows if window[3] <= self.now]

    def moments(self, *others):
        """Now, and all later moments at which the number of free nodes is expected to change."""
        edges = [edge for start, end, _, _ in self.known() for edge in (start, end)]
        moments = {self.now, *edges, *(end for end, _ in self.holders()), *others}
        return sorted(moment for moment in moments if moment >= self.now)

    def free_at(self, moment):
        held = sum(nodes for end, nodes in self.holders() if end > moment)
        closed = sum(n for start, end, n, _ in self.known() if start <= moment < end)
        return self.total - held - closed

    def fits_from(self, job, begin, kept=(0, 0, 0)):
        """Whether a job fits from a moment on for its whole request, beside what is kept."""
        end = begin + self.duration(job)
        inside = [m for m in self.moments(kept[0], begin) if begin <= m < end]
        return all(
            job.nodes + kept[2] * (kept[0] <= m < kept[1]) <= self.free_at(m) for m in inside
        )

    def fits_on(self, job, kept=(0, 0, 0)):
        return job.nodes <= self.free and self.fits_from(job, self.now, kept)
