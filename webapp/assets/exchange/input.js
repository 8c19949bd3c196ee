// @ts-check
/* Pointer and keys of the exchange page's canvas; rows of its tables select a program or a pair of tiles. */
const exchangeInput = (() => {
  "use strict";

  function ours(board, event) {
    const target = event.target;
    if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || !board.layer || board.layer.reason)
      return false;
    if (popvision.isTyping(target) || document.querySelector("dialog[open], details.popover[open]")) return false;
    return target === document.body || target.id === "page" || board.host.contains(target);
  }

  function keyDown(board, event) {
    if (!ours(board, event)) return;
    const many = event.shiftKey ? 10 : 1;
    const arrows = { ArrowLeft: [-many, 0], ArrowRight: [many, 0], ArrowUp: [0, -many], ArrowDown: [0, many] };
    const common = {
      "zoom-in": () => board.zoom(0.6),
      "zoom-out": () => board.zoom(1 / 0.6),
      left: () => board.pan(-0.15, 0),
      right: () => board.pan(0.15, 0),
      next: () => board.step(1, 0),
      previous: () => board.step(-1, 0),
      all: () => board.setView(0, board.layer.whole.width, 0, board.layer.whole.height),
      fit: () => {
        const at = board.layer.cursor();
        if (at) board.setView(at.x - 8, at.x + 9, at.y - 8, at.y + 9);
      },
      mark: () => board.toggleMark(),
      clear: () => popvision.select(board.selection.tiles ? { tiles: null, xch_to: null } : { xch_mark: null }),
    };
    const more = {
      "+": common["zoom-in"],
      "=": common["zoom-in"],
      "-": common["zoom-out"],
      Home: common.all,
      PageUp: () => board.pan(0, -0.5),
      PageDown: () => board.pan(0, 0.5),
    };
    const focused = board.host.contains(event.target);
    const action = arrows[event.key]
      ? focused && (() => board.step(...arrows[event.key]))
      : common[popvision.keyOf(event)] || more[event.key];
    if (!action) return;
    event.preventDefault();
    action();
  }

  function tell(board, event) {
    const box = board.canvas.getBoundingClientRect(),
      x = event.clientX - box.x,
      y = event.clientY - box.y;
    const at = board.at(x, y),
      lines = at ? board.layer.describe(at) : [];
    board.tip.hidden = !lines.length;
    if (!lines.length) return;
    board.tip.replaceChildren(
      ...lines.map((text, index) =>
        Object.assign(document.createElement("div"), {
          textContent: text,
          className: index ? "heat-tip-name" : "heat-tip-value",
        }),
      ),
    );
    board.tip.style.left = Math.min(x + 14, board.host.clientWidth - board.tip.offsetWidth - 6) + "px";
    board.tip.style.top =
      (y + 18 + board.tip.offsetHeight > board.host.clientHeight
        ? Math.max(4, y - 12 - board.tip.offsetHeight)
        : y + 16) + "px";
  }

  function listen(board) {
    const { host } = board;
    const point = (event) => {
      const box = board.canvas.getBoundingClientRect();
      return [event.clientX - box.x, event.clientY - box.y];
    };
    let from = null;
    const keys = (event) => keyDown(board, event);
    document.addEventListener("keydown", keys);
    host.addEventListener("pointerdown", (event) => {
      if (event.button || !board.layer) return;
      from = { at: point(event), view: board.view, moved: false };
      host.setPointerCapture(event.pointerId);
    });
    host.addEventListener("pointermove", (event) => {
      if (!board.layer || board.layer.reason) return;
      if (!from) {
        tell(board, event);
        return;
      }
      const [x, y] = point(event),
        { view, at } = from;
      if (!from.moved && Math.hypot(x - at[0], y - at[1]) < 4) return;
      from.moved = true;
      board.tip.hidden = true;
      const dx = ((at[0] - x) * (view.x1 - view.x0)) / board.area.width,
        dy = ((at[1] - y) * (view.y1 - view.y0)) / board.area.height;
      board.setView(view.x0 + dx, view.x1 + dx, view.y0 + dy, view.y1 + dy);
    });
    host.addEventListener("pointerup", (event) => {
      const place = from && !from.moved && !board.layer.reason && board.at(...point(event));
      from = null;
      if (place) popvision.select(board.layer.patch(place) || {});
    });
    host.addEventListener("pointerleave", () => {
      board.tip.hidden = true;
    });
    host.addEventListener("dblclick", () => board.setView(0, board.layer.whole.width, 0, board.layer.whole.height));
    host.addEventListener(
      "wheel",
      (event) => {
        const at = board.layer && !board.layer.reason && board.at(...point(event));
        if (!at) return;
        event.preventDefault();
        board.zoom(Math.pow(1.0015, event.deltaY || event.deltaX), at);
      },
      { passive: false },
    );
    return () => document.removeEventListener("keydown", keys);
  }

  window.dash_clientside.exchange = {
    /* A row chosen in the table of programs or of pairs. */
    rows: (chosen) => {
      const row = (chosen || []).flat().find((each) => each);
      if (row && row.program !== undefined && row.program !== null)
        popvision.select({ program: row.program, step: null, xch_to: null });
      else if (row && row.source !== undefined) popvision.select({ tiles: row.source, xch_to: row.destination });
      return window.dash_clientside.no_update;
    },
  };

  return { listen };
})();
Object.assign(popvision.exchange, exchangeInput);
