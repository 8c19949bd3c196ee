// @ts-check
/* Line graphs (step-after, lines or areas) and heat maps of the visible rows. */
import { roundTicks } from "../shared/canvas/ticks.js";
import { fetchPacked, retryPause } from "../shared/packed.js";
import { failed } from "./complaints.js";
import { Device } from "./device.js";
import { ramp } from "./palette.js";
import { HEAD } from "./rows.js";

const SWATCHES = 16;

/* How the colour of a heat map's cell follows from its share of the column, 1 to 16, by the value of tl_heat. */
const logarithmic = (decades, marks) => ({
  name: "logarithmic from 10^-" + decades,
  marks,
  level: (share) => Math.ceil(SWATCHES * (1 + Math.log10(share) / decades)),
});
const HEAT_SCALES = {
  "": logarithmic(4, ["10⁰", "10⁻¹", "10⁻²", "10⁻³", "10⁻⁴"]),
  2: logarithmic(2, ["10⁰", "10⁻¹", "10⁻²"]),
  6: logarithmic(6, ["10⁰", "10⁻²", "10⁻⁴", "10⁻⁶"]),
  linear: {
    name: "linear",
    marks: ["100 %", "75 %", "50 %", "25 %", "0 %"],
    level: (share) => Math.ceil(SWATCHES * share),
  },
};

/* The answer for a row: the window and half a screen on both sides; at most one request is under way. */
class Asked {
  constructor(timeline, address) {
    this.timeline = timeline;
    this.address = address;
    this.data = null;
    this.busy = false;
  }

  update(viewport) {
    const data = this.data;
    const covered =
      data !== null && data.pitch === viewport.pitch && data.from <= viewport.from && data.to >= viewport.to;
    if (!covered && !this.busy) this.request(viewport);
    return covered;
  }

  async request(viewport) {
    const margin = viewport.isFit ? 0 : (viewport.to - viewport.from) / 2;
    const from = Math.max(0, Math.floor(viewport.from - margin)),
      to = Math.ceil(viewport.to + margin) + 1;
    const pitch = viewport.pitch;
    const width = Math.min(16384, Math.max(1, Math.round(((to - from) * 1024) / pitch)));
    this.busy = true;
    try {
      const data = await fetchPacked(
        `/data/${this.timeline.facts.key}/timeline/${this.address}&from=${from}&to=${to}&width=${width}`,
      );
      this.data = Object.assign(data, { pitch, from, to: to - 1 });
    } catch (problem) {
      failed(problem);
      await retryPause();
    }
    this.busy = false;
    this.timeline.schedule();
  }
}

function number(value) {
  if (value === 0) return "0";
  const size = Math.abs(value);
  if (size >= 1e6 || size < 1e-3) return value.toExponential(2).replace("e+", "e");
  return Number(value.toPrecision(4)).toLocaleString("en-US", { maximumFractionDigits: 6 });
}

/* ---- line graphs ---- */

class Graph {
  constructor(timeline, row) {
    this.timeline = timeline;
    this.series = row.graph.series;
    this.unit = row.graph.unit;
    this.source = new Asked(timeline, "samples?series=" + this.series.map((each) => each.index).join(","));
    const low = Math.min(...this.series.map((each) => each.low)),
      high = Math.max(...this.series.map((each) => each.high));
    const spare = high > low ? 0.06 * (high - low) : Math.max(1e-12, Math.abs(high) * 0.1 || 1);
    this.low = low - spare;
    this.high = high + spare;
  }

  update(viewport) {
    return this.source.update(viewport);
  }
  colour(at) {
    return this.timeline.palette.series[at % this.timeline.palette.series.length];
  }

  y(value, top, height) {
    return top + 4 + (height - 8) * (1 - (value - this.low) / (this.high - this.low));
  }

  draw(draw, row, top) {
    const { palette } = this.timeline;
    if (row.open) this.drawScale(draw, top, row.height);
    if (!this.source.data) return;
    const { time, value } = this.source.data.arrays;
    let at = 0;
    this.source.data.header.series.forEach(([, count], which) => {
      if (count)
        this.drawSeries(draw, time.subarray(at, at + count), value.subarray(at, at + count), which, top, row.height);
      at += count;
    });
    draw.fillStyle = palette.plain.muted;
  }

  drawScale(draw, top, height) {
    const { viewport, palette } = this.timeline;
    draw.font = "10px " + palette.font;
    draw.textBaseline = "middle";
    for (const value of roundTicks(this.low, this.high, 4)) {
      const y = Math.round(this.y(value, top, height)) + 0.5;
      draw.fillStyle = palette.plain.grid;
      draw.fillRect(0, y, viewport.width, 1);
      draw.fillStyle = palette.plain.faint;
      draw.fillText(number(value), 4, Math.max(top + 6, y - 6));
    }
  }

  drawSeries(draw, time, value, which, top, height) {
    const { viewport } = this.timeline;
    const path = new Path2D();
    const x = (index) => Math.max(-10, Math.min(viewport.width + 10, viewport.x(time[index])));
    const y = (index) => Math.max(top, Math.min(top + height, this.y(value[index], top, height)));
    path.moveTo(x(0), y(0));
    for (let index = 1; index < time.length; index += 1) {
      path.lineTo(x(index), y(index - 1));
      path.lineTo(x(index), y(index));
    }
    draw.strokeStyle = this.colour(which);
    draw.lineWidth = 1.5;
    draw.stroke(path);
    draw.lineWidth = 1;
    if (this.timeline.areas) {
      path.lineTo(x(time.length - 1), top + height - 2);
      path.lineTo(x(0), top + height - 2);
      draw.globalAlpha = 0.22;
      draw.fillStyle = this.colour(which);
      draw.fill(path);
      draw.globalAlpha = 1;
    }
  }

  /* The value of each series at `ns`: [{name, value, colour}]; NaN before the first and after the last sample. */
  at(ns) {
    if (!this.source.data) return [];
    const { time, value } = this.source.data.arrays;
    let at = 0;
    return this.source.data.header.series.map(([, count], which) => {
      let low = at,
        high = at + count;
      const last = at + count - 1;
      while (low < high) {
        const middle = (low + high) >> 1;
        if (time[middle] <= ns) low = middle + 1;
        else high = middle;
      }
      const inside = count && low > at && (low - 1 < last || ns <= time[last]);
      const nearest = inside ? value[low - 1] : NaN;
      at += count;
      return { name: this.series[which].name, value: nearest, colour: this.colour(which) };
    });
  }
}

/* ---- heat maps ---- */

class Heatmap {
  constructor(timeline, row) {
    this.timeline = timeline;
    this.map = row.map;
    this.hue = row.index;
    this.source = new Asked(timeline, "heatmap?id=" + row.index);
  }

  update(viewport) {
    return this.source.update(viewport);
  }

  scale() {
    return HEAT_SCALES[this.timeline.heat] || HEAT_SCALES[""];
  }

  /* 0 for an empty cell, else 1 to 16. */
  swatch(share) {
    return share ? Math.max(1, Math.min(SWATCHES, this.scale().level(share))) : 0;
  }

  /* The lowest drawn bin and the number of drawn bins: all, or those from the lowest to the highest with a value. */
  drawnBins() {
    const all = this.map.edges.length + 1;
    const { used } = this.map;
    return this.timeline.usedBins && used ? [used[0], used[1] - used[0] + 1] : [0, all];
  }

  colours() {
    const [pale, strong] = this.timeline.palette.heat[this.hue % this.timeline.palette.heat.length];
    return ramp(this.timeline.palette.plain.sunken, pale, strong, SWATCHES);
  }

  draw(draw, row, top) {
    const { viewport } = this.timeline;
    const data = this.source.data;
    const height = row.height - 6;
    if (data) {
      const { start, end, quantity } = data.arrays;
      const bins = data.header.bins;
      const [lowest, drawn] = this.drawnBins();
      const colours = this.colours();
      for (let column = 0; column < start.length; column += 1) {
        const left = Math.max(0, viewport.x(start[column])),
          right = Math.min(viewport.width, viewport.x(end[column]));
        if (right < 0 || left > viewport.width) continue;
        const x = Math.floor(left),
          width = Math.max(1, Math.ceil(right) - x);
        let sum = 0;
        for (let bin = 0; bin < bins; bin += 1) sum += quantity[column * bins + bin];
        draw.fillStyle = colours[0];
        draw.fillRect(x, top + 3, width, height);
        for (let place = 0; place < drawn && sum; place += 1) {
          const level = this.swatch(quantity[column * bins + lowest + place] / sum);
          if (!level) continue;
          draw.fillStyle = colours[level];
          const from = Math.round(top + 3 + (height * (drawn - 1 - place)) / drawn),
            to = Math.round(top + 3 + (height * (drawn - place)) / drawn);
          draw.fillRect(x, from, width, Math.max(1, to - from));
        }
      }
    }
  }

  /* Bin edges, for the column of names: pixels below the row's top, and text. Of all bins the highest is the
     overflow, the lowest the underflow. Edges beside the title are left out. */
  edgeMarks(row) {
    const { edges } = this.map;
    const [lowest, drawn] = this.drawnBins();
    const height = row.height - 6;
    const every = Math.max(1, Math.ceil((drawn * 14) / height));
    const marks = [];
    for (let index = Math.max(0, lowest - 1); index < Math.min(edges.length, lowest + drawn); index += every) {
      const y = 3 + (height * (lowest + drawn - 1 - index)) / drawn;
      if (y >= HEAD + 6 && y <= row.height - 6) marks.push({ y, text: this.edgeText(edges[index]) });
    }
    return marks;
  }

  edgeText(edge) {
    if (this.map.unit !== "2^x") return number(edge);
    const raised = {
      "-": "⁻",
      ".": "·",
      0: "⁰",
      1: "¹",
      2: "²",
      3: "³",
      4: "⁴",
      5: "⁵",
      6: "⁶",
      7: "⁷",
      8: "⁸",
      9: "⁹",
    };
    return "2" + String(edge).replace(/[-.\d]/g, (each) => raised[each]);
  }

  /* The cell at `ns` and y pixels below the row's top: {bin, quantity, sum} or null. */
  at(ns, y, row) {
    const data = this.source.data;
    if (!data) return null;
    const { start, end, quantity } = data.arrays;
    const bins = data.header.bins;
    const column = start.findIndex((begin, index) => begin <= ns && ns < end[index]);
    const [lowest, drawn] = this.drawnBins();
    const rank = Math.floor(((y - 3) * drawn) / (row.height - 6));
    if (column < 0 || rank < 0 || rank >= drawn) return null;
    const bin = lowest + drawn - 1 - rank;
    const cells = quantity.subarray(column * bins, (column + 1) * bins);
    return { bin, quantity: cells[bin], sum: cells.reduce((sum, each) => sum + each, 0), range: this.rangeText(bin) };
  }

  rangeText(bin) {
    const edges = this.map.edges;
    if (bin === 0) return "underflow, below " + this.edgeText(edges[0]);
    if (bin === edges.length) return "overflow, from " + this.edgeText(edges[edges.length - 1]) + " up";
    return "from " + this.edgeText(edges[bin - 1]) + " to " + this.edgeText(edges[bin]);
  }
}

/* ---- when IPUs ran ---- */

class Activity {
  constructor(timeline, row) {
    this.timeline = timeline;
    this.source = new Asked(timeline, "activity?id=" + row.index);
  }

  update(viewport) {
    return this.source.update(viewport);
  }

  draw(draw, row, top) {
    const { viewport, palette } = this.timeline;
    if (!this.source.data) return;
    const { start, end, busy } = this.source.data.arrays;
    draw.fillStyle = palette.plain.accent;
    for (let index = 0; index < start.length; index += 1) {
      const left = Math.max(-2, viewport.x(start[index])),
        right = Math.min(viewport.width + 2, viewport.x(end[index]));
      if (right < 0 || left > viewport.width) continue;
      const filled = Math.min(1, busy[index] / Math.max(1, end[index] - start[index]));
      draw.globalAlpha = right - left < 1 ? Math.max(0.35, filled * (right - left)) : 0.35 + 0.65 * filled;
      draw.fillRect(left, top + 4, Math.max(1, right - left), row.height - 9);
    }
    draw.globalAlpha = 1;
  }

  /* The span or merged spans at `ns`: {start, end, busy} or null. */
  at(ns) {
    if (!this.source.data) return null;
    const { start, end, busy } = this.source.data.arrays;
    const index = start.findIndex((begin, each) => begin <= ns && ns < end[each]);
    return index < 0 ? null : { start: start[index], end: end[index], busy: busy[index] };
  }
}

const CHARTS = { graph: Graph, heatmap: Heatmap, activity: Activity, device: Device };

export { number, CHARTS };
