// @ts-check
/* Draws an address map: addresses upwards, liveness indices to the right. `paint(painter, view, data, colours)`
   draws through a painter, so that a canvas and an SVG file get the same picture. */
const memoryAddressPaint = (() => {
  "use strict";
  const addressMap = popvision.addressMap;
  const LEFT = 84,
    RIGHT = 54,
    TOP = 46,
    BOTTOM = 26;
  const NONE = 255;
  const SHADES = [1, 0.84, 0.7];

  /* Pixels of the plot's inside; `view` also has bottom, top, first, last. */
  const inside = (view) => ({
    x: LEFT,
    y: TOP,
    w: Math.max(20, view.width - LEFT - RIGHT),
    h: Math.max(20, view.height - TOP - BOTTOM),
  });
  const xOf = (view, index) => {
    const box = inside(view);
    return box.x + ((index - view.first) / (view.last - view.first)) * box.w;
  };
  const yOf = (view, address) => {
    const box = inside(view);
    return box.y + box.h - ((address - view.bottom) / (view.top - view.bottom)) * box.h;
  };
  const indexAt = (view, x) => {
    const box = inside(view);
    return view.first + ((x - box.x) / box.w) * (view.last - view.first);
  };
  const addressAt = (view, y) => {
    const box = inside(view);
    return view.bottom + ((box.y + box.h - y) / box.h) * (view.top - view.bottom);
  };

  class CanvasPainter {
    constructor(context, ratio) {
      this.context = context;
      this.ratio = ratio;
    }
    rect(x, y, w, h, colour, alpha) {
      this.context.globalAlpha = alpha === undefined ? 1 : alpha;
      this.context.fillStyle = colour;
      this.context.fillRect(x, y, w, h);
      this.context.globalAlpha = 1;
    }
    frame(x, y, w, h, colour, width) {
      this.context.strokeStyle = colour;
      this.context.lineWidth = width;
      this.context.strokeRect(x, y, w, h);
    }
    hatch(x, y, w, h, colour) {
      if (!this.tile || this.tile.colour !== colour) this.tile = { colour, pattern: hatching(this.context, colour) };
      this.context.fillStyle = this.tile.pattern;
      this.context.fillRect(x, y, w, h);
    }
    line(x0, y0, x1, y1, colour, dash) {
      const { context } = this;
      context.strokeStyle = colour;
      context.lineWidth = 1;
      context.setLineDash(dash || []);
      context.beginPath();
      context.moveTo(x0, y0);
      context.lineTo(x1, y1);
      context.stroke();
      context.setLineDash([]);
    }
    text(text, x, y, colour, align, most) {
      const { context } = this;
      context.fillStyle = colour;
      context.textAlign = align || "left";
      context.textBaseline = "middle";
      context.fillText(most ? fitted(context, text, most) : text, x, y);
    }
    font(value) {
      this.context.font = value;
    }
    clip(x, y, w, h) {
      this.context.save();
      this.context.beginPath();
      this.context.rect(x, y, w, h);
      this.context.clip();
    }
    unclip() {
      this.context.restore();
    }
  }

  /* The same calls as SVG elements; text is escaped. */
  class SvgPainter {
    constructor(width, height, ground, font) {
      this.parts = [
        '<svg xmlns="http://www.w3.org/2000/svg" width="' +
          width +
          '" height="' +
          height +
          '" font-family="sans-serif" font-size="11">',
        '<defs><pattern id="gap" width="6" height="6" patternUnits="userSpaceOnUse"><path d="M-1,1 l2,-2 M0,6 l6,-6 M5,7 l2,-2" stroke="currentColor" stroke-width="0.8"/></pattern></defs>',
      ];
      this.font_ = font;
      this.clips = 0;
      this.rect(0, 0, width, height, ground);
    }
    rect(x, y, w, h, colour, alpha) {
      this.parts.push(
        '<rect x="' +
          n(x) +
          '" y="' +
          n(y) +
          '" width="' +
          n(w) +
          '" height="' +
          n(h) +
          '" fill="' +
          colour +
          '"' +
          (alpha === undefined || alpha === 1 ? "" : ' fill-opacity="' + n(alpha) + '"') +
          "/>",
      );
    }
    frame(x, y, w, h, colour, width) {
      this.parts.push(
        '<rect x="' +
          n(x) +
          '" y="' +
          n(y) +
          '" width="' +
          n(w) +
          '" height="' +
          n(h) +
          '" fill="none" stroke="' +
          colour +
          '" stroke-width="' +
          width +
          '"/>',
      );
    }
    hatch(x, y, w, h, colour) {
      this.parts.push(
        '<rect x="' +
          n(x) +
          '" y="' +
          n(y) +
          '" width="' +
          n(w) +
          '" height="' +
          n(h) +
          '" fill="url(#gap)" color="' +
          colour +
          '"/>',
      );
    }
    line(x0, y0, x1, y1, colour, dash) {
      this.parts.push(
        '<line x1="' +
          n(x0) +
          '" y1="' +
          n(y0) +
          '" x2="' +
          n(x1) +
          '" y2="' +
          n(y1) +
          '" stroke="' +
          colour +
          '"' +
          (dash ? ' stroke-dasharray="' + dash.join(" ") + '"' : "") +
          "/>",
      );
    }
    text(text, x, y, colour, align, most) {
      const shown = most ? text.slice(0, Math.max(1, Math.floor(most / 6.2))) : text;
      this.parts.push(
        '<text x="' +
          n(x) +
          '" y="' +
          n(y + 4) +
          '" fill="' +
          colour +
          '" text-anchor="' +
          ({ right: "end", center: "middle" }[align] || "start") +
          '">' +
          escaped(shown) +
          "</text>",
      );
    }
    font() {
      /* one size */
    }
    clip(x, y, w, h) {
      this.clips += 1;
      this.parts.push(
        '<clipPath id="c' +
          this.clips +
          '"><rect x="' +
          n(x) +
          '" y="' +
          n(y) +
          '" width="' +
          n(w) +
          '" height="' +
          n(h) +
          '"/></clipPath><g clip-path="url(#c' +
          this.clips +
          ')">',
      );
    }
    unclip() {
      this.parts.push("</g>");
    }
    get content() {
      return this.parts.join("\n") + "\n</svg>\n";
    }
  }

  const n = (value) => Math.round(value * 100) / 100;
  const escaped = (text) =>
    text
      .replace(/[\u0000-\u0008\u000b\u000c\u000e-\u001f]/g, "\ufffd")
      .replace(/&/g, "&amp;")
      .replace(/</g, "&lt;")
      .replace(/>/g, "&gt;");

  function fitted(context, text, most) {
    if (context.measureText(text).width <= most) return text;
    let keep = Math.floor((text.length * most) / context.measureText(text).width);
    while (keep > 1 && context.measureText(text.slice(0, keep) + "\u2026").width > most) keep -= 1;
    return keep > 1 ? text.slice(0, keep) + "\u2026" : "";
  }

  function hatching(context, colour) {
    const tile = document.createElement("canvas");
    tile.width = tile.height = 6;
    const pen = tile.getContext("2d");
    pen.strokeStyle = colour;
    pen.lineWidth = 1;
    pen.beginPath();
    for (const [x, y] of [
      [-1, 1],
      [0, 6],
      [5, 7],
    ]) {
      pen.moveTo(x, y);
      pen.lineTo(x + (y === 6 ? 6 : 2), y - (y === 6 ? 6 : 2));
    }
    pen.stroke();
    return context.createPattern(tile, "repeat");
  }

  function paint(painter, view, data, colours) {
    const box = inside(view);
    painter.font(colours.font);
    painter.clip(box.x, box.y, box.w, box.h);
    ground(painter, view, data, colours, box);
    if (data.header.exact) bands(painter, view, data, colours);
    else cells(painter, view, data);
    borders(painter, view, data, colours, box);
    chosen(painter, view, data, colours);
    painter.unclip();
    liveStrip(painter, view, data, colours, box);
    sharing(painter, view, data, colours, box);
    axes(painter, view, data, colours, box);
  }

  /* Reserved addresses where nothing is drawn later are idle; gaps are hatched over all indices. */
  function ground(painter, view, data, colours, box) {
    const top = addressMap.yOf(view, Math.min(data.header.including, view.top));
    painter.rect(box.x, top, box.w, box.y + box.h - top, colours.idle);
    const { gap_begin: begin, gap_end: end } = data.arrays;
    for (let at = 0; at < begin.length; at += 1) {
      const y = addressMap.yOf(view, end[at]);
      const height = Math.max(1, addressMap.yOf(view, begin[at]) - y);
      painter.rect(box.x, y, box.w, height, colours.surface);
      if (height >= 2) painter.hatch(box.x, y, box.w, height, colours.hatch);
    }
  }

  function bands(painter, view, data, colours) {
    const { begin, end, live_from: from, live_to: to, category, label, shade } = data.arrays;
    const fill = Object.fromEntries(data.header.categories.map((each) => [each[0], each[2]]));
    for (let at = 0; at < begin.length; at += 1) {
      const x = addressMap.xOf(view, from[at]),
        y = addressMap.yOf(view, end[at]);
      const w = Math.max(1, addressMap.xOf(view, to[at]) - x),
        h = Math.max(0.6, addressMap.yOf(view, begin[at]) - y);
      const inset = w > 4 && h > 3 ? 0.5 : 0;
      painter.rect(x, y, w - inset, h - inset, fill[category[at]] || colours.muted, SHADES[shade[at]]);
    }
    for (let at = 0; at < begin.length; at += 1) {
      if (label[at] < 0) continue;
      const x = Math.max(addressMap.xOf(view, from[at]), addressMap.xOf(view, view.first)),
        y =
          (addressMap.yOf(view, Math.min(end[at], view.top)) + addressMap.yOf(view, Math.max(begin[at], view.bottom))) /
          2;
      const w = Math.min(addressMap.xOf(view, to[at]), addressMap.xOf(view, view.last)) - x;
      painter.text(data.header.names[label[at]], x + 5, y, inkOn(fill[category[at]]), "left", w - 10);
    }
  }

  /* Black or white, whichever reads better on a colour "#rrggbb". */
  function inkOn(colour) {
    const parts = [1, 3, 5].map((at) => parseInt((colour || "#888888").slice(at, at + 2), 16) / 255);
    const linear = parts.map((v) => (v <= 0.04045 ? v / 12.92 : Math.pow((v + 0.055) / 1.055, 2.4)));
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2] > 0.19 ? "#0b0e14" : "#ffffff";
  }

  /* Equal neighbours of a row become one rectangle. */
  function cells(painter, view, data) {
    const { header, arrays } = data;
    const fill = Object.fromEntries(header.categories.map((each) => [each[0], each[2]]));
    for (let row = 0; row < header.rows; row += 1) {
      const low = addressMap.yOf(view, header.bottom + row * header.cellBytes);
      const high = addressMap.yOf(view, header.bottom + (row + 1) * header.cellBytes);
      let begun = 0;
      for (let column = 1; column <= header.columns; column += 1) {
        const before = row * header.columns + column - 1,
          here = before + 1;
        if (
          column < header.columns &&
          arrays.cell_category[here] === arrays.cell_category[before] &&
          arrays.cell_share[here] >> 4 === arrays.cell_share[before] >> 4
        )
          continue;
        if (arrays.cell_category[before] !== NONE) {
          const x = addressMap.xOf(view, header.first + begun * header.cellIndices);
          painter.rect(
            x,
            high,
            addressMap.xOf(view, header.first + column * header.cellIndices) - x,
            low - high,
            fill[arrays.cell_category[before]],
            0.25 + (0.75 * arrays.cell_share[before]) / 255,
          );
        }
        begun = column;
      }
    }
  }

  function borders(painter, view, data, colours, box) {
    for (const [address, colour] of [
      [data.header.split, colours.muted],
      [data.header.capacity, colours.bad],
    ]) {
      if (address > view.bottom && address <= view.top)
        painter.line(
          box.x,
          addressMap.yOf(view, address),
          box.x + box.w,
          addressMap.yOf(view, address),
          colour,
          [5, 4],
        );
    }
  }

  function chosen(painter, view, data, colours) {
    const { chosen_begin: begin, chosen_end: end, chosen_from: from, chosen_to: to } = data.arrays;
    for (let at = 0; at < begin.length; at += 1) {
      const x = addressMap.xOf(view, from[at]),
        y = addressMap.yOf(view, end[at]);
      painter.frame(
        x,
        y,
        Math.max(2, addressMap.xOf(view, to[at]) - x),
        Math.max(2, addressMap.yOf(view, begin[at]) - y),
        colours.ink,
        2,
      );
    }
  }

  /* Above the map: bytes live at each index (most of a column dark, least solid) out of the bytes reserved. */
  function liveStrip(painter, view, data, colours, box) {
    const { live_most: most, live_least: least } = data.arrays;
    const height = TOP - 18,
      base = TOP - 6,
      reserved = Math.max(1, data.header.excluding);
    painter.rect(box.x, base - height, box.w, height, colours.idle);
    for (let column = 0; column < most.length; column += 1) {
      const x = addressMap.xOf(view, data.header.first + column * data.header.cellIndices);
      const w = Math.max(
        0.7,
        addressMap.xOf(view, Math.min(data.header.last, data.header.first + (column + 1) * data.header.cellIndices)) -
          x,
      );
      painter.rect(
        x,
        base - (height * most[column]) / reserved,
        w,
        (height * most[column]) / reserved,
        colours.live,
        0.45,
      );
      painter.rect(
        x,
        base - (height * least[column]) / reserved,
        w,
        (height * least[column]) / reserved,
        colours.live,
        0.55,
      );
    }
    painter.text("Live", LEFT - 8, base - height / 2, colours.axis, "right");
    if (data.header.peak >= view.first && data.header.peak < view.last) {
      const x = (addressMap.xOf(view, data.header.peak) + addressMap.xOf(view, data.header.peak + 1)) / 2;
      painter.line(x, base - height - 3, x, box.y + box.h, colours.accent, [2, 3]);
      painter.text("peak", Math.min(x, box.x + box.w - 14), 7, colours.accent, "center");
    }
  }

  /* Right of the map: how many allocations take turns at the addresses of a row. */
  function sharing(painter, view, data, colours, box) {
    const counts = data.arrays.sharing;
    const most = counts.reduce((a, b) => Math.max(a, b), 1);
    for (let row = 0; row < counts.length; row += 1) {
      const low = addressMap.yOf(view, data.header.bottom + row * data.header.cellBytes);
      const high = addressMap.yOf(
        view,
        Math.min(data.header.top, data.header.bottom + (row + 1) * data.header.cellBytes),
      );
      painter.rect(
        box.x + box.w + 6,
        high,
        ((RIGHT - 14) * counts[row]) / most,
        Math.max(0.6, low - high),
        colours.share,
      );
    }
    painter.text("\u2264" + most + " share", box.x + box.w + 3, box.y - 8, colours.axis, "left");
  }

  function axes(painter, view, data, colours, box) {
    painter.line(box.x, box.y, box.x, box.y + box.h, colours.line);
    painter.line(box.x, box.y + box.h, box.x + box.w, box.y + box.h, colours.line);
    for (const each of addressTicks(view)) {
      const y = addressMap.yOf(view, each.value);
      painter.line(box.x - 4, y, box.x, y, colours.line);
      painter.text(each.text, box.x - 8, y, colours.axis, "right");
    }
    for (const index of indexTicks(view)) {
      const x = addressMap.xOf(view, index + 0.5);
      painter.line(x, box.y + box.h, x, box.y + box.h + 4, colours.line);
      painter.text(index.toLocaleString("en-US"), x, box.y + box.h + 13, colours.axis, "center");
    }
  }

  function addressTicks(view) {
    const span = view.top - view.bottom;
    const count = Math.max(2, Math.floor(inside(view).h / 44));
    const steps = popvision.byteTicks(span, count);
    const step = steps.length > 1 ? steps[1].value : span;
    const ticks = [];
    for (let value = Math.ceil(view.bottom / step) * step; value <= view.top; value += step) {
      ticks.push({
        value,
        text: step >= 1024 || value === 0 ? (value ? popvision.bytesText(value) : "0") : "0x" + value.toString(16),
      });
    }
    return ticks;
  }

  function indexTicks(view) {
    const least = (view.last - view.first) / Math.max(2, Math.floor(inside(view).w / 90));
    const power = Math.pow(10, Math.floor(Math.log10(Math.max(1, least))));
    const step = Math.max(1, power * [1, 2, 5, 10].find((factor) => factor * power >= least));
    const ticks = [];
    for (let index = Math.ceil(view.first / step) * step; index < view.last; index += step) ticks.push(index);
    return ticks;
  }

  return { inside, xOf, yOf, indexAt, addressAt, paint, inkOn, addressTicks, indexTicks, CanvasPainter, SvgPainter };
})();
Object.assign(popvision.addressMap, memoryAddressPaint);
