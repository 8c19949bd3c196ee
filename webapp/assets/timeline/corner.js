// @ts-check
/* Corner of the timeline: the number of events and the duration of the window, and what the drawing leaves out. */
const timelineCorner = (() => {
  "use strict";
  const tl = popvision.timeline;

  const KIND_NOTES = {
    paths: "merged by path: widths are times, places are not",
    callers: "by self time, below each its callers: widths are times, places are not",
  };

  class Corner {
    constructor(timeline) {
      this.timeline = timeline;
      this.box = document.createElement("div");
      this.box.className = "tl-corner";
      this.counted = "";
      this.counting = false;
    }

    /* Ask for the count of a new window; true when the corner shows the window. */
    update() {
      const { viewport, hidden, only, kind, facts } = this.timeline;
      const from = Math.max(0, Math.floor(viewport.from)),
        to = Math.ceil(viewport.to) + 1;
      const wanted = [from, to, hidden, only, kind, facts.events].join("-");
      if (this.counted === wanted) return true;
      if (!this.counting) this.ask(wanted, from, to);
      return false;
    }

    async ask(wanted, from, to) {
      this.counting = true;
      try {
        const { key } = this.timeline.facts;
        const answer = await popvision.fetchJson(`/data/${key}/timeline/count?from=${from}&to=${to}&width=1`);
        this.counted = wanted;
        this.show(answer.events, from, to);
      } catch (problem) {
        tl.complain(problem);
      }
      this.counting = false;
      this.timeline.schedule();
    }

    show(events, from, to) {
      const { viewport } = this.timeline;
      const lines = [
        "Events " + events.toLocaleString("en-US"),
        "Duration " + tl.length(Math.min(viewport.total - 1, to - 1) - from),
      ].map((text) => this.line(text, ""));
      this.box.replaceChildren(...lines, ...this.notes().map((text) => this.line(text, "tl-corner-note")));
    }

    line(text, name) {
      const element = document.createElement("div");
      element.textContent = text;
      if (name) element.className = name;
      return element;
    }

    notes() {
      const { hidden, only, kind, up, facts } = this.timeline;
      const notes = [];
      const channels = hidden ? hidden.split(",").length : 0;
      if (channels)
        notes.push(channels + (channels === 1 ? " channel" : " channels") + " hidden in the drawing, counted here");
      if (only) notes.push("only matches of the search are drawn; all events are counted");
      if (kind) notes.push(KIND_NOTES[kind].replace("below", up ? "above" : "below"));
      if (facts.recording) notes.push("file not closed: still recording, or its process was killed");
      return notes;
    }
  }

  return { Corner };
})();
Object.assign(popvision.timeline, timelineCorner);
