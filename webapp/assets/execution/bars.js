// @ts-check
/* Bars of one IPU: fetches the window and half a screen on both sides, draws them, and finds the bar at a point.

   While the zoom changes, the last answer is drawn at the new scale until the next one arrives; at most one
   request is under way. A bar's times are exact at any scale; merged cells belong to the scale of their answer. */
import { contextOf, makeCanvas } from "../shared/canvas/pens.js";
import { GRAIN } from "../shared/canvas/viewport.js";
import { fetchPacked, retryPause } from "../shared/packed.js";
import { complain } from "./numbers.js";
import { CLASSES, shares } from "./palette.js";

const GROUP = 255,
  STREAM_COPY = 254,
  RUN = 253;
const ROW = 18;
const MOST_CELLS = 25000; /* merged cells that an answer may hold beyond the window: 18 bytes each */
const LABEL = 26; /* pixels below which a bar has no label */

function familyOf(kind, families) {
  if (kind === RUN) return "run";
  if (kind === GROUP) return "group";
  return kind === STREAM_COPY ? "copy" : families[kind];
}

class Bars {
  /**
   * @param {any} facts
   * @param {number} ipu
   * @param {() => void} changed
   * @param {{ route: string, query: Record<string, any>, complain?: (problem: any) => void }} source the route that
   *     answers the bars
   */
  constructor(facts, ipu, changed, source = { route: "execution/bars", query: {} }) {
    this.facts = facts;
    this.ipu = ipu;
    this.changed = changed;
    this.source = source;
    this.data = null;
    this.busy = false;
    this.mode = "";
    this.painted = null;
    /** @type {Map<string, number[]>} */
    this.families = new Map();
    this.cells = makeCanvas(1, 1);
  }

  /* Whether the number of levels is known: from an answer, or from the page. */
  get isSized() {
    const { levels } = this.facts;
    return this.data !== null || (!!levels && levels.ipu === this.ipu && levels.mode === this.mode);
  }
  get levels() {
    if (this.data) return this.data.header.levels;
    return this.isSized ? this.facts.levels.count : 2;
  }
  get height() {
    return this.levels * ROW;
  }

  covers(viewport) {
    const data = this.data;
    return (
      data !== null &&
      data.requested.pitch === viewport.pitch &&
      data.mode === this.mode &&
      data.requested.first <= viewport.first &&
      data.requested.first + data.requested.columns >= viewport.first + viewport.width
    );
  }

  /* Ask for what is missing; true when nothing is. While the scale keeps changing, an answer of a similar scale that
     still covers the window is good enough until the movement ends. */
  update(viewport, moving) {
    const covered = this.covers(viewport);
    if (!this.busy && (covered ? this.nearsEdge(viewport) : !moving || !this.nearlyCovers(viewport)))
      this.request(viewport);
    return covered;
  }

  /* Whether less than half of the margin is left on a side of the window. */
  nearsEdge(viewport) {
    if (!this.data) return false;
    const { first, columns } = this.data.requested; // those of the answer may be coarser
    const least = this.data.margin / 2;
    const last = Math.floor((viewport.total * GRAIN) / viewport.pitch);
    const before = viewport.first - first,
      after = first + columns - viewport.first - viewport.width;
    return (first > 0 && before < least) || (first + columns < last && after < least);
  }

  nearlyCovers(viewport) {
    const data = this.data;
    if (!data || data.mode !== this.mode) return false;
    const { pitch, first, columns } = data.requested,
      ratio = pitch / viewport.pitch;
    return (
      ratio > 0.75 &&
      ratio < 1.4 &&
      first * ratio <= viewport.first &&
      (first + columns) * ratio >= viewport.first + viewport.width
    );
  }

  /* Columns fetched on each side of the window: half a screen, less where names are nested deeply. */
  marginOf(viewport) {
    const spare = Math.max(0, Math.floor(MOST_CELLS / this.levels) - viewport.width);
    return Math.floor(Math.min(viewport.width, spare) / 2);
  }

  async request(viewport) {
    const margin = this.marginOf(viewport);
    const pitch = viewport.pitch,
      mode = this.mode;
    const first = Math.max(0, viewport.first - margin);
    const columns = Math.min(16384, viewport.first + viewport.width + margin - first);
    this.busy = true;
    try {
      const data = await fetchPacked(`/data/${this.facts.key}/${this.source.route}`, {
        ...this.source.query,
        ipu: this.ipu,
        view: mode,
        pitch,
        first,
        columns,
      });
      // An answer that would be too large comes in coarser columns than were asked for.
      const { pitch: drawn, first: from, columns: count } = data.header;
      this.data = Object.assign(data, {
        requested: { pitch, first, columns },
        pitch: drawn,
        first: from,
        columns: count,
        mode,
        margin,
      });
      this.painted = null;
      this.families = this.rowsByFamily(data.arrays.kind);
    } catch (problem) {
      (this.source.complain || complain)(problem);
      await retryPause();
    }
    this.busy = false;
    this.changed();
  }

  /* Rows of each family together, so that a colour is set once. */
  rowsByFamily(kind) {
    /** @type {Map<string, number[]>} */
    const families = new Map();
    for (let row = 0; row < kind.length; row += 1) {
      const family = familyOf(kind[row], this.facts.families);
      const rows = families.get(family);
      if (rows) rows.push(row);
      else families.set(family, [row]);
    }
    return families;
  }

  /* `options`: {labels, small}; false leaves out the names in bars, or the cells of merged bars. */
  draw(draw, palette, viewport, top, options) {
    const { data } = this;
    if (!data) return;
    this.drawBars(data, draw, palette, viewport, top);
    if (options.small) this.drawCells(data, draw, palette, viewport, top);
    if (options.labels) this.drawLabels(data, draw, palette, viewport, top);
    this.drawLanes(data, draw, palette, viewport, top);
  }

  /* A dashed line between the lanes of overlapped I/O. */
  drawLanes(data, draw, palette, viewport, top) {
    draw.strokeStyle = palette.plain.ink;
    draw.setLineDash([6, 4]);
    draw.beginPath();
    for (const level of data.header.lanes.slice(1)) {
      draw.moveTo(0, top + level * ROW - 0.5);
      draw.lineTo(viewport.width, top + level * ROW - 0.5);
    }
    draw.stroke();
    draw.setLineDash([]);
  }

  /* Families whose bars are drawn, with their rows. */
  shown(palette) {
    return Array.from(this.families).filter(([family]) => !palette.hidden[CLASSES.indexOf(family)]);
  }

  /* Pixels of bar `row`, cut to the canvas; null when it lies outside. */
  span(data, row, viewport) {
    const { begin, end } = data.arrays;
    const left = viewport.x(begin[row]),
      right = viewport.x(end[row]);
    if (right < 0 || left > viewport.width) return null;
    const x = Math.round(Math.max(left, -4));
    return [x, Math.max(1, Math.round(Math.min(right, viewport.width + 4)) - x)];
  }

  drawBars(data, draw, palette, viewport, top) {
    const { level } = data.arrays;
    for (const [family, rows] of this.shown(palette)) {
      const pattern = palette.pattern(draw, family);
      const wide = [];
      draw.fillStyle = palette.families[family].fill;
      for (const row of rows) {
        const span = this.span(data, row, viewport);
        if (!span) continue;
        const width = span[1] > 3 ? span[1] - 1 : span[1];
        draw.fillRect(span[0], top + level[row] * ROW, width, ROW - 1);
        if (pattern && width > 5) wide.push(span[0], top + level[row] * ROW, width);
      }
      draw.fillStyle = pattern;
      for (let at = 0; at < wide.length; at += 3) draw.fillRect(wide[at], wide[at + 1], wide[at + 2], ROW - 1);
    }
  }

  drawCells(data, draw, palette, viewport, top) {
    if (this.painted !== palette) this.paintCells(data, palette);
    const ratio = data.pitch / viewport.pitch;
    draw.imageSmoothingEnabled = false;
    draw.drawImage(this.cells, data.first * ratio - viewport.first, top, data.columns * ratio, this.cells.height);
  }

  /* A merged cell is a pixel column filled from below with the shares of its classes, above a line at its foot. The
     cells of an answer are painted once and drawn as one picture. */
  paintCells(data, palette) {
    const { cell_level, cell_column, cell_shares, cell_group } = data.arrays;
    const width = data.columns,
      room = ROW - 3;
    this.cells = makeCanvas(width, this.levels * ROW);
    const target = contextOf(this.cells);
    const image = target.createImageData(width, this.cells.height);
    const out = new Uint32Array(image.data.buffer);
    const colours = ["group"].concat(CLASSES).map((name) => palette.packed(palette.families[name].fill));
    const surface = palette.packed(palette.plain.surface),
      foot = palette.packed(palette.plain.faint);
    const heights = new Int32Array(7);
    for (let index = 0; index < cell_level.length; index += 1) {
      let used = 0;
      for (let at = 0; at < 7; at += 1) {
        const level = !at
          ? cell_group[index]
          : palette.hidden[at - 1]
            ? 0
            : (cell_shares[index] >>> (5 * (at - 1))) & 31;
        heights[at] = level ? Math.max(1, Math.round((room * level) / 31)) : 0;
        used += heights[at];
      }
      if (used > room) heights[heights.indexOf(Math.max(...heights))] -= used - room;
      let place = (cell_level[index] * ROW + ROW - 2) * width + cell_column[index];
      const put = (colour, count) => {
        for (let row = 0; row < count; row += 1) {
          out[place] = colour;
          place -= width;
        }
      };
      put(foot, 1);
      for (let at = 0; at < 7; at += 1) put(colours[at], heights[at]);
      put(surface, Math.max(0, room - used));
    }
    target.putImageData(image, 0, 0);
    this.painted = palette;
  }

  drawLabels(data, draw, palette, viewport, top) {
    const { level, name } = data.arrays;
    draw.font = "11px " + palette.font;
    draw.textBaseline = "middle";
    for (const [family, rows] of this.shown(palette)) {
      draw.fillStyle = palette.families[family].ink;
      for (const row of rows) {
        if (name[row] < 0) continue;
        const span = this.span(data, row, viewport);
        if (!span || span[1] < LABEL) continue;
        const x = Math.max(span[0], 0);
        const room = Math.min(span[0] + span[1], viewport.width) - x - 9;
        if (room > 12)
          draw.fillText(fitText(draw, data.header.names[name[row]], room), x + 4, top + level[row] * ROW + ROW / 2);
      }
    }
  }

  /* What is at pixel x on a level: {bar}, {cell} or null. */
  hit(viewport, x, level) {
    const { data } = this;
    if (!data) return null;
    const a = data.arrays;
    const column = Math.floor(((viewport.first + x) * viewport.pitch) / data.pitch) - data.first;
    for (let index = 0; index < a.cell_level.length; index += 1) {
      if (a.cell_level[index] === level && a.cell_column[index] === column) return this.cell(a, index);
    }
    const cycle = viewport.cycleAt(x + 0.5);
    for (let row = 0; row < a.level.length; row += 1) {
      if (a.level[row] === level && a.begin[row] <= cycle && cycle < a.end[row]) return this.bar(data, row);
    }
    return null;
  }

  /* The level of a step's own bar, -1 where it is merged with others or not in the answer. */
  levelOf(step) {
    if (!this.data) return -1;
    const { first, kind, level } = this.data.arrays;
    for (let row = 0; row < first.length; row += 1) if (first[row] === step && kind[row] < RUN) return level[row];
    return -1;
  }

  cell(a, index) {
    return {
      cell: {
        level: a.cell_level[index],
        count: a.cell_count[index],
        first: a.cell_first[index],
        shares: shares(a.cell_shares[index]),
        group: a.cell_group[index] / 31,
      },
    };
  }

  bar(data, row) {
    const a = data.arrays;
    const kind = a.kind[row];
    return {
      bar: {
        level: a.level[row],
        begin: a.begin[row],
        end: a.end[row],
        kind,
        first: a.first[row],
        last: a.last[row],
        name: a.name[row] < 0 ? null : data.header.names[a.name[row]],
        family: kind === STREAM_COPY ? "host" : familyOf(kind, this.facts.families),
        leaf: kind < RUN,
      },
    };
  }
}

/* Text that fits: cut in the middle, or, where few letters have room, its beginning, which says more than both ends;
   nothing below 3 letters. Widths are remembered by text. */
const LEAST_LETTERS = 3,
  LEAST_OF_BOTH_ENDS = 9;
const widths = new Map();
function widthOf(draw, text) {
  if (!widths.has(text)) {
    if (widths.size > 5000) widths.clear();
    widths.set(text, draw.measureText(text).width);
  }
  return widths.get(text);
}

function fitText(draw, text, room) {
  const width = widthOf(draw, text);
  if (width <= room) return text;
  const letters = Math.floor((text.length * (room - 8)) / width);
  if (letters < LEAST_LETTERS) return "";
  if (letters < LEAST_OF_BOTH_ENDS) return text.slice(0, letters) + "…";
  return text.slice(0, Math.ceil(letters / 2)) + "…" + text.slice(text.length - Math.floor(letters / 2));
}

export { fitText, widthOf, ROW, Bars };
