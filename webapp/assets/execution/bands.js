// @ts-check
/* Vertical layout: one band per IPU with its bars above its tile map; the bands are stacked and scroll together. */
import { ROW } from "./bars.js";

const GAP = 10;
const LEAST = 96; /* height of a picture of tiles that has not been zoomed */

class Bands {
  constructor(facts) {
    this.facts = facts;
    this.folded = new Set();
    this.stretch = 1;
    this.scroll = 0;
    this.list = [];
    this.height = 0;
    this.room = 0;
  }

  /* Place the bands of `ipus` in `room` pixels; bars(ipu) gives the height of its bars. */
  place(ipus, room, bars, withTiles) {
    const open = ipus.filter((ipu) => !this.folded.has(ipu));
    const fixed = ipus.reduce((sum, ipu) => sum + (this.folded.has(ipu) ? ROW : bars(ipu)) + GAP, 0);
    const fitting = open.length ? Math.floor((room - 4 - fixed) / open.length) - 4 : 0;
    const tilesHeight = withTiles ? Math.round(Math.max(LEAST, fitting) * this.stretch) : 0;
    const rows = Math.min(this.facts.tiles, tilesHeight);
    let top = 4;
    this.list = ipus.map((ipu) => {
      const folded = this.folded.has(ipu);
      const band = { ipu, top, folded, bars: folded ? ROW : bars(ipu), tilesTop: 0, tilesHeight: 0, rows };
      if (!folded && withTiles) {
        band.tilesTop = top + band.bars + 4;
        band.tilesHeight = tilesHeight;
      }
      band.bottom = band.tilesHeight ? band.tilesTop + band.tilesHeight : top + band.bars;
      top = band.bottom + GAP;
      return band;
    });
    this.height = top;
    this.room = room;
    this.scrollTo(this.scroll);
  }

  scrollTo(at) {
    this.scroll = Math.round(Math.max(0, Math.min(at, this.height - this.room)));
  }

  /* The tile rows' size against one row per pixel, in percent. */
  get tilePercent() {
    const band = this.list.find((each) => each.tilesHeight);
    return band ? (100 * band.tilesHeight) / this.facts.tiles : 0;
  }

  zoomTiles(factor) {
    const most = Math.max(1, (8 * this.facts.tiles) / LEAST);
    this.stretch = Math.max(1, Math.min(most, this.stretch * factor));
  }

  visible() {
    return this.list.filter((band) => band.bottom > this.scroll && band.top < this.scroll + this.room);
  }

  /* What is at y: {band, level} in the bars, {band, row, tile} in the picture of tiles, or null. */
  at(y) {
    const position = y + this.scroll;
    const band = this.list.find((each) => position >= each.top && position < each.bottom);
    if (!band) return null;
    if (!band.tilesHeight || position < band.tilesTop) {
      const level = Math.floor((position - band.top) / ROW);
      return position < band.top + band.bars ? { band, level } : null;
    }
    const row = Math.min(band.rows - 1, Math.floor(((position - band.tilesTop) * band.rows) / band.tilesHeight));
    const tile = Math.floor(((position - band.tilesTop) * this.facts.tiles) / band.tilesHeight);
    return { band, row, tile: Math.min(this.facts.tiles - 1, tile) };
  }
}

export { Bands };
