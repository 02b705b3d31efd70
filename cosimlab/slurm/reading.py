"""A site from the files that its operator exports."""

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from cosimlab.slurm import accounting
from cosimlab.slurm.configuration import read_configuration
from cosimlib.slurm.site import Site
from cosimlib.traces.account import TraceError

KINDS = ("slurm.conf", "gres.conf", "scontrol", "assoc", "qos", "dump", "script")
LARGEST = 50_000_000
"""Bytes; what is larger is no configuration."""
NAMED = ("assoc.txt", "qos.txt")
"""Files of docs/slurm.md, that hold what their names say."""
UNNEEDED = ("topology.conf", "topology.yaml", "cgroup.conf", "slurmdbd.conf", "job_container.conf")


def read_site(files: str | Path | Iterable[str | Path]) -> Site:
    """A site from a folder, or from files, that Slurm's configuration and accounting are in.

    Parameters
    ----------
    files : str, Path, or several of them
        A folder with slurm.conf (and files that it includes), or the files themselves. Beside it
        may be: gres.conf; what ``scontrol show config`` prints; what ``sacctmgr dump``, ``sacctmgr
        show assoc -P`` and ``sacctmgr show qos -P`` print; or a script of sacctmgr. What a file
        is, is seen from its content; other files of a folder are left alone.

    Returns
    -------
    Site
        Settings that the simulator does not follow are in its `not_modeled`. Those without
        influence on who starts when (logs, ports, paths) are not.

    Raises
    ------
    FileNotFoundError
    TraceError
        If a line is damaged: names file, line, value, what was expected, and what to do.

    Examples
    --------
    >>> import cosimlab as lab
    >>> from pathlib import Path
    >>> lines = ["ClusterName=two", "NodeName=n[1-2] CPUs=4 RealMemory=8000"]
    >>> lines += ["PartitionName=main Nodes=ALL Default=YES MaxTime=1-0"]
    >>> _ = Path("slurm.conf").write_text("\\n".join(lines))
    >>> site = lab.slurm.read_site("slurm.conf")
    >>> len(site.nodes), site.partitions["main"].max_time
    (2, 86400.0)
    """
    found = _sorted(files)
    if not found["slurm.conf"]:
        raise TraceError(
            f"{files}: no slurm.conf; expected a file with lines NodeName= and PartitionName=; "
            "copy it from the controller, with the files that it includes"
        )
    site = read_configuration(found["slurm.conf"], found["gres.conf"], found["scontrol"])
    if not site.partitions or not site.nodes:
        raise TraceError(
            f"{found['slurm.conf'][0]}: no line NodeName= or no line PartitionName=; copy also the "
            "files that it includes"
        )
    if not any(found[kind] for kind in ("assoc", "qos", "dump", "script")):
        return site
    into = accounting.Accounting()
    for path in found["script"]:
        accounting.read_script(into, path)
    for path in found["dump"]:
        accounting.read_dump(into, path)
    for kind in ("qos", "assoc"):
        for path in found[kind]:
            accounting.read_table(into, path, kind)
    accounting.named_qos(into)
    return replace(
        site,
        qos=into.qos,
        associations=into.finished(),
        not_modeled=(*site.not_modeled, *into.notes),
    )


def _sorted(files: str | Path | Iterable[str | Path]) -> dict[str, list[Path]]:
    """The files by kind."""
    given = [Path(files)] if isinstance(files, str | Path) else [Path(one) for one in files]
    found: dict[str, list[Path]] = {kind: [] for kind in KINDS}
    for path in given:
        if not path.exists():
            raise FileNotFoundError(f"no folder or file at {path}; give where slurm.conf is")
        for one in sorted(path.iterdir()) if path.is_dir() else [path]:
            kind = _kind(one)
            if kind:
                found[kind].append(one)
            elif one.name.lower() in NAMED:
                raise TraceError(
                    f"{one}: no table of sacctmgr in it; expected a first line of names with | "
                    "between them; run the command of docs/slurm.md again, or remove the file"
                )
            elif not path.is_dir():
                raise TraceError(
                    f"{path}: not known; expected slurm.conf, gres.conf, what scontrol show config "
                    "or sacctmgr prints, or a script of sacctmgr"
                )
    for kind in ("script", "dump"):
        if len(found[kind]) > 1:
            names = ", ".join(one.name for one in found[kind])
            raise TraceError(
                f"{found[kind][0].parent}: several files of sacctmgr ({names}); expected one; give "
                "the files themselves"
            )
    mains = [one for one in found["slurm.conf"] if one.name == "slurm.conf"]
    found["slurm.conf"] = mains or found["slurm.conf"]
    return found


def _kind(path: Path) -> str:
    """What a file is, from its name and how it begins; empty for others."""
    if not path.is_file() or path.stat().st_size > LARGEST or path.name.lower() in UNNEEDED:
        return ""
    if path.name.lower() in ("slurm.conf", "gres.conf"):
        return path.name.lower()
    with path.open("rb") as file:
        begin = file.read(65_536)
    if b"\0" in begin or begin[:2] == b"\x1f\x8b":
        return ""
    lines = begin.decode("utf-8", "replace").splitlines()
    lines = [line for line in lines if line.strip()]
    first = lines[0] if lines else ""
    if first.startswith("Configuration data as of"):
        return "scontrol"
    for kind in ("assoc", "qos"):
        if "|" in first and accounting.is_table(first, kind):
            return kind
    plain = [line for line in lines if not line.lstrip().startswith("#")]
    if plain and accounting.DUMPED.match(plain[0]):
        return "dump"
    if any(line.lower().startswith("partitionname=") for line in plain):
        return "slurm.conf"
    return "script" if accounting.is_script(plain) else ""
