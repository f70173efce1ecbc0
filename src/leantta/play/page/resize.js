// Images at the model's size: pixel for pixel what leantta/data/resize.py gives.
//
// An image is { width, height, channels, data }, the bytes row by row, channels last.

/** Return the image scaled until it covers height x width, its centre cut out at that size. */
export function cover(image, height, width) {
  if (image.height === height && image.width === width) return image;
  const scale = Math.max(height / image.height, width / image.width);
  const rows = taps(image.height, Math.max(height, roundToEven(image.height * scale)), height);
  const columns = taps(image.width, Math.max(width, roundToEven(image.width * scale)), width);
  const { channels } = image;
  const lines = blended(image.data, image.height, image.width * channels, rows); // (height, old width, c)
  const turned = transposed(lines, height, image.width, channels);
  const result = blended(turned, image.width, height * channels, columns); // (width, height, c)
  const data = Uint8ClampedArray.from(transposed(result, width, height, channels), roundToEven);
  return { width, height, channels, data };
}

/** Return how bright each pixel of an RGB image is, by ITU-R BT.601. */
export function luminance(image) {
  const data = new Uint8ClampedArray(image.width * image.height);
  for (let place = 0; place < data.length; place++) {
    const [red, green, blue] = image.data.subarray(3 * place, 3 * place + 3);
    data[place] = (19595 * red + 38470 * green + 7471 * blue + 32768) >> 16;
  }
  return { ...image, channels: 1, data };
}

/** Return which old pixels make each kept one: the first of them, and their weights as float32. */
function taps(old, wanted, kept) {
  const ratio = old / wanted;
  const reach = Math.max(ratio, 1);
  const count = Math.min(old, Math.ceil(2 * reach) + 1);
  const first = new Int32Array(kept);
  const weights = new Float32Array(kept * count);
  const exact = new Float64Array(count);
  for (let place = 0; place < kept; place++) {
    const centre = (place + Math.floor((wanted - kept) / 2) + 0.5) * ratio;
    first[place] = Math.min(Math.max(Math.floor(centre - reach + 0.5), 0), old - count);
    for (let tap = 0; tap < count; tap++) {
      exact[tap] = Math.max(0, 1 - Math.abs(first[place] + (tap + 0.5) - centre) / reach);
    }
    const sum = pairwiseSum(exact, 0, count);
    for (let tap = 0; tap < count; tap++) weights[place * count + tap] = exact[tap] / sum;
  }
  return { first, weights, count };
}

/** Return weighted sums of rows, in float32 and tap by tap, as numpy computes them. */
function blended(values, rows, length, { first, weights, count }) {
  const kept = first.length;
  const total = new Float32Array(kept * length);
  for (let tap = 0; tap < count; tap++) {
    for (let row = 0; row < kept; row++) {
      const weight = weights[row * count + tap];
      const from = (first[row] + tap) * length;
      const to = row * length;
      for (let place = 0; place < length; place++) {
        total[to + place] += Math.fround(weight * values[from + place]);
      }
    }
  }
  return total;
}

function transposed(values, rows, columns, channels) {
  const result = new Float32Array(values.length);
  for (let row = 0; row < rows; row++) {
    for (let column = 0; column < columns; column++) {
      for (let channel = 0; channel < channels; channel++) {
        result[(column * rows + row) * channels + channel] = values[(row * columns + column) * channels + channel];
      }
    }
  }
  return result;
}

/** Return the whole number next to a value; halves go to the even one, as in numpy and Python. */
export function roundToEven(value) {
  const rounded = Math.round(value);
  return rounded - value === 0.5 && rounded % 2 ? rounded - 1 : rounded;
}

/** Return the sum in the order in which numpy adds, so that the last bit is the same. */
function pairwiseSum(values, start, count) {
  if (count < 8) {
    let sum = 0;
    for (let place = 0; place < count; place++) sum += values[start + place];
    return sum;
  }
  if (count > 128) {
    const half = Math.floor(count / 2) - (Math.floor(count / 2) % 8);
    return pairwiseSum(values, start, half) + pairwiseSum(values, start + half, count - half);
  }
  const lanes = values.slice(start, start + 8);
  let place = 8;
  for (; place < count - (count % 8); place += 8) {
    for (let lane = 0; lane < 8; lane++) lanes[lane] += values[start + place + lane];
  }
  let sum = lanes[0] + lanes[1] + (lanes[2] + lanes[3]) + (lanes[4] + lanes[5] + (lanes[6] + lanes[7]));
  for (; place < count; place++) sum += values[start + place];
  return sum;
}
