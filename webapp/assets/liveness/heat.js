// @ts-check
/* Heat map of tile by liveness index (webapp/graph_analyser/liveness/routes.py). It shares window and keys of its
   index axis with the curve (assets/shared/plots).

   The plot's configuration says what it shows: heat = {key, tiles: [first, last], perIpu, always, capacity, vs,
   by}; null shows the curve. A cell is the maximum over its tiles and indices; a click selects the place of that
   maximum. With `vs`, the report compared with, a cell is the largest difference target - source. */
import { Listeners, clearedContext } from "../shared/canvas/frame_loop.js";
import { CanvasPen, savePicture } from "../shared/canvas/pens.js";
import { tipLine } from "../shared/canvas/pointer.js";
import { fetchJson, fetchPacked } from "../shared/packed.js";
import * as axis from "../shared/plots/axis.js";
import { mount, notice, onSelect, selectWindow, selection, theme, token } from "../shell/viewer.js";
import { listen } from "./input.js";
import * as paint from "./paint.js";

const VIEW = "live_tiles";

class HeatMap {
  constructor(host) {
    this.host = host;
    this.canvas = host.querySelector("canvas") || host.appendChild(document.createElement("canvas"));
    this.tip = host.appendChild(tipLine("", "heat-tip"));
    this.tip.hidden = true;
    /** @type {any} */
    this.answer = null;
    /** @type {any} */
    this.shown = null;
    this.requested = "";
    const again = () => this.update();
    const listeners = (this.listeners = new Listeners());
    listeners.add(onSelect(again));
    listeners.on(document, "popvision:plot", again);
    listeners.on(document, "popvision:theme", again);
    listeners.onResize(host, again);
    listen(this);
    this.update();
  }

  get plot() {
    return axis.all[this.host.dataset.plot];
  }
  get heat() {
    return this.plot && this.plot.heat;
  }
  get area() {
    return paint.areaOf(this.host.clientWidth, this.host.clientHeight);
  }

  /* The visible tiles, both ends included. */
  get tiles() {
    const [first, last] = this.heat.tiles;
    const match = /^(\d+)-(\d+)$/.exec(selection()[VIEW] || "");
    const from = match ? Math.max(first, Math.min(parseInt(match[1], 10), last)) : first;
    return [from, match ? Math.max(from, Math.min(parseInt(match[2], 10), last)) : last];
  }

  setTiles(from, to) {
    const [first, last] = this.heat.tiles;
    const low = Math.max(first, Math.min(Math.round(from), last));
    const high = Math.max(low, Math.min(Math.round(to), last));
    selectWindow({ [VIEW]: low === first && high === last ? null : low + "-" + high });
  }

  get indices() {
    return axis.windowOf(this.plot);
  }

  get cursor() {
    const now = selection();
    const tile = parseInt(now.tiles, 10),
      index = parseInt(now.liveness, 10);
    return { tile: Number.isNaN(tile) ? null : tile, index: Number.isNaN(index) ? null : index };
  }

  get mark() {
    const mark = parseInt(selection()[this.plot.mark || ""], 10);
    return Number.isNaN(mark) ? null : mark;
  }

  query(more) {
    const { always, capacity, vs, by } = this.heat;
    return { ...more, always: always ? 1 : null, capacity: capacity ? 1 : null, vs: vs || null, by: vs ? by : null };
  }

  update() {
    if (!this.heat || !this.host.clientWidth) return;
    const [tiles, indices, area] = [this.tiles, this.indices, this.area];
    const rows = Math.max(1, Math.min(tiles[1] - tiles[0] + 1, Math.floor(area.height)));
    const columns = Math.max(
      1,
      Math.min(indices[1] - indices[0] + 1, Math.floor(area.width), Math.floor(400000 / rows)),
    );
    const query = this.query({ tiles: tiles.join("-"), indices: indices.join("-"), rows, columns });
    const question = Object.entries({ key: this.heat.key, ...query })
      .map(([name, value]) => name + "=" + (value === null ? "" : value))
      .join("&");
    if (question !== this.requested) this.ask(question, query, { tiles, indices, vs: this.heat.vs });
    this.draw();
  }

  async ask(question, query, shown) {
    this.requested = question;
    try {
      const answer = await fetchPacked(`/data/${this.heat.key}/liveness/heat`, query);
      if (question !== this.requested) return;
      Object.assign(this, { answer, shown, theme: null });
      this.host.dataset.stride = answer.header.indicesPerColumn;
      this.host.dataset.drawn = question;
      this.draw();
    } catch (problem) {
      if (question === this.requested) notice("Heat map: " + problem.message);
    }
  }

  map() {
    if (this.answer && this.theme !== theme()) {
      this.picture = paint.pictureOf(this.answer, Boolean(this.shown.vs));
      this.theme = theme();
    }
    return {
      area: this.area,
      tiles: this.tiles,
      indices: this.indices,
      shown: this.shown,
      answer: this.answer,
      picture: this.picture,
      cursor: this.cursor,
      mark: this.mark,
      perIpu: this.heat.perIpu,
      always: this.heat.always,
      capacity: this.heat.capacity,
      compares: Boolean(this.shown && this.shown.vs),
    };
  }

  draw() {
    const [width, height] = [this.host.clientWidth, this.host.clientHeight];
    const draw = clearedContext(this.canvas, width, height);
    paint.paint(new CanvasPen(draw, token("font")), this.map(), paint.colours());
  }

  /* Tile and index under a point of the canvas; null outside of the picture. */
  placeAt({ x, y }) {
    const { area, tiles, indices } = this;
    if (x < area.x || y < area.y || x >= area.x + area.width || y >= area.y + area.height) return null;
    return {
      tile: tiles[0] + Math.floor(((y - area.y) * (tiles[1] - tiles[0] + 1)) / area.height),
      index: indices[0] + Math.floor(((x - area.x) * (indices[1] - indices[0] + 1)) / area.width),
    };
  }

  /* The cell of the drawn picture that holds a place: {tiles, indices}, both ends included. */
  cellOf({ tile, index }) {
    const { tilesPerRow, indicesPerColumn } = this.answer.header;
    const part = (value, shown, size) => {
      const first = shown[0] + Math.floor((value - shown[0]) / size) * size;
      return [first, Math.min(first + size - 1, shown[1])];
    };
    return {
      tiles: part(tile, this.shown.tiles, tilesPerRow),
      indices: part(index, this.shown.indices, indicesPerColumn),
    };
  }

  highest(cell) {
    const query = this.query({ tiles: cell.tiles.join("-"), indices: cell.indices.join("-") });
    return fetchJson(`/data/${this.heat.key}/liveness/cell`, query);
  }

  /* The picture as PNG or SVG, with its axes and key, as it stands on the screen. */
  save(kind, name) {
    const [width, height] = [this.host.clientWidth, this.host.clientHeight];
    const colours = paint.colours();
    savePicture({ width, height, kind, name }, (pen) => {
      pen.box(0, 0, width, height, colours.surface);
      paint.paint(pen, this.map(), colours);
    });
  }

  stop() {
    this.listeners.stop();
  }
}

mount("[data-live-heat]", (host) => {
  const map = new HeatMap(host);
  host.heatMap = map;
  host.saveImage = (kind, name) => map.save(kind, name + "-heat-map");
  return () => map.stop();
});
