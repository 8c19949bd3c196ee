/* Colours of pixels: scales, dither of shares, blocks narrower than a pixel. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { makePen, tokens } from "./page.mjs";

const SEQUENTIAL = ["#000000", "#0a0a0a", "#141414", "#1e1e1e", "#282828", "#323232", "#ff0000"];
const DIVERGING = ["#0000ff", "#0000aa", "#000055", "#808080", "#550000", "#aa0000", "#ff0000"];
SEQUENTIAL.forEach((colour, at) => tokens.set("--scale-seq-" + at, colour));
DIVERGING.forEach((colour, at) => tokens.set("--scale-div-" + at, colour));
const CLASSES = ["compute", "exchange", "global", "host", "wait", "sync"];
CLASSES.forEach((name, at) => tokens.set(`--step-${name}-fill`, `#0000${(16 * (at + 1)).toString(16)}`));
for (const name of [...CLASSES, "control", "group", "other", "run"]) tokens.set(`--step-${name}-pattern`, "none");
tokens.set("--sunken", "#ffffff");

const { colourScale, scaleColour } = await import("../../webapp/assets/shared/colour_scale.js");
const scale = await import("../../webapp/assets/exchange/scale.js");
const timeline = await import("../../webapp/assets/timeline/palette.js");
const { Palette, shares } = await import("../../webapp/assets/execution/palette.js");
const { Slivers } = await import("../../webapp/assets/timeline/slivers.js");

/** Red, green, blue and alpha of 0xAABBGGRR. */
const parts = (pixel) => [0, 8, 16, 24].map((shift) => (pixel >>> shift) & 255);

test("a scale goes through its seven stops", () => {
  assert.equal(scaleColour("sequential", 0), "rgb(0, 0, 0)");
  assert.equal(scaleColour("sequential", 1), "rgb(255, 0, 0)");
  assert.equal(scaleColour("sequential", 0.25), "rgb(15, 15, 15)");
  assert.equal(scaleColour("diverging", 0.5), "rgb(128, 128, 128)");
  assert.deepEqual([scaleColour("diverging", -1), scaleColour("diverging", 2)], ["rgb(0, 0, 255)", "rgb(255, 0, 0)"]);
});

test("pixels of a scale are its colours, opaque", () => {
  const pixels = colourScale("diverging");
  assert.equal(pixels.length, 256);
  assert.deepEqual(
    [parts(pixels[0]), parts(pixels[255])],
    [
      [0, 0, 255, 255],
      [255, 0, 0, 255],
    ],
  );
  assert.equal(colourScale("diverging"), pixels, "kept");
});

test("bytes of the exchange: nothing has the ground's colour, the most the last one", () => {
  const ground = 0xff123456;
  const pixels = scale.pixels([0, 1, 1000], 1000, false, ground);
  const colours = colourScale("sequential");
  assert.equal(pixels[0], ground);
  assert.equal(pixels[2], colours[255]);
  assert.equal(pixels[1], colours[Math.round(255 * (0.14 + (0.86 * Math.log1p(1)) / Math.log1p(1000)))]);
});

test("differences lie on both sides of the middle, also without any", () => {
  const shareOf = (value) => scale.share(value, 100, true, false);
  assert.deepEqual([-100, 0, 100].map(shareOf), [0, 0.5, 1]);
  assert.ok(Math.abs(shareOf(7) - 0.5 - (0.5 - shareOf(-7))) < 1e-12);
  assert.equal(scale.share(0, 0, false, false), 0.14);
  assert.equal(scale.share(50, 100, false, true), 0.14 + 0.86 / 2);
});

test("a colour as a pixel of ImageData", () => {
  assert.deepEqual(parts(scale.packed("#010203")), [1, 2, 3, 255]);
  assert.equal(scale.colour(0, 10, false, "the ground", false), "the ground");
  assert.equal(scale.colour(10, 10, false, "the ground", false), "rgb(255, 0, 0)");
});

test("ramps of heat maps begin with the empty cell and end at the strong colour", () => {
  assert.deepEqual(timeline.rgbOf("#0a14ff"), [10, 20, 255]);
  const ramp = timeline.ramp("empty", "#000000", "#0a14ff", 3);
  assert.deepEqual(ramp, ["empty", "rgb(0,0,0)", "rgb(5,10,128)", "rgb(10,20,255)"]);
});

test("a packed pixel holds a share for each class", () => {
  const pixel = 31 | (15 << 5) | (1 << 25);
  assert.deepEqual(shares(pixel), [1, 15 / 31, 0, 0, 0, 1 / 31]);
});

/** How many thresholds of 65,536 give each colour to a pixel. */
function drawnAs(palette, pixel) {
  const counts = new Map();
  for (let threshold = 0; threshold < 65536; threshold += 1) {
    const colour = palette.colour(pixel, threshold);
    counts.set(colour, (counts.get(colour) || 0) + 1);
  }
  return counts;
}

test("a class covers as many pixels as its share, and no colours are mixed", () => {
  const palette = new Palette(new Set());
  const pixel = 8 | (16 << 10); /* compute and global exchange; 7 of 31 levels have nothing */
  const counts = drawnAs(palette, pixel);
  const covered = [palette.classColours[0], palette.classColours[2], palette.emptyColour].map((each) =>
    counts.get(each),
  );
  assert.equal(counts.size, 3);
  [8, 16, 7].forEach((levels, at) => assert.ok(Math.abs(covered[at] - (65536 * levels) / 31) <= 1));
});

test("shares that miss the whole pixel by rounding alone leave nothing empty", () => {
  const palette = new Palette(new Set());
  const counts = drawnAs(palette, 15 | (15 << 5)); /* two halves, each rounded down */
  assert.equal(counts.size, 2);
  assert.deepEqual(Array.from(counts.values()), [32768, 32768]);
});

test("hidden classes are drawn as if nothing were there", () => {
  const palette = new Palette(new Set(["compute"]));
  const counts = drawnAs(palette, 20 | (11 << 5));
  assert.deepEqual(new Set(counts.keys()), new Set([palette.classColours[1], palette.emptyColour]));
  assert.ok(Math.abs(counts.get(palette.classColours[1]) - (65536 * 11) / 31) <= 1);
});

/* ---- events of the timeline too narrow for a label ---- */

const [RED, BLUE] = [0, 1];
const slivers = new Slivers();

/** The two rows of pixels of a lane of ten pixels, [red, green, blue, alpha] by place, for blocks of [x, width,
 * channel, strength, whether merged]: the upper one is stretched over the lane, the lower one is the line below. */
function drawn(blocks, density = 1) {
  const pen = makePen();
  slivers.begin(10, density, ["#ff0000", "#0000ff"]);
  for (const block of blocks) slivers.add(...block);
  slivers.paint(pen, 0, 17);
  const found = [{}, {}];
  if (!pen.drawn.length) return found;
  const [{ image, places }, { places: below }] = pen.drawn;
  assert.deepEqual([places[5], places[7], below[5], below[7]], [0, 17, 15, 2]);
  const first = Math.round(places[4] * density);
  found.forEach((row, line) => {
    for (let at = 0; at < image.width; at += 1) {
      const pixel = Array.from(image.data.slice(4 * (line * image.width + at), 4 * (line * image.width + at) + 4));
      if (pixel[3]) row[first + at] = pixel;
    }
  });
  return found;
}

test("a block covers its pixels", () => {
  for (const density of [1, 2]) {
    const [lane, foot] = drawn([[2, 1, RED, 1, false]], density);
    const covered = density === 1 ? [2] : [4, 5];
    assert.deepEqual(lane, Object.fromEntries(covered.map((at) => [at, [255, 0, 0, 255]])));
    assert.deepEqual(foot, {});
  }
});

test("a block between two pixels is paler in both", () => {
  const [lane] = drawn([[4.25, 1, BLUE, 1, false]]);
  assert.deepEqual(lane, { 4: [0, 0, 255, 191], 5: [0, 0, 255, 64] });
});

test("blocks that share a pixel are mixed by area and strength", () => {
  const [lane] = drawn([
    [6, 0.5, RED, 1, false],
    [6.5, 0.5, BLUE, 0.5, false],
  ]);
  assert.deepEqual(lane, { 6: [170, 0, 85, 191] });
});

test("events drawn wider than they are lie over each other", () => {
  const [lane] = drawn([
    [3, 1, RED, 0.4, false],
    [3, 1, RED, 0.4, false],
  ]);
  assert.deepEqual(lane, { 3: [255, 0, 0, 163] }); /* 1 - 0.6 * 0.6 */
});

test("merged events have a line below, and nothing is left of the lane before", () => {
  const [lane, foot] = drawn([
    [1, 1, RED, 0.5, true],
    [-3, 4, BLUE, 1, false],
    [9.5, 3, BLUE, 1, false],
  ]);
  assert.deepEqual(lane, { 0: [0, 0, 255, 255], 1: [255, 0, 0, 128], 9: [0, 0, 255, 128] });
  assert.deepEqual(foot, { 1: [255, 0, 0, 128] });
  assert.deepEqual(drawn([]), [{}, {}]);
});
