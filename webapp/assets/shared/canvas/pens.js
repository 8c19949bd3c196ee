// @ts-check
/* Two pens for one picture: a canvas, and SVG text. A pen draws boxes, outlines, lines, text, hatching and images, and
   clips. Both take the same calls, so that a saved SVG equals the picture on the screen. */
import { token } from "../../shell/viewer.js";
import { download } from "../dom.js";

const HATCH = 6; /* pixels of the hatching's tile */
const TEXT = 11; /* font size, pixels */
const ANCHOR = { left: "start", center: "middle", right: "end" };

/**
 * The 2D context of a canvas; every browser that Dash supports has one.
 *
 * @param {HTMLCanvasElement} canvas
 * @param {CanvasRenderingContext2DSettings} [settings]
 */
const contextOf = (canvas, settings) => /** @type {CanvasRenderingContext2D} */ (canvas.getContext("2d", settings));

/**
 * @param {number} width
 * @param {number} height
 */
const makeCanvas = (width, height) => Object.assign(document.createElement("canvas"), { width, height });

/**
 * Pixels as a canvas of one pixel each.
 *
 * @param {Uint32Array} pixels 0xAABBGGRR, row by row
 * @param {number} width
 */
function imageOf(pixels, width) {
  const canvas = makeCanvas(width, pixels.length / width);
  const image = new ImageData(new Uint8ClampedArray(pixels.slice().buffer), width, canvas.height);
  contextOf(canvas).putImageData(image, 0, 0);
  return canvas;
}

class CanvasPen {
  /**
   * @param {CanvasRenderingContext2D} draw
   * @param {string} font family
   */
  constructor(draw, font) {
    this.draw = draw;
    this.font = font;
    /** @type {{colour: string, pattern: CanvasPattern} | null} */
    this.hatching = null;
  }

  /** @type {Pen["box"]} */
  box(x, y, width, height, colour, alpha = 1) {
    const { draw } = this;
    if (alpha !== 1) draw.globalAlpha = alpha;
    draw.fillStyle = colour;
    draw.fillRect(x, y, width, height);
    if (alpha !== 1) draw.globalAlpha = 1;
  }

  /** @type {Pen["outline"]} */
  outline(x, y, width, height, colour, thick) {
    this.draw.strokeStyle = colour;
    this.draw.lineWidth = thick;
    this.draw.strokeRect(x, y, width, height);
  }

  /** @type {Pen["line"]} */
  line(x0, y0, x1, y1, colour, width = 1, dash = []) {
    const { draw } = this;
    draw.strokeStyle = colour;
    draw.lineWidth = width;
    draw.setLineDash(dash);
    draw.beginPath();
    draw.moveTo(x0, y0);
    draw.lineTo(x1, y1);
    draw.stroke();
    draw.setLineDash([]);
  }

  /** @type {Pen["text"]} */
  text(words, x, y, colour, align, size = TEXT, most = Infinity) {
    const { draw } = this;
    draw.font = size + "px " + this.font;
    draw.fillStyle = colour;
    draw.textAlign = align;
    draw.textBaseline = "middle";
    draw.fillText(most === Infinity ? words : fitStart(draw, words, most), x, y);
  }

  /** @type {Pen["hatch"]} */
  hatch(x, y, width, height, colour) {
    if (!this.hatching || this.hatching.colour !== colour)
      this.hatching = { colour, pattern: hatchPattern(this.draw, colour) };
    this.draw.fillStyle = this.hatching.pattern;
    this.draw.fillRect(x, y, width, height);
  }

  /** @type {Pen["image"]} */
  image(picture, x, y, width, height, area) {
    this.clip(area.x, area.y, area.width, area.height);
    this.draw.imageSmoothingEnabled = false;
    this.draw.drawImage(picture, x, y, width, height);
    this.unclip();
  }

  /** @type {Pen["clip"]} */
  clip(x, y, width, height) {
    this.draw.save();
    this.draw.beginPath();
    this.draw.rect(x, y, width, height);
    this.draw.clip();
  }

  unclip() {
    this.draw.restore();
  }
}

/**
 * The beginning of a text that fits `most` pixels, with an ellipsis; "" when not even that fits.
 *
 * @param {CanvasRenderingContext2D} draw
 * @param {string} words
 * @param {number} most
 */
function fitStart(draw, words, most) {
  const width = draw.measureText(words).width;
  if (width <= most) return words;
  let keep = Math.floor((words.length * most) / width);
  while (keep > 1 && draw.measureText(words.slice(0, keep) + "\u2026").width > most) keep -= 1;
  return keep > 1 ? words.slice(0, keep) + "\u2026" : "";
}

/**
 * @param {CanvasRenderingContext2D} draw
 * @param {string} colour
 */
function hatchPattern(draw, colour) {
  const tile = makeCanvas(HATCH, HATCH);
  const pen = contextOf(tile);
  pen.strokeStyle = colour;
  pen.lineWidth = 1;
  pen.stroke(new Path2D(HATCH_PATH));
  return /** @type {CanvasPattern} */ (draw.createPattern(tile, "repeat"));
}
const HATCH_PATH = "M-1,1 l2,-2 M0,6 l6,-6 M5,7 l2,-2";

/* ---- SVG ---- */

/** @param {unknown} text */
const escapeXml = (text) =>
  String(text)
    .replace(/[\u0000-\u0008\u000b\u000c\u000e-\u001f]/g, "\ufffd")
    .replace(/&/g, "&amp;")
    .replace(/</g, "&lt;")
    .replace(/>/g, "&gt;")
    .replace(/"/g, "&quot;");

/**
 * An SVG element; attributes that are "" or undefined are left out, numbers are rounded to hundredths.
 *
 * @param {string} name
 * @param {Record<string, string | number | undefined>} attributes
 * @param {string} [content] already SVG
 */
function svgTag(name, attributes, content) {
  const parts = Object.entries(attributes)
    .filter(([, value]) => value !== undefined && value !== "")
    .map(([key, value]) => {
      const rounded = typeof value === "number" ? Math.round(value * 100) / 100 : value;
      return ` ${key}="${escapeXml(rounded)}"`;
    });
  return content === undefined ? `<${name}${parts.join("")}/>` : `<${name}${parts.join("")}>${content}</${name}>`;
}

class SvgPen {
  /**
   * @param {number} width
   * @param {number} height
   * @param {string} font family
   */
  constructor(width, height, font) {
    this.width = width;
    this.height = height;
    this.font = font;
    this.clips = 0;
    const path = svgTag("path", { d: HATCH_PATH, stroke: "currentColor", "stroke-width": 0.8 });
    const pattern = { id: "hatch", width: HATCH, height: HATCH, patternUnits: "userSpaceOnUse" };
    this.parts = [svgTag("defs", {}, svgTag("pattern", pattern, path))];
  }

  /** @type {Pen["box"]} */
  box(x, y, width, height, colour, alpha = 1) {
    const opacity = alpha === 1 ? undefined : alpha;
    this.parts.push(svgTag("rect", { x, y, width, height, fill: colour, "fill-opacity": opacity }));
  }

  /** @type {Pen["outline"]} */
  outline(x, y, width, height, colour, thick) {
    const style = { fill: "none", stroke: colour, "stroke-width": thick };
    this.parts.push(svgTag("rect", { x, y, width, height, ...style }));
  }

  /** @type {Pen["line"]} */
  line(x0, y0, x1, y1, colour, width = 1, dash = []) {
    const style = { stroke: colour, "stroke-width": width, "stroke-dasharray": dash.join(" ") };
    this.parts.push(svgTag("line", { x1: x0, y1: y0, x2: x1, y2: y1, ...style }));
  }

  /** @type {Pen["text"]} */
  text(words, x, y, colour, align, size = TEXT, most = Infinity) {
    const shown = most === Infinity ? words : words.slice(0, Math.max(1, Math.floor(most / (0.56 * size))));
    const style = { fill: colour, "font-size": size, "text-anchor": ANCHOR[align], "dominant-baseline": "middle" };
    this.parts.push(svgTag("text", { x, y, ...style }, escapeXml(shown)));
  }

  /** @type {Pen["hatch"]} */
  hatch(x, y, width, height, colour) {
    this.parts.push(svgTag("rect", { x, y, width, height, fill: "url(#hatch)", color: colour }));
  }

  /** @type {Pen["image"]} */
  image(picture, x, y, width, height, area) {
    this.clip(area.x, area.y, area.width, area.height);
    this.parts.push(svgImage(picture, x, y, width, height));
    this.unclip();
  }

  /** @type {Pen["clip"]} */
  clip(x, y, width, height) {
    this.clips += 1;
    const id = "clip-" + this.clips;
    this.parts.push(svgTag("clipPath", { id }, svgTag("rect", { x, y, width, height })), `<g clip-path="url(#${id})">`);
  }

  unclip() {
    this.parts.push("</g>");
  }

  toString() {
    const size = { xmlns: "http://www.w3.org/2000/svg", width: this.width, height: this.height };
    return svgTag("svg", { ...size, "font-family": this.font, "font-size": TEXT }, this.parts.join("\n")) + "\n";
  }
}

/**
 * @param {HTMLCanvasElement} picture
 * @param {number} x
 * @param {number} y
 * @param {number} width
 * @param {number} height
 */
function svgImage(picture, x, y, width, height) {
  const style = { preserveAspectRatio: "none", style: "image-rendering: pixelated" };
  return svgTag("image", { x, y, width, height, ...style, href: picture.toDataURL("image/png") });
}

/**
 * Save a picture, as it stands on the screen, as SVG or as PNG of twice the size.
 *
 * @param {{width: number, height: number, kind: string, name: string}} file
 * @param {(pen: CanvasPen | SvgPen) => void} paint
 */
function savePicture({ width, height, kind, name }, paint) {
  const font = token("font");
  if (kind === "svg") {
    const pen = new SvgPen(width, height, font);
    paint(pen);
    download(new Blob([String(pen)], { type: "image/svg+xml" }), name + ".svg");
    return;
  }
  const canvas = makeCanvas(2 * width, 2 * height);
  const draw = contextOf(canvas);
  draw.scale(2, 2);
  paint(new CanvasPen(draw, font));
  canvas.toBlob((blob) => blob && download(blob, name + ".png"), "image/png");
}

export { contextOf, makeCanvas, imageOf, CanvasPen, SvgPen, svgTag, svgImage, escapeXml, savePicture };
