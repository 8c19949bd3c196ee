// @ts-check
/* Keyboard cursor: a step of an IPU, or one tile of that step. Arrows move it, Enter selects it. Its figures are
   shown and read out; they come from the same rows as the tables. */
import { fetchJson } from "../shared/packed.js";
import { select } from "../shell/viewer.js";
import { complain, integer } from "./numbers.js";
import { GUTTER } from "./shown.js";

class Cursor {
  constructor(trace) {
    this.trace = trace;
    this.clear();
  }

  clear() {
    this.at = null; /* {ipu, step, tile}; tile is null on the bars, else counted within the IPU */
    this.facts = null;
  }

  start() {
    const { trace } = this;
    const chosen = trace.selected;
    const ipu = chosen ? chosen.ipu : trace.ipus[0];
    const step = chosen ? chosen.step : trace.keyboard.firstVisibleStep(trace.barsOf(ipu));
    return { ipu, step, tile: null };
  }

  move(direction) {
    const next = this.at ? this.moved(direction) : this.start();
    if (!next) return;
    this.at = next;
    this.ask();
  }

  moved(direction) {
    const { ipu, step, tile } = this.at;
    const { facts, ipus } = this.trace;
    if (direction === "left" || direction === "right") {
      const other = step + (direction === "right" ? 1 : -1);
      return other >= 0 && other < facts.steps ? { ipu, step: other, tile } : null;
    }
    const last = this.trace.withTiles ? facts.tiles - 1 : -1;
    const place = ipus.indexOf(ipu);
    if (direction === "down") {
      if (tile === null && last >= 0) return { ipu, step, tile: 0 };
      if (tile !== null && tile < last) return { ipu, step, tile: tile + 1 };
      return place + 1 < ipus.length ? { ipu: ipus[place + 1], step, tile: null } : null;
    }
    if (tile !== null) return { ipu, step, tile: tile ? tile - 1 : null };
    return place > 0 ? { ipu: ipus[place - 1], step, tile: last >= 0 ? last : null } : null;
  }

  async ask() {
    const { ipu, step, tile } = this.at,
      at = this.at;
    const key = this.trace.facts.key;
    try {
      const facts = await fetchJson(
        `/data/${key}/execution/step?ipu=${ipu}&step=${step}` + (tile === null ? "" : `&tile=${tile}`),
      );
      if (this.at !== at || this.trace.stopped) return;
      this.facts = facts;
      this.tell();
    } catch (problem) {
      complain(problem);
    }
  }

  text() {
    const facts = this.facts;
    const where = `IPU ${facts.ipu}, step ${facts.step}, ${facts.type}, ${facts.name}`;
    if (facts.tile === undefined)
      return (
        `${where}: cycle ${integer(facts.bar_begin)} to ${integer(facts.bar_end)}, ` +
        `${integer(facts.bar_end - facts.bar_begin)} cycles`
      );
    const tile = facts.ipu * this.trace.facts.tiles + facts.tile;
    if (!facts.tile_cycles) return `tile ${tile} takes no part in ${where}`;
    return `tile ${tile}: begins at ${integer(facts.tile_begin)}, ${integer(facts.tile_cycles)} cycles; ${where}`;
  }

  tell() {
    const { trace, facts } = this;
    trace.spoken.textContent = this.text();
    if (trace.viewport.reveal(facts.bar_begin, facts.bar_end)) trace.moved();
    trace.update();
    this.showTip();
    trace.schedule();
  }

  showTip() {
    const { trace, facts } = this;
    const band = trace.bands.list.find((each) => each.ipu === facts.ipu);
    if (!band) return;
    const row =
      facts.tile === undefined
        ? band.top + band.bars
        : band.tilesTop + ((facts.tile + 1) * band.tilesHeight) / trace.facts.tiles;
    if (row < trace.bands.scroll || row > trace.bands.scroll + trace.bands.room)
      trace.bands.scrollTo(row - trace.bands.room / 2);
    const tip = document.createElement("div");
    tip.textContent = this.text();
    const x = GUTTER + Math.max(0, Math.min(trace.viewport.width, trace.viewport.x(facts.bar_begin)));
    trace.tooltip.show(x, trace.view.bandsTop + row - trace.bands.scroll, [tip], null, null);
  }

  /* Select the step, and its tile when the cursor is on one. */
  choose() {
    const { trace, facts } = this;
    trace.select(facts.step, facts.ipu);
    if (facts.tile !== undefined) select({ tiles: String(facts.ipu * trace.facts.tiles + facts.tile) });
  }
}

export { Cursor };
