"""A widget without a face that measures the room of the widgets beside it."""

from anywidget import AnyWidget
from traitlets import Int

SCRIPT = """
function render({ model, el }) {
  let waiting = null;
  const watch = new ResizeObserver(([entry]) => {
    const width = Math.floor(entry.contentRect.width);
    clearTimeout(waiting);
    waiting = setTimeout(() => {
      if (width < 1 || width === model.get("width")) return;
      model.set("width", width);
      model.save_changes();
    }, 100);
  });
  watch.observe(el);
  return () => watch.disconnect();
}
export default { render };
"""


class WidthObserver(AnyWidget):
    """Width in pixels of the box that it is shown in, once a page shows it, and ever after.

    A live figure measures its box when the window's size changes and at no other time: neither when
    it is put on a page nor when a side bar opens. What it does not measure it can be told.
    """

    _esm = SCRIPT
    width = Int(0).tag(sync=True)
    """0 where no page shows it."""
