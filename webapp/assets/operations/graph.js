// @ts-check
/* Graph of operations: boxes and arrows placed by the server (webapp/graph_analyser/operations/routes.py), as SVG
   that zooms and moves. The visible part stands in the URL as ops_zoom = scale,left,top. Boxes are buttons; arrow
   keys go to the nearest box. */
import { Listeners } from "../shared/canvas/frame_loop.js";
import { followDrags, pointIn, wheelOf } from "../shared/canvas/pointer.js";
import { closest } from "../shared/dom.js";
import { keyOf } from "../shell/commands.js";
import * as viewer from "../shell/viewer.js";
import { choose, open } from "./page.js";

const NS = "http://www.w3.org/2000/svg";
const LETTERS = 24;
const REST = 250; /* ms without movement before the URL follows */
const MOST = 4,
  LEAST = 0.05;
const READABLE = 0.95; /* least scale of a first view: names of 12 px stay 11 px high */

/**
 * Where a drawing begins on a page so that the point lies in the middle, without room beyond its ends.
 *
 * @param {number} point
 * @param {number} length
 * @param {number} room
 */
function placed(point, length, room) {
  if (length + 16 <= room) return (room - length) / 2;
  return Math.max(room - length - 8, Math.min(8, room / 2 - point));
}

/**
 * @param {string} name
 * @param {Record<string, string | number>} attributes
 * @param {Element} [parent]
 */
function make(name, attributes, parent) {
  const element = document.createElementNS(NS, name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, String(value));
  if (parent) parent.appendChild(element);
  return element;
}

/**
 * Cut the middle of a name: its end tells operations apart, its beginning says where they are.
 *
 * @param {string} text
 * @param {number} most
 */
function cut(text, most) {
  if (text.length <= most) return text;
  const tail = Math.ceil(most * 0.6);
  return text.slice(0, most - tail - 1) + "…" + text.slice(-tail);
}

/**
 * Squeeze the lines of text that are wider than their boxes. All are measured before the first is changed.
 *
 * @param {Element} drawing
 * @param {number} width
 */
function squeeze(drawing, width) {
  const room = width - 8;
  const wide = [...drawing.querySelectorAll("text")].filter((line) => line.getComputedTextLength() > room);
  for (const line of wide) {
    line.setAttribute("textLength", String(room));
    line.setAttribute("lengthAdjust", "spacingAndGlyphs");
  }
}

/**
 * @param {OperationEdge} edge
 * @param {[number, number]} box
 */
function path(edge, [width, height]) {
  const points = edge.points.map(([x, y]) => [x, y]);
  const last = points.length - 1;
  if (edge.back) {
    const [from, to] = [points[0], points[last]];
    const out = Math.max(from[0], to[0]) + width / 2 + 34 + Math.abs(from[1] - to[1]) / 12;
    return `M${from[0] + width / 2},${from[1]} C${out},${from[1]} ${out},${to[1]} ${to[0] + width / 2 + 5},${to[1]}`;
  }
  points[0][1] += height / 2;
  points[last][1] -= height / 2 + 5;
  let drawn = `M${points[0][0]},${points[0][1]}`;
  for (let at = 1; at <= last; at += 1) {
    const [a, b] = [points[at - 1], points[at]];
    const middle = (a[1] + b[1]) / 2;
    drawn += ` C${a[0]},${middle} ${b[0]},${middle} ${b[0]},${b[1]}`;
  }
  return drawn;
}

/** @type {Record<string, string>} */
const KINDS = {
  rest: "not attributed",
  outside: "left out",
  more: "operations without a box of their own",
  input: "variable written by other operations",
};

/** @param {OperationNode} node */
function spoken(node) {
  const kind = KINDS[node.kind] || node.kind;
  return `${node.name}, ${kind}${node.detail ? ", " + node.detail : ""}`;
}

class Graph {
  /**
   * @param {HTMLElement} host
   * @param {OperationGraph} data
   */
  constructor(host, data) {
    this.host = host;
    this.data = data;
    /** @type {number[]} scale, left and top of the drawing */
    this.view = [1, 0, 0];
    this.timer = 0;
    this.svg = make("svg", { class: "ops-svg", role: "presentation" });
    const defs = make("defs", {}, this.svg);
    for (const name of ["arrow", "arrow-near"]) {
      const marker = make(
        "marker",
        {
          id: `ops-${name}`,
          class: name,
          viewBox: "0 0 8 8",
          refX: 5,
          refY: 4,
          markerWidth: 8,
          markerHeight: 8,
          markerUnits: "userSpaceOnUse",
          orient: "auto",
        },
        defs,
      );
      make("path", { d: "M0,0.5 L8,4 L0,7.5 z" }, marker);
    }
    this.scene = make("g", {}, this.svg);
    this.edges = data.edges.map((edge) => this.edge(edge));
    this.nodes = data.nodes.map((node, at) => this.node(node, at));
    host.appendChild(this.svg);
    squeeze(this.svg, data.box[0]);
    this.current = 0;
    this.view = this.viewInAddress() || this.fit();
    this.draw();
    this.follow(viewer.selection());
  }

  stop() {
    window.clearTimeout(this.timer);
    this.svg.remove();
  }

  /** @param {OperationEdge} edge */
  edge(edge) {
    const line = make(
      "path",
      {
        d: path(edge, this.data.box),
        class: "ops-edge" + (edge.back ? " back" : ""),
        "marker-end": "url(#ops-arrow)",
        "stroke-width": Math.max(1, Math.min(5, Math.log10(edge.bytes + 1) - 2)),
      },
      this.scene,
    );
    make("title", {}, line).textContent =
      `${this.data.nodes[edge.source].name} → ${this.data.nodes[edge.target].name}: ${edge.text}`;
    return line;
  }

  /**
   * @param {OperationNode} node
   * @param {number} at
   */
  node(node, at) {
    const [width, height] = this.data.box;
    const group = make(
      "g",
      {
        class: `ops-node ops-${node.kind}${node.found === false ? " unfound" : ""}`,
        role: "button",
        tabindex: at ? -1 : 0,
        "aria-label": spoken(node),
        transform: `translate(${node.x - width / 2},${node.y - height / 2})`,
        "data-at": at,
      },
      this.scene,
    );
    make("title", {}, group).textContent = spoken(node);
    make(
      "rect",
      {
        width,
        height,
        rx: node.kind === "program" ? 12 : ["variable", "input"].includes(node.kind) ? 0 : 6,
        class: "ops-box" + (node.type ? " type-" + node.type : ""),
      },
      group,
    );
    if (node.share)
      make(
        "rect",
        {
          x: 1,
          y: height - 4,
          height: 3,
          width: Math.max(1, (width - 2) * Math.min(1, node.share)),
          class: "ops-share",
        },
        group,
      );
    make("text", { x: width / 2, y: 19, class: "ops-name" }, group).textContent = cut(node.short || node.name, LETTERS);
    make("text", { x: width / 2, y: 34, class: "ops-detail" }, group).textContent = cut(node.detail, LETTERS + 8);
    return group;
  }

  /* ---- the visible part ---- */

  fit() {
    const box = this.host.getBoundingClientRect();
    const scale = Math.min(1.4, (box.width - 16) / this.data.width, (box.height - 16) / this.data.height);
    if (scale >= READABLE) {
      return [scale, (box.width - this.data.width * scale) / 2, (box.height - this.data.height * scale) / 2];
    }
    const { x, y } = this.data.nodes[this.main()];
    return [
      READABLE,
      placed(x * READABLE, this.data.width * READABLE, box.width),
      placed(y * READABLE, this.data.height * READABLE, box.height),
    ];
  }

  /* The box that a graph larger than the page opens at: the selected one, else that with the largest share. */
  main() {
    const { ops_at, ops_name } = viewer.selection();
    const { nodes } = this.data;
    const selected = nodes.findIndex((node) =>
      ops_at ? String(node.context) === ops_at : Boolean(ops_name) && node.name === ops_name,
    );
    if (selected >= 0) return selected;
    return nodes.reduce((most, node, at) => ((node.share || 0) > (nodes[most].share || 0) ? at : most), 0);
  }

  /* ops_zoom, null when it is missing or malformed. */
  viewInAddress() {
    const parts = (viewer.selection().ops_zoom || "").split(",").map(Number);
    const isView = parts.length === 3 && parts.every(Number.isFinite) && parts[0] >= LEAST && parts[0] <= MOST;
    return isView ? parts : null;
  }

  draw() {
    const [scale, left, top] = this.view;
    this.scene.setAttribute("transform", `translate(${left},${top}) scale(${scale})`);
  }

  /** @param {number[]} view */
  moved(view) {
    this.view = view;
    this.draw();
    window.clearTimeout(this.timer);
    this.timer = viewer.later(() => {
      const zoom = [view[0].toFixed(3), Math.round(view[1]), Math.round(view[2])].join(",");
      if (this.host.isConnected) viewer.selectWindow({ ops_zoom: zoom });
    }, REST);
  }

  /**
   * What lies at `point` stays there; by default the middle.
   *
   * @param {number} factor
   */
  zoom(factor, point = { x: this.host.clientWidth / 2, y: this.host.clientHeight / 2 }) {
    const [scale, left, top] = this.view;
    const next = Math.max(LEAST, Math.min(MOST, scale * factor));
    this.moved([next, point.x - ((point.x - left) * next) / scale, point.y - ((point.y - top) * next) / scale]);
  }

  /**
   * @param {number} x
   * @param {number} y
   */
  pan(x, y) {
    this.moved([this.view[0], this.view[1] + x, this.view[2] + y]);
  }

  reset() {
    this.view = this.fit();
    this.draw();
    window.clearTimeout(this.timer);
    viewer.selectWindow({ ops_zoom: null });
  }

  /* ---- choosing ---- */

  /** @param {number} at */
  focus(at) {
    this.nodes[this.current].setAttribute("tabindex", "-1");
    this.current = at;
    this.nodes[at].setAttribute("tabindex", "0");
    this.nodes[at].focus({ preventScroll: true });
    const { x, y } = this.data.nodes[at];
    const [scale, left, top] = this.view;
    const box = this.host.getBoundingClientRect();
    const [px, py] = [x * scale + left, y * scale + top];
    const margin = 60;
    const dx = px < margin ? margin - px : px > box.width - margin ? box.width - margin - px : 0;
    const dy = py < margin ? margin - py : py > box.height - margin ? box.height - margin - py : 0;
    if (dx || dy) this.pan(dx, dy);
  }

  /**
   * The nearest box in a direction; distance to the side counts twice.
   *
   * @param {number} dx
   * @param {number} dy
   */
  step(dx, dy) {
    const from = this.data.nodes[this.current];
    let best = -1,
      least = Infinity;
    this.data.nodes.forEach((node, at) => {
      const along = (node.x - from.x) * dx + (node.y - from.y) * dy;
      const aside = Math.abs((node.x - from.x) * dy) + Math.abs((node.y - from.y) * dx);
      if (along > 1 && along + 2 * aside < least) {
        least = along + 2 * aside;
        best = at;
      }
    });
    if (best >= 0) this.focus(best);
  }

  /** @param {number} at */
  choose(at) {
    const node = this.data.nodes[at];
    if (node.program >= 0) viewer.select({ program: node.program });
    else if (node.variable >= 0) viewer.select({ variable: node.variable });
    else if (node.kind === "operation" || node.kind === "group" || node.kind === "rest")
      choose(node.context, node.name);
  }

  /** @param {number | null} at the box whose arrows stand out */
  near(at) {
    this.edges.forEach((line, index) => {
      const edge = this.data.edges[index];
      const touches = at !== null && (edge.source === at || edge.target === at);
      line.classList.toggle("near", touches);
      line.setAttribute("marker-end", touches ? "url(#ops-arrow-near)" : "url(#ops-arrow)");
    });
    this.scene.classList.toggle("some-near", at !== null);
  }

  /** @param {PageSelection} selection */
  follow(selection) {
    this.nodes.forEach((group, at) => {
      const node = this.data.nodes[at];
      const isSelected =
        node.program >= 0
          ? selection.program === String(node.program)
          : node.variable >= 0
            ? selection.variable === String(node.variable)
            : node.context >= 0 && selection.ops_at
              ? selection.ops_at === String(node.context)
              : ["operation", "group", "rest"].includes(node.kind) && selection.ops_name === node.name;
      group.classList.toggle("chosen", isSelected);
      group.setAttribute("aria-pressed", isSelected ? "true" : "false");
    });
  }
}

/** @type {Record<string, [number, number]>} */
const STEPS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };

/**
 * @param {Graph} graph
 * @param {KeyboardEvent} event
 */
function keyDown(graph, event) {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const step = STEPS[event.key];
  const meaning = keyOf(event);
  if (step) graph.step(...step);
  else if (event.key === "Enter" || event.key === " ") graph.choose(graph.current);
  else if (event.key === "+" || event.key === "=" || meaning === "zoom-in") graph.zoom(1.25);
  else if (event.key === "-" || meaning === "zoom-out") graph.zoom(0.8);
  else if (meaning === "left") graph.pan(80, 0);
  else if (meaning === "right") graph.pan(-80, 0);
  else if (event.key === "PageUp") graph.pan(0, 200);
  else if (event.key === "PageDown") graph.pan(0, -200);
  else if (meaning === "all") graph.reset();
  else return;
  event.preventDefault();
  event.stopPropagation();
}

/**
 * The box at the target of an event: its place in the list of nodes, null beside boxes.
 *
 * @param {Event} event
 */
function nodeAt(event) {
  const box = closest(event, "[data-at]");
  return box ? Number(box.dataset.at) : null;
}

/**
 * A drag moves the drawing, a click chooses a box, a double click opens what it shows.
 *
 * @param {Graph} graph
 * @param {Canvas.Listeners} listeners
 */
function listen(graph, listeners) {
  const { host } = graph;
  /** @type {number | null} */
  let pressed = null; /* events of a captured pointer name the host, not the box */
  followDrags(listeners, host, (begin, press) => {
    let before = begin;
    pressed = nodeAt(press);
    return {
      move: (point) => {
        graph.pan(point.x - before.x, point.y - before.y);
        before = point;
      },
      click: () => {
        if (pressed === null) return;
        graph.focus(pressed);
        graph.choose(pressed);
      },
    };
  });
  listeners.on(host, "wheel", (event) => wheel(graph, event), { passive: false });
  listeners.on(host, "pointermove", (event) => {
    if (!event.buttons) graph.near(nodeAt(event));
  });
  listeners.on(host, "dblclick", () => {
    if (pressed !== null && graph.data.nodes[pressed].program < 0) open();
  });
  listeners.on(host, "focusin", (event) => {
    const at = nodeAt(event);
    if (at === null) return;
    graph.current = at;
    graph.near(at);
  });
  listeners.on(host, "focusout", () => graph.near(null));
  listeners.on(host, "keydown", (event) => keyDown(graph, event));
  if (host.parentElement)
    listeners.on(host.parentElement, "click", (event) => {
      const button = closest(event, "[data-ops-zoom]");
      if (!button) return;
      if (button.dataset.opsZoom === "fit") graph.reset();
      else graph.zoom(button.dataset.opsZoom === "in" ? 1.25 : 0.8);
    });
  listeners.add(viewer.onSelect((selection) => graph.follow(selection)));
  listeners.add(() => graph.stop());
}

/**
 * @param {Graph} graph
 * @param {WheelEvent} event
 */
function wheel(graph, event) {
  event.preventDefault();
  graph.zoom(Math.pow(1.0015, -wheelOf(event).y), pointIn(event, graph.host));
}

/**
 * Fetch and draw; a sentence stands in the place of the graph when there is none.
 *
 * @param {HTMLElement} host
 * @param {Canvas.Listeners} listeners
 */
async function show(host, listeners) {
  const note = host.parentElement && host.parentElement.querySelector(".ops-graph-note");
  const answer = await fetch(host.dataset.opsGraph || "", { headers: { Accept: "application/json" } });
  if (!answer.ok) {
    host.textContent = await answer.text();
    host.classList.add("ops-said");
    return;
  }
  const data = await answer.json();
  if (!host.isConnected) return;
  if (!data.nodes.length) {
    host.textContent = "There is nothing to draw: no operation touches a variable.";
    host.classList.add("ops-said");
    return;
  }
  if (note && data.note) note.textContent = data.note;
  listen(new Graph(host, data), listeners);
}

viewer.mount(".ops-graph", (host) => {
  const listeners = new Listeners();
  show(host, listeners);
  return () => listeners.stop();
});
