// @ts-check
/* The page of a watched program: its lines as a virtual list, with figures and their changes in the margin. Asks
   /data/watch/state whether its turn has changed; the whole state comes only then. */
import { Listeners } from "../shared/canvas/frame_loop.js";
import { all, closest, download, part } from "../shared/dom.js";
import { bytesText, cyclesText } from "../shared/formats.js";
import { toCsv } from "../shared/table.js";
import { commands, isTyping, keyOf } from "../shell/commands.js";
import { go, mount, notice } from "../shell/viewer.js";

const EVERY = 100; /* ms; an answer without news takes 1 ms */
const ROW = 20;
/** @type {[string, "cycles" | "bytes"][]} */
const FIGURES = [
  ["Cycles", "cycles"],
  ["At peak", "bytes"],
  ["Received", "bytes"],
];
/** @type {Record<string, string>} */
const STATES = { running: "running", current: "up to date", failed: "not up to date" };
/** @type {[string, string][]} */
const REST = [
  ["gone", "Lines that are gone"],
  ["others", "Other files"],
  ["unattributed", "Not attributed to a line"],
  ["total", "Total of the report"],
];

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

/**
 * @param {number | null} value
 * @param {"cycles" | "bytes"} unit
 * @param {boolean} signed
 */
function figureText(value, unit, signed) {
  if (value === null || value === undefined) return "\u2013";
  const text = unit === "bytes" ? bytesText(Math.abs(value)) : cyclesText(Math.abs(value));
  return (signed && value ? (value > 0 ? "+" : "\u2212") : "") + text;
}

class Margin {
  /** @param {HTMLElement} page */
  constructor(page) {
    this.page = page;
    this.scroller = part(".code-scroll", page);
    this.head = part(".code-head", page);
    this.space = part(".code-space", page);
    this.live = part(".code-live", page);
    this.files = /** @type {HTMLSelectElement} */ (part("#watch-file", page));
    this.cursor = 0;
    this.file = "";
    this.asking = false;
    /** @type {any} */
    this.state = null;
    /** @type {number[]} rows with figures */
    this.hot = [];
    /** @type {number[]} maxima of the figures */
    this.largest = [1, 1, 1];
    const listeners = (this.listeners = new Listeners());
    listeners.on(this.scroller, "scroll", () => this.draw());
    listeners.on(this.scroller, "keydown", (event) => this.key(event));
    listeners.on(this.space, "click", (event) => this.click(event));
    listeners.onResize(this.scroller, () => this.draw());
    listeners.on(document, "keydown", (event) => this.pageKey(event));
    listeners.on(this.files, "change", () => this.chooseFile());
    listeners.on(part("#watch-run", page), "click", () => this.post("run"));
    listeners.on(part("#watch-pin", page), "click", () => this.pin());
    for (const button of all("[data-watch-export]", page))
      listeners.on(button, "click", () => this.save(button.dataset.watchExport || ""));
    /**
     * @param {string} title
     * @param {string} key
     * @param {() => void} run
     */
    const command = (title, key, run) => listeners.add(commands.add({ title, run, key, keys: key, group: "Watch" }));
    command("Run the program again", "r", () => this.post("run"));
    command("Pin this version, or unpin it", "p", () => this.pin());
    this.timer = window.setInterval(() => this.look(), EVERY);
    this.look();
  }

  stop() {
    window.clearInterval(this.timer);
    this.listeners.stop();
  }

  async look() {
    if (this.asking || document.visibilityState !== "visible") return;
    this.asking = true;
    const known = this.state ? this.state.turn : 0;
    const query = new URLSearchParams({ known: String(known), file: this.file });
    try {
      const answer = await fetch("/data/watch/state?" + query);
      const state = await answer.json();
      if (state.turn !== known && this.page.isConnected) this.take(state);
      if (!this.page.classList.contains("lost")) return;
      this.page.classList.remove("lost");
      this.drawState();
    } catch (_) {
      this.page.classList.add("lost", "old");
      part("#watch-state").textContent = "popvision watch has ended";
    } finally {
      this.asking = false;
    }
  }

  /** @param {any} state */
  take(state) {
    const isFirst = !this.state || !this.state.figures;
    this.state = state;
    this.page.dataset.clock = state.version ? String(state.version.clock) : "0";
    const figures = state.figures ? state.figures.lines : {};
    this.hot = Object.keys(figures)
      .map((line) => Number(line) - 1)
      .sort((a, b) => a - b);
    this.largest = FIGURES.map((_, at) => Math.max(1, ...Object.values(figures).map((each) => each[at] || 0)));
    this.space.style.height = state.text.length * ROW + "px";
    this.scroller.setAttribute("aria-rowcount", String(state.text.length + 1));
    this.drawFiles();
    this.drawState();
    this.drawHead();
    this.drawRest();
    const { problem } = state;
    if (problem && problem.line && problem.file === state.file) this.moveTo(problem.line - 1, false);
    else if (isFirst && this.hot.length) {
      const cycles = (/** @type {number} */ row) => figures[row + 1][0] || 0;
      this.moveTo(
        this.hot.reduce((best, row) => (cycles(row) > cycles(best) ? row : best)),
        true,
      );
    } else this.draw();
  }

  drawFiles() {
    const { files, file } = this.state;
    part(".field", this.page).hidden = files.length < 2;
    this.files.replaceChildren(
      ...files.map((/** @type {string} */ path) => {
        const choice = document.createElement("option");
        choice.value = path;
        choice.textContent = path.split("/").pop() || path;
        choice.selected = path === file;
        return choice;
      }),
    );
  }

  drawState() {
    const { status, problem, seconds, version, pinned, key, pinned_key } = this.state;
    this.page.classList.toggle("old", status === "failed");
    const state = part("#watch-state");
    state.textContent = STATES[status];
    state.className = "badge" + (status === "failed" ? " badge-bad" : status === "current" ? " badge-good" : "");
    const note = version && status === "current" ? "Version " + version.number : "";
    const since = note && seconds !== null ? ", " + seconds.toFixed(2) + " s after its save" : "";
    part("#watch-note").textContent = [note + since, ...(version ? version.missing : [])].join(" ");
    const button = part("#watch-pin");
    button.setAttribute("aria-pressed", pinned ? "true" : "false");
    button.textContent = pinned ? "Pinned: version " + pinned.number : "Pin";
    const box = part(".code-problem", this.page);
    const place = problem && problem.line ? problem.file.split("/").pop() + ", line " + problem.line + ": " : "";
    const old = problem && version ? " The figures are those of version " + version.number + "." : "";
    box.textContent = problem ? place + problem.sentence + old : "";
    box.hidden = !problem;
    part(".watch-output pre", this.page).textContent = this.state.output;
    const links = part("#watch-links");
    links.replaceChildren();
    if (!key) return;
    const query = "?" + new URLSearchParams({ src_file: this.state.figures.name });
    links.append(this.link("Report", "/r/" + key + "/source" + query));
    if (pinned_key && pinned_key !== key)
      links.append(this.link("Compare with the pin", "/r/" + key + "/source" + query + "&vs=" + pinned_key));
    if (version.others.length) links.append(make("span", "dim", version.others.length + " more reports in the list"));
  }

  /**
   * @param {string} text
   * @param {string} href
   */
  link(text, href) {
    const link = document.createElement("a");
    link.textContent = text;
    link.href = href;
    link.dataset.nav = "to";
    return link;
  }

  columns() {
    const { figures } = this.state;
    const changes = figures ? figures.changes : {};
    /** @type {{ title: string, unit: "cycles" | "bytes", at: number, base: string }[]} */
    const columns = [];
    FIGURES.forEach(([title, unit], at) => {
      columns.push({ title, unit, at, base: "" });
      if (changes.before) columns.push({ title: "Since save", unit, at, base: "before" });
      if (changes.pinned) columns.push({ title: "Since pin", unit, at, base: "pinned" });
    });
    return columns;
  }

  /**
   * A row for each line of the file, then one for each sum of REST; figures in cycles and bytes, null = not recorded.
   */
  rows() {
    const { figures, text } = this.state;
    const columns = this.columns().map(({ unit, at, base }) => {
      const name = FIGURES[at][0].toLowerCase().replace(" ", "_") + (unit === "bytes" ? "_bytes" : "");
      return { at, base, name: name + (base === "before" ? "_since_save" : base ? "_since_pin" : "") };
    });
    /** @param {(of: any) => any} pick the figures of a row in the figures or changes of a version */
    const values = (pick) =>
      Object.fromEntries(
        columns.map(({ at, base, name }) => {
          const found = pick(base ? figures.changes[base] : figures);
          return [name, found ? found[at] : base ? 0 : null];
        }),
      );
    const lines = text.map((/** @type {string} */ line, /** @type {number} */ row) => ({
      line: row + 1,
      text: line,
      ...values((of) => of.lines[row + 1]),
    }));
    return [...lines, ...REST.map(([name, title]) => ({ line: null, text: title, ...values((of) => of.rest[name]) }))];
  }

  /** @param {string} kind "csv" or "json" */
  save(kind) {
    if (!this.state || !this.state.figures) {
      notice("Nothing to save yet: the program has not run.");
      return;
    }
    const rows = this.rows();
    const text = kind === "csv" ? toCsv(rows) : JSON.stringify(rows, null, 1);
    download(
      new Blob([text], { type: kind === "csv" ? "text/csv" : "application/json" }),
      this.state.figures.name.split("/").pop() + "." + kind,
    );
  }

  drawHead() {
    const cells = this.columns().map((each) => make("div", "code-figure" + (each.base ? " change" : ""), each.title));
    cells.push(make("div", "code-number", "Line"), make("div", "code-text", "Text"));
    cells.forEach((cell) => cell.setAttribute("role", "columnheader"));
    this.head.replaceChildren(...cells);
  }

  drawRest() {
    const box = part(".watch-rest", this.page);
    box.replaceChildren();
    const { figures } = this.state;
    if (!figures) return;
    const table = make("table", "");
    for (const [name, title] of REST) {
      const row = make("tr", "");
      for (const { unit, at, base } of this.columns()) {
        const values = base ? figures.changes[base].rest[name] : figures.rest[name];
        row.append(this.paint(make("td", ""), values[at], unit, base));
      }
      const heading = make("th", "", title);
      heading.setAttribute("scope", "row");
      row.append(heading);
      table.append(row);
    }
    box.append(table);
  }

  /**
   * @param {HTMLElement} cell
   * @param {number | null} value
   * @param {"cycles" | "bytes"} unit
   * @param {string} base
   */
  paint(cell, value, unit, base) {
    cell.textContent = base && value === 0 ? "" : figureText(value, unit, base !== ""); /* unchanged: empty */
    if (base && value) cell.classList.add(value > 0 ? "diff-more" : "diff-less");
    if (value === 0) cell.classList.add("zero");
    if (value !== null) cell.title = value.toLocaleString("en-US") + (unit === "bytes" ? " B" : " cycles");
    return cell;
  }

  draw() {
    if (!this.state) return;
    const count = this.state.text.length;
    const first = Math.max(0, Math.floor(this.scroller.scrollTop / ROW) - 8);
    const last = Math.min(count, Math.ceil((this.scroller.scrollTop + this.scroller.clientHeight) / ROW) + 8);
    const rows = document.createDocumentFragment();
    for (let row = first; row < last; row++) rows.appendChild(this.rowElement(row));
    this.space.replaceChildren(rows);
    const hasCursor = this.cursor >= first && this.cursor < last;
    this.scroller.setAttribute("aria-activedescendant", hasCursor ? "code-row-" + this.cursor : "");
  }

  /** @param {number} row */
  rowElement(row) {
    const line = make("div", "code-row");
    line.id = "code-row-" + row;
    line.dataset.row = String(row);
    line.style.top = row * ROW + "px";
    line.setAttribute("role", "row");
    line.setAttribute("aria-rowindex", String(row + 2));
    line.classList.toggle("cursor", row === this.cursor);
    line.append(...this.columns().map((each) => this.figure(row, each)));
    line.append(make("div", "code-number", String(row + 1)), make("div", "code-text", this.state.text[row]));
    const { problem, file } = this.state;
    if (problem && problem.file === file && problem.line === row + 1) {
      line.classList.add("faulty");
      line.append(make("div", "code-fault", problem.sentence));
    }
    for (const cell of line.children) cell.setAttribute("role", "gridcell");
    return line;
  }

  /**
   * @param {number} row
   * @param {{ unit: "cycles" | "bytes", at: number, base: string }} place
   */
  figure(row, { unit, at, base }) {
    const cell = make("div", "code-figure" + (base ? " change" : ""));
    const { figures } = this.state;
    if (!figures) return cell;
    const values = (base ? figures.changes[base].lines : figures.lines)[row + 1];
    if (values === undefined) return cell;
    this.paint(cell, values[at], unit, base);
    if (base) return cell;
    cell.style.setProperty("--share", ((100 * (values[at] || 0)) / this.largest[at]).toFixed(1) + "%");
    const href = this.placeOf(values, at);
    if (href) {
      const link = this.link(cell.textContent || "", href);
      link.tabIndex = -1; /* Enter on the row leads to the line, whose page has these links too */
      cell.replaceChildren(link);
    }
    return cell;
  }

  /**
   * Where the largest part of a figure is shown; "" for none.
   *
   * @param {number[]} values
   * @param {number} at
   */
  placeOf(values, at) {
    const [program, variable] = [values[4], values[5]];
    const report = "/r/" + this.state.key;
    if (!this.state.key || !values[at]) return "";
    if (at === 1) return variable < 0 ? "" : report + "/memory?variable=" + variable;
    return program < 0 ? "" : report + (at ? "/exchange" : "/execution") + "?program=" + program;
  }

  /** The page of the line's programs and variables, where the report has the line. */
  openLine() {
    const { figures, key } = this.state;
    const values = figures && figures.lines[this.cursor + 1];
    if (!values || !key) return;
    const query = new URLSearchParams({ src_file: figures.name, src_line: values[3] });
    go("/r/" + key + "/source?" + query);
  }

  /**
   * @param {number} row
   * @param {boolean} align
   */
  moveTo(row, align) {
    this.cursor = Math.max(0, Math.min(this.state.text.length - 1, row));
    const at = this.cursor * ROW;
    const room = this.scroller.clientHeight - this.head.offsetHeight - ROW;
    if (align || at < this.scroller.scrollTop || at > this.scroller.scrollTop + room) {
      this.scroller.scrollTop = align ? at - room / 3 : at < this.scroller.scrollTop ? at : at - room;
    }
    this.draw();
    if (align) return;
    const texts = this.columns().map(
      (each) => each.title + " " + (this.figure(this.cursor, each).textContent || "none"),
    );
    this.live.textContent = "Line " + (this.cursor + 1) + ": " + texts.join(", ");
  }

  /** @param {MouseEvent} event */
  click(event) {
    const line = closest(event, ".code-row");
    if (!line || closest(event, "a") || String(window.getSelection()).length) return;
    this.moveTo(Number(line.dataset.row), false);
  }

  /** @param {KeyboardEvent} event */
  pageKey(event) {
    if (event.defaultPrevented || isTyping(event.target) || document.querySelector("dialog[open]")) return;
    const meaning = keyOf(event);
    if ((meaning !== "next" && meaning !== "previous") || !this.hot.length) return;
    event.preventDefault();
    const further =
      meaning === "next"
        ? this.hot.find((row) => row > this.cursor)
        : this.hot.filter((row) => row < this.cursor).pop();
    this.moveTo(further !== undefined ? further : this.hot[meaning === "next" ? 0 : this.hot.length - 1], false);
  }

  /** @param {KeyboardEvent} event */
  key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey || !this.state) return;
    const page = Math.max(1, Math.floor(this.scroller.clientHeight / ROW) - 2);
    /** @type {Record<string, number>} */
    const moves = {
      ArrowDown: this.cursor + 1,
      ArrowUp: this.cursor - 1,
      PageDown: this.cursor + page,
      PageUp: this.cursor - page,
      Home: 0,
      End: this.state.text.length - 1,
    };
    if (event.key in moves) this.moveTo(moves[event.key], false);
    else if (event.key === "Enter") this.openLine();
    else return;
    event.preventDefault();
    event.stopPropagation();
  }

  chooseFile() {
    this.file = this.files.value;
    this.state = null;
    this.cursor = 0;
    this.look();
  }

  pin() {
    this.post("pin?on=" + (this.state && this.state.pinned ? 0 : 1));
  }

  /** @param {string} action */
  async post(action) {
    const answer = await fetch("/data/watch/" + action, { method: "POST", headers: { "X-Popvision": "watch" } });
    if (!answer.ok) notice(await answer.text());
    this.look();
  }
}

mount("#watch", (page) => {
  const margin = new Margin(page);
  return () => margin.stop();
});
