// @ts-check
/* Handles of webapp/components/split.py: drag, arrow keys, Home, double click. The browser remembers places by name. */
import { recall, remember } from "../shell/viewer.js";
import { all, closest, part } from "./dom.js";

const STEPS = { ArrowUp: -2, ArrowLeft: -2, ArrowDown: 2, ArrowRight: 2, PageUp: -10, PageDown: 10 }; /* percent */

/** @param {HTMLElement} box */
const nameOf = (box) => "popvision.split." + box.dataset.split;
/** @param {HTMLElement} handle */
const boxOf = (handle) => /** @type {HTMLElement} */ (handle.parentElement);

/**
 * @param {HTMLElement} box
 * @param {number} percent share of the first pane
 * @param {boolean} keep remember it
 */
function place(box, percent, keep) {
  const value = Math.min(90, Math.max(10, percent));
  box.style.setProperty("--split", value.toFixed(2) + "%");
  part(".split-handle", box).setAttribute("aria-valuenow", String(Math.round(value)));
  box.dataset.moved = "yes";
  if (keep) remember(nameOf(box), value.toFixed(2));
  window.dispatchEvent(new Event("resize"));
}

/** @param {HTMLElement} box */
function restore(box) {
  if (box.dataset.placed) return;
  box.dataset.placed = "yes";
  const stored = recall(nameOf(box));
  if (stored !== null && Number.isFinite(Number(stored))) place(box, Number(stored), false);
}

/**
 * @param {HTMLElement} box
 * @param {PointerEvent} event
 */
function percentAt(box, event) {
  const area = box.getBoundingClientRect();
  return box.classList.contains("split-rows")
    ? (100 * (event.clientY - area.top)) / area.height
    : (100 * (event.clientX - area.left)) / area.width;
}

document.addEventListener("pointerdown", (event) => {
  const handle = closest(event, ".split-handle");
  if (!handle || event.button) return;
  const box = boxOf(handle);
  handle.setPointerCapture(event.pointerId);
  /** @param {PointerEvent} each */
  const move = (each) => place(box, percentAt(box, each), false);
  /** @param {PointerEvent} each */
  const stop = (each) => {
    handle.removeEventListener("pointermove", move);
    place(box, percentAt(box, each), true);
  };
  handle.addEventListener("pointermove", move);
  handle.addEventListener("pointerup", stop, { once: true });
  event.preventDefault();
  handle.focus();
});

document.addEventListener("dblclick", (event) => {
  const handle = closest(event, ".split-handle");
  if (handle) place(boxOf(handle), Number(boxOf(handle).dataset.percent), true);
});

document.addEventListener("keydown", (event) => {
  const handle = event.target;
  if (!(handle instanceof HTMLElement) || !handle.classList.contains("split-handle")) return;
  const box = boxOf(handle);
  const step = /** @type {Record<string, number | undefined>} */ (STEPS)[event.key];
  if (event.key !== "Home" && step === undefined) return;
  const now = parseFloat(box.style.getPropertyValue("--split"));
  event.preventDefault();
  place(box, step === undefined ? Number(box.dataset.percent) : now + step, true);
});

new MutationObserver(() => all("[data-split]").forEach(restore)).observe(document, {
  childList: true,
  subtree: true,
});
