// @ts-check
/* The execution trace of one report: state, requests and the frame loop. mouse.js and keyboard.js take input,
   frame.js draws. */
import { FrameLoop, Listeners, sizeCanvas } from "../shared/canvas/frame_loop.js";
import { contextOf } from "../shared/canvas/pens.js";
import { Viewport } from "../shared/canvas/viewport.js";
import { showZoom } from "../shared/canvas/zoom_box.js";
import { fetchJson } from "../shared/packed.js";
import { preference } from "../shell/preferences.js";
import * as viewer from "../shell/viewer.js";
import { Bands } from "./bands.js";
import { Bars } from "./bars.js";
import { Bsp } from "./bsp.js";
import { Cursor } from "./cursor.js";
import { AXIS, drawFrame } from "./frame.js";
import { Keyboard } from "./keyboard.js";
import { readMarks } from "./marks.js";
import { Mouse } from "./mouse.js";
import { complain, integer } from "./numbers.js";
import { Overview } from "./overview.js";
import { CLASSES, Palette } from "./palette.js";
import { Search } from "./search.js";
import { GUTTER, traces } from "./shown.js";
import { fillKey, fillToolbar } from "./toolbar.js";
import { Tooltip } from "./tooltip.js";
import { keysOf, leadPeer, linkScale, pickSelected, selectPartner } from "./trace_pair.js";

const REST = 160; /* ms without movement before the URL and the lower pane follow */

class Trace {
  constructor(host) {
    this.host = host;
    this.facts = JSON.parse(host.dataset.trace);
    this.canvas = document.createElement("canvas");
    this.draw = contextOf(this.canvas, { alpha: false });
    this.spoken = document.createElement("div");
    this.spoken.className = "visually-hidden";
    this.spoken.setAttribute("aria-live", "polite");
    this.coarse = Object.assign(document.createElement("div"), { className: "trace-coarse", hidden: true });
    host.append(this.canvas, this.coarse, this.spoken);
    this.viewport = new Viewport(this.facts.total);
    this.hidden = new Set();
    this.palette = new Palette(this.hidden);
    this.options = { labels: true, small: true };
    /** @type {HTMLInputElement | null} */
    this.zoomBox = null;
    this.linked = false;
    this.marks = [];
    this.names = keysOf(this.facts.role);
    this.cursor = new Cursor(this);
    const changed = () => this.schedule();
    this.changed = changed;
    this.bars = new Map();
    this.bsps = new Map();
    this.overview = new Overview(this.facts, changed);
    this.bands = new Bands(this.facts);
    this.tooltip = new Tooltip(host, this.facts, () => this.units);
    this.search = new Search(this.facts, this.isSource ? this.slot("matches") : null, changed);
    this.view = { width: 0, height: 0, scale: 1, overview: 0, bandsTop: 0 };
    this.selected = null;
    this.clicked = null; /* the step that a click selected: it stays where it is */
    this.published = {};
    this.movedAt = -REST;
    this.restTimer = 0;
    this.loop = new FrameLoop((now) => this.step(now));
    this.listeners = new Listeners();
    this.mouse = new Mouse(this);
    this.keyboard = new Keyboard(this);
    this.start();
  }

  get isSource() {
    return this.facts.role === "source";
  }

  /* The other trace of a comparison, null without one. */
  get peer() {
    const peer = this.isSource ? traces.target : traces.current;
    return peer && peer !== this && !peer.stopped ? peer : null;
  }

  slot(name) {
    return this.host.closest(".execution").querySelector(`[data-slot="${name}"]`);
  }

  start() {
    const { listeners } = this;
    listeners.onResize(this.host, () => this.resize());
    listeners.on(document, "popvision:theme", () => this.recolour());
    listeners.add(viewer.onSelect((selection) => this.apply(selection)));
    this.resize();
    this.apply(viewer.selection());
    if (this.isSource) fillToolbar(this);
  }

  stop() {
    this.mouse.stop();
    this.keyboard.stop();
    this.tooltip.hide();
    this.loop.stop();
    window.clearTimeout(this.restTimer);
    this.listeners.stop();
    this.stopped = true;
  }

  barsOf(ipu) {
    if (!this.bars.has(ipu)) this.bars.set(ipu, new Bars(this.facts, ipu, this.changed));
    const bars = this.bars.get(ipu);
    bars.mode = this.mode;
    return bars;
  }

  bspOf(ipu) {
    if (!this.bsps.has(ipu)) this.bsps.set(ipu, new Bsp(this.facts, ipu, this.changed));
    return this.bsps.get(ipu);
  }

  get ipus() {
    return this.ipu === null ? Array.from({ length: this.facts.ipus }, (_, ipu) => ipu) : [this.ipu];
  }

  /* ---- state in and out of the URL ---- */

  apply(selection) {
    /* A linked target follows the window of the source. */
    const follows = !this.isSource && selection.link !== "0";
    const window_ = (selection.from || "") + "-" + (selection.to || "");
    if (follows && window_ !== this.followed) {
      this.followed = window_;
      this.published.from = null;
    }
    const ipu = Number(selection.ipu);
    this.ipu = selection.ipu !== undefined && ipu < this.facts.ipus ? ipu : null;
    this.on = this.ipu === null ? Math.min(Number(selection.on) || 0, this.facts.ipus - 1) : this.ipu;
    this.mode = selection.mode === "flat" ? "flat" : "flame";
    this.withTiles = selection.bsp !== "0" && !this.facts.unknown;
    this.options = { labels: selection.labels !== "0", small: selection.small !== "0" };
    this.hide(selection.hide || "");
    this.marks = this.isSource ? readMarks(selection.marks, this.facts.total) : [];
    const wanted = selection.units || preference("time");
    this.units = wanted === "time" && this.facts.clock ? "time" : "cycles"; /* a report may not know its clock */
    const ends = (selection.sel || "").split("-").map(Number);
    this.chosen = ends.length === 2 && ends[0] < ends[1] ? ends : null;
    this.search.look(selection.find || "", this.ipus);
    linkScale(this, selection.link !== "0");
    const from = selection[this.names.from],
      to = selection[this.names.to];
    if (this.published.from !== from || this.published.to !== to) this.move(from, to);
    const isElsewhere = selection.step !== this.clicked && from === undefined && this.published.from === undefined;
    pickSelected(this, selection, isElsewhere);
    this.schedule();
  }

  hide(text) {
    const hidden = new Set(text.split(",").filter((name) => CLASSES.includes(name)));
    if (Array.from(hidden).join() === Array.from(this.hidden).join()) return;
    this.hidden = hidden;
    this.recolour();
  }

  move(from, to) {
    if (this.isSource || !this.linked) {
      this.showWindow(from, to);
      return;
    }
    const source = viewer.selection();
    this.showWindow(source.from, source.to);
    this.published.from = this.published.to = undefined;
  }

  showWindow(fromText, toText) {
    this.published.from = fromText;
    this.published.to = toText;
    const total = this.viewport.total;
    const from = Number(fromText || 0),
      to = toText === undefined ? total : Number(toText);
    if (fromText === undefined && toText === undefined) this.viewport.fit();
    else if (from < to) this.viewport.show(from, Math.min(to, total));
  }

  /* Fetch the facts of a step so that it can be outlined; bring it into view when asked. */
  async pick(step, reveal) {
    const name = step === null ? null : this.on + ":" + step;
    if (name === this.picked) return;
    this.picked = name;
    if (step === null) {
      this.selected = null;
      this.schedule();
      return;
    }
    try {
      const facts = await fetchJson(`/data/${this.facts.key}/execution/step?ipu=${this.on}&step=${step}`);
      if (this.picked !== name || this.stopped) return;
      this.selected = facts;
      if (!this.cursor.at) this.spoken.textContent = this.spokenStep(facts);
      if (this.linkNext && this.isSource) viewer.select({ program: facts.program });
      if (reveal || this.revealNext) {
        if (this.viewport.reveal(facts.bar_begin, facts.bar_end)) this.moved();
      }
    } catch (problem) {
      complain(problem);
    }
    this.revealNext = this.linkNext = false;
    this.schedule();
  }

  spokenStep({ step, type, name, begin, end, ipu }) {
    return `step ${step}, ${type}, ${name}, ${integer(end - begin)} cycles on IPU ${ipu}`;
  }

  /* Select a step on a band's IPU; its program follows, so that the other pages show it. */
  select(step, ipu) {
    if (!this.isSource) {
      selectPartner(this, step, ipu);
      return;
    }
    this.linkNext = true;
    this.clicked = String(step);
    viewer.select({ step, tstep: null, on: this.ipu === null && ipu ? ipu : null, sel: null });
  }

  /* Select the step of a table's row. The rows of the table stay, so the selected cycles do too; a step out of view
     is brought into it where the rows do not depend on what is visible. */
  selectRow(step, ipu) {
    this.linkNext = true;
    this.revealNext = this.chosen !== null;
    this.clicked = String(step);
    viewer.select({ step, tstep: null, on: this.ipu === null && ipu ? ipu : null });
  }

  choose(from, to) {
    const begin = Math.max(0, Math.floor(from)),
      end = Math.min(this.facts.total, Math.ceil(to));
    viewer.select({ sel: end > begin ? begin + "-" + end : null, step: null, tstep: null, on: null });
  }

  clear() {
    viewer.select({ sel: null, step: null, tstep: null, on: null });
  }

  /* Show these cycles with a little room around them. */
  zoomTo(begin, end) {
    const edge = (end - begin) * 0.05 + 1;
    this.viewport.show(Math.max(0, begin - edge), Math.min(this.viewport.total, end + edge));
    this.moved();
  }

  /* A step with all that its tiles do: its bar ends where the last of them does. */
  zoomToStep(facts) {
    this.zoomTo(Math.min(facts.bar_begin, facts.busy_begin), Math.max(facts.bar_end, facts.busy_end));
  }

  /* The window moved: draw now, tell the page when it rests. */
  moved() {
    this.movedAt = performance.now();
    leadPeer(this);
    window.clearTimeout(this.restTimer);
    this.restTimer = viewer.later(() => this.publish(), REST);
    this.schedule();
  }

  publish() {
    if (!this.isSource && this.linked) {
      if (this.peer) this.peer.publish(); /* the source tells the page for both */
      return;
    }
    this.schedule();
    const fit = this.viewport.isFit;
    this.published.from = fit ? undefined : String(Math.floor(this.viewport.from));
    this.published.to = fit ? undefined : String(Math.ceil(this.viewport.to));
    viewer.selectWindow({
      [this.names.from]: this.published.from || null,
      [this.names.to]: this.published.to || null,
    });
  }

  /* ---- frames ---- */

  resize() {
    const box = this.host.getBoundingClientRect();
    if (!box.width || !box.height) return;
    const view = this.view;
    view.width = Math.floor(box.width);
    view.height = Math.floor(box.height);
    view.scale = sizeCanvas(this.canvas, view.width, view.height);
    this.viewport.resize(view.width - GUTTER - 8);
    this.schedule();
  }

  recolour() {
    this.palette = new Palette(this.hidden);
    this.overview.recolour();
    for (const bsp of this.bsps.values()) bsp.recolour();
    if (this.isSource) fillKey(this);
    this.schedule();
  }

  schedule() {
    this.loop.schedule();
  }

  step(now) {
    if (!this.view.width) return;
    if (this.keyboard && this.keyboard.hold(now)) this.schedule();
    const complete = this.update();
    drawFrame(this);
    showZoom(this.zoomBox, this.viewport);
    this.host.dataset.state = complete ? "complete" : "loading";
    if (complete && this.host.dataset.firstComplete === undefined) this.noteComplete();
  }

  /* The time at which the first complete drawing was on the screen, ms since navigation; benchmarks read it. */
  noteComplete() {
    this.host.dataset.firstComplete = "";
    window.requestAnimationFrame((now) => {
      this.host.dataset.firstComplete = String(Math.max(now, performance.now()));
    });
  }

  /* Place the bands and ask for what they lack; true when nothing visible is missing. */
  update() {
    const ipus = this.ipus;
    this.view.overview = this.overview.height(ipus.length);
    this.view.bandsTop = this.view.overview + AXIS;
    const moving = performance.now() - this.movedAt < REST;
    let complete = this.overview.update(this.viewport, ipus);
    this.bands.place(ipus, this.view.height - this.view.bandsTop, (ipu) => this.barsOf(ipu).height, this.withTiles);
    for (const band of this.bands.visible()) {
      const covered = this.barsOf(band.ipu).update(this.viewport, moving);
      complete = covered && complete;
      if (!band.tilesHeight || !this.barsOf(band.ipu).isSized) continue;
      complete = this.bspOf(band.ipu).update(this.viewport, band.rows, moving) && complete;
    }
    return complete;
  }
}

/* Traces begin when their elements appear and stop when they go. */
function look() {
  for (const role of ["current", "target"]) {
    const host = document.querySelector(
      role === "current" ? '[data-trace][data-role="source"]' : '[data-trace][data-role="target"]',
    );
    if (traces[role] && traces[role].host !== host) {
      traces[role].stop();
      traces[role] = null;
    }
    if (host && !traces[role]) traces[role] = new Trace(host);
  }
}
new MutationObserver(look).observe(document, { childList: true, subtree: true });
