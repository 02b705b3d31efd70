"""A run of one notebook by papermill: ``python -m papers.run NOTEBOOK FOLDER``.

papermill accepts parameters that a notebook does not have; here they are refused. Results take the
folder's place once the notebook has run to its end. Until then older ones stay.
"""
# ruff: noqa: E402

import argparse
import ast
import json
import logging
import math
import os
import re
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

# Without this package jsonschema leaves some texts unchecked, such as addresses with umlauts. With
# it, every import of nbformat compiles a grammar, which takes longer than all other imports.
sys.modules["rfc3987_syntax"] = None  # type: ignore[assignment]

import nbformat
import papermill
from nbclient.exceptions import DeadKernelError
from nbformat import NotebookNode
from papermill.exceptions import PapermillExecutionError
from papermill.translators import translate_parameters

from cosimlab.figures.publishing import LIBRARY, write_library
from cosimlab.folders import checkout, whole_folder
from cosimlib.display import count
from cosimlib.files import write_whole
from cosimlib.traces import SYNTHETIC, find_trace
from cosimlib.units import MINUTE
from papers import shares

RECORD = "run.json"
PYTHON_NAMES = "__import__('pandas').options.mode.string_storage = 'python'"
"""A table looks up its columns by Python objects. It makes them anew from each table's names where
PyArrow holds these, which takes a quarter of the time of runs that make many small tables."""
PACKAGES = ("cosimlib", "numba", "numpy", "pandas", "papermill", "plotly")
LIMITS = {"quick": 60.0, "paper": None}
"""Minutes that a cell may take, by scale."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a notebook: 0, or 1 and what failed."""
    parser = argparse.ArgumentParser(prog="python -m papers.run", description=main.__doc__)
    add = parser.add_argument
    add("notebook", type=Path, metavar="NOTEBOOK")
    add("folder", type=Path, metavar="FOLDER", help="of the results")
    add("--scale", choices=LIMITS, default="quick", help="default: quick")
    add("--trace", default="", help="path or name of a log, or 'synthetic'")
    add("--cores", default="", help="of each node of the log's machine; default: as the log says")
    add("--nodes", default="", help="of the log's machine; default: as the log says")
    add("--limit", type=float, metavar="MINUTES", help="of a cell; default: 60 at quick scale")
    add("-p", dest="own", nargs=2, action="append", default=[], metavar=("NAME", "VALUE"))
    given = parser.parse_args(arguments)
    try:
        print(run(given), flush=True)
        return 0
    except PapermillExecutionError as error:
        first_line = error.source.strip().partition("\n")[0]
        problem = f"cell '{first_line}': {error.ename}: {error.evalue}"
    except (ValueError, OSError, DeadKernelError) as error:  # of which the timeout is one
        problem = str(error)
    except KeyboardInterrupt:
        problem = "interrupted; older results stay"
    print(f"{given.notebook.stem}: {problem}", file=sys.stderr)
    return 1


def run(given: argparse.Namespace) -> str:
    """Run the notebook and put its results in their place; a line that says what was done."""
    started, clock = time.time(), time.monotonic()
    notebook = nbformat.read(given.notebook, as_version=4)
    values = parameters(notebook, given)
    minutes = given.limit or LIMITS[given.scale]
    logging.getLogger("papermill").setLevel(logging.ERROR)
    with whole_folder(given.folder) as folder:
        executed, spent = _execute(
            notebook,
            parameters=values | {"output": str(folder)},
            cwd=given.notebook.parent,
            execution_timeout=minutes and math.ceil(minutes * MINUTE),
        )
        shown = {name: _shown(value) for name, value in values.items()}
        seconds = round(time.monotonic() - clock, 1)
        record = {"notebook": given.notebook.name, "parameters": shown, "seconds": seconds}
        record["processor_seconds"] = spent
        record["versions"] = {name: version(name) for name in PACKAGES}
        _publish(executed, record, values, folder)
        share_library(folder, given.folder.parent)
        os.utime(folder / RECORD, (started, started))  # older than what is edited meanwhile
    cells = count(sum(cell.cell_type == "code" for cell in notebook.cells), "cell")
    data = ", ".join(shown[name] for name in ("scale", "trace") if name in shown)
    line = f"{given.notebook.stem}: {cells} in {seconds:.1f} s ({data})"
    return f"{line}; processor: {shares.in_words(spent)}" if spent else line


def _execute(notebook: NotebookNode, **how: Any) -> tuple[NotebookNode, dict[str, float]]:
    """The executed notebook, and the seconds of processor time by what they were spent on."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "shares.json"
        # Before the first cell, and not seen in the notebook.
        begin = f"__import__('papers.shares').shares.start({str(path)!r})"
        before = os.times()
        executed = papermill.execute_notebook(
            notebook,
            None,
            kernel_name="python3",
            language="python",
            progress_bar=False,
            store_widget_state=False,
            extra_arguments=[
                "--log-level=CRITICAL",
                f"--IPKernelApp.exec_lines={PYTHON_NAMES}",
                f"--IPKernelApp.exec_lines={begin}",
            ],
            **how,
        )
        after = os.times()
        started = after.children_user - before.children_user
        started += after.children_system - before.children_system
        return executed, shares.read(path, time.process_time(), started)


def parameters(notebook: NotebookNode, given: argparse.Namespace) -> dict[str, Any]:
    """Values of a notebook's parameters: the common ones that it has, and those of `-p`.

    Raises
    ------
    ValueError
        Names a parameter that it does not have, or a value that is not of the parameter's type.
    """
    if (given.cores or given.nodes) and not given.trace:
        raise ValueError("--cores and --nodes are of a log's machine; name the log with --trace")
    declared = papermill.inspect_notebook(notebook)
    named = notebook.metadata.get("cosimlib", {}).get("trace")
    here = named if named and find_trace(named) else SYNTHETIC
    texts = {"scale": given.scale, "trace": given.trace or here}
    texts |= {"cores_per_node": given.cores, "machine_nodes": given.nodes}
    texts = {name: text for name, text in texts.items() if text and name in declared}
    for name, text in given.own:
        if name not in declared or name == "output":
            raise ValueError(f"there is no parameter {name!r}; there are {', '.join(declared)}")
        texts[name] = text
    return {name: _typed(declared[name], text) for name, text in texts.items()}


def _typed(parameter: Mapping[str, str], text: str) -> Any:
    """A text as a value of the parameter's type; the name of a file as its path."""
    kind = parameter["inferred_type_name"].partition("[")[0]
    if kind == "str":
        return str(Path(text).absolute()) if Path(text).is_file() else text
    try:
        value = float(text) if kind == "float" else ast.literal_eval(text)
        if kind in ("None", type(value).__name__):
            return value
    except (ValueError, SyntaxError, TypeError):
        pass
    such = f"expected {kind}, such as {parameter['default']}"
    raise ValueError(f"parameter {parameter['name']!r} got {text!r}; {such}")


def _shown(value: Any) -> Any:
    """A value as it may be published: a file by its name."""
    return Path(value).name if isinstance(value, str) and Path(value).is_absolute() else value


def _publish(
    executed: NotebookNode, record: dict[str, Any], values: Mapping[str, Any], folder: Path
) -> None:
    """Write the executed notebook and the record, without when and where they were made."""
    for part in (executed, *executed.cells):
        part.metadata.pop("papermill", None)
        if "injected-parameters" in part.metadata.get("tags", []):
            part.id = "injected-parameters"
            part.source = translate_parameters(None, "python", record["parameters"], "Parameters")
    nbformat.write(executed, folder / record["notebook"])
    text = json.dumps(record, indent=2, ensure_ascii=False)
    (folder / RECORD).write_text(text + "\n", encoding="utf-8")
    given = {str(Path(v).parent): "." for v in values.values() if v != _shown(v)}
    places = {str(Path.home()): "~", str(checkout()): ".", str(folder): "output"} | given
    pattern = "|".join(map(re.escape, sorted(places.keys() - {"/"}, key=len, reverse=True)))
    for path in (*folder.glob("*.ipynb"), *folder.glob("*.csv")):
        text = path.read_text(encoding="utf-8")
        cut = re.sub(rf"(?<![\w.+-])({pattern})(?![\w.-])", lambda found: places[found[1]], text)
        path.write_text(cut, encoding="utf-8")


def share_library(folder: Path, above: Path) -> None:
    """Let a folder's pages load Plotly's JavaScript from the folder above, not a copy of theirs.

    `above` is the folder that this one is in, or will be moved into.
    """
    own = folder / LIBRARY
    if not own.is_file():
        return
    write_library(above)
    for path in folder.glob("*.html"):
        here, there = (f'src="{place}{LIBRARY}"'.encode() for place in ("", "../"))
        write_whole(path, path.read_bytes().replace(here, there, 1))
    own.unlink()


if __name__ == "__main__":
    sys.exit(main())
