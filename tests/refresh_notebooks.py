"""Execute committed notebooks and store what GitHub can show.

``python -m tests.refresh_notebooks`` takes every notebook under notebooks/, or those named. Figures
are stored as Plotly's JSON with rounded numbers and as PNG with few colors (`tests.stored`), which
needs Chromium and Pillow. A notebook is written once all of its cells have run, and only where
something changed. Widgets and timings are left out: they differ at every run.
"""

import argparse
import os
import re
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

import nbformat
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError

from cosimlib.files import write_whole
from tests.stored import PLOTLY, compact, in_palette

ROOT = Path(__file__).resolve().parents[1]
WIDGET_VIEW = "application/vnd.jupyter.widget-view+json"
VOLATILE = ("execution", "papermill", "collapsed", "scrolled")


def main(arguments: Sequence[str] | None = None) -> int:
    """Refresh the notebooks named, or all; 1 if one of them failed."""
    parser = argparse.ArgumentParser(prog="python -m tests.refresh_notebooks", description=__doc__)
    parser.add_argument("notebooks", nargs="*", type=Path, help="default: all under notebooks/")
    named = parser.parse_args(arguments).notebooks
    notebooks = named or sorted((ROOT / "notebooks").rglob("[!.]*.ipynb"))
    failed = False
    for path in notebooks:
        try:
            changed = refresh(path)
        except (CellExecutionError, ValueError, OSError) as error:
            print(f"{path}: {error}", file=sys.stderr)
            failed = True
            continue
        print(f"{path.resolve().relative_to(ROOT)}: {'stored' if changed else 'unchanged'}")
    return int(failed)


def refresh(path: Path, renderer: str = "plotly_mimetype+png") -> bool:
    """Execute a notebook in its own folder and store it; whether the file changed."""
    before = path.read_text(encoding="utf-8")
    notebook = nbformat.reads(before, as_version=4)
    execute(notebook, path.resolve().parent, renderer)
    tidy(notebook)
    after = nbformat.writes(notebook) + "\n"
    check(path, after)
    if after == before:
        return False
    write_whole(path, after.encode())
    return True


def execute(notebook: nbformat.NotebookNode, folder: Path, renderer: str) -> None:
    """Run all cells with their default parameters, as nbval does: in the notebook's folder."""
    client = NotebookClient(
        notebook,
        kernel_name="python3",
        timeout=600,
        resources={"metadata": {"path": str(folder)}},
        store_widget_state=False,
        record_timing=False,
        extra_arguments=["--IPKernelApp.log_level=ERROR"],
    )
    client.execute(env={**os.environ, "COSIMLIB_RENDERER": renderer, "TQDM_DISABLE": "1"})


def tidy(notebook: nbformat.NotebookNode) -> None:
    """Leave out what differs between two runs, or two machines."""
    kept = {"cosimlib": notebook.metadata["cosimlib"]} if "cosimlib" in notebook.metadata else {}
    notebook.metadata = nbformat.from_dict(
        {
            "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
            "language_info": {"name": "python"},
            **kept,
        }
    )
    for cell in notebook.cells:
        for name in VOLATILE:
            cell.metadata.pop(name, None)
        for output in cell.get("outputs", []):
            data = output.get("data", {})
            data.pop(WIDGET_VIEW, None)
            if PLOTLY in data:
                data[PLOTLY] = nbformat.from_dict(compact(data[PLOTLY]))
            if "image/png" in data:
                data["image/png"] = in_palette(data["image/png"])


def check(path: Path, text: str) -> None:
    """Refuse what only this machine knows."""
    for folder in (ROOT, Path.home(), Path(tempfile.gettempdir())):
        found = re.search(re.escape(f"{folder}/") + r"[^\s\"'\\]*", text)
        if found and folder != Path("/"):
            raise ValueError(
                f"{path.name} would store the path {found[0]!r}; print names or relative paths"
            )


if __name__ == "__main__":
    sys.exit(main())
