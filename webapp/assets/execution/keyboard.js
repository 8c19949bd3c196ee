// @ts-check
/* Keys of the trace. A held key moves a little in every frame until it is released. */
const executionKeyboard = (() => {
  "use strict";
  const execution = popvision.execution;
  const HOLD_AFTER = 200; /* ms */
  const PAN_SPEED = 0.9; /* screens a second */
  const ZOOM_SPEED = 5; /* factor a second */

  /* Actions while a key is held: step = at once, rate(seconds) = in every frame afterwards. */
  const zoom = (t, s, by) =>
    t.viewport.zoom(s === null ? Math.pow(1.3, by) : Math.pow(ZOOM_SPEED, by * s), t.keyboard.focusX());
  const pan = (t, s, by) => t.viewport.pan(by * (s === null ? 0.08 : PAN_SPEED * s) * t.viewport.width);
  const HELD = {
    left: (t, s) => pan(t, s, -1),
    right: (t, s) => pan(t, s, 1),
    "zoom-in": (t, s) => zoom(t, s, 1),
    "zoom-out": (t, s) => zoom(t, s, -1),
  };
  const HELD_KEYS = { "+": "zoom-in", "=": "zoom-in", "-": "zoom-out", _: "zoom-out" };

  const PRESSED = {
    Home: (t) => {
      t.viewport.first = 0;
      t.viewport.keepInside();
      t.moved();
    },
    End: (t) => {
      t.viewport.pan(Number.MAX_SAFE_INTEGER / 4);
      t.moved();
    },
    PageUp: (t) => {
      t.viewport.pan(-0.9 * t.viewport.width);
      t.moved();
    },
    PageDown: (t) => {
      t.viewport.pan(0.9 * t.viewport.width);
      t.moved();
    },
    n: (t) => t.keyboard.neighbour(1),
    p: (t) => t.keyboard.neighbour(-1),
    g: (t) => t.keyboard.match(1),
    G: (t) => t.keyboard.match(-1),
    M: (t) => execution.setMarks(t, []),
    Enter: (t) => t.keyboard.enter(),
    ArrowLeft: (t) => t.cursor.move("left"),
    ArrowRight: (t) => t.cursor.move("right"),
    ArrowUp: (t) => t.cursor.move("up"),
    ArrowDown: (t) => t.cursor.move("down"),
  };

  /* Keys with a meaning common to all plots (popvision.keyOf). */
  const COMMON = {
    next: (t) => t.keyboard.next(1),
    previous: (t) => t.keyboard.next(-1),
    fit: (t) => t.keyboard.fit(),
    all: (t) => {
      t.viewport.fit();
      t.bands.stretch = 1;
      t.moved();
    },
    mark: (t) => execution.toggleMark(t),
    clear: (t) => {
      t.cursor.clear();
      t.clear();
    },
  };

  class Keyboard {
    constructor(trace) {
      this.trace = trace;
      this.held = null;
      this.stops = [];
      const on = (target, kind, listener) => {
        target.addEventListener(kind, listener);
        this.stops.push(() => target.removeEventListener(kind, listener));
      };
      on(document, "keydown", (event) => this.keyDown(event));
      on(document, "keyup", () => this.release());
      on(window, "blur", () => this.release());
    }

    stop() {
      for (const stop of this.stops) stop();
    }

    /* Where a zoom by key stays put: the pointer when it is over the trace, else the middle. */
    focusX() {
      const pointer = this.trace.pointer;
      return pointer ? Math.max(0, pointer.x - execution.GUTTER) : this.trace.viewport.width / 2;
    }

    isOurs(event) {
      const target = event.target;
      if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey) return false;
      if (target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName)) return false;
      if (document.querySelector("dialog[open], details.popover[open]")) return false;
      const nobody = target === document.body || target.id === "page";
      return (nobody && this.trace.facts.role === "source") || this.trace.host.contains(target);
    }

    keyDown(event) {
      if (!this.isOurs(event)) return;
      const { trace } = this;
      const common = popvision.keyOf(event);
      const held = HELD_KEYS[event.key] || (HELD[common] ? common : null);
      if (event.shiftKey && (event.key === "ArrowUp" || event.key === "ArrowDown")) {
        trace.bands.zoomTiles(event.key === "ArrowUp" ? 1.25 : 0.8);
        trace.schedule();
      } else if (held) {
        if (!event.repeat) this.hold_(held);
      } else if (COMMON[common]) COMMON[common](trace);
      else if (PRESSED[event.key]) PRESSED[event.key](trace);
      else return;
      event.preventDefault();
      if (!event.key.startsWith("Arrow")) trace.tooltip.hide();
    }

    hold_(key) {
      HELD[key](this.trace, null);
      this.held = { key, since: performance.now(), before: 0 };
      this.trace.moved();
    }

    release() {
      this.held = null;
    }

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
      for (let row = 0; row < first.length; row += 1)
        if (level[row] > 0 && begin[row] >= viewport.from && end[row] <= viewport.to)
          least = Math.min(least, first[row]);
      const cells = bars.data.arrays.cell_first;
      if (least === Infinity) for (let row = 0; row < cells.length; row += 1) least = Math.min(least, cells[row]);
      return least === Infinity ? 0 : least;
    }

    match(direction) {
      const { trace } = this;
      const found = trace.search.go(direction, trace.viewport.from);
      if (!found) return;
      trace.revealNext = true;
      trace.select(found.step, found.ipu);
    }

    /* The next match while something is searched for, else the next step. */
    next(direction) {
      if (this.trace.search.steps.length) this.match(direction);
      else this.neighbour(direction);
    }

    /* Show what is selected with a little room around it; everything when nothing is. */
    fit() {
      const { trace } = this;
      const range = trace.chosen || (trace.selected ? [trace.selected.bar_begin, trace.selected.bar_end] : null);
      if (range) {
        const edge = (range[1] - range[0]) * 0.05 + 1;
        trace.viewport.show(Math.max(0, range[0] - edge), Math.min(trace.viewport.total, range[1] + edge));
      } else trace.viewport.fit();
      trace.bands.stretch = 1;
      trace.moved();
    }

    enter() {
      const { trace } = this;
      if (trace.cursor.facts) {
        trace.cursor.choose();
        return;
      }
      const hit = trace.pointer && trace.mouse.at(trace.pointer);
      if (hit && hit.part === "band" && trace.mouse.find(hit.spot, trace.pointer))
        trace.mouse.selectAt(hit.spot, trace.pointer);
      else if (trace.chosen) {
        trace.viewport.show(trace.chosen[0], trace.chosen[1]);
        trace.moved();
      } else if (trace.selected) {
        if (trace.viewport.reveal(trace.selected.begin, trace.selected.end)) trace.moved();
      }
    }
  }

  return { Keyboard };
})();
Object.assign(popvision.execution, executionKeyboard);
