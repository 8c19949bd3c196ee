// @ts-check
/* Pointer and keys of the address map. Drag zooms into the box, Shift-drag moves, the wheel zooms (Shift: indices
   only, Alt: addresses only), a click selects the variable and the index, a double click shows everything. */
import { BY_KEY } from "../shared/canvas/keys.js";
import { followDrags, pointIn, wheelOf } from "../shared/canvas/pointer.js";
import { closest, download } from "../shared/dom.js";
import { keyOf } from "../shell/commands.js";
import { select } from "../shell/viewer.js";
import { addressAt, indexAt, inside } from "./address_paint.js";

const HOVER = 25; /* ms that the pointer rests before the cursor follows it */

function isInside(map, point) {
  const box = inside(map.view);
  return point.x >= box.x && point.x <= box.x + box.w && point.y >= box.y && point.y <= box.y + box.h;
}

/* The place under a point: [address, index]. */
const placeAt = (map, point) => [addressAt(map.view, point.y), indexAt(map.view, point.x)];

/* ---- pointer ---- */

function press(map, begin, event) {
  if (!map.data) return null;
  map.host.focus({ preventScroll: true });
  if (!isInside(map, begin)) return null;
  const click = async (point) => {
    window.clearTimeout(map.hovering);
    await map.move(...placeAt(map, point), false);
    map.choose();
  };
  return { ...(event.shiftKey ? moving(map, begin) : boxing(map, begin)), click };
}

/* Shift-drag moves the window. */
function moving(map, begin) {
  let last = begin;
  return {
    move: (point) => {
      const { view } = map;
      const box = inside(view);
      const indices = ((last.x - point.x) / box.w) * (view.last - view.first);
      const addresses = ((point.y - last.y) / box.h) * (view.top - view.bottom);
      if (Math.abs(indices) < 1 && Math.abs(addresses) < 1) return;
      map.pan(indices, addresses);
      last = point;
    },
  };
}

/* A drag draws a box, and zooms into it at its end. */
function boxing(map, begin) {
  const end = () => {
    map.box = null;
    map.draw();
  };
  return {
    move: (point) => {
      map.box = {
        x0: Math.min(begin.x, point.x),
        y0: Math.min(begin.y, point.y),
        x1: Math.max(begin.x, point.x),
        y1: Math.max(begin.y, point.y),
      };
      map.draw();
    },
    drop: () => {
      const { x0, y0, x1, y1 } = map.box;
      map.box = null;
      const [bottom, first] = placeAt(map, { x: x0, y: y1 });
      const [top, last] = placeAt(map, { x: x1, y: y0 });
      map.show({ first, last, bottom, top });
    },
    cancel: end,
  };
}

function wheel(map, event) {
  if (!map.data) return;
  event.preventDefault();
  const [address, index] = placeAt(map, pointIn(event, map.host));
  const amount = Math.max(-300, Math.min(300, wheelOf(event).main));
  map.zoom(Math.pow(1.0015, amount), index, address, event.shiftKey ? "x" : event.altKey ? "y" : "xy");
}

function hover(map, event) {
  const point = pointIn(event, map.host);
  if (event.buttons || !map.data || !isInside(map, point)) return;
  window.clearTimeout(map.hovering);
  map.hovering = window.setTimeout(() => map.move(...placeAt(map, point), false), HOVER);
}

/* ---- keys ---- */

/* The next address above or below that holds something else at the cursor's index. */
function neighbour(map, by) {
  const { cursor, place } = map;
  if (!place) return cursor.address;
  return by > 0 ? Math.max(place.end, cursor.address + 1) : Math.min(place.begin, cursor.address) - 1;
}

/* Show the selected variable with some room around it. */
function fit(map) {
  const { chosen_begin: begin, chosen_end: end, chosen_from: from, chosen_to: to } = map.data.arrays;
  if (!begin.length) return;
  const [bottom, top, first, last] = [Math.min(...begin), Math.max(...end), Math.min(...from), Math.max(...to)];
  const high = Math.max(64, top - bottom);
  const wide = Math.max(1, last - first);
  map.show({
    bottom: bottom - high * 0.3,
    top: top + high * 0.3,
    first: first - wide * 0.2,
    last: last + wide * 0.2,
  });
}

/* The position that a zoom by key keeps: the cursor, else the middle. */
const centre = ({ cursor, view }) =>
  cursor || { index: (view.first + view.last) / 2, address: (view.bottom + view.top) / 2 };
/* Where the cursor goes from: its place, else the lower left corner. */
const start = ({ cursor, view }) => cursor || { address: view.bottom, index: view.first };
const zoomBy = (factor) => (map) => map.zoom(factor, centre(map).index, centre(map).address);
const panBy = (share) => (map) =>
  map.pan(Math.sign(share) * Math.max(1, Math.abs(share) * (map.view.last - map.view.first)), 0);
const scrollBy = (share) => (map) => map.pan(0, share * (map.view.top - map.view.bottom));
const showAll = (map) => map.show(map.all);
const stepBy = (by) => (map, event) => {
  const stride = event.shiftKey ? Math.max(1, Math.round((map.view.last - map.view.first) / 20)) : 1;
  map.move(start(map).address, start(map).index + by * stride, true);
};

const COMMON = {
  "zoom-in": zoomBy(0.7),
  "zoom-out": zoomBy(1 / 0.7),
  left: panBy(-0.15),
  right: panBy(0.15),
  all: showAll,
  fit,
  clear: () => select({ variable: null }),
};
const KEYS = {
  ArrowRight: stepBy(1),
  ArrowLeft: stepBy(-1),
  ArrowUp: (map) => map.move(neighbour(map, 1), start(map).index, true),
  ArrowDown: (map) => map.move(neighbour(map, -1), start(map).index, true),
  PageUp: scrollBy(0.5),
  PageDown: scrollBy(-0.5),
  Home: showAll,
  p: (map) => map.move(start(map).address, map.data.header.peak, true),
  Enter: (map) => map.choose(),
};

function keyDown(map, event) {
  if (!map.data || event.ctrlKey || event.metaKey || event.altKey) return;
  const action = COMMON[BY_KEY[event.key] || keyOf(event)] || KEYS[event.key];
  if (!action) return;
  event.preventDefault();
  event.stopPropagation();
  action(map, event);
}

function listen(map) {
  const { host, listeners } = map;
  followDrags(listeners, host, (point, event) => press(map, point, event));
  listeners.on(host, "pointermove", (event) => hover(map, event));
  listeners.on(host, "dblclick", () => map.data && showAll(map));
  listeners.on(host, "wheel", (event) => wheel(map, event), { passive: false });
  listeners.on(host, "keydown", (event) => keyDown(map, event));
  listeners.add(() => window.clearTimeout(map.hovering));
}

/* Saves the map: PNG has the pixels of the screen, SVG is drawn anew from the same data. */
document.addEventListener("click", (event) => {
  const button = closest(event, "[data-save-map]");
  /** @type {any} */
  const host = document.querySelector(".address-map");
  if (!button || !host || !host.addressMap || !host.addressMap.data) return;
  const kind = button.dataset.saveMap;
  const name = "tile-" + host.dataset.tile + "-addresses." + kind;
  if (kind === "svg") download(new Blob([host.addressMap.svg()], { type: "image/svg+xml" }), name);
  else host.addressMap.canvas.toBlob((blob) => blob && download(blob, name), "image/png");
  const menu = button.closest("details");
  if (menu) menu.open = false;
});

export { listen };
