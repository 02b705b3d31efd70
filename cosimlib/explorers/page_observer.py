"""A widget without a face that measures the box of the widgets beside it, and the window."""

from anywidget import AnyWidget
from traitlets import Int

SCRIPT = """
function render({ model, el }) {
  let waiting = null;
  function measure() {
    clearTimeout(waiting);
    waiting = setTimeout(() => {
      const width = Math.floor(el.getBoundingClientRect().width);
      const height = window.innerHeight;
      if (width < 1 || (width === model.get("width") && height === model.get("height"))) return;
      model.set("width", width);
      model.set("height", height);
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
export default { render };
"""

STYLE = """
.explorer-text .widget-html-content { line-height: 1.45; }
.explorer-group .widget-html-content { line-height: 16px; font-size: 11px; }
"""
"""Lines of text are as close as in a notebook's prose, and headings of controls small."""


class PageObserver(AnyWidget):
    """Pixels of the box that it is shown in and of the window, from when a page shows it on.

    A live figure measures its box when the window's size changes and at no other time: neither when
    it is put on a page nor when a side bar opens. What it does not measure it can be told.
    """

    _esm = SCRIPT
    _css = STYLE
    width = Int(0).tag(sync=True)
    """Of the box; 0 where no page shows it."""
    height = Int(0).tag(sync=True)
    """Of the window; 0 where no page shows it."""
