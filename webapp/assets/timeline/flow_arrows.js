// @ts-check
/* Flows of the selected event: an arrow from each event that leads to it and to each that it leads to, and the keys and
   buttons that follow them. */
import { closest } from "../shared/dom.js";
import { fetchJson } from "../shared/packed.js";
import { LANE, laneTop } from "./rows.js";
import { NAMES, eventKey, shown } from "./shown.js";

const HEAD = 6; /* pixels */

class Arrows {
  constructor(timeline) {
    this.timeline = timeline;
    this.of = ""; /* the event that `links` are of */
    this.links = [];
    this.asking = "";
  }

  /* Links of the selected event; true when they are here. */
  update() {
    const { chosen, facts } = this.timeline;
    const wanted = chosen && chosen.depth >= 0 ? eventKey(chosen) : "";
    if (wanted === this.of) return true;
    if (!wanted) {
      this.of = "";
      this.links = [];
      return true;
    }
    if (this.asking !== wanted) {
      this.asking = wanted;
      fetchJson(`/data/${facts.key}/timeline/flows?at=${wanted}`)
        .then((answer) => answer.links)
        .catch(() => [])
        .then((links) => {
          if (this.asking !== wanted) return;
          this.asking = "";
          this.of = wanted;
          this.links = links;
          this.timeline.host.dataset.flows = wanted;
          this.timeline.schedule();
        });
    }
    return false;
  }

  /* The middle of the lane of an event, in pixels from the top; null where its rows are folded away. */
  lane(event) {
    const { timeline } = this;
    const { place, top, scroll } = timeline;
    const holds = (row) => row.threads && row.threads.includes(event.thread);
    const pinned = place.pinned.find(holds);
    const row = pinned || place.rows.find(holds);
    if (!row) return null;
    const base = pinned ? top : top + place.pinnedHeight - scroll;
    const depth = row.open ? event.depth : 0;
    return base + row.top + laneTop(row, depth, timeline.up) + LANE / 2;
  }

  draw() {
    const { timeline } = this;
    const { chosen, draw, viewport, view, top } = timeline;
    if (!chosen || !this.links.length || eventKey(chosen) !== this.of) return;
    const own = this.lane(chosen);
    if (own === null) return;
    draw.save();
    draw.beginPath();
    draw.rect(NAMES, top, viewport.width, view.height - top);
    draw.clip();
    for (const link of this.links) {
      const y = this.lane(link);
      if (y === null) continue;
      const end = link.start + link.duration;
      const [from, to] = link.is_onwards ? [chosen.end, link.start] : [end, chosen.start];
      const [first, last] = link.is_onwards ? [own, y] : [y, own];
      /* Events that overlap are joined at their begins. */
      const begin = from > to ? (link.is_onwards ? chosen.start : link.start) : from;
      this.arrow(NAMES + viewport.x(begin), first, NAMES + viewport.x(to), last);
    }
    draw.restore();
  }

  arrow(x, y, toX, toY) {
    const { draw, palette } = this.timeline;
    const bend = Math.max(16, Math.min(80, Math.abs(toX - x) / 2));
    draw.beginPath();
    draw.moveTo(x, y);
    draw.bezierCurveTo(x + bend, y, toX - bend, toY, toX - HEAD, toY);
    /* A border tells the line from events of any colour. */
    draw.lineWidth = 5;
    draw.strokeStyle = palette.plain.surface;
    draw.stroke();
    draw.lineWidth = 2;
    draw.strokeStyle = draw.fillStyle = palette.plain.accent;
    draw.stroke();
    draw.beginPath();
    draw.moveTo(toX, toY);
    draw.lineTo(toX - HEAD - 2, toY - HEAD / 2 - 1);
    draw.lineTo(toX - HEAD - 2, toY + HEAD / 2 + 1);
    draw.fill();
  }

  /* Select the event that the first flow leads to, or back to the one it comes from. */
  follow(isOnwards) {
    const link = this.links.find((each) => each.is_onwards === isOnwards);
    if (link) this.timeline.revealMatch(link);
  }
}

document.addEventListener("click", (event) => {
  const button = closest(event, "[data-flow]");
  if (button && shown.current) shown.current.revealMatch(JSON.parse(button.dataset.flow || ""));
});

export { Arrows };
