"""A long queue in blocks: heads and searches are those of a list that is sorted anew each time."""

from collections import namedtuple

import numba
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cosimlib.kernels import ranked, sieve
from cosimlib.kernels.queue import HEAD_FIRST, STATIC, TAKEN, WFP
from cosimlib.kernels.ranked import ADMITTED, BLOCKS, WAITING
from cosimlib.kernels.sieve import FOREVER

pytestmark = pytest.mark.skipif(
    not numba.config.DISABLE_JIT, reason="compiled, these kernels can be called by kernels only"
)
Jobs = namedtuple("Jobs", "submit_time requested_time nodes")
BLOCK, FILLED = 4, 3
LOOKED_AT: list[int] = []
"""Blocks in which a job was searched, in turn."""
MADE_ANEW: list[int] = []
"""How many jobs waited each time that blocks were made anew."""


@pytest.fixture(scope="module", autouse=True)
def small_blocks():
    """Blocks of few places, and notes of what is done to them."""
    search, make_anew = sieve.search, ranked._make_anew

    def noted_search(waiting, requested_time, first, *asked):
        LOOKED_AT.append(first // BLOCK)
        return search(waiting, requested_time, first, *asked)

    def noted_make_anew(blocks, *asked):
        MADE_ANEW.append(int(blocks.counts[WAITING]))
        make_anew(blocks, *asked)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sieve, "BLOCK", BLOCK)
        patch.setattr(ranked, "BLOCK", BLOCK)
        patch.setattr(ranked, "FILLED", FILLED)
        patch.setattr(sieve, "search", noted_search)
        patch.setattr(ranked, "_make_anew", noted_make_anew)
        yield


class Queues:
    """A queue in blocks, and the jobs that wait as a list."""

    def __init__(self, rng, n, kind):
        self.kind, self.n, self.waiting, self.now = kind, n, [], 0.0
        self.jobs = Jobs(np.arange(n) * 10.0, rng.choice([60.0, 600.0, 6000.0], n),
                         np.exp(rng.uniform(0, 4, n)).astype(np.int64))  # fmt: skip
        self.rank = np.zeros(n) if kind == WFP else rng.integers(0, 6, n).astype(np.float64)
        self.blocks, self.start_time = ranked.empty(n), np.full(n, np.nan)

    def submit(self):
        job = len(self.start_time[: self.blocks.counts[ADMITTED]])
        self.now = self.jobs.submit_time[job]
        place = ranked.submit(self.blocks, self.jobs, self.rank, self.kind)
        self.waiting.append(job)
        assert self.job_at(place) == job

    def job_at(self, place):
        """The job at a place of a block, which waits there."""
        block = place // BLOCK
        assert block in self.blocks.chain[: self.blocks.counts[BLOCKS]]
        assert place % BLOCK < self.blocks.size[block] <= BLOCK
        job = int(self.blocks.waiting.job[place])
        assert self.blocks.waiting.wanted[place] == self.jobs.nodes[job]
        return job

    def in_order(self):
        def key(job):
            waited = (self.now - self.jobs.submit_time[job]) / self.jobs.requested_time[job]
            score = waited * waited * waited * self.jobs.nodes[job]
            return (-score if self.kind == WFP else self.rank[job], job)

        return sorted(self.waiting, key=key)

    def head(self):
        place = ranked.head(
            self.blocks, self.jobs, self.rank, self.start_time, self.kind, self.now
        )  # fmt: skip
        wanted = min(self.waiting) if self.kind == HEAD_FIRST else self.in_order()[0]
        assert self.job_at(place) == wanted
        return place

    def search(self, free, shadow_time, extra):
        """The first that may be backfilled, or -1."""
        state = free, self.now, shadow_time, extra
        ends = self.now + self.jobs.requested_time
        fine = self.jobs.nodes <= np.where(ends <= shadow_time, free, min(free, extra))
        wanted = [job for job in self.in_order() if fine[job]]
        place, at = ranked.next_fitting(self.blocks, self.jobs, self.kind, 0, *state)
        assert wanted[:1] == ([] if place < 0 else [self.job_at(place)])
        LOOKED_AT.clear()
        again = ranked.next_fitting(self.blocks, self.jobs, self.kind, at, *state)
        assert again == (place, at), "nothing is missed from its block on"
        self.check_looks(fine, *state)
        if place >= 0:
            assert ranked.fits(self.blocks, self.jobs, place, *state)
        return place

    def check_looks(self, fine, free, now, shadow_time, extra):
        """A search looks at blocks only whose jobs' bounds would do, as they are once it has looked
        in vain, and where scores may be higher than those it found."""
        best = -1.0
        for block in dict.fromkeys(LOOKED_AT):
            jobs = self.jobs_in(block)
            nodes, ends = self.jobs.nodes[jobs], now + self.jobs.requested_time[jobs]
            ends_by = ends[nodes < 2 ** int(free).bit_length()] <= shadow_time
            least = nodes.min(initial=TAKEN)
            assert least <= min(free, extra) or (least <= free and ends_by.any())
            if self.kind == WFP:
                oldest = self.blocks.waiting.job[block * BLOCK]
                waited = now - self.jobs.submit_time[oldest]
                assert self.steepness(jobs).max() * waited**3 * (1 + 1e-6) > best
                scores = self.steepness(jobs) * (now - self.jobs.submit_time[jobs]) ** 3
                best = max(best, scores[fine[jobs]].max(initial=-1.0) * (1 - 1e-6))

    def jobs_in(self, block):
        """The jobs that wait in a block."""
        places = np.arange(block * BLOCK, block * BLOCK + self.blocks.size[block])
        waits = self.blocks.waiting.wanted[places] != TAKEN
        return self.blocks.waiting.job[places[waits]]

    def steepness(self, jobs):
        return self.jobs.nodes[jobs] / self.jobs.requested_time[jobs] ** 3

    def check_bounds(self, block):
        """The bounds of a block are those of the jobs that wait there."""
        jobs, bounds = self.jobs_in(block), self.blocks.bounds
        nodes, request = self.jobs.nodes[jobs], self.jobs.requested_time[jobs]
        assert bounds.wanted[block] == nodes.min(initial=TAKEN)
        for nodes_class in range(7):
            least = request[nodes < 2 ** (nodes_class + 1)].min(initial=np.inf)
            assert bounds.request[block, nodes_class] == least
        if self.kind == WFP:
            steepness = self.steepness(jobs).max(initial=0.0)
            assert self.blocks.steepness[block] == pytest.approx(steepness, rel=1e-12)

    def start(self, place):
        job = self.job_at(place)
        ranked.take(self.blocks, self.jobs, self.kind, place)
        assert self.blocks.waiting.wanted[place] == TAKEN
        self.start_time[job] = self.now
        self.waiting.remove(job)

    def check(self):
        """All that wait lie in the chain in order of ranks, and bounds hold for them."""
        lie, blocks, few = [], self.blocks, self.blocks.counts[BLOCKS]
        assert len(set(blocks.chain[:few].tolist())) == few
        for block in blocks.chain[:few]:
            if self.kind == WFP:
                self.check_bounds(block)
            for place in range(block * BLOCK, block * BLOCK + blocks.size[block]):
                if (wanted := blocks.waiting.wanted[place]) != TAKEN:
                    job = self.job_at(place)
                    lie.append(job)
                    request = self.jobs.requested_time[job]
                    assert blocks.bounds.wanted[block] <= wanted
                    assert blocks.bounds.request[block, sieve.class_of(wanted)] <= request
        assert lie == sorted(self.waiting, key=lambda job: (self.rank[job], job))
        assert blocks.counts[WAITING] == len(lie)


@settings(max_examples=40, deadline=None)
@given(
    seed=st.integers(0, 2**32),
    kind=st.sampled_from([STATIC, WFP, HEAD_FIRST]),
    fullest=st.sampled_from([10, 40, 100]),
)
def test_heads_and_searches_are_those_of_a_sorted_list(seed, kind, fullest):
    """The queue grows up to `fullest`, and shrinks to almost nothing, again and again."""
    rng = np.random.default_rng(seed)
    queues, growing = Queues(rng, 160, kind), True
    while queues.blocks.counts[ADMITTED] < queues.n:
        growing = len(queues.waiting) < (fullest if growing else 2)
        if growing or rng.random() < 0.2:
            queues.submit()
        if queues.waiting and rng.random() < (0.2 if growing else 0.9):
            queues.start(queues.head())
        free, extra = rng.integers(1, 60, 2).tolist()
        shadow_time = queues.now + rng.choice([0.0, 60.0, 1_000.0, 90_000.0, FOREVER])
        place = queues.search(free, shadow_time, extra)
        if place >= 0 and rng.random() < 0.5:
            queues.start(place)
        queues.check()


def test_a_full_block_is_split_in_halves():
    """Unless jobs have started there, whose places are enough."""
    queues = Queues(np.random.default_rng(0), 20, STATIC)
    queues.rank[:] = 0.0
    for _ in range(BLOCK):
        queues.submit()
    queues.start(queues.head())
    queues.submit()
    assert queues.blocks.counts[BLOCKS] == 1
    queues.check_bounds(0)
    queues.submit()
    assert queues.blocks.counts[BLOCKS] == 2
    assert queues.blocks.size[queues.blocks.chain[:2]].tolist() == [BLOCK // 2, BLOCK // 2 + 1]
    for block in queues.blocks.chain[:2]:
        queues.check_bounds(block)


def test_scores_that_differ_by_little_more_than_rounding():
    """Job 4, in another block than job 0, has a score that is higher by three parts of 10¹²."""
    queues = Queues(np.random.default_rng(0), 5, WFP)
    queues.jobs.submit_time[:] = 0.0
    queues.jobs.nodes[:] = [1, 1, 1, 1, 8]
    queues.jobs.requested_time[:] = [60.0, 600.0, 600.0, 600.0, 120.0 * (1.0 - 1e-12)]
    for _ in range(5):
        queues.submit()
    assert queues.blocks.counts[BLOCKS] == 2
    queues.now = 90.0
    assert queues.job_at(queues.head()) == 4


def test_blocks_are_made_anew_where_jobs_fill_half_of_them_at_most():
    """A queue that only grows fills them; one that shrinks has few more than it would fill."""
    queues = Queues(np.random.default_rng(0), 400, STATIC)
    queues.rank[:] = 0.0
    MADE_ANEW.clear()
    for _ in range(300):
        queues.submit()
    assert not MADE_ANEW
    while queues.blocks.counts[ADMITTED] < queues.n:
        for _ in queues.waiting[:4]:
            queues.start(queues.head())
        queues.submit()
        assert queues.blocks.counts[BLOCKS] <= 2 * len(queues.waiting) / FILLED + 17
        queues.check()
    assert sum(MADE_ANEW) < 600


def test_a_queue_that_shrank_is_made_anew():
    """Blocks without jobs are not kept for ever."""
    queues = Queues(np.random.default_rng(0), 400, STATIC)
    for _ in range(300):
        queues.submit()
    most = queues.blocks.counts[BLOCKS]
    while queues.waiting:
        queues.start(queues.head())
    queues.submit()
    queues.check()
    assert most >= 75 and queues.blocks.counts[BLOCKS] == 1
