// @ts-check
/* Steps whose name contains the text of the search box: their positions, and which of them is current. */
import { fetchPacked } from "../shared/packed.js";
import { complain, integer } from "./numbers.js";

class Search {
  /* `slot` shows the number of matches; null = nowhere. */
  constructor(facts, slot, changed) {
    this.facts = facts;
    this.slot = slot;
    this.changed = changed;
    this.text = "";
    this.clear();
  }

  clear() {
    this.count = 0;
    this.at = -1;
    this.steps = this.ipus = new Int32Array(0);
    this.begins = this.ends = new Float64Array(0);
  }

  /* Look for `text` on `ipus`; the same question is not asked twice. */
  async look(text, ipus) {
    const question = ipus.join() + ":" + text;
    if (question === this.question) return;
    this.question = question;
    this.text = text;
    if (!text) {
      this.clear();
      this.tell();
      return;
    }
    try {
      const answer = await fetchPacked(
        `/data/${this.facts.key}/execution/find?ipus=${ipus.join()}&text=${encodeURIComponent(text)}`,
      );
      if (question !== this.question) return;
      this.count = answer.header.count;
      this.at = -1;
      this.steps = answer.arrays.step;
      this.ipus = answer.arrays.ipu;
      this.begins = answer.arrays.begin;
      this.ends = answer.arrays.end;
      this.longest = this.ends.reduce((most, end, row) => Math.max(most, end - this.begins[row]), 0);
    } catch (problem) {
      complain(problem);
    }
    this.tell();
  }

  tell() {
    const shown = this.steps.length;
    const cut = this.count > shown ? ` (first ${integer(shown)})` : "";
    if (this.slot)
      this.slot.textContent = !this.text
        ? ""
        : !this.count
          ? "no match"
          : this.at < 0
            ? integer(this.count) + " matches in the run" + cut
            : `${integer(this.at + 1)} of ${integer(this.count)} in the run${cut}`;
    this.changed();
  }

  /* The next (or previous) match {step, ipu} after the current one; without one the first that ends after `from`;
     null without matches. */
  go(direction, from) {
    if (!this.steps.length) return null;
    if (this.at >= 0) this.at = (this.at + direction + this.steps.length) % this.steps.length;
    else {
      let next = this.ends.findIndex((end) => end > from); /* a match that reaches into the window is in it */
      if (next < 0) next = 0;
      this.at = direction > 0 ? next : (next - 1 + this.steps.length) % this.steps.length;
    }
    this.tell();
    return { step: this.steps[this.at], ipu: this.ipus[this.at] };
  }

  /* One mark per pixel column of the visible window in the band of one IPU. */
  draw(draw, palette, viewport, ipu, top, height) {
    let before = -1;
    draw.fillStyle = palette.plain.accent;
    for (
      let row = this.firstVisible(viewport.from);
      row < this.begins.length && this.begins[row] <= viewport.to;
      row += 1
    ) {
      if (this.ipus[row] !== ipu) continue;
      const x = Math.round(viewport.x(this.begins[row])),
        end = Math.round(viewport.x(this.ends[row]));
      if (x === before && end - x < 2) continue;
      before = x;
      draw.fillRect(Math.max(0, x), top, Math.max(2, Math.min(end, viewport.width) - Math.max(0, x)), height);
    }
  }

  /* Matches come by their begin; the longest says how far before the window one may begin and still reach it. */
  firstVisible(from) {
    let low = 0,
      high = this.begins.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.begins[middle] < from - this.longest) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}

export { Search };
