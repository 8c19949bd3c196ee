// @ts-check
/* Highlight of a label: its events keep their colours and have an outline, all others recede. Strength and outline say
   it, not hue. They are asked for apart from the other events, so that one inside a merged block is seen. */
import { fetchJson } from "../shared/packed.js";
import { Flames } from "./flames.js";

class Light {
  /** @param {any} timeline */
  constructor(timeline) {
    this.timeline = timeline;
    this.name = ""; /* number of the label and its channel among the names of the trace; "" = none */
    /** @type {{name: number, label: string, channel: number} | null} */
    this.facts = null;
    this.flames = new Flames(timeline, this);
  }

  get isOn() {
    return this.name !== "";
  }

  get text() {
    return this.facts ? this.facts.label : "…";
  }

  /* The highlight of the address. A number that the trace does not have highlights nothing. */
  async read(text) {
    const name = /^\d{1,9}$/.test(text) ? text : "";
    if (name === this.name) return;
    this.name = name;
    this.facts = null;
    if (!name) return;
    try {
      const facts = await fetchJson(`/data/${this.timeline.facts.key}/timeline/label?name=${name}&time=0`);
      if (this.name === name) this.facts = facts;
    } catch (_) {
      if (this.name === name) this.name = "";
    }
    this.timeline.schedule();
  }

  /* Whether a block of calls merged by path has this label. */
  isOf(label, channel) {
    return this.facts !== null && this.facts.label === label && this.facts.channel === channel;
  }

  update(viewport, threads) {
    return !this.isOn || this.flames.update(viewport, threads);
  }

  draw(draw, row, top) {
    if (this.isOn) this.flames.draw(draw, row, top);
  }

  /* The event of the label at a point, which lies above the others. */
  hit(row, x, y) {
    return this.isOn ? this.flames.hit(row, x, y) : null;
  }
}

export { Light };
