// @ts-check
/* A trace that its program still writes: asks for what was added, hands it to the timeline, and says how it stands. */
const timelineLive = (() => {
  "use strict";
  const tl = popvision.timeline;
  const EVERY = 400,
    EVERY_ENDED = 4000,
    SOON = 100 /* the first answers without anything new: the server may only have rested */,
    MOST_SOON = 3 /* of them */,
    DRAWN = 50 /* until it looks again whether the last answer is drawn */,
    QUIET = 10000; /* ms */

  /* Move the window of a timeline from a trace with `before` facts to its new facts. One that reaches the end moves on
     with it, unless the switch is off; another recording is shown whole. */
  function moveOn(timeline, before, isOther) {
    const { viewport, facts, follows } = timeline;
    const { isFit, from, to, total } = viewport;
    const atEnd = total - to < (to - from) / 100;
    const shift = Number(BigInt(before.begin) - BigInt(facts.begin));
    viewport.total = Math.max(1, facts.total + 1);
    if (!viewport.width) return;
    if (isOther || (isFit && follows)) viewport.fit();
    else if (atEnd && follows) popvision.canvas.moveWindow(viewport, "End"); /* at the same zoom */
    else if (shift || viewport.pitch > viewport.fitPitch) viewport.show(from + shift, to + shift);
    if (isOther || !isFit || !follows) timeline.moved();
  }

  function renew(timeline, facts, isOther) {
    const before = timeline.facts;
    timeline.facts = facts;
    if (isOther) timeline.clear();
    moveOn(timeline, before, isOther);
    timeline.clock = timeline.clock === null ? null : BigInt(facts.begin);
    timeline.recolourChannels();
    timeline.charts = new Map();
    timeline.strip.readSeries();
    timeline.corner.counted = "";
    timeline.names.keepFocus(() => timeline.layout());
    if (!tl.slot("key")?.contains(document.activeElement)) tl.fillKey(timeline);
    timeline.schedule();
  }

  const reportsOf = (facts) => facts.files.flatMap((file) => file.devices.map((each) => each.report)).join(" ");

  class Live {
    constructor(timeline) {
      this.timeline = timeline;
      this.known = timeline.facts.live.known;
      this.identity = timeline.facts.live.identity;
      this.wasReplaced = false;
      this.stopped = false;
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
      try {
        const answer = document.visibilityState === "visible" ? await popvision.fetchJson(address) : null;
        if (this.stopped) return;
        this.empty = answer && answer.facts ? 0 : this.empty + 1;
        if (answer && answer.facts) this.take(answer);
        this.tell();
      } catch (problem) {
        if (!this.stopped) this.say("cannot be read at the moment: " + problem.message);
      }
      this.wait();
    }

    take(answer) {
      if (reportsOf(answer.facts) !== reportsOf(this.timeline.facts)) {
        popvision.redraw(); /* a report of the execution came: its links, its rows, its option */
        return;
      }
      const isOther = answer.identity !== this.identity;
      this.wasReplaced = this.wasReplaced || isOther;
      this.known = answer.known;
      this.identity = answer.identity;
      this.grown = performance.now();
      renew(this.timeline, answer.facts, isOther);
    }

    tell() {
      const { facts } = this.timeline;
      const isQuiet = performance.now() - this.grown > QUIET;
      const state = !facts.recording
        ? "ended"
        : isQuiet
          ? "not written for " + QUIET / 1000 + " s (idle, or its program was killed)"
          : "live";
      const last = facts.events ? ", last at " + tl.stamp(facts.total, 1e9, BigInt(facts.begin)) + " UTC" : "";
      const events = facts.events.toLocaleString("en-US") + (facts.events === 1 ? " event" : " events");
      this.say((this.wasReplaced ? "replaced by another recording: " : "") + state + ", " + events + last);
    }

    say(text) {
      const slot = tl.slot("live");
      if (slot && slot.textContent !== text) slot.textContent = text;
    }
  }

  return { Live };
})();
Object.assign(popvision.timeline, timelineLive);
