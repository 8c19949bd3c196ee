// @ts-check
/* Canvas of the exchange page: the window, the cursor and one layer at a time (matrix.js, plan.js, bars.js).

   A layer has extent {width, height}, update(), paint(pen), placeOf(tile, to), cursor(), move(), patch(cursor),
   describe(cursor), away(mark, cursor) and reason. The selection holds the cursor (tiles, xch_to), the mark
   (xch_mark = "tile" or "source-destination") and the window (xch_at = "x0-x1.y0-y1", in hundredths). */
import { FrameLoop, Listeners, clearedContext } from "../shared/canvas/frame_loop.js";
import { CanvasPen, savePicture } from "../shared/canvas/pens.js";
import { bytesText } from "../shared/formats.js";
import * as viewer from "../shell/viewer.js";
import { BarsLayer } from "./bars.js";
import { loadTiles } from "./data.js";
import { listen } from "./input.js";
import { MatrixLayer } from "./matrix.js";
import { PlanLayer } from "./plan.js";

/** @type {Record<string, () => any>} */
const LAYERS = {
  matrix: () => MatrixLayer,
  plan: () => PlanLayer,
  tiles: () => BarsLayer,
};
const COLOURS = [
  "ink",
  "muted",
  "faint",
  "axis",
  "line",
  "line-strong",
  "sunken",
  "surface",
  "accent",
  "bad",
  "warn",
  "grid",
  "series-1",
  "series-2",
  "series-3",
  "series-4",
];
/** @type {Record<string, string>} */
const LABELS = {
  received: "Received",
  sent: "Sent",
  code: "Exchange code",
  fan_in: "Receives from",
  fan_out: "Sends to",
};
const REST = 180; /* ms without movement before the URL follows */
const number = (value) => value.toLocaleString("en-US").replace("-", "\u2212");

class Board {
  constructor(host) {
    this.host = host;
    this.facts = JSON.parse(host.dataset.exchange);
    this.canvas = host.appendChild(document.createElement("canvas"));
    this.tip = host.appendChild(Object.assign(document.createElement("div"), { className: "heat-tip", hidden: true }));
    this.spoken = host.appendChild(Object.assign(document.createElement("div"), { className: "visually-hidden" }));
    this.spoken.setAttribute("aria-live", "polite");
    this.measured = host.appendChild(Object.assign(document.createElement("div"), { className: "exchange-measured" }));
    this.waiting = 0;
    this.view = { x0: 0, x1: 1, y0: 0, y1: 1 };
    /** @type {Record<string, any>} */
    this.layers = {};
    /** @type {Record<string, string>} */
    this.colours = {};
    /** @type {any} */
    this.layer = null;
    this.selection = viewer.selection();
    this.loop = new FrameLoop(() => this.draw());
    const listeners = (this.listeners = new Listeners());
    listeners.onResize(host, () => this.schedule());
    listeners.on(document, "popvision:theme", () => this.schedule());
    listeners.add(viewer.onSelect((selection) => this.apply(selection)));
    listen(this);
    host.saveImage = (kind, name) => this.save(kind, name);
    this.apply(this.selection);
  }

  stop() {
    window.clearTimeout(this.restTimer);
    this.loop.stop();
    this.listeners.stop();
  }

  apply(selection) {
    this.selection = selection;
    const wanted = [selection.program, selection.step, selection.xch_order, this.facts.vs ? selection.vs : ""].join(
      "|",
    );
    if (wanted !== this.wanted) {
      this.wanted = wanted;
      this.wait(loadTiles(this.facts, selection), (data) => {
        if (wanted === this.wanted) this.show(data);
      });
    } else if (this.data) this.place();
    this.schedule();
  }

  show(data) {
    this.data = data;
    this.layers = {};
    this.place();
  }

  /* Set the layer and the window from the URL. */
  place() {
    this.layer = null;
    if (!this.data.rank) return;
    const name = Object.hasOwn(LAYERS, this.selection.xch_view)
      ? this.selection.xch_view
      : this.data.header.reason && !this.selection.xch_view && !this.data.header.signed
        ? "tiles"
        : "matrix";
    if (!this.layers[name]) this.layers[name] = new (LAYERS[name]())(this);
    this.layer = this.layers[name];
    this.frameArea = null;
    this.view = this.windowInAddress();
    this.announce();
  }

  /* xch_at clipped to the picture; all of it when the key is missing, malformed or outside. */
  windowInAddress() {
    const { width, height } = this.layer.extent;
    const match = /^(\d+)-(\d+)\.(\d+)-(\d+)$/.exec(this.selection.xch_at || "");
    const [x0, x1, y0, y1] = match ? match.slice(1).map((text) => Number(text) / 100) : [0, width, 0, height];
    const clipped = { x0, x1: Math.min(x1, width), y0, y1: Math.min(y1, height) };
    const isEmpty = clipped.x0 >= clipped.x1 || clipped.y0 >= clipped.y1;
    return isEmpty ? { x0: 0, x1: width, y0: 0, y1: height } : clipped;
  }

  /* The picture's area in pixels of the host, cached for a frame. */
  get area() {
    if (!this.frameArea) this.frameArea = this.measure();
    return this.frameArea;
  }

  measure() {
    const [width, height] = [this.host.clientWidth, this.host.clientHeight];
    const box = { x: 74, y: 34, width: Math.max(10, width - 92), height: Math.max(10, height - 74) };
    if (!this.layer || this.layer.name !== "floor-plan") return box;
    const { x0, x1, y0, y1 } = this.view,
      scale = Math.min((width - 32) / (x1 - x0), (height - 52) / (y1 - y0));
    return {
      x: 16 + (width - 32 - scale * (x1 - x0)) / 2,
      y: 34,
      width: scale * (x1 - x0),
      height: scale * (y1 - y0),
    };
  }

  x(value) {
    return this.area.x + ((value - this.view.x0) * this.area.width) / (this.view.x1 - this.view.x0);
  }
  y(value) {
    return this.area.y + ((value - this.view.y0) * this.area.height) / (this.view.y1 - this.view.y0);
  }
  inside({ x, y }) {
    return x >= this.view.x0 && x < this.view.x1 && y >= this.view.y0 && y < this.view.y1;
  }

  /* The place under a point of the host, null outside the picture. */
  at(left, top) {
    const { area, view } = this;
    if (left < area.x || top < area.y || left >= area.x + area.width || top >= area.y + area.height) return null;
    return {
      x: view.x0 + ((left - area.x) * (view.x1 - view.x0)) / area.width,
      y: view.y0 + ((top - area.y) * (view.y1 - view.y0)) / area.height,
    };
  }

  /* Show [x0, x1) x [y0, y1), clipped to the picture and at least a few cells wide. */
  setView(x0, x1, y0, y1) {
    const { width, height } = this.layer.extent;
    const fit = (from, to, most) => {
      const wide = Math.min(most, Math.max(Math.min(most, 4), to - from)),
        low = Math.max(0, Math.min(most - wide, from));
      return [low, low + wide];
    };
    const [left, right] = fit(x0, x1, width),
      [up, down] = this.layer.flat ? [0, height] : fit(y0, y1, height);
    this.view = { x0: left, x1: right, y0: up, y1: down };
    this.frameArea = null;
    window.clearTimeout(this.restTimer);
    this.restTimer = viewer.later(() => this.publish(), REST);
    this.schedule();
  }

  publish() {
    const { width, height } = this.layer.extent,
      { x0, x1, y0, y1 } = this.view;
    const all = x0 <= 0 && y0 <= 0 && x1 >= width && y1 >= height;
    const text = (value) => String(Math.round(100 * value));
    viewer.selectWindow({ xch_at: all ? null : text(x0) + "-" + text(x1) + "." + text(y0) + "-" + text(y1) });
  }

  zoom(factor, at) {
    const { x0, x1, y0, y1 } = this.view,
      place = at || this.layer.cursor() || { x: (x0 + x1) / 2, y: (y0 + y1) / 2 };
    const cx = Math.max(x0, Math.min(x1, place.x)),
      cy = Math.max(y0, Math.min(y1, place.y));
    this.setView(cx - (cx - x0) * factor, cx + (x1 - cx) * factor, cy - (cy - y0) * factor, cy + (y1 - cy) * factor);
  }

  pan(dx, dy) {
    const { x0, x1, y0, y1 } = this.view;
    const clip = (by, from, to, most) => Math.max(-from, Math.min(most - to, by));
    const moveX = clip(dx * (x1 - x0), x0, x1, this.layer.extent.width),
      moveY = clip(dy * (y1 - y0), y0, y1, this.layer.extent.height);
    this.setView(x0 + moveX, x1 + moveX, y0 + moveY, y1 + moveY);
  }

  /* Move the cursor and keep it in sight. */
  step(dx, dy) {
    const from = this.layer.cursor(),
      { x0, x1, y0, y1 } = this.view;
    const to = from
      ? this.layer.move(from, dx, dy)
      : this.layer.patch({ x: Math.floor(x0), y: Math.floor(y0) })
        ? { x: Math.floor(x0), y: Math.floor(y0) }
        : this.layer.move({ x: Math.floor(x0) - 1, y: Math.floor(y0) }, 1, 0);
    if (!this.inside(to))
      this.setView(
        x0 + (to.x < x0 || to.x >= x1 ? to.x - (x0 + x1) / 2 : 0),
        x1 + (to.x < x0 || to.x >= x1 ? to.x - (x0 + x1) / 2 : 0),
        y0 + (to.y < y0 || to.y >= y1 ? to.y - (y0 + y1) / 2 : 0),
        y1 + (to.y < y0 || to.y >= y1 ? to.y - (y0 + y1) / 2 : 0),
      );
    viewer.select(this.layer.patch(to) || {});
  }

  announce() {
    const cursor = this.layer.cursor(),
      away = this.away(cursor);
    this.measured.textContent = away.join(", ");
    if (cursor) this.spoken.textContent = [...this.layer.describe(cursor), ...away].join(", ");
  }

  /* ---- the mark: a tile, or a pair in the matrix; the cursor's values are compared with it ---- */

  get mark() {
    const match = /^(\d{1,7})(?:-(\d{1,7}))?$/.exec(this.selection.xch_mark || "");
    const tiles = match ? [Number(match[1]), Number(match[2] === undefined ? match[1] : match[2])] : [];
    return tiles.length && tiles.every((tile) => tile < this.data.header.tiles)
      ? { tiles, place: this.layer.placeOf(...tiles) }
      : null;
  }

  /* Mark the cursor's place, or remove the mark that is there. */
  toggleMark() {
    const at = this.layer.cursor(),
      to = at && this.layer.patch(at);
    if (!to) return;
    const text = to.tiles + (to.xch_to === null ? "" : "-" + to.xch_to);
    viewer.select({ xch_mark: this.selection.xch_mark === text ? null : text });
  }

  away(cursor) {
    const mark = this.mark;
    if (!mark) return [];
    const [from, to] = mark.tiles,
      name = this.layer.pairs ? "tile " + number(from) + " to tile " + number(to) : "tile " + number(from);
    return [(cursor ? "From the mark at " : "Mark at ") + name, ...(cursor ? this.layer.away(mark.place, cursor) : [])];
  }

  /* "+12 B": the value at the cursor minus the value at the mark. */
  more(atCursor, atMark, text) {
    const sign = atCursor > atMark ? "+" : atCursor < atMark ? "\u2212" : "";
    return sign + text(Math.abs(atCursor - atMark));
  }

  paintMark(pen) {
    const mark = this.mark;
    if (!mark || !this.inside(mark.place)) return;
    const { area, colours } = this,
      { x, y } = mark.place,
      middle = this.x(x + 0.5);
    if (this.layer.flat) pen.line(middle, area.y, middle, area.y + area.height, colours.warn, 1.5, [5, 4]);
    else
      pen.outline(
        this.x(x) - 1,
        this.y(y) - 1,
        Math.max(6, this.x(x + 1) - this.x(x) + 2),
        Math.max(6, this.y(y + 1) - this.y(y) + 2),
        colours.warn,
        2,
      );
    pen.text(
      "mark",
      middle + 5,
      Math.max(area.y + 8, this.layer.flat ? area.y + 24 : this.y(y) - 9),
      colours.warn,
      "left",
    );
  }

  /* ---- the quantity of the floor plan, and a tile in words ---- */

  get quantity() {
    return Object.hasOwn(LABELS, this.selection.xch_show) ? this.selection.xch_show : "received";
  }
  values() {
    return this.data.arrays[this.quantity];
  }
  label() {
    return LABELS[this.quantity];
  }
  text(value) {
    return this.quantity.startsWith("fan") ? number(value) + " tiles" : bytesText(value);
  }

  describeTile(tile) {
    const { arrays, header } = this.data,
      sign = (value) => (header.signed && value > 0 ? "+" : "") + number(value);
    const lines = ["tile " + number(tile) + " on IPU " + Math.floor(tile / header.perIpu)];
    for (const [name, label] of Object.entries(LABELS))
      if (arrays[name])
        lines.push(
          label +
            " " +
            sign(arrays[name][tile]) +
            (!name.startsWith("fan") ? " B" : Math.abs(arrays[name][tile]) === 1 ? " tile" : " tiles"),
        );
    if (arrays.moving)
      lines.push(
        "own bytes take " +
          sign(arrays.moving[tile]) +
          " cycles" +
          (header.signed ? "" : " at " + header.rate + " B a cycle"),
      );
    if (arrays.estimated) lines.push("estimate " + sign(arrays.estimated[tile]) + " cycles");
    if (arrays.recorded)
      lines.push("recorded " + sign(arrays.recorded[tile]) + " cycles in step " + number(header.step));
    return lines;
  }

  /* ---- frames ---- */

  wait(promise, then) {
    this.waiting += 1;
    promise
      .then(then)
      .catch((problem) => viewer.notice("Exchange: " + problem.message))
      .finally(() => {
        this.waiting -= 1;
        this.schedule();
      });
  }

  schedule() {
    this.loop.schedule();
  }

  draw() {
    this.frameArea = null;
    const [width, height] = [this.host.clientWidth, this.host.clientHeight];
    if (!width || !height) return;
    const complete = !!this.data && (!this.layer || !!this.layer.reason || this.layer.update());
    const draw = clearedContext(this.canvas, width, height);
    this.paint(new CanvasPen(draw, viewer.token("font")), width, height);
    if (complete && this.layer) this.announce();
    this.host.dataset.state = complete && !this.waiting ? "complete" : "loading";
  }

  paint(pen, width, height) {
    this.colours = Object.fromEntries(COLOURS.map((name) => [name, viewer.token(name)]));
    pen.box(0, 0, width, height, this.colours.surface);
    const reason = this.data && (this.layer ? this.layer.reason : this.data.header.reason);
    this.host.parentElement.querySelector(".exchange-reason").textContent = reason || "";
    if (!this.layer || reason) return;
    this.layer.paint(pen);
    this.paintMark(pen);
    if (this.layer.name === "floor-plan" || !pen.draw) return;
    const { area } = this; /* what was drawn beyond the picture's edges */
    pen.outline(area.x, area.y, area.width, area.height, this.colours["line-strong"], 1);
  }

  save(kind, name) {
    const [width, height] = [this.host.clientWidth, this.host.clientHeight];
    const file = { width, height, kind, name: name + "-" + (this.layer ? this.layer.name : "") };
    savePicture(file, (pen) => this.paint(pen, width, height));
  }
}

/** @type {{ current: any }} */
const shown = { current: null };

viewer.mount("[data-exchange]", (host) => {
  const board = (shown.current = new Board(host));
  return () => board.stop();
});

export { shown };
