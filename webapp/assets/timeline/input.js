// @ts-check
/* Pointer and keyboard. Keys are those of the execution trace. */
const timelineInput = (() => {
  "use strict";
  const tl = popvision.timeline;
  const PAN_SPEED = 1.1; /* windows per second while a key is held */
  const ZOOM_SPEED = 5; /* factor per second */
  const SCROLL_SPEED = 900; /* pixels per second */
  const HOLD_AFTER = 180; /* ms before a held key repeats smoothly */

  const HELD = {
    ArrowLeft: (t, s) => t.viewport.pan(-(s === null ? 0.08 : PAN_SPEED * s) * t.viewport.width),
    ArrowRight: (t, s) => t.viewport.pan((s === null ? 0.08 : PAN_SPEED * s) * t.viewport.width),
    ArrowUp: (t, s) => t.scrollTo(t.scroll - (s === null ? 36 : SCROLL_SPEED * s)),
    ArrowDown: (t, s) => t.scrollTo(t.scroll + (s === null ? 36 : SCROLL_SPEED * s)),
    "+": (t, s) => t.viewport.zoom(s === null ? 1.3 : Math.pow(ZOOM_SPEED, s), t.input.focus()),
    "-": (t, s) => t.viewport.zoom(1 / (s === null ? 1.3 : Math.pow(ZOOM_SPEED, s)), t.input.focus()),
  };
  HELD["="] = HELD["+"];
  HELD["_"] = HELD["-"];

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
    f: (t) => {
      t.viewport.fit();
      t.moved();
    },
    n: (t) => t.neighbour(1),
    p: (t) => t.neighbour(-1),
    g: (t) => t.find(false),
    G: (t) => t.find(true),
    c: (t) => t.foldAll(),
    Enter: (t) => t.input.enter(),
    Escape: (t) => t.clear(),
  };

  class Input {
    constructor(timeline) {
      this.timeline = timeline;
      this.held = null;
      this.drag = null;
      this.stops = [];
      const on = (target, kind, listener, options) => {
        target.addEventListener(kind, listener, options);
        this.stops.push(() => target.removeEventListener(kind, listener, options));
      };
      on(timeline.canvas, "pointerdown", (event) => this.press(event));
      on(timeline.canvas, "pointermove", (event) => this.move(event));
      on(timeline.canvas, "pointerup", (event) => this.lift(event));
      on(timeline.canvas, "pointercancel", () => {
        this.drag = null;
      });
      on(timeline.canvas, "pointerleave", () => this.leave());
      on(timeline.canvas, "dblclick", () => this.open());
      on(timeline.host, "wheel", (event) => this.wheel(event), { passive: false });
      on(document, "keydown", (event) => this.keyDown(event));
      on(document, "keyup", () => {
        this.held = null;
      });
      on(window, "blur", () => {
        this.held = null;
      });
    }

    stop() {
      this.stops.forEach((stop) => stop());
    }

    point(event) {
      const box = this.timeline.host.getBoundingClientRect();
      return { x: event.clientX - box.left, y: event.clientY - box.top };
    }

    /* Where zooming with keys keeps things in place: the pointer, else the middle. */
    focus() {
      const { pointer, viewport } = this.timeline;
      return pointer && pointer.x > tl.NAMES ? pointer.x - tl.NAMES : viewport.width / 2;
    }

    press(event) {
      if (event.button) return;
      const { timeline } = this;
      const point = this.point(event);
      timeline.host.focus({ preventScroll: true });
      timeline.canvas.setPointerCapture(event.pointerId);
      const ns = timeline.viewport.cycleAt(point.x - tl.NAMES);
      this.drag = { start: point, last: point, moved: false, kind: event.shiftKey ? "select" : "pan", ns };
      if (point.y < timeline.strip.height) {
        this.drag.kind = timeline.strip.grip(point.x - tl.NAMES);
        if (this.drag.kind === "jump") {
          this.jump(point);
          this.drag.kind = "move";
        }
      } else if (point.y < timeline.top) this.drag.kind = "select";
    }

    jump(point) {
      const { viewport } = this.timeline;
      const middle = ((point.x - tl.NAMES) / viewport.width) * viewport.total,
        half = (viewport.to - viewport.from) / 2;
      viewport.first = Math.round(((middle - half) * 1024) / viewport.pitch);
      viewport.keepInside();
      this.timeline.moved();
    }

    move(event) {
      const { timeline } = this;
      const point = (timeline.pointer = this.point(event));
      const { drag } = this;
      if (drag) this.dragTo(point);
      else if (point.y < timeline.strip.height)
        timeline.canvas.style.cursor = { from: "ew-resize", to: "ew-resize", move: "grab", jump: "pointer" }[
          timeline.strip.grip(point.x - tl.NAMES)
        ];
      else this.hover(point);
      timeline.schedule();
    }

    dragTo(point) {
      const { timeline, drag } = this;
      const { viewport } = timeline;
      const by = point.x - drag.last.x;
      if (Math.abs(point.x - drag.start.x) + Math.abs(point.y - drag.start.y) > 3) drag.moved = true;
      const perPixel = viewport.total / viewport.width;
      if (drag.kind === "pan" && drag.moved) {
        viewport.pan(-by);
        timeline.scrollTo(timeline.scroll - (point.y - drag.last.y));
      } else if (drag.kind === "select" && drag.moved) {
        const at = viewport.cycleAt(point.x - tl.NAMES);
        timeline.measured = [Math.max(0, Math.min(drag.ns, at)), Math.min(viewport.total, Math.max(drag.ns, at))];
      } else if (drag.kind === "move") {
        viewport.first += Math.round((by * perPixel * 1024) / viewport.pitch);
        viewport.keepInside();
      } else if (drag.kind === "from")
        viewport.show(Math.min(viewport.to - 100, Math.max(0, (point.x - tl.NAMES) * perPixel)), viewport.to);
      else if (drag.kind === "to")
        viewport.show(viewport.from, Math.max(viewport.from + 100, (point.x - tl.NAMES) * perPixel));
      drag.last = point;
      timeline.tip.hide();
      if (drag.kind !== "select") timeline.moved();
    }

    lift(event) {
      const { timeline, drag } = this;
      this.drag = null;
      if (!drag) return;
      if (drag.kind === "select" && timeline.measured) {
        const [from, to] = timeline.measured.map(Math.round);
        timeline.measured = null;
        if (to > from) timeline.write({ tl_sel: from + "-" + to });
      } else if (!drag.moved && drag.start.y >= timeline.top) this.choose(this.point(event));
      timeline.schedule();
    }

    choose(point) {
      const hit = this.timeline.hit(point);
      if (hit && hit.event && hit.event.count > 1) this.timeline.show(hit.event.start, hit.event.end, 0.8);
      else this.timeline.choose(hit && hit.event ? hit.event : null);
    }

    open() {
      const { chosen } = this.timeline;
      if (chosen && chosen.end > chosen.start) this.timeline.show(chosen.start, chosen.end, 0.8);
    }

    hover(point) {
      const { timeline } = this;
      const hit = timeline.hit(point);
      timeline.canvas.style.cursor = hit && hit.event ? "pointer" : "default";
      if (!hit) timeline.tip.hide();
      else if (hit.event) timeline.tip.event(point.x, point.y, hit.event);
      else if (hit.row.kind === "graph") timeline.tip.graph(point.x, point.y, hit.row, hit.ns);
      else if (hit.row.kind === "heatmap") timeline.tip.cell(point.x, point.y, hit.row, hit.ns, hit.inside);
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
      const { viewport } = timeline;
      const lines = event.deltaMode ? 16 : 1;
      const point = this.point(event);
      if (event.shiftKey || point.x < tl.NAMES)
        timeline.scrollTo(timeline.scroll + (event.deltaY || event.deltaX) * lines);
      else if (Math.abs(event.deltaX) > Math.abs(event.deltaY)) viewport.pan(event.deltaX * lines);
      else viewport.zoom(Math.pow(1.0018, -event.deltaY * lines), point.x - tl.NAMES);
      timeline.tip.hide();
      timeline.moved();
    }

    isOurs(event) {
      const target = event.target;
      if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey) return false;
      if (target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName)) return false;
      if (document.querySelector("dialog[open], details.popover[open]")) return false;
      if (target.tagName === "BUTTON" && event.key === "Enter") return false;
      return target === document.body || target.id === "page" || this.timeline.host.contains(target);
    }

    keyDown(event) {
      if (!this.isOurs(event)) return;
      if (HELD[event.key]) {
        if (!event.repeat) {
          HELD[event.key](this.timeline, null);
          this.held = { key: event.key, since: performance.now(), before: 0 };
          this.timeline.moved();
        }
      } else if (PRESSED[event.key]) PRESSED[event.key](this.timeline);
      else return;
      event.preventDefault();
      this.timeline.tip.hide();
    }

    enter() {
      const { timeline } = this;
      const hit = timeline.pointer && timeline.hit(timeline.pointer);
      if (hit && hit.event && hit.event.count === 1 && !timeline.isChosen(hit.event)) timeline.choose(hit.event);
      else if (timeline.chosen) this.open();
      else if (timeline.section) timeline.show(timeline.section[0], timeline.section[1], 1);
    }

    /* Called in every frame: move while a key is held. True when another frame is needed. */
    hold(now) {
      const held = this.held;
      if (!held) return false;
      if (now - held.since < HOLD_AFTER) return true;
      const seconds = held.before ? Math.min(0.1, (now - held.before) / 1000) : 1 / 60;
      held.before = now;
      HELD[held.key](this.timeline, seconds);
      this.timeline.moved();
      return true;
    }
  }

  return { Input };
})();
Object.assign(popvision.timeline, timelineInput);
