// What may happen to a picture: one row for each slider, in the order in which light meets a camera.
//
// Strengths are those of the benchmarks at severities 1 to 5, of CIFAR-C for small inputs and of ImageNet-C from
// 64 pixels on (leantta/disturbances/corruptions/strengths.py), and in between what lies in between.

import { blur, brightness, contrast, fog, motion, noise, pixelate, throughJpeg } from "./effects.js";

const LARGE = 64;

/** Each with its strengths at severities 0 to 5, for small and for large inputs. */
export const DISTURBANCES = [
  { name: "blur", title: "Blur", apply: blur, small: [0, 0.4, 0.6, 0.7, 0.8, 1], large: [0, 1, 2, 3, 4, 6] },
  { name: "motion", title: "Motion", apply: motion, small: [0, 1, 1.5, 2, 2.2, 2.5], large: [0, 3, 5, 8, 12, 15] },
  { name: "fog", title: "Fog", apply: fog, small: [0, 0.2, 0.5, 0.75, 1, 1.5], large: [0, 1.5, 2, 2.5, 2.7, 3] },
  {
    name: "brightness",
    title: "Brightness",
    apply: brightness,
    small: [0, 0.05, 0.1, 0.15, 0.2, 0.3],
    large: [0, 0.1, 0.2, 0.3, 0.4, 0.5],
  },
  {
    name: "contrast",
    title: "Low contrast",
    apply: contrast,
    small: [1, 0.75, 0.5, 0.4, 0.3, 0.15],
    large: [1, 0.4, 0.3, 0.2, 0.1, 0.05],
  },
  {
    name: "noise",
    title: "Noise",
    apply: noise,
    small: [0, 0.04, 0.06, 0.08, 0.09, 0.1],
    large: [0, 0.08, 0.12, 0.18, 0.26, 0.38],
  },
  {
    name: "pixelate",
    title: "Pixelate",
    apply: pixelate,
    small: [1, 0.95, 0.9, 0.85, 0.75, 0.65],
    large: [1, 0.6, 0.5, 0.4, 0.3, 0.25],
  },
  { name: "jpeg", title: "JPEG", apply: throughJpeg, small: [95, 80, 65, 58, 50, 40], large: [95, 25, 18, 15, 10, 7] },
];

export const MOST = 5;

/** Return the picture as it is after all that happens to it; `severities` are 0 to 5, by name. */
export async function disturbed(image, severities) {
  let result = image;
  for (const { name, apply, small, large } of DISTURBANCES) {
    const severity = severities[name] ?? 0;
    if (severity <= 0) continue;
    const levels = Math.min(image.height, image.width) < LARGE ? small : large;
    result = await apply(result, between(levels, Math.min(severity, MOST)));
  }
  return result;
}

function between(levels, severity) {
  const below = Math.floor(severity);
  const above = Math.min(below + 1, MOST);
  return levels[below] + (severity - below) * (levels[above] - levels[below]);
}
