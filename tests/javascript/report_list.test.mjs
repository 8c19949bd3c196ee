/* The filter of the list of reports: words and conditions over the values of a row. */
import assert from "node:assert/strict";
import { test } from "node:test";
import "./page.mjs";

const { order, readFilter } = await import("../../webapp/assets/shell/report_list.js");

const DAY = 86400;
const now = Date.now() / 1000;
const ROWS = [
  { name: "matmul", state: "", path: "a/matmul", target: "Mk2", time: 86e-6, cycles: 86, share: 0.02, written: now },
  { name: "conv_large", state: "", path: "b", target: "Mk2", time: 1e-3, cycles: 5e6, written: now - 20 * DAY },
  { name: "conv_small", state: "", path: "c", target: "C600", time: 3e-6, cycles: 3, written: now - 30 * DAY },
  { name: "broken", state: "damaged", path: "d", target: "", time: null, size: 2e6, written: now - 40 * DAY },
  { name: "copy", state: "", path: "e", target: "", memory: 3 * 1024 ** 2, size: 10e6, written: 0 },
];

/** Names of the rows that a text finds. */
function found(text) {
  const { tests } = readFilter(text);
  return ROWS.filter((row) => tests.every((passes) => passes(row))).map((row) => row.name);
}

test("words are looked for in name, path, state and target, in any case", () => {
  assert.deepEqual(found(""), ["matmul", "conv_large", "conv_small", "broken", "copy"]);
  assert.deepEqual(found("conv"), ["conv_large", "conv_small"]);
  assert.deepEqual(found("CONV large"), ["conv_large"]);
  assert.deepEqual(found("damaged"), ["broken"]);
  assert.deepEqual(found("c600"), ["conv_small"]);
  assert.deepEqual(found("a/mat"), ["matmul"]);
});

test("times are compared in any unit, and equal ones by more than rounding", () => {
  assert.deepEqual(found("time>=86us"), ["matmul", "conv_large"]);
  assert.deepEqual(found("time>0.086ms"), ["conv_large"]);
  assert.deepEqual(found("time=86000ns"), ["matmul"]);
  assert.deepEqual(found("time<86\u00b5s"), ["conv_small"]);
  assert.deepEqual(found("cycles<86"), ["conv_small"]);
  assert.deepEqual(found("cycles>=5m"), ["conv_large"]);
  assert.deepEqual(found("cycles>1e6"), ["conv_large"]);
});

test("memory is a share or bytes, sizes are bytes", () => {
  assert.deepEqual(found("memory>0.1%"), ["matmul"]);
  assert.deepEqual(found("memory>2MiB"), ["copy"]);
  assert.deepEqual(found("memory>=3,145,728"), ["copy"]);
  assert.deepEqual(found("size>2MB"), ["copy"]);
  assert.deepEqual(found("size<=2MB"), ["broken"]);
});

test("written is an age or a date", () => {
  assert.deepEqual(found("written<25d"), ["matmul", "conv_large"]);
  assert.deepEqual(found("conv written>=25d"), ["conv_small"]);
  assert.deepEqual(found("written>5w"), ["broken", "copy"]);
  assert.deepEqual(found("written<1971-01-01"), ["copy"]);
});

test("what is no condition is said with an example, and hides nothing", () => {
  for (const text of ["memory>lots", "memory>5parsecs", "memory>%"]) {
    assert.equal(readFilter(text).problem, `${text} is no condition: write for example memory>80% or memory>500KiB.`);
    assert.equal(found(text).length, ROWS.length);
  }
  assert.equal(readFilter("time>1ms conv").problem, "");
});

test("rows stand in the order of a value both ways; what is not known stands last", () => {
  const names = (field, sign) =>
    ROWS.slice()
      .sort((one, other) => order(one, other, field, sign))
      .map((row) => row.name);
  assert.deepEqual(names("time", -1), ["conv_large", "matmul", "conv_small", "broken", "copy"]);
  assert.deepEqual(names("time", 1), ["conv_small", "matmul", "conv_large", "broken", "copy"]);
  assert.deepEqual(names("name", 1), ["broken", "conv_large", "conv_small", "copy", "matmul"]);
  const numbered = [{ name: "run 10" }, { name: "Run 9" }].sort((one, other) => order(one, other, "name", 1));
  assert.equal(numbered[0].name, "Run 9");
});
