// Your own checkpoints, models: which of the chosen or dropped files make up one model, by the rules of
// lessons/checkpoints/folders.py. A part is {file, path}, and its path begins with the folder that was chosen, if it was a
// folder. A model is {name, parts, tensors}, and its tensors are those of all its files.
(() => {
  const own = weightspace.checkpoints;
  const { bytesOf, header, pause, refuse, whole } = own;
  const WEIGHTS = ["model.safetensors", "diffusion_pytorch_model.safetensors", "open_clip_model.safetensors"];
  const ADAPTER = "adapter_model.safetensors";
  const INDEX = ".index.json";
  const SHARD = /^(.+)-(\d+)-of-(\d+)\.safetensors$/;
  const BESIDE = /^\.|\.(json|txt|md|model|jinja)$/; // what lies beside weights and holds none
  const LARGEST_INDEX = 100_000_000; // bytes
  const MOST_FILES = 10_000; // of a folder

  const nameOf = ({ path }) => path.slice(path.lastIndexOf("/") + 1);
  const folderOf = ({ path }) => path.slice(0, path.lastIndexOf("/") + 1); // "" without a folder
  const isIndex = (part) => nameOf(part).endsWith(`.safetensors${INDEX}`);
  const stemOf = (part) => nameOf(part).match(SHARD)?.[1];

  // -- from files to models ------------------------------------------------------------------------------------------

  // All models that some parts hold.
  async function opened(parts) {
    const models = await withoutFolder(parts.filter((part) => !folderOf(part)));
    const roots = new Set(parts.filter(folderOf).map(({ path }) => path.slice(0, path.indexOf("/") + 1)));
    for (const root of roots) {
      const inside = parts.filter(({ path }) => path.startsWith(root));
      const those = await inFolder(root, inside);
      if (!those.length) refuse(nothingIn(root, inside));
      models.push(...those);
    }
    return models;
  }

  // Every file is a model, but shards of one stem are one, together with their index if it is there.
  async function withoutFolder(parts) {
    const hasWeights = parts.some((part) => nameOf(part).endsWith(".safetensors"));
    const sets = new Map();
    for (const part of parts.filter(stemOf)) sets.set(stemOf(part), [...(sets.get(stemOf(part)) ?? []), part]);
    const models = [];
    for (const part of parts.filter((part) => !stemOf(part))) {
      if (!hasWeights || !BESIDE.test(nameOf(part))) models.push(await together(part.path, [part]));
    }
    for (const [stem, set] of sets) {
      const index = parts.find(({ path }) => path === `${stem}.safetensors${INDEX}`);
      models.push(await (index ? indexed(stem, set, index) : numbered(stem, set)));
    }
    return models;
  }

  // The model in a folder; without one, those in the folders inside it.
  async function inFolder(folder, parts) {
    const here = parts.filter((part) => folderOf(part) === folder).sort((one, other) => (one.path < other.path ? -1 : 1));
    const name = folder.slice(0, -1);
    const called = (wanted) => here.find((part) => nameOf(part) === wanted);
    const complete = WEIGHTS.map(called).find(Boolean); // goes before shards of another time, as in transformers
    if (complete) return [await together(name, [complete])];
    const index = WEIGHTS.map((weights) => called(`${weights}${INDEX}`)).find(Boolean) ?? here.find(isIndex);
    if (index) return [await indexed(name, here, index)];
    const stems = [...new Set(here.map(stemOf).filter(Boolean))];
    if (stems.length > 1) refuse(`${name} holds shards of several models, ${stems.join(" and ")}, and no index. Choose the files of one.`);
    if (stems.length) return [await numbered(name, here.filter(stemOf))];
    const deeper = new Set(parts.map(({ path }) => path.slice(folder.length)).filter((rest) => rest.includes("/") && !rest.startsWith("."))
      .map((rest) => `${folder}${rest.slice(0, rest.indexOf("/") + 1)}`));
    const models = [];
    for (const inner of [...deeper].sort()) models.push(...await inFolder(inner, parts.filter(({ path }) => path.startsWith(inner))));
    return models;
  }

  function nothingIn(root, parts) {
    const folder = root.slice(0, -1);
    const here = parts.filter((part) => folderOf(part) === root).map(nameOf).filter((name) => !name.startsWith(".")).sort();
    const adapter = parts.find((part) => nameOf(part) === ADAPTER);
    if (adapter) return noModel(adapter.path);
    const pickle = here.find((name) => /\.(bin|pt|pth|ckpt)$/.test(name));
    if (pickle) return `${folder} has no safetensors file; ${pickle} is a pickle and is not opened. Take a revision of the repository that has model.safetensors, often refs/pr/….`;
    const quantised = here.find((name) => name.endsWith(".gguf"));
    if (quantised) return `${folder} has no safetensors file; ${quantised} is a GGUF file, as llama.cpp reads. Take the same model as .safetensors.`;
    const others = here.filter((name) => name.endsWith(".safetensors"));
    if (others.length) return `${folder} has ${others.length > 1 ? `${others.length} safetensors files` : "one safetensors file"} by another name: choose the file itself, ${root}${others[0]}`;
    return `${folder} holds no checkpoint: no model.safetensors and no model.safetensors.index.json; ${here.length ? `it holds ${here.slice(0, 5).join(", ")}` : "it is empty"}.`;
  }

  const noModel = (path) => `${path} is a LoRA adapter and no whole model: it holds what is added to a base. The command line opens it beside its base.`;

  // -- one model of one or several files -----------------------------------------------------------------------------

  async function together(name, parts) {
    const tensors = new Map();
    for (const part of parts) {
      if (nameOf(part) === ADAPTER) refuse(noModel(part.path));
      await pause();
      const entries = await header(part);
      const [twice] = [...entries.keys()].filter((key) => tensors.has(key)).sort();
      if (twice !== undefined) refuse(`${part.path} holds '${twice}', which ${tensors.get(twice).path} holds as well. Shards of two models in one folder?`);
      for (const [key, entry] of entries) tensors.set(key, entry);
    }
    return { name, parts, tensors };
  }

  // Shards without an index: their names say how many there must be.
  async function numbered(name, parts) {
    const [stem, , many] = nameOf(parts[0]).match(SHARD).slice(1);
    const other = parts.find((part) => nameOf(part).match(SHARD)[3] !== many);
    if (other) refuse(`${parts[0].path} and ${other.path} are shards of two downloads: one has ${Number(many)} files and the other ${Number(nameOf(other).match(SHARD)[3])}. Choose the files of one.`);
    const byNumber = new Map(parts.map((part) => [Number(nameOf(part).match(SHARD)[2]), part]));
    for (let number = 1; number <= Number(many); number++) {
      const missing = `${stem}-${String(number).padStart(many.length, "0")}-of-${many}.safetensors`;
      if (!byNumber.has(number)) refuse(`${folderOf(parts[0])}${missing} is missing: ${nameOf(parts[0])} is one of ${Number(many)} files. Choose all of them together, or their folder.`);
    }
    return together(name, parts.sort((one, other) => (one.path < other.path ? -1 : 1)));
  }

  // Shards with an index, each of which must hold just what the index says.
  async function indexed(name, parts, index) {
    const listed = await weightMap(index);
    const shards = [...new Set(listed.values())].sort();
    const outside = shards.find((shard) => /[/\\]/.test(shard) || ["", ".", ".."].includes(shard));
    if (outside !== undefined) refuse(`${index.path} names a shard outside its folder, '${outside}', which is not opened.`);
    const files = shards.map((shard) => {
      const keys = [...listed].filter(([, file]) => file === shard);
      return parts.find((part) => nameOf(part) === shard) ?? refuse(`${folderOf(index)}${shard} is missing: ${nameOf(index)} names it for ${whole(keys.length)} tensors, among them '${keys[0][0]}'. Choose it together with the others.`);
    });
    const model = await together(name, files);
    for (const [key, shard] of listed) {
      const entry = model.tensors.get(key);
      if (!entry) refuse(`${folderOf(index)}${shard} does not hold '${key}', which ${nameOf(index)} says it does. The shards are not of one download.`);
      if (nameOf(entry) !== shard) refuse(`'${key}' lies in ${entry.path}, where ${nameOf(index)} says ${shard}. The shards are not of one download.`);
    }
    const [extra] = [...model.tensors.keys()].filter((key) => !listed.has(key)).sort();
    if (extra !== undefined) refuse(`${model.tensors.get(extra).path} holds '${extra}', of which ${nameOf(index)} does not know. The shards are not of one download.`);
    return model;
  }

  async function weightMap(index) {
    if (index.file.size > LARGEST_INDEX) refuse(`${index.path} has ${whole(index.file.size)} bytes, where ${whole(LARGEST_INDEX)} is the most that is allowed. Download it again.`);
    let content;
    try {
      content = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(await bytesOf(index, 0, index.file.size)));
    } catch (error) {
      if (error instanceof own.CheckpointError) throw error;
      refuse(`${index.path} cannot be read as JSON: ${error.message}. Download it again.`);
    }
    const listed = Object.entries(content?.weight_map ?? {});
    if (!listed.length || Array.isArray(content.weight_map) || !listed.every(([, shard]) => typeof shard === "string")) refuse(`${index.path} is no index of shards: it has no “weight_map”. Download it again.`);
    return new Map(listed);
  }

  // -- what was chosen or dropped ------------------------------------------------------------------------------------

  const chosen = (files) => checked([...files].map((file) => ({ file, path: file.webkitRelativePath || file.name })));

  function checked(parts) {
    if (parts.length > MOST_FILES) refuse(`These are ${whole(parts.length)} files, where ${whole(MOST_FILES)} is the most that is read. Choose the folder of one model.`);
    return parts;
  }

  // The parts of a drop. What was dropped must be asked for before anything is waited for. A page that was opened from a
  // disk may look into folders by their handles alone, and browsers without these by their entries.
  async function dropped({ items }) {
    const things = [...items].filter(({ kind }) => kind === "file").map((item) => ({
      file: item.getAsFile(), entry: item.webkitGetAsEntry?.(), handle: item.getAsFileSystemHandle?.().catch(() => null) }));
    const parts = [];
    for (const { file, entry, handle } of things) {
      const folder = await handle ?? entry;
      if (folder?.kind === "directory" || folder?.isDirectory) await walk(folder, `${folder.name}/`, parts);
      else parts.push({ file, path: file.name });
    }
    return checked(parts);
  }

  async function walk(folder, path, parts) {
    const inside = folder.values ? folder.values() : await entriesOf(folder);
    for await (const thing of inside) {
      await pause();
      const isFolder = thing.kind === "directory" || thing.isDirectory;
      if (isFolder && !thing.name.startsWith(".")) await walk(thing, `${path}${thing.name}/`, parts);
      else if (!isFolder) checked(parts).push({ file: await (thing.getFile ? thing.getFile() : new Promise((...both) => thing.file(...both))), path: `${path}${thing.name}` });
    }
  }

  // An entry tells what is in it a hundred at a time.
  async function entriesOf(folder) {
    const [reader, entries] = [folder.createReader(), []];
    for (;;) {
      const more = await new Promise((...both) => reader.readEntries(...both));
      if (!more.length) return entries;
      entries.push(...more);
    }
  }

  Object.assign(own, { chosen, dropped, opened });
})();
