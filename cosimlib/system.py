"""Systems: partitions of nodes, their memory and bandwidths.

One machine is one partition; coupled machines are several. No simulator needs another signature
for either.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType

from cosimlib import checks as check
from cosimlib.display import UNKNOWN, Displayed, Facts, count


@dataclass(frozen=True, repr=False)
class System(Displayed):
    """Partitions of nodes, and the memory and bandwidth of each node.

    Parameters
    ----------
    name : str
    partitions : mapping of str to int
        Nodes of each partition, in order.
    cores_per_node : int, default 1
    memory_per_node : float
        GB (10⁹ bytes); NaN if unknown.
    aggregate_bandwidth : float
        Of the parallel file system, GB/s; NaN if unknown.
    node_bandwidth : float
        What one node can write to that file system, GB/s; NaN if unknown.

    Examples
    --------
    >>> import cosimlib as cs
    >>> cs.System.of(512)
    <System 512 nodes>
    >>> coupled = cs.System.of(intrepid=40960, eureka=100)
    >>> coupled.total_nodes
    41060
    """

    name: str
    partitions: Mapping[str, int]
    cores_per_node: int = 1
    memory_per_node: float = math.nan
    aggregate_bandwidth: float = math.nan
    node_bandwidth: float = math.nan
    total_nodes: int = field(init=False)

    def __post_init__(self) -> None:
        partitions_expected = "a mapping of nodes by partition, such as {'main': 128}"
        check.instance("partitions", self.partitions, Mapping, expected=partitions_expected)
        if not self.partitions:
            raise ValueError(f"{self.name}: a system has at least one partition; got none")
        for partition, nodes in self.partitions.items():
            check.whole(f"partitions[{partition!r}]", nodes, 1, where=self.name)
        quantities = ("cores_per_node", "memory_per_node", "aggregate_bandwidth", "node_bandwidth")
        for quantity in quantities:
            value = getattr(self, quantity)
            above = check.is_number(value) and not value <= 0
            check.that(quantity, value, above, "a number above 0", where=self.name)
        partitions = {name: int(nodes) for name, nodes in self.partitions.items()}
        object.__setattr__(self, "partitions", MappingProxyType(partitions))
        object.__setattr__(self, "total_nodes", sum(partitions.values()))

    @classmethod
    def of(cls, nodes: int | None = None, /, **partitions: int) -> "System":
        """One machine, ``System.of(512)``, or several, ``System.of(big=40960, small=100)``."""
        if (nodes is None) == (not partitions):
            raise ValueError("expected either a number of nodes or named partitions")
        if nodes is not None:
            check.whole("nodes", nodes, 1)
            return cls(f"{nodes} nodes", {"main": nodes})
        return cls("+".join(partitions), partitions)

    def with_nodes(self, nodes: int) -> "System":
        """The same kind of machine with one partition of another size."""
        return replace(self, partitions={next(iter(self.partitions)): nodes})

    def _heading(self) -> str:
        if self.name == f"{self.total_nodes} nodes":
            return count(self.total_nodes, "node")
        return f"{self.name} ({count(self.total_nodes, 'node')})"

    def _facts(self) -> Facts:
        return {
            "partitions": lambda: _listed(self.partitions) if len(self.partitions) > 1 else "",
            "per node": lambda: (
                f"{count(self.cores_per_node, 'core')}, memory {_known(self.memory_per_node, 'GB')}"
            ),
            "file system": lambda: _bandwidths(self.aggregate_bandwidth, self.node_bandwidth),
        }

    def __reduce__(self) -> tuple:
        return System, (
            self.name,
            dict(self.partitions),
            self.cores_per_node,
            self.memory_per_node,
            self.aggregate_bandwidth,
            self.node_bandwidth,
        )


def _listed(partitions: Mapping[str, int]) -> str:
    return ", ".join(f"{name} {nodes:,}" for name, nodes in partitions.items())


def _known(value: float, unit: str) -> str:
    return f"{value:,.10g} {unit}" if math.isfinite(value) else UNKNOWN


def _bandwidths(aggregate: float, node: float) -> str:
    if math.isnan(aggregate) and math.isnan(node):
        return UNKNOWN
    return f"{_known(aggregate, 'GB/s')}, from one node {_known(node, 'GB/s')}"


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

THETAS = (
    "system=dataclasses.replace(workload.machine, memory_per_node=192.0, "
    "aggregate_bandwidth=250.0, node_bandwidth=2.0) has those of Theta"
)
"""What errors advise where a system does not know its memory or its file system."""
