"""Compact texts of Slurm: host lists such as ``n[1,6-7],login1``, and trackable resources.

Host lists are expanded to names, folded and counted. Trackable resources are texts such as
``cpu=16,mem=4000M,node=4,gres/gpu=8``.
"""

import math
import re
from collections.abc import Iterable
from functools import lru_cache
from itertools import product
from typing import NamedTuple

MOST = 1_000_000
"""More hosts than this are not a machine's, but a damaged list."""

GROUP = re.compile(r"[^,\[]+(?:\[[^\]]*\][^,\[]*)*")
PIECE = re.compile(r"([^\[]*)(?:\[([^\]]*)\])?")
RANGES = r"\[[0-9]+(?:-[0-9]+)?(?:,[0-9]+(?:-[0-9]+)?)*\]"
WHOLE = re.compile(rf"(?:[\w.-]|{RANGES})+(?:,(?:[\w.-]|{RANGES})+)*")
NUMBERED = re.compile(r"(.*?)([0-9]{1,9})")
AMOUNT = re.compile(r"([0-9]{1,15}(?:\.[0-9]{1,15})?)([KMGTP]?)")
GIGABYTES = {
    "": 2**20 / 1e9, "K": 2**10 / 1e9, "M": 2**20 / 1e9, "G": 2**30 / 1e9, "T": 2**40 / 1e9,
    "P": 2**50 / 1e9,
}  # fmt: skip
"""GB (10⁹ bytes) of the units of memory; without one it is MiB."""


class Resources(NamedTuple):
    """CPUs, memory (GB) and GPUs; NaN if unknown."""

    cpus: float = math.nan
    memory: float = math.nan
    gpus: float = math.nan


@lru_cache(maxsize=4096)
def resources_in(text: str) -> Resources:
    """The resources in a text such as ``cpu=4,mem=4000M,gres/gpu:a100=2``, GPUs of all models."""
    if not text:
        return Resources()
    found: dict[str, float] = {}
    for part in text.split(","):
        name, _, amount = part.partition("=")
        if match := AMOUNT.fullmatch(amount):
            found[name] = float(match[1]) * (GIGABYTES[match[2]] if name == "mem" else 1.0)
    by_model = sum(count for name, count in found.items() if name.startswith("gres/gpu:"))
    return Resources(
        found.get("cpu", math.nan), found.get("mem", math.nan), found.get("gres/gpu", by_model)
    )


def expand_hosts(text: str) -> list[str]:
    """The names in a host list, leading zeros kept; none if there would be over `MOST`."""
    if "[" not in text:
        return [name for name in text.split(",") if name]
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


def is_host_list(text: str) -> bool:
    """Whether a text is a host list of whole names and ranges; it may still have over `MOST`."""
    return WHOLE.fullmatch(text) is not None


def fold_hosts(names: Iterable[str]) -> str:
    """The host list of some names, sorted, each once; ``n[1-3,7]`` for four."""
    families: dict[tuple[str, int], list[int]] = {}
    texts = []
    matched = [(name, NUMBERED.fullmatch(name)) for name in sorted(set(names))]
    padded = {
        (match[1], len(match[2]))
        for _, match in matched
        if match and match[2][0] == "0" and len(match[2]) > 1
    }
    for name, match in matched:
        if match is None:
            texts.append(name)
        else:
            # Numbers of nine digits may follow another digit: they keep their width.
            width = len(match[2])
            kept = (match[1], width) in padded or width == 9
            families.setdefault((match[1], width if kept else 0), []).append(int(match[2]))
    for (stem, width), numbers in families.items():
        ranges = _ranges(sorted(numbers), width)
        only = len(numbers) == 1
        texts.append(f"{stem}{ranges}" if only else f"{stem}[{ranges}]")
    return ",".join(sorted(texts))


def _ranges(numbers: list[int], width: int) -> str:
    """Ascending numbers as ``1-3,7``, filled with zeros to a width."""
    runs: list[list[int]] = []
    for n in numbers:
        if runs and n == runs[-1][1] + 1:
            runs[-1][1] = n
        else:
            runs.append([n, n])
    shown = (
        f"{low:0{width}d}" if low == high else f"{low:0{width}d}-{high:0{width}d}"
        for low, high in runs
    )
    return ",".join(shown)


def count_hosts(lists: Iterable[str]) -> int:
    """The number of different hosts in several lists; 0 if that is over `MOST`."""
    hosts: set[str] = set()
    for text in lists:
        hosts.update(expand_hosts(text))
        if len(hosts) > MOST:
            return 0
    return len(hosts)


def _numbers(ranges: str) -> list[str]:
    """The numbers of ``1,6-7`` as they are written; none if there would be over `MOST`."""
    numbers: list[str] = []
    for part in ranges.split(","):
        low, _, high = part.partition("-")
        if not (high and low.isdecimal() and high.isdecimal()):
            numbers.append(part)
        elif len(high) > 9 or int(high) - int(low) >= MOST:
            return []
        else:
            numbers += [f"{n:0{len(low)}d}" for n in range(int(low), int(high) + 1)]
        if len(numbers) > MOST:
            return []
    return numbers
