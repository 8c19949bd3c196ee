// @ts-check
/* Bar chart by tile: bytes received and sent, or the cycles that they take. Where a tile is narrower than a
   pixel, a column shows the maximum of its tiles. */
import { roundTicks } from "../shared/canvas/ticks.js";
import { byteTicks, bytesText, cyclesText } from "../shared/formats.js";
import { preference } from "../shell/preferences.js";
import { axisX, faint } from "./axes.js";
import { positionOf, tileNear } from "./data.js";

const SERIES = {
  bytes: [
    ["received", "Received", "series-1"],
    ["sent", "Sent (a multicast once)", "series-2"],
  ],
  cycles: [
    ["moving", "Own bytes at the bus rate", "series-1"],
    ["estimated", "Estimate", "series-4"],
    ["recorded", "Recorded", "series-2"],
  ],
};
const DASHES = [[], [5, 3], [2, 2]];

class BarsLayer {
  constructor(board) {
    this.board = board;
  }

  get data() {
    return this.board.data;
  }
  get reason() {
    return this.series.length ? "" : "This report holds no cycles of this program by tile.";
  }
  get extent() {
    return { width: this.data.header.tiles, height: 1 };
  }
  get unit() {
    return this.board.selection.xch_unit === "cycles" ? "cycles" : "bytes";
  }
  get name() {
    return this.unit + "-by-tile";
  }
  get series() {
    return SERIES[this.unit].filter(([field]) => this.data.arrays[field]);
  }
  get flat() {
    return true;
  }

  update() {
    return true;
  }

  /* Range of all values. */
  range() {
    let low = 0,
      high = 1;
    for (const [field] of this.series)
      for (const value of this.data.arrays[field]) {
        if (value > high) high = value;
        if (value < low) low = value;
      }
    return [low, high * 1.06];
  }

  /* Values by position; the extreme of each pixel column: [first position, last position, value]. */
  columns(values) {
    const { view, area } = this.board,
      first = Math.floor(view.x0),
      last = Math.min(values.length, Math.ceil(view.x1));
    const step = Math.max(1, Math.ceil((last - first) / area.width));
    const columns = [];
    for (let at = first; at < last; at += step) {
      let most = 0;
      for (let position = at; position < Math.min(last, at + step); position += 1) {
        const value = values[this.data.tileAt[position]];
        if (Math.abs(value) > Math.abs(most)) most = value;
      }
      columns.push([at, Math.min(last, at + step), most]);
    }
    return columns;
  }

  paint(pen) {
    const { board } = this,
      { area, colours } = board,
      [low, high] = this.range();
    const y = (value) => area.y + area.height * (1 - (value - low) / (high - low));
    const cut = (x) => Math.max(area.x, Math.min(area.x + area.width, x));
    pen.box(area.x, area.y, area.width, area.height, colours.surface);
    const ticks =
      this.unit === "bytes" && low === 0
        ? byteTicks(high, 5).filter((tick) => tick.value <= high)
        : roundTicks(low, high, 5).map((value) => ({
            value,
            text: this.unit === "bytes" ? this.text(value) : cyclesText(value),
          }));
    for (const { value, text } of ticks) {
      pen.line(area.x, y(value), area.x + area.width, y(value), colours.grid);
      pen.text(text, area.x - 7, y(value), colours.axis, "right");
    }
    this.series.forEach(([field, , token], index) => {
      const columns = this.columns(this.data.arrays[field]);
      if (index === 0)
        for (const [from, to, value] of columns)
          if (value)
            pen.box(
              cut(board.x(from)),
              Math.min(y(0), y(value)),
              Math.max(1, cut(board.x(to)) - cut(board.x(from))),
              Math.abs(y(0) - y(value)),
              faint(colours[token]),
            );
      let before = null;
      for (const [from, to, value] of columns) {
        if (before !== null && before !== value)
          pen.line(cut(board.x(from)), y(before), cut(board.x(from)), y(value), colours[token], 1, DASHES[index]);
        pen.line(cut(board.x(from)), y(value), cut(board.x(to)), y(value), colours[token], 1.4, DASHES[index]);
        before = value;
      }
    });
    this.paintWorst(pen, y);
    this.paintLegend(pen);
    axisX(pen, board, "Tile");
    const cursor = this.cursor();
    if (cursor && cursor.x >= board.view.x0 && cursor.x < board.view.x1)
      pen.box(board.x(cursor.x + 0.5) - 0.75, area.y, 1.5, area.height, colours.accent);
  }

  /* The tile that moves most, and in cycles the length of the step. */
  paintWorst(pen, y) {
    const { board } = this,
      { area, colours } = board,
      values = this.data.arrays[this.series[0][0]];
    let worst = 0;
    values.forEach((value, tile) => {
      if (Math.abs(value) > Math.abs(values[worst])) worst = tile;
    });
    if (!values[worst]) return;
    const at = board.x(this.data.rank[worst] + 0.5);
    if (at >= area.x && at <= area.x + area.width) {
      pen.line(at, area.y, at, y(values[worst]), colours.bad, 1, [2, 2]);
      const left = at < area.x + area.width - 190;
      pen.text(
        "tile " + worst.toLocaleString("en-US") + ": " + this.text(values[worst]),
        at + (left ? 5 : -5),
        area.y + 9,
        colours.bad,
        left ? "left" : "right",
      );
    }
  }

  paintLegend(pen) {
    const { area, colours } = this.board;
    if (this.unit === "cycles")
      pen.text(preference("time") === "time" ? "Time" : "Cycles", area.x - 58, area.y - 14, colours.axis, "left", 12);
    let at = area.x;
    this.series.forEach(([, label, token], index) => {
      pen.line(at, area.y - 14, at + 22, area.y - 14, colours[token], 2, DASHES[index]);
      pen.text(label, at + 28, area.y - 14, colours.muted, "left");
      at += 46 + 6.6 * label.length;
    });
    if (this.data.header.signed) pen.text("target \u2212 source", at, area.y - 14, colours.ink, "left");
  }

  text(value) {
    const sign = this.data.header.signed && value > 0 ? "+" : "";
    return (
      sign +
      (this.unit === "bytes" ? bytesText(value) : cyclesText(value) + (preference("time") === "time" ? "" : " cycles"))
    );
  }

  placeOf(tile) {
    const x = positionOf(this.data, tile);
    return x === null ? null : { x, y: 0 };
  }
  cursor() {
    return this.placeOf(parseInt(this.board.selection.tiles, 10));
  }

  away(mark, cursor) {
    const [marked, selected] = [mark, cursor].map((place) => tileNear(this.data, place.x));
    if (marked === undefined || selected === undefined) return [];
    const text = (value) => this.text(value).replace("+", "");
    return this.series.map(
      ([field, label]) =>
        label + " " + this.board.more(this.data.arrays[field][selected], this.data.arrays[field][marked], text),
    );
  }

  move(cursor, dx) {
    return { x: Math.max(0, Math.min(this.data.header.tiles - 1, cursor.x + dx)), y: 0 };
  }
  patch(cursor) {
    const tile = tileNear(this.data, cursor.x);
    return tile === undefined ? null : { tiles: tile, xch_to: null };
  }
  describe(cursor) {
    const tile = tileNear(this.data, cursor.x);
    return tile === undefined ? [] : this.board.describeTile(tile);
  }
}

export { BarsLayer };
