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


@pytest.fixture(scope="module", autouse=True)
def small_blocks():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sieve, "BLOCK", BLOCK)
        patch.setattr(ranked, "BLOCK", BLOCK)
        patch.setattr(ranked, "FILLED", FILLED)
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
        if place >= 0:
            again = ranked.next_fitting(self.blocks, self.jobs, self.kind, at, *state)
            assert again == (place, at), "nothing is missed from its block on"
            assert ranked.fits(self.blocks, self.jobs, place, *state)
        return place

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
            for place in range(block * BLOCK, block * BLOCK + blocks.size[block]):
                if (wanted := blocks.waiting.wanted[place]) != TAKEN:
                    job = self.job_at(place)
                    lie.append(job)
                    request = self.jobs.requested_time[job]
                    assert blocks.bounds.wanted[block] <= wanted
                    assert blocks.bounds.request[block, sieve.class_of(wanted)] <= request
                    steepness = wanted / request**3 if self.kind == WFP else 0.0
                    assert blocks.steepness[block] >= steepness
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
