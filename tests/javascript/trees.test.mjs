/* Rows of the program tree, the Source view and the host timeline: which are visible, in which order, and where. */
import assert from "node:assert/strict";
import { test } from "node:test";
import "./page.mjs";

const { NONE, TreeRows } = await import("../../webapp/assets/programs/rows.js");
const { TreeSearch } = await import("../../webapp/assets/programs/search.js");
const { LineOrder } = await import("../../webapp/assets/source_code/line_order.js");
const rows = await import("../../webapp/assets/timeline/rows.js");

/** The bytes of webapp/graph_analyser/programs/routes.py: number of rows, programs (source, target), depths, types. */
function treeOf(depths, others = null, programs = depths.map((_, row) => row)) {
  const n = depths.length;
  const bytes = new ArrayBuffer(4 + 4 * n * (others ? 2 : 1) + 3 * n);
  new Uint32Array(bytes, 0, 1)[0] = n;
  new Uint32Array(bytes, 4, n).set(programs);
  if (others) new Uint32Array(bytes, 4 + 4 * n, n).set(others);
  new Uint16Array(bytes, 4 + 4 * n * (others ? 2 : 1), n).set(depths);
  return new TreeRows(bytes, others !== null);
}

/** The visible rows, one after the other: those without a closed ancestor. */
function shownSlowly(tree) {
  const isHidden = (row) => {
    for (let up = tree.parentOf(row); up >= 0; up = tree.parentOf(up)) if (tree.isClosed(up)) return true;
    return false;
  };
  return Array.from({ length: tree.n }, (_, row) => row).filter((row) => !isHidden(row));
}

//       0
//    1     4
//   2 3   5
//         6
const DEPTHS = [0, 1, 2, 2, 1, 2, 3];

test("subtrees, parents and rows of programs", () => {
  const tree = treeOf(DEPTHS);
  assert.deepEqual(Array.from(tree.size), [7, 3, 1, 1, 3, 2, 1]);
  assert.deepEqual(
    DEPTHS.map((_, row) => tree.parentOf(row)),
    [-1, 0, 1, 1, 0, 4, 5],
  );
  assert.equal(tree.rowOf(5), 5);
  assert.equal(tree.rowOf(9), -1);
});

test("closed rows hide what lies below them", () => {
  const tree = treeOf(DEPTHS);
  assert.deepEqual(Array.from(tree.shown()), [0, 1, 2, 3, 4, 5, 6]);
  assert.ok(tree.setClosed(4, true));
  assert.deepEqual(Array.from(tree.shown()), [0, 1, 2, 3, 4]);
  assert.ok(!tree.setClosed(4, true));
  assert.ok(!tree.setClosed(2, true), "a leaf does not close");
  assert.ok(tree.openAbove(6));
  assert.deepEqual(Array.from(tree.shown()), [0, 1, 2, 3, 4, 5, 6]);
});

test("folding to a depth, and what differs from it, stand in the address", () => {
  const tree = treeOf(DEPTHS);
  tree.foldTo(1);
  assert.deepEqual(Array.from(tree.shown()), [0, 1, 4]);
  tree.setClosed(4, false);
  assert.deepEqual(Array.from(tree.shown()), [0, 1, 4, 5]);
  assert.equal(tree.write(), "1.4");
  const again = treeOf(DEPTHS);
  again.read("1.4");
  assert.deepEqual(Array.from(again.shown()), [0, 1, 4, 5]);
  again.read("a.1.2.99");
  assert.deepEqual([again.write(), Array.from(again.shown())], ["a.1", [0, 1, 4, 5, 6]]);
});

test("a text that is no fold opens a small tree, and a large one as far as 400 rows", () => {
  const small = treeOf(DEPTHS);
  small.foldTo(0);
  for (const text of [undefined, "", "b", "1.x", "-1"]) {
    small.read(text);
    assert.equal(small.shown().length, 7);
  }
  const depths = [0];
  for (let group = 0; group < 100; group += 1) depths.push(1, 2, 2, 3, 3, 3);
  const large = treeOf(depths);
  large.read("");
  assert.deepEqual([large.base, large.shown().length], [2, 301]);
});

test("more folds than an address holds are not written", () => {
  const depths = [0];
  for (let group = 0; group < 60; group += 1) depths.push(1, 2);
  const tree = treeOf(depths);
  tree.read("a");
  for (let row = 1; row < 81; row += 2) tree.setClosed(row, true);
  assert.equal(tree.write().split(".").length, 41);
  tree.setClosed(81, true);
  assert.equal(tree.write(), null);
});

test("visible rows of random trees are those without a closed ancestor", () => {
  let seed = 3;
  const random = () => (seed = (seed * 48271) % 2147483647) / 2147483647;
  for (let count = 0; count < 100; count += 1) {
    const depths = [0];
    while (depths.length < 60) depths.push(1 + Math.floor((depths.at(-1) + 1) * random()));
    const tree = treeOf(depths);
    tree.foldTo(Math.floor(6 * random()));
    for (let fold = 0; fold < 10; fold += 1) tree.setClosed(Math.floor(60 * random()), random() < 0.5);
    assert.deepEqual(Array.from(tree.shown()), shownSlowly(tree));
    const row = Math.floor(60 * random());
    tree.openAbove(row);
    assert.ok(tree.shown().includes(row));
  }
});

test("rows of a comparison say on which side they are", () => {
  const tree = treeOf([0, 1, 1], [7, NONE, 8], [3, 4, NONE]);
  assert.deepEqual(
    [0, 1, 2].map((row) => tree.side(row)),
    [0, 1, 2],
  );
  assert.deepEqual(
    [0, 1, 2].map((row) => tree.key(row)),
    ["3-7", "4-", "-8"],
  );
  assert.deepEqual([treeOf([0]).side(0), treeOf([0]).key(0)], [0, "0-"]);
});

test("the search goes round its matches, from any row", () => {
  const search = new TreeSearch(null);
  search.set("conv", Uint32Array.of(2, 5, 9));
  assert.deepEqual(
    [2, 5, 9, 3, 10].map((row) => search.has(row)),
    [true, true, true, false, false],
  );
  assert.deepEqual(
    [0, 5, 6, 9].map((row) => search.next(row, 1)),
    [2, 9, 9, 2],
  );
  assert.deepEqual(
    [0, 5, 6, 10].map((row) => search.next(row, 0)),
    [2, 5, 9, 2],
  );
  assert.deepEqual(
    [0, 5, 6, 10].map((row) => search.next(row, -1)),
    [9, 2, 5, 9],
  );
  search.set("nothing", new Uint32Array(0));
  assert.equal(search.next(3, 1), -1);
});

test("the search says which match the cursor is on", () => {
  const status = { textContent: "" };
  const search = new TreeSearch(status);
  const said = (text, found, row) => {
    search.set(text, Uint32Array.from(found));
    search.say(row);
    return status.textContent;
  };
  assert.equal(said("", [], 0), "");
  assert.equal(said("x", [], 0), "no match");
  assert.equal(said("x", [4], 0), "1 match");
  assert.equal(said("x", [4, 8], 8), "2 of 2");
  const many = Array.from({ length: 1234 }, (_, at) => 2 * at);
  assert.equal(said("x", many, 1), "1,234 matches");
  assert.equal(said("x", many, 2000), "1,001 of 1,234");
});

test("lines in the order of the file, or by a value; lines without one stand last", () => {
  const file = new LineOrder();
  assert.deepEqual([file.rowAt(3), file.placeOf(3)], [3, 3]);
  const values = [5, null, 7, 5, null, 1];
  const orderOf = (order) => values.map((_, place) => order.rowAt(place));
  const rising = new LineOrder(values);
  assert.deepEqual(orderOf(rising), [5, 0, 3, 2, 1, 4]);
  const falling = new LineOrder(values, -1);
  assert.deepEqual(orderOf(falling), [2, 0, 3, 5, 1, 4]);
  for (const order of [rising, falling]) values.forEach((_, row) => assert.equal(order.rowAt(order.placeOf(row)), row));
});

const THREAD = { index: 0, tid: 11, name: "main", lanes: 3, instants: 0 };
const FILE = {
  name: "a.pvti",
  heatmaps: [],
  activity: null,
  graphs: [{ name: "Loss", unit: "" }],
  devices: [{ report: "r", label: "report", ipus: 2, runs: "1 run", about: "" }],
  processes: [{ pid: 42, name: "python", threads: [THREAD, { ...THREAD, index: 1, tid: 12, name: "", instants: 2 }] }],
};

test("a file has its processes, threads, devices and graphs as rows", () => {
  const all = rows.allRows({ files: [FILE] }, { merge: false, kind: "" }, true);
  assert.deepEqual(
    all.map((row) => [row.id, row.kind, row.title]),
    [
      ["file", "file", "a.pvti"],
      ["p42", "process", "Process 42"],
      ["t0", "thread", "main"],
      ["t1", "thread", "Thread"],
      ["d0", "device-heading", "Device: report"],
      ["d0i0", "device", "IPU 0"],
      ["d0i1", "device", "IPU 1"],
      ["graphs", "group", "Line graphs"],
      ["g0", "graph", "Loss"],
    ],
  );
  assert.ok(rows.allRows({ files: [FILE] }, { merge: false, kind: "" }, false).every((row) => row.kind !== "device"));
});

test("rows of the first file keep their names beside a second one", () => {
  const view = { merge: false, kind: "" };
  const one = rows.allRows({ files: [FILE] }, view, true).map((row) => row.id);
  const two = rows.allRows({ files: [FILE, { ...FILE, processes: [] }] }, view, true).map((row) => row.id);
  assert.deepEqual(two.slice(0, one.length), one);
  assert.deepEqual(two.slice(one.length), ["f1file", "f1d0", "f1d0i0", "f1d0i1", "f1graphs", "f1g0"]);
});

test("merged threads are one row with the most lanes and all instants", () => {
  const [, , merged] = rows.allRows({ files: [FILE] }, { merge: true, kind: "" }, false);
  assert.deepEqual(
    [merged.id, merged.threads, merged.lanes, merged.instants, merged.overlap],
    ["p42-all", [0, 1], 3, 2, true],
  );
  const [, , paths] = rows.allRows({ files: [FILE] }, { merge: true, kind: "paths" }, false);
  assert.deepEqual([paths.instants, paths.overlap], [0, false]);
});

test("rows lie below each other; folded ones hide theirs, pinned ones stand above", () => {
  const all = rows.allRows({ files: [FILE] }, { merge: false, kind: "" }, true);
  const plain = rows.place(all, new Set(), []);
  let top = 0;
  for (const row of plain.rows) {
    assert.equal(row.top, top);
    top += row.height;
  }
  assert.deepEqual([plain.height, plain.pinnedHeight, plain.rows.length], [top, 0, all.length]);

  const folded = rows.place(all, new Set(["p42", "d0"]), []);
  assert.deepEqual(
    folded.rows.map((row) => row.id),
    ["file", "p42", "d0", "graphs", "g0"],
  );

  const pinned = rows.place(all, new Set(), ["t1", "unheard of", "p42"]);
  assert.deepEqual(
    pinned.pinned.map((row) => [row.id, row.depth]),
    [
      ["pinned", 0],
      ["t1", 1],
    ],
  );
  assert.deepEqual(
    pinned.rows.map((row) => row.id),
    all.map((row) => row.id).filter((id) => id !== "t1"),
  );
  assert.equal(pinned.height + pinned.pinnedHeight, plain.height + rows.HEAD);
});

test("a folded thread has one lane; instants have flags above the lanes", () => {
  const row = { kind: "thread", open: true, lanes: 3, instants: 2 };
  assert.equal(rows.lanesOf(row), 3);
  assert.equal(rows.lanesOf({ ...row, open: false }), 1);
  assert.equal(rows.lanesOf({ ...row, open: false, lanes: 0 }), 0);
  assert.deepEqual(
    [0, 2].map((depth) => rows.laneTop(row, depth, false)),
    [rows.FLAGS, rows.FLAGS + 2 * rows.LANE],
  );
  assert.deepEqual(
    [0, 2].map((depth) => rows.laneTop(row, depth, true)),
    [rows.FLAGS + 2 * rows.LANE, rows.FLAGS],
  );
});
