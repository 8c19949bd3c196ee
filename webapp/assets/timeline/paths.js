// @ts-check
/* Thread rows whose calls are merged by path: the types "Aggregated" and "Bottom-up" of the flame graph. A block is as
   wide as its time in the window, on the scale of the axis; its place says nothing about when. While the window moves,
   the last answer is drawn. */
const timelinePaths = (() => {
  "use strict";
  const tl = popvision.timeline;
  const PATTERNED = 4; /* pixels: below, a pattern does not show */
  const LABEL = 24; /* pixels of a block with a label */

  class Paths {
    constructor(timeline) {
      this.timeline = timeline;
      /** @type {any} */
      this.data = null;
      this.busy = false;
      /** @type {Map<string, {from: number, to: number, facts: any}>} blocks of each row, by its threads */
      this.rows = new Map();
    }

    /* What an answer belongs to. */
    question(viewport) {
      const { kind, only } = this.timeline;
      return [kind, only, viewport.pitch, viewport.first, viewport.width].join(" ");
    }

    /* Fetch what is missing; true when everything visible is here. `rows` are lists of threads. */
    update(viewport, rows) {
      if (!rows.length) return true;
      const { data } = this;
      const wanted = rows.map((threads) => threads.join(","));
      const covered =
        data !== null &&
        data.facts === this.timeline.facts &&
        data.question === this.question(viewport) &&
        wanted.every((row) => this.rows.has(row));
      if (!covered && !this.busy) this.request(viewport, wanted);
      return covered;
    }

    async request(viewport, wanted) {
      const { facts, kind, only } = this.timeline;
      const question = this.question(viewport);
      const from = Math.max(0, Math.floor(viewport.from)),
        to = Math.ceil(viewport.to) + (viewport.isFit ? 1 : 0);
      const query = { from, to: Math.max(to, from + 1), width: Math.round(viewport.width), kind, only };
      this.busy = true;
      try {
        const rows = wanted.join(";");
        const answer = await popvision.fetchPacked(`/data/${facts.key}/timeline/paths`, { ...query, rows });
        this.data = Object.assign(answer, { facts, question, kind });
        this.rows = new Map();
        let at = 0;
        answer.header.rows.forEach((row, index) => {
          this.rows.set(wanted[index], { from: at, to: at + row.blocks, facts: row });
          at += row.blocks;
        });
      } catch (problem) {
        tl.complain(problem);
        await popvision.retryPause();
      }
      this.busy = false;
      this.timeline.schedule();
    }

    /* The range of blocks of a row, null before its answer. */
    of(row) {
      const isOfKind = this.data && this.data.kind === this.timeline.kind;
      return (isOfKind && this.rows.get(row.threads.join(","))) || null;
    }

    draw(draw, row, top) {
      const { viewport, palette, colours, hiddenSet, only, light } = this.timeline;
      draw.fillStyle = palette.plain.surface; /* the lines of the time axis say nothing here */
      draw.fillRect(0, top - 3, viewport.width, row.height - 1);
      const range = this.of(row);
      if (!range) return;
      const { left, wide, depth, channel, label, matched } = this.data.arrays;
      const lanes = tl.lanesOf(row);
      for (let index = range.from; index < range.to; index += 1) {
        if (depth[index] >= lanes || hiddenSet.has(channel[index]) || (only && !matched[index])) continue;
        const x = left[index] * viewport.width,
          room = wide[index] * viewport.width;
        const width = Math.max(1, room > 3 ? room - 1 : room);
        const y = top + tl.laneTop(row, depth[index], this.timeline.up);
        const name = this.data.header.labels[label[index]];
        const isFaint = light.isOn && !light.isOf(name, channel[index]);
        draw.globalAlpha = isFaint ? tl.RECEDED : 1;
        draw.fillStyle = colours[channel[index]];
        draw.fillRect(x, y, width, tl.LANE - 1);
        const pattern = room >= PATTERNED ? this.timeline.patterns[channel[index]] : null;
        if (pattern) {
          draw.fillStyle = pattern;
          draw.fillRect(x, y, width, tl.LANE - 1);
        }
        if (light.isOn && !isFaint) tl.Light.outline(draw, palette, x, y, width, tl.LANE - 1);
        draw.globalAlpha = 1;
        if (room > LABEL) tl.drawLabel(this.timeline, name, channel[index], x, room, y, isFaint);
        if (this.isChosen(index)) this.outline(draw, x, y, width);
      }
    }

    isChosen(index) {
      const { chosen } = this.timeline;
      const { thread, longest_depth, position } = this.data.arrays;
      return (
        chosen !== null &&
        chosen.thread === thread[index] &&
        chosen.depth === longest_depth[index] &&
        chosen.position === position[index]
      );
    }

    outline(draw, x, y, width) {
      draw.strokeStyle = this.timeline.palette.plain.accent;
      draw.lineWidth = 2;
      draw.strokeRect(Math.round(x), y, Math.max(2, Math.round(width) - 1), tl.LANE - 1);
      draw.lineWidth = 1;
    }

    /* The block of a row at pixel (x, y below the row's top): an object or null. */
    hit(row, x, y) {
      const range = this.of(row);
      if (!range) return null;
      const { viewport, hiddenSet, only, up } = this.timeline;
      const a = this.data.arrays;
      const lanes = tl.lanesOf(row);
      for (let index = range.from; index < range.to; index += 1) {
        if (a.depth[index] >= lanes || hiddenSet.has(a.channel[index]) || (only && !a.matched[index])) continue;
        const at = y - tl.laneTop(row, a.depth[index], up);
        if (at < 0 || at >= tl.LANE) continue;
        const from = a.left[index] * viewport.width;
        if (x >= from - 1 && x <= from + Math.max(1, a.wide[index] * viewport.width)) return this.facts(range, index);
      }
      return null;
    }

    facts({ facts }, index) {
      const a = this.data.arrays;
      return {
        label: this.data.header.labels[a.label[index]],
        channel: a.channel[index],
        count: a.events[index],
        total: a.total[index],
        self: a.self[index],
        whole: facts.total,
        scaled: facts.whole > this.data.header.window,
        longest: a.thread[index] + "." + a.longest_depth[index] + "." + a.position[index],
      };
    }
  }

  return { Paths };
})();
Object.assign(popvision.timeline, timelinePaths);
