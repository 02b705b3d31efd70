// Pixels of the heading of an explorer's page.
const HEADING = 70;
const imported = (globalThis.cosimlibPlotly ??= new Map());

async function plotlyOf(model) {
  const version = model.get("_plotly_version");
  // A pinned figure brings no code: it waits for that of the live figure beside it.
  while (!imported.has(version) && !model.get("_plotly_code")) {
    await new Promise((resume) => setTimeout(resume, 50));
  }
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
      // JupyterLab scrolls a notebook in a box, where no heading is above the controls.
      const box = el.closest(".jp-WindowedPanel-outer");
      const height = box?.clientHeight ? box.clientHeight + HEADING : window.innerHeight;
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

// What the buttons under a figure ask of the browser.
function act({ download, name, copy, shown }) {
  if (download !== undefined) {
    const url = URL.createObjectURL(new Blob([download], { type: "text/csv" }));
    Object.assign(document.createElement("a"), { href: url, download: name }).click();
    setTimeout(() => URL.revokeObjectURL(url), 60_000);
  }
  if (copy !== undefined) {
    navigator.clipboard?.writeText(copy).catch(() => {});
    setTimeout(() => document.querySelector(`.${shown} textarea`)?.select(), 200);
  }
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
      model.on?.("msg:custom", act);
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
