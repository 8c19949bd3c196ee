// @ts-check
/* Events of threads: fetches the visible threads for the window and half a screen on both sides, draws them, and
   finds the event at a point. While the zoom changes, the last answer is drawn at the new scale. */
import { widthOf } from "../execution/bars.js";
import { fetchPacked, retryPause } from "../shared/packed.js";
import { failed } from "./complaints.js";
import { FLAGS, LANE, laneTop, lanesOf } from "./rows.js";
import { FOOT, Slivers } from "./slivers.js";

const LABEL = 24;
const PATTERNED = 4; /* pixels: below, a pattern does not show */
const SHORTEST = 500; /* ns: how wide an event below a microsecond is drawn, where its neighbour leaves room */

const LEAST_LETTERS = 3;
const LABEL_INK = "#10131a";
const RECEDED = 0.2; /* strength of events beside those of the highlighted label */
const LEAST_LIT = 0.7; /* of a merged or narrow event of that label */

/* The label of a narrow event: whole, or without the names that qualify it ("compileGraph" of
   "poplar::compileGraph"), or the beginning of that, which says more than both its ends; nothing below 3 letters.
   A number at the end, which tells epochs and loaders apart, stays: "Ep…12". */
function labelFor(draw, text, room) {
  if (widthOf(draw, text) <= room) return text;
  const own = text.split(/::|\./).pop() || text;
  if (widthOf(draw, own) <= room) return own;
  const core = own.replace(/^_+|_+$/g, "") || own; /* "getitem" of "__getitem__" */
  const width = widthOf(draw, core);
  if (width <= room) return core;
  const letters = Math.floor((core.length * (room - 8)) / width);
  const [number] = core.match(/\d{1,6}$/) || [""];
  if (number && letters > number.length) return core.slice(0, letters - number.length) + "…" + number;
  if (number && widthOf(draw, "…" + number) <= room) return "…" + number;
  return letters < LEAST_LETTERS ? "" : core.slice(0, letters).trimEnd() + "…";
}

/* The label in a block that begins at x; over a pattern it has a ground of its own, which `faint` ones go without. */
function drawLabel({ draw, colours, patterns, palette }, text, channel, from, width, y, faint = false) {
  const x = Math.max(0, from);
  const room = from + width - x - 8;
  if (room <= 12) return;
  draw.textBaseline = "middle";
  draw.font = "11px " + palette.font;
  const shown = labelFor(draw, text, room);
  if (patterns[channel] && shown && !faint) {
    draw.fillStyle = colours[channel];
    draw.fillRect(x + 2, y + 2, draw.measureText(shown).width + 4, LANE - 5);
  }
  draw.fillStyle = faint ? palette.plain.muted : LABEL_INK;
  draw.fillText(shown, x + 4, y + LANE / 2);
}

/* An outline around a block, or a cap on one too narrow for it. */
function outlineBlock(draw, palette, x, y, width, height) {
  draw.globalAlpha = 1;
  draw.fillStyle = draw.strokeStyle = palette.plain.ink;
  draw.lineWidth = 1;
  if (width < 4) draw.fillRect(x, y, width, 3);
  else draw.strokeRect(Math.round(x) + 0.5, y + 0.5, Math.round(width) - 1, height - 1);
}

class Flames {
  /**
   * All events, or those of a highlighted label (light.js).
   *
   * @param {any} timeline
   * @param {{name: string} | null} light
   */
  constructor(timeline, light = null) {
    this.timeline = timeline;
    this.light = light;
    this.data = null;
    this.busy = false;
    this.slivers = new Slivers();
    /** @type {Map<string, [number, number]>} rows of each lane, by "thread.depth" */
    this.lanes = new Map();
    /** @type {Map<number, [number, number]>} rows of the instants of each thread */
    this.marks = new Map();
  }

  get name() {
    return this.light ? this.light.name : "";
  }

  forget() {
    this.data = null;
  }

  covers(viewport, threads) {
    const data = this.data;
    return (
      data !== null &&
      data.facts === this.timeline.facts &&
      data.pitch === viewport.pitch &&
      data.from <= viewport.from &&
      data.to >= viewport.to &&
      data.hide === this.timeline.hidden &&
      data.only === this.timeline.only &&
      data.name === this.name &&
      threads.every((thread) => data.threads.has(thread))
    );
  }

  /* Fetch what is missing; true when everything visible is here. */
  update(viewport, threads) {
    if (!threads.length) return true;
    const covered = this.covers(viewport, threads);
    if (!covered && !this.busy) this.request(viewport, threads);
    return covered;
  }

  async request(viewport, threads) {
    const margin = viewport.isFit ? 0 : (viewport.to - viewport.from) / 2;
    const from = Math.max(0, Math.floor(viewport.from - margin)),
      to = Math.ceil(viewport.to + margin) + 1;
    const pitch = viewport.pitch,
      { hidden: hide, only, facts } = this.timeline,
      { name } = this;
    const width = Math.min(16384, Math.max(1, Math.round(((to - from) * 1024) / pitch)));
    this.busy = true;
    try {
      const query = { from, to, width, threads: threads.join(","), hide, only, name };
      const answer = await fetchPacked(`/data/${this.timeline.facts.key}/timeline/blocks`, query);
      this.data = Object.assign(answer, {
        facts,
        pitch,
        from,
        to: to - 1,
        hide,
        only,
        name,
        threads: new Set(threads),
      });
      this.readRanges(answer.header);
    } catch (problem) {
      if (!(await this.timeline.matches.hasRefused(only))) {
        failed(problem);
        await retryPause();
      }
    }
    this.busy = false;
    this.timeline.schedule();
  }

  /* Answers hold blocks lane by lane, and instants thread by thread. */
  readRanges(header) {
    this.lanes = new Map();
    let at = 0;
    for (const [thread, depth, count] of header.lanes) {
      this.lanes.set(thread + "." + depth, [at, at + count]);
      at += count;
    }
    this.marks = new Map();
    at = 0;
    for (const [thread, count] of header.instants) {
      this.marks.set(thread, [at, at + count]);
      at += count;
    }
  }

  draw(draw, row, top) {
    const { data } = this;
    if (!data || data.name !== this.name) return;
    const { up } = this.timeline;
    for (const thread of row.threads) {
      for (let depth = 0; depth < lanesOf(row); depth += 1)
        this.drawLane(data, draw, thread, depth, top + laneTop(row, depth, up));
    }
    for (const thread of row.threads) this.drawMarks(data, draw, thread, top);
  }

  /* Left and right of a block in pixels. */
  span({ start, end }, index, last, viewport) {
    let until = end[index];
    if (until - start[index] < SHORTEST) {
      until = start[index] + SHORTEST;
      if (index + 1 < last) until = Math.max(end[index], Math.min(until, start[index + 1]));
    }
    return [viewport.x(start[index]), viewport.x(until)];
  }

  /* Whether another label is highlighted than what these events have. */
  get isFaint() {
    return !this.light && this.timeline.light.isOn;
  }

  get strength() {
    return this.isFaint ? RECEDED : 1;
  }

  drawLane(data, draw, thread, depth, y) {
    const range = this.lanes.get(thread + "." + depth);
    if (!range) return;
    const { viewport, colours, view } = this.timeline;
    const { start, end, busy, count, label, channel } = data.arrays;
    const { strength, slivers } = this;
    const least = this.light ? LEAST_LIT : 0.35;
    const named = [];
    let edge = -1;
    slivers.begin(viewport.width, view.scale, colours);
    for (let index = this.firstIn(end, range, viewport.from); index < range[1]; index += 1) {
      const [left, right] = this.span(data.arrays, index, range[1], viewport);
      if (left > viewport.width) break;
      if (right < 0) continue;
      const x = Math.max(-2, Math.min(left, viewport.width - 1)); /* the last pixel shows what begins within it */
      const width = Math.min(viewport.width + 2, right) - x;
      const merged = count[index] > 1;
      /* A narrow event keeps a pixel, paler where the pixel is mostly empty. */
      const full = merged ? Math.min(1, busy[index] / Math.max(1, end[index] - start[index])) : Math.min(1, width);
      const alpha = strength * (merged ? least + (1 - least) * full : Math.max(least, full));
      const wide = Math.max(1, width > 3 ? width - 1 : width);
      if (x + wide <= edge && wide <= 1) continue;
      edge = x + wide;
      if (this.light || wide >= PATTERNED) this.drawBlock(draw, channel[index], alpha, merged, x, y, wide);
      else slivers.add(x, wide, channel[index], alpha, merged);
      if (width > LABEL && label[index] >= 0) named.push(index, x, width);
    }
    slivers.paint(draw, y, LANE - 1);
    this.drawLabels(data, named, y);
  }

  drawBlock(draw, channel, alpha, merged, x, y, wide) {
    const { colours, patterns, palette } = this.timeline;
    const height = LANE - 1;
    draw.globalAlpha = alpha;
    draw.fillStyle = colours[channel];
    draw.fillRect(x, y, wide, height);
    if (wide >= PATTERNED && patterns[channel]) {
      draw.fillStyle = patterns[channel];
      draw.fillRect(x, y, wide, height);
      draw.fillStyle = colours[channel];
    }
    if (merged) draw.fillRect(x, y + height - FOOT, wide, FOOT);
    if (this.light) outlineBlock(draw, palette, x, y, wide, height);
    draw.globalAlpha = 1;
  }

  drawLabels(data, named, y) {
    for (let at = 0; at < named.length; at += 3) {
      const text = data.header.labels[data.arrays.label[named[at]]];
      drawLabel(this.timeline, text, data.arrays.channel[named[at]], named[at + 1], named[at + 2], y, this.isFaint);
    }
  }

  /* Lollipops: a round head in the channel's colour on a stem. */
  drawMarks(data, draw, thread, top) {
    const range = this.marks.get(thread);
    if (!range) return;
    const { viewport, colours, palette, chosen } = this.timeline;
    const { mark_time, mark_channel, mark_position } = data.arrays;
    draw.globalAlpha = this.strength;
    for (let index = range[0]; index < range[1]; index += 1) {
      const x = Math.round(viewport.x(mark_time[index]));
      if (x < -8 || x > viewport.width + 8) continue;
      const selected =
        chosen && chosen.thread === thread && chosen.depth < 0 && chosen.position === mark_position[index];
      draw.strokeStyle = selected ? palette.plain.accent : palette.plain.ink;
      draw.lineWidth = selected ? 2 : 1;
      draw.beginPath();
      draw.moveTo(x + 0.5, top + 8);
      draw.lineTo(x + 0.5, top + FLAGS + 2);
      draw.stroke();
      draw.fillStyle = colours[mark_channel[index]];
      draw.beginPath();
      draw.arc(x + 0.5, top + 6, 4.5, 0, 2 * Math.PI);
      draw.fill();
      draw.stroke();
    }
    draw.lineWidth = draw.globalAlpha = 1;
  }

  firstIn(end, range, from) {
    let [low, high] = range;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (end[middle] + SHORTEST <= from) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  /* The block or instant of a row at pixel (x, y below the row's top): an object or null. */
  hit(row, x, y) {
    const { data } = this;
    if (!data) return null;
    const base = row.instants ? FLAGS : 0;
    for (const thread of row.threads) {
      if (y < base) {
        const mark = this.markAt(data, thread, x);
        if (mark) return mark;
      } else {
        const lane = Math.floor((y - base) / LANE);
        const depth = this.timeline.up ? lanesOf(row) - 1 - lane : lane;
        const isLane = depth >= 0 && depth < lanesOf(row);
        const block = isLane ? this.blockAt(data, thread, depth, x) : null;
        if (block) return block;
      }
    }
    return null;
  }

  markAt(data, thread, x) {
    const { mark_time, mark_channel, mark_position } = data.arrays;
    const range = this.marks.get(thread) || [0, 0];
    for (let index = range[1] - 1; index >= range[0]; index -= 1) {
      if (Math.abs(this.timeline.viewport.x(mark_time[index]) - x) <= 5) {
        return {
          thread,
          depth: -1,
          position: mark_position[index],
          start: mark_time[index],
          end: mark_time[index],
          count: 1,
          channel: mark_channel[index],
        };
      }
    }
    return null;
  }

  blockAt(data, thread, depth, x) {
    const range = this.lanes.get(thread + "." + depth);
    if (!range) return null;
    const { viewport } = this.timeline;
    const a = data.arrays;
    let best = null,
      distance = 1.5;
    for (let index = this.firstIn(a.end, range, viewport.cycleAt(x - 2)); index < range[1]; index += 1) {
      const [left, right] = this.span(a, index, range[1], viewport);
      if (left > x + 2) break;
      const away = x < left ? left - x : x > right ? x - right : 0;
      if (away < distance || (away === 0 && !best)) {
        best = index;
        distance = away;
      }
    }
    if (best === null) return null;
    return {
      thread,
      depth,
      position: a.first[best],
      start: a.start[best],
      end: a.end[best],
      busy: a.busy[best],
      count: a.count[best],
      channel: a.channel[best],
      label: a.label[best] < 0 ? null : data.header.labels[a.label[best]],
    };
  }
}

export { Flames, drawLabel, outlineBlock, RECEDED };
