// @ts-check
/* Draws the heat map of tile by liveness index: cells, axes, IPU borders, cursor, mark and colour key. */
import { imageOf } from "../shared/canvas/pens.js";
import { roundTicks } from "../shared/canvas/ticks.js";
import { colourScale, scaleColour } from "../shared/colour_scale.js";
import { bytesText } from "../shared/formats.js";
import { token } from "../shell/viewer.js";

const MARGIN = { left: 70, right: 18, top: 38, bottom: 40 };
const NAMES = ["ink", "muted", "axis", "line-strong", "sunken", "surface", "accent", "warn"];

const areaOf = (width, height) => ({
  x: MARGIN.left,
  y: MARGIN.top,
  width: Math.max(1, width - MARGIN.left - MARGIN.right),
  height: Math.max(1, height - MARGIN.top - MARGIN.bottom),
});

const readColours = () => Object.fromEntries(NAMES.map((name) => [name, token(name)]));

/* The pixel of each level. Of a difference, 127 is zero and 255 (no match in the target) is transparent. */
function palette(compares) {
  const scale = colourScale(compares ? "diverging" : "sequential");
  if (!compares) return scale;
  const colours = Uint32Array.from(scale, (_, level) => scale[Math.min(255, Math.round((level * 255) / 254))]);
  colours[255] = 0;
  return colours;
}

/* The cells of an answer as a canvas of one pixel each. */
function pictureOf(answer, compares) {
  const scale = palette(compares);
  return imageOf(
    Uint32Array.from(answer.arrays.levels, (level) => scale[level]),
    answer.header.columns,
  );
}

/* map: {area, tiles: [first, last], indices: [first, last], shown, answer, picture, cursor, mark, perIpu};
   `answer` and `picture` cover the tiles and indices of `shown`. */
function paint(pen, map, colours) {
  const { area, tiles, indices } = map;
  const x = (index) => area.x + ((index - indices[0]) * area.width) / (indices[1] - indices[0] + 1);
  const y = (tile) => area.y + ((tile - tiles[0]) * area.height) / (tiles[1] - tiles[0] + 1);
  pen.box(area.x, area.y, area.width, area.height, colours.sunken);
  if (map.compares) hatch(pen, area, colours);
  if (map.picture) {
    const { header } = map.answer;
    const from = { x: x(map.shown.indices[0]), y: y(map.shown.tiles[0]) };
    const to = {
      x: x(map.shown.indices[0] + header.columns * header.indicesPerColumn),
      y: y(map.shown.tiles[0] + header.rows * header.tilesPerRow),
    };
    pen.image(map.picture, from.x, from.y, to.x - from.x, to.y - from.y, area);
  }
  axes(pen, map, colours, x, y);
  marks(pen, map, colours, x, y);
  pen.outline(area.x + 0.5, area.y + 0.5, area.width - 1, area.height - 1, colours["line-strong"], 1);
  if (map.answer) key(pen, map, colours);
}

/* Hatching; it shows where the target has no match. */
function hatch(pen, area, colours) {
  for (let at = 6 - area.height; at < area.width; at += 8) {
    const [left, right] = [Math.max(at, 0), Math.min(at + area.height, area.width)];
    pen.line(area.x + left, area.y + left - at, area.x + right, area.y + right - at, colours["line-strong"]);
  }
}

function axes(pen, map, colours, x, y) {
  const { area, tiles, indices } = map;
  const bottom = area.y + area.height;
  for (const index of roundTicks(indices[0], indices[1], Math.max(2, area.width / 90), 1)) {
    const at = (x(index) + x(index + 1)) / 2;
    pen.line(at, bottom, at, bottom + 4, colours["line-strong"]);
    pen.text(index.toLocaleString("en-US"), at, bottom + 12, colours.axis, "center");
  }
  for (const tile of roundTicks(tiles[0], tiles[1], Math.max(2, area.height / 34), 1)) {
    const at = (y(tile) + y(tile + 1)) / 2;
    pen.line(area.x - 4, at, area.x, at, colours["line-strong"]);
    pen.text(tile.toLocaleString("en-US"), area.x - 7, at, colours.axis, "right");
  }
  for (let tile = Math.ceil((tiles[0] + 1) / map.perIpu) * map.perIpu; tile <= tiles[1]; tile += map.perIpu) {
    pen.line(area.x, y(tile), area.x + area.width, y(tile), colours.ink, 1, [4, 3]);
  }
  pen.text(
    "Liveness index (static program order, not time)",
    area.x + area.width / 2,
    bottom + 29,
    colours.axis,
    "center",
    12,
  );
  pen.text("Tile", area.x - 60, area.y + 5, colours.axis, "left", 12);
}

function marks(pen, map, colours, x, y) {
  const { area, tiles, indices } = map;
  const inside = (value, range) => value !== null && value >= range[0] && value <= range[1];
  if (inside(map.mark, indices)) {
    const at = (x(map.mark) + x(map.mark + 1)) / 2;
    pen.line(at, area.y, at, area.y + area.height, colours.warn, 1.5, [5, 4]);
    pen.text("mark", at + 4, area.y + 8, colours.warn, "left");
  }
  const { tile, index } = map.cursor;
  if (inside(index, indices)) {
    const wide = Math.max(1.5, x(index + 1) - x(index));
    pen.outline((x(index) + x(index + 1) - wide) / 2, area.y, wide, area.height, colours.accent, 1);
  }
  if (inside(tile, tiles)) {
    const high = Math.max(1.5, y(tile + 1) - y(tile));
    pen.outline(area.x, (y(tile) + y(tile + 1) - high) / 2, area.width, high, colours.accent, 1);
  }
}

function key(pen, map, colours) {
  const right = map.area.x + map.area.width,
    wide = 150,
    top = map.area.y - 14;
  const scaled = scaleColour;
  const highest = bytesText(map.answer.header.top);
  const end =
    (map.compares ? "+" : "") +
    highest +
    (map.capacity ? " of a tile" : map.compares ? " in the target" : " (highest shown)");
  pen.text(end, right, top, colours.muted, "right");
  const begin = right - 8 - 6.2 * end.length - wide;
  const kind = map.compares ? "diverging" : "sequential";
  for (let at = 0; at < wide; at += 3) pen.box(begin + at, top - 5, 3, 10, scaled(kind, at / wide));
  const what = map.always ? ", always live included" : ", not always live";
  pen.text(
    map.compares ? "Target − source" + what + ":  −" + highest : "0" + what,
    begin - 6,
    top,
    colours.muted,
    "right",
  );
}

export { areaOf, readColours as colours, pictureOf, paint };
