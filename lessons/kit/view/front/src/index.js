// Weightspace's views and questions: what anywidget asks for, and `page` for a page that needs no kernel. Its address can
// name the settings of a view's controls. `kind` of the spec says what is shown.
import { foundIn } from "./numbers.js";
import { Panel } from "./panel.js";
import { Quiz } from "./quiz.js";
import { say } from "./words.js";

export { Panel, say };

// Shows a widget's state in an element. `name` is that of a view on a page with several; `changed` is told the name of
// what the reader changed: a guess, a position, a choice.
export function page(el, state, name = "", changed = () => {}) {
  const model = {
    get: (trait) => state[trait],
    set: (trait, value) => { state[trait] = value; changed(trait); },
    save_changes: () => {},
    on: () => {},
  };
  if (state.spec.kind === "quiz") return new Quiz(model, el);
  const { controls, prediction } = state.spec;
  if (!prediction || state.guess !== null || state.shown) state.positions = foundIn(location.hash, controls, state.positions, name);
  const panel = new Panel(model, el, name);
  addEventListener("hashchange", () => panel.goTo(foundIn(location.hash, controls, panel.positions, name)));
  return panel;
}

export default {
  render({ model, el }) {
    const shown = model.get("spec").kind === "quiz" ? new Quiz(model, el) : new Panel(model, el);
    return () => shown.remove();
  },
};
