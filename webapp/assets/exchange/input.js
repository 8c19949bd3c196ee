// @ts-check
/* Pointer and keys of the exchange page's canvas; rows of its tables select a program or a pair of tiles. */
import { isMeantFor } from "../shared/canvas/keys.js";
import { followDrags, placeTip, pointIn, tipLine, wheelOf } from "../shared/canvas/pointer.js";
import { keyOf } from "../shell/commands.js";
import { select } from "../shell/viewer.js";

const ready = (board) => board.layer && !board.layer.reason;

function showAll(board) {
  const { width, height } = board.layer.extent;
  board.setView(0, width, 0, height);
}

function keyDown(board, event) {
  if (!ready(board) || !isMeantFor(event, board.host)) return;
  const many = event.shiftKey ? 10 : 1;
  const arrows = { ArrowLeft: [-many, 0], ArrowRight: [many, 0], ArrowUp: [0, -many], ArrowDown: [0, many] };
  const common = {
    "zoom-in": () => board.zoom(0.6),
    "zoom-out": () => board.zoom(1 / 0.6),
    left: () => board.pan(-0.15, 0),
    right: () => board.pan(0.15, 0),
    next: () => board.step(1, 0),
    previous: () => board.step(-1, 0),
    all: () => showAll(board),
    fit: () => {
      const at = board.layer.cursor();
      if (at) board.setView(at.x - 8, at.x + 9, at.y - 8, at.y + 9);
    },
    mark: () => board.toggleMark(),
    clear: () => select(board.selection.tiles ? { tiles: null, xch_to: null } : { xch_mark: null }),
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
    : common[keyOf(event)] || more[event.key];
  if (!action) return;
  event.preventDefault();
  action();
}

function hover(board, event) {
  if (!ready(board) || event.buttons) return;
  const point = pointIn(event, board.canvas);
  const at = board.at(point.x, point.y);
  const lines = at ? board.layer.describe(at) : [];
  board.tip.hidden = !lines.length;
  if (!lines.length) return;
  const className = (index) => (index ? "heat-tip-name" : "heat-tip-value");
  board.tip.replaceChildren(...lines.map((text, index) => tipLine(text, className(index))));
  placeTip(board.tip, board.host, point);
}

/* A drag moves the window, a click puts the cursor. */
function press(board, begin) {
  if (!board.layer) return null;
  const { view } = board;
  return {
    move: ({ x, y }) => {
      if (!ready(board)) return;
      board.tip.hidden = true;
      const dx = ((begin.x - x) * (view.x1 - view.x0)) / board.area.width;
      const dy = ((begin.y - y) * (view.y1 - view.y0)) / board.area.height;
      board.setView(view.x0 + dx, view.x1 + dx, view.y0 + dy, view.y1 + dy);
    },
    click: ({ x, y }) => {
      const place = ready(board) && board.at(x, y);
      if (place) select(board.layer.patch(place) || {});
    },
  };
}

function wheel(board, event) {
  const { x, y } = pointIn(event, board.canvas);
  const at = ready(board) && board.at(x, y);
  if (!at) return;
  event.preventDefault();
  board.zoom(Math.pow(1.0015, wheelOf(event).main), at);
}

function listen(board) {
  const { host, listeners } = board;
  listeners.on(document, "keydown", (event) => keyDown(board, event));
  followDrags(listeners, host, (point) => press(board, point));
  listeners.on(host, "pointermove", (event) => hover(board, event));
  listeners.on(host, "pointerleave", () => {
    board.tip.hidden = true;
  });
  listeners.on(host, "dblclick", () => {
    if (ready(board)) showAll(board);
  });
  listeners.on(host, "wheel", (event) => wheel(board, event), { passive: false });
}

const callbacks = {
  /* A row chosen in the table of programs or of pairs. */
  rows: (chosen) => {
    const row = (chosen || []).flat().find((each) => each);
    if (row && row.program !== undefined && row.program !== null)
      select({ program: row.program, step: null, xch_to: null });
    else if (row && row.source !== undefined) select({ tiles: row.source, xch_to: row.destination });
    return window.dash_clientside.no_update;
  },
};

export { listen, callbacks };
