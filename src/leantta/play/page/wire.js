// The protobuf wire format: what lies where in the bytes of a message. The twin of leantta/runtime/wire.py.

export const VARINT = 0;
export const BYTES = 2;
export const FIXED32 = 5;

const FIXED_BYTES = { 1: 8, 5: 4 };
const MOST_VARINT_BYTES = 10;

/** Give the fields between two places: number, kind, value of a varint, and where the bytes begin and end. */
export function* fields(bytes, start = 0, end = bytes.length) {
  let at = start;
  while (at < end) {
    const tag = varint(bytes, at);
    const number = Math.floor(tag.value / 8);
    const kind = tag.value % 8;
    let [begin, stop, value] = [tag.next, tag.next, 0];
    if (kind === VARINT) {
      const read = varint(bytes, tag.next);
      [begin, stop, value] = [read.next, read.next, read.value];
    } else if (kind === BYTES) {
      const length = varint(bytes, tag.next);
      [begin, stop] = [length.next, length.next + length.value];
    } else if (kind in FIXED_BYTES) {
      stop = begin + FIXED_BYTES[kind];
    } else {
      throw new Error(`a field of the unknown kind ${kind} at byte ${at}`);
    }
    if (!number || stop > end) throw new Error(`a part that ends too early at byte ${at}`);
    yield { number, kind, value, start: begin, end: stop };
    at = stop;
  }
}

/** Give the messages with a field number inside a message. */
export function* messages(bytes, number, within = { start: 0, end: bytes.length }) {
  for (const field of fields(bytes, within.start, within.end)) {
    if (field.number === number && field.kind === BYTES) yield field;
  }
}

/** Return the last field with a number, or undefined. */
export function last(bytes, number, within) {
  let found;
  for (const field of fields(bytes, within.start, within.end)) if (field.number === number) found = field;
  return found;
}

const decoder = new TextDecoder("utf-8", { fatal: true });

/** Return the text of a field; "" if there is none. */
export function text(bytes, field) {
  return field ? decoder.decode(bytes.subarray(field.start, field.end)) : "";
}

function varint(bytes, at) {
  let value = 0;
  for (let place = 0; place < MOST_VARINT_BYTES; place++) {
    const byte = bytes[at + place];
    if (byte === undefined) break;
    value += (byte & 0x7f) * 2 ** (7 * place); // negative numbers come out large, and nobody asks for them
    if (byte < 0x80) return { value, next: at + place + 1 };
  }
  throw new Error(`a number that does not end at byte ${at}`);
}
