// Scaling as Pillow does it, to the bit: weights in 22 bits after the point, first across, then down.

const BITS = 22;
const SUPPORT = { bilinear: 1, bicubic: 2, lanczos: 3 };

const KERNELS = {
  bilinear: (x) => Math.max(0, 1 - Math.abs(x)),
  bicubic(x) {
    const far = Math.abs(x);
    if (far < 1) return (1.5 * far - 2.5) * far * far + 1;
    return far < 2 ? (((far - 5) * far + 8) * far - 4) * -0.5 : 0;
  },
  lanczos: (x) => (-3 <= x && x < 3 ? sinc(x) * sinc(x / 3) : 0),
};

/** Return the image at another size; all ways but `nearest` are antialiased when shrinking. */
export function scaled(image, height, width, interpolation) {
  if (interpolation === "nearest") return picked(image, places(image.height, height), places(image.width, width));
  if (!KERNELS[interpolation]) throw new Error(`This page does not know the interpolation ${interpolation}.`);
  const wide = width === image.width ? image : resampled(image, 1, width, interpolation);
  return height === image.height ? wide : resampled(wide, 0, height, interpolation);
}

/** Return the image with another number of rows (axis 0) or columns (axis 1). */
function resampled(image, axis, size, interpolation) {
  const { channels } = image;
  const old = axis ? image.width : image.height;
  const height = axis ? image.height : size;
  const width = axis ? size : image.width;
  const step = axis ? channels : image.width * channels; // from one old pixel to the next along the axis
  const data = new Uint8ClampedArray(height * width * channels);
  const taps = weights(old, size, interpolation);
  for (let row = 0; row < height; row++) {
    for (let column = 0; column < width; column++) {
      const { first, values } = taps[axis ? column : row];
      const from = (axis ? row * image.width + first : first * image.width + column) * channels;
      for (let channel = 0; channel < channels; channel++) {
        let sum = 1 << (BITS - 1);
        for (let tap = 0; tap < values.length; tap++) sum += image.data[from + tap * step + channel] * values[tap];
        data[(row * width + column) * channels + channel] = sum >> BITS;
      }
    }
  }
  return { width, height, channels, data };
}

/** Return for each new pixel the first of the old ones that make it, and their weights as whole numbers. */
function weights(old, size, interpolation) {
  const scale = old / size;
  const stretch = Math.max(scale, 1);
  const support = SUPPORT[interpolation] * stretch;
  return Array.from({ length: size }, (_, place) => {
    const centre = (place + 0.5) * scale;
    const first = Math.max(Math.trunc(centre - support + 0.5), 0);
    const end = Math.min(Math.trunc(centre + support + 0.5), old);
    const exact = [];
    for (let x = first; x < end; x++) exact.push(KERNELS[interpolation]((x - centre + 0.5) * (1 / stretch)));
    const sum = exact.reduce((total, weight) => total + weight, 0);
    const whole = exact.map((weight) => {
      const share = (sum ? weight / sum : weight) * 2 ** BITS;
      return Math.trunc(share < 0 ? share - 0.5 : share + 0.5);
    });
    return { first, values: Int32Array.from(whole) };
  });
}

/** Return the old pixel that each new one is, by steps that are added up as Pillow adds them. */
function places(old, size) {
  const step = old / size;
  let at = step * 0.5;
  return Array.from({ length: size }, () => {
    const place = Math.min(Math.trunc(at), old - 1);
    at += step;
    return place;
  });
}

function picked({ width, channels, data }, rows, columns) {
  const result = new Uint8ClampedArray(rows.length * columns.length * channels);
  let to = 0;
  for (const row of rows) {
    for (const column of columns) {
      const from = (row * width + column) * channels;
      for (let channel = 0; channel < channels; channel++) result[to++] = data[from + channel];
    }
  }
  return { width: columns.length, height: rows.length, channels, data: result };
}

function sinc(x) {
  return x === 0 ? 1 : Math.sin(x * Math.PI) / (x * Math.PI);
}
