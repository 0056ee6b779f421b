// Weightspace's views: what anywidget asks for, and `page` for a file of its own, which needs no kernel.
import { Panel } from "./panel.js";

export { Panel };

export function page(el, state) {
  const listeners = new Map();
  const model = {
    get: (name) => state[name],
    set: (name, value) => { state[name] = value; },
    save_changes: () => {},
    on: (event, what) => listeners.set(event, what),
  };
  return new Panel(model, el);
}

export default {
  render({ model, el }) {
    const panel = new Panel(model, el);
    return () => panel.remove();
  },
};
