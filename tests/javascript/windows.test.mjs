/* The visible window of a time axis: columns of pixels, zoom, drags in the overview, keys. */
import assert from "node:assert/strict";
import { test } from "node:test";
import "./page.mjs";

const { GRAIN, Viewport } = await import("../../webapp/assets/shared/canvas/viewport.js");
const { grip, partAt, windowIn } = await import("../../webapp/assets/shared/canvas/overview.js");
const { HELD, moveWindow } = await import("../../webapp/assets/shared/canvas/keys.js");
const { isClick, wheelOf } = await import("../../webapp/assets/shared/canvas/pointer.js");

function viewportOf(total, width) {
  const viewport = new Viewport(total);
  viewport.resize(width);
  return viewport;
}

/** Numbers that are the same in every run. */
function randomNumbers(seed) {
  let state = seed;
  return () => (state = (state * 48271) % 2147483647) / 2147483647;
}

function assertInside(viewport) {
  assert.ok(Number.isInteger(viewport.first) && Number.isInteger(viewport.pitch));
  assert.ok(viewport.first >= 0);
  assert.ok(viewport.from <= viewport.to && viewport.to <= viewport.total);
  assert.ok(viewport.pitch <= viewport.fitPitch);
}

test("everything is visible at first, the last cycle within the last column", () => {
  for (const total of [1, 7, 1000, 123_457, 1e12]) {
    const viewport = viewportOf(total, 640);
    assert.deepEqual([viewport.isFit, viewport.from, viewport.to, viewport.percent], [true, 0, total, 100]);
    assert.ok(viewport.x(total) < 640);
  }
});

test("a column is a whole number of 1024ths of a cycle", () => {
  const viewport = viewportOf(1_000_000, 1000);
  assert.equal(viewport.pitch, 1000 * GRAIN + 1);
  viewport.show(1000, 2000);
  assert.deepEqual([viewport.pitch, viewport.first, viewport.from, viewport.to], [GRAIN, 1000, 1000, 2000]);
  assert.deepEqual([viewport.cycleAt(250), viewport.x(1250)], [1250, 250]);
});

test("no column is narrower than a 64th of a cycle", () => {
  const viewport = viewportOf(1_000_000, 1000);
  viewport.show(5, 6);
  assert.equal(viewport.pitch, 16);
  assert.equal(viewport.to - viewport.from, 1000 / 64);
});

test("another width shows the same cycles", () => {
  const viewport = viewportOf(1_000_000, 1000);
  viewport.show(1000, 2000);
  viewport.resize(500);
  assert.deepEqual([viewport.from, viewport.to], [1000, 2000]);
  const fit = viewportOf(1_000_000, 1000);
  fit.resize(300);
  assert.ok(fit.isFit);
});

test("what lies under the pointer stays there while zooming, and every step zooms", () => {
  const random = randomNumbers(7);
  for (let count = 0; count < 500; count += 1) {
    const viewport = viewportOf(1 + Math.floor(10 ** (9 * random())), 100 + Math.floor(1500 * random()));
    for (let step = 0; step < 8; step += 1) {
      const x = Math.floor(viewport.width * random());
      const before = viewport.cycleAt(x);
      const factor = 0.5 + 2 * random();
      const { pitch } = viewport;
      viewport.zoom(factor, x);
      assertInside(viewport);
      if (factor > 1 && pitch > 16) assert.ok(viewport.pitch < pitch);
      const isAtEdge = viewport.first === 0 || viewport.to >= viewport.total - viewport.pitch / GRAIN;
      if (!isAtEdge) assert.ok(Math.abs(viewport.cycleAt(x) - before) <= viewport.pitch / GRAIN);
    }
  }
});

test("moves end at the ends of the run", () => {
  const viewport = viewportOf(10_000, 100);
  viewport.show(5000, 6000);
  viewport.pan(1e9);
  assert.equal(viewport.to, 10_000);
  viewport.pan(-1e9);
  assert.equal(viewport.from, 0);
});

test("per cent are those of the fit window", () => {
  const viewport = viewportOf(1_000_000, 1000);
  viewport.setPercent(400);
  assert.ok(Math.abs(viewport.percent - 400) < 0.5);
  assert.ok(Math.abs((viewport.from + viewport.to) / 2 - 500_000) < 1000);
});

test("a bar is brought into view with as little movement as possible", () => {
  const viewport = viewportOf(1_000_000, 1000);
  viewport.show(0, 10_000);
  assert.equal(viewport.reveal(4000, 5000), false);
  assert.equal(viewport.reveal(20_000, 21_000), true);
  assert.equal(viewport.to - viewport.from, 10_000);
  assert.ok(viewport.from < 20_000 && viewport.to > 21_000);
  viewport.fit();
  assert.equal(viewport.reveal(500_000, 500_001), true);
  assert.ok(viewport.x(500_001) - viewport.x(500_000) >= 3);
});

test("the window of the overview: handles, body, outside", () => {
  const viewport = viewportOf(1000 * 1000, 1000);
  viewport.show(400_000, 600_000);
  const [from, to] = windowIn(viewport);
  assert.ok(Math.abs(from - 400) < 1 && Math.abs(to - 600) < 1);
  const parts = [from, from + 7, from + 8, 500, to - 3, to + 7, to + 8, 0].map((x) => partAt(viewport, x));
  assert.deepEqual(parts, ["from", "from", "window", "window", "to", "to", "outside", "outside"]);
});

test("a narrow window has two pixels, and the nearer handle wins", () => {
  const viewport = viewportOf(1_000_000, 1000);
  viewport.show(500_000, 500_100);
  const [from, to] = windowIn(viewport);
  assert.equal(to - from, 2);
  assert.deepEqual([partAt(viewport, from), partAt(viewport, to)], ["from", "to"]);
});

test("dragging a handle moves its end, the body both, and a press outside brings the window there", () => {
  const viewport = viewportOf(1_000_000, 1000);
  const near = (value, wanted) => assert.ok(Math.abs(value - wanted) <= 2200, `${value} is not ${wanted}`);
  viewport.show(400_000, 600_000);
  grip(viewport, 400)(200);
  near(viewport.from, 200_000);
  near(viewport.to, 600_000);
  grip(viewport, 400)(500);
  near(viewport.from, 300_000);
  near(viewport.to, 700_000);
  grip(viewport, 900);
  near((viewport.from + viewport.to) / 2, 800_000);
});

test("keys at once and held", () => {
  const viewport = viewportOf(1_000_000, 1000);
  viewport.show(400_000, 500_000);
  const { from } = viewport;
  HELD.right(viewport, null, 0);
  assert.ok(Math.abs(viewport.from - from - 8000) < 200);
  HELD.left(viewport, 0.5, 0);
  assert.ok(Math.abs(viewport.from - from - 8000 + 50_000) < 200);
  const { pitch } = viewport;
  HELD["zoom-in"](viewport, 1, 500);
  assert.ok(Math.abs(pitch / viewport.pitch - 5) < 0.01);
  HELD["zoom-out"](viewport, null, 500);
  assert.ok(Math.abs(pitch / viewport.pitch - 5 / 1.3) < 0.01);
  assert.ok(moveWindow(viewport, "Home") && viewport.from === 0);
  assert.ok(moveWindow(viewport, "End") && viewport.to === 1_000_000);
  assert.equal(moveWindow(viewport, "x"), false);
});

test("a press that moves less than four pixels is a click", () => {
  assert.ok(isClick({ x: 0, y: 0 }, { x: 2, y: 3 }));
  assert.ok(!isClick({ x: 0, y: 0 }, { x: 0, y: 4 }));
});

test("a wheel that counts lines turns by sixteen pixels each", () => {
  const turned = (event) => wheelOf({ deltaX: 0, deltaY: 0, deltaMode: 0, ...event });
  assert.deepEqual(turned({ deltaY: 3 }), { x: 0, y: 3, main: 3, isSideways: false });
  assert.deepEqual(turned({ deltaX: -2, deltaY: 1, deltaMode: 1 }), { x: -32, y: 16, main: 16, isSideways: true });
  assert.equal(turned({ deltaX: 5 }).main, 5);
});
