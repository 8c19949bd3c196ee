// @ts-check
/* Pointer and keys of the timeline; the keys are those of the execution trace. */
import { Listeners } from "../shared/canvas/frame_loop.js";
import * as keys from "../shared/canvas/keys.js";
import { grip, partAt } from "../shared/canvas/overview.js";
import { followDrags, pointIn, wheelOf } from "../shared/canvas/pointer.js";
import { closest } from "../shared/dom.js";
import { keyOf } from "../shell/commands.js";
import { NAMES } from "./shown.js";

const SCROLL_STEP = 36; /* pixels at once */
const SCROLL_SPEED = 900; /* pixels a second while a key is held */
const CURSORS = { from: "ew-resize", to: "ew-resize", window: "grab", outside: "pointer" };

/* Held arrow keys: left and right pan, up and down scroll. */
const scrollBy = (timeline, seconds, by) =>
  timeline.scrollTo(timeline.scroll + by * (seconds === null ? SCROLL_STEP : SCROLL_SPEED * seconds));
const ARROWS = { ArrowLeft: "left", ArrowRight: "right" };
const SCROLLS = { ArrowUp: -1, ArrowDown: 1 };

/* The next or previous match; without a search, event of the row. */
const step = (timeline, back) =>
  timeline.matches.text ? timeline.matches.find(back) : timeline.neighbour(back ? -1 : 1);

/* Whether a key is one of letters and signs, which nothing beside the drawing takes but text fields. */
const isSign = (event) => event.key.length === 1 && event.key !== " ";

/* Whether a place is among the rows of a table, where Escape clears the selection too; its menus close on it. */
const isInRows = (target) => target instanceof Element && target.closest(".table-grid .ag-body") !== null;

const PRESSED = {
  f: (t) => {
    t.viewport.fit();
    t.moved();
  },
  n: (t) => t.neighbour(1),
  p: (t) => t.neighbour(-1),
  g: (t) => t.matches.find(false),
  G: (t) => t.matches.find(true),
  ".": (t) => step(t, false),
  ",": (t) => step(t, true),
  c: (t) => t.foldAll(),
  m: (t) => t.toggleMark(),
  l: (t) => t.toggleLight(),
  v: (t) => t.turnKind(),
  j: (t) => t.arrows.follow(true),
  J: (t) => t.arrows.follow(false),
  Enter: (t) => t.input.enter(),
  Escape: (t) => t.clear(),
};

class Input {
  constructor(timeline) {
    this.timeline = timeline;
    this.listeners = new Listeners();
    this.held = new keys.HeldKey(this.listeners);
    this.isDragging = false;
    const { listeners } = this;
    followDrags(listeners, timeline.canvas, (point, event) => this.press(point, event));
    listeners.on(timeline.canvas, "pointermove", (event) => this.move(pointIn(event, timeline.host)));
    listeners.on(timeline.canvas, "pointerleave", () => this.leave());
    listeners.on(timeline.canvas, "dblclick", () => this.open());
    listeners.on(timeline.host, "wheel", (event) => this.wheel(event), { passive: false });
    listeners.on(document, "keydown", (event) => this.keyDown(event));
    /* Before the box itself, which then writes what was typed. */
    listeners.on(document, "keydown", (event) => this.stepFromBox(event), { capture: true });
  }

  stop() {
    this.listeners.stop();
  }

  /* The position that a zoom by key keeps: the pointer's, else the middle. */
  focusX() {
    const { pointer, viewport } = this.timeline;
    return pointer && pointer.x > NAMES ? pointer.x - NAMES : viewport.width / 2;
  }

  /* ---- pointer ---- */

  press(point, event) {
    const { timeline } = this;
    timeline.host.focus({ preventScroll: true });
    if (point.y < timeline.strip.height) return this.dragOverview(point);
    if (event.shiftKey || point.y < timeline.top) return this.dragSection(point);
    return this.dragRows(point);
  }

  /* While a drag lasts, the tooltip does not follow the pointer. */
  begun(drag) {
    this.isDragging = true;
    const end = (then) => (point, event) => {
      this.isDragging = false;
      if (then) then(point, event);
      this.timeline.schedule();
    };
    return { ...drag, drop: end(drag.drop), click: end(drag.click), cancel: end(null) };
  }

  dragOverview(point) {
    const { timeline } = this;
    const moveWindow = grip(timeline.viewport, point.x - NAMES);
    timeline.moved();
    return this.begun({
      move: ({ x }) => {
        moveWindow(x - NAMES);
        timeline.tip.hide();
        timeline.moved();
      },
    });
  }

  dragSection(point) {
    const { timeline } = this;
    const { viewport } = timeline;
    const begin = viewport.cycleAt(point.x - NAMES);
    return this.begun({
      move: ({ x }) => {
        const at = viewport.cycleAt(x - NAMES);
        timeline.measured = [Math.max(0, Math.min(begin, at)), Math.min(viewport.total, Math.max(begin, at))];
        timeline.tip.hide();
      },
      drop: () => {
        const [from, to] = timeline.measured.map(Math.round);
        timeline.measured = null;
        if (to > from) timeline.write({ tl_sel: from + "-" + to });
      },
      click: (at) => {
        if (at.y >= timeline.top) this.choose(at);
      },
    });
  }

  dragRows(point) {
    const { timeline } = this;
    const { first } = timeline.viewport;
    const { scroll } = timeline;
    return this.begun({
      move: ({ x, y }) => {
        timeline.viewport.moveTo(first - (x - point.x));
        timeline.scrollTo(scroll - (y - point.y));
        timeline.tip.hide();
        timeline.moved();
      },
      click: (at) => this.choose(at),
    });
  }

  move(point) {
    const { timeline } = this;
    timeline.pointer = point;
    timeline.schedule();
    if (this.isDragging) return;
    if (point.y < timeline.strip.height)
      timeline.canvas.style.cursor = CURSORS[partAt(timeline.viewport, point.x - NAMES)];
    else this.hover(point);
  }

  choose(point) {
    const hit = this.timeline.hit(point);
    if (hit && hit.bar) this.timeline.chartOf(hit.row).choose(hit.bar);
    else if (hit && hit.path) this.timeline.chooseEvent(hit.path.longest);
    else if (hit && hit.event && hit.event.count > 1) this.timeline.show(hit.event.start, hit.event.end, 0.8);
    else this.timeline.choose(hit && hit.event ? hit.event : null);
  }

  /* Zoom to what is selected; of calls merged by path, to their longest event in the type Timeline. */
  open() {
    const { chosen, pointer } = this.timeline;
    const hit = pointer && this.timeline.hit(pointer);
    if (hit && hit.bar) this.timeline.chartOf(hit.row).open(hit.bar);
    else if (hit && hit.path) this.timeline.openLongest(hit.path.longest);
    else if (chosen && chosen.end > chosen.start) this.timeline.show(chosen.start, chosen.end, 0.8);
  }

  hover(point) {
    const { timeline } = this;
    const hit = timeline.hit(point);
    timeline.canvas.style.cursor = hit && (hit.event || hit.path || hit.bar) ? "pointer" : "default";
    if (!hit) timeline.tip.hide();
    else if (hit.bar) timeline.tip.step(point, hit.row, hit.bar);
    else if (hit.event) timeline.tip.event(point, hit.event);
    else if (hit.path) timeline.tip.path(point, hit.path);
    else if (hit.row.kind === "graph") timeline.tip.graph(point, hit.row, hit.ns);
    else if (hit.row.kind === "heatmap") timeline.tip.cell(point, hit.row, hit.ns, hit.inside);
    else if (hit.row.kind === "activity") timeline.tip.activity(point, hit.row, hit.ns);
    else timeline.tip.hide();
  }

  leave() {
    this.timeline.pointer = null;
    this.timeline.tip.hide();
    this.timeline.schedule();
  }

  wheel(event) {
    event.preventDefault();
    const { timeline } = this;
    const point = pointIn(event, timeline.host);
    const wheel = wheelOf(event);
    if (event.shiftKey || point.x < NAMES) timeline.scrollTo(timeline.scroll + wheel.main);
    else if (wheel.isSideways) timeline.viewport.pan(wheel.x);
    else timeline.viewport.zoom(Math.pow(1.0018, -wheel.y), point.x - NAMES);
    timeline.tip.hide();
    timeline.moved();
  }

  /* ---- keys ---- */

  /* What a key does while it is held: a function of seconds, or null. */
  heldAction(event) {
    const { timeline } = this;
    const by = SCROLLS[event.key];
    if (by) return (seconds) => scrollBy(timeline, seconds, by);
    const act = keys.HELD[keys.BY_KEY[event.key] || ARROWS[event.key] || keyOf(event)];
    return act ? (seconds) => act(timeline.viewport, seconds, this.focusX()) : null;
  }

  keyDown(event) {
    const { timeline } = this;
    const isOfPage = isSign(event) || (event.key === "Escape" && isInRows(event.target));
    if (!keys.isMeantFor(event, isOfPage ? document.body : timeline.host)) return;
    if (event.target.tagName === "BUTTON" && event.key === "Enter") return;
    const action = this.heldAction(event);
    if (action) {
      if (!event.repeat) this.held.press(action);
      timeline.moved();
    } else if (keys.moveWindow(timeline.viewport, event.key)) timeline.moved();
    else if (PRESSED[event.key]) PRESSED[event.key](timeline);
    else return;
    event.preventDefault();
    timeline.tip.hide();
  }

  /* Enter in the search box steps through the matches; a new text is searched for instead. */
  stepFromBox(event) {
    const box = event.key === "Enter" ? closest(event, '[data-param="tl_find"]') : null;
    if (!box || event.target.value !== (this.timeline.matches.text || "")) return;
    this.timeline.matches.find(event.shiftKey);
  }

  enter() {
    const { timeline } = this;
    const hit = timeline.pointer && timeline.hit(timeline.pointer);
    if (hit && hit.bar) timeline.chartOf(hit.row).open(hit.bar);
    else if (hit && hit.path) timeline.chooseEvent(hit.path.longest);
    else if (hit && hit.event && hit.event.count === 1 && !timeline.isChosen(hit.event)) timeline.choose(hit.event);
    else if (timeline.chosen) this.open();
    else if (timeline.section) timeline.show(timeline.section[0], timeline.section[1], 1);
  }

  /* Called in every frame: move while a key is held. True when another frame is needed. */
  hold(now) {
    if (!this.held.hold(now)) return false;
    this.timeline.moved();
    return true;
  }
}

export { Input };
