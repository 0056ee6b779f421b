// The arithmetic of small networks on many images: `await weightspace.kernel(floats)` gives memory for so many float32
// numbers and three functions on it. They are WebAssembly, compiled from kernel.wat by `python -m tools.book.kernel`, or
// plain JavaScript where a browser has none. Both give the same to rounding.
(() => {
  const BYTES = "AGFzbQEAAAABGANgBH9/f30AYAJ/fwBgCH9/f39/f39/AAMEAwABAgUDAQABByIEBm1lbW9yeQIAA2FkZAAAB3JlY3RpZnkAAQVsYXllcgACCswDA0IBAX8gACACQQJ0aiEEA0AgACAA/QAEACAD/RMgAf0ABAD95gH95AH9CwQAIAFBEGohASAAQRBqIQAgACAESQ0ACwtAAQF/IAAgAUECdGohAgNAIAAgAP0ABAD9DAAAAAAAAAAAAAAAAAAAAAD96QH9CwQAIABBEGohACAAIAJJDQALC8UCAgp/BXsgB0ECdCENIAFBAnQhDANAQQAhCQNAIAAgCCAMbGohDiAOIAxqIQ8gDyAMaiEQIBAgDGohESACIAlqIQsgAyAJav0ABAAhEyATIRQgEyEVIBMhFkEAIQoCQCAGRQ0AA0AgC/0ABAAhEiATIA79CQIAIBL95gH95AEhEyAUIA/9CQIAIBL95gH95AEhFCAVIBD9CQIAIBL95gH95AEhFSAWIBH9CQIAIBL95gH95AEhFiAOQQRqIQ4gD0EEaiEPIBBBBGohECARQQRqIREgCyANaiELIApBAWohCiAKIAZJDQALCyAEIAkgCCANbGpqIQ4gDiANaiEPIA8gDWohECAOIBP9CwQAIA8gFP0LBAAgECAV/QsEACAQIA1qIBb9CwQAIAlBEGohCSAJIA1JDQALIAhBBGohCCAIIAVJDQALCwDrAQRuYW1lAq8BAwAFAANvdXQBBnZlY3RvcgIFY291bnQDBXNjYWxlBANlbmQBAwADb3V0AQVjb3VudAIDZW5kAhcAAXgBBnN0cmlkZQIGd2VpZ2h0AwRiaWFzBANvdXQFBHJvd3MGBWlubmVyBwdjb2x1bW5zCANyb3cJBmNvbHVtbgoBawsBdwwEc3RlcA0Ed2lkZQ4CeDAPAngxEAJ4MhECeDMSAmF0EwJzMBQCczEVAnMyFgJzMwMyAwABAARuZXh0AQEABG5leHQCBAAFcm93czQBCGNvbHVtbnM0AgRkb25lAwZpbm5lcnM=";
  const four = (count) => Math.ceil(count / 4) * 4;

  // Parts of one memory, handed out one after the other.
  class Room {
    constructor(buffer) { [this.buffer, this.used] = [buffer, 0]; }

    // {at, values, count}: where the part begins, in bytes, its numbers, and how many these are: a multiple of 4.
    take(count) {
      const part = { at: this.used, values: new Float32Array(this.buffer, this.used, four(count)), count: four(count) };
      this.used += 4 * part.count;
      return part;
    }
  }

  async function compiled(floats) {
    const bytes = Uint8Array.from(atob(BYTES), (letter) => letter.charCodeAt(0));
    const { memory, add, rectify, layer } = (await WebAssembly.instantiate(bytes)).instance.exports;
    memory.grow(Math.ceil((4 * floats) / 65_536));
    return {
      room: new Room(memory.buffer), isCompiled: true,
      add: (out, vector, scale) => add(out.at, vector.at, out.count, scale),
      rectify: (out) => rectify(out.at, out.count),
      layer: (x, stride, weight, bias, out, rows, inner, columns) => layer(x.at, stride, weight.at, bias.at, out.at, rows, inner, columns),
    };
  }

  function plain(floats) {
    return {
      room: new Room(new ArrayBuffer(4 * floats + 65_536)), isCompiled: false,
      add({ values }, vector, scale) { for (let place = 0; place < values.length; place++) values[place] += scale * vector.values[place]; },
      rectify({ values }) { for (let place = 0; place < values.length; place++) if (values[place] < 0) values[place] = 0; },
      layer(x, stride, weight, bias, out, rows, inner, columns) {
        for (let row = 0; row < rows; row++) {
          const sums = out.values.subarray(row * columns, (row + 1) * columns);
          sums.set(bias.values.subarray(0, columns));
          for (let k = 0; k < inner; k++) {
            const share = x.values[row * stride + k];
            if (share) for (let column = 0; column < columns; column++) sums[column] += share * weight.values[k * columns + column];
          }
        }
      },
    };
  }

  // Args: floats, how many numbers all parts together hold; isPlain: without WebAssembly.
  weightspace.kernel = async (floats, isPlain = false) => {
    if (isPlain) return plain(floats);
    try {
      return await compiled(floats);
    } catch {
      return plain(floats);
    }
  };
  weightspace.four = four;
})();
