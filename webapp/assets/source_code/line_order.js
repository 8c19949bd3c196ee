// @ts-check
/* Where the rows of the Source view stand: rows by place and places by row. */

class LineOrder {
  /**
   * The order of the file.
   *
   * @param {(number | null)[]} [values] by row, which sort; rows without one stand last, equal ones keep their order
   * @param {number} [sign] -1 for the largest first
   */
  constructor(values, sign = 1) {
    /** @type {number[] | null} */
    this.rows = null;
    /** @type {number[]} */
    this.places = [];
    if (!values) return;
    this.rows = values.map((_, row) => row);
    this.rows.sort((one, other) => {
      const [left, right] = [values[one], values[other]];
      if (left === null || right === null) return Number(left === null) - Number(right === null) || one - other;
      return sign * (left - right) || one - other;
    });
    this.rows.forEach((row, place) => {
      this.places[row] = place;
    });
  }

  /** @param {number} place */
  rowAt(place) {
    return this.rows ? this.rows[place] : place;
  }

  /** @param {number} row */
  placeOf(row) {
    return this.rows ? this.places[row] : row;
  }
}

export { LineOrder };
