// @ts-check
// The five most probable next tokens after a step: the one output of the model that every reader recognises.

import { percent, spoken, token } from "../format.js";
import { recordingField, recordingOf, stepField, strip } from "./common.js";

/** @typedef {import("../state.js").State} State */
/** @typedef {import("./common.js").Context} Context */

/** @param {State} state @param {Context} context */
export function fields(state, context) {
  return [recordingField(state, context), stepField(state, context)];
}

/** @param {State} state @param {Context} context */
export function needs(state, context) {
  return [recordingOf(state, context).id];
}

/** What becomes of the token that is taken: after the last step it is not fed any more. @param {any} index @param {number} at */
function fate(index, at) {
  if (at < index.steps.length - 1) return "taken, and fed in the next step";
  return index.final?.stop ? "taken: it ends the reply, and is not fed" : "taken: written, not fed";
}

/** @param {State} state @param {import("./common.js").Records} records @param {Context} context */
export function draw(state, records, context) {
  const { id } = recordingOf(state, context);
  const at = Number(state.step);
  const step = records[id].steps[at];
  const best = step.top[0];
  const rows = step.top.map((/** @type {any} */ one, /** @type {number} */ i) => ({
    head: { text: token(one.text) }, mark: one.id === step.chosen_id ? "now" : undefined,
    cells: [{
      kind: "bar", role: "weight", bar: one.probability, text: percent(one.probability), say: `${spoken(one.text)}, token number ${one.id}: probability`,
      file: id, key: `steps.${at}.top.${i}.probability`, exact: String(one.probability),
    }],
  }));
  return {
    summary: `${at === 0 ? "After the prompt" : `After decode step ${at}`} ${spoken(best.text)} is most probable: ${percent(best.probability)}.`,
    parts: [
      strip(records, id, at),
      { kind: "table", name: "top", look: "bars", corner: "next token", label: "The five most probable next tokens", columns: [{ text: "probability" }], rows },
      { kind: "legend", items: [{ text: `▸ ${fate(records[id], at)}` }, { text: "␣ a space, ↵ a line break" }] },
    ],
  };
}
