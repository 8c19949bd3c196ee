// @ts-check
/* Pointer and keys of the address map. Drag zooms into the box, Shift-drag moves, the wheel zooms (Shift: indices
   only, Alt: addresses only), a click selects the variable and the index, a double click shows everything. */
const memoryAddressInput = (() => {
  "use strict";
  const addressMap = popvision.addressMap;
  const LEAST_DRAG = 4;

  function listen(on) {
    const { host } = on;
    let drag = null;
    const stops = [];
    const listen = (target, kind, listener, options) => {
      target.addEventListener(kind, listener, options);
      stops.push(() => target.removeEventListener(kind, listener, options));
    };
    const at = (event) => {
      const box = host.getBoundingClientRect();
      return { x: event.clientX - box.left, y: event.clientY - box.top };
    };
    const inside = (point) => {
      const box = addressMap.inside(on.view);
      return point.x >= box.x && point.x <= box.x + box.w && point.y >= box.y && point.y <= box.y + box.h;
    };

    listen(host, "pointerdown", (event) => {
      if (event.button || !on.data) return;
      host.focus({ preventScroll: true });
      const point = at(event);
      if (!inside(point)) return;
      drag = { ...point, last: point, moves: event.shiftKey, id: event.pointerId, far: false };
      host.setPointerCapture(event.pointerId);
    });
    listen(host, "pointermove", (event) => {
      const point = at(event);
      if (!drag) {
        hover(point);
        return;
      }
      drag.far = drag.far || Math.abs(point.x - drag.x) + Math.abs(point.y - drag.y) >= LEAST_DRAG;
      if (!drag.far) return;
      if (drag.moves) {
        const box = addressMap.inside(on.view);
        const indices = ((drag.last.x - point.x) / box.w) * (on.view.last - on.view.first);
        const addresses = ((point.y - drag.last.y) / box.h) * (on.view.top - on.view.bottom);
        if (Math.abs(indices) >= 1 || Math.abs(addresses) >= 1) {
          on.pan(indices, addresses);
          drag.last = point;
        }
      } else {
        on.box = {
          x0: Math.min(drag.x, point.x),
          y0: Math.min(drag.y, point.y),
          x1: Math.max(drag.x, point.x),
          y1: Math.max(drag.y, point.y),
        };
        on.draw();
      }
    });
    const end = (event) => {
      if (!drag) return;
      const { far, moves } = drag;
      drag = null;
      const box = on.box;
      on.box = null;
      if (!far) {
        click(at(event));
        return;
      }
      if (!moves && box) {
        on.show({
          first: addressMap.indexAt(on.view, box.x0),
          last: addressMap.indexAt(on.view, box.x1),
          bottom: addressMap.addressAt(on.view, box.y1),
          top: addressMap.addressAt(on.view, box.y0),
        });
      }
    };
    listen(host, "pointerup", end);
    listen(host, "pointercancel", () => {
      drag = null;
      on.box = null;
      on.draw();
    });
    listen(host, "dblclick", () => on.data && on.show(on.all));
    listen(
      host,
      "wheel",
      (event) => {
        if (!on.data) return;
        event.preventDefault();
        const point = at(event);
        const amount = event.deltaY || event.deltaX;
        on.zoom(
          Math.pow(1.0015, Math.max(-300, Math.min(300, amount))),
          addressMap.indexAt(on.view, point.x),
          addressMap.addressAt(on.view, point.y),
          event.shiftKey ? "x" : event.altKey ? "y" : "xy",
        );
      },
      { passive: false },
    );

    let waiting = 0;
    function hover(point) {
      if (!on.data || !inside(point)) return;
      window.clearTimeout(waiting);
      waiting = window.setTimeout(
        () => on.move(addressMap.addressAt(on.view, point.y), addressMap.indexAt(on.view, point.x), false),
        25,
      );
    }

    async function click(point) {
      window.clearTimeout(waiting);
      await on.move(addressMap.addressAt(on.view, point.y), addressMap.indexAt(on.view, point.x), false);
      on.choose();
    }
    stops.push(() => window.clearTimeout(waiting));

    /* The next address above or below at which something else lies at the cursor's index. */
    function neighbour(by) {
      const { cursor, place } = on;
      if (!place) return cursor.address;
      return by > 0 ? Math.max(place.end, cursor.address + 1) : Math.min(place.begin, cursor.address) - 1;
    }

    function fit() {
      const { chosen_begin: begin, chosen_end: end, chosen_from: from, chosen_to: to } = on.data.arrays;
      if (!begin.length) return;
      const least = (list) => list.reduce((a, b) => Math.min(a, b)),
        most = (list) => list.reduce((a, b) => Math.max(a, b));
      const high = Math.max(64, most(end) - least(begin)),
        wide = Math.max(1, most(to) - least(from));
      on.show({
        bottom: least(begin) - high * 0.3,
        top: most(end) + high * 0.3,
        first: least(from) - wide * 0.2,
        last: most(to) + wide * 0.2,
      });
    }

    const centre = () =>
      on.cursor || { index: (on.view.first + on.view.last) / 2, address: (on.view.bottom + on.view.top) / 2 };
    const step = (event) => (event.shiftKey ? Math.max(1, Math.round((on.view.last - on.view.first) / 20)) : 1);
    const near = () => on.cursor || { address: on.view.bottom, index: on.view.first };
    const BY_PLACE = {
      KeyW: () => on.zoom(0.7, centre().index, centre().address),
      KeyS: () => on.zoom(1 / 0.7, centre().index, centre().address),
      KeyA: () => on.pan(-Math.max(1, 0.15 * (on.view.last - on.view.first)), 0),
      KeyD: () => on.pan(Math.max(1, 0.15 * (on.view.last - on.view.first)), 0),
    };
    const KEYS = {
      ArrowRight: (event) => on.move(near().address, near().index + step(event), true),
      ArrowLeft: (event) => on.move(near().address, near().index - step(event), true),
      ArrowUp: () => on.move(neighbour(1), near().index, true),
      ArrowDown: () => on.move(neighbour(-1), near().index, true),
      PageUp: () => on.pan(0, 0.5 * (on.view.top - on.view.bottom)),
      PageDown: () => on.pan(0, -0.5 * (on.view.top - on.view.bottom)),
      "+": BY_PLACE.KeyW,
      "=": BY_PLACE.KeyW,
      "-": BY_PLACE.KeyS,
      0: () => on.show(on.all),
      Home: () => on.show(on.all),
      p: () => on.move(near().address, on.data.header.peak, true),
      f: fit,
      Enter: () => on.choose(),
      Escape: () => popvision.select({ variable: null }),
    };
    listen(host, "keydown", (event) => {
      if (!on.data || event.ctrlKey || event.metaKey || event.altKey) return;
      const action = BY_PLACE[event.code] || KEYS[event.key];
      if (!action) return;
      event.preventDefault();
      event.stopPropagation();
      action(event);
    });
    return () => stops.forEach((stop) => stop());
  }

  /* The picture of a map as a file: PNG of the pixels, SVG drawn anew from the same data. */
  document.addEventListener("click", (event) => {
    const button = popvision.closest(event, "[data-save-map]");
    /** @type {any} */
    const host = button && document.querySelector(".address-map");
    if (!host || !host.addressMap || !host.addressMap.data) return;
    const kind = button.dataset.saveMap;
    const name = "tile-" + host.dataset.tile + "-addresses." + kind;
    if (kind === "svg") popvision.download(new Blob([host.addressMap.svg()], { type: "image/svg+xml" }), name);
    else host.addressMap.canvas.toBlob((blob) => blob && popvision.download(blob, name), "image/png");
    const menu = button.closest("details");
    if (menu) menu.open = false;
  });

  return { listen };
})();
Object.assign(popvision.addressMap, memoryAddressInput);
