// @ts-check
/* Overview above the trace: the whole run in one thin row per IPU, and the visible window with its two handles. */
import { drawWindow } from "../shared/canvas/overview.js";
import { GRAIN } from "../shared/canvas/viewport.js";
import { fetchPacked, retryPause } from "../shared/packed.js";
import { complain } from "./numbers.js";

class Overview {
  constructor(facts, changed) {
    this.facts = facts;
    this.changed = changed;
    this.strips = new Map();
    this.busy = new Set();
  }

  rowHeight(ipus) {
    return Math.max(4, Math.min(18, Math.floor(56 / ipus)));
  }
  height(ipus) {
    return this.rowHeight(ipus) * ipus + 10;
  }

  update(viewport, ipus) {
    let complete = true;
    for (const ipu of ipus) {
      const strip = this.strips.get(ipu);
      if (strip && strip.pitch === viewport.fitPitch && strip.columns === viewport.width) continue;
      complete = false;
      if (!this.busy.has(ipu)) this.request(ipu, viewport.fitPitch, viewport.width);
    }
    return complete;
  }

  async request(ipu, pitch, columns) {
    this.busy.add(ipu);
    try {
      const data = await fetchPacked(`/data/${this.facts.key}/execution/overview`, {
        ipu,
        pitch,
        first: 0,
        columns,
      });
      this.strips.set(ipu, { pitch, columns, pixels: data.arrays.pixels, canvas: null });
    } catch (problem) {
      complain(problem);
      await retryPause();
    }
    this.busy.delete(ipu);
    this.changed();
  }

  recolour() {
    for (const strip of this.strips.values()) strip.canvas = null;
  }

  /* A strip repeats its one row of pixels, so that the dither of a column follows its shares. */
  paint(palette, strip, rows) {
    const pixels = new Uint32Array(strip.columns * rows);
    for (let row = 0; row < rows; row += 1) pixels.set(strip.pixels, row * strip.columns);
    return palette.paint(pixels, strip.columns, rows, 0);
  }

  draw(draw, palette, viewport, left, ipus, marks) {
    const row = this.rowHeight(ipus.length);
    const height = row * ipus.length;
    draw.fillStyle = palette.plain.sunken;
    draw.fillRect(left, 5, viewport.width, height);
    draw.imageSmoothingEnabled = false;
    ipus.forEach((ipu, at) => {
      const strip = this.strips.get(ipu);
      if (!strip) return;
      if (!strip.canvas) strip.canvas = this.paint(palette, strip, row);
      draw.drawImage(strip.canvas, left, 5 + at * row, viewport.width, ipus.length > 1 ? row - 1 : row);
    });
    draw.fillStyle = palette.plain.accent;
    for (const cycle of marks) draw.fillRect(left + Math.floor((cycle * GRAIN) / viewport.fitPitch), 2, 1, 3);
    drawWindow(draw, palette.plain, viewport, { x: left, y: 5, height });
  }
}

export { Overview };
