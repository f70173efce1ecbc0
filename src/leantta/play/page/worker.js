// Runs a model file and its frozen twin with onnxruntime-web, beside the page so that it stays quick.

import * as ort from "./engine/ort.wasm.min.mjs";

ort.env.wasm.numThreads = 1; // more would need headers that a plain web server does not send
ort.env.wasm.wasmPaths = new URL("./engine/", import.meta.url).href;
ort.env.logLevel = "error";

const OPTIONS = { executionProviders: ["wasm"], logSeverityLevel: 3 };
let sessions = {};

const COMMANDS = {
  async load(files) {
    const before = Object.values(sessions);
    sessions = {};
    for (const session of before) await session.release();
    for (const [name, bytes] of Object.entries(files)) {
      sessions[name] = await ort.InferenceSession.create(bytes, OPTIONS);
    }
  },

  async run({ type, data, dims, scores }) {
    const answers = {};
    for (const [name, session] of Object.entries(sessions)) {
      const input = new ort.Tensor(type, data, dims);
      const started = performance.now();
      const outputs = await session.run({ input });
      answers[name] = { ms: performance.now() - started };
      const wanted = { logits: scores, distance: "distance", shift: "shift" };
      for (const [key, output] of Object.entries(wanted)) answers[name][key] = outputs[output]?.data.slice();
    }
    return answers;
  },
};

let turn = Promise.resolve(); // commands wait for each other, as a session runs one input at a time

self.onmessage = ({ data: { id, command, given } }) => {
  turn = turn.then(async () => {
    try {
      self.postMessage({ id, result: await COMMANDS[command](given) });
    } catch (error) {
      self.postMessage({ id, error: String(error?.message ?? error) });
    }
  });
};
