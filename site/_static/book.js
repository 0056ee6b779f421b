// The pages of the book: panels and questions without a kernel, readings that wait for a guess, words of the glossary.
// `weightspace.page` is the module that draws them in JupyterLab, too (lessons/kit/view/front).
(() => {
  const awaited = new Map(); // {name of a panel: what takes its state}
  weightspace.take = (name, text) => awaited.get(name)?.(text);

  // -- panels --------------------------------------------------------------------------------------------------------

  // A page that is opened from a folder may not fetch a file, but it may run one: a panel's script calls `take`.
  function load(name, address) {
    return new Promise((resolve, reject) => {
      awaited.set(name, resolve);
      const script = document.createElement("script");
      script.src = address;
      script.onerror = () => reject(new Error(`${address} cannot be loaded`));
      document.head.append(script);
    });
  }

  async function unpacked(text) {
    const bytes = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
    return JSON.parse(await new Response(stream).text());
  }

  weightspace.beside = async (name, address) => unpacked(await load(name, address));

  async function show(host) {
    const { panel, name } = host.dataset;
    if (host.dataset.begun) return;
    host.dataset.begun = "";
    try {
      const state = await weightspace.beside(name, panel);
      if ("open" in host.dataset) { // in the gallery nothing is asked
        delete state.spec.prediction;
        state.spec.hides = [];
      }
      const told = () => { if (state.spec.prediction) unveil(host.id, state.guess !== null || state.shown); };
      weightspace.page(host, state, host.id, (trait) => { if (["guess", "shown"].includes(trait)) told(); });
      host.style.minHeight = "0";
      if (host.dataset.level) host.shadowRoot.querySelector(".title").ariaLevel = host.dataset.level;
    } catch (error) {
      host.textContent = weightspace.say("This panel cannot be shown here: {0}.", error.message);
    }
  }

  // What would tell the answer is open once the guess is made, and closed when it is taken back.
  function unveil(panel, isOpen) {
    for (const veil of document.querySelectorAll(`[data-waits-for="${CSS.escape(panel)}"]`)) {
      veil.classList.toggle("ws-told", isOpen);
      for (const fold of veil.querySelectorAll(":scope > details")) fold.open = isOpen;
    }
  }

  const panels = [...document.querySelectorAll("[data-panel]")];
  const nearing = new IntersectionObserver((entries) => {
    for (const { isIntersecting, target } of entries) {
      if (!isIntersecting) continue;
      nearing.unobserve(target);
      show(target);
    }
  }, { rootMargin: "1200px" });
  for (const panel of panels) "now" in panel.dataset ? show(panel) : nearing.observe(panel);
  addEventListener("beforeprint", () => {
    panels.forEach(show);
    for (const picture of document.querySelectorAll("img[loading=lazy]")) picture.loading = "eager";
  });

  // #panel-a?alpha=0.5 leads to a panel at a position.
  async function follow() {
    const [id, settings] = decodeURIComponent(location.hash.slice(1)).split("?");
    const panel = settings && document.getElementById(id);
    if (!panel) return;
    await show(panel);
    panel.scrollIntoView();
  }
  addEventListener("hashchange", follow);
  follow();

  // -- questions -----------------------------------------------------------------------------------------------------

  for (const host of document.querySelectorAll("[data-quiz]")) weightspace.page(host, JSON.parse(host.dataset.quiz));

  // -- words of the glossary -----------------------------------------------------------------------------------------

  const card = document.createElement("div");
  Object.assign(card, { id: "ws-definition", role: "tooltip", hidden: true });
  document.body.append(card);
  let shownFor = null;

  function define(link) {
    const page = weightspace.glossary?.[link.hash.slice(1)];
    if (!page) return;
    hide();
    shownFor = link;
    card.innerHTML = page; // from the repository's glossary, whose text was escaped when the book was made
    card.hidden = false;
    link.setAttribute("aria-describedby", card.id);
    const [word, box] = [link.getClientRects()[0], card.getBoundingClientRect()];
    const left = Math.max(8, Math.min(word.left, document.documentElement.clientWidth - box.width - 8));
    const below = word.bottom + 6 + box.height < innerHeight;
    card.style.left = `${left + scrollX}px`;
    card.style.top = `${(below ? word.bottom + 6 : word.top - box.height - 6) + scrollY}px`;
  }

  function hide() {
    shownFor?.removeAttribute("aria-describedby");
    shownFor = null;
    card.hidden = true;
  }

  for (const link of document.querySelectorAll("a.ws-term")) {
    link.addEventListener("pointerenter", () => define(link));
    link.addEventListener("pointerleave", (event) => { if (event.relatedTarget !== card) hide(); });
    link.addEventListener("focus", () => define(link));
    link.addEventListener("blur", hide);
  }
  card.addEventListener("pointerleave", hide);
  addEventListener("keydown", (event) => { if (event.key === "Escape") hide(); });
})();
