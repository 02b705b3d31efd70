"""Jobs that go slower than at full speed, from event to event in exact fractions."""

from fractions import Fraction

from tests.cosimlib.ondemand.naive import Machine


class Fluid(Machine):
    """The same from event to event: `amounts` are node-seconds by job and use."""

    def __init__(self, *args, **knobs):
        self.amounts = {}
        super().__init__(*args, **knobs)

    def second(self):
        """What the machine does from now to the next event; the seconds until then."""
        moments = [job.submit for job in self.coming[:1]] + [job.call for job in self.uncalled]
        moments += [b.expected_at + self.patience for b in self.gathering if b in self.coming]
        moments += [job.stop for job in self.running if job.victim_of and job.stop >= 0]
        for job in self.running:
            due = job.interval - job.done % job.interval
            own = job.reading or job.own or min(job.run - job.done, due)
            moments.append(self.now + own / job.speed)
        later = min((moment for moment in moments if moment > self.now), default=self.now + 1)
        seconds = Fraction(later - self.now)
        for job in self.running:
            self.go_on(job, seconds)
        for burst in self.gathering:
            self.add(burst, "hold", burst.held * seconds)
        return seconds

    def go_on(self, job, seconds):
        own = job.speed * seconds
        nodes = job.nodes if job.guest is None else job.width
        if job.burst and job.speed < 1:
            self.add(job, "hold", job.width * (seconds - own))
        if job.guest:
            self.add(job, "hold", (job.width - job.lent) * (seconds - own))
        job.clock += own
        use = "reread" if job.reading else "checkpoint" if job.own else "run"
        if job.reading:
            job.reading -= own
        elif job.own:
            job.own -= own
            job.kept = job.kept if job.own else job.done
        else:
            job.done += own
            if not job.burst and job.done < job.run and job.done % job.interval == 0:
                job.own, job.kept = job.charge, job.kept if job.charge else job.done
        job.entries.append((self.now, job.number, nodes * own, use, job.done))

    def leave(self, job, kept):
        entries, job.entries = job.entries, []
        for _, _, amount, use, done in entries:
            self.add(job, "killed" if use == "run" and done > kept else use, amount)
        super().leave(job, kept)

    def add(self, job, use, amount):
        key = (job.number, use)
        self.amounts[key] = self.amounts.get(key, 0) + amount
