/* The selection and its address, what is asked of the server and how its answers are read, and what is saved. */
import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";
import { answers, asked, written } from "./page.mjs";

const viewer = await import("../../webapp/assets/shell/viewer.js");
const { fetchJson, fetchPacked } = await import("../../webapp/assets/shared/packed.js");
const { toCsv } = await import("../../webapp/assets/shared/table.js");
const { commands, keyOf } = await import("../../webapp/assets/shell/commands.js");
const { preference, setPreference } = await import("../../webapp/assets/shell/preferences.js");
const { readMarks } = await import("../../webapp/assets/execution/marks.js");

beforeEach(() => {
  viewer.select(Object.fromEntries(Object.keys(viewer.selection()).map((key) => [key, null])));
  asked.length = written.length = 0;
});

test("a selection stands in the address, with plain commas", () => {
  viewer.select({ tiles: "1,2", step: 7, program: null });
  assert.deepEqual(viewer.selection(), { tiles: "1,2", step: "7" });
  assert.equal(window.location.search, "?tiles=1,2&step=7");
  assert.deepEqual(written, [["selection", { data: { tiles: "1,2", step: "7" } }]]);
});

test("null and nothing remove a key; what does not change tells nobody", () => {
  viewer.select({ tiles: "1", step: 7 });
  let told = [];
  const stop = viewer.onSelect((selection, patch) => told.push([selection, patch]));
  viewer.select({ step: 7 });
  viewer.select({ step: "", vs: undefined });
  viewer.select({ tiles: null });
  assert.deepEqual(told, [
    [{ tiles: "1" }, { step: "", vs: undefined }],
    [{}, { tiles: null }],
  ]);
  assert.equal(window.location.search, "");
  stop();
  told = [];
  viewer.select({ tiles: "3" });
  assert.deepEqual(told, []);
});

test("a link of the menu takes along what all views share", () => {
  viewer.select({ tiles: "1", mem_tab: "variables", vs: "other" });
  const link = (href, nav = "view") => ({ dataset: { nav }, getAttribute: () => href });
  assert.equal(viewer.hrefOf(link("/r/report/execution?old=1")), "/r/report/execution?tiles=1&vs=other");
  assert.equal(viewer.hrefOf(link("/help", "to")), "/help");
  assert.equal(viewer.hrefOf(link("/r/report/memory?tiles=5")), "/r/report/memory?tiles=5", "the page itself");
});

/* An answer of webapp/base/packed.py: the length of the header, the header, the arrays. */
test("typed arrays are views of the answer", async () => {
  const header = {
    n: 2,
    arrays: [
      ["a", "f8", 72, 2],
      ["b", "u1", 64, 3],
    ],
  };
  const text = new TextEncoder().encode(JSON.stringify(header));
  const bytes = new ArrayBuffer(88);
  new DataView(bytes).setUint32(0, text.length, true);
  new Uint8Array(bytes).set(text, 4);
  new Uint8Array(bytes, 64, 3).set([1, 2, 255]);
  new Float64Array(bytes, 72, 2).set([0.5, -1]);
  answers.push({ ok: true, arrayBuffer: async () => bytes });
  const { header: read, arrays } = await fetchPacked("/data/x/rows");
  assert.equal(read.n, 2);
  assert.deepEqual(
    [Array.from(arrays.a), Array.from(arrays.b)],
    [
      [0.5, -1],
      [1, 2, 255],
    ],
  );
  assert.equal(arrays.a.buffer, bytes);
});

test("values of a question are escaped, and those that are null left out", async () => {
  answers.push({ ok: true, json: async () => ({ rows: 1 }) });
  assert.deepEqual(
    await fetchJson("/data/x/rows", { tiles: "1,2", text: "a&b", vs: null, at: undefined, full: true }),
    { rows: 1 },
  );
  assert.deepEqual(asked, ["/data/x/rows?tiles=1,2&text=a%26b&full=true"]);
});

test("a refusal is the server's sentence", async () => {
  answers.push({ ok: false, status: 422, text: async () => "tile 9 is not of this report" });
  await assert.rejects(fetchJson("/data/x/rows"), { message: "tile 9 is not of this report", status: 422 });
  answers.push({ ok: false, status: 502, text: async () => "" });
  await assert.rejects(fetchJson("/data/x/rows"), { message: "the server answered 502", status: 502 });
});

test("a saved cell is never a formula, and quotes what has commas", () => {
  const rows = [
    { name: "=1+1", cycles: -5, note: 'say "a, b"' },
    { name: "\uff0bx", cycles: null, note: "two\nlines" },
  ];
  assert.equal(toCsv(rows), 'name,cycles,note\r\n\'=1+1,-5,"say ""a, b"""\r\n\'\uff0bx,,"two\nlines"\r\n');
  assert.equal(toCsv([]), "");
});

test("keys of plots: W A S D by place, others by sign, none with Control", () => {
  const meaning = (event) => keyOf({ code: "", key: "", ...event });
  assert.deepEqual(
    ["KeyW", "KeyA", "KeyS", "KeyD"].map((code) => meaning({ code })),
    ["zoom-in", "left", "zoom-out", "right"],
  );
  assert.deepEqual(
    [".", ",", "f", "0", "m", "Escape", "x"].map((key) => meaning({ key })),
    ["next", "previous", "fit", "all", "mark", "clear", ""],
  );
  assert.equal(meaning({ code: "KeyW", ctrlKey: true }), "");
  assert.equal(meaning({ code: "KeyW", key: "W", shiftKey: true }), "");
});

test("commands come and go, and impossible ones are not listed", () => {
  let isPossible = false;
  const remove = commands.add({ title: "a command of this test", run: () => {}, when: () => isPossible });
  const listed = () => commands.all().some((command) => command.title === "a command of this test");
  assert.equal(listed(), false);
  isPossible = true;
  assert.equal(listed(), true);
  remove();
  assert.equal(listed(), false);
  commands.suggest((text) => [{ title: text + "!", run: () => {} }]);
  assert.deepEqual(
    commands.suggestions("tile 5").map((command) => command.title),
    ["tile 5!"],
  );
});

test("preferences have the values that the server knows", () => {
  assert.equal(preference("units"), "binary");
  setPreference("units", "furlongs");
  setPreference("colour", "red");
  assert.equal(preference("units"), "binary");
  setPreference("units", "si");
  assert.deepEqual([preference("units"), document.cookie.split(";")[0]], ["si", "popvision_units=si"]);
  setPreference("units", "binary");
});

test("marks of an address are cycles of the run, twenty at most", () => {
  assert.deepEqual(readMarks("5,x,-1,7,,1e3,99", 50), [5, 7]);
  assert.deepEqual(readMarks(undefined, 50), []);
  assert.equal(readMarks(Array.from({ length: 30 }, (_, at) => at).join(), 50).length, 20);
});
