// @ts-check
/* The colour scales of maps on canvases, from the tokens of the theme; webapp/base/theme.py gives Plotly the same ones.

   colourScale(kind)          Uint32Array of 256 pixels for ImageData (kind "sequential" or "diverging")
   scaleColour(kind, share)   "rgb(r, g, b)" at a share 0..1; diverging: 0 = less, 0.5 = equal, 1 = more
   Ask again after "popvision:theme": arrays are kept per theme.
*/
import { theme, token } from "../shell/viewer.js";

const STOPS = 7;
const NAMES = { sequential: "seq", diverging: "div" };
/** @type {Map<string, Uint32Array>} pixels by kind and theme */
const scales = new Map();

/** @param {ScaleKind} kind */
function stopsOf(kind) {
  return Array.from({ length: STOPS }, (_, index) => {
    const hex = token("scale-" + NAMES[kind] + "-" + index);
    return [1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16));
  });
}

/**
 * @param {number[][]} stops
 * @param {number} share
 */
function mixed(stops, share) {
  const at = Math.max(0, Math.min(1, share)) * (STOPS - 1);
  const first = Math.min(STOPS - 2, Math.floor(at));
  return stops[first].map((channel, index) => Math.round(channel + (stops[first + 1][index] - channel) * (at - first)));
}

/** @param {ScaleKind} kind */
function colourScale(kind) {
  const name = kind + " " + theme();
  const known = scales.get(name);
  if (known) return known;
  const stops = stopsOf(kind);
  const bytes = new Uint8ClampedArray(4 * 256);
  for (let at = 0; at < 256; at += 1) bytes.set([...mixed(stops, at / 255), 255], 4 * at);
  const pixels = new Uint32Array(bytes.buffer);
  scales.set(name, pixels);
  return pixels;
}

/**
 * @param {ScaleKind} kind
 * @param {number} share
 */
const scaleColour = (kind, share) => "rgb(" + mixed(stopsOf(kind), share).join(", ") + ")";

export { colourScale, scaleColour };
