// Your own checkpoints, writing: the merged file, piece by piece. Where the browser can stream to a file on disk, memory
// holds no more than the piece; elsewhere the browser keeps the pieces and makes a download of them.
(() => {
  const own = weightspace.checkpoints;
  const { BYTES, FLOATS, METHODS, pause, refuse } = own;

  // What stands in front of the tensors, as bytes.
  function front(entries, method) {
    const bytes = new TextEncoder().encode(JSON.stringify({ __metadata__: { format: "pt", merged_by: `weightspace, ${method}` }, ...entries }));
    const padded = new Uint8Array(8 + Math.ceil(bytes.length / 8) * 8).fill(0x20);
    new DataView(padded.buffer).setBigUint64(0, BigInt(padded.length - 8), true);
    padded.set(bytes, 8);
    return padded;
  }

  // Writes the merge of models to a place that has `write(part)`. The numbers of most bytes come first, because
  // libraries that map files ask each tensor to begin at a multiple of its numbers' size.
  async function merge(models, method, settings, place, told) {
    const [base] = models;
    const kindOf = ({ dtype }) => (FLOATS.has(dtype) ? "F32" : dtype);
    const order = [...base.tensors].sort(([, one], [, other]) => BYTES[kindOf(other)] - BYTES[kindOf(one)]);
    const entries = Object.create(null); // a tensor may be called __proto__
    let end = 0;
    for (const [name, entry] of order) {
      entries[name] = { dtype: kindOf(entry), shape: entry.shape, data_offsets: [end, end += entry.count * BYTES[kindOf(entry)]] };
    }
    const first = front(entries, method);
    await place.write(first);
    let done = 0;
    for (const [name, { dtype, count, file, start }] of order) {
      if (FLOATS.has(dtype)) {
        for await (const piece of METHODS[method](models, name, settings)) {
          if (!piece.every(Number.isFinite)) refuse(`'${name}' does not fit float32 any more.`);
          await place.write(piece);
        }
      } else await place.write(file.slice(start, start + count * BYTES[dtype])); // whole numbers stay the base's
      told(++done, order.length);
      await pause();
    }
    return first.length + end;
  }

  // -- where it goes -------------------------------------------------------------------------------------------------

  // A file that the reader chooses, or the browser's folder of downloads; null if the reader chooses none.
  async function place(name) {
    if (!window.showSaveFilePicker) return download(name);
    try {
      return await onDisk(await showSaveFilePicker({ suggestedName: name, types: [{ description: "safetensors", accept: { "application/octet-stream": [".safetensors"] } }] }));
    } catch (error) {
      if (error.name === "AbortError") return null;
      if (error.name === "SecurityError") return download(name); // an administrator may forbid it
      throw error;
    }
  }

  async function onDisk(handle) {
    const stream = await handle.createWritable();
    return {
      where: `in the file ${handle.name}`,
      write: (part) => stream.write(part),
      finish: () => stream.close(), // the file has its content from now on
      async giveUp() {
        await stream.abort().catch(() => {});
        await handle.remove?.().catch(() => {}); // it is empty: the browser emptied it when it was chosen
      },
    };
  }

  function download(name) {
    const parts = [];
    return {
      where: "in your folder of downloads",
      async write(part) { parts.push(new Blob([part])); }, // the browser keeps it outside the page's memory
      async finish() { save(new Blob(parts), name); },
      async giveUp() { parts.length = 0; },
    };
  }

  function save(blob, name) {
    const link = Object.assign(document.createElement("a"), { href: URL.createObjectURL(blob), download: name });
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
  }

  Object.assign(own, { merge, place, save });
})();
