// The formulas of the disturbances, on { width, height, channels, data } with three channels of bytes.

import { asImage, onCanvas } from "./picture.js";
import { evenly, normally } from "./random.js";

const SEED = 7;

export function noise(image, deviation) {
  const draw = normally(SEED);
  return changed(image, (value) => value + deviation * draw());
}

/** Blur with a Gaussian; the edge repeats outside. */
export function blur(image, sigma) {
  const reach = Math.floor(4 * sigma + 0.5);
  const weights = Array.from({ length: 2 * reach + 1 }, (_, place) => Math.exp(-0.5 * ((place - reach) / sigma) ** 2));
  const lines = mixed(unit(image), image, weights, reach, 0, 1);
  return bytes(mixed(lines, image, weights, reach, 1, 0), image);
}

/** Smear along the horizontal, by half a Gaussian: a moving camera. */
export function motion(image, sigma) {
  const length = Math.ceil(3 * sigma);
  const weights = Array.from({ length: length + 1 }, (_, place) => Math.exp(-0.5 * (place / sigma) ** 2));
  return bytes(mixed(unit(image), image, weights, 0, 0, 1), image);
}

/** Add clouds, and rescale so that the brightest value stays where it was. */
export function fog(image, thickness) {
  const clouds = plasma(Math.max(image.width, image.height));
  const side = Math.sqrt(clouds.length);
  const brightest = image.data.reduce((most, value) => Math.max(most, value), 0) / 255;
  const rescaled = brightest / (brightest + thickness);
  return changed(image, (value, row, column) => (value + thickness * clouds[row * side + column]) * rescaled);
}

/** Raise the value of hue-saturation-value; hue and saturation stay. */
export function brightness(image, amount) {
  const data = new Uint8ClampedArray(image.data.length);
  for (let place = 0; place < data.length; place += 3) {
    const most = Math.max(image.data[place], image.data[place + 1], image.data[place + 2]) / 255;
    const raised = Math.min(most + amount, 1);
    for (let channel = 0; channel < 3; channel++) {
      const value = most ? (image.data[place + channel] / 255 / most) * raised : raised;
      data[place + channel] = cutOff(value);
    }
  }
  return { ...image, data };
}

/** Pull each channel towards its mean over the picture. */
export function contrast(image, kept) {
  const mean = [0, 0, 0];
  image.data.forEach((value, place) => (mean[place % 3] += value / 255));
  const middle = mean.map((sum) => sum / (image.width * image.height));
  return changed(image, (value, row, column, channel) => (value - middle[channel]) * kept + middle[channel]);
}

/** Shrink and enlarge again, averaging over boxes. */
export function pixelate(image, scale) {
  const columns = boxes(image.width, Math.max(1, Math.floor(image.width * scale)));
  const rows = boxes(image.height, Math.max(1, Math.floor(image.height * scale)));
  const data = new Uint8ClampedArray(image.data.length);
  for (let row = 0; row < image.height; row++) {
    for (let column = 0; column < image.width; column++) {
      const [top, bottom, left, right] = [...rows[row], ...columns[column]];
      for (let channel = 0; channel < 3; channel++) {
        let sum = 0;
        for (let y = top; y < bottom; y++) {
          for (let x = left; x < right; x++) sum += image.data[(y * image.width + x) * 3 + channel];
        }
        data[(row * image.width + column) * 3 + channel] = sum / ((bottom - top) * (right - left));
      }
    }
  }
  return { ...image, data };
}

/** Save as JPEG with the browser's own coder and read back. */
export async function throughJpeg(image, quality) {
  const canvas = onCanvas(image);
  const blob = await new Promise((resolve) => canvas.toBlob(resolve, "image/jpeg", quality / 100));
  const bitmap = await createImageBitmap(blob, { colorSpaceConversion: "none" });
  return asImage(bitmap, bitmap.width, bitmap.height);
}

function unit(image) {
  return Float64Array.from(image.data, (value) => value / 255);
}

/** Bytes are cut off, not rounded: the benchmarks cut off too. */
function cutOff(value) {
  return Math.floor(Math.min(Math.max(value, 0), 1) * 255);
}

function bytes(values, image) {
  return { ...image, data: Uint8ClampedArray.from(values, cutOff) };
}

function changed(image, change) {
  const data = new Uint8ClampedArray(image.data.length);
  for (let place = 0; place < data.length; place++) {
    const pixel = Math.floor(place / 3);
    const [row, column] = [Math.floor(pixel / image.width), pixel % image.width];
    data[place] = cutOff(change(image.data[place] / 255, row, column, place % 3));
  }
  return { ...image, data };
}

/** Return the weighted means of pixels in a row or a column, from `reach` before each on. */
function mixed(values, { width, height }, weights, reach, down, across) {
  const total = weights.reduce((sum, weight) => sum + weight, 0);
  const result = new Float64Array(values.length);
  for (let row = 0; row < height; row++) {
    for (let column = 0; column < width; column++) {
      const to = (row * width + column) * 3;
      weights.forEach((weight, place) => {
        const y = Math.min(Math.max(row + down * (place - reach), 0), height - 1);
        const x = Math.min(Math.max(column + across * (place - reach), 0), width - 1);
        for (let channel = 0; channel < 3; channel++) {
          result[to + channel] += (weight / total) * values[(y * width + x) * 3 + channel];
        }
      });
    }
  }
  return result;
}

/** Return for each pixel the old pixels, from and to, of the box in which it lies. */
function boxes(size, small) {
  const ratio = size / small;
  return Array.from({ length: size }, (_, place) => {
    const box = Math.min(Math.floor((place + 0.5) / ratio), small - 1);
    const start = Math.floor(box * ratio + 0.5);
    return [start, Math.max(Math.min(Math.floor((box + 1) * ratio + 0.5), size), start + 1)];
  });
}

const DECAY = 2;

/** Return clouds between 0 and 1 on a square map, by the diamond-square method. */
function plasma(least) {
  const draw = evenly(SEED);
  const size = 2 ** Math.ceil(Math.log2(Math.max(least, 2)));
  const clouds = new Float64Array(size * size);
  const at = (row, column) => ((row + size) % size) * size + ((column + size) % size);
  let amplitude = 1;
  const refine = (row, column, known) => {
    const sum = known.reduce((total, [y, x]) => total + clouds[at(y, x)], 0);
    clouds[at(row, column)] = sum / 4 + amplitude * (2 * draw() - 1);
  };
  for (let step = size; step >= 2; step /= 2) {
    const half = step / 2;
    for (let y = 0; y < size; y += step) {
      for (let x = 0; x < size; x += step) {
        refine(y + half, x + half, [[y, x], [y + step, x], [y, x + step], [y + step, x + step]]);
      }
    }
    for (let y = 0; y < size; y += step) {
      for (let x = 0; x < size; x += step) {
        refine(y, x + half, [[y, x], [y, x + step], [y - half, x + half], [y + half, x + half]]);
        refine(y + half, x, [[y, x], [y + step, x], [y + half, x - half], [y + half, x + half]]);
      }
    }
    amplitude /= DECAY ** 2;
  }
  const [low, high] = clouds.reduce(([a, b], value) => [Math.min(a, value), Math.max(b, value)], [Infinity, -Infinity]);
  return clouds.map((value) => (value - low) / (high - low));
}
