// Shows a figure whose background is sent once and whose moving marks, as SVG, are replaced at every step of a slider.
// The page keeps every frame that the kernel has sent, under the positions of the controls, and asks for those along the sliders ahead of
// time: a step that is already here takes a millisecond, one that is not takes a round trip.
export default () => {
  const frames = new Map();
  let controls = [];
  const key = (model) => [model.get("generation"), ...controls.map((control) => control.get("index"))].join(",");

  async function initialize({ model }) {
    const ids = model.get("controls").map((reference) => reference.replace("IPY_MODEL_", ""));
    controls = await Promise.all(ids.map((id) => model.widget_manager.get_model(id)));
    const keep = (frame) => frames.set(frame.key, frame);
    keep(model.get("frame"));
    model.on("change:frame", () => keep(model.get("frame")));
    model.on("msg:custom", keep);
    model.on("change:generation", () => frames.clear());
  }

  function render({ model, el }) {
    el.classList.add("weightspace-picture");
    el.innerHTML = `<figure><div class="stage" role="img"><img class="background" alt=""><div class="marks" aria-hidden="true"></div></div>
      <pre class="error" role="alert" hidden></pre><figcaption></figcaption></figure>`;
    const part = (name) => el.querySelector(name);
    const show = (frame) => { part(".marks").innerHTML = frame.marks; part(".stage").setAttribute("aria-label", frame.alt); };
    const look = () => { const frame = frames.get(key(model)); frame ? show(frame) : model.send("ahead"); };
    const showError = () => { part(".error").hidden = !model.get("error"); part(".error").textContent = model.get("error"); };
    part(".background").src = "data:image/svg+xml," + encodeURIComponent(model.get("background"));
    part("figcaption").textContent = model.get("caption");
    show(model.get("frame"));
    showError();
    model.on("change:frame", () => { const frame = model.get("frame"); if (frame.key === key(model)) show(frame); });
    model.on("change:generation", () => model.send("ahead"));
    model.on("change:error", showError);
    for (const control of controls) control.on("change:index", look);
    model.send("ahead");
    nameSliders(el);
    return () => { for (const control of controls) control.off("change:index", look); };
  }

  return { initialize, render };
};

// ipywidgets gives its sliders no accessible name; take it from the label that stands before them.
function nameSliders(el, triesLeft = 20) {
  const panel = el.closest(".weightspace-panel");
  const handles = panel ? [...panel.querySelectorAll(".noUi-handle")] : [];
  for (const handle of handles) {
    const label = handle.closest(".widget-inline-hbox")?.querySelector(".widget-label");
    if (label) handle.setAttribute("aria-label", label.textContent);
  }
  const wanted = panel ? panel.querySelectorAll(".widget-slider").length : 1;
  if (handles.length < wanted && triesLeft) setTimeout(() => nameSliders(el, triesLeft - 1), 100);
}
