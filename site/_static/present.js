// A lesson in front of a class: ?present shows one section at a time in large letters, with the teacher's notes and a
// clock. The keys → and ← turn the sections; Page Down, as a presenter's remote sends it, first goes down a long one; N
// shows the notes, and Escape goes back to the page.
(() => {
  const { say } = weightspace;
  const article = document.querySelector("article.bd-article");
  const whole = article?.querySelector(":scope > section");
  if (!whole?.querySelector(".cell")) return; // a lesson has cells, other pages have none

  const address = new URL(location.href);
  if (!address.searchParams.has("present")) {
    address.searchParams.set("present", "");
    const link = document.createElement("p");
    link.className = "ws-present";
    link.append(Object.assign(document.createElement("a"), { href: address.href, textContent: say("Present this lesson") }));
    whole.querySelector("h1").after(link);
    return;
  }

  // -- screens: what stands between two headings ---------------------------------------------------------------------

  const screens = [];
  (function divide(section) {
    const own = [...section.children].filter((child) => child.tagName !== "SECTION");
    // a heading without a text of its own stands on the screen of what is below it
    const isHeadingAlone = own.every((child) => /^(H\d|SPAN|ASIDE)$/.test(child.tagName));
    const inner = [...section.children].filter((child) => child.tagName === "SECTION");
    const before = isHeadingAlone && inner.length ? own : [];
    if (!before.length) screens.push(own);
    const first = screens.length;
    inner.forEach(divide);
    if (before.length) screens[first].unshift(...before);
  })(whole);
  const title = whole.querySelector("h1");
  const headingOf = (screen) => screen.findLast((node) => /^H\d$/.test(node.tagName)) ?? screen[0];
  const screenOf = (node) => screens.findIndex((screen) => screen.some((part) => part.contains(node)));

  // -- the bar at the bottom -----------------------------------------------------------------------------------------

  const button = (text, label, act) => {
    const made = document.createElement("button");
    Object.assign(made, { type: "button", textContent: text, title: label, ariaLabel: label, onclick: act });
    return made;
  };
  const bar = document.createElement("div");
  bar.className = "ws-bar";
  const [where, clock, notes] = ["span", "span", "aside"].map((tag) => document.createElement(tag));
  notes.className = "ws-said";
  notes.setAttribute("role", "note");
  notes.setAttribute("aria-label", say("Notes"));
  notes.hidden = true;
  clock.className = "ws-clock";
  where.setAttribute("aria-live", "polite");
  const noted = button(say("Notes"), say("Show the notes (N)"), () => {
    notes.hidden = !notes.hidden;
    noted.setAttribute("aria-pressed", String(!notes.hidden));
  });
  noted.setAttribute("aria-pressed", "false");
  bar.append(button("←", say("Previous (←)"), () => turn(at - 1)), where, button("→", say("Next (→)"), () => turn(at + 1)),
    noted, clock, button(say("Leave"), say("Back to the page (Escape)"), leave));
  const stage = document.createElement("section"); // a landmark, by which a screen reader finds the buttons
  stage.className = "ws-stage";
  stage.setAttribute("aria-label", say("Presentation"));
  stage.append(notes, bar);
  document.body.append(stage);
  document.documentElement.classList.add("ws-presents");

  // -- turning -------------------------------------------------------------------------------------------------------

  let at = 0;
  function turn(to) {
    if (to < 0 || to >= screens.length) return;
    at = to;
    screens.forEach((screen, place) => screen.forEach((node) => node.classList.toggle("ws-away", place !== at)));
    title.classList.remove("ws-away"); // small, above all screens but the first
    title.classList.toggle("ws-above", !screens[at].includes(title));
    where.textContent = say("{0} of {1}", at + 1, screens.length);
    const [said] = screens[at].flatMap((node) => (node.matches(".ws-notes") ? [node] : [...node.querySelectorAll(".ws-notes")]));
    notes.replaceChildren(...(said ? [...said.cloneNode(true).childNodes] : [say("No notes for this screen.")]));
    scrollTo(0, 0);
    const section = headingOf(screens[at]).closest("section");
    history.replaceState(null, "", `${location.pathname}${location.search}#${at ? section.id : ""}`);
  }

  // Down to the first part that is not seen whole, or by most of a window where that one is larger; then the next section.
  function down() {
    const seen = stage.getBoundingClientRect().top;
    const parts = screens[at].map((node) => node.getBoundingClientRect()).filter((box) => box.height);
    if (parts.at(-1).bottom <= seen) return turn(at + 1);
    const next = parts.find((box) => box.bottom > seen);
    scrollBy(0, next.top > 40 ? next.top - 20 : 0.8 * seen);
  }

  function leave() {
    address.searchParams.delete("present");
    address.hash = location.hash;
    location.href = address.href;
  }

  // A key that something on the page needs stays with it: a slider, a field, a row of choices.
  const needs = (event) => event.composedPath().some((node) => node.matches?.("input, select, textarea, [role=radiogroup], [contenteditable]"));
  const turns = { ArrowRight: 1, ArrowLeft: -1, PageUp: -1 };
  addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || document.fullscreenElement || document.querySelector("dialog[open]")) return;
    if (event.key === "Escape") return leave();
    if (needs(event)) return;
    if (event.key === "PageDown") down();
    else if (event.key === "PageUp" && scrollY > 8) scrollTo(0, Math.max(0, scrollY - 0.85 * innerHeight));
    else if (event.key in turns) turn(at + turns[event.key]);
    else if (event.key === "Home") turn(0);
    else if (event.key === "End") turn(screens.length - 1);
    else if (event.key.toLowerCase() === "n") noted.click();
    else return;
    event.preventDefault();
  });
  const toHash = () => {
    const id = decodeURIComponent(location.hash.slice(1)).split("?")[0];
    const node = id && document.getElementById(id);
    return node ? Math.max(0, node.tagName === "SECTION" ? screenOf(node.querySelector("h1, h2, h3, h4")) : screenOf(node)) : 0;
  };
  addEventListener("hashchange", () => turn(toHash()));
  turn(toHash());

  const begun = Date.now();
  const told = () => {
    const seconds = Math.floor((Date.now() - begun) / 1000);
    clock.textContent = `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, "0")}`;
  };
  told();
  setInterval(told, 1000);
})();
