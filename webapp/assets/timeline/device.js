// @ts-check
/* Row of an IPU under the host's threads: recorded runs over the time of their Engine::run, their steps, and below each
   run the ticks of its own clock in cycles. The bars are those of the execution trace. */
import { Bars, ROW } from "../execution/bars.js";
import { Palette } from "../execution/palette.js";
import { roundTicks } from "../shared/canvas/ticks.js";
import { GRAIN } from "../shared/canvas/viewport.js";
import { fetchJson } from "../shared/packed.js";
import { go } from "../shell/viewer.js";
import { complain, failed } from "./complaints.js";
import { NAMES } from "./shown.js";

const TOP = 3; /* pixels above the bars */
const CLOCK = 16; /* pixels of the clock below them */
const TICK = 90; /* pixels from tick to tick at the least */
const JOINED = 24; /* a run of as many pixels has lines to its begin and end on the host */

class Device {
  constructor(timeline, row) {
    this.timeline = timeline;
    this.row = row;
    const { families, key } = timeline.facts;
    this.bars = new Bars({ key, families }, row.ipu, () => timeline.schedule(), {
      route: "timeline/device",
      query: { report: row.report, file: row.file },
      complain: failed,
    });
    this.recolour();
  }

  recolour() {
    this.theme = this.timeline.palette.theme;
    this.palette = new Palette(new Set());
  }

  update(viewport) {
    return this.bars.update(viewport, false);
  }

  /* Runs of the answer with room for a clock: [{run, begin, end, cycles}]. */
  get runs() {
    const { data } = this.bars;
    return data ? data.header.runs.map(([run, begin, end, cycles]) => ({ run, begin, end, cycles })) : [];
  }

  draw(draw, row, top) {
    if (this.theme !== this.timeline.palette.theme) this.recolour();
    const { viewport } = this.timeline;
    this.bars.draw(draw, this.palette, viewport, top + TOP, { labels: true, small: true });
    for (const run of this.runs) this.drawClock(draw, run, top + TOP + this.bars.height);
  }

  /* Ticks at round cycles of the run, which begin at 0. */
  drawClock(draw, run, top) {
    const { viewport, palette } = this.timeline;
    const left = viewport.x(run.begin),
      right = viewport.x(run.end);
    if (right < 0 || left > viewport.width) return;
    const perCycle = (right - left) / Math.max(1, run.cycles);
    const first = Math.max(0, -left / perCycle),
      last = Math.min(run.cycles, (viewport.width - left) / perCycle);
    const ticks = roundTicks(first, last, Math.max(1, ((last - first) * perCycle) / TICK), 1);
    draw.font = "10px " + palette.font;
    draw.textBaseline = "middle";
    draw.fillStyle = palette.plain.axis;
    for (const at of ticks) {
      const x = left + at * perCycle;
      draw.fillRect(Math.round(x), top, 1, 4);
      const text = at.toLocaleString("en-US") + (at === ticks[0] ? " cycles" : "");
      const width = draw.measureText(text).width;
      if (x + 3 + width <= Math.min(right, viewport.width)) draw.fillText(text, Math.round(x) + 3, top + CLOCK / 2);
    }
  }

  /* The bar or merged cell at pixel x, y pixels below the top of the row: {level, first, begin, end, bar?, cell?}, in
     ns; null between bars. */
  hit(x, y) {
    const { viewport } = this.timeline;
    const level = Math.floor((y - TOP) / ROW);
    /** @type {any} */
    const data = this.bars.data;
    const found = !data || level < 0 || level > 1 ? null : this.bars.hit(viewport, x, level);
    if (!found) return null;
    if (found.bar) return { ...found, ...found.bar };
    const column = Math.floor(((viewport.first + x) * viewport.pitch) / data.pitch);
    const [begin, end] = [column, column + 1].map((each) => (each * data.pitch) / GRAIN);
    return { ...found, ...found.cell, begin, end };
  }

  /* Facts of the first step of a bar. */
  facts(bar) {
    const { report, file, ipu } = this.row;
    const query = `report=${report}&file=${file}&ipu=${ipu}&step=${bar.first}`;
    return fetchJson(`/data/${this.timeline.facts.key}/timeline/device_step?${query}`);
  }

  /* Select what the host did then: the transfer of a part of a copy, else the Engine::run. */
  async choose(bar) {
    if (bar.cell) {
      this.timeline.show(bar.begin, bar.end, 0.8);
      return;
    }
    try {
      const facts = await this.facts(bar);
      const event = (bar.level === 1 && facts.host) || facts.event;
      if (event) this.timeline.choose({ ...event, end: event.start + event.duration });
    } catch (problem) {
      complain(problem);
    }
  }

  /* Open the execution trace of the report at a bar. */
  async open(bar) {
    try {
      const facts = await this.facts(bar);
      go(bar.level === 0 ? facts.run_href : facts.href);
    } catch (problem) {
      complain(problem);
    }
  }
}

/* Lines from the begin and the end of each wide run up through the host's rows: there the two clocks meet. */
function drawJoins(timeline, rows) {
  const { draw, palette, viewport } = timeline;
  draw.fillStyle = palette.plain.muted;
  for (const { row, top } of rows) {
    if (row.kind !== "device") continue;
    for (const run of timeline.chartOf(row).runs) {
      if (viewport.x(run.end) - viewport.x(run.begin) < JOINED) continue;
      for (const at of [run.begin, run.end]) {
        const x = viewport.x(at);
        if (x < 0 || x > viewport.width) continue;
        for (let y = timeline.top; y < top + TOP; y += 6) draw.fillRect(NAMES + Math.round(x), y, 1, 2);
      }
    }
  }
}

const HEIGHT = TOP + 2 * 18 + CLOCK + 3;

export { Device, drawJoins, HEIGHT as DEVICE_HEIGHT };
