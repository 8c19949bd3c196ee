// @ts-check
/* Comparing: ticks of the first page, swap and stop in the header line, and the lists of recent reports.

   Only the browser keeps those lists (localStorage), newest first. A report that is no longer in the folders
   stays listed, greyed, until the user removes it. */
import { all, closest, part } from "../shared/dom.js";
import { commands } from "./commands.js";
import { go, mount, notice, recall, redraw, remember as rememberText, select, selection } from "./viewer.js";

const MOST_RECENT = 8;

/**
 * @param {string} name
 * @returns {RecentEntry[]}
 */
function stored(name) {
  try {
    const entries = JSON.parse(window.localStorage.getItem("popvision.recent." + name) || "[]");
    return Array.isArray(entries)
      ? entries.filter((each) => Array.isArray(each.keys) && Array.isArray(each.labels))
      : [];
  } catch (_) {
    return [];
  }
}

/**
 * @param {string} name
 * @param {RecentEntry[]} entries
 */
function keep(name, entries) {
  try {
    window.localStorage.setItem("popvision.recent." + name, JSON.stringify(entries.slice(0, MOST_RECENT)));
  } catch (_) {
    /* private mode */
  }
}

/**
 * @param {RecentEntry} one
 * @param {RecentEntry} other
 */
const same = (one, other) => one.keys.join() === other.keys.join();

/**
 * @param {string} name
 * @param {RecentEntry} entry
 */
function remember(name, entry) {
  keep(name, [entry, ...stored(name).filter((each) => !same(each, entry))]);
}

/* ---- a page of a report: remember it as recent ---- */

mount("#page > .view[data-report]", (view) => {
  if (!window.location.pathname.startsWith("/r/")) return undefined;
  const names = all("#masthead .report-name").map((each) => each.title || each.textContent);
  const targets = (selection().vs || "").split(",").filter(Boolean);
  remember("reports", { keys: [view.dataset.report], labels: [names[0] || view.dataset.report] });
  const labels = targets.length > 1 ? (names[1] || "").split(" \u00b7 ") : [names[1]];
  if (targets.length && names.length > 1 && labels.length === targets.length) {
    remember("comparisons", { keys: [view.dataset.report, ...targets], labels: [names[0], ...labels] });
  }
  return undefined;
});

/* ---- the first page ---- */

/** @type {string[]} keys of reports or of traces, the source first */
let chosen = [];

const boxes = () => all("[data-compare]");

function show() {
  const bar = /** @type {HTMLElement | null} */ (document.querySelector(".compare-bar"));
  if (!bar) return;
  const at = Object.fromEntries(boxes().map((box) => [box.dataset.compare, box]));
  chosen = chosen.filter((key) => at[key]);
  for (const box of boxes()) {
    const place = chosen.indexOf(box.dataset.compare || "");
    box.setAttribute("aria-checked", String(place >= 0));
    part(":scope > *", box).textContent = place < 0 ? "" : place === 0 ? "S" : chosen.length > 2 ? String(place) : "T";
  }
  bar.hidden = chosen.length === 0;
  const names = chosen.map((key) => at[key].dataset.label);
  const kind = chosen.length ? at[chosen[0]].dataset.kind : "report";
  part("[data-compare-chosen]", bar).textContent =
    chosen.length < 2
      ? (names[0] || "") + ". Choose another " + kind + " to compare it with."
      : "Source (before): " +
        names[0] +
        ", " +
        (names.length > 2 ? "targets: " : "target (after): ") +
        names.slice(1).join(", ") +
        ". Differences are target \u2212 source.";
  const button = part('[data-compare-action="compare"]', bar);
  /** @type {HTMLButtonElement} */ (button).disabled = chosen.length < 2;
  part('[data-compare-action="turn"]', bar).hidden = chosen.length < 2;
  part('[data-compare-action="join"]', bar).hidden = kind !== "trace" || chosen.length < 2;
}

/** @param {string} key */
const kindOf = (key) => boxes().find((box) => box.dataset.compare === key)?.dataset.kind;

/**
 * Two reports in the order of their compilation, for equal times in that of the list: the target is what came after.
 *
 * @param {string[]} keys
 */
function inOrder(keys) {
  if (keys.length !== 2) return keys;
  const listed = boxes().filter((box) => keys.includes(box.dataset.compare || ""));
  return listed
    .sort((one, other) => Number(one.dataset.time) - Number(other.dataset.time))
    .map((box) => box.dataset.compare || "");
}

/** @param {HTMLElement} box */
function toggle(box) {
  const key = box.dataset.compare || "";
  const most = Number(part("[data-most]").dataset.most);
  if (chosen.includes(key)) chosen = chosen.filter((each) => each !== key);
  else if (chosen.length && kindOf(chosen[0]) !== box.dataset.kind)
    notice("A report is compared with reports, a trace with traces.");
  else if (chosen.length < most) chosen = inOrder([...chosen, key]);
  else notice("At most " + most + " reports are compared at once.");
  show();
}

/**
 * @param {string[]} keys
 * @param {string} kind
 */
function hrefOf(keys, kind = "report") {
  const others = keys.slice(1).map(encodeURIComponent).join(",");
  if (kind === "trace") return "/t/" + encodeURIComponent(keys[0]) + "/timeline?tl_tab=difference&vs=" + others;
  const base = "/r/" + encodeURIComponent(keys[0]) + "/summary";
  return others ? base + "?vs=" + others : base;
}

/** @param {RecentEntry} entry */
const textOf = (entry) => entry.labels.join(entry.labels.length === 2 ? " vs " : " \u00b7 ");

/**
 * The folder that a row's report lies in, by name.
 *
 * @param {HTMLElement} row
 */
function folderOf(row) {
  const path = String(JSON.parse(row.dataset.row || "{}").path || "");
  return path.split("/").slice(-2, -1)[0] || path;
}

/** @param {HTMLElement} list */
function fill(list) {
  const name = list.dataset.recent || "";
  const folders = new Map(all("[data-key]").map((row) => [row.dataset.key, folderOf(row)]));
  const entries = stored(name);
  const texts = entries.map(textOf);
  const labels = boxes().map((box) => box.dataset.label);
  const isOne = (/** @type {string} */ label) => labels.filter((each) => each === label).length < 2;
  list.replaceChildren(
    ...entries.map((entry) => {
      const present = entry.keys.every((key) => folders.has(key));
      const isAlone = texts.filter((each) => each === textOf(entry)).length === 1 && entry.labels.every(isOne);
      const places = isAlone || !present ? [] : entry.keys.map((key) => folders.get(key));
      return item(name, entry, present, [...new Set(places)].join(", "));
    }),
  );
  /** @type {HTMLElement | null} */
  const section = list.closest(".recent");
  if (section) section.hidden = entries.length === 0;
}

/**
 * @param {string} name
 * @param {RecentEntry} entry
 * @param {boolean} present
 * @param {string} place where the reports lie, where another entry has the same text
 */
function item(name, entry, present, place) {
  const line = document.createElement("li");
  const text = textOf(entry);
  const link = present
    ? Object.assign(document.createElement("a"), { href: hrefOf(entry.keys) })
    : Object.assign(document.createElement("span"), { className: "dim", title: "Not in the open folders" });
  link.textContent = place ? text + " in " + place : text;
  if (present) link.dataset.nav = "open";
  const remove = document.createElement("button");
  remove.type = "button";
  remove.className = "button icon-button";
  remove.title = "Remove from this list";
  remove.setAttribute("aria-label", "Remove " + text + " from this list");
  remove.innerHTML = '<span class="icon icon-close"></span>';
  remove.addEventListener("click", () => {
    const list = line.parentElement;
    const others = stored(name).filter((each) => !same(each, entry));
    keep(name, others);
    if (!list) return;
    fill(list);
    const next = list.querySelector("button");
    if (next) next.focus();
  });
  line.append(link, remove);
  return line;
}

/* The tour is for who has opened no report yet, until its heading is clicked. */
mount("[data-tour]", (element) => {
  const tour = /** @type {HTMLDetailsElement} */ (element);
  const kept = recall("popvision.tour");
  tour.open = kept ? kept === "open" : stored("reports").length === 0;
  part("summary", tour).addEventListener("click", () => {
    rememberText("popvision.tour", tour.open ? "closed" : "open");
  });
  return undefined;
});
mount(".compare-bar", () => {
  show();
  return undefined;
});
mount("[data-recent]", (list) => {
  fill(list);
  return undefined;
});

/* ---- actions ---- */

/* Ids of programs, steps and variables belong to one report: after a swap only tiles and IPUs still mean the same. */
function swap() {
  const [first, ...rest] = (selection().vs || "").split(",").filter(Boolean);
  const parts = window.location.pathname.split("/");
  if (!first || parts.length < 4) return;
  const query = new URLSearchParams();
  for (const name of ["tiles", "ipu", "tl_tab"]) if (selection()[name]) query.set(name, selection()[name]);
  const targets = [parts[2], ...rest].join(",");
  const search = [query.toString(), "vs=" + targets].filter(Boolean).join("&");
  go("/" + parts[1] + "/" + first + "/" + parts[3] + "?" + search);
}

function stop() {
  select({ vs: null });
  redraw();
}

/** @type {Record<string, () => void>} */
const ACTIONS = {
  swap,
  stop,
  clear: () => {
    chosen = [];
    show();
  },
  turn: () => {
    chosen.reverse();
    show();
  },
  compare: () => {
    const keys = chosen;
    const kind = kindOf(keys[0]);
    chosen = [];
    go(hrefOf(keys, kind));
  },
  join: () => {
    const keys = chosen;
    chosen = [];
    go("/t/" + keys.map(encodeURIComponent).join("+") + "/timeline");
  },
};

document.addEventListener("click", (event) => {
  const box = closest(event, "[data-compare]");
  if (box) {
    event.preventDefault();
    toggle(box);
    return;
  }
  const button = closest(event, "[data-compare-action]");
  if (button instanceof HTMLButtonElement && !button.disabled) {
    const action = ACTIONS[button.dataset.compareAction || ""];
    if (action) action();
  }
});

const compares = () => document.querySelector(".versus") !== null;
commands.add({
  title: "Swap source and target",
  run: swap,
  when: () => document.querySelector('[data-compare-action="swap"]') !== null,
});
commands.add({ title: "Stop comparing", run: stop, when: compares });
