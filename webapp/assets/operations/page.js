// @ts-check
/* Selection on the operations page: rows, levels of names, points of the roofline. graph.js draws the graph. */
import { Listeners } from "../shared/canvas/frame_loop.js";
import { all, closest } from "../shared/dom.js";
import { commands } from "../shell/commands.js";
import { mount, onSelect, select, selection } from "../shell/viewer.js";

/**
 * Select an operation by its debug context, a group by its name prefix.
 *
 * @param {number | null | undefined} context
 * @param {string} name
 */
function choose(context, name) {
  const single = context !== null && context !== undefined && context >= 0;
  select({ ops_at: single ? String(context) : null, ops_name: single ? null : name, program: null });
}

/* Open the selection: of a group the level below it, of an operation the graph of its parts. */
function open() {
  const now = selection();
  if (now.ops_at) select({ ops_view: "graph", ops_open: now.ops_at });
  else if (now.ops_name && !now.ops_name.startsWith("(")) {
    select({
      ops_under: now.ops_name,
      ops_group: now.ops_name.split("/").length + 1,
      ops_name: null,
      ops_open: null,
    });
  }
}

function up() {
  const now = selection();
  if (now.ops_open) {
    select({ ops_open: null });
    return;
  }
  if (!now.ops_under) return;
  const parts = now.ops_under.split("/").slice(0, -1);
  select({ ops_under: parts.join("/") || null, ops_group: parts.length + 1, ops_at: null, ops_name: now.ops_under });
}

/**
 * Menus and switches of the toolbar show the selection.
 *
 * @param {HTMLElement} page
 */
function followMenus(page) {
  /** @type {HTMLSelectElement | null} */
  const menu = page.querySelector('select[data-param="ops_group"]');
  const view = selection().ops_view || "";
  /** @type {HTMLElement | null} */
  const columns = page.querySelector(".toolbar .options");
  if (columns) columns.hidden = view !== "";
  if (menu) menu.value = selection().ops_group || "";
  for (const each of all('[data-param="ops_view"]', page)) {
    each.setAttribute("aria-checked", each.dataset.value === view ? "true" : "false");
  }
}

mount(".ops-page", (page) => {
  const { add } = commands;
  const listeners = new Listeners();
  const removers = [
    add({
      title: "Open the selected operation or group",
      key: "o",
      keys: "o",
      run: open,
      when: () => Boolean(selection().ops_at || selection().ops_name),
    }),
    add({
      title: "Up one level of operations",
      key: "u",
      keys: "u",
      run: up,
      when: () => Boolean(selection().ops_under || selection().ops_open),
    }),
    add({
      title: "Clear the selected operation",
      key: "Escape",
      keys: "Esc",
      run: () => select({ ops_at: null, ops_name: null }),
      when: () => Boolean(selection().ops_at || selection().ops_name),
    }),
  ];
  removers.forEach((remove) => listeners.add(remove));
  listeners.on(page, "click", (event) => {
    const crumb = closest(event, "[data-ops-under]");
    if (crumb)
      select({
        ops_under: crumb.dataset.opsUnder || null,
        ops_group: crumb.dataset.opsGroup,
        ops_at: null,
        ops_name: null,
        ops_open: null,
      });
  });
  listeners.on(page, "dblclick", (event) => {
    if (closest(event, ".ops-main .ag-row")) open();
  });
  listeners.add(onSelect(() => followMenus(page)));
  followMenus(page);
  return () => listeners.stop();
});

/**
 * A ring around the point of the selected operation or group.
 *
 * @param {any} plot
 */
function markPoint(plot) {
  const traces = /** @type {{ customdata?: [number, string][] }[]} */ (plot.data || []);
  const at = traces.findIndex((trace) => trace.customdata);
  if (at < 0) return;
  const { ops_at, ops_name } = selection();
  const marked = (traces[at].customdata || []).map(([context, name]) =>
    ops_at ? String(context) === ops_at : Boolean(ops_name) && name === ops_name,
  );
  const colours = getComputedStyle(document.documentElement);
  const [ring, edge] = ["--ink", "--surface"].map((name) => colours.getPropertyValue(name).trim());
  const change = {
    "marker.line.width": [marked.map((is) => (is ? 3 : 1))],
    "marker.line.color": [marked.map((is) => (is ? ring : edge))],
  };
  window.Plotly.restyle(plot, change, [at]);
}

mount(".ops-roof .js-plotly-plot", (plot) => {
  plot.on("plotly_click", (/** @type {{ points: { customdata?: [number, string] }[] }} */ data) => {
    const point = data.points.find((each) => each.customdata);
    if (point && point.customdata) choose(point.customdata[0], point.customdata[1]);
  });
  markPoint(plot);
  return onSelect(() => markPoint(plot));
});

const callbacks = {
  /** @param {Record<string, any>[][] | null} chosen rows of each table */
  rows: (chosen) => {
    const row = (chosen || []).flat().find((each) => each);
    if (row) choose(row.context, row.name);
    return window.dash_clientside.no_update;
  },
  /** @param {Record<string, any>[][] | null} chosen rows of each table */
  parts: (chosen) => {
    const row = (chosen || []).flat().find((each) => each);
    if (row && row.id !== undefined) select({ program: row.id });
    else if (row && row.variable !== undefined) select({ variable: row.variable });
    return window.dash_clientside.no_update;
  },
};

export { choose, open, callbacks };
