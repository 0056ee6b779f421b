// float16 numbers, as weights are written. `weightspace.widened(bits)` are the numbers of a Uint16Array of their bits.
(() => {
  let every; // all of them, by their bits

  function number(bits) {
    const [sign, exponent, fraction] = [bits & 0x8000 ? -1 : 1, bits >> 10 & 31, bits & 1023];
    if (exponent === 31) return fraction ? NaN : sign * Infinity;
    return exponent ? sign * 2 ** (exponent - 15) * (1 + fraction / 1024) : sign * 2 ** -14 * (fraction / 1024);
  }

  weightspace.widened = (bits) => {
    every ??= Float32Array.from({ length: 1 << 16 }, (_, place) => number(place));
    return Float32Array.from(bits, (one) => every[one]);
  };
})();
