// @ts-check
/* The list of reports on the first page: filter, order and keys. The address holds both: find=, state=, sort=.

   A row has its values in data-row (webapp/picker/rows.py). Words of the filter are looked for in its texts; conditions
   such as time>1ms compare its numbers. The rows of each section stand in the chosen order, newest first without one;
   what is not known stands last. */
import { all, closest, part } from "../shared/dom.js";
import { mount, onSelect, select, selection } from "./viewer.js";

const NEWEST = "-written";
const TEXTS = ["name", "path", "state", "target"];
const CONDITION = /^(time|cycles|memory|size|written)(<=|>=|<|>|=)(.+)$/i;
/** @type {Record<string, number>} */
const SECONDS = { ns: 1e-9, us: 1e-6, "\u00b5s": 1e-6, "\u03bcs": 1e-6, ms: 1e-3, s: 1, min: 60 };
/** @type {Record<string, number>} */
const AGES = { s: 1, min: 60, h: 3600, d: 86400, w: 604800 };
/** @type {Record<string, number>} */
const COUNTS = { "": 1, k: 1e3, m: 1e6, g: 1e9 };
/** @type {Record<string, number>} */
const BYTES = { "": 1, b: 1, kb: 1e3, mb: 1e6, gb: 1e9, kib: 1024, mib: 1024 ** 2, gib: 1024 ** 3 };
const EXAMPLES = /** @type {Record<string, string>} */ ({
  time: "time>1ms",
  cycles: "cycles>1e6",
  memory: "memory>80% or memory>500KiB",
  size: "size>10MB",
  written: "written<7d or written>=2026-11-01",
});

/**
 * A number with one of some units; NaN where it is none.
 *
 * @param {string} text
 * @param {Record<string, number>} units
 */
function measured(text, units) {
  const parts = /^([\d.,]+(?:e[+-]?\d+)?)\s*([^\d\s]*)$/i.exec(text);
  const unit = parts ? units[parts[2].toLowerCase()] : undefined;
  return parts && unit !== undefined ? Number(parts[1].replace(/,/g, "")) * unit : NaN;
}

/**
 * Numbers that differ by rounding alone are equal: 86 us and 0.086 ms.
 *
 * @param {number} value
 * @param {string} sign
 * @param {number} limit
 */
function compares(value, sign, limit) {
  if (Math.abs(value - limit) <= 1e-9 * Math.abs(limit)) return sign.endsWith("=");
  return sign.startsWith("<") ? value < limit : sign.startsWith(">") && value > limit;
}

/**
 * The field and limit of a condition: a share for "80%", an age for "7d", seconds since the epoch for a date.
 *
 * @param {string} field
 * @param {string} text
 * @returns {{ field: string, limit: number }}
 */
function limitOf(field, text) {
  if (field === "time") return { field, limit: measured(text, SECONDS) };
  if (field === "cycles") return { field, limit: measured(text, COUNTS) };
  if (field === "size") return { field, limit: measured(text, BYTES) };
  if (field === "memory")
    return text.endsWith("%")
      ? { field: "share", limit: measured(text, { "%": 0.01 }) }
      : { field, limit: measured(text, BYTES) };
  const isDate = /^\d{4}-\d{2}-\d{2}$/.test(text);
  return isDate ? { field, limit: Date.parse(text) / 1000 } : { field: "age", limit: measured(text, AGES) };
}

/**
 * @param {string} text
 * @returns {{ tests: ((row: ListedRow) => boolean)[], problem: string }}
 */
function read(text) {
  /** @type {((row: ListedRow) => boolean)[]} */
  const tests = [];
  let problem = "";
  const now = Date.now() / 1000;
  for (const word of text.split(/\s+/).filter(Boolean)) {
    const parts = CONDITION.exec(word);
    if (!parts) {
      const sought = word.toLowerCase();
      tests.push((row) => TEXTS.some((field) => String(row[field]).toLowerCase().includes(sought)));
      continue;
    }
    const name = parts[1].toLowerCase();
    const { field, limit } = limitOf(name, parts[3]);
    if (Number.isNaN(limit)) {
      problem = word + " is no condition: write for example " + EXAMPLES[name] + ".";
      continue;
    }
    tests.push((row) => {
      const value = field === "age" ? row.written : row[field];
      if (typeof value !== "number") return false;
      return compares(field === "age" ? now - value : value, parts[2], limit);
    });
  }
  return { tests, problem };
}

const collator = new Intl.Collator("en", { numeric: true, sensitivity: "base" });
/** @type {Map<string, ListedRow>} values by their text: reading hundreds at each key would be felt */
const known = new Map();

/** @param {HTMLElement} row */
function valuesOf(row) {
  const text = row.dataset.row || "{}";
  const values = known.get(text) || JSON.parse(text);
  known.set(text, values);
  return /** @type {ListedRow} */ (values);
}

/**
 * @param {ListedRow} one
 * @param {ListedRow} other
 * @param {string} field
 * @param {number} sign
 */
function order(one, other, field, sign) {
  const [left, right] = [one[field] ?? null, other[field] ?? null];
  if (left === null || right === null) return Number(left === null) - Number(right === null);
  if (typeof left === "number" && typeof right === "number") return sign * (left - right);
  return sign * collator.compare(String(left), String(right));
}

const chosenSort = () => selection().sort || NEWEST;

/** @param {HTMLElement} list */
function show(list) {
  const { find = "", state = "" } = selection();
  const { tests, problem } = read(find);
  const sort = chosenSort();
  const [field, sign] = sort.startsWith("-") ? [sort.slice(1), -1] : [sort, 1];
  let found = 0;
  for (const section of all("[data-list]", list)) {
    const body = part("tbody", section);
    const rows = all(":scope > tr", body).map((row) => ({ row, is: valuesOf(row) }));
    const sorted = rows.slice().sort((one, other) => order(one.is, other.is, field, sign));
    if (sorted.some((each, at) => each.row !== rows[at].row)) body.append(...sorted.map((each) => each.row));
    let shown = 0;
    for (const { row, is } of rows) {
      row.hidden = !((!state || is.state === state) && tests.every((test) => test(is)));
      if (!row.hidden) shown += 1;
    }
    found += shown;
    part("[data-list-found]", section).textContent = shown < rows.length ? shown + " of" : "";
    for (const button of all("[data-sort]", section)) {
      const heading = /** @type {HTMLElement} */ (button.parentElement);
      if (button.dataset.sort === field) heading.setAttribute("aria-sort", sign < 0 ? "descending" : "ascending");
      else heading.removeAttribute("aria-sort");
    }
  }
  const nothing = found || (!find && !state) ? "" : "No report or trace has this.";
  part("[data-list-nothing]", list).textContent = [problem, nothing].filter(Boolean).join(" ");
}

mount(".picker", (list) => {
  /* A reload changes rows where they stand, in the server's order. */
  const again = new MutationObserver(() => apply());
  const apply = () => {
    show(list);
    again.takeRecords();
  };
  const stop = onSelect((_selection, patch) => {
    if ("find" in patch || "state" in patch || "sort" in patch) apply();
  });
  again.observe(list, { subtree: true, childList: true, attributes: true, attributeFilter: ["data-row"] });
  apply();
  return () => {
    stop();
    again.disconnect();
  };
});

/* ---- a heading sorts, and the whole row opens the report ---- */

/** @param {string} field */
function sortBy(field) {
  const first = ["name", "state", "target"].includes(field) ? field : "-" + field;
  const other = first.startsWith("-") ? field : "-" + field;
  const next = chosenSort() === first ? other : first;
  select({ sort: next === NEWEST ? null : next });
}

document.addEventListener("click", (event) => {
  const heading = closest(event, ".cards [data-sort]");
  if (heading) {
    sortBy(heading.dataset.sort || "");
    return;
  }
  /* Cells with a title lie over the link that covers the row, so that the title shows. */
  const cell = closest(event, ".cards td [title]");
  const link = cell && cell.closest("tr")?.querySelector("a.card-name");
  if (!cell || !(link instanceof HTMLElement) || closest(event, ".cards a, .cards button")) return;
  const { ctrlKey, metaKey, shiftKey } = event;
  link.dispatchEvent(new MouseEvent("click", { bubbles: true, cancelable: true, ctrlKey, metaKey, shiftKey }));
});

/* ---- keys ---- */

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.shiftKey) return;
  const link = closest(event, ".cards a.card-name");
  if (!link && !closest(event, '.picker [data-param="find"]')) return;
  const links = all(".cards tr:not([hidden]) a.card-name");
  const last = links.length - 1;
  const at = link ? links.indexOf(link) : -1;
  /** @type {Record<string, number>} */
  const places = link
    ? { ArrowDown: Math.min(at + 1, last), ArrowUp: Math.max(at - 1, 0), Home: 0, End: last }
    : { ArrowDown: 0 };
  if (link && event.key === " ") {
    event.preventDefault();
    const tick = link.closest("tr")?.querySelector("[data-compare]");
    if (tick instanceof HTMLElement) tick.click();
  } else if (last >= 0 && event.key in places) {
    event.preventDefault();
    links[places[event.key]].focus();
  }
});

export { order, read as readFilter };
