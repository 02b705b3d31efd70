"""Coscheduling, slow and obvious: written from the slides' Algorithm 1 and the rules around it.

Machines are objects with lists of jobs; nothing is indexed, cached or sorted in advance. `jobs` are
dictionaries with `id`, `machine`, `submit`, `run`, `requested`, `nodes`, `mates` (a list of ids).
"""

import math


class Machine:
    def __init__(self, name, nodes, scheme):
        self.name, self.nodes, self.scheme = name, nodes, scheme
        self.queue, self.holding, self.running = [], [], []
        self.yielded_in_last_pass, self.released_now = [], []
        self.down = False

    def free(self):
        return self.nodes - sum(job["nodes"] for job in self.holding + self.running)


class Coupled:
    def __init__(self, jobs, nodes, schemes, **knobs):
        self.jobs = {job["id"]: job for job in jobs}
        self.knobs = {
            "order": "wfp",
            "interval": 1200,
            "after": 600,
            "offset": 1,
            "share": 0.6,
            "max_yields": math.inf,
            "most_idle": math.inf,
            "only_yielding": False,
            "outages": (),
            "least_remaining": 300,
        } | knobs
        self.machines = [
            Machine(m, n, s) for m, (n, s) in enumerate(zip(nodes, schemes, strict=True))
        ]
        self.start, self.first_try, self.hold_since = {}, {}, {}
        self.yields = dict.fromkeys(self.jobs, 0)
        self.holds, self.now = [], None

    # ---------------------------------------------------------------- what happens when

    def simulate(self):
        first = min((job["submit"] for job in self.jobs.values()), default=0)
        unsubmitted = sorted(self.jobs)
        ticks, idle = [1] * len(self.machines), 0
        interval, offset = self.knobs["interval"] or math.inf, self.knobs["offset"]
        # Longer than two beats of the machines' clocks: they may have to release at one instant.
        beats = 2 * interval / offset if offset and interval < math.inf else 0
        patience = len(self.machines) * (100 + beats + 4 * self.knobs["after"] / interval)
        while idle < patience:
            moments = [self.jobs[j]["submit"] for j in unsubmitted]
            moments += [self.end(job) for m in self.machines for job in m.running]
            waiting = any(m.queue for m in self.machines)
            if self.knobs["interval"]:
                releasing = [m for m in self.machines if m.holding]
                moments += [first + ticks[m.name] * self.period(m) for m in releasing]
            else:
                releasing = []
            if moments or waiting:
                edges = [t for _, s, e in self.knobs["outages"] for t in (s, e)]
                moments += [t for t in edges if self.now is None or t > self.now]
            if not moments:
                break
            before = len(self.start), len(unsubmitted)
            self.now = min(moments)
            due = [m for m in releasing if first + ticks[m.name] * self.period(m) == self.now]
            self.instant(unsubmitted, due)
            for m in self.machines if self.knobs["interval"] else []:
                while first + ticks[m.name] * self.period(m) <= self.now:
                    ticks[m.name] += 1
            last_edge = max((end for _, _, end in self.knobs["outages"]), default=-1)
            quiet = not any(m.running for m in self.machines) and self.now > last_edge
            idle = idle + 1 if quiet and before == (len(self.start), len(unsubmitted)) else 0
        for machine in self.machines:
            for job in machine.holding:
                self.holds.append((job["id"], self.hold_since[job["id"]], math.inf))
        return self

    def end(self, job):
        return self.start[job["id"]] + job["run"]

    def period(self, machine):
        return self.knobs["interval"] + machine.name * self.knobs["offset"]

    def instant(self, unsubmitted, releasing):
        due = set()
        for machine in self.machines:
            for job in list(machine.running):
                if self.end(job) <= self.now:
                    machine.running.remove(job)
                    due.add(machine.name)
        due |= self.outages()
        for name in list(unsubmitted):
            job = self.jobs[name]
            if job["submit"] <= self.now:
                unsubmitted.remove(name)
                self.machines[job["machine"]].queue.append(job)
                due.add(job["machine"])
        for machine in releasing:
            for job in list(machine.holding):
                if self.now - self.hold_since[job["id"]] >= self.knobs["after"]:
                    self.stop_holding(machine, job)
                    machine.queue.append(job)
                    machine.released_now.append(job)
                    due.add(machine.name)
        for machine in self.machines:
            if machine.name in due and not machine.down:
                self.scheduling_pass(machine)
        for machine in self.machines:
            machine.released_now = []

    def outages(self):
        due, went_down = set(), False
        for machine in self.machines:
            down = any(m == machine.name and s <= self.now < e for m, s, e in self.knobs["outages"])
            if down != machine.down:
                machine.down = down
                due.add(machine.name)
                went_down |= down
                for job in list(machine.holding) if down else []:
                    self.stop_holding(machine, job)
                    machine.queue.append(job)
        if went_down:
            due = {machine.name for machine in self.machines}
            for machine in self.machines:
                for job in list(machine.holding):
                    if job in machine.holding:
                        statuses = {self.status(self.jobs[k]) for k in job["mates"]}
                        if not statuses & {"unsubmitted", "queuing"}:
                            self.start_together(job)
        return due

    # ---------------------------------------------------------------- one pass of one machine

    def in_order(self, machine):
        def key(job):
            if job in machine.released_now:
                return (1, 0, job["id"])
            if self.knobs["order"] == "submit":
                return (0, job["id"], job["id"])
            waited = (self.now - job["submit"]) / job["requested"]
            return (0, -(waited * waited * waited * job["nodes"]), job["id"])

        return sorted(machine.queue, key=key)

    def scheduling_pass(self, machine):
        machine.yielded_in_last_pass = []
        self.walk(machine, self.in_order(machine), lambda job: self.run_job(machine, job))

    def walk(self, machine, order, turn):
        """Give a turn to each job that may have one; `turn` says whether the job took its nodes."""
        reservation = None
        for job in order:
            if job["nodes"] > machine.free():
                reservation = reservation or self.reserve(machine, job)
                continue
            if reservation is None:
                turn(job)
                continue
            shadow, extra = reservation
            if self.now + job["requested"] <= shadow:
                turn(job)
            elif job["nodes"] <= extra and turn(job):
                reservation = shadow, extra - job["nodes"]

    def reserve(self, machine, blocked):
        soonest = self.now + self.knobs["least_remaining"]
        ends = [
            (max(self.start[job["id"]] + job["requested"], soonest), job["nodes"])
            for job in machine.running
        ]
        ends += [
            (max(self.now + job["requested"], soonest), job["nodes"]) for job in machine.holding
        ]
        for shadow in sorted({time for time, _ in ends}):
            free = machine.free() + sum(nodes for time, nodes in ends if time <= shadow)
            if free >= blocked["nodes"]:
                return shadow, free - blocked["nodes"]
        raise AssertionError("a job that fits the machine fits an empty machine")

    # ---------------------------------------------------------------- Algorithm 1

    def status(self, job):
        machine = self.machines[job["machine"]]
        if machine.down or job["id"] in self.start:
            return "unknown"
        if job in machine.holding:
            return "holding"
        return "queuing" if job in machine.queue else "unsubmitted"

    def run_job(self, machine, job):
        """RunJob(j, N); whether the job has its nodes now, running or idle."""
        mates = [self.jobs[k] for k in job["mates"]]
        statuses = [self.status(mate) for mate in mates]
        could = "unsubmitted" not in statuses
        lent = []
        for mate, status in zip(mates, statuses, strict=True):
            if could and status == "queuing":
                could = self.try_start_mate(mate)
                if could:
                    lent.append(mate)
        if could:
            self.start_together(job)
            return True
        for mate in lent:
            other = self.machines[mate["machine"]]
            other.holding.remove(mate)
            other.queue.append(mate)
        return self.hold_or_yield(machine, job)

    def try_start_mate(self, mate):
        machine = self.machines[mate["machine"]]
        if self.knobs["only_yielding"] and mate not in machine.yielded_in_last_pass:
            return False
        order = [job for job in self.in_order(machine) if not job["mates"] or job is mate]

        def turn(job):
            machine.queue.remove(job)
            if job is mate:
                machine.holding.append(job)
            else:
                machine.running.append(job)
                self.start[job["id"]] = self.now
            return True

        self.walk(machine, order, turn)
        return mate in machine.holding

    def start_together(self, job):
        for name in [job["id"], *job["mates"]]:
            member = self.jobs[name]
            machine = self.machines[member["machine"]]
            if member is not job and self.status(member) != "holding":
                continue
            if member in machine.holding:
                self.stop_holding(machine, member)
            else:
                machine.queue.remove(member)
            machine.running.append(member)
            self.start[name] = self.now

    def hold_or_yield(self, machine, job):
        self.first_try.setdefault(job["id"], self.now)
        idle = sum(other["nodes"] for other in machine.holding)
        price = job["nodes"] * self.expected_wait(job)
        cheap = price <= self.knobs["most_idle"] * 3600
        wants = (machine.scheme == "H" and cheap) or self.yields[job["id"]] >= self.knobs[
            "max_yields"
        ]
        most = max(1, self.knobs["share"] * machine.nodes)
        if wants and idle + job["nodes"] <= most + 1e-9:
            machine.queue.remove(job)
            machine.holding.append(job)
            self.hold_since[job["id"]] = self.now
            return True
        self.yields[job["id"]] += 1
        machine.yielded_in_last_pass.append(job)
        return False

    def expected_wait(self, job):
        """Until the last mate fits, by what running and holding jobs were requested."""
        waits = [0]
        for mate in (self.jobs[k] for k in job["mates"]):
            machine = self.machines[mate["machine"]]
            if self.status(mate) == "unsubmitted":
                waits.append(math.inf)
            elif self.status(mate) == "queuing" and mate["nodes"] > machine.free():
                waits.append(self.reserve(machine, mate)[0] - self.now)
        return max(waits)

    def stop_holding(self, machine, job):
        machine.holding.remove(job)
        since = self.hold_since.pop(job["id"], self.now)
        if self.now > since:
            self.holds.append((job["id"], since, self.now))
