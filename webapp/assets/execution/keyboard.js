// @ts-check
/* Keys of the trace. A held key moves the view in every frame until it is released. */
import { Listeners } from "../shared/canvas/frame_loop.js";
import { BY_KEY, HELD, HeldKey, isMeantFor, moveWindow } from "../shared/canvas/keys.js";
import { keyOf } from "../shell/commands.js";
import { setMarks, toggleMark } from "./marks.js";
import { GUTTER } from "./shown.js";

const PRESSED = {
  n: (t) => t.keyboard.neighbour(1),
  p: (t) => t.keyboard.neighbour(-1),
  g: (t) => t.keyboard.match(1),
  G: (t) => t.keyboard.match(-1),
  M: (t) => setMarks(t, []),
  Enter: (t) => t.keyboard.enter(),
  ArrowLeft: (t) => t.cursor.move("left"),
  ArrowRight: (t) => t.cursor.move("right"),
  ArrowUp: (t) => t.cursor.move("up"),
  ArrowDown: (t) => t.cursor.move("down"),
};

/* Keys with a meaning common to all plots (keyOf). */
const COMMON = {
  next: (t) => t.keyboard.next(1),
  previous: (t) => t.keyboard.next(-1),
  fit: (t) => t.keyboard.fit(),
  all: (t) => {
    t.viewport.fit();
    t.bands.stretch = 1;
    t.moved();
  },
  mark: (t) => toggleMark(t),
  clear: (t) => {
    t.cursor.clear();
    t.clear();
  },
};

class Keyboard {
  constructor(trace) {
    this.trace = trace;
    this.listeners = new Listeners();
    this.held = new HeldKey(this.listeners);
    this.listeners.on(document, "keydown", (event) => this.keyDown(event));
  }

  stop() {
    this.listeners.stop();
  }

  /* The position that a zoom by key keeps: the pointer when it is over the trace, else the middle. */
  focusX() {
    const pointer = this.trace.pointer;
    return pointer ? Math.max(0, pointer.x - GUTTER) : this.trace.viewport.width / 2;
  }

  keyDown(event) {
    const { trace } = this;
    if (!isMeantFor(event, trace.host, trace.isSource)) return;
    const common = keyOf(event);
    const action = HELD[BY_KEY[event.key] || common];
    if (event.shiftKey && (event.key === "ArrowUp" || event.key === "ArrowDown")) {
      trace.bands.zoomTiles(event.key === "ArrowUp" ? 1.25 : 0.8);
      trace.schedule();
    } else if (action) {
      if (!event.repeat) this.held.press((seconds) => action(trace.viewport, seconds, this.focusX()));
      trace.moved();
    } else if (moveWindow(trace.viewport, event.key)) trace.moved();
    else if (COMMON[common]) COMMON[common](trace);
    else if (PRESSED[event.key]) PRESSED[event.key](trace);
    else return;
    event.preventDefault();
    if (!event.key.startsWith("Arrow")) trace.tooltip.hide();
  }

  /* Called in every frame: move while a key is held. True when another frame is needed. */
  hold(now) {
    if (!this.held.hold(now)) return false;
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
      if (level[row] > 0 && begin[row] >= viewport.from && end[row] <= viewport.to) least = Math.min(least, first[row]);
    const cells = bars.data.arrays.cell_first;
    if (least === Infinity) for (let row = 0; row < cells.length; row += 1) least = Math.min(least, cells[row]);
    return least === Infinity ? 0 : least;
  }

  match(direction) {
    const { trace } = this;
    const match = trace.search.go(direction, trace.viewport.from);
    if (!match) return;
    trace.revealNext = true;
    trace.select(match.step, match.ipu);
  }

  /* The next match while something is searched for, else the next step. */
  next(direction) {
    if (this.trace.search.steps.length) this.match(direction);
    else this.neighbour(direction);
  }

  /* Show what is selected with a little room around it; everything when nothing is. */
  fit() {
    const { trace } = this;
    const { chosen, selected } = trace;
    if (chosen) trace.zoomTo(chosen[0], chosen[1]);
    else if (selected) trace.zoomToStep(selected);
    else trace.viewport.fit();
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

export { Keyboard };
