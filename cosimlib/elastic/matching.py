"""Rows of one table that belong to rows of another, by equal columns or as the latest before."""

import numpy as np


def find(wanted: tuple[np.ndarray, ...], rows: tuple[np.ndarray, ...]) -> np.ndarray:
    """The first of the rows that is equal in all columns to each of those wanted, -1 for none."""
    size, columns = rows[0].size, [np.append(*each) for each in zip(rows, wanted, strict=True)]
    order = np.lexsort([np.arange(columns[0].size) >= size, *columns[::-1]])
    other = [np.append(True, each[order][1:] != each[order][:-1]) for each in columns]
    group = np.flatnonzero(np.any(other, axis=0)) if order.size else order
    first = np.repeat(order[group], np.diff(np.append(group, order.size)))
    found = np.empty(order.size, dtype=np.int64)
    found[order] = np.where(first < size, first, -1)
    return found[size:]


def find_latest(
    wanted: tuple[np.ndarray, np.ndarray], rows: tuple[np.ndarray, np.ndarray]
) -> np.ndarray:
    """The last of the rows of the same node that begins by the time wanted, -1 for none.

    Both are nodes and times.
    """
    size, (node, time) = rows[0].size, (np.append(*each) for each in zip(rows, wanted, strict=True))
    order = np.lexsort((np.arange(node.size) >= size, time, node))
    latest = np.maximum.accumulate(np.where(order < size, np.arange(order.size), -1))
    row = np.where(latest >= 0, order[latest], -1)
    found = np.empty(order.size, dtype=np.int64)
    found[order] = np.where((row >= 0) & (node[row] == node[order]), row, -1)
    return found[size:]
