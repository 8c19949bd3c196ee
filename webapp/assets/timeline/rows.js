// @ts-check
/* Rows of the timeline, from the file and from what is folded, pinned and merged: one list for the pinned part,
   one for the scrolled part. A row is {id, kind, title, depth, top, height, open, foldable, pinnable, ...}.

   kinds: file, group, process, thread (threads: indices drawn in it, lanes), graph, heatmap. */
const timelineRows = (() => {
  "use strict";
  const LANE = 18,
    HEAD = 22,
    FLAGS = 16,
    GRAPH = 110,
    SPARK = 26,
    HEAT = 190;

  function threadRow(id, title, threads, lanes, instants, overlap) {
    return {
      id,
      kind: "thread",
      title,
      depth: 2,
      threads,
      lanes,
      instants,
      overlap,
      foldable: lanes > 1,
      pinnable: true,
    };
  }

  function processRows(process, merge) {
    const threads = process.threads;
    if (merge) {
      const lanes = Math.max(0, ...threads.map((thread) => thread.lanes));
      const instants = threads.reduce((sum, thread) => sum + thread.instants, 0);
      return [
        threadRow(
          "p" + process.pid + "-all",
          "All threads",
          threads.map((thread) => thread.index),
          lanes,
          instants,
          threads.length > 1,
        ),
      ];
    }
    return threads.map((thread) =>
      Object.assign(
        threadRow("t" + thread.index, thread.name || "Thread", [thread.index], thread.lanes, thread.instants, false),
        { detail: String(thread.tid) },
      ),
    );
  }

  /* All rows in order, before folding. */
  function allRows(facts, merge) {
    const rows = [{ id: "file", kind: "file", title: facts.file, depth: 0, foldable: true }];
    if (facts.heatmaps.length)
      rows.push({ id: "heatmaps", kind: "group", title: "Heat maps", depth: 1, foldable: true });
    facts.heatmaps.forEach((map, index) =>
      rows.push({
        id: "h" + index,
        kind: "heatmap",
        title: map.name,
        unit: map.unit,
        depth: 2,
        index,
        map,
        foldable: true,
        pinnable: true,
        under: "heatmaps",
      }),
    );
    for (const process of facts.processes) {
      const id = "p" + process.pid;
      rows.push({
        id,
        kind: "process",
        title: "Process " + process.pid,
        detail: process.name,
        depth: 1,
        foldable: true,
      });
      for (const row of processRows(process, merge)) rows.push(Object.assign(row, { under: id }));
    }
    if (facts.graphs.length) rows.push({ id: "graphs", kind: "group", title: "Line graphs", depth: 1, foldable: true });
    facts.graphs.forEach((graph, index) =>
      rows.push({
        id: "g" + index,
        kind: "graph",
        title: graph.name,
        unit: graph.unit,
        depth: 2,
        index,
        graph,
        foldable: true,
        pinnable: true,
        under: "graphs",
      }),
    );
    return rows;
  }

  function heightOf(row) {
    if (row.kind === "thread") return (row.instants ? FLAGS : 0) + Math.max(1, row.open ? row.lanes : 1) * LANE + 6;
    if (row.kind === "graph") return row.open ? GRAPH : SPARK;
    if (row.kind === "heatmap") return row.open ? HEAT : SPARK;
    return HEAD;
  }

  /* Visible rows with their places: {pinned: [...], rows: [...], pinnedHeight, height}. */
  function place(all, folded, pinned) {
    /** @type {RowLayout} */
    const layout = { pinned: [], rows: [], pinnedHeight: 0, height: 0 };
    for (const id of pinned) {
      const row = all.find((each) => each.id === id && each.pinnable);
      if (!row) continue;
      if (!layout.pinned.length) {
        layout.pinned.push({
          id: "pinned",
          kind: "group",
          title: "Pinned",
          depth: 0,
          top: 0,
          height: HEAD,
          open: true,
        });
        layout.pinnedHeight = HEAD;
      }
      const copy = Object.assign({}, row, { depth: 1, isPinned: true, open: !folded.has(row.id) });
      copy.top = layout.pinnedHeight;
      copy.height = heightOf(copy);
      layout.pinned.push(copy);
      layout.pinnedHeight += copy.height;
    }
    for (const row of all) {
      if (row.id !== "file" && folded.has("file")) continue;
      if (row.under && folded.has(row.under)) continue;
      if (pinned.includes(row.id)) continue;
      row.open = !folded.has(row.id);
      row.top = layout.height;
      row.height = heightOf(row);
      layout.rows.push(row);
      layout.height += row.height;
    }
    return layout;
  }

  return { allRows, place, LANE, FLAGS, HEAD };
})();
Object.assign(popvision.timeline, timelineRows);
