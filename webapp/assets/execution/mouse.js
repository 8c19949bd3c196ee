// @ts-check
/* Pointer over the trace: drag, select, hover, wheel. keyboard.js has the keys. */
import { Listeners } from "../shared/canvas/frame_loop.js";
import { grip, partAt } from "../shared/canvas/overview.js";
import { followDrags, pointIn, wheelOf } from "../shared/canvas/pointer.js";
import { fetchJson } from "../shared/packed.js";
import { complain } from "./numbers.js";
import { GUTTER } from "./shown.js";

/* Of a double click on bars too narrow to be drawn singly. */
const CLOSER = 8;

class Mouse {
  constructor(trace) {
    this.trace = trace;
    this.isDragging = false;
    const listeners = (this.listeners = new Listeners());
    followDrags(listeners, trace.canvas, (point, event) => this.press(point, event));
    listeners.on(trace.canvas, "pointermove", (event) => this.hover(event));
    listeners.on(trace.canvas, "pointerleave", () => this.leave());
    listeners.on(trace.canvas, "dblclick", (event) => this.open(event));
    listeners.on(trace.canvas, "wheel", (event) => this.wheel(event), { passive: false });
  }

  stop() {
    this.listeners.stop();
  }

  point(event) {
    return pointIn(event, this.trace.canvas);
  }

  /* What is at a point: {part: "overview" | "gutter" | "axis" | "band", ...}. */
  at(point) {
    const { view, bands } = this.trace;
    if (point.y < view.overview) return { part: "overview" };
    if (point.y < view.bandsTop) return { part: "axis" };
    const spot = bands.at(point.y - view.bandsTop);
    return { part: point.x < GUTTER ? "gutter" : "band", spot };
  }

  /* The overview drags the window, the axis (or Shift) selects a range, the bands drag the picture. */
  press(point, event) {
    const { trace } = this;
    trace.host.focus({ preventScroll: true });
    trace.tooltip.hide();
    const hit = this.at(point);
    this.isDragging = true;
    const move =
      hit.part === "overview"
        ? this.dragOverview(point)
        : event.shiftKey || hit.part === "axis"
          ? this.dragRange(point)
          : this.dragBands(hit, point);
    const end = (then) => (at) => {
      this.isDragging = false;
      if (then) then(at);
      trace.schedule();
    };
    return {
      move: (at) => {
        move(at);
        trace.moved();
      },
      drop: end(() => this.drop()),
      click: end((at) => this.click(hit, at)),
      cancel: end(null),
    };
  }

  dragOverview(begin) {
    const move = grip(this.trace.viewport, begin.x - GUTTER);
    this.trace.moved();
    return ({ x }) => move(x - GUTTER);
  }

  dragRange(begin) {
    const { trace } = this;
    const anchor = trace.viewport.cycleAt(begin.x - GUTTER);
    return ({ x }) => {
      trace.dragged = [anchor, trace.viewport.cycleAt(x - GUTTER)].sort((a, b) => a - b);
    };
  }

  dragBands(hit, begin) {
    const { viewport, bands } = this.trace;
    const { first } = viewport;
    const { scroll } = bands;
    return ({ x, y }) => {
      if (hit.part !== "band") return;
      viewport.moveTo(first - (x - begin.x));
      bands.scrollTo(scroll - (y - begin.y));
    };
  }

  drop() {
    const { trace } = this;
    if (!trace.dragged) return;
    const [from, to] = trace.dragged;
    trace.dragged = null;
    trace.choose(from, to);
  }

  click(hit, point) {
    const { trace } = this;
    if (hit.part === "gutter" && hit.spot && hit.spot.level !== undefined) {
      const folded = trace.bands.folded;
      if (!folded.delete(hit.spot.band.ipu)) folded.add(hit.spot.band.ipu);
    } else if (hit.part === "band") this.selectAt(hit.spot, point);
  }

  async selectAt(spot, point) {
    const { trace } = this;
    const item = this.find(spot, point);
    if (!item) {
      trace.clear();
      return;
    }
    if (item.bar && !item.bar.leaf) trace.choose(item.bar.begin, item.bar.end);
    else if (item.bar) trace.select(item.bar.first, spot.band.ipu);
    else if (item.cell && item.cell.count === 1) trace.select(item.cell.first, spot.band.ipu);
    else if (item.cell)
      trace.choose(
        trace.viewport.cycleAt(Math.floor(point.x - GUTTER)),
        trace.viewport.cycleAt(Math.floor(point.x - GUTTER) + 1),
      );
    else if (item.tile !== undefined) {
      const facts = await this.stepOf(item, spot.band.ipu);
      if (facts) trace.select(facts.step, spot.band.ipu);
    }
  }

  /* The step that a tile spends most of a pixel in, null where it is in none. */
  async stepOf({ tile, cycle, until }, ipu) {
    const query = { ipu, tile, cycle, until };
    const facts = await fetchJson(`/data/${this.trace.facts.key}/execution/at`, query).catch(complain);
    return facts && facts.step !== undefined ? facts : null;
  }

  /* The bar, merged cell or tile at a point of a band. */
  find(spot, point) {
    const { trace } = this;
    if (!spot) return null;
    const x = point.x - GUTTER;
    if (spot.level !== undefined) return trace.barsOf(spot.band.ipu).hit(trace.viewport, x, spot.level);
    const cycle = Math.floor(trace.viewport.cycleAt(Math.floor(x)));
    return { tile: spot.tile, cycle, until: Math.max(cycle + 1, Math.ceil(trace.viewport.cycleAt(Math.floor(x) + 1))) };
  }

  /* Zoom to the bar or the tile's step under the pointer; into several that share a pixel. */
  async open(event) {
    const { trace } = this;
    const point = this.point(event),
      hit = this.at(point);
    const item = hit.part === "band" ? this.find(hit.spot, point) : null;
    if (!item) return;
    if (item.bar) trace.zoomTo(item.bar.begin, item.bar.end);
    else if (item.cell) {
      trace.viewport.zoom(CLOSER, point.x - GUTTER);
      trace.moved();
    } else {
      const facts = await this.stepOf(item, hit.spot.band.ipu);
      if (facts && !trace.stopped) trace.zoomTo(facts.tile_begin, facts.tile_begin + facts.tile_cycles);
    }
  }

  hover(event) {
    const { trace } = this;
    const point = this.point(event),
      hit = this.at(point);
    trace.pointer = point;
    trace.canvas.style.cursor = this.cursorAt(hit, point, event.shiftKey);
    trace.schedule();
    if (this.isDragging) return;
    const item = hit.part === "band" ? this.find(hit.spot, point) : null;
    if (!item) trace.tooltip.hide();
    else if (item.bar) trace.tooltip.bar(point, hit.spot.band.ipu, item.bar);
    else if (item.cell) trace.tooltip.cell(point, item.cell);
    else {
      const { band, row } = hit.spot;
      const shares = trace.bspOf(band.ipu).sharesAt(trace.viewport, point.x - GUTTER, band.rows, row);
      trace.tooltip.tile(point, band, hit.spot, item.cycle, shares);
    }
  }

  cursorAt(hit, point, shift) {
    const part = hit.part === "overview" ? partAt(this.trace.viewport, point.x - GUTTER) : "";
    if (part === "from" || part === "to") return "ew-resize";
    if (hit.part === "axis" || shift) return "text";
    return hit.part === "gutter" ? "pointer" : "default";
  }

  leave() {
    this.trace.pointer = null;
    this.trace.tooltip.hide();
    this.trace.schedule();
  }

  wheel(event) {
    event.preventDefault();
    const { trace } = this;
    const wheel = wheelOf(event);
    if (event.shiftKey) trace.bands.scrollTo(trace.bands.scroll + wheel.main);
    else if (wheel.isSideways) trace.viewport.pan(wheel.x);
    else trace.viewport.zoom(Math.pow(1.0018, -wheel.y), Math.max(0, this.point(event).x - GUTTER));
    trace.tooltip.hide();
    trace.moved();
  }
}

export { Mouse };
