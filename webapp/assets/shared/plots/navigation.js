// @ts-check
/* Navigation group of a plot (webapp/graph_analyser/plots/page.py): buttons, percentage and typed range. */
import { mount, onSelect, recall, remember, select } from "../../shell/viewer.js";
import { Listeners } from "../canvas/frame_loop.js";
import { percentText } from "../canvas/zoom_box.js";
import * as dom from "../dom.js";
import * as axis from "./axis.js";

const PRESETS = [100, 200, 400, 800, 1600, 3200];
/** @type {PositionPlot} */
const NO_PLOT = { name: "", view: "", pick: "", also: "", count: 0, first: 0, order: null, ids: 0 };
const FOLDED = "popvision.plot-nav";
/* A low window has room for the plot alone until somebody opens the navigation. */
const low = window.matchMedia("(max-height: 760px)");

/** @param {string} text */
const number = (text) => parseFloat(String(text).replace(/[,\s%]/g, ""));

/**
 * @param {string} label
 * @param {string} className
 */
function makeBox(label, className) {
  const box = Object.assign(document.createElement("input"), { className: "box " + className, title: label });
  box.autocomplete = "off";
  box.setAttribute("aria-label", label);
  return box;
}

/** @param {string} name */
function presets(name) {
  const list = document.createElement("datalist");
  list.id = name + "-zoom-presets";
  list.append(...PRESETS.map((percent) => Object.assign(document.createElement("option"), { value: percent + " %" })));
  return list;
}

/** @type {Record<string, (navigation: Navigation) => void>} */
const ACTIONS = {
  in: ({ plot }) => axis.zoom(plot, 0.5),
  out: ({ plot }) => axis.zoom(plot, 2),
  back: ({ plot, width }) => axis.pan(plot, -width),
  on: ({ plot, width }) => axis.pan(plot, width),
  reset: ({ plot }) => reset(plot),
  fold: (navigation) => {
    const isFolded = !navigation.group.classList.contains("folded");
    navigation.fold(isFolded);
    remember(FOLDED, isFolded ? "folded" : "open");
  },
};

class Navigation {
  /** @param {HTMLElement} group */
  constructor(group) {
    this.group = group;
    this.name = group.dataset.plotNav || "";
    this.percent = makeBox("Zoom in percent; 100 % shows everything", "plot-nav-percent");
    this.first = makeBox("First position shown", "plot-nav-end");
    this.last = makeBox("Last position shown", "plot-nav-end");
    this.percent.setAttribute("list", this.name + "-zoom-presets");
    dom.part("[data-slot=percent]", group).replaceChildren(this.percent, presets(this.name));
    dom.part("[data-slot=range]", group).replaceChildren(this.first, "–", this.last);
    this.wire(this.percent, (value) => axis.setWidth(this.plot, (this.plot.count * 100) / Math.max(100, value)));
    this.wire(this.first, (value) => {
      const at = this.position(value);
      axis.setWindow(this.plot, at, Math.max(at, axis.windowOf(this.plot)[1]));
    });
    this.wire(this.last, (value) => {
      const at = this.position(value);
      axis.setWindow(this.plot, Math.min(axis.windowOf(this.plot)[0], at), at);
    });
    group.addEventListener("click", (event) => {
      const button = dom.closest(event, "[data-plot-action]");
      if (button) ACTIONS[button.dataset.plotAction || ""](this);
    });
    this.fold((recall(FOLDED) || (low.matches ? "folded" : "open")) === "folded");
    this.show();
  }

  get plot() {
    return axis.all[this.name] || NO_PLOT;
  }

  /* Positions in the window. */
  get width() {
    const [from, to] = axis.windowOf(this.plot);
    return to - from + 1;
  }

  /**
   * The position of an id that was typed.
   *
   * @param {number} id
   */
  position(id) {
    return Math.max(0, Math.min(this.plot.count - 1, axis.positionOf(this.plot, Math.round(id))));
  }

  /**
   * @param {HTMLInputElement} input
   * @param {(value: number) => void} apply
   */
  wire(input, apply) {
    input.addEventListener("change", () => {
      const value = number(input.value);
      if (value >= 0) apply(value);
      input.blur();
      this.show();
    });
    input.addEventListener("keydown", (event) => {
      if (event.key !== "Escape") return;
      this.show();
      input.blur();
    });
  }

  /* A box that is being typed in keeps its text. */
  show() {
    const { plot, percent, first, last } = this;
    this.group.hidden = !plot.count || !plot.view;
    if (this.group.hidden) return;
    const [from, to] = axis.windowOf(plot);
    const active = document.activeElement;
    if (active !== percent) percent.value = percentText((100 * plot.count) / (to - from + 1));
    if (active !== first) first.value = axis.idAt(plot, from).toLocaleString("en-US");
    if (active !== last) last.value = axis.idAt(plot, to).toLocaleString("en-US");
    const letters = Math.max(first.value.length, last.value.length);
    for (const box of [first, last]) box.style.width = `calc(${letters}ch + 18px)`;
  }

  /** @param {boolean} isFolded */
  fold(isFolded) {
    this.group.classList.toggle("folded", isFolded);
    const button = dom.part('[data-plot-action="fold"]', this.group);
    button.title = isFolded ? "Show the navigation" : "Fold the navigation away";
    button.setAttribute("aria-label", button.title);
    button.setAttribute("aria-expanded", String(!isFolded));
  }
}

/**
 * Everything in sight again: the whole range, curves hidden through the legend, no mark.
 *
 * @param {PositionPlot} plot
 */
function reset(plot) {
  axis.setWindow(plot, 0, plot.count - 1);
  select({ ...(plot.mark ? { [plot.mark]: null } : {}) });
  /** @type {any} */
  const graph = document.querySelector("#" + plot.name + "-plot .js-plotly-plot");
  if (
    graph &&
    window.Plotly &&
    graph.data.some((/** @type {{ visible?: unknown }} */ each) => each.visible === "legendonly")
  )
    window.Plotly.restyle(graph, { visible: true });
}

/**
 * Plotly leaves the reading of all curves of one axis in place when the next figure has another.
 *
 * @param {string} name
 */
function removeReading(name) {
  for (const part of dom.all("#" + name + "-plot .hoverlayer > *")) part.remove();
}

mount("[data-plot-nav]", (group) => {
  const navigation = new Navigation(group);
  const listeners = new Listeners();
  listeners.add(onSelect(() => navigation.show()));
  listeners.on(document, "popvision:plot", () => {
    navigation.show();
    removeReading(navigation.name);
  });
  return () => listeners.stop();
});
