// @ts-check
/* Overview above the timeline: every lane of the file in a few pixels, its line graphs below them, the visible window
   and its two handles. */
import { drawWindow } from "../shared/canvas/overview.js";
import { contextOf, makeCanvas } from "../shared/canvas/pens.js";
import { fetchPacked, retryPause } from "../shared/packed.js";
import { failed } from "./complaints.js";

const HEIGHT = 72; /* pixels */
const GRAPHS = 24; /* pixels of them for line graphs, where the file has some */
const MOST_SERIES = 12;

class Strip {
  constructor(timeline) {
    this.timeline = timeline;
    this.data = null;
    this.busy = false;
    this.picture = null;
    this.readSeries();
  }

  /* Each graph in the range of its own values, as in its row. */
  readSeries() {
    const graphs = this.timeline.facts.files.flatMap((file) => file.graphs);
    this.series = graphs.flatMap((graph) => {
      const low = Math.min(...graph.series.map((each) => each.low)),
        high = Math.max(...graph.series.map((each) => each.high));
      return graph.series.map((each, which) => ({ index: each.index, low, high, which }));
    });
    this.series.length = Math.min(this.series.length, MOST_SERIES);
  }

  get lanesHeight() {
    return HEIGHT - 8 - (this.series.length ? GRAPHS : 0);
  }

  get height() {
    return HEIGHT;
  }
  recolour() {
    this.picture = null;
  }

  update(width) {
    const columns = Math.min(4096, width);
    if (this.data && this.data.columns === columns && this.data.facts === this.timeline.facts) return true;
    if (!this.busy) this.request(columns);
    return false;
  }

  async request(columns) {
    const { facts } = this.timeline;
    this.busy = true;
    try {
      const size = { width: columns, rows: this.lanesHeight };
      const [data, samples] = await Promise.all([
        fetchPacked(`/data/${facts.key}/timeline/overview`, size),
        this.series.length ? this.samples(columns) : null,
      ]);
      this.data = Object.assign(data, { facts, columns, samples });
      this.picture = null;
    } catch (problem) {
      failed(problem);
      await retryPause();
    }
    this.busy = false;
    this.timeline.schedule();
  }

  samples(columns) {
    const { key, total } = this.timeline.facts;
    const series = this.series.map((each) => each.index).join(",");
    return fetchPacked(`/data/${key}/timeline/samples?series=${series}&from=0&to=${total + 1}&width=${columns}`);
  }

  /* One pixel row per lane; with more lanes than pixels, the server has taken the fullest lane of each. */
  paint({ columns, header, arrays }) {
    const canvas = makeCanvas(columns, Math.max(1, header.rows));
    const draw = contextOf(canvas);
    const image = draw.createImageData(canvas.width, canvas.height);
    const colours = this.timeline.colours.map((each) => [1, 3, 5].map((at) => parseInt(each.slice(at, at + 2), 16)));
    arrays.share.forEach((share, pixel) => {
      if (!share) return;
      image.data.set([...colours[arrays.channel[pixel]], Math.min(255, 90 + 0.65 * share)], 4 * pixel);
    });
    draw.putImageData(image, 0, 0);
    return canvas;
  }

  draw(draw, left) {
    const { viewport, palette } = this.timeline;
    draw.fillStyle = palette.plain.sunken;
    draw.fillRect(left, 4, viewport.width, HEIGHT - 8);
    if (this.data) {
      this.picture = this.picture || this.paint(this.data);
      draw.imageSmoothingEnabled = false;
      const height = Math.min(this.lanesHeight, this.picture.height * 6);
      draw.drawImage(this.picture, left, 4, viewport.width, height);
      if (this.data.samples) this.drawGraphs(draw, left, this.data.samples);
    }
    drawWindow(draw, palette.plain, viewport, { x: left, y: 4, height: HEIGHT - 8 });
  }

  /* Steps after each sample, thin: where they rise and fall, not what they are. */
  drawGraphs(draw, left, { header, arrays }) {
    const { viewport, palette, facts } = this.timeline;
    const x = (ns) => left + (ns / (facts.total + 1)) * viewport.width;
    const foot = HEIGHT - 6;
    let at = 0;
    header.series.forEach(([, count], row) => {
      const { low, high, which } = this.series[row];
      const y = (value) => 0.5 + Math.round(foot - ((GRAPHS - 4) * (value - low)) / (high - low || 1));
      const path = new Path2D();
      for (let index = at; index < at + count; index += 1) {
        if (index === at) path.moveTo(x(arrays.time[index]), y(arrays.value[index]));
        else path.lineTo(x(arrays.time[index]), y(arrays.value[index - 1]));
        path.lineTo(x(arrays.time[index]), y(arrays.value[index]));
      }
      at += count;
      draw.strokeStyle = palette.series[which % palette.series.length];
      draw.stroke(path);
    });
  }
}

export { Strip };
