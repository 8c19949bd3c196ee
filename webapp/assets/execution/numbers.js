// @ts-check
/* Numbers as text, and round positions of the axis. Cycles are device cycles; time is cycles divided by the
   device clock. */
import { roundStep } from "../shared/canvas/ticks.js";
import { GRAIN } from "../shared/canvas/viewport.js";
import { bytesText } from "../shared/formats.js";
import { notice } from "../shell/viewer.js";

/** @type {[string, number][]} */
const UNITS = [
  ["s", 1],
  ["ms", 1e-3],
  ["µs", 1e-6],
  ["ns", 1e-9],
];

const integer = (value) => Math.round(value).toLocaleString("en-US");
const percent = (share) =>
  share === null || share === undefined ? "–" : (100 * share).toFixed(share < 0.1 ? 2 : 1) + " %";

const bytes = (value) => bytesText(value);

function unitOf(value) {
  return UNITS.find((unit) => value >= unit[1]) || UNITS[UNITS.length - 1];
}

function seconds(value) {
  const [name, size] = unitOf(value);
  return Number((value / size).toPrecision(4)).toLocaleString("en-US") + " " + name;
}

const cyclesText = (cycles, clock, asTime) => (asTime ? seconds(cycles / clock) : integer(cycles) + " cycles");

/* Round positions in [from, to] about `apart` pixels from each other: {cycle, text}. */
function ticks(viewport, apart, clock, asTime) {
  const perUnit = asTime ? clock : 1;
  const least = (apart * viewport.pitch) / GRAIN / perUnit;
  const step = asTime ? roundStep(least) : Math.max(1, Math.round(roundStep(Math.max(1, least))));
  const [unit, size] = unitOf(step * 20);
  const digits = asTime ? Math.max(0, Math.ceil(-Math.log10(step / size) - 1e-9)) : 0;
  const list = [];
  const end = viewport.to / perUnit;
  for (let index = Math.ceil(viewport.from / perUnit / step); index * step <= end && list.length < 400; index += 1) {
    const value = index * step;
    const text = asTime
      ? (value / size).toLocaleString("en-US", { minimumFractionDigits: digits, maximumFractionDigits: digits }) +
        " " +
        unit
      : integer(value);
    list.push({ cycle: value * perUnit, text });
  }
  return list;
}

/* Show a problem in the notice bar of the page. */
const complain = (problem) => notice("Execution trace: " + problem.message);

export { complain, integer, percent, bytes, seconds, cyclesText, ticks };
