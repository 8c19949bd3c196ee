/* What the exchange page draws: columns of the tiles of one program, and cells of its matrix, from webapp/graph_analyser/exchange/routes.py.

   Cells come in bands of rows of at most MOST_CELLS; the bands of one window make a Picture. */
(function () {
  "use strict";
  const xch = (window.popvision.exchange = window.popvision.exchange || {});
  const MOST_CELLS = 120000;

  const get = (address) => window.popvision.execution.get(address);

  xch.query = function (facts, selection, more) {
    const parts = Object.assign({}, more);
    if (facts.vs) parts.vs = selection.vs;
    if (selection.xch_order === "hardware") parts.order = "hardware";
    return Object.entries(parts)
      .filter((each) => each[1] !== undefined && each[1] !== null)
      .map(([name, value]) => name + "=" + encodeURIComponent(value))
      .join("&");
  };

  xch.loadTiles = async function (facts, selection) {
    const address =
      `/data/${facts.key}/exchange/tiles?` +
      xch.query(facts, selection, { program: selection.program, step: selection.step });
    const { header, arrays } = await get(address);
    if (!arrays.rank) return { header, arrays };
    const tileAt = new Uint32Array(arrays.rank.length);
    arrays.rank.forEach((position, tile) => {
      tileAt[position] = tile;
    });
    return { header, arrays, rank: arrays.rank, tileAt };
  };

  /* Cells [row, row + rows) x [column, column + columns), counted in cells of `size` positions. */
  class Picture {
    constructor(size, row, rows, column, columns) {
      Object.assign(this, { size, row, rows, column, columns, largest: 0, leftOut: 0, image: null, theme: "" });
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

  xch.loadPicture = async function (facts, selection, program, picture) {
    const { size, row, rows, column, columns } = picture;
    const high = Math.max(1, Math.floor(MOST_CELLS / columns));
    const bands = [];
    for (let first = 0; first < rows; first += high) bands.push([first, Math.min(high, rows - first)]);
    await Promise.all(
      bands.map(async ([first, count]) => {
        const where = { program, size, row: (row + first) * size, rows: count, column: column * size, columns };
        const { header, arrays } = await get(
          `/data/${facts.key}/exchange/matrix?` + xch.query(facts, selection, where),
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
  };

  xch.loadPartners = (facts, program, tile) =>
    get(`/data/${facts.key}/exchange/partners?program=${program}&tile=${tile}`);

  xch.Picture = Picture;
})();
