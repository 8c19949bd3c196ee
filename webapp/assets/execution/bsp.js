// @ts-check
/* Tile map of one IPU (tiles against time), a cache of image blocks by scale and column.

   Blocks of one scale form a layer. Layers of earlier scales are drawn stretched below the current one until it
   is complete, so the screen is never empty. While the view moves, a block holds few steps, so that its answer
   takes a few milliseconds; at rest it holds more. */
import { GRAIN } from "../shared/canvas/viewport.js";
import { fetchPacked, retryPause } from "../shared/packed.js";
import { complain } from "./numbers.js";
import { shares } from "./palette.js";

const UNIT = 4; /* columns; blocks begin and end at multiples of it */
const STEPS_OPENING = 4000; /* steps behind a block: below 100 ms of the server's time */
const STEPS_RESTING = 1500;
const STEPS_MOVING = 80;
const MOST_COLUMNS = 128;
const MOST_MOVING = 32;
const MOST_PIXELS = 100000;
const MOST_LAYERS = 5;
const SCREENS_KEPT = 8;
const SETTLE = 60; /* ms without a change of scale before its blocks are asked for */

class Layer {
  constructor(pitch, rows) {
    this.pitch = pitch;
    this.rows = rows;
    this.blocks = []; /* {first, columns, pixels, canvas} */
    this.units = new Set(); /* units of columns that are here */
    this.used = 0;
  }
}

class Bsp {
  constructor(facts, ipu, changed) {
    this.facts = facts;
    this.ipu = ipu;
    this.changed = changed;
    this.layers = [];
    this.changedScale = -SETTLE; /* when the scale last changed, ms */
    this.underWay = new Set();
    this.queue = [];
    this.opened = false;
    this.moving = false;
    this.timer = 0;
  }

  /* Units that one answer may hold. */
  unitsAtOnce(pitch, rows) {
    const density = (this.facts.steps * pitch) / GRAIN / this.facts.total;
    const steps = !this.opened ? STEPS_OPENING : this.moving ? STEPS_MOVING : STEPS_RESTING;
    const columns = Math.min(this.moving ? MOST_MOVING : MOST_COLUMNS, MOST_PIXELS / rows, steps / density);
    return Math.max(1, Math.floor(columns / UNIT));
  }

  current(viewport, rows) {
    let layer = this.layers.find((each) => each.pitch === viewport.pitch && each.rows === rows);
    if (!layer) {
      layer = new Layer(viewport.pitch, rows);
      this.layers.push(layer);
      this.changedScale = performance.now();
      this.forget(viewport);
    }
    layer.used = performance.now();
    return layer;
  }

  /* Keep the layers used last, and always one of the whole run. */
  forget(viewport) {
    const others = this.layers.filter((each) => each.pitch !== viewport.fitPitch || !each.blocks.length);
    others.sort((a, b) => b.used - a.used);
    const gone = new Set(others.slice(MOST_LAYERS).concat(others.filter((each, at) => at > 0 && !each.blocks.length)));
    this.layers = this.layers.filter((each) => !gone.has(each) || each.pitch === viewport.pitch);
  }

  /* First and last visible unit. */
  visible(viewport) {
    const last = Math.floor((viewport.total * GRAIN) / viewport.pitch);
    return [
      Math.floor(viewport.first / UNIT),
      Math.floor(Math.min(last, viewport.first + viewport.width - 1) / UNIT),
      Math.floor(last / UNIT),
    ];
  }

  /* Ask for missing blocks, the visible ones first; true when every visible one is here. */
  update(viewport, rows, moving) {
    const layer = this.current(viewport, rows);
    const [from, to, last] = this.visible(viewport);
    this.moving = moving;
    const wanted = [];
    for (let unit = from; unit <= to; unit += 1) if (!layer.units.has(unit)) wanted.push(unit);
    const complete = wanted.length === 0;
    if (complete && this.opened) {
      const margin = Math.ceil(viewport.width / 3 / UNIT);
      for (let away = 1; away <= margin; away += 1) {
        if (to + away <= last && !layer.units.has(to + away)) wanted.push(to + away);
        if (from - away >= 0 && !layer.units.has(from - away)) wanted.push(from - away);
      }
    }
    if (complete) this.opened = true;
    this.queue = this.settling() ? [] : wanted;
    this.layer = layer;
    this.viewport = viewport;
    this.next();
    return complete;
  }

  settling() {
    const wait = this.opened ? SETTLE - (performance.now() - this.changedScale) : 0;
    if (wait <= 0) return false;
    window.clearTimeout(this.timer);
    this.timer = window.setTimeout(this.changed, wait);
    return true;
  }

  /* Start requests from the queue while there is room: two side by side when a page opens, else one. */
  next() {
    const layer = this.layer;
    this.queue = this.queue.filter((unit) => !layer.units.has(unit) && !this.isUnderWay(layer, unit));
    while (this.queue.length && this.underWay.size < (this.opened ? 1 : 2)) {
      const first = this.queue[0];
      const waiting = new Set(this.queue);
      const most = this.unitsAtOnce(layer.pitch, layer.rows);
      let count = 1;
      while (count < most && waiting.has(first + count)) count += 1;
      this.queue = this.queue.filter((unit) => unit < first || unit >= first + count);
      this.request(layer, first, count);
    }
  }

  isUnderWay(layer, unit) {
    for (const each of this.underWay)
      if (each.layer === layer && unit >= each.first && unit < each.first + each.count) return true;
    return false;
  }

  /* Forget blocks far from the window once a layer is many screens long; the whole run is never that long. */
  trim(layer) {
    const { first, width } = this.viewport;
    if (layer.blocks.reduce((sum, block) => sum + block.columns, 0) < SCREENS_KEPT * width) return;
    const near = (block) => block.first + block.columns > first - 2 * width && block.first < first + 3 * width;
    layer.blocks = layer.blocks.filter(near);
    layer.units = new Set();
    for (const block of layer.blocks)
      for (let unit = block.first / UNIT; unit * UNIT < block.first + block.columns; unit += 1) layer.units.add(unit);
  }

  async request(layer, first, count) {
    const order = { layer, first, count };
    this.underWay.add(order);
    try {
      const columns = count * UNIT;
      const data = await fetchPacked(`/data/${this.facts.key}/execution/bsp`, {
        ipu: this.ipu,
        pitch: layer.pitch,
        first: first * UNIT,
        columns,
        rows: layer.rows,
      });
      layer.blocks.push({ first: first * UNIT, columns, pixels: data.arrays.pixels, canvas: null });
      for (let unit = first; unit < first + count; unit += 1) layer.units.add(unit);
      this.trim(layer);
    } catch (problem) {
      complain(problem);
      await retryPause();
    }
    this.underWay.delete(order);
    this.next();
    this.changed();
  }

  recolour() {
    for (const layer of this.layers) for (const block of layer.blocks) block.canvas = null;
  }

  draw(draw, palette, viewport, top, height, rows) {
    draw.fillStyle = palette.plain.sunken;
    draw.fillRect(0, top, viewport.width, height);
    const layer = this.current(viewport, rows);
    if (!this.isComplete(layer, viewport)) {
      const others = this.layers.filter((each) => each !== layer && each.blocks.length);
      others.sort((a, b) => (a.pitch === viewport.fitPitch ? -1 : b.pitch === viewport.fitPitch ? 1 : a.used - b.used));
      for (const each of others) this.drawLayer(draw, palette, viewport, each, top, height);
    }
    this.drawLayer(draw, palette, viewport, layer, top, height);
  }

  isComplete(layer, viewport) {
    const [from, to] = this.visible(viewport);
    for (let unit = from; unit <= to; unit += 1) if (!layer.units.has(unit)) return false;
    return true;
  }

  drawLayer(draw, palette, viewport, layer, top, height) {
    const ratio = layer.pitch / viewport.pitch;
    const exact = ratio === 1;
    draw.imageSmoothingEnabled = false; /* smoothing would mix colours of classes */
    for (const block of layer.blocks) {
      const left = block.first * ratio - viewport.first;
      const right = (block.first + block.columns) * ratio - viewport.first;
      if (right <= 0 || left >= viewport.width) continue;
      if (!block.canvas) block.canvas = palette.paint(block.pixels, block.columns, layer.rows, block.first);
      draw.drawImage(
        block.canvas,
        exact ? left : Math.floor(left),
        top,
        exact ? block.columns : Math.ceil(right) - Math.floor(left),
        height,
      );
    }
  }

  /* Shares of the pixel at (x, row), or null while it is not here. */
  sharesAt(viewport, x, rows, row) {
    const layer = this.layers.find((each) => each.pitch === viewport.pitch && each.rows === rows);
    const column = viewport.first + Math.floor(x);
    const block = layer && layer.blocks.find((each) => column >= each.first && column < each.first + each.columns);
    return block ? shares(block.pixels[row * block.columns + column - block.first]) : null;
  }
}

export { Bsp };
