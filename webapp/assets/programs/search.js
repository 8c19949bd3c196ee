// @ts-check
/* Rows of the program tree that match the search box, sorted, and the match at the cursor (binary search). */

const grouped = new Intl.NumberFormat("en-US");

class TreeSearch {
  /** @param {Element | null} status */
  constructor(status) {
    this.status = status;
    this.text = "";
    /** @type {Uint32Array} */
    this.rows = new Uint32Array(0);
  }

  /**
   * @param {string} text
   * @param {Uint32Array} rows
   */
  set(text, rows) {
    this.text = text;
    this.rows = rows;
  }

  /** @param {number} row */
  place(row) {
    let low = 0;
    let high = this.rows.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.rows[middle] < row) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  /** @param {number} row */
  has(row) {
    return this.rows[this.place(row)] === row;
  }

  /**
   * The match at or after a row (0), after it (1) or before it (-1), round the end; -1 without matches.
   *
   * @param {number} row
   * @param {number} direction
   */
  next(row, direction) {
    const n = this.rows.length;
    if (!n) return -1;
    const at = this.place(row);
    if (direction < 0) return this.rows[(at - 1 + n) % n];
    const after = direction > 0 && this.rows[at] === row ? at + 1 : at;
    return this.rows[after % n];
  }

  /** @param {number} row */
  say(row) {
    if (!this.status) return;
    const n = this.rows.length;
    let text = "";
    if (this.text.trim() && !n) text = "no match";
    else if (n && this.has(row)) text = grouped.format(this.place(row) + 1) + " of " + grouped.format(n);
    else if (n) text = grouped.format(n) + (n === 1 ? " match" : " matches");
    if (this.status.textContent !== text) this.status.textContent = text;
  }
}

export { TreeSearch };
