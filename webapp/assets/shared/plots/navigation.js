// @ts-check
/* Navigation group of a plot (webapp/graph_analyser/plots/navigation.py): buttons, percentage and typed range. */
(() => {
  "use strict";
  const plots = popvision.plots;
  const PRESETS = [100, 200, 400, 800, 1600, 3200];
  const FOLDED = "popvision.plot-nav";

  function box(label, className) {
    const input = document.createElement("input");
    input.className = "box " + className;
    input.title = label;
    input.autocomplete = "off";
    input.setAttribute("aria-label", label);
    return input;
  }

  function presets(name) {
    const list = document.createElement("datalist");
    list.id = name + "-zoom-presets";
    list.append(
      ...PRESETS.map((percent) => Object.assign(document.createElement("option"), { value: percent + " %" })),
    );
    return list;
  }

  const number = (text) => parseFloat(String(text).replace(/[,\s%]/g, ""));
  const percentText = (percent) =>
    (percent < 1000 ? percent.toFixed(0) : Math.round(percent).toLocaleString("en-US")) + " %";

  function start(group) {
    const name = group.dataset.plotNav;
    const plot = () => plots.all[name] || { count: 0 };
    const percent = box("Zoom in percent; 100 % shows everything", "plot-nav-percent");
    const first = box("First position shown", "plot-nav-end");
    const last = box("Last position shown", "plot-nav-end");
    percent.setAttribute("list", name + "-zoom-presets");
    group.querySelector("[data-slot=percent]").replaceChildren(percent, presets(name));
    group.querySelector("[data-slot=range]").replaceChildren(first, "–", last);

    const show = () => {
      const now = plot();
      group.hidden = !now.count || !now.view;
      if (group.hidden) return;
      const [from, to] = plots.windowOf(now);
      const active = document.activeElement;
      if (active !== percent) percent.value = percentText((100 * now.count) / (to - from + 1));
      if (active !== first) first.value = plots.idAt(now, from).toLocaleString("en-US");
      if (active !== last) last.value = plots.idAt(now, to).toLocaleString("en-US");
    };
    const accept = (apply) => (event) => {
      const value = number(event.target.value);
      if (value >= 0) apply(value);
      event.target.blur();
      show();
    };
    const place = (id) => Math.max(0, Math.min(plot().count - 1, plots.positionOf(plot(), Math.round(id))));
    const wire = (input, apply) => {
      input.addEventListener("change", accept(apply));
      input.addEventListener("keydown", (event) => {
        if (event.key === "Escape") {
          show();
          input.blur();
        }
      });
    };
    wire(percent, (value) => plots.setWidth(plot(), (plot().count * 100) / Math.max(100, value)));
    wire(first, (value) => {
      const to = plots.windowOf(plot())[1];
      const at = place(value);
      plots.setWindow(plot(), at, Math.max(at, to));
    });
    wire(last, (value) => {
      const from = plots.windowOf(plot())[0];
      const at = place(value);
      plots.setWindow(plot(), Math.min(from, at), at);
    });

    const width = () => {
      const [from, to] = plots.windowOf(plot());
      return to - from + 1;
    };
    const actions = {
      in: () => plots.zoom(plot(), 0.5),
      out: () => plots.zoom(plot(), 2),
      back: () => plots.pan(plot(), -width()),
      on: () => plots.pan(plot(), width()),
      reset: () => reset(plot()),
      fold: () => fold(group, !group.classList.contains("folded")),
    };
    group.addEventListener("click", (event) => {
      const button = popvision.closest(event, "[data-plot-action]");
      if (button) actions[button.dataset.plotAction]();
    });

    fold(group, popvision.recall(FOLDED) === "folded");
    show();
    const stop = popvision.onSelect(show);
    document.addEventListener("popvision:plot", show);
    return () => {
      stop();
      document.removeEventListener("popvision:plot", show);
    };
  }

  function fold(group, folded) {
    group.classList.toggle("folded", folded);
    const button = group.querySelector('[data-plot-action="fold"]');
    const title = folded ? "Show the navigation" : "Fold the navigation away";
    button.title = title;
    button.setAttribute("aria-label", title);
    button.setAttribute("aria-expanded", String(!folded));
    popvision.remember(FOLDED, folded ? "folded" : "open");
  }

  /* Everything in sight again: the whole range, curves hidden through the legend, no mark. */
  function reset(plot) {
    plots.setWindow(plot, 0, plot.count - 1);
    popvision.select({ ...(plot.mark ? { [plot.mark]: null } : {}) });
    /** @type {any} */
    const graph = document.querySelector("#" + plot.name + "-plot .js-plotly-plot");
    if (graph && window.Plotly && graph.data.some((each) => each.visible === "legendonly"))
      window.Plotly.restyle(graph, { visible: true });
  }

  popvision.mount("[data-plot-nav]", start);
})();
