// Your own checkpoints, spectra: singular values and low-rank parts of matrices, in float64. The squared singular values of
// A are the eigenvalues of the smaller of A·Aᵀ and Aᵀ·A. Reflections bring this to three diagonals (Householder), and
// rotations to one (the implicit QR algorithm): Golub and Van Loan, Matrix Computations, sections 8.3.1 and 8.3.3.
(() => {
  const own = weightspace.checkpoints;
  const { numbers, pause, refuse } = own;
  const LONGEST = 1024; // of the shorter side
  const MOST_NUMBERS = 40_000_000; // of a matrix
  const MOST_TURNS = 60; // for each eigenvalue; two or three are usual

  const isMatrix = ({ shape, count }) => shape.length > 1 && count > 0; // a convolution is read as (out, in · kh · kw)
  const tooLarge = (rows, columns) => Math.min(rows, columns) > LONGEST || rows * columns > MOST_NUMBERS;

  // -- eigenvalues ---------------------------------------------------------------------------------------------------

  // The lower triangle of the smaller of A·Aᵀ and Aᵀ·A.
  async function gram(matrix, rows, columns) {
    if (rows < columns) return gram(transposed(matrix, rows, columns), columns, rows); // three times as fast as A·Aᵀ
    const squares = new Float64Array(columns * columns);
    for (let start = 0; start < matrix.length; start += columns) {
      await pause();
      const row = matrix.subarray(start, start + columns);
      for (let i = 0; i < columns; i++) add(squares, i * columns, row, row[i], i + 1);
    }
    return squares;
  }

  function transposed(matrix, rows, columns) {
    const result = new Float32Array(matrix.length);
    for (let row = 0; row < rows; row++) for (let column = 0; column < columns; column++) result[column * rows + row] = matrix[row * columns + column];
    return result;
  }

  function dot(vector, matrix, start, length) {
    let [even, odd, place] = [0, 0, 0];
    for (; place + 1 < length; place += 2) {
      even += vector[place] * matrix[start + place];
      odd += vector[place + 1] * matrix[start + place + 1];
    }
    return place < length ? even + odd + vector[place] * matrix[start + place] : even + odd;
  }

  function add(matrix, start, vector, factor, length) {
    for (let place = 0; place < length; place++) matrix[start + place] += factor * vector[place];
  }

  // Q T Qᵀ = A with three diagonals in T: its diagonal, and what lies beside it. Row i of `matrix`, of which the lower
  // triangle is read, becomes the unit vector v of the reflection I − 2vvᵀ that cleared it. Q is the product of these
  // reflections, from the last row to the first.
  async function tridiagonal(matrix, size) {
    const [diagonal, beside, image] = [new Float64Array(size), new Float64Array(size), new Float64Array(size)];
    for (let i = size - 1; i >= 1; i--) {
      await pause();
      const v = matrix.subarray(i * size, i * size + i);
      diagonal[i] = matrix[i * size + i];
      const [far, last] = [dot(v, v, 0, i - 1), v[i - 1]];
      const length = last > 0 ? -Math.sqrt(far + last * last) : Math.sqrt(far + last * last);
      beside[i - 1] = far ? length : last;
      if (!far) {
        v.fill(0);
        continue;
      }
      v[i - 1] = last - length;
      const norm = Math.sqrt(far + v[i - 1] * v[i - 1]);
      for (let place = 0; place < i; place++) v[place] /= norm;
      reflect(matrix, size, i, v, image);
    }
    diagonal[0] = matrix[0];
    return [diagonal, beside];
  }

  // H A H of the first `count` rows and columns, with H = I − 2vvᵀ: A − vwᵀ − wvᵀ with w = 2(Av − (vᵀAv)v).
  function reflect(matrix, size, count, v, w) {
    w.fill(0);
    for (let row = 0; row < count; row++) {
      w[row] += dot(v, matrix, row * size, row + 1);
      add(w, 0, matrix.subarray(row * size), v[row], row);
    }
    const inner = dot(v, w, 0, count);
    for (let place = 0; place < count; place++) w[place] = 2 * (w[place] - inner * v[place]);
    for (let row = 0; row < count; row++) {
      const [ours, theirs, start] = [v[row], w[row], row * size];
      for (let column = 0; column <= row; column++) matrix[start + column] -= ours * w[column] + theirs * v[column];
    }
  }

  // The eigenvalues of a matrix of three diagonals take the place of `diagonal`. The same rotations turn the rows of
  // `turned`, if there is one: from the identity, they become the eigenvectors.
  async function rotate(diagonal, beside, turned) {
    const size = diagonal.length;
    let norm = 0;
    for (let place = 0; place < size; place++) norm = Math.max(norm, Math.abs(diagonal[place]) + Math.abs(beside[place]));
    const isNothing = (place) => Math.abs(beside[place]) <= Number.EPSILON * norm; // the squares are no more exact
    let [last, turns] = [size - 1, 0];
    while (last > 0) {
      await pause();
      if (isNothing(last - 1)) {
        last--;
        turns = 0;
        continue;
      }
      let first = last - 1;
      while (first > 0 && !isNothing(first - 1)) first--;
      if (turns++ > MOST_TURNS) refuse("The singular values of a matrix could not be found.");
      turn(diagonal, beside, turned, first, last);
    }
  }

  // One step of the QR algorithm on rows first … last, shifted by an eigenvalue of the last two (Wilkinson).
  function turn(diagonal, beside, turned, first, last) {
    const size = diagonal.length;
    const [half, corner] = [(diagonal[last - 1] - diagonal[last]) / 2, beside[last - 1]];
    const root = Math.hypot(half, corner);
    let x = diagonal[first] - diagonal[last] + corner / (half + (half < 0 ? -root : root)) * corner;
    let z = beside[first]; // the rotation takes (x, z) to (r, 0)
    for (let k = first; k < last; k++) {
      const r = Math.hypot(x, z);
      const [c, s] = r ? [x / r, z / r] : [1, 0];
      if (k > first) beside[k - 1] = r;
      const [a, b, f] = [diagonal[k], diagonal[k + 1], beside[k]];
      diagonal[k] = c * c * a + 2 * c * s * f + s * s * b;
      diagonal[k + 1] = s * s * a - 2 * c * s * f + c * c * b;
      x = beside[k] = c * s * (b - a) + (c * c - s * s) * f;
      if (k + 1 < last) {
        z = s * beside[k + 1];
        beside[k + 1] *= c;
      }
      if (turned) {
        for (let one = k * size, other = one + size, end = other; one < end; one++, other++) {
          const [upper, lower] = [turned[one], turned[other]];
          turned[one] = c * upper + s * lower;
          turned[other] = c * lower - s * upper;
        }
      }
    }
  }

  // -- of a matrix (rows × columns) ----------------------------------------------------------------------------------

  // Its singular values, largest first.
  async function singularValues(matrix, rows, columns) {
    const size = Math.min(rows, columns);
    const [diagonal, beside] = await tridiagonal(await gram(matrix, rows, columns), size);
    await rotate(diagonal, beside, null);
    return diagonal.sort().reverse().map((square) => Math.sqrt(Math.max(0, square)));
  }

  // The singular vectors of its shorter side that belong to the `kept` largest singular values.
  async function leading(matrix, rows, columns, kept) {
    const size = Math.min(rows, columns);
    const reflections = await gram(matrix, rows, columns);
    const [diagonal, beside] = await tridiagonal(reflections, size);
    const turned = new Float64Array(size * size);
    for (let place = 0; place < size; place++) turned[place * size + place] = 1;
    await rotate(diagonal, beside, turned);
    const order = [...diagonal.keys()].sort((one, other) => diagonal[other] - diagonal[one]);
    return order.slice(0, kept).map((which) => {
      const vector = turned.subarray(which * size, (which + 1) * size);
      for (let i = 1; i < size; i++) add(vector, 0, reflections.subarray(i * size), -2 * dot(vector, reflections, i * size, i), i);
      return vector;
    });
  }

  // Adds SVD_k of a matrix, its best approximation of rank k, to a sum.
  async function addLowRank(total, matrix, rows, columns, kept) {
    for (const vector of await leading(matrix, rows, columns, kept)) {
      await pause();
      if (rows < columns) { // u uᵀ A
        const along = new Float64Array(columns);
        for (let row = 0; row < rows; row++) add(along, 0, matrix.subarray(row * columns), vector[row], columns);
        for (let row = 0; row < rows; row++) add(total, row * columns, along, vector[row], columns);
      } else { // A v vᵀ
        for (let row = 0; row < rows; row++) add(total, row * columns, vector, dot(vector, matrix, row * columns, columns), columns);
      }
    }
  }

  // -- of all task vectors -------------------------------------------------------------------------------------------

  // [{name, shape, values: singular values of every model's task vector}], and the names of matrices that are too large.
  async function spectra(models, told) {
    const [base, ...tuned] = models;
    const matrices = [...base.tensors].filter(([, entry]) => own.FLOATS.has(entry.dtype) && isMatrix(entry));
    const sides = ({ shape, count }) => [shape[0], count / shape[0]];
    const skipped = matrices.filter(([, entry]) => tooLarge(...sides(entry)));
    const rows = [];
    for (const [name, entry] of matrices.filter((one) => !skipped.includes(one))) {
      const start = await numbers(base, name);
      const values = [];
      for (const model of tuned) {
        const vector = own.difference(start, await numbers(model, name));
        values.push(await singularValues(vector, ...sides(entry)));
      }
      rows.push({ name, shape: entry.shape, values });
      told(rows.length, matrices.length - skipped.length);
    }
    return { rows, skipped: skipped.map(([name]) => name) };
  }

  // How many of the directions hold 90 % of the squared length, as a share of all; NaN where nothing moved.
  function shareOfDirections(values) {
    const squares = values.reduce((total, value) => total + value * value, 0);
    let [held, kept] = [0, 0];
    while (kept < values.length && held < 0.9 * squares) held += values[kept++] ** 2;
    return squares ? kept / values.length : NaN;
  }

  // ‖A‖²/σ₁²: how many directions it would have if all were equally strong; NaN where nothing moved.
  const stableRank = (values) => values.reduce((total, value) => total + (value / values[0]) ** 2, 0);

  Object.assign(own, { LONGEST, MOST_NUMBERS, addLowRank, dot, isMatrix, shareOfDirections, spectra, stableRank, tooLarge });
})();
