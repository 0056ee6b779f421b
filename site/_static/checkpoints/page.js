// Your own checkpoints, the page: what is open, what differs, tables, and what its controls do.
(() => {
  const own = weightspace.checkpoints;
  const { FLOATS, LONGEST, MOST_NUMBERS, Stopped, bytesOf, difference, dot, pause, pieces, refuse, whole } = own;
  const root = document.querySelector("#checkpoints");
  const MOST_ROWS = 500; // of a table

  const open = { base: null, tuned: [], spectra: null };
  const all = () => [open.base, ...open.tuned];
  const at = (name) => root.querySelector(`[data-${name}]`);
  const made = (tag, text, attributes = {}) => Object.assign(document.createElement(tag), { textContent: text, ...attributes });
  const tell = (text, isWrong = false) => {
    at("says").textContent = text;
    at("says").classList.toggle("ws-wrong", isWrong);
  };

  // -- what is open --------------------------------------------------------------------------------------------------

  // Whole numbers that are no weights, by the ends of their names: BatchNorm's counters, and what old files hold.
  const COUNTED = ["num_batches_tracked", "position_ids", "attn_mask"];
  const QUANTISED = new Set(["I8", "U8", "I32", "F8_E4M3", "F8_E5M2"]); // four bits are packed into whole numbers of 32

  function checkKinds(model) {
    for (const [name, { dtype }] of model.tensors) {
      if (FLOATS.has(dtype) || COUNTED.some((end) => name.endsWith(end))) continue;
      if (dtype === "F64") refuse(`${model.name}: '${name}' is F64, which the page does not merge. The command line does.`);
      refuse(`${model.name}: '${name}' is ${dtype}, and such numbers are no weights that can be added. ${QUANTISED.has(dtype) ? "A quantised model? Take the one that it was made from." : "Leave it out of all models."}`);
    }
  }

  function checkTogether(base, tuned) {
    [base, ...tuned].forEach(checkKinds);
    for (const model of tuned) {
      for (const name of new Set([...base.tensors.keys(), ...model.tensors.keys()])) {
        const [mine, theirs] = [base.tensors.get(name), model.tensors.get(name)];
        if (!mine || !theirs) refuse(`'${name}' is in ${mine ? base.name : model.name} and not in ${mine ? model.name : base.name}. The page merges models whose tensors have the same names; the command line also maps names.`);
        if (String(mine.shape) !== String(theirs.shape)) refuse(`'${name}' is ${mine.shape.join(" × ")} in ${base.name} and ${theirs.shape.join(" × ")} in ${model.name}.`);
      }
    }
  }

  const floating = () => [...open.base.tensors].filter(([, { dtype }]) => FLOATS.has(dtype));
  const mark = ({ parts }) => JSON.stringify(parts.map(({ file, path }) => [path, file.size, file.lastModified]));

  async function take(which, parts) {
    if (!parts.length) return;
    const models = await own.opened(parts);
    let twice = [];
    if (which === "base") {
      if (models.length > 1) refuse(`These are ${models.length} models (${models.map(({ name }) => name).join(", ")}), and the base is one. Choose its file, its shards or its folder.`);
      [open.base] = models;
    } else {
      const there = new Set(open.tuned.map(mark));
      twice = models.filter((model) => there.has(mark(model)));
      const added = models.filter((model) => !twice.includes(model));
      if (open.base) checkTogether(open.base, added);
      open.tuned.push(...added);
    }
    await renewed();
    if (twice.length) tell(`${at("says").textContent} Open already and not opened again: ${twice.map(({ name }) => name).join(", ")}.`);
  }

  async function renewed() {
    open.spectra = null;
    at("named-base").textContent = open.base?.name ?? "";
    at("named-tuned").replaceChildren(...open.tuned.map((model) => {
      const [item, button] = [made("li", `${model.name} `), made("button", "Remove", { type: "button", ariaLabel: `Remove ${model.name}` })];
      button.addEventListener("click", () => trying(() => {
        open.tuned.splice(open.tuned.indexOf(model), 1);
        return renewed();
      }));
      item.append(button);
      return item;
    }));
    at("merging").hidden = at("spectra").hidden = true;
    at("differs").replaceChildren();
    at("directions").replaceChildren();
    if (!open.base) return tell(open.tuned.length ? "Choose the base, too." : "No file is open.");
    if (!open.tuned.length) return tell("Choose at least one finetuned model.");
    checkTogether(open.base, open.tuned);
    try {
      await compare();
    } catch (error) {
      if (error instanceof Stopped) at("merging").hidden = at("spectra").hidden = false; // a merge looks for itself
      throw error;
    }
    at("merging").hidden = at("spectra").hidden = false;
    tell(`Compared ${open.tuned.length} finetuned model${open.tuned.length > 1 ? "s" : ""} with ${open.base.name}.`);
  }

  // -- what differs --------------------------------------------------------------------------------------------------

  async function compare() {
    const count = open.tuned.length;
    const products = Array.from({ length: count }, () => new Float64Array(count));
    const rows = [];
    let [length, conflicts, entries] = [0, 0, 0];
    for (const [name, entry] of floating()) {
      let [square, against] = [0, 0];
      const squares = new Float64Array(count);
      for await (const [base, ...tuned] of pieces(all(), name)) {
        const vectors = tuned.map((model) => difference(base, model));
        square += dot(base, base, 0, base.length);
        against += opposed(vectors);
        for (const [one, vector] of vectors.entries()) {
          for (let other = 0; other < one; other++) products[one][other] += dot(vector, vectors[other], 0, vector.length);
          const own = dot(vector, vector, 0, vector.length);
          squares[one] += own;
          products[one][one] += own;
          await pause();
        }
      }
      length += square; conflicts += against; entries += entry.count;
      rows.push({ name, shape: entry.shape, shares: [...squares].map((sum) => Math.sqrt(sum / square)), against: against / Math.max(1, entry.count) });
      tell(`Compared ${whole(rows.length)} of ${whole(floating().length)} tensors.`);
    }
    show(products, Math.sqrt(length), rows, conflicts / Math.max(1, entries));
  }

  // How many entries some task vectors raise and others lower.
  function opposed(vectors) {
    const signs = new Uint8Array(vectors[0].length); // 1 where one raises it, 2 where one lowers it, 3 for both
    for (const vector of vectors) for (let place = 0; place < signs.length; place++) signs[place] |= vector[place] > 0 ? 1 : vector[place] < 0 ? 2 : 0;
    return signs.reduce((count, sign) => count + (sign === 3), 0);
  }

  const number = (value) => (Number.isFinite(value) ? value.toPrecision(3) : "–");
  const cosine = (value) => (Number.isFinite(value) ? (Math.abs(value) < 5e-4 ? 0 : value).toFixed(3) : "–"); // no −0.000
  const percent = (share) => (Number.isFinite(share) ? `${(100 * share).toFixed(1)} %` : "–");
  const shaped = (shape) => shape.map((side) => whole(side)).join(" × ");
  const numbered = () => open.tuned.map((_, place) => String(place + 1));
  const more = (rows) => (rows.length > MOST_ROWS ? ` The first ${MOST_ROWS} of ${whole(rows.length)} are listed.` : "");

  function show(products, length, rows, conflicts) {
    const norms = products.map((row, place) => Math.sqrt(row[place]));
    const others = numbered().slice(0, -1);
    const models = table(["model", "‖τ‖ / ‖θ₀‖"], "cosine with model", others, open.tuned.map(({ name }, one) => (
      [`${one + 1} · ${name}`, number(norms[one] / length), ...others.map((_, other) => (other < one ? cosine(products[one][other] / (norms[one] * norms[other])) : ""))])));
    const isPair = open.tuned.length > 1;
    const tensors = table(["tensor", "shape", ...(isPair ? ["signs against each other"] : [])], "‖τ‖ / ‖θ₀‖ of model", numbered(),
      rows.slice(0, MOST_ROWS).map(({ name, shape, shares, against }) => [name, shaped(shape), ...(isPair ? [percent(against)] : []), ...shares.map(number)]));
    heat(tensors, rows.map(({ shares }) => shares));
    const said = isPair ? `In ${percent(conflicts)} of all numbers, at least two task vectors have opposite signs. ` : "";
    at("differs").replaceChildren(models, made("p", `${said}A task vector τ is a finetuned model minus the base θ₀.${more(rows)}`), tensors);
  }

  // A table whose last columns share a heading.
  function table(heads, shared, numbers, rows) {
    const whole = made("table", "", { className: "table", tabIndex: 0 });
    const head = whole.createTHead();
    const [first, second] = [head.insertRow(), head.insertRow()];
    first.append(...heads.map((text) => made("th", text, { scope: "col", rowSpan: numbers.length ? 2 : 1 })));
    if (numbers.length) first.append(made("th", shared, { scope: "colgroup", colSpan: numbers.length }));
    second.append(...numbers.map((text) => made("th", text, { scope: "col", className: "ws-number-of" })));
    if (!numbers.length) second.remove();
    const body = whole.createTBody();
    for (const row of rows) body.insertRow().append(...row.map((text, place) => made(place ? "td" : "th", text, place ? {} : { scope: "row" })));
    return whole;
  }

  // Shades the last columns of a table by their numbers; the largest is darkest.
  function heat(table, values) {
    const largest = Math.max(...values.map((row) => Math.max(...row.filter(Number.isFinite))), Number.MIN_VALUE);
    [...table.tBodies[0].rows].forEach((row, which) => values[which].forEach((value, place) => {
      const cell = row.cells[row.cells.length - values[which].length + place];
      cell.style.setProperty("--share", Number.isFinite(value) ? (value / largest).toFixed(3) : "0");
      cell.classList.add("ws-heat");
    }));
  }

  // -- directions of each matrix -------------------------------------------------------------------------------------

  async function decompose() {
    open.spectra = await own.spectra(all(), (done, count) => tell(`Found the singular values of ${whole(done)} of ${whole(count)} matrices.`));
    showDirections();
    tell(`Found the singular values of ${whole(open.spectra.rows.length)} matrices of ${open.tuned.length} task vector${open.tuned.length > 1 ? "s" : ""}.`);
  }

  const MEASURES = {
    share: ["directions for 90 %, of model", own.shareOfDirections, (share) => percent(share)],
    stable: ["stable rank, of model", own.stableRank, number],
  };

  function showDirections() {
    const { rows, skipped } = open.spectra;
    const [shared, measure, written] = MEASURES[at("measure").value];
    const values = rows.map((row) => row.values.map(measure));
    const directions = table(["matrix", "shape", "directions"], shared, numbered(), rows.slice(0, MOST_ROWS).map(({ name, shape, values: [first] }, which) => (
      [name, shaped(shape), whole(first.length), ...values[which].map(written)])));
    heat(directions, values);
    const left = skipped.length ? ` Not decomposed: ${skipped.join(", ")}. A matrix is too large for this page if its shorter side exceeds ${whole(LONGEST)} or if it has more than ${whole(MOST_NUMBERS / 1e6)} million numbers.` : "";
    const download = made("button", "Download all singular values", { type: "button" });
    download.addEventListener("click", saveSpectra);
    at("directions").replaceChildren(made("p", `${rows.length ? "" : "There is no matrix to decompose."}${left}${more(rows)}`), ...(rows.length ? [directions, download] : []));
  }

  function saveSpectra() {
    const tensors = open.spectra.rows.map(({ name, shape, values }) => ({ name, shape, singular_values: values.map((those) => [...those]) }));
    own.save(new Blob([JSON.stringify({ models: open.tuned.map(({ name }) => name), tensors })], { type: "application/json" }), "singular-values.json");
  }

  // -- the merged file -----------------------------------------------------------------------------------------------

  async function merge() {
    const method = at("method").value;
    const settings = Object.fromEntries(["scale", "density", "rank"].map((name) => [name, Number(at(name).value)]));
    own.checkSizes(open.base, method, settings);
    const place = await own.place(`merged-${method}.safetensors`);
    if (!place) return tell("Nothing was written, because you chose no place.");
    try {
      await checkStillThere();
      const size = await own.merge(all(), method, settings, place, (done, count) => tell(`Merged ${whole(done)} of ${whole(count)} tensors.`));
      await place.finish();
      const note = method === "cart" && open.tuned.length === 2 ? " Of two models CART gives the average whatever its rank is: the two centred task vectors are each other's opposite and cancel." : "";
      tell(`Merged with ${at("method").selectedOptions[0].textContent}: ${whole(size)} bytes, ${place.where}.${note}`);
    } catch (error) {
      await place.giveUp();
      throw error;
    }
  }

  // Browsers empty a file as soon as it is chosen to be written.
  async function checkStillThere() {
    for (const part of all().flatMap(({ parts }) => parts)) {
      await bytesOf(part, 0, 1).catch(() => refuse(`${part.path} cannot be read any more. If you chose it as the place of the merged file, your browser has emptied it. Get it again from where it came, and choose a new name for the merged file.`));
    }
  }

  // -- the page ------------------------------------------------------------------------------------------------------

  let isBusy = false;

  // Says what is wrong, if something is, and lets nobody begin a second thing meanwhile.
  async function trying(work) {
    if (isBusy) return;
    isBusy = true;
    own.begin();
    const [focused, controls] = [document.activeElement, [...root.querySelectorAll("input, select, button:not([data-stop])")]];
    controls.forEach((control) => { control.disabled = true; });
    at("stop").hidden = false;
    try {
      await work();
    } catch (error) {
      if (error instanceof Stopped) tell("Stopped.");
      else tell(error instanceof own.CheckpointError ? error.message : `This did not work: ${error.message}`, true);
    }
    at("stop").hidden = true;
    controls.forEach((control) => { control.disabled = false; });
    isBusy = false;
    if (root.contains(focused)) focused.focus();
  }

  for (const which of ["base", "tuned"]) {
    const zone = at(`drop-${which}`);
    for (const input of zone.querySelectorAll("input")) {
      input.addEventListener("change", () => trying(async () => {
        const parts = own.chosen(input.files);
        input.value = ""; // so that the same file may be chosen again
        await take(which, parts);
      }));
    }
    zone.addEventListener("dragover", (event) => { event.preventDefault(); zone.classList.add("ws-over"); });
    zone.addEventListener("dragleave", () => zone.classList.remove("ws-over"));
    zone.addEventListener("drop", (event) => {
      event.preventDefault();
      zone.classList.remove("ws-over");
      trying(async () => take(which, await own.dropped(event.dataTransfer)));
    });
  }

  const USED = { average: [], task_arithmetic: ["scale"], ties: ["scale", "density"], cart: ["scale", "rank"] };
  const adapt = () => { for (const name of ["scale", "density", "rank"]) at(name).closest("label").hidden = !USED[at("method").value].includes(name); };
  adapt(); // a browser may remember the method
  at("method").addEventListener("change", adapt);
  for (const name of ["scale", "density", "rank"]) {
    const say = () => { at(`${name}-is`).textContent = at(name).value; };
    say();
    at(name).addEventListener("input", say);
  }
  at("merge").addEventListener("click", () => trying(merge));
  at("decompose").addEventListener("click", () => trying(decompose));
  at("measure").addEventListener("change", () => { if (open.spectra) showDirections(); });
  at("stop").addEventListener("click", own.stop);
})();
