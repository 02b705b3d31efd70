"""Trackable resources of Slurm as text: ``cpu=16,mem=4000M,node=4,gres/gpu=8``."""

import math
import re
from functools import lru_cache
from typing import Any, NamedTuple

MEGABYTES = {"K": 1 / 1024, "M": 1.0, "G": 1024.0, "T": 1024.0**2, "P": 1024.0**3}
GB = 1024.0**2 / 1e9
"""GB (10⁹ bytes) per megabyte of Slurm's."""
AMOUNT = re.compile(r"(\d{1,15}(?:\.\d{1,15})?)([KMGTP]?)")
GPUS = re.compile(r"(?:^|,)gpu(?::[^:,(]*)?:(\d{1,9})")


class Resources(NamedTuple):
    """CPUs, memory (GB) and GPUs; NaN where unknown."""

    cpus: float
    memory: float
    gpus: float


UNTOLD_RESOURCES = Resources(math.nan, math.nan, math.nan)


@lru_cache(maxsize=4096)
def _parsed(text: str) -> Resources:
    found = {"cpu": math.nan, "mem": math.nan, "gres/gpu": 0.0}
    for part in text.split(","):
        name, _, amount = part.partition("=")
        match = AMOUNT.fullmatch(amount)
        if name in found and match:
            found[name] = float(match[1]) * (MEGABYTES.get(match[2], 1.0) if name == "mem" else 1.0)
    return Resources(found["cpu"], found["mem"] * GB, found["gres/gpu"])


def granted(text: Any) -> Resources | None:
    """The resources in a text such as ``cpu=4,mem=4000M``; None where it is none."""
    return _parsed(text) if isinstance(text, str) and text else None


def gpus(text: Any) -> float:
    """GPUs in a text such as ``gpu:a100:4(S:0-1)``."""
    return float(sum(map(int, GPUS.findall(text)))) if isinstance(text, str) else 0.0
