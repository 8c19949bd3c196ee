// @ts-check
/* Axes of the exchange page: round ticks, the horizontal axis, the vertical axis. */
const exchangeAxes = (() => {
  "use strict";

  const { roundTicks } = popvision.canvas;

  const whole = (first, last, most) => roundTicks(first, last, most).filter((at) => Number.isInteger(at) && at < last);

  function axisX(pen, board, title, name) {
    const { area, view, colours } = board,
      bottom = area.y + area.height;
    pen.line(area.x, bottom, area.x + area.width, bottom, colours["line-strong"]);
    for (const at of whole(view.x0, view.x1, Math.max(2, area.width / 90))) {
      const x = board.x(at + 0.5);
      pen.line(x, bottom, x, bottom + 4, colours["line-strong"]);
      pen.text(name(at).toLocaleString("en-US"), x, bottom + 12, colours.axis, "center");
    }
    const order =
      board.selection.xch_order === "hardware"
        ? " (hardware order: by physical id within each IPU)"
        : " (software order)";
    pen.text(title + order, area.x + area.width / 2, bottom + 27, colours.axis, "center", 12);
  }

  function axisY(pen, board, title, name) {
    const { area, view, colours } = board;
    for (const at of whole(view.y0, view.y1, Math.max(2, area.height / 40))) {
      const y = board.y(at + 0.5);
      pen.line(area.x - 4, y, area.x, y, colours["line-strong"]);
      pen.text(name(at).toLocaleString("en-US"), area.x - 7, y, colours.axis, "right");
    }
    pen.text(title, area.x - 58, area.y - 14, colours.axis, "left", 12);
  }

  /* A transparent fill, so that the grid shows. */
  const faint = (colour) => colour + "33";

  return { axisX, axisY, faint };
})();
Object.assign(popvision.exchange, exchangeAxes);
