/* Steps whose name contains the text of the search box: their places, and which one is the current. */
(function () {
  "use strict";
  const ex = (window.popvision = window.popvision || {}).execution = (window.popvision.execution || {});

  class Search {
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
      this.steps = new Int32Array(0);
      this.begins = this.ends = new Float64Array(0);
    }

    /* Look for `text` on `ipu`; the same question is not asked twice. */
    async look(text, ipu) {
      const question = ipu + ":" + text;
      if (question === this.question) return;
      this.question = question;
      this.text = text;
      if (!text) {
        this.clear();
        this.tell();
        return;
      }
      try {
        const found = await ex.get(`/data/${this.facts.key}/execution/find?ipu=${ipu}&text=${encodeURIComponent(text)}`);
        if (question !== this.question) return;
        this.count = found.header.count;
        this.at = -1;
        this.steps = found.arrays.step;
        this.begins = found.arrays.begin;
        this.ends = found.arrays.end;
      } catch (problem) {
        ex.complain(problem);
      }
      this.tell();
    }

    tell() {
      const shown = this.steps.length;
      const cut = this.count > shown ? ` (first ${ex.integer(shown)})` : "";
      this.slot.textContent = !this.text ? "" : !this.count ? "no match" : this.at < 0 ? ex.integer(this.count) + " matches" + cut : `${ex.integer(this.at + 1)} of ${ex.integer(this.count)}${cut}`;
      this.changed();
    }

    /* The next (or previous) match after the current one, or after `from` when there is none; -1 without matches. */
    go(direction, from) {
      if (!this.steps.length) return -1;
      if (this.at >= 0) this.at = (this.at + direction + this.steps.length) % this.steps.length;
      else {
        let next = this.begins.findIndex((begin) => begin >= from);
        if (next < 0) next = 0;
        this.at = direction > 0 ? next : (next - 1 + this.steps.length) % this.steps.length;
      }
      this.tell();
      return this.steps[this.at];
    }

    /* One mark per pixel column of the visible window. */
    draw(draw, palette, viewport, left, top, height) {
      let before = -1;
      draw.fillStyle = palette.plain.accent;
      for (let row = this.firstVisible(viewport.from); row < this.begins.length && this.begins[row] <= viewport.to; row += 1) {
        const x = Math.round(viewport.x(this.begins[row])), end = Math.round(viewport.x(this.ends[row]));
        if (x === before && end - x < 2) continue;
        before = x;
        draw.fillRect(left + Math.max(0, x), top, Math.max(2, Math.min(end, viewport.width) - Math.max(0, x)), height);
      }
    }

    firstVisible(from) {
      let low = 0, high = this.ends.length;
      while (low < high) {
        const middle = (low + high) >> 1;
        if (this.ends[middle] < from) low = middle + 1;
        else high = middle;
      }
      return low;
    }
  }

  ex.Search = Search;
})();
