// @ts-check
/* Numbers as text in the user's units; the same rules as webapp/base/formats.py.

     bytesText(n)            "624.0 KiB", "639.0 kB" or "638,976 B"
     cyclesText(n, clock)    "1,234,567", or "928 µs" (clock in Hz; default: the report's)
     secondsText(s)          "340 µs"
     byteTicks(top, most)    [{value, text}], round in the user's unit
     clock()                 device clock of the report shown, Hz; 0 when unknown
*/
import { preference } from "../shell/preferences.js";

/** @type {Record<string, [string[], number]>} */
const UNITS = {
  binary: [["B", "KiB", "MiB", "GiB", "TiB"], 1024],
  si: [["B", "kB", "MB", "GB", "TB"], 1000],
  bytes: [["B"], 1024],
};
const integer = new Intl.NumberFormat("en-US", { maximumFractionDigits: 0 });
const tenth = new Intl.NumberFormat("en-US", { minimumFractionDigits: 1, maximumFractionDigits: 1 });
const some = new Intl.NumberFormat("en-US", { maximumFractionDigits: 6 });
const three = new Intl.NumberFormat("en-US", { maximumSignificantDigits: 3 });
/** @type {[number, string, number][]} */
const TIMES = [
  [1e-6, "ns", 1e9],
  [1e-3, "\u00b5s", 1e6],
  [1, "ms", 1e3],
];

/** @param {"units" | "time"} name */
const prefers = (name) => preference(name);

function clock() {
  /** @type {HTMLElement | null} */
  const view = document.querySelector("#page [data-clock]");
  return view ? Number(view.dataset.clock) : 0;
}

/** @param {number} value */
function bytesText(value) {
  const [units, factor] = UNITS[prefers("units")];
  let size = value;
  let at = 0;
  while (at < units.length - 1 && Math.abs(size) >= (at ? factor - 0.05 : factor)) {
    size /= factor;
    at += 1;
  }
  return (at ? tenth.format(size) : integer.format(value)) + " " + units[at];
}

/** @param {number} seconds */
function secondsText(seconds) {
  const unit = TIMES.find((each) => Math.abs(seconds) < each[0]);
  if (unit) return three.format(seconds * unit[2]) + " " + unit[1];
  return (Math.abs(seconds) < 1000 ? three : integer).format(seconds) + " s";
}

/**
 * @param {number} value
 * @param {number} [hertz]
 */
function cyclesText(value, hertz) {
  const rate = hertz || clock();
  return prefers("time") === "time" && rate ? secondsText(value / rate) : integer.format(value);
}

/**
 * @param {number} top
 * @param {number} [most]
 */
function byteTicks(top, most) {
  const preferred = prefers("units");
  const [units, factor] = UNITS[preferred];
  const least = top / (most || 6);
  let step = 1;
  if (preferred === "binary") while (step < least) step *= 2;
  else for (let at = 0; step < least; at += 1) step = [1, 2, 5][at % 3] * Math.pow(10, Math.floor(at / 3));
  const last = Math.ceil(Math.max(top, 1) / step);
  let unit = 0;
  while (unit + 1 < units.length && Math.pow(factor, unit + 1) <= Math.min(last * step, 5 * step)) unit += 1;
  return Array.from({ length: last + 1 }, (_, index) => ({
    value: index * step,
    text: index ? some.format((index * step) / Math.pow(factor, unit)) + " " + units[unit] : "0",
  }));
}

export { bytesText, cyclesText, secondsText, byteTicks, clock };
