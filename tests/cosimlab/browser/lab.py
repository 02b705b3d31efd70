"""Servers on free ports, JupyterLab and the app, which write to a test's own folder only."""

import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

TOKEN = "browser-test"
SETTINGS = {
    "@jupyterlab/apputils-extension:notification": {"fetchNews": "false", "checkForUpdates": False},
    "@jupyterlab/docmanager-extension:plugin": {"autosave": False},
}
OPEN = "path => void window.jupyterapp.commands.execute('docmanager:open', { path })"
CLOSE = """() => {
  const shown = [...window.jupyterapp.shell.widgets('main')];
  shown.filter(one => one.context).forEach(one => one.dispose());
}"""
RUNNING = re.compile(r"\[(\d+|\*)\]")
TIMEOUT = 90_000
"""Milliseconds for a page, or an explorer whose kernels are compiled."""
COLD = 300_000
"""Milliseconds for cells that compile kernels: on a slow machine that takes minutes."""


@contextmanager
def serve(folder: Path) -> Iterator[str]:
    """JupyterLab on the files in ``folder/files``; yields its address."""
    (folder / "files").mkdir(exist_ok=True)
    port = _free_port()
    address = f"http://127.0.0.1:{port}"
    with _running(_command(port, folder / "files"), f"{address}/api?token={TOKEN}", folder):
        yield address


@contextmanager
def serve_app(folder: Path) -> Iterator[str]:
    """The app; yields its address."""
    port = _free_port()
    address = f"http://127.0.0.1:{port}"
    options = ["--no-browser", f"--port={port}", f"--token={TOKEN}"]
    with _running([sys.executable, "-m", "cosimlab.app", *options], address, folder):
        yield address


@contextmanager
def _running(command: list[str], address: str, folder: Path) -> Iterator[None]:
    """A server that answers at an address, until the block ends."""
    with (folder / "server.log").open("w") as log:
        server = subprocess.Popen(
            command,
            stdout=log,
            stderr=log,
            env=_environment(folder),
            start_new_session=True,
        )
        try:
            _wait(server, address, folder / "server.log")
            yield
        finally:
            _stop(server)


def end_kernels(address: str) -> None:
    """End all sessions of a JupyterLab, so that a notebook that is opened gets a kernel anew."""
    token = {"Authorization": f"token {TOKEN}"}
    listed = urllib.request.Request(f"{address}/api/sessions", headers=token)
    with urllib.request.urlopen(listed, timeout=30) as answer:
        sessions = json.load(answer)
    for session in sessions:
        one = f"{address}/api/sessions/{session['id']}"
        urllib.request.urlopen(
            urllib.request.Request(one, headers=token, method="DELETE"), timeout=60
        ).close()


def show_notebook(page, address: str, path: str) -> None:
    """Open a notebook in JupyterLab, which is loaded unless the page shows it already."""
    if page.url.startswith(f"{address}/lab/"):
        page.evaluate(OPEN, path)
    else:
        page.goto(f"{address}/lab/workspaces/test/tree/{path}?reset&token={TOKEN}", timeout=TIMEOUT)


def open_notebook(page, address: str, path: str) -> None:
    """Open a notebook and wait for its kernel."""
    show_notebook(page, address, path)
    wait_until_idle(page)


def load_again(page, address: str, path: str) -> None:
    """Load the page again with a notebook.

    The page's own address may be that of a folder, and JupyterLab writes down which notebooks are
    open a while after they are opened: on a slow machine a reload alone may show none.
    """
    page.goto(f"{address}/lab/workspaces/test/tree/{path}", timeout=TIMEOUT)
    wait_until_idle(page)


def close_notebooks(page) -> None:
    """Close what is open in JupyterLab, saved or not."""
    page.evaluate(CLOSE)
    page.wait_for_selector(".jp-Notebook", state="detached", timeout=TIMEOUT)


def wait_until_idle(page, timeout: int = TIMEOUT) -> None:
    """Wait for the notebook and an idle kernel; the status bar shows it last."""
    page.wait_for_selector(".jp-Notebook .jp-Cell", timeout=timeout)
    page.wait_for_selector(
        '.jp-Notebook-ExecutionIndicator[data-status="idle"]', timeout=timeout, state="attached"
    )
    page.wait_for_selector(r"text=/\| Idle/", timeout=timeout)


def run_all(page) -> None:
    """Run all cells. A click right after the page has loaded can be lost, hence the attempts."""
    from playwright.sync_api import TimeoutError

    prompts = page.locator(".jp-InputPrompt", has_text=RUNNING)
    for _ in range(5):
        page.get_by_role("menuitem", name="Run", exact=True).click()
        page.get_by_role("menuitem", name=re.compile(r"^Run All Cells")).first.click()
        try:
            prompts.first.wait_for(timeout=6_000)
            return
        except TimeoutError:
            page.keyboard.press("Escape")
    raise AssertionError("JupyterLab did not begin to run the cells")


def save(page, path: Path) -> None:
    """Save the notebook, and wait until its widgets are in the file."""
    page.keyboard.press("Control+s")
    until = time.monotonic() + TIMEOUT / 1000
    while "widget-view+json" not in path.read_text(encoding="utf-8"):
        assert time.monotonic() < until, f"JupyterLab did not save {path.name}"
        page.wait_for_timeout(100)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def _command(port: int, files: Path) -> list[str]:
    return [
        *(sys.executable, "-m", "jupyterlab", "--no-browser", "--allow-root"),
        *(f"--ServerApp.port={port}", "--ServerApp.port_retries=0", "--ServerApp.ip=127.0.0.1"),
        *(f"--IdentityProvider.token={TOKEN}", f"--ServerApp.root_dir={files}"),
        *("--LabApp.news_url=None", "--LabApp.expose_app_in_browser=True"),
    ]


def _environment(folder: Path) -> dict[str, str]:
    """Environment of the server: settings, workspaces and history in its folder."""
    config = folder / "config"
    (config / "labconfig").mkdir(parents=True)
    (config / "labconfig" / "default_setting_overrides.json").write_text(json.dumps(SETTINGS))
    return {
        **os.environ,
        "JUPYTER_CONFIG_DIR": str(config),
        "JUPYTER_DATA_DIR": str(folder / "data"),
        "JUPYTER_RUNTIME_DIR": str(folder / "runtime"),
        "JUPYTERLAB_SETTINGS_DIR": str(folder / "settings"),
        "JUPYTERLAB_WORKSPACES_DIR": str(folder / "workspaces"),
        "IPYTHONDIR": str(folder / "ipython"),
    }


def _wait(server: subprocess.Popen, address: str, log: Path) -> None:
    """Wait until the server answers, or fail with the end of its log."""
    until = time.monotonic() + TIMEOUT / 1000
    while time.monotonic() < until and server.poll() is None:
        try:
            urllib.request.urlopen(address, timeout=2).close()
            return
        except (urllib.error.URLError, OSError):
            time.sleep(0.2)
    raise AssertionError(f"The server did not start:\n{log.read_text()[-2000:]}")


def _stop(server: subprocess.Popen) -> None:
    """End the server and its kernels: SIGTERM, then SIGKILL."""
    if server.poll() is not None:
        return
    os.killpg(server.pid, signal.SIGTERM)
    try:
        server.wait(15)
    except subprocess.TimeoutExpired:
        os.killpg(server.pid, signal.SIGKILL)
        server.wait(15)
