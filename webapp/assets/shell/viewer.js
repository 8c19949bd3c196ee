// @ts-check
/* The selection and its URL, moving between pages, theme, parts drawn by scripts.

   select(patch)      merge {key: string or null}; writes the URL, hands the selection to every callback
   selectWindow(patch) the same of a plot's window: Back of the browser undoes it
   selection()        the current selection, a flat object of strings
   go(href)           move to another page without loading the frame again
   redraw()           build the page again where it is: units changed, or a report to compare with
   reload()           the same after reading the files again
   onSelect(fn)       call fn(selection, patch) on every change; returns a function that stops it
   theme()            "light" or "dark"; document receives the event "popvision:theme" when it changes
   token(name)        the value of a CSS variable of tokens.css
   mount(css, start)  call start(element) whenever a matching element appears; what it returns is called when
                                the element is gone
   hrefOf(link)       where a link of the menu leads with the selection of now
   remember(name, v)  keeps a text in this browser; recall(name) reads it back
   notice(text)       show a sentence at the bottom of the page
*/
import { all, closest } from "../shared/dom.js";
import { renewHtml } from "../shared/renew_html.js";
import { runAhead } from "./ahead.js";

const SHARED = ["tiles", "ipu", "program", "step", "liveness", "variable", "from", "to", "vs"];
const root = document.documentElement;
/** @type {Set<(selection: PageSelection, patch: Patch) => void>} */
const listeners = new Set();
/** @type {PageSelection} */
let current = read(window.location.search);
/** @type {string | null} */
let lastPath = null;
let turn = 0;
/* A window moves by hand where an input came this long ago (ms) at most; moves that follow each other within that time
   are a single one. */
const GESTURE = 1000;
let lastInput = -Infinity;
let lastMove = -Infinity;
const noteInput = () => (lastInput = performance.now());
for (const kind of ["wheel", "pointerup", "keydown"])
  document.addEventListener(kind, noteInput, { capture: true, passive: true });

/** @param {string} search */
function read(search) {
  return Object.fromEntries(new URLSearchParams(search));
}

/** @param {PageSelection} params */
function write(params) {
  const text = new URLSearchParams(params).toString().replace(/%2C/g, ",");
  return text ? "?" + text : "";
}

/**
 * @param {string | object} id
 * @param {Record<string, unknown>} props
 */
function setProps(id, props) {
  window.dash_clientside.set_props(id, props);
}

/**
 * What the browser remembers between visits; nothing in private mode.
 *
 * @param {string} name
 * @param {string} value
 */
function remember(name, value) {
  try {
    window.localStorage.setItem(name, value);
  } catch (_) {
    /* not remembered */
  }
}

/** @param {string} name */
function recall(name) {
  try {
    return window.localStorage.getItem(name);
  } catch (_) {
    return null;
  }
}

/** @param {Patch} patch */
function select(patch) {
  if (merge(patch)) tell(patch, false);
}

/**
 * What is seen of a plot. Back undoes what a gesture did, not what a recording that grows did.
 *
 * @param {Patch} patch
 */
function selectWindow(patch) {
  if (!merge(patch)) return;
  const now = performance.now();
  tell(patch, now - lastInput < GESTURE && now - lastMove > GESTURE);
  lastMove = now;
}

/**
 * Whether the selection is another than before.
 *
 * @param {Patch} patch
 */
function merge(patch) {
  const next = Object.assign({}, current);
  let changed = false;
  for (const [key, value] of Object.entries(patch || {})) {
    const text = value === null || value === undefined || value === "" ? undefined : String(value);
    if (next[key] === text) continue;
    changed = true;
    if (text === undefined) delete next[key];
    else next[key] = text;
  }
  if (changed) current = next;
  return changed;
}

/**
 * @param {Patch} patch
 * @param {boolean} isUndone whether Back leads to the selection before
 */
function tell(patch, isUndone) {
  const address = window.location.pathname + write(current);
  if (isUndone) window.history.pushState({}, "", address);
  else window.history.replaceState(window.history.state, "", address);
  setProps("selection", { data: current });
  listeners.forEach((listener) => listener(current, patch));
}

/**
 * Run after a pause, unless the reader has gone to another page meanwhile: what is selected would be the next page's.
 *
 * @param {() => void} run
 * @param {number} pause ms
 */
function later(run, pause) {
  const page = window.location.pathname;
  return window.setTimeout(() => {
    if (window.location.pathname === page) run();
  }, pause);
}

/* ---- moving between pages ---- */

/** @param {string} path */
function viewOf(path) {
  const parts = path.split("/");
  return parts.length > 3 ? parts.slice(1, 4).join("/") : null;
}

/* Extras of a view (its tab, its filter) return with the user; shared keys go to every view. */
function keepExtras() {
  const view = viewOf(window.location.pathname);
  if (!view) return;
  const extras = Object.fromEntries(Object.entries(current).filter(([key]) => !SHARED.includes(key)));
  try {
    window.sessionStorage.setItem("popvision:" + view, JSON.stringify(extras));
  } catch (_) {
    /* not kept */
  }
}

/** @param {HTMLElement} link */
function hrefOf(link) {
  const address = link.getAttribute("href") || "";
  const path = address.split("?")[0];
  if (link.dataset.nav !== "view" || path === window.location.pathname) return address;
  const shared = Object.fromEntries(Object.entries(current).filter(([key]) => SHARED.includes(key)));
  let extras = {};
  try {
    extras = JSON.parse(window.sessionStorage.getItem("popvision:" + viewOf(path)) || "{}");
  } catch (_) {
    /* none */
  }
  return path + write(Object.assign(extras, shared));
}

/** @param {string} href */
function go(href) {
  keepExtras();
  const before = window.location.pathname;
  window.history.pushState({}, "", href);
  window.dispatchEvent(new CustomEvent("_dashprivate_pushstate"));
  const page = document.getElementById("page");
  if (page && window.location.pathname !== before) page.scrollTop = 0;
}

function visit() {
  const query = window.location.search;
  const path = window.location.pathname;
  const moved = path !== lastPath;
  current = read(query);
  lastInput = lastMove = -Infinity;
  if (moved) {
    lastPath = path;
    notice("");
    window.setTimeout(() => runAhead());
    return [{ pathname: path, search: query, reload: 0 }, current, root.dataset.theme];
  }
  listeners.forEach((listener) => listener(current, current));
  return [window.dash_clientside.no_update, current, window.dash_clientside.no_update];
}

/**
 * Build the page again where it is; with `reading`, from its files. `turn` makes each visit a new one.
 *
 * @param {boolean} reading
 */
function rebuild(reading) {
  turn += 1;
  setProps("visit", {
    data: { pathname: window.location.pathname, search: window.location.search, reload: reading ? turn : 0, turn },
  });
}

/** @param {string} text */
function notice(text) {
  setProps("notice", { children: text });
}

const redraw = () => rebuild(false);
const reload = () => rebuild(true);

/* ---- theme and menu ---- */

const system = window.matchMedia("(prefers-color-scheme: dark)");

/**
 * "light" or "dark", or "auto" to follow the system.
 *
 * @param {string} choice
 */
function setTheme(choice) {
  root.dataset.themeChoice = choice;
  root.dataset.theme = choice === "auto" ? (system.matches ? "dark" : "light") : choice;
  remember("popvision.theme", choice);
  setProps("theme", { data: root.dataset.theme });
  document.dispatchEvent(new CustomEvent("popvision:theme", { detail: root.dataset.theme }));
}

system.addEventListener("change", () => {
  if (root.dataset.themeChoice === "auto") setTheme("auto");
});

document.addEventListener("popvision:preference", (event) => {
  if (/** @type {CustomEvent} */ (event).detail.name !== "reload") redraw();
});

/* A link opened in another tab carries the selection too. */
for (const kind of ["pointerdown", "focusin"]) {
  document.addEventListener(kind, (event) => {
    const link = closest(event, 'a[data-nav="view"]');
    if (link) link.setAttribute("href", hrefOf(link));
  });
}

/* ---- parts of pages that are drawn in JavaScript ---- */

/** @type {{ selector: string, start: (element: any) => (() => void) | undefined }[]} */
const mounts = [];
/** @type {Map<Element, (() => void) | null | undefined>} */
const mounted = new Map();

/**
 * @param {string} selector
 * @param {(element: any) => (() => void) | undefined} start
 */
function mount(selector, start) {
  mounts.push({ selector, start });
  lookForMounts();
}

function lookForMounts() {
  thaw();
  for (const [element, stop] of mounted) {
    if (!element.isConnected) {
      mounted.delete(element);
      if (stop) stop();
    }
  }
  for (const { selector, start } of mounts) {
    for (const element of document.querySelectorAll(selector)) {
      if (!mounted.has(element)) {
        mounted.set(element, null);
        mounted.set(element, start(element));
      }
    }
  }
}

/* Parts of a page come as HTML where no callback changes them (webapp/components/frozen.py), some again in the same
   element (components/renewed.py). A link of the menu that is built again because the page has changed keeps the
   focus. */
function thaw() {
  for (const element of document.querySelectorAll("[data-html]")) {
    const html = element.getAttribute("data-html") || "";
    if (element.firstChild) renewHtml(element, html);
    else element.innerHTML = html;
    element.removeAttribute("data-html");
    if (focused && document.activeElement === document.body) focusAgain(element);
  }
}

/** @param {Element} thawed */
function focusAgain(thawed) {
  const again = all("a[data-nav]", thawed).find((link) => pathOf(link) === focused);
  if (again) again.focus({ preventScroll: true });
}

/** @param {Element} link */
const pathOf = (link) => (link.getAttribute("href") || "").split("?")[0];
/* The path of the link of the menu that has the focus, or had it until it was taken away. */
let focused = "";
document.addEventListener("focusin", (event) => {
  const link = closest(event, ".nav-views a[data-nav]");
  focused = link ? pathOf(link) : "";
});
document.addEventListener("pointerdown", () => (focused = ""));

const changes = { childList: true, subtree: true, attributeFilter: ["data-html"] };
new MutationObserver(lookForMounts).observe(document, changes);

/** @param {(selection: PageSelection, patch: Patch) => void} listener */
function onSelect(listener) {
  listeners.add(listener);
  return () => {
    listeners.delete(listener);
  };
}

const selection = () => current;
const theme = () => root.dataset.theme || "light";
const themeChoice = () => root.dataset.themeChoice;
/** @param {string} name */
const token = (name) =>
  getComputedStyle(root)
    .getPropertyValue("--" + name)
    .trim();

const callbacks = {
  visit,
  /** @param {[string | object, Record<string, unknown>][] | null} parts ids and properties of components */
  setParts: (parts) => {
    (parts || []).forEach(([id, props]) => setProps(id, props));
    return window.dash_clientside.no_update;
  },
  /** @param {Patch} patch */
  mergeSelection: (patch) => {
    select(patch);
    return window.dash_clientside.no_update;
  },
};

export {
  mount,
  notice,
  select,
  selectWindow,
  later,
  go,
  redraw,
  reload,
  remember,
  recall,
  hrefOf,
  setTheme,
  selection,
  SHARED as sharedKeys,
  onSelect,
  theme,
  themeChoice,
  token,
  callbacks,
};
