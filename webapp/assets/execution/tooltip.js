// @ts-check
/* Tooltip of the trace. What the drawing knows appears at once; the figures of a step follow from the server. */
import { placeTip, tipRow } from "../shared/canvas/pointer.js";
import { fetchJson } from "../shared/packed.js";
import { bytes, cyclesText, integer, percent } from "./numbers.js";
import { CLASSES, CLASS_TEXT } from "./palette.js";

const WAIT = 70; /* ms at rest before the server is asked */
const KEPT = 400;

function line(name, value, title) {
  const row = tipRow("tip-row", name, value);
  if (title) row.title = title;
  return row;
}

function head(text, family) {
  const box = document.createElement("div");
  box.className = "tip-head";
  if (family) {
    const swatch = document.createElement("span");
    swatch.className = "trace-swatch step-" + family;
    box.append(swatch);
  }
  box.append(text);
  return box;
}

class Tooltip {
  constructor(host, facts, units) {
    this.facts = facts;
    this.units = units;
    this.box = document.createElement("div");
    this.box.className = "trace-tip";
    this.box.hidden = true;
    host.append(this.box);
    this.kept = new Map();
    this.timer = 0;
    this.turn = 0;
  }

  hide() {
    this.turn += 1;
    window.clearTimeout(this.timer);
    this.box.hidden = true;
  }

  /* Put the box near a point of its host, above the lower edge of the browser's window. */
  place(point) {
    const host = /** @type {HTMLElement} */ (this.box.parentElement);
    placeTip(this.box, host, point, window.innerHeight - host.getBoundingClientRect().top - 8);
  }

  cycles(value) {
    return cyclesText(value, this.facts.clock, this.units() === "time");
  }

  /* Rows of what is under the pointer; `address` gives more about it later. */
  show(point, rows, address, more) {
    this.turn += 1;
    const turn = this.turn;
    this.box.replaceChildren(...rows);
    window.clearTimeout(this.timer);
    if (address && this.kept.has(address)) this.box.append(...more(this.kept.get(address)));
    else if (address) this.timer = window.setTimeout(() => this.ask(address, more, turn, point), WAIT);
    this.place(point);
  }

  async ask(address, more, turn, point) {
    try {
      const facts = await fetchJson(address);
      if (this.kept.size > KEPT) this.kept.clear();
      this.kept.set(address, facts);
      if (turn !== this.turn) return;
      this.box.append(...more(facts));
      this.place(point);
    } catch (_) {
      /* the tooltip stays as it is */
    }
  }

  bar(point, ipu, bar) {
    const rows = [head(bar.name || (bar.leaf ? this.facts.types[bar.kind] : ""), bar.family)];
    rows.push(
      line("from", integer(bar.begin)),
      line("to", integer(bar.end)),
      line("length", this.cycles(bar.end - bar.begin)),
    );
    if (bar.first !== bar.last)
      rows.push(line("steps", integer(bar.last - bar.first + 1) + "  (" + bar.first + " – " + bar.last + ")"));
    const address = bar.leaf ? `/data/${this.facts.key}/execution/step?ipu=${ipu}&step=${bar.first}` : null;
    this.show(point, rows, address, (facts) => this.stepRows(facts, facts.name !== bar.name));
  }

  stepRows(facts, withName) {
    return [
      ...(withName ? [line("in full", facts.name)] : []),
      line("type", facts.type),
      line("step", facts.step + "  ·  program " + facts.program + "  ·  run #" + facts.run),
      line(
        "busy",
        integer(facts.busy_begin) + " – " + integer(facts.busy_end),
        "first begin and last end over the tiles that take part",
      ),
      line("active tiles", integer(facts.active_tiles) + " of " + integer(facts.tiles)),
      line("tile balance", percent(facts.tile_balance) + "  = mean / max of tile cycles"),
      ...(facts.data_in || facts.data_out
        ? [line("data in / out", bytes(facts.data_in) + " / " + bytes(facts.data_out))]
        : []),
    ];
  }

  shareRows(shares) {
    return shares
      .map((share, at) => [share, at])
      .filter((each) => each[0] > 0)
      .map(([share, at]) => {
        const row = line(CLASS_TEXT[at], "≈ " + Math.round(100 * share) + " %");
        const swatch = document.createElement("span");
        swatch.className = "trace-swatch step-" + CLASSES[at];
        row.prepend(swatch);
        return row;
      });
  }

  cell(point, cell) {
    const rows = [
      head(cell.count === 1 ? "1 bar narrower than a pixel" : integer(cell.count) + " bars begin in this pixel", null),
    ];
    rows.push(
      ...this.shareRows(cell.shares),
      line("first step", integer(cell.first)),
      line("", "zoom in to separate them"),
    );
    this.show(point, rows, null, null);
  }

  tile(point, band, spot, cycle, shares) {
    const base = band.ipu * this.facts.tiles;
    const tile = base + spot.tile;
    const from = Math.floor((spot.row * this.facts.tiles) / band.rows),
      to = Math.floor(((spot.row + 1) * this.facts.tiles) / band.rows) - 1;
    const merged = to > from ? `tiles ${integer(base + from)} – ${integer(base + to)} in this row` : "";
    const rows = [head("tile " + integer(tile), null), line("cycle", integer(Math.floor(cycle)))];
    if (merged) rows.push(line("", merged));
    if (shares) rows.push(...this.shareRows(shares));
    const address =
      `/data/${this.facts.key}/execution/at` + `?ipu=${band.ipu}&tile=${spot.tile}&cycle=${Math.floor(cycle)}`;
    this.show(point, rows, address, (facts) =>
      facts.step === undefined
        ? [line("", "no step here: the tile has finished the run")]
        : [
            head(facts.name, this.facts.families[this.facts.types.indexOf(facts.type)]),
            line("type", facts.type),
            line("step", facts.step + "  ·  program " + facts.program),
            line("tile begins", integer(facts.tile_begin)),
            line("tile takes", this.cycles(facts.tile_cycles)),
          ],
    );
  }
}

export { Tooltip };
