import assert from "node:assert/strict";
import test from "node:test";
import { addressed, apart, cleaned, foundIn, freest, linkOf, Frames, nearest, nearestPoint, neighbour, placesOf, rowsOf, runsThrough, spellings, summed, swarm, tableOf, verdict, written } from "../src/numbers.js";

test("the nearest place", () => {
  assert.equal(nearest([0, 10, 20], 14), 1);
  assert.equal(nearest([0, 10, 20], 16), 2);
  assert.equal(nearest([5], -100), 0);
});

test("the nearest point, and the settings of several controls that its number means", () => {
  assert.equal(nearestPoint([0, 10, 20], [0, 10, 0], 14, 9), 1);
  assert.equal(nearestPoint([0, null, 20], [0, 10, null], 14, 9), 0);
  assert.deepEqual([0, 4, 5, 11].map((number) => placesOf(number, [3, 4])), [[0, 0], [1, 0], [1, 1], [2, 3]]);
  assert.deepEqual(placesOf(7, [1140]), [7]);
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

test("all numbers stand in a table with a row for each place and a column for each mark", () => {
  const places = [0, 0.5, 1];
  const chart = { spec: { x: { label: "α" }, y: { label: "accuracy", unit: "percent" } }, places, stops: ["0", "0.5", "1"], marks: [
    { name: "both", label: "both tasks", kind: "line", parts: ["y"], x: places },
    { name: "ends", kind: "line", parts: ["y"], x: [0, 1] },
    { name: "chance", kind: "reference", parts: ["y"], x: places },
    { name: "gone", kind: "line", parts: ["y"], x: places },
    { name: "alpha", kind: "handle", parts: [], x: places },
  ] };
  const table = tableOf(chart, { both: [[0.6, 0.825, null]], ends: [[0.6, 0.7]], chance: [[0.1]], gone: [[null, null, null]] });
  assert.equal(table.caption, "accuracy");
  assert.deepEqual(table.head, ["α", "both tasks", "ends", "chance"]);
  assert.deepEqual(table.links, ["both tasks", "ends", "chance"]);
  assert.deepEqual(table.rows.map(({ name, cells }) => [name, ...cells]), [
    ["0", "60.0 %", "60.0 %", "10.0 %"], ["0.5", "82.5 %", "", "10.0 %"], ["1", "–", "70.0 %", "10.0 %"]]);
});

test("marks of one network are linked, grey ones by their name, fields and pictures not at all", () => {
  assert.equal(linkOf({ role: "merged", label: "gap", name: "gap", kind: "line" }), "merged");
  assert.equal(linkOf({ role: "other", label: "single", name: "one", kind: "points" }), "single");
  assert.equal(linkOf({ role: "chance", name: "chance", kind: "band" }), "chance");
  assert.equal(linkOf({ role: "merged", name: "loss", kind: "map" }), null);
});

test("charts are named in short where that tells them apart", () => {
  assert.deepEqual(spellings(["accuracy", "loss: cross-entropy, in nats"]), ["accuracy", "loss"]);
  assert.deepEqual(spellings(["gap, of A", "gap, of B"]), ["gap, of A", "gap, of B"]);
});

test("a chart without the slider's handle names its places itself, also where the slider has stops of these values", () => {
  const chart = { spec: { x: { ticks: [[0, "0°"], [1, "45°"]] }, y: {} }, places: [0, 1], stops: ["none", "all"], marks: [{ name: "bars", kind: "bars", parts: ["y"], x: [0, 1] }] };
  assert.deepEqual(tableOf(chart, { bars: [[5, 6]] }).rows.map(({ name }) => name), ["0°", "45°"]);
});

test("a map's table has a column for each of its rows, and named places keep their names", () => {
  const map = { spec: { x: { label: "α", ticks: [[1, "one"]] }, y: {} }, places: [0, 1], stops: ["0", "a stop of a slider elsewhere"], marks: [{ name: "map", kind: "map", parts: ["cells"], rows: ["layer 1", "output"] }] };
  const { head, rows } = tableOf(map, { map: [[0, 1], [2, 3]] });
  assert.deepEqual(head, ["α", "layer 1", "output"]);
  assert.deepEqual(rows.map(({ name, cells }) => [name, ...cells]), [["0", "0.0", "2.0"], ["one", "1.0", "3.0"]]);
});

test("the table of a text has a row for each letter, and a letter that nobody sees is named", () => {
  const chart = { spec: { x: { label: "letter" }, y: { label: "who" } }, places: [], marks: [{ name: "said", kind: "letters", parts: ["value"] }] };
  const { caption, head, links, rows } = tableOf(chart, { said: ["I 🦉\n", [-0.5, 0.126, null, 1]] });
  assert.deepEqual([caption, head, links], ["who", ["letter", "value"], [null]]);
  assert.deepEqual(rows.map(({ name, cells }) => [name, ...cells]), [["I", "−0.50"], ["space", "0.13"], ["🦉", "–"], ["line end", "1.00"]]);
  assert.deepEqual(tableOf(chart, { said: ["", []] }).rows, []);
});

test("a text that is typed is sent without control characters, without half a letter, and at most 500 letters of it", () => {
  assert.equal(cleaned("a\x00b\nc\x9fd\te"), "a b c d e");
  assert.equal(cleaned("\ud83d half"), "� half");
  assert.equal(cleaned("مرحبا 👩‍🚀 <b>"), "مرحبا 👩‍🚀 <b>");
  assert.equal(cleaned("🦉 ".repeat(500)), "🦉 ".repeat(250));
});

test("an address names the settings of all controls, and what it names wrongly changes nothing", () => {
  const controls = [{ name: "alpha", texts: ["0", "0.5", "1"] }, { name: "pair", texts: ["22.5° and 45°", "a & b = #1"] }];
  const address = addressed(controls, [2, 1]);
  assert.deepEqual(foundIn(`#${address}`, controls, [0, 0]), [2, 1]);
  assert.deepEqual(foundIn("#alpha=7&pair=gone&other=1", controls, [1, 0]), [1, 0]);
  assert.deepEqual(foundIn("", controls, [1, 1]), [1, 1]);
  const named = addressed(controls, [2, 1], "panel-a");
  assert.deepEqual(foundIn(`#${named}`, controls, [0, 0], "panel-a"), [2, 1]);
  for (const other of ["panel", "panel-b"]) assert.deepEqual(foundIn(`#${named}`, controls, [0, 0], other), [0, 0]);
  assert.deepEqual(foundIn(`#${address}`, controls, [0, 0], "panel-a"), [0, 0]);
});

test("an arrow leads to the next choice or the one before, and ends at both ends; other keys lead nowhere", () => {
  assert.deepEqual(["ArrowDown", "ArrowRight", "ArrowUp", "ArrowLeft"].map((key) => neighbour(key, 1, 4)), [2, 2, 0, 0]);
  assert.deepEqual([neighbour("ArrowDown", 3, 4), neighbour("ArrowUp", 0, 4)], [3, 0]);
  assert.deepEqual(["Tab", " ", "Enter", "a"].map((key) => neighbour(key, 1, 4)), [null, null, null, null]);
});

test("a piece of a curve runs through a box, beside it, or ends before it", () => {
  const box = { left: 10, right: 20, top: 10, bottom: 20 };
  assert.ok(runsThrough([0, 0], [30, 30], box));
  assert.ok(runsThrough([15, 0], [15, 30], box));
  assert.ok(runsThrough([12, 12], [14, 14], box));
  assert.ok(!runsThrough([0, 0], [9, 9], box));
  assert.ok(!runsThrough([0, 25], [30, 25], box));
  assert.ok(!runsThrough([0, 15], [15, 40], box));
});

test("a value stands where no curve runs, and inside rather than clear of curves", () => {
  const box = (left, top) => ({ left, right: left + 10, top, bottom: top + 10 });
  const room = { left: 0, right: 100, top: 0, bottom: 100 };
  const [falls, gap] = [[[0, 0], [100, 100]], [[0, null], [100, null]]];
  assert.equal(freest([box(40, 40), box(40, 80)], [falls, gap], room), 1);
  assert.equal(freest([box(40, 40), box(95, 10)], [falls], room), 0);
  assert.equal(freest([box(10, 80), box(80, 10)], [falls], room), 0);
});

test("names with live values stand in rows, a long one in a row of its own", () => {
  const [short, other, long] = ["task A", "task B", "the network between A and B"].map((label) => ({ label }));
  const rows = rowsOf([short, other, long], 300);
  assert.deepEqual(rows.map((row) => row.map(({ mark }) => mark)), [[short, other], [long]]);
  assert.deepEqual(rows.map(([{ x }]) => x), [0, 0]);
  assert.deepEqual(rowsOf([], 300), []);
});

test("a swarm keeps its dots where they are and apart in each column, and is as wide as it is crowded", () => {
  const places = [10, 50, 10, 12, 10, 30];
  const columns = swarm(places, 8);
  assert.deepEqual(columns, [0, 0, 1, 3, 2, 0]);
  const many = Array.from({ length: 200 }, (_, index) => (37 * index) % 101);
  const placed = swarm(many, 9);
  many.forEach((place, index) => many.forEach((other, one) => assert.ok(index === one || placed[index] !== placed[one] || Math.abs(place - other) >= 9)));
  assert.deepEqual([swarm([], 8), swarm([3], 8)], [[], [0]]);
});

test("the votes of a class are told by their median and their middle half", () => {
  const percent = { unit: "percent" };
  assert.equal(summed([0.1, 0.2, 0.4, 0.5, 0.9], percent), "5 votes, half of them from 20 % to 50 %, and the median is 40 %.");
  assert.equal(summed([0.4, 0.4, 0.4, 0.4, 0.9], percent), "5 votes, at least half of them 40 %, and the median is 40 %.");
  assert.equal(summed([-1.25], { digits: 2 }), "1 vote, and the median is −1.25.");
  assert.equal(summed([], percent), "no votes.");
});
