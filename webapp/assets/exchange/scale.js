// @ts-check
/* Colour scale of bytes. Zero has the colour of the background. The matrix is logarithmic from 1 to the maximum;
   the floor plan is linear, because its tiles are of one order. A difference runs from less (blue) over equal to
   more (orange).

   part(v) = log(1 + |v|) / log(1 + largest), or |v| / largest

   level(v) = round(255 x (0.14 + 0.86 x part)), of a difference round(255 x (0.5 + 0.5 x sign x part)) */
import { colourScale, scaleColour } from "../shared/colour_scale.js";

const LEAST = 0.14;

function share(value, largest, signed, linear) {
  const part = !(largest > 0)
    ? 0
    : linear
      ? Math.abs(value) / largest
      : Math.log1p(Math.abs(value)) / Math.log1p(largest);
  return signed ? 0.5 + 0.5 * Math.sign(value) * part : LEAST + (1 - LEAST) * part;
}

/* Pixels of ImageData (0xAABBGGRR); a value of 0 has the colour `ground`. */
function pixels(values, largest, signed, ground) {
  const scale = colourScale(signed ? "diverging" : "sequential");
  const colours = new Uint32Array(values.length).fill(ground);
  for (let at = 0; at < values.length; at += 1)
    if (values[at]) colours[at] = scale[Math.round(255 * share(values[at], largest, signed))];
  return colours;
}

const colour = (value, largest, signed, ground, linear) =>
  value
    ? scaleColour(signed ? "diverging" : "sequential", Math.round(255 * share(value, largest, signed, linear)) / 255)
    : ground;

function packed(hex) {
  const value = parseInt(hex.slice(1), 16);
  return ((255 << 24) | ((value & 255) << 16) | (((value >> 8) & 255) << 8) | (value >> 16)) >>> 0;
}

/* The key: a strip with numbers at its ends and in the middle of the scale, and what a number stands for (`per`). */
function key(pen, board, largest, signed, text, linear, per) {
  if (!(largest > 0)) return;
  const { area, colours } = board;
  const wide = 150,
    top = area.y - 15;
  const half = Math.round(linear ? largest / 2 : Math.expm1(Math.log1p(largest) / 2));
  const numbers = signed
    ? ["\u2212" + text(largest), "0", "+" + text(largest)]
    : [linear ? "0" : text(1), text(half), text(largest)];
  const begin = area.x + area.width - wide - 34;
  for (let at = 0; at < wide; at += 2) {
    const part = signed ? at / wide : LEAST + ((1 - LEAST) * at) / wide;
    pen.box(begin + at, top - 8, 2, 8, scaleColour(signed ? "diverging" : "sequential", part));
  }
  numbers.forEach((number, index) =>
    pen.text(number, begin + (wide * index) / 2, top + 8, colours.muted, "center", 10),
  );
  pen.text(
    (signed ? "target \u2212 source, " : "") + (per ? per + ", " : "") + (linear ? "linear" : "log"),
    begin - 6,
    top - 4,
    colours.faint,
    "right",
    10,
  );
}

export { share, pixels, colour, packed, key };
