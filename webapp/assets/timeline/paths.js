// @ts-check
/* Thread rows whose calls are merged by path: the types "Aggregated" and "Bottom-up" of the flame graph. A block is as
   wide as its time in the window, on the scale of the axis; its place says nothing about when. While the window moves,
   the last answer is drawn. Rows that take long come one after another; those still to come are pale. */
import { fetchPacked, retryPause } from "../shared/packed.js";
import { failed } from "./complaints.js";
import { RECEDED, drawLabel, outlineBlock } from "./flames.js";
import { LANE, laneTop, lanesOf } from "./rows.js";

const PATTERNED = 4; /* pixels: below, a pattern does not show */
const LABEL = 24; /* pixels of a block with a label */

const TURN = 200 /* ms: as many rows are asked for at once as take about so long */,
  MOMENT = 400 /* ms without any sign */,
  PALE = 0.3; /* opacity of a row that shows another window, while rows of this one arrive */

class Paths {
  constructor(timeline) {
    this.timeline = timeline;
    this.busy = false;
    this.pace = TURN; /* ms that a row took last */
    /** @type {Map<string, any>} the blocks of each row, by its threads: a range of the arrays of an answer */
    this.rows = new Map();
    /** the question whose answers arrive, "" when all are here */
    this.arriving = "";
    /** @type {string[]} the rows that are asked for, and since when in ms */
    this.asked = [];
    this.begun = 0;
  }

  /* What an answer belongs to. */
  question(viewport) {
    const { kind, only, facts } = this.timeline;
    return [facts.key, facts.events, kind, only, viewport.pitch, viewport.first, viewport.width].join(" ");
  }

  /* Fetch what is missing; true when everything visible is here. `rows` are lists of threads. */
  update(viewport, rows) {
    const question = this.question(viewport);
    const missing = rows.map((threads) => threads.join(",")).filter((row) => !this.isOf(question, row));
    if (!missing.length) this.arriving = "";
    else if (!this.busy) {
      const most = Math.max(1, Math.floor(TURN / this.pace));
      this.request(viewport, question, missing.slice(0, most));
    }
    return !missing.length;
  }

  isOf(question, row) {
    const known = this.rows.get(row);
    return known !== undefined && known.question === question && known.source === this.timeline.facts;
  }

  async request(viewport, question, wanted) {
    const { facts, kind, only } = this.timeline;
    const from = Math.max(0, Math.floor(viewport.from)),
      to = Math.ceil(viewport.to) + (viewport.isFit ? 1 : 0);
    const query = { from, to: Math.max(to, from + 1), width: Math.round(viewport.width), kind, only };
    this.begun = performance.now();
    this.asked = wanted;
    this.busy = true;
    const timer = window.setTimeout(() => this.timeline.schedule(), MOMENT + 1);
    try {
      const rows = wanted.join(";");
      const { header, arrays } = await fetchPacked(`/data/${facts.key}/timeline/paths`, { ...query, rows });
      this.pace = (performance.now() - this.begun) / wanted.length;
      this.arriving = question;
      let at = 0;
      header.rows.forEach((row, index) => {
        const range = { from: at, to: at + row.blocks, facts: row, header, arrays };
        this.rows.set(wanted[index], { ...range, question, kind, source: facts });
        at += row.blocks;
      });
    } catch (problem) {
      if (!(await this.timeline.matches.hasRefused(only))) {
        failed(problem);
        await retryPause();
      }
    }
    window.clearTimeout(timer);
    this.busy = false;
    this.timeline.schedule();
  }

  /* Whether a row of several threads has been waited for: it comes in one step, however many threads it adds up. */
  isInOneStep(row) {
    if (!this.busy || row.threads.length < 2 || performance.now() - this.begun < MOMENT) return false;
    return this.asked.includes(row.threads.join(","));
  }

  drawWait(draw, row, top) {
    const { palette } = this.timeline;
    const text = "Adding up the calls of " + row.threads.length.toLocaleString("en-US") + " threads, in one step …";
    draw.font = "11px " + palette.font;
    draw.textBaseline = "middle";
    draw.fillStyle = palette.plain.surface;
    draw.fillRect(0, top, draw.measureText(text).width + 12, LANE);
    draw.fillStyle = palette.plain.ink;
    draw.fillText(text, 6, top + LANE / 2);
  }

  /* The range of blocks of a row, null before its answer. */
  of(row) {
    const known = this.rows.get(row.threads.join(","));
    return known && known.kind === this.timeline.kind ? known : null;
  }

  draw(draw, row, top) {
    const { viewport, palette } = this.timeline;
    draw.fillStyle = palette.plain.surface; /* the lines of the time axis say nothing here */
    draw.fillRect(0, top - 3, viewport.width, row.height - 1);
    const range = this.of(row);
    const waits = this.isInOneStep(row);
    if (range) {
      if (waits || (this.arriving && range.question !== this.arriving)) draw.globalAlpha = PALE;
      this.drawBlocks(draw, row, top, range);
      draw.globalAlpha = 1;
    }
    if (waits) this.drawWait(draw, row, top);
  }

  drawBlocks(draw, row, top, range) {
    const { viewport, palette, colours, hiddenSet, only, light } = this.timeline;
    const { left, wide, depth, channel, label, matched } = range.arrays;
    const lanes = lanesOf(row);
    const strength = draw.globalAlpha; /* pale while the answer for this window is on its way */
    for (let index = range.from; index < range.to; index += 1) {
      if (depth[index] >= lanes || hiddenSet.has(channel[index]) || (only && !matched[index])) continue;
      const x = left[index] * viewport.width,
        room = wide[index] * viewport.width;
      const width = Math.max(1, room > 3 ? room - 1 : room);
      const y = top + laneTop(row, depth[index], this.timeline.up);
      const name = range.header.labels[label[index]];
      const isFaint = light.isOn && !light.isOf(name, channel[index]);
      draw.globalAlpha = isFaint ? RECEDED * strength : strength;
      draw.fillStyle = colours[channel[index]];
      draw.fillRect(x, y, width, LANE - 1);
      const pattern = room >= PATTERNED ? this.timeline.patterns[channel[index]] : null;
      if (pattern) {
        draw.fillStyle = pattern;
        draw.fillRect(x, y, width, LANE - 1);
      }
      if (light.isOn && !isFaint) outlineBlock(draw, palette, x, y, width, LANE - 1);
      draw.globalAlpha = strength;
      if (room > LABEL) drawLabel(this.timeline, name, channel[index], x, room, y, isFaint);
      if (this.isChosen(range, index)) this.outline(draw, x, y, width);
    }
  }

  isChosen({ arrays }, index) {
    const { chosen } = this.timeline;
    const { thread, longest_depth, position } = arrays;
    return (
      chosen !== null &&
      chosen.thread === thread[index] &&
      chosen.depth === longest_depth[index] &&
      chosen.position === position[index]
    );
  }

  outline(draw, x, y, width) {
    draw.strokeStyle = this.timeline.palette.plain.accent;
    draw.lineWidth = 2;
    draw.strokeRect(Math.round(x), y, Math.max(2, Math.round(width) - 1), LANE - 1);
    draw.lineWidth = 1;
  }

  /* The block of a row at pixel (x, y below the row's top): an object or null. */
  hit(row, x, y) {
    const range = this.of(row);
    if (!range) return null;
    const { viewport, hiddenSet, only, up } = this.timeline;
    const a = range.arrays;
    const lanes = lanesOf(row);
    for (let index = range.from; index < range.to; index += 1) {
      if (a.depth[index] >= lanes || hiddenSet.has(a.channel[index]) || (only && !a.matched[index])) continue;
      const at = y - laneTop(row, a.depth[index], up);
      if (at < 0 || at >= LANE) continue;
      const from = a.left[index] * viewport.width;
      if (x >= from - 1 && x <= from + Math.max(1, a.wide[index] * viewport.width)) return this.facts(range, index);
    }
    return null;
  }

  facts({ facts, header, arrays: a }, index) {
    return {
      label: header.labels[a.label[index]],
      channel: a.channel[index],
      count: a.events[index],
      total: a.total[index],
      self: a.self[index],
      whole: facts.total,
      scaled: facts.whole > header.window,
      longest: a.thread[index] + "." + a.longest_depth[index] + "." + a.position[index],
    };
  }
}

export { Paths };
