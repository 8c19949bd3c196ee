// @ts-check
/* Position axis of plots over tiles or liveness indices (webapp/graph_analyser/plots/stepped_plot.py): window,
   cursor and selection, all in the URL. Click and shift-click select; dragging, wheel and overview strip zoom.

   A page configures each plot in a dcc.Store: {name, view, pick, also, count, first, order, peak, peaks, mark,
   hits}.

     view   selection key of the visible window "first-last"
     pick   selection key that a click writes
     also   selection key of further choices; "" = `pick` holds a list
     order  ids by position; null = position + first
     peak   id that the key p selects; peaks: ids of the others
     mark   selection key of the marked id; "" = none
     hits   positions that match the page's search, a bit set in base64 (most significant bit first); "" = no search
     span   [first key, last key] of the selection: a half-open window of ids that replaces `view`. The axis is device
            cycles, and a click selects one of `ids` liveness indices
     fit    [first, last] positions that the key f shows when nothing is selected; null = none
*/
import * as viewer from "../../shell/viewer.js";

/** @type {Record<string, PositionPlot>} */
const plots = {};
let shift = false;
document.addEventListener(
  "mousedown",
  (event) => {
    shift = event.shiftKey;
  },
  true,
);
document.addEventListener(
  "mouseup",
  (event) => {
    shift = event.shiftKey;
  },
  true,
);

const no = () => window.dash_clientside.no_update;

/** @param {string | undefined} text */
function parseList(text) {
  const ids = [];
  for (const part of (text || "").split(",")) {
    const [first, last] = part.split("-").map((each) => parseInt(each, 10));
    if (Number.isNaN(first)) continue;
    for (let id = first; id <= (Number.isNaN(last) || last === undefined ? first : last); id += 1) ids.push(id);
  }
  return ids;
}

/**
 * @param {PositionPlot} plot
 * @param {number} position
 */
function idAt(plot, position) {
  if (plot.order) return plot.order[position];
  return position + (plot.first || 0);
}

/**
 * @param {PositionPlot} plot
 * @param {number} id
 */
function positionOf(plot, id) {
  return plot.order ? plot.order.indexOf(id) : id - (plot.first || 0);
}

/** @param {PositionPlot} plot */
function chosen(plot) {
  const now = viewer.selection();
  const ids = parseList(now[plot.pick]);
  return plot.also ? ids.concat(parseList(now[plot.also])) : ids;
}

/**
 * The patch that makes `ids` the choice; the first is the main one.
 *
 * @param {PositionPlot} plot
 * @param {number[]} ids
 */
function patchOf(plot, ids) {
  /** @param {number[]} list */
  const text = (list) => (list.length ? list.join(",") : null);
  return plot.also /* liveness indices: a program selected elsewhere is not theirs */
    ? { [plot.pick]: text(ids.slice(0, 1)), [plot.also]: text(ids.slice(1)), program: null }
    : { [plot.pick]: text(ids) };
}

/**
 * @param {PositionPlot} plot
 * @param {number[]} ids
 */
function choose(plot, ids) {
  viewer.select(patchOf(plot, ids));
}

/**
 * @param {PositionPlot} plot
 * @param {number} id
 * @param {boolean} add
 */
function pick(plot, id, add) {
  const now = chosen(plot);
  if (!add) return choose(plot, now.length === 1 && now[0] === id ? [] : [id]);
  return choose(plot, now.includes(id) ? now.filter((each) => each !== id) : now.concat([id]));
}

/** @param {PositionPlot} plot */
function windowOf(plot) {
  const now = viewer.selection();
  const text = plot.span
    ? Number(now[plot.span[0]]) - plot.first + "-" + (Number(now[plot.span[1]]) - plot.first - 1)
    : now[plot.view] || "";
  const match = /^(\d+)-(\d+)$/.exec(text);
  if (!match) return [0, plot.count - 1];
  const first = Math.min(parseInt(match[1], 10), plot.count - 1);
  return [first, Math.max(first, Math.min(parseInt(match[2], 10), plot.count - 1))];
}

/**
 * @param {PositionPlot} plot
 * @param {number} from
 * @param {number} to
 */
function setWindow(plot, from, to) {
  if (!plot.view) return;
  const first = Math.max(0, Math.min(Math.round(from), plot.count - 1));
  const last = Math.max(first, Math.min(Math.round(to), plot.count - 1));
  const isAll = first === 0 && last === plot.count - 1;
  if (plot.span) {
    const [begin, end] = isAll ? [null, null] : [first + plot.first, last + plot.first + 1];
    viewer.selectWindow({ [plot.span[0]]: begin, [plot.span[1]]: end });
    return;
  }
  viewer.selectWindow({ [plot.view]: isAll ? null : first + "-" + last });
}

/**
 * Move the window by `by` positions; at an end of the series it stops and keeps its width.
 *
 * @param {PositionPlot} plot
 * @param {number} by
 */
function pan(plot, by) {
  const [first, last] = windowOf(plot);
  const step = Math.max(-first, Math.min(Math.round(by), plot.count - 1 - last));
  setWindow(plot, first + step, last + step);
}

/**
 * The position that zooming keeps in sight: the cursor where it is visible, else the middle.
 *
 * @param {PositionPlot} plot
 * @param {number} first
 * @param {number} last
 */
function anchor(plot, first, last) {
  const now = (plot.span ? [] : chosen(plot))
    .map((id) => positionOf(plot, id))
    .filter((at) => at >= first && at <= last);
  return now.length ? now[now.length - 1] : (first + last) / 2;
}

/**
 * Show `width` positions, the anchor at the same place of the window.
 *
 * @param {PositionPlot} plot
 * @param {number} width
 */
function setWidth(plot, width) {
  const [first, last] = windowOf(plot);
  const wide = Math.max(1, Math.min(plot.count, Math.round(width)));
  const at = anchor(plot, first, last);
  const share = last > first ? (at - first) / (last - first) : 0.5;
  const begin = Math.max(0, Math.min(Math.round(at - share * (wide - 1)), plot.count - wide));
  setWindow(plot, begin, begin + wide - 1);
}

/**
 * @param {PositionPlot} plot
 * @param {number} factor
 */
function zoom(plot, factor) {
  const [first, last] = windowOf(plot);
  const width = last - first + 1;
  const wanted = Math.round(width * factor);
  setWidth(plot, wanted === width ? width + (factor > 1 ? 1 : -1) : wanted);
}

/**
 * Keep the width, but make a position visible.
 *
 * @param {PositionPlot} plot
 * @param {number} position
 */
function reveal(plot, position) {
  const [first, last] = windowOf(plot);
  if (position < first) pan(plot, position - first);
  if (position > last) pan(plot, position - last);
}

/**
 * @param {PositionPlot} plot
 * @param {number} by
 * @param {boolean} add
 */
function move(plot, by, add) {
  const now = chosen(plot);
  if (plot.span) {
    const next = now.length ? now[now.length - 1] + by : 0;
    choose(plot, [Math.max(0, Math.min(plot.ids - 1, next))]);
    return;
  }
  const from = now.length ? positionOf(plot, now[now.length - 1]) : windowOf(plot)[0] - (by > 0 ? 1 : 0);
  goTo(plot, Math.max(0, Math.min(plot.count - 1, from + by)), add);
}

/**
 * @param {PositionPlot} plot
 * @param {number} position
 * @param {boolean} add
 */
function goTo(plot, position, add) {
  if (plot.span) {
    choose(plot, [position]);
    return;
  }
  const id = idAt(plot, position);
  if (add) {
    if (!chosen(plot).includes(id)) pick(plot, id, true);
  } else choose(plot, [id]);
  reveal(plot, position);
}

/**
 * Rows selected in the table whose callback runs.
 *
 * @returns {Record<string, any>[]}
 */
function triggeredRows() {
  /** @type {{ value: Record<string, any>[] | null }[]} */
  const triggered = window.dash_clientside.callback_context.triggered;
  return triggered.map((each) => each.value || []).find((rows) => rows.length) || [];
}

const callbacks = {
  /* The keys of the selection that a part of a page depends on; no update while they stay the same. */
  /**
   * @param {PageSelection | null} selection
   * @param {string[]} keys
   * @param {PageSelection | null} before
   */
  keep: (selection, keys, before) => {
    /** @type {PageSelection} */
    const now = {};
    for (const key of keys) if (selection && selection[key] !== undefined) now[key] = selection[key];
    return JSON.stringify(now) === JSON.stringify(before) ? no() : now;
  },
  /** @param {PositionPlot | null} config */
  configure: (config) => {
    if (config) {
      plots[config.name] = config;
      document.dispatchEvent(new CustomEvent("popvision:plot", { detail: config.name }));
    }
    return no();
  },
  /**
   * @param {any} data Plotly's clickData
   * @param {string} name
   */
  clicked: (data, name) => {
    const plot = plots[name.split("-")[0]];
    if (!data || !data.points.length || !plot) return no();
    const point = data.points[0];
    const id = typeof point.customdata === "number" ? point.customdata : idAt(plot, Math.round(point.x));
    if (id !== undefined && id !== null) pick(plot, id, shift);
    return no();
  },
  /**
   * @param {any} change Plotly's relayoutData
   * @param {string} name
   */
  zoomed: (change, name) => {
    const plot = plots[name.split("-")[0]];
    if (!change || !plot || !plot.view) return no();
    const range = change["xaxis.range"] || [change["xaxis.range[0]"], change["xaxis.range[1]"]];
    if (change["xaxis.autorange"]) setWindow(plot, 0, plot.count - 1);
    else if (plot.span && range[0] !== undefined) setWindow(plot, range[0] - plot.first, range[1] - plot.first - 1);
    else if (range[0] !== undefined) setWindow(plot, Math.ceil(range[0] - 0.01), Math.floor(range[1] + 0.01));
    return no();
  },
  /* A click on a row of a table of variables selects the variable of that row. */
  row: () => {
    const row = triggeredRows()[0];
    if (row && row.variable >= 0) viewer.select({ variable: row.variable });
    return no();
  },
  /* A click on a row of a table of steps selects the liveness index of that row. */
  index: () => {
    const row = triggeredRows()[0];
    if (row && row.liveness_index >= 0) viewer.select({ liveness: row.liveness_index, live_also: null, program: null });
    return no();
  },
  rows: () => {
    const ids = triggeredRows()
      .map((row) => row.variable)
      .filter((id) => id >= 0)
      .slice(0, 6);
    if (ids.length) viewer.select({ mem_vars: ids.join(","), variable: ids[0] });
    return no();
  },
};

export {
  plots as all,
  chosen,
  choose,
  idAt,
  positionOf,
  windowOf,
  setWindow,
  setWidth,
  pan,
  zoom,
  move,
  goTo,
  callbacks,
};
