"""Host lists of Slurm such as ``n[1,6-7],login1``: their names, and how many names there are."""

import re
from collections.abc import Iterable
from itertools import product

MOST = 1_000_000
"""More hosts than this are not a machine's, but a damaged list."""

GROUP = re.compile(r"[^,\[]+(?:\[[^\]]*\][^,\[]*)*")
PIECE = re.compile(r"([^\[]*)(?:\[([^\]]*)\])?")


def expand_hosts(text: str) -> list[str]:
    """The names in a host list, leading zeros kept; none where there would be over `MOST`."""
    names: list[str] = []
    for group in GROUP.findall(text):
        pieces = []
        for fixed, ranges in PIECE.findall(group):
            pieces.append([fixed])
            if ranges:
                pieces.append(_numbers(ranges))
        size = 1
        for piece in pieces:
            size *= len(piece)
        if len(names) + size > MOST:
            return []
        names += ["".join(parts) for parts in product(*pieces)]
    return names


def count_hosts(lists: Iterable[str]) -> int:
    """The number of different hosts in several lists; 0 where that is over `MOST`."""
    hosts: set[str] = set()
    for text in lists:
        hosts.update(expand_hosts(text))
        if len(hosts) > MOST:
            return 0
    return len(hosts)


def _numbers(ranges: str) -> list[str]:
    """The numbers of ``1,6-7`` as they are written; none of a range that is over `MOST`."""
    numbers: list[str] = []
    for part in ranges.split(","):
        low, _, high = part.partition("-")
        if not (high and low.isdecimal() and high.isdecimal()):
            numbers.append(part)
        elif len(high) > 9 or int(high) - int(low) >= MOST:
            return []
        else:
            numbers += [f"{n:0{len(low)}d}" for n in range(int(low), int(high) + 1)]
    return numbers
