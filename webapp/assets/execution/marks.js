/* Marks on the time axis, kept in the URL as cycles: put with m, measured from to the pointer or the cursor. */
(function () {
  "use strict";
  const ex = ((window.popvision = window.popvision || {}).execution = window.popvision.execution || {});
  const MOST = 20;

  ex.readMarks = (text, total) =>
    (text || "")
      .split(",")
      .filter((each) => /^\d{1,15}$/.test(each))
      .map(Number)
      .filter((each) => each <= total)
      .slice(0, MOST);

  /* "Δ 1,234 cycles (0.93 µs)": both units, whichever the axis has. */
  ex.measureText = function (trace, from, to) {
    const cycles = Math.abs(Math.floor(to) - from);
    const time = trace.facts.clock ? " (" + ex.seconds(cycles / trace.facts.clock) + ")" : "";
    return "Δ " + ex.integer(cycles) + " cycles" + time;
  };

  const Marking = (Base) =>
    class extends Base {
      /* The cycle that marks and measures speak of: under the pointer, else of the cursor; null without both. */
      measuredAt() {
        const { pointer, viewport, view } = this;
        if (pointer && pointer.x >= ex.GUTTER && pointer.y >= view.overview)
          return Math.max(0, Math.min(this.facts.total, viewport.cycleAt(pointer.x - ex.GUTTER)));
        return this.cursor.facts ? this.cursor.facts.bar_begin : null;
      }

      /* Put a mark where the pointer, cursor or selection is; a mark within three pixels goes instead. */
      mark() {
        const place = this.measuredAt();
        const cycle = Math.floor(place !== null ? place : this.selected ? this.selected.bar_begin : this.viewport.from);
        const near = (mark) => Math.abs(this.viewport.x(mark) - this.viewport.x(cycle)) <= 3;
        this.setMarks(this.marks.some(near) ? this.marks.filter((mark) => !near(mark)) : this.marks.concat([cycle]));
      }

      setMarks(marks) {
        if (!this.isSource) return;
        const before = this.marks.length ? this.marks[this.marks.length - 1] : null,
          last = marks[marks.length - 1];
        this.spoken.textContent = !marks.length
          ? "no marks"
          : `mark ${marks.length} at cycle ${ex.integer(last)}` +
            (before === null || before === last
              ? ""
              : ", " + ex.measureText(this, before, last) + " after the one before");
        window.popvision.select({ marks: marks.join(",") || null });
      }
    };

  ex.Marking = Marking;
})();
