// @ts-check
/* Buttons and keys of the frame: theme, menu, dialogs, search box, views by number, reload.

   run(action) does what a button with data-action does, such as "nav-theme". */
import { toggleHelp } from "../help/help.js";
import * as dom from "../shared/dom.js";
import { commands } from "./commands.js";
import { go, hrefOf, reload, remember, setTheme } from "./viewer.js";

const root = document.documentElement;

function foldMenu() {
  root.dataset.nav = root.dataset.nav === "narrow" ? "wide" : "narrow";
  remember("popvision.nav", root.dataset.nav);
  window.dispatchEvent(new Event("resize"));
}

/* A dialog opens over the page; the same action closes it. */
function listOwnKeys() {
  /** @type {HTMLElement | null} */
  const own = document.querySelector("#page .view-shortcuts");
  dom.part("#view-shortcuts").innerHTML = (own && own.dataset.keys) || "";
  dom.part("#own-shortcuts").hidden = !own;
  hideRepeatedKeys();
}

/* A key stands once in the dialog: with its meaning on this page, else in plots, else everywhere. */
function hideRepeatedKeys() {
  const listed = new Set();
  for (const list of dom.all("#shortcuts .shortcut-list")) {
    const rows = dom.all("tr", list);
    const keys = rows.map((row) => keysOf(dom.part("kbd", row).textContent || ""));
    rows.forEach((row, at) => {
      row.hidden = keys[at].every((key) => listed.has(key));
    });
    keys.flat().forEach((key) => listed.add(key));
  }
  for (const part of dom.all(".shortcut-columns > div"))
    if (part.id !== "own-shortcuts") part.hidden = dom.all("tr", part).every((row) => row.hidden);
}

/**
 * The keys of a row: "Shift ← →" has two, and so has "n / p"; "Page Up / Down" counts as one.
 *
 * @param {string} text
 * @returns {string[]}
 */
function keysOf(text) {
  const [, modifier, keys] = /** @type {RegExpMatchArray} */ (text.match(/^((?:Shift|Ctrl) (?:\+ )?)?(.*)$/));
  const names = keys
    .replace(/(Page Up|Home) \/ (Down|End)/g, "$1/$2")
    .replace("Page Up", "PageUp")
    .split(/\s+/);
  return names
    .filter((name) => name && (name !== "/" || names.length === 1))
    .map((name) => (modifier ? modifier.slice(0, 4) + "+" : "") + name);
}

/** @param {string} id */
function toggleDialog(id) {
  const dialog = /** @type {HTMLDialogElement | null} */ (document.getElementById(id));
  if (!dialog) return;
  if (dialog.open) {
    dialog.close();
    return;
  }
  dom.all("dialog[open]").forEach((other) => /** @type {HTMLDialogElement} */ (other).close());
  if (id === "shortcuts") listOwnKeys();
  dialog.dispatchEvent(new CustomEvent("popvision:open"));
  dialog.showModal();
}

function focusSearch() {
  /** @type {HTMLInputElement | null} */
  const box = document.querySelector("#page [data-search] input, #page input[type=search], #page .search input");
  if (box) {
    box.focus();
    box.select();
  }
}

/** @type {Record<string, () => void>} */
const ACTIONS = {
  "nav-theme": () => setTheme(root.dataset.theme === "dark" ? "light" : "dark"),
  "nav-collapse": foldMenu,
  "nav-reload": reload,
  "nav-shortcuts": () => toggleDialog("shortcuts"),
  "nav-preferences": () => toggleDialog("preferences"),
  "nav-palette": () => toggleDialog("palette"),
  "nav-help": () => toggleHelp(),
};

/** @param {number} index */
const linkOf = (index) =>
  /** @type {HTMLElement | null} */ (document.querySelector('.nav-views [data-index="' + index + '"]'));
/** @param {number} index */
function goToView(index) {
  const link = linkOf(index);
  if (link) go(hrefOf(link));
}
const canReload = () => document.querySelector('[data-action="nav-reload"]') !== null;
const { add } = commands;
add({
  title: "Search in this page",
  key: "/",
  keys: "/",
  run: focusSearch,
  when: () => document.querySelector("#page .search input") !== null,
});
add({ title: "Switch between light and dark", key: "t", keys: "t", run: ACTIONS["nav-theme"] });
add({ title: "Read the files again", key: "r", keys: "r", run: ACTIONS["nav-reload"], when: canReload });
add({
  title: "Fold or unfold the menu",
  key: "[",
  keys: "[",
  run: foldMenu,
  when: () => document.querySelector(".nav-views") !== null,
});
add({ title: "Help on this page", key: "h", keys: "h", run: ACTIONS["nav-help"] });
add({ title: "Show the keys", key: "?", keys: "?", run: ACTIONS["nav-shortcuts"] });
add({ title: "Catalogue of all reports", run: () => go("/catalogue") });
add({ title: "What if: other chips, tiles, memories", run: () => go("/what-if") });
add({ title: "Preferences: units, theme, reload", run: ACTIONS["nav-preferences"] });
for (let index = 1; index <= 9; index += 1)
  add({
    hidden: true,
    title: "View " + index,
    key: String(index),
    run: () => goToView(index),
    when: () => linkOf(index) !== null,
  });

document.addEventListener("click", (event) => {
  const button = dom.closest(event, "[data-action]");
  const action = button && ACTIONS[button.dataset.action || ""];
  if (action) {
    action();
    return;
  }
  const dialog = button && button.dataset.action === "close-dialog" && button.closest("dialog");
  if (dialog) {
    dialog.close();
    return;
  }
  const skip = dom.closest(event, ".skip-link");
  if (skip) {
    event.preventDefault();
    dom.part("#page").focus();
    return;
  }
  const link = dom.closest(event, "a[data-nav]");
  if (!link || event.button || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
  event.preventDefault();
  go(hrefOf(link));
});

/** @param {string} action */
const run = (action) => ACTIONS[action]();

export { run };
