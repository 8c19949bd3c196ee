// @ts-check
/* Tooltip of the timeline. Names from the file enter the page as text only. */
import { CLASS_TEXT } from "../execution/palette.js";
import { placeTip, tipRow } from "../shared/canvas/pointer.js";
import { fetchJson } from "../shared/packed.js";
import * as charts from "./charts.js";
import * as timelineClock from "./clock.js";
import { complain } from "./complaints.js";
import { makeSwatch } from "./palette.js";
import { eventKey } from "./shown.js";

const MOST_KNOWN = 1000; /* events whose facts stay here */
const MOST_METADATA = 6; /* lines */
const MOST_LETTERS = 80;

/* Lines for metadata, which the Summary tab shows in full. */
function metadataLines(rows) {
  const cut = (text) => (text.length > MOST_LETTERS ? text.slice(0, MOST_LETTERS) + "…" : text);
  const lines = rows.slice(0, MOST_METADATA).map(([key, value]) => [cut(key), cut(value)]);
  const more = rows.length - lines.length;
  if (more > 0) lines.push(["metadata", more + " more in the Summary tab"]);
  return lines;
}

const counted = (number) => number.toLocaleString("en-US");

function runLines(facts, bar) {
  return [
    ["cycles", counted(facts.run_cycles) + ", drawn evenly over"],
    ["Engine::run", timelineClock.length(bar.end - bar.begin) + " of the host"],
    ["double click", "its execution trace"],
  ];
}

/* What the device does in a part of a copy. */
const PARTS = {
  StreamCopyBegin: "waits for",
  StreamCopyMid: "moves the bytes of",
  StreamCopyEnd: "waits for the end of",
};

function stepLines(facts, clock) {
  const share = ((100 * facts.cycles) / Math.max(1, facts.run_cycles)).toFixed(2);
  const lines = [
    ["cycles", counted(facts.cycles)],
    ["of its run", share + " % = " + counted(facts.cycles) + " / " + counted(facts.run_cycles)],
    ["from cycle", counted(facts.at) + " of " + facts.run],
  ];
  const part = PARTS[facts.type] || "copies";
  if (facts.host) {
    lines.push([part, "StreamCopy " + facts.stream + " of the host"]);
    lines.push([
      "host time",
      timelineClock.length(facts.host.duration) + " at " + timelineClock.stamp(facts.host.start, 1000, clock),
    ]);
  } else if (facts.stream) lines.push([part, facts.stream + "; its transfer is not in the trace"]);
  lines.push(["click", facts.host ? "the host's transfer" : "the Engine::run"], ["double click", "execution trace"]);
  return lines;
}

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

  show(point, head, swatch, lines) {
    const { box } = this;
    box.replaceChildren();
    const title = document.createElement("div");
    title.className = "tl-tip-head";
    if (swatch) title.append(swatch);
    title.append(document.createTextNode(head));
    box.append(title);
    for (const [name, value, dash] of lines) {
      const row = tipRow("tl-tip-row", name, value);
      if (dash) row.prepend(makeSwatch(dash, 0));
      box.append(row);
    }
    placeTip(box, this.timeline.host, point);
  }

  event(point, hit) {
    const { facts, colours } = this.timeline;
    const channel = facts.channels[hit.channel];
    const swatch = makeSwatch(colours[hit.channel], channel.pattern);
    if (hit.count > 1) {
      const span = hit.end - hit.start;
      this.show(point, hit.count.toLocaleString("en-US") + " events", swatch, [
        ["longest in", channel.name],
        ["span", timelineClock.length(span)],
        ["busy", ((100 * hit.busy) / Math.max(1, span)).toFixed(1) + " %"],
        ["to see them", "zoom in"],
      ]);
      return;
    }
    const at = eventKey(hit);
    const lines = [
      ["channel", channel.name],
      hit.depth < 0
        ? ["type", "instant"]
        : [
            "duration",
            hit.end - hit.start < 1000
              ? "< 1 µs (" + timelineClock.length(hit.end - hit.start) + ")"
              : timelineClock.length(hit.end - hit.start),
          ],
      ["at", timelineClock.stamp(hit.start, 1000, this.timeline.clock)],
    ];
    const known = this.known.get(at);
    if (known) lines.push(...metadataLines(known.metadata));
    this.show(point, (known && known.label) || hit.label || "…", swatch, lines);
    if (!known) this.ask(at, point, hit);
  }

  /* Metadata, and the names of narrow events, are not sent with the blocks. */
  async ask(at, point, hit) {
    this.wanted = at;
    await new Promise((done) => window.setTimeout(done, 60));
    if (this.wanted !== at) return;
    try {
      const facts = await fetchJson(`/data/${this.timeline.facts.key}/timeline/event?at=${at}`);
      if (this.known.size >= MOST_KNOWN) this.known.clear();
      this.known.set(at, facts);
    } catch (problem) {
      complain(problem);
      return;
    }
    if (this.wanted === at) this.event(point, hit);
  }

  /* Calls merged by path; shares are of the row's time in the window. */
  path(point, path) {
    const { facts, colours } = this.timeline;
    const channel = facts.channels[path.channel];
    const share = (time) => ((100 * time) / Math.max(1, path.whole)).toFixed(1) + " %";
    const isInverted = this.timeline.kind === "callers";
    const lines = [
      ["channel", channel.name],
      ...(facts.isSampled ? [] : [["events", counted(path.count)]]),
      [isInverted ? "self time while called so" : "total", timelineClock.length(path.total)],
      ["of the row's calls", share(path.total) + " of " + timelineClock.length(path.whole)],
    ];
    if (!isInverted) lines.push(["self", timelineClock.length(path.self) + " = " + share(path.self)]);
    if (path.scaled) lines.push(["width", "of all threads' time, more than the window"]);
    lines.push(["click", "its longest event"], ["double click", "that event in the timeline"]);
    this.show(point, path.label, makeSwatch(colours[path.channel], channel.pattern), lines);
  }

  graph(point, row, ns) {
    const unit = row.unit ? " " + row.unit : "";
    const values = this.timeline.chartOf(row).at(ns);
    this.show(
      point,
      timelineClock.stamp(ns, 1000, this.timeline.clock),
      null,
      values.map((each) => [each.name, Number.isNaN(each.value) ? "–" : charts.number(each.value) + unit, each.colour]),
    );
  }

  activity(point, row, ns) {
    const span = this.timeline.chartOf(row).at(ns);
    if (!span) {
      this.hide();
      return;
    }
    this.show(point, "IPUs ran", null, [
      ["span", timelineClock.length(span.end - span.start)],
      ["busy", ((100 * span.busy) / Math.max(1, span.end - span.start)).toFixed(1) + " %"],
      ["from", timelineClock.stamp(span.start, 1000, this.timeline.clock)],
      ["that is", "poplar::core::Engine::run on any thread"],
    ]);
  }

  /* A bar of the device: cycles are of its own clock, its place over the host's time is the run's. */
  step(point, row, bar) {
    const at = row.id + ":" + bar.level + ":" + bar.first + ":" + Boolean(bar.cell);
    const facts = this.known.get(at);
    const lines = [["clock", "IPU " + row.ipu + ", cycles; not added to host time"]];
    if (bar.cell) {
      lines.push(["to see them", "zoom in"]);
      bar.shares.forEach((share, index) => {
        if (share) lines.push([CLASS_TEXT[index], (100 * share).toFixed(0) + " % of the pixel"]);
      });
      const count = bar.count.toLocaleString("en-US");
      this.wanted = "";
      this.show(point, count + (bar.count === 1 ? " short step" : " short steps"), null, lines);
      return;
    }
    if (facts) lines.push(...(bar.level === 0 ? runLines(facts, bar) : stepLines(facts, this.timeline.clock)));
    const swatch = document.createElement("span");
    swatch.className = "tl-swatch step-" + bar.family;
    const title = facts ? (bar.level === 0 ? facts.run : facts.name) : bar.name;
    this.show(point, title || "…", swatch, lines);
    if (!facts) this.askStep(at, point, row, bar);
  }

  async askStep(at, point, row, bar) {
    this.wanted = at;
    await new Promise((done) => window.setTimeout(done, 60));
    if (this.wanted !== at) return;
    try {
      const facts = await this.timeline.chartOf(row).facts(bar);
      if (this.known.size >= MOST_KNOWN) this.known.clear();
      this.known.set(at, facts);
    } catch (problem) {
      complain(problem);
      return;
    }
    if (this.wanted === at) this.step(point, row, bar);
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
      ["at", timelineClock.stamp(ns, 1000, this.timeline.clock)],
    ]);
  }
}

export { Tip };
