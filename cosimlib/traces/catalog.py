"""Catalog of public traces: origin, acknowledgement, place on this machine, download.

Most are logs of the Parallel Workloads Archive (Feitelson, Tsafrir and Krakov, JPDC 74(10), 2014),
which asks its users to name the archive and to acknowledge the donor of each log. Files are looked
for in the `folder` argument, in COSIMLIB_TRACES and in ``data/traces/``; a missing one is
downloaded to ``data/traces/``, which version control ignores.

Two are the inputs of Duplyakin, Johnson and Ricci (ScienceCloud 2017), from the repositories where
they can be had; those named openb are pods and nodes of a GPU cluster of Alibaba, as Weng et al.
(USENIX ATC 2023) published them. Checksums are those of the publishers' own files; none is known
for UniLu-Gaia, RICC and ANL-Intrepid: a download of these is checked only to be complete gzip.
"""

import difflib
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple

from cosimlib.system import THETA, System
from cosimlib.traces.account import TraceError, read_bytes

ARCHIVE = "https://www.cs.huji.ac.il/labs/parallel/workload/"
TIMEOUT = 60.0


class Trace(NamedTuple):
    """Public trace: where it comes from, and how it is read.

    `address` and `sha256` are None if unknown; `machine` replaces that of the file's header;
    `other_file_names` are those of equivalent copies; `cores_per_node` is None if the format
    does not count processors.
    """

    file_name: str
    acknowledgement: str
    address: str | None = None
    sha256: str | None = None
    cores_per_node: int | None = 1
    machine: System | None = None
    other_file_names: tuple[str, ...] = ()


def _archived(folder: str, file_name: str, machine: str, donor: str, **known: Any) -> Trace:
    """A log of the Parallel Workloads Archive."""
    acknowledgement = (
        f"The workload log from {machine} was graciously provided by {donor}. It is distributed by "
        f"the Parallel Workloads Archive, {ARCHIVE}; please acknowledge both."
    )
    return Trace(file_name, acknowledgement, f"{ARCHIVE}{folder}/{file_name}", **known)


_ALCF = (
    "This data was generated from resources of the Argonne Leadership Computing Facility, a DOE "
    "Office of Science User Facility; its job logs are at https://reports.alcf.anl.gov/data/."
)

_GITHUB = "https://raw.githubusercontent.com/"
_NO_LICENSE = "No license lies beside it: it is for your own use, and is not to be passed on."


def _openb(kind: str, sha256: str) -> Trace:
    """A list of pods of Alibaba's cluster-trace-gpu-v2023, or its list of nodes."""
    file_name = f"openb_{'node_list_gpu_node' if kind == 'nodes' else 'pod_list_' + kind}.csv"
    commit = "8f3d6417353c5083c6d56617f255fadd8dc306bc"
    return Trace(
        file_name,
        "Alibaba's cluster-trace-gpu-v2023 was published with Weng et al., Beware of Fragmentation "
        "(USENIX ATC 2023); please cite it. License: Apache 2.0.",
        f"{_GITHUB}hkust-adsl/kubernetes-scheduler-simulator/{commit}/data/csv/{file_name}",
        sha256,
        cores_per_node=None,
        other_file_names=(f"gpu/{file_name}.gz", f"gpu/{file_name}"),
    )


OPENB = {
    "nodes": "2beca64b4d3dfa342036a34b56a495c6cef9225db836c81f541282cb1df320b5",
    "default": "1ee7ed79c27a3b0861cda8ddba86a004c6aba904caafa329a76ae93ca63834a8",
    "cpu100": "bec1c33fbdde61fd463877534ec79b393aec73e1cbb22d55fab9f166ac480982",
    "gpushare40": "d83ce79a4eb6987524bedbb0c65e41aed3a36bf6c1b78b86234c3687a07e1d40",
    "gpushare100": "12dbc07d6a49bf8641e2275a2ff5bf7be74b5df7d148d531e135b140b95f9a3d",
    "gpuspec25": "9d030679a2ccd7e27a7ec9ff15baff34480d22a0012515691fc187e3f35ee68c",
    "multigpu20": "d9ec6f6c74fb980cc0b81239470c6353fceea077ea9abd610003b604c7cc2b01",
    "multigpu50": "206f2f5959db30ecb7c44e7f13197c8ec50b7a35558ad3777cc3662ef0fe5373",
}
"""Lists of Weng et al. by name, and their checksums."""

TRACES: Mapping[str, Trace] = {
    "KTH-SP2": _archived(
        "l_kth_sp2",
        "KTH-SP2-1996-2.1-cln.swf.gz",
        "the KTH SP2",
        "Lars Malinowsky",
        sha256="3e152f201fd2e96808a735bced6ea6eb0bb07fdc447689cafb0750d87b264c0b",
    ),
    "SDSC-SP2": _archived(
        "l_sdsc_sp2",
        "SDSC-SP2-1998-4.2-cln.swf.gz",
        "the SDSC SP2",
        "Victor Hazlewood of the HPC Systems group of the San Diego Supercomputer Center",
        sha256="e03fe48be50c4ab04d6bb2285296d9c3399e9c1f27ee79b754ad32a14abd9bac",
    ),
    "HPC2N": _archived(
        "l_hpc2n",
        "HPC2N-2002-2.2-cln.swf.gz",
        "the High Performance Computing Center North (HPC2N), Sweden,",
        "Ake Sandgren",
        sha256="3c534857d6065cfd9cc35aac8d064c9c17172be7acf336de835006f43a626e64",
    ),
    "CEA-Curie": _archived(
        "l_cea_curie",
        "CEA-Curie-2011-2.1-cln.swf.gz",
        "the CEA Curie system",
        "Joseph Emeras, CEA/CNRS",
        sha256="2a0fdbd40837590b491bbbac7d4cfe521de1f0b14c0dc39bbf82c4e49ea75bce",
    ),
    "UniLu-Gaia": _archived(
        "l_unilu_gaia",
        "UniLu-Gaia-2014-2.swf.gz",
        "the University of Luxembourg Gaia cluster",
        "Joseph Emeras, SnT",
    ),
    "RICC": _archived(
        "l_ricc",
        "RICC-2010-2.swf.gz",
        "the RIKEN Integrated Cluster of Clusters",
        "Motoyoshi Kurokawa",
        other_file_names=("RICC-2010-2+hdr.swf.gz",),
    ),
    "ANL-Intrepid-2009-1": _archived(
        "l_anl_int",
        "ANL-Intrepid-2009-1.swf.gz",
        "ANL Intrepid",
        "Susan Coghlan and Narayan Desai, Argonne National Laboratory, and converted by Wei Tang",
        cores_per_node=4,
    ),
    "theta-2023-prod": Trace("theta-2023-prod.swf.gz", _ALCF, machine=THETA.with_nodes(4360)),
    "mira-2018-aug27-dec31": Trace("mira-2018-aug27-dec31.swf.gz", _ALCF),
    "intrepid-2009-first3000": Trace("intrepid-2009-first3000.swf.gz", _ALCF),
    "HTC-2017": Trace(
        "htc-2017-condor.submit",
        "The trace of 1,120 jobs from the HTCondor Log Analyzer was published by Dmitry Duplyakin "
        f"with the study of ScienceCloud 2013; please cite it. {_NO_LICENSE}",
        f"{_GITHUB}dmdu/downscaling/4432204d3762750be94a0ba0428c89dc7dd54445/workload/condor.submit",
        "9abf35a923691581764234238118960e3e417d8d4349553a26e81d66897db7dc",
        cores_per_node=None,
    ),
    "PEREGRINE-10k": Trace(
        "peregrine-10k.anon.csv",
        "The jobs of Peregrine were made public by Caleb Phillips, National Renewable Energy "
        f"Laboratory; please acknowledge both. {_NO_LICENSE}",
        f"{_GITHUB}a-hamza-r/Hierarchical-Clustering/560394fa42a79bd45c03a8b4475e174fbb146b9b/"
        "10k.anon.csv",
        "3df3f50c5da953444801c729c6aae8dc04d2ac86c40f5398c0d69411d7591ace",
        cores_per_node=None,
        other_file_names=("peregrine-10k.anon.csv.gz",),
    ),
    **{f"openb-{kind}": _openb(kind, sha256) for kind, sha256 in OPENB.items()},
}


def fetch_trace(name: str, *, folder: str | Path | None = None) -> Path:
    """Path of a known trace on this machine, downloaded if it is missing.

    A file that exists is not checked. A download goes to `folder`, or else to the project's
    ``data/traces/``, and is kept only if it is complete; then the acknowledgement is printed.

    Raises
    ------
    KeyError
        If the name is not in `TRACES`.
    FileNotFoundError
        If the trace is missing and has no address; the error says where to put the file.
    ConnectionError
        If the address cannot be reached; the error says how to download by hand.
    TraceError
        If the download has a wrong checksum or is not complete gzip.

    Examples
    --------
    >>> import cosimlib as cs
    >>> cs.traces.fetch_trace("KTH-SP2")  # doctest: +SKIP
    PosixPath('data/traces/KTH-SP2-1996-2.1-cln.swf.gz')
    """
    name = _listed(name)
    trace = TRACES[name]
    found = find_trace(name, folder=folder)
    if found is not None:
        return found
    path = Path(folder) if folder is not None else _download_folder()
    path = path / trace.file_name
    if trace.address is None:
        raise FileNotFoundError(
            f"{name}: no {trace.file_name} here and no address to download it from; put it into "
            f"{path.parent} or let COSIMLIB_TRACES name its folder. {trace.acknowledgement}"
        )
    with _no_empty_folder(path.parent):
        _download(name, trace, path)
    print(f"{name}: downloaded {trace.address} to {path}\n{trace.acknowledgement}")
    return path


def find_trace(name: str, *, folder: str | Path | None = None) -> Path | None:
    """Path of a known trace on this machine, gzip or not; None if it is missing."""
    trace = TRACES[_listed(name)]
    names = (trace.file_name, *trace.other_file_names)
    for place in _folders(folder):
        for file_name in names:
            for path in (place / file_name, place / file_name.removesuffix(".gz")):
                if path.is_file():
                    return path
    return None


def path_of(name_or_path: str | Path) -> Path | None:
    """File of a log that is given as `load` takes it; None if it is not on this machine."""
    if Path(name_or_path).is_file():
        return Path(name_or_path)
    known = known_name(str(name_or_path))
    return None if known is None else find_trace(known)


def known_name(name: str) -> str | None:
    """Key in `TRACES` of a name (any case) or a file name; None if there is none."""
    stem = _stem(name.strip())
    for known, trace in TRACES.items():
        if stem in (known.lower(), _stem(trace.file_name)):
            return known
    return None


def _stem(file_name: str) -> str:
    """A log's name in small letters, without the endings of a log in SWF."""
    return file_name.lower().removesuffix(".gz").removesuffix(".swf")


def _listed(name: str) -> str:
    """The key in `TRACES` of a name; raise if there is none."""
    known = known_name(name)
    if known is None:
        raise KeyError(f"no known trace {name!r}; {suggestion(name)}")
    return known


def suggestion(name: str) -> str:
    """What to say of an unknown name: the known name that is like it, and all known names."""
    names = {known.lower(): known for known in TRACES}
    stem = _stem(name.strip())
    begun = [known for known in names if stem and known.startswith(stem)]
    like = begun or difflib.get_close_matches(stem, names, n=1)
    asked = f"did you mean {names[like[0]]}? " if like else ""
    return f"{asked}known are {', '.join(TRACES)}"


def _folders(folder: str | Path | None) -> list[Path]:
    """Folders of traces in the order in which they are searched."""
    configured = [folder, os.environ.get("COSIMLIB_TRACES")]
    return [Path(place) for place in configured if place] + _project_folders()


def _project_folders() -> list[Path]:
    """Each ``data/traces/`` at or above the working directory, then that of a checkout.

    Notebooks run in a folder of their project; an installed package has no checkout around it.
    """
    here = Path.cwd()
    checkout = Path(__file__).resolve().parents[2]
    roots = [here, *here.parents] + ([checkout] if (checkout / "pyproject.toml").is_file() else [])
    folders = [root / "data" / "traces" for root in roots]
    return [folder for folder in dict.fromkeys(folders) if folder.is_dir()]


def _download_folder() -> Path:
    """The nearest ``data/traces/``; a new one in the working directory if there is none."""
    return next(iter(_project_folders()), Path.cwd() / "data" / "traces")


@contextmanager
def _no_empty_folder(folder: Path) -> Iterator[None]:
    """Remove a folder that the block made, with those above it, where the block fails."""
    made = [place for place in (folder, *folder.parents) if not place.exists()]
    try:
        yield
    except BaseException:
        for place in made:
            with suppress(OSError):  # it was not made, or has a file of somebody else
                place.rmdir()
        raise


def _download(name: str, trace: Trace, path: Path) -> None:
    """Download the file to `path`; leave nothing there on failure."""
    by_hand = (
        f"fetch {trace.address} by hand and put it in {path.parent}, or let COSIMLIB_TRACES name "
        "the folder where it is"
    )
    import pooch  # only where something is downloaded

    log, level = pooch.get_logger(), pooch.get_logger().level
    log.setLevel("WARNING")
    try:
        pooch.retrieve(
            trace.address,
            known_hash=trace.sha256,
            fname=path.name,
            path=path.parent,
            downloader=pooch.HTTPDownloader(timeout=TIMEOUT),
        )
    except OSError as error:
        raise ConnectionError(f"{name}: the download failed ({error}); {by_hand}") from error
    except ValueError as error:
        raise TraceError(
            f"{name}: what came from {trace.address} is not the file with SHA-256 {trace.sha256} "
            f"and was not kept; {by_hand}"
        ) from error
    finally:
        log.setLevel(level)
    if path.suffix == ".gz" and not _is_complete_gzip(path):
        path.unlink()
        raise TraceError(
            f"{name}: what came from {trace.address} is not a whole gzip file and was not kept; "
            f"{by_hand}"
        )


def _is_complete_gzip(path: Path) -> bool:
    try:
        return bool(read_bytes(path))
    except TraceError:
        return False
