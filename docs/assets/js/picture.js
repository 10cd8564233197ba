// @ts-check
// A whole figure element as it stands in the page: controls, one sentence on the state, the picture, and the line that
// reads out a cell. Used at build; in the browser the same writers change parts of the element that this wrote.

import { controls } from "./controls.js";
import { escape } from "./format.js";
import { cells, html } from "./write/html.js";

export { draw } from "./draw.js";
export { html, cells } from "./write/html.js";
export { csv, entries } from "./write/csv.js";
export { svg } from "./write/svg.js";

export const HINT = "Point at a cell, tap it, or move with the arrow keys to read its recorded value.";

const UNREAD = new Set(["drawing", "legend", "note", "title"]); // parts without cells

/** What was computed here is in no record. @param {{parts: any[]}} model */
function hint(model) {
  return cells(model).every((cell) => cell.counted === undefined) ? HINT : HINT.replace("its recorded value", "a number in full, and where one recorded comes from");
}

/** @param {{tag: string, picture: string, label: string, context: any}} figure
 *  @param {import("./state.js").Field[]} fields @param {{summary: string, parts: any[]}} model */
export function element(figure, fields, model) {
  const { tag, picture, label, context } = figure;
  const readable = model.parts.some((part) => !UNREAD.has(part.kind));
  return `<${tag} figure="${escape(context.figure)}" picture="${escape(picture)}" role="group" aria-label="${escape(label)}" context="${escape(JSON.stringify(context))}">`
    + controls(fields) + `<p class="kv-status" role="status">${escape(model.summary)}</p><div class="kv-frame">${html(model)}</div>`
    + (readable ? `<p class="kv-readout">${escape(hint(model))}</p>` : "") + `</${tag}>`;
}
