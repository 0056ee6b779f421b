// A chart that is a text: each letter has its value as colour behind it, with a line under it above 0 and a line above it
// below 0. HTML breaks the lines; every letter becomes text and never HTML.
import { Chart } from "./chart.js";
import { h } from "./dom.js";

export class Letters extends Chart {
  constructor(...about) {
    super(...about);
    const [{ name, ends }] = this.marks;
    this.name = name;
    this.text = h("p", { class: "text", dir: "auto" });
    const scale = h("span", { class: "scale" }, h("span", { class: "b" }, `${ends[0]} −1`), h("span", { class: "gradient" }), h("span", { class: "a" }, `1 ${ends[1]}`));
    this.svg = h("div", { class: "lettered", "aria-hidden": "true" }, h("p", { class: "head" }, h("span", {}, this.spec.y.label), scale), this.text);
  }

  // A slider below it is as wide as one below axes.
  lay(width, k) {
    Object.assign(this, { k, box: { left: 52 * k, right: 24 * k, width } });
    this.svg.style.width = `${width}px`;
    this.text.style.minHeight = `${(this.spec.height ?? 0) * k}px`;
  }

  show(frame, stop, hidden) {
    const [text, values] = hidden.has(this.name) ? ["", []] : frame.values[this.name];
    this.text.replaceChildren(...[...text].map((one, place) => letter(one, values[place])));
    this.text.classList.toggle("answer", this.answers.has(this.name)); // by which tests find what waited
  }
}

const letter = (text, value) => h("span", { class: value > 0 ? "a" : value < 0 ? "b" : null, style: value ? `--share: ${Math.abs(value)}` : null }, text === "\n" ? "¶\n" : text);
