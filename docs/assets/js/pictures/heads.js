// @ts-check
// Which query heads read which KV head: each group of query heads stands over the one KV head that it shares.

import { percent } from "../format.js";
import { layerField, recordingField, recordingOf } from "./common.js";

/** @typedef {import("../state.js").State} State */
/** @typedef {import("./common.js").Context} Context */

/** @param {State} state @param {Context} context */
export function fields(state, context) {
  return [recordingField(state, context), layerField(state, context)];
}

/** @param {State} state @param {Context} context */
export function needs(state, context) {
  const { model } = recordingOf(state, context);
  return [`${model}/model`, `${model}/heads`];
}

/** @param {State} state @param {import("./common.js").Records} records @param {Context} context */
export function draw(state, records, context) {
  const { model, group_size: size } = recordingOf(state, context);
  const layer = Number(state.layer);
  const shape = records[`${model}/model`];
  const groups = Array.from({ length: shape.kv_heads }, (_, kv) => ({
    name: `KV head ${kv}`,
    heads: Array.from({ length: size }, (_, i) => headCell(records, model, shape, layer, kv * size + i, kv)),
  }));
  return {
    summary: `Layer ${layer}: ${shape.query_heads} query heads read ${shape.kv_heads} KV heads, ${size} to each.`,
    parts: [
      { kind: "heads", label: "Query heads, each over the KV head it reads", groups },
      { kind: "legend", items: [{ swatch: "query", text: "query head; below its number, its mean weight on the first token" },
        { swatch: "key", text: "K" }, { swatch: "value", text: "V" }, { swatch: "new", text: "the head shown on these pages" }] },
    ],
  };
}

/** @param {import("./common.js").Records} records @param {string} model @param {any} shape @param {number} layer
 *  @param {number} head @param {number} kv @returns {import("./common.js").Cell & {sub?: string}} */
function headCell(records, model, shape, layer, head, kv) {
  const weight = records[`${model}/heads`].layers[layer][head].weight_on_first;
  const chosen = shape.chosen.layer === layer && shape.chosen.head === head;
  return {
    kind: "number", text: `q ${head}`, sub: percent(weight), role: "query", mark: chosen ? "new" : undefined,
    say: `query head ${head} reads KV head ${kv}${chosen ? ", the head shown on these pages" : ""}; mean weight on the first token`,
    file: `${model}/heads`, key: `layers.${layer}.${head}.weight_on_first`, exact: String(weight),
  };
}
