// @ts-check
/* Keys of a canvas: whether they are meant for it, and a held key that moves the view in every frame. */
import { isTyping } from "../../shell/commands.js";

const HOLD_AFTER = 200; /* ms until a held key moves smoothly */
const PAN_SPEED = 1; /* windows a second */
const ZOOM_SPEED = 5; /* factor a second */
const PAN_STEP = 0.08; /* of the window, at once */
const ZOOM_STEP = 1.3;

/**
 * Whether a key belongs to a canvas: it or the page has the focus, no dialog is open and nobody types.
 *
 * @param {KeyboardEvent} event
 * @param {Element} host
 * @param {boolean} [alone] the canvas takes keys of the page as well
 */
function isMeantFor(event, host, alone = true) {
  const target = event.target;
  if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey) return false;
  if (!(target instanceof Element) || isTyping(target)) return false;
  if (document.querySelector("dialog[open], details.popover[open]")) return false;
  return (alone && (target === document.body || target.id === "page")) || host.contains(target);
}

/**
 * What a held key does to a time axis: at once when `seconds` is null, else in a frame of that length.
 *
 * @type {Record<string, (viewport: Canvas.Viewport, seconds: number | null, x: number) => void>}
 */
const HELD = {
  left: (viewport, seconds) => viewport.pan(-panShare(seconds) * viewport.width),
  right: (viewport, seconds) => viewport.pan(panShare(seconds) * viewport.width),
  "zoom-in": (viewport, seconds, x) => viewport.zoom(zoomFactor(seconds), x),
  "zoom-out": (viewport, seconds, x) => viewport.zoom(1 / zoomFactor(seconds), x),
};
/** @type {Record<string, string>} */
const BY_KEY = { "+": "zoom-in", "=": "zoom-in", "-": "zoom-out", _: "zoom-out" };

/** @param {number | null} seconds */
const panShare = (seconds) => (seconds === null ? PAN_STEP : PAN_SPEED * seconds);
/** @param {number | null} seconds */
const zoomFactor = (seconds) => (seconds === null ? ZOOM_STEP : Math.pow(ZOOM_SPEED, seconds));

/**
 * Home, End and pages of a time axis; true when the key is one of them.
 *
 * @param {Canvas.Viewport} viewport
 * @param {string} key
 */
function moveWindow(viewport, key) {
  if (key === "Home") viewport.pan(-Infinity);
  else if (key === "End") viewport.pan(Infinity);
  else if (key === "PageUp") viewport.pan(-0.9 * viewport.width);
  else if (key === "PageDown") viewport.pan(0.9 * viewport.width);
  else return false;
  return true;
}

/** A key that is held: `act(null)` at once, then `act(seconds)` in every frame, until it is released. */
class HeldKey {
  /** @param {Canvas.Listeners} listeners */
  constructor(listeners) {
    /** @type {((seconds: number | null) => void) | null} */
    this.act = null;
    this.since = 0;
    this.before = 0;
    listeners.on(document, "keyup", () => this.release());
    listeners.on(window, "blur", () => this.release());
  }

  /** @param {(seconds: number | null) => void} act */
  press(act) {
    act(null);
    this.act = act;
    this.since = performance.now();
    this.before = 0;
  }

  release() {
    this.act = null;
  }

  /**
   * Called in every frame. True when another frame is needed.
   *
   * @param {number} now ms
   */
  hold(now) {
    if (!this.act) return false;
    if (now - this.since < HOLD_AFTER) return true;
    const seconds = this.before ? Math.min(0.1, (now - this.before) / 1000) : 1 / 60;
    this.before = now;
    this.act(seconds);
    return true;
  }
}

export { isMeantFor, HELD, BY_KEY, moveWindow, HeldKey };
