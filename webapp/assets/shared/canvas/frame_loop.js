// @ts-check
/* What every canvas does besides drawing: one frame per change, the size of its host, listeners that end with it. */
import { contextOf } from "./pens.js";

/** Draws at most once per animation frame, and only after schedule(). */
class FrameLoop {
  /** @param {(now: number) => void} draw `now` is the time of the frame, ms */
  constructor(draw) {
    this.draw = draw;
    this.frame = 0;
    this.stopped = false;
    /** @param {number} now */
    this.step = (now) => {
      this.frame = 0;
      if (!this.stopped) this.draw(now);
    };
  }

  schedule() {
    if (!this.frame && !this.stopped) this.frame = window.requestAnimationFrame(this.step);
  }

  stop() {
    this.stopped = true;
    window.cancelAnimationFrame(this.frame);
    this.frame = 0;
  }
}

/** Listeners and observers that end together. */
class Listeners {
  constructor() {
    /** @type {(() => void)[]} */
    this.stops = [];
  }

  /**
   * @param {EventTarget} target
   * @param {string} kind
   * @param {(event: any) => void} listener
   * @param {AddEventListenerOptions} [options]
   */
  on(target, kind, listener, options) {
    target.addEventListener(kind, listener, options);
    this.stops.push(() => target.removeEventListener(kind, listener, options));
  }

  /**
   * @param {Element} element
   * @param {() => void} resized
   */
  onResize(element, resized) {
    const observer = new ResizeObserver(resized);
    observer.observe(element);
    this.stops.push(() => observer.disconnect());
  }

  /** @param {() => void} stop */
  add(stop) {
    this.stops.push(stop);
  }

  stop() {
    this.stops.forEach((stop) => stop());
    this.stops = [];
  }
}

/**
 * Give a canvas the pixels of `width` x `height` at the screen's scale, which is returned.
 *
 * @param {HTMLCanvasElement} canvas
 * @param {number} width
 * @param {number} height
 */
function setPixels(canvas, width, height) {
  const scale = window.devicePixelRatio || 1;
  const [wide, high] = [Math.round(width * scale), Math.round(height * scale)];
  if (canvas.width !== wide || canvas.height !== high) Object.assign(canvas, { width: wide, height: high });
  return scale;
}

/**
 * The same for a canvas that no style sheet sizes.
 *
 * @param {HTMLCanvasElement} canvas
 * @param {number} width
 * @param {number} height
 */
function sizeCanvas(canvas, width, height) {
  canvas.style.width = width + "px";
  canvas.style.height = height + "px";
  return setPixels(canvas, width, height);
}

/**
 * A cleared context in pixels of the page, on a canvas that the style sheet gives `width` x `height`.
 *
 * @param {HTMLCanvasElement} canvas
 * @param {number} width
 * @param {number} height
 */
function clearedContext(canvas, width, height) {
  const scale = setPixels(canvas, width, height);
  const draw = contextOf(canvas);
  draw.setTransform(scale, 0, 0, scale, 0, 0);
  draw.clearRect(0, 0, width, height);
  return draw;
}

export { FrameLoop, Listeners, sizeCanvas, clearedContext };
