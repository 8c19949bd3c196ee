// @ts-check
/* Column of names left of the drawing: folding triangles, titles, legends and pins. It is HTML, so that it can be
   read aloud, reached with Tab and selected. */

function element(kind, name, text) {
  const node = document.createElement(kind);
  if (name) node.className = name;
  if (text !== undefined) node.textContent = text;
  return node;
}

function button(name, title, act) {
  const node = element("button", name);
  node.type = "button";
  node.title = title;
  node.setAttribute("aria-label", title);
  node.addEventListener("click", act);
  return node;
}

/* The title of a row; that of a graph with its unit. */
const titleOf = (row) => row.title + (row.unit && row.kind === "graph" ? " (" + row.unit + ")" : "");

class Names {
  constructor(timeline) {
    this.timeline = timeline;
    this.box = element("div", "tl-names");
    this.pinned = element("div", "tl-names-pinned");
    this.view = element("div", "tl-names-view");
    this.rows = element("div", "tl-names-rows");
    this.view.append(this.rows);
    this.box.append(this.pinned, this.view);
  }

  build(place) {
    this.pinned.replaceChildren(...place.pinned.map((row) => this.row(row)));
    this.rows.replaceChildren(...place.rows.map((row) => this.row(row)));
  }

  /* Build the rows anew through `act`; the button that has the focus keeps it. */
  keepFocus(act) {
    const held = this.box.contains(document.activeElement) ? document.activeElement : null;
    const row = /** @type {HTMLElement | null} */ (held && held.closest(".tl-row"));
    act();
    if (!held || !row) return;
    const same = Array.from(this.box.querySelectorAll(".tl-row")).find(
      (each) =>
        each.dataset.row === row.dataset.row &&
        each.classList.contains("is-pinned") === row.classList.contains("is-pinned"),
    );
    const next = same && same.querySelector(held.classList.contains("tl-pin") ? ".tl-pin" : ".tl-fold");
    if (next) next.focus({ preventScroll: true });
  }

  place(top, pinnedHeight, height, scroll) {
    this.box.style.top = top + "px";
    this.box.style.height = height + "px";
    this.pinned.style.height = pinnedHeight + "px";
    this.rows.style.transform = "translateY(" + -scroll + "px)";
  }

  row(row) {
    const node = element("div", "tl-row tl-row-" + row.kind + (row.isPinned ? " is-pinned" : ""));
    node.style.top = row.top + "px";
    node.style.height = row.height + "px";
    node.style.paddingLeft = 6 + 12 * row.depth + "px";
    node.dataset.row = row.id;
    const head = element("div", "tl-row-head");
    if (row.foldable) {
      const fold = button("tl-fold" + (row.open ? " is-open" : ""), (row.open ? "Fold " : "Unfold ") + row.title, () =>
        this.timeline.toggleFold(row.id),
      );
      fold.setAttribute("aria-expanded", row.open ? "true" : "false");
      head.append(fold);
    } else head.append(element("span", "tl-fold-space"));
    const title = element("span", "tl-title", titleOf(row));
    title.title = row.title + (row.detail ? " " + row.detail : "") + (row.about ? "\n" + row.about : "");
    head.append(title);
    if (row.detail) head.append(Object.assign(element("span", "tl-detail", row.detail), { title: row.about || "" }));
    if (row.instants)
      head.append(
        Object.assign(element("span", "tl-flags", "⚑ ×" + row.instants.toLocaleString("en-US")), {
          title: row.instants + " instant events",
        }),
      );
    if (row.overlap)
      head.append(
        Object.assign(element("span", "tl-overlap", "!"), {
          title: "Several threads are drawn over each other: what overlaps hides what lies below",
        }),
      );
    if (row.pinnable) {
      const pin = button(
        "tl-pin" + (row.isPinned ? " is-on" : ""),
        (row.isPinned ? "Unpin " : "Pin ") + row.title,
        () => this.timeline.togglePin(row.id),
      );
      pin.setAttribute("aria-pressed", row.isPinned ? "true" : "false");
      head.append(pin);
    }
    node.append(head);
    if (row.open && row.kind === "graph") node.append(this.seriesLegend(row));
    if (row.open && row.kind === "heatmap") node.append(this.heatLegend(row), ...this.heatEdges(row));
    return node;
  }

  seriesLegend(row) {
    const box = element("div", "tl-legend");
    const graph = this.timeline.chartOf(row);
    row.graph.series.forEach((series, index) => {
      const line = element("div", "tl-legend-line");
      const dash = element("span", "tl-dash");
      dash.style.backgroundColor = graph.colour(index);
      line.append(dash, element("span", "", series.name));
      box.append(line);
    });
    return box;
  }

  /* Edges of the bins, at the side of the picture. */
  heatEdges(row) {
    return this.timeline
      .chartOf(row)
      .edgeMarks(row)
      .map(({ y, text }) => {
        const mark = element("span", "tl-heat-edge", text);
        mark.style.top = y + "px";
        return mark;
      });
  }

  heatLegend(row) {
    const box = element("div", "tl-heat");
    const scale = this.timeline.chartOf(row).scale();
    box.title = "Share of a column's values that fall in the bin, " + scale.name;
    const ramp = element("div", "tl-heat-ramp");
    for (const colour of this.timeline.chartOf(row).colours().slice(1).reverse()) {
      const cell = element("span");
      cell.style.backgroundColor = colour;
      ramp.append(cell);
    }
    const marks = element("div", "tl-heat-scale");
    for (const text of scale.marks) marks.append(element("span", "", text));
    box.append(ramp, marks);
    return box;
  }
}

export { Names, titleOf };
