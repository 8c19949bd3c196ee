// @ts-check
/* Draws one frame of the trace: overview, axis, bands, selection, hover. It reads the state and never changes it. */
import { ROW } from "./bars.js";
import { measureText, measuredAt } from "./marks.js";
import { cyclesText, integer, seconds, ticks } from "./numbers.js";
import { GUTTER } from "./shown.js";

const AXIS = 24;

function drawFrame(trace) {
  const { draw, palette, viewport, view } = trace;
  draw.setTransform(view.scale, 0, 0, view.scale, 0, 0);
  draw.fillStyle = palette.plain.surface;
  draw.fillRect(0, 0, view.width, view.height);
  trace.overview.draw(draw, palette, viewport, GUTTER, trace.ipus, trace.marks);
  drawAxis(trace);
  draw.save();
  draw.beginPath();
  draw.rect(0, view.bandsTop, view.width, view.height - view.bandsTop);
  draw.clip();
  for (const band of trace.bands.visible()) drawBand(trace, band);
  drawScrollBar(trace);
  draw.restore();
  drawSelectedWindow(trace);
  drawMarks(trace);
  drawPointer(trace);
  const note = coarseNote(trace);
  if (trace.coarse.textContent !== note) trace.coarse.textContent = note;
  trace.coarse.hidden = !note;
}

/* The note on a picture whose columns are wider than a pixel, because every bar would be too large an answer. */
function coarseNote(trace) {
  const times = Math.max(
    1,
    ...trace.bands
      .visible()
      .filter((band) => !band.folded)
      .map((band) => {
        const { data } = trace.barsOf(band.ipu);
        return data ? data.header.coarser : 1;
      }),
  );
  return times > 1 ? `Too many bars: merged in columns ${times} pixels wide. Zoom in for single ones.` : "";
}

function drawAxis(trace) {
  const { draw, palette, viewport, view } = trace;
  const base = view.bandsTop - 0.5;
  draw.strokeStyle = palette.plain["line-strong"];
  draw.lineWidth = 1;
  draw.beginPath();
  draw.moveTo(GUTTER, base);
  draw.lineTo(view.width, base);
  draw.font = "11px " + palette.font;
  draw.fillStyle = palette.plain.axis;
  draw.textBaseline = "middle";
  let free = -1e9;
  for (const tick of ticks(viewport, 92, trace.facts.clock, trace.units === "time")) {
    const x = GUTTER + Math.round(viewport.x(tick.cycle)) + 0.5;
    draw.moveTo(x, base);
    draw.lineTo(x, base - 5);
    const half = draw.measureText(tick.text).width / 2;
    const left = Math.max(GUTTER, Math.min(view.width - 2 * half - 2, x - half));
    if (left < free) continue;
    draw.fillText(tick.text, left, base - 13);
    free = left + 2 * half + 8;
  }
  draw.stroke();
  draw.fillStyle = palette.plain.faint;
  draw.fillText(trace.units === "time" ? "time" : "cycles", 8, base - 13);
}

function drawBand(trace, band) {
  const { draw, palette, viewport, view } = trace;
  const top = view.bandsTop + band.top - trace.bands.scroll;
  drawGutter(trace, band, top);
  draw.save();
  draw.beginPath();
  draw.rect(GUTTER, view.bandsTop, viewport.width, view.height);
  draw.clip();
  draw.translate(GUTTER, 0);
  const bars = trace.barsOf(band.ipu);
  draw.save();
  draw.beginPath();
  draw.rect(0, top, viewport.width, band.bars);
  draw.clip();
  bars.draw(draw, palette, viewport, top, trace.options);
  draw.restore();
  if (band.tilesHeight) {
    const tilesTop = view.bandsTop + band.tilesTop - trace.bands.scroll;
    trace.bspOf(band.ipu).draw(draw, palette, viewport, tilesTop, band.tilesHeight, band.rows);
  }
  trace.search.draw(draw, palette, viewport, band.ipu, top + band.bars - 1, 3);
  drawSelectedStep(trace, band, top);
  drawCursor(trace, band, top);
  draw.restore();
  draw.fillStyle = palette.plain.line;
  draw.fillRect(0, view.bandsTop + band.bottom + 4 - trace.bands.scroll, view.width, 1);
}

function drawGutter(trace, band, top) {
  const { draw, palette, view } = trace;
  draw.fillStyle = palette.plain.ink;
  draw.font = "600 11px " + palette.font;
  draw.textBaseline = "middle";
  draw.fillText("IPU " + band.ipu, 18, top + ROW / 2);
  draw.strokeStyle = palette.plain.muted;
  draw.beginPath();
  const y = top + ROW / 2;
  if (band.folded) {
    draw.moveTo(7, y - 4);
    draw.lineTo(11, y);
    draw.lineTo(7, y + 4);
  } else {
    draw.moveTo(5, y - 2);
    draw.lineTo(9, y + 2);
    draw.lineTo(13, y - 2);
  }
  draw.stroke();
  const data = band.folded ? null : trace.barsOf(band.ipu).data;
  draw.font = "10px " + palette.font;
  draw.fillStyle = palette.plain.muted;
  for (const lane of data ? data.header.lanes.slice(1) : []) draw.fillText("I/O", 18, top + (lane + 0.5) * ROW);
  if (!band.tilesHeight) return;
  const tilesTop = view.bandsTop + band.tilesTop - trace.bands.scroll;
  draw.font = "10px " + palette.font;
  draw.fillStyle = palette.plain.muted;
  draw.textAlign = "right";
  const first = band.ipu * trace.facts.tiles;
  const last = trace.facts.tiles - 1,
    size = band.tilesHeight / trace.facts.tiles;
  const middle = (tile) => tilesTop + Math.min(band.tilesHeight - 5, Math.max(5, (tile + 0.5) * size));
  const every = labelledEvery(30 / size);
  // The last tile has its number too, in place of one that would touch it.
  for (let tile = 0; tile + every / 2 <= last; tile += every)
    draw.fillText(String(first + tile), GUTTER - 6, middle(tile));
  draw.fillText(String(first + last), GUTTER - 6, middle(last));
  draw.textAlign = "left";
  draw.fillText("tile", 8, tilesTop + 5);
}

/* The least of 1, 2, 5, 10, 20 ... tiles that leaves room for the number of each. */
function labelledEvery(least) {
  for (let power = 1; ; power *= 10) for (const step of [power, 2 * power, 5 * power]) if (step >= least) return step;
}

function drawScrollBar(trace) {
  const { draw, palette, view, bands } = trace;
  if (bands.height <= bands.room) return;
  const length = Math.max(24, (bands.room * bands.room) / bands.height);
  const at = ((bands.room - length) * bands.scroll) / (bands.height - bands.room);
  draw.globalAlpha = 0.5;
  draw.fillStyle = palette.plain.muted;
  draw.fillRect(view.width - 5, view.bandsTop + at, 4, length);
  draw.globalAlpha = 1;
}

/* The selected step: its bar, all levels where it is merged with others in a pixel, and within the tiles from its
   first begin to its last end. */
function drawSelectedStep(trace, band, top) {
  const { draw, palette, viewport, view } = trace;
  const facts = trace.selected;
  if (!facts || facts.ipu !== band.ipu) return;
  draw.strokeStyle = palette.plain.accent;
  draw.lineWidth = 2;
  const outline = (from, to, y, height) => {
    const left = Math.max(-3, Math.round(viewport.x(from))),
      right = Math.min(viewport.width + 3, Math.round(viewport.x(to)));
    if (right >= -2 && left <= viewport.width + 2) draw.strokeRect(left, y, Math.max(2, right - left), height);
  };
  const level = trace.barsOf(band.ipu).levelOf(facts.step);
  if (level < 0) outline(facts.bar_begin, facts.bar_end, top + ROW, band.bars - ROW - 1);
  else if ((level + 1) * ROW <= band.bars) outline(facts.bar_begin, facts.bar_end, top + level * ROW, ROW - 1);
  if (band.tilesHeight)
    outline(facts.busy_begin, facts.busy_end, view.bandsTop + band.tilesTop - trace.bands.scroll, band.tilesHeight);
  draw.lineWidth = 1;
}

/* The keyboard's cursor: a dashed box around its step, or around its tile in that step. */
function drawCursor(trace, band, top) {
  const { draw, palette, viewport, view, cursor } = trace;
  const facts = cursor.facts;
  if (!facts || facts.ipu !== band.ipu) return;
  const onTile = facts.tile !== undefined && band.tilesHeight;
  const from = onTile ? facts.tile_begin : facts.bar_begin,
    to = onTile ? facts.tile_begin + facts.tile_cycles : facts.bar_end;
  const left = Math.max(-3, Math.round(viewport.x(from))),
    right = Math.min(viewport.width + 3, Math.round(viewport.x(to)));
  const tilesTop = view.bandsTop + band.tilesTop - trace.bands.scroll;
  const size = band.tilesHeight / trace.facts.tiles;
  const y = onTile ? tilesTop + facts.tile * size : top + ROW;
  draw.strokeStyle = palette.plain.ink;
  draw.lineWidth = 2;
  draw.setLineDash([4, 3]);
  draw.strokeRect(
    left,
    y - (onTile ? 2 : 0),
    Math.max(3, right - left),
    onTile ? Math.max(4, size + 3) : band.bars - ROW - 1,
  );
  draw.setLineDash([]);
  draw.lineWidth = 1;
}

/* Marks, and the distance from the last one to the pointer or the cursor. */
function drawMarks(trace) {
  const { draw, palette, viewport, view, marks } = trace;
  marks.forEach((cycle, at) => {
    const x = viewport.x(cycle);
    if (x < 0 || x > viewport.width) return;
    draw.fillStyle = palette.plain.ink;
    draw.fillRect(GUTTER + Math.round(x), view.bandsTop - 8, 1, view.height);
    draw.beginPath();
    draw.moveTo(GUTTER + Math.round(x) - 5, view.bandsTop - 9);
    draw.lineTo(GUTTER + Math.round(x) + 6, view.bandsTop - 9);
    draw.lineTo(GUTTER + Math.round(x) + 0.5, view.bandsTop - 2);
    draw.fill();
    draw.font = "600 10px " + palette.font;
    draw.fillText(String(at + 1), GUTTER + Math.round(x) + 8, view.bandsTop - 6);
  });
  const cursor = measuredAt(trace);
  if (!marks.length || cursor === null) return;
  const mark = marks[marks.length - 1];
  const left = viewport.x(Math.min(mark, cursor)),
    right = viewport.x(Math.max(mark, cursor));
  const y = view.height - 12;
  draw.strokeStyle = palette.plain.ink;
  draw.beginPath();
  draw.moveTo(GUTTER + Math.max(0, left), y + 0.5);
  draw.lineTo(GUTTER + Math.min(viewport.width, right), y + 0.5);
  draw.stroke();
  badge(trace, GUTTER + (Math.max(0, left) + Math.min(viewport.width, right)) / 2, y, measureText(trace, mark, cursor));
}

function drawSelectedWindow(trace) {
  const { draw, palette, viewport, view } = trace;
  const chosen = trace.dragged || trace.chosen;
  if (!chosen) return;
  const left = Math.max(0, viewport.x(chosen[0])),
    right = Math.min(viewport.width, viewport.x(chosen[1]));
  if (right < 0 || left > viewport.width) return;
  draw.fillStyle = palette.plain.accent;
  draw.globalAlpha = 0.12;
  draw.fillRect(GUTTER + left, view.bandsTop, Math.max(1, right - left), view.height - view.bandsTop);
  draw.globalAlpha = 1;
  draw.fillRect(GUTTER + Math.round(left), view.bandsTop - 6, 1, view.height);
  draw.fillRect(GUTTER + Math.round(right) - 1, view.bandsTop - 6, 1, view.height);
  const text = cyclesText(chosen[1] - chosen[0], trace.facts.clock, trace.units === "time");
  badge(trace, GUTTER + (left + right) / 2, view.bandsTop - 13, text);
}

function drawPointer(trace) {
  const { draw, palette, view, pointer } = trace;
  if (!pointer || pointer.x < GUTTER || pointer.y < view.overview) return;
  draw.globalAlpha = 0.45;
  draw.fillStyle = palette.plain.muted;
  draw.fillRect(pointer.x, view.bandsTop, 1, view.height - view.bandsTop);
  draw.globalAlpha = 1;
  if (trace.dragged) return;
  const cycle = trace.viewport.cycleAt(pointer.x - GUTTER);
  if (cycle > trace.viewport.total) return;
  badge(
    trace,
    pointer.x,
    view.bandsTop - 13,
    trace.units === "time" ? seconds(cycle / trace.facts.clock) : integer(Math.floor(cycle)),
  );
}

function badge(trace, x, y, text) {
  const { draw, palette, view } = trace;
  draw.font = "11px " + palette.font;
  const width = draw.measureText(text).width + 10;
  const left = Math.max(GUTTER, Math.min(view.width - width - 2, x - width / 2));
  draw.fillStyle = palette.plain.ink;
  draw.beginPath();
  draw.roundRect(Math.round(left), y - 8, width, 16, 3);
  draw.fill();
  draw.fillStyle = palette.plain.surface;
  draw.textBaseline = "middle";
  draw.fillText(text, Math.round(left) + 5, y + 0.5);
}

export { drawFrame, coarseNote, AXIS };
