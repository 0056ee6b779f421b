// Pure helpers: where a value lies, how labels keep apart, how numbers are written. No DOM here, so node can test them.
import { median, quantileSorted } from "d3-array";
import { format } from "d3-format";
import { say } from "./words.js";

export const clamp = (value, low, high) => Math.min(high, Math.max(low, value));

// The index of the place that lies nearest to x.
export function nearest(places, x) {
  let best = 0;
  places.forEach((place, index) => { if (Math.abs(place - x) < Math.abs(places[best] - x)) best = index; });
  return best;
}

// Names of charts as chips: each as far as its first comma or colon, where that tells them apart.
export function spellings(labels) {
  const short = labels.map((label) => label.split(/[,:(]/)[0].trim());
  return new Set(short).size === labels.length ? short : labels;
}

// The index of the point that lies nearest to (x, y); a gap is nowhere.
export function nearestPoint(xs, ys, x, y) {
  let [best, least] = [-1, Infinity];
  xs.forEach((at, index) => {
    const apart = at === null || ys[index] === null ? Infinity : (at - x) ** 2 + (ys[index] - y) ** 2;
    if (apart < least) [best, least] = [index, apart];
  });
  return best;
}

// The places of several controls that a running number means: the last control runs fastest.
export function placesOf(number, counts) {
  const places = [];
  for (const count of [...counts].reverse()) {
    places.unshift(number % count);
    number = Math.floor(number / count);
  }
  return places;
}

// The settings of all controls as the part of an address behind #, and the positions that such a part means: a name or a
// setting that there is not leaves a control where it is. On a page with several views it begins with the view's name:
// #panel-a?alpha=0.5, which means nothing to the others.
export const addressed = (controls, positions, view = "") => `${view && `${view}?`}${new URLSearchParams(controls.map(({ name, texts }, index) => [name, texts[positions[index]] ?? ""]))}`;
export function foundIn(address, controls, positions, view = "") {
  const begin = view && `${view}?`;
  const part = address.replace(/^#/, "");
  const settings = new URLSearchParams(part.startsWith(begin) ? part.slice(begin.length) : "");
  return controls.map(({ name, texts }, index) => {
    const place = texts.indexOf(settings.get(name));
    return place < 0 ? positions[index] : place;
  });
}

// Labels that would touch move apart, as little as possible, in their order, between low and high.
export function apart(wanted, gap, low, high) {
  const order = wanted.map((_, index) => index).sort((a, b) => wanted[a] - wanted[b]);
  const at = order.map((index) => clamp(wanted[index], low, high));
  for (let round = 0; round < 60; round++) {
    let moved = false;
    for (let i = 1; i < at.length; i++) {
      const missing = gap - (at[i] - at[i - 1]);
      if (missing > 1e-6) {
        at[i - 1] -= missing / 2;
        at[i] += missing / 2;
        moved = true;
      }
    }
    for (let i = 0; i < at.length; i++) at[i] = Math.max(at[i], low + i * gap);
    for (let i = at.length - 1; i >= 0; i--) at[i] = Math.min(at[i], high - (at.length - 1 - i) * gap);
    if (!moved) break;
  }
  const found = [];
  order.forEach((index, place) => { found[index] = at[place]; });
  return found;
}

// Marks with their names in rows of a width, each with room for a live value: [[{mark, x}, …], …].
export function rowsOf(marks, width) {
  const rows = [];
  let from = Infinity;
  for (const mark of marks) {
    const wide = 7.2 * (mark.label.length + 7) + 14;
    if (from + wide > width) {
      rows.push([]);
      from = 0;
    }
    rows.at(-1).push({ mark, x: from });
    from += wide;
  }
  return rows;
}

// Whether the straight piece from one point to another runs through a box {left, right, top, bottom}.
export function runsThrough([x1, y1], [x2, y2], { left, right, top, bottom }) {
  let [from, to] = [0, 1];
  for (const [start, way, low, high] of [[x1, x2 - x1, left, right], [y1, y2 - y1, top, bottom]]) {
    if (way === 0 && (start < low || start > high)) return false;
    if (way === 0) continue;
    const [enters, leaves] = [(low - start) / way, (high - start) / way].sort((one, other) => one - other);
    [from, to] = [Math.max(from, enters), Math.min(to, leaves)];
  }
  return from < to;
}

// The index of the first of some boxes through which the fewest curves run, [x, y] each, y null at a gap. One that is not
// inside `room` is the last choice.
export function freest(boxes, curves, room) {
  const runs = (curve, box) => curve.some((point, index) => index && curve[index - 1][1] !== null && point[1] !== null && runsThrough(curve[index - 1], point, box));
  const costs = boxes.map((box) => {
    const isInside = box.left >= room.left && box.right <= room.right && box.top >= room.top && box.bottom <= room.bottom;
    return curves.filter((curve) => runs(curve, box)).length + (isInside ? 0 : curves.length + 1);
  });
  return costs.indexOf(Math.min(...costs));
}

// A value as it is written at the end of a line: a gap writes nothing.
export function written(value, axis) {
  if (value === null || value === undefined || !Number.isFinite(value)) return "";
  const digits = axis.digits ?? 0;
  if (axis.unit === "percent") return `${format(`.${digits}f`)(100 * value)} %`;
  const unit = axis.unit ? ` ${axis.unit}` : "";
  return `${format(`.${digits}f`)(value).replace("-", "−").replace(/^−0$/, "0")}${unit}`;
}

// How close a guess came, in a word; `span` is what the answer could have been, from lowest to highest.
export function verdict(guess, truth, span, percent) {
  const off = Math.abs(guess - truth);
  const said = percent ? say("{0} points", Math.round(100 * off)) : format(".2~g")(off);
  if (off <= 0.03 * span) return say("Close!");
  if (off <= 0.1 * span) return say("Not far off.");
  return say("Off by {0}.", said);
}

// How many votes, in words.
export const votes = (count) => count === 1 ? "1 vote" : `${count} votes`;

// The votes of a class, from the lowest to the highest, in words: how many, between what the middle half of them lies, and
// their median.
export function summed(values, axis) {
  if (!values.length) return "no votes.";
  const from = written(quantileSorted(values, 0.25), axis);
  const to = written(quantileSorted(values, 0.75), axis);
  const half = values.length < 4 ? "" : from === to ? `, at least half of them ${from}` : `, half of them from ${from} to ${to}`;
  return `${votes(values.length)}${half}, and the median is ${written(median(values), axis)}.`;
}

// A swarm: the column of each of some dots at places along an axis, so that in no column two are nearer than `gap`. Those
// of an earlier column are filled first, so a swarm is as wide as its places are crowded.
export function swarm(places, gap) {
  const ends = []; // where the last dot of each column is
  const columns = [];
  const order = places.map((_, index) => index).sort((one, other) => places[one] - places[other]);
  for (const index of order) {
    const free = ends.findIndex((end) => places[index] - end >= gap);
    columns[index] = free < 0 ? ends.length : free;
    ends[columns[index]] = places[index];
  }
  return columns;
}

// What a mark has in common with its like elsewhere in the view: the network that it stands for, or else its name. Fields
// and pictures have none, because everything lies on them.
export function linkOf({ role, label, name, kind }) {
  if (["map", "image", "letters"].includes(kind)) return null;
  return role && !["other", "chance"].includes(role) ? role : label || name;
}

// All numbers of a chart as a table: {caption, head: names of columns, links: those of the columns, rows: [{place, name,
// cells}]}, a row for each place on the x axis. A reference has the same number at all of them; a map has a column for each of its rows. What a frame
// places in both dimensions and images are left to the chart. `stops` names the slider's `places`
// where the chart has its handle. Of a text it has a row for each letter.
export function tableOf({ spec: { x, y }, marks, places, stops }, values) {
  if (marks[0]?.kind === "letters") return tableOfLetters(x, y, values[marks[0].name]);
  const number = (value) => written(value, { ...y, digits: (y.digits ?? 0) + 1 }) || "–";
  const columns = marks.flatMap((mark) => {
    const rows = values[mark.name];
    if (!mark.parts.length || mark.aside || mark.kind === "image" || mark.parts[0] === "x") return [];
    if (mark.kind === "map") return rows.map((row, index) => ({ name: mark.rows?.[index] ?? `${index + 1}`, link: null, at: places, row }));
    return rows.map((row, part) => ({
      name: `${mark.label || mark.name}${mark.parts[part] === "y" ? "" : `, ${mark.parts[part]}`}`,
      link: linkOf(mark), at: mark.kind === "reference" ? null : mark.x, row,
    }));
  }).filter(({ row }) => row.some((value) => value !== null));
  const all = [...new Set(columns.flatMap(({ at }) => at ?? []))].sort((one, other) => one - other);
  const named = new Map(x.ticks ?? []);
  const stopAt = (place) => marks.some(({ kind }) => kind === "handle") ? stops[places.indexOf(place)] : undefined;
  const cell = ({ at, row }, place) => !at ? number(row[0]) : at.includes(place) ? number(row[at.indexOf(place)]) : "";
  return {
    caption: y.label ?? "", head: [x.label ?? "", ...columns.map(({ name }) => name)], links: columns.map(({ link }) => link),
    rows: all.map((place) => ({
      place, name: stopAt(place) ?? named.get(place) ?? format(".4~g")(place), cells: columns.map((column) => cell(column, place)),
    })),
  };
}

const INVISIBLE = { " ": "space", "\n": "line end" };
function tableOfLetters(x, y, [text, values]) {
  const rows = [...text].map((letter, place) => ({ place, name: INVISIBLE[letter] ?? letter, cells: [written(values[place], { digits: 2 }) || "–"] }));
  return { caption: y.label ?? "", head: [x.label, "value"], links: [null], rows };
}

// A text as it is sent: at most 500 letters, control characters as spaces, no half of a letter. Python does the same.
export const MOST_LETTERS = 500;
export function cleaned(text) {
  return [...text].slice(0, MOST_LETTERS).join("").replace(/\p{Cc}/gu, " ").replace(/\p{Cs}/gu, "�");
}

// Frames by the positions of all controls, unpacked from what the kernel sends: rows of numbers that several frames share.
export class Frames {
  constructor() { this.known = new Map(); }
  add({ rows, frames }) {
    for (const [key, frame] of Object.entries(frames)) {
      const values = {};
      for (const [mark, row] of Object.entries(frame.values)) values[mark] = rows[row];
      this.known.set(key, { ...frame, values });
    }
  }
  get(key) { return this.known.get(String(key)); }
  clear() { this.known.clear(); }
}

// Where an arrow key leads among so many choices; null for another key. It ends at the first and at the last.
export function neighbour(key, place, count) {
  const by = { ArrowDown: 1, ArrowRight: 1, ArrowUp: -1, ArrowLeft: -1 }[key];
  return by ? clamp(place + by, 0, count - 1) : null;
}
