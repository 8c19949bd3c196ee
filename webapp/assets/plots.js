/* Plots over tiles or liveness indices (webapp/graph_analyser/stepped_plot.py): click and shift-click select, dragging,
   wheel and overview strip zoom, arrow keys move. What is chosen goes into the selection, so into the URL.

   A page gives each plot a configuration (dcc.Store): {view, pick, also, count, order, peak}
     view   selection key of the visible window "first-last"     pick   key of what a click selects
     also   key of further choices, "" = `pick` itself is a list   order  ids by position, null = position + first
     peak   id that the key p selects
*/
(function () {
  "use strict";
  const plots = {};
  let shift = false;
  document.addEventListener("mousedown", (event) => { shift = event.shiftKey; }, true);
  document.addEventListener("mouseup", (event) => { shift = event.shiftKey; }, true);

  const no = () => window.dash_clientside.no_update;

  function parseList(text) {
    const ids = [];
    for (const part of (text || "").split(",")) {
      const [first, last] = part.split("-").map((each) => parseInt(each, 10));
      if (Number.isNaN(first)) continue;
      for (let id = first; id <= (Number.isNaN(last) || last === undefined ? first : last); id += 1) ids.push(id);
    }
    return ids;
  }

  function idAt(plot, position) {
    if (plot.order) return plot.order[position];
    return position + (plot.first || 0);
  }

  function positionOf(plot, id) {
    return plot.order ? plot.order.indexOf(id) : id - (plot.first || 0);
  }

  function chosen(plot) {
    const now = window.popvision.selection();
    const ids = parseList(now[plot.pick]);
    return plot.also ? ids.concat(parseList(now[plot.also])) : ids;
  }

  /* The patch that makes `ids` the choice; the first is the main one. */
  function patchOf(plot, ids) {
    const text = (list) => (list.length ? list.join(",") : null);
    return plot.also ? { [plot.pick]: text(ids.slice(0, 1)), [plot.also]: text(ids.slice(1)) } : { [plot.pick]: text(ids) };
  }

  function pick(plot, id, add) {
    const now = chosen(plot);
    if (!add) return window.popvision.select(patchOf(plot, now.length === 1 && now[0] === id ? [] : [id]));
    return window.popvision.select(patchOf(plot, now.includes(id) ? now.filter((each) => each !== id) : now.concat([id])));
  }

  function windowOf(plot) {
    const found = /^(\d+)-(\d+)$/.exec(window.popvision.selection()[plot.view] || "");
    return found ? [parseInt(found[1], 10), parseInt(found[2], 10)] : [0, plot.count - 1];
  }

  function setWindow(plot, from, to) {
    const first = Math.max(0, Math.min(Math.round(from), plot.count - 1));
    const last = Math.max(first, Math.min(Math.round(to), plot.count - 1));
    const whole = first === 0 && last === plot.count - 1;
    window.popvision.select({ [plot.view]: whole ? null : first + "-" + last });
  }

  function zoom(plot, factor) {
    const [first, last] = windowOf(plot);
    const middle = (first + last) / 2;
    const half = Math.max(1, ((last - first) / 2) * factor);
    setWindow(plot, middle - half, middle + half);
  }

  function move(plot, by, add) {
    const now = chosen(plot);
    const from = now.length ? positionOf(plot, now[now.length - 1]) : windowOf(plot)[0] - (by > 0 ? 1 : 0);
    const to = Math.max(0, Math.min(plot.count - 1, from + by));
    if (add) { if (!now.includes(idAt(plot, to))) pick(plot, idAt(plot, to), true); }
    else window.popvision.select(patchOf(plot, [idAt(plot, to)]));
    const [first, last] = windowOf(plot);
    if (to < first || to > last) setWindow(plot, to - (last - first) / 2, to + (last - first) / 2);
  }

  document.addEventListener("keydown", (event) => {
    const box = event.target.closest && event.target.closest("[data-plot]");
    const plot = box && plots[box.dataset.plot];
    if (!plot || event.target !== box || event.ctrlKey || event.metaKey || event.altKey) return;
    const actions = {
      ArrowRight: () => move(plot, 1, event.shiftKey),
      ArrowLeft: () => move(plot, -1, event.shiftKey),
      "+": () => zoom(plot, 0.5),
      "=": () => zoom(plot, 0.5),
      "-": () => zoom(plot, 2),
      0: () => setWindow(plot, 0, plot.count - 1),
      Home: () => setWindow(plot, 0, plot.count - 1),
      p: () => plot.peak !== null && window.popvision.select(patchOf(plot, [plot.peak])),
      Escape: () => window.popvision.select(patchOf(plot, [])),
    };
    if (!actions[event.key]) return;
    event.preventDefault();
    event.stopPropagation();
    actions[event.key]();
  });

  document.addEventListener("click", (event) => {
    const button = event.target.closest("[data-save-plot]");
    const graph = button && document.querySelector("#" + button.dataset.savePlot + " .js-plotly-plot");
    if (!graph || !window.Plotly) return;
    const ground = window.popvision.token("surface");
    const layout = Object.assign({}, graph.layout, { paper_bgcolor: ground, plot_bgcolor: ground });
    const kind = button.dataset.format;
    window.Plotly.downloadImage(
      { data: graph.data, layout },
      { format: kind, filename: button.dataset.name, width: graph.clientWidth, height: graph.clientHeight, scale: kind === "png" ? 2 : 1 },
    );
    const menu = button.closest("details");
    if (menu) menu.open = false;
  });

  window.dash_clientside = window.dash_clientside || {};
  window.dash_clientside.plots = {
    /* The keys of the selection that a part of a page depends on; no update while they stay the same. */
    keep: (selection, keys, before) => {
      const now = {};
      for (const key of keys) if (selection && selection[key] !== undefined) now[key] = selection[key];
      return JSON.stringify(now) === JSON.stringify(before) ? no() : now;
    },
    configure: (config) => { if (config) plots[config.name] = config; return no(); },
    clicked: (data, name) => {
      const plot = plots[name.split("-")[0]];
      if (!data || !data.points.length || !plot) return no();
      const point = data.points[0];
      const id = typeof point.customdata === "number" ? point.customdata : idAt(plot, Math.round(point.x));
      if (id !== undefined && id !== null) pick(plot, id, shift);
      return no();
    },
    zoomed: (change, name) => {
      const plot = plots[name.split("-")[0]];
      if (!change || !plot || !plot.view) return no();
      const range = change["xaxis.range"] || [change["xaxis.range[0]"], change["xaxis.range[1]"]];
      if (change["xaxis.autorange"]) setWindow(plot, 0, plot.count - 1);
      else if (range[0] !== undefined) setWindow(plot, Math.ceil(range[0] - 0.01), Math.floor(range[1] + 0.01));
      return no();
    },
    /* The addresses shown by the address map of a tile; all after a double click. */
    addressed: (change) => {
      if (!change) return no();
      const range = change["yaxis.range"] || [change["yaxis.range[0]"], change["yaxis.range[1]"]];
      if (change["yaxis.autorange"]) window.popvision.select({ mem_addr: null });
      else if (range[0] !== undefined) {
        const first = Math.max(0, Math.floor(range[0]));
        window.popvision.select({ mem_addr: first + "-" + Math.max(first + 1, Math.ceil(range[1])) });
      }
      return no();
    },
    /* A click on a row of a table of variables selects the variable of that row. */
    row: (rows) => {
      const cells = window.dash_clientside.callback_context.triggered.map((each) => each.value).filter(Boolean);
      const row = cells.length ? cells[0][0] : null;
      if (row && row.Id >= 0) window.popvision.select({ variable: row.Id });
      return no();
    },
    rows: () => {
      const cells = window.dash_clientside.callback_context.triggered.map((each) => each.value).filter(Boolean);
      if (!cells.length) return no();
      const ids = cells[0].map((row) => row.Id).filter((id) => id >= 0).slice(0, 6);
      if (ids.length) window.popvision.select({ mem_vars: ids.join(","), variable: ids[0] });
      return no();
    },
  };
})();
