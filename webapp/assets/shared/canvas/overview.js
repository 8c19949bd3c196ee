// @ts-check
/* Window of a time axis in the overview above it: drawn over the picture, moved by its body, resized by its two
   handles. */
import { GRAIN } from "./viewport.js";

const HANDLE = 7; /* pixels */

/**
 * Pixels [from, to) of the window in the overview.
 *
 * @param {Canvas.Viewport} viewport
 * @returns {[number, number]}
 */
function windowIn(viewport) {
  const scale = viewport.pitch / viewport.fitPitch;
  const left = viewport.first * scale;
  return [left, Math.max(left + 2, Math.min(viewport.width, (viewport.first + viewport.width) * scale))];
}

/**
 * @param {CanvasRenderingContext2D} draw
 * @param {Record<string, string>} colours tokens of the theme
 * @param {Canvas.Viewport} viewport
 * @param {{x: number, y: number, height: number}} area of the overview's picture
 */
function drawWindow(draw, colours, viewport, { x: left, y, height }) {
  const [from, to] = windowIn(viewport);
  draw.globalAlpha = 0.62;
  draw.fillStyle = colours.surface;
  draw.fillRect(left, y, from, height);
  draw.fillRect(left + to, y, viewport.width - to, height);
  draw.globalAlpha = 1;
  draw.strokeStyle = colours.accent;
  draw.lineWidth = 1;
  draw.strokeRect(left + Math.round(from) + 0.5, y - 0.5, Math.max(1, Math.round(to - from) - 1), height + 1);
  for (const x of [from, to]) {
    const at = Math.round(Math.max(HANDLE / 2, Math.min(viewport.width - HANDLE / 2, x)) - HANDLE / 2);
    draw.fillStyle = colours.raised;
    draw.beginPath();
    draw.roundRect(left + at + 0.5, y - 2.5, HANDLE - 1, height + 5, 2);
    draw.fill();
    draw.stroke();
    draw.beginPath();
    draw.moveTo(left + at + HANDLE / 2, y + height / 2 - 3);
    draw.lineTo(left + at + HANDLE / 2, y + height / 2 + 3);
    draw.stroke();
  }
}

/**
 * What lies at a pixel of the overview.
 *
 * @param {Canvas.Viewport} viewport
 * @param {number} x
 * @returns {"from" | "to" | "window" | "outside"}
 */
function partAt(viewport, x) {
  const [from, to] = windowIn(viewport);
  if (Math.abs(x - from) <= HANDLE && Math.abs(x - from) <= Math.abs(x - to)) return "from";
  if (Math.abs(x - to) <= HANDLE) return "to";
  return x >= from && x <= to ? "window" : "outside";
}

/**
 * Begin a drag in the overview; a press outside the window brings its middle there. The answer moves the drag to a
 * pixel of the overview.
 *
 * @param {Canvas.Viewport} viewport
 * @param {number} x
 * @returns {(x: number) => void}
 */
function grip(viewport, x) {
  const part = partAt(viewport, x);
  const [left, right] = windowIn(viewport);
  if (part === "outside") viewport.pan(((x - (left + right) / 2) * viewport.fitPitch) / viewport.pitch);
  const { first, from, to } = viewport;
  return (now) => {
    const at = Math.max(0, Math.min(viewport.total, (now * viewport.fitPitch) / GRAIN));
    if (part === "from") viewport.show(Math.min(at, to - 1), to);
    else if (part === "to") viewport.show(from, Math.max(at, from + 1));
    else viewport.moveTo(first + ((now - x) * viewport.fitPitch) / viewport.pitch);
  };
}

export { windowIn, drawWindow, partAt, grip };
