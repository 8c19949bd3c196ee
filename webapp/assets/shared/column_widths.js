// @ts-check
/* Columns of a list drawn by a script, and the list beside it, as wide as the user draws them.

   keepWidths(area, name, [{ cell, column }], done) gives each heading a handle at its right edge: drag it,
   move it with the arrow keys, or double-click it for the width that the page gives. A width is the style variable
   --width-<column> of the area, which the style sheet reads; the browser remembers those of a name. done() is called
   after each change. Headings may be drawn anew: call it again. */
import { recall, remember } from "../shell/viewer.js";

const LEAST = 40;
const MOST = 2000;
const STEP = 10;

/** @param {string} title */
function makeHandle(title) {
  const handle = document.createElement("span");
  handle.className = "width-handle";
  handle.title = title + ": drag, or arrow keys; double click for the usual width";
  handle.tabIndex = 0;
  handle.setAttribute("role", "separator");
  handle.setAttribute("aria-orientation", "vertical");
  handle.setAttribute("aria-label", title);
  handle.addEventListener("click", (event) => event.stopPropagation());
  return handle;
}

/**
 * Call move(pixels) while the handle is dragged, and end() after it.
 *
 * @param {HTMLElement} handle
 * @param {() => (pixels: number) => void} begin
 * @param {() => void} end
 */
function onDrag(handle, begin, end) {
  handle.addEventListener("pointerdown", (event) => {
    if (event.button) return;
    event.preventDefault();
    handle.setPointerCapture(event.pointerId);
    const from = event.clientX;
    const move = begin();
    /** @param {PointerEvent} moved */
    const follow = (moved) => move(moved.clientX - from);
    handle.addEventListener("pointermove", follow);
    const stop = () => {
      handle.removeEventListener("pointermove", follow);
      end();
    };
    handle.addEventListener("lostpointercapture", stop, { once: true });
  });
}

/** @param {HTMLElement} cell */
const widthOf = (cell) => cell.getBoundingClientRect().width;

class Widths {
  /**
   * @param {HTMLElement} area
   * @param {string} name
   * @param {() => void} done
   */
  constructor(area, name, done) {
    this.area = area;
    this.done = done;
    this.key = "popvision.widths." + name;
  }

  /** @returns {Record<string, number>} */
  kept() {
    try {
      return JSON.parse(recall(this.key) || "{}");
    } catch (_) {
      return {};
    }
  }

  /**
   * @param {string} column
   * @param {number | null} width
   */
  set(column, width) {
    if (width === null) this.area.style.removeProperty("--width-" + column);
    else this.area.style.setProperty("--width-" + column, Math.round(Math.min(MOST, Math.max(LEAST, width))) + "px");
    this.done();
  }

  /** @param {string} column */
  keep(column) {
    const widths = this.kept();
    const text = this.area.style.getPropertyValue("--width-" + column);
    if (text) widths[column] = parseFloat(text);
    else delete widths[column];
    remember(this.key, JSON.stringify(widths));
  }

  /** @param {{ cell: HTMLElement, column: string }} heading */
  add({ cell, column }) {
    if (cell.querySelector(":scope > .width-handle")) return;
    const handle = makeHandle("Width of " + (cell.getAttribute("aria-label") || cell.textContent || column));
    const kept = this.kept()[column];
    if (kept) this.set(column, kept);
    const say = () => handle.setAttribute("aria-valuenow", String(Math.round(widthOf(cell))));
    const end = () => {
      this.keep(column);
      say();
    };
    const begin = () => {
      const before = widthOf(cell);
      return (/** @type {number} */ pixels) => this.set(column, before + pixels);
    };
    onDrag(handle, begin, end);
    handle.addEventListener("dblclick", () => {
      this.set(column, null);
      end();
    });
    handle.addEventListener("keydown", (event) => {
      const steps = event.key === "ArrowRight" ? 1 : event.key === "ArrowLeft" ? -1 : 0;
      if (!steps) return;
      event.preventDefault();
      event.stopPropagation();
      this.set(column, widthOf(cell) + steps * STEP);
      end();
    });
    cell.append(handle);
    say();
  }
}

/**
 * @param {HTMLElement} area
 * @param {string} name
 * @param {{ cell: HTMLElement, column: string }[]} headings
 * @param {() => void} [done]
 */
function keepWidths(area, name, headings, done) {
  const widths = new Widths(area, name, done || (() => undefined));
  headings.forEach((heading) => widths.add(heading));
}

export { keepWidths };
