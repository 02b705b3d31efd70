"""Sets of nodes as bits in whole words: node 0 is the lowest bit of the first word."""

import numpy as np

from cosimlib.kernels.jit import kernel

WORD = 64
"""Nodes in a word."""
ZERO, ONE = np.uint64(0), np.uint64(1)
TWO, FOUR, TWENTY_FOUR, HALF = (np.uint64(shift) for shift in (2, 4, 24, 32))
PAIRS = np.uint64(0x5555555555555555)
QUADS = np.uint64(0x3333333333333333)
BYTES = np.uint64(0x0F0F0F0F0F0F0F0F)
LOWER = np.uint64(0xFFFFFFFF)
EACH = np.uint64(0x01010101)
LAST = np.uint64(0x7F)


def words_for(nodes: int) -> int:
    """How many words a set of so many nodes takes, one at least."""
    return max(1, -(-nodes // WORD))


def sets_of(members: np.ndarray) -> np.ndarray:
    """Rows of booleans, a column per node, as rows of words."""
    rows, nodes = members.shape
    padded = np.zeros((rows, words_for(nodes) * WORD), dtype=bool)
    padded[:, :nodes] = members
    packed = np.packbits(padded, axis=1, bitorder="little")
    return packed.view("<u8").astype(np.uint64)


@kernel
def count_bits(word: np.uint64) -> int:
    """How many nodes of a word are in the set, by sums of pairs, of four and of eight."""
    word = word - ((word >> ONE) & PAIRS)
    word = (word & QUADS) + ((word >> TWO) & QUADS)
    word = (word + (word >> FOUR)) & BYTES
    word = (word + (word >> HALF)) & LOWER
    # The product has the sum of the four bytes in its fourth byte.
    return np.int64(((word * EACH) >> TWENTY_FOUR) & LAST)  # type: ignore[return-value]


@kernel
def size_of(members: np.ndarray) -> int:
    """How many nodes are in a set; `count_bits`, written out so that it is done for eight words."""
    size = 0
    for number in range(members.size):
        word = members[number]
        word = word - ((word >> ONE) & PAIRS)
        word = (word & QUADS) + ((word >> TWO) & QUADS)
        word = (word + (word >> FOUR)) & BYTES
        word = (word + (word >> HALF)) & LOWER
        size += np.int64(((word * EACH) >> TWENTY_FOUR) & LAST)  # type: ignore[assignment]
    return size


@kernel
def keep_common(members: np.ndarray, sets: np.ndarray, row: int) -> None:
    """Take out of a set what is not in a row of sets."""
    for number in range(members.size):
        members[number] = members[number] & sets[row, number]


@kernel
def lowest_of(word: np.uint64) -> int:
    """The lowest node of a word that is not empty."""
    return count_bits(~word & (word - ONE))


@kernel
def has(members: np.ndarray, node: int) -> bool:
    """Whether a node is in a set."""
    return (members[node // WORD] >> np.uint64(node % WORD)) & ONE == ONE


@kernel
def include(members: np.ndarray, node: int) -> None:
    """Put a node into a set."""
    members[node // WORD] = members[node // WORD] | (ONE << np.uint64(node % WORD))


@kernel
def exclude(members: np.ndarray, node: int) -> None:
    """Take a node out of a set."""
    members[node // WORD] = members[node // WORD] & ~(ONE << np.uint64(node % WORD))
