"""The simulators against queueing theory: one-node jobs, Poisson submissions, known service.

On a machine of c nodes, jobs of one node that start in order of submission are the queue M/G/c.
Where all jobs are equally wide no policy in that order can differ from FCFS, so that one long FCFS
run stands for all of them, and shorter ones show that they are the same.

A simulated mean is compared with the formula's within a confidence interval from batch means: the
jobs are cut into 40 long batches, whose means are nearly independent. Seeds are fixed, hence tests
do not flicker; each also shows that its interval is narrow enough to tell c from c + 1 nodes.
"""

import math

import numpy as np
import pandas as pd
import pytest
from scipy import integrate, stats

from cosimlib import metrics
from cosimlib.batch import simulate_fcfs
from cosimlib.policies import SIMULATORS
from cosimlib.system import System
from cosimlib.workload import Workload

pytestmark = pytest.mark.compiled("queues of a hundred thousand jobs")

JOBS = 100_000
WARM_UP = 20_000
BATCHES = 40

QUEUES = [(1, 0.5), (1, 0.8), (4, 0.7), (16, 0.85), (32, 0.8)]
"""Nodes and load; the mean service time is 1."""


def one_node_jobs(nodes, load, service, seed, jobs=JOBS) -> Workload:
    """Poisson submissions that load `nodes` nodes, with requests of one to three run times."""
    rng = np.random.default_rng(seed)
    apart = rng.exponential(1 / (nodes * load), jobs)
    run_time = service(rng, jobs)
    frame = {
        "submit_time": np.cumsum(apart),
        "run_time": run_time,
        "requested_time": run_time * rng.uniform(1, 3, jobs) + 1e-9,
        "nodes": 1,
    }
    return Workload(pd.DataFrame(frame), "one-node jobs")


def exponential(rng, n):
    return rng.exponential(1.0, n)


def always_one(rng, n):
    return np.ones(n)


def hyperexponential(rng, n):
    """One job in ten runs six times as long as the others on average: mean 1, E[S²] = 4."""
    return rng.exponential(np.where(rng.random(n) < 0.1, 4.0, 2 / 3))


def interval(values: pd.Series) -> tuple[float, float]:
    """Mean and half width of its 99.9 % confidence interval, from batch means."""
    means = np.array([batch.mean() for batch in np.array_split(values.to_numpy(), BATCHES)])
    error = means.std(ddof=1) / math.sqrt(BATCHES)
    return means.mean(), stats.t.ppf(0.9995, BATCHES - 1) * error


def waits(workload: Workload, nodes: int, **options) -> pd.Series:
    """Waiting times under FCFS, of the jobs submitted after the machine has filled."""
    schedule = simulate_fcfs(workload, System.of(nodes), **options)
    return metrics.wait_time(schedule, start=workload.jobs["submit_time"][WARM_UP])


def erlang_c(nodes: int, offered: float) -> float:
    """Probability of waiting in M/M/c, by Erlang B's recursion; `offered` is load times nodes."""
    blocked = 1.0
    for servers in range(1, nodes + 1):
        blocked = offered * blocked / (servers + offered * blocked)
    return nodes * blocked / (nodes - offered * (1 - blocked))


def mean_wait(nodes: int, offered: float) -> float:
    """Mean wait in M/M/c with service of mean 1."""
    return erlang_c(nodes, offered) / (nodes - offered)


def test_erlang_c_by_hand():
    assert erlang_c(1, 0.8) == pytest.approx(0.8)
    assert erlang_c(2, 1.0) == pytest.approx(1 / 3)
    terms = [2.8**k / math.factorial(k) for k in range(4)]
    last = 2.8**4 / math.factorial(4) / (1 - 0.7)
    assert erlang_c(4, 2.8) == pytest.approx(last / (sum(terms) + last))


@pytest.mark.parametrize(("nodes", "load"), QUEUES)
def test_exponential_service_waits_as_erlang_says(nodes, load):
    # Waiting comes in longer, rarer spells on more nodes.
    jobs = 2 * JOBS if nodes > 16 else JOBS
    wait = waits(one_node_jobs(nodes, load, exponential, seed=nodes, jobs=jobs), nodes)
    offered = nodes * load
    probability, allowed = interval(wait > 0)
    assert probability == pytest.approx(erlang_c(nodes, offered), abs=allowed)
    assert probability != pytest.approx(erlang_c(nodes + 1, offered), abs=allowed)
    mean, allowed = interval(wait)
    assert mean == pytest.approx(mean_wait(nodes, offered), abs=allowed)
    assert mean != pytest.approx(mean_wait(nodes + 1, offered), abs=allowed)


def test_waits_above_zero_are_exponential():
    """P(wait > t) = C · exp(-(c - a) t), for several t."""
    wait = waits(one_node_jobs(4, 0.7, exponential, seed=5), 4)
    for seconds in (0.2, 0.5, 1.0, 2.0):
        share, allowed = interval(wait > seconds)
        expected = erlang_c(4, 2.8) * math.exp(-(4 - 2.8) * seconds)
        assert share == pytest.approx(expected, abs=allowed)


@pytest.mark.parametrize("load", [0.5, 0.8])
@pytest.mark.parametrize(
    ("service", "second_moment"), [(always_one, 1.0), (exponential, 2.0), (hyperexponential, 4.0)]
)
def test_one_node_waits_as_pollaczek_and_khinchine_say(load, service, second_moment):
    """M/D/1, M/M/1 and M/H/1: mean wait λ E[S²] / (2 (1 - ρ)); the share that waits is ρ."""
    wait = waits(one_node_jobs(1, load, service, seed=11), 1)
    mean, allowed = interval(wait)
    expected = load * second_moment / (2 * (1 - load))
    assert mean == pytest.approx(expected, abs=allowed)
    assert allowed < 0.35 * expected
    share, allowed = interval(wait > 0)
    assert share == pytest.approx(load, abs=allowed)
    assert allowed < 0.03


def test_deterministic_service_waits_half_as_long_as_exponential():
    half = interval(waits(one_node_jobs(1, 0.7, always_one, seed=2), 1))
    whole = interval(waits(one_node_jobs(1, 0.7, exponential, seed=2), 1))
    assert 2 * half[0] == pytest.approx(whole[0], abs=2 * half[1] + whole[1])
    assert half[0] + half[1] < whole[0] - whole[1]


def test_shortest_first_waits_as_phipps_says():
    """M/M/1, shortest job first without preemption: a job of length x waits
    λ E[S²] / (2 (1 - ρ(x))²), where ρ(x) is the load of the jobs up to x (Phipps, 1956)."""
    load = 0.8
    workload = one_node_jobs(1, load, exponential, seed=3)
    known = Workload(workload.jobs.assign(requested_time=workload.jobs["run_time"]), "known")
    wait = waits(known, 1, order="shortest")

    def below(x):
        return load * (1 - (1 + x) * math.exp(-x))

    expected, _ = integrate.quad(lambda x: load / (1 - below(x)) ** 2 * math.exp(-x), 0, math.inf)
    mean, allowed = interval(wait)
    assert mean == pytest.approx(expected, abs=allowed)
    assert mean + allowed < mean_wait(1, load)
    run_time = known.jobs["run_time"][wait.index]
    short = wait[run_time.between(0.45, 0.55)]
    mean, allowed = interval(short)
    assert mean == pytest.approx(load / (1 - below(0.5)) ** 2, abs=allowed)


@pytest.mark.parametrize("policy", ["EASY", "EASY (per event)", "conservative"])
@pytest.mark.parametrize(("nodes", "load"), [(1, 0.8), (16, 0.95)])
def test_one_node_jobs_leave_nothing_to_backfill(policy, nodes, load):
    workload = one_node_jobs(nodes, load, exponential, seed=9, jobs=3_000)
    schedule = SIMULATORS[policy](workload, System.of(nodes))
    fcfs = simulate_fcfs(workload, System.of(nodes))
    # Conservative backfilling adds up promises, hence the last bits may differ.
    assert np.allclose(schedule.start_time, fcfs.start_time, rtol=0, atol=1e-6)


def test_utilization_is_the_load_and_littles_law_holds():
    """Utilization is the load; the mean queue is rate times mean wait; no job waits while a
    node is idle, so that no capacity is lost."""
    nodes, load = 16, 0.85
    workload = one_node_jobs(nodes, load, exponential, seed=16)
    schedule = simulate_fcfs(workload, System.of(nodes))
    inside = metrics.window(schedule, warm_up=1_000, cool_down=0)
    assert metrics.utilization(schedule, **inside) == pytest.approx(load, abs=0.01)
    length = inside["end"] - inside["start"]
    queue = metrics.hourly(metrics.waiting_jobs(schedule), length, **inside).iloc[0]
    wait = metrics.wait_time(schedule, **inside)
    assert queue == pytest.approx(len(wait) / length * wait.mean(), rel=0.005)
    assert metrics.loss_of_capacity(schedule) == 0


def test_the_number_of_busy_nodes_has_erlangs_distribution():
    """M/M/c: P(all busy) is Erlang C; below c the probabilities are those of a Poisson variable."""
    nodes, offered = 4, 2.8
    workload = one_node_jobs(nodes, 0.7, exponential, seed=8)
    schedule = simulate_fcfs(workload, System.of(nodes))
    held = metrics.held_durations(metrics.occupied_nodes(schedule))
    share = held / held.sum()
    assert share[nodes] == pytest.approx(erlang_c(nodes, offered), abs=0.015)
    for busy in range(1, nodes):
        assert share[busy] / share[busy - 1] == pytest.approx(offered / busy, rel=0.1)
