"""Bursts on a batch machine, second by second: slow and obvious, written from the rules in prose.

All times are whole seconds and every run lasts at least one. Eviction problems go through the faces
of the solvers, which have oracles of their own. Where jobs go slower than at full speed,
`tests.cosimlib.ondemand.fluid` goes from one event to the next instead, in exact fractions.
"""

from dataclasses import dataclass, field
from fractions import Fraction
from math import ceil

import pandas as pd

from cosimlib.eviction import EvictionProblem, solve_blocked, solve_dynamic, solve_greedy
from cosimlib.eviction.plan import writing_order

WAITING = ("wait", "reserve")


@dataclass(eq=False)
class Job:
    """A batch job or a burst, and what is known of it at the moment."""

    number: int
    submit: int
    run: int
    requested: int
    nodes: int
    burst: bool = False
    interval: float = 10**9
    charge: int = 0
    app: int = 0
    sys: int = 0
    longest: int = 0
    call: float = float("inf")
    expected_at: float = float("nan")
    least: int = 0
    saved: int = 0
    reread: int = 0
    start: float = float("nan")
    end: float = float("nan")
    # While it runs
    reading: int = 0
    done: int = 0
    kept: int = 0
    own: int = 0
    expected: float = 0
    standing: bool = False
    since: int = 0
    victim_of: "Job | None" = None
    action: str = ""
    write: int = 0
    write_begin: int = -1
    reached: bool = False
    in_own: bool = False
    stop: float = -1
    width: int = 0
    speed: Fraction = Fraction(1)
    clock: Fraction = Fraction(0)
    owed: int = 0
    guest: "Job | None" = None
    lent: int = 0
    entries: list = field(default_factory=list)
    # While it gathers
    held: int = 0

    def estimate(self, until):
        """Seconds of the application from what is saved to a progress, its checkpoints included."""
        due = sum(1 for p in range(int(self.saved) + 1, ceil(until)) if p % self.interval == 0)
        return max(until - self.saved, 0) + self.charge * due

    def own_checkpoints(self, now, until):
        """When its own checkpoints of the time from now to a moment are whole."""
        own, progress, moments = self.reading, self.done, []
        if self.own:
            moments.append(now + self.own / self.speed)
            own = self.own
        while self.interval < 10**9 and (not moments or moments[-1] <= until):
            due = (progress // self.interval + 1) * self.interval
            own, progress = own + due - progress + self.charge, due
            moments.append(now + own / self.speed)
        return [moment for moment in moments if moment <= until]


class Machine:
    """A run; `uses` has (second, job, nodes, use), `evictions` (job, action, time, done, kept)."""

    def __init__(
        self,
        jobs,
        nodes,
        *,
        policy,
        deadline="least_loss",
        weight=0.0,
        notice="ignore",
        reserved=0,
        step=1,
        patience=0,
        turn=0.5,
    ):
        self.jobs, self.total, self.policy, self.deadline = jobs, nodes, policy, deadline
        self.weight, self.notice, self.reserved = weight, notice, reserved
        self.step, self.patience, self.turn = step, patience, Fraction(turn)
        self.queue, self.gathering, self.running = [], [], []
        self.coming, self.uncalled = list(jobs), [job for job in jobs if job.call < float("inf")]
        self.writer, self.write_left, self.now, self.closed = None, 0, 0, 0
        self.uses, self.evictions = [], []
        while self.coming or self.queue or self.gathering or self.running:
            self.instant()
            self.now += self.second()
            assert self.now < 5000, "a job starves"

    @property
    def free(self):
        running = sum(j.width for j in self.running)
        return self.total - self.closed - running - sum(j.held for j in self.gathering)

    def second(self):
        """What the machine does from now to a second later."""
        for job in self.running:
            if job.standing:
                use = "checkpoint" if job is self.writer else "hold"
            elif job.burst:
                use, job.done = "run", job.done + 1
            elif job.reading:
                use, job.reading = "reread", job.reading - 1
            elif job.own:
                use, job.own = "checkpoint", job.own - 1
                if not job.own:
                    job.kept = job.done
                    job.reached |= job.in_own
            else:
                use, job.done = "run", job.done + 1
                if job.done < job.run and job.done % job.interval == 0:
                    job.own, job.kept = job.charge, job.kept if job.charge else job.done
                    job.reached |= not job.in_own
            job.entries.append((self.now, job.number, job.nodes, use, job.done))
        for burst in self.gathering:
            if burst.held:
                self.uses.append((self.now, burst.number, burst.held, "hold"))
        self.write_left -= self.writer is not None
        return 1

    def instant(self):
        """All that happens now, then all decisions; none where nothing happens."""
        happens = any(j.victim_of and j.write and j.write_begin == self.now for j in self.running)
        for job in [job for job in self.running if job.done == job.run]:
            happens = True
            burst = job.victim_of
            self.part(job)
            self.leave(job, job.done)
            job.end = self.now
            if burst:
                self.collect(burst, job.width)
        if self.writer and self.write_left == 0:
            happens = True
            self.give_way(self.writer)
        for job in [job for job in self.running if job.action == "app" and job.reached]:
            if not job.standing:
                happens = True
                job.standing, job.since = True, self.now
                if job.write == 0:
                    self.give_way(job)
        for job in [job for job in self.running if job.victim_of and job.stop == self.now]:
            happens = True
            self.give_way(job)
        happens |= self.windows_change()
        while self.coming and self.coming[0].submit <= self.now:
            happens = True
            job = self.coming.pop(0)
            if job not in self.gathering:
                waits = not job.burst or self.policy in WAITING
                self.enqueue(job) if waits else self.gathering.append(job)
        for job in sorted(self.uncalled, key=lambda job: job.call):
            if job.call <= self.now:
                happens = True
                self.uncalled.remove(job)
                if job in self.coming:
                    self.gathering.append(job)
        for burst in list(self.gathering):
            if burst in self.coming and self.now >= burst.expected_at + self.patience:
                happens = True
                self.scatter(burst)
        if not happens:
            return
        while any(self.serve(burst) for burst in list(self.gathering)) or self.take_held():
            pass  # what one leaves over, another takes
        self.begin_write()
        self.grow()
        self.backfill()

    def windows_change(self):
        """Whether a window becomes known, begins or ends; here there are none."""
        return False

    def enqueue(self, job):
        self.queue.append(job)
        self.queue.sort(key=lambda job: (not job.burst, job.number))

    def begin(self, job, width=None, speed=Fraction(1)):
        job.width, job.clock, job.stop = job.nodes if width is None else width, Fraction(0), -1
        job.start = job.start if job.start == job.start else self.now
        job.reading, job.done, job.kept, job.own = job.reread, job.saved, job.saved, 0
        job.owed = job.reread + job.estimate(max(job.requested, job.saved))
        self.pace(job, speed)
        job.standing, job.victim_of, job.action, job.reached = False, None, "", False
        job.entries = []
        self.running.append(job)

    def pace(self, job, speed):
        job.speed = speed
        job.expected = self.now + (job.owed - job.clock) / speed

    def leave(self, job, kept):
        """Take a job off the machine; what it computed beyond `kept` was for nothing."""
        self.running.remove(job)
        for second, number, nodes, use, done in job.entries:
            lost = use == "run" and done > kept
            self.uses.append((second, number, nodes, "killed" if lost else use))
        job.victim_of = None

    def evict(self, job):
        kept = job.kept if job.action == "kill" else job.done
        self.evictions.append((job.number, job.action, self.now, job.done, kept))
        if job.action == "sys":
            job.reread = job.sys
        elif job.action == "app" or kept > job.saved:
            job.reread = job.app
        self.leave(job, kept)
        job.saved = kept
        self.enqueue(job)

    def give_way(self, job):
        burst = job.victim_of
        if job is self.writer:
            self.writer = None
        self.evict(job)
        self.collect(burst, job.width)

    def collect(self, burst, most):
        burst.held += max(min(most, self.free, burst.nodes - burst.held), 0)

    def victims(self, burst, *actions):
        return [job for job in self.running if job.victim_of is burst and job.action in actions]

    def scatter(self, burst):
        burst.held = 0
        self.gathering.remove(burst)
        for job in self.victims(burst, "kill", "app", "sys"):
            self.spare(job)

    def spare(self, job):
        job.victim_of, job.action, job.stop = None, "", -1
        if job.standing:
            job.standing = False
            job.expected += self.now - job.since
        if job is self.writer:
            self.writer = None

    def take_held(self):
        gathering = self.gathering
        if self.running or not gathering or any(burst.submit > self.now for burst in gathering):
            return False
        first = gathering[0]
        lacked = lacking = first.nodes - first.held
        for other in reversed(gathering[1:]):
            given = min(lacking, other.held)
            other.held -= given
            first.held += given
            lacking -= given
        return lacked > 0 and lacking == 0

    def serve(self, burst):
        self.collect(burst, self.free)
        arrived = burst.submit <= self.now
        if arrived and self.policy == "shrink":
            self.shrink(burst)
        if arrived and self.started(burst):
            return True
        if self.policy == "share":
            return arrived and self.shared(burst)
        if self.notice == "predict" and not arrived and self.policy not in WAITING:
            self.predict(burst)
        if self.policy in WAITING or not (arrived or self.notice == "prepare"):
            return False
        promised = sum(job.width for job in self.victims(burst, "kill", "app", "sys"))
        lacking = burst.nodes - burst.held - promised
        if lacking > 0:
            self.plan(burst, lacking)
            return arrived and self.started(burst)
        return False

    def started(self, burst):
        kills = sorted(self.victims(burst, "kill"), key=lambda job: job.number)
        surplus = burst.held + sum(job.width for job in kills) - burst.nodes + min(self.free, 0)
        if surplus < 0:
            return False
        for job in sorted(kills, key=lambda job: -job.nodes * (job.done - job.kept)):
            if job.width <= surplus:
                surplus -= job.width
                self.spare(job)
                kills.remove(job)
        for job in kills:
            self.evict(job)
        self.scatter(burst)
        self.begin(burst)
        return True

    def among(self):
        """The running batch jobs that make way for nobody and share nodes with none."""
        found = [j for j in self.running if not (j.burst or j.victim_of or j.guest)]
        return sorted(found, key=lambda job: job.number)

    def predict(self, burst):
        """Stop jobs after their last checkpoint before the expected arrival, where nodes lack."""
        arrival, lacking = burst.expected_at, burst.nodes - burst.held
        for job in self.running:
            soon = job.victim_of is None and job.expected <= arrival
            lacking -= job.width * (job.victim_of is burst or soon)
        stops = []
        for job in self.among():
            moments = job.own_checkpoints(self.now, arrival)
            if job.expected > arrival and moments:
                stops.append((job.width * (arrival - moments[-1]), job.number, moments[-1], job))
        for _, _, moment, job in sorted(stops):
            if lacking > 0 and arrival > self.now:
                lacking -= job.width
                job.victim_of, job.action, job.write, job.stop = burst, "kill", 0, moment

    def shrink(self, burst):
        """Every malleable job gives its part, if all together have enough."""
        found, lacking = self.among(), burst.nodes - burst.held
        room = {job.number: job.width - job.least for job in found}
        if lacking <= 0 or sum(room.values()) < lacking:
            return
        gives = {job: room[job] * lacking // sum(room.values()) for job in room}
        for job in room:
            if sum(gives.values()) < lacking and gives[job] < room[job]:
                gives[job] += 1
        for job in found:
            self.resize(job, job.width - gives[job.number])
        self.collect(burst, lacking)

    def resize(self, job, width):
        if width != job.width:
            job.width = width
            self.pace(job, Fraction(width, job.nodes))

    def grow(self):
        for job in self.among():
            self.resize(job, min(job.nodes, job.width + max(self.free, 0)))

    def shared(self, burst):
        """Start on nodes that running jobs share with the burst, if all together have enough."""
        found, lacking = self.among(), burst.nodes - burst.held
        if sum(job.width for job in found) < lacking:
            return False
        own, hosts = burst.held, []
        while lacking > 0:
            enough = [job for job in found if job.width >= lacking]
            best = min(enough or found, key=lambda j: j.width if enough else -j.width)
            found.remove(best)
            best.lent = min(lacking, best.width)
            lacking -= best.lent
            hosts.append(best)
        self.scatter(burst)
        self.begin(burst, own, self.turn)
        for job in hosts:
            job.guest = burst
            self.pace(job, 1 - self.turn)
        return True

    def part(self, job):
        """Whoever ends leaves its turns to the others, and a host what it lent to the burst."""
        if job.guest:
            burst, job.guest = job.guest, None
            burst.width += job.lent
            job.width -= job.lent
            alone = not any(other.guest is burst for other in self.running)
            self.pace(burst, Fraction(1) if alone else self.turn)
        for host in self.running:
            if host.guest is job:
                host.guest = None
                self.pace(host, Fraction(1))

    def plan(self, burst, needed):
        among = self.among()
        if sum(job.width for job in among) < needed:
            return
        if self.policy in ("preempt", "shrink"):
            for job in sorted(among, key=lambda job: job.nodes * (job.done - job.kept)):
                if needed > 0:
                    needed -= job.width
                    job.victim_of, job.action, job.write = burst, "kill", 0
            return
        arrival = burst.submit if burst.submit <= self.now else max(burst.expected_at, self.now)
        busy = 0
        for job in self.running:
            if job.victim_of and job.action != "kill":
                busy = max(busy, job.write_begin + job.write - self.now if job.write else 0)
        steps = max(arrival + burst.longest - self.now - busy, 0) // self.step
        waits = [j.own or j.reading + j.interval - j.done % j.interval for j in among]
        writes_of_own = [0 if job.own else job.app for job in among]
        table = pd.DataFrame(
            {
                "nodes": [job.nodes for job in among],
                "loss": [job.nodes * (job.done - job.kept) / 3600 for job in among],
                "app_time": [float(a + b) for a, b in zip(waits, writes_of_own, strict=True)],
                "sys_time": [float(job.sys) for job in among],
                "app_wait": [float(wait) for wait in waits],
            }
        )
        horizon = 0 if self.policy == "kill" else steps * self.step
        solvers = {"greedy": solve_greedy, "dynamic_blocked": solve_blocked}
        problem = EvictionProblem(table, needed, horizon, step=self.step)
        plan = solvers.get(self.policy, solve_dynamic)(problem)
        order = list(writing_order(problem))
        busy, early = (0 if self.policy == "kill" else busy), max(arrival - self.now, 0)
        late = [max(busy + time - early, 0) for time in plan.deadlines]
        tables = []
        for actions in plan.choices:
            writes = [
                {1: 0, 2: w, 3: j.sys}.get(a, 0)
                for a, w, j in zip(actions, writes_of_own, among, strict=True)
            ]
            tables.append((writes, *self.timetable(actions, writes, waits, order, busy, early)))
        cost = [round(3600 * each) for each in plan.loss]
        if self.policy == "dynamic_blocked":
            for row, (_, begins, last) in enumerate(tables):
                for place, job in enumerate(among):
                    stop = {1: 0, 2: waits[place], 3: begins[place]}
                    action = plan.choices[row, place]
                    cost[row] += job.nodes * (last - stop[action]) if action else 0
        keys = {
            "earliest": lambda row: (late[row], cost[row], row),
            "least_loss": lambda row: (cost[row], late[row], row),
            "weighted": lambda row: (cost[row] + self.weight * late[row], row),
        }
        row = min(range(len(cost)), key=keys[self.deadline])
        for place, job in enumerate(among):
            action = plan.choices[row, place]
            if action:
                job.victim_of, job.action = burst, ("kill", "app", "sys")[action - 1]
                job.write, job.write_begin = (part[place] for part in tables[row][:2])
                job.write_begin += self.now
                job.reached, job.in_own = False, job.own > 0

    def timetable(self, actions, writes, waits, order, busy, early):
        """Begins of the writes, from now, as late as the first moment by which all can be done."""
        last = early
        while True:
            left, begins, fine = last, [0] * len(writes), True
            for place in reversed(order):
                left -= writes[place]
                begins[place] = left
                if actions[place] == 2:
                    fine &= last >= waits[place] and (left >= waits[place] or not writes[place])
                fine &= left >= busy or not writes[place]
            if fine:
                return begins, last
            last += 1

    def begin_write(self):
        for job in self.running:
            if job.victim_of and job.write and job.write_begin == self.now:
                assert self.writer is None
                if not job.standing:
                    job.standing, job.since = True, self.now
                self.writer, self.write_left = job, job.write

    def kept_free(self, job, used):
        """Nodes to leave for bursts when this job starts."""
        exempt = job.burst or job.nodes > self.total - self.reserved
        return 0 if exempt else max(0, self.reserved - used)

    def backfill(self):
        while self.queue and self.fits(self.queue[0]):
            self.begin(self.queue.pop(0))
        if not self.queue:
            return
        shadow, extra = self.reservation(self.queue[0])
        for job in self.queue[1:]:
            late = self.now + job.reread + job.estimate(max(job.requested, job.saved)) > shadow
            if self.fits(job) and (job.nodes <= extra or not late):
                extra -= job.nodes * late
                self.queue.remove(job)
                self.begin(job)

    def used(self):
        running = sum(job.width for job in self.running if job.burst)
        return running + sum(burst.held for burst in self.gathering)

    def fits(self, job):
        return job.nodes + self.kept_free(job, self.used()) <= self.free

    def reservation(self, head):
        """The first moment at which the head fits, as far as is known, and what is left over."""
        ends = [(max(job.expected, self.now), job.width, job.burst) for job in self.running]
        for burst in self.gathering:
            arrival = self.now if burst.submit <= self.now else max(burst.expected_at, self.now)
            ends.append((arrival + burst.requested, burst.held, True))
        for moment in sorted({self.now, *(end for end, _, _ in ends)}):
            back = [(nodes, burst) for end, nodes, burst in ends if end <= moment]
            free = self.free + sum(nodes for nodes, _ in back)
            used = self.used() - sum(nodes for nodes, burst in back if burst)
            extra = free - self.kept_free(head, used) - head.nodes
            if extra >= 0:
                return moment, extra
        raise AssertionError("the head never fits")
