"""What a workload runs on: partitions of nodes, their memory, their bandwidths.

One machine is one partition; coupled machines are several. No simulator needs
another signature for either.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType

from cosimlib import checks as check


@dataclass(frozen=True)
class System:
    """Partitions of nodes with what every node of them has.

    Parameters
    ----------
    name : str
    partitions : mapping of str to int
        Nodes of each partition, in order.
    cores_per_node : int, default 1
    memory_per_node : float
        GB (10⁹ bytes); NaN where unknown.
    aggregate_bandwidth : float
        Of the parallel file system, GB/s; NaN where unknown.
    node_bandwidth : float
        What one node can write to that file system, GB/s; NaN where unknown.
    """

    name: str
    partitions: Mapping[str, int]
    cores_per_node: int = 1
    memory_per_node: float = math.nan
    aggregate_bandwidth: float = math.nan
    node_bandwidth: float = math.nan
    total_nodes: int = field(init=False)

    def __post_init__(self) -> None:
        if not self.partitions:
            raise ValueError(f"{self.name}: a system has at least one partition; got none")
        for partition, nodes in self.partitions.items():
            check.whole(f"partitions[{partition!r}]", nodes, 1, where=self.name)
        quantities = ("cores_per_node", "memory_per_node", "aggregate_bandwidth", "node_bandwidth")
        for quantity in quantities:
            value = getattr(self, quantity)
            check.that(quantity, value, not value <= 0, "a number above 0", where=self.name)
        partitions = {name: int(nodes) for name, nodes in self.partitions.items()}
        object.__setattr__(self, "partitions", MappingProxyType(partitions))
        object.__setattr__(self, "total_nodes", sum(partitions.values()))

    @classmethod
    def of(cls, nodes: int | None = None, /, **partitions: int) -> "System":
        """One machine, ``System.of(512)``, or several, ``System.of(big=40960, small=100)``."""
        if (nodes is None) == (not partitions):
            raise ValueError("expected either a number of nodes or named partitions")
        if nodes is not None:
            return cls(f"{nodes} nodes", {"main": nodes})
        return cls("+".join(partitions), partitions)

    def with_nodes(self, nodes: int) -> "System":
        """The same kind of machine with one partition of another size."""
        return replace(self, partitions={next(iter(self.partitions)): nodes})

    def __reduce__(self) -> tuple:
        return System, (
            self.name,
            dict(self.partitions),
            self.cores_per_node,
            self.memory_per_node,
            self.aggregate_bandwidth,
            self.node_bandwidth,
        )


THETA = System(
    "Theta",
    {"main": 4392},
    cores_per_node=64,
    memory_per_node=192.0,
    aggregate_bandwidth=250.0,
    node_bandwidth=2.0,
)
"""Theta, Argonne's Cray XC40, as Maurya et al. (DS-RT 2020) describe it.

Their paper prints no bandwidth of a single node. 2 GB/s is our choice: 250 GB/s over the 128 nodes
of Theta's commonest job, so that such a job saturates the file system, as the paper assumes.
"""
