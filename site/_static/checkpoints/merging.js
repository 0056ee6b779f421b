// Your own checkpoints, merging: the methods, tensor by tensor, as lessons/merging has them. Each step of average, task
// arithmetic and TIES is rounded to float32 as in Python, so that the results are equal to the last bit. CART computes in
// float64 by another order of steps than PyTorch does.
(() => {
  const own = weightspace.checkpoints;
  const { FLOATS, addLowRank, isMatrix, numbers, pause, pieces, refuse, tooLarge, whole } = own;
  const round = Math.fround;

  // -- entry by entry ------------------------------------------------------------------------------------------------

  // The sum over models of each number, from the first model on.
  function sum(vectors) {
    const total = new Float32Array(vectors[0].length);
    for (const vector of vectors) for (let place = 0; place < total.length; place++) total[place] += vector[place];
    return total;
  }

  const difference = (base, model) => model.map((number, place) => round(number - base[place]));
  const mean = (tuned) => sum(tuned).map((total) => round(total / tuned.length));

  function moved(base, vector, scale) {
    const factor = round(scale);
    return base.map((number, place) => round(number + round(factor * vector[place])));
  }

  // TIES elects a sign for each entry and takes the mean of those that have it. What lies below a model's `lowest` counts
  // as 0.
  function elected(base, tuned, { scale, lowest }) {
    const vectors = tuned.map((model, which) => difference(base, model).map((number) => (Math.abs(number) >= lowest[which] ? number : 0)));
    const total = sum(vectors);
    const agreed = sum(vectors.map((vector) => vector.map((number, place) => (number * Math.sign(total[place]) > 0 ? number : 0))));
    const counts = new Uint32Array(total.length);
    for (const vector of vectors) vector.forEach((number, place) => { counts[place] += number * Math.sign(total[place]) > 0; });
    return moved(base, agreed.map((number, place) => round(number / Math.max(1, counts[place]))), scale);
  }

  // -- what TIES keeps -----------------------------------------------------------------------------------------------

  // The smallest magnitude that is kept of a task vector; those of this magnitude stay together. The magnitudes are not
  // sorted but counted, by the upper and then by the lower 16 bits, so that the vector need not be in memory.
  async function lowestKept(base, model, name, density) {
    const { count } = base.tensors.get(name);
    if (density === 1) return 0;
    let left = Math.min(Math.floor(density * count + 1e-9 * count), count);
    if (!left) return Infinity;
    let upper = -1;
    for (const step of ["upper", "lower"]) {
      const counts = new Float64Array(1 << 16);
      for await (const [start, end] of pieces([base, model], name)) {
        const bits = new Uint32Array(difference(start, end).buffer);
        for (const all of bits) {
          const magnitude = all & 0x7fffffff; // without the sign, floats are in the order of their bits
          if (step === "upper") counts[magnitude >>> 16]++;
          else if (magnitude >>> 16 === upper) counts[magnitude & 0xffff]++;
        }
      }
      let place = counts.length - 1;
      while (counts[place] < left) left -= counts[place--];
      if (step === "upper") upper = place;
      else return new Float32Array(Uint32Array.of(upper << 16 | place).buffer)[0];
    }
  }

  // -- CART ----------------------------------------------------------------------------------------------------------

  // k, how many of `full` directions are kept.
  const rankOf = (share, full) => (share === 0 ? 0 : Math.max(1, Math.ceil(share * full - 1e-9 * full)));

  // A matrix's sides, k, and whether that cuts anything off.
  function cutOf({ shape, count }, rank) {
    const [rows, columns] = [shape[0], count / shape[0]];
    const kept = rankOf(rank, Math.min(rows, columns));
    return { rows, columns, kept, isCut: kept > 0 && kept < Math.min(rows, columns) };
  }

  // Says before a merge begins that it cannot end.
  function checkSizes({ tensors }, method, { rank }) {
    for (const [name, entry] of method === "cart" ? tensors : []) {
      if (!FLOATS.has(entry.dtype) || !isMatrix(entry)) continue;
      const { rows, columns, isCut } = cutOf(entry, rank);
      if (isCut && tooLarge(rows, columns)) refuse(`'${name}' is ${whole(rows)} × ${whole(columns)}, which is too large to find its directions in a browser. The command line does it.`);
    }
  }

  // θ_avg + λ · Σ SVD_k(θ_t − θ_avg) of a matrix; of two models the sum is zero, whatever k is.
  async function cart(models, name, { scale, rank }) {
    const [, ...tuned] = models;
    const { count } = models[0].tensors.get(name);
    const { rows, columns, kept, isCut } = cutOf(models[0].tensors.get(name), rank);
    const average = new Float32Array(count);
    let from = 0;
    for await (const piece of pieces(tuned, name)) {
      average.set(mean(piece), from);
      from += piece[0].length;
    }
    const total = new Float64Array(count);
    for (const model of kept ? tuned : []) {
      const vector = difference(average, await numbers(model, name));
      if (isCut) await addLowRank(total, vector, rows, columns, kept);
      else for (let place = 0; place < count; place++) total[place] += vector[place];
      await pause();
    }
    return average.map((number, place) => scale * total[place] + number);
  }

  // -- every method --------------------------------------------------------------------------------------------------

  const byEntry = (merge) => async function* merged(models, name, settings) {
    for await (const [base, ...tuned] of pieces(models, name)) yield merge(base, tuned, settings);
  };

  // {method: generator of a merged tensor's numbers, in pieces}
  const METHODS = {
    average: byEntry((base, tuned) => mean(tuned)),
    task_arithmetic: byEntry((base, tuned, { scale }) => moved(base, sum(tuned.map((model) => difference(base, model))), scale)),
    async* ties(models, name, { scale, density }) {
      const lowest = [];
      for (const model of models.slice(1)) lowest.push(await lowestKept(models[0], model, name, density));
      yield* byEntry(elected)(models, name, { scale, lowest });
    },
    async* cart(models, name, settings) {
      if (isMatrix(models[0].tensors.get(name))) yield await cart(models, name, settings);
      else yield* METHODS.average(models, name, settings);
    },
  };

  Object.assign(own, { METHODS, checkSizes, difference });
})();
