"""What a screen reader says of a slider of ipywidgets."""
import anywidget


class Handles(anywidget.AnyWidget):
    """Names the sliders of the panel or prediction in which it lies, and says their values as the page shows them.

    ipywidgets gives a slider's handle no accessible name, and a `SelectionSlider`'s the number of its place as value.
    This takes both from the label and the read-out that stand beside the handle. Nothing of it is seen.
    """
    _esm = """
    export default { render({ el }) { el.style.display = "none"; attach(el, 50); } };
    function attach(el, triesLeft) {
      const box = el.closest(".weightspace-panel, .weightspace-prediction");
      const sliders = box ? [...box.querySelectorAll(".widget-slider")] : [];
      const there = box && sliders.every((slider) => slider.querySelector(".noUi-handle"));
      if (there) sliders.forEach(watch);
      else if (triesLeft) setTimeout(() => attach(el, triesLeft - 1), 100);
    }
    function watch(slider) {
      const handle = slider.querySelector(".noUi-handle");
      const say = () => {
        const said = { "aria-label": ".widget-label", "aria-valuetext": ".widget-readout" };
        for (const [name, part] of Object.entries(said)) {
          const text = slider.querySelector(part)?.textContent;
          if (text && handle.getAttribute(name) !== text) handle.setAttribute(name, text);
        }
      };
      new MutationObserver(say).observe(slider, { subtree: true, childList: true, characterData: true,
                                                  attributeFilter: ["aria-valuetext"] });
      say();
    }
    """
