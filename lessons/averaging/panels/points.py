"""Dots of a panel's still picture that can be asked for their names, and chosen."""
import anywidget
import numpy as np
import traitlets


class Points(anywidget.AnyWidget):
    """Names for the dots of a panel's still picture: resting the mouse on one shows its text, a click chooses it.

    Traits: `places`, [[x, y], …] in shares of the picture's width and height, from its upper left corner; `texts`, one
    a dot; `chosen`, the number of the dot that was clicked.
    """
    _esm = """
    export default { render({ model, el }) {
      const NS = "http://www.w3.org/2000/svg", svg = document.createElementNS(NS, "svg");
      svg.setAttribute("class", "points");
      svg.setAttribute("aria-hidden", "true");  // the slider says the same
      svg.style.cssText = "position:absolute;inset:0;width:100%;height:100%";
      model.get("places").forEach(([x, y], index) => {
        const dot = document.createElementNS(NS, "circle"), title = document.createElementNS(NS, "title");
        const look = { cx: `${100 * x}%`, cy: `${100 * y}%`, r: 4, fill: "transparent" };
        for (const [name, value] of Object.entries(look)) dot.setAttribute(name, value);
        title.textContent = model.get("texts")[index];
        dot.append(title);
        dot.addEventListener("click", () => { model.set("chosen", index); model.save_changes(); });
        svg.append(dot);
      });
      const attach = (triesLeft) => {
        const stage = el.closest(".weightspace-panel")?.querySelector(".stage");
        if (stage) stage.append(svg);
        else if (triesLeft) setTimeout(() => attach(triesLeft - 1), 100);
      };
      attach(30);
      return () => svg.remove();
    } };
    """
    places = traitlets.List().tag(sync=True)
    texts = traitlets.List().tag(sync=True)
    chosen = traitlets.Int(-1).tag(sync=True)


def places_of(ax, x: np.ndarray, y: np.ndarray) -> list[list[float]]:
    """Where data points of some axes lie, as `Points` counts."""
    pixels = ax.transData.transform(np.column_stack([x, y]))
    shares = ax.figure.transFigure.inverted().transform(pixels)
    return [[round(float(right), 4), round(float(1 - up), 4)] for right, up in shares]
