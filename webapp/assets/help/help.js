// @ts-check
/* Help: the documents in a pane beside the page, and as pages at /help/NAME. Elements [data-help] hold a search and a
   document; links [data-help-link] within one lead to a section there, [data-help-place] to the chapter of the page,
   [data-help-open] to another chapter, in the pane. */
import { all, closest, part } from "../shared/dom.js";
import { go, mount } from "../shell/viewer.js";

const root = document.documentElement;
/** @type {Map<string, Promise<string>>} */
const documents = new Map();
/* The chapter that the pane opened for a page; it follows the page until the reader goes elsewhere. */
let followed = "";

const pane = () => document.getElementById("help-pane");
const isOpen = () => pane()?.hidden === false;

/** @param {string} href */
function placeOf(href) {
  const address = new URL(href, window.location.href);
  return { name: address.pathname.split("/")[2] || "", section: decodeURIComponent(address.hash.slice(1)) };
}

/** @param {string} name */
function fetchDocument(name) {
  let text = documents.get(name);
  if (!text) {
    text = fetch("/data/help/document/" + encodeURIComponent(name)).then((answer) => {
      if (!answer.ok) throw new Error("no document " + name);
      return answer.text();
    });
    text.catch(() => documents.delete(name));
    documents.set(name, text);
  }
  return text;
}

/**
 * Show a section of a document, without a name that of the document shown.
 *
 * @param {HTMLElement} box
 * @param {string} name
 * @param {string} section
 * @param {boolean} focus
 */
async function show(box, name, section, focus) {
  const article = part(".help-text", box);
  const wanted = name || box.dataset.help || "";
  listFound(box, null);
  if (article.dataset.document !== wanted) {
    box.dataset.help = wanted;
    try {
      const text = await fetchDocument(wanted);
      if (box.dataset.help !== wanted) return;
      article.innerHTML = text;
    } catch (_) {
      article.textContent = "This part of the help cannot be read.";
    }
    article.dataset.document = wanted;
  }
  const page = box.querySelector("[data-help-page]");
  if (page) page.setAttribute("href", "/help/" + wanted + (section ? "#" + section : ""));
  const heading = all("[data-section]", article).find((each) => each.dataset.section === section);
  const target = heading || article;
  if (focus) target.focus({ preventScroll: true });
  if (heading) heading.scrollIntoView({ block: "start" });
  else article.scrollTop = 0;
}

/* ---- search ---- */

/**
 * @param {HTMLElement} box
 * @param {{ rows: { href: string, title: string, heading: string, excerpt: string }[], most: number } | null} answer
 */
function listFound(box, answer) {
  const list = part(".help-found", box);
  const count = part(".help-count", box);
  list.hidden = count.hidden = !answer;
  part(".help-text", box).hidden = Boolean(answer);
  list.replaceChildren();
  if (!answer) return;
  const { rows, most } = answer;
  count.textContent =
    rows.length === 0
      ? "No section has all these words."
      : rows.length === most
        ? "The first " + most + " sections"
        : rows.length + (rows.length === 1 ? " section" : " sections");
  for (const row of rows) {
    const link = document.createElement("a");
    link.href = row.href;
    link.dataset.helpLink = "";
    link.textContent = row.heading === row.title ? row.title : row.title + ": " + row.heading;
    const text = document.createElement("p");
    text.textContent = row.excerpt;
    const item = document.createElement("li");
    item.append(link, text);
    list.append(item);
  }
}

/**
 * @param {HTMLElement} box
 * @param {string} words
 */
async function find(box, words) {
  if (!words.trim()) {
    listFound(box, null);
    return;
  }
  const answer = await fetch("/data/help/find?words=" + encodeURIComponent(words));
  const field = /** @type {HTMLInputElement} */ (box.querySelector("[data-help-find]"));
  if (answer.ok && field.value === words) listFound(box, await answer.json());
}

mount("[data-help-box]", (place) => {
  const field = Object.assign(document.createElement("input"), {
    type: "search",
    className: "box",
    placeholder: "Search the help",
    autocomplete: "off",
    spellcheck: false,
  });
  field.dataset.helpFind = "";
  field.setAttribute("aria-label", "Search the help");
  place.append(field);
  return () => field.remove();
});

document.addEventListener("input", (event) => {
  const field = event.target;
  if (!(field instanceof HTMLInputElement) || !field.matches("[data-help-find]")) return;
  const box = /** @type {HTMLElement | null} */ (field.closest(".manual"));
  if (box) find(box, field.value);
});

document.addEventListener("keydown", (event) => {
  const box = /** @type {HTMLElement | null} */ (closest(event, ".manual"));
  if (!box) return;
  if (event.key === "Enter" && closest(event, "[data-help-find]")) {
    const first = /** @type {HTMLElement | null} */ (box.querySelector(".help-found a"));
    if (first) first.click();
  }
});

/* ---- the pane and the pages ---- */

const placeLink = () => /** @type {HTMLAnchorElement | null} */ (document.querySelector("[data-help-place]"));

/** @param {string} href */
function openPane(href) {
  const box = pane();
  if (!box) return;
  const { name, section } = placeOf(href);
  if (box.hidden) {
    box.hidden = false;
    root.dataset.help = "open";
    window.dispatchEvent(new Event("resize"));
  }
  followed = href;
  show(box, name, section, true);
}

function toggle() {
  const box = pane();
  if (!box) return;
  const onPage = document.querySelector("#page .manual [data-help-find]");
  if (onPage instanceof HTMLInputElement) {
    onPage.focus();
    onPage.select();
    return;
  }
  if (box.hidden) {
    openPane(placeLink()?.getAttribute("href") || "/help/questions");
    return;
  }
  box.hidden = true;
  delete root.dataset.help;
  window.dispatchEvent(new Event("resize"));
  placeLink()?.focus();
}

/* Escape closes the pane from the page too, before the page undoes a selection; fields, dialogues and open menus
   come first. */
document.addEventListener(
  "keydown",
  (event) => {
    if (event.key !== "Escape" || !isOpen() || document.querySelector("dialog[open], details.popover[open]")) return;
    const isInPane = closest(event, "#help-pane") !== null;
    if (!isInPane && closest(event, "input, textarea, select, .ag-popup") !== null) return;
    event.stopPropagation();
    toggle();
  },
  true,
);

document.addEventListener("click", (event) => {
  if (event.button || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
  const place = closest(event, "[data-help-place], [data-help-open]");
  if (place && pane()) {
    event.preventDefault();
    openPane(place.getAttribute("href") || "");
    return;
  }
  const link = closest(event, "[data-help-link]");
  if (!link) return;
  event.preventDefault();
  const href = link.getAttribute("href") || "";
  const box = /** @type {HTMLElement | null} */ (link.closest(".manual"));
  const { name, section } = href.startsWith("#") ? { name: "", section: href.slice(1) } : placeOf(href);
  if (box && box.id === "help-pane") {
    followed = "";
    show(box, name, section, true);
  } else if (box && (!name || name === box.dataset.help)) {
    window.history.pushState({}, "", "#" + section);
    show(box, "", section, true);
  } else go(href);
});

mount("#page [data-help]", (box) => {
  if (isOpen()) toggleClosed();
  show(box, box.dataset.help, placeOf(window.location.href).section, false);
  const follow = () => show(box, "", placeOf(window.location.href).section, false);
  window.addEventListener("hashchange", follow);
  return () => window.removeEventListener("hashchange", follow);
});

/* A page of the help does not need the pane. */
function toggleClosed() {
  const box = pane();
  if (!box) return;
  box.hidden = true;
  delete root.dataset.help;
}

mount("[data-help-place]", (link) => {
  const href = link.getAttribute("href") || "";
  if (isOpen() && followed && followed !== href) {
    const { name, section } = placeOf(href);
    followed = href;
    show(part("#help-pane"), name, section, false);
  }
  return undefined;
});

export { toggle as toggleHelp };
