// @ts-check
/* What the pages of many reports draw with: elements of HTML and SVG, figures as text, places on axes, and what a click
   on a report does. */
import { roundTicks } from "../shared/canvas/ticks.js";
import { byteTicks, bytesText, secondsText } from "../shared/formats.js";
import { go, notice } from "../shell/viewer.js";

const SVG = "http://www.w3.org/2000/svg";

function make(tag, className = "", text = "") {
  const element = document.createElement(tag);
  if (className) element.className = className;
  if (text) element.textContent = text;
  return element;
}

function draw(tag, attributes, text = "") {
  const element = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, String(value));
  if (text) element.textContent = text;
  return element;
}

const TEXTS = {
  bytes: (value) => bytesText(value),
  cycles: (value) => value.toLocaleString("en-US"),
  integer: (value) => value.toLocaleString("en-US"),
  percent: (value) => (100 * value).toFixed(2) + " %",
  seconds: (value) => secondsText(value),
  time: (value) => new Date(1000 * value).toISOString().slice(0, 16).replace("T", " "),
  decimal: (value) =>
    value.toLocaleString(
      "en-US",
      Math.abs(value) < 1000 ? { maximumSignificantDigits: 6 } : { maximumFractionDigits: 1 },
    ),
};

function cellText(value, kind) {
  if (value === null || value === "") return "\u2013";
  if (typeof value !== "number") return value;
  return (TEXTS[kind] || TEXTS.decimal)(value);
}

/* Round values of a figure on its axis; of bytes in the unit of the preferences. */
function ticksOf({ kind, labels }, { first, last }, most) {
  if (labels && labels.length) return labels.map((text, value) => ({ value, text }));
  if (kind === "bytes") return byteTicks(last, most).filter(({ value }) => value >= first && value <= last);
  return roundTicks(first, last, most).map((value) => ({ value, text: cellText(value, kind) }));
}

/* Places of the values of an axis, with room at both ends. */
function scaleOf(values, from, to) {
  const low = values.reduce((least, each) => Math.min(least, each), Infinity),
    high = values.reduce((most, each) => Math.max(most, each), -Infinity);
  const spare = high > low ? 0.04 * (high - low) : Math.abs(high) * 0.1 || 1;
  const [first, last] = [low - spare, high + spare];
  return { first, last, at: (value) => from + ((to - from) * (value - first)) / (last - first) };
}

/* The mark of what does not fit. */
const cross = (x, y) =>
  draw("path", { d: `M${x - 4} ${y - 4}l8 8m0 -8l-8 8`, class: "catalogue-unfit", "pointer-events": "bounding-box" });

/* What a click on a report does: it opens it; Shift-click chooses it, and the second one compares both. */
function chooser() {
  let source = "";
  return (event, key, name) => {
    if (!event.shiftKey) {
      go("/r/" + encodeURIComponent(key) + "/overview");
      return;
    }
    if (!source || source === key) {
      source = key;
      notice("Source: " + name + ". Shift-click another point to compare it with.");
      return;
    }
    go("/r/" + encodeURIComponent(source) + "/summary?vs=" + encodeURIComponent(key));
  };
}

export { make, draw, cellText, ticksOf, scaleOf, cross, chooser };
