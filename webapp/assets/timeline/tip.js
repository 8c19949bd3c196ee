// @ts-check
/* Tooltip of the timeline. Names from the file enter the page as text only. */
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

    show(point, head, colour, lines) {
      const { box } = this;
      box.replaceChildren();
      const title = document.createElement("div");
      title.className = "tl-tip-head";
      if (colour) title.append(this.swatch(colour));
      title.append(document.createTextNode(head));
      box.append(title);
      for (const [name, value, dash] of lines) {
        const row = popvision.canvas.tipRow("tl-tip-row", name, value);
        if (dash) row.prepend(this.swatch(dash));
        box.append(row);
      }
      popvision.canvas.placeTip(box, this.timeline.host, point);
    }

    swatch(colour) {
      const swatch = document.createElement("span");
      swatch.className = "tl-swatch";
      swatch.style.backgroundColor = colour;
      return swatch;
    }

    event(point, hit) {
      const { facts, colours } = this.timeline;
      const channel = facts.channels[hit.channel];
      if (hit.count > 1) {
        const span = hit.end - hit.start;
        this.show(point, hit.count.toLocaleString("en-US") + " events", colours[hit.channel], [
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
      this.show(point, name || "…", colours[hit.channel], lines);
      if (!name) this.ask(at, point, hit);
    }

    /* Names of narrow events are not sent with the blocks. */
    async ask(at, point, hit) {
      this.wanted = at;
      await new Promise((done) => window.setTimeout(done, 60));
      if (this.wanted !== at) return;
      try {
        const facts = await popvision.fetchJson(`/data/${this.timeline.facts.key}/timeline/event?at=${at}`);
        this.known.set(at, facts.label);
      } catch (problem) {
        tl.complain(problem);
        return;
      }
      if (this.wanted === at) this.event(point, hit);
    }

    graph(point, row, ns) {
      const unit = row.unit ? " " + row.unit : "";
      const values = this.timeline.chartOf(row).at(ns);
      this.show(
        point,
        tl.stamp(ns, 1000, this.timeline.clock),
        null,
        values.map((each) => [each.name, Number.isNaN(each.value) ? "–" : tl.number(each.value) + unit, each.colour]),
      );
    }

    cell(point, row, ns, inside) {
      const cell = this.timeline.chartOf(row).at(ns, inside, row);
      if (!cell) {
        this.hide();
        return;
      }
      this.show(point, cell.range, null, [
        ["values", cell.quantity.toLocaleString("en-US") + " of " + cell.sum.toLocaleString("en-US")],
        ["share", cell.sum ? ((100 * cell.quantity) / cell.sum).toFixed(2) + " %" : "–"],
        ["at", tl.stamp(ns, 1000, this.timeline.clock)],
      ]);
    }
  }

  return { Tip };
})();
Object.assign(popvision.timeline, timelineTip);
