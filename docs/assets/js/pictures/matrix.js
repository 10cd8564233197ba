// @ts-check
// The causal mask on real weights: one row per token that looks, one column per token that is looked at.

import { fixed, spoken, token } from "../format.js";
import { headField, kvHead, layerField, recordingField, recordingOf, shard, strip } from "./common.js";

/** @typedef {import("../state.js").State} State */
/** @typedef {import("./common.js").Context} Context */

/** @param {State} state @param {Context} context */
export function fields(state, context) {
  return [recordingField(state, context), layerField(state, context), headField(state, context)];
}

/** @param {State} state @param {Context} context */
export function needs(state, context) {
  const { id } = recordingOf(state, context);
  return [id, `${id}/attention-${shard(Number(state.layer))}`];
}

/** @param {State} state @param {import("./common.js").Records} records @param {Context} context */
export function draw(state, records, context) {
  const recording = recordingOf(state, context);
  const file = `${recording.id}/attention-${shard(Number(state.layer))}`;
  const head = Number(state.head);
  const { tokens } = records[recording.id];
  const columns = tokens.map((/** @type {any} */ one) => ({ text: String(one.position), sub: token(one.text, true) }));
  const rows = records[file].weights.map((/** @type {number[][]} */ heads, /** @type {number} */ i) => ({
    head: { text: token(tokens[i].text, true), sub: String(i) },
    cells: tokens.map((/** @type {any} */ _, /** @type {number} */ j) => cell(file, tokens, heads[head], head, i, j)),
  }));
  return {
    summary: `Layer ${state.layer}, query head ${head}: each row adds up to one, and ends at its own token (KV head ${kvHead(recording, head)}).`,
    parts: [
      strip(records, recording.id),
      { kind: "table", name: "weights", look: "matrix", corner: "looks ↓ at →", columns, rows,
        label: `Attention weights, layer ${state.layer}, query head ${head}` },
      { kind: "legend", items: [{ swatch: "weight", text: "weight, .00 to 1" }, { swatch: "masked", text: "masked: a later token" }] },
    ],
  };
}

/** @param {string} file @param {any[]} tokens @param {number[]} row @param {number} head @param {number} i @param {number} j
 *  @returns {import("./common.js").Cell} */
function cell(file, tokens, row, head, i, j) {
  const pair = `${spoken(tokens[i].text)} at ${i} looks at ${spoken(tokens[j].text)} at ${j}`;
  if (j > i) return { kind: "masked", text: "", say: `${pair}: masked` };
  const weight = row[j];
  return {
    kind: "number", text: weight > 0.995 ? "1" : fixed(weight).slice(1), role: "weight", t: weight, say: `${pair}: weight`, file,
    key: `weights.${i}.${head}.${j}`, exact: String(weight),
  };
}
