// @ts-check
/* The page of many reports: a table, a page of rows at a time, and a scatter of two figures as SVG. The server selects,
   sorts and thins out; the state is in the address. */
import { Listeners } from "../shared/canvas/frame_loop.js";
import * as dom from "../shared/dom.js";
import { fetchJson } from "../shared/packed.js";
import { mount, onSelect, select, selection } from "../shell/viewer.js";
import { cellText, chooser, cross, draw, make, scaleOf, ticksOf } from "./axes.js";

const AGAIN = 700; /* ms between two questions while reports are read */
const [LEFT, RIGHT, TOP, BOTTOM, HEIGHT] = [86, 16, 12, 34, 300];

class Catalogue {
  constructor(page) {
    this.page = page;
    this.asked = 0;
    this.turn = -1;
    this.choose = chooser();
    this.answer = null;
    /** @type {any[]} answers of the scatters */
    this.points = [];
    /** @type {(name: string) => any} */
    this.part = (name) => dom.part("#catalogue-" + name);
    const listeners = (this.listeners = new Listeners());
    listeners.on(this.part("apply"), "click", () => this.apply());
    listeners.on(this.part("where"), "keydown", (event) => {
      if (event.key === "Enter") this.apply();
    });
    listeners.on(this.part("folder"), "change", (event) =>
      this.go({ cat_folder: event.target.value, cat_page: null, cat_where: null }),
    );
    for (const axis of ["x", "y", "y2"])
      listeners.on(this.part(axis), "change", (event) => this.go({ ["cat_" + axis]: event.target.value }));
    listeners.on(document, "keydown", (event) => this.key(event));
    listeners.on(this.part("table"), "click", (event) => this.sort(event));
    listeners.onResize(this.part("scatters"), () => this.drawScatters());
    listeners.add(onSelect(() => this.ask()));
    if (JSON.parse(page.dataset.catalogue).refresh) this.refresh();
    else this.ask();
  }

  stop() {
    this.listeners.stop();
    window.clearTimeout(this.timer);
  }

  /* ---- what the address says ---- */

  query(more = {}) {
    const { cat_folder, cat_where, cat_sort, cat_down } = selection();
    const all = { folder: cat_folder, where: cat_where, sort: cat_sort, down: cat_down, ...more };
    return Object.fromEntries(Object.entries(all).filter(([, value]) => value !== undefined && value !== null));
  }

  go(patch) {
    select(patch);
  }

  apply() {
    this.go({ cat_where: this.part("where").value.trim() || null, cat_page: null });
  }

  sort(event) {
    const head = dom.closest(event, "[data-sort]");
    if (!head) return;
    const { cat_sort, cat_down } = selection();
    const isSame = (cat_sort || "report") === head.dataset.sort;
    this.go({ cat_sort: head.dataset.sort, cat_down: isSame && cat_down !== "1" ? "1" : null, cat_page: null });
  }

  key(event) {
    if (event.target.matches("input, select, textarea") || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "/") {
      event.preventDefault();
      this.part("where").focus();
    } else if (event.key === "n" || event.key === "p") this.turnPage(event.key === "n" ? 1 : -1);
  }

  turnPage(by) {
    if (!this.answer) return;
    const page = Math.min(this.answer.pages - 1, Math.max(0, this.answer.page + by));
    this.go({ cat_page: page ? String(page) : null });
  }

  /* ---- questions ---- */

  async refresh() {
    try {
      await fetchJson("/data/catalogue/refresh", this.query());
    } catch (problem) {
      this.complain(problem.message);
    }
    this.ask();
  }

  async ask() {
    const turn = (this.asked += 1);
    const { cat_page, cat_x, cat_y, cat_y2 } = selection();
    try {
      const answer = await fetchJson("/data/catalogue/rows", this.query({ page: cat_page }));
      if (turn !== this.asked || !this.page.isConnected) return;
      this.answer = answer;
      this.show(answer);
      if (answer.figures) {
        const ask = (y) => fetchJson("/data/catalogue/points", this.query({ x: cat_x || "cycles", y }));
        const points = await Promise.all([cat_y || "peak_used", cat_y2].filter(Boolean).map(ask));
        if (turn !== this.asked || !this.page.isConnected) return;
        this.points = points;
        this.drawScatters();
      }
      this.page.dataset.state = answer.state.is_reading ? "reading" : "complete";
    } catch (problem) {
      if (turn === this.asked) this.complain(problem.message);
    }
  }

  complain(text) {
    const place = this.part("problem");
    place.hidden = !text;
    place.textContent = text;
  }

  /* ---- the table ---- */

  show(answer) {
    const { state } = answer;
    window.clearTimeout(this.timer);
    if (state.is_reading) this.timer = window.setTimeout(() => this.ask(), AGAIN);
    this.complain(state.problem || state.note);
    const read = state.total ? state.read.toLocaleString("en-US") + " of " + state.total.toLocaleString("en-US") : "";
    const reports = answer.total.toLocaleString("en-US") + (answer.total === 1 ? " report" : " reports");
    this.part("state").textContent = state.is_reading ? "Reading reports " + read : reports;
    if (!answer.figures) return;
    this.fillChoices(answer);
    this.fillTable(answer);
    this.fillPages(answer);
    for (const link of dom.all("[data-catalogue-export]"))
      link.setAttribute(
        "href",
        "/data/catalogue/table." + link.dataset.catalogueExport + "?" + new URLSearchParams(this.query()),
      );
  }

  fillChoices({ figures, axes }) {
    const { cat_folder, cat_x, cat_y, cat_y2 } = selection();
    this.part("folder").value = cat_folder || "0";
    const choices = (columns) =>
      columns.map(({ name, title }) => Object.assign(make("option", "", title), { value: name }));
    const fill = (axis, options, value) => {
      this.part(axis).replaceChildren(...options);
      this.part(axis).value = value;
    };
    fill("x", choices(axes.concat(figures)), cat_x || "cycles");
    fill("y", choices(figures), cat_y || "peak_used");
    const none = Object.assign(make("option", "", "nothing"), { value: "" });
    fill("y2", [none].concat(/** @type {any[]} */ (choices(figures))), cat_y2 || "");
  }

  fillTable({ columns, rows }) {
    const { cat_sort, cat_down } = selection();
    const head = make("tr");
    const ticks = make("th");
    ticks.append(make("span", "visually-hidden", "Choose to compare"));
    head.append(ticks);
    for (const { name, title, help } of [{ name: "report", title: "Report", help: "" }, ...columns]) {
      const cell = make("th");
      const button = make("button", "catalogue-sort", title);
      const isSorted = (cat_sort || "report") === name;
      button.dataset.sort = name;
      button.title = help ? title + " = " + help : "Sort by " + title;
      if (isSorted) button.append(make("span", "", cat_down === "1" ? " ↓" : " ↑"));
      cell.setAttribute("aria-sort", isSorted ? (cat_down === "1" ? "descending" : "ascending") : "none");
      cell.append(button);
      head.append(cell);
    }
    const table = this.part("table");
    dom.part("thead", table).replaceChildren(head);
    dom.part("tbody", table).replaceChildren(...rows.map((row) => this.row(row, columns)));
  }

  row({ key, report, problem, cells }, columns) {
    const row = make("tr");
    const pick = make("td", "pick");
    if (key) {
      const tick = make("button", "tick");
      Object.assign(tick, { type: "button", title: "Choose to compare; the first one chosen is the source" });
      Object.assign(tick.dataset, { compare: key, kind: "report", label: report });
      tick.setAttribute("role", "checkbox");
      tick.setAttribute("aria-checked", "false");
      tick.setAttribute("aria-label", "Choose " + report + " to compare");
      tick.append(make("span", "tick-mark"));
      pick.append(tick);
    }
    const name = make("td");
    if (key) {
      const link = make("a", "catalogue-name", report);
      link.setAttribute("href", "/r/" + key + "/overview");
      link.dataset.nav = "to";
      name.append(link);
    } else name.append(make("span", "", report));
    if (problem) name.append(Object.assign(make("span", "card-problem", problem), { title: problem }));
    row.append(pick, name);
    cells.forEach((value, at) => {
      const cell = make("td", typeof value === "number" ? "number" : "", cellText(value, columns[at].kind));
      if (typeof value === "number") cell.title = value.toLocaleString("en-US", { maximumFractionDigits: 9 });
      row.append(cell);
    });
    return row;
  }

  fillPages({ page, pages }) {
    const place = this.part("pages");
    place.hidden = pages < 2;
    const button = (text, title, by, isOn) => {
      const each = make("button", "button", text);
      Object.assign(each, { type: "button", title, disabled: !isOn });
      each.addEventListener("click", () => this.turnPage(by));
      return each;
    };
    place.replaceChildren(
      button("Previous", "Previous page (p)", -1, page > 0),
      make("span", "dim", "Page " + (page + 1).toLocaleString("en-US") + " of " + pages.toLocaleString("en-US")),
      button("Next", "Next page (n)", 1, page < pages - 1),
    );
  }

  /* ---- the scatter ---- */

  drawScatters() {
    const places = dom.all(".catalogue-scatter", this.page);
    places.forEach((place, at) => {
      place.hidden = at > 0 && at >= this.points.length;
      if (this.points[at]) this.drawScatter(place, this.points[at]);
    });
    if (this.points.length) this.drawNote(this.points[0]);
  }

  drawScatter(place, points) {
    const width = place.clientWidth;
    if (width < LEFT + RIGHT + 50) return;
    const { x, y, report, outside } = points;
    const picture = draw("svg", { width, height: HEIGHT, role: "img" });
    picture.setAttribute("aria-label", y.title + " over " + x.title + ", " + report.length + " points");
    if (report.length) {
      const all = x.values.concat(outside.map((each) => each.x));
      const across = scaleOf(x.labels.length ? [0, x.labels.length - 1] : all, LEFT, width - RIGHT),
        up = scaleOf(y.values, HEIGHT - BOTTOM, TOP);
      this.drawAxes(picture, width, { across, up }, points);
      this.drawSeries(picture, { across, up }, points);
      report.forEach((_, at) => picture.append(this.point(points, at, { across, up })));
      for (const each of outside) {
        const mark = cross(across.at(each.x), HEIGHT - BOTTOM - 8);
        const text = each.report + " does not fit: it has no " + y.title.toLowerCase();
        this.makeReport(mark, each.key, each.report, text);
        picture.append(mark);
      }
    }
    place.replaceChildren(picture);
  }

  point({ x, y, count, report, key, fits, series, names }, at, { across, up }) {
    const place = [across.at(x.values[at]), up.at(y.values[at])];
    const isMany = count[at] > 1;
    const mark = fits[at]
      ? draw("circle", {
          cx: place[0].toFixed(1),
          cy: place[1].toFixed(1),
          r: isMany ? Math.min(9, 4 + Math.log2(count[at])) : 4,
          class: "catalogue-point" + (isMany ? " is-many" : ""),
        })
      : cross(place[0], place[1]);
    const more = isMany ? " and " + (count[at] - 1).toLocaleString("en-US") + " more here" : "";
    const textOf = (axis) =>
      axis.title +
      ": " +
      (axis.labels && axis.labels.length ? axis.labels[axis.values[at]] : cellText(axis.values[at], axis.kind));
    const own = series.length && names[series[at]] ? [names[series[at]]] : [];
    const lines = [report[at] + more, ...own, ...(fits[at] ? [] : ["does not fit"]), textOf(x), textOf(y)];
    this.makeReport(mark, key[at], report[at], lines.join("\n"));
    return mark;
  }

  /* A mark that says what it is and leads to its report. */
  makeReport(mark, key, name, text) {
    mark.append(draw("title", {}, text));
    if (key) mark.addEventListener("click", (event) => this.choose(event, key, name));
  }

  drawNote({ report, missing, total, outside, fits }) {
    const foot = outside.length ? "; those at the foot lack the figure" : "";
    const drawn = total - missing;
    const isOne = report.length === 1;
    this.part("note").textContent =
      drawn.toLocaleString("en-US") +
      (drawn === 1 ? " report" : " reports") +
      " in " +
      report.length.toLocaleString("en-US") +
      (isOne ? " point" : " points") +
      (drawn > report.length ? "; larger ones stand for several. " : ". ") +
      (missing ? missing.toLocaleString("en-US") + " lack one of the figures. " : "") +
      (outside.length || fits.includes(false) ? "Crosses do not fit into memory" + foot + ". " : "") +
      "A click opens the report, Shift-click chooses it to compare.";
  }

  /* Along an axis of a sweep or the time of commits, lines join the reports that differ in nothing else. */
  drawSeries(picture, { across, up }, { x, y, series, names }) {
    const lines = new Map();
    series.forEach((number, at) => {
      const line = lines.get(number) || [];
      line.push(at);
      lines.set(number, line);
    });
    for (const [number, line] of lines) {
      line.sort((one, other) => x.values[one] - x.values[other]);
      const places = line.map((at) => across.at(x.values[at]) + "," + up.at(y.values[at]));
      if (places.length < 2) continue;
      const path = draw("polyline", { points: places.join(" "), class: "catalogue-series" });
      path.append(draw("title", {}, names[number]));
      picture.append(path);
    }
  }

  drawAxes(picture, width, { across, up }, { x, y }) {
    for (const { value, text } of ticksOf(x, across, width / 140)) {
      const place = across.at(value);
      picture.append(draw("line", { x1: place, x2: place, y1: TOP, y2: HEIGHT - BOTTOM, class: "catalogue-grid" }));
      const below = { x: place, y: HEIGHT - BOTTOM + 18, "text-anchor": "middle", class: "catalogue-tick" };
      picture.append(draw("text", below, text));
    }
    for (const { value, text } of ticksOf(y, up, 5)) {
      const place = up.at(value);
      picture.append(draw("line", { x1: LEFT, x2: width - RIGHT, y1: place, y2: place, class: "catalogue-grid" }));
      const beside = { x: LEFT - 8, y: place + 4, "text-anchor": "end", class: "catalogue-tick" };
      picture.append(draw("text", beside, text));
    }
  }
}

mount("[data-catalogue]", (page) => {
  const catalogue = new Catalogue(page);
  return () => catalogue.stop();
});
