// Weightspace's views and questions: what anywidget asks for, and `page` for a file of its own, which needs no kernel. The
// address of a view's file can name the settings of its controls. `kind` of the spec says what is shown.
import { foundIn } from "./numbers.js";
import { Panel } from "./panel.js";
import { Quiz } from "./quiz.js";

export { Panel };

export function page(el, state) {
  const listeners = new Map();
  const model = {
    get: (name) => state[name],
    set: (name, value) => { state[name] = value; },
    save_changes: () => {},
    on: (event, what) => listeners.set(event, what),
  };
  if (state.spec.kind === "quiz") return new Quiz(model, el);
  const { controls, prediction } = state.spec;
  if (!prediction || state.guess !== null || state.shown) state.positions = foundIn(location.hash, controls, state.positions);
  const panel = new Panel(model, el, true);
  addEventListener("hashchange", () => panel.goTo(foundIn(location.hash, controls, panel.positions)));
  return panel;
}

export default {
  render({ model, el }) {
    const shown = model.get("spec").kind === "quiz" ? new Quiz(model, el) : new Panel(model, el);
    return () => shown.remove();
  },
};
