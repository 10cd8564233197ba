// @ts-check
// Bars: how the cache grows with the tokens ("memory"), how many operations each byte that is read allows ("intensity"),
// the most probable next tokens ("top"), four published models ("models"), and what a decode step reads ("reads").

import { bytes, fixed, significant, token, whole } from "../format.js";
import { recordingField, recordingOf, stepField, stepName, strip } from "./common.js";
import * as models from "./models.js";
import * as reads from "./reads.js";
import * as top from "./top.js";

/** @typedef {import("../state.js").State} State */
/** @typedef {import("./common.js").Context} Context */

// What has a module of its own.
const SERIES = /** @type {Record<string, any>} */ ({ top, models, reads });
const SHORTEST = 64; // tokens from which on the longer contexts are listed

export const bySteps = false; // no caption of a bar figure holds for one step alone

/** @param {State} state @param {Context} context */
export function fields(state, context) {
  const own = SERIES[context.options.series];
  if (own) return own.fields(state, context);
  return [recordingField(state, context), ...(context.options.series === "memory" ? [stepField(state, context)] : [])];
}

/** @param {State} state @param {Context} context */
export function needs(state, context) {
  const own = SERIES[context.options.series];
  if (own) return own.needs(state, context);
  const { id, model } = recordingOf(state, context);
  return context.options.series === "memory" ? [id, `${model}/model`, `${model}/cost`] : [`${model}/model`, `${model}/cost`];
}

/** @param {State} state @param {import("./common.js").Records} records @param {Context} context */
export function draw(state, records, context) {
  const own = SERIES[context.options.series];
  if (own) return own.draw(state, records, context);
  const recording = recordingOf(state, context);
  return context.options.series === "memory" ? memory(state, records, recording) : intensity(records, recording);
}

/** @param {State} state @param {import("./common.js").Records} records @param {import("./common.js").Recording} recording */
function memory(state, records, { id, model }) {
  const index = records[id];
  const at = Number(state.step);
  const largest = index.steps.at(-1).cache_bytes.fp16;
  const rows = index.steps.map((/** @type {any} */ step, /** @type {number} */ s) => ({
    head: { text: token(index.tokens[step.fed_tokens.at(-1)].text, true), sub: step.cache_tokens === 1 ? "1 token" : `${whole(step.cache_tokens)} tokens` },
    mark: s === at ? "now" : s > at ? "future" : undefined,
    cells: [s > at ? { kind: "blank", text: "", say: `${stepName(s)}: not yet` } : {
      kind: "bar", role: "plain", bar: step.cache_bytes.fp16 / largest, text: bytes(step.cache_bytes.fp16), say: `${stepName(s)}, ${step.cache_tokens} tokens`,
      file: id, key: `steps.${s}.cache_bytes.fp16`, exact: String(step.cache_bytes.fp16),
    }],
  }));
  const now = index.steps[at];
  return {
    summary: `${whole(now.cache_tokens)} tokens take ${bytes(now.cache_bytes.fp16)} in fp16; each further token ${bytes(records[`${model}/model`].kv_bytes_per_token.fp16)}.`,
    parts: [
      strip(records, id, at),
      { kind: "table", name: "growth", look: "bars", corner: "tokens so far", label: "Bytes of cache after each pass", columns: [{ text: "cache, fp16" }], rows },
      lengths(records, model),
    ],
  };
}

/** The same straight line much further on. @param {import("./common.js").Records} records @param {string} model */
function lengths(records, model) {
  const file = `${model}/cost`;
  const cost = records[file];
  const long = /** @type {{tokens: number, i: number}[]} */ (cost.tokens.map((/** @type {number} */ tokens, /** @type {number} */ i) => ({ tokens, i })))
    .filter((one) => one.tokens >= SHORTEST);
  const rows = long.map(({ tokens, i }) => ({
    head: { text: `${whole(tokens)} tokens` },
    cells: [{ kind: "count", text: bytes(cost.kv_bytes[i]), say: `${whole(tokens)} tokens`, file, key: `kv_bytes.${i}`, exact: String(cost.kv_bytes[i]) }],
  }));
  const weights = records[`${model}/model`].weight_bytes.fp16;
  const last = { head: { text: "the model’s weights" }, kind: "total", cells: [{ kind: "count", text: bytes(weights), say: "weights in fp16",
    file: `${model}/model`, key: "weight_bytes.fp16", exact: String(weights) }] };
  return { kind: "table", name: "lengths", look: "plain", corner: "one sequence", label: "Bytes of cache at longer contexts", columns: [{ text: "fp16" }], rows: [...rows, last] };
}

/** A logarithmic scale over some values, in whole decades and from one downwards or upwards: small bars stay to be seen.
 *  @param {number[]} values */
function decades(values) {
  const low = Math.floor(Math.log10(Math.min(1, ...values)));
  const high = Math.ceil(Math.log10(Math.max(10, ...values)));
  const at = (/** @type {number} */ level) => (level - low) / (high - low);
  return {
    share: (/** @type {number} */ value) => at(Math.log10(value)),
    marks: Array.from({ length: high - low + 1 }, (_, i) => ({ at: at(low + i), text: significant(Number(`1e${low + i}`)) })),
  };
}

/** FLOPs per byte: a decode step, many sequences decoded in one batch, a prefill; all against the same scale.
 *  @param {import("./common.js").Records} records @param {import("./common.js").Recording} recording */
function intensity(records, { model }) {
  const file = `${model}/cost`;
  const { tokens, prefill, decode, batch } = records[file];
  const at = tokens.indexOf(batch.context_tokens);
  const batches = batch.sequences.map((/** @type {number} */ n, /** @type {number} */ i) => ({ n, i })).filter((/** @type {any} */ one) => [16, 64].includes(one.n));
  const prefills = tokens.map((/** @type {number} */ n, /** @type {number} */ i) => ({ n, i })).filter((/** @type {any} */ one) => one.n >= 16 && one.n <= batch.context_tokens);
  const list = [
    { text: "decode, one sequence", value: decode.intensity[at], key: `decode.intensity.${at}`, role: "plain" },
    ...batches.map((/** @type {any} */ one) => ({ text: `decode, ${one.n} in a batch`, value: batch.intensity[one.i], key: `batch.intensity.${one.i}`, role: "plain" })),
    ...prefills.map((/** @type {any} */ one) => ({ text: `prefill, ${whole(one.n)} tokens`, value: prefill.intensity[one.i], key: `prefill.intensity.${one.i}`, role: "again" })),
  ];
  const scale = decades(list.map((one) => one.value));
  const rows = list.map((one) => ({
    head: { text: one.text },
    cells: [{ kind: "bar", role: one.role, bar: scale.share(one.value), marks: scale.marks, text: significant(one.value), say: `${one.text}, FLOPs per byte`, file, key: one.key, exact: String(one.value) }],
  }));
  const [low, high] = [fixed(decode.intensity[at], 1), fixed(prefill.intensity[at], 0)];
  return {
    summary: `With ${whole(batch.context_tokens)} tokens: ${high} FLOPs for each byte read in prefill, ${low} in a decode step.`,
    parts: [
      { kind: "table", name: "intensity", look: "bars", corner: "pass", label: "FLOPs per byte, in fp16", columns: [{ text: "FLOPs per byte, fp16, on a logarithmic scale" }],
        rows: [...rows, { head: { text: "" }, cells: [{ kind: "axis", marks: scale.marks }] }] },
      { kind: "legend", items: [{ swatch: "plain", text: `decode steps, each sequence ${whole(batch.context_tokens)} tokens long` }, { swatch: "again", text: "prefill" }, { text: "each line of the scale: ten times as many" }] },
    ],
  };
}
