// Your own checkpoints: safetensors files are read, compared and merged in the page. The rules by which a file is read or
// refused are those of lessons/checkpoints/opening.py, and the merges are those of lessons/merging, in float32. Nothing
// leaves the page: its content security policy lets it open no connection.
(() => {
  const root = document.querySelector("#checkpoints");
  if (!root) return;
  const LARGEST_HEADER = 100_000_000; // bytes
  const MOST_TENSORS = 100_000;
  const MOST_SIDES = 64; // dimensions of a tensor
  const MOST_MODELS = 4; // finetuned ones
  const MOST_ROWS = 500; // of the table of tensors
  const BYTES = { F64: 8, F32: 4, F16: 2, BF16: 2, I64: 8, I32: 4, I16: 2, I8: 1, U8: 1, BOOL: 1, F8_E4M3: 1, F8_E5M2: 1, U16: 2, U32: 4, U64: 8 };
  const round = Math.fround;

  class CheckpointError extends Error {}
  const refuse = (text) => { throw new CheckpointError(text); };
  const whole = (number) => number.toLocaleString("en");

  // -- what a file is that is no safetensors file --------------------------------------------------------------------

  const CONVERT = "on a machine without anything important, load it with torch.load(…, weights_only=True) and write it anew with safetensors.torch.save_file, or take the same model as .safetensors";
  const PICKLE = `It is refused and was not opened: a pickle can run any program on this machine. What to do: ${CONVERT}.`;
  const OTHERS = [
    ["PK\x03\x04", "a zip archive, as torch.save writes: a pickle inside", PICKLE],
    ["version https://git-lfs", "a Git-LFS pointer: three lines of text in the place of the file", "Run `git lfs pull` in the repository that it came from, or download the file itself."],
    ["\x1f\x8b", "a gzip archive", "Unpack it first."],
    ["GGUF", "a GGUF file, as llama.cpp reads", "Take the same model as .safetensors."],
    ["\x89HDF", "an HDF5 file, as Keras writes", "Take the same model as .safetensors."],
    ["\x93NUMPY", "one NumPy array", "A checkpoint has a name for every tensor: write it with safetensors.numpy.save_file."],
    ["{", "JSON text", "It may be an error that a server sent in the file's place, or an index of shards, which this page does not read."],
    ["[", "JSON text", "It may be an error that a server sent in the file's place."],
  ];

  const shown = (byte) => (byte >= 0x20 && byte < 0x7f ? String.fromCharCode(byte) : `\\x${byte.toString(16).padStart(2, "0")}`);

  function kind(bytes) {
    const first = String.fromCharCode(...bytes);
    if (!first) return ["empty", "Download it again."];
    if (first.startsWith("PK\x03\x04") && first.slice(0, 300).includes(".npy")) return ["an .npz archive, as NumPy writes", "Write its arrays with safetensors.numpy.save_file."];
    for (const [start, what, advice] of OTHERS) if (first.startsWith(start)) return [what, advice];
    if (bytes[0] === 0x80 && bytes[1] >= 2 && bytes[1] <= 5) return ["a pickle, whatever its name is", PICKLE];
    if (first.slice(257, 262) === "ustar") return ["a tar archive", "Unpack it first; what torch.save wrote long ago holds pickles and is refused."];
    if (first.trimStart()[0] === "<") return ["a web page", "Whoever downloaded it was sent a page in the file's place, often a request to log in. Download the file itself."];
    return [`no safetensors file: it begins with b'${[...bytes.slice(0, 12)].map(shown).join("")}'`, `If it is a pickle by an old protocol: ${CONVERT}.`];
  }

  // -- the header of a file ------------------------------------------------------------------------------------------

  // {name: {dtype, shape, start, size}} of a file's tensors, in the file's order of names.
  async function header(file) {
    const first = new Uint8Array(await file.slice(0, 512).arrayBuffer());
    let length = 0;
    for (let place = Math.min(8, first.length) - 1; place >= 0; place--) length = length * 256 + first[place];
    if (first[8] !== 0x7b || length > Math.min(LARGEST_HEADER, file.size)) {
      const [what, advice] = kind(first);
      if (first[8] !== 0x7b || !what.startsWith("no safetensors")) refuse(`${file.name} is ${what}. ${advice}`);
      if (length <= LARGEST_HEADER) refuse(`${file.name} is truncated: its header alone takes ${whole(length)} bytes, the file has ${whole(file.size)}. Download it again.`);
      refuse(`${file.name} has a header of absurd size: ${whole(length)} bytes, where ${whole(LARGEST_HEADER)} is the most that is allowed. Such a file is damaged or made to do harm; download it again.`);
    }
    const bytes = await file.slice(8, 8 + length).arrayBuffer();
    if (bytes.byteLength < length) refuse(`${file.name} is truncated: it ends inside its header, ${whole(file.size)} bytes. Download it again.`);
    const fields = parsed(file.name, bytes);
    const places = Object.entries(fields).map(([name, { data_offsets: [start, end] }]) => ({ name, start, end }));
    places.sort((one, other) => one.start - other.start || one.end - other.end);
    const room = file.size - 8 - length;
    let expected = 0;
    for (const { name, start, end } of places) {
      const { shape, dtype } = fields[name];
      const needed = shape.reduce((product, side) => product * side, 1) * BYTES[dtype];
      if (start !== expected || end - start !== needed) refuse(`${file.name} has a header that contradicts itself at '${name}': ${whole(end - start)} bytes at ${whole(start)}, where ${whole(needed)} at ${whole(expected)} are due. Download it again.`);
      expected = end;
    }
    if (expected > room) refuse(`${file.name} is truncated: its tensors take ${whole(expected)} bytes, and ${whole(room)} are there. A download that stopped half-way? Download it again.`);
    if (expected < room) refuse(`${file.name} has ${whole(room - expected)} bytes behind its last tensor, which should not be there. Download it again.`);
    return new Map(places.map(({ name, start, end }) => [name, { dtype: fields[name].dtype, shape: fields[name].shape, start: 8 + length + start, size: end - start }]));
  }

  function parsed(name, bytes) {
    let fields;
    try {
      const text = new TextDecoder("utf-8", { fatal: true }).decode(bytes);
      if (text.split('"data_offsets"').length - 1 > MOST_TENSORS) throw new Error(`it has more than ${whole(MOST_TENSORS)} tensors`);
      fields = JSON.parse(text);
      const twice = doubled(text);
      if (twice !== null) throw new Error(`'${twice.slice(0, 80)}' stands in it twice`);
      const notes = fields.__metadata__ ?? {};
      if (typeof notes !== "object" || Array.isArray(notes) || !Object.values(notes).every((note) => typeof note === "string")) throw new Error("its __metadata__ must map text to text");
      delete fields.__metadata__;
      for (const [key, entry] of Object.entries(fields)) {
        if (!key.isWellFormed()) throw new Error("a name in it is no text");
        const [start, end] = entry.data_offsets;
        if (![...entry.shape, start, end].every((size) => Number.isSafeInteger(size) && size >= 0)) throw new Error(`the entry of '${key}' makes no sense`);
        if (entry.shape.length > MOST_SIDES) throw new Error(`'${key}' has ${entry.shape.length} dimensions, and PyTorch knows at most ${MOST_SIDES}`);
      }
    } catch (error) {
      refuse(`${name} has a header that cannot be read: ${error.message}. The file is damaged; download it again.`);
    }
    const unread = Object.entries(fields).find(([, entry]) => !Object.hasOwn(BYTES, entry.dtype));
    if (unread) refuse(`${name}: '${unread[0]}' is ${String(unread[1].dtype).slice(0, 20)}, and such numbers are not read here. A quantised model? Take the one that it was made from.`);
    return fields;
  }

  // The first key that stands twice in one object of a JSON text, of which JSON.parse would take the last; or null.
  function doubled(text) {
    const open = [];
    const tokens = /"(?:[^"\\]|\\.)*"(\s*:)?|[{}[\]]/gs;
    for (const [token, colon] of text.matchAll(tokens)) {
      if (token === "{") open.push(new Set());
      else if (token === "[") open.push(null);
      else if (token === "}" || token === "]") open.pop();
      else if (colon !== undefined) {
        const key = JSON.parse(token.slice(0, token.length - colon.length));
        if (open.at(-1).has(key)) return key;
        open.at(-1).add(key);
      }
    }
    return null;
  }

  // -- numbers of a tensor -------------------------------------------------------------------------------------------

  const FLOATS = new Set(["F32", "F16", "BF16"]);

  async function numbers(model, name) {
    const { dtype, start, size } = model.tensors.get(name);
    const bytes = await model.file.slice(start, start + size).arrayBuffer();
    if (bytes.byteLength < size) refuse(`${model.file.name} ends inside '${name}'. It was changed since it was opened: open it again.`);
    if (dtype === "F32") return new Float32Array(bytes);
    const halves = new Uint16Array(bytes);
    if (dtype === "F16") return Float32Array.from(halves, half);
    const wide = new Uint32Array(halves.length);
    halves.forEach((bits, place) => { wide[place] = bits << 16; });
    return new Float32Array(wide.buffer);
  }

  // A float16 number from its sixteen bits.
  function half(bits) {
    const [sign, exponent, fraction] = [bits & 0x8000 ? -1 : 1, bits >> 10 & 31, bits & 1023];
    if (exponent === 31) return fraction ? NaN : sign * Infinity;
    return exponent ? sign * 2 ** (exponent - 15) * (1 + fraction / 1024) : sign * 2 ** -14 * (fraction / 1024);
  }

  // -- merges, each step rounded to float32 as in Python -------------------------------------------------------------

  const floorOf = (share, count) => Math.floor(share * count + 1e-9 * count);

  // The sum over models of each number, from the first model on.
  function sum(vectors) {
    const total = new Float32Array(vectors[0].length);
    for (const vector of vectors) for (let place = 0; place < total.length; place++) total[place] += vector[place];
    return total;
  }

  const differences = (base, tuned) => tuned.map((model) => model.map((number, place) => round(number - base[place])));

  function moved(base, vector, scale) {
    const factor = round(scale);
    return base.map((number, place) => round(number + round(factor * vector[place])));
  }

  // Numbers of small magnitude become 0; those of the smallest magnitude that is kept stay together.
  function trimmed(vector, density) {
    if (density === 1) return vector;
    const kept = Math.min(floorOf(density, vector.length), vector.length);
    const lowest = kept ? vector.map(Math.abs).sort()[vector.length - kept] : Infinity;
    return vector.map((number) => (Math.abs(number) >= lowest ? number : 0));
  }

  const METHODS = {
    average: (base, tuned) => sum(tuned).map((total) => round(total / tuned.length)),
    task_arithmetic: (base, tuned, { scale }) => moved(base, sum(differences(base, tuned)), scale),
    ties(base, tuned, { scale, density }) {
      const vectors = differences(base, tuned).map((vector) => trimmed(vector, density));
      const total = sum(vectors);
      const agreed = sum(vectors.map((vector) => vector.map((number, place) => (number * Math.sign(total[place]) > 0 ? number : 0))));
      const counts = new Uint8Array(total.length);
      for (const vector of vectors) vector.forEach((number, place) => { counts[place] += number * Math.sign(total[place]) > 0; });
      return moved(base, agreed.map((number, place) => round(number / Math.max(1, counts[place]))), scale);
    },
  };

  // -- what is open --------------------------------------------------------------------------------------------------

  const open = { base: null, tuned: [] };
  const at = (name) => root.querySelector(`[data-${name}]`);
  const made = (tag, text, attributes = {}) => Object.assign(document.createElement(tag), { textContent: text, ...attributes });
  const tell = (text, isWrong = false) => {
    at("says").textContent = text;
    at("says").classList.toggle("ws-wrong", isWrong);
  };
  const rest = () => new Promise((done) => { setTimeout(done); }); // the page stays alive between two tensors

  async function opened(files) {
    const models = [];
    for (const file of files) models.push({ file, tensors: await header(file) });
    return models;
  }

  function checkTogether() {
    if (open.tuned.length > MOST_MODELS) refuse(`The page merges at most ${MOST_MODELS} finetuned models, and these are ${open.tuned.length}. The command line merges more.`);
    const { file, tensors } = open.base;
    const strange = [...tensors].find(([, { dtype }]) => dtype === "F64" || dtype.startsWith("F8"));
    if (strange) refuse(`${file.name}: '${strange[0]}' is ${strange[1].dtype}, which the page does not merge. The command line does.`);
    for (const model of open.tuned) {
      const names = new Set([...tensors.keys(), ...model.tensors.keys()]);
      for (const name of names) {
        const [mine, theirs] = [tensors.get(name), model.tensors.get(name)];
        if (!mine || !theirs) refuse(`'${name}' is in ${mine ? file.name : model.file.name} and not in ${mine ? model.file.name : file.name}. The page merges models whose tensors have the same names; the command line also maps names.`);
        if (String(mine.shape) !== String(theirs.shape)) refuse(`'${name}' is ${mine.shape.join(" × ")} in ${file.name} and ${theirs.shape.join(" × ")} in ${model.file.name}.`);
        if (FLOATS.has(mine.dtype) !== FLOATS.has(theirs.dtype)) refuse(`'${name}' is ${mine.dtype} in ${file.name} and ${theirs.dtype} in ${model.file.name}.`);
      }
    }
  }

  async function together(name) {
    const [base, ...tuned] = await Promise.all([open.base, ...open.tuned].map((model) => numbers(model, name)));
    [base, ...tuned].forEach((values, place) => {
      if (!values.every(Number.isFinite)) refuse(`'${name}' in ${[open.base, ...open.tuned][place].file.name} has a number that is not finite.`);
    });
    return [base, tuned];
  }

  const floating = () => [...open.base.tensors].filter(([, { dtype }]) => FLOATS.has(dtype));

  // -- what differs --------------------------------------------------------------------------------------------------

  async function compare() {
    const count = open.tuned.length;
    const products = Array.from({ length: count }, () => new Float64Array(count));
    const rows = [];
    let [length, conflicts, entries] = [0, 0, 0];
    for (const [name, { shape }] of floating()) {
      const [base, tuned] = await together(name);
      const vectors = differences(base, tuned);
      const own = base.reduce((total, number) => total + number * number, 0);
      const squares = vectors.map((vector, one) => {
        for (let other = 0; other <= one; other++) products[one][other] += vector.reduce((total, number, place) => total + number * vectors[other][place], 0);
        return vector.reduce((total, number) => total + number * number, 0);
      });
      let against = 0;
      for (let place = 0; place < base.length; place++) against += vectors.some((vector) => vector[place] > 0) && vectors.some((vector) => vector[place] < 0);
      rows.push({ name, shape, shares: squares.map((square) => Math.sqrt(square / own)), against: against / Math.max(1, base.length) });
      length += own; conflicts += against; entries += base.length;
      tell(`Compared ${whole(rows.length)} of ${whole(floating().length)} tensors.`);
      await rest();
    }
    show(products, Math.sqrt(length), rows, conflicts / Math.max(1, entries));
  }

  const number = (value) => (Number.isFinite(value) ? value.toPrecision(3) : "–");
  const percent = (share) => `${(100 * share).toFixed(1)} %`;

  function show(products, length, rows, conflicts) {
    const norms = products.map((row, place) => Math.sqrt(row[place]));
    const models = table(["model", "‖τ‖ / ‖θ₀‖", ...open.tuned.slice(0, -1).map(({ file }) => `cos with ${file.name}`)],
      open.tuned.map(({ file }, one) => [file.name, number(norms[one] / length), ...open.tuned.slice(0, -1).map((_, other) => (other < one ? number(products[one][other] / (norms[one] * norms[other])) : ""))]));
    const largest = Math.max(...rows.flatMap(({ shares }) => shares.filter(Number.isFinite)), Number.MIN_VALUE);
    const tensors = table(["tensor", "shape", ...open.tuned.map(({ file }) => `‖τ‖ / ‖θ₀‖ of ${file.name}`), "signs against each other"],
      rows.slice(0, MOST_ROWS).map(({ name, shape, shares, against }) => [name, shape.join(" × "), ...shares.map(number), open.tuned.length > 1 ? percent(against) : ""]));
    [...tensors.tBodies[0].rows].forEach((row, place) => rows[place].shares.forEach((share, model) => {
      row.cells[2 + model].style.setProperty("--share", Number.isFinite(share) ? (share / largest).toFixed(3) : "0");
      row.cells[2 + model].classList.add("ws-heat");
    }));
    const said = open.tuned.length > 1 ? `In ${percent(conflicts)} of all numbers, two task vectors have opposite signs. ` : "";
    const left = rows.length > MOST_ROWS ? ` The first ${MOST_ROWS} of ${whole(rows.length)} tensors are listed.` : "";
    at("differs").replaceChildren(models, made("p", `${said}A task vector τ is a finetuned model minus the base θ₀.${left}`), tensors);
    at("merging").hidden = false;
  }

  function table(heads, rows) {
    const whole = made("table", "", { className: "table", tabIndex: 0 });
    whole.createTHead().insertRow().append(...heads.map((text) => made("th", text, { scope: "col" })));
    const body = whole.createTBody();
    for (const row of rows) body.insertRow().append(...row.map((text, place) => made(place ? "td" : "th", text, place ? {} : { scope: "row" })));
    return whole;
  }

  // -- the merged file -----------------------------------------------------------------------------------------------

  async function merge(method, settings) {
    const [entries, parts] = [Object.create(null), []]; // a tensor may be called __proto__
    let end = 0;
    for (const [name, { dtype, shape, start, size }] of open.base.tensors) {
      let content = open.base.file.slice(start, start + size); // counters and other whole numbers stay the base's
      if (FLOATS.has(dtype)) {
        const [base, tuned] = await together(name);
        const merged = METHODS[method](base, tuned, settings);
        if (!merged.every(Number.isFinite)) refuse(`'${name}' does not fit float32 any more.`);
        content = new Blob([merged]); // the browser keeps it outside the page's memory
      }
      entries[name] = { dtype: FLOATS.has(dtype) ? "F32" : dtype, shape, data_offsets: [end, end += content.size] };
      parts.push(content);
      tell(`Merged ${whole(parts.length)} of ${whole(open.base.tensors.size)} tensors.`);
      await rest();
    }
    const text = JSON.stringify({ __metadata__: { format: "pt", merged_by: `weightspace, ${method}` }, ...entries });
    const bytes = new TextEncoder().encode(text);
    const padded = new Uint8Array(Math.ceil(bytes.length / 8) * 8).fill(0x20);
    padded.set(bytes);
    const length = new BigUint64Array([BigInt(padded.length)]);
    return new Blob([length, padded, ...parts]);
  }

  function save(blob, name) {
    const link = made("a", "", { href: URL.createObjectURL(blob), download: name });
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
  }

  // -- the page ------------------------------------------------------------------------------------------------------

  // Says what is wrong, if something is, and lets nobody begin a second thing meanwhile.
  async function trying(work) {
    root.querySelectorAll("input, select, button").forEach((control) => { control.disabled = true; });
    try {
      await work();
    } catch (error) {
      tell(error instanceof CheckpointError ? error.message : `This did not work: ${error.message}`, true);
    }
    root.querySelectorAll("input, select, button").forEach((control) => { control.disabled = false; });
    at("density").disabled = at("method").value !== "ties";
    at("scale").disabled = at("method").value === "average";
  }

  async function renewed() {
    at("merging").hidden = true;
    at("differs").replaceChildren();
    if (!open.base) return tell("Choose the base, too.");
    if (!open.tuned.length) return tell("Choose at least one finetuned model.");
    checkTogether();
    await compare();
    tell(`Compared ${open.tuned.length} finetuned model${open.tuned.length > 1 ? "s" : ""} with ${open.base.file.name}.`);
  }

  async function take(which, files) {
    if (!files.length) return;
    const models = await opened(files);
    if (which === "base") [open.base] = models;
    else open.tuned = models;
    at(`named-${which}`).textContent = models.map(({ file }) => file.name).join(", ");
    await renewed();
  }

  for (const which of ["base", "tuned"]) {
    const zone = at(`drop-${which}`);
    zone.querySelector("input").addEventListener("change", ({ target }) => trying(() => take(which, [...target.files])));
    zone.addEventListener("dragover", (event) => { event.preventDefault(); zone.classList.add("ws-over"); });
    zone.addEventListener("dragleave", () => zone.classList.remove("ws-over"));
    zone.addEventListener("drop", (event) => {
      event.preventDefault();
      zone.classList.remove("ws-over");
      trying(() => take(which, [...event.dataTransfer.files].slice(0, which === "base" ? 1 : Infinity)));
    });
  }
  for (const name of ["scale", "density"]) at(name).addEventListener("input", () => { at(`${name}-is`).textContent = at(name).value; });
  at("method").addEventListener("change", () => trying(async () => {}));
  at("merge").addEventListener("click", () => trying(async () => {
    const method = at("method").value;
    const blob = await merge(method, { scale: Number(at("scale").value), density: Number(at("density").value) });
    save(blob, `merged-${method}.safetensors`);
    tell(`Merged with ${at("method").selectedOptions[0].textContent}: ${whole(blob.size)} bytes, in your folder of downloads.`);
  }));
})();
