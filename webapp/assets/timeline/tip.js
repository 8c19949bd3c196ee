// @ts-check
/* The tooltip: what lies under the pointer. Text only ever enters as text. */
const timelineTip = (() => {
  "use strict";
  const tl = popvision.timeline;

  class Tip {
    constructor(timeline) {
      this.timeline = timeline;
      this.box = document.createElement("div");
      this.box.className = "tl-tip";
      this.box.hidden = true;
      this.known = new Map();
      this.wanted = "";
    }

    hide() {
      this.box.hidden = true;
      this.wanted = "";
    }

    show(x, y, head, colour, lines) {
      const { box } = this;
      box.replaceChildren();
      const title = document.createElement("div");
      title.className = "tl-tip-head";
      if (colour) title.append(this.swatch(colour));
      title.append(document.createTextNode(head));
      box.append(title);
      for (const [name, value, dash] of lines) {
        const row = document.createElement("div");
        row.className = "tl-tip-row";
        if (dash) row.append(this.swatch(dash));
        const left = document.createElement("span"),
          right = document.createElement("span");
        left.textContent = name;
        right.textContent = value;
        row.append(left, right);
        box.append(row);
      }
      box.hidden = false;
      const room = this.timeline.host.getBoundingClientRect();
      box.style.left = Math.max(4, x + 14 + box.offsetWidth > room.width ? x - box.offsetWidth - 10 : x + 14) + "px";
      box.style.top = Math.max(4, Math.min(room.height - box.offsetHeight - 4, y + 14)) + "px";
    }

    swatch(colour) {
      const made = document.createElement("span");
      made.className = "tl-swatch";
      made.style.backgroundColor = colour;
      return made;
    }

    event(x, y, hit) {
      const { facts, colours } = this.timeline;
      const channel = facts.channels[hit.channel];
      if (hit.count > 1) {
        const span = hit.end - hit.start;
        this.show(x, y, hit.count.toLocaleString("en-US") + " events", colours[hit.channel], [
          ["longest in", channel.name],
          ["span", tl.length(span)],
          ["busy", ((100 * hit.busy) / Math.max(1, span)).toFixed(1) + " %"],
          ["to see them", "zoom in"],
        ]);
        return;
      }
      const at = tl.eventKey(hit);
      const lines = [
        ["channel", channel.name],
        hit.depth < 0
          ? ["type", "instant"]
          : [
              "duration",
              hit.end - hit.start < 1000
                ? "< 1 µs (" + tl.length(hit.end - hit.start) + ")"
                : tl.length(hit.end - hit.start),
            ],
        ["at", tl.stamp(hit.start, 1000, this.timeline.clock)],
      ];
      const name = hit.label || this.known.get(at);
      this.show(x, y, name || "…", colours[hit.channel], lines);
      if (!name) this.ask(at, x, y, hit);
    }

    /* Names of narrow events are not sent with the blocks. */
    async ask(at, x, y, hit) {
      this.wanted = at;
      await new Promise((done) => window.setTimeout(done, 60));
      if (this.wanted !== at) return;
      try {
        const facts = await popvision.execution.getJson(`/data/${this.timeline.facts.key}/timeline/event?at=${at}`);
        this.known.set(at, facts.label);
      } catch (problem) {
        return tl.complain(problem);
      }
      if (this.wanted === at) this.event(x, y, hit);
      return undefined;
    }

    graph(x, y, row, ns) {
      const unit = row.unit ? " " + row.unit : "";
      const values = this.timeline.chartOf(row).at(ns);
      this.show(
        x,
        y,
        tl.stamp(ns, 1000, this.timeline.clock),
        null,
        values.map((each) => [each.name, Number.isNaN(each.value) ? "–" : tl.number(each.value) + unit, each.colour]),
      );
    }

    cell(x, y, row, ns, inside) {
      const cell = this.timeline.chartOf(row).at(ns, inside, row);
      if (!cell) return this.hide();
      return this.show(x, y, cell.range, null, [
        ["values", cell.quantity.toLocaleString("en-US") + " of " + cell.sum.toLocaleString("en-US")],
        ["share", cell.sum ? ((100 * cell.quantity) / cell.sum).toFixed(2) + " %" : "–"],
        ["at", tl.stamp(ns, 1000, this.timeline.clock)],
      ]);
    }
  }

  return { Tip };
})();
Object.assign(popvision.timeline, timelineTip);
