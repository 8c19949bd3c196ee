// @ts-check
/* Colours of the timeline: tokens of the theme, channels of the file, ramps of heat maps. */
import { contextOf, makeCanvas } from "../shared/canvas/pens.js";
import * as viewer from "../shell/viewer.js";

const PLAIN = [
  "surface",
  "raised",
  "sunken",
  "hover",
  "chosen",
  "ink",
  "muted",
  "faint",
  "line",
  "line-strong",
  "accent",
  "focus",
  "grid",
  "axis",
];
const HEAT = {
  light: [
    ["#fdf3b4", "#e8590c"],
    ["#eef6b5", "#2b8a3e"],
    ["#e6ecff", "#3b5bdb"],
    ["#fde8f1", "#a61e4d"],
  ],
  dark: [
    ["#5a4a1c", "#ff9f43"],
    ["#3a4a1f", "#8ce99a"],
    ["#27345c", "#91a7ff"],
    ["#4d2338", "#faa2c1"],
  ],
};

function readPalette() {
  const style = getComputedStyle(document.documentElement);
  const token = (name) => style.getPropertyValue("--" + name).trim();
  const theme = viewer.theme();
  return {
    theme,
    font: token("font"),
    plain: Object.fromEntries(PLAIN.map((name) => [name, token(name)])),
    series: [1, 2, 3, 4, 5, 6].map((each) => token("series-" + each)),
    heat: HEAT[theme] || HEAT.light,
  };
}

/* Strokes of the patterns of channels past the eighth, in a square of 8 pixels; by number, see channel_colours.py
   and timeline.css. 0 is plain. */
const PATTERNS = [
  [],
  ["M-2 10 10 -2M-2 2 2 -2M6 10 10 6"],
  ["M1 1h2v2h-2zM5 5h2v2h-2z"],
  ["M-2 -2 10 10M6 -2 10 2M-2 6 2 10"],
  ["M0 2h8M0 6h8"],
  ["M0 1h8M1 0v8"],
];
const PATTERN_INK = "rgba(16, 19, 26, 0.5)";

/* A fill style per pattern, to lay over a colour; null for the plain one. */
function makePatterns(draw) {
  return PATTERNS.map(([path]) => {
    if (!path) return null;
    const tile = makeCanvas(8, 8);
    const pen = contextOf(tile);
    pen.strokeStyle = PATTERN_INK;
    pen.lineWidth = 1.2;
    pen.stroke(new Path2D(path));
    return draw.createPattern(tile, "repeat");
  });
}

/* A small square in the colour and the pattern of a channel. */
function makeSwatch(colour, pattern) {
  const swatch = document.createElement("span");
  swatch.className = "tl-swatch" + (pattern ? " tl-pattern-" + pattern : "");
  swatch.style.backgroundColor = colour;
  return swatch;
}

/* Red, green and blue of #rrggbb. */
const rgbOf = (colour) => [1, 3, 5].map((at) => parseInt(colour.slice(at, at + 2), 16));
const mix = (from, to, share) =>
  "rgb(" +
  rgbOf(from)
    .map((each, at) => Math.round(each + (rgbOf(to)[at] - each) * share))
    .join(",") +
  ")";

/* `count` colours from pale to strong after the one of an empty cell. */
const ramp = (empty, pale, strong, count) =>
  [empty].concat(Array.from({ length: count }, (_, at) => mix(pale, strong, at / (count - 1))));

export { readPalette, ramp, rgbOf, makePatterns, makeSwatch };
