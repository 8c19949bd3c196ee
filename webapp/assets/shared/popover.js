// @ts-check
/* Popovers (details.popover) whole on the screen: one that a pane or the window would cut is placed over the page. */
import { all } from "./dom.js";

const MARGIN = 8;

/**
 * The part of the window in which an element is seen: inside every ancestor that hides what goes beyond it.
 *
 * @param {Element} element
 */
function visibleRoom(element) {
  const room = { left: 0, top: 0, right: window.innerWidth, bottom: window.innerHeight };
  for (let above = element.parentElement; above; above = above.parentElement) {
    if (getComputedStyle(above).overflow === "visible") continue;
    const box = above.getBoundingClientRect();
    room.left = Math.max(room.left, box.left);
    room.top = Math.max(room.top, box.top);
    room.right = Math.min(room.right, box.right);
    room.bottom = Math.min(room.bottom, box.bottom);
  }
  return room;
}

/**
 * Where something of a length begins so that it ends within the window.
 *
 * @param {number} begin
 * @param {number} length
 * @param {number} limit
 */
const within = (begin, length, limit) => Math.max(MARGIN, Math.min(begin, limit - length - MARGIN));

/** @param {HTMLElement} box */
function place(box) {
  const natural = box.getBoundingClientRect();
  const room = visibleRoom(box);
  const isWhole =
    natural.left >= room.left &&
    natural.right <= room.right &&
    natural.top >= room.top &&
    natural.bottom <= room.bottom;
  if (isWhole) return;
  const left = within(natural.left, natural.width, window.innerWidth);
  const top = within(natural.top, natural.height, window.innerHeight);
  Object.assign(box.style, { position: "fixed", right: "auto", left: "0", top: "0", width: natural.width + "px" });
  const origin = box.getBoundingClientRect(); /* not the window's corner below a pane with containment */
  Object.assign(box.style, { left: left - origin.left + "px", top: top - origin.top + "px" });
}

document.addEventListener(
  "toggle",
  (event) => {
    const popover = event.target;
    if (!(popover instanceof HTMLDetailsElement) || !popover.classList.contains("popover")) return;
    /** @type {HTMLElement | null} */
    const box = popover.querySelector(":scope > .popover-box");
    if (!box) return;
    box.removeAttribute("style");
    if (popover.open) place(box);
  },
  true,
);
/* A popover over the page would stay where it was while its button scrolls away. */
document.addEventListener(
  "scroll",
  (event) => {
    for (const open of all("details.popover[open]")) {
      const box = open.querySelector(":scope > .popover-box");
      const scrolled = event.target;
      if (box instanceof HTMLElement && box.style.position === "fixed" && scrolled instanceof Node)
        if (scrolled.contains(open) && !box.contains(scrolled)) open.removeAttribute("open");
    }
  },
  true,
);
