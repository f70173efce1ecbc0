// The playground: a model file and a picture in, both answers out, again whenever something changes.

import { probabilities, selfTestError, selfTestImage } from "./answers.js";
import { readArtifact, takesImages } from "./artifact.js";
import * as camera from "./camera.js";
import { disturbed } from "./disturb.js";
import * as engine from "./engine.js";
import { onCanvas, readPicture } from "./picture.js";
import { coloured, sized, toTensor } from "./preprocess.js";
import { makeSliders } from "./sliders.js";
import { frozenTwin } from "./twin.js";
import { byId, element, say, showAnswer, showFacts, showLayers, showShift, showVerdict } from "./view.js";

const state = { info: null, picture: null, severities: {} };
let busy = false;
let again = false;

/** Load a model file; a wrong one leaves the page as it was. */
async function openModel(bytes, name) {
  say("Loading the model…", "busy");
  const info = readArtifact(bytes, name);
  if (!takesImages(info) || !info.scores) {
    showFacts(info, bytes, "not run here");
    byId("main").hidden = true;
    state.info = null;
    const takes = `takes ${info.input.kind} of shape ${info.input.shape.join(" × ")}`;
    return say(`This page is for images and their classes; ${name} ${info.scores ? takes : `gives ${info.outputs}`}. Use leantta run.`);
  }
  const twin = info.layers.length ? frozenTwin(bytes, info.layers) : null;
  await engine.load(twin ? { frozen: twin, adapting: bytes } : { adapting: bytes });
  const first = await engine.run(toTensor(await selfTestImage(info), info.input), info.scores);
  const error = selfTestError(first.adapting.logits, info.selftest);
  const passed = error <= 1;
  showFacts(info, bytes, passed ? "passed: this browser computes what the file says it should" : "failed");
  Object.assign(state, { info, picture: state.picture && fresh(state.picture.image) });
  byId("main").hidden = false;
  byId("shift").hidden = !info.layers.length;
  byId("frozen").hidden = !twin;
  byId("adapting-title").textContent = info.layers.length ? "Adapting" : "Answer";
  byId("layers").replaceChildren();
  if (!passed) say(`${name} fails its self-test in this browser: do not trust the answers.`, "error");
  else say(info.layers.length && !twin ? `The page knows no frozen answer for the gate ${info.gate.name}.` : "");
  await update();
}

async function openPicture(blob, name) {
  showPicture(await readPicture(blob, name));
  await update();
}

/** Return a picture with room for what is computed of it once: at the model's size, and its clean answer. */
function fresh(image) {
  return { image, small: null, clean: null };
}

function showPicture(image) {
  state.picture = fresh(image);
  byId("hint").hidden = true;
}

/** Answer anew; while one answer is being computed, all further wishes become one. */
async function update() {
  if (!state.info || !state.picture) return;
  if (busy) {
    again = true;
    return;
  }
  busy = true;
  try {
    do {
      again = false;
      await answer({ ...state });
    } while (again);
  } finally {
    busy = false;
  }
}

async function answer({ info, picture, severities }) {
  const small = (picture.small ??= sized(picture.image, info.input));
  if (!camera.isOn()) picture.clean ??= await run(small, info);
  const seen = await disturbed(small, severities);
  onCanvas(info.input.shape[0] === 1 ? coloured(seen, info.input) : seen, byId("seen"));
  const results = seen === small && picture.clean ? picture.clean : await run(seen, info);
  if (info !== state.info) return; // another file was opened meanwhile
  const chances = {};
  for (const [name, { logits, ms }] of Object.entries(results)) {
    chances[name] = probabilities(logits);
    showAnswer(byId(name), chances[name], ms, info);
  }
  if (results.adapting.shift) {
    showShift(results.adapting.shift[0]);
    showLayers(results.adapting.distance, info);
  }
  const clean = seen !== small && picture.clean ? probabilities(picture.clean.adapting.logits) : null;
  showVerdict({ ...chances, clean }, info);
  document.dispatchEvent(new CustomEvent("answered", { detail: results }));
}

function run(image, info) {
  return engine.run(toTensor(coloured(image, info.input), info.input), info.scores);
}

/** Do something a person asked for, and tell them if it cannot be done. */
function asked(action) {
  return async (...given) => {
    try {
      await action(...given);
    } catch (error) {
      say(error.message, "error");
    }
  };
}

const open = asked(async (file) => {
  if (!file) return;
  stopCamera();
  if (file.name.toLowerCase().endsWith(".onnx")) {
    await openModel(new Uint8Array(await file.arrayBuffer()), file.name);
  } else {
    say("");
    await openPicture(file, file.name);
  }
});

const toggleCamera = asked(async () => {
  if (camera.isOn()) return stopCamera();
  say("");
  await camera.start(byId("video"), asked(async (frame) => {
    showPicture(frame);
    await update();
  }));
  byId("camera").setAttribute("aria-pressed", "true");
  byId("camera").textContent = "Stop camera";
});

function stopCamera() {
  camera.stop(byId("video"));
  byId("camera").setAttribute("aria-pressed", "false");
  byId("camera").textContent = "Camera";
}

function makeSamples(samples) {
  const buttons = samples.map(({ path, name }) => {
    const image = element("img", { src: path, alt: name, width: 48, height: 48 });
    const button = element("button", { type: "button", title: name }, image);
    button.addEventListener("click", asked(async () => {
      stopCamera();
      await openPicture(await (await fetch(path)).blob(), name);
    }));
    return element("li", {}, button);
  });
  byId("samples").replaceChildren(...buttons);
}

function listen() {
  for (const id of ["open-model", "open-picture"]) {
    byId(id).addEventListener("change", ({ target }) => {
      open(target.files[0]);
      target.value = ""; // so that choosing the same file again is a change, too
    });
  }
  byId("camera").addEventListener("click", toggleCamera);
  document.addEventListener("dragover", (event) => {
    event.preventDefault();
    document.body.classList.add("dropping");
  });
  document.addEventListener("dragleave", () => document.body.classList.remove("dropping"));
  document.addEventListener("drop", (event) => {
    event.preventDefault();
    document.body.classList.remove("dropping");
    open(event.dataTransfer.files[0]);
  });
  makeSliders(byId("sliders"), byId("reset"), asked(async (severities) => {
    state.severities = severities;
    await update();
  }));
}

const begin = asked(async () => {
  const site = await (await fetch("site.json")).json();
  makeSamples(site.samples);
  const answered = await fetch(site.model.path);
  if (!answered.ok) throw new Error(`The model file is not there (${answered.status}). Open one with the button.`);
  await openModel(new Uint8Array(await answered.arrayBuffer()), site.model.name);
  if (site.samples.length) {
    const [{ path, name }] = site.samples;
    await openPicture(await (await fetch(path)).blob(), name);
  }
});

listen();
begin();
