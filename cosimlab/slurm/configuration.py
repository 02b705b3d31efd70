"""slurm.conf, gres.conf and ``scontrol show config`` as nodes, partitions and options of a site.

Read are: Include, lines that end in a backslash, comments, names in any case, DEFAULT lines of
nodes and partitions (a later one changes what it names), sets of nodes (``NodeSet=``, by their
names or a feature) in the place of which partitions have nodes, and ranges such as ``n[01-16]``.
The options themselves are those of `cosimlib.slurm.settings`.
"""

import math
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from cosimlib.slurm.options import NODE_NOT_FOLLOWED, NODE_WITHOUT_INFLUENCE, effect_of
from cosimlib.slurm.settings import read_setting, set_of_partition, set_option
from cosimlib.slurm.site import Node, NotModeled, Partition, Site
from cosimlib.slurm.values import Read, SettingError, count, memory_of, plain, whole, within
from cosimlib.traces.account import TraceError
from cosimlib.traces.hosts import expand_hosts

PAIR = re.compile(r'([A-Za-z_][\w.\[\]]*)\s*=\s*("[^"]*"|\S*)')
DEEPEST = 8
"""Files that include one another deeper than this do so in a circle."""
UNITS = re.compile(r"^([0-9.]+) (sec|min|usec|minutes|seconds)$")
HOST_LIST = re.compile(r"(?:[^\[\]]|\[[0-9]+(?:-[0-9]+)?(?:,[0-9]+(?:-[0-9]+)?)*\])*")
"""Names with whole ranges in brackets."""
FROM_ONE = within(whole, 1, math.inf, "a whole number")
MENDED_GRES = re.compile(r"\([^)]*\)")


@dataclass
class Line:
    """A line with its place, such as ``slurm.conf: line 7``, and its pairs of names and values."""

    place: str
    pairs: list[tuple[str, str]]

    @property
    def text(self) -> str:
        """The pairs as they are written."""
        return " ".join(f"{name}={value}" for name, value in self.pairs)


@dataclass
class Machine:
    """Nodes and partitions as they are read, and what of the nodes' lines is not followed.

    `uncounted` has the generic resources of each node whose number gres.conf tells, `node_sets` the
    options of each line of a set of nodes, and its place.
    """

    nodes: dict[str, Node] = field(default_factory=dict)
    notes: list[NotModeled] = field(default_factory=list)
    uncounted: dict[str, set[str]] = field(default_factory=dict)
    node_defaults: dict[str, str] = field(default_factory=dict)
    partition_defaults: dict[str, tuple[str, str]] = field(default_factory=dict)
    partitions: dict[str, tuple[dict[str, tuple[str, str]], str]] = field(default_factory=dict)
    node_sets: dict[str, tuple[dict[str, str], str]] = field(default_factory=dict)


def lines_of(path: Path, depth: int = 0) -> Iterator[Line]:
    """The lines of a configuration and of the files that it includes.

    Raises
    ------
    TraceError
        If a line has no ``Name=value``, or a file to include is missing.
    """
    for number, text in _whole_lines(path):
        place = f"{path}: line {number}"
        words = text.split(None, 1)
        if words[0].lower() == "include":
            yield from _included(path, place, words[1:], depth)
            continue
        pairs = [(match[1], match[2].strip('"')) for match in PAIR.finditer(text)]
        rest = PAIR.sub("", text).strip()
        if not pairs or rest:
            raise TraceError(
                f"{place}: {rest or text!r}; expected Name=value; mend the line or put # before it"
            )
        yield Line(place, pairs)


def _whole_lines(path: Path) -> Iterator[tuple[int, str]]:
    """Lines without comments, those that end in a backslash joined."""
    kept, first = "", 0
    for number, line in enumerate(path.read_text("utf-8", "replace").splitlines(), 1):
        line = re.sub(r"(?<!\\)#.*", "", line).rstrip()
        first = first or number
        if line.endswith("\\"):
            kept += line[:-1] + " "
            continue
        text = (kept + line).strip()
        if text:
            yield first, text
        kept, first = "", 0
    if kept.strip():
        yield first, kept.strip()


def _included(path: Path, place: str, names: list[str], depth: int) -> Iterator[Line]:
    if not names or depth >= DEEPEST:
        raise TraceError(f"{place}: Include; expected the name of a file that does not include it")
    given = Path(names[0].strip().strip('"'))
    # A copy of a site lies elsewhere than on its controller.
    found = next((p for p in (path.parent / given, path.parent / given.name) if p.is_file()), None)
    if found is None:
        raise TraceError(
            f"{place}: Include {given}; expected this file; put a copy of it beside {path.name}"
        )
    yield from lines_of(found, depth + 1)


def read_configuration(paths: list[Path], gres: list[Path], shown: list[Path]) -> Site:
    """A site from files like slurm.conf, gres.conf, and what ``scontrol show config`` prints."""
    machine = Machine()
    options: list[tuple[str, str, str]] = []
    for path in paths:
        for line in lines_of(path):
            _take(machine, line, options)
    site = Site(paths[0].parent.name if paths else "site", (), {}, not_modeled=())
    for path in gres:
        _count_gres(machine, path)
    nodes = tuple(sorted(machine.nodes.values(), key=lambda node: _natural(node.name)))
    site = _with_partitions(replace(site, nodes=nodes), machine)
    for path in shown:
        options += list(_shown(path))
    for place, name, value in options:
        site = checked(place, set_option, site, name, value, place)
    return site


def _natural(name: str) -> list[tuple[bool, int, str]]:
    """A key that puts n2 before n10: Slurm's own order of nodes, whatever order its file has."""
    parts = re.split(r"(\d+)", name)
    return [(part.isdigit(), int(part) if part.isdigit() else 0, part) for part in parts if part]


def checked(place: str, call: Callable[..., Any], *arguments: Any) -> Any:
    """The result of a call; errors on settings as errors of a file, with their place."""
    try:
        return call(*arguments)
    except SettingError as error:
        raise TraceError(f"{place}: {error}; mend the value") from None


def _take(machine: Machine, line: Line, options: list[tuple[str, str, str]]) -> None:
    """Enter a line."""
    first, value = line.pairs[0]
    kind = plain(first)
    if kind == "nodename":
        _take_node(machine, line)
    elif kind == "partitionname":
        rest = {plain(name): (name, each) for name, each in line.pairs[1:]}
        if value.upper() == "DEFAULT":
            machine.partition_defaults |= rest
        else:
            before = machine.partitions.get(value, (machine.partition_defaults, ""))[0]
            machine.partitions[value] = (before | rest, line.place)
    elif kind == "nodeset":
        given = {plain(name): each for name, each in line.pairs[1:]}
        if not given or not given.keys() <= {"nodes", "feature"}:
            raise TraceError(
                f"{line.place}: {line.text}; expected Nodes= or Feature= after the name; mend the "
                "line"
            )
        machine.node_sets[value] = (given, line.place)
    elif kind == "downnodes":
        options.append((line.place, first, line.text.partition("=")[2]))
    elif kind == "frontendname":
        return
    else:
        options += [(line.place, name, each) for name, each in line.pairs]


def _take_node(machine: Machine, line: Line) -> None:
    """Enter a line of nodes."""
    value = line.pairs[0][1]
    written = {plain(name): name for name, _ in line.pairs[1:]}
    given = {plain(name): each for name, each in line.pairs[1:]}
    if value.upper() == "DEFAULT":
        machine.node_defaults |= given
        return
    given = machine.node_defaults | given
    for name in hosts_of(value, line.place, "NodeName"):
        machine.nodes[name] = checked(line.place, _node, name, given)
        machine.uncounted[name] = _uncounted(given.get("gres", ""))
    for name, each in given.items():
        effect = effect_of(name, each, NODE_NOT_FOLLOWED, NODE_WITHOUT_INFLUENCE)
        if effect:
            setting = f"NodeName={value} {written.get(name, name)}"
            machine.notes.append(NotModeled(setting, each, line.place, effect))


def _node(name: str, given: dict[str, str]) -> Node:
    """A node by the options of its line."""

    def read(setting: str, reader: Read, otherwise: str = "1") -> Any:
        return read_setting(setting, given.get(setting.lower(), otherwise), reader)

    of_boards = read("Boards", FROM_ONE) * read("SocketsPerBoard", FROM_ONE)
    sockets = read("Sockets", FROM_ONE) if "sockets" in given else of_boards
    cores = sockets * read("CoresPerSocket", FROM_ONE) * read("ThreadsPerCore", FROM_ONE)
    features = given.get("features", given.get("feature", ""))
    return Node(
        name,
        cores=read("CPUs", FROM_ONE, given.get("procs", str(cores))),
        memory=read("RealMemory", memory_of),
        gres=gres_of(given.get("gres", "")),
        weight=read("Weight", count),
        features=frozenset(part.strip() for part in features.split(",") if part.strip()),
    )


def hosts_of(text: str, place: str, setting: str) -> list[str]:
    """The names in a list of hosts.

    Raises
    ------
    TraceError
        If a bracket is not closed, a range is none, or the list has a million names or more.
    """
    names = expand_hosts(text) if HOST_LIST.fullmatch(text) else []
    if not names:
        raise TraceError(
            f"{place}: {setting}={text!r}; expected names and ranges such as n[01-16,20], every "
            "bracket closed, at most 1,000,000 hosts; mend the list"
        )
    return names


def gres_of(text: str) -> dict[str, int]:
    """Counts of generic resources by name, of all types together."""
    found: dict[str, int] = {}
    for part in MENDED_GRES.sub("", text).split(","):
        pieces = [each for each in part.strip().split(":") if each != "no_consume"]
        if not pieces[0] or pieces[0].lower() in ("none", "null"):
            continue
        last = pieces[-1].lower()
        match = re.fullmatch(r"([0-9]+)([kmg]?)", last) if len(pieces) > 1 else None
        scale = {"": 1, "k": 1024, "m": 1024**2, "g": 1024**3}[match[2] if match else ""]
        found[pieces[0]] = found.get(pieces[0], 0) + (int(match[1]) * scale if match else 1)
    return found


def _uncounted(text: str) -> set[str]:
    """Generic resources whose number a text does not say."""
    parts = [part.strip() for part in MENDED_GRES.sub("", text).split(",") if part.strip()]
    return {part.split(":")[0] for part in parts if not re.search(r":[0-9]+[kmgKMG]?$", part)}


def _count_gres(machine: Machine, path: Path) -> None:
    """Numbers of gres.conf for the nodes whose line in slurm.conf names a resource without one."""
    found: dict[str, dict[str, int]] = {}
    for line in lines_of(path):
        given = {plain(name): value for name, value in line.pairs}
        if "name" not in given:
            continue
        files = len(hosts_of(given["file"], line.place, "File")) if "file" in given else 1
        written = given.get("count", str(files))
        number = checked(line.place, read_setting, "Count", written, count)
        names: Iterable[str] = machine.nodes
        if "nodename" in given:
            names = hosts_of(given["nodename"], line.place, "NodeName")
        for node in names:
            kinds = found.setdefault(node, {})
            kinds[given["name"]] = kinds.get(given["name"], 0) + number
    for node, kinds in found.items():
        if node in machine.nodes:
            own = dict(machine.nodes[node].gres)
            own |= {kind: n for kind, n in kinds.items() if kind in machine.uncounted[node]}
            machine.nodes[node] = replace(machine.nodes[node], gres=own)


def _with_partitions(site: Site, machine: Machine) -> Site:
    """A site with its partitions, and what of them is not followed."""
    row = {node.name: number for number, node in enumerate(site.nodes)}
    partitions, notes = {}, list(machine.notes)
    for name, (options, place) in machine.partitions.items():
        one = Partition(name)
        for key, (written, value) in options.items():
            if key == "nodes":
                value = _without_sets(value, machine, place, f"PartitionName={name} Nodes")
                one = replace(one, nodes=_rows(value, row, place, name))
            else:
                one, new = checked(place, set_of_partition, one, written, value, place)
                notes += new
        partitions[name] = one
    return replace(site, partitions=partitions, not_modeled=tuple(notes))


def _without_sets(text: str, machine: Machine, place: str, setting: str) -> str:
    """A list of nodes, with the names of their nodes in the place of sets of nodes."""
    if not text or text.upper() == "ALL":
        return text
    names: list[str] = []
    for name in hosts_of(text, place, setting):
        names += _nodes_of_set(name, machine) if name in machine.node_sets else [name]
    return ",".join(names)


def _nodes_of_set(name: str, machine: Machine) -> list[str]:
    """The nodes of a set: those that it names, and those with its feature."""
    given, place = machine.node_sets[name]
    setting = f"NodeSet={name} Nodes"
    listed = hosts_of(given["nodes"], place, setting) if "nodes" in given else []
    unknown = [each for each in listed if each not in machine.nodes]
    if unknown:
        raise TraceError(
            f"{place}: NodeSet={name} Nodes={unknown[0]}; expected nodes that a line NodeName= "
            "has; add their line, or the file with it (Include)"
        )
    feature = given.get("feature")
    having = [one.name for one in machine.nodes.values() if feature in one.features]
    if not listed and not having:
        raise TraceError(
            f"{place}: NodeSet={name} Feature={feature}; expected a feature of a node, as "
            "written in its line NodeName="
        )
    return listed + having


def _rows(text: str, row: dict[str, int], place: str, partition: str) -> tuple[int, ...]:
    """The rows of the nodes of a partition."""
    if text.upper() == "ALL":
        return tuple(row.values())
    found = []
    for name in expand_hosts(text):
        if name not in row:
            raise TraceError(
                f"{place}: PartitionName={partition} Nodes={name}; expected nodes that a line "
                "NodeName= has; add their line, or the file with it (Include)"
            )
        found.append(row[name])
    return tuple(sorted(set(found)))


def _shown(path: Path) -> Iterator[tuple[str, str, str]]:
    """Place, name and value of the options that ``scontrol show config`` prints."""
    for number, line in enumerate(path.read_text("utf-8", "replace").splitlines(), 1):
        if re.match(r"^[A-Za-z][\w ]*Configuration:", line):
            return  # of plugins and cgroups
        name, equal, value = line.partition("=")
        if not equal or not re.fullmatch(r"[A-Za-z_]\w*(\[[0-9]+\])?\s*", name):
            continue
        name = re.sub(r"\[[0-9]+\]", "", name.strip())
        match = UNITS.match(value.strip())
        yield f"{path}: line {number}", name, match[1] if match else value.strip()
