// @ts-check
/* The pointer over the trace: drag, select, hover, wheel. Keys are keyboard.js. */
const executionMouse = (() => {
  "use strict";
  const execution = popvision.execution;
  const CLICK = 4; /* pixels that a click may move */

  class Mouse {
    constructor(trace) {
      this.trace = trace;
      this.stops = [];
      const on = (target, kind, listener, options) => {
        target.addEventListener(kind, listener, options);
        this.stops.push(() => target.removeEventListener(kind, listener, options));
      };
      on(trace.canvas, "pointerdown", (event) => this.press(event));
      on(trace.canvas, "pointermove", (event) => this.hover(event));
      on(trace.canvas, "pointerleave", () => this.leave());
      on(trace.canvas, "dblclick", (event) => this.open(event));
      on(trace.canvas, "wheel", (event) => this.wheel(event), { passive: false });
    }

    stop() {
      for (const stop of this.stops) stop();
    }

    point(event) {
      const box = this.trace.canvas.getBoundingClientRect();
      return { x: event.clientX - box.left, y: event.clientY - box.top };
    }

    /* What is at a point: {part: "overview" | "gutter" | "axis" | "band", ...}. */
    at(point) {
      const { view, bands } = this.trace;
      if (point.y < view.overview) return { part: "overview" };
      if (point.y < view.bandsTop) return { part: "axis" };
      const spot = bands.at(point.y - view.bandsTop);
      return { part: point.x < execution.GUTTER ? "gutter" : "band", spot };
    }

    press(event) {
      if (event.button) return;
      const trace = this.trace;
      trace.host.focus({ preventScroll: true });
      trace.tooltip.hide();
      const begin = this.point(event),
        hit = this.at(begin);
      const viewport = trace.viewport;
      const state = {
        begin,
        hit,
        moved: false,
        first: viewport.first,
        scroll: trace.bands.scroll,
        shift: event.shiftKey || hit.part === "axis",
        anchor: viewport.cycleAt(begin.x - execution.GUTTER),
        window: [viewport.from, viewport.to],
        part: trace.overview.part(viewport, begin.x - execution.GUTTER),
      };
      if (hit.part === "overview" && state.part === "window") this.center(state, begin.x);
      trace.canvas.setPointerCapture(event.pointerId);
      const move = (each) => this.drag(state, this.point(each));
      trace.canvas.addEventListener("pointermove", move);
      trace.canvas.addEventListener(
        "pointerup",
        (each) => {
          trace.canvas.removeEventListener("pointermove", move);
          this.drop(state, this.point(each));
        },
        { once: true },
      );
      this.dragging = true;
    }

    /* A press outside the window in the overview brings the window there. */
    center(state, x) {
      const viewport = this.trace.viewport;
      const [from, to] = this.trace.overview.window(viewport);
      const at = x - execution.GUTTER;
      if (at >= from && at <= to) return;
      viewport.pan(((at - (from + to) / 2) * viewport.fitPitch) / viewport.pitch);
      state.first = viewport.first;
      this.trace.moved();
    }

    drag(state, point) {
      const { trace } = this,
        { viewport } = trace;
      const dx = point.x - state.begin.x,
        dy = point.y - state.begin.y;
      if (!state.moved && Math.hypot(dx, dy) < CLICK) return;
      state.moved = true;
      if (state.hit.part === "overview") this.dragOverview(state, point, dx);
      else if (state.shift)
        trace.dragged = [state.anchor, viewport.cycleAt(point.x - execution.GUTTER)].sort((a, b) => a - b);
      else if (state.hit.part === "band") {
        viewport.first = Math.round(state.first - dx);
        viewport.keepInside();
        trace.bands.scrollTo(state.scroll - dy);
      }
      trace.moved();
    }

    dragOverview(state, point, dx) {
      const viewport = this.trace.viewport;
      const cycle = Math.max(
        0,
        Math.min(viewport.total, ((point.x - execution.GUTTER) * viewport.fitPitch) / execution.GRAIN),
      );
      if (state.part === "from") viewport.show(Math.min(cycle, state.window[1] - 1), state.window[1]);
      else if (state.part === "to") viewport.show(state.window[0], Math.max(cycle, state.window[0] + 1));
      else {
        viewport.first = Math.round(state.first + (dx * viewport.fitPitch) / viewport.pitch);
        viewport.keepInside();
      }
    }

    drop(state, point) {
      const { trace } = this;
      this.dragging = false;
      if (trace.dragged) {
        const [from, to] = trace.dragged;
        trace.dragged = null;
        trace.choose(from, to);
      } else if (!state.moved) this.click(state.hit, point);
      trace.schedule();
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
      const found = this.find(spot, point);
      if (!found) {
        trace.clear();
        return;
      }
      if (found.bar && !found.bar.leaf) trace.choose(found.bar.begin, found.bar.end);
      else if (found.bar) trace.select(found.bar.first, spot.band.ipu);
      else if (found.cell && found.cell.count === 1) trace.select(found.cell.first, spot.band.ipu);
      else if (found.cell)
        trace.choose(
          trace.viewport.cycleAt(Math.floor(point.x - execution.GUTTER)),
          trace.viewport.cycleAt(Math.floor(point.x - execution.GUTTER) + 1),
        );
      else if (found.tile !== undefined) {
        const facts = await execution
          .getJson(`/data/${trace.facts.key}/execution/at?ipu=${spot.band.ipu}&tile=${found.tile}&cycle=${found.cycle}`)
          .catch(execution.complain);
        if (facts && facts.step !== undefined) trace.select(facts.step, spot.band.ipu);
      }
    }

    /* The bar, merged cell or tile at a point of a band. */
    find(spot, point) {
      const { trace } = this;
      if (!spot) return null;
      const x = point.x - execution.GUTTER;
      if (spot.level !== undefined) return trace.barsOf(spot.band.ipu).hit(trace.viewport, x, spot.level);
      return { tile: spot.tile, cycle: Math.floor(trace.viewport.cycleAt(x)) };
    }

    open(event) {
      const { trace } = this;
      const point = this.point(event),
        hit = this.at(point);
      const found = hit.part === "band" ? this.find(hit.spot, point) : null;
      if (!found || !found.bar) return;
      const edge = (found.bar.end - found.bar.begin) * 0.04 + 1;
      trace.viewport.show(Math.max(0, found.bar.begin - edge), Math.min(trace.facts.total, found.bar.end + edge));
      trace.moved();
    }

    hover(event) {
      const { trace } = this;
      const point = this.point(event),
        hit = this.at(point);
      trace.pointer = point;
      trace.canvas.style.cursor =
        hit.part === "overview" && trace.overview.part(trace.viewport, point.x - execution.GUTTER) !== "window"
          ? "ew-resize"
          : hit.part === "axis" || event.shiftKey
            ? "text"
            : hit.part === "gutter"
              ? "pointer"
              : "default";
      trace.schedule();
      if (this.dragging) return;
      const found = hit.part === "band" ? this.find(hit.spot, point) : null;
      if (!found) trace.tooltip.hide();
      else if (found.bar) trace.tooltip.bar(point.x, point.y, hit.spot.band.ipu, found.bar);
      else if (found.cell) trace.tooltip.cell(point.x, point.y, found.cell);
      else {
        const bsp = trace.bspOf(hit.spot.band.ipu);
        trace.tooltip.tile(
          point.x,
          point.y,
          hit.spot.band,
          hit.spot,
          found.cycle,
          bsp.sharesAt(trace.viewport, point.x - execution.GUTTER, hit.spot.band.rows, hit.spot.row),
        );
      }
    }

    leave() {
      this.trace.pointer = null;
      this.trace.tooltip.hide();
      this.trace.schedule();
    }

    wheel(event) {
      event.preventDefault();
      const { trace } = this;
      const lines = event.deltaMode ? 16 : 1;
      if (event.shiftKey) trace.bands.scrollTo(trace.bands.scroll + (event.deltaY || event.deltaX) * lines);
      else if (Math.abs(event.deltaX) > Math.abs(event.deltaY)) trace.viewport.pan(event.deltaX * lines);
      else
        trace.viewport.zoom(
          Math.pow(1.0018, -event.deltaY * lines),
          Math.max(0, this.point(event).x - execution.GUTTER),
        );
      trace.tooltip.hide();
      trace.moved();
    }
  }

  return { Mouse };
})();
Object.assign(popvision.execution, executionMouse);
