// @ts-check
/* A trace that its program still writes: asks for what was added, hands it to the timeline, and says how it stands. */
import { Listeners } from "../shared/canvas/frame_loop.js";
import { moveWindow } from "../shared/canvas/keys.js";
import { fetchJson } from "../shared/packed.js";
import { notice, redraw, select, selection } from "../shell/viewer.js";
import * as clock from "./clock.js";
import * as toolbar from "./toolbar.js";

const EVERY = 400,
  EVERY_ENDED = 4000,
  SOON = 100 /* the first answers without anything new: the server may only have rested */,
  MOST_SOON = 3 /* of them */,
  DRAWN = 50 /* until it looks again whether the last answer is drawn */,
  QUIET = 10000; /* ms */
const EVERY_RENEWAL = 1000,
  LONGEST_RENEWAL = 30000 /* ms until an answer is no longer waited for */,
  SHARE_OF_RENEWALS = 8;

/* Move the window of a timeline from a trace with `before` facts to its new facts. One that reaches the end moves on
   with it, unless the switch is off. */
function moveOn(timeline, before) {
  const { viewport, facts, follows } = timeline;
  const { isFit, from, to, total } = viewport;
  const atEnd = total - to < (to - from) / 100;
  const shift = Number(BigInt(before.begin) - BigInt(facts.begin));
  viewport.total = Math.max(1, facts.total + 1);
  if (!viewport.width) return;
  if (isFit && follows) viewport.fit();
  else if (atEnd && follows) moveWindow(viewport, "End"); /* at the same zoom */
  else if (shift || viewport.pitch > viewport.fitPitch) viewport.show(from + shift, to + shift);
  if (!isFit || !follows) timeline.moved();
}

function renew(timeline, facts) {
  const before = timeline.facts;
  timeline.facts = facts;
  moveOn(timeline, before);
  timeline.clock = timeline.clock === null ? null : BigInt(facts.begin);
  timeline.recolourChannels();
  timeline.charts = new Map();
  timeline.strip.readSeries();
  timeline.corner.counted = "";
  timeline.names.keepFocus(() => timeline.layout());
  if (!toolbar.slot("key")?.contains(document.activeElement)) toolbar.fillKey(timeline);
  timeline.schedule();
}

/* What the address says of one recording: its windows, events and marks, channels, rows, and what was searched. */
const OF_A_RECORDING = [
  "tl_from",
  "tl_to",
  "tl_sel",
  "tl_event",
  "tl_marks",
  "tl_label",
  "tl_hide",
  "tl_fold",
  "tl_pin",
  "tl_find",
  "tl_only",
];

/* Recordings that took the place of another one while they were shown. */
const replacing = new Set();

const reportsOf = (facts) => facts.files.flatMap((file) => file.devices.map((each) => each.report)).join(" ");

/* After the trace has grown, renews the open tab below the drawing and the number of matches: at most once a second,
   and for at most an eighth of the time, so that counting a long trace again leaves the processor to others. */
class Tabs {
  constructor(timeline) {
    this.timeline = timeline;
    this.timer = 0;
    this.isDue = false;
    this.count = 0;
    this.begun = 0; /* when the renewal under way began, 0 without one */
    this.listeners = new Listeners();
    this.listeners.on(document, "popvision:renewed", () => this.done());
  }

  stop() {
    window.clearTimeout(this.timer);
    this.listeners.stop();
  }

  /* The trace has grown. */
  grown() {
    this.isDue = true;
    if (!this.timer) this.begin();
  }

  begin() {
    this.isDue = false;
    this.begun = performance.now();
    this.count += 1;
    /* The callback of the tabs asks the server, which knows whether the tab shows anything of what came. */
    const data = Object.assign({}, selection(), { renewal: String(this.count) });
    window.dash_clientside.set_props("tl-tab-now", { data });
    this.timeline.matches.countAgain();
    this.rest(LONGEST_RENEWAL);
  }

  done() {
    if (this.begun) this.rest(Math.max(EVERY_RENEWAL, (SHARE_OF_RENEWALS - 1) * (performance.now() - this.begun)));
    this.begun = 0;
  }

  rest(pause) {
    window.clearTimeout(this.timer);
    this.timer = window.setTimeout(() => {
      this.timer = 0;
      if (this.isDue) this.begin();
    }, pause);
  }
}

class Live {
  constructor(timeline) {
    this.timeline = timeline;
    this.known = timeline.facts.live.known;
    this.identity = timeline.facts.live.identity;
    this.tabs = new Tabs(timeline);
    this.stopped = false;
    this.isUnreadable = false;
    this.isAsking = false;
    this.empty = 0; /* answers without anything new, one after another */
    this.grown = performance.now();
    timeline.host.dataset.live = "1";
    this.tell();
    /* The page holds the facts of when its address was asked for, which may be a second ago: ask at once. */
    this.timer = window.setTimeout(() => this.ask(true), 0);
  }

  stop() {
    this.stopped = true;
    window.clearTimeout(this.timer);
    this.tabs.stop();
  }

  pause() {
    if (!this.timeline.facts.recording) return EVERY_ENDED;
    return this.empty > 0 && this.empty <= MOST_SOON ? SOON : EVERY;
  }

  wait(pause = this.pause()) {
    if (!this.stopped) this.timer = window.setTimeout(() => this.ask(), pause);
  }

  async ask(isFirst = false) {
    const isDrawn = this.timeline.host.dataset.state === "complete";
    if (!isFirst && !isDrawn && performance.now() - this.grown < QUIET) {
      this.wait(DRAWN); /* what came last is still being drawn */
      return;
    }
    const address = `/data/${this.timeline.facts.key}/timeline/live?known=${encodeURIComponent(this.known)}`;
    this.isAsking = true;
    try {
      const answer = document.visibilityState === "visible" ? await fetchJson(address) : null;
      if (this.stopped) return;
      if (answer && this.isUnreadable) this.readAgain();
      this.empty = answer && answer.facts ? 0 : this.empty + 1;
      if (answer && answer.facts) this.take(answer);
      if (this.stopped) return;
      this.tell();
    } catch (problem) {
      if (this.stopped) return;
      this.isUnreadable = true;
      this.say("cannot be read at the moment: " + problem.message);
    }
    this.isAsking = false;
    this.wait();
  }

  /* Something else could not be read: look at once how the trace stands. */
  askAgain() {
    if (this.stopped || this.isAsking) return;
    window.clearTimeout(this.timer);
    this.ask(true);
  }

  /* The file can be read again: what was said of it goes, and a tab that could not be filled is. */
  readAgain() {
    this.isUnreadable = false;
    notice("");
    this.tabs.grown();
  }

  take(answer) {
    if (answer.identity !== this.identity) {
      this.replace(answer.identity);
      return;
    }
    if (reportsOf(answer.facts) !== reportsOf(this.timeline.facts)) {
      redraw(); /* a report of the execution came: its links, its rows, its option */
      return;
    }
    if (answer.facts.lost !== this.timeline.facts.lost) {
      redraw(); /* the file was damaged: the page says what is lost */
      return;
    }
    this.known = answer.known;
    this.grown = performance.now();
    renew(this.timeline, answer.facts);
    this.tabs.grown();
  }

  /* Another recording has taken the place of this one: the page is built anew, with its whole window, and without
     what the address says of the old one. */
  replace(identity) {
    this.stop();
    this.timeline.suspend();
    replacing.add(identity);
    select(Object.fromEntries(OF_A_RECORDING.map((name) => [name, null])));
    redraw();
  }

  tell() {
    if (this.isUnreadable) return;
    const { facts } = this.timeline;
    const isQuiet = performance.now() - this.grown > QUIET;
    const state = !facts.recording
      ? "ended"
      : isQuiet
        ? "not written for " + QUIET / 1000 + " s (idle, or its program was killed)"
        : "live";
    const last = facts.events ? ", last at " + clock.stamp(facts.total, 1e9, BigInt(facts.begin)) + " UTC" : "";
    const events = facts.events.toLocaleString("en-US") + (facts.events === 1 ? " event" : " events");
    const spans = facts.moved.toLocaleString("en-US") + (facts.moved === 1 ? " span" : " spans");
    const moved = facts.moved ? ", " + spans + " moved by ends that came late" : "";
    const replaced = replacing.has(this.identity) ? "replaced by another recording: " : "";
    this.say(replaced + state + ", " + events + last + moved);
  }

  say(text) {
    const slot = toolbar.slot("live");
    if (!slot) return;
    if (slot.textContent !== text) slot.textContent = text;
    slot.classList.toggle("is-problem", this.isUnreadable);
  }
}

export { Live };
