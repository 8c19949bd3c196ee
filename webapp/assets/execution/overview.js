// @ts-check
/* The strip above the trace: the whole run in one thin row per IPU, and the visible window with its two handles. */
const executionOverview = (() => {
  "use strict";
  const execution = popvision.execution;
  const HANDLE = 7;

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
        const data = await execution.get(
          `/data/${this.facts.key}/execution/overview?ipu=${ipu}&pitch=${pitch}&first=0&columns=${columns}`,
        );
        this.strips.set(ipu, { pitch, columns, pixels: data.arrays.pixels, canvas: null });
      } catch (problem) {
        execution.complain(problem);
        await new Promise((done) => window.setTimeout(done, 2000));
      }
      this.busy.delete(ipu);
      this.changed();
    }

    recolour() {
      for (const strip of this.strips.values()) strip.canvas = null;
    }

    /* Pixels of the window in the strip. */
    window(viewport) {
      const scale = viewport.pitch / viewport.fitPitch;
      const left = viewport.first * scale;
      return [left, Math.max(left + 2, Math.min(viewport.width, (viewport.first + viewport.width) * scale))];
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
        if (!strip.canvas) strip.canvas = palette.paint(strip.pixels, strip.columns, 1);
        draw.drawImage(strip.canvas, left, 5 + at * row, viewport.width, ipus.length > 1 ? row - 1 : row);
      });
      draw.fillStyle = palette.plain.accent;
      for (const cycle of marks)
        draw.fillRect(left + Math.floor((cycle * execution.GRAIN) / viewport.fitPitch), 2, 1, 3);
      this.drawWindow(draw, palette, viewport, left, height);
    }

    drawWindow(draw, palette, viewport, left, height) {
      const [from, to] = this.window(viewport);
      draw.globalAlpha = 0.62;
      draw.fillStyle = palette.plain.surface;
      draw.fillRect(left, 5, from, height);
      draw.fillRect(left + to, 5, viewport.width - to, height);
      draw.globalAlpha = 1;
      draw.strokeStyle = palette.plain.accent;
      draw.lineWidth = 1;
      draw.strokeRect(left + Math.round(from) + 0.5, 4.5, Math.max(1, Math.round(to - from) - 1), height + 1);
      for (const x of [from, to]) {
        const at = Math.round(Math.max(HANDLE / 2, Math.min(viewport.width - HANDLE / 2, x)) - HANDLE / 2);
        draw.fillStyle = palette.plain.raised;
        draw.strokeStyle = palette.plain.accent;
        draw.beginPath();
        draw.roundRect(left + at + 0.5, 2.5, HANDLE - 1, height + 5, 2);
        draw.fill();
        draw.stroke();
        draw.beginPath();
        draw.moveTo(left + at + HANDLE / 2, 5 + height / 2 - 3);
        draw.lineTo(left + at + HANDLE / 2, 5 + height / 2 + 3);
        draw.stroke();
      }
    }

    /* What a press at x takes hold of: "from", "to" or "window". */
    part(viewport, x) {
      const [from, to] = this.window(viewport);
      if (Math.abs(x - from) <= HANDLE && Math.abs(x - from) <= Math.abs(x - to)) return "from";
      if (Math.abs(x - to) <= HANDLE) return "to";
      return "window";
    }
  }

  return { Overview };
})();
Object.assign(popvision.execution, executionOverview);
