"""Slurm's scheduler in plain Python: obvious, slow, from the rules and not from the kernels.

Nodes are sets, who runs is a list, and everything is counted anew each time.
"""

import math
from dataclasses import dataclass, field, replace

INF = math.inf


@dataclass
class Job:
    number: int
    submit: float
    eligible: float
    run: float
    limit: float
    nodes: int
    cores: int
    memory: float
    gpus: int
    whole: bool
    features: frozenset
    partition: str
    qos: str
    account: str
    user: str
    nice: float
    state: str = "new"
    start: float = math.nan
    end: float = math.nan
    where: list = field(default_factory=list)
    priority: float = 0.0
    at_start: float = math.nan
    preempted_by: int = -1
    stops_at: float = INF
    preempted_others: float = -INF
    accrues: float = math.nan

    @property
    def expected_end(self):
        return min(self.start + self.limit, self.stops_at)

    @property
    def real_end(self):
        return min(self.start + self.run, self.stops_at)

    def tres(self, name):
        return {
            "cpu": self.cores * self.nodes,
            "mem": self.memory * self.nodes,
            "node": self.nodes,
            "gres/gpu": self.gpus * self.nodes,
        }[name]


class Slurm:
    """A site at an instant, and what becomes of its jobs."""

    def __init__(self, site, jobs):
        self.site, self.jobs = site, jobs
        self.running, self.queue = [], []
        self.usage = {(a.account, a.user): 0.0 for a in site.associations}
        self.factor = dict.fromkeys(self.usage, 0.0)
        self.last_period = None
        self.preempted = []

    # --- the order of events ----------------------------------------------------------------------

    def simulate(self):
        settings, first = self.site.scheduler, min(job.submit for job in self.jobs)
        coming = list(self.jobs)
        next_full, next_backfill = first, first + settings.bf_interval
        next_period, requested, last_pass = first, False, -INF
        while True:
            instants = [job.submit for job in coming[:1]]
            instants += [job.real_end for job in self.running]
            if not instants and not self.queue:
                return
            if self.queue:
                instants += [next_period, next_full]
                if requested:
                    instants.append(last_pass + settings.least_interval)
                if settings.backfill:
                    instants.append(next_backfill)
            now = min(instants)
            for job in sorted(self.running, key=lambda job: (job.real_end, job.number)):
                if job.real_end <= now:
                    self.finish(job, now)
                    requested = True
            while next_period <= now:
                self.update(next_period)
                next_period += self.site.priority.period
            while coming and coming[0].submit <= now:
                requested |= self.submit(coming.pop(0), now)
            full = now >= next_full
            while next_full <= now:
                next_full += settings.interval
            due = requested and now >= last_pass + settings.least_interval
            if self.queue and (full or due):
                requested, last_pass = False, now
                self.main_loop(now, full)
            if settings.backfill and now >= next_backfill:
                while next_backfill <= now:
                    next_backfill += settings.bf_interval
                if self.queue:
                    self.backfill(now)

    def submit(self, job, now):
        if job.state == "refused":
            return False
        present = [*self.running, *self.queue]
        for limits, same in self.limits_of(job):
            if sum(map(same, present)) + 1 > limits[1]:
                job.state = "refused"
                return False
        self.prioritize(job, now)
        self.queue.append(job)
        self.sort()
        return True

    def sort(self):
        tier = {name: one.tier for name, one in self.site.partitions.items()}
        self.queue.sort(
            key=lambda j: (-self.level(j.qos), -tier[j.partition], -j.priority, j.submit, j.number)
        )

    def begin(self, job, nodes, now):
        job.state, job.start, job.where, job.at_start = "runs", now, nodes, job.priority
        self.queue.remove(job)
        self.running.append(job)

    def finish(self, job, now):
        self.use(job, now)
        job.state, job.end = "ended", now
        self.running.remove(job)
        if job.stops_at > now or job.start + job.run <= now:
            return
        mode, where = self.mode(job), sorted(job.where)
        self.preempted.append(
            (job.number, job.start, now, job.preempted_by, mode == "REQUEUE", where)
        )
        if mode == "REQUEUE":
            job.state, job.start, job.end, job.where = "waits", math.nan, math.nan, []
            job.preempted_by, job.stops_at, job.at_start = -1, INF, math.nan
            job.submit, job.eligible = now, now + self.site.scheduler.requeue_delay + 1
            self.prioritize(job, now)
            self.queue.append(job)
            self.sort()

    # --- preemption -------------------------------------------------------------------------------

    def mode(self, job):
        preemption = self.site.preemption
        if preemption.by == "partition":
            own = self.site.partitions[job.partition].preempt_mode
            if own == "OFF":
                return "OFF"
        else:
            own = self.site.qos[job.qos].preempt_mode if job.qos else "OFF"
        mode = preemption.mode if own in ("CLUSTER", "OFF") else own
        return "CANCEL" if mode == "REQUEUE" and not preemption.requeue else mode

    def may_preempt(self, job, other):
        preemption = self.site.preemption
        if not preemption.by or preemption.mode == "OFF":
            return False
        if preemption.by == "partition":
            mine, its = (self.site.partitions[j.partition].tier for j in (job, other))
            return mine > its and self.mode(other) != "OFF"
        return bool(job.qos and other.qos) and other.qos in self.site.qos[job.qos].preempts

    def level(self, name):
        """How far up in the order of QOS that preempt one another."""
        preemption = self.site.preemption
        if preemption.by != "qos" or preemption.mode == "OFF" or not name:
            return 0
        return max((self.level(below) + 1 for below in self.site.qos[name].preempts), default=0)

    def exempt_time(self, job):
        own = self.site.qos[job.qos].exempt_time if job.qos else 0
        return own or self.site.preemption.exempt_time

    def candidates(self, job, now):
        members = set(self.site.partitions[job.partition].nodes)
        found = [
            other
            for other in self.running
            if self.may_preempt(job, other)
            and now >= other.start + self.exempt_time(other)
            and members & set(other.where)
        ]
        if self.site.preemption.youngest_first:
            return sorted(found, key=lambda other: (-other.start, other.number))

        def worth(other):
            if self.site.preemption.by == "partition":
                return self.site.partitions[other.partition].tier
            return self.site.qos[other.qos].priority

        return sorted(found, key=lambda other: (worth(other), other.nodes, other.number))

    def take_away(self, job, allowed, candidates):
        """Nodes for a job once the first candidates are gone, and how many must be."""
        for gone in range(len(candidates) + 1):
            left = [other for other in self.running if other not in candidates[:gone]]
            nodes = self.fits(job, allowed, left)
            if len(nodes) >= job.nodes:
                return set(self.choose(job, nodes, left)), gone
        return None, 0

    def make_room(self, job, allowed, now):
        candidates = self.candidates(job, now)
        nodes, gone = self.take_away(job, allowed, candidates)
        if nodes is None:
            return
        for turn in range(self.site.preemption.reorder_count + 1):
            if len(candidates) <= turn + 1:
                break
            before, last = candidates[: gone - 1], candidates[gone - 1]
            before.sort(key=lambda other: -len(nodes & set(other.where)))
            useless = [other for other in before if not nodes & set(other.where)]
            useful = [other for other in before if nodes & set(other.where)]
            candidates = [last, *useful, *useless, *candidates[gone:]]
            nodes, gone = self.take_away(job, allowed, candidates)
        wait = self.site.scheduler.kill_wait + self.site.preemption.message_timeout
        if now < job.preempted_others + wait:
            return
        job.preempted_others = now
        for other in candidates[:gone]:
            if nodes & set(other.where) and other.preempted_by < 0:
                other.preempted_by = job.number
                if self.site.preemption.by == "partition":
                    grace = self.site.partitions[other.partition].grace_time
                else:
                    grace = self.site.qos[other.qos].grace_time
                other.stops_at = now + max(1, grace)

    # --- fair share and priority ------------------------------------------------------------------

    @property
    def decay(self):
        half_life = self.site.priority.half_life
        return 1 - 0.693 / half_life if half_life else 1.0

    def use(self, job, now):
        key = (job.account, job.user)
        if key not in self.usage:
            return
        seconds = max(0.0, now - max(job.start, self.last_period))
        used = seconds * self.decay**seconds * job.tres("cpu")
        if job.qos:
            used *= self.site.qos[job.qos].usage_factor
        while key in self.usage:
            self.usage[key] += used
            key = self.above(key)

    def above(self, key):
        account, user = key
        if user:
            return (account, "")
        parent = next(a.parent for a in self.site.associations if (a.account, a.user) == key)
        return (parent, "") if parent else None

    def update(self, now):
        if self.last_period is not None:
            self.usage = {
                key: used * self.decay ** (now - self.last_period)
                for key, used in self.usage.items()
            }
            for job in self.running:
                self.use(job, now)
        self.last_period = now
        if self.site.associations:
            root = next(a for a in self.site.associations if not a.parent)
            self.users = sum(a.user != "" for a in self.site.associations)
            self.rank = self.next_rank = self.users
            self.walk(self.children(root), False)
        for job in self.queue:
            self.prioritize(job, now)
        self.sort()

    def children(self, account):
        return [
            a
            for a in self.site.associations
            if (a.account == account.account and a.user and not account.user)
            or (not a.user and a.parent == account.account and a is not account)
        ]

    def share_level(self, one, siblings):
        total = sum(self.usage[a.account, a.user] for a in siblings)
        shares = sum(a.shares for a in siblings)
        used = self.usage[one.account, one.user]
        if not one.shares:
            return 0.0
        above = self.usage[self.above((one.account, one.user))] if total else 0.0
        return INF if not used else one.shares / shares / (used / above)

    def walk(self, siblings, tied):
        levels = {id(a): self.share_level(a, siblings) for a in siblings}
        before = None
        for one in sorted(siblings, key=lambda a: (-levels[id(a)], not a.user)):
            is_tied = tied if before is None else levels[id(one)] == before
            before = levels[id(one)]
            if not one.user:
                self.walk(self.children(one), is_tied)
                continue
            if not is_tied:
                self.rank = self.next_rank
            self.next_rank -= 1
            self.factor[one.account, one.user] = self.rank / self.users

    def prioritize(self, job, now):
        weights, site = self.site.priority, self.site
        if not weights.multifactor:
            job.priority = -job.number
            return
        since = job.submit if weights.accrue_always else job.eligible
        age = min(1.0, max(0.0, now - since) / weights.max_age)
        share = 1.0
        if site.associations:
            share = self.factor.get((job.account, job.user), 0.0)
        cores = sum(node.cores for node in site.nodes)
        size = (job.nodes / len(site.nodes) + job.cores * job.nodes / cores) / 2
        if weights.favor_small:
            rest = max(0, len(site.nodes) - job.nodes) / len(site.nodes)
            size = (rest + (cores - job.cores * job.nodes) / cores) / 2
        partition = site.partitions[job.partition].priority_factor
        largest = max(one.priority_factor for one in site.partitions.values())
        qos = site.qos[job.qos].priority if job.qos else 0
        best = max([one.priority for one in site.qos.values()], default=0)
        total = age * weights.age + share * weights.fair_share
        total += min(1.0, max(0.0, size)) * weights.job_size
        total += (partition / largest if largest else 0) * weights.partition
        total += (qos / best if best else 0) * weights.qos
        total += sum(job.tres(name) * weight for name, weight in weights.tres.items())
        job.priority = max(1.0, math.floor(total - job.nice))

    # --- limits -----------------------------------------------------------------------------------

    def limits_of(self, job):
        """Pairs of (running, submitted, TRES) and which jobs count."""
        if "limits" not in self.site.enforce or not job.qos:
            return
        limits, name = self.site.qos[job.qos].limits, job.qos
        yield (
            (limits.group_jobs, limits.group_submitted, limits.group_tres),
            lambda j: j.qos == name,
        )
        yield (
            (limits.jobs_per_user, limits.submitted_per_user, limits.tres_per_user),
            lambda j: j.qos == name and j.user == job.user,
        )

    def may_run_another(self, job):
        return all(
            sum(map(same, self.running)) + 1 <= limits[0] for limits, same in self.limits_of(job)
        )

    def may_take(self, job):
        return all(
            sum(other.tres(name) for other in self.running if same(other)) + job.tres(name) <= most
            for limits, same in self.limits_of(job)
            for name, most in limits[2].items()
        )

    # --- nodes ------------------------------------------------------------------------------------

    def fits(self, job, nodes, running):
        """Of some nodes those on which a job fits beside some running jobs."""
        return {node for node in nodes if self.fits_on(job, node, running)}

    def fits_on(self, job, node, running):
        one = self.site.nodes[node]
        here = [other for other in running if node in other.where]
        if not job.features <= one.features or (job.whole and here):
            return False
        cores = one.cores - sum(one.cores if other.whole else other.cores for other in here)
        memory = one.memory - sum(other.memory for other in here)
        gpus = one.gres.get("gpu", 0) - sum(other.gpus for other in here)
        return cores >= job.cores and memory >= job.memory and gpus >= job.gpus

    def choose(self, job, nodes, running):
        """Which of the nodes on which it fits, beside some running jobs, a job takes."""
        sites, wanted = self.site.nodes, job.nodes
        if wanted == 1 and not self.is_before(26, 5):
            return [min(nodes, key=lambda node: (sites[node].weight, node))]

        def idle(node):
            if job.whole:
                return sites[node].cores
            here = [other for other in running if node in other.where]
            return sites[node].cores - sum(
                sites[node].cores if other.whole else other.cores for other in here
            )

        runs = []
        for node in sorted(nodes):
            if (
                runs
                and runs[-1][-1] == node - 1
                and sites[runs[-1][-1]].weight == sites[node].weight
            ):
                runs[-1].append(node)
            else:
                runs.append([node])
        chosen, cores = [], wanted * job.cores
        while len(chosen) < wanted:
            missing = wanted - len(chosen)
            best, best_fits = None, False
            for run in runs:
                size = sum(map(idle, run))
                fits = len(run) >= missing and size >= cores
                better = best is None or sites[run[0]].weight < sites[best[0]].weight
                if not better and sites[run[0]].weight == sites[best[0]].weight:
                    least = sum(map(idle, best))
                    better = (fits and (not best_fits or size < least)) or (
                        not fits and size > least
                    )
                if better:
                    best, best_fits = run, fits
            runs.remove(best)
            if missing == 1:
                enough = [node for node in best if idle(node) >= cores]
                best = [min(enough, key=lambda node: (idle(node), node))] if enough else best
            for node in best[:missing]:
                most = cores - (wanted - len(chosen) - 1)
                chosen.append(node)
                cores -= idle(node) if job.whole else max(job.cores, min(idle(node), most))
        return chosen

    # --- main loop --------------------------------------------------------------------------------

    def main_loop(self, now, full):
        settings = self.site.scheduler
        failed, available = set(), set(range(len(self.site.nodes)))
        looked, depth = dict.fromkeys(self.site.partitions, 0), 0
        for job in list(self.queue):
            if job.eligible > now:
                continue
            looked[job.partition] += 1
            if settings.partition_depth and looked[job.partition] > settings.partition_depth:
                continue
            if not full and depth > settings.queue_depth:
                break
            depth += 1
            if job.partition in failed or not self.may_run_another(job):
                continue
            members = set(self.site.partitions[job.partition].nodes)
            if len(members & available) >= job.nodes:
                if not self.may_take(job):
                    continue
                nodes = self.fits(job, members & available, self.running)
                if len(nodes) >= job.nodes:
                    self.begin(job, self.choose(job, nodes, self.running), now)
                    continue
                self.make_room(job, members & available, now)
            failed.add(job.partition)
            available -= members

    # --- backfill ---------------------------------------------------------------------------------

    def backfill(self, now):
        settings, step = self.site.scheduler, self.site.scheduler.bf_resolution
        window_end = math.floor((now + settings.bf_window) / step) * step
        everything = set(range(len(self.site.nodes)))
        self.map = [[math.floor(now / step) * step, window_end, everything]]
        self.made = 1
        tested, started, users, parts = 0, 0, {}, {}
        for job in list(self.queue):
            if tested >= settings.bf_max_job_test:
                return
            if job.eligible > now or not self.may_run_another(job):
                continue
            if settings.bf_max_job_part and parts.get(job.partition, 0) >= settings.bf_max_job_part:
                continue
            if settings.bf_max_job_user and users.get(job.user, 0) >= settings.bf_max_job_user:
                continue
            parts[job.partition] = parts.get(job.partition, 0) + 1
            users[job.user] = users.get(job.user, 0) + 1
            what, was_tested = self.place(job, now, window_end)
            tested += was_tested
            started += what == "started"
            if what == "full" or (
                settings.bf_max_job_start and started >= settings.bf_max_job_start
            ):
                return

    def place(self, job, now, window_end):
        settings, step = self.site.scheduler, self.site.scheduler.bf_resolution
        later, tested, old = now, False, self.is_before(24, 11)
        size = settings.bf_node_space_size or settings.bf_max_job_test
        while later is not None:
            tried = later
            if tried > window_end:
                return "skipped", tested
            common, later = self.common(job, tried)
            if len(common) < job.nodes:
                continue
            tested = True
            begins, nodes = self.will_run(job, common, tried, later, now)
            if begins is None:
                continue
            begins = max(begins, tried)
            begin = math.floor(begins / step) * step
            up = math.floor if old else math.ceil
            end = up((begins + job.limit) / step) * step
            slots = [free for a, b, free in self.map if b > begin and a < end]
            is_taken = any(not set(nodes) <= free for free in slots)
            if begins > now:
                if is_taken and not old:
                    later = begins + step if begins == tried else begins
                    continue
            else:
                if not self.may_take(job):
                    return "skipped", tested
                fitting = self.fits(job, common, self.running)
                if len(fitting) >= job.nodes:
                    self.begin(job, self.choose(job, fitting, self.running), now)
                    if job.whole and self.made < size:
                        self.reserve(self.map[0][0], end, job.where)
                    return "started", tested
                self.make_room(job, common, now)
                later = None
            if later is not None and begins > later:
                continue
            if old and begins > now and begins <= now + settings.bf_window and is_taken:
                later = begins
                continue
            if begins > now + settings.bf_window or not self.may_take(job):
                return "skipped", tested
            if self.made >= size:
                return "full", tested
            self.reserve(begin, end, nodes)
            return "planned", tested
        return "skipped", tested

    def common(self, job, tried):
        """Nodes free until the job's limit, and the next time to try."""
        base = set(self.site.partitions[job.partition].nodes)
        common, later, end = set(base), None, tried + job.limit
        for place, (slot_begin, slot_end, free) in enumerate(self.map):
            following = self.map[place + 1] if place + 1 < len(self.map) else None
            if slot_end <= tried:
                continue
            if following and later is None and not (base & following[2]) <= (common & free):
                later = slot_end
            if slot_begin > end:
                old = self.is_before(24, 11)
                if not old and later is None and following and place + 2 < len(self.map):
                    later = following[1]
                break
            common &= free
        return self.fits(replace(job, gpus=0), common, []), later

    def will_run(self, job, common, tried, later, now):
        """When a job could start on common nodes, and on which; None for never."""
        old = self.is_before(24, 11)
        if tried <= now or old:
            nodes = self.fits(job, common, self.running)
            if len(nodes) >= job.nodes:
                return now, self.choose(job, nodes, self.running)
        candidates = self.candidates(job, now)
        left = [
            other
            for other in self.running
            if (old or other.expected_end > tried) and other not in candidates
        ]
        nodes = self.fits(job, common, left)
        if len(nodes) >= job.nodes:
            return now, self.choose(job, nodes, left)
        ending = sorted(left, key=lambda other: (other.expected_end, other.number))
        gone, anchor, window, place, more = [], None, 30, 0, True
        while more:
            removed, following = False, None
            while True:
                if place >= len(ending) or (
                    not old and later is not None and ending[place].expected_end > later
                ):
                    more = False
                    break
                other = ending[place]
                place += 1
                if not common & set(other.where):
                    continue
                if anchor is None:
                    anchor = other.expected_end + 30 - other.expected_end % 30
                removed = True
                left.remove(other)
                gone.append(other)
                if place >= len(ending):
                    more = False
                    break
                following = ending[place].expected_end
                if following > anchor + window:
                    break
            if not removed:
                break
            nodes = self.fits(job, common, left)
            if len(nodes) >= job.nodes:
                chosen = self.choose(job, nodes, left)
                last = gone[-1]
                if not old:
                    last = next(o for o in reversed(gone) if set(o.where) & set(chosen))
                elif last.expected_end <= now:
                    settings = self.site.scheduler
                    late = last.expected_end + settings.over_time_limit + settings.kill_wait
                    return max(now + 1, late), chosen
                return last.expected_end, chosen
            window *= 2
            while window <= 365 * 86_400 and following is not None and following > anchor + window:
                window *= 2
        return None, []

    def is_before(self, year, month):
        release = self.site.release
        return bool(release) and tuple(map(int, release.split(".")[:2])) < (year, month)

    def reserve(self, begin, end, nodes):
        begin = max(begin, self.map[0][0])
        end = max(end, begin + self.site.scheduler.bf_resolution)
        place = next((i for i, slot in enumerate(self.map) if slot[1] >= begin), None)
        if place is None:
            return
        before = max(0, place - 1)
        if self.map[place][1] > begin:
            self.split(place, begin)
        place += 1
        stop = None
        while place < len(self.map):
            slot = self.map[place]
            if end < slot[1]:
                self.split(place, end)
            slot[2] = slot[2] - set(nodes)
            if slot[1] == end:
                stop = place + 1 if place + 1 < len(self.map) else None
                break
            place += 1
        last = len(self.map) - 1 if stop is None else stop
        for first in range(before, last):
            if self.map[first][2] == self.map[first + 1][2]:
                self.map[first][1] = self.map[first + 1][1]
                del self.map[first + 1]
                return

    def split(self, place, time):
        _, end, free = self.map[place]
        self.map[place][1] = time
        self.map.insert(place + 1, [time, end, set(free)])
        self.made += 1
