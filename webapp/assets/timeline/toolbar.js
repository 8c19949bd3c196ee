// @ts-check
/* Toolbar of the timeline: buttons, zoom box, key of channels, saving the picture. */
import { moveWindow } from "../shared/canvas/keys.js";
import { contextOf, makeCanvas } from "../shared/canvas/pens.js";
import * as zoomBox from "../shared/canvas/zoom_box.js";
import { closest } from "../shared/dom.js";
import { selection } from "../shell/viewer.js";
import { titleOf } from "./names.js";
import { makeSwatch } from "./palette.js";
import { NAMES, shown } from "./shown.js";

const ACTIONS = {
  "timeline-in": (t) => {
    t.viewport.zoom(1.5, t.viewport.width / 2);
    t.moved();
  },
  "timeline-out": (t) => {
    t.viewport.zoom(1 / 1.5, t.viewport.width / 2);
    t.moved();
  },
  "timeline-fit": (t) => {
    t.viewport.fit();
    t.moved();
  },
  "timeline-page-left": (t) => {
    moveWindow(t.viewport, "PageUp");
    t.moved();
  },
  "timeline-page-right": (t) => {
    moveWindow(t.viewport, "PageDown");
    t.moved();
  },
  "timeline-fold": (t) => t.foldAll(),
  "timeline-next": (t) => t.matches.find(false),
  "timeline-previous": (t) => t.matches.find(true),
  "timeline-save": (t) => save(t),
};

document.addEventListener("click", (event) => {
  const button = closest(event, "[data-action]");
  if (button && shown.current && ACTIONS[button.dataset.action]) ACTIONS[button.dataset.action](shown.current);
});

/* What an address of other files keeps; times, rows and channels are those of the files. */
const KEPT = "tl_clock tl_flame tl_merge tl_up tl_line tl_heat tl_bins tl_device tl_find tl_only".split(" ");

/* A link to other files or other places of them keeps the settings of now, one to the same files everything; the
   menu closes. */
document.addEventListener(
  "click",
  (event) => {
    const link = closest(event, ".tl-files a[data-nav], .tl-apart a[data-nav]");
    if (!(link instanceof HTMLAnchorElement)) return;
    const address = new URL(link.href);
    const isSame = address.pathname === window.location.pathname;
    for (const [name, value] of Object.entries(selection()))
      if (value && !address.searchParams.has(name) && (isSame || KEPT.includes(name)))
        address.searchParams.set(name, value);
    link.href = address.pathname + address.search;
    const menu = link.closest("details");
    if (menu) menu.open = false;
  },
  { capture: true },
);

const slot = (name) => document.querySelector('.timeline [data-slot="' + name + '"]');

/* The zoom box, made when the page has the place for it. */
function showZoom(timeline) {
  const place = slot("zoom");
  if (!place) return;
  if (!place.firstElementChild) {
    const box = zoomBox.makeZoomBox(
      timeline.viewport,
      () => timeline.moved(),
      () => timeline.host.focus(),
    );
    place.append(box);
  }
  zoomBox.showZoom(place.querySelector("input"), timeline.viewport);
}

/* One tick per channel. A tick hides events in the drawing; figures and statistics still count them. */
function fillKey(timeline) {
  const place = slot("key");
  if (!place) return;
  const hidden = new Set(timeline.hidden.split(",").filter(Boolean).map(Number));
  const rows = timeline.facts.channels.map((channel, index) => {
    const row = document.createElement("label");
    row.className = "tl-key-row";
    const tick = document.createElement("input");
    tick.type = "checkbox";
    tick.checked = !hidden.has(index);
    tick.addEventListener("change", () => {
      if (tick.checked) hidden.delete(index);
      else hidden.add(index);
      timeline.write({
        tl_hide: Array.from(hidden)
          .sort((a, b) => a - b)
          .join(","),
      });
    });
    const swatch = makeSwatch(timeline.colours[index], channel.pattern);
    const name = document.createElement("span");
    name.textContent = channel.name;
    const count = document.createElement("span");
    count.className = "tl-key-count";
    count.textContent = channel.events.toLocaleString("en-US");
    row.append(tick, swatch, name, count);
    return row;
  });
  const note = document.createElement("p");
  note.className = "tl-key-note";
  note.textContent = "Ticks hide events in the drawing. Counts and statistics always include every channel.";
  place.replaceChildren(...rows, note);
}

/* The figures and notes of the corner, which stand left of the overview. */
function drawCorner(draw, timeline) {
  const { palette } = timeline;
  draw.font = "11px " + palette.font;
  draw.fillStyle = palette.plain.ink;
  timeline.corner.box.querySelectorAll(".tl-corner-figures > div, .tl-corner-note").forEach((line, index) => {
    draw.fillText(line.textContent || "", 10, 12 + 13 * index, NAMES - 20);
  });
}

/* What tells the lines of a graph apart. */
function drawSeries(draw, timeline, row, top) {
  const graph = timeline.chartOf(row);
  const left = 27 + 12 * row.depth;
  draw.font = "11px " + timeline.palette.font;
  row.graph.series.forEach((series, index) => {
    const y = top + 32 + 17 * index;
    draw.fillStyle = graph.colour(index);
    draw.fillRect(left, y - 1.5, 12, 3);
    draw.fillStyle = timeline.palette.plain.ink;
    draw.fillText(series.name, left + 18, y, NAMES - left - 24);
  });
}

/* The colours of a heat map, from the strongest down, and their shares. */
function drawRamp(draw, timeline, row, top) {
  const chart = timeline.chartOf(row);
  const left = 27 + 12 * row.depth,
    first = top + 26,
    height = 146;
  const colours = chart.colours().slice(1).reverse();
  colours.forEach((colour, index) => {
    draw.fillStyle = colour;
    draw.fillRect(left, first + (height * index) / colours.length, 16, height / colours.length + 0.5);
  });
  const { marks } = chart.scale();
  draw.font = "10px " + timeline.palette.font;
  draw.fillStyle = timeline.palette.plain.ink;
  marks.forEach((text, index) => {
    draw.fillText(text, left + 22, first + 5 + ((height - 10) * index) / (marks.length - 1));
  });
}

function drawLegends(draw, timeline) {
  draw.save();
  draw.beginPath();
  draw.rect(0, timeline.top, NAMES, timeline.view.height - timeline.top);
  draw.clip();
  for (const { row, top } of timeline.inSight()) {
    if (row.open && row.kind === "graph") drawSeries(draw, timeline, row, top);
    if (row.open && row.kind === "heatmap") drawRamp(draw, timeline, row, top);
  }
  draw.restore();
}

/* The drawing, the names with their legends and the figures in one PNG. */
function save(timeline) {
  const { canvas, view, palette } = timeline;
  const copy = makeCanvas(canvas.width, canvas.height);
  const draw = contextOf(copy);
  draw.drawImage(canvas, 0, 0);
  draw.setTransform(view.scale, 0, 0, view.scale, 0, 0);
  draw.font = "12px " + palette.font;
  draw.fillStyle = palette.plain.ink;
  draw.textBaseline = "middle";
  for (const { row, top } of timeline.inSight()) {
    if (top + 11 > timeline.top - 4)
      draw.fillText(titleOf(row), 10 + 12 * row.depth, top + 11, NAMES - 20 - 12 * row.depth);
  }
  drawCorner(draw, timeline);
  drawLegends(draw, timeline);
  draw.fillStyle = palette.plain.ink;
  draw.font = "10px " + palette.font;
  draw.textAlign = "right";
  for (const { row, top } of timeline.inSight()) {
    const marks = row.open && row.kind === "heatmap" ? timeline.chartOf(row).edgeMarks(row) : [];
    for (const { y, text } of marks) if (top + y > timeline.top + 6) draw.fillText(text, NAMES - 6, top + y);
  }
  const link = document.createElement("a");
  link.download = timeline.facts.file.replace(/\.pvti$/, "") + ".png";
  link.href = copy.toDataURL("image/png");
  link.click();
}

export { slot, showZoom, fillKey };
