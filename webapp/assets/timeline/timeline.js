// @ts-check
/* Host timeline of one page: its state, in and out of the URL, and the frame loop, which draws only after a
   change. */
import { FrameLoop, Listeners, sizeCanvas } from "../shared/canvas/frame_loop.js";
import { contextOf } from "../shared/canvas/pens.js";
import { Viewport } from "../shared/canvas/viewport.js";
import { fetchJson } from "../shared/packed.js";
import * as viewer from "../shell/viewer.js";
import { CHARTS } from "./charts.js";
import * as clock from "./clock.js";
import * as complaints from "./complaints.js";
import { Corner } from "./corner.js";
import { Flames } from "./flames.js";
import { Arrows } from "./flow_arrows.js";
import { drawFrame } from "./frame.js";
import { Input } from "./input.js";
import { Light } from "./light.js";
import { Live } from "./live.js";
import { Matches } from "./matches.js";
import { Names } from "./names.js";
import { makePatterns, readPalette } from "./palette.js";
import { Paths } from "./paths.js";
import * as timelineRows from "./rows.js";
import { NAMES, eventKey, shown } from "./shown.js";
import { Strip } from "./strip.js";
import { Tip } from "./tip.js";
import { fillKey, showZoom } from "./toolbar.js";

const AXIS = 26,
  RIGHT = 8;
/* A match is zoomed to where it is narrower than this, as if it took 1 us at the least. */
const SEEN_PIXELS = 6,
  NARROWEST_SHOWN = 1000;
const OPENED_SHARE = 0.1 /* of the window: an event of a list that takes less is zoomed to */,
  EDGE = 24; /* pixels: an instant nearer to an edge moves to the middle */
const MOST_MARKS = 50,
  MARK_PIXELS = 6; /* a mark this near to the pointer is removed */

const KINDS = ["", "paths", "callers"];

/* The selected event, from its facts. */
const chosenOf = ({ thread, depth, position, start, duration }) => ({
  thread,
  depth,
  position,
  start,
  end: start + duration,
});

class Timeline {
  constructor(host) {
    this.host = host;
    this.facts = JSON.parse(host.dataset.timeline);
    clock.count(this.facts.unit);
    this.canvas = document.createElement("canvas");
    host.append(this.canvas);
    this.draw = contextOf(this.canvas);
    this.loop = new FrameLoop((now) => this.step(now));
    this.listeners = new Listeners();
    this.view = { width: 0, height: 0, scale: 1 };
    this.viewport = new Viewport(this.facts.total + 1);
    this.palette = readPalette();
    this.recolourChannels();
    this.charts = new Map();
    this.flames = new Flames(this);
    this.light = new Light(this);
    this.paths = new Paths(this);
    this.strip = new Strip(this);
    this.arrows = new Arrows(this);
    this.tip = new Tip(this);
    this.names = new Names(this);
    this.corner = new Corner(this);
    host.append(this.names.box, this.corner.box, this.tip.box);
    this.scroll = 0;
    this.failures = 0; /* requests of the drawing that failed since it was complete */
    this.isOver = false;
    /** @type {[number, number] | null} window in the address, ns */
    this.wantedWindow = null;
    /** @type {RowLayout} */
    this.place = { pinned: [], rows: [], pinnedHeight: 0, height: 0 };
    this.pointer = this.measured = this.chosen = this.section = null;
    this.matches = new Matches(this);
    this.readSelection(viewer.selection());
    this.input = new Input(this);
    const { listeners } = this;
    listeners.add(
      viewer.onSelect((selection) => {
        this.readSelection(selection);
        this.schedule();
      }),
    );
    listeners.onResize(host, () => this.resize());
    listeners.on(document, "popvision:theme", () => this.recolour());
    this.resize();
    this.live = this.facts.live ? new Live(this) : null;
  }

  stop() {
    this.isOver = true;
    if (this.live) this.live.stop();
    this.loop.stop();
    this.input.stop();
    this.listeners.stop();
    window.clearTimeout(this.writing);
  }

  /* Draw and ask nothing more: the page will be built anew. */
  suspend() {
    this.isOver = true;
    this.loop.stop();
    window.clearTimeout(this.writing);
  }

  /* ---- the URL ---- */

  readSelection(selection) {
    this.merge = selection.tl_merge === "1";
    /** type of the flame graph: "" over time, "paths" or "callers" merged by path */
    this.kind = KINDS.includes(selection.tl_flame) ? selection.tl_flame : "";
    this.up = selection.tl_up === "1";
    this.follows = selection.tl_follow !== "0";
    this.withDevice = selection.tl_device !== "0";
    this.hidden = selection.tl_hide || "";
    this.hiddenSet = new Set(this.hidden.split(",").filter(Boolean).map(Number));
    this.areas = selection.tl_line === "area";
    this.heat = selection.tl_heat || "";
    this.marks = (selection.tl_marks || "")
      .split(",")
      .filter((each) => /^\d+$/.test(each))
      .slice(0, MOST_MARKS)
      .map(Number);
    const find = selection.tl_find || "";
    this.only = selection.tl_only === "1" && find !== this.matches.refused ? find : "";
    this.light.read(selection.tl_label || "");
    this.usedBins = selection.tl_bins === "used";
    this.clock = selection.tl_clock === "absolute" ? BigInt(this.facts.begin) : null;
    this.folded = new Set((selection.tl_fold || "").split(",").filter(Boolean));
    this.pins = (selection.tl_pin || "").split(",").filter(Boolean);
    const section = (selection.tl_sel || "").match(/^(\d+)-(\d+)$/);
    this.section = section ? [Number(section[1]), Number(section[2])] : null;
    this.readEvent(selection.tl_event || "", this.matches.text === undefined);
    const from = selection.tl_from,
      to = selection.tl_to;
    if (/^\d+$/.test(from || "") && /^\d+$/.test(to || "") && Number(to) > Number(from)) {
      this.wantedWindow = [Number(from), Number(to)];
      if (this.viewport.width && (from !== this.written || to !== this.writtenTo))
        this.viewport.show(...this.wantedWindow);
    } else if (this.written) this.viewport.fit();
    this.written = from;
    this.writtenTo = to;
    this.layout();
    fillKey(this);
    this.matches.search(selection.tl_find || "", selection.tl_event);
  }

  write(patch) {
    viewer.select(patch);
  }

  /* The window moved: draw now, write the URL when it rests. */
  moved() {
    this.schedule();
    window.clearTimeout(this.writing);
    this.writing = viewer.later(() => {
      const { viewport } = this;
      this.written = viewport.isFit ? undefined : String(Math.round(viewport.from));
      this.writtenTo = viewport.isFit ? undefined : String(Math.round(viewport.to));
      viewer.selectWindow({ tl_from: this.written || null, tl_to: this.writtenTo || null });
    }, 250);
  }

  /* ---- rows ---- */

  layout() {
    this.place = timelineRows.place(timelineRows.allRows(this.facts, this, this.withDevice), this.folded, this.pins);
    this.names.build(this.place);
    this.scrollTo(this.scroll);
  }

  /* What draws and finds the events of threads. */
  get calls() {
    return this.kind ? this.paths : this.flames;
  }

  /* The next type of the flame graph. */
  turnKind() {
    this.setKind(KINDS[(KINDS.indexOf(this.kind) + 1) % KINDS.length]);
  }

  setKind(kind) {
    const menu = document.querySelector('.timeline select[data-param="tl_flame"]');
    if (menu instanceof HTMLSelectElement) menu.value = kind;
    this.write({ tl_flame: kind || null });
  }

  get top() {
    return this.strip.height + AXIS;
  }
  get room() {
    return Math.max(0, this.view.height - this.top - this.place.pinnedHeight);
  }

  scrollTo(at) {
    this.scroll = Math.round(Math.max(0, Math.min(at, this.place.height - this.room)));
    this.schedule();
  }

  toggleFold(id) {
    const folded = new Set(this.folded);
    if (!folded.delete(id)) folded.add(id);
    this.write({ tl_fold: Array.from(folded).join(",") });
  }

  foldAll() {
    const rows = this.place.rows
      .concat(this.place.pinned)
      .filter((row) => row.foldable && row.depth > (row.isPinned ? 0 : 1));
    this.write({ tl_fold: rows.some((row) => row.open) ? rows.map((row) => row.id).join(",") : null });
  }

  togglePin(id) {
    const pins = this.pins.includes(id) ? this.pins.filter((each) => each !== id) : this.pins.concat(id);
    this.write({ tl_pin: pins.join(",") });
  }

  /* Set a mark at the pointer, or at the begin of the selected event; remove the one that is there. */
  toggleMark() {
    const { viewport, pointer, marks } = this;
    const isInside = pointer && pointer.x >= NAMES && pointer.x < NAMES + viewport.width;
    if (!isInside && !this.chosen) return;
    const at = Math.max(0, Math.round(isInside ? viewport.cycleAt(pointer.x - NAMES) : this.chosen.start));
    const near = marks.find((each) => Math.abs(viewport.x(each) - viewport.x(at)) <= MARK_PIXELS);
    if (near === undefined && marks.length >= MOST_MARKS) {
      viewer.notice("At most " + MOST_MARKS + " marks.");
      return;
    }
    const next = near === undefined ? marks.concat(at) : marks.filter((each) => each !== near);
    this.write({ tl_marks: next.sort((a, b) => a - b).join(",") || null });
  }

  chartOf(row) {
    if (!this.charts.has(row.id)) this.charts.set(row.id, new CHARTS[row.kind](this, row));
    return this.charts.get(row.id);
  }

  /* Visible rows, with the y of their top. */
  inSight() {
    const pinned = this.place.pinned.map((row) => ({ row, top: this.top + row.top }));
    const base = this.top + this.place.pinnedHeight - this.scroll;
    const rows = this.place.rows.filter(
      (row) => row.top + row.height > this.scroll && row.top < this.scroll + this.room,
    );
    return pinned.concat(rows.map((row) => ({ row, top: base + row.top })));
  }

  rowAt(y) {
    if (y < this.top) return null;
    const isPinned = y < this.top + this.place.pinnedHeight;
    return (
      this.inSight().find(
        ({ row, top }) => Boolean(row.isPinned || row.id === "pinned") === isPinned && y >= top && y < top + row.height,
      ) || null
    );
  }

  /* What lies at a point: {row, ns, inside, event?, path?, bar?} or null. */
  hit(point) {
    const x = point.x - NAMES;
    const place = x >= 0 && x < this.viewport.width ? this.rowAt(point.y) : null;
    if (!place) return null;
    const inside = point.y - place.top;
    const isThread = place.row.kind === "thread";
    const find = (each) => each.hit(place.row, x, inside);
    const event = isThread && !this.kind ? find(this.light) || find(this.flames) : null;
    const path = isThread && this.kind ? this.paths.hit(place.row, x, inside) : null;
    const bar = place.row.kind === "device" ? this.chartOf(place.row).hit(x, inside) : null;
    return { row: place.row, ns: this.viewport.cycleAt(x), inside, event, path, bar };
  }

  /* ---- selection ---- */

  isChosen(event) {
    return this.chosen !== null && eventKey(event) === eventKey(this.chosen);
  }

  choose(event) {
    this.chosen = event;
    this.write({ tl_event: event ? eventKey(event) : null });
    this.schedule();
  }

  /* Fetch the event that the URL names, unless a click has just selected it; `scroll` to its row. */
  async readEvent(text, scroll) {
    const match = text.match(/^(\d+)\.(i|\d+)\.(\d+)$/);
    if (!match) {
      this.chosen = null;
      return;
    }
    if (this.chosen && eventKey(this.chosen) === text) return;
    try {
      const facts = await fetchJson(`/data/${this.facts.key}/timeline/event?at=${text}`);
      if (viewer.selection().tl_event !== text) return; /* something else was selected meanwhile */
      this.chosen = chosenOf(facts);
      if (scroll) this.scrollToEvent(this.chosen);
    } catch (_) {
      if (viewer.selection().tl_event === text) this.chosen = null;
    }
    this.schedule();
  }

  /* Select the event under a key such as 0.2.17. */
  chooseEvent(at) {
    this.write({ tl_event: at });
    return this.readEvent(at);
  }

  async openLongest(at) {
    await this.chooseEvent(at);
    const { chosen } = this;
    if (!chosen) return;
    this.setKind("");
    this.show(chosen.start, chosen.end, 0.8);
  }

  clear() {
    if (this.chosen || this.section || this.light.isOn) {
      this.chosen = this.section = null;
      this.write({ tl_event: null, tl_sel: null, tl_label: null });
      this.schedule();
    }
  }

  async neighbour(by) {
    if (!this.chosen) return;
    const at = Object.assign({}, this.chosen, { position: this.chosen.position + by });
    if (at.position < 0) return;
    try {
      const facts = await fetchJson(`/data/${this.facts.key}/timeline/event?at=${eventKey(at)}`);
      this.reveal(facts);
    } catch (_) {
      /* the last of its row */
    }
  }

  scrollToEvent(event) {
    const row = this.place.rows.find((each) => each.threads && each.threads.includes(event.thread));
    if (!row) return;
    const y = row.top + Math.max(0, event.depth) * (row.open ? timelineRows.LANE : 0);
    if (y < this.scroll || y + 3 * timelineRows.LANE > this.scroll + this.room) this.scrollTo(y - this.room / 3);
  }

  /* Select an event, bring it into sight, and scroll to its row. An instant leaves the width of the window. */
  reveal(facts) {
    const event = {
      thread: facts.thread,
      depth: facts.depth,
      position: facts.position,
      start: facts.start,
      end: facts.start + facts.duration,
    };
    this.choose(event);
    const { viewport } = this;
    const x = viewport.x(event.start);
    if (event.depth >= 0) viewport.reveal(event.start, Math.max(event.end, event.start + 1));
    else if (x < EDGE || x > viewport.width - EDGE) viewport.pan(x - viewport.width / 2);
    this.scrollToEvent(event);
    this.moved();
  }

  /* Select a match of the search; zoom to it where it takes less than `least` pixels. */
  revealMatch(facts, least = SEEN_PIXELS) {
    const length = Math.max(facts.duration, NARROWEST_SHOWN);
    this.reveal(facts);
    if (facts.depth >= 0 && this.viewport.x(facts.start + length) - this.viewport.x(facts.start) < least)
      this.show(facts.start, facts.start + length, 0.2);
  }

  /* Select the event of a row or point below, and zoom to it. */
  openMatch(facts) {
    this.revealMatch(facts, OPENED_SHARE * this.viewport.width);
  }

  /* Zoom so that [from, to) fills `part` of the width. */
  show(from, to, part) {
    const spare = ((to - from) * (1 / part - 1)) / 2;
    this.viewport.show(Math.max(0, from - spare), Math.min(this.viewport.total, to + spare));
    this.moved();
  }

  /* ---- highlight ---- */

  /* Highlight the label of the selected event, or no label any more. */
  async toggleLight() {
    if (this.light.isOn) this.write({ tl_label: null });
    else if (this.chosen) {
      const facts = await fetchJson(`/data/${this.facts.key}/timeline/event?at=${eventKey(this.chosen)}`);
      this.write({ tl_label: String(facts.name) });
    }
  }

  /* Highlight this label and select its first event from the left edge of the window on; the window stays. */
  async chooseLabel(name) {
    const from = Math.max(0, Math.floor(this.viewport.width ? this.viewport.from : 0));
    try {
      const { first } = await fetchJson(`/data/${this.facts.key}/timeline/label?name=${name}&time=${from}`);
      this.chosen = chosenOf(first);
      this.write({ tl_event: eventKey(this.chosen), tl_label: String(name) });
      this.schedule();
    } catch (problem) {
      complaints.complain(problem);
    }
  }

  /* ---- drawing ---- */

  resize() {
    const { view } = this;
    const box = this.host.getBoundingClientRect();
    view.width = Math.floor(box.width);
    view.height = Math.floor(box.height);
    if (view.width < NAMES + 40 || !view.height) return;
    view.scale = sizeCanvas(this.canvas, view.width, view.height);
    const first = !this.viewport.width;
    this.viewport.resize(view.width - NAMES - RIGHT);
    if (first && this.wantedWindow) this.viewport.show(...this.wantedWindow);
    this.scrollTo(this.scroll);
    this.schedule();
  }

  recolourChannels() {
    this.colours = this.facts.channels.map((channel) => channel[this.palette.theme]);
    const patterns = makePatterns(this.draw);
    this.patterns = this.facts.channels.map((channel) => patterns[channel.pattern]);
  }

  recolour() {
    this.palette = readPalette();
    this.recolourChannels();
    this.strip.recolour();
    this.layout();
    fillKey(this);
    this.schedule();
  }

  schedule() {
    this.loop.schedule();
  }

  step(now) {
    if (!this.viewport.width) return;
    if (this.input && this.input.hold(now)) this.schedule();
    const rows = this.inSight();
    const complete = this.update(rows);
    drawFrame(this, rows, AXIS);
    if (!this.kind) this.arrows.draw();
    showZoom(this);
    this.names.place(this.top, this.place.pinnedHeight, this.view.height - this.top, this.scroll);
    this.host.dataset.state = complete ? "complete" : "loading";
    if (complete) complaints.complete(this);
    if (complete && !this.host.dataset.firstComplete) this.host.dataset.firstComplete = String(performance.now());
  }

  update(rows) {
    const threads = new Set();
    const merged = [];
    let complete = this.strip.update(this.viewport.width);
    for (const { row } of rows) {
      if (row.kind === "thread") {
        row.threads.forEach((thread) => threads.add(thread));
        merged.push(row.threads);
      } else if (CHARTS[row.kind]) complete = this.chartOf(row).update(this.viewport) && complete;
    }
    if (this.kind) complete = this.paths.update(this.viewport, merged) && complete;
    else {
      complete = this.flames.update(this.viewport, Array.from(threads)) && complete;
      complete = this.light.update(this.viewport, Array.from(threads)) && complete;
      complete = this.arrows.update() && complete;
    }
    return this.corner.update() && complete;
  }
}

viewer.mount("[data-timeline]", (host) => {
  const timeline = (shown.current = new Timeline(host));
  return () => {
    timeline.stop();
    if (shown.current === timeline) shown.current = null;
  };
});
