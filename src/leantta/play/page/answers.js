// What the outputs of a model mean: probabilities, the best classes, the self-test.

/** Return the probability of each class; a single logit answers yes or no. */
export function probabilities(logits) {
  const scores = logits.length === 1 ? [0, logits[0]] : Array.from(logits);
  const most = Math.max(...scores);
  const powers = scores.map((score) => Math.exp(score - most));
  const sum = powers.reduce((total, power) => total + power, 0);
  return powers.map((power) => power / sum);
}

/** Return the most probable classes, best first. */
export function best(chances, count) {
  const order = chances.map((_, index) => index).sort((a, b) => chances[b] - chances[a] || a - b);
  return order.slice(0, count).map((index) => ({ index, probability: chances[index] }));
}

/** Return the stored input of a file's self-test as an image; only for models that take images. */
export async function selfTestImage({ input, selftest }) {
  const packed = Uint8Array.from(atob(selftest.input), (letter) => letter.charCodeAt(0));
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate"));
  const data = new Uint8ClampedArray(await new Response(stream).arrayBuffer());
  const [channels, height, width] = input.shape;
  if (data.length !== channels * height * width) throw new Error("the stored input of the self-test is damaged");
  return { width, height, channels, data };
}

/** Return how far logits are from those that the file was made with, as a share of its tolerance. */
export function selfTestError(logits, selftest) {
  const apart = selftest.logits.map((wanted, place) => Math.abs(wanted - logits[place]));
  return Math.max(...apart) / selftest.tolerance;
}
