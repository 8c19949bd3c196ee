// @ts-check
/* Source view: lines of one file with figures in the margin, as a virtual list. Figures of the file come once,
   texts in blocks while scrolling. A row is a line in the order of the file; its place is where it stands, which
   differs while a heading sorts (src_sort in the address: a column, "-" before it for the largest first). */
import { Listeners } from "../shared/canvas/frame_loop.js";
import { keepWidths } from "../shared/column_widths.js";
import { all, closest, part } from "../shared/dom.js";
import { format } from "../shared/table.js";
import { commands, isTyping, keyOf } from "../shell/commands.js";
import * as viewer from "../shell/viewer.js";
import { LineOrder } from "./line_order.js";

const ROW = 20;
const BLOCK = 200;
const METRICS = [
  ["Cycles", "cycles"],
  ["Live at peak", "bytes"],
  ["Received", "bytes"],
];

/** Ids of the metrics in the address. */
const METRIC_IDS = ["cycles", "live", "bytes"];

/**
 * @param {string} tag
 * @param {string} className
 * @param {string} [text]
 */
function make(tag, className, text) {
  const element = document.createElement(tag);
  element.className = className;
  if (text !== undefined) element.textContent = text;
  return element;
}

class SourceFile {
  /** @param {HTMLElement} box */
  constructor(box) {
    this.box = box;
    this.scroller = part(".code-scroll", box);
    this.head = part(".code-head", box);
    this.space = part(".code-space", box);
    this.live = part(".code-live", box);
    this.problem = part(".code-problem", box);
    this.turn = 0;
    this.file = box.dataset.file || "";
    this.metric = 0;
    /** @type {number[]} maxima of the columns */
    this.largest = [];
    /** @type {number[]} rows with figures */
    this.hot = [];
    this.hottest = -1; /* the row with most cycles, before any run with most live bytes */
    this.hottestBy = 0; /* the column that this is of */
    this.count = 0;
    this.order = new LineOrder();
    /** @type {Map<number, string>} lines by row */
    this.texts = new Map();
    /** @type {Set<number>} blocks of lines requested from the server */
    this.requested = new Set();
    /** @type {any} */
    this.data = null;
    /** @type {number[] | null} lines of the source by row; null when rows are its lines */
    this.source = null;
    /** @type {number[] | null} lines of the target by row, 0 where it has none */
    this.target = null;
    this.vs = viewer.selection().vs;
    this.cursor = 0;
    const listeners = (this.listeners = new Listeners());
    listeners.add(viewer.onSelect((selection, patch) => this.changed(patch)));
    listeners.on(this.scroller, "scroll", () => this.draw());
    listeners.on(this.scroller, "keydown", (event) => this.key(event));
    listeners.on(this.space, "click", (event) => this.click(event));
    listeners.on(this.head, "click", (event) => this.sortBy(event));
    listeners.onResize(this.scroller, () => this.draw());
    listeners.on(document, "click", (event) => this.chooseFile(event));
    listeners.on(document, "keydown", (event) => this.pageKey(event));
    /**
     * @param {string} title
     * @param {() => void} run
     */
    const command = (title, run) => listeners.add(commands.add({ title, run, group: "Source Code" }));
    command("Next line with figures", () => this.step(1));
    command("Previous line with figures", () => this.step(-1));
    this.load();
  }

  stop() {
    this.listeners.stop();
  }

  reset() {
    this.count = 0;
    this.texts = new Map();
    this.requested = new Set();
  }

  query() {
    const selection = viewer.selection();
    const files = Array.from(all("[data-file]"), (each) => each.dataset.file);
    this.file = files.includes(selection.src_file)
      ? selection.src_file
      : this.box.dataset.file || ""; /* the URL may name a file of another report */
    const query = new URLSearchParams({ file: this.file });
    if (selection.ipu) query.set("ipu", selection.ipu);
    if (selection.vs) query.set("vs", selection.vs);
    return query;
  }

  async load() {
    const turn = ++this.turn;
    const query = this.query();
    const answer = await fetch("/data/" + this.box.dataset.key + "/source/rows?" + query);
    if (turn !== this.turn) return;
    if (!answer.ok) {
      viewer.notice(await answer.text());
      return;
    }
    const data = await answer.json();
    if (turn !== this.turn) return;
    this.reset();
    Object.assign(this, { count: data.count, source: data.source, target: data.target, data });
    for (const link of all(".source-exports a"))
      link.setAttribute("href", (link.getAttribute("href") || "").replace(/\?.*$/, "") + "?" + query);
    this.problem.textContent =
      data.problem + (data.cut ? " " + data.cut.toLocaleString("en-US") + " further lines are not shown." : "");
    this.problem.hidden = !this.problem.textContent;
    this.metric = Math.max(0, METRIC_IDS.indexOf(viewer.selection().src_metric));
    this.largest = METRICS.map((_, column) =>
      Math.max(
        1,
        ...[data.figures, data.target_figures].flatMap((side) =>
          Object.values(side).map((values) => values[column] || 0),
        ),
      ),
    );
    this.hot = Array.from({ length: this.count }, (_, row) => row).filter(
      (row) => this.figuresOf(row, 0) || this.figuresOf(row, 1),
    );
    this.hottest = this.hottestRow();
    this.sort();
    this.space.style.height = this.count * ROW + "px";
    this.scroller.setAttribute("aria-rowcount", String(this.count + 1));
    this.drawHead();
    for (const item of all(".source-files [data-file]")) {
      item.setAttribute("aria-current", item.dataset.file === this.file ? "true" : "false");
    }
    this.follow(true);
  }

  /**
   * @param {number} row
   * @param {number} side
   */
  lineOf(row, side) {
    if (!side) return this.source ? this.source[row] : row + 1;
    return this.target ? this.target[row] : 0;
  }

  /**
   * @param {number} row
   * @param {number} side
   */
  figuresOf(row, side) {
    const line = this.lineOf(row, side);
    return line ? (side ? this.data.target_figures : this.data.figures)[line] : undefined;
  }

  /** @param {number} line */
  rowOfLine(line) {
    if (!this.source) return line - 1;
    const row = this.source.indexOf(line);
    return row;
  }

  columns() {
    const kind = METRICS[this.metric][1];
    if (!this.data.compares)
      return METRICS.map(([name, unit], column) => ({
        id: METRIC_IDS[column],
        title: name,
        kind: unit,
        column,
        side: 0,
      }));
    return [
      { id: "source", title: "Source", kind, column: this.metric, side: 0 },
      { id: "target", title: "Target", kind, column: this.metric, side: 1 },
      { id: "difference", title: "Difference", kind: "signed_" + kind, column: this.metric, side: 2 },
    ];
  }

  /** The row of the source with most cycles, where none has cycles with most live bytes; -1 without any. */
  hottestRow() {
    for (const column of [0, 1]) {
      const figure = (/** @type {number} */ row) => (this.figuresOf(row, 0) || [])[column] || 0;
      const best = this.hot.reduce((most, row) => (figure(row) > figure(most) ? row : most), this.hot[0] ?? -1);
      if (best < 0 || figure(best) <= 0) continue;
      this.hottestBy = column;
      return best;
    }
    return -1;
  }

  /** The column that sorts and its direction; null in the order of the file. */
  sorting() {
    const wanted = viewer.selection().src_sort || "";
    const column = this.columns().find((each) => each.id === wanted.replace(/^-/, ""));
    return column ? { column, sign: wanted.startsWith("-") ? -1 : 1 } : null;
  }

  /** Put the rows in the order that the address names. */
  sort() {
    const chosen = this.sorting();
    const values = chosen && Array.from({ length: this.count }, (_, row) => this.valueOf(row, chosen.column));
    this.order = values ? new LineOrder(values, chosen.sign) : new LineOrder();
  }

  /** @param {MouseEvent} event */
  sortBy(event) {
    const button = closest(event, "[data-sort]");
    if (!button) return;
    const id = button.dataset.sort || "";
    const now = viewer.selection().src_sort || "";
    const next = !id ? null : now === "-" + id ? id : now === id ? null : "-" + id;
    viewer.select({ src_sort: next });
  }

  /**
   * @param {string} className
   * @param {string} title
   * @param {string} id of the column; "" = the order of the file
   */
  heading(className, title, id) {
    const cell = make("div", className);
    const button = make("button", "sort", title);
    button.setAttribute("type", "button");
    button.dataset.sort = id;
    button.title = id
      ? "Sort by this figure: largest first, smallest first, order of the file"
      : "Lines in the order of the file";
    const chosen = this.sorting();
    if (id ? chosen && chosen.column.id === id : !chosen)
      cell.setAttribute("aria-sort", chosen && chosen.sign < 0 ? "descending" : "ascending");
    cell.append(button);
    return cell;
  }

  drawHead() {
    const cells = this.columns().map((each) => this.heading("code-figure", each.title, each.id));
    cells.push(this.heading("code-number", "Line", ""), make("div", "code-text", "Text"));
    cells.forEach((cell) => cell.setAttribute("role", "columnheader"));
    this.head.replaceChildren(...cells);
    const figures = this.columns().map((_, at) => ({ cell: cells[at], column: "figure-" + at }));
    keepWidths(this.box, "source", figures);
    const files = document.querySelector(".source-files");
    const area = files && files.parentElement;
    if (files instanceof HTMLElement && area) keepWidths(area, "source", [{ cell: files, column: "files" }]);
  }

  draw() {
    if (!this.data) return;
    const first = Math.max(0, Math.floor(this.scroller.scrollTop / ROW) - 8);
    const last = Math.min(this.count, Math.ceil((this.scroller.scrollTop + this.scroller.clientHeight) / ROW) + 8);
    const rows = document.createDocumentFragment();
    for (let place = first; place < last; place++) rows.appendChild(this.rowElement(this.order.rowAt(place), place));
    this.space.replaceChildren(rows);
    this.scroller.setAttribute("aria-activedescendant", this.count ? "code-row-" + this.cursor : "");
    for (let place = first; place < last; place++) this.want(Math.floor(this.order.rowAt(place) / BLOCK));
  }

  /**
   * @param {number} row
   * @param {number} place
   */
  rowElement(row, place) {
    const line = make("div", "code-row");
    line.id = "code-row-" + row;
    line.dataset.row = String(row);
    line.style.top = place * ROW + "px";
    line.setAttribute("role", "row");
    line.setAttribute("aria-rowindex", String(place + 2));
    const number = this.lineOf(row, 0);
    const selected = number && String(number) === viewer.selection().src_line;
    line.setAttribute("aria-selected", selected ? "true" : "false");
    line.classList.toggle("selected", Boolean(selected));
    line.classList.toggle("cursor", row === this.cursor);
    if (row === this.hottest) {
      line.classList.add("hottest");
      line.title = "The line of this file with most " + (this.hottestBy ? "bytes live at the peak" : "cycles");
    }
    if (this.data.compares && this.target && !number) line.classList.add("only-target");
    if (this.data.compares && this.target && !this.lineOf(row, 1)) line.classList.add("only-source");
    line.append(...this.columns().map((each) => this.figure(row, each)));
    const shown = this.data.compares && !number ? "+" + this.lineOf(row, 1) : String(number);
    line.append(make("div", "code-number", shown), make("div", "code-text", this.texts.get(row) || ""));
    for (const cell of line.children) cell.setAttribute("role", "gridcell");
    return line;
  }

  /**
   * The figure of a cell; null where it is not recorded, or where neither report has something of the line. What a
   * report lacks of a line that the other has is 0 there.
   *
   * @param {number} row
   * @param {{ column: number, side: number }} place
   * @returns {number | null}
   */
  valueOf(row, { column, side }) {
    const found = [0, 1].map((each) => this.figuresOf(row, each));
    if (!found[0] && !found[1]) return null;
    const values = found.map((figures, each) => {
      if (figures) return figures[column];
      return this.data.compares && this.data.recorded[each][column] ? 0 : null;
    });
    if (side < 2) return values[side];
    return values[0] === null || values[1] === null ? null : values[1] - values[0];
  }

  /**
   * @param {number} row
   * @param {{ kind: string, column: number, side: number }} place
   */
  figure(row, { kind, column, side }) {
    const cell = make("div", "code-figure");
    if (!this.figuresOf(row, 0) && !this.figuresOf(row, 1)) return cell;
    if (side === 2) {
      const difference = this.valueOf(row, { column, side });
      cell.textContent = difference === null ? "\u2013" : format(difference, kind);
      if (difference) cell.classList.add(difference > 0 ? "diff-more" : "diff-less");
      return cell;
    }
    const value = this.valueOf(row, { column, side });
    cell.textContent = format(value, kind);
    const where = this.data.compares ? " in the " + (side ? "target" : "source") : "";
    if (value === null) cell.title = "not recorded" + where;
    if (value === 0) cell.classList.add("zero");
    if (value === null) return cell;
    const totals = this.box.dataset[side ? "targetTotals" : "totals"] || "";
    const total = Number(totals.split(",")[column]);
    cell.style.setProperty("--share", ((100 * value) / this.largest[column]).toFixed(1) + "%");
    cell.title =
      value.toLocaleString("en-US") +
      (kind === "bytes" ? " B" : " cycles") +
      (total > 0
        ? "; " +
          ((100 * value) / total).toFixed(2) +
          " % of " +
          total.toLocaleString("en-US") +
          " = line / total of the report"
        : "");
    return cell;
  }

  /** @param {number} block */
  async want(block) {
    if (this.requested.has(block)) return;
    this.requested.add(block);
    const turn = this.turn;
    const query = this.query();
    query.set("from", String(block * BLOCK));
    query.set("count", String(BLOCK));
    const answer = await fetch("/data/" + this.box.dataset.key + "/source/text?" + query);
    if (!answer.ok || turn !== this.turn) return;
    /** @type {string[]} */
    const lines = await answer.json();
    lines.forEach((text, place) => this.texts.set(block * BLOCK + place, text));
    this.draw();
  }

  /** @param {Patch} patch */
  changed(patch) {
    if (viewer.selection().vs !== this.vs) return; /* the shell draws the page anew */
    if ("src_file" in patch || "ipu" in patch || "src_metric" in patch) {
      this.load();
      return;
    }
    if ("src_sort" in patch) {
      this.sort();
      this.drawHead();
      this.scroller.scrollTop = 0;
      this.draw();
    }
    if ("src_line" in patch) this.follow(false);
  }

  /**
   * Show the selected line, or the costliest of the file when the page opens without one.
   *
   * @param {boolean} opening
   */
  follow(opening) {
    const line = Number(viewer.selection().src_line || 0);
    let row = line ? this.rowOfLine(line) : -1;
    if (row < 0 && opening && this.hot.length) row = this.hottest >= 0 ? this.hottest : this.hot[0];
    if (row >= 0 && row < this.count) this.moveTo(row, opening);
    else this.draw();
  }

  /**
   * @param {number} row
   * @param {boolean} align
   */
  moveTo(row, align) {
    this.cursor = Math.max(0, Math.min(this.count - 1, row));
    const at = this.order.placeOf(this.cursor) * ROW;
    const room = this.scroller.clientHeight - this.head.offsetHeight - ROW;
    if (align || at < this.scroller.scrollTop || at > this.scroller.scrollTop + room) {
      this.scroller.scrollTop = align ? at - room / 3 : at < this.scroller.scrollTop ? at : at - room;
    }
    this.draw();
    if (!align) this.say();
  }

  say() {
    const texts = this.columns().map(
      (each) => each.title + " " + (this.figure(this.cursor, each).textContent || "none"),
    );
    this.live.textContent =
      "Line " +
      (this.lineOf(this.cursor, 0) || "of the target " + this.lineOf(this.cursor, 1)) +
      ": " +
      texts.join(", ");
  }

  choose() {
    const line = this.lineOf(this.cursor, 0);
    viewer.select({ src_file: this.file, src_line: line || null });
    this.draw();
  }

  /** @param {MouseEvent} event */
  click(event) {
    const line = closest(event, ".code-row");
    if (!line || String(window.getSelection()).length) return;
    this.cursor = Number(line.dataset.row);
    this.choose();
  }

  /** @param {MouseEvent} event */
  chooseFile(event) {
    const item = closest(event, ".source-files [data-file]");
    if (item) {
      viewer.select({ src_file: item.dataset.file, src_line: null });
      this.cursor = 0;
    }
  }

  /**
   * Move to the next or previous line with figures, round the end of the file.
   *
   * @param {number} direction
   */
  step(direction) {
    if (!this.hot.length) return;
    const places = this.hot.map((row) => this.order.placeOf(row)).sort((one, other) => one - other);
    const now = this.order.placeOf(this.cursor);
    const next = direction > 0 ? places.find((place) => place > now) : places.filter((place) => place < now).pop();
    this.moveTo(this.order.rowAt(next !== undefined ? next : places[direction > 0 ? 0 : places.length - 1]), false);
  }

  /* Keys of the page, wherever the focus is. */
  pageKey(/** @type {KeyboardEvent} */ event) {
    if (event.defaultPrevented || isTyping(event.target) || document.querySelector("dialog[open]")) return;
    const meaning = keyOf(event);
    if (meaning !== "next" && meaning !== "previous") return;
    event.preventDefault();
    this.step(meaning === "next" ? 1 : -1);
  }

  key(/** @type {KeyboardEvent} */ event) {
    if (event.ctrlKey || event.metaKey || event.altKey || !this.count) return;
    if (event.target !== this.scroller && (event.key === "Enter" || event.key === " ")) return; /* a heading's */
    const page = Math.max(1, Math.floor(this.scroller.clientHeight / ROW) - 2);
    const place = this.order.placeOf(this.cursor);
    /** @type {Record<string, number>} */
    const moves = {
      ArrowDown: place + 1,
      ArrowUp: place - 1,
      PageDown: place + page,
      PageUp: place - page,
      Home: 0,
      End: this.count - 1,
    };
    if (event.key in moves)
      this.moveTo(this.order.rowAt(Math.max(0, Math.min(this.count - 1, moves[event.key]))), false);
    else if (event.key === "Enter" || event.key === " ") this.choose();
    else if (event.key === "Escape") viewer.select({ src_line: null });
    else return;
    event.preventDefault();
    event.stopPropagation();
  }
}

viewer.mount("#source-code", (box) => {
  const file = new SourceFile(box);
  return () => file.stop();
});
