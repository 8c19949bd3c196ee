/* Mouse and keyboard of the trace. A held key moves a little in every frame until it is released. */
(function () {
  "use strict";
  const ex = (window.popvision = window.popvision || {}).execution = (window.popvision.execution || {});
  const CLICK = 4; /* pixels that a click may move */
  const HOLD_AFTER = 200; /* ms */
  const PAN_SPEED = 0.9; /* screens a second */
  const ZOOM_SPEED = 5; /* factor a second */
  const SCROLL_SPEED = 600; /* pixels a second */

  /* Keys that act while held: step = at once, rate(seconds) = in every frame afterwards. */
  const HELD = {
    ArrowLeft: (t, s) => t.viewport.pan(-(s === null ? 0.08 : PAN_SPEED * s) * t.viewport.width),
    ArrowRight: (t, s) => t.viewport.pan((s === null ? 0.08 : PAN_SPEED * s) * t.viewport.width),
    ArrowUp: (t, s) => t.bands.scrollTo(t.bands.scroll - (s === null ? 36 : SCROLL_SPEED * s)),
    ArrowDown: (t, s) => t.bands.scrollTo(t.bands.scroll + (s === null ? 36 : SCROLL_SPEED * s)),
    "+": (t, s) => t.viewport.zoom(s === null ? 1.3 : Math.pow(ZOOM_SPEED, s), t.input.focusX()),
    "-": (t, s) => t.viewport.zoom(1 / (s === null ? 1.3 : Math.pow(ZOOM_SPEED, s)), t.input.focusX()),
  };
  HELD["="] = HELD["+"];
  HELD["_"] = HELD["-"];

  const PRESSED = {
    Home: (t) => { t.viewport.first = 0; t.viewport.keepInside(); t.moved(); },
    End: (t) => { t.viewport.pan(Number.MAX_SAFE_INTEGER / 4); t.moved(); },
    PageUp: (t) => { t.viewport.pan(-0.9 * t.viewport.width); t.moved(); },
    PageDown: (t) => { t.viewport.pan(0.9 * t.viewport.width); t.moved(); },
    f: (t) => { t.viewport.fit(); t.bands.stretch = 1; t.moved(); },
    n: (t) => t.input.neighbour(1),
    p: (t) => t.input.neighbour(-1),
    g: (t) => t.input.match(1),
    G: (t) => t.input.match(-1),
    Enter: (t) => t.input.enter(),
    Escape: (t) => t.clear(),
  };

  class Input {
    constructor(trace) {
      this.trace = trace;
      this.held = null;
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
      on(document, "keydown", (event) => this.keyDown(event));
      on(document, "keyup", () => this.release());
      on(window, "blur", () => this.release());
    }

    stop() { for (const stop of this.stops) stop(); }

    point(event) {
      const box = this.trace.canvas.getBoundingClientRect();
      return { x: event.clientX - box.left, y: event.clientY - box.top };
    }

    /* Where a zoom by key stays put: the pointer when it is over the trace, else the middle. */
    focusX() {
      const pointer = this.trace.pointer;
      return pointer ? Math.max(0, pointer.x - ex.GUTTER) : this.trace.viewport.width / 2;
    }

    /* What is at a point: {part: "overview" | "gutter" | "axis" | "band", ...}. */
    at(point) {
      const { view, bands } = this.trace;
      if (point.y < view.overview) return { part: "overview" };
      if (point.y < view.bandsTop) return { part: "axis" };
      const spot = bands.at(point.y - view.bandsTop);
      return { part: point.x < ex.GUTTER ? "gutter" : "band", spot };
    }

    /* ---- mouse ---- */

    press(event) {
      if (event.button) return;
      const trace = this.trace;
      trace.host.focus({ preventScroll: true });
      trace.tooltip.hide();
      const begin = this.point(event), hit = this.at(begin);
      const viewport = trace.viewport;
      const state = { begin, hit, moved: false, first: viewport.first, scroll: trace.bands.scroll, shift: event.shiftKey || hit.part === "axis",
        anchor: viewport.cycleAt(begin.x - ex.GUTTER), window: [viewport.from, viewport.to], part: trace.overview.part(viewport, begin.x - ex.GUTTER) };
      if (hit.part === "overview" && state.part === "window") this.center(state, begin.x);
      trace.canvas.setPointerCapture(event.pointerId);
      const move = (each) => this.drag(state, this.point(each));
      trace.canvas.addEventListener("pointermove", move);
      trace.canvas.addEventListener("pointerup", (each) => {
        trace.canvas.removeEventListener("pointermove", move);
        this.drop(state, this.point(each));
      }, { once: true });
      this.dragging = true;
    }

    /* A press outside the window in the overview brings the window there. */
    center(state, x) {
      const viewport = this.trace.viewport;
      const [from, to] = this.trace.overview.window(viewport);
      const at = x - ex.GUTTER;
      if (at >= from && at <= to) return;
      viewport.pan(((at - (from + to) / 2) * viewport.fitPitch) / viewport.pitch);
      state.first = viewport.first;
      this.trace.moved();
    }

    drag(state, point) {
      const { trace } = this, { viewport } = trace;
      const dx = point.x - state.begin.x, dy = point.y - state.begin.y;
      if (!state.moved && Math.hypot(dx, dy) < CLICK) return;
      state.moved = true;
      if (state.hit.part === "overview") this.dragOverview(state, point, dx);
      else if (state.shift) trace.dragged = [state.anchor, viewport.cycleAt(point.x - ex.GUTTER)].sort((a, b) => a - b);
      else if (state.hit.part === "band") {
        viewport.first = Math.round(state.first - dx);
        viewport.keepInside();
        trace.bands.scrollTo(state.scroll - dy);
      }
      trace.moved();
    }

    dragOverview(state, point, dx) {
      const viewport = this.trace.viewport;
      const cycle = Math.max(0, Math.min(viewport.total, ((point.x - ex.GUTTER) * viewport.fitPitch) / ex.GRAIN));
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
      if (!found) { trace.clear(); return; }
      if (found.bar && !found.bar.leaf) trace.choose(found.bar.begin, found.bar.end);
      else if (found.bar) trace.select(found.bar.first, spot.band.ipu);
      else if (found.cell && found.cell.count === 1) trace.select(found.cell.first, spot.band.ipu);
      else if (found.cell) trace.choose(trace.viewport.cycleAt(Math.floor(point.x - ex.GUTTER)), trace.viewport.cycleAt(Math.floor(point.x - ex.GUTTER) + 1));
      else if (found.tile !== undefined) {
        const facts = await ex.getJson(`/data/${trace.facts.key}/execution/at?ipu=${spot.band.ipu}&tile=${found.tile}&cycle=${found.cycle}`).catch(ex.complain);
        if (facts && facts.step !== undefined) trace.select(facts.step, spot.band.ipu);
      }
    }

    /* The bar, merged cell or tile at a point of a band. */
    find(spot, point) {
      const { trace } = this;
      if (!spot) return null;
      const x = point.x - ex.GUTTER;
      if (spot.level !== undefined) return trace.barsOf(spot.band.ipu).hit(trace.viewport, x, spot.level);
      return { tile: spot.tile, cycle: Math.floor(trace.viewport.cycleAt(x)) };
    }

    open(event) {
      const { trace } = this;
      const point = this.point(event), hit = this.at(point);
      const found = hit.part === "band" ? this.find(hit.spot, point) : null;
      if (!found || !found.bar) return;
      const edge = (found.bar.end - found.bar.begin) * 0.04 + 1;
      trace.viewport.show(Math.max(0, found.bar.begin - edge), Math.min(trace.facts.total, found.bar.end + edge));
      trace.moved();
    }

    hover(event) {
      const { trace } = this;
      const point = this.point(event), hit = this.at(point);
      trace.pointer = point;
      trace.canvas.style.cursor = hit.part === "overview" && trace.overview.part(trace.viewport, point.x - ex.GUTTER) !== "window" ? "ew-resize"
        : hit.part === "axis" || event.shiftKey ? "text" : hit.part === "gutter" ? "pointer" : "default";
      trace.schedule();
      if (this.dragging) return;
      const found = hit.part === "band" ? this.find(hit.spot, point) : null;
      if (!found) trace.tooltip.hide();
      else if (found.bar) trace.tooltip.bar(point.x, point.y, hit.spot.band.ipu, found.bar);
      else if (found.cell) trace.tooltip.cell(point.x, point.y, found.cell);
      else {
        const bsp = trace.bspOf(hit.spot.band.ipu);
        trace.tooltip.tile(point.x, point.y, hit.spot.band, hit.spot, found.cycle, bsp.sharesAt(trace.viewport, point.x - ex.GUTTER, hit.spot.band.rows, hit.spot.row));
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
      else trace.viewport.zoom(Math.pow(1.0018, -event.deltaY * lines), Math.max(0, this.point(event).x - ex.GUTTER));
      trace.tooltip.hide();
      trace.moved();
    }

    /* ---- keyboard ---- */

    isOurs(event) {
      const target = event.target;
      if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey) return false;
      if (target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName)) return false;
      if (document.querySelector("dialog[open], details.popover[open]")) return false;
      return target === document.body || target.id === "page" || this.trace.host.contains(target);
    }

    keyDown(event) {
      if (!this.isOurs(event)) return;
      const { trace } = this;
      if (event.shiftKey && (event.key === "ArrowUp" || event.key === "ArrowDown")) {
        trace.bands.zoomTiles(event.key === "ArrowUp" ? 1.25 : 0.8);
        trace.schedule();
      } else if (HELD[event.key]) {
        if (!event.repeat) this.hold_(event.key);
      } else if (PRESSED[event.key]) PRESSED[event.key](trace);
      else return;
      event.preventDefault();
      trace.tooltip.hide();
    }

    hold_(key) {
      HELD[key](this.trace, null);
      this.held = { key, since: performance.now(), before: 0 };
      this.trace.moved();
    }

    release() { this.held = null; }

    /* Called in every frame: move while a key is held. True when another frame is needed. */
    hold(now) {
      const held = this.held;
      if (!held) return false;
      if (now - held.since < HOLD_AFTER) return true;
      const seconds = held.before ? Math.min(0.1, (now - held.before) / 1000) : 1 / 60;
      held.before = now;
      HELD[held.key](this.trace, seconds);
      this.trace.moved();
      return true;
    }

    neighbour(direction) {
      const { trace } = this;
      const now = trace.selected ? trace.selected.step : null;
      const bars = trace.barsOf(trace.on);
      const start = bars.data && bars.data.arrays.first.length ? this.firstVisibleStep(bars) : 0;
      const step = now === null ? start : now + direction;
      if (step < 0 || step >= trace.facts.steps) return;
      trace.revealNext = true;
      trace.select(step, trace.on);
    }

    firstVisibleStep(bars) {
      const { begin, end, first, level } = bars.data.arrays;
      const { viewport } = this.trace;
      let least = Infinity;
      for (let row = 0; row < first.length; row += 1) if (level[row] > 0 && begin[row] >= viewport.from && end[row] <= viewport.to) least = Math.min(least, first[row]);
      const cells = bars.data.arrays.cell_first;
      if (least === Infinity) for (let row = 0; row < cells.length; row += 1) least = Math.min(least, cells[row]);
      return least === Infinity ? 0 : least;
    }

    match(direction) {
      const { trace } = this;
      const step = trace.search.go(direction, trace.viewport.from);
      if (step < 0) return;
      trace.revealNext = true;
      trace.select(step, trace.searchIpu);
    }

    enter() {
      const { trace } = this;
      const hit = trace.pointer && this.at(trace.pointer);
      if (hit && hit.part === "band" && this.find(hit.spot, trace.pointer)) this.selectAt(hit.spot, trace.pointer);
      else if (trace.chosen) { trace.viewport.show(trace.chosen[0], trace.chosen[1]); trace.moved(); }
      else if (trace.selected) { trace.viewport.reveal(trace.selected.begin, trace.selected.end); trace.moved(); }
    }
  }

  ex.Input = Input;
})();
