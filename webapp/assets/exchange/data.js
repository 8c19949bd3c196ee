// @ts-check
/* Data of the exchange page from webapp/graph_analyser/exchange/routes.py: columns per tile of one program, and
   cells of its matrix.

   Cells arrive in bands of rows, at most MOST_CELLS each; the bands of one window make a Picture. */
import { fetchPacked } from "../shared/packed.js";

const MOST_CELLS = 120000;

/* Parameters of a route: the report compared with and the order of tiles go with every request. */
function query(facts, selection, more) {
  const order = selection.xch_order === "hardware" ? "hardware" : null;
  return { ...more, vs: facts.vs ? selection.vs : null, order };
}

async function loadTiles(facts, selection) {
  const parts = query(facts, selection, { program: selection.program, step: selection.step });
  const { header, arrays } = await fetchPacked(`/data/${facts.key}/exchange/tiles`, parts);
  if (!arrays.rank) return { header, arrays };
  const tileAt = new Uint32Array(arrays.rank.length);
  arrays.rank.forEach((position, tile) => {
    tileAt[position] = tile;
  });
  return { header, arrays, rank: arrays.rank, tileAt };
}

/**
 * The position of a tile in the order shown, null for a tile that the target lacks: addresses name any number.
 *
 * @param {{ rank: ArrayLike<number> }} data
 * @param {number} tile
 * @returns {number | null}
 */
function positionOf(data, tile) {
  const position = data.rank[tile];
  return position === undefined ? null : position;
}

/**
 * The tile at a position of the order shown, the nearest one outside; undefined without tiles.
 *
 * @param {{ tileAt: Uint32Array }} data
 * @param {number} position may be within a tile
 * @returns {number | undefined}
 */
function tileNear({ tileAt: tiles }, position) {
  return tiles[Math.max(0, Math.min(Math.floor(position), tiles.length - 1))];
}

/* Cells [row, row + rows) x [column, column + columns), counted in cells of `size` positions. */
class Picture {
  constructor(size, row, rows, column, columns) {
    this.size = size;
    this.row = row;
    this.rows = rows;
    this.column = column;
    this.columns = columns;
    this.largest = 0;
    this.leftOut = 0;
    /** @type {HTMLCanvasElement | null} */
    this.image = null;
    this.theme = "";
    /** @type {any} */
    this.of = null;
    this.values = new Float64Array(rows * columns);
  }

  covers(size, row, rows, column, columns) {
    return (
      this.size === size &&
      this.row <= row &&
      this.column <= column &&
      this.row + this.rows >= row + rows &&
      this.column + this.columns >= column + columns
    );
  }

  /* Bytes of the cell that holds a position, null outside. */
  at(row, column) {
    const r = Math.floor(row / this.size) - this.row,
      c = Math.floor(column / this.size) - this.column;
    return r < 0 || c < 0 || r >= this.rows || c >= this.columns ? null : this.values[r * this.columns + c];
  }
}

async function loadPicture(facts, selection, program, picture) {
  const { size, row, rows, column, columns } = picture;
  const high = Math.max(1, Math.floor(MOST_CELLS / columns));
  const bands = [];
  for (let first = 0; first < rows; first += high) bands.push([first, Math.min(high, rows - first)]);
  await Promise.all(
    bands.map(async ([first, count]) => {
      const where = { program, size, row: (row + first) * size, rows: count, column: column * size, columns };
      const { header, arrays } = await fetchPacked(
        `/data/${facts.key}/exchange/matrix`,
        query(facts, selection, where),
      );
      picture.largest = header.largest;
      picture.leftOut = header.leftOut;
      const begin = first * columns;
      if (arrays.cell)
        arrays.cell.forEach((cell, at) => {
          picture.values[begin + cell] = arrays.value[at];
        });
      else picture.values.set(arrays.value, begin);
    }),
  );
  return picture;
}

const loadPartners = (facts, program, tile) => fetchPacked(`/data/${facts.key}/exchange/partners`, { program, tile });

export { positionOf, tileNear, loadTiles, loadPicture, loadPartners, Picture };
