// @ts-check
/* The what-if page: two pictures over one axis of a sweep, time and memory, with a line for each value of another axis,
   and the same figures as a table. Places across are the values in order, at equal distances; both scales begin at 0.
   The server chooses the reports; the state is in the address. */
import { Listeners } from "../shared/canvas/frame_loop.js";
import * as dom from "../shared/dom.js";
import { fetchJson } from "../shared/packed.js";
import * as viewer from "../shell/viewer.js";
import { cellText, chooser, cross, draw, make, ticksOf } from "./axes.js";

const AGAIN = 700; /* ms between two questions while reports are read */
const [LEFT, RIGHT, TOP, BOTTOM, HEIGHT] = [78, 14, 26, 40, 290];
const COLOURS = 6;
const DASHES = ["", "7 3", "2 3"];

/* The mark of a line: shapes tell lines apart where colours cannot. */
const SHAPES = [
  (x, y) => `M${x - 4} ${y}a4 4 0 1 0 8 0a4 4 0 1 0 -8 0z`,
  (x, y) => `M${x - 4} ${y - 4}h8v8h-8z`,
  (x, y) => `M${x} ${y - 5}l5 9h-10z`,
  (x, y) => `M${x} ${y - 5.5}l5.5 5.5l-5.5 5.5l-5.5 -5.5z`,
  (x, y) => `M${x} ${y + 5}l5 -9h-10z`,
  (x, y) => `M${x - 5} ${y - 2.5}h10v5h-10z`,
];
const CHOICES = {
  program: "wi_program",
  across: "wi_across",
  lines: "wi_lines",
  speed: "wi_speed",
  memory: "wi_memory",
};

const colourOf = (line) => `var(--series-${(line % COLOURS) + 1})`;
const dashOf = (line) => DASHES[Math.floor(line / COLOURS) % DASHES.length];
const option = (value, text) => Object.assign(make("option", "", text), { value });

class WhatIf {
  constructor(page) {
    this.page = page;
    this.asked = 0;
    this.answer = null;
    this.choose = chooser();
    /** @type {(name: string) => any} */
    this.part = (name) => dom.part("#what-if-" + name);
    const listeners = (this.listeners = new Listeners());
    listeners.on(dom.part("#catalogue-folder"), "change", (event) =>
      this.go({ wi_folder: event.target.value, wi_program: null, ...this.forget() }),
    );
    for (const [name, key] of Object.entries(CHOICES))
      listeners.on(this.part(name), "change", (event) => {
        const isOther = name === "program" || name === "across" || name === "lines";
        this.go({ ...(isOther ? this.forget(name) : {}), [key]: event.target.value });
      });
    listeners.on(this.part("held"), "change", (event) =>
      this.go({ ["hold." + event.target.dataset.axis]: event.target.value }),
    );
    listeners.on(this.part("table"), "click", (event) => this.click(event));
    listeners.onResize(this.part("plots"), () => this.drawPlots());
    listeners.add(viewer.onSelect(() => this.ask()));
    if (JSON.parse(page.dataset.whatIf).refresh) this.refresh();
    else this.ask();
  }

  stop() {
    this.listeners.stop();
    window.clearTimeout(this.timer);
  }

  /* ---- what the address says ---- */

  query() {
    const { wi_folder, wi_report, ...rest } = viewer.selection();
    const held = Object.entries(rest).filter(([key]) => key.startsWith("hold."));
    const chosen = Object.entries(CHOICES).map(([name, key]) => [name, rest[key]]);
    const all = [["folder", wi_folder], ["report", wi_report], ...chosen, ...held];
    return Object.fromEntries(all.filter(([, value]) => value));
  }

  go(patch) {
    viewer.select(patch);
  }

  /* What does not hold when an axis changes: the values held, since the axis itself cannot be held; with another
     program or axis across the lines too. */
  forget(name = "program") {
    const keys = Object.keys(viewer.selection()).filter((key) => key.startsWith("hold."));
    if (name !== "lines") keys.push("wi_lines");
    if (name === "program") keys.push("wi_across");
    return Object.fromEntries(keys.map((key) => [key, null]));
  }

  /* ---- questions ---- */

  async refresh() {
    try {
      await fetchJson("/data/catalogue/refresh", { folder: viewer.selection().wi_folder });
    } catch (problem) {
      this.complain(problem.message);
    }
    this.ask();
  }

  async ask() {
    const turn = (this.asked += 1);
    try {
      const answer = await fetchJson("/data/what-if/answer", this.query());
      if (turn !== this.asked || !this.page.isConnected) return;
      this.show(answer);
    } catch (problem) {
      if (turn !== this.asked || !this.page.isConnected) return;
      this.complain(problem.message);
      this.part("how").hidden = !problem.message.startsWith("no report here is a point of a sweep");
      this.part("answer").hidden = true;
      dom.part("#catalogue-state").textContent = "";
    }
    for (const link of dom.all("[data-what-if-export]")) link.hidden = this.part("answer").hidden;
    this.page.dataset.state = this.answer && this.answer.state.is_reading ? "reading" : "complete";
  }

  complain(text) {
    const place = this.part("problem");
    place.hidden = !text;
    place.textContent = text && text[0].toUpperCase() + text.slice(1);
  }

  /* ---- the answer ---- */

  show(answer) {
    const { state, cells } = answer;
    this.answer = answer;
    window.clearTimeout(this.timer);
    if (state.is_reading) this.timer = window.setTimeout(() => this.ask(), AGAIN);
    this.complain(state.problem || state.note);
    const read = state.total ? state.read.toLocaleString("en-US") + " of " + state.total.toLocaleString("en-US") : "";
    dom.part("#catalogue-state").textContent = state.is_reading
      ? "Reading reports " + read
      : cells
        ? cells.length.toLocaleString("en-US") + (cells.length === 1 ? " point" : " points")
        : "";
    this.part("answer").hidden = !cells;
    this.part("how").hidden = true;
    if (!cells) return;
    this.fillChoices(answer);
    this.fillHeld(answer);
    this.part("sentences").replaceChildren(...answer.sentences.map((text) => make("li", "", text)));
    this.fillLegend(answer);
    this.fillTable(answer);
    this.drawPlots();
    for (const link of dom.all("[data-what-if-export]"))
      link.setAttribute(
        "href",
        "/data/what-if/table." + link.dataset.whatIfExport + "?" + new URLSearchParams(this.query()),
      );
  }

  fillChoices({ programs, program, axes, across, lines, speeds, speed, memories, memory }) {
    const fill = (name, options, value) => {
      const select = this.part(name);
      select.replaceChildren(...options);
      select.value = value;
      select.closest("label").hidden = options.length < 2;
    };
    const named = (list) => list.map((each) => option(each.name, each.title));
    fill(
      "program",
      programs.map((each) => option(each, each)),
      program,
    );
    fill("across", named(axes), across.name);
    const others = axes.filter((each) => each.name !== across.name);
    fill("lines", named(others).concat(others.length ? [option("none", "one line")] : []), lines ? lines.name : "none");
    fill("speed", named(speeds), speed.name);
    fill("memory", named(memories), memory.name);
    /** @type {any} */ (dom.part("#catalogue-folder")).value = viewer.selection().wi_folder || "0";
  }

  fillHeld({ held }) {
    const fields = held.map(({ name, title, texts, shown, at, fit }) => {
      const label = make("label", "field");
      const select = Object.assign(make("select", "select"), { title: "Held at one value; in brackets what fits" });
      select.dataset.axis = name;
      select.setAttribute("aria-label", title);
      texts.forEach((text, place) => {
        const [good, every] = fit[place];
        const choice = option(text, shown[place] + (every ? ` (${good} of ${every} fit)` : " (no report)"));
        choice.disabled = !every && place !== at;
        select.append(choice);
      });
      select.selectedIndex = at;
      label.append(make("span", "field-label", title), select);
      return label;
    });
    this.part("held").replaceChildren(...fields);
  }

  fillLegend({ lines, memory, cells }) {
    const entries = (lines ? lines.phrases : []).map((text, at) => {
      const entry = make("span", "what-if-entry");
      const picture = draw("svg", { width: 30, height: 14, "aria-hidden": "true" });
      const dash = { x1: 0, x2: 30, y1: 7, y2: 7, stroke: colourOf(at), class: "what-if-line" };
      picture.append(draw("line", { ...dash, "stroke-dasharray": dashOf(at) }), this.shape(at, 15, 7));
      entry.append(picture, make("span", "", text));
      return entry;
    });
    if (cells.some((cell) => !cell.fits)) {
      const entry = make("span", "what-if-entry");
      const picture = draw("svg", { width: 14, height: 14, "aria-hidden": "true" });
      picture.append(cross(7, 7));
      entry.append(picture, make("span", "", "does not fit"));
      entries.push(entry);
    }
    if (this.hasLimit(memory)) {
      const entry = make("span", "what-if-entry");
      const picture = draw("svg", { width: 30, height: 14, "aria-hidden": "true" });
      picture.append(draw("line", { x1: 0, x2: 30, y1: 7, y2: 7, class: "what-if-limit" }));
      entry.append(picture, make("span", "", "memory of a tile"));
      entries.push(entry);
    }
    this.part("legend").replaceChildren(...entries);
  }

  shape(line, x, y) {
    return draw("path", { d: SHAPES[line % COLOURS](x, y), fill: colourOf(line), class: "what-if-mark" });
  }

  /* Whether a figure is one of a tile, which has a limit. */
  hasLimit(column) {
    return column.name === "peak" || column.name === "peak_used";
  }

  /* ---- the table ---- */

  fillTable({ across, lines, speed, memory, cells, size }) {
    const [count] = size;
    const head = make("thead");
    const names = make("tr"),
      figures = make("tr");
    const corner = make("th", "", across.title);
    corner.setAttribute("rowspan", "2");
    names.append(corner);
    for (let line = 0; line < count; line += 1) {
      const group = make("th", "what-if-group", lines ? lines.phrases[line] : "");
      group.setAttribute("colspan", "2");
      names.append(group);
      for (const [column, kind] of [
        [speed, "what-if-group"],
        [memory, ""],
      ])
        figures.append(Object.assign(make("th", kind, column.title), { title: column.title + " = " + column.help }));
    }
    head.append(names, figures);
    const body = make("tbody");
    across.shown.forEach((text, at) => {
      const row = make("tr");
      row.append(Object.assign(make("th", "", text), { scope: "row" }));
      const own = cells.filter((cell) => cell.across === at);
      const first = own.find((cell) => cell.line === 0 && !cell.note);
      for (let line = 0; line < count; line += 1) {
        const cell = own.find((each) => each.line === line);
        row.append(this.speedCell(cell, line ? first : null), this.memoryCell(cell));
      }
      body.append(row);
    });
    this.part("table").replaceChildren(head, body);
  }

  speedCell(cell, first) {
    const place = make("td", "number what-if-group");
    if (!cell) {
      place.append(make("span", "dim", "no report"));
      return place;
    }
    const { speed, lines } = this.answer;
    const text = cell.note || cellText(cell.speed, speed.kind);
    place.append(this.link(cell, text, cell.problem || (cell.note ? this.excessText(cell) : exact(cell.speed))));
    if (cell.note) place.classList.add("bad");
    else if (first && first.speed && cell.speed !== null) {
      const ratio = make("span", "what-if-ratio", "× " + (cell.speed / first.speed).toFixed(2));
      ratio.title = speed.title + " / that of " + lines.phrases[0];
      place.append(ratio);
    }
    if (cell.key && cell.key === viewer.selection().wi_report) this.markOwn(place);
    return place;
  }

  markOwn(place) {
    place.classList.add("what-if-own");
    place.append(make("span", "what-if-ratio", "this report"));
  }

  memoryCell(cell) {
    const { memory } = this.answer;
    const place = make("td", "number");
    if (!cell) return place;
    const text = cellText(cell.memory, memory.kind);
    const figure = make("span", "", text);
    figure.title = (exact(cell.memory) + "\n" + this.excessText(cell)).trim();
    place.append(figure);
    if (!cell.fits) place.classList.add("bad");
    return place;
  }

  excessText({ memory, tile_memory }) {
    if (!this.hasLimit(this.answer.memory) || memory === null || tile_memory === null) return "";
    const share = ((100 * memory) / tile_memory).toFixed(1);
    return share + " % of the " + exact(tile_memory) + " B of a tile";
  }

  link(cell, text, title) {
    if (!cell.key) return Object.assign(make("span", "", text), { title });
    const link = make("a", "", text);
    link.setAttribute("href", "/r/" + cell.key + "/overview");
    link.dataset.nav = "to";
    link.dataset.name = cell.report;
    link.dataset.key = cell.key;
    link.title = (title + "\n" + cell.report).trim();
    return link;
  }

  click(event) {
    const link = dom.closest(event, "a[data-name]");
    if (!link || !event.shiftKey) return;
    event.preventDefault();
    event.stopPropagation();
    this.choose(event, link.dataset.key, link.dataset.name);
  }

  /* ---- the pictures ---- */

  drawPlots() {
    if (!this.answer || !this.answer.cells) return;
    const [left, right] = dom.all(".what-if-plot", this.page);
    const { speed, memory } = this.answer;
    this.drawPlot(left, speed, (cell) => (cell.note ? null : cell.speed), []);
    const limits = this.hasLimit(memory) ? this.answer.cells.filter((cell) => cell.tile_memory !== null) : [];
    this.drawPlot(right, memory, (cell) => cell.memory, limits);
  }

  drawPlot(place, column, valueOf, limits) {
    const width = place.clientWidth;
    if (width < LEFT + RIGHT + 50) return;
    const { across, cells, size } = this.answer;
    const picture = draw("svg", { width, height: HEIGHT, role: "img" });
    picture.setAttribute("aria-label", column.title + " over " + across.title + ", " + cells.length + " points");
    const values = cells.map(valueOf).filter((value) => value !== null);
    const most = values.concat(limits.map((cell) => cell.tile_memory)).reduce((a, b) => Math.max(a, b), 0) || 1;
    const slot = (width - LEFT - RIGHT) / size[1];
    const scale = {
      x: (at) => LEFT + slot * (at + 0.5),
      y: (value) => HEIGHT - BOTTOM - (value / (1.06 * most)) * (HEIGHT - BOTTOM - TOP),
    };
    this.drawAxes(picture, { width, slot, most }, scale, column);
    const drawn = new Set();
    for (const { across: at, tile_memory } of limits) {
      const key = at + " " + tile_memory;
      if (drawn.has(key)) continue;
      drawn.add(key);
      const y = scale.y(tile_memory);
      const line = draw("line", {
        x1: scale.x(at) - slot / 2,
        x2: scale.x(at) + slot / 2,
        y1: y,
        y2: y,
        class: "what-if-limit",
      });
      line.append(draw("title", {}, "Memory of a tile: " + exact(tile_memory) + " B"));
      picture.append(line);
    }
    for (let line = 0; line < size[0]; line += 1) {
      const own = cells.filter((cell) => cell.line === line && valueOf(cell) !== null);
      own.sort((one, other) => one.across - other.across);
      const points = own.map((cell) => scale.x(cell.across).toFixed(1) + "," + scale.y(valueOf(cell)).toFixed(1));
      const facts = { stroke: colourOf(line), "stroke-dasharray": dashOf(line), class: "what-if-line" };
      picture.append(draw("polyline", { points: points.join(" "), ...facts }));
    }
    for (const cell of cells) this.drawPoint(picture, cell, scale, column, valueOf(cell));
    place.replaceChildren(picture);
  }

  /* A point of a report; what does not fit is a cross, at the foot where it has no figure. */
  drawPoint(picture, cell, scale, column, value) {
    if (cell.fits && value === null) return;
    const { across, lines } = this.answer;
    const aside = value === null ? 11 * (cell.line - (this.answer.size[0] - 1) / 2) : 0;
    const [x, y] = [scale.x(cell.across) + aside, value === null ? HEIGHT - BOTTOM - 8 : scale.y(value)];
    const mark = cell.fits ? this.shape(cell.line, x, y) : cross(x, y);
    const texts = [lines ? lines.phrases[cell.line] : "", across.phrases[cell.across]];
    const figure = value === null ? "" : column.title + ": " + cellText(value, column.kind);
    const lacks = cell.fits ? "" : "does not fit";
    mark.append(draw("title", {}, [...texts, lacks, figure, cell.report].filter(Boolean).join("\n")));
    if (cell.key) mark.addEventListener("click", (event) => this.choose(event, cell.key, cell.report));
    if (cell.key && cell.key === viewer.selection().wi_report)
      picture.append(draw("circle", { cx: x, cy: y, r: 9, class: "what-if-ring" }));
    picture.append(mark);
  }

  drawAxes(picture, { width, slot, most }, scale, column) {
    const { across } = this.answer;
    picture.append(draw("text", { x: LEFT, y: 14, class: "what-if-title" }, column.title));
    for (const { value, text } of ticksOf(column, { first: 0, last: most }, 5)) {
      const y = scale.y(value);
      picture.append(draw("line", { x1: LEFT, x2: width - RIGHT, y1: y, y2: y, class: "catalogue-grid" }));
      picture.append(draw("text", { x: LEFT - 8, y: y + 4, "text-anchor": "end", class: "catalogue-tick" }, text));
    }
    const every = Math.max(1, Math.ceil(56 / slot));
    across.shown.forEach((text, at) => {
      if (at % every) return;
      const below = { x: scale.x(at), y: HEIGHT - BOTTOM + 16, "text-anchor": "middle", class: "catalogue-tick" };
      picture.append(draw("text", below, text));
    });
    const middle = { x: (LEFT + width - RIGHT) / 2, y: HEIGHT - 6, "text-anchor": "middle", class: "catalogue-tick" };
    picture.append(draw("text", middle, across.title));
  }
}

const exact = (value) => (value === null ? "" : value.toLocaleString("en-US", { maximumFractionDigits: 9 }));

viewer.mount("[data-what-if]", (page) => {
  const whatIf = new WhatIf(page);
  return () => whatIf.stop();
});
