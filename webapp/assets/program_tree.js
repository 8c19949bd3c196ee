/* The program tree: only the rows on the screen are in the page. The shape of the whole tree comes once as typed arrays
   (program, depth, size of subtree, type), texts and figures of the rows on the screen in small blocks. */
(function () {
  "use strict";
  const ROW = 22;
  const BLOCK_DELAY = 25;
  const grouped = new Intl.NumberFormat("en-US");

  function numberText(value) {
    return value === null || value === undefined ? "\u2013" : grouped.format(value);
  }

  function make(tag, className, text) {
    const element = document.createElement(tag);
    element.className = className;
    if (text !== undefined) element.textContent = text;
    return element;
  }

  class ProgramTree {
    constructor(box) {
      this.box = box;
      this.base = "/data/" + box.dataset.key + "/program_tree/";
      this.types = JSON.parse(box.dataset.types);
      this.families = JSON.parse(box.dataset.families);
      this.scroller = box.querySelector(".tree-scroll");
      this.space = box.querySelector(".tree-space");
      this.status = document.querySelector(".tree-status");
      this.texts = new Map();
      this.closed = new Set();
      this.related = new Set();
      this.found = new Uint32Array(0);
      this.cursor = 0;
      this.root = null;
      this.asked = 0;
      this.stops = [window.popvision.onSelect((selection, patch) => this.changed(selection, patch))];
      this.scroller.addEventListener("scroll", () => this.draw());
      this.scroller.addEventListener("keydown", (event) => this.key(event));
      this.scroller.addEventListener("click", (event) => this.click(event));
      this.observer = new ResizeObserver(() => this.draw());
      this.observer.observe(this.scroller);
      this.buttons = (event) => this.command(event);
      document.addEventListener("click", this.buttons);
      this.searchKeys = (event) => this.searchKey(event);
      document.addEventListener("keydown", this.searchKeys);
      const selection = window.popvision.selection();
      this.ipu = selection.ipu || "";
      this.hideColumns(selection);
      this.load(this.rootOf(selection));
    }

    stop() {
      this.stops.forEach((stop) => stop());
      this.observer.disconnect();
      document.removeEventListener("click", this.buttons);
      document.removeEventListener("keydown", this.searchKeys);
    }

    /* The root in the URL, else that of the selected program, which the server wrote into the page, else the first. */
    rootOf(selection) {
      return Number(selection.pt_root !== undefined ? selection.pt_root : this.box.dataset.root);
    }

    async fetchArray(path) {
      const answer = await fetch(this.base + path);
      if (!answer.ok) throw new Error(await answer.text());
      return answer.arrayBuffer();
    }

    async load(root) {
      const turn = ++this.asked;
      this.root = root;
      this.markRoot();
      try {
        const data = await this.fetchArray("tree?root=" + root);
        if (turn !== this.asked) return;
        const n = new Uint32Array(data, 0, 1)[0];
        this.n = n;
        this.program = new Uint32Array(data, 4, n);
        this.size = new Uint32Array(data, 4 + 4 * n, n);
        this.depth = new Uint16Array(data, 4 + 8 * n, n);
        this.type = new Uint8Array(data, 4 + 10 * n, n);
      } catch (problem) {
        window.popvision.notice(problem.message);
        return;
      }
      this.closed.clear();
      this.cursor = 0;
      this.layout();
      const selection = window.popvision.selection();
      await this.search(selection.pt_search || "", false);
      this.follow(selection.program, true);
    }

    /* Rows that are shown: those with no closed row above them. */
    layout() {
      const shown = new Uint32Array(this.n);
      let count = 0;
      for (let row = 0; row < this.n; ) {
        shown[count++] = row;
        row += this.closed.has(row) ? this.size[row] : 1;
      }
      this.shown = shown.subarray(0, count);
      this.space.style.height = count * ROW + "px";
      this.draw();
    }

    indexOf(row) {
      let low = 0;
      let high = this.shown.length;
      while (low < high) {
        const middle = (low + high) >> 1;
        if (this.shown[middle] < row) low = middle + 1;
        else high = middle;
      }
      return low < this.shown.length && this.shown[low] === row ? low : -1;
    }

    parentOf(row) {
      for (let up = row - 1; up >= 0; up--) if (this.depth[up] < this.depth[row]) return up;
      return -1;
    }

    /* Open every row above this one. */
    reveal(row) {
      let opened = false;
      for (let up = this.parentOf(row); up >= 0; up = this.parentOf(up)) opened = this.closed.delete(up) || opened;
      if (opened) this.layout();
    }

    moveTo(row, align) {
      this.reveal(row);
      this.cursor = row;
      const at = this.indexOf(row) * ROW;
      const top = this.scroller.scrollTop;
      const room = this.scroller.clientHeight - ROW;
      if (align || at < top || at > top + room) {
        this.scroller.scrollTop = align ? at - room / 3 : at < top ? at : at - room;
      }
      this.draw();
    }

    draw() {
      if (!this.shown) return;
      const first = Math.max(0, Math.floor(this.scroller.scrollTop / ROW) - 6);
      const last = Math.min(this.shown.length, Math.ceil((this.scroller.scrollTop + this.scroller.clientHeight) / ROW) + 6);
      const rows = document.createDocumentFragment();
      const wanted = [];
      for (let at = first; at < last; at++) {
        const row = this.shown[at];
        if (!this.texts.has(this.program[row])) wanted.push(this.program[row]);
        rows.appendChild(this.rowElement(row, at));
      }
      this.space.replaceChildren(rows);
      this.scroller.setAttribute("aria-activedescendant", "tree-row-" + this.cursor);
      if (wanted.length) this.want(wanted);
    }

    rowElement(row, at) {
      const program = this.program[row];
      const text = this.texts.get(program);
      const selected = String(program) === window.popvision.selection().program;
      const line = make("div", "tree-row");
      line.id = "tree-row-" + row;
      line.style.top = at * ROW + "px";
      line.dataset.row = row;
      line.setAttribute("role", "treeitem");
      line.setAttribute("aria-level", this.depth[row] + 1);
      line.setAttribute("aria-selected", selected ? "true" : "false");
      if (this.size[row] > 1) line.setAttribute("aria-expanded", this.closed.has(row) ? "false" : "true");
      if (row === this.cursor) line.classList.add("cursor");
      if (selected) line.classList.add("selected");
      else if (this.related.has(program)) line.classList.add("related");
      if (this.isFound(row)) line.classList.add("found");
      line.append(this.nameElement(row, text), ...this.figureElements(text));
      return line;
    }

    nameElement(row, text) {
      const name = make("div", "tree-name");
      name.style.paddingLeft = Math.min(this.depth[row], 40) * 14 + "px";
      const fold = make("span", this.size[row] > 1 ? "tree-fold" + (this.closed.has(row) ? "" : " open") : "tree-leaf");
      const type = this.types[this.type[row]];
      name.append(fold, make("span", "tree-bar step-" + this.families[this.type[row]]), make("span", "tree-type", type));
      if (!text) return name;
      if (text.note) name.append(make("span", "tree-note", text.note));
      if (text.name) name.append(make("span", "tree-label", text.name));
      name.append(make("span", "tree-id", "#" + text.id));
      name.title = type + (text.name ? " (" + text.name + ")" : "") + ", Id " + text.id;
      return name;
    }

    figureElements(text) {
      const cells = ["self", "total", "executions", "bytes", "code"].map((field) =>
        make("div", "tree-cell tree-" + field + (text && text[field] === 0 ? " zero" : ""), text ? numberText(text[field]) : ""));
      if (text && text.share !== null) {
        cells[1].style.setProperty("--share", (100 * text.share).toFixed(2) + "%");
        cells[1].title = (100 * text.share).toFixed(2) + " % of the total device cycles";
      }
      if (text && text.guess) { cells[0].classList.add("guess"); cells[0].title = "Partly a guess: a codelet of this compute set gives no estimate"; }
      return cells;
    }

    want(programs) {
      this.wanted = programs;
      if (this.timer) return;
      this.timer = window.setTimeout(() => { this.timer = null; this.ask(this.wanted); }, BLOCK_DELAY);
    }

    async ask(programs) {
      const ipu = this.ipu;
      const answer = await fetch(this.base + "rows?ids=" + [...new Set(programs)].slice(0, 400).join(",") + (ipu ? "&ipu=" + ipu : ""));
      if (!answer.ok) { window.popvision.notice(await answer.text()); return; }
      const rows = await answer.json();
      if (ipu !== this.ipu) return;
      for (const row of rows) this.texts.set(row.id, row);
      this.draw();
    }

    hideColumns(selection) {
      const page = this.box.closest(".view");
      for (const name of ["ids", "cycles", "executions", "bytes", "code"]) {
        page.classList.toggle("hide-" + name, selection["pt_" + name] === "0");
      }
    }

    /* ---- selection ---- */

    choose(row) {
      this.cursor = row;
      window.popvision.select({ program: String(this.program[row]) });
      this.draw();
    }

    async changed(selection, patch) {
      this.hideColumns(selection);
      if ("pt_root" in patch && Number(selection.pt_root) !== this.root) { await this.load(this.rootOf(selection)); return; }
      if ("ipu" in patch) {
        this.ipu = selection.ipu || "";
        this.texts.clear();
      }
      if ("pt_search" in patch) await this.search(selection.pt_search || "", true);
      if ("program" in patch) await this.follow(selection.program, false);
      this.draw();
    }

    /* Mark the programs that do the same work; show the selected one when it is not on the screen. */
    async follow(program, align) {
      this.related = new Set();
      if (program === undefined || !this.program) { this.draw(); return; }
      const id = Number(program);
      if (this.program[this.cursor] !== id) {
        const row = this.program.indexOf(id);
        if (row >= 0) this.moveTo(row, align);
      }
      try {
        const related = new Uint32Array(await this.fetchArray("related?program=" + id));
        if (window.popvision.selection().program === program) this.related = new Set(related);
      } catch (_) { /* an id that is not there marks nothing */ }
      this.draw();
    }

    markRoot() {
      for (const item of document.querySelectorAll(".tree-list [data-root-id]")) {
        item.setAttribute("aria-current", Number(item.dataset.rootId) === this.root ? "true" : "false");
      }
    }

    /* ---- search ---- */

    isFound(row) {
      let low = 0;
      let high = this.found.length;
      while (low < high) {
        const middle = (low + high) >> 1;
        if (this.found[middle] < row) low = middle + 1;
        else high = middle;
      }
      return low < this.found.length && this.found[low] === row;
    }

    async search(text, jump) {
      this.found = new Uint32Array(0);
      if (text.trim()) {
        try {
          this.found = new Uint32Array(await this.fetchArray("find?root=" + this.root + "&text=" + encodeURIComponent(text)));
        } catch (problem) { window.popvision.notice(problem.message); }
      }
      this.say(text);
      if (jump && this.found.length) this.step(0);
      else this.draw();
    }

    say(text) {
      if (!this.status) return;
      if (!text.trim()) { this.status.textContent = ""; return; }
      const at = this.found.indexOf(this.cursor);
      this.status.textContent = !this.found.length ? "no match"
        : (at >= 0 ? grouped.format(at + 1) + " of " : "") + grouped.format(this.found.length) + (at < 0 && this.found.length === 1 ? " match" : at < 0 ? " matches" : "");
    }

    /* The match at or after the cursor (0), after it (1) or before it (-1), round the end. */
    step(direction) {
      const n = this.found.length;
      if (!n) return;
      let at;
      if (direction < 0) {
        at = n - 1;
        for (let i = n - 1; i >= 0; i--) if (this.found[i] < this.cursor) { at = i; break; }
      } else {
        at = this.found.findIndex((row) => (direction ? row > this.cursor : row >= this.cursor));
        if (at < 0) at = 0;
      }
      this.moveTo(this.found[at], false);
      this.say("x");
    }

    searchKey(event) {
      const inBox = event.target.closest && event.target.closest('[data-param="pt_search"]');
      if (inBox && event.key === "Enter") { event.preventDefault(); this.step(event.shiftKey ? -1 : 1); }
      if (inBox && event.key === "ArrowDown") { event.preventDefault(); this.scroller.focus(); }
    }

    /* ---- pointer, keys, buttons ---- */

    click(event) {
      const line = event.target.closest(".tree-row");
      if (!line) return;
      const row = Number(line.dataset.row);
      if (event.target.closest(".tree-fold")) this.fold(row);
      else this.choose(row);
    }

    fold(row, open) {
      if (this.size[row] <= 1) return;
      const isOpen = !this.closed.has(row);
      if (open === isOpen) return;
      if (isOpen) this.closed.add(row);
      else this.closed.delete(row);
      this.layout();
    }

    foldAll(depth) {
      this.closed.clear();
      if (Number.isFinite(depth)) {
        for (let row = 0; row < this.n; row++) if (this.size[row] > 1 && this.depth[row] >= depth) this.closed.add(row);
      }
      let row = this.cursor;
      for (let up = this.parentOf(row); up >= 0; up = this.parentOf(up)) if (this.closed.has(up)) row = up;
      this.cursor = row;
      this.layout();
      this.moveTo(row, false);
    }

    openBelow(row) {
      for (let below = row; below < row + this.size[row]; below++) this.closed.delete(below);
      this.layout();
    }

    key(event) {
      if (event.ctrlKey || event.metaKey || event.altKey || !this.shown) return;
      const at = Math.max(0, this.indexOf(this.cursor));
      const page = Math.max(1, Math.floor(this.scroller.clientHeight / ROW) - 1);
      const last = this.shown.length - 1;
      const moves = { ArrowDown: at + 1, ArrowUp: at - 1, PageDown: at + page, PageUp: at - page, Home: 0, End: last };
      if (event.key in moves) this.moveTo(this.shown[Math.min(last, Math.max(0, moves[event.key]))], false);
      else if (event.key === "ArrowRight") this.right();
      else if (event.key === "ArrowLeft") this.left();
      else if (event.key === "Enter" || event.key === " ") this.choose(this.cursor);
      else if (event.key === "*") this.openBelow(this.cursor);
      else if (event.key === "n" || event.key === "N") this.step(event.key === "n" ? 1 : -1);
      else return;
      event.preventDefault();
      event.stopPropagation();
    }

    right() {
      if (this.size[this.cursor] <= 1) return;
      if (this.closed.has(this.cursor)) this.fold(this.cursor, true);
      else this.moveTo(this.cursor + 1, false);
    }

    left() {
      if (this.size[this.cursor] > 1 && !this.closed.has(this.cursor)) { this.fold(this.cursor, false); return; }
      const up = this.parentOf(this.cursor);
      if (up >= 0) this.moveTo(up, false);
    }

    command(event) {
      const button = event.target.closest("[data-tree]");
      if (button) {
        const what = button.dataset.tree;
        if (what === "next") this.step(1);
        else if (what === "previous") this.step(-1);
        else if (what === "open") this.foldAll(Infinity);
        else if (what === "depth") this.foldAll(Number(button.dataset.depth));
        return;
      }
      const root = event.target.closest("[data-root-id]");
      if (root) window.popvision.select({ pt_root: root.dataset.rootId });
    }
  }

  window.popvision.mount("#program-tree", (box) => {
    const tree = new ProgramTree(box);
    return () => tree.stop();
  });
})();
