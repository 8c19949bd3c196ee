// @ts-check
/* Overview above the timeline: every lane of the file in a few pixels, the visible window and its two handles. */
const timelineStrip = (() => {
  "use strict";
  const tl = popvision.timeline;
  const HEIGHT = 72; /* pixels */

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
        const data = await popvision.fetchPacked(`/data/${this.timeline.facts.key}/timeline/overview?width=${columns}`);
        this.data = Object.assign(data, { columns });
        this.picture = null;
      } catch (problem) {
        tl.complain(problem);
        await popvision.retryPause();
      }
      this.busy = false;
      this.timeline.schedule();
    }

    /* One pixel row per lane; with more lanes than pixels, the fullest lane of each pixel row. */
    paint({ columns, header, arrays }) {
      const rows = Math.max(1, Math.min(header.lanes, HEIGHT - 8));
      const canvas = popvision.canvas.makeCanvas(columns, rows);
      const draw = popvision.canvas.contextOf(canvas);
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

    draw(draw, left) {
      const { viewport, palette } = this.timeline;
      draw.fillStyle = palette.plain.sunken;
      draw.fillRect(left, 4, viewport.width, HEIGHT - 8);
      if (this.data) {
        this.picture = this.picture || this.paint(this.data);
        draw.imageSmoothingEnabled = false;
        const height = Math.min(HEIGHT - 8, this.picture.height * 6);
        draw.drawImage(this.picture, left, 4, viewport.width, height);
      }
      popvision.canvas.drawWindow(draw, palette.plain, viewport, { x: left, y: 4, height: HEIGHT - 8 });
    }
  }

  return { Strip };
})();
Object.assign(popvision.timeline, timelineStrip);
