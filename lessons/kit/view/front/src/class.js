// A class that votes, below the question of a view: the address as a code for the cameras of phones, how many have voted,
// and once the answer is shown, what they said. The page has the votes from then on and not before.
import { h, s } from "./dom.js";
import { summed, votes } from "./numbers.js";

const QUIET_ZONE = 4; // modules of white around a code, which cameras need

export class ClassBox {
  // `send` tells the kernel "tell", "close" or "open".
  constructor(send) {
    this.state = null; // what the kernel said last
    this.picture = h("button", { type: "button", class: "code", "aria-pressed": "false", "aria-label": "The address as a code for cameras. Press to enlarge it.", onclick: () => {
      const isLarge = this.node.classList.toggle("large");
      this.picture.setAttribute("aria-pressed", String(isLarge));
    } });
    this.count = h("p", { class: "count" });
    this.where = h("p", {}, "Phones in the same network vote at ", this.address = h("b", { class: "address" }));
    this.note = h("p", { class: "note" });
    this.switch = h("button", { type: "button", class: "switch", onclick: () => send(this.state.open ? "close" : "open") });
    this.node = h("div", { class: "class", hidden: true }, this.picture, h("div", {}, this.count, this.where, this.note, this.switch));
  }

  // What a screen reader hears of it.
  get said() { return this.node.hidden ? "" : this.count.textContent; }

  // `asks` is whether the answer is hidden; `axis` that of the guess.
  show(asks, axis) {
    const { state } = this;
    this.node.hidden = !state || (state.ended && !state.count);
    if (this.node.hidden) return;
    const serves = asks && !state.ended;
    for (const part of [this.picture, this.where, this.switch]) part.hidden = !serves;
    this.node.classList.toggle("serves", serves);
    this.count.textContent = asks || !state.votes ? votes(state.count) : `The class: ${summed(state.votes, axis)}`;
    this.address.textContent = state.address;
    this.note.textContent = serves && state.turned_away ? `${votes(state.turned_away)} did not count, because more than ${state.most} phones voted from one address within ten minutes. If your class is larger, call ask_class(class_size=…) again.`
      : asks && !state.open ? "The vote is closed." : "";
    this.switch.textContent = state.open ? "Close the vote" : "Open the vote again";
    if (this.drawn !== state.code.path) this.draw(state.code);
  }

  draw({ size, path }) {
    this.drawn = path;
    const whole = size + 2 * QUIET_ZONE;
    this.picture.replaceChildren(s("svg", { viewBox: `${-QUIET_ZONE} ${-QUIET_ZONE} ${whole} ${whole}`, "shape-rendering": "crispEdges", "aria-hidden": "true" },
      s("rect", { class: "light", x: -QUIET_ZONE, y: -QUIET_ZONE, width: whole, height: whole }), s("path", { class: "dark", d: path })));
  }
}
