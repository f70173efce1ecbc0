// Pictures as bytes: read from files and video frames, and put on a canvas.
//
// The browser decodes them with colour management and premultiplication switched off, so that a PNG gives the
// bytes that are in it, as it does in Python.

const MOST_PIXELS = 89_478_485; // as in leantta/data/imagefiles.py
const RAW = { colorSpaceConversion: "none", premultiplyAlpha: "none", imageOrientation: "from-image" };

/** Return the RGB picture in a file; throws what to tell people. */
export async function readPicture(blob, name) {
  let bitmap;
  try {
    bitmap = await createImageBitmap(blob, RAW);
  } catch {
    throw new Error(`${name} is no picture that this browser reads. PNG, JPEG, WebP and BMP work.`);
  }
  try {
    if (bitmap.width * bitmap.height > MOST_PIXELS) throw new Error(`${name} is too large. Scale it down first.`);
    return asImage(bitmap, bitmap.width, bitmap.height);
  } finally {
    bitmap.close();
  }
}

/** Return what can be drawn as bytes, without its transparency. */
export function asImage(source, width, height) {
  const context = contextOf(width, height);
  context.drawImage(source, 0, 0, width, height);
  const rgba = context.getImageData(0, 0, width, height).data;
  const data = new Uint8ClampedArray(width * height * 3);
  for (let from = 0, to = 0; from < rgba.length; from += 4, to += 3) {
    data[to] = rgba[from];
    data[to + 1] = rgba[from + 1];
    data[to + 2] = rgba[from + 2];
  }
  return { width, height, channels: 3, data };
}

/** Return a canvas with an image of one or three channels on it, at its own size. */
export function onCanvas(image, canvas = document.createElement("canvas")) {
  const { width, height, channels, data } = image;
  const rgba = new Uint8ClampedArray(width * height * 4).fill(255);
  for (let place = 0; place < width * height; place++) {
    for (let channel = 0; channel < 3; channel++) {
      rgba[4 * place + channel] = data[place * channels + (channels === 1 ? 0 : channel)];
    }
  }
  canvas.width = width;
  canvas.height = height;
  canvas.getContext("2d").putImageData(new ImageData(rgba, width, height), 0, 0);
  return canvas;
}

function contextOf(width, height) {
  const canvas = Object.assign(document.createElement("canvas"), { width, height });
  return canvas.getContext("2d", { willReadFrequently: true });
}
