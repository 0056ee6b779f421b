// A view in the page: title, key, prediction, charts, slider, chips, numbers, how it was measured; in a shadow root.
import { Chart } from "./chart.js";
import { ClassBox } from "./class.js";
import { form, h, s } from "./dom.js";
import { register } from "./fonts.js";
import { Letters } from "./letters.js";
import { addressed, clamp, cleaned, Frames, MOST_LETTERS, nearest, nearestPoint, placesOf, spellings, tableOf, verdict, written } from "./numbers.js";
import STYLE from "./style.css";
import { followTheme } from "./theme.js";
import { say } from "./words.js";

const WIDE = 860; // px: two charts side by side
const MOST_CHIPS = 6;
const NARROW = 600; // px: live values go above the plot
const PATIENCE = 1500; // ms without an answer of the kernel, before the view says so
const QUIET_AFTER = 500; // ms without a move, before the live region speaks
const TYPING_PAUSE = 150; // ms without a key, before the kernel is asked for what was typed
const TAKES_ARROWS = "select, input, textarea";
const TYPING = "select, input[type=number], textarea"; // letters belong to these
const isFull = (event) => event.key === "f" && !event.ctrlKey && !event.metaKey && !event.altKey && !event.target.matches(TYPING);
const calm = () => matchMedia("(prefers-reduced-motion: reduce)").matches;

export class Panel {
  // `name` is that of the view in the page's address: "" where the page has no other, null where it has no address.
  constructor(model, el, name = null) {
    this.model = model;
    this.name = name;
    this.spec = model.get("spec");
    this.frames = new Frames();
    this.frames.add(model.get("frames"));
    this.positions = [...model.get("positions")];
    this.typed = model.get("typed") ?? "";
    this.asked = new Set();
    this.slider = this.spec.controls.findIndex((control) => control.name === this.spec.slider);
    const slider = this.spec.controls[this.slider];
    this.charts = this.spec.charts.map((chart) => new (chart.marks[0]?.kind === "letters" ? Letters : Chart)(chart, slider?.at ?? [], slider?.texts ?? []));
    for (const chart of this.charts) chart.answers = new Set(this.spec.hides);
    register();
    this.alone = this.spec.alone ?? Math.max(0, this.charts.findIndex((chart) => chart.hasHandle)); // the chart that a hall sees
    this.draft = this.spec.prediction?.before ?? null; // a guess that is not committed yet, or one that was when the notebook was open before
    el.dataset.lmSuppressShortcuts = "true"; // the notebook cannot see an input inside a shadow root and would take its keys
    this.host = el;
    el.classList.add("weightspace-view");
    this.root = el.shadowRoot ?? el.attachShadow({ mode: "open" });
    this.build();
    this.listen();
    this.lay();
    if (this.spec.prediction) model.send?.({ vote: "tell" });
  }

  // -- what is there --------------------------------------------------------------------------------------------------

  build() {
    const { spec } = this;
    this.title = h("h3", { class: "title" });
    this.key = h("div", { class: "key" });
    this.bar = h("div", { class: "prediction", hidden: !spec.prediction });
    this.class = new ClassBox((vote) => this.model.send?.({ vote }));
    this.tries = spec.tries.length ? this.buildTries() : null;
    this.live = h("div", { class: "heard", "aria-live": "polite" });
    this.boxes = this.charts.map((chart) => h("div", { class: "chart" }, chart.svg));
    this.says = h("div", { class: "says", role: "img" }); // in place of the charts, for those who do not see them
    this.stage = h("div", { class: "stage" }, this.boxes);
    this.rows = spec.controls.map((control, index) => index === this.slider ? null : { ...(control.kind === "typed" ? this.typing(control, index) : this.choices(control, index)), index }).filter(Boolean);
    const more = this.rows.filter((row) => row.more).map((row) => row.node);
    this.waits = h("p", { class: "waits-for", role: "status" });
    this.table = h("div", { class: "numbers", hidden: true, tabindex: 0, role: "region", "aria-label": say("All numbers") });
    this.alternatives = this.charts.length > 1 ? this.chartChips() : null;
    this.numbers = h("button", { type: "button", class: "quiet", "aria-expanded": "false", onclick: () => {
      this.table.hidden = !this.table.hidden;
      this.numbers.setAttribute("aria-expanded", String(!this.table.hidden));
      this.show();
    } }, say("All numbers"));
    const section = h("section", { class: "view" },
      spec.kicker && h("p", { class: "kicker" }, spec.kicker), this.title, this.key, this.bar, this.class.node, this.tries, this.says, this.alternatives, this.stage,
      this.rows.filter((row) => !row.more).map((row) => row.node),
      more.length ? h("details", {}, h("summary", {}, say("More")), more) : null, this.waits, this.table,
      h("div", { class: "foot" }, this.numbers, this.name !== null && this.linkButton(), spec.caption && h("details", {}, h("summary", {}, say("How measured")), h("p", {}, spec.caption))),
      this.live);
    if (this.slider >= 0) this.buildSlider();
    for (const chart of this.charts) if (chart.hasHandle || chart.guessed || chart.picking) this.drags(chart);
    this.root.replaceChildren(h("style", {}, STYLE), section);
    this.section = section;
  }

  // Up to six choices are chips, more are a menu.
  choices(control, index, chosen = (place) => this.go(index, place)) {
    if (control.texts.length > MOST_CHIPS) {
      const menu = h("select", { onchange: () => chosen(menu.selectedIndex) }, control.texts.map((text) => h("option", {}, text)));
      return { more: control.more, node: h("label", { class: "chips" }, h("span", { class: "legend" }, control.label), menu), show: (place) => { menu.selectedIndex = place; } };
    }
    const name = `${control.name}-${Math.random().toString(36).slice(2, 8)}`;
    const inputs = control.texts.map((text, place) => h("label", { class: "chip" },
      h("input", { type: "radio", name, value: place, onchange: () => chosen(place) }), h("span", {}, text)));
    const show = (place) => inputs.forEach((label, one) => { label.querySelector("input").checked = one === place; });
    return { more: control.more, node: h("fieldset", { class: "chips" }, h("legend", { class: "legend" }, control.label), inputs), show };
  }

  // A field for a sentence, above chips with ready ones. A page without a kernel has the chips, and among them what was
  // typed where it was saved. Text is never written into the field while somebody types there.
  typing(control, index) {
    const note = h("p", { class: "note", role: "status" });
    const isTyped = (place) => place === control.texts.length;
    if (!this.model.send) {
      note.textContent = say("To type a sentence of your own, open this panel in its notebook.");
      const { node, show, more } = this.choices({ ...control, label: say("Choose"), texts: isTyped(this.positions[index]) ? [...control.texts, this.typed] : control.texts }, index);
      return { more, show, node: [node, note] };
    }
    let waits = null;
    const typed = () => {
      clearTimeout(waits);
      waits = null;
      const text = cleaned(field.value);
      const ready = control.sentences.indexOf(text);
      this.goTo(this.positions.with(index, ready < 0 ? control.texts.length : ready), ready < 0 ? text : this.typed);
    };
    const field = h("textarea", { rows: 1, dir: "auto", spellcheck: "false", oninput: () => {
      const letters = [...field.value];
      note.textContent = letters.length > MOST_LETTERS ? say("Only the first {0} letters are used.", MOST_LETTERS) : "";
      if (letters.length > MOST_LETTERS) field.value = letters.slice(0, MOST_LETTERS).join("");
      clearTimeout(waits);
      waits = setTimeout(typed, TYPING_PAUSE);
    }, onkeydown: (event) => {
      if (event.key !== "Enter" || event.isComposing) return;
      event.preventDefault();
      typed();
    } });
    const { node, show, more } = this.choices({ ...control, label: say("or choose") }, index, (place) => { clearTimeout(waits); waits = null; this.go(index, place); });
    return { more, node: [h("label", { class: "typed" }, h("span", { class: "legend" }, control.label), field), note, node], show: (place) => {
      const text = isTyped(place) ? this.typed : control.sentences[place];
      if (!waits && cleaned(field.value) !== text) field.value = text;
      if (!isTyped(place)) note.textContent = "";
      show(place);
    } };
  }

  // What to do with the view, in order; the learner ticks off what is done.
  buildTries() {
    const boxes = this.spec.tries.map(() => h("input", { type: "checkbox", onchange: () => {
      this.model.set("ticked", [...boxes.keys()].filter((place) => boxes[place].checked));
      this.model.save_changes();
    } }));
    this.showTicks = () => boxes.forEach((box, place) => { box.checked = this.model.get("ticked").includes(place); });
    this.showTicks();
    return h("fieldset", { class: "tries" }, h("legend", { class: "legend" }, say("Try")),
      h("div", { class: "list" }, boxes.map((box, place) => h("label", { class: "try" }, box, h("span", {}, this.spec.tries[place])))));
  }

  // An address that opens this page at these settings. Where the browser gives no clipboard, it stands in the address bar.
  linkButton() {
    const button = h("button", { type: "button", class: "quiet", onclick: async () => {
      history.replaceState(null, "", `#${addressed(this.spec.controls, this.positions, this.name)}`);
      const copied = await navigator.clipboard?.writeText(location.href).then(() => true, () => false);
      button.textContent = copied ? say("Link copied") : say("The link is in the address bar");
      setTimeout(() => { button.textContent = say("Copy link"); }, 2000);
    } }, say("Copy link"));
    return button;
  }

  // In a hall one chart fills the screen, and a chip names each.
  chartChips() {
    const labels = spellings(this.spec.charts.map((chart) => chart.y.label ?? ""));
    const { node, show } = this.choices({ name: "chart", label: "chart", texts: labels }, null, (place) => { this.alone = place; this.lay(); });
    this.showPick = show;
    node.classList.add("pick");
    return node;
  }

  buildSlider() {
    const control = this.spec.controls[this.slider];
    this.range = h("input", { type: "range", class: "range", min: 0, max: control.texts.length - 1, step: 1, "aria-label": control.label,
      oninput: () => this.go(this.slider, Number(this.range.value)) });
    this.thumb = h("div", { class: "thumb", "aria-hidden": "true" });
    this.track = h("div", { class: "track", "aria-hidden": "true" });
    this.words = h("div", { class: "words", "aria-hidden": "true" });
    this.ends = control.ends.map(([role, text]) => h("div", { class: `end ${role}`, "aria-hidden": "true" }, text));
    this.notches = s("svg", { class: "notches", "aria-hidden": "true" });
    this.play = h("button", { type: "button", class: "play", "aria-label": say("Play once through"), onclick: () => this.sweep() }, s("svg", { viewBox: "0 0 16 16", "aria-hidden": "true" }, s("path", { d: "M4 2.5L13 8L4 13.5Z" })));
    this.rail = h("div", { class: "rail" }, this.play, this.track, this.notches, this.ends, this.words, this.range, this.thumb);
  }

  // Press or drag anywhere in the plot: the nearest measured stop. While a guess is asked for, the star moves instead.
  drags(chart) {
    const at = (event) => {
      const box = chart.svg.getBoundingClientRect();
      const [x, y] = [event.clientX - box.left, event.clientY - box.top];
      const asked = chart.guessed;
      if (this.asks) {
        if (asked) this.propose(clamp(asked.along === "x" ? chart.x.invert(x) : chart.y.invert(y), this.spec.prediction.low, this.spec.prediction.high));
      } else if (chart.picking) this.pick(chart, x, y);
      else if (this.slider >= 0 && chart.hasHandle) this.go(this.slider, nearest(chart.places.map((place) => chart.x(place)), x));
    };
    chart.svg.addEventListener("pointerdown", (event) => {
      if (event.button) return;
      chart.svg.setPointerCapture(event.pointerId);
      at(event);
    });
    chart.svg.addEventListener("pointermove", (event) => { if (chart.svg.hasPointerCapture(event.pointerId)) at(event); });
  }

  // Set the controls to the point of a chart that lies nearest to a press.
  pick(chart, x, y) {
    const { name, picks } = chart.picking;
    const numbers = this.frames.get(this.keyOf(this.positions))?.values[name];
    if (!numbers) return;
    const [xs, ys] = [chart.x, chart.y].map((scale, row) => numbers[row].map((value) => value === null ? null : scale(value)));
    const controls = picks.map((one) => this.spec.controls.findIndex((control) => control.name === one));
    const places = placesOf(nearestPoint(xs, ys, x, y), controls.map((index) => this.spec.controls[index].texts.length));
    this.goTo(this.positions.map((old, index) => controls.includes(index) ? places[controls.indexOf(index)] : old));
  }

  // -- what happens ---------------------------------------------------------------------------------------------------

  listen() {
    const changed = (name, what) => this.model.on(`change:${name}`, what);
    changed("positions", () => { this.positions = [...this.model.get("positions")]; this.show(); });
    changed("typed", () => { this.typed = this.model.get("typed"); this.show(); });
    changed("frames", () => { this.frames.clear(); this.asked.clear(); this.frames.add(this.model.get("frames")); this.show(); });
    changed("guess", () => this.reveal());
    changed("shown", () => this.reveal());
    changed("ticked", () => this.showTicks?.());
    this.model.on("msg:custom", (message) => {
      if (message.class) this.hear(message.class);
      if (!message.packed) return;
      this.awaits = false;
      this.frames.add(message.packed);
      if (this.hasStrayed) this.positions = [...this.model.get("positions")];
      this.show();
    });
    this.observer = new ResizeObserver(([entry]) => { if (Math.abs(entry.contentRect.width - this.width) > 1) this.lay(); });
    this.observer.observe(this.host);
    this.undress = followTheme(this.host);
    this.root.addEventListener("keydown", (event) => { if (isFull(event)) this.fullscreen(event); });
    this.section.addEventListener("pointerover", (event) => this.light(event.target.closest("[data-link]")?.dataset.link));
    this.section.addEventListener("pointerleave", () => this.light());
    document.addEventListener("fullscreenchange", this.filled = () => this.lay());
    document.addEventListener("keydown", this.pressed = (event) => this.stepped(event));
  }

  // On a full screen the arrows move the slider, wherever the focus is, unless a control takes them.
  stepped(event) {
    if (isFull(event) && document.fullscreenElement === this.host && !event.composedPath().includes(this.host)) return this.fullscreen(event); // what had the focus is hidden
    const by = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!by || document.fullscreenElement !== this.host || this.root.activeElement?.matches(TAKES_ARROWS) || this.slider < 0 || this.asks) return;
    event.preventDefault();
    this.go(this.slider, clamp(this.positions[this.slider] + by, 0, this.spec.controls[this.slider].texts.length - 1));
  }

  remove() {
    this.observer.disconnect();
    this.undress();
    document.removeEventListener("fullscreenchange", this.filled);
    document.removeEventListener("keydown", this.pressed);
    cancelAnimationFrame(this.playing);
    clearTimeout(this.impatient);
  }

  fullscreen(event) {
    event.preventDefault();
    document.fullscreenElement ? document.exitFullscreen() : this.host.requestFullscreen?.();
  }

  get asks() { return Boolean(this.spec.prediction) && this.model.get("guess") === null && !this.model.get("shown"); }

  go(control, place) {
    this.goTo(this.positions.map((old, index) => index === control ? place : old));
  }

  goTo(positions, typed = this.typed) {
    if (typed === this.typed && positions.every((place, index) => place === this.positions[index])) return;
    this.positions = positions;
    this.typed = typed;
    this.hasStrayed = false;
    if (this.model.get("typed") !== typed) this.model.set("typed", typed);
    this.model.set("positions", this.positions);
    this.model.save_changes();
    this.show();
  }

  // Once through all stops in two seconds, and back to where it began. Without motion, a quarter further for each press.
  sweep() {
    const stops = this.spec.controls[this.slider].texts.length;
    const began = this.positions[this.slider];
    if (calm()) {
      this.go(this.slider, (began + Math.max(1, Math.round(stops / 4))) % stops);
      return;
    }
    cancelAnimationFrame(this.playing);
    const start = performance.now();
    const step = (now) => {
      const share = (now - start) / 2000;
      this.go(this.slider, share < 1 ? Math.min(stops - 1, Math.floor(share * stops)) : began);
      if (share < 1) this.playing = requestAnimationFrame(step);
    };
    this.playing = requestAnimationFrame(step);
  }

  // -- the prediction -------------------------------------------------------------------------------------------------

  propose(value) {
    const { low, step } = this.spec.prediction;
    this.draft = Number((low + Math.round((value - low) / step) * step).toPrecision(12));
    this.show();
  }

  commit() {
    if (this.draft === null) return;
    this.model.set("guess", this.draft);
    this.model.save_changes();
    this.reveal();
  }

  reveal() {
    if (!this.asks) this.isAsked(true);
    this.fresh = !calm();
    this.lay();
    this.fresh = false;
  }

  // What the kernel says of the class that votes. Charts are laid out anew where there is a code more or less, which takes
  // room in a hall, or votes that an axis must have room for.
  hear(state) {
    const laid = () => `${this.class.node.className} ${this.class.state?.votes}`;
    const before = laid();
    this.class.state = state;
    this.class.show(this.asks, this.axisOfGuess);
    before === laid() ? this.show() : this.lay();
  }

  get axisOfGuess() {
    const asked = this.charts.find((chart) => chart.guessed) ?? this.charts[0];
    return asked.spec[asked.guessed?.along ?? "y"];
  }

  showBar() {
    const { prediction } = this.spec;
    if (!prediction) return;
    const axis = this.axisOfGuess;
    const percent = axis.unit === "percent";
    const state = `${this.asks}${this.model.get("guess")}`;
    if (this.asks) {
      if (this.barState !== state) {
        this.number = h("input", { type: "number", "aria-label": say("your guess"), min: percent ? 100 * prediction.low : prediction.low, max: percent ? 100 * prediction.high : prediction.high, step: percent ? 1 : prediction.step,
          oninput: () => { if (this.number.value !== "") this.propose(clamp(this.number.valueAsNumber / (percent ? 100 : 1), prediction.low, prediction.high)); },
          onkeydown: (event) => { if (event.key === "Enter") this.commit(); } });
        this.button = h("button", { type: "button", class: "commit", onclick: () => this.commit() }, say("Commit"));
        const anyway = h("button", { type: "button", class: "quiet", onclick: () => { this.model.set("shown", true); this.model.save_changes(); this.reveal(); } }, say("Just show me"));
        this.bar.replaceChildren(h("span", { class: "say" }, (prediction.before ?? null) === null ? say("Drag in the plot, or type: ") : say("You guessed this before. Commit it, drag, or type: ")), h("span", { class: "field" }, this.number, percent ? " %" : ""), this.button, anyway);
      }
      this.button.disabled = this.draft === null;
      if (this.draft !== null && this.root.activeElement !== this.number) this.number.value = percent ? Math.round(100 * this.draft) : this.draft;
    } else if (this.barState !== state) {
      const guess = this.model.get("guess");
      const { truth } = prediction;
      const told = guess === null ? say("Shown without a guess.") : [h("b", {}, verdict(guess, truth, prediction.high - prediction.low, percent)), say(" You said {0}. Measured: {1}.", written(guess, axis), written(truth, axis))];
      this.bar.replaceChildren(h("span", {}, told),
        h("button", { type: "button", class: "quiet", onclick: () => { this.draft = guess; this.model.set("guess", null); this.model.set("shown", false); this.model.save_changes(); this.reveal(); } }, say("Guess again")));
    }
    this.barState = state;
  }

  // -- drawing --------------------------------------------------------------------------------------------------------

  lay() {
    const wide = this.host.clientWidth || 900;
    const filled = document.fullscreenElement === this.host;
    const hall = filled || this.spec.alone !== undefined;
    const higher = Math.max(0, (this.charts[this.alone].spec.height ?? 0) - 352) + (this.spec.prediction ? 45 : 0) + (this.asks && this.class.node.classList.contains("serves") ? 200 : 0); // than most
    const k = hall ? Math.max(0.6, Math.min(wide / 960, innerHeight / ((filled ? 640 : 700) + higher))) : 1;
    this.width = wide;
    this.section.classList.toggle("hall", hall);
    this.host.classList.toggle("hall", hall);
    const shown = this.charts.filter((chart, index) => !hall || index === this.alone);
    this.charts.forEach((chart, index) => { this.boxes[index].hidden = !shown.includes(chart); });
    this.handled = shown.find((chart) => chart.hasHandle) ?? shown[0];
    const box = this.boxes[this.charts.indexOf(this.handled)];
    if (this.slider >= 0 && this.rail.parentNode !== box) box.append(this.rail);  // put there anew, it would lose the focus
    this.showPick?.(this.alone);
    this.host.style.setProperty("--k", k);
    const inner = Math.min(wide, hall ? wide : 1064) - 2 * (wide < NARROW ? 16 : 32) * k;
    const { stacked } = this.spec;
    const beside = shown.length > 1 && inner >= WIDE - 64 && !stacked;
    const right = stacked && !hall ? Math.max(...this.charts.map((chart) => chart.margin(wide < NARROW))) : undefined;
    const gap = 28 * k;
    this.stage.classList.toggle("beside", beside);
    this.section.classList.toggle("narrow", wide < NARROW);
    shown.forEach((chart) => {
      const share = beside ? (inner - gap * (this.charts.length - 1)) / this.charts.length : inner;
      chart.lay(Math.max(240, share), k, wide < NARROW, right, this.asks ? this.spec.prediction : null, this.class.state?.votes ?? []);
    });
    if (this.slider >= 0) this.laySlider(k);
    this.show();
  }

  laySlider(k) {
    const chart = this.handled;
    const { left, right, width } = chart.box;
    const count = this.spec.controls[this.slider].texts.length;
    const stops = chart.hasHandle ? chart.places.map((place) => chart.x(place)) // else as wide as the chart
      : Array.from({ length: count }, (_, index) => left + (width - left - right) * index / Math.max(1, count - 1));
    Object.assign(this, { stops, k });
    const [first, last] = [stops[0], stops.at(-1)];
    this.rail.style.height = `${58 * k}px`;
    Object.assign(this.track.style, { left: `${first - 6 * k}px`, width: `${last - first + 12 * k}px` });
    Object.assign(this.range.style, { left: `${first - 12 * k}px`, width: `${last - first + 24 * k}px` });
    Object.assign(this.play.style, { left: `${Math.max(0, first - 48 * k)}px` });
    const hasRoom = (last - first) / Math.max(1, stops.length - 1) > 4 * k; // else they would be one bar
    this.notches.replaceChildren(...(hasRoom ? stops : []).map((x) => s("line", { x1: x, x2: x, y1: 0, y2: 5 * k })));
    this.notches.setAttribute("width", last + 2);
    this.notches.setAttribute("height", 6 * k);
    if (this.ends[0]) this.ends[0].style.left = `${first - 6 * k}px`;
    if (this.ends[1]) Object.assign(this.ends[1].style, { left: `${last + 6 * k}px`, transform: "translateX(-100%)" });
  }

  show() {
    this.host.dataset.wanted = this.keyOf(this.positions);
    const frame = this.frames.get(this.keyOf(this.positions));
    clearTimeout(this.impatient);
    if (!frame) {
      this.impatient = setTimeout(() => this.giveUp(), PATIENCE);
      this.ask();
      return;
    }
    this.waits.textContent = "";
    const asks = this.asks;
    this.class.show(asks, this.axisOfGuess);
    const hidden = new Set(asks ? this.spec.hides : []);
    const stop = this.slider < 0 ? null : this.positions[this.slider];
    this.title.textContent = asks ? this.spec.prediction.question.replaceAll("**", "") : frame.title;
    const isAsked = !asks && this.isAsked();
    const votes = isAsked && this.class.state?.votes?.length ? this.class.state.votes : null;
    const ofClass = votes ? [h("span", {}, s("svg", { viewBox: "-6 -6 12 12", "aria-hidden": "true" }, s("circle", { class: "voted", r: 4.2 })), "the class")] : [];
    this.key.replaceChildren(...frame.key.filter(([role]) => role || !asks).map(([role, text]) => h("span", { class: role, "data-link": role || null }, role && s("svg", { viewBox: "-6 -6 12 12", "aria-hidden": "true" }, s("path", { d: role === "single" ? "M-6 -1.4h12v2.8h-12Z" : form(role, 4.6) })), text)), ...ofClass);
    const guess = asks ? this.draft : isAsked ? this.model.get("guess") : null;
    this.charts.forEach((chart, index) => { if (!this.boxes[index].hidden) chart.show(frame, stop, hidden, guess, votes); });
    this.section.classList.toggle("fresh", Boolean(this.fresh));
    this.says.setAttribute("aria-label", asks ? say("The charts wait for your guess.") : [`${frame.title}. ${frame.alt}`, votes && this.class.said].filter(Boolean).join(" "));
    if (this.slider >= 0) this.showSlider(stop);
    for (const row of this.rows) row.show(this.positions[row.index]);
    this.showBar();
    this.numbers.hidden = asks; // they would tell the answer
    if (this.tries) this.tries.hidden = asks; // first the guess
    this.table.classList.toggle("waits", asks);
    if (!this.table.hidden && !asks) this.showNumbers(frame, stop);
    this.light(this.lit);
    this.speak(asks ? this.class.said : frame.title);
    this.host.dataset.shown = this.keyOf(this.positions);
    this.prefetch();
  }

  // No kernel answers. A view that has shown nothing yet shows what the notebook keeps, until an answer comes after all.
  giveUp() {
    this.awaits = false;
    const kept = [...this.frames.known.keys()].find((key) => !key.includes("“"));
    if (!("shown" in this.host.dataset) && kept) {
      this.positions = kept.split(",").map(Number);
      this.hasStrayed = true;
      this.show();
    }
    this.waits.textContent = this.model.send ? say("This setting waits for the notebook’s kernel. If none is running, run the cells above.")
      : say("This page does not have this setting. Open the notebook in JupyterLab to see it.");
  }

  // Whether the view stands where the question was about; move it there if `go` is true.
  isAsked(go = false) {
    const at = Object.entries(this.spec.prediction?.at ?? {}).map(([name, place]) => [this.spec.controls.findIndex((control) => control.name === name), place]);
    if (go) for (const [index, place] of at) this.go(index, place);
    return at.every(([index, place]) => this.positions[index] === place);
  }

  showSlider(stop) {
    const control = this.spec.controls[this.slider];
    const x = this.stops[stop];
    this.range.value = stop;
    this.range.setAttribute("aria-valuetext", control.words[stop]);
    this.thumb.style.left = `${x}px`;
    this.words.textContent = control.words[stop];
    const half = this.words.offsetWidth / 2;
    const at = clamp(x, this.stops[0] - 6 * this.k + half, this.stops.at(-1) + 6 * this.k - half);
    this.words.style.left = `${at}px`;
    const [left, right] = this.ends; // end labels give way to the words
    if (left) left.style.visibility = at - half < this.stops[0] + left.offsetWidth + 8 ? "hidden" : "visible";
    if (right) right.style.visibility = at + half > this.stops.at(-1) - right.offsetWidth - 8 ? "hidden" : "visible";
  }

  // Everything in the charts, in the key and in the tables that stands for the same thing: it stays, the rest grows pale.
  light(link) {
    this.lit = link;
    const linked = [...this.section.querySelectorAll("[data-link]")];
    const isKnown = linked.some((node) => node.dataset.link === link) && linked.some((node) => node.dataset.link !== link);
    for (const node of linked) node.classList.toggle("pale", isKnown && node.dataset.link !== link);
  }

  // A table for each chart: a row for each place on its x axis, a column for each mark.
  showNumbers(frame, stop) {
    const tables = this.charts.map((chart) => ({ chart, ...tableOf(chart, frame.values) })).filter(({ rows }) => rows.length).map(({ chart, caption, head, links, rows }) => h("table", {},
      h("caption", {}, caption),
      h("thead", {}, h("tr", {}, head.map((text, column) => h("th", { scope: "col", "data-link": links[column - 1] }, text)))),
      h("tbody", {}, rows.map(({ place, name, cells }) => h("tr", { class: chart.hasHandle && stop !== null && place === chart.places[stop] ? "now" : "" },
        h("th", { scope: "row" }, name), cells.map((text, column) => h("td", { "data-link": links[column] }, text)))))));
    this.table.replaceChildren(h("p", {}, frame.alt), ...tables);
  }

  // Half a second after the last move, so that nothing is said twice.
  speak(text) {
    clearTimeout(this.speaking);
    this.speaking = setTimeout(() => { if (this.live.textContent !== text) this.live.textContent = text; }, QUIET_AFTER);
  }

  // What a frame is found by: its positions, with a typed text in place of the position behind the ready ones.
  keyOf(positions) {
    return positions.map((place, index) => this.isTyped(place, index) ? `“${this.typed}` : place).join(",");
  }

  isTyped(place, index) { return this.spec.controls[index].kind === "typed" && place === this.spec.controls[index].texts.length; }

  // While an answer to a typed text is awaited, no other is asked for; when it comes, the newest text is.
  ask() {
    const along = this.keyOf(this.positions);
    const isTyped = this.positions.some((place, index) => this.isTyped(place, index));
    if (this.asked.has(along) || isTyped && this.awaits) return;
    this.awaits = isTyped;
    this.asked.add(along);
    this.model.send?.({ along: [this.positions], typed: this.typed });
  }

  // What lies one chip away is asked for while the reader looks, so that it is here when it is pressed.
  prefetch() {
    const wanted = [];
    if (this.positions.some((place, index) => this.isTyped(place, index))) return; // somebody may type on
    this.spec.controls.forEach((control, index) => {
      if (index === this.slider || control.kind === "typed") return;
      control.texts.forEach((_, place) => {
        const there = this.positions.map((old, one) => one === index ? place : old);
        const name = there.filter((_, one) => one !== this.slider).join(",");
        if (!this.frames.get(there) && !this.asked.has(`row ${name}`)) {
          this.asked.add(`row ${name}`);
          wanted.push(there);
        }
      });
    });
    if (wanted.length) this.model.send?.({ along: wanted });
  }
}
