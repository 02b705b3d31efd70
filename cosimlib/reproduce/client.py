"""papermill's client with bounds: a kernel can be ended with all that it started, outputs are cut.

A cell that prints without end fills neither memory nor the published notebook. What is over the
limit is left out, and a line in its place says so. Parameters are written as literals of Python,
which are data whatever they hold.
"""

import json
import math
from collections.abc import Callable
from typing import Any

from nbformat import NotebookNode
from papermill.clientwrap import PapermillNotebookClient
from papermill.engines import Engine, papermill_engines
from papermill.translators import PythonTranslator, papermill_translators

MOST_PRINTED = 1_000_000
"""Letters that a cell may print."""
MOST_SHOWN = 50_000_000
"""Letters of what else a cell may show, such as figures and tables."""

ENGINE = "cosimlib"


class BoundedClient(PapermillNotebookClient):
    """Runs a notebook's cells, cuts their outputs, and tells the kernel's process group."""

    def __init__(self, manager: Any, *, on_start: Callable[[int], None], **options: Any) -> None:
        super().__init__(manager, **options)
        self._on_start = on_start
        self._cell: int | None = None
        self._to_print = self._to_show = 0

    def start_new_kernel_client(self, **options: Any) -> Any:
        """Tell the process group as soon as there is one, and wait for the kernel."""
        self._on_start(getattr(self.km.provisioner, "pgid", None) or 0)
        return super().start_new_kernel_client(**options)

    def process_message(self, msg: dict[str, Any], cell: NotebookNode, cell_index: int) -> Any:
        """Take what the kernel says of a cell, as far as there is room."""
        if cell_index != self._cell:
            self._cell, self._to_print, self._to_show = cell_index, MOST_PRINTED, MOST_SHOWN
        if msg["msg_type"] == "stream":
            if self._to_print < 0:
                return None
            self._cut_text(msg["content"])
        elif msg["msg_type"] in ("display_data", "execute_result", "update_display_data"):
            self._cut_data(msg["content"])
        return super().process_message(msg, cell, cell_index)

    def _cut_text(self, content: dict[str, Any]) -> None:
        """Cut a text to the room that is left."""
        text, room = content["text"], self._to_print
        self._to_print -= len(text)
        if len(text) > room:
            content["text"] = f"{text[:room]}\n[cut: a cell may print {MOST_PRINTED:,} letters]\n"

    def _cut_data(self, content: dict[str, Any]) -> None:
        """Put a line in the place of data for which there is no room."""
        values = content["data"].values()
        size = sum(len(v) if isinstance(v, str) else len(json.dumps(v)) for v in values)
        self._to_show -= size
        if self._to_show < 0:
            line = f"[left out: {size:,} letters; a cell may show {MOST_SHOWN:,}]"
            content.update(data={"text/plain": line}, metadata={})


class BoundedEngine(Engine):
    """papermill's engine with this client."""

    @classmethod
    def execute_managed_notebook(
        cls,
        nb_man: Any,
        kernel_name: str,
        *,
        on_start: Callable[[int], None],
        extra_arguments: list[str],
        **options: Any,
    ) -> None:
        """Run the cells; papermill's other options are its client's defaults."""
        BoundedClient(
            nb_man,
            on_start=on_start,
            kernel_name=kernel_name,
            extra_arguments=extra_arguments,
            startup_timeout=options["start_timeout"],
            store_widget_state=options["store_widget_state"],
            on_cell_execute=options["on_cell_execute"],
        ).execute()


class Literals(PythonTranslator):
    """papermill's translator, which makes texts of tuples, sets and keys that are numbers."""

    @classmethod
    def translate(cls, val: Any) -> str:
        """A value as a literal, or, of no finite number, as ``float('nan')``."""
        if isinstance(val, dict):
            pairs = (f"{cls.translate(k)}: {cls.translate(v)}" for k, v in val.items())
            return f"{{{', '.join(pairs)}}}"
        if isinstance(val, list | tuple | set):
            inner = ", ".join(map(cls.translate, val))
            if isinstance(val, tuple):
                return f"({inner}{',' if len(val) == 1 else ''})"
            return f"[{inner}]" if isinstance(val, list) else f"{{{inner}}}" if val else "set()"
        if isinstance(val, float) and not math.isfinite(val):
            return f"float('{val}')"
        return cls.translate_str(val) if isinstance(val, str) else repr(val)


papermill_engines.register(ENGINE, BoundedEngine)
papermill_translators.register("python", Literals)
