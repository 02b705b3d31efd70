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
