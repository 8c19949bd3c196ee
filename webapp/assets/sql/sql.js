// @ts-check
/* The SQL page: runs the statement of the editor, shows its rows as a table and a plot. The URL holds the statement; a
   page that opens with one runs it. */
import { Listeners } from "../shared/canvas/frame_loop.js";
import { closest, download, part } from "../shared/dom.js";
import * as viewer from "../shell/viewer.js";

/* Statements beyond this are run, but not written into the address. */
const LONGEST_SHARED = 6000;
const FIRST = "select tile, including_gaps_bytes\nfrom tiles\norder by including_gaps_bytes desc\nlimit 20";
/* Bars up to here, a line beyond. */
const MOST_BARS = 80;
const PLOT = { width: 1000, height: 220, left: 8, top: 18, bottom: 22 };
/** @type {Record<string, (id: string) => string>} pages of ids, below /r/<key>/ */
const PAGES = {
  tile: (id) => "memory?tiles=" + id,
  source_tile: (id) => "memory?tiles=" + id,
  target_tile: (id) => "memory?tiles=" + id,
  step: (id) => "execution?step=" + id,
  first_step: (id) => "execution?step=" + id,
  program: (id) => "program_tree?program=" + id,
  parent: (id) => "program_tree?program=" + id,
  child: (id) => "program_tree?program=" + id,
  variable: (id) => "liveness?variable=" + id,
  liveness_index: (id) => "liveness?liveness=" + id,
  first_index: (id) => "liveness?liveness=" + id,
  last_index: (id) => "liveness?liveness=" + id,
  context: (id) => "operations?ops_at=" + id,
};

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
 * @param {string} tag
 * @param {Record<string, string | number>} values
 * @param {string} [text]
 */
function draw(tag, values, text) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(values)) element.setAttribute(name, String(value));
  if (text !== undefined) element.textContent = text;
  return element;
}

/** @param {unknown} value */
const textOf = (value) => (typeof value === "number" ? value.toLocaleString("en-US") : String(value));

class SqlPage {
  /** @param {HTMLElement} page */
  constructor(page) {
    this.page = page;
    this.editor = /** @type {HTMLTextAreaElement} */ (part("#sql-editor", page));
    this.rows = part("#sql-rows", page);
    this.plot = part("#sql-plot", page);
    this.status = part("#sql-status", page);
    this.question = /** @type {HTMLSelectElement} */ (part("#sql-question", page));
    this.turn = 0;
    /** @type {string} the query that runs */
    this.running = "";
    /** @type {any} */
    this.answer = null;
    const listeners = (this.listeners = new Listeners());
    listeners.on(part("#sql-run", page), "click", () => this.run());
    listeners.on(part("#sql-cancel", page), "click", () => this.cancel());
    listeners.on(part("#sql-csv", page), "click", () => this.save("csv"));
    listeners.on(part("#sql-json", page), "click", () => this.save("json"));
    listeners.on(this.editor, "keydown", (event) => this.key(event));
    listeners.on(this.question, "change", () => this.choose());
    listeners.on(page, "click", (event) => this.insert(event));
    listeners.on(this.plot, "change", (event) => this.choosePlot(event));
    const shared = viewer.selection().sql;
    this.editor.value = shared || FIRST;
    if (shared) this.run();
  }

  stop() {
    this.cancel();
    this.listeners.stop();
  }

  /**
   * @param {string} action
   * @param {string} id
   */
  post(action, id) {
    const address = "/data/" + this.page.dataset.key + "/sql/" + action + "?id=" + id;
    const body = action === "cancel" ? "" : this.editor.value;
    return fetch(address, { method: "POST", headers: { "X-Popvision": "sql" }, body });
  }

  /** @param {string} id "" when nothing runs */
  setRunning(id) {
    this.running = id;
    for (const name of ["run", "csv", "json"])
      /** @type {HTMLButtonElement} */ (part("#sql-" + name, this.page)).disabled = id !== "";
    /** @type {HTMLButtonElement} */ (part("#sql-cancel", this.page)).disabled = id === "";
  }

  /**
   * The whole answer of an action with the statement, null after a problem, which is shown.
   *
   * @param {string} action
   */
  async ask(action) {
    if (this.running) return null;
    const id = String(Date.now()) + "-" + ++this.turn;
    this.setRunning(id);
    this.status.textContent = "running";
    const problem = part("#sql-problem", this.page);
    problem.hidden = true;
    let sentence = "The viewer does not answer.";
    try {
      const answer = await this.post(action, id);
      const isProblem = (answer.headers.get("Content-Type") || "").startsWith("application/problem+json");
      if (answer.ok && !isProblem) return await answer.blob();
      sentence = isProblem ? (await answer.json()).problem : await answer.text();
    } catch (_) {
      /* the sentence says so */
    } finally {
      this.setRunning("");
      this.status.textContent = "";
    }
    problem.textContent = sentence;
    problem.hidden = false;
    return null;
  }

  async run() {
    const sql = this.editor.value;
    viewer.select({ sql: sql.length <= LONGEST_SHARED ? sql : null });
    const answer = await this.ask("run");
    if (!answer) return;
    this.answer = JSON.parse(await answer.text());
    const { rows, more, seconds } = this.answer;
    const count = rows.length.toLocaleString("en-US") + (rows.length === 1 ? " row" : " rows");
    const rest = more ? "; there are more: CSV and JSON hold up to 100,000" : "";
    const notShared = sql.length > LONGEST_SHARED ? "; too long for the address" : "";
    this.status.textContent = count + " in " + seconds.toFixed(2) + " s" + rest + notShared;
    this.drawRows();
    this.drawPlot();
  }

  cancel() {
    if (this.running) this.post("cancel", this.running);
  }

  /** @param {"csv" | "json"} kind */
  async save(kind) {
    const answer = await this.ask("export." + kind);
    if (answer) download(answer, "query." + kind);
  }

  /** @param {KeyboardEvent} event */
  key(event) {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) this.run();
    else if (event.key === "Escape" && this.running) this.cancel();
    else return;
    event.preventDefault();
  }

  choose() {
    if (!this.question.value) return;
    this.editor.value = this.question.value;
    viewer.select({ sql_x: null, sql_y: null, sql_plot: null });
    this.run();
  }

  /** @param {MouseEvent} event */
  insert(event) {
    const name = closest(event, "[data-insert]");
    if (!name) return;
    this.editor.setRangeText(name.dataset.insert || "", this.editor.selectionStart, this.editor.selectionEnd, "end");
    this.editor.focus();
  }

  /**
   * Where a cell leads, "" for nowhere.
   *
   * @param {string} column
   * @param {unknown} value
   */
  placeOf(column, value) {
    if (typeof value !== "number" || !Number.isInteger(value) || value < 0) return "";
    const base = "/r/" + this.page.dataset.key + "/";
    const place = (this.answer.places[column] || {})[value];
    if (column === "compute_set") return place === undefined ? "" : base + PAGES.program(String(place));
    if (column === "debug_id")
      return place ? base + "source?" + new URLSearchParams({ src_file: place[0], src_line: place[1] }) : "";
    return Object.hasOwn(PAGES, column) ? base + PAGES[column](String(value)) : "";
  }

  drawRows() {
    const { columns, rows } = this.answer;
    const table = make("table", "");
    const head = make("tr", "");
    const isNumber = columns.map((_, at) => rows.some((row) => typeof row[at] === "number"));
    for (const [at, name] of columns.entries()) {
      const cell = make("th", isNumber[at] ? "number" : "", name);
      cell.setAttribute("scope", "col");
      head.append(cell);
    }
    const thead = make("thead", "");
    thead.append(head);
    const body = make("tbody", "");
    for (const row of rows) {
      const line = make("tr", "");
      columns.forEach((name, at) => line.append(this.cell(name, row[at], isNumber[at])));
      body.append(line);
    }
    table.append(thead, body);
    this.rows.replaceChildren(table);
    this.rows.scrollTop = 0;
  }

  /**
   * @param {string} column
   * @param {unknown} value
   * @param {boolean} isNumber
   */
  cell(column, value, isNumber) {
    const cell = make("td", isNumber ? "number" : "");
    if (value === null) {
      cell.classList.add("null");
      cell.textContent = "null";
      return cell;
    }
    const href = this.placeOf(column, value);
    const text = href ? String(value) : textOf(value);
    if (text.length > 60) cell.title = text;
    if (!href) {
      cell.textContent = text;
      return cell;
    }
    const link = document.createElement("a");
    link.href = href;
    link.textContent = text;
    link.dataset.nav = "to";
    cell.append(link);
    return cell;
  }

  /* ---- plot ---- */

  /** Columns of which every value is a number or null, with at least one number. */
  numericColumns() {
    const { columns, rows } = this.answer;
    return columns.filter((_, at) => {
      const values = rows.map((row) => row[at]).filter((value) => value !== null);
      return values.length && values.every((value) => typeof value === "number");
    });
  }

  drawPlot() {
    this.plot.replaceChildren();
    const { columns, rows } = this.answer;
    const numeric = this.numericColumns();
    if (rows.length < 2 || !numeric.length) return;
    const { sql_plot, sql_x, sql_y } = viewer.selection();
    const heights = numeric.filter((name) => !Object.hasOwn(PAGES, name) && name !== "ipu");
    const x = columns.includes(sql_x) ? sql_x : columns[0];
    const y = numeric.includes(sql_y) ? sql_y : heights.find((name) => name !== x) || numeric[0];
    const shown = sql_plot === "1";
    const bar = make("div", "toolbar");
    const button = make("button", "button small", shown ? "Hide the plot" : "Plot");
    button.setAttribute("type", "button");
    button.setAttribute("aria-expanded", String(shown));
    button.addEventListener("click", () => {
      viewer.select({ sql_plot: shown ? null : "1" });
      this.drawPlot();
    });
    bar.append(button);
    if (shown) bar.append(this.chooser("sql_y", "Height", numeric, y), this.chooser("sql_x", "Along", columns, x));
    this.plot.append(bar);
    if (shown) this.plot.append(this.picture(x, y));
  }

  /**
   * @param {string} param
   * @param {string} label
   * @param {string[]} names
   * @param {string} chosen
   */
  chooser(param, label, names, chosen) {
    const field = make("label", "field");
    const select = document.createElement("select");
    select.className = "select";
    select.dataset.plot = param;
    select.replaceChildren(...[...new Set(names)].map((name) => new Option(name, name, false, name === chosen)));
    field.append(make("span", "field-label", label), select);
    return field;
  }

  /** @param {Event} event */
  choosePlot(event) {
    const select = event.target;
    if (!(select instanceof HTMLSelectElement) || !select.dataset.plot) return;
    viewer.select({ [select.dataset.plot]: select.value });
    this.drawPlot();
  }

  /**
   * Bars of the rows in their order, or a line through them at their place along x where x is a number.
   *
   * @param {string} x
   * @param {string} y
   */
  picture(x, y) {
    const { columns, rows } = this.answer;
    const [atX, atY] = [columns.indexOf(x), columns.indexOf(y)];
    const points = rows.filter((row) => row[atY] !== null).map((row) => ({ row, x: row[atX], y: row[atY] }));
    const top = Math.max(0, ...points.map((each) => each.y));
    const low = Math.min(0, ...points.map((each) => each.y));
    const { width, height } = PLOT;
    const room = height - PLOT.top - PLOT.bottom;
    const heightOf = (/** @type {number} */ value) => PLOT.top + (room * (top - value)) / (top - low || 1);
    const svg = draw("svg", { viewBox: "0 0 " + width + " " + height, role: "img", preserveAspectRatio: "none" });
    svg.setAttribute("aria-label", y + " by " + x + ", " + points.length + " rows; the table has the values");
    const isBars = points.length <= MOST_BARS || !points.every((each) => typeof each.x === "number");
    if (isBars) {
      const step = (width - 2 * PLOT.left) / Math.max(1, points.length);
      points.forEach((each, at) => {
        const [from, to] = [heightOf(Math.max(0, each.y)), heightOf(Math.min(0, each.y))];
        const place = { x: PLOT.left + at * step, width: Math.max(0.5, step * 0.8), y: from, height: to - from };
        const bar = draw("rect", { class: "bar", ...place });
        bar.append(draw("title", {}, x + " " + textOf(each.x) + ": " + textOf(each.y)));
        svg.append(bar);
      });
    } else {
      const first = Math.min(...points.map((each) => each.x));
      const last = Math.max(...points.map((each) => each.x));
      const along = (/** @type {number} */ value) =>
        PLOT.left + ((width - 2 * PLOT.left) * (value - first)) / (last - first || 1);
      const ordered = [...points].sort((a, b) => a.x - b.x);
      const path = ordered.map((each) => along(each.x).toFixed(2) + "," + heightOf(each.y).toFixed(2)).join(" ");
      svg.append(draw("polyline", { class: "line", points: path }));
    }
    svg.append(draw("line", { class: "axis", x1: 0, x2: width, y1: heightOf(0), y2: heightOf(0) }));
    const box = make("div", "");
    const ends = points.length ? textOf(points[0].x) + " … " + textOf(points[points.length - 1].x) : "";
    box.append(
      make("div", "dim", y + ", up to " + textOf(top) + (this.answer.more ? ", first " + rows.length + " rows" : "")),
      svg,
      make("div", "dim", x + ": " + ends),
    );
    return box;
  }
}

viewer.mount("#sql", (page) => {
  const sql = new SqlPage(page);
  return () => sql.stop();
});
