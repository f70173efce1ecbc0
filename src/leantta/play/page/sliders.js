// One slider for each disturbance.

import { DISTURBANCES, MOST } from "./disturb.js";
import { element } from "./view.js";

const STEP = 0.5;

/** Put the sliders into a place; `changed` is given all severities by name whenever one moves. */
export function makeSliders(place, reset, changed) {
  const inputs = DISTURBANCES.map(({ name, title }) => {
    const id = `slider-${name}`;
    const input = element("input", { type: "range", id, name, min: 0, max: MOST, step: STEP, value: 0 });
    const shown = element("output", { textContent: "0", htmlFor: id });
    input.addEventListener("input", () => changed(severities()));
    place.append(element("div", { className: "slider" }, element("label", { htmlFor: id, textContent: title }), input, shown));
    return { input, shown };
  });

  function severities() {
    for (const { input, shown } of inputs) {
      shown.textContent = input.value;
      input.style.setProperty("--share", input.value / MOST);
    }
    return Object.fromEntries(inputs.map(({ input }) => [input.name, Number(input.value)]));
  }

  reset.addEventListener("click", () => {
    for (const { input } of inputs) input.value = 0;
    changed(severities());
  });
}
