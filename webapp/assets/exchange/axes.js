// @ts-check
/* Axes of the exchange page: round ticks, the horizontal axis, the vertical axis. */
import { roundTicks } from "../shared/canvas/ticks.js";
import { tileNear } from "./data.js";

const tilePositions = (first, last, most) =>
  roundTicks(first, last, most).filter((at) => Number.isInteger(at) && at < last);

/* Labels of positions are tile numbers. */
function tileText(board, position) {
  const tile = tileNear(board.data, position);
  return tile === undefined ? "" : tile.toLocaleString("en-US");
}

function axisX(pen, board, title) {
  const { area, view, colours } = board,
    bottom = area.y + area.height;
  pen.line(area.x, bottom, area.x + area.width, bottom, colours["line-strong"]);
  for (const at of tilePositions(view.x0, view.x1, Math.max(2, area.width / 90))) {
    const x = board.x(at + 0.5);
    pen.line(x, bottom, x, bottom + 4, colours["line-strong"]);
    pen.text(tileText(board, at), x, bottom + 12, colours.axis, "center");
  }
  const order =
    board.selection.xch_order === "hardware"
      ? " (hardware order: by physical id within each IPU)"
      : " (software order)";
  pen.text(title + order, area.x + area.width / 2, bottom + 27, colours.axis, "center", 12);
}

function axisY(pen, board, title) {
  const { area, view, colours } = board;
  for (const at of tilePositions(view.y0, view.y1, Math.max(2, area.height / 40))) {
    const y = board.y(at + 0.5);
    pen.line(area.x - 4, y, area.x, y, colours["line-strong"]);
    pen.text(tileText(board, at), area.x - 7, y, colours.axis, "right");
  }
  pen.text(title, area.x - 58, area.y - 14, colours.axis, "left", 12);
}

/* A transparent fill, so that the grid shows. */
const faint = (colour) => colour + "33";

export { axisX, axisY, faint };
