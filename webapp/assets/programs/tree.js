// @ts-check
/* Program tree as a virtual list: only the rows on the screen are elements. The shape of the whole tree comes
   once (rows.js), names and figures in small blocks (texts.js). line.js draws a row, search.js holds the matches,
   keys.js takes input. */
import { Listeners } from "../shared/canvas/frame_loop.js";
import { keepWidths } from "../shared/column_widths.js";
import { all, part } from "../shared/dom.js";
import { commands } from "../shell/commands.js";
import * as viewer from "../shell/viewer.js";
import { treeKeys } from "./keys.js";
import { ROW, lineElement } from "./line.js";
import { NONE, TreeRows } from "./rows.js";
import { TreeSearch } from "./search.js";
import { TreeTexts } from "./texts.js";

const COLUMNS = {
  ids: true,
  cycles: true,
  apart: false,
  executions: true,
  received: true,
  live: true,
  code: true,
  trips: false,
  sent: false,
};

class ProgramTree {
  /** @param {HTMLElement} box */
  constructor(box) {
    this.box = box;
    this.base = "/data/" + box.dataset.key + "/program_tree/";
    this.types = JSON.parse(box.dataset.types || "[]");
    this.families = JSON.parse(box.dataset.families || "[]");
    /** @type {ProgramColumn[]} */
    this.columns = JSON.parse(box.dataset.columns || "[]");
    this.scroller = part(".tree-scroll", box);
    this.space = part(".tree-space", box);
    this.note = document.querySelector(".tree-related");
    this.texts = new TreeTexts(
      this.base,
      () => this.query({}, ["ipu", "vs"]),
      () => this.draw(),
    );
    this.matches = new TreeSearch(document.querySelector(".tree-status"));
    /** @type {Set<number>} programs related to the selected one */
    this.related = new Set();
    this.cursor = 0;
    this.arrived = false; /* at the first match of the search box, by the search itself */
    this.turn = 0;
    this.root = Number(box.dataset.root);
    this.rows = new TreeRows(new ArrayBuffer(4), false); /* none until the tree has arrived */
    /** rows that no closed row hides, ascending */
    this.shown = new Uint32Array(0);
    this.vs = viewer.selection().vs;
    this.listeners = new Listeners();
    this.listen();
    this.hideColumns();
    this.keepWidths();
    this.load();
  }

  listen() {
    const { listeners } = this;
    listeners.add(viewer.onSelect((selection, patch) => this.changed(selection, patch)));
    listeners.on(this.scroller, "scroll", () => this.draw());
    listeners.on(this.scroller, "keydown", (event) => treeKeys.key(this, event));
    listeners.on(this.space, "click", (event) => treeKeys.click(this, event));
    listeners.on(document, "click", (event) => treeKeys.command(this, event));
    listeners.on(document, "keydown", (event) => treeKeys.searchKey(this, event));
    listeners.onResize(this.scroller, () => this.draw());
    /**
     * @param {string} title
     * @param {() => void} run
     */
    const command = (title, run) => listeners.add(commands.add({ title, run, group: "Program Tree" }));
    command("Open everything in the tree", () => this.foldTo(Infinity));
    command("Fold the tree to its first level", () => this.foldTo(1));
    command("Next match or program", () => this.step(1));
    command("Previous match or program", () => this.step(-1));
  }

  stop() {
    this.listeners.stop();
  }

  metric() {
    const wanted = viewer.selection().pt_metric;
    return this.columns.find(({ field }) => field === wanted) || this.columns[1];
  }

  /**
   * @param {Record<string, string>} own
   * @param {string[]} shared
   */
  query(own, shared) {
    const selection = viewer.selection();
    const query = new URLSearchParams(own);
    for (const name of shared) if (selection[name]) query.set(name, selection[name]);
    return query;
  }

  /** @param {string} path */
  async fetchArray(path) {
    const answer = await fetch(this.base + path);
    if (!answer.ok) throw new Error(await answer.text());
    return answer.arrayBuffer();
  }

  async load() {
    const turn = ++this.turn;
    const selection = viewer.selection();
    /* The root in the URL, else the server's choice: the root of the selected program, or the first. */
    this.root = Number(selection.pt_root !== undefined ? selection.pt_root : this.box.dataset.root);
    this.markRoot();
    try {
      const data = await this.fetchArray("tree?" + this.query({ root: String(this.root) }, ["vs"]));
      if (turn !== this.turn) return;
      this.rows = new TreeRows(data, Boolean(selection.vs) && this.box.dataset.compares === "yes");
    } catch (problem) {
      viewer.notice(problem.message);
      return;
    }
    this.rows.read(selection.pt_fold);
    this.texts.clear();
    this.cursor = 0;
    this.layout();
    await this.search(selection.pt_search || "", false);
    this.follow(selection.program, true);
  }

  /* ---- rows on the screen ---- */

  layout() {
    this.shown = this.rows.shown();
    this.space.style.height = this.shown.length * ROW + "px";
    this.scroller.setAttribute("aria-rowcount", String(this.shown.length + 1));
    this.draw();
  }

  /** @param {number} row */
  indexOf(row) {
    let low = 0;
    let high = this.shown.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.shown[middle] < row) low = middle + 1;
      else high = middle;
    }
    return this.shown[low] === row ? low : -1;
  }

  /**
   * @param {number} row
   * @param {boolean} align
   */
  moveTo(row, align) {
    if (this.rows.openAbove(row)) this.layout();
    this.cursor = row;
    const at = this.indexOf(row) * ROW;
    const top = this.scroller.scrollTop;
    const room = this.scroller.clientHeight - 28 - ROW;
    if (align || at < top || at > top + room) {
      this.scroller.scrollTop = align ? at - room / 3 : at < top ? at : at - room;
    }
    this.draw();
    this.matches.say(row);
  }

  draw() {
    const top = this.scroller.scrollTop;
    const first = Math.max(0, Math.floor(top / ROW) - 6);
    const last = Math.min(this.shown.length, Math.ceil((top + this.scroller.clientHeight) / ROW) + 6);
    const lines = document.createDocumentFragment();
    const wanted = [];
    for (let at = first; at < last; at++) {
      const row = this.shown[at];
      if (!this.texts.get(this.rows.key(row))) wanted.push(this.rows.key(row));
      lines.appendChild(lineElement(this, row, at));
    }
    this.space.replaceChildren(lines);
    const inPage = document.getElementById("tree-row-" + this.cursor);
    if (inPage) this.scroller.setAttribute("aria-activedescendant", inPage.id);
    else this.scroller.removeAttribute("aria-activedescendant");
    if (wanted.length) this.texts.want(wanted);
  }

  keepWidths() {
    const cells = all(".tree-head > *", this.box);
    const columns = cells.map((cell) => ({ cell, column: (cell.className.match(/tree-(?!cell)(\w+)/) || [])[1] }));
    keepWidths(this.box, "program_tree", columns, () => this.fitSpace());
    const list = document.querySelector(".tree-list");
    const area = document.getElementById("pt-tree");
    if (list instanceof HTMLElement && area) keepWidths(area, "program_tree", [{ cell: list, column: "list" }]);
  }

  /* Rows are as long as the headings. */
  fitSpace() {
    const head = part(".tree-head", this.box);
    head.style.minWidth = this.space.style.minWidth = "";
    if (head.scrollWidth > head.clientWidth) head.style.minWidth = this.space.style.minWidth = head.scrollWidth + "px";
  }

  hideColumns() {
    const page = this.box.closest(".view");
    if (!page) return;
    const selection = viewer.selection();
    for (const [name, shown] of Object.entries(COLUMNS)) {
      const value = selection["pt_" + name];
      page.classList.toggle("hide-" + name, shown ? value === "0" : value !== "1");
    }
    this.fitSpace();
  }

  /* ---- selection ---- */

  /** @param {number} row */
  choose(row) {
    this.cursor = row;
    if (this.rows.program[row] !== NONE) viewer.select({ program: String(this.rows.program[row]) });
    this.draw();
  }

  /**
   * @param {PageSelection} selection
   * @param {Patch} patch
   */
  async changed(selection, patch) {
    if (selection.vs !== this.vs) return; /* the shell draws the page anew */
    this.hideColumns();
    if ("pt_root" in patch && Number(selection.pt_root) !== this.root) {
      await this.load();
      return;
    }
    if ("ipu" in patch) this.texts.clear();
    if ("pt_search" in patch) await this.search(selection.pt_search || "", true);
    if ("program" in patch || "pt_layer" in patch) await this.follow(selection.program, false);
    this.draw();
  }

  /**
   * Mark related programs; show the selected one when it is not on the screen.
   *
   * @param {string | undefined} program
   * @param {boolean} align
   */
  async follow(program, align) {
    this.related = new Set();
    this.sayRelated(null);
    if (program === undefined || !this.rows.n) {
      this.draw();
      return;
    }
    const id = Number(program);
    if (this.rows.program[this.cursor] !== id) {
      const row = this.rows.rowOf(id);
      if (row >= 0) this.moveTo(row, align);
    }
    try {
      const query = this.query({ program: String(id), rule: viewer.selection().pt_layer || "" }, []);
      const related = new Uint32Array(await this.fetchArray("related?" + query));
      if (viewer.selection().program !== program) return;
      this.related = new Set(related);
      this.sayRelated(related.length);
    } catch (_) {
      /* an unknown id marks nothing */
    }
    this.draw();
  }

  /** @param {number | null} count */
  sayRelated(count) {
    if (!this.note) return;
    this.note.textContent = count !== null && count > 1 ? count.toLocaleString("en-US") + " related" : "";
  }

  markRoot() {
    for (const item of all(".tree-list [data-root-id]")) {
      item.setAttribute("aria-current", Number(item.dataset.rootId) === this.root ? "true" : "false");
    }
  }

  /* ---- search ---- */

  /**
   * @param {string} text
   * @param {boolean} jump
   */
  async search(text, jump) {
    let rows = new Uint32Array(0);
    if (text.trim()) {
      try {
        rows = new Uint32Array(await this.fetchArray("find?" + this.query({ root: String(this.root), text }, ["vs"])));
      } catch (problem) {
        viewer.notice(problem.message);
      }
    }
    this.matches.set(text, rows);
    this.arrived = jump && rows.length > 0;
    if (jump && rows.length) this.moveTo(this.matches.next(this.cursor, 0), false);
    else {
      this.matches.say(this.cursor);
      this.draw();
    }
  }

  /**
   * The next or previous match; without a search the next or previous row that is shown.
   *
   * @param {number} direction
   */
  step(direction) {
    if (!this.shown.length) return;
    this.arrived = false;
    const row = this.matches.next(this.cursor, direction);
    if (row >= 0) this.moveTo(row, false);
    else if (!this.matches.text.trim()) this.moveBy(direction);
  }

  /** @param {number} count */
  moveBy(count) {
    const at = Math.max(0, this.indexOf(this.cursor)) + count;
    this.moveTo(this.shown[Math.min(this.shown.length - 1, Math.max(0, at))], false);
  }

  /* ---- folding ---- */

  /**
   * @param {number} row
   * @param {boolean} closed
   */
  fold(row, closed) {
    if (this.rows.setClosed(row, closed)) this.folded();
  }

  folded() {
    let row = this.cursor;
    for (let up = this.rows.parentOf(row); up >= 0; up = this.rows.parentOf(up)) if (this.rows.isClosed(up)) row = up;
    this.cursor = row;
    this.layout();
    viewer.select({ pt_fold: this.rows.write() });
  }

  /** @param {number} depth */
  foldTo(depth) {
    if (!this.rows.n) return;
    this.rows.foldTo(depth);
    this.folded();
  }

  /** @param {number} row */
  openBelow(row) {
    for (let below = row; below < row + this.rows.size[row]; below++) this.rows.setClosed(below, false);
    this.folded();
  }
}

viewer.mount("#program-tree", (box) => {
  const tree = new ProgramTree(box);
  return () => tree.stop();
});

export { ProgramTree };
