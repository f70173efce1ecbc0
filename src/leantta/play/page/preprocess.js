// What a model file takes, made of a picture of any size; the same numbers as leantta/runtime/inputs.py.

import { cover, luminance } from "./resize.js";

/** Return an RGB picture of any size at the model's size. */
export function sized(image, input) {
  const [, height, width] = input.shape;
  return fitting(input)(image, height, width);
}

/** Return an RGB picture in the colours that the model sees. */
export function coloured(image, input) {
  return input.shape[0] === 1 ? luminance(image) : image;
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

/** Return what scales a picture for the model: one row for each way that a file may ask for. */
function fitting(input) {
  const wanted = input.preprocessing == null ? "cover" : "described";
  const known = { cover };
  if (!known[wanted]) throw new Error("This file describes a preprocessing that this page cannot do; use leantta run.");
  return known[wanted];
}
