// @ts-check
/* Corner of the timeline: the number of events and the duration of the window, and what the drawing leaves out. */
import { fetchJson, retryPause } from "../shared/packed.js";
import * as clock from "./clock.js";
import { failed } from "./complaints.js";

const KIND_NOTES = {
  paths: "widths are times, places are not",
  callers: "callers below; widths are times, places are not",
};

const MOST_LETTERS = 48;
const cut = (text) => (text.length > MOST_LETTERS ? text.slice(0, MOST_LETTERS - 1) + "…" : text);

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
    const { viewport, hidden, only, kind, facts, light } = this.timeline;
    const from = Math.max(0, Math.floor(viewport.from)),
      to = Math.ceil(viewport.to) + 1;
    const wanted = [from, to, hidden, only, kind, facts.events, light.name, light.facts !== null].join("-");
    if (this.counted === wanted) return true;
    if (!this.counting) this.ask(wanted, from, to);
    return false;
  }

  async ask(wanted, from, to) {
    this.counting = true;
    try {
      const { key } = this.timeline.facts;
      const answer = await fetchJson(`/data/${key}/timeline/count?from=${from}&to=${to}&width=1`);
      this.counted = wanted;
      this.show(answer.events);
    } catch (problem) {
      failed(problem);
      await retryPause();
    }
    this.counting = false;
    this.timeline.schedule();
  }

  show(events) {
    const { viewport } = this.timeline;
    const length = Math.min(viewport.total - 1, Math.round(viewport.to)) - Math.max(0, Math.round(viewport.from));
    const figures = this.line("", "tl-corner-figures");
    figures.append(
      this.line("Events " + events.toLocaleString("en-US"), ""),
      this.line("Duration " + clock.length(length), ""),
    );
    const said = this.notes();
    const notes = this.line("", "tl-corner-notes");
    notes.append(...said.map((text) => this.line(text, "tl-corner-note")));
    notes.title = said.join(". ");
    this.box.replaceChildren(figures, ...(said.length ? [notes] : []));
  }

  line(text, name) {
    const element = document.createElement("div");
    element.textContent = text;
    if (name) element.className = name;
    return element;
  }

  notes() {
    const { hidden, only, kind, up, facts, light } = this.timeline;
    const notes = [];
    if (light.isOn) notes.push("highlighted: " + cut(light.text) + " (Esc: none)");
    const channels = hidden ? hidden.split(",").length : 0;
    if (channels) notes.push(channels + (channels === 1 ? " channel" : " channels") + " not drawn, but counted");
    if (only) notes.push("only matches are drawn, all events counted");
    if (kind) notes.push(KIND_NOTES[kind].replace("below", up ? "above" : "below"));
    if (facts.recording) notes.push("file not closed: still recording, or its process was killed");
    return notes;
  }
}

export { Corner };
