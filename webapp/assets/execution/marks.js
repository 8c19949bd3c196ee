// @ts-check
/* Marks on the time axis, kept in the URL as cycles. The key m puts a mark; distances are measured from the last
   mark to the pointer or the cursor. */
import { select } from "../shell/viewer.js";
import { integer, seconds } from "./numbers.js";
import { GUTTER } from "./shown.js";

const MOST = 20;

const readMarks = (text, total) =>
  (text || "")
    .split(",")
    .filter((each) => /^\d{1,15}$/.test(each))
    .map(Number)
    .filter((each) => each <= total)
    .slice(0, MOST);

/* "Δ 1,234 cycles (0.93 µs)": both units, whichever the axis has. */
function measureText(trace, from, to) {
  const cycles = Math.abs(Math.floor(to) - from);
  const time = trace.facts.clock ? " (" + seconds(cycles / trace.facts.clock) + ")" : "";
  return "Δ " + integer(cycles) + " cycles" + time;
}

/* The cycle that marks and measures speak of: under the pointer, else of the cursor; null without both. */
function measuredAt(trace) {
  const { pointer, viewport, view } = trace;
  if (pointer && pointer.x >= GUTTER && pointer.y >= view.overview)
    return Math.max(0, Math.min(trace.facts.total, viewport.cycleAt(pointer.x - GUTTER)));
  return trace.cursor.facts ? trace.cursor.facts.bar_begin : null;
}

/* Put a mark where the pointer, the cursor or the selection is; a mark within three pixels is removed instead. */
function toggleMark(trace) {
  const place = measuredAt(trace);
  const cycle = Math.floor(place !== null ? place : trace.selected ? trace.selected.bar_begin : trace.viewport.from);
  const near = (mark) => Math.abs(trace.viewport.x(mark) - trace.viewport.x(cycle)) <= 3;
  setMarks(trace, trace.marks.some(near) ? trace.marks.filter((mark) => !near(mark)) : trace.marks.concat([cycle]));
}

function setMarks(trace, marks) {
  if (!trace.isSource) return;
  const before = trace.marks.length ? trace.marks[trace.marks.length - 1] : null;
  const last = marks[marks.length - 1];
  const apart = before === null || before === last ? "" : `, ${measureText(trace, before, last)} after the one before`;
  trace.spoken.textContent = marks.length ? `mark ${marks.length} at cycle ${integer(last)}${apart}` : "no marks";
  select({ marks: marks.join(",") || null });
}

export { readMarks, measureText, measuredAt, toggleMark, setMarks };
