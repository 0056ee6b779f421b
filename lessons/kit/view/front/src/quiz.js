// A question with choices in the page. A press on a choice shows the sentence that belongs to it; all sentences are here
// from the beginning, so no kernel is needed. In a shadow root, as a view.
import { h } from "./dom.js";
import { register } from "./fonts.js";
import { neighbour } from "./numbers.js";
import STYLE from "./style.css";
import { followTheme } from "./theme.js";

// Python has escaped what it sends as HTML.
function written(node, page) {
  node.innerHTML = page;
  return node;
}

export class Quiz {
  constructor(model, el) {
    this.model = model;
    const { kicker, question, choices } = model.get("spec");
    this.choices = choices;
    register();
    el.dataset.lmSuppressShortcuts = "true"; // the notebook would take the keys
    el.classList.add("weightspace-quiz");
    this.host = el;
    const root = el.shadowRoot ?? el.attachShadow({ mode: "open" });
    this.buttons = choices.map(({ text }, place) => h("button", { type: "button", class: "choice", "aria-pressed": "false", onclick: () => this.choose(place) },
      h("span", { class: "mark", "aria-hidden": "true" }), written(h("span", {}), text)));
    this.answers = choices.map(() => h("p", { class: "answer", "aria-live": "polite" }));
    const group = h("div", { class: "choices", role: "group", "aria-labelledby": "question", onkeydown: (event) => this.step(event) },
      choices.map((_, place) => h("div", { class: "answered" }, this.buttons[place], this.answers[place])));
    root.replaceChildren(h("style", {}, STYLE), h("section", { class: "view quiz" },
      h("p", { class: "kicker" }, kicker), written(h("h3", { class: "title", id: "question" }), question), group));
    this.undress = followTheme(el);
    model.on("change:chosen", () => this.show());
    this.show();
  }

  remove() { this.undress(); }

  choose(place) {
    this.model.set("chosen", place);
    this.model.save_changes();
    this.show();
  }

  // An arrow moves the focus and answers nothing.
  step(event) {
    const place = neighbour(event.key, this.buttons.indexOf(event.target.closest("button")), this.buttons.length);
    if (place === null) return;
    event.preventDefault();
    this.buttons[place].focus();
  }

  show() {
    const chosen = this.model.get("chosen");
    this.choices.forEach(({ right, sign, word, answer }, place) => {
      const isChosen = place === chosen;
      this.buttons[place].setAttribute("aria-pressed", String(isChosen));
      this.buttons[place].querySelector(".mark").textContent = isChosen ? sign : "";
      this.buttons[place].parentNode.className = isChosen ? `answered ${right ? "right" : "wrong"}` : "answered";
      this.answers[place].replaceChildren(...(isChosen ? [h("b", {}, word), " ", written(h("span", {}), answer)] : []));
    });
    this.host.dataset.chosen = chosen ?? "";
  }
}
