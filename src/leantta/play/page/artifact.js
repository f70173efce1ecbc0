// A model file: what it says about itself, and whether it is as it was made. See docs/artifact.md.

import { BYTES, last, messages, text } from "./wire.js";

const METADATA = 14; // fields of onnx.ModelProto and StringStringEntryProto
const [KEY, VALUE] = [1, 2];
const INFO = "leantta";
const SEALS = { "leantta.crc32": 8, "leantta.sha256": 64 };
const FORMAT = 2;
const LOGITS = "logits";

/** Return the file's own description, checked as far as the page relies on it; throws what to tell people. */
export function readArtifact(bytes, name) {
  const notes = readNotes(bytes, name);
  if (!notes.has(INFO)) {
    throw new Error(`${name} was not made by leantta convert: it has no metadata of ours. Convert the model first.`);
  }
  let info;
  try {
    info = JSON.parse(text(bytes, notes.get(INFO)));
  } catch {
    throw new Error(`${name} is damaged: its metadata is not JSON. Copy it again.`);
  }
  if (!(info.format <= FORMAT)) {
    throw new Error(`${name} has format ${info.format}; this page reads formats up to ${FORMAT}. Use a newer leantta.`);
  }
  const said = Array.isArray(info.heads) || info.outputs;
  if (!Array.isArray(info.layers) || !Array.isArray(info.input?.shape) || !info.selftest || !said) {
    throw new Error(`${name} is damaged: its metadata lacks what every file has. Convert the model again.`);
  }
  const stated = notes.get("leantta.crc32");
  if (stated && text(bytes, stated) !== sealed(bytes, notes)) {
    throw new Error(`${name} is damaged: it is not as it was made. Copy it again.`);
  }
  return info.heads ? withScores(info) : { ...info, scores: LOGITS };
}

/** Return a description of format 2 with its row of scores under the names of format 1; `scores` is null without one. */
function withScores(info) {
  const head = info.heads.find(({ role }) => role !== "array");
  if (head?.role !== "classes") return { ...info, scores: null, outputs: info.heads.map(({ name }) => name).join(", ") };
  const { values, tolerance } = info.selftest.outputs[head.name];
  return { ...info, scores: head.name, outputs: head.shape[0], selftest: { ...info.selftest, logits: values, tolerance } };
}

/** Tell whether a model takes images, and of which colours the page can give them. */
export function takesImages(info) {
  const { kind, shape, mean } = info.input;
  const image = kind === "image" || (kind === "tensor" && mean !== null);
  return image && shape.length === 3 && (shape[0] === 1 || shape[0] === 3);
}

/** Return the names of the classes, or their numbers. */
export function labels(info) {
  return info.classes ?? Array.from({ length: Math.max(info.outputs, 2) }, (_, index) => String(index));
}

function readNotes(bytes, name) {
  const notes = new Map();
  try {
    for (const entry of messages(bytes, METADATA)) {
      const value = last(bytes, VALUE, entry);
      if (value?.kind === BYTES) notes.set(text(bytes, last(bytes, KEY, entry)), value);
    }
  } catch (error) {
    throw new Error(`${name} is damaged, or no ONNX file: it has ${error.message}.`);
  }
  return notes;
}

/** Return the CRC-32 of the bytes with zeros for the digits of the seals, as the file states it. */
function sealed(bytes, notes) {
  const copy = bytes.slice();
  for (const [key, digits] of Object.entries(SEALS)) {
    const value = notes.get(key);
    if (value) copy.fill(0x30, value.start, value.start + digits);
  }
  return crc32(copy).toString(16).padStart(8, "0");
}

const TABLE = Uint32Array.from({ length: 256 }, (_, byte) => {
  let value = byte;
  for (let bit = 0; bit < 8; bit++) value = value & 1 ? (value >>> 1) ^ 0xedb88320 : value >>> 1;
  return value;
});

function crc32(bytes) {
  let value = 0xffffffff;
  for (let place = 0; place < bytes.length; place++) value = TABLE[(value ^ bytes[place]) & 0xff] ^ (value >>> 8);
  return (value ^ 0xffffffff) >>> 0;
}
