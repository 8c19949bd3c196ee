// @ts-check
/* Controls of one key of the selection: [data-param] on selects, boxes, switches and segments (components/toolbar.py).
   A control writes its key when it is used, and shows the selection's value when something else changes it. */
import { onSelect, select } from "../shell/viewer.js";
import { all, closest, neighbour, part, siblings } from "./dom.js";

const TYPED = ".search[data-param], .number-box[data-param]";
const REST = 200; /* ms without a keystroke before typed text is written */
/** @type {Map<string, number>} */
const timers = new Map();

/**
 * @param {string | undefined} param
 * @param {string | undefined} value
 */
function write(param, value) {
  if (param === undefined) return;
  window.clearTimeout(timers.get(param));
  timers.delete(param);
  select({ [param]: value });
}

/* ---- a control is used ---- */

document.addEventListener("change", (event) => {
  const menu = event.target;
  if (menu instanceof HTMLSelectElement && menu.dataset.param) write(menu.dataset.param, menu.value);
});

document.addEventListener("input", (event) => {
  const box = closest(event, TYPED);
  const input = event.target;
  if (!box || !(input instanceof HTMLInputElement)) return;
  const param = box.dataset.param || "";
  const path = window.location.pathname; /* a page left meanwhile must not write into the next one's address */
  window.clearTimeout(timers.get(param));
  const later = window.setTimeout(() => {
    if (window.location.pathname === path && box.isConnected) write(param, input.value);
  }, REST);
  timers.set(param, later);
});

document.addEventListener("keydown", (event) => {
  const box = closest(event, TYPED);
  const input = event.target;
  if (box && input instanceof HTMLInputElement) {
    if (event.key === "Enter") write(box.dataset.param, input.value);
    if (event.key === "Escape") input.blur();
  }
  const segment = closest(event, ".segment");
  if (segment && (event.key === "ArrowRight" || event.key === "ArrowLeft")) {
    event.preventDefault();
    const next = neighbour(segment, event.key === "ArrowRight" ? 1 : -1);
    next.focus();
    next.click();
  }
});

document.addEventListener("click", (event) => {
  const control = closest(event, "button[data-param]");
  if (control && control.classList.contains("toggle")) {
    const on = control.getAttribute("aria-checked") !== "true";
    control.setAttribute("aria-checked", String(on));
    write(control.dataset.param, on ? control.dataset.on : control.dataset.off);
  } else if (control && control.classList.contains("segment")) {
    for (const each of siblings(control)) each.setAttribute("aria-checked", String(each === control));
    write(control.dataset.param, control.dataset.value);
  }
});

/* ---- the selection changed ---- */

/**
 * A box that is being typed in keeps its text.
 *
 * @param {HTMLElement} box
 * @param {string} value
 */
function showTyped(box, value) {
  const input = box.querySelector("input");
  if (!input || input === document.activeElement || input.value === value || !input.id) return;
  window.dash_clientside.set_props(input.id, { value });
}

/**
 * @param {HTMLElement} control
 * @param {string} value
 */
function show(control, value) {
  if (control instanceof HTMLSelectElement) {
    if (Array.from(control.options).some((option) => option.value === value)) control.value = value;
    else if (value === "") control.selectedIndex = 0;
  } else if (control.classList.contains("segment")) {
    control.setAttribute("aria-checked", String(control.dataset.value === value));
  } else if (control.classList.contains("toggle")) {
    control.setAttribute("aria-checked", String(value === control.dataset.on));
  } else if (control.matches(TYPED)) showTyped(control, value);
}

document.addEventListener("DOMContentLoaded", () =>
  onSelect((selection, patch) => {
    for (const control of all("#page [data-param]")) {
      const param = control.dataset.param || "";
      if (param in patch) show(control, selection[param] || "");
    }
  }),
);

/* ---- popovers close when something else is clicked, or on Escape ---- */

document.addEventListener("click", (event) => {
  for (const open of all("details.popover[open]")) {
    if (event.target instanceof Node && !open.contains(event.target)) open.removeAttribute("open");
  }
});

document.addEventListener("keydown", (event) => {
  if (event.key !== "Escape") return;
  for (const open of all("details.popover[open]")) {
    open.removeAttribute("open");
    part("summary", open).focus();
  }
});
