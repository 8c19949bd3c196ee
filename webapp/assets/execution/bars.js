/* Bars of one IPU: asks the server for the window and half a screen on both sides, draws them, finds what is under a point.

   While the zoom changes, the last answer is drawn at the new scale until its successor arrives; at most one request is
   under way. A bar's times are exact at any scale; merged cells belong to the scale at which they were made. */
(function () {
  "use strict";
  const ex = (window.popvision = window.popvision || {}).execution = (window.popvision.execution || {});
  const GROUP = 255, STREAM_COPY = 254, RUN = 253;
  const ROW = 18;
  const LABEL = 26; /* pixels below which a bar has no label */

  function familyOf(kind, families) {
    if (kind === RUN) return "run";
    if (kind === GROUP) return "group";
    return kind === STREAM_COPY ? "host" : families[kind];
  }

  class Bars {
    constructor(facts, ipu, changed) {
      this.facts = facts;
      this.ipu = ipu;
      this.changed = changed;
      this.data = null;
      this.busy = false;
      this.mode = "";
    }

    get levels() { return this.data ? this.data.header.levels : 2; }
    get height() { return this.levels * ROW; }

    covers(viewport) {
      const data = this.data;
      return data !== null && data.pitch === viewport.pitch && data.mode === this.mode
        && data.first <= viewport.first && data.first + data.columns >= viewport.first + viewport.width;
    }

    /* Ask for what is missing; true when nothing is. */
    update(viewport) {
      const covered = this.covers(viewport);
      const data = this.data;
      const margin = Math.round(viewport.width / 2);
      const near = covered && !viewport.isFit && (
        (data.first > 0 && viewport.first - data.first < margin / 2) || data.first + data.columns - viewport.first - viewport.width < margin / 2);
      if ((!covered || near) && !this.busy) this.request(viewport, margin);
      return covered;
    }

    async request(viewport, margin) {
      const pitch = viewport.pitch, mode = this.mode;
      const first = Math.max(0, viewport.first - margin);
      const columns = Math.min(16384, viewport.first + viewport.width + margin - first);
      this.busy = true;
      try {
        const data = await ex.get(`/data/${this.facts.key}/execution/bars?ipu=${this.ipu}&view=${mode}&pitch=${pitch}&first=${first}&columns=${columns}`);
        this.data = Object.assign(data, { pitch, first, columns, mode });
        this.sort();
      } catch (problem) {
        ex.complain(problem);
        await new Promise((done) => window.setTimeout(done, 2000));
      }
      this.busy = false;
      this.changed();
    }

    /* Rows of each family together, so that a colour is set once. */
    sort() {
      const { kind } = this.data.arrays;
      this.families = new Map();
      for (let row = 0; row < kind.length; row += 1) {
        const family = familyOf(kind[row], this.facts.families);
        if (!this.families.has(family)) this.families.set(family, []);
        this.families.get(family).push(row);
      }
    }

    draw(draw, palette, viewport, top) {
      if (!this.data) return;
      this.drawBars(draw, palette, viewport, top);
      this.drawCells(draw, palette, viewport, top);
      this.drawLabels(draw, palette, viewport, top);
    }

    /* Pixels of bar `row`, cut to the canvas; null when it lies outside. */
    span(row, viewport) {
      const { begin, end } = this.data.arrays;
      const left = viewport.x(begin[row]), right = viewport.x(end[row]);
      if (right < 0 || left > viewport.width) return null;
      const x = Math.round(Math.max(left, -4));
      return [x, Math.max(1, Math.round(Math.min(right, viewport.width + 4)) - x)];
    }

    drawBars(draw, palette, viewport, top) {
      const { level } = this.data.arrays;
      for (const [family, rows] of this.families) {
        const pattern = palette.pattern(draw, family);
        const wide = [];
        draw.fillStyle = palette.families[family].fill;
        for (const row of rows) {
          const span = this.span(row, viewport);
          if (!span) continue;
          const width = span[1] > 3 ? span[1] - 1 : span[1];
          draw.fillRect(span[0], top + level[row] * ROW, width, ROW - 1);
          if (pattern && width > 5) wide.push(span[0], top + level[row] * ROW, width);
        }
        draw.fillStyle = pattern;
        for (let at = 0; at < wide.length; at += 3) draw.fillRect(wide[at], wide[at + 1], wide[at + 2], ROW - 1);
      }
    }

    /* A merged cell is a pixel column filled from below with the shares of its classes, with a line at its foot. */
    drawCells(draw, palette, viewport, top) {
      const { cell_level, cell_column, cell_shares, cell_group } = this.data.arrays;
      const ratio = this.data.pitch / viewport.pitch;
      const count = cell_level.length;
      const used = new Float64Array(count);
      const from = Math.max(0, -1 / ratio);
      const left = (index) => Math.round((this.data.first + cell_column[index]) * ratio) - viewport.first;
      const width = (index) => Math.max(1, Math.round((this.data.first + cell_column[index] + 1) * ratio) - viewport.first - left(index));
      const shown = [];
      for (let index = from | 0; index < count; index += 1) {
        const x = left(index);
        if (x > -4 && x < viewport.width) shown.push(index);
      }
      draw.fillStyle = palette.plain.surface;
      for (const index of shown) draw.fillRect(left(index), top + cell_level[index] * ROW, width(index), ROW - 1);
      const classes = [["group", (index) => cell_group[index]]].concat(
        ex.CLASSES.map((name, at) => [name, (index) => (cell_shares[index] >>> (5 * at)) & 31]));
      for (const [name, share] of classes) {
        draw.fillStyle = palette.families[name].fill;
        for (const index of shown) {
          const part = share(index);
          if (!part) continue;
          const height = ((ROW - 3) * part) / 31;
          const bottom = top + cell_level[index] * ROW + ROW - 3 - used[index];
          draw.fillRect(left(index), Math.max(top + cell_level[index] * ROW, bottom - height), width(index), height);
          used[index] += height;
        }
      }
      draw.fillStyle = palette.plain.faint;
      for (const index of shown) draw.fillRect(left(index), top + cell_level[index] * ROW + ROW - 3, width(index), 1);
    }

    drawLabels(draw, palette, viewport, top) {
      const { level, name } = this.data.arrays;
      draw.font = "11px " + palette.font;
      draw.textBaseline = "middle";
      for (const [family, rows] of this.families) {
        draw.fillStyle = palette.families[family].ink;
        for (const row of rows) {
          if (name[row] < 0) continue;
          const span = this.span(row, viewport);
          if (!span || span[1] < LABEL) continue;
          const x = Math.max(span[0], 0);
          const room = Math.min(span[0] + span[1], viewport.width) - x - 9;
          if (room > 12) draw.fillText(ex.fitText(draw, this.data.header.names[name[row]], room), x + 4, top + level[row] * ROW + ROW / 2);
        }
      }
    }

    /* What is at pixel x on a level: {bar}, {cell} or null. */
    hit(viewport, x, level) {
      if (!this.data) return null;
      const a = this.data.arrays;
      const column = Math.floor(((viewport.first + x) * viewport.pitch) / this.data.pitch) - this.data.first;
      for (let index = 0; index < a.cell_level.length; index += 1) {
        if (a.cell_level[index] === level && a.cell_column[index] === column) return this.cell(index);
      }
      const cycle = viewport.cycleAt(x + 0.5);
      for (let row = 0; row < a.level.length; row += 1) {
        if (a.level[row] === level && a.begin[row] <= cycle && cycle < a.end[row]) return this.bar(row);
      }
      return null;
    }

    cell(index) {
      const a = this.data.arrays;
      return { cell: { level: a.cell_level[index], count: a.cell_count[index], first: a.cell_first[index], shares: ex.shares(a.cell_shares[index]), group: a.cell_group[index] / 31 } };
    }

    bar(row) {
      const a = this.data.arrays;
      const kind = a.kind[row];
      return { bar: { level: a.level[row], begin: a.begin[row], end: a.end[row], kind, first: a.first[row], last: a.last[row],
        name: a.name[row] < 0 ? null : this.data.header.names[a.name[row]], family: familyOf(kind, this.facts.families), leaf: kind < RUN } };
    }
  }

  /* Text cut in the middle so that it fits; widths are remembered by text. */
  const widths = new Map();
  function widthOf(draw, text) {
    if (!widths.has(text)) {
      if (widths.size > 5000) widths.clear();
      widths.set(text, draw.measureText(text).width);
    }
    return widths.get(text);
  }

  ex.fitText = function (draw, text, room) {
    const width = widthOf(draw, text);
    if (width <= room) return text;
    const keep = Math.floor((text.length * (room - 8)) / width);
    if (keep < 2) return keep < 1 ? "" : "…";
    return text.slice(0, Math.ceil(keep / 2)) + "…" + text.slice(text.length - Math.floor(keep / 2));
  };

  ex.ROW = ROW;
  ex.KIND = { GROUP, STREAM_COPY, RUN };
  ex.Bars = Bars;
})();
