// @ts-check
/* Pinned statements: the button of the SQL page, and their first rows on the Overview of every report. The browser
   keeps the statements; a pinned statement asks whichever report is open. */
import { Listeners } from "../shared/canvas/frame_loop.js";
import { part } from "../shared/dom.js";
import { mount, recall, remember } from "../shell/viewer.js";

const KEPT = "popvision.pins";
const MOST = 6;
const LONGEST = 4000;
const ROWS = 5;

/** @returns {string[]} */
function pins() {
  try {
    const kept = JSON.parse(recall(KEPT) || "[]");
    return Array.isArray(kept) ? kept.filter((each) => typeof each === "string").slice(0, MOST) : [];
  } catch (_) {
    return [];
  }
}

/** @param {string[]} statements */
const keep = (statements) => remember(KEPT, JSON.stringify(statements));

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

/** @param {unknown} value */
const textOf = (value) => (typeof value === "number" ? value.toLocaleString("en-US") : String(value));

/** @param {HTMLButtonElement} button of the SQL page */
function startButton(button) {
  const page = /** @type {HTMLElement} */ (button.closest("#sql"));
  const editor = /** @type {HTMLTextAreaElement} */ (part("#sql-editor", page));
  const show = () => {
    const isPinned = pins().includes(editor.value);
    button.textContent = isPinned ? "Unpin" : "Pin";
    button.setAttribute("aria-pressed", String(isPinned));
    button.disabled = !isPinned && (editor.value.length > LONGEST || pins().length >= MOST);
  };
  const listeners = new Listeners();
  listeners.on(editor, "input", show);
  listeners.on(page, "click", () => window.setTimeout(show));
  listeners.on(page, "change", () => window.setTimeout(show));
  listeners.on(button, "click", () => {
    const others = pins().filter((each) => each !== editor.value);
    keep(others.length < pins().length ? others : [...others, editor.value]);
    show();
  });
  show();
  return () => listeners.stop();
}

/**
 * The first rows, or the sentence of the problem.
 *
 * @param {string} key
 * @param {string} sql
 * @param {string} id
 */
async function rowsOf(key, sql, id) {
  const address = "/data/" + key + "/sql/run?id=" + id;
  try {
    const answer = await fetch(address, { method: "POST", headers: { "X-Popvision": "sql" }, body: sql });
    const isJson = (answer.headers.get("Content-Type") || "").includes("json");
    const found = isJson ? await answer.json() : { problem: await answer.text() };
    return found.problem ? make("p", "note", found.problem) : tableOf(found);
  } catch (_) {
    return make("p", "note", "The viewer does not answer.");
  }
}

/** @param {{columns: string[], rows: unknown[][], more: boolean}} answer */
function tableOf({ columns, rows, more }) {
  const table = make("table", "pin-rows");
  const isNumber = columns.map((_, at) => rows.some((row) => typeof row[at] === "number"));
  const line = (/** @type {string} */ tag, /** @type {unknown[]} */ cells) => {
    const row = make("tr", "");
    cells.forEach((value, at) => {
      const text = value === null ? "null" : textOf(value);
      const cell = make(tag, isNumber[at] ? "number" : "", text);
      if (tag === "th") cell.setAttribute("scope", "col");
      if (text.length > 40) cell.title = text;
      row.append(cell);
    });
    return row;
  };
  table.append(line("th", columns), ...rows.slice(0, ROWS).map((row) => line("td", row)));
  if (rows.length <= ROWS) return table;
  const count = rows.length.toLocaleString("en-US") + (more ? " rows and more" : " rows");
  const box = make("div", "");
  box.append(table, make("p", "dim", "The first " + ROWS + " of " + count + "."));
  return box;
}

/** @param {HTMLElement} place of the Overview */
function startPlace(place) {
  const key = place.dataset.key || "";
  const section = /** @type {HTMLElement} */ (place.closest("details"));
  let isGone = false;
  let running = "";
  const show = async () => {
    const statements = pins();
    section.hidden = statements.length === 0;
    const boxes = statements.map((sql) => {
      const box = make("div", "pin");
      const head = make("div", "pin-head");
      const link = document.createElement("a");
      link.href = "/r/" + key + "/sql?" + new URLSearchParams({ sql });
      link.dataset.nav = "to";
      link.textContent = sql.replace(/\s+/g, " ").trim();
      link.title = sql;
      const button = make("button", "button small", "Unpin");
      button.setAttribute("type", "button");
      button.setAttribute("aria-label", "Unpin " + link.textContent);
      button.addEventListener("click", () => {
        keep(pins().filter((each) => each !== sql));
        box.remove();
        section.hidden = pins().length === 0;
      });
      head.append(link, button);
      box.append(head, make("p", "dim", "running"));
      return box;
    });
    place.replaceChildren(...boxes);
    for (const [at, box] of boxes.entries()) {
      if (isGone) return;
      running = "pin-" + String(Date.now()) + "-" + at;
      const found = await rowsOf(key, statements[at], running);
      running = "";
      box.lastElementChild?.replaceWith(found);
    }
  };
  show();
  return () => {
    isGone = true;
    const headers = { "X-Popvision": "sql" };
    if (running) fetch("/data/" + key + "/sql/cancel?id=" + running, { method: "POST", headers }).catch(() => {});
  };
}

mount("#sql-pin", startButton);
mount("#overview-pins", startPlace);
