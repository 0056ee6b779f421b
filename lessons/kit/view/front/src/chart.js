// One chart: axes, marks, labels at the ends of lines, and the upright line where the slider stands.
import { axisBottom, axisLeft } from "d3-axis";
import { format } from "d3-format";
import { scaleLinear, scaleLog } from "d3-scale";
import { select } from "d3-selection";
import { area, line } from "d3-shape";
import { form, s, star } from "./dom.js";
import { apart, clamp, freest, linkOf, rowsOf, swarm, written } from "./numbers.js";
import { say } from "./words.js";

const QUIET = new Set(["other", "chance", "single"]); // their names stand small, on one line
const SILENT = new Set(["other", "chance"]); // lines without a live value
const isLive = (mark) => mark.kind === "line" && mark.label && !mark.near && !mark.dashed && !mark.bare && !SILENT.has(mark.role);
let images = 0; // counts masks, so that each has an id of its own

function scale(axis, from, to) {
  const made = axis.kind === "log" ? scaleLog() : scaleLinear();
  return made.domain([axis.low ?? 0, axis.high ?? 0]).range([from, to]);
}

// Where an axis has its ticks, of those that somebody named: none lies beyond its ends.
const inside = (axis, ticks) => ticks.map(([at]) => at).filter((at) => at >= (axis.low ?? 0) && at <= (axis.high ?? 0));

// An axis with room for some values; a logarithmic one has none for 0.
function withRoom(axis, values) {
  const all = [axis.low ?? 0, axis.high ?? 0, ...values.filter((value) => axis.kind !== "log" || value > 0)];
  return { ...axis, low: Math.min(...all), high: Math.max(...all) };
}

// How an axis writes its ticks: shares as per cent, the rest as short as it can be.
function texts(axis) {
  if (axis.ticks) {
    const named = new Map(axis.ticks);
    return (value) => named.get(value) ?? "";
  }
  if (axis.unit === "percent") return (value, index, all) => `${format(".3~g")(100 * value)}${index === all.length - 1 ? " %" : ""}`;
  return (value) => format(".4~g")(value).replace("-", "−");
}

export class Chart {
  // spec: as the kernel describes it; places: the positions of the slider's stops on this chart's x axis; stops: what
  // each of them is called.
  constructor(spec, places, stops = []) {
    this.spec = spec;
    this.places = places;
    this.stops = stops;
    this.marks = spec.marks.map((mark) => ({ ...mark, x: mark.x ?? places }));
    this.hasHandle = spec.marks.some((mark) => mark.kind === "handle");
    this.guessed = spec.marks.find((mark) => mark.kind === "star"); // where the learner's guess is drawn
    this.picking = spec.marks.find((mark) => mark.picks); // whose points a press chooses from
    this.answers = new Set(); // names of marks that wait for a guess, where there is one
    this.svg = s("svg", { class: "plot", "aria-hidden": "true" });
  }

  // Room right of the plot for the names at the ends of lines, in pixels of k = 1.
  margin(narrow) {
    const longest = Math.max(0, ...this.marks.map((mark) => mark.near || !mark.label || !["line", "reference"].includes(mark.kind) ? 0 : mark.label.length + (mark.kind === "reference" ? 6 : 0)));
    return narrow ? 16 : longest ? Math.min(200, Math.max(110, 26 + 7.6 * longest)) : 24;
  }

  // Whether all that this chart shows is an answer.
  get isAnswer() {
    const shown = this.marks.filter(({ kind }) => !["handle", "star", "reference"].includes(kind));
    return shown.length > 0 && shown.every(({ name }) => this.answers.has(name));
  }

  // Lay the axes out for a width; everything that does not move is drawn here. While a guess is asked for, its axis has
  // room for every guess (a logarithmic one has none for 0), and neither a map nor a chart of answers shows its scale:
  // a fitted axis would tell the answer. `asked` is that prediction, or null. It has room for all votes of a class, too.
  lay(width, k, narrow, right = this.margin(narrow), asked = null, votes = []) {
    const [x, axis] = [this.spec.x, this.spec.y].map((one) => ({ label: "", ...one }));
    const widened = asked && this.guessed && this.guessed.along !== "x";
    const guesses = !this.guessed || this.guessed.along === "x" ? [] : asked ? [asked.low, asked.high] : votes;
    const y = withRoom(axis, guesses);
    const isMute = asked && !widened && this.isAnswer;
    const map = this.marks.find((mark) => mark.kind === "map");
    const rows = map?.rows;
    const tall = this.spec.height ? this.spec.height : narrow ? 250 : 352;
    const names = Math.max(0, ...(y.ticks ?? []).map(([, text]) => text.length)); // letters left of the plot
    this.rows = narrow ? rowsOf(this.marks.filter(isLive), (width - 4) / k) : []; // live values stand above a narrow plot
    const under = (narrow && map && y.label ? 18 * k : 0) + 19 * k * this.rows.length; // a map's scale stands below the name of its axis where both do not fit
    const box = { left: (rows ? 92 : Math.max(52, 16 + 7 * names)) * k, right: right * k, top: 26 * k + under, bottom: (x.label.length >= 4 && !this.hasHandle ? 46 : 26) * k, width, height: tall * k + under };
    Object.assign(this, { box, k, narrow });
    this.x = scale(x, box.left, box.width - box.right);
    this.y = rows ? scaleLinear().domain([-0.5, rows.length - 0.5]).range([box.top, box.height - box.bottom])
      : scale(y, box.height - box.bottom, box.top);
    this.svg.setAttribute("viewBox", `0 0 ${width} ${box.height}`);
    this.svg.setAttribute("width", width);
    this.svg.setAttribute("height", box.height);
    const drawn = [s("g", { class: "y axis", transform: `translate(${box.left},0)` }),
      s("g", { class: "x axis", transform: `translate(0,${box.height - box.bottom})` }),
      s("text", { class: "name", x: 0, y: 12 * k }, y.label),
      s("text", { class: "name", x: box.left - 14 * k, y: box.height - box.bottom + 18 * k, "text-anchor": "end" }, x.label.length < 4 ? x.label : ""),
      s("g", { class: "ground" }), s("g", { class: "moving" }), s("g", { class: "over" }), s("g", { class: "labels" })];
    this.svg.replaceChildren(...drawn, ...(map && !asked ? this.ramp(map, under) : []));
    const numbersOf = (one, waits) => waits && !one.ticks ? () => "" : texts(one);
    const below = axisBottom(this.x).tickFormat(numbersOf(x, isMute && !this.hasHandle)).tickSizeOuter(0).tickSize(5 * k).tickPadding(5 * k);
    x.ticks ? below.tickValues(inside(x, x.ticks.filter(([, text]) => text))) : below.ticks(Math.max(3, Math.round(width / (110 * k))));
    select(this.svg).select(".x.axis").call(below);
    this.thin();
    if (x.label.length >= 4 && !this.hasHandle) {
      this.svg.append(s("text", { class: "name", x: (box.left + width - box.right) / 2, y: box.height - 6 * k, "text-anchor": "middle" }, x.label));
    }
    if (rows) {
      const cells = select(this.svg).select(".y.axis");
      rows.forEach((name, index) => cells.append(() => s("text", { x: -10 * k, y: this.y(index), dy: "0.35em", "text-anchor": "end" }, name)));
    } else {
      const beside = axisLeft(this.y).tickFormat(numbersOf(y, isMute)).tickSizeOuter(0).tickSize(-(width - box.left - box.right)).tickPadding(8 * k);
      y.ticks ? beside.tickValues(inside(y, y.ticks)) : beside.ticks(tall < 200 ? 3 : 5);
      select(this.svg).select(".y.axis").call(beside);
    }
    this.ground = this.svg.querySelector(".ground"); // maps, on which everything else lies
    this.cells = null; // what the ground shows
    this.moving = this.svg.querySelector(".moving");
    this.over = this.svg.querySelector(".over"); // values beside a curve, which no other curve may cross
    this.labels = this.svg.querySelector(".labels");
  }

  // Of the names below the x axis, those stay that have room; a long one, which somebody chose, before numbers.
  thin() {
    const taken = [];
    const ticks = [...this.svg.querySelectorAll(".x.axis .tick")].sort((one, other) => other.textContent.length - one.textContent.length);
    for (const tick of ticks) {
      const [middle, half] = [this.x(tick.__data__), (3.2 * tick.textContent.length + 2) * this.k];
      const isFree = taken.every(([left, right]) => middle + half < left || middle - half > right);
      if (isFree) taken.push([middle - half, middle + half]);
      else tick.querySelector("text").remove();
    }
  }

  // The scale of a map: from low to high, with a number at each end, above its right corner.
  ramp(map, under) {
    const { k, box } = this;
    const [end, wide, steps] = [box.width - box.right, 84 * k, 28];
    const beyond = this.short(map.high);
    const from = end - (8 + 7.4 * beyond.length) * k - wide;
    const high = s("text", { class: "name", x: from + wide + 8 * k, y: 12 * k }, beyond);
    const cells = Array.from({ length: steps }, (_, index) => s("rect", { class: "cell", x: from + index * wide / steps, y: 2 * k, width: wide / steps + 0.5, height: 12 * k, style: `--share: ${(index / (steps - 1)).toFixed(3)}` }));
    return [s("g", { class: "ramp", transform: `translate(0,${under})` }, s("text", { class: "name", x: from - 8 * k, y: 12 * k, "text-anchor": "end" }, this.short(map.low ?? 0)), cells, high)];
  }

  short(value) { return this.spec.y.unit === "percent" ? written(value, this.spec.y) : format(".3~g")(value); }

  // The y of a value, inside the axes; null where it cannot be drawn.
  at(value) {
    if (value === null || value === undefined) return null;
    if (this.spec.y.kind === "log" && value <= 0) return null;
    return this.y(value);
  }

  // Draw a frame's numbers. `stop` is the slider's index, or null; `hidden` names marks that wait for the guess; `guess`
  // is drawn as a star, unless it is null, and `votes` of a class as a swarm beside it.
  show(frame, stop, hidden, guess, votes = null) {
    const parts = [];
    const ends = [];
    this.nears = []; // values beside curves, which are placed when all that they keep clear of is known
    this.showMaps(frame, hidden);
    for (const mark of this.marks) {
      if (["handle", "star", "map"].includes(mark.kind) || hidden.has(mark.name)) continue;
      const nodes = [this[mark.kind](mark, frame.values[mark.name], stop, ends)].flat().filter(Boolean);
      const link = linkOf(mark);
      if (link) for (const node of nodes) node.dataset.link = link;
      if (this.answers.has(mark.name)) for (const node of nodes) node.classList.add("answer"); // by which tests find what waited
      parts.push(...nodes);
    }
    const handle = this.marks.find((mark) => mark.kind === "handle");
    if (handle && stop !== null) {
      const x = this.x(this.places[stop]);
      const cells = this.marks.find(({ kind }) => kind === "map");
      const wide = cells && (this.box.width - this.box.left - this.box.right) / frame.values[cells.name][0].length;
      if (cells) parts.push(s("rect", { class: "handle column", x: x - wide / 2, width: wide, y: this.box.top, height: this.box.height - this.box.bottom - this.box.top, rx: 4 }));
      else parts.push(s("line", { class: "handle", x1: x, x2: x, y1: this.box.top - 6 * this.k, y2: this.box.height - this.box.bottom + 6 * this.k }));
    }
    const mark = this.marks.find(({ kind }) => kind === "star");
    if (mark && votes) parts.push(...this.swarm(mark, votes, guess !== null));
    if (mark) parts.push(this.star(mark, guess));
    this.moving.replaceChildren(...parts.flat().filter(Boolean));
    const curves = this.narrow || this.nears.length ? [...this.drawnCurves(frame, hidden), ...this.spotNames()] : [];
    const taken = this.narrow ? curves : [...curves, ...this.writtenLines(ends)];
    this.over.replaceChildren(...this.nears.map((near) => this.beside(...near, taken)));
    this.name(ends, handle && stop !== null ? stop : null, curves);
    if (handle && stop !== null) this.boldTick(this.places[stop]);
  }

  // A map has hundreds of cells that seldom change with the slider: they are drawn again only where they are others, or
  // after a new layout.
  showMaps(frame, hidden) {
    const maps = this.marks.filter(({ kind, name }) => kind === "map" && !hidden.has(name));
    const cells = maps.map(({ name }) => frame.values[name]);
    if (this.cells?.length === cells.length && cells.every((one, index) => one === this.cells[index])) return;
    this.cells = cells;
    this.ground.replaceChildren(...maps.map((mark, index) => s("g", { class: this.answers.has(mark.name) ? "answer" : "cells" }, this.map(mark, cells[index]))));
  }

  boldTick(place) {
    for (const tick of this.svg.querySelectorAll(".x.axis .tick")) tick.classList.toggle("now", Math.abs(tick.__data__ - place) < 1e-9);
  }

  // -- marks: (mark, rows of numbers, slider's index, labels to be written) -> nodes ---------------------------------

  line(mark, [values], stop, ends) {
    const points = values.map((value, index) => [mark.x[index], value]);
    const path = line().defined(([, value]) => this.at(value) !== null).x(([x]) => this.x(x)).y(([, value]) => this.at(value));
    const d = path(points);
    const parts = [s("path", { class: `line ${mark.role}${mark.dashed ? " dashed" : ""}`, d }), s("path", { class: "near", d })];
    if (mark.dots) {
      for (const [x, value] of points) {
        if (this.at(value) !== null) parts.push(s("path", { class: `dot ${mark.role}`, d: form(mark.role, 3 * this.k), transform: `translate(${this.x(x)},${this.at(value)})` }));
      }
    }
    const live = stop !== null && mark.x.length > stop && this.hasHandle ? stop : values.findLastIndex((value) => value !== null);
    const value = values[live];
    if (value === undefined || value === null) return parts;
    if (mark.near && stop !== null) this.nears.push([mark, this.x(mark.x[live]), this.at(value), written(value, this.spec.y)]);
    if (this.hasHandle && stop !== null && !mark.dashed && mark.role !== "other") {
      parts.push(s("path", { class: `dot now ${mark.role}`, d: form(mark.role, 6 * this.k), transform: `translate(${this.x(mark.x[live])},${this.at(value)})` }));
    }
    if (mark.label && !mark.near) {
      const places = points.map(([x, one]) => [this.x(x), this.at(one)]).filter(([, y]) => y !== null);
      ends.push({ mark, y: places.at(-1)[1], places, value: mark.dashed || mark.bare || SILENT.has(mark.role) ? "" : written(value, this.spec.y) });
    }
    return parts;
  }

  // Lines and references as they run on the screen.
  drawnCurves(frame, hidden) {
    const { box } = this;
    return this.marks.filter(({ kind, name }) => ["line", "reference"].includes(kind) && !hidden.has(name)).map((mark) => {
      const [values] = frame.values[mark.name];
      if (mark.kind === "reference") return [box.left, box.width - box.right].map((x) => [x, this.at(values[0])]);
      return values.map((value, index) => [this.x(mark.x[index]), this.at(value)]);
    });
  }

  // The names of the axis and at the ends of lines, each as a straight piece through its middle.
  writtenLines(ends) {
    const { box, k } = this;
    const column = box.width - box.right + 14 * k;
    return [[[0, 8 * k], [6.8 * k * (this.spec.y.label ?? "").length, 8 * k]],
      ...ends.flatMap(({ y }) => [-6, 6].map((off) => [[column, y + off * k], [box.width, y + off * k]]))];
  }

  // The names of points, likewise.
  spotNames() {
    return [...this.moving.querySelectorAll(".spot-name")].flatMap((node) => {
      const [x, y, wide] = [Number(node.getAttribute("x")), Number(node.getAttribute("y")), 7 * node.textContent.length * this.k];
      const from = node.getAttribute("text-anchor") === "end" ? x - wide : x;
      return [-5, 5].map((off) => [[from, y + off * this.k], [from + wide, y + off * this.k]]);
    });
  }

  // Name and live value at a point of a line: above or below it, right or left, near or a little farther, where the
  // fewest curves run and the fewest names stand. In a narrow panel they stand above the plot.
  beside(mark, x, y, value, taken) {
    const { box, k } = this;
    const link = { "data-link": linkOf(mark) };
    if (this.narrow) {
      const hasRoom = 6.8 * `${this.spec.y.label ?? ""}${mark.label}${value}`.length < box.width / k - 16;
      return s("text", { class: `beside end ${mark.role}`, ...link, x: box.width, y: 12 * k, "text-anchor": "end" }, mark.label && hasRoom && `${mark.label} `, s("tspan", { class: "number" }, value));
    }
    const wide = Math.max(13.5 * value.length, 7.6 * (mark.label ?? "").length) * k;
    const tall = (mark.label ? 42 : 21) * k;
    const places = [10, 34].flatMap((apart) => [[1, -1], [-1, -1], [1, 1], [-1, 1]].map(([side, below]) => {
      const left = side > 0 ? x + apart * k : x - apart * k - wide;
      const top = below > 0 ? y + 12 * k : y - 10 * k - tall;
      return { at: x + apart * side * k, side, left, right: left + wide, top, bottom: top + tall };
    }));
    const room = { left: box.left, right: box.width, top: -8 * k, bottom: box.height - box.bottom };
    const { at, side, bottom } = places[freest(places, taken, room)];
    const place = { x: at, "text-anchor": side < 0 ? "end" : "start" };
    const answer = this.answers.has(mark.name) ? " answer" : "";
    return s("g", { class: `beside${answer}`, ...link }, mark.label ? s("text", { class: `end ${mark.role}`, ...place, y: bottom - 24 * k }, mark.label) : null,
      s("text", { class: `live ${mark.role}`, ...place, y: bottom - 2 * k }, value));
  }

  // Its name, if it has one, stands above its last point, on the side where there is room.
  path(mark, [xs, ys]) {
    const points = xs.map((x, index) => [x, ys[index]]).filter(([x, y]) => x !== null && y !== null)
      .map(([x, y]) => [this.x(x), this.y(y)]);
    const [x, y] = points.at(-1) ?? [0, 0];
    const isLeft = x <= (this.box.left + this.box.width - this.box.right) / 2;
    const isUpright = points.length > 1 && x === points.at(-2)[0]; // its name stands beside it, not on it
    return [s("path", { class: "halo", d: line()(points) }), s("path", { class: `line ${mark.role}`, d: line()(points) }),
      mark.label ? s("text", { class: "spot-name", x: x + (isLeft ? 8 : -8) * this.k, y: isUpright ? y : y - 7 * this.k, dy: isUpright ? "1em" : 0, "text-anchor": isLeft ? "start" : "end" }, mark.label) : null];
  }

  spots(mark, [xs, ys]) {
    if (mark.small) {
      const dots = xs.map((x, index) => x === null || ys[index] === null ? "" : `M${this.x(x).toFixed(1)} ${this.y(ys[index]).toFixed(1)}h0`);
      return [s("path", { class: `cloud ${mark.role}`, d: dots.join("") })];
    }
    const middle = (this.box.left + this.box.width - this.box.right) / 2;
    return xs.flatMap((value, index) => {
      if (value === null || ys[index] === null) return [];
      const [x, y, name] = [this.x(value), this.y(ys[index]), mark.names?.[index]];
      const side = x > middle ? -1 : 1;
      return [s("path", { class: `dot spot ${mark.role}`, d: form(mark.role, 7 * this.k), transform: `translate(${x},${y})` }),
        name ? s("text", { class: "spot-name", x: x + side * 12 * this.k, y, dy: "0.35em", "text-anchor": side < 0 ? "end" : "start" }, name) : null];
    });
  }

  band(mark, [low, high]) {
    const points = low.map((value, index) => [mark.x[index], value, high[index]]);
    const path = area().defined((point) => this.at(point[1]) !== null && this.at(point[2]) !== null)
      .x((point) => this.x(point[0])).y0((point) => this.at(point[1])).y1((point) => this.at(point[2]));
    return [s("path", { class: `band ${mark.role}`, d: path(points) })];
  }

  points(mark, [values, low, high], stop, ends) {
    const parts = [];
    values.forEach((value, index) => {
      const [x, y] = [this.x(mark.x[index]), this.at(value)];
      if (y === null) return;
      if (low && low[index] !== null) parts.push(s("path", { class: `error ${mark.role}`, d: `M${x} ${this.at(low[index])}V${this.at(high[index])}` }));
      parts.push(s("path", { class: `dot ${mark.role}`, d: form(mark.role, 6 * this.k), transform: `translate(${x},${y})` }));
      if (mark.written) parts.push(s("text", { class: `value ${mark.role}`, x, y: Math.min(y - 5 * this.k, high && high[index] !== null ? this.at(high[index]) : y) - 7 * this.k, "text-anchor": "middle" }, written(value, this.spec.y)));
    });
    return parts;
  }

  bars(mark, [values, low, high]) {
    const width = (mark.bare ? 0.8 : 0.56) * Math.abs(this.x(1) - this.x(0));
    const base = this.at(Math.max(this.spec.y.low ?? 0, this.spec.y.kind === "log" ? this.spec.y.low : 0));
    const parts = [];
    values.forEach((value, index) => {
      const [x, y] = [this.x(mark.x[index]), this.at(value)];
      if (y === null) return;
      parts.push(s("rect", { class: `bar ${mark.role}`, x: x - width / 2, width, y: Math.min(y, base), height: Math.abs(base - y), rx: mark.bare ? 0 : 2 }));
      if (mark.bare) return;
      if (low && low[index] !== null) parts.push(s("path", { class: "error bar", d: `M${x} ${this.at(low[index])}V${this.at(high[index])}` }));
      parts.push(s("text", { class: `value ${mark.role}`, x, y: Math.min(y, base, low && high[index] !== null ? this.at(high[index]) : Infinity) - 7 * this.k, "text-anchor": "middle" }, written(value, this.spec.y)));
    });
    return parts;
  }

  reference(mark, [[value]], stop, ends) {
    const y = this.at(value);
    if (y === null || y === undefined) return [];
    if (mark.label) ends.push({ mark, y, places: [[this.box.left, y], [this.box.width - this.box.right, y]], value: written(value, this.spec.y) });
    return [s("line", { class: `reference ${mark.role}`, x1: this.box.left, x2: this.box.width - this.box.right, y1: y, y2: y })];
  }

  // A guess beyond the axis stands at its end, with an arrow.
  star(mark, value) {
    if (mark.along === "x") return this.upright(value);
    const there = this.at(value);
    if (there === null || there === undefined) return [];
    const [top, bottom] = [this.box.top, this.box.height - this.box.bottom];
    const y = Math.min(bottom, Math.max(top, there));
    const beyond = there < top - 1 ? " ↑" : there > bottom + 1 ? " ↓" : "";
    return [s("path", { class: "star", d: star(10 * this.k), transform: `translate(${this.x(mark.x[0])},${y})` }),
      s("text", { class: "guess", x: this.x(mark.x[0]), y: y > bottom - 26 * this.k ? y - 16 * this.k : y + 24 * this.k, "text-anchor": "middle" }, `${say("your guess")}${beyond}`)];
  }

  // A guess that is a place on the x axis.
  upright(value) {
    if (value === null || value === undefined) return [];
    const [x, bottom] = [this.x(value), this.box.height - this.box.bottom];
    return [s("line", { class: "guessed", x1: x, x2: x, y1: this.box.top, y2: bottom }),
      s("text", { class: "guess", x, y: bottom - 10 * this.k, "text-anchor": "middle" }, say("your guess"))];
  }

  // The votes of a class, a dot each: in columns left and right of the star, or on one side where that has more room, or in
  // rows above the x axis where the guess is a place there. One beyond the axis stands at its end. Where there is no room
  // for all, they are smaller. Where there `isGuess`, its name stands free.
  swarm(mark, values, isGuess) {
    const { box, k } = this;
    const [left, right, top, bottom] = [box.left, box.width - box.right, box.top, box.height - box.bottom];
    const isAcross = mark.along === "x";
    const places = values.map((value) => isAcross ? clamp(this.x(value) || left, left, right) : clamp(this.at(value) ?? bottom, top, bottom));
    const from = isAcross ? bottom : this.x(mark.x[0]);
    const begin = (isAcross ? 6 : isGuess ? 42 : 18) * k;
    const rooms = (isAcross ? [bottom - top] : [right - from, from - left]).map((room) => room - begin);
    const sides = isAcross ? [-1] : Math.min(...rooms) > Math.max(...rooms) / 2 ? [1, -1] : rooms[0] > rooms[1] ? [1] : [-1];
    const room = sides.length * (sides.length > 1 ? Math.min(...rooms) : Math.max(...rooms));
    let gap = 9 * k;
    let columns = swarm(places, gap);
    while ((Math.max(0, ...columns) + sides.length) * gap > room && gap > 0.2) columns = swarm(places, gap *= 0.9);
    return places.map((place, index) => {
      const off = from + sides[columns[index] % sides.length] * (begin + gap * Math.floor(columns[index] / sides.length));
      return s("circle", { class: "voted", r: 0.45 * gap, cx: isAcross ? place : off, cy: isAcross ? off : place });
    });
  }

  // Cells with named rows have gaps between them; without names they fill the axes, so that other marks can lie on them.
  map(mark, cells) {
    const { box } = this;
    const [low, high] = [mark.low ?? 0, mark.high];
    const [wide, tall] = [(box.width - box.left - box.right) / cells[0].length, (box.height - box.top - box.bottom) / cells.length];
    const [gap, rx] = mark.rows ? [1, 2] : [-0.3, 0];
    return cells.flatMap((row, index) => row.map((value, column) => value === null ? null : s("rect", {
      class: "cell", x: box.left + column * wide + gap, y: box.top + index * tall + gap, width: Math.max(1, wide - 2 * gap), height: tall - 2 * gap, rx,
      style: `--share: ${clamp((value - low) / (high - low), 0, 1).toFixed(3)}`,
    })));
  }

  // Its grey is a mask over the colour of its role, so that a theme needs no other image.
  image(mark, address) {
    const [left, right, below, above] = mark.extent;
    const place = { x: this.x(left), y: this.y(above), width: this.x(right) - this.x(left), height: this.y(below) - this.y(above) };
    if (mark.photo) return [s("image", { class: "grey", href: address, preserveAspectRatio: "xMinYMid", ...place })];
    const id = `image-${images += 1}`;
    return [s("rect", { class: `fades ${mark.role}`, ...place }),
      s("mask", { id, maskUnits: "userSpaceOnUse", ...place }, s("image", { class: "grey", href: address, preserveAspectRatio: "none", ...place })),
      s("rect", { class: `stands ${mark.role}`, mask: `url(#${id})`, ...place })];
  }

  // Names and live values right of the plot, kept apart, below a head that says at which stop the values are.
  name(ends, stop, curves) {
    if (this.narrow) return this.nameNarrow(ends, stop, curves);
    const tall = ends.some(({ value, mark }) => value && !QUIET.has(mark.role));
    const gap = (tall ? 42 : 22) * this.k;
    const x = this.box.width - this.box.right + 14 * this.k;
    const places = apart(ends.map(({ y }) => y), gap, this.box.top + (tall ? 17 * this.k : 4), this.box.height - this.box.bottom - (tall ? 14 * this.k : 4));
    const head = stop !== null && tall ? [s("text", { class: "name", x, y: 12 * this.k }, this.stopName(stop))] : [];
    this.labels.replaceChildren(...head, ...ends.flatMap(({ mark, value }, index) => {
      const y = places[index];
      if (QUIET.has(mark.role) || mark.dashed || !value) {
        return [s("text", { class: `end ${mark.role}`, "data-link": linkOf(mark), x, y, dy: "0.35em" }, value ? [s("tspan", { class: "number" }, value), `  ${mark.label}`] : mark.label)];
      }
      return [s("g", { "data-link": linkOf(mark) }, s("text", { class: `live ${mark.role}`, x, y, dy: "0.1em" }, value),
        s("text", { class: `end ${mark.role}`, x, y: y + 16 * this.k, dy: "0.1em" }, mark.label))];
    }));
  }

  // In a narrow panel live values stand in rows above the plot. Other names stand in it, above or below their line where
  // the fewest curves run.
  nameNarrow(ends, stop, curves) {
    const { box, k } = this;
    const live = this.rows.flatMap((row, index) => row.map(({ mark, x }) => {
      const end = ends.find((one) => one.mark === mark);
      return end && s("text", { class: `end ${mark.role}`, "data-link": linkOf(mark), x: x * k, y: (31 + 19 * index) * k }, `${mark.label} `, s("tspan", { class: "number" }, end.value));
    })).filter(Boolean);
    const taken = [...curves, ...this.spotNames(), ...this.spotNames()]; // a name on a name is worse than one on a curve
    if (stop !== null) taken.push([[this.x(this.places[stop]), box.top], [this.x(this.places[stop]), box.height - box.bottom]]);
    const room = { left: box.left, right: box.width, top: box.top - 2 * k, bottom: box.height - box.bottom };
    const inside = ends.filter(({ mark }) => !isLive(mark)).map(({ mark, value, places }) => {
      const text = `${mark.label} ${value}`.trim();
      const wide = 7 * text.length * k;
      const at = places.length === 2 ? [1, 0.75, 0.5, 0.25, 0].map((share) => places[0].map((one, axis) => one + share * (places[1][axis] - one))) // a straight line
        : [1, 0.75, 0.5, 0.25, 0].map((share) => places[Math.round(share * (places.length - 1))]);
      const boxes = at.flatMap(([x, y]) => [y - 19 * k, y + 4 * k].map((top) => {
        const left = clamp(x - wide / 2, box.left + 2, box.width - box.right - wide);
        return { left, right: left + wide, top, bottom: top + 15 * k };
      }));
      const chosen = boxes[freest(boxes, taken, room)];
      taken.push([[chosen.left, chosen.top], [chosen.right, chosen.bottom]], [[chosen.left, chosen.bottom], [chosen.right, chosen.top]], [[chosen.left, chosen.top + 7 * k], [chosen.right, chosen.top + 7 * k]]);
      return s("text", { class: `end ${mark.role}`, "data-link": linkOf(mark), x: chosen.left, y: chosen.bottom - 3 * k }, text);
    });
    this.labels.replaceChildren(...live, ...inside);
  }

  // At which stop the live values are: "at α = 0.5".
  stopName(stop) {
    const { label } = this.spec.x;
    return label && label.length < 4 ? say("at {0} = {1}", label, this.stops[stop]) : say("at {0}", this.stops[stop]);
  }
}
