"""A live figure whose code may take its time to load, and which tells how large its page is.

anywidget gives a model up that is not ready within two seconds: it says "Failed to initialize
model" and drops whatever the kernel sends from then on, so that a figure stays empty, or as it was.
Plotly's code has 5 MB, and on a busy machine a browser needs longer for it. Here the model is ready
at once, and Plotly is imported once per page, however many figures there are.

Plotly measures the box of a figure when the window's size changes and at no other time: neither
when the figure is put on a page nor when a side bar opens. So the box is measured here.
"""

from functools import cache
from pathlib import Path

import plotly
import plotly.graph_objects as go
from traitlets import Int, Unicode, default

SCRIPT = """
const imported = (globalThis.cosimlibPlotly ??= new Map());

function plotlyOf(model) {
  const version = model.get("_plotly_version");
  if (!imported.has(version)) {
    const code = new Blob([model.get("_plotly_code")], { type: "text/javascript" });
    const url = URL.createObjectURL(code);
    const forget = () => URL.revokeObjectURL(url);
    const loading = import(url).finally(forget);
    loading.catch(() => imported.delete(version));
    imported.set(version, loading);
  }
  return imported.get(version);
}

function observe(model, el) {
  let waiting = null;
  function measure() {
    clearTimeout(waiting);
    waiting = setTimeout(() => {
      const width = Math.floor(el.getBoundingClientRect().width);
      const height = window.innerHeight;
      const known = width === model.get("page_width") && height === model.get("page_height");
      if (width < 1 || known) return;
      model.set("page_width", width);
      model.set("page_height", height);
      model.save_changes();
    }, 100);
  }
  const watch = new ResizeObserver(measure);
  watch.observe(el);
  window.addEventListener("resize", measure);
  return () => {
    watch.disconnect();
    window.removeEventListener("resize", measure);
  };
}

export default () => {
  let figure = null;
  function loaded(model) {
    figure ??= plotlyOf(model).then(async (plotly) => {
      const widget = plotly.default();
      await widget.initialize({ model });
      return widget;
    });
    // What failed once is tried again when the figure is shown next.
    figure.catch(() => (figure = null));
    return figure;
  }
  return {
    initialize({ model }) {
      loaded(model);
    },
    async render({ model, el, signal }) {
      const forget = observe(model, el);
      signal?.addEventListener("abort", forget);
      const widget = await loaded(model);
      if (!signal?.aborted) return widget.render({ model, el });
    },
  };
};
"""

STYLE = """
.explorer-text .widget-html-content { line-height: 1.45; }
.explorer-group .widget-html-content { line-height: 16px; font-size: 11px; }
"""
"""Lines of text are as close as in a notebook's prose, and headings of controls small."""


@cache
def _code() -> str:
    """Plotly for widgets, as a JavaScript module."""
    bundle = Path(plotly.__file__).parent / "package_data" / "widgetbundle.js"
    return bundle.read_text(encoding="utf-8")


class LiveFigure(go.FigureWidget):
    """A `FigureWidget` that busy browsers show, too, and keep up to date."""

    _esm, _css = SCRIPT, STYLE
    page_width = Int(0).tag(sync=True)
    """Pixels of the box that the figure is shown in; 0 where no page shows it."""
    page_height = Int(0).tag(sync=True)
    """Pixels of the window; 0 where no page shows it."""
    _plotly_version = Unicode(plotly.__version__).tag(sync=True)
    _plotly_code = Unicode().tag(sync=True)

    @default("_plotly_code")
    def _load_code(self) -> str:
        return _code()
