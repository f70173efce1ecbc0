// What a model file takes, made of a picture of any size: the same numbers as leantta/runtime/inputs.py.
//
// A file may describe what happens to an image (`preprocessing`): resize, pad, crop, colours. One without a
// description takes images that are scaled to cover its input and cut in the centre.

import { scaled } from "./pillow.js";
import { cover, luminance, roundToEven } from "./resize.js";

const MOST_SCALED = 2 ** 28;

/** Return an RGB picture at the model's size. */
export function sized(image, input) {
  const [, height, width] = input.shape;
  const how = input.preprocessing;
  if (!how) return cover(image, height, width);
  const placed = centre(padded(resized(image, how), how), how.crop);
  if (placed.height !== height || placed.width !== width) {
    throw new Error(`The model takes pictures of ${width} x ${height} pixels and does not scale them; this one has ${placed.width} x ${placed.height}.`);
  }
  return placed;
}

/** Return an RGB picture in the colours that the model sees. */
export function coloured(image, input) {
  if (input.shape[0] === 1) return luminance(image);
  if (input.preprocessing?.colours !== "bgr") return image;
  return { ...image, data: image.data.map((_, place, all) => all[place - (place % 3) + 2 - (place % 3)]) };
}

/** Return the input of the engine: bytes as they are for the kind `image`, else normalized, channels first. */
export function toTensor(image, input) {
  const [channels, height, width] = input.shape;
  if (input.kind === "image") {
    return { type: "uint8", data: Uint8Array.from(image.data), dims: [1, height, width, channels] };
  }
  const size = height * width;
  const data = new Float32Array(channels * size);
  for (let channel = 0; channel < channels; channel++) {
    const mean = Math.fround(input.mean[channel]);
    const std = Math.fround(input.std[channel]);
    for (let place = 0; place < size; place++) {
      const unit = Math.fround(image.data[place * channels + channel] / 255);
      data[channel * size + place] = Math.fround(unit - mean) / std;
    }
  }
  return { type: "float32", data, dims: [1, channels, height, width] };
}

function resized(image, { resize = null, side = "short", interpolation = "bilinear" }) {
  if (resize === null) return image;
  const [height, width] = Array.isArray(resize) ? resize : oneSide(image, resize, side);
  if (Math.max(height, image.height) * width > MOST_SCALED) {
    throw new Error("This picture is so long and thin that it would become too large. Cut it first.");
  }
  return scaled(image, height, width, interpolation);
}

/** Return height and width when one side is given; the other is cut off (short side) or rounded (long). */
function oneSide({ height, width }, resize, side) {
  const [short, long] = [Math.min(height, width), Math.max(height, width)];
  const given = side === "short" ? short : long;
  const other = side === "short" ? Math.trunc((resize * long) / short) : Math.max(1, roundToEven((short * resize) / long));
  return height === given ? [resize, other] : [other, resize];
}

function padded(image, { pad = null, fill = 0 }) {
  if (pad === null || (image.height >= pad[0] && image.width >= pad[1])) return image;
  const height = Math.max(image.height, pad[0]);
  const width = Math.max(image.width, pad[1]);
  const top = Math.floor((height - image.height) / 2);
  const left = Math.floor((width - image.width) / 2);
  const data = Uint8ClampedArray.from({ length: height * width * 3 }, (_, place) =>
    Array.isArray(fill) ? fill[place % fill.length] : fill,
  );
  for (let row = 0; row < image.height; row++) {
    const line = image.data.subarray(row * image.width * 3, (row + 1) * image.width * 3);
    data.set(line, ((top + row) * width + left) * 3);
  }
  return { width, height, channels: 3, data };
}

function centre(image, crop = null) {
  if (crop === null) return image;
  const [height, width] = crop;
  if (image.height < height || image.width < width) {
    throw new Error(`The model cuts ${width} x ${height} pixels out of a picture of ${image.width} x ${image.height}; take a larger one.`);
  }
  const top = roundToEven((image.height - height) / 2);
  const left = roundToEven((image.width - width) / 2);
  const data = new Uint8ClampedArray(height * width * 3);
  for (let row = 0; row < height; row++) {
    const start = ((top + row) * image.width + left) * 3;
    data.set(image.data.subarray(start, start + width * 3), row * width * 3);
  }
  return { width, height, channels: 3, data };
}
