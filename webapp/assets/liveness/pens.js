// @ts-check
/* Two ways to draw the same picture: on a canvas, and as SVG text. A pen knows line, box, text, image and clip. */
const livenessPens = (() => {
  "use strict";

  class CanvasPen {
    constructor(draw, font) {
      this.draw = draw;
      this.font = font;
    }

    line(x0, y0, x1, y1, colour, width = 1, dash = []) {
      const draw = this.draw;
      draw.strokeStyle = colour;
      draw.lineWidth = width;
      draw.setLineDash(dash);
      draw.beginPath();
      draw.moveTo(x0, y0);
      draw.lineTo(x1, y1);
      draw.stroke();
      draw.setLineDash([]);
    }

    box(x, y, width, height, colour) {
      this.draw.fillStyle = colour;
      this.draw.fillRect(x, y, width, height);
    }

    outline(x, y, width, height, colour, thick) {
      this.draw.strokeStyle = colour;
      this.draw.lineWidth = thick;
      this.draw.strokeRect(x, y, width, height);
    }

    text(words, x, y, colour, align, size = 11) {
      this.draw.font = size + "px " + this.font;
      this.draw.fillStyle = colour;
      this.draw.textAlign = align;
      this.draw.textBaseline = "middle";
      this.draw.fillText(words, x, y);
    }

    /* The picture in [x, x + width) x [y, y + height), cut off at the area. */
    image(picture, x, y, width, height, area) {
      const draw = this.draw;
      draw.save();
      draw.beginPath();
      draw.rect(area.x, area.y, area.width, area.height);
      draw.clip();
      draw.imageSmoothingEnabled = false;
      draw.drawImage(picture, x, y, width, height);
      draw.restore();
    }
  }

  const escaped = (text) =>
    String(text).replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;").replace(/"/g, "&quot;");
  const ANCHOR = { left: "start", center: "middle", right: "end" };

  class SvgPen {
    constructor(width, height, font) {
      this.width = width;
      this.height = height;
      this.font = font;
      this.parts = [];
    }

    line(x0, y0, x1, y1, colour, width = 1, dash = []) {
      this.parts.push(
        `<line x1="${x0}" y1="${y0}" x2="${x1}" y2="${y1}" stroke="${colour}" stroke-width="${width}" stroke-dasharray="${dash.join(" ")}"/>`,
      );
    }

    box(x, y, width, height, colour) {
      this.parts.push(`<rect x="${x}" y="${y}" width="${width}" height="${height}" fill="${colour}"/>`);
    }

    outline(x, y, width, height, colour, thick) {
      this.parts.push(
        `<rect x="${x}" y="${y}" width="${width}" height="${height}" fill="none" stroke="${colour}" stroke-width="${thick}"/>`,
      );
    }

    text(words, x, y, colour, align, size = 11) {
      this.parts.push(
        `<text x="${x}" y="${y}" fill="${colour}" font-size="${size}" text-anchor="${ANCHOR[align]}" dominant-baseline="middle">${escaped(words)}</text>`,
      );
    }

    image(picture, x, y, width, height, area) {
      this.parts.push(
        `<clipPath id="area"><rect x="${area.x}" y="${area.y}" width="${area.width}" height="${area.height}"/></clipPath>`,
      );
      this.parts.push(
        `<image clip-path="url(#area)" x="${x}" y="${y}" width="${width}" height="${height}" preserveAspectRatio="none" style="image-rendering: pixelated" href="${picture.toDataURL("image/png")}"/>`,
      );
    }

    toString() {
      return `<svg xmlns="http://www.w3.org/2000/svg" width="${this.width}" height="${this.height}" font-family="${escaped(this.font)}">${this.parts.join("")}</svg>`;
    }
  }

  return { CanvasPen, SvgPen };
})();
Object.assign(popvision.liveness, livenessPens);
