"""Frontier's logs of 2024 and 2025 in SWF: three columns beyond the format's 18.

Column 19 has the GPUs used, 20 a soft limit of time, 21 a descriptor such as
``frontier:excl:2500x112``: the machine, whether its nodes are exclusive, nodes and hardware threads
per node. The descriptor has the number of nodes; the processors of columns 5 and 8 are sometimes
nodes, sometimes cores, and are not used. (Maheshwari, Klusáček, Suter, Brewer, JSSPP 2026.)
"""

import re

import numpy as np
import pandas as pd

from cosimlib.system import System
from cosimlib.traces.account import Account
from cosimlib.traces.swf_header import header_size

NUMBERS = ("used_gpus", "soft_requested_time")
COLUMNS = (*NUMBERS, "descriptor")
DESCRIPTOR = r"^[^\s:]+:([^\s:]*):(\d{1,7})x(\d{1,7})$"
RECORD = re.compile(rb"^[ \t]*[-+\d.][^\r\n;]*", re.MULTILINE)
NODES, MEMORY = 9_408, 512.0


def has_descriptors(data: bytes) -> bool:
    """Whether the first record of a log has a descriptor in its 21st column."""
    first = RECORD.search(data)
    tokens = first[0].split() if first else []
    return len(tokens) > 20 and re.match(DESCRIPTOR.encode(), tokens[20]) is not None


def described(table: pd.DataFrame) -> pd.DataFrame:
    """The records with `described_nodes`, `threads_per_node` and `exclusive`."""
    parts = table.pop("descriptor").astype("string").str.extract(DESCRIPTOR)
    numbers = parts[[1, 2]].astype("Float64").astype("float64")
    return table.assign(
        described_nodes=numbers[1],
        threads_per_node=numbers[2],
        exclusive=(parts[0] == "excl").fillna(False).astype("bool"),
    )


def columns(table: pd.DataFrame, account: Account) -> dict[str, pd.Series]:
    """The columns of jobs that differ from those of other logs in SWF."""
    account.add("noted", "not exclusive: it may share its nodes", int((~table["exclusive"]).sum()))
    return {
        "nodes": table["described_nodes"],
        "memory": pd.Series(np.nan, index=table.index),
        "used_gpus": table["used_gpus"].round().astype("Int64"),
        "soft_requested_time": table["soft_requested_time"],
    }


def machine(table: pd.DataFrame, header: dict[str, str]) -> System:
    """Frontier, with the nodes in the log's header where it tells them."""
    threads = table["threads_per_node"].mode()
    cores = int(threads.iloc[0]) if len(threads) and threads.iloc[0] >= 1 else 1
    nodes = header_size(header, "MaxNodes") or NODES
    return System("Frontier", {"main": nodes}, cores_per_node=cores, memory_per_node=MEMORY)
