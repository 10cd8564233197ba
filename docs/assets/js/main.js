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
