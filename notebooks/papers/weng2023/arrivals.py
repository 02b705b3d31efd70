"""Order in which the pods of Weng et al. arrive, drawn as their simulator draws it.

The authors' simulator (hkust-adsl/kubernetes-scheduler-simulator) shuffles the pods of a list with
Go's ``math/rand``, then draws further pods from the list, or removes pods, until their demand for
GPUs is 1.3 times what the cluster has. Last, it permutes the nodes: of two nodes with one score it
prefers the one that comes first in this permutation. This module repeats the draws one by one, so
that a policy without randomness places the same pods on the same nodes.

Go's generator is the additive lagged Fibonacci generator of D. P. Mitchell and J. A. Reeds,
``y[k] = y[k - 607] + y[k - 273] mod 2**64``. Its seed fills the 607 words with a linear
congruential generator (48271 modulo 2**31 - 1), combined with the words that the generator itself
holds 7.8e12 steps after such a seeding. `_words_after` computes these words: it raises ``x`` to
that power modulo the generator's characteristic polynomial ``x**607 - x**334 - 1``.
"""

from collections.abc import Sequence
from functools import cache
from typing import NamedTuple

import numpy as np

LENGTH, TAP = 607, 273
WARM_UP_STEPS = 7_800_000_000_000
_WORD = 2**64 - 1
WATCHES = 10
"""Numbers drawn between the pods and the nodes: the simulator's Kubernetes client draws a timeout
from the same generator for each of the ten kinds of objects that it watches."""


class Arrivals(NamedTuple):
    """Pods in their order of arrival and nodes in their order of preference."""

    pods: np.ndarray
    nodes: np.ndarray


def draw_arrivals(
    gpu_demand: Sequence[int], node_gpus: Sequence[int], *, seed: int, ratio: float = 1.3
) -> Arrivals:
    """Draw the pods that arrive, in order, and the nodes' order of preference.

    Parameters
    ----------
    gpu_demand : sequence of int
        Thousandths of a GPU that each pod demands in all, in the order of the pods' names.
    node_gpus : sequence of int
        Whole GPUs of each node, in the order of the nodes' names.
    seed : int
        The authors use 42 to 51.
    ratio : float, default 1.3
        Demand of all arriving pods, in capacities of the cluster.

    Returns
    -------
    Arrivals
        Positions in the two lists. A pod that is drawn again appears again.
    """
    random = GoRandom(seed)
    random.int63()  # the simulator logs one number
    demand, limit = np.asarray(gpu_demand), ratio * float(1000 * sum(node_gpus))
    pods = random.shuffled(len(demand))
    if demand.sum() > limit:
        pods = _fewer(pods, demand, limit, random)
    else:
        pods = _more(pods, demand, limit, random)
    for _ in range(WATCHES):
        random.int63()
    rank = random.permutation(len(node_gpus))
    return Arrivals(np.array(pods), np.argsort(rank))


def _fewer(pods: list[int], demand: np.ndarray, limit: float, random: "GoRandom") -> list[int]:
    """Pods that are left after random pods were removed until the demand is within the limit."""
    total = int(demand.sum())
    while total > limit:
        total -= int(demand[pods.pop(random.below(len(pods)))])
    return pods


def _more(pods: list[int], demand: np.ndarray, limit: float, random: "GoRandom") -> list[int]:
    """Pods and random copies of them, until the next copy would exceed the limit.

    The simulator compares with the demand for one GPU, although it then adds the demand for all.
    """
    total = int(demand.sum())
    while True:
        pod = random.below(len(demand))
        if total + min(int(demand[pod]), 1000) > limit:
            return pods
        total += int(demand[pod])
        pods.append(pod)


class GoRandom:
    """Go's ``math/rand`` after ``rand.Seed(seed)``: the draws that the simulator makes."""

    def __init__(self, seed: int) -> None:
        words = _congruential_words(seed, first_shift=40, second_shift=20)
        self._words = [word ^ warm for word, warm in zip(words, _warm_words(), strict=True)]
        self._tap, self._feed = 0, LENGTH - TAP

    def int63(self) -> int:
        """Uniform integer below 2**63."""
        self._tap = (self._tap - 1) % LENGTH
        self._feed = (self._feed - 1) % LENGTH
        word = (self._words[self._feed] + self._words[self._tap]) & _WORD
        self._words[self._feed] = word
        return word & (2**63 - 1)

    def below(self, n: int) -> int:
        """Uniform integer below `n`, as Go's ``Intn`` draws it (`n` below 2**31)."""
        if n & (n - 1) == 0:
            return (self.int63() >> 32) & (n - 1)
        largest = 2**31 - 1 - 2**31 % n
        value = self.int63() >> 32
        while value > largest:
            value = self.int63() >> 32
        return value % n

    def shuffled(self, n: int) -> list[int]:
        """Return the numbers below `n` in the order that Go's ``Shuffle`` gives them."""
        values = list(range(n))
        for last in range(n - 1, 0, -1):
            other = self._below_by_product(last + 1)
            values[last], values[other] = values[other], values[last]
        return values

    def permutation(self, n: int) -> list[int]:
        """Return the numbers below `n` in the order that Go's ``Perm`` gives them."""
        values: list[int] = []
        for value in range(n):
            other = self.below(value + 1)
            values.append(value)
            values[value], values[other] = values[other], value
        return values

    def _below_by_product(self, n: int) -> int:
        """Uniform integer below `n` by Lemire's method, which only ``Shuffle`` uses."""
        product = (self.int63() >> 31) * n
        if product % 2**32 < n:
            smallest = (2**32 - n) % n
            while product % 2**32 < smallest:
                product = (self.int63() >> 31) * n
        return product >> 32


@cache
def _warm_words() -> tuple[int, ...]:
    """The generator's words `WARM_UP_STEPS` steps after a seeding with 1."""
    return tuple(
        _words_after(WARM_UP_STEPS, _congruential_words(1, first_shift=20, second_shift=10))
    )


def _words_after(steps: int, words: list[int]) -> list[int]:
    """The 607 words, by position, after so many steps of the generator.

    Step k writes position 333 - k modulo 607, so the positions read backwards are a window of the
    sequence; the window after `steps` is a linear combination of the sequence's first terms.
    """
    first = LENGTH - TAP - 1
    sequence = [words[(first - k) % LENGTH] for k in range(LENGTH)]
    for _ in range(LENGTH - 1):
        sequence.append((sequence[-LENGTH] + sequence[-TAP]) & _WORD)
    window = np.correlate(np.array(sequence, dtype=np.uint64), _power_of_x(steps), mode="valid")
    return [int(window[(first - position - steps) % LENGTH]) for position in range(LENGTH)]


def _power_of_x(exponent: int) -> np.ndarray:
    """Coefficients of x to this power modulo the characteristic polynomial and 2**64."""
    power = np.zeros(LENGTH, dtype=np.uint64)
    power[0] = 1
    for bit in f"{exponent:b}":
        power = _reduced(np.convolve(power, power))
        if bit == "1":
            power = _reduced(np.append(np.uint64(0), power))
    return power


def _reduced(polynomial: np.ndarray) -> np.ndarray:
    """The polynomial's remainder: x**607 is x**334 + 1."""
    while polynomial.size > LENGTH:
        high, polynomial = polynomial[LENGTH:], polynomial[:LENGTH].copy()
        carried = LENGTH - TAP + high.size
        polynomial = np.pad(polynomial, (0, max(0, carried - LENGTH)))
        polynomial[: high.size] += high
        polynomial[LENGTH - TAP : carried] += high
    return polynomial


def _congruential_words(seed: int, *, first_shift: int, second_shift: int) -> list[int]:
    """607 words, each of three numbers of the linear congruential generator."""
    modulus, value = 2**31 - 1, seed % (2**31 - 1) or 89482311
    numbers = []
    for _ in range(20 + 3 * LENGTH):
        value = 48271 * value % modulus
        numbers.append(value)
    triples = zip(numbers[20::3], numbers[21::3], numbers[22::3], strict=True)
    return [(a << first_shift & _WORD) ^ (b << second_shift) ^ c for a, b, c in triples]
