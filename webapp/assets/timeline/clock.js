// @ts-check
/* Host time as text, and round positions of its axis. Times are nanoseconds since the first event. */

const SECOND = 1e9;
const STEPS = [1, 2, 5, 10, 20, 50, 100, 200, 500]
  .concat([1e3, 2e3, 5e3, 1e4, 2e4, 5e4, 1e5, 2e5, 5e5, 1e6, 2e6, 5e6, 1e7, 2e7, 5e7, 1e8, 2e8, 5e8])
  .concat(
    [1, 2, 5, 10, 20, 30, 60, 120, 300, 600, 1200, 1800, 3600, 7200, 14400, 43200, 86400].map((each) => each * SECOND),
  );
const two = (value) => String(value).padStart(2, "0");

/* What the clock of the drawing counts instead of time, and how much of it a nanosecond stands for. */
let unit = "";
const PER_NS = 1e-3;

/* Of the trace that is drawn; "" for time. */
function count(what) {
  unit = what;
}

const amount = (ns, digits) =>
  Number((ns * PER_NS).toPrecision(digits)).toLocaleString("en-US", { maximumFractionDigits: 4 });

/* A length of time, four digits: "412.3 µs". */
function length(ns) {
  if (unit) return amount(ns, 5) + " " + unit;
  if (ns < 1000) return Math.round(ns) + " ns";
  const [size, name] = ns < 1e6 ? [1e3, "µs"] : ns < 1e9 ? [1e6, "ms"] : [1e9, "s"];
  return Number((ns / size).toPrecision(5)).toLocaleString("en-US", { maximumFractionDigits: 4 }) + " " + name;
}

function fraction(ns, step) {
  if (step >= SECOND) return "";
  const digits = step >= 1e6 ? 3 : step >= 1e3 ? 6 : 9;
  const text = String(Math.round(ns)).padStart(9, "0").slice(0, digits);
  return "." + text.replace(/(\d{3})(?=\d)/g, "$1 ");
}

/* Position as 00:01:07.314 398, as fine as `step` ns; absolute = UTC time of day. `begin` is a BigInt of ns. */
function stamp(ns, step, begin) {
  if (unit) return amount(ns, 12) + " " + unit;
  const at = begin === null ? BigInt(Math.round(ns)) : begin + BigInt(Math.round(ns));
  const seconds = Number(at / 1000000000n);
  const rest = fraction(Number(at % 1000000000n), step);
  const hours = begin === null ? Math.floor(seconds / 3600) : Math.floor(seconds / 3600) % 24;
  return two(hours) + ":" + two(Math.floor(seconds / 60) % 60) + ":" + two(seconds % 60) + rest;
}

const day = (begin) => new Date(Number(begin / 1000000n)).toISOString().slice(0, 10) + " UTC";

/* A tick of a trace shorter than a minute: "10 ms", in the unit of the whole window, as fine as `step`. */
function tickText(ns, step, last) {
  const [size, name] = last < 1e3 ? [1, "ns"] : last < 1e6 ? [1e3, "µs"] : last < SECOND ? [1e6, "ms"] : [SECOND, "s"];
  const digits = Math.max(0, Math.ceil(-Math.log10(step / size) - 1e-9));
  const places = { minimumFractionDigits: digits, maximumFractionDigits: digits };
  return (ns / size).toLocaleString("en-US", places) + " " + name;
}

/* Round positions in the window about `apart` pixels from each other. */
function ticks(viewport, apart, begin) {
  const perPixel = (viewport.to - viewport.from) / viewport.width;
  const step = STEPS.find((each) => each >= apart * perPixel) || STEPS[STEPS.length - 1];
  const shift = begin === null ? 0 : Number(begin % BigInt(step));
  const isShort = begin === null && !unit && viewport.to < 60 * SECOND;
  const list = [];
  for (
    let at = Math.ceil((viewport.from + shift) / step) * step - shift;
    at <= viewport.to && list.length < 200;
    at += step
  ) {
    if (at >= 0) list.push({ at, text: isShort ? tickText(at, step, viewport.to) : stamp(at, step, begin) });
  }
  return list;
}

export { count, length, stamp, day, ticks };
