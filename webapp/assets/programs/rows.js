// @ts-check
/* Shape of the program tree: rows in pre-order with depth and subtree size, and which of them are closed.

   URL: "2" closes everything from depth 2 on, "a" closes nothing; ".row.row" lists the rows that differ. */

const NONE = 0xffffffff;
const MOST_WRITTEN = 40;
const SMALL = 400;

class TreeRows {
  /**
   * `compares`: the answer has a column of target programs too.
   *
   * @param {ArrayBuffer} data
   * @param {boolean} compares
   */
  constructor(data, compares) {
    const n = new Uint32Array(data, 0, 1)[0];
    this.n = n;
    this.program = new Uint32Array(data, 4, n);
    this.other = compares ? new Uint32Array(data, 4 + 4 * n, n) : null;
    const at = 4 + 4 * n * (compares ? 2 : 1);
    this.depth = new Uint16Array(data, at, n);
    this.type = new Uint8Array(data, at + 2 * n, n);
    this.size = this.sizes();
    this.base = Infinity;
    /** @type {Set<number>} rows whose fold differs from the base depth's */
    this.changed = new Set();
  }

  sizes() {
    const size = new Uint32Array(this.n);
    /** @type {number[]} the row and its ancestors */
    const path = [];
    for (let row = 0; row <= this.n; row++) {
      const depth = row < this.n ? this.depth[row] : -1;
      for (let top = path.at(-1); top !== undefined && this.depth[top] >= depth; top = path.at(-1)) {
        size[top] = row - top;
        path.pop();
      }
      path.push(row);
    }
    return size;
  }

  /** @param {number} row */
  key(row) {
    /** @param {number} program */
    const text = (program) => (program === NONE ? "" : String(program));
    return text(this.program[row]) + "-" + (this.other ? text(this.other[row]) : "");
  }

  /**
   * 0 in both, 1 only in the source, 2 only in the target.
   *
   * @param {number} row
   */
  side(row) {
    if (!this.other) return 0;
    return this.program[row] === NONE ? 2 : this.other[row] === NONE ? 1 : 0;
  }

  /** @param {number} row */
  isParent(row) {
    return this.size[row] > 1;
  }

  /** @param {number} row */
  isClosed(row) {
    return this.isParent(row) && this.depth[row] >= this.base !== this.changed.has(row);
  }

  /**
   * @param {number} row
   * @param {boolean} closed
   */
  setClosed(row, closed) {
    if (!this.isParent(row) || this.isClosed(row) === closed) return false;
    if (!this.changed.delete(row)) this.changed.add(row);
    return true;
  }

  /* Visible rows: those with no closed ancestor. */
  shown() {
    const rows = new Uint32Array(this.n);
    let count = 0;
    for (let row = 0; row < this.n;) {
      rows[count++] = row;
      row += this.isClosed(row) ? this.size[row] : 1;
    }
    return rows.subarray(0, count);
  }

  /** @param {number} row */
  parentOf(row) {
    for (let up = row - 1; up >= 0; up--) if (this.depth[up] < this.depth[row]) return up;
    return -1;
  }

  /** @param {number} row */
  openAbove(row) {
    let opened = false;
    for (let up = this.parentOf(row); up >= 0; up = this.parentOf(up)) opened = this.setClosed(up, false) || opened;
    return opened;
  }

  /** @param {number} depth */
  foldTo(depth) {
    this.base = depth;
    this.changed.clear();
  }

  /* Open everything in a small tree, else as many levels as fit a few screens. */
  foldAsSuits() {
    this.foldTo(Infinity);
    if (this.n <= SMALL) return;
    let depth = 1;
    while (depth < 40 && this.countTo(depth + 1) <= SMALL) depth += 1;
    this.foldTo(depth);
  }

  /** @param {number} depth */
  countTo(depth) {
    let count = 0;
    for (let row = 0; row < this.n; row++) if (this.depth[row] <= depth) count += 1;
    return count;
  }

  write() {
    if (this.changed.size > MOST_WRITTEN) return null;
    const base = this.base === Infinity ? "a" : String(this.base);
    return [base, ...Array.from(this.changed).sort((a, b) => a - b)].join(".");
  }

  /** @param {string | undefined} text */
  read(text) {
    const match = /^(a|\d{1,4})((\.\d{1,9})*)$/.exec(text || "");
    if (!match) {
      this.foldAsSuits();
      return;
    }
    this.foldTo(match[1] === "a" ? Infinity : Number(match[1]));
    for (const row of match[2].split(".").filter(Boolean).map(Number)) {
      if (row < this.n && this.isParent(row) && this.changed.size < MOST_WRITTEN) this.changed.add(row);
    }
  }

  /** @param {number} program */
  rowOf(program) {
    return this.program.indexOf(program);
  }
}

export { TreeRows, NONE };
