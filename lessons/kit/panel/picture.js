// Shows a figure whose background is sent once and whose moving marks, as SVG, are replaced at every step of a slider.
// The page keeps every frame that the kernel has sent, under the positions of the controls, and asks for those along the sliders ahead of
// time: a step that is already here takes a millisecond, one that is not takes a round trip.
// For who drives the page (tools/lab.py) its element says where it stands: data-wanted and data-shown are the positions of the controls and
// those of the frame shown; data-ahead is "asked" until all frames along the sliders have come, then "here".
export default () => {
  const frames = new Map();
  let controls = [];
  let questions = 0;
  const key = (model) => [model.get("generation"), ...controls.map((control) => control.get("index"))].join(",");

  async function initialize({ model }) {
    const ids = model.get("controls").map((reference) => reference.replace("IPY_MODEL_", ""));
    controls = await Promise.all(ids.map((id) => model.widget_manager.get_model(id)));
    const keep = (frame) => frames.set(frame.key, frame);
    keep(model.get("frame"));
    model.on("change:frame", () => keep(model.get("frame")));
    model.on("msg:custom", (message) => { if (message.key) keep(message); });
    model.on("change:generation", () => frames.clear());
  }

  function render({ model, el }) {
    el.classList.add("weightspace-picture");
    el.innerHTML = `<figure><div class="stage" role="img"><img class="background" alt=""><div class="marks" aria-hidden="true"></div></div>
      <div class="veil" hidden><p></p><button class="jupyter-button">Show anyway</button></div>
      <pre class="error" role="alert" hidden></pre><figcaption></figcaption></figure>`;
    const part = (name) => el.querySelector(name);
    const show = (frame) => {
      part(".marks").innerHTML = frame.marks;
      part(".stage").setAttribute("aria-label", frame.alt);
      el.dataset.shown = frame.key;
    };
    const ask = () => { el.dataset.ahead = "asked"; model.send({ ahead: ++questions }); };
    const look = () => {
      el.dataset.wanted = key(model);
      const frame = frames.get(key(model));
      frame ? show(frame) : ask();
    };
    const showError = () => { part(".error").hidden = !model.get("error"); part(".error").textContent = model.get("error"); };
    const showVeil = () => {
      part(".veil").hidden = !model.get("veil");
      part(".veil p").textContent = model.get("veil");
      part(".stage").ariaHidden = model.get("veil") ? "true" : null;
    };
    part(".veil button").onclick = () => model.send({ show: true });
    part(".background").src = "data:image/svg+xml," + encodeURIComponent(model.get("background"));
    part("figcaption").textContent = model.get("caption");
    el.dataset.wanted = key(model);
    show(model.get("frame"));
    showError();
    showVeil();
    model.on("change:veil", showVeil);
    model.on("change:frame", () => { const frame = model.get("frame"); if (frame.key === key(model)) show(frame); });
    model.on("change:generation", look);
    model.on("msg:custom", (message) => { if (message.ahead === questions) el.dataset.ahead = "here"; });
    model.on("change:error", showError);
    for (const control of controls) control.on("change:index", look);
    ask();
    return () => { for (const control of controls) control.off("change:index", look); };
  }

  return { initialize, render };
};
