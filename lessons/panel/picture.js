// Shows a figure whose background is sent once and whose moving marks, as SVG, are replaced at every step of a slider.
function render({ model, el }) {
  el.classList.add("weightspace-picture");
  el.innerHTML = `<figure><div class="stage" role="img"><div class="background" aria-hidden="true"></div><div class="marks" aria-hidden="true"></div></div>
    <pre class="error" role="alert" hidden></pre><figcaption></figcaption></figure>`;
  const part = (name) => el.querySelector(name);
  const show = {
    background: () => { part(".background").innerHTML = model.get("background"); },
    marks: () => { part(".marks").innerHTML = model.get("marks"); },
    alt: () => part(".stage").setAttribute("aria-label", model.get("alt")),
    caption: () => { part("figcaption").textContent = model.get("caption"); },
    error: () => { part(".error").hidden = !model.get("error"); part(".error").textContent = model.get("error"); },
  };
  for (const [name, update] of Object.entries(show)) { update(); model.on(`change:${name}`, update); }
  nameSliders(el);
}

// ipywidgets gives its sliders no accessible name; take it from the label that stands before them.
function nameSliders(el, triesLeft = 20) {
  const panel = el.closest(".weightspace-panel");
  const handles = panel ? [...panel.querySelectorAll(".noUi-handle")] : [];
  for (const handle of handles) {
    const label = handle.closest(".widget-inline-hbox")?.querySelector(".widget-label");
    if (label) handle.setAttribute("aria-label", label.textContent);
  }
  const wanted = panel ? panel.querySelectorAll(".widget-slider").length : 1;
  if (handles.length < wanted || !panel) { if (triesLeft) setTimeout(() => nameSliders(el, triesLeft - 1), 100); }
}

export default { render };
