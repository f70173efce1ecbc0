// What is on the page: answers, gauge, layers and facts as elements. Text goes in as text, never as HTML.

import { best } from "./answers.js";
import { labels } from "./artifact.js";

const TOP = 5;
const MANY = 12; // layers from which on they stand in two columns, where there is room
const SATURATING = "paper"; // its distances end at 1; those of other gates are about 1 for training pictures

export const byId = (id) => document.getElementById(id);

/** Return an element with properties and children. */
export function element(tag, properties = {}, ...children) {
  const made = Object.assign(document.createElement(tag), properties);
  made.append(...children);
  return made;
}

export function say(message, kind = "") {
  const status = byId("status");
  status.textContent = message;
  status.className = `status ${kind}`;
}

/** Show one of the two answers: its best classes as bars, and how long it took. */
export function showAnswer(card, chances, ms, info) {
  const names = labels(info);
  const rows = best(chances, TOP).map(({ index, probability }) => {
    const percent = `${(100 * probability).toFixed(1)} %`;
    const bar = element("span", { className: "bar" });
    bar.style.setProperty("--share", probability);
    const name = element("span", { className: "name", textContent: names[index], title: names[index] });
    return element("li", {}, name, element("span", { className: "number", textContent: percent }), bar);
  });
  card.querySelector(".bars").replaceChildren(...rows);
  card.querySelector(".time").textContent = `${ms.toFixed(ms < 10 ? 1 : 0)} ms`;
}

/** Show the shift; without one nothing adapts in the file. */
export function showShift(shift) {
  const place = (100 * Math.max(shift, 0)) / (1 + Math.max(shift, 0)); // 1 is in the middle, no shift is off the scale
  const gauge = byId("gauge");
  const level = shift <= 1 ? "near" : shift <= 3 ? "far" : "beyond";
  gauge.dataset.level = level;
  gauge.style.setProperty("--share", place / 100);
  gauge.setAttribute("aria-valuenow", place.toFixed(0));
  gauge.setAttribute("aria-valuetext", `${shift.toFixed(2)}; 1 is the limit of training pictures`);
  byId("shift-value").textContent = shift.toFixed(2);
  byId("shift-value").dataset.level = level;
}

/** Show the distance of each adapting layer. */
export function showLayers(distances, info) {
  const saturates = info.gate.name === SATURATING;
  const list = byId("layers");
  if (list.children.length !== info.layers.length) {
    list.replaceChildren(
      ...info.layers.map((layer) =>
        element(
          "li",
          {},
          element("span", { className: "name", textContent: layer, title: layer }),
          element("span", { className: "bar" }),
          element("span", { className: "number" }),
        ),
      ),
    );
  }
  byId("layers-note").textContent = saturates
    ? "How far each adapting layer is from what it saw in training, from 0 to 1."
    : "How far each adapting layer is from what it saw in training; the line is 1, about where training pictures are.";
  list.classList.toggle("lined", !saturates);
  list.classList.toggle("many", info.layers.length > MANY);
  distances.forEach((distance, place) => {
    const [, bar, number] = list.children[place].children;
    bar.style.setProperty("--share", saturates ? distance : distance / (1 + distance));
    number.textContent = distance < 100 ? distance.toFixed(2) : distance.toPrecision(3);
  });
}

/** Say in one sentence what the two answers mean, beside what the file said of the undisturbed picture. */
export function showVerdict({ frozen, adapting, clean }, info) {
  const name = (chances) => labels(info)[best(chances, 1)[0].index];
  const now = !frozen
    ? `The file says ${name(adapting)}.`
    : name(frozen) === name(adapting)
      ? `Both say ${name(adapting)}.`
      : `Frozen says ${name(frozen)}, adapting says ${name(adapting)}.`;
  const verdict = byId("verdict");
  const then = clean ? ` Undisturbed, the file says ${name(clean)}.` : "";
  if (verdict.textContent !== now + then) verdict.textContent = now + then; // a reader says it once
}

/** Show what is in the file. */
export function showFacts(info, bytes, checked) {
  const megabytes = (bytes.length / 1e6).toFixed(1);
  const adapts = info.layers.length ? `${info.layers.length} layers adapt` : "nothing adapts";
  byId("model").textContent = `${info.model}, ${info.precision}, ${adapts}, ${megabytes} MB`;
  const facts = {
    Model: info.model,
    Precision: info.precision + (info.portable ? ", standard operators only" : ""),
    Input: `${info.input.kind}, ${info.input.shape.join(" × ")}`,
    Classes: info.classes ? info.classes.slice(0, 20).join(", ") + (info.classes.length > 20 ? ", …" : "") : info.outputs,
    Adapting: info.gate ? `${adapts}, gate ${info.gate.name}` : adapts,
    "Self-test": checked,
    "Made with": Object.entries(info.versions ?? {}).map((pair) => pair.join(" ")).join(", "),
  };
  const rows = Object.entries(facts).map(([name, fact]) => [
    element("dt", { textContent: name }),
    element("dd", { textContent: fact }),
  ]);
  byId("facts").querySelector("dl").replaceChildren(...rows.flat());
  byId("facts").hidden = false;
}
