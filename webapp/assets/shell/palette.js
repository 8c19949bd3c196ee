// @ts-check
/* Command palette (Ctrl+K, or ":"): views, reports to open or compare, theme, units, jumps (tile 5, program 12,
   index 3, step 40, cycle 1000), and every control and key of the page. */
import { all, closest, part, siblings } from "../shared/dom.js";
import { commands } from "./commands.js";
import * as frame from "./frame.js";
import { preference, setPreference } from "./preferences.js";
import { go, hrefOf, mount, redraw, select, selection } from "./viewer.js";

const MOST = 60;
/** @type {Command[]} */
let entries = [];
let chosen = 0;
/** @type {ListedReport[]} */
let reports = [];
/** @type {HTMLElement | null} */
let before = null;
const box = () => /** @type {HTMLInputElement} */ (part("#palette-box"));
const list = () => part("#palette-list");
const dialog = () => /** @type {HTMLDialogElement} */ (part("#palette"));

/* ---- choices ---- */

/** @param {Element} view */
const titleOf = (view) => part(".nav-text", view).textContent;

function views() {
  return Array.from(all(".nav-views a"), (link) => ({
    title: "Go to " + titleOf(link),
    group: link.classList.contains("lacking") ? "not recorded" : "view",
    keys: Number(link.dataset.index) < 10 ? link.dataset.index : undefined, // keys 1 to 9
    run: () => go(hrefOf(link)),
  }));
}

const pathParts = () => window.location.pathname.split("/");

function others() {
  const [, letter, key, view] = pathParts();
  /** @type {Command[]} */
  const offers = [];
  for (const each of reports) {
    const prefix = each.kind === "report" ? "r" : "t";
    if (each.key !== key)
      offers.push({
        title: "Open " + each.name,
        group: each.kind,
        detail: each.place,
        run: () => go("/" + prefix + "/" + each.key + (prefix === letter && view ? "/" + view : "")),
      });
    if (letter === "r" && each.kind === "report" && each.key !== key) {
      offers.push({
        title: "Compare with " + each.name,
        group: "compare",
        detail: each.place,
        run: () => compare(each.key),
      });
    }
  }
  if (selection().vs) offers.unshift({ title: "Stop comparing", group: "compare", run: () => compare(null) });
  if (letter) offers.push({ title: "Close: back to the list of reports", group: "report", run: () => go("/") });
  return offers;
}

/** @param {string | null} key */
function compare(key) {
  select({ vs: key });
  redraw();
}

const UNIT_TITLES = {
  units: { binary: "Memory in KiB, MiB (binary)", si: "Memory in kB, MB (SI)", bytes: "Memory in bytes" },
  time: { cycles: "Device time as cycles", time: "Device time as seconds" },
};

function units() {
  return Object.entries(UNIT_TITLES).flatMap(([name, titles]) =>
    Object.entries(titles)
      .filter(([value]) => preference(name) !== value)
      .map(([value, title]) => ({ title, group: "units", run: () => setPreference(name, value) })),
  );
}

/* Tabs, switches, choices and buttons of the page: each has a name and a click, so each is a command. */
function controls() {
  /** @type {Command[]} */
  const offers = [];
  for (const control of all('#page [role="tab"], #page .toolbar button, #page .toolbar summary')) {
    if (/** @type {HTMLButtonElement} */ (control).disabled || !control.offsetParent) continue;
    const name = (control.getAttribute("aria-label") || control.textContent || control.title).trim();
    if (!name) continue;
    const group = control.closest('[role="radiogroup"], [role="tablist"]');
    const title = group && group.getAttribute("aria-label") ? group.getAttribute("aria-label") + ": " + name : name;
    offers.push({
      title,
      group: "page",
      run: () => {
        control.focus();
        control.click();
      },
    });
  }
  for (const each of all("#page select[data-param]")) {
    const menu = /** @type {HTMLSelectElement} */ (each);
    if (!menu.offsetParent) continue;
    for (const option of menu.options) {
      if (option.selected || menu.options.length > 40) continue;
      offers.push({
        title: (menu.getAttribute("aria-label") || "") + ": " + option.textContent,
        group: "page",
        run: () => {
          menu.value = option.value;
          menu.dispatchEvent(new Event("change", { bubbles: true }));
        },
      });
    }
  }
  return offers;
}

/* ---- jumps: "tile 5", "#12", "index 3", "cycle 1,000" ---- */

/** @type {Jump[]} */
const JUMPS = [
  { words: ["tile"], noun: "tile", view: "memory", patch: (n) => ({ tiles: n }) },
  { words: ["program", "#"], noun: "program #", view: "program_tree", patch: (n) => ({ program: n }) },
  {
    words: ["liveness index", "liveness", "index"],
    noun: "liveness index",
    view: "liveness",
    patch: (n) => ({ liveness: n }),
  },
  { words: ["step"], noun: "step", view: "execution", patch: (n) => ({ step: n }) },
  { words: ["cycle"], noun: "cycle", view: "execution", patch: around },
  { words: ["ipu"], noun: "IPU", view: null, patch: (n) => ({ ipu: n }) },
];

/**
 * A window of the width that is shown, or of 1,000 cycles, with the cycle in its middle.
 *
 * @param {number} cycle
 */
function around(cycle) {
  const now = selection();
  const width = Number(now.to) - Number(now.from) > 0 ? Number(now.to) - Number(now.from) : 1000;
  const from = Math.max(0, cycle - Math.floor(width / 2));
  return { from, to: from + width };
}

/** @param {string} text */
function jumps(text) {
  const match = /^\s*([a-z #]*?)\s*([\d][\d,]*)\s*$/i.exec(text);
  const number = match ? Number(match[2].replace(/,/g, "")) : 0;
  if (!match || pathParts()[1] !== "r" || !Number.isSafeInteger(number)) return [];
  const typed = match[1].toLowerCase();
  return JUMPS.filter((jump) => jump.words.some((word) => word.startsWith(typed))).map((jump) => ({
    title: "Jump to " + jump.noun + (jump.noun.endsWith("#") ? "" : " ") + number.toLocaleString("en-US"),
    group: "jump",
    run: () => jumpTo(jump, number),
  }));
}

/**
 * @param {Jump} jump
 * @param {number} number
 */
function jumpTo(jump, number) {
  select(jump.patch(number));
  /** @type {HTMLElement | null} */
  const link = document.querySelector('.nav-views [data-view="' + jump.view + '"]');
  if (jump.view && link && pathParts()[3] !== jump.view) go(hrefOf(link));
}

/** @param {string} text */
function everything(text) {
  const own = commands.all().filter((each) => !each.hidden);
  return [
    ...jumps(text),
    ...commands.suggestions(text),
    ...[...views(), ...own, ...units(), ...others(), ...controls()].filter((each) => matches(each, text)),
  ];
}

/**
 * Whether the title, the group or the place contain every typed word, in any order.
 *
 * @param {Command} entry
 * @param {string} text
 */
function matches(entry, text) {
  const inside = (entry.title + " " + (entry.group || "") + " " + (entry.detail || "")).toLowerCase();
  return text
    .toLowerCase()
    .split(/\s+/)
    .filter(Boolean)
    .every((word) => inside.includes(word));
}

/* ---- the list ---- */

/**
 * @param {Command} entry
 * @param {number} index
 */
function row(entry, index) {
  const line = document.createElement("li");
  line.id = "palette-" + index;
  line.className = "palette-row";
  line.setAttribute("role", "option");
  line.setAttribute("aria-selected", index === chosen ? "true" : "false");
  /**
   * @param {string} className
   * @param {string} text
   */
  const add = (className, text) => {
    const span = document.createElement("span");
    span.className = className;
    span.textContent = text;
    line.append(span);
  };
  add("palette-title", entry.title);
  if (entry.detail) add("palette-detail", entry.detail);
  if (entry.group) add("palette-group", entry.group);
  if (entry.keys) {
    const key = document.createElement("kbd");
    key.textContent = entry.keys;
    line.append(key);
  }
  return line;
}

function show() {
  const text = box().value;
  const possible = everything(text);
  entries = possible.slice(0, MOST);
  chosen = Math.max(0, Math.min(chosen, entries.length - 1));
  list().replaceChildren(...entries.map(row));
  const count =
    possible.length > MOST
      ? "first " + MOST + " of " + possible.length + " commands"
      : possible.length + (possible.length === 1 ? " command" : " commands");
  part("#palette-count").textContent = possible.length
    ? count
    : "Nothing matches. Try a view, a report, a unit, or: tile 5";
  mark();
}

function mark() {
  const rows = list().children;
  Array.from(rows).forEach((line, index) => line.setAttribute("aria-selected", index === chosen ? "true" : "false"));
  const input = box();
  if (rows[chosen]) {
    input.setAttribute("aria-activedescendant", rows[chosen].id);
    rows[chosen].scrollIntoView({ block: "nearest" });
  } else input.removeAttribute("aria-activedescendant");
}

/** @param {number} index */
function run(index) {
  const entry = entries[index];
  if (!entry) return;
  dialog().close();
  entry.run();
}

async function open() {
  before = document.activeElement instanceof HTMLElement ? document.activeElement : null;
  box().value = "";
  chosen = 0;
  show();
  try {
    const answer = await fetch("/data/reports");
    reports = answer.ok ? await answer.json() : [];
  } catch (_) {
    reports = [];
  }
  if (!dialog().open) return;
  const held = entries[chosen]; /* stays chosen where reports come above it */
  show();
  chosen = Math.max(
    0,
    entries.findIndex((each) => each.title === held?.title && each.group === held.group),
  );
  mark();
}

/* Dash has no text box that takes these attributes. */
mount("[data-palette-box]", (place) => {
  const input = document.createElement("input");
  const attributes = {
    id: "palette-box",
    type: "text",
    class: "box",
    placeholder: "Type a command, a view, a report, or: tile 5",
    autocomplete: "off",
    spellcheck: "false",
    role: "combobox",
    "aria-label": "Command",
    "aria-expanded": "true",
    "aria-controls": "palette-list",
    "aria-autocomplete": "list",
    autofocus: "",
  };
  for (const [name, value] of Object.entries(attributes)) input.setAttribute(name, value);
  place.append(input);
});

document.addEventListener(
  "popvision:open",
  (event) => {
    if (event.target === dialog()) open();
  },
  true,
);

document.addEventListener(
  "close",
  (event) => {
    if (event.target === dialog() && before && before.isConnected) before.focus();
  },
  true,
);

document.addEventListener("input", (event) => {
  if (event.target !== document.getElementById("palette-box")) return;
  chosen = 0;
  show();
});

document.addEventListener("keydown", (event) => {
  if ((event.ctrlKey || event.metaKey) && !event.shiftKey && !event.altKey && event.key.toLowerCase() === "k") {
    event.preventDefault();
    frame.run("nav-palette");
    return;
  }
  if (event.target !== document.getElementById("palette-box")) return;
  const last = entries.length - 1;
  const to = {
    ArrowDown: chosen === last ? 0 : chosen + 1,
    ArrowUp: chosen ? chosen - 1 : last,
    PageDown: Math.min(last, chosen + 8),
    PageUp: Math.max(0, chosen - 8),
  }[event.key];
  if (event.key === "Enter") run(chosen);
  else if (to !== undefined) {
    chosen = to;
    mark();
  } else return;
  event.preventDefault();
});

/* "Compare with" of the header line opens the palette on the reports to compare with. */
document.addEventListener("click", (event) => {
  if (!closest(event, "[data-compare-with]")) return;
  frame.run("nav-palette");
  box().value = "compare with ";
  show();
});

document.addEventListener("click", (event) => {
  const line = closest(event, "#palette-list [role=option]");
  if (line) run(siblings(line).indexOf(line));
  else if (event.target instanceof HTMLDialogElement && event.target.open) event.target.close(); /* the backdrop */
});

commands.add({
  hidden: true,
  title: "Command palette",
  key: ":",
  run: () => frame.run("nav-palette"),
});
