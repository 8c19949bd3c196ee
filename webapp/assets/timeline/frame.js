// @ts-check
/* Draws one frame of the timeline: overview, axis, rows, selection, hover. It reads the state and never changes
   it. */
import { CHARTS } from "./charts.js";
import * as clock from "./clock.js";
import { drawJoins } from "./device.js";
import { LANE, laneTop, lanesOf } from "./rows.js";
import { NAMES } from "./shown.js";

function drawFrame(timeline, rows, axis) {
  const { draw, palette, viewport, view, place } = timeline;
  draw.setTransform(view.scale, 0, 0, view.scale, 0, 0);
  draw.fillStyle = palette.plain.surface;
  draw.fillRect(0, 0, view.width, view.height);
  timeline.strip.draw(draw, NAMES);
  const ticks = clock.ticks(viewport, 110, timeline.clock);
  drawAxis(timeline, ticks, axis);
  const split = timeline.top + place.pinnedHeight;
  const part = (from, to, shown) => {
    draw.save();
    draw.beginPath();
    draw.rect(0, from, view.width, Math.max(0, to - from));
    draw.clip();
    drawGrid(timeline, ticks, from, to);
    for (const each of shown) drawRow(timeline, each.row, each.top);
    draw.restore();
  };
  const isTop = ({ row }) => row.isPinned || row.id === "pinned";
  if (place.pinnedHeight) part(timeline.top, split, rows.filter(isTop));
  part(
    split,
    view.height,
    rows.filter((each) => !isTop(each)),
  );
  if (place.pinnedHeight) {
    draw.fillStyle = palette.plain["line-strong"];
    draw.fillRect(0, split - 1, view.width, 1);
  }
  drawScrollBar(timeline, split);
  if (!timeline.kind) drawJoins(timeline, rows);
  drawMarks(timeline);
  drawSection(timeline);
  drawPointer(timeline);
}

function drawAxis(timeline, ticks, axis) {
  const { draw, palette, viewport, view } = timeline;
  const base = timeline.top - 0.5;
  draw.strokeStyle = palette.plain["line-strong"];
  draw.lineWidth = 1;
  draw.beginPath();
  draw.moveTo(NAMES, base);
  draw.lineTo(view.width, base);
  draw.font = "11px " + palette.font;
  draw.fillStyle = palette.plain.axis;
  draw.textBaseline = "middle";
  let free = -1e9;
  for (const tick of ticks) {
    const x = NAMES + Math.round(viewport.x(tick.at)) + 0.5;
    draw.moveTo(x, base);
    draw.lineTo(x, base - 6);
    const width = draw.measureText(tick.text).width;
    const left = x + 3;
    if (left < free || left + width > view.width) continue;
    draw.fillText(tick.text, left, base - axis / 2 - 1);
    free = left + width + 10;
  }
  draw.stroke();
  draw.fillStyle = palette.plain.faint;
  draw.fillText(
    timeline.clock === null
      ? (timeline.facts.unit || "host time") + " since the first event"
      : clock.day(timeline.clock),
    10,
    base - axis / 2 - 1,
  );
}

function drawGrid(timeline, ticks, from, to) {
  const { draw, palette, viewport } = timeline;
  draw.fillStyle = palette.plain.grid;
  for (const tick of ticks) draw.fillRect(NAMES + Math.round(viewport.x(tick.at)), from, 1, to - from);
}

function drawRow(timeline, row, top) {
  const { draw, palette, viewport, view } = timeline;
  draw.save();
  draw.beginPath();
  draw.rect(NAMES, top, viewport.width, row.height);
  draw.clip();
  draw.translate(NAMES, 0);
  if (row.kind === "thread") timeline.calls.draw(draw, row, top + 3);
  else if (CHARTS[row.kind]) timeline.chartOf(row).draw(draw, row, top);
  if (row.kind === "thread" && !timeline.kind) timeline.light.draw(draw, row, top + 3);
  if (row.kind === "thread" && !timeline.kind) drawChosen(timeline, row, top + 3);
  if (row.kind === "graph") drawCursor(timeline, row, top);
  draw.restore();
  draw.fillStyle = palette.plain.line;
  draw.fillRect(0, top + row.height - 1, view.width, 1);
}

function drawChosen(timeline, row, top) {
  const { draw, palette, viewport, chosen } = timeline;
  if (!chosen || chosen.depth < 0 || !row.threads.includes(chosen.thread)) return;
  if (chosen.depth >= lanesOf(row)) return;
  const left = Math.max(-3, viewport.x(chosen.start)),
    right = Math.min(viewport.width + 3, viewport.x(chosen.end));
  if (right < -2 || left > viewport.width + 2) return;
  const y = top + laneTop(row, chosen.depth, timeline.up);
  draw.strokeStyle = palette.plain.accent;
  draw.lineWidth = 2;
  draw.strokeRect(Math.round(left) - 0, y, Math.max(2, Math.round(right - left) - 1), LANE - 1);
  draw.lineWidth = 1;
}

/* The pointer marks its time on every series of every visible graph. */
function drawCursor(timeline, row, top) {
  const { draw, viewport, pointer } = timeline;
  if (!pointer || !row.open || pointer.x < NAMES || pointer.y < timeline.top) return;
  const x = pointer.x - NAMES;
  const graph = timeline.chartOf(row);
  for (const each of graph.at(viewport.cycleAt(x))) {
    if (Number.isNaN(each.value)) continue;
    draw.fillStyle = each.colour;
    draw.beginPath();
    draw.arc(x, graph.y(each.value, top, row.height), 3.5, 0, 2 * Math.PI);
    draw.fill();
  }
}

function drawScrollBar(timeline, split) {
  const { draw, palette, view, place } = timeline;
  const room = timeline.room;
  if (place.height <= room) return;
  const length = Math.max(24, (room * room) / place.height);
  const at = ((room - length) * timeline.scroll) / (place.height - room);
  draw.globalAlpha = 0.5;
  draw.fillStyle = palette.plain.muted;
  draw.fillRect(view.width - 6, split + at, 4, length);
  draw.globalAlpha = 1;
}

/* Marks of the address: a line through all rows and its number above them. */
function drawMarks(timeline) {
  const { draw, palette, viewport, view, marks } = timeline;
  marks.forEach((at, index) => {
    const x = viewport.x(at);
    if (x < 0 || x > viewport.width) return;
    draw.fillStyle = palette.plain.accent;
    for (let y = timeline.top - 4; y < view.height; y += 7)
      draw.fillRect(NAMES + Math.round(x), y, 1, 4); /* dashed: windows have plain edges */
    badge(timeline, NAMES + x, String(index + 1), palette.plain.accent);
  });
}

function drawSection(timeline) {
  const { draw, palette, viewport, view } = timeline;
  const section = timeline.measured || timeline.section;
  if (!section) return;
  const left = Math.max(0, viewport.x(section[0])),
    right = Math.min(viewport.width, viewport.x(section[1]));
  if (right < 0 || left > viewport.width) return;
  draw.fillStyle = palette.plain.accent;
  draw.globalAlpha = 0.12;
  draw.fillRect(NAMES + left, timeline.top, Math.max(1, right - left), view.height - timeline.top);
  draw.globalAlpha = 1;
  for (const x of [left, right - 1]) draw.fillRect(NAMES + Math.round(x), timeline.top - 6, 1, view.height);
  badge(timeline, NAMES + (left + right) / 2, clock.length(section[1] - section[0]));
}

function drawPointer(timeline) {
  const { draw, palette, view, pointer, viewport } = timeline;
  if (
    !pointer ||
    pointer.x < NAMES ||
    pointer.x > NAMES + viewport.width ||
    pointer.y < timeline.strip.height ||
    timeline.measured
  )
    return;
  draw.globalAlpha = 0.45;
  draw.fillStyle = palette.plain.muted;
  draw.fillRect(Math.round(pointer.x), timeline.top, 1, view.height - timeline.top);
  draw.globalAlpha = 1;
  const perPixel = (viewport.to - viewport.from) / viewport.width;
  badge(timeline, pointer.x, clock.stamp(viewport.cycleAt(pointer.x - NAMES), Math.max(1, perPixel), timeline.clock));
}

function badge(timeline, x, text, colour = "") {
  const { draw, palette, view } = timeline;
  draw.font = "11px " + palette.font;
  const width = draw.measureText(text).width + 10;
  const left = Math.round(Math.max(NAMES, Math.min(view.width - width - 2, x - width / 2)));
  draw.fillStyle = colour || palette.plain.ink;
  draw.beginPath();
  draw.roundRect(left, timeline.top - 22, width, 16, 3);
  draw.fill();
  draw.fillStyle = palette.plain.surface;
  draw.textBaseline = "middle";
  draw.fillText(text, left + 5, timeline.top - 13.5);
}

export { drawFrame };
