// The frozen twin: the same file with one or two numbers of each adapting layer changed, so that nothing adapts.
//
// With the paper's and the calibrated gate an input has the weight low + room * ..., with the shift filter
// max(0, 1 - shrink / S). So low = room = 0, or a shrink beyond every S, leave the training statistics as they
// are. Weights, scales and operators stay, byte for byte: whatever differs in the answer comes from adapting.

import { FIXED32, BYTES, last, messages, text } from "./wire.js";

const OFF = { low: 0, room: 0, shrink: 3e38 };
const GRAPH = 7; // of onnx.ModelProto
const [NODE, INITIALIZER] = [1, 5]; // of GraphProto
const [ATTRIBUTE, DOMAIN] = [5, 7]; // of NodeProto
const [ATTRIBUTE_NAME, ATTRIBUTE_FLOAT] = [1, 2];
const [FLOAT_DATA, TENSOR_NAME, RAW_DATA] = [4, 8, 9]; // of TensorProto
const PORTABLE = /Norm\/(low|room|shrink)_value$/; // what the attributes become where functions are written out

/** Return the bytes of the twin, or null if the file's gate is none that this page knows. */
export function frozenTwin(bytes, layers) {
  const twin = bytes.slice();
  const view = new DataView(twin.buffer);
  const frozen = new Set();
  for (const graph of messages(twin, GRAPH)) {
    for (const { owner, at, value } of [...ofNodes(twin, graph), ...ofConstants(twin, graph)]) {
      view.setFloat32(at, value, true);
      frozen.add(owner);
    }
  }
  return frozen.size === layers.length ? twin : null;
}

/** Give the places of the numbers in the nodes of our functions. */
function* ofNodes(bytes, graph) {
  for (const node of messages(bytes, NODE, graph)) {
    if (text(bytes, last(bytes, DOMAIN, node)) !== "leantta") continue;
    for (const attribute of messages(bytes, ATTRIBUTE, node)) {
      const name = text(bytes, last(bytes, ATTRIBUTE_NAME, attribute));
      const number = last(bytes, ATTRIBUTE_FLOAT, attribute);
      if (Object.hasOwn(OFF, name) && number?.kind === FIXED32) {
        yield { owner: node.start, at: number.start, value: OFF[name] };
      }
    }
  }
}

/** Give the places of the numbers among the constants of a portable file. */
function* ofConstants(bytes, graph) {
  for (const tensor of messages(bytes, INITIALIZER, graph)) {
    const name = text(bytes, last(bytes, TENSOR_NAME, tensor));
    const match = PORTABLE.exec(name);
    const data = last(bytes, RAW_DATA, tensor) ?? last(bytes, FLOAT_DATA, tensor);
    if (match && data?.kind === BYTES && data.end - data.start === 4) {
      yield { owner: name.slice(0, match.index), at: data.start, value: OFF[match[1]] };
    }
  }
}
