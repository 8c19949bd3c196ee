// @ts-check
/* The axis of bytes of a plot follows the curves that its legend shows: a small curve fills the plot once a large one
   is hidden. The rule is that of bytes_axis (webapp/graph_analyser/plots/bytes_axis.py): 6 % above the highest. */
import { byteTicks } from "../formats.js";

const ROOM = 1.06;
const CLOSE = 0.001; // share of the axis below which it stays

/**
 * The highest value drawn in the visible positions; the curves of a stack add up.
 *
 * @param {any} graph a Plotly element
 */
function highest(graph) {
  const [first, last] = graph._fullLayout.xaxis.range;
  /** @type {Map<string, Map<number, number>>} */
  const stacks = new Map();
  let top = 0;
  graph._fullData.forEach((/** @type {any} */ curve, /** @type {number} */ index) => {
    if (curve.visible !== true || curve.mode !== "lines") return;
    const { x, y, stackgroup } = graph.data[index];
    const sums = stacks.get(stackgroup || "") || new Map();
    for (let at = 0; at < x.length; at += 1) {
      if (x[at] < first || x[at] > last || y[at] === null) continue;
      const value = stackgroup ? (sums.get(x[at]) || 0) + y[at] : y[at];
      if (stackgroup) sums.set(x[at], value);
      top = Math.max(top, value);
    }
    if (stackgroup) stacks.set(stackgroup, sums);
  });
  return top;
}

/** @param {any} graph */
function fit(graph) {
  const { yaxis } = graph.layout;
  if (!yaxis || !yaxis.ticktext || yaxis.range[0] < 0) return;
  const top = highest(graph);
  const end = Math.max(top, 1) * ROOM;
  if (!top || Math.abs(yaxis.range[1] - end) < CLOSE * end) return;
  const ticks = byteTicks(top);
  /** @type {Record<string, unknown>} */
  const change = {};
  for (const axis of graph.layout.yaxis2 ? ["yaxis", "yaxis2"] : ["yaxis"])
    Object.assign(change, {
      [axis + ".range"]: [0, end],
      [axis + ".tickvals"]: ticks.map((tick) => tick.value),
      [axis + ".ticktext"]: ticks.map((tick) => tick.text),
    });
  window.Plotly.relayout(graph, change);
}

const callbacks = {
  /**
   * Curves were hidden or shown (Plotly's restyleData), or the server drew anew while some are hidden.
   *
   * @param {any} change
   * @param {any} figure
   * @param {string} id
   */
  rescaled: (change, figure, id) => {
    /** @type {any} */
    const graph = document.querySelector(`#${id} .js-plotly-plot`);
    if (!graph || !graph._fullData) return window.dash_clientside.no_update;
    const byLegend = window.dash_clientside.callback_context.triggered.some((/** @type {any} */ each) =>
      String(each.prop_id).endsWith("restyleData"),
    );
    if (byLegend) fit(graph);
    else if (graph._fullData.some((/** @type {any} */ curve) => curve.visible === "legendonly"))
      graph.once("plotly_afterplot", () => fit(graph));
    return window.dash_clientside.no_update;
  },
};

export { callbacks };
