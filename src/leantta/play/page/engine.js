// The page's side of the worker: promises instead of messages.

const waiting = new Map();
let worker;
let count = 0;

/** Make sessions of the files, by name; the ones before are given back. */
export async function load(files) {
  try {
    await call("load", files);
  } catch (error) {
    throw new Error(
      `onnxruntime-web cannot run this file (${error.message.split("\n")[0]}). ` +
        "If an operator is missing, convert the model with --portable: standard operators only.",
    );
  }
}

/** Return what each session says of one input: logits (the output `scores`), distance, shift and ms. */
export function run(tensor, scores) {
  return call("run", { ...tensor, scores });
}

function call(command, given) {
  worker ??= started();
  const id = count++;
  worker.postMessage({ id, command, given });
  return new Promise((resolve, reject) => waiting.set(id, { resolve, reject }));
}

function started() {
  const made = new Worker(new URL("./worker.js", import.meta.url), { type: "module" });
  made.onmessage = ({ data: { id, result, error } }) => {
    const { resolve, reject } = waiting.get(id);
    waiting.delete(id);
    if (error === undefined) resolve(result);
    else reject(new Error(error));
  };
  made.onerror = () => {
    for (const { reject } of waiting.values()) {
      reject(new Error("the engine does not start: the folder engine/ of this page is missing or incomplete"));
    }
    waiting.clear();
  };
  return made;
}
