// @ts-check
/* Colours and patterns of step families from tokens.css, and colours of packed pixels.

   A packed pixel holds six five-bit shares (compute, exchange, global, host, wait, sync); 31 is the whole pixel. A
   pixel with several classes takes the colour of one of them: a mixture of two can equal the colour of a third.
   An ordered dither chooses: the threshold of (column, row) follows the R2 sequence (M. Roberts, "The Unreasonable
   Effectiveness of Quasirandom Sequences", 2018), whose values are spread evenly along every row and every column.
   So a class covers as many pixels of an area as it takes of its time. Cost: some six additions a pixel. */
import { contextOf, makeCanvas } from "../shared/canvas/pens.js";

const CLASSES = ["compute", "exchange", "global", "host", "wait", "sync"];
const FAMILIES = CLASSES.concat(["control", "group", "other", "run"]);
const R2_COLUMN = 3242174889; /* 2^32 / p and 2^32 / p^2, where p^3 = p + 1 */
const R2_ROW = 2447445414;
const PLAIN = [
  "canvas",
  "surface",
  "raised",
  "sunken",
  "hover",
  "ink",
  "muted",
  "faint",
  "line",
  "line-strong",
  "accent",
  "focus",
  "grid",
  "axis",
  "mark",
];

function rgb(colour) {
  const value = parseInt(colour.slice(1), 16);
  return [(value >> 16) & 255, (value >> 8) & 255, value & 255];
}

/* Lines or dots in the family's edge colour: the second channel beside colour. */
function tile(kind, colour) {
  if (kind === "none") return null;
  const canvas = makeCanvas(8, 8);
  const draw = contextOf(canvas);
  draw.strokeStyle = draw.fillStyle = colour;
  draw.globalAlpha = 0.5;
  draw.lineWidth = 1;
  draw.beginPath();
  if (kind === "diagonal" || kind === "cross")
    for (const at of [-8, 0, 8]) {
      draw.moveTo(at, 8);
      draw.lineTo(at + 8, 0);
    }
  if (kind === "back" || kind === "cross")
    for (const at of [-8, 0, 8]) {
      draw.moveTo(at, 0);
      draw.lineTo(at + 8, 8);
    }
  if (kind === "vertical") {
    draw.moveTo(2.5, 0);
    draw.lineTo(2.5, 8);
    draw.moveTo(6.5, 0);
    draw.lineTo(6.5, 8);
  }
  draw.stroke();
  if (kind === "dots")
    for (const [x, y] of [
      [1, 1],
      [5, 5],
    ])
      draw.fillRect(x, y, 1.5, 1.5);
  return canvas;
}

class Palette {
  /* `hidden` holds classes that are drawn as if nothing were there. */
  constructor(hidden) {
    const style = getComputedStyle(document.documentElement);
    const token = (name) => style.getPropertyValue("--" + name).trim();
    this.font = token("font");
    this.plain = Object.fromEntries(PLAIN.map((name) => [name, token(name)]));
    this.families = {};
    for (const name of FAMILIES) {
      const part = (which) => token("step-" + name + "-" + which);
      this.families[name] = {
        fill: part("fill"),
        edge: part("edge"),
        ink: part("ink"),
        tile: tile(part("pattern"), part("edge")),
      };
    }
    this.families.copy = this.families.host; /* the bar over the parts of a stream copy */
    this.hidden = CLASSES.map((name) => hidden.has(name));
    this.classColours = CLASSES.map((name) => this.packed(this.families[name].fill));
    this.emptyColour = this.packed(this.plain.sunken);
  }

  pattern(draw, family) {
    const entry = this.families[family];
    if (entry.tile && !entry.pattern) entry.pattern = draw.createPattern(entry.tile, "repeat");
    return entry.tile ? entry.pattern : null;
  }

  /* A colour #rrggbb as 0xAABBGGRR. */
  packed(colour) {
    const [red, green, blue] = rgb(colour);
    return ((255 << 24) | (blue << 16) | (green << 8) | red) >>> 0;
  }

  /* The colour drawn for a packed pixel as 0xAABBGGRR, the byte order of ImageData; `threshold` has 16 bits. */
  colour(pixel, threshold) {
    let sum = 0,
      present = 0;
    for (let index = 0; index < 6; index += 1) {
      const level = this.hidden[index] ? 0 : (pixel >>> (5 * index)) & 31;
      sum += level;
      if (level) present += 1;
    }
    const rounding = 2 * (31 - sum) <= present; /* each share is rounded by up to half a level */
    let left = (threshold * (rounding ? sum : 31)) >>> 16;
    for (let index = 0; index < 6; index += 1) {
      if (this.hidden[index]) continue;
      left -= (pixel >>> (5 * index)) & 31;
      if (left < 0) return this.classColours[index];
    }
    return this.emptyColour;
  }

  /* A canvas of packed pixels, row by row. `first` is the column of the time axis at which it begins: a pixel's
     threshold belongs to its place on the axis, so that colours stay while the window moves. */
  paint(pixels, columns, rows, first) {
    const canvas = makeCanvas(columns, rows);
    const draw = contextOf(canvas);
    const image = draw.createImageData(columns, rows);
    const out = new Uint32Array(image.data.buffer);
    let at = 0;
    for (let row = 0; row < rows; row += 1) {
      let place = (Math.imul(first, R2_COLUMN) + Math.imul(row, R2_ROW)) | 0;
      for (let column = 0; column < columns; column += 1) {
        out[at] = this.colour(pixels[at], place >>> 16);
        place = (place + R2_COLUMN) | 0;
        at += 1;
      }
    }
    draw.putImageData(image, 0, 0);
    return canvas;
  }
}

const CLASS_TEXT = ["compute", "exchange", "global exchange", "host transfer", "waiting for host", "sync"];
const shares = (pixel) => CLASSES.map((_, index) => ((pixel >>> (5 * index)) & 31) / 31);

export { CLASSES, CLASS_TEXT, shares, Palette };
