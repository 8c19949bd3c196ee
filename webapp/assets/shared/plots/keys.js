// @ts-check
/* Keys of a plot that has the focus, or of the page's only plot: W A S D by position on the keyboard, arrows move
   the cursor, . and , go through search matches, m marks. */
import { select, selection } from "../../shell/viewer.js";
import { all } from "../dom.js";
import * as axis from "./axis.js";

/**
 * The plot that a key is meant for: the focused one, else the only plot of the page.
 *
 * @param {EventTarget | null} target
 */
function plotOf(target) {
  if (!(target instanceof HTMLElement)) return { plot: null, focused: false };
  const own = target.dataset.plot;
  if (own !== undefined) return { plot: axis.all[own], focused: true };
  const free = target === document.body || target.id === "page";
  const boxes = free ? all("#page [data-plot]:not([hidden])") : [];
  return { plot: boxes.length === 1 ? axis.all[boxes[0].dataset.plot || ""] : null, focused: false };
}

/**
 * On an axis of device time the cursor still goes through the indices.
 *
 * @param {PositionPlot} plot
 * @param {number} id
 */
const place = (plot, id) => (plot.span ? id : axis.positionOf(plot, id));

/** @param {PositionPlot} plot */
function cursor(plot) {
  const now = axis.chosen(plot);
  return now.length ? place(plot, now[now.length - 1]) : null;
}

/** @param {PositionPlot} plot */
function bits(plot) {
  if (!plot.bits) plot.bits = Uint8Array.from(window.atob(plot.hits || ""), (each) => each.charCodeAt(0));
  return plot.bits;
}

/**
 * The next match after the cursor, or before it; without a search the next position.
 *
 * @param {PositionPlot} plot
 * @param {number} by
 */
function step(plot, by) {
  if (!plot.hits) return axis.move(plot, by, false);
  const set = bits(plot);
  const from = cursor(plot);
  const count = plot.span ? plot.ids : plot.count;
  for (let at = from === null ? (by > 0 ? 0 : count - 1) : from + by; at >= 0 && at < count; at += by) {
    if (set[at >> 3] & (128 >> (at & 7))) return axis.goTo(plot, at, false);
  }
  return undefined;
}

/**
 * The next of the marked peaks to the right or left of the cursor.
 *
 * @param {PositionPlot} plot
 * @param {number} by
 */
function nextPeak(plot, by) {
  const at = cursor(plot);
  const places = (plot.peaks || []).map((id) => place(plot, id)).sort((a, b) => by * (a - b));
  const next = places.find((each) => at === null || by * (each - at) > 0);
  if (next !== undefined) axis.goTo(plot, next, false);
}

/** @param {PositionPlot} plot */
function fit(plot) {
  if (plot.span) return axis.setWindow(plot, 0, plot.count - 1);
  const places = axis
    .chosen(plot)
    .map((id) => axis.positionOf(plot, id))
    .filter((at) => at >= 0);
  if (!places.length && plot.fit) places.push(...plot.fit);
  if (!places.length) return axis.setWindow(plot, 0, plot.count - 1);
  const [first, last] = [Math.min(...places), Math.max(...places)];
  const room = Math.max(5, (last - first) * 0.15);
  return axis.setWindow(plot, first - room, last + room);
}

/** @param {PositionPlot} plot */
function mark(plot) {
  const at = cursor(plot);
  if (!plot.mark) return;
  const id = at === null ? null : String(axis.idAt(plot, at));
  select({ [plot.mark]: selection()[plot.mark] === id ? null : id });
}

/** @param {PositionPlot} plot */
function clear(plot) {
  if (axis.chosen(plot).length) axis.choose(plot, []);
  else if (plot.mark) select({ [plot.mark]: null });
}

/**
 * Positions to a pixel of a picture that merges them; 1 for a curve.
 *
 * @param {KeyboardEvent} event
 */
const stride = (event) => (event.target instanceof HTMLElement && Number(event.target.dataset.stride)) || 1;

/** @param {PositionPlot} plot */
const width = (plot) => {
  const [first, last] = axis.windowOf(plot);
  return last - first + 1;
};

/** @typedef {(plot: PositionPlot, event: KeyboardEvent) => void} KeyAction */

/** @type {Record<string, KeyAction>} */
const PLACES = {
  KeyW: (plot) => axis.zoom(plot, 0.5),
  KeyS: (plot) => axis.zoom(plot, 2),
  KeyA: (plot) => axis.pan(plot, -Math.max(1, width(plot) / 5)),
  KeyD: (plot) => axis.pan(plot, Math.max(1, width(plot) / 5)),
};

/** @type {Record<string, KeyAction>} */
const KEYS = {
  "+": PLACES.KeyW,
  "=": PLACES.KeyW,
  "-": PLACES.KeyS,
  0: (plot) => axis.setWindow(plot, 0, plot.count - 1),
  ".": (plot) => step(plot, 1),
  ",": (plot) => step(plot, -1),
  f: fit,
  m: mark,
  p: (plot) => plot.peak !== null && plot.peak !== undefined && axis.goTo(plot, place(plot, plot.peak), false),
  n: (plot) => nextPeak(plot, 1),
  N: (plot) => nextPeak(plot, -1),
  Escape: clear,
};

/* These scroll the page when the plot has no focus. */
/** @type {Record<string, KeyAction>} */
const FOCUSED = {
  ArrowRight: (plot, event) => axis.move(plot, stride(event), event.shiftKey),
  ArrowLeft: (plot, event) => axis.move(plot, -stride(event), event.shiftKey),
  PageDown: (plot) => axis.pan(plot, width(plot)),
  PageUp: (plot) => axis.pan(plot, -width(plot)),
  Home: (plot) => axis.setWindow(plot, 0, plot.count - 1),
};

document.addEventListener(
  "keydown",
  (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const { plot, focused } = plotOf(event.target);
    if (!plot || !plot.count) return;
    const action =
      (event.shiftKey ? null : PLACES[event.code]) || KEYS[event.key] || (focused ? FOCUSED[event.key] : null);
    if (!action) return;
    event.preventDefault();
    event.stopPropagation();
    action(plot, event);
  },
  true,
);
