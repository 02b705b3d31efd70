"""Public traces by name: catalog, search, download; logs by path and the table of readers."""

import functools
import gzip
import hashlib
import http.server
import re
import threading
from pathlib import Path

import pytest

from cosimlib.system import THETA
from cosimlib.traces import (
    READERS,
    TRACES,
    Format,
    TraceError,
    catalog,
    fetch_trace,
    find_trace,
    has_columns,
    load,
    read_alcf,
)
from tests.suites import ROOT

DATA = Path(__file__).parents[2] / "data"
LOG = gzip.compress(b"; MaxProcs: 8\n1 0 5 100 4 -1 -1 4 200 -1 1 7 3 4 2 1 -1 -1\n", mtime=0)


@pytest.fixture(autouse=True)
def project(tmp_path, monkeypatch, trace_path):
    """Two levels inside a project with an empty data/traces/; `trace_path` resolves before that."""
    folder = tmp_path / "project" / "data" / "traces"
    folder.mkdir(parents=True)
    notebooks = tmp_path / "project" / "notebooks" / "deep"
    notebooks.mkdir(parents=True)
    monkeypatch.chdir(notebooks)
    monkeypatch.delenv("COSIMLIB_TRACES", raising=False)
    elsewhere = tmp_path / "site-packages" / "x" / "traces" / "catalog.py"
    monkeypatch.setattr(catalog, "__file__", str(elsewhere))
    return folder


@pytest.fixture
def served(tmp_path):
    """The address of a local server, and the folder that it serves."""

    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *_):
            """No output."""

    folder = tmp_path / "served"
    folder.mkdir()
    handler = functools.partial(Quiet, directory=str(folder))
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}", folder
    server.shutdown()
    thread.join()
    server.server_close()


def register(monkeypatch, name, **changes):
    """Change a trace of the catalog for the length of a test."""
    monkeypatch.setitem(TRACES, name, TRACES[name]._replace(**changes))


# The catalog


@pytest.mark.parametrize("name", TRACES)
def test_every_trace_has_a_file_name_an_address_and_an_acknowledgement(name):
    trace = TRACES[name]
    archived = trace.file_name.endswith(".swf.gz")
    assert archived == (trace.cores_per_node is not None)
    assert len(trace.acknowledgement) > 100
    assert archived or "icense" in trace.acknowledgement
    if trace.address is not None and archived:
        assert trace.address.startswith("https://www.cs.huji.ac.il/labs/parallel/workload/l_")
        assert trace.address.endswith("/" + trace.file_name)
        assert "Parallel Workloads Archive" in trace.acknowledgement
    if trace.sha256 is not None:
        assert re.fullmatch("[0-9a-f]{64}", trace.sha256)


def test_every_trace_is_listed_in_the_readme_of_the_data_folder():
    readme = (ROOT / "data" / "traces" / "README.md").read_text()
    for name, trace in TRACES.items():
        row = next(line for line in readme.splitlines() if line.startswith(f"| `{name}` |"))
        assert f"`{trace.file_name}`" in row
        assert row.endswith("| yes |" if trace.sha256 else "| no |")


@pytest.mark.traces
@pytest.mark.parametrize("name", [name for name in TRACES if TRACES[name].sha256])
def test_checksums_are_those_of_the_archives_files(trace_path, name):
    trace = TRACES[name]
    data = (find_trace(name) or trace_path(trace.file_name)).read_bytes()
    if not trace.file_name.endswith(".gz") and data.startswith(b"\x1f\x8b"):
        data = gzip.decompress(data)
    assert hashlib.sha256(data).hexdigest() == trace.sha256


# Finding


def test_folders_are_searched_in_order(project, tmp_path, monkeypatch):
    name, file_name = "KTH-SP2", TRACES["KTH-SP2"].file_name
    assert find_trace(name) is None
    checkout = tmp_path / "site-packages"
    monkeypatch.setattr(catalog, "__file__", str(checkout / "cosimlib" / "traces" / "catalog.py"))
    places = [checkout / "data" / "traces", project, tmp_path / "named", tmp_path / "given"]
    monkeypatch.setenv("COSIMLIB_TRACES", str(tmp_path / "named"))
    for place in places:
        place.mkdir(parents=True, exist_ok=True)
        (place / file_name).write_bytes(LOG)
        if place == places[0]:
            assert find_trace(name, folder=tmp_path / "given") is None
            (checkout / "pyproject.toml").touch()
        assert find_trace(name, folder=tmp_path / "given") == place / file_name
        assert fetch_trace(name, folder=tmp_path / "given") == place / file_name


def test_a_decompressed_file_and_an_equivalent_copy_are_found(project):
    (project / "KTH-SP2-1996-2.1-cln.swf").write_bytes(gzip.decompress(LOG))
    assert find_trace("KTH-SP2") == project / "KTH-SP2-1996-2.1-cln.swf"
    (project / "RICC-2010-2+hdr.swf.gz").write_bytes(LOG)
    assert find_trace("RICC") == project / "RICC-2010-2+hdr.swf.gz"


@pytest.mark.parametrize("name", ["kth-sp2", " KTH-SP2 ", "KTH-SP2-1996-2.1-cln.swf.gz"])
def test_names_in_any_case_and_names_of_files_are_recognized(project, name):
    (project / "KTH-SP2-1996-2.1-cln.swf.gz").write_bytes(LOG)
    assert find_trace(name) == project / "KTH-SP2-1996-2.1-cln.swf.gz"


@pytest.mark.parametrize("function", [find_trace, fetch_trace])
def test_the_error_for_an_unknown_name_lists_the_known_ones(function):
    with pytest.raises(
        KeyError, match=r"no known trace 'KTH'; did you mean KTH-SP2\? known are KTH-SP2, SDSC"
    ):
        function("KTH")


# Downloading


def test_a_download_is_checked_kept_and_acknowledged_once(served, project, monkeypatch, capsys):
    address, folder = served
    (folder / "log.swf.gz").write_bytes(LOG)
    digest = hashlib.sha256(LOG).hexdigest()
    register(monkeypatch, "KTH-SP2", address=f"{address}/log.swf.gz", sha256=digest)
    path = fetch_trace("KTH-SP2")
    assert path == project / "KTH-SP2-1996-2.1-cln.swf.gz"
    assert path.read_bytes() == LOG
    printed = capsys.readouterr()
    assert printed.out.splitlines()[0] == f"KTH-SP2: downloaded {address}/log.swf.gz to {path}"
    assert "graciously provided by Lars Malinowsky" in printed.out
    assert printed.err == ""
    assert fetch_trace("KTH-SP2") == path
    assert capsys.readouterr() == ("", "")


def test_a_download_goes_to_the_folder_given_or_else_under_the_working_directory(
    served, tmp_path, monkeypatch
):
    address, folder = served
    (folder / "log.swf.gz").write_bytes(LOG)
    register(monkeypatch, "RICC", address=f"{address}/log.swf.gz")
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    given = tmp_path / "new" / "place"
    assert fetch_trace("RICC", folder=given) == given / "RICC-2010-2.swf.gz"
    expected = tmp_path / "elsewhere" / "data" / "traces" / "RICC-2010-2.swf.gz"
    assert fetch_trace("RICC") == expected
    assert expected.read_bytes() == LOG


def test_a_download_with_a_wrong_checksum_is_not_kept(served, project, monkeypatch):
    address, folder = served
    (folder / "log.swf.gz").write_bytes(LOG + b"\n")
    register(monkeypatch, "KTH-SP2", address=f"{address}/log.swf.gz")
    message = (
        r"KTH-SP2: what came from http://\S+ is not the file with SHA-256 3e152f2\w+ and was not "
        r"kept; fetch http://\S+ by hand and put it in \S+data/traces"
    )
    with pytest.raises(TraceError, match=message):
        fetch_trace("KTH-SP2")
    assert list(project.iterdir()) == []


@pytest.mark.parametrize("content", [b"<html>moved</html>", LOG[:-10], b""])
def test_a_download_without_a_known_checksum_must_be_complete_gzip(
    served, project, monkeypatch, content
):
    address, folder = served
    (folder / "log.swf.gz").write_bytes(content)
    register(monkeypatch, "RICC", address=f"{address}/log.swf.gz")
    with pytest.raises(TraceError, match=r"RICC: what came from .* is not a whole gzip file"):
        fetch_trace("RICC")
    assert list(project.iterdir()) == []


@pytest.mark.parametrize("address", ["{}/gone.swf.gz", "http://127.0.0.1:9/log.swf.gz"])
def test_the_error_for_a_failed_download_says_how_to_download_by_hand(
    served, project, monkeypatch, address
):
    address = address.format(served[0])
    register(monkeypatch, "KTH-SP2", address=address)
    message = rf"KTH-SP2: the download failed .*fetch {address} by hand and put it in {project}"
    with pytest.raises(ConnectionError, match=message):
        fetch_trace("KTH-SP2")
    assert list(project.iterdir()) == []


def test_a_failed_download_leaves_no_folder(served, tmp_path, monkeypatch):
    register(monkeypatch, "KTH-SP2", address=f"{served[0]}/gone.swf.gz")
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    with pytest.raises(ConnectionError, match="the download failed"):
        fetch_trace("KTH-SP2")
    assert list((tmp_path / "elsewhere").iterdir()) == []


def test_the_error_for_a_trace_without_an_address_says_where_to_put_it(project):
    message = rf"^.*: no theta-2023-prod.swf.gz here .* put it in(to)? {project} or let "
    with pytest.raises(FileNotFoundError, match=message):
        fetch_trace("theta-2023-prod")


# Loading


def test_a_public_trace_is_loaded_with_its_name_node_size_and_machine(project):
    (project / "ANL-Intrepid-2009-1.swf.gz").write_bytes(LOG)
    intrepid = load("ANL-Intrepid-2009-1", verbose=False)
    assert intrepid.name == "ANL-Intrepid-2009-1"
    assert intrepid.jobs["nodes"].tolist() == [1]
    assert intrepid.machine.total_nodes == 2
    assert load("ANL-Intrepid-2009-1", verbose=False, cores_per_node=1).machine.total_nodes == 8
    (project / "theta-2023-prod.swf.gz").write_bytes(LOG)
    theta = load("theta-2023-prod", verbose=False, name="Theta")
    assert theta.machine == THETA.with_nodes(4360)
    assert theta.name == "Theta"
    assert len(theta.account) == len(load(project / "theta-2023-prod.swf.gz").account)


def test_a_reader_added_to_the_table_is_used(tmp_path, monkeypatch):
    path = tmp_path / "log.jobs.gz"
    path.write_bytes(gzip.compress((DATA / "alcf.csv").read_bytes()))
    monkeypatch.setitem(
        READERS, "jobs", Format(read_alcf, (".jobs",), has_columns("nodes_requested"))
    )
    assert len(load(path, verbose=False)) == 3


def test_the_error_for_neither_a_name_nor_a_file_lists_the_known_names():
    with pytest.raises(FileNotFoundError, match=r"no trace at KTH: neither a file nor"):
        load("KTH")
    with pytest.raises(FileNotFoundError, match=r"did you mean KTH-SP2\? known are"):
        load("KTH")
    with pytest.raises(KeyError, match=r"did you mean HPC2N\? known are"):
        fetch_trace("HPC2")
    with pytest.raises(FileNotFoundError, match=r"a known trace; known are"):
        load("nothing like it.swf")
    with pytest.raises(FileNotFoundError, match=r"no trace at missing\.swf: neither a file"):
        load("missing.swf")
