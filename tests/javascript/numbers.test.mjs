/* Round ticks, times, bytes, shares and differences as text. */
import assert from "node:assert/strict";
import { test } from "node:test";
import "./page.mjs";

const { roundStep, roundTicks } = await import("../../webapp/assets/shared/canvas/ticks.js");
const { Viewport } = await import("../../webapp/assets/shared/canvas/viewport.js");
const { setPreference } = await import("../../webapp/assets/shell/preferences.js");
const formats = await import("../../webapp/assets/shared/formats.js");
const clock = await import("../../webapp/assets/timeline/clock.js");
const execution = await import("../../webapp/assets/execution/numbers.js");
const { format, gridFunctions } = await import("../../webapp/assets/shared/table.js");
const { percentText } = await import("../../webapp/assets/shared/canvas/zoom_box.js");
const catalogue = await import("../../webapp/assets/catalogue/axes.js");

/** Runs `act` with a preference, then with the default again. */
function preferring(name, value, act) {
  setPreference(name, value);
  act();
  setPreference(name, { units: "binary", time: "cycles" }[name]);
}

test("a round step is the smallest of 1, 2, 5 times a power of ten that is not below", () => {
  const steps = [0.011, 0.02, 0.3, 1, 1.5, 2, 2.1, 5.1, 10, 4321];
  assert.deepEqual(steps.map(roundStep), [0.02, 0.02, 0.5, 1, 2, 2, 5, 10, 10, 5000]);
});

test("round ticks lie in the window, as many as asked for", () => {
  assert.deepEqual(roundTicks(0, 100, 5), [0, 20, 40, 60, 80, 100]);
  assert.deepEqual(roundTicks(-3, 3, 3), [-2, 0, 2]);
  assert.deepEqual(roundTicks(7, 8, 10, 1), [7, 8]);
  assert.deepEqual(roundTicks(0, 0.5, 5), [0, 0.1, 0.2, 0.3, 0.4, 0.5]);
});

test("a window without width and one finer than its numbers end", () => {
  assert.deepEqual(roundTicks(3, 3, 5), [3]);
  assert.ok(roundTicks(1e17, 1e17 + 64, 5).length <= 12);
});

test("the last tick is there, whatever the sum of the steps", () => {
  assert.deepEqual(roundTicks(-123, -122, 10).at(-1), -122);
  assert.deepEqual(roundTicks(1.1, 1.5, 4), [1.1, 1.2, 1.3, 1.4, 1.5]);
});

test("round ticks of a thousand windows are whole steps of the least round size", () => {
  let seed = 1;
  const random = () => (seed = (seed * 48271) % 2147483647) / 2147483647;
  for (let count = 0; count < 1000; count += 1) {
    const first = Math.round(1e6 * (random() - 0.5));
    const last = first + 1 + Math.round(10 ** (6 * random()));
    const most = 2 + Math.floor(10 * random());
    const step = roundStep((last - first) / most);
    const wanted = [];
    for (let whole = Math.ceil(first / step); whole * step <= last + 1e-9; whole += 1)
      wanted.push(Number((whole * step).toPrecision(12)));
    const found = roundTicks(first, last, most);
    assert.ok(found.length <= most + 1);
    assert.equal(found.length, wanted.length);
    found.forEach((tick, at) => assert.ok(Math.abs(tick - wanted[at]) < 1e-9 * step + 1e-9));
  }
});

test("lengths of host time have a unit and four digits", () => {
  const texts = [0, 999, 1000, 412_300, 1_000_000, 1_234_567, 1e9, 61.5e9].map(clock.length);
  assert.deepEqual(texts, ["0 ns", "999 ns", "1 µs", "412.3 µs", "1 ms", "1.2346 ms", "1 s", "61.5 s"]);
});

test("a position has as many decimals as the step needs", () => {
  const at = 67_314_398_205;
  const steps = [1, 1000, 1e6, 1e9];
  const texts = steps.map((step) => clock.stamp(at, step, null));
  assert.deepEqual(texts, ["00:01:07.314 398 205", "00:01:07.314 398", "00:01:07.314", "00:01:07"]);
});

test("what is no time is counted in its unit: a microsecond stands for one", () => {
  clock.count("bytes");
  assert.deepEqual([0, 500, 1000, 1_234_567_000].map(clock.length), [
    "0 bytes",
    "0.5 bytes",
    "1 bytes",
    "1,234,600 bytes",
  ]);
  assert.equal(clock.stamp(1_234_567_000, 1, null), "1,234,567 bytes");
  clock.count("");
  assert.equal(clock.length(412_300), "412.3 µs");
});

test("hours count on from the first event, and are of the day where the clock is absolute", () => {
  assert.equal(clock.stamp(90_000e9, 1e9, null), "25:00:00");
  const begin = BigInt(Date.UTC(2026, 10, 29, 23, 59, 59)) * 1_000_000n;
  assert.equal(clock.stamp(2e9, 1e9, begin), "00:00:01");
  assert.equal(clock.day(begin), "2026-11-29 UTC");
});

test("ticks of host time are round since the first event, or round of the day", () => {
  const viewport = { from: 0, to: 10e9, width: 1000 };
  assert.deepEqual(
    clock.ticks(viewport, 200, null).map((tick) => tick.text),
    ["0 s", "2 s", "4 s", "6 s", "8 s", "10 s"],
  );
  const short = { from: 10e6, to: 86e6, width: 1000 };
  assert.deepEqual(
    clock.ticks(short, 200, null).map((tick) => tick.text),
    ["20 ms", "40 ms", "60 ms", "80 ms"],
  );
  const close = { from: 10e6, to: 10.002e6, width: 1000 };
  assert.deepEqual(
    clock.ticks(close, 500, null).map((tick) => tick.text),
    ["10.000 ms", "10.001 ms", "10.002 ms"],
  );
  const long = { from: 0, to: 120e9, width: 1000 };
  assert.equal(clock.ticks(long, 400, null)[1].text, "00:01:00");
  const begin = BigInt(Date.UTC(2026, 10, 29)) * 1_000_000n + 500_000_000n;
  const places = clock.ticks(viewport, 200, begin).map((tick) => tick.at);
  assert.deepEqual(places, [1.5e9, 3.5e9, 5.5e9, 7.5e9, 9.5e9]);
});

test("bytes are in the unit of the preferences", () => {
  const values = [0, 1023, 1024, 638_976, 1024 ** 2, 1.5 * 1024 ** 3, -2048];
  const texts = ["0 B", "1,023 B", "1.0 KiB", "624.0 KiB", "1.0 MiB", "1.5 GiB", "-2.0 KiB"];
  assert.deepEqual(values.map(formats.bytesText), texts);
  preferring("units", "si", () => assert.equal(formats.bytesText(638_976), "639.0 kB"));
  preferring("units", "bytes", () => assert.equal(formats.bytesText(638_976), "638,976 B"));
});

test("bytes that round up to the next unit are in that unit", () => {
  assert.equal(formats.bytesText(1024 * 1023.94), "1,023.9 KiB");
  assert.equal(formats.bytesText(1024 * 1023.96), "1.0 MiB");
});

test("ticks of bytes are round in the unit of the preferences", () => {
  const texts = (top) => formats.byteTicks(top).map((tick) => tick.text);
  assert.deepEqual(texts(624 * 1024), ["0", "128 KiB", "256 KiB", "384 KiB", "512 KiB", "640 KiB"]);
  assert.deepEqual(texts(0), ["0", "1 B"]);
  preferring("units", "si", () =>
    assert.deepEqual(texts(500_000), ["0", "100 kB", "200 kB", "300 kB", "400 kB", "500 kB"]),
  );
  preferring("units", "bytes", () => assert.deepEqual(texts(4), ["0", "1 B", "2 B", "3 B", "4 B"]));
});

test("cycles are time where that is preferred and the clock is known", () => {
  assert.equal(formats.cyclesText(1_234_567, 1.33e9), "1,234,567");
  preferring("time", "time", () => {
    assert.equal(formats.cyclesText(1_234_567, 1.33e9), "928 µs");
    assert.equal(formats.cyclesText(1_234_567), "1,234,567");
  });
  const seconds = [3.4e-10, 340e-6, 0.0125, 3.456, 1234.5].map(formats.secondsText);
  assert.deepEqual(seconds, ["0.34 ns", "340 µs", "12.5 ms", "3.46 s", "1,235 s"]);
});

test("the execution trace says seconds in the largest unit that has a whole one", () => {
  assert.deepEqual([2.5, 0.0012, 34e-6, 5e-9, 2e-10].map(execution.seconds), [
    "2.5 s",
    "1.2 ms",
    "34 µs",
    "5 ns",
    "0.2 ns",
  ]);
  assert.deepEqual([null, undefined, 0.0123, 0.5].map(execution.percent), ["–", "–", "1.23 %", "50.0 %"]);
  assert.equal(execution.cyclesText(1330, 1.33e9, true), "1 µs");
  assert.equal(execution.cyclesText(1330, 1.33e9, false), "1,330 cycles");
});

test("ticks of the execution trace are whole cycles, or round times", () => {
  const viewport = new Viewport(1_000_000);
  viewport.resize(1000);
  const cycles = execution.ticks(viewport, 200, 1e9, false);
  assert.deepEqual(
    cycles.map(({ cycle, text }) => [cycle, text]),
    [0, 2e5, 4e5, 6e5, 8e5, 1e6].map((cycle) => [cycle, cycle.toLocaleString("en-US")]),
  );
  const times = execution.ticks(viewport, 90, 1e9, true).map(({ text }) => text);
  assert.deepEqual(times, [
    "0.0 ms",
    "0.1 ms",
    "0.2 ms",
    "0.3 ms",
    "0.4 ms",
    "0.5 ms",
    "0.6 ms",
    "0.7 ms",
    "0.8 ms",
    "0.9 ms",
    "1.0 ms",
  ]);
  viewport.show(10, 14);
  const fine = execution.ticks(viewport, 90, 1e9, false).map(({ cycle }) => cycle);
  assert.ok(fine.every(Number.isInteger));
});

test("cells of tables: a dash for what is unknown, a sign for differences", () => {
  assert.deepEqual(
    [null, undefined, "", NaN].map((value) => format(value, "integer")),
    ["–", "–", "–", "–"],
  );
  const texts = [
    [1234.4, "integer"],
    [0.1234, "percent"],
    [-3, "signed"],
    [0, "signed"],
    [2048, "signed_bytes"],
    [0.015, "signed_points"],
    [1.5, "number"],
    [7, "number"],
    ["text", "unheard of"],
  ].map(([value, kind]) => format(value, kind));
  assert.deepEqual(texts, ["1,234", "12.34 %", "−3", "0", "+2.0 KiB", "+1.50 pp", "1.50", "7", "text"]);
});

test("the exact value is told only where another one is shown", () => {
  const { popvisionExact: exact } = gridFunctions;
  assert.equal(exact(2048, "bytes", ""), "2,048 B");
  assert.equal(exact(12, "bytes", ""), null);
  assert.equal(exact(12, "cycles", ""), "12 cycles");
  assert.equal(exact(2048, "integer", ""), null);
  assert.equal(exact(null, "bytes", "not recorded"), "not recorded");
});

test("a difference is coloured fully at twice or half", () => {
  const { popvisionDifferenceStyle: style } = gridFunctions;
  const strength = (value, share) =>
    style({ value, colDef: { field: "cycles_diff" }, data: { cycles_rel: share } })["--diff-strength"];
  assert.deepEqual(
    [strength(0, 0), strength(5, 1), strength(-5, -0.5), strength(5, 0), strength(5, Math.SQRT2 - 1), strength(5)],
    ["0%", "100%", "100%", "15%", "58%", "100%"],
  );
});

test("axes of figures have room at both ends, also of one value", () => {
  const scale = catalogue.scaleOf([10, 20], 0, 108);
  assert.deepEqual([scale.first, scale.last], [9.6, 20.4]);
  assert.ok(Math.abs(scale.at(15) - 54) < 1e-9);
  assert.deepEqual([catalogue.scaleOf([5], 0, 1).first, catalogue.scaleOf([0], 0, 1).last], [4.5, 1]);
  const ticks = catalogue.ticksOf({ kind: "percent", labels: [] }, { first: 0, last: 1 }, 2);
  assert.deepEqual(
    ticks.map((tick) => tick.text),
    ["0.00 %", "50.00 %", "100.00 %"],
  );
  assert.deepEqual(catalogue.ticksOf({ kind: "", labels: ["C600", "Mk2"] }, { first: 0, last: 1 }, 2), [
    { value: 0, text: "C600" },
    { value: 1, text: "Mk2" },
  ]);
});

test("per cent of the zoom box", () => {
  const texts = [100, 250.4, 12345.6].map(percentText);
  assert.deepEqual(texts, ["100 %", "250 %", "12,346 %"]);
});
