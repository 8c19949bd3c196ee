// @ts-check
/* Pointer and keys of the heat map. assets/shared/plots/keys.js has left and right, zoom, pages and marks; here
   up and down move the cursor over tiles, and Shift + W S zooms the tiles. */
const livenessInput = (() => {
  "use strict";
  const plots = popvision.plots;
  const WAIT = 60; /* ms that the pointer rests before a cell is asked about */

  function zoomed([from, to], [first, last], factor, at) {
    const width = Math.max(1, Math.min(last - first + 1, Math.round((to - from + 1) * factor) || 1));
    const low = Math.max(first, Math.min(Math.round(at - ((at - from) * width) / (to - from + 1)), last - width + 1));
    return [low, low + width - 1];
  }

  function listen(map) {
    const host = map.host;
    let timer = 0,
      from = null;
    const point = (event) => {
      const box = map.canvas.getBoundingClientRect();
      return [event.clientX - box.x, event.clientY - box.y];
    };

    function hover(event) {
      window.clearTimeout(timer);
      map.tip.hidden = true;
      const at = map.answer && map.placeAt(...point(event));
      if (!at || event.buttons) return;
      const [x, y] = point(event);
      timer = window.setTimeout(async () => {
        const cell = map.cellOf(at);
        try {
          tell(map, cell, await map.highest(cell), x, y);
        } catch (_) {
          /* the picture says what is wrong */
        }
      }, WAIT);
    }

    host.addEventListener("pointermove", hover);
    host.addEventListener("pointerleave", () => {
      window.clearTimeout(timer);
      map.tip.hidden = true;
    });
    host.addEventListener("pointerdown", (event) => {
      if (event.button || !map.answer) return;
      from = map.placeAt(...point(event)) && point(event);
    });
    host.addEventListener("pointerup", async (event) => {
      const begin = from;
      from = null;
      if (!begin || !map.answer) return;
      const end = point(event);
      if (Math.hypot(end[0] - begin[0], end[1] - begin[1]) > 5) return show(map, begin, end);
      const at = map.placeAt(...end);
      if (at) choose(map, await map.highest(map.cellOf(at)));
    });
    host.addEventListener("dblclick", () => {
      map.setTiles(...map.heat.tiles);
      plots.setWindow(map.plot, 0, map.plot.count - 1);
    });
    host.addEventListener(
      "wheel",
      (event) => {
        const at = map.answer && map.placeAt(...point(event));
        if (!at) return;
        event.preventDefault();
        const factor = Math.pow(1.0015, event.deltaY || event.deltaX);
        if (event.shiftKey) map.setTiles(...zoomed(map.tiles, map.heat.tiles, factor, at.tile));
        else plots.setWindow(map.plot, ...zoomed(map.indices, [0, map.plot.count - 1], factor, at.index));
      },
      { passive: false },
    );
    host.addEventListener("keydown", (event) => keys(map, event));
  }

  /* Show the rectangle that was dragged over. */
  function show(map, begin, end) {
    const inside = (at) => {
      const a = map.area;
      return [
        Math.max(a.x, Math.min(at[0], a.x + a.width - 0.01)),
        Math.max(a.y, Math.min(at[1], a.y + a.height - 0.01)),
      ];
    };
    const [one, other] = [map.placeAt(...inside(begin)), map.placeAt(...inside(end))];
    map.setTiles(Math.min(one.tile, other.tile), Math.max(one.tile, other.tile));
    plots.setWindow(map.plot, Math.min(one.index, other.index), Math.max(one.index, other.index));
  }

  function choose(map, place) {
    popvision.select({ tiles: place.tile, liveness: place.index, live_also: null });
  }

  function keys(map, event) {
    if (event.ctrlKey || event.metaKey || event.altKey || !map.answer) return;
    const tiles = map.tiles,
      cursor = map.cursor;
    const step = map.answer.header.tilesPerRow;
    const to = (tile) => {
      const [first, last] = map.heat.tiles;
      const next = Math.max(first, Math.min(tile, last));
      popvision.select({ tiles: next });
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
      Enter: async () =>
        cursor.tile !== null && cursor.index !== null && choose(map, await map.highest(map.cellOf(cursor))),
    };
    const action = actions[event.code];
    if (!action || (event.code.startsWith("Key") && !event.shiftKey)) return;
    event.preventDefault();
    event.stopPropagation();
    action();
  }

  function tell(map, cell, place, x, y) {
    const number = (value) => value.toLocaleString("en-US");
    const span = ([first, last], one, many) =>
      first === last ? one + " " + number(first) : many + " " + number(first) + " to " + number(last);
    const line = (text, className) => Object.assign(document.createElement("div"), { textContent: text, className });
    const many = cell.tiles[0] !== cell.tiles[1] || cell.indices[0] !== cell.indices[1];
    const bytes = (value) => popvision.bytesText(value) + " (" + number(value) + " B)";
    const compares = "target" in place,
      known = compares && place.target !== null;
    const change = known ? place.target - place.bytes : 0;
    const value = !compares
      ? bytes(place.bytes)
      : known
        ? (change > 0 ? "+" : change < 0 ? "−" : "") + bytes(Math.abs(change))
        : "No partner in the target";
    map.tip.replaceChildren(
      line(value, "heat-tip-value"),
      ...(compares ? [line("source " + bytes(place.bytes), "")] : []),
      ...(known
        ? [
            line(
              "target " +
                bytes(place.target) +
                (place.targetIndex === place.index ? "" : ", its index " + number(place.targetIndex)),
              "",
            ),
          ]
        : []),
      line(
        (many ? (known ? "largest of " : "highest of ") : "") +
          span(cell.tiles, "tile", "tiles") +
          ", " +
          span(cell.indices, "index", "indices"),
        "",
      ),
      line(
        "tile " + number(place.tile) + " of IPU " + place.ipu + " at index " + number(place.index) + ": " + place.name,
        "heat-tip-name",
      ),
    );
    map.tip.hidden = false;
    const [width, height] = [map.host.clientWidth, map.host.clientHeight];
    map.tip.style.left = Math.min(x + 14, width - map.tip.offsetWidth - 6) + "px";
    map.tip.style.top = (y + 18 + map.tip.offsetHeight > height ? y - 12 - map.tip.offsetHeight : y + 16) + "px";
  }

  return { listen };
})();
Object.assign(popvision.liveness, livenessInput);
