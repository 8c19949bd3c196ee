// @ts-check
/* The visible picture as SVG: bars and labels are shapes and text; merged bars and tile maps are one image each. */
import { contextOf, escapeXml, makeCanvas, svgImage, svgTag } from "../shared/canvas/pens.js";
import { ROW, fitText } from "./bars.js";
import { coarseNote } from "./frame.js";
import { ticks } from "./numbers.js";
import { GUTTER } from "./shown.js";

const rect = (x, y, width, height, fill) => svgTag("rect", { x, y, width, height, fill });
const text = (x, y, fill, content, style) => svgTag("text", { x, y, fill, ...style }, escapeXml(content));

/* What `paint` draws on a canvas of this size, as an image element. */
function image(x, y, width, height, paint) {
  const picture = makeCanvas(Math.max(1, width), Math.max(1, height));
  paint(contextOf(picture));
  return svgImage(picture, x, y, picture.width, picture.height);
}

function bars(trace, band, top, parts) {
  const { viewport, palette, options } = trace;
  const source = trace.barsOf(band.ipu);
  const { data } = source;
  if (!data) return;
  const { level, name } = data.arrays;
  const bottom = Math.min(band.bars, source.height);
  if (options.small)
    parts.push(image(0, top, viewport.width, bottom, (draw) => source.drawCells(data, draw, palette, viewport, 0)));
  for (const [family, rows] of source.shown(palette)) {
    const style = palette.families[family];
    for (const row of rows) {
      const span = source.span(data, row, viewport);
      if (!span || (level[row] + 1) * ROW > bottom) continue;
      const width = span[1] > 3 ? span[1] - 1 : span[1],
        y = top + level[row] * ROW;
      const label = name[row] < 0 ? "" : data.header.names[name[row]];
      parts.push("<g>", svgTag("title", {}, escapeXml(label)), rect(span[0], y, width, ROW - 1, style.fill));
      const room = Math.min(span[0] + span[1], viewport.width) - Math.max(span[0], 0) - 9;
      if (options.labels && label && span[1] >= 26 && room > 12)
        parts.push(text(Math.max(span[0], 0) + 4, y + 12.5, style.ink, fitText(trace.draw, label, room)));
      parts.push("</g>");
    }
  }
  for (const lane of data.header.lanes.slice(1))
    parts.push(
      svgTag("line", {
        x1: 0,
        x2: viewport.width,
        y1: top + lane * ROW - 0.5,
        y2: top + lane * ROW - 0.5,
        stroke: palette.plain.ink,
        "stroke-dasharray": "6 4",
      }),
    );
}

function axis(trace, parts) {
  const { viewport, palette, view, facts } = trace;
  parts.push(rect(GUTTER, view.bandsTop - 1, viewport.width, 1, palette.plain["line-strong"]));
  for (const tick of ticks(viewport, 92, facts.clock, trace.units === "time")) {
    const x = GUTTER + Math.round(viewport.x(tick.cycle));
    parts.push(
      rect(x, view.bandsTop - 6, 1, 5, palette.plain.axis),
      text(x, view.bandsTop - 9, palette.plain.axis, tick.text, { "text-anchor": "middle" }),
    );
  }
  parts.push(text(8, view.bandsTop - 9, palette.plain.faint, trace.units === "time" ? "time" : "cycles"));
}

function svg(trace) {
  const { viewport, palette, view } = trace;
  const inside = [],
    gutter = [];
  trace.draw.font = "11px " + palette.font;
  for (const band of trace.bands.visible()) {
    const top = view.bandsTop + band.top - trace.bands.scroll;
    gutter.push(text(8, top + 12.5, palette.plain.ink, "IPU " + band.ipu, { "font-weight": 600 }));
    bars(trace, band, top, inside);
    if (band.tilesHeight)
      inside.push(
        image(0, view.bandsTop + band.tilesTop - trace.bands.scroll, viewport.width, band.tilesHeight, (draw) =>
          trace.bspOf(band.ipu).draw(draw, palette, viewport, 0, band.tilesHeight, band.rows),
        ),
      );
  }
  axis(trace, gutter);
  const note = coarseNote(trace);
  if (note) gutter.push(text(view.width - 8, view.height - 6, palette.plain.ink, note, { "text-anchor": "end" }));
  for (const cycle of trace.marks)
    inside.push(rect(Math.round(viewport.x(cycle)), view.bandsTop, 1, view.height, palette.plain.ink));
  const { width, height, bandsTop } = view;
  const size = { width: viewport.width, height: height - bandsTop };
  const viewBox = `0 ${bandsTop} ${size.width} ${size.height}`;
  const bands = svgTag("svg", { x: 0, y: bandsTop, ...size, viewBox }, inside.join(""));
  const root = { xmlns: "http://www.w3.org/2000/svg", width, height, viewBox: `0 0 ${width} ${height}` };
  return svgTag(
    "svg",
    { ...root, "font-family": palette.font, "font-size": 11 },
    rect(0, 0, width, height, palette.plain.surface) +
      svgTag("svg", { x: GUTTER, y: 0, width: viewport.width, height }, bands) +
      gutter.join(""),
  );
}

export { svg };
