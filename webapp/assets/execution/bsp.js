/* The picture of tiles against time of one IPU, made of chunks of columns that the server answers one by one.

   Chunks of one scale form a layer. Layers of earlier scales are drawn below, stretched, until the current one is complete:
   something true but coarse is always there. Chunks hold fewer columns where many steps share a column, so that an answer
   stays a matter of milliseconds. */
(function () {
  "use strict";
  const ex = (window.popvision = window.popvision || {}).execution = (window.popvision.execution || {});
  const STEPS_FIRST = 5000; /* steps behind a chunk when a page opens */
  const STEPS_MOVING = 450; /* and afterwards */
  const MOST_BYTES = 400000;
  const MOST_LAYERS = 5;
  const UNDER_WAY = 2;
  const SETTLE = 60; /* ms without a change of scale before its chunks are asked for */

  class Layer {
    constructor(pitch, rows, columns) {
      this.pitch = pitch;
      this.rows = rows;
      this.columns = columns;
      this.chunks = new Map();
      this.used = 0;
    }
  }

  class Bsp {
    constructor(facts, ipu, changed) {
      this.facts = facts;
      this.ipu = ipu;
      this.changed = changed;
      this.layers = [];
      this.underWay = new Set();
      this.queue = [];
      this.opened = false;
      this.timer = 0;
    }

    columnsFor(viewport, rows) {
      const density = (this.facts.steps * viewport.pitch) / ex.GRAIN / this.facts.total;
      const limit = this.opened ? STEPS_MOVING : STEPS_FIRST;
      let columns = 128;
      while (columns > 8 && columns * density > limit) columns /= 2;
      while (columns > 8 && columns * rows * 4 > MOST_BYTES) columns /= 2;
      return columns;
    }

    current(viewport, rows) {
      let layer = this.layers.find((each) => each.pitch === viewport.pitch && each.rows === rows);
      if (!layer) {
        layer = new Layer(viewport.pitch, rows, this.columnsFor(viewport, rows));
        this.layers.push(layer);
        this.changedScale = performance.now();
        this.forget(viewport);
      }
      layer.used = performance.now();
      return layer;
    }

    /* Keep the layers used last, and always one of the whole run. */
    forget(viewport) {
      const others = this.layers.filter((each) => each.pitch !== viewport.fitPitch || !each.chunks.size);
      others.sort((a, b) => b.used - a.used);
      const gone = new Set(others.slice(MOST_LAYERS).concat(others.filter((each, at) => at > 0 && !each.chunks.size)));
      this.layers = this.layers.filter((each) => !gone.has(each) || each.pitch === viewport.pitch);
    }

    /* Ask for missing chunks, the visible ones first; true when every visible one is here. */
    update(viewport, rows) {
      const layer = this.current(viewport, rows);
      const last = Math.floor((viewport.total * ex.GRAIN) / viewport.pitch);
      const from = Math.floor(viewport.first / layer.columns);
      const to = Math.floor(Math.min(last, viewport.first + viewport.width - 1) / layer.columns);
      const wanted = [];
      for (let index = from; index <= to; index += 1) if (!layer.chunks.has(index)) wanted.push(index);
      const complete = wanted.length === 0;
      if (this.opened && complete) {
        const margin = Math.ceil(viewport.width / 3 / layer.columns);
        for (let away = 1; away <= margin; away += 1) {
          for (const index of [to + away, from - away]) {
            if (index >= 0 && index * layer.columns <= last && !layer.chunks.has(index)) wanted.push(index);
          }
        }
      }
      this.queue = this.settling() ? [] : wanted.map((index) => [layer, index]);
      this.next();
      if (complete) this.opened = true;
      return complete;
    }

    settling() {
      const wait = this.opened ? SETTLE - (performance.now() - this.changedScale) : 0;
      if (wait <= 0) return false;
      window.clearTimeout(this.timer);
      this.timer = window.setTimeout(this.changed, wait);
      return true;
    }

    /* Start requests from the queue while there is room. */
    next() {
      while (this.queue.length && this.underWay.size < UNDER_WAY) {
        const [layer, index] = this.queue.shift();
        const name = layer.pitch + ":" + layer.rows + ":" + index;
        if (!this.underWay.has(name) && !layer.chunks.has(index)) this.request(layer, index, name);
      }
    }

    async request(layer, index, name) {
      this.underWay.add(name);
      try {
        const first = index * layer.columns;
        const data = await ex.get(`/data/${this.facts.key}/execution/bsp?ipu=${this.ipu}&pitch=${layer.pitch}&first=${first}&columns=${layer.columns}&rows=${layer.rows}`);
        layer.chunks.set(index, { pixels: data.arrays.pixels, canvas: null });
      } catch (problem) {
        ex.complain(problem);
        await new Promise((done) => window.setTimeout(done, 2000));
      }
      this.underWay.delete(name);
      this.next();
      this.changed();
    }

    recolour() {
      for (const layer of this.layers) for (const chunk of layer.chunks.values()) chunk.canvas = null;
    }

    draw(draw, palette, viewport, top, height, rows) {
      draw.fillStyle = palette.plain.sunken;
      draw.fillRect(0, top, viewport.width, height);
      const layer = this.current(viewport, rows);
      if (!this.isComplete(layer, viewport)) {
        const others = this.layers.filter((each) => each !== layer && each.chunks.size);
        others.sort((a, b) => (a.pitch === viewport.fitPitch ? -1 : b.pitch === viewport.fitPitch ? 1 : a.used - b.used));
        for (const each of others) this.drawLayer(draw, palette, viewport, each, top, height);
      }
      this.drawLayer(draw, palette, viewport, layer, top, height);
    }

    isComplete(layer, viewport) {
      const to = Math.floor(Math.min((viewport.total * ex.GRAIN) / viewport.pitch, viewport.first + viewport.width - 1) / layer.columns);
      for (let index = Math.floor(viewport.first / layer.columns); index <= to; index += 1) if (!layer.chunks.has(index)) return false;
      return true;
    }

    drawLayer(draw, palette, viewport, layer, top, height) {
      const ratio = layer.pitch / viewport.pitch;
      const exact = ratio === 1;
      draw.imageSmoothingEnabled = !exact && ratio < 1;
      for (const [index, chunk] of layer.chunks) {
        const left = index * layer.columns * ratio - viewport.first;
        const right = (index + 1) * layer.columns * ratio - viewport.first;
        if (right <= 0 || left >= viewport.width) continue;
        if (!chunk.canvas) chunk.canvas = palette.paint(chunk.pixels, layer.columns, layer.rows);
        draw.drawImage(chunk.canvas, exact ? left : Math.floor(left), top, exact ? layer.columns : Math.ceil(right) - Math.floor(left), height);
      }
    }

    /* Shares of the pixel at (x, row), or null while it is not here. */
    sharesAt(viewport, x, rows, row) {
      const layer = this.layers.find((each) => each.pitch === viewport.pitch && each.rows === rows);
      if (!layer) return null;
      const column = viewport.first + Math.floor(x);
      const chunk = layer.chunks.get(Math.floor(column / layer.columns));
      return chunk ? ex.shares(chunk.pixels[row * layer.columns + (column % layer.columns)]) : null;
    }
  }

  ex.Bsp = Bsp;
})();
