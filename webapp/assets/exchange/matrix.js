// @ts-check
/* Matrix layer: one row per source tile, one column per destination tile, a cell holds the bytes sent. Zoomed
   out, a cell sums a power of two of tiles in each direction. */
import { contextOf } from "../shared/canvas/pens.js";
import { bytesText } from "../shared/formats.js";
import { theme } from "../shell/viewer.js";
import { axisX, axisY } from "./axes.js";
import { Picture, loadPicture, positionOf, tileNear } from "./data.js";
import * as scale from "./scale.js";

const number = (value) => value.toLocaleString("en-US").replace("-", "\u2212");

class MatrixLayer {
  constructor(board) {
    this.board = board;
    this.picture = null;
    this.requested = "";
    this.requestedOf = null;
  }

  get data() {
    return this.board.data;
  }
  get extent() {
    return { width: this.data.header.tiles, height: this.data.header.tiles };
  }
  get reason() {
    return this.data.header.reason;
  }
  get name() {
    return "matrix";
  }

  /* Positions per cell: the smallest power of two at which a cell is at least a pixel. */
  size() {
    const { view, area } = this.board;
    let size = 1;
    while ((view.x1 - view.x0) / size > area.width || (view.y1 - view.y0) / size > area.height) size *= 2;
    return size;
  }

  /* Fetch what is visible and missing; true when nothing is missing. */
  update() {
    if (this.reason) return true;
    const { view } = this.board,
      size = this.size(),
      last = Math.ceil(this.data.header.tiles / size);
    const row = Math.floor(view.y0 / size),
      column = Math.floor(view.x0 / size);
    const rows = Math.min(last, Math.ceil(view.y1 / size)) - row,
      columns = Math.min(last, Math.ceil(view.x1 / size)) - column;
    const now = this.picture;
    if (now && now.of === this.data && now.covers(size, row, rows, column, columns)) return true;
    const request = [size, row, rows, column, columns].join();
    if (this.requested === request && this.requestedOf === this.data) return false;
    this.requested = request;
    this.requestedOf = this.data;
    const picture = new Picture(size, row, rows, column, columns);
    picture.of = this.data;
    this.board.wait(
      loadPicture(this.board.facts, this.board.selection, this.data.header.program, picture),
      (loaded) => {
        if (this.requested === request && this.requestedOf === loaded.of) this.picture = loaded;
      },
    );
    return false;
  }

  image(picture, ground) {
    if (picture.image && picture.theme === theme()) return picture.image;
    const canvas = Object.assign(document.createElement("canvas"), { width: picture.columns, height: picture.rows });
    const pixels = scale.pixels(picture.values, picture.largest, this.data.header.signed, scale.packed(ground));
    contextOf(canvas).putImageData(
      new ImageData(new Uint8ClampedArray(pixels.buffer), picture.columns, picture.rows),
      0,
      0,
    );
    picture.image = canvas;
    picture.theme = theme();
    return canvas;
  }

  /* What an empty picture means. */
  get emptySentence() {
    return this.data.header.signed
      ? "Nothing changed: both reports send the same bytes between all tiles shown."
      : "No bytes go between the tiles shown.";
  }

  paint(pen) {
    const { board, picture } = this,
      { area, colours } = board,
      perIpu = this.data.header.perIpu;
    pen.box(area.x, area.y, area.width, area.height, colours.sunken);
    if (picture && picture.of === this.data) {
      const x = board.x(picture.column * picture.size),
        y = board.y(picture.row * picture.size);
      const right = board.x((picture.column + picture.columns) * picture.size),
        bottom = board.y((picture.row + picture.rows) * picture.size);
      pen.image(this.image(picture, colours.sunken), x, y, right - x, bottom - y, area);
      const per = picture.size > 1 ? "cell of " + picture.size + " \u00d7 " + picture.size + " tiles" : "pair of tiles";
      scale.key(pen, board, picture.largest, this.data.header.signed, bytesText, false, "bytes per " + per);
      if (!picture.largest)
        pen.text(this.emptySentence, area.x + area.width / 2, area.y + area.height / 2, colours.muted, "center");
    }
    for (let border = perIpu; border < this.data.header.tiles; border += perIpu) {
      if (border > board.view.y0 && border < board.view.y1)
        pen.line(area.x, board.y(border), area.x + area.width, board.y(border), colours.ink, 1, [4, 3]);
      if (border > board.view.x0 && border < board.view.x1)
        pen.line(board.x(border), area.y, board.x(border), area.y + area.height, colours.ink, 1, [4, 3]);
    }
    axisX(pen, board, "Destination tile");
    axisY(pen, board, "Source tile");
    this.paintCursor(pen);
  }

  paintCursor(pen) {
    const { board } = this,
      cursor = this.cursor();
    if (!cursor) return;
    const { area, colours } = board,
      size = this.size();
    const left = board.x(Math.floor(cursor.x / size) * size),
      top = board.y(Math.floor(cursor.y / size) * size);
    const wide = Math.max(3, board.x(size) - board.x(0)),
      high = Math.max(3, board.y(size) - board.y(0));
    if (cursor.y >= board.view.y0 && cursor.y < board.view.y1)
      pen.box(area.x, top + high / 2 - 0.5, area.width, 1, colours.accent);
    if (cursor.x >= board.view.x0 && cursor.x < board.view.x1)
      pen.box(left + wide / 2 - 0.5, area.y, 1, area.height, colours.accent);
    if (board.inside(cursor)) pen.outline(left, top, wide, high, colours.accent, 2);
  }

  /* The pair in the address: source tile and destination tile as positions. */
  get pairs() {
    return true;
  }

  placeOf(source, destination) {
    const y = positionOf(this.data, source);
    if (y === null) return null;
    const x = positionOf(this.data, destination);
    return { y, x: x === null ? y : x };
  }

  cursor() {
    return this.placeOf(parseInt(this.board.selection.tiles, 10), parseInt(this.board.selection.xch_to, 10));
  }

  away(mark, cursor) {
    if (!this.picture || this.picture.of !== this.data) return [];
    const [marked, selected] = [mark, cursor].map((place) => this.picture.at(place.y, place.x));
    if (marked === null || selected === null) return ["outside the picture"];
    return [this.board.more(selected, marked, bytesText) + (this.picture.size > 1 ? " (cells of several pairs)" : "")];
  }

  move(cursor, dx, dy) {
    const size = this.size(),
      last = this.data.header.tiles - 1;
    const keep = (value) => Math.max(0, Math.min(last, value));
    return { x: keep((Math.floor(cursor.x / size) + dx) * size), y: keep((Math.floor(cursor.y / size) + dy) * size) };
  }

  patch(cursor) {
    return { tiles: tileNear(this.data, cursor.y), xch_to: tileNear(this.data, cursor.x) };
  }

  span(position) {
    const size = this.picture.size,
      first = Math.floor(position / size) * size,
      last = Math.min(first + size, this.data.header.tiles) - 1;
    const hardware = this.board.selection.xch_order === "hardware";
    if (first === last) return "tile " + number(tileNear(this.data, first));
    return (hardware ? "positions " : "tiles ") + number(first) + " to " + number(last);
  }

  describe(cursor) {
    if (!this.picture || this.picture.of !== this.data) return [];
    const value = this.picture.at(cursor.y, cursor.x);
    if (value === null) return [];
    const sign = this.data.header.signed && value > 0 ? "+" : "";
    const text =
      sign +
      number(value) +
      " B" +
      (Math.abs(value) > 9999 ? " (" + sign + bytesText(value).replace("-", "\u2212") + ")" : "");
    return [
      text,
      "from " + this.span(cursor.y),
      "to " + this.span(cursor.x),
      ...(this.picture.size > 1 ? ["sum of the cell; zoom in for single pairs"] : []),
    ];
  }
}

export { MatrixLayer };
