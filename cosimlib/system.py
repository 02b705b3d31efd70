"""Systems: partitions of nodes, their memory and bandwidths, and the types of their nodes.

One machine is one partition; coupled machines are several. No simulator needs another signature
for either.
"""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from types import MappingProxyType

import numpy as np
import pandas as pd

from cosimlib import checks as check
from cosimlib.display import UNKNOWN, Displayed, Facts, count

MOST_GPUS = 62
"""GPUs per node at most: a set of them is one whole number."""
MOST_NODES = 2**52
"""Nodes of a partition at most: above 2⁵², sums of nodes and of parts of them are not exact."""
LEAST_CORES = 0.001
"""Jobs take thousandths of a core."""
MOST_CORES, MOST_MEMORY = 2**40, 2**32
"""Cores and GB of a node are below it."""


@dataclass(frozen=True)
class NodeType:
    """Nodes that are alike: how many, and what each of them has.

    Parameters
    ----------
    count : int, default 1
    cores : float, default 1
    memory : float
        GB (10⁹ bytes); NaN, which is unlimited, where unknown.
    gpus : int, default 0
        Whole GPUs.
    model : str, default ""
        Of the GPUs.
    name : str, default ""
        What tables call the nodes.

    Examples
    --------
    >>> import cosimlib as cs
    >>> cs.NodeType(2, cores=96, memory=393, gpus=8, model="V100").gpus
    8
    """

    count: int = 1
    cores: float = 1.0
    memory: float = math.nan
    gpus: int = 0
    model: str = ""
    name: str = ""

    def __post_init__(self) -> None:
        check.whole("count", self.count, 1, where=self.name)
        check.number("cores", self.cores, least=LEAST_CORES, below=MOST_CORES, where=self.name)
        known = check.is_number(self.memory)
        known = known and (math.isnan(self.memory) or 0 < self.memory < MOST_MEMORY)
        expected = f"GB above 0 and below {MOST_MEMORY}, or NaN where memory has no limit"
        check.that("memory", self.memory, known, expected, where=self.name)
        fine = check.is_whole(self.gpus, 0) and self.gpus <= MOST_GPUS
        expected = f"a whole number from 0 to {MOST_GPUS}; a job's part of one is its gpu_share"
        check.that("gpus", self.gpus, fine, expected, where=self.name)
        for text in ("model", "name"):
            check.instance(text, getattr(self, text), str)


@dataclass(frozen=True, repr=False)
class System(Displayed):
    """Partitions of nodes, the memory and bandwidth of each node, or the types of the nodes.

    Parameters
    ----------
    name : str
    partitions : mapping of str to int
        Nodes of each partition, in order.
    cores_per_node : int, default 1
    memory_per_node : float
        GB (10⁹ bytes); NaN if unknown.
    aggregate_bandwidth : float
        Bandwidth of the parallel file system, GB/s; NaN if unknown.
    node_bandwidth : float
        Bandwidth from one node to that file system, GB/s; NaN if unknown.
    node_types : iterable of NodeType, optional
        What the nodes have, where jobs share nodes (`cosimlib.nodes`); in order, so that the nodes
        of the first type have the lowest numbers. `System.of_types` counts their nodes.

    Examples
    --------
    >>> import cosimlib as cs
    >>> cs.System.of(512)
    <System 512 nodes>
    >>> coupled = cs.System.of(intrepid=40960, eureka=100)
    >>> coupled.total_nodes
    41060
    >>> big = cs.NodeType(2, cores=96, memory=393, gpus=8, model="V100")
    >>> cs.System.of_types([big, cs.NodeType(1, 64, gpus=1, model="T4", name="visual")]).nodes
         name  cores  memory  gpus model
    0           96.0   393.0     8  V100
    1           96.0   393.0     8  V100
    2  visual   64.0     NaN     1    T4
    """

    name: str
    partitions: Mapping[str, int]
    cores_per_node: int = 1
    memory_per_node: float = math.nan
    aggregate_bandwidth: float = math.nan
    node_bandwidth: float = math.nan
    node_types: tuple[NodeType, ...] = ()
    total_nodes: int = field(init=False)

    def __post_init__(self) -> None:
        partitions_expected = "a mapping of nodes by partition, such as {'main': 128}"
        check.instance("partitions", self.partitions, Mapping, expected=partitions_expected)
        if not self.partitions:
            raise ValueError(f"{self.name}: a system has at least one partition; got none")
        for partition, nodes in self.partitions.items():
            _check_nodes(f"partitions[{partition!r}]", nodes, self.name)
        quantities = ("cores_per_node", "memory_per_node", "aggregate_bandwidth", "node_bandwidth")
        for quantity in quantities:
            value = getattr(self, quantity)
            above = check.is_number(value) and not value <= 0
            check.that(quantity, value, above, "a number above 0", where=self.name)
        partitions = {name: int(nodes) for name, nodes in self.partitions.items()}
        object.__setattr__(self, "partitions", MappingProxyType(partitions))
        object.__setattr__(self, "total_nodes", sum(partitions.values()))
        types = tuple(self.node_types)
        for each in types:
            check.instance("node_types", each, NodeType)
        object.__setattr__(self, "node_types", types)
        typed = sum(each.count for each in types)
        if types and typed != self.total_nodes:
            raise ValueError(
                f"{self.name}: node_types have {count(typed, 'node')}, and the partitions "
                f"{self.total_nodes}; expected as many, as System.of_types makes them"
            )

    @classmethod
    def of(cls, nodes: int | None = None, /, **partitions: int) -> "System":
        """System of one machine, ``System.of(512)``, or several, ``System.of(a=512, b=100)``."""
        if (nodes is None) == (not partitions):
            raise ValueError("expected either a number of nodes or named partitions")
        if nodes is not None:
            _check_nodes("nodes", nodes)
            return cls(f"{nodes} nodes", {"main": nodes})
        return cls("+".join(partitions), partitions)

    @classmethod
    def of_types(
        cls, node_types: "Iterable[NodeType] | pd.DataFrame", name: str | None = None
    ) -> "System":
        """One machine of nodes of several types.

        Parameters
        ----------
        node_types : iterable of NodeType or pd.DataFrame
            A table has some of the columns `count`, `cores`, `memory`, `gpus`, `model`, `name`, as
            `NodeType` explains them; others are ignored.
        name : str, optional
        """
        if isinstance(node_types, pd.DataFrame):
            node_types = _types_of(node_types)
        types = tuple(node_types)
        for each in types:
            check.instance("node_types", each, NodeType)
        if not types:
            raise ValueError("a system has at least one node; got no node types")
        nodes = sum(each.count for each in types)
        return cls(name or f"{nodes} nodes", {"main": nodes}, node_types=types)

    @property
    def nodes(self) -> pd.DataFrame:
        """One row per node, by number: `name`, `cores`, `memory` (GB), `gpus`, `model`.

        Without node types, all nodes have `cores_per_node`, `memory_per_node` and no GPU.
        """
        memory = self.memory_per_node if self.memory_per_node < math.inf else math.nan
        types = self.node_types or (NodeType(self.total_nodes, self.cores_per_node, memory),)
        columns = {"name": "str", "cores": float, "memory": float, "gpus": int, "model": "str"}
        values = {name: [getattr(each, name) for each in types] for name in columns}
        place = np.repeat(np.arange(len(types)), [each.count for each in types])
        return pd.DataFrame(values).astype(columns).iloc[place].reset_index(drop=True)

    def with_nodes(self, nodes: int) -> "System":
        """The same kind of machine with one partition of another size.

        Raises
        ------
        ValueError
            Where nodes are of several types.
        """
        if len(self.node_types) > 1:
            raise ValueError(
                f"{self.name}: nodes are of {len(self.node_types)} types; expected one, or the "
                "types of the nodes that are wanted in System.of_types"
            )
        types = tuple(replace(each, count=nodes) for each in self.node_types)
        return replace(self, partitions={next(iter(self.partitions)): nodes}, node_types=types)

    def _heading(self) -> str:
        if self.name == f"{self.total_nodes} nodes":
            return count(self.total_nodes, "node")
        return f"{self.name} ({count(self.total_nodes, 'node')})"

    def _facts(self) -> Facts:
        return {
            "partitions": lambda: _listed(self.partitions) if len(self.partitions) > 1 else "",
            "per node": lambda: _per_node(self),
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
            self.node_types,
        )


def _check_nodes(name: str, nodes: int, where: str = "") -> None:
    """Check a number of nodes; sums over them must stay whole numbers that arrays hold."""
    check.whole(name, nodes, 1, where=where)
    check.that(name, nodes, nodes <= MOST_NODES, f"at most {MOST_NODES:,} nodes", where=where)


def _types_of(table: pd.DataFrame) -> list[NodeType]:
    """The node types in the rows of a table."""
    known = {each.name: type(each.default) for each in fields(NodeType)}
    columns = [name for name in table if name in known]
    if not columns:
        raise ValueError(f"node_types has no column of {', '.join(known)}; expected one or more")
    values = [table[name].map(known[name], na_action="ignore") for name in columns]
    rows = [dict(zip(columns, row, strict=True)) for row in zip(*values, strict=True)]
    return [
        NodeType(**{name: value for name, value in row.items() if not pd.isna(value)})
        for row in rows
    ]


def _per_node(system: System) -> str:
    """What a node has, or how many nodes have what."""
    if not system.node_types:
        memory = _known(system.memory_per_node, "GB")
        return f"{count(system.cores_per_node, 'core')}, memory {memory}"
    held = system.nodes.drop(columns="name").value_counts(sort=False, dropna=False)
    kinds = [
        f"{nodes:,} × {_known(cores, 'cores')}, memory {_known(memory, 'GB')}"
        + (f", {count(gpus, 'GPU')} {model}".rstrip() if gpus else "")
        for (cores, memory, gpus, model), nodes in held.items()
    ]
    return "; ".join([*kinds[:3], f"and {len(kinds) - 3} more types"] if len(kinds) > 3 else kinds)


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

MEMORY = {
    "memory_per_node": ("memory", "GB"),
    "aggregate_bandwidth": ("the file system's bandwidth", "GB/s"),
    "node_bandwidth": ("a node's bandwidth", "GB/s"),
}
"""Name and unit of what a system has besides its nodes."""


def with_memory(system: System) -> tuple[System, str]:
    """The system with Theta's memory and bandwidths where its own are unknown, and a note.

    The note is a sentence that names what is assumed; it is empty where all is known.
    """
    known = {name: getattr(THETA, name) for name in MEMORY if np.isnan(getattr(system, name))}
    if not known:
        return system, ""
    words = [f"{MEMORY[name][0]} ({known[name]:g} {MEMORY[name][1]})" for name in known]
    return replace(system, **known), f"Unknown, and assumed as on Theta: {', '.join(words)}."


THETAS = (
    "system=dataclasses.replace(workload.machine, memory_per_node=192.0, "
    "aggregate_bandwidth=250.0, node_bandwidth=2.0) has those of Theta"
)
"""What errors advise where a system does not know its memory or its file system."""
