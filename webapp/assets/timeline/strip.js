// @ts-check
/* The overview above the timeline: every lane of the file in a few pixels, the visible window and its two handles. */
const timelineStrip = (() => {
  "use strict";
  const tl = popvision.timeline;
  const HEIGHT = 72,
    HANDLE = 7;

  class Strip {
    constructor(timeline) {
      this.timeline = timeline;
      this.data = null;
      this.busy = false;
      this.picture = null;
    }

    get height() {
      return HEIGHT;
    }
    recolour() {
      this.picture = null;
    }

    update(width) {
      const columns = Math.min(4096, width);
      if (this.data && this.data.columns === columns) return true;
      if (!this.busy) this.request(columns);
      return false;
    }

    async request(columns) {
      this.busy = true;
      try {
        const data = await popvision.execution.get(
          `/data/${this.timeline.facts.key}/timeline/overview?width=${columns}`,
        );
        this.data = Object.assign(data, { columns });
        this.picture = null;
      } catch (problem) {
        tl.complain(problem);
        await new Promise((done) => window.setTimeout(done, 2000));
      }
      this.busy = false;
      this.timeline.schedule();
    }

    /* One pixel row per lane; where there are more lanes than pixels the fullest of those sharing one is shown. */
    paint() {
      const { columns, header, arrays } = this.data;
      const rows = Math.max(1, Math.min(header.lanes, HEIGHT - 8));
      const canvas = document.createElement("canvas");
      canvas.width = columns;
      canvas.height = rows;
      const draw = canvas.getContext("2d");
      const image = draw.createImageData(columns, rows);
      const colours = this.timeline.colours.map((each) => [1, 3, 5].map((at) => parseInt(each.slice(at, at + 2), 16)));
      for (let lane = 0; lane < header.lanes; lane += 1) {
        const row = Math.floor((lane * rows) / header.lanes);
        for (let column = 0; column < columns; column += 1) {
          const share = arrays.share[lane * columns + column];
          const at = 4 * (row * columns + column);
          if (!share || image.data[at + 3] > 90 + 0.64 * share) continue;
          const colour = colours[arrays.channel[lane * columns + column]];
          image.data.set([colour[0], colour[1], colour[2], Math.min(255, 90 + 0.65 * share)], at);
        }
      }
      draw.putImageData(image, 0, 0);
      return canvas;
    }

    window() {
      const { viewport } = this.timeline;
      const scale = viewport.width / viewport.total;
      return [viewport.from * scale, Math.max(viewport.from * scale + 2, viewport.to * scale)];
    }

    draw(draw, left) {
      const { viewport, palette } = this.timeline;
      draw.fillStyle = palette.plain.sunken;
      draw.fillRect(left, 4, viewport.width, HEIGHT - 8);
      if (this.data) {
        this.picture = this.picture || this.paint();
        draw.imageSmoothingEnabled = false;
        const height = Math.min(HEIGHT - 8, this.picture.height * 6);
        draw.drawImage(this.picture, left, 4, viewport.width, height);
      }
      const [from, to] = this.window();
      draw.globalAlpha = 0.62;
      draw.fillStyle = palette.plain.surface;
      draw.fillRect(left, 4, from, HEIGHT - 8);
      draw.fillRect(left + to, 4, viewport.width - to, HEIGHT - 8);
      draw.globalAlpha = 1;
      draw.strokeStyle = palette.plain.accent;
      draw.strokeRect(left + Math.round(from) + 0.5, 3.5, Math.max(1, Math.round(to - from) - 1), HEIGHT - 7);
      for (const x of [from, to]) {
        const at = Math.round(Math.max(HANDLE / 2, Math.min(viewport.width - HANDLE / 2, x)) - HANDLE / 2);
        draw.fillStyle = palette.plain.raised;
        draw.fillRect(left + at, HEIGHT / 2 - 12, HANDLE, 24);
        draw.strokeStyle = palette.plain["line-strong"];
        draw.strokeRect(left + at + 0.5, HEIGHT / 2 - 11.5, HANDLE - 1, 23);
      }
    }

    /* What a press at x does: "from", "to", "move" or "jump". */
    grip(x) {
      const [from, to] = this.window();
      if (Math.abs(x - from) < 7 && !(Math.abs(x - to) < 7 && x > (from + to) / 2)) return "from";
      if (Math.abs(x - to) < 7) return "to";
      return x > from && x < to ? "move" : "jump";
    }
  }

  return { Strip };
})();
Object.assign(popvision.timeline, timelineStrip);
