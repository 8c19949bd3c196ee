// @ts-check
/* Rows of the timeline, from the file and from what is folded, pinned and merged: one list for the pinned part,
   one for the scrolled part. A row is {id, kind, title, depth, top, height, open, foldable, pinnable, ...}.

   kinds: file, group, process, thread (threads: indices drawn in it, lanes), graph, heatmap, activity, device-heading,
   device. */
import { DEVICE_HEIGHT } from "./device.js";

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

/* Lanes that a row of threads shows. */
const lanesOf = (row) => (row.open ? row.lanes : Math.min(1, row.lanes));

/* Pixels from the top of such a row to a lane; `up` draws the outermost call at the bottom. */
function laneTop(row, depth, up) {
  return (row.instants ? FLAGS : 0) + (up ? lanesOf(row) - 1 - depth : depth) * LANE;
}

/* Where calls are merged by path (`kind`), instants have no place, and threads in one row do not overlap. */
function processRows(process, id, { merge, kind }) {
  const threads = kind ? process.threads.map((thread) => ({ ...thread, instants: 0 })) : process.threads;
  if (merge) {
    const lanes = Math.max(0, ...threads.map((thread) => thread.lanes));
    const instants = threads.reduce((sum, thread) => sum + thread.instants, 0);
    return [
      threadRow(
        id + "-all",
        "All threads",
        threads.map((thread) => thread.index),
        lanes,
        instants,
        threads.length > 1 && !kind,
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

/* All rows in order, before folding: each file with its own. Ids of rows of the first file are the same without
   the others, so that folded and pinned rows stay so when a file is added. */
function allRows(facts, view, withDevice) {
  return facts.files.flatMap((file, number) =>
    fileRows(file, number ? "f" + number : "", view, withDevice ? deviceRows(file, number) : []),
  );
}

/* A heading for each report of the execution, and a row for each of its IPUs. */
function deviceRows(file, number) {
  const prefix = number ? "f" + number : "";
  return file.devices.flatMap(({ report, label, ipus, runs, about }, which) => {
    const id = prefix + "d" + which;
    const heading = {
      id,
      kind: "device-heading",
      title: "Device: " + label,
      detail: runs,
      about,
      depth: 1,
      foldable: true,
      under: [prefix + "file"],
    };
    const rows = Array.from({ length: ipus }, (_, ipu) => ({
      id: id + "i" + ipu,
      kind: "device",
      title: "IPU " + ipu,
      detail: "device clock, cycles",
      report,
      file: number,
      ipu,
      depth: 2,
      pinnable: true,
      under: [prefix + "file", id],
    }));
    return [heading].concat(/** @type {any[]} */ (rows));
  });
}

function fileRows(file, prefix, view, devices) {
  const top = prefix + "file";
  const heading = (id, kind, title) => ({ id, kind, title, depth: 1, foldable: true, under: [top] });
  /** @type {any[]} rows before folding, without places */
  const rows = [{ id: top, kind: "file", title: file.name, depth: 0, foldable: true, under: [] }];
  const chart = (kind, id, under, more) =>
    rows.push(Object.assign({ id, kind, depth: 2, foldable: true, pinnable: true, under: [top, under] }, more));
  if (file.heatmaps.length) rows.push(heading(prefix + "heatmaps", "group", "Heat maps"));
  for (const map of file.heatmaps)
    chart("heatmap", "h" + map.index, prefix + "heatmaps", {
      title: map.name,
      unit: map.unit,
      index: map.index,
      map,
    });
  if (file.activity)
    rows.push({
      id: prefix + "activity",
      kind: "activity",
      title: "IPU activity",
      detail: file.activity.runs.toLocaleString("en-US") + (file.activity.runs === 1 ? " run" : " runs"),
      index: file.activity.index,
      depth: 1,
      pinnable: true,
      under: [top],
    });
  for (const process of file.processes) {
    const id = prefix + "p" + process.pid;
    rows.push(Object.assign(heading(id, "process", "Process " + process.pid), { detail: process.name }));
    for (const row of processRows(process, id, view)) rows.push(Object.assign(row, { under: [top, id] }));
  }
  rows.push(...devices);
  if (file.graphs.length) rows.push(heading(prefix + "graphs", "group", "Line graphs"));
  file.graphs.forEach((graph, index) =>
    chart("graph", prefix + "g" + index, prefix + "graphs", { title: graph.name, unit: graph.unit, index, graph }),
  );
  return rows;
}

function heightOf(row) {
  if (row.kind === "thread") return (row.instants ? FLAGS : 0) + Math.max(1, row.open ? row.lanes : 1) * LANE + 6;
  if (row.kind === "graph") return row.open ? GRAPH : SPARK;
  if (row.kind === "heatmap") return row.open ? HEAT : SPARK;
  if (row.kind === "device") return DEVICE_HEIGHT;
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
    if (row.under.some((id) => folded.has(id))) continue;
    if (row.pinnable && pinned.includes(row.id)) continue;
    row.open = !folded.has(row.id);
    row.top = layout.height;
    row.height = heightOf(row);
    layout.rows.push(row);
    layout.height += row.height;
  }
  return layout;
}

export { allRows, place, lanesOf, laneTop, LANE, FLAGS, HEAD };
