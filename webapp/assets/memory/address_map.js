// @ts-check
/* Address by liveness map of a tile (webapp/graph_analyser/memory/variables_tab.py): fetches the visible
   window, draws it (address_paint.js), moves a cursor and says what lies under it.

   URL: mem_addr and mem_idx are the visible window, end excluded; variable and liveness are what was clicked. */
import { Listeners, sizeCanvas } from "../shared/canvas/frame_loop.js";
import { CanvasPen, SvgPen, contextOf } from "../shared/canvas/pens.js";
import { bytesText } from "../shared/formats.js";
import { fetchJson, fetchPacked } from "../shared/packed.js";
import * as viewer from "../shell/viewer.js";
import { listen } from "./address_input.js";
import { inside, paint, xOf, yOf } from "./address_paint.js";

const SETTLE = 70; /* ms without movement before the server is asked */

const integer = (value) => Math.round(value).toLocaleString("en-US");
const hex = (value) => "0x" + value.toString(16);

class AddressMap {
  constructor(host) {
    this.host = host;
    this.canvas = host.appendChild(document.createElement("canvas"));
    this.canvas.setAttribute("aria-hidden", "true");
    this.view = { width: 0, height: 0, bottom: 0, top: 0, first: 0, last: 0 };
    /** @type {any} */
    this.data = null;
    /** @type {any} */
    this.box = null;
    /** @type {{ address: number, index: number } | null} */
    this.cursor = null;
    this.hovering = 0; /* the timer of a pointer at rest */
    this.scale = 1;
    this.requests = 0;
    const listeners = (this.listeners = new Listeners());
    listeners.add(viewer.onSelect((_, patch) => this.selected(patch)));
    listeners.onResize(host, () => this.resized());
    listeners.on(document, "popvision:theme", () => this.ask(0));
    listen(this);
    this.resized();
  }

  stop() {
    window.clearTimeout(this.timer);
    this.listeners.stop();
  }

  get all() {
    return { bottom: 0, top: Math.max(1, this.data.header.including), first: 0, last: this.data.header.indices };
  }

  resized() {
    const { clientWidth: width, clientHeight: height } = this.host;
    if (!width || !height) return;
    Object.assign(this.view, { width, height });
    this.scale = sizeCanvas(this.canvas, width, height);
    this.draw();
    this.ask(this.data ? SETTLE : 0);
  }

  address(window_) {
    const now = viewer.selection();
    const box = inside(this.view);
    const query = new URLSearchParams({
      tile: this.host.dataset.tile,
      columns: String(Math.round(box.w)),
      rows: String(Math.round(box.h)),
      theme: viewer.theme(),
    });
    if (window_) for (const name of ["bottom", "top", "first", "last"]) query.set(name, window_[name]);
    if (now.variable) query.set("variable", now.variable);
    return "/data/" + this.host.dataset.key + "/memory/map?" + query;
  }

  /* The window in the URL, null = everything. */
  wanted() {
    const now = viewer.selection();
    const addresses = /^(\d+)-(\d+)$/.exec(now.mem_addr || ""),
      indices = /^(\d+)-(\d+)$/.exec(now.mem_idx || "");
    const window_ = {};
    if (addresses && Number(addresses[2]) > Number(addresses[1])) {
      window_.bottom = Number(addresses[1]);
      window_.top = Number(addresses[2]);
    }
    if (indices && Number(indices[2]) > Number(indices[1])) {
      window_.first = Number(indices[1]);
      window_.last = Number(indices[2]);
    }
    return window_;
  }

  ask(after) {
    window.clearTimeout(this.timer);
    this.timer = window.setTimeout(() => this.fetch(), after);
  }

  async fetch() {
    if (!this.view.width) return;
    this.requests += 1;
    const mine = this.requests;
    const query = new URL(this.address(null), window.location.origin);
    for (const [name, value] of Object.entries(this.wanted())) query.searchParams.set(name, String(value));
    try {
      const data = await fetchPacked(query.pathname + query.search);
      if (mine !== this.requests) return;
      this.data = data;
      const { bottom, top, first, last } = data.header;
      Object.assign(this.view, { bottom, top, first, last });
      this.host.dataset.state = data.header.exact ? "bands" : "cells";
      this.describe();
      this.draw();
      if (!this.cursor) this.restoreCursor();
    } catch (problem) {
      viewer.notice("Address map: " + problem.message);
    }
  }

  colours() {
    const token = viewer.token;
    return {
      surface: token("surface"),
      idle: token("canvas"),
      hatch: token("line-strong"),
      line: token("line-strong"),
      axis: token("axis"),
      muted: token("muted"),
      bad: token("bad"),
      ink: token("ink"),
      live: token("series-1"),
      share: token("series-6"),
      accent: token("accent"),
    };
  }

  draw() {
    if (!this.data) return;
    const context = contextOf(this.canvas);
    context.setTransform(this.scale, 0, 0, this.scale, 0, 0);
    const colours = this.colours();
    context.fillStyle = colours.surface;
    context.fillRect(0, 0, this.view.width, this.view.height);
    paint(new CanvasPen(context, viewer.token("font")), this.view, this.data, colours);
    this.drawCursor(context, colours);
    if (this.box) {
      const { x0, y0, x1, y1 } = this.box;
      context.fillStyle = colours.accent;
      context.globalAlpha = 0.16;
      context.fillRect(x0, y0, x1 - x0, y1 - y0);
      context.globalAlpha = 1;
      context.strokeStyle = colours.accent;
      context.strokeRect(x0, y0, x1 - x0, y1 - y0);
    }
  }

  drawCursor(context, colours) {
    if (!this.cursor) return;
    const box = inside(this.view);
    const x0 = xOf(this.view, this.cursor.index),
      x1 = xOf(this.view, this.cursor.index + 1);
    const y = yOf(this.view, this.cursor.address + 0.5);
    context.fillStyle = colours.accent;
    context.globalAlpha = 0.8;
    if (y >= box.y && y <= box.y + box.h) context.fillRect(box.x, y - 0.5, box.w, 1);
    context.globalAlpha = 0.3;
    if (x1 >= box.x && x0 <= box.x + box.w) context.fillRect(x0, box.y, Math.max(1, x1 - x0), box.h);
    context.globalAlpha = 1;
  }

  svg() {
    const colours = this.colours();
    const { width, height } = this.view;
    const pen = new SvgPen(width, height, viewer.token("font"));
    pen.box(0, 0, width, height, colours.surface);
    paint(pen, this.view, this.data, colours);
    return String(pen);
  }

  /* Show a window, clipped to the map. The picture moves at once, the server's answer follows. */
  show(window_) {
    const all = this.all;
    const least = { addresses: 16, indices: 1 };
    let { bottom, top, first, last } = window_;
    const high = Math.min(Math.max(Math.round(top - bottom), least.addresses), Math.max(all.top, least.addresses));
    const wide = Math.min(Math.max(Math.round(last - first), least.indices), all.last);
    bottom = Math.max(0, Math.min(Math.round(bottom), Math.max(all.top, high) - high));
    first = Math.max(0, Math.min(Math.round(first), all.last - wide));
    top = bottom + high;
    last = first + wide;
    Object.assign(this.view, { bottom, top, first, last });
    this.moving = true;
    viewer.selectWindow({
      mem_addr: bottom === 0 && top === all.top ? null : bottom + "-" + top,
      mem_idx: first === 0 && last === all.last ? null : first + "-" + last,
    });
    this.moving = false;
    this.draw();
    this.ask(SETTLE);
  }

  /* Zoom about a place of the map; a factor below 1 shows less. */
  zoom(factor, index, address, axes) {
    const { view } = this;
    const along = !axes || axes.includes("x") ? factor : 1,
      up = !axes || axes.includes("y") ? factor : 1;
    this.show({
      first: index - (index - view.first) * along,
      last: index + (view.last - index) * along,
      bottom: address - (address - view.bottom) * up,
      top: address + (view.top - address) * up,
    });
  }

  pan(indices, addresses) {
    const { first, last, bottom, top } = this.view;
    this.show({ first: first + indices, last: last + indices, bottom: bottom + addresses, top: top + addresses });
  }

  selected(patch) {
    if (this.moving || !this.data) return;
    if ("mem_addr" in patch || "mem_idx" in patch || "variable" in patch) this.ask(0);
    if ("liveness" in patch) this.restoreCursor();
  }

  /* The cursor stands at the selected index, at first at the peak of the tile. */
  restoreCursor() {
    const index = parseInt(viewer.selection().liveness, 10);
    const at = Number.isNaN(index) || index >= this.data.header.indices ? this.data.header.peak : index;
    this.move(this.cursor ? this.cursor.address : this.view.bottom, at, false);
  }

  /* Put the cursor on a place and say what is there. */
  async move(address, index, follow) {
    const all = this.all;
    this.cursor = {
      address: Math.max(0, Math.min(Math.floor(address), Math.max(all.top, 1) - 1)),
      index: Math.max(0, Math.min(Math.floor(index), all.last - 1)),
    };
    if (follow) this.follow(this.cursor);
    this.draw();
    const now = this.cursor;
    try {
      const place = await fetchJson(`/data/${this.host.dataset.key}/memory/at`, {
        tile: this.host.dataset.tile,
        address: now.address,
        index: now.index,
      });
      if (this.cursor !== now) return;
      this.place = place;
      this.reading().textContent = sentence(place);
    } catch (problem) {
      viewer.notice("Address map: " + problem.message);
    }
  }

  /* Bring the cursor into view, in the middle when it had left it. */
  follow(cursor) {
    const { view } = this;
    const wide = view.last - view.first,
      high = view.top - view.bottom;
    const next = { first: view.first, last: view.last, bottom: view.bottom, top: view.top };
    if (cursor.index < view.first || cursor.index >= view.last) {
      next.first = cursor.index - wide / 2;
      next.last = next.first + wide;
    }
    if (cursor.address < view.bottom || cursor.address >= view.top) {
      next.bottom = cursor.address - high / 2;
      next.top = next.bottom + high;
    }
    if (next.first !== view.first || next.bottom !== view.bottom) this.show(next);
  }

  reading() {
    return this.host.parentElement.querySelector(".address-reading");
  }

  /* What was clicked: its variable and the index, for every view. */
  choose() {
    if (!this.place || !this.cursor) return;
    /** @type {Patch} */
    const patch = { liveness: this.cursor.index };
    if (this.place.variable >= 0) patch.variable = this.place.variable;
    viewer.select(patch);
  }

  /* Legend, and what is drawn and how, in words. */
  describe() {
    const { header } = this.data;
    const box = this.host.parentElement.querySelector(".address-legend");
    box.replaceChildren(
      ...header.categories.map((each) => swatch(each[1], each[2])),
      swatch("Idle: reserved, nothing live", "", "idle"),
      swatch("Gap", "", "gap"),
    );
    const note = this.host.parentElement.querySelector(".address-drawn");
    note.textContent =
      integer(header.allocations) +
      " allocations, " +
      integer(header.gaps) +
      " gaps. " +
      (header.exact
        ? integer(header.inWindow) + " bands drawn, one per allocation and live range."
        : integer(header.inWindow) +
          " bands are more than can be drawn: each cell of " +
          integer(header.cellBytes) +
          " B x " +
          integer(header.cellIndices) +
          (header.cellIndices === 1 ? " index" : " indices") +
          " shows the category with most of it, stronger the more of it is live. Zoom in for single bands.");
  }
}

function swatch(text, colour, kind) {
  const item = document.createElement("span");
  const box = item.appendChild(document.createElement("i"));
  box.className = "address-swatch" + (kind ? " " + kind : "");
  if (colour) box.style.background = colour;
  item.append(text);
  return item;
}

/* What lies at a place, in one sentence; also what is read aloud. */
function sentence(place) {
  const begin =
    "Address " +
    hex(place.address) +
    ", index " +
    integer(place.index) +
    (place.step ? " (" + place.step + ")" : "") +
    ": ";
  const range = hex(place.begin) + "\u2013" + hex(place.end) + ", " + integer(place.end - place.begin) + " B";
  const others = place.sharing > 1 ? ", " + place.sharing + " allocations share these addresses" : "";
  const lives = place.always
    ? "always live"
    : "live at indices " + integer(place.from) + "\u2013" + integer(place.to - 1);
  const live = " \u00b7 " + bytesText(place.live) + " live on this tile";
  if (place.state === "live")
    return begin + place.name + " (" + place.category + "), " + range + ", " + lives + others + live;
  if (place.state === "gap") return begin + "gap, " + range + live;
  if (place.state === "beyond") return begin + "above the highest used address" + live;
  if (!place.name) return begin + "idle" + others + live;
  const when =
    place.to <= place.index ? "still reserved after " + place.name + ", " : "reserved for " + place.name + ", ";
  return begin + "idle, " + when + lives + ", " + range + others + live;
}

viewer.mount(".address-map", (host) => {
  const map = new AddressMap(host);
  host.addressMap = map;
  return () => map.stop();
});
