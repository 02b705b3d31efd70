"""Pages of the app without a browser: they show themselves, and files that readers give."""

import json
import sys
import tempfile
from contextlib import closing
from datetime import datetime
from pathlib import Path
from types import SimpleNamespace

import nbformat
import pytest
from ipywidgets import HTML
from nbformat.sign import NotebookNotary

from cosimlab import app as served
from cosimlab.explorers import app
from tests.zoo import ZOO


def gave(name: str, content: bytes) -> tuple:
    """What a file picker holds once a file is chosen."""
    return (
        {
            "name": name,
            "type": "",
            "size": len(content),
            "content": memoryview(content),
            "last_modified": datetime(2026, 1, 1),
        },
    )


def test_a_log_takes_the_place_of_the_panel_and_what_is_none_is_told():
    _, row, place = app.page("coscheduling").children
    picker, told = row.children
    picker.value = gave("two-sizes.swf.gz", (ZOO / "two-sizes.swf.gz").read_bytes())
    assert told.value == "shown: two-sizes.swf.gz"
    (panel,) = place.children
    assert "jobs of 300" in panel.curve.value
    picker.value = gave("<b>no.swf", b"nothing\n")
    assert told.value.startswith("&lt;b&gt;no.swf cannot be shown: ")
    assert tempfile.gettempdir() not in told.value
    assert place.children == (panel,)
    picker.value = gave("large.swf", bytes(app.MOST_BYTES + 1))
    assert "9,000,001 bytes; expected at most 9,000,000; gzip them" in told.value


def test_a_page_without_a_panel_says_why(monkeypatch, tmp_path):
    """Away from a checkout there is no saved queue."""
    monkeypatch.setattr(app, "checkout", lambda: tmp_path)
    _, row, place = app.page("advise").children
    (why,) = place.children
    assert isinstance(why, HTML) and "there is no saved queue; give what squeue" in why.value
    assert row.children[0].multiple


def test_served_pages_are_signed_and_run_in_this_python(tmp_path):
    pages, private = tmp_path / "pages", tmp_path / "private"
    served.write_pages(pages, private)
    assert sorted(path.stem for path in pages.iterdir()) == sorted(app.PAGES)
    notary = NotebookNotary(data_dir=str(private))
    with closing(notary.store):
        for path in pages.iterdir():
            notebook = nbformat.read(path, as_version=4)
            assert notary.check_signature(notebook), path
            spec = private / "kernels" / notebook.metadata.kernelspec.name / "kernel.json"
            started = json.loads(spec.read_text())
            assert started["argv"][0] == sys.executable
            folder = Path(started["env"]["TMPDIR"])
            assert folder.parent == private and folder.stat().st_mode & 0o777 == 0o700


def test_a_picked_file_is_in_the_session_s_folder_while_it_is_read(monkeypatch, tmp_path):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    seen = []

    def opened(paths):
        seen.extend(paths)
        assert all(path.read_bytes() == b"log" for path in paths)
        return "a panel"

    page = app.PAGES["batch"]._replace(open=opened)
    assert app._opened(page, {"a.swf": b"log", "../b.swf": b"log"}) == "a panel"
    assert [path.name for path in seen] == ["a.swf", "b.swf"]
    assert all(tmp_path in path.resolve().parents for path in seen)
    assert list(tmp_path.iterdir()) == []


def test_kernels_are_ended_at_once(tmp_path):
    """Those that are asked to end while they start print tracebacks."""
    pytest.importorskip("voila.app")
    asked = []

    async def shutdown_all(**how):
        asked.append(how)

    server = served._server()()
    server.connection_dir = str(tmp_path / "connections")
    (tmp_path / "connections").mkdir()
    server.kernel_manager = SimpleNamespace(shutdown_all=shutdown_all)
    server.stop()
    assert asked == [{"now": True}]


def test_a_browser_is_led_to_the_address_with_its_token(tmp_path, monkeypatch):
    """By a file, for other users see what a browser is started with."""
    pytest.importorskip("voila.app")
    opened = []
    monkeypatch.setattr("webbrowser.open", opened.append)
    server = served._server()()
    server.private = tmp_path
    server.identity_provider = SimpleNamespace(token="a-token")
    server.launch_browser()
    assert opened == [(tmp_path / "open.html").as_uri()]
    assert "url=http://localhost:8866/?token=a-token" in (tmp_path / "open.html").read_text()
