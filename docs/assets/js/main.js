// @ts-check
// What every page loads: the elements get their names, numbers and buttons their meaning. Small; the rest on demand.

import { KvFigure, PICTURES } from "./figure.js";
import { KvPlotly } from "./plotly.js";
import { KvSteps } from "./steps.js";
import "./tools.js";

/** @param {string} name @param {CustomElementConstructor} made */
function define(name, made) {
  if (!customElements.get(name)) customElements.define(name, made);
}

for (const picture of PICTURES) define(`kv-${picture}`, class extends KvFigure {});
define("kv-plotly", KvPlotly);
define("kv-steps", KvSteps);

// A formula that does not fit scrolls in its own box; then, and only then, it is a stop for Tab.
const fitting = new ResizeObserver((seen) => {
  for (const { target } of seen) {
    const scrolls = target.scrollWidth > target.clientWidth && getComputedStyle(target).overflowX !== "visible";
    if (scrolls) target.setAttribute("tabindex", "0");
    else target.removeAttribute("tabindex");
  }
});
for (const formula of document.querySelectorAll(".kv-math")) fitting.observe(formula);
