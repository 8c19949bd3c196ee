// @ts-check
/* Blocks of a lane that are too narrow for a label or a pattern. They are added up in one row of device pixels, which
   is then drawn as one picture: a lane has about as many of them as pixels, and a rectangle of the canvas takes far
   longer than a few additions. A pixel has the mean colour of what covers it, by area and strength. */
import { contextOf, makeCanvas } from "../shared/canvas/pens.js";
import { rgbOf } from "./palette.js";

const FOOT = 2; /* pixels: the line below merged events */
const SUMS = 7; /* per pixel: red, green, blue, strength, area, strength of merged events, opacity */

class Slivers {
  constructor() {
    /** @type {string[]} #rrggbb of each channel */
    this.colours = [];
    /** @type {number[][]} red, green and blue of these */
    this.inks = [];
    this.scale = 1;
    this.width = 0; /* of the lane, in device pixels */
    this.sums = new Float32Array(0);
    /** @type {[number, number]} the device pixels that have something */
    this.range = [0, 0];
    this.pen = contextOf(makeCanvas(1, 2), { willReadFrequently: true });
  }

  /* Begin a lane of `width` pixels, of `scale` device pixels each. */
  begin(width, scale, colours) {
    if (colours !== this.colours) this.inks = colours.map(rgbOf);
    this.colours = colours;
    this.scale = scale;
    this.width = Math.ceil(width * scale);
    if (this.sums.length < SUMS * this.width) this.sums = new Float32Array(SUMS * this.width);
    this.range = [this.width, 0];
  }

  /* A block from x on, `wide` pixels long. */
  add(x, wide, channel, strength, isMerged) {
    const from = Math.max(0, x * this.scale),
      to = Math.min(this.width, (x + wide) * this.scale);
    if (to <= from) return;
    const { sums } = this;
    const [red, green, blue] = this.inks[channel];
    const first = Math.floor(from),
      last = Math.ceil(to);
    for (let pixel = first; pixel < last; pixel += 1) {
      const area = Math.min(to, pixel + 1) - Math.max(from, pixel);
      const part = area * strength;
      const at = SUMS * pixel;
      sums[at] += red * part;
      sums[at + 1] += green * part;
      sums[at + 2] += blue * part;
      sums[at + 3] += part;
      sums[at + 4] += area;
      if (isMerged) sums[at + 5] += part;
      sums[at + 6] += part * (1 - sums[at + 6]);
    }
    if (first < this.range[0]) this.range[0] = first;
    if (last > this.range[1]) this.range[1] = last;
  }

  /* Draw what was added into the lane at y. */
  paint(draw, y, height) {
    const [first, last] = this.range;
    const count = last - first;
    if (count <= 0) return;
    const pen = this.strip(count);
    const image = pen.createImageData(count, 2);
    const foot = 4 * count;
    const { data } = image;
    const { sums } = this;
    for (let pixel = 0, at = SUMS * first; pixel < count; pixel += 1, at += SUMS) {
      const strength = sums[at + 3];
      if (!strength) continue;
      const area = Math.max(1, sums[at + 4]); /* several may share a pixel */
      const to = 4 * pixel;
      for (let part = 0; part < 3; part += 1) data[to + part] = data[foot + to + part] = sums[at + part] / strength;
      data[to + 3] = 255 * Math.max(strength / area, sums[at + 6]); /* those drawn wider lie over each other */
      data[foot + to + 3] = (255 * sums[at + 5]) / area;
    }
    sums.fill(0, SUMS * first, SUMS * last);
    pen.putImageData(image, 0, 0);
    const left = first / this.scale,
      wide = count / this.scale;
    draw.imageSmoothingEnabled = false;
    draw.drawImage(pen.canvas, 0, 0, count, 1, left, y, wide, height);
    draw.drawImage(pen.canvas, 0, 1, count, 1, left, y + height - FOOT, wide, FOOT);
  }

  /* The pen of a canvas that has room for two rows of `count` pixels. */
  strip(count) {
    const { canvas } = this.pen;
    if (canvas.width < count) canvas.width = Math.max(count, this.width);
    return this.pen;
  }
}

export { Slivers, FOOT };
