// @ts-check
/* Floor plan layer: one cell per tile of every IPU, coloured by a quantity, with lines from the selected tile to
   its partners. */
import { loadPartners, positionOf } from "./data.js";
import * as scale from "./scale.js";

const GAP = 3; /* cells between two IPUs */
const MOST_LINKS = 400;
const ASIDE = 2; /* pixels */

class PlanLayer {
  constructor(board) {
    this.board = board;
    this.partners = null;
    this.cells = new Int32Array(0);
    this.gridOf = null;
  }

  get data() {
    return this.board.data;
  }
  get reason() {
    return this.data.header.plan ? "" : "This report does not hold physical tile ids, so there is no floor plan.";
  }
  get ipus() {
    return this.data.header.tiles / this.data.header.perIpu;
  }
  get extent() {
    const [width, height] = this.data.header.plan || [1, 1];
    return { width: this.ipus * (width + GAP) - GAP, height };
  }
  get name() {
    return "floor-plan";
  }

  cellOf(tile) {
    const { perIpu, plan } = this.data.header,
      within = tile % perIpu;
    return {
      x: Math.floor(tile / perIpu) * (plan[0] + GAP) + this.data.arrays.x[within],
      y: this.data.arrays.y[within],
    };
  }

  /* Tile of each cell, -1 where there is none. */
  grid() {
    if (this.gridOf === this.data) return this.cells;
    const { width, height } = this.extent;
    this.cells = new Int32Array(width * height).fill(-1);
    for (let tile = 0; tile < this.data.header.tiles; tile += 1) {
      const cell = this.cellOf(tile);
      this.cells[cell.y * width + cell.x] = tile;
    }
    this.gridOf = this.data;
    return this.cells;
  }

  tileAt(cursor) {
    const { width, height } = this.extent,
      x = Math.floor(cursor.x),
      y = Math.floor(cursor.y);
    return x < 0 || y < 0 || x >= width || y >= height ? -1 : this.grid()[y * width + x];
  }

  update() {
    const tile = this.selected();
    const wanted = tile === null || this.data.header.reason ? "" : this.data.header.program + ":" + tile;
    if (wanted === this.wanted) return this.partners !== undefined;
    this.wanted = wanted;
    this.partners = wanted ? undefined : null;
    if (!wanted) return true;
    this.board.wait(loadPartners(this.board.facts, this.data.header.program, tile), (partners) => {
      if (this.wanted === wanted) this.partners = partners;
    });
    return false;
  }

  selected() {
    const tile = parseInt(this.board.selection.tiles, 10);
    return positionOf(this.data, tile) === null ? null : tile;
  }

  paint(pen) {
    const { board } = this,
      { area, colours } = board,
      signed = this.data.header.signed;
    pen.box(area.x, area.y, area.width, area.height, colours.surface);
    const values = board.values();
    if (!values) {
      pen.text(
        board.label() + ": not recorded",
        area.x + area.width / 2,
        area.y + area.height / 2,
        colours.muted,
        "center",
        13,
      );
      return;
    }
    const largest = values.reduce((most, value) => Math.max(most, Math.abs(value)), 0);
    const wide = board.x(1) - board.x(0),
      high = board.y(1) - board.y(0),
      space = wide > 5 ? 1 : 0;
    for (let tile = 0; tile < values.length; tile += 1) {
      const { x, y } = this.cellOf(tile),
        left = board.x(x),
        top = board.y(y);
      if (left + wide < area.x || top + high < area.y || left > area.x + area.width || top > area.y + area.height)
        continue;
      pen.box(left, top, wide - space, high - space, scale.colour(values[tile], largest, signed, colours.sunken, true));
    }
    for (let ipu = 0; ipu < this.ipus; ipu += 1)
      pen.text("IPU " + ipu, board.x(ipu * (this.data.header.plan[0] + GAP)) + 2, area.y - 12, colours.muted, "left");
    scale.key(pen, board, largest, signed, board.text.bind(board), true);
    this.paintLinks(pen);
  }

  paintLinks(pen) {
    const { board } = this,
      { colours } = board,
      tile = this.selected();
    if (tile === null) return;
    const middle = (each) => {
      const cell = this.cellOf(each);
      return { x: board.x(cell.x + 0.5), y: board.y(cell.y + 0.5) };
    };
    const own = middle(tile);
    const arrays = this.partners && this.partners.arrays;
    if (arrays && arrays.from) {
      for (const other of arrays.from.slice(0, MOST_LINKS)) this.link(pen, middle(other), own, colours["series-1"], []);
      for (const other of arrays.to.slice(0, MOST_LINKS))
        this.link(pen, own, middle(other), colours["series-2"], [5, 3]);
      const cut =
        Math.max(arrays.from.length, arrays.to.length) > MOST_LINKS ? ", the " + MOST_LINKS + " heaviest drawn" : "";
      const text =
        "tile " + tile + ": from " + arrays.from.length + " (solid), to " + arrays.to.length + " (dashed)" + cut;
      pen.text(text, board.area.x, board.area.y + board.area.height + 12, colours.muted, "left");
    }
    const cell = this.cellOf(tile),
      wide = Math.max(4, board.x(1) - board.x(0)),
      high = Math.max(4, board.y(1) - board.y(0));
    pen.outline(board.x(cell.x), board.y(cell.y), wide, high, colours.bad, 2);
  }

  /**
   * A line that stands out from light and dark cells, on the left of its direction, so that two tiles that send to
   * each other have two lines side by side.
   *
   * @param {Pen} pen
   * @param {Point} from
   * @param {Point} to
   * @param {string} colour
   * @param {number[]} dash
   */
  link(pen, from, to, colour, dash) {
    const length = Math.hypot(to.x - from.x, to.y - from.y) || 1;
    const [x, y] = [(ASIDE * (to.y - from.y)) / length, (ASIDE * (from.x - to.x)) / length];
    pen.line(from.x + x, from.y + y, to.x + x, to.y + y, this.board.colours.surface, 2.6);
    pen.line(from.x + x, from.y + y, to.x + x, to.y + y, colour, 1.2, dash);
  }

  placeOf(tile) {
    return positionOf(this.data, tile) === null ? null : this.cellOf(tile);
  }
  cursor() {
    const tile = this.selected();
    return tile === null ? null : this.cellOf(tile);
  }

  away(mark, cursor) {
    const { board } = this,
      values = board.values();
    return values
      ? [
          board.label() +
            " " +
            board.more(values[this.tileAt(cursor)], values[this.tileAt(mark)], board.text.bind(board)),
        ]
      : [];
  }

  /* The next tile in a direction, across gaps. */
  move(cursor, dx, dy) {
    const { width, height } = this.extent;
    for (let x = cursor.x + dx, y = cursor.y + dy; x >= 0 && y >= 0 && x < width && y < height; x += dx, y += dy)
      if (this.tileAt({ x, y }) >= 0) return { x, y };
    return cursor;
  }

  patch(cursor) {
    const tile = this.tileAt(cursor);
    return tile < 0 ? null : { tiles: tile, xch_to: null };
  }
  describe(cursor) {
    const tile = this.tileAt(cursor);
    return tile < 0 ? [] : this.board.describeTile(tile);
  }
}

export { PlanLayer };
