import assert from "node:assert/strict";
import test from "node:test";
import { apart, Frames, nearest, verdict, written } from "../src/numbers.js";

test("the nearest place", () => {
  assert.equal(nearest([0, 10, 20], 14), 1);
  assert.equal(nearest([0, 10, 20], 16), 2);
  assert.equal(nearest([5], -100), 0);
});

test("labels keep apart, in their order and inside", () => {
  const at = apart([50, 52, 49, 300], 20, 0, 100);
  const order = [2, 0, 1, 3].map((index) => at[index]);
  for (let i = 1; i < order.length; i++) assert.ok(order[i] - order[i - 1] >= 20 - 1e-6, `${order}`);
  assert.ok(Math.min(...at) >= 0 && Math.max(...at) <= 100);
  assert.deepEqual(apart([10, 90], 20, 0, 100), [10, 90]);
});

test("values are written as their axis says, and a gap is written as nothing", () => {
  assert.equal(written(0.825, { unit: "percent" }), "83 %");
  assert.equal(written(-0.3, { unit: "points" }), "0 points");
  assert.equal(written(12, { unit: "points" }), "12 points");
  assert.equal(written(-1.25, { digits: 2 }), "−1.25");
  assert.equal(written(null, {}), "");
  assert.equal(written(NaN, {}), "");
});

test("a guess is close within three hundredths of what it could have been", () => {
  assert.equal(verdict(0.8, 0.82, 1, true), "Close!");
  assert.equal(verdict(0.75, 0.82, 1, true), "Not far off.");
  assert.equal(verdict(0.7, 0.82, 1, true), "Off by 12 points.");
});

test("frames are found by positions and share their rows", () => {
  const frames = new Frames();
  frames.add({ rows: [[[1, 2]], [[3]]], frames: { "0,1": { title: "t", values: { line: 0, level: 1 } } } });
  assert.deepEqual(frames.get([0, 1]).values, { line: [[1, 2]], level: [[3]] });
  assert.equal(frames.get([0, 2]), undefined);
});
