// Your own checkpoints, reading: one safetensors file, its header and the numbers of a tensor. The rules by which a file is
// read or refused are those of lessons/checkpoints/opening.py. Nothing leaves the page: its content security policy lets it
// open no connection. The other scripts of this folder find what they share in `weightspace.checkpoints`.
(() => {
  const own = weightspace.checkpoints = {};
  const LARGEST_HEADER = 100_000_000; // bytes
  const MOST_TENSORS = 100_000;
  const MOST_SIDES = 64; // dimensions of a tensor
  const BYTES = { F64: 8, F32: 4, F16: 2, BF16: 2, I64: 8, I32: 4, I16: 2, I8: 1, U8: 1, BOOL: 1, F8_E4M3: 1, F8_E5M2: 1, U16: 2, U32: 4, U64: 8 };

  class CheckpointError extends Error {}
  const refuse = (text) => { throw new CheckpointError(text); };
  const whole = (number) => number.toLocaleString("en");
  const counted = (shape) => shape.reduce((product, side) => product * side, 1);

  // Bytes of a file. A browser refuses them when the file has changed since it was chosen.
  async function bytesOf({ file, path }, from, to) {
    try {
      return await file.slice(from, to).arrayBuffer();
    } catch (error) {
      if (!["NotReadableError", "NotFoundError", "NotAllowedError"].includes(error.name)) throw error;
      return refuse(`${path} cannot be read. It has changed since it was opened, or it is not there any more. Wait until nobody writes it, then open it again.`);
    }
  }

  // -- work that takes long ------------------------------------------------------------------------------------------

  // Inside long work, `await own.pause()` lets the browser draw and answer, and ends the work when the reader stops it.
  const AT_A_TIME = 40; // milliseconds
  const next = new MessageChannel(); // a timer would wait a second in a tab that is out of sight
  let [resumed, going, isStopped] = [0, null, false];
  next.port1.onmessage = () => going();

  class Stopped extends Error {}
  const stop = () => { isStopped = true; };
  const begin = () => { isStopped = false; };

  async function pause() {
    if (performance.now() - resumed > AT_A_TIME) {
      await new Promise((done) => { going = done; next.port2.postMessage(0); });
      resumed = performance.now();
    }
    if (isStopped) throw new Stopped();
  }

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
    ["{", "JSON text", "It may be an error that a server sent in the file's place, or an index of shards: choose the shards together with it, or their folder."],
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

  // {name: {dtype, shape, count, path, file, start}} of a file's tensors, in the order of their bytes.
  async function header({ file, path }) {
    const first = new Uint8Array(await bytesOf({ file, path }, 0, 512));
    let length = 0;
    for (let place = Math.min(8, first.length) - 1; place >= 0; place--) length = length * 256 + first[place];
    if (first[8] !== 0x7b || length > Math.min(LARGEST_HEADER, file.size)) {
      const [what, advice] = kind(first);
      if (first[8] !== 0x7b || !what.startsWith("no safetensors")) refuse(`${path} is ${what}. ${advice}`);
      if (length <= LARGEST_HEADER) refuse(`${path} is truncated: its header alone takes ${whole(length)} bytes, the file has ${whole(file.size)}. Download it again.`);
      refuse(`${path} has a header of absurd size: ${whole(length)} bytes, where ${whole(LARGEST_HEADER)} is the most that is allowed. Such a file is damaged or made to do harm; download it again.`);
    }
    const bytes = await bytesOf({ file, path }, 8, 8 + length);
    if (bytes.byteLength < length) refuse(`${path} is truncated: it ends inside its header, ${whole(file.size)} bytes. Download it again.`);
    const fields = parsed(path, bytes);
    const places = Object.entries(fields).map(([name, { data_offsets: [start, end] }]) => ({ name, start, end }));
    places.sort((one, other) => one.start - other.start || one.end - other.end);
    const room = file.size - 8 - length;
    let expected = 0;
    for (const { name, start, end } of places) {
      const { shape, dtype } = fields[name];
      const needed = counted(shape) * BYTES[dtype];
      if (start !== expected || end - start !== needed) refuse(`${path} has a header that contradicts itself at '${name}': ${whole(end - start)} bytes at ${whole(start)}, where ${whole(needed)} at ${whole(expected)} are due. Download it again.`);
      expected = end;
    }
    if (expected > room) refuse(`${path} is truncated: its tensors take ${whole(expected)} bytes, and ${whole(room)} are there. A download that stopped half-way? Download it again.`);
    if (expected < room) refuse(`${path} has ${whole(room - expected)} bytes behind its last tensor, which should not be there. Download it again.`);
    return new Map(places.map(({ name, start }) => {
      const { dtype, shape } = fields[name];
      return [name, { dtype, shape, count: counted(shape), path, file, start: 8 + length + start }];
    }));
  }

  function parsed(path, bytes) {
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
      refuse(`${path} has a header that cannot be read: ${error.message}. The file is damaged; download it again.`);
    }
    const unread = Object.entries(fields).find(([, entry]) => !Object.hasOwn(BYTES, entry.dtype));
    if (unread) refuse(`${path}: '${unread[0]}' is ${String(unread[1].dtype).slice(0, 20)}, and such numbers are not read here. A quantised model? Take the one that it was made from.`);
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

  const FLOATS = new Set(["F32", "F16", "BF16"]); // the others are F64 and F8, which the page refuses, and whole numbers
  const PIECE = 1 << 18; // numbers

  // Numbers `from` … `to` of a model's tensor in float32; all of them, if that is left out.
  async function numbers(model, name, from = 0, to = model.tensors.get(name).count) {
    const { dtype, path, start, ...entry } = model.tensors.get(name);
    const wide = BYTES[dtype];
    const bytes = await bytesOf({ path, ...entry }, start + from * wide, start + to * wide);
    if (bytes.byteLength < (to - from) * wide) refuse(`${path} ends inside '${name}'. It was changed since it was opened: open it again.`);
    const values = dtype === "F32" ? new Float32Array(bytes) : widened(dtype, new Uint16Array(bytes));
    for (let place = 0; place < values.length; place++) if (!Number.isFinite(values[place])) refuse(`'${name}' in ${model.name} has a number that is not finite.`);
    return values;
  }

  function widened(dtype, bits) {
    if (dtype === "F16") return weightspace.widened(bits);
    return new Float32Array(Uint32Array.from(bits, (one) => one << 16).buffer);
  }

  // A tensor of several models piece by piece, so that memory stays small however many and however large they are.
  async function* pieces(models, name) {
    const { count } = models[0].tensors.get(name);
    for (let from = 0; from < count; from += PIECE) {
      await pause();
      yield await Promise.all(models.map((model) => numbers(model, name, from, Math.min(count, from + PIECE))));
    }
  }

  Object.assign(own, { BYTES, CheckpointError, FLOATS, Stopped, begin, bytesOf, header, numbers, pause, pieces, refuse, stop, whole });
})();
