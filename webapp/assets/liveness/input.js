// @ts-check
/* Pointer and keys of the heat map. assets/shared/plots/keys.js has left and right, zoom, pages and marks; here
   up and down move the cursor over tiles, and Shift + W S zooms the tiles. */
import { followDrags, placeTip, pointIn, tipLine, wheelOf } from "../shared/canvas/pointer.js";
import { bytesText } from "../shared/formats.js";
import * as axis from "../shared/plots/axis.js";
import { select } from "../shell/viewer.js";

const WAIT = 60; /* ms that the pointer rests before a cell is asked about */

/** @returns {[number, number]} */
function zoomed([from, to], [first, last], factor, at) {
  const width = Math.max(1, Math.min(last - first + 1, Math.round((to - from + 1) * factor) || 1));
  const low = Math.max(first, Math.min(Math.round(at - ((at - from) * width) / (to - from + 1)), last - width + 1));
  return [low, low + width - 1];
}

/* The pointer at rest asks about its cell. */
function hover(map, event) {
  window.clearTimeout(map.hovering);
  map.tip.hidden = true;
  const point = pointIn(event, map.canvas);
  const at = map.answer && map.placeAt(point);
  if (!at || event.buttons) return;
  map.hovering = window.setTimeout(async () => {
    const cell = map.cellOf(at);
    try {
      tell(map, cell, await map.highest(cell), point);
    } catch (_) {
      /* the picture says what is wrong */
    }
  }, WAIT);
}

/* A drag shows its rectangle, a click selects the maximum of its cell. */
function press(map, begin) {
  if (!map.answer || !map.placeAt(begin)) return null;
  return {
    drop: (end) => show(map, begin, end),
    click: async (point) => {
      const at = map.answer && map.placeAt(point);
      if (at) await chooseHighest(map, at);
    },
  };
}

function wheel(map, event) {
  const at = map.answer && map.placeAt(pointIn(event, map.canvas));
  if (!at) return;
  event.preventDefault();
  const factor = Math.pow(1.0015, wheelOf(event).main);
  if (event.shiftKey) map.setTiles(...zoomed(map.tiles, map.heat.tiles, factor, at.tile));
  else axis.setWindow(map.plot, ...zoomed(map.indices, [0, map.plot.count - 1], factor, at.index));
}

function listen(map) {
  const { host, listeners } = map;
  followDrags(listeners, host, (point) => press(map, point));
  listeners.on(host, "pointermove", (event) => hover(map, event));
  listeners.on(host, "pointerleave", () => {
    window.clearTimeout(map.hovering);
    map.tip.hidden = true;
  });
  listeners.on(host, "dblclick", () => {
    map.setTiles(...map.heat.tiles);
    axis.setWindow(map.plot, 0, map.plot.count - 1);
  });
  listeners.on(host, "wheel", (event) => wheel(map, event), { passive: false });
  listeners.on(host, "keydown", (event) => keys(map, event));
}

/* Show the rectangle that was dragged over. */
function show(map, begin, end) {
  const { area } = map;
  const inside = ({ x, y }) => ({
    x: Math.max(area.x, Math.min(x, area.x + area.width - 0.01)),
    y: Math.max(area.y, Math.min(y, area.y + area.height - 0.01)),
  });
  const [one, other] = [map.placeAt(inside(begin)), map.placeAt(inside(end))];
  map.setTiles(Math.min(one.tile, other.tile), Math.max(one.tile, other.tile));
  axis.setWindow(map.plot, Math.min(one.index, other.index), Math.max(one.index, other.index));
}

/* Select the tile and the index with most bytes of the cell at a place. */
async function chooseHighest(map, at) {
  const page = window.location.pathname;
  const place = await map.highest(map.cellOf(at));
  if (window.location.pathname !== page) return;
  select({ tiles: place.tile, liveness: place.index, live_also: null, program: null });
}

function keys(map, event) {
  if (event.ctrlKey || event.metaKey || event.altKey || !map.answer) return;
  const tiles = map.tiles,
    cursor = map.cursor;
  const step = map.answer.header.tilesPerRow;
  const to = (tile) => {
    const [first, last] = map.heat.tiles;
    const next = Math.max(first, Math.min(tile, last));
    select({ tiles: next });
    if (next < tiles[0]) map.setTiles(next, next + tiles[1] - tiles[0]);
    if (next > tiles[1]) map.setTiles(next - tiles[1] + tiles[0], next);
  };
  const middle =
    cursor.tile !== null && cursor.tile >= tiles[0] && cursor.tile <= tiles[1]
      ? cursor.tile
      : (tiles[0] + tiles[1]) / 2;
  const actions = {
    ArrowDown: () => to(cursor.tile === null ? tiles[0] : cursor.tile + step),
    ArrowUp: () => to(cursor.tile === null ? tiles[1] : cursor.tile - step),
    KeyW: () => event.shiftKey && map.setTiles(...zoomed(tiles, map.heat.tiles, 0.5, middle)),
    KeyS: () => event.shiftKey && map.setTiles(...zoomed(tiles, map.heat.tiles, 2, middle)),
    Enter: async () => {
      if (cursor.tile !== null && cursor.index !== null) await chooseHighest(map, cursor);
    },
  };
  const action = actions[event.code];
  if (!action || (event.code.startsWith("Key") && !event.shiftKey)) return;
  event.preventDefault();
  event.stopPropagation();
  action();
}

const number = (value) => value.toLocaleString("en-US");
const bytes = (value) => bytesText(value) + " (" + number(value) + " B)";
const span = ([first, last], one, many) =>
  first === last ? one + " " + number(first) : many + " " + number(first) + " to " + number(last);

/* The value of a cell: bytes, or the signed difference of a comparison. */
function valueText(place) {
  if (!("target" in place)) return bytes(place.bytes);
  if (place.target === null) return "No partner in the target";
  const change = place.target - place.bytes;
  return (change > 0 ? "+" : change < 0 ? "\u2212" : "") + bytes(Math.abs(change));
}

/* Say what lies under the pointer. */
function tell(map, cell, place, point) {
  const isMerged = cell.tiles[0] !== cell.tiles[1] || cell.indices[0] !== cell.indices[1];
  const compares = "target" in place;
  const isMatched = compares && place.target !== null;
  const lines = [tipLine(valueText(place), "heat-tip-value")];
  if (compares) lines.push(tipLine("source " + bytes(place.bytes), ""));
  if (isMatched) {
    const other = place.targetIndex === place.index ? "" : ", its index " + number(place.targetIndex);
    lines.push(tipLine("target " + bytes(place.target) + other, ""));
  }
  const rank = !isMerged ? "" : isMatched ? "largest of " : "highest of ";
  const where = span(cell.tiles, "tile", "tiles") + ", " + span(cell.indices, "index", "indices");
  const at = `tile ${number(place.tile)} of IPU ${place.ipu} at index ${number(place.index)}: ${place.name}`;
  lines.push(tipLine(rank + where, ""), tipLine(at, "heat-tip-name"));
  map.tip.replaceChildren(...lines);
  placeTip(map.tip, map.host, point);
}

export { listen };
