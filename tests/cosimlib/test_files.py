"""Files are written whole, in the place that links lead to, and never over what is read."""

import os
import re

import pytest

from cosimlib import files, traces
from cosimlib.files import check_page, check_readable, check_writable, write_whole
from tests.zoo import odd

NO_PIPE = "is no regular file; give another name"


@pytest.fixture
def pipe(tmp_path):
    path = tmp_path / "pipe.html"
    os.mkfifo(path)
    return path


def test_what_a_link_leads_to_is_written_and_the_link_stays(tmp_path):
    (tmp_path / "deep").mkdir()
    target, link = tmp_path / "deep" / "target.html", tmp_path / "link.html"
    link.symlink_to("deep/target.html")
    for content in (b"new", b"newer"):
        check_writable(link)
        write_whole(link, content)
        assert link.is_symlink() and target.read_bytes() == content
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["deep", "link.html", "target.html"]


def test_a_link_into_nothing_is_named(tmp_path):
    link = tmp_path / "link.html"
    link.symlink_to("none/target.html")
    said = re.escape(f"{link}: there is no folder {tmp_path / 'none'}; make it first")
    for refuse in (check_writable, lambda path: write_whole(path, b"")):
        with pytest.raises(FileNotFoundError, match=f"^{said}$"):
            refuse(link)


def test_a_pipe_is_never_replaced(pipe, tmp_path):
    (tmp_path / "link.html").symlink_to(pipe)
    for path in (pipe, tmp_path / "link.html"):
        for refuse in (check_writable, lambda path: write_whole(path, b"")):
            with pytest.raises(FileExistsError, match=NO_PIPE):
                refuse(path)
    assert pipe.is_fifo()


@pytest.mark.parametrize("how", ["itself", "symbolic", "hard", "other words"])
def test_a_source_is_no_target_under_whatever_name(how, tmp_path):
    source, target = tmp_path / "log.html", tmp_path / "other.html"
    source.write_text("log")
    if how == "symbolic":
        target.symlink_to(source)
    elif how == "hard":
        target.hardlink_to(source)
    else:
        target = source if how == "itself" else tmp_path / ".." / tmp_path.name / "log.html"
    said = f"{target}: the target is the source {source} itself, which would be overwritten; give"
    for refuse in (check_writable, lambda *paths: check_page("--output", *paths)):
        with pytest.raises(ValueError, match=re.escape(said)):
            refuse(target, None, "no file", source)


def test_a_folder_in_which_no_file_can_be_made_is_refused_before_any_work():
    with pytest.raises(OSError, match=r"^/proc/page\.html: .*/proc"):
        check_writable("/proc/page.html")


def test_a_page_has_the_name_of_a_page(tmp_path):
    for fine in ("page.html", "page.HTM"):
        check_page("--output", tmp_path / fine)
    with pytest.raises(ValueError, match=r"--output='.*page\.pdf'; expected a name that ends in"):
        check_page("--output", tmp_path / "page.pdf")
    assert not list(tmp_path.iterdir())


def test_what_is_no_readable_file_is_named(pipe, tmp_path, monkeypatch):
    for path, said in {
        tmp_path: "is a directory; give the path of a log",
        tmp_path / "none": "^no file at .*none; give the path of a log",
        pipe: "not a regular file; expected a log: write it to a file first",
        "-": "^standard input: not a regular file",
    }.items():
        with pytest.raises((OSError, ValueError), match=said):
            check_readable(path, "a log")
    with pytest.raises(ValueError, match="not a regular file"):
        traces.load(pipe)
    monkeypatch.setattr(files.os, "access", lambda path, mode: False)
    for read in (traces.load, traces.read_swf):
        with pytest.raises(PermissionError, match=r"three-jobs\.swf\.gz: may not be read; let its"):
            read(odd("three-jobs"))


def test_the_name_of_a_log_is_text_whatever_its_bytes(tmp_path):
    path = os.fsdecode(os.fsencode(tmp_path) + b"/l\xf6g.swf")
    traces.write_swf(traces.load(odd("three-jobs"), verbose=False), path)
    assert traces.load(path, verbose=False).name == "l\N{REPLACEMENT CHARACTER}g"
