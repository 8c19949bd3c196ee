// @ts-check
/* Draws an address map with a pen of shared/canvas/pens.js: addresses upwards, liveness indices to the right. */
import { roundTicks } from "../shared/canvas/ticks.js";
import { byteTicks, bytesText } from "../shared/formats.js";

const LEFT = 84,
  RIGHT = 54,
  TOP = 46,
  BOTTOM = 26;
const NONE = 255;
const SHADES = [1, 0.84, 0.7];

/* Pixels of the plot's inside; `view` also has bottom, top, first, last. */
const inside = (view) => ({
  x: LEFT,
  y: TOP,
  w: Math.max(20, view.width - LEFT - RIGHT),
  h: Math.max(20, view.height - TOP - BOTTOM),
});
const xOf = (view, index) => {
  const box = inside(view);
  return box.x + ((index - view.first) / (view.last - view.first)) * box.w;
};
const yOf = (view, address) => {
  const box = inside(view);
  return box.y + box.h - ((address - view.bottom) / (view.top - view.bottom)) * box.h;
};
const indexAt = (view, x) => {
  const box = inside(view);
  return view.first + ((x - box.x) / box.w) * (view.last - view.first);
};
const addressAt = (view, y) => {
  const box = inside(view);
  return view.bottom + ((box.y + box.h - y) / box.h) * (view.top - view.bottom);
};

function paint(pen, view, data, colours) {
  const box = inside(view);
  pen.clip(box.x, box.y, box.w, box.h);
  ground(pen, view, data, colours, box);
  if (data.header.exact) bands(pen, view, data, colours);
  else cells(pen, view, data);
  borders(pen, view, data, colours, box);
  outlineChosen(pen, view, data, colours);
  pen.unclip();
  liveStrip(pen, view, data, colours, box);
  sharing(pen, view, data, colours, box);
  axes(pen, view, data, colours, box);
}

/* Reserved addresses where nothing is drawn later are idle; gaps are hatched over all indices. */
function ground(pen, view, data, colours, box) {
  const top = yOf(view, Math.min(data.header.including, view.top));
  pen.box(box.x, top, box.w, box.y + box.h - top, colours.idle);
  const { gap_begin: begin, gap_end: end } = data.arrays;
  for (let at = 0; at < begin.length; at += 1) {
    const y = yOf(view, end[at]);
    const height = Math.max(1, yOf(view, begin[at]) - y);
    pen.box(box.x, y, box.w, height, colours.surface);
    if (height >= 2) pen.hatch(box.x, y, box.w, height, colours.hatch);
  }
}

function bands(pen, view, data, colours) {
  const { begin, end, live_from: from, live_to: to, category, label, shade } = data.arrays;
  const fill = Object.fromEntries(data.header.categories.map((each) => [each[0], each[2]]));
  for (let at = 0; at < begin.length; at += 1) {
    const x = xOf(view, from[at]),
      y = yOf(view, end[at]);
    const w = Math.max(1, xOf(view, to[at]) - x),
      h = Math.max(0.6, yOf(view, begin[at]) - y);
    const inset = w > 4 && h > 3 ? 0.5 : 0;
    pen.box(x, y, w - inset, h - inset, fill[category[at]] || colours.muted, SHADES[shade[at]]);
  }
  for (let at = 0; at < begin.length; at += 1) {
    if (label[at] < 0) continue;
    const x = Math.max(xOf(view, from[at]), xOf(view, view.first)),
      y = (yOf(view, Math.min(end[at], view.top)) + yOf(view, Math.max(begin[at], view.bottom))) / 2;
    const w = Math.min(xOf(view, to[at]), xOf(view, view.last)) - x;
    pen.text(data.header.names[label[at]], x + 5, y, inkOn(fill[category[at]]), "left", 11, w - 10);
  }
}

/* Black or white, whichever has more contrast with "#rrggbb" (relative luminance of WCAG 2). */
function inkOn(colour) {
  const parts = [1, 3, 5].map((at) => parseInt((colour || "#888888").slice(at, at + 2), 16) / 255);
  const linear = parts.map((v) => (v <= 0.04045 ? v / 12.92 : Math.pow((v + 0.055) / 1.055, 2.4)));
  return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2] > 0.19 ? "#0b0e14" : "#ffffff";
}

/* Run-length per row: equal neighbours become one rectangle. */
function cells(pen, view, data) {
  const { header, arrays } = data;
  const fill = Object.fromEntries(header.categories.map((each) => [each[0], each[2]]));
  for (let row = 0; row < header.rows; row += 1) {
    const low = yOf(view, header.bottom + row * header.cellBytes);
    const high = yOf(view, header.bottom + (row + 1) * header.cellBytes);
    let begun = 0;
    for (let column = 1; column <= header.columns; column += 1) {
      const before = row * header.columns + column - 1,
        next = before + 1;
      if (
        column < header.columns &&
        arrays.cell_category[next] === arrays.cell_category[before] &&
        arrays.cell_share[next] >> 4 === arrays.cell_share[before] >> 4
      )
        continue;
      if (arrays.cell_category[before] !== NONE) {
        const x = xOf(view, header.first + begun * header.cellIndices);
        pen.box(
          x,
          high,
          xOf(view, header.first + column * header.cellIndices) - x,
          low - high,
          fill[arrays.cell_category[before]],
          0.25 + (0.75 * arrays.cell_share[before]) / 255,
        );
      }
      begun = column;
    }
  }
}

function borders(pen, view, data, colours, box) {
  for (const [address, colour] of [
    [data.header.split, colours.muted],
    [data.header.capacity, colours.bad],
  ]) {
    if (address > view.bottom && address <= view.top)
      pen.line(box.x, yOf(view, address), box.x + box.w, yOf(view, address), colour, 1, [5, 4]);
  }
}

function outlineChosen(pen, view, data, colours) {
  const { chosen_begin: begin, chosen_end: end, chosen_from: from, chosen_to: to } = data.arrays;
  for (let at = 0; at < begin.length; at += 1) {
    const x = xOf(view, from[at]),
      y = yOf(view, end[at]);
    pen.outline(x, y, Math.max(2, xOf(view, to[at]) - x), Math.max(2, yOf(view, begin[at]) - y), colours.ink, 2);
  }
}

/* Above the map: bytes live at each index (most of a column dark, least solid) out of the bytes reserved. */
function liveStrip(pen, view, data, colours, box) {
  const { live_most: most, live_least: least } = data.arrays;
  const height = TOP - 18,
    base = TOP - 6,
    reserved = Math.max(1, data.header.excluding);
  pen.box(box.x, base - height, box.w, height, colours.idle);
  for (let column = 0; column < most.length; column += 1) {
    const x = xOf(view, data.header.first + column * data.header.cellIndices);
    const w = Math.max(
      0.7,
      xOf(view, Math.min(data.header.last, data.header.first + (column + 1) * data.header.cellIndices)) - x,
    );
    pen.box(x, base - (height * most[column]) / reserved, w, (height * most[column]) / reserved, colours.live, 0.45);
    pen.box(x, base - (height * least[column]) / reserved, w, (height * least[column]) / reserved, colours.live, 0.55);
  }
  pen.text("Live", LEFT - 8, base - height / 2, colours.axis, "right");
  if (data.header.peak >= view.first && data.header.peak < view.last) {
    const x = (xOf(view, data.header.peak) + xOf(view, data.header.peak + 1)) / 2;
    pen.line(x, base - height - 3, x, box.y + box.h, colours.accent, 1, [2, 3]);
    pen.text("peak", Math.min(x, box.x + box.w - 14), 7, colours.accent, "center");
  }
}

/* Right of the map: how many allocations share the addresses of a row, at different indices. */
function sharing(pen, view, data, colours, box) {
  const counts = data.arrays.sharing;
  const most = counts.reduce((a, b) => Math.max(a, b), 1);
  for (let row = 0; row < counts.length; row += 1) {
    const low = yOf(view, data.header.bottom + row * data.header.cellBytes);
    const high = yOf(view, Math.min(data.header.top, data.header.bottom + (row + 1) * data.header.cellBytes));
    pen.box(box.x + box.w + 6, high, ((RIGHT - 14) * counts[row]) / most, Math.max(0.6, low - high), colours.share);
  }
  pen.text("\u2264" + most + " share", box.x + box.w + 3, box.y - 8, colours.axis, "left");
}

function axes(pen, view, data, colours, box) {
  pen.line(box.x, box.y, box.x, box.y + box.h, colours.line);
  pen.line(box.x, box.y + box.h, box.x + box.w, box.y + box.h, colours.line);
  for (const each of addressTicks(view)) {
    const y = yOf(view, each.value);
    pen.line(box.x - 4, y, box.x, y, colours.line);
    pen.text(each.text, box.x - 8, y, colours.axis, "right");
  }
  for (const index of indexTicks(view)) {
    const x = xOf(view, index + 0.5);
    pen.line(x, box.y + box.h, x, box.y + box.h + 4, colours.line);
    pen.text(index.toLocaleString("en-US"), x, box.y + box.h + 13, colours.axis, "center");
  }
}

function addressTicks(view) {
  const span = view.top - view.bottom;
  const count = Math.max(2, Math.floor(inside(view).h / 44));
  const steps = byteTicks(span, count);
  const step = steps.length > 1 ? steps[1].value : span;
  const ticks = [];
  for (let value = Math.ceil(view.bottom / step) * step; value <= view.top; value += step) {
    ticks.push({
      value,
      text: step >= 1024 || value === 0 ? (value ? bytesText(value) : "0") : "0x" + value.toString(16),
    });
  }
  return ticks;
}

function indexTicks(view) {
  const most = Math.max(2, Math.floor(inside(view).w / 90));
  return roundTicks(view.first, view.last, most, 1).filter((index) => index < view.last);
}

export { inside, xOf, yOf, indexAt, addressAt, paint, addressTicks, indexTicks };
