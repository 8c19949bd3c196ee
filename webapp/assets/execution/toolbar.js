// @ts-check
/* Toolbar of the trace: zoom box and buttons, colour key, saving the picture, moving through search matches. */
import { makeZoomBox } from "../shared/canvas/zoom_box.js";
import { closest, download } from "../shared/dom.js";
import { select } from "../shell/viewer.js";
import { drawFrame } from "./frame.js";
import { CLASSES } from "./palette.js";
import { svg } from "./svg.js";

const KEY = [
  ["compute", "compute", "OnTileExecute"],
  ["exchange", "exchange", "DoExchange, within an IPU"],
  ["global", "global exchange", "GlobalExchange, between IPUs"],
  ["wait", "waiting for host", "StreamCopyBegin, counted as host"],
  ["host", "host transfer", "StreamCopyMid"],
  ["sync", "sync", "Sync, Sans, SyncAns; StreamCopyEnd, counted as host"],
  ["group", "group", "prefix of the names below it"],
  ["run", "run", "one Engine::run"],
  ["other", "other", "types that take no time of their own"],
];

const ACTIONS = {
  "trace-in": (t) => {
    t.viewport.zoom(1.5, t.viewport.width / 2);
    t.moved();
  },
  "trace-out": (t) => {
    t.viewport.zoom(1 / 1.5, t.viewport.width / 2);
    t.moved();
  },
  "trace-fit": (t) => {
    t.viewport.fit();
    t.bands.stretch = 1;
    t.moved();
  },
  "trace-all": (t) => {
    t.clear();
    t.viewport.fit();
    t.moved();
  },
  "trace-save": (t) => savePng(t),
  "trace-save-svg": (t) => saveSvg(t),
};

function fillToolbar(trace) {
  const box = makeZoomBox(
    trace.viewport,
    () => trace.moved(),
    () => trace.host.focus(),
  );
  trace.slot("zoom").replaceChildren(box);
  trace.zoomBox = box;
  const root = trace.host.closest(".execution");
  root.addEventListener("click", (event) => {
    const button = closest(event, "[data-action]");
    if (button && ACTIONS[button.dataset.action]) ACTIONS[button.dataset.action](trace);
    const hide = closest(event, "[data-hide]");
    if (hide) switchClass(trace, hide);
  });
  const find = root.querySelector('.search[data-param="find"] input');
  if (find)
    find.addEventListener("keydown", (event) => {
      if (event.key === "Enter" && event.target.value === trace.search.text)
        trace.keyboard.match(event.shiftKey ? -1 : 1);
      if (event.key === "Escape") trace.host.focus();
    });
  fillKey(trace);
}

/* A switch of the options menu: the class is drawn or not; figures do not change by it. */
function switchClass(trace, button) {
  const shown = button.getAttribute("aria-checked") !== "true";
  button.setAttribute("aria-checked", shown ? "true" : "false");
  const hidden = CLASSES.filter((name) => (name === button.dataset.hide ? !shown : trace.hidden.has(name)));
  select({ hide: hidden.join(",") || null });
}

function swatch(trace, family) {
  const [canvas, draw] = swatchCanvas();
  draw.fillStyle = trace.palette.families[family].fill;
  draw.fillRect(0, 0, 26, 14);
  const tile = trace.palette.families[family].tile;
  const pattern = tile && draw.createPattern(tile, "repeat");
  if (pattern) {
    draw.fillStyle = pattern;
    draw.fillRect(0, 0, 26, 14);
  }
  return canvas;
}

/** @returns {[HTMLCanvasElement, CanvasRenderingContext2D]} */
function swatchCanvas() {
  const canvas = document.createElement("canvas");
  canvas.width = 26;
  canvas.height = 14;
  return [canvas, /** @type {CanvasRenderingContext2D} */ (canvas.getContext("2d"))];
}

function blank(trace) {
  const [canvas, draw] = swatchCanvas();
  draw.fillStyle = trace.palette.plain.sunken;
  draw.fillRect(0, 0, 26, 14);
  draw.strokeStyle = trace.palette.plain.line;
  draw.strokeRect(0.5, 0.5, 25, 13);
  return canvas;
}

function merged(trace) {
  const [canvas, draw] = swatchCanvas();
  for (let x = 0; x < 26; x += 1) {
    const compute = 5 + 4 * Math.sin(x / 3);
    draw.fillStyle = trace.palette.families.sync.fill;
    draw.fillRect(x, 0, 1, 12);
    draw.fillStyle = trace.palette.families.compute.fill;
    draw.fillRect(x, 12 - compute, 1, compute);
  }
  draw.fillStyle = trace.palette.plain.faint;
  draw.fillRect(0, 12, 26, 1);
  return canvas;
}

/* Two thirds compute, one third exchange, as the rows of tiles draw them. */
function dithered(trace) {
  return trace.palette.paint(new Uint32Array(26 * 14).fill(20 | (11 << 5)), 26, 14, 0);
}

function fillKey(trace) {
  const rows = KEY.map(([family, name, about]) => entry(swatch(trace, family), name, about));
  rows.push(entry(blank(trace), "nothing", "the tile has finished the run and waits for its end"));
  rows.push(entry(merged(trace), "merged bars", "bars narrower than a pixel: heights are shares of the pixel's time"));
  rows.push(
    entry(
      dithered(trace),
      "several in a pixel",
      "rows of tiles: each phase takes pixels in proportion to its time, no colours are mixed",
    ),
  );
  trace.slot("key").replaceChildren(...rows);
}

function entry(picture, name, about) {
  const row = document.createElement("div");
  row.className = "key-row";
  const text = document.createElement("strong");
  text.textContent = name;
  const more = document.createElement("span");
  more.textContent = about;
  row.append(picture, text, more);
  return row;
}

/* With a comparison both drawings are saved, the target's as a file of its own. */
function drawings(trace) {
  return [[trace, ""]].concat(trace.peer ? [[trace.peer, "-target"]] : []);
}

function savePng(trace) {
  for (const [each, suffix] of drawings(trace)) {
    drawFrame(each);
    each.canvas.toBlob((blob) => blob && download(blob, `execution-trace${suffix}.png`), "image/png");
  }
}

function saveSvg(trace) {
  for (const [each, suffix] of drawings(trace))
    download(new Blob([svg(each)], { type: "image/svg+xml" }), `execution-trace${suffix}.svg`);
}

export { fillToolbar, fillKey };
