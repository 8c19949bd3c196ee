// @ts-check
/* Colours and patterns of step families from tokens.css, and colours of packed pixels.

   A packed pixel holds six five-bit shares (compute, exchange, global, host, wait, sync); 31 is the whole pixel. */
const executionPalette = (() => {
  "use strict";
  const CLASSES = ["compute", "exchange", "global", "host", "wait", "sync"];
  const FAMILIES = CLASSES.concat(["control", "group", "other", "run"]);
  const PLAIN = [
    "canvas",
    "surface",
    "raised",
    "sunken",
    "hover",
    "ink",
    "muted",
    "faint",
    "line",
    "line-strong",
    "accent",
    "focus",
    "grid",
    "axis",
    "mark",
  ];

  function rgb(colour) {
    const value = parseInt(colour.slice(1), 16);
    return [(value >> 16) & 255, (value >> 8) & 255, value & 255];
  }

  /* Lines or dots in the family's edge colour: the second channel beside colour. */
  function tile(kind, colour) {
    if (kind === "none") return null;
    const canvas = popvision.canvas.makeCanvas(8, 8);
    const draw = popvision.canvas.contextOf(canvas);
    draw.strokeStyle = draw.fillStyle = colour;
    draw.globalAlpha = 0.5;
    draw.lineWidth = 1;
    draw.beginPath();
    if (kind === "diagonal" || kind === "cross")
      for (const at of [-8, 0, 8]) {
        draw.moveTo(at, 8);
        draw.lineTo(at + 8, 0);
      }
    if (kind === "back" || kind === "cross")
      for (const at of [-8, 0, 8]) {
        draw.moveTo(at, 0);
        draw.lineTo(at + 8, 8);
      }
    if (kind === "vertical") {
      draw.moveTo(2.5, 0);
      draw.lineTo(2.5, 8);
      draw.moveTo(6.5, 0);
      draw.lineTo(6.5, 8);
    }
    draw.stroke();
    if (kind === "dots")
      for (const [x, y] of [
        [1, 1],
        [5, 5],
      ])
        draw.fillRect(x, y, 1.5, 1.5);
    return canvas;
  }

  class Palette {
    /* `hidden` holds classes that are drawn as if nothing were there. */
    constructor(hidden) {
      const style = getComputedStyle(document.documentElement);
      const token = (name) => style.getPropertyValue("--" + name).trim();
      this.font = token("font");
      this.plain = Object.fromEntries(PLAIN.map((name) => [name, token(name)]));
      this.families = {};
      for (const name of FAMILIES) {
        const part = (which) => token("step-" + name + "-" + which);
        this.families[name] = {
          fill: part("fill"),
          edge: part("edge"),
          ink: part("ink"),
          tile: tile(part("pattern"), part("edge")),
        };
      }
      this.families.copy = this.families.host; /* the bar over the parts of a stream copy */
      this.hidden = CLASSES.map((name) => hidden.has(name));
      this.classFills = CLASSES.map((name) => rgb(this.families[name].fill));
      this.empty = rgb(this.plain.sunken);
      this.seen = new Uint32Array(4096);
      this.colours = new Uint32Array(4096);
    }

    pattern(draw, family) {
      const entry = this.families[family];
      if (entry.tile && !entry.pattern) entry.pattern = draw.createPattern(entry.tile, "repeat");
      return entry.tile ? entry.pattern : null;
    }

    /* A colour #rrggbb as 0xAABBGGRR. */
    packed(colour) {
      const [red, green, blue] = rgb(colour);
      return ((255 << 24) | (blue << 16) | (green << 8) | red) >>> 0;
    }

    /* One packed pixel as 0xAABBGGRR, the byte order of ImageData. */
    colour(pixel) {
      let sum = 0,
        red = 0,
        green = 0,
        blue = 0;
      for (let index = 0; index < 6; index += 1) {
        if (this.hidden[index]) continue;
        const level = (pixel >>> (5 * index)) & 31;
        const fill = this.classFills[index];
        sum += level;
        red += level * fill[0];
        green += level * fill[1];
        blue += level * fill[2];
      }
      const rest = Math.max(0, 31 - sum),
        total = sum + rest;
      red = Math.round((red + rest * this.empty[0]) / total);
      green = Math.round((green + rest * this.empty[1]) / total);
      blue = Math.round((blue + rest * this.empty[2]) / total);
      return ((255 << 24) | (blue << 16) | (green << 8) | red) >>> 0;
    }

    /* A canvas of packed pixels, row by row. Colours of recent pixels are looked up in a small table. */
    paint(pixels, columns, rows) {
      const canvas = popvision.canvas.makeCanvas(columns, rows);
      const draw = popvision.canvas.contextOf(canvas);
      const image = draw.createImageData(columns, rows);
      const out = new Uint32Array(image.data.buffer);
      for (let at = 0; at < pixels.length; at += 1) {
        const pixel = pixels[at];
        const slot = Math.imul(pixel, 2654435761) >>> 20;
        if (this.colours[slot] === 0 || this.seen[slot] !== pixel) {
          this.seen[slot] = pixel;
          this.colours[slot] = this.colour(pixel);
        }
        out[at] = this.colours[slot];
      }
      draw.putImageData(image, 0, 0);
      return canvas;
    }
  }

  const CLASS_TEXT = ["compute", "exchange", "global exchange", "host transfer", "waiting for host", "sync"];
  const shares = (pixel) => CLASSES.map((_, index) => ((pixel >>> (5 * index)) & 31) / 31);

  return { CLASSES, CLASS_TEXT, shares, Palette };
})();
Object.assign(popvision.execution, executionPalette);
