// @ts-check
// What one decode step must read: weights and cache as two bars, and the share of the cache for every batch and context
// of the grid.

import { bytes, fixed, percent, whole } from "../format.js";
import { recordingOf } from "./common.js";

/** @typedef {import("../state.js").State} State */
/** @typedef {{models: {id: string, name: string, contexts: number[]}[], devices: {id: string, name: string}[], batches: number[]}} Grid */
/** @typedef {import("./common.js").Context & {grid: Grid}} Context */

/** The model, and a place on its grid: the sliders stop at what was counted, and nowhere else.
 *  @param {State} state @param {Context} context @returns {import("../state.js").Field[]} */
export function fields(state, context) {
  const { models, batches } = context.grid;
  const { contexts } = models.find(({ id }) => id === state.model) ?? models[0];
  return [
    { name: "model", label: "Model", kind: "choice", value: models[0].id, options: models.map(({ id, name }) => ({ value: id, text: name })) },
    stops("context", "Context", contexts, 4096, context),
    stops("batch", "Batch", batches, 1, context),
  ];
}

/** A slider over listed values. @param {string} name @param {string} label @param {number[]} values @param {number} value @param {Context} context
 *  @returns {import("../state.js").Field} */
export function stops(name, label, values, value, context) {
  return { name, label, kind: "range", values, value, min: values[0], max: values[values.length - 1], grid: `${context.figure}-${name}-ticks` };
}

/** @param {State} state @param {Context} context */
export function needs(state, context) {
  return [`${recordingOf(state, context).model}/bound`];
}

/** @typedef {{file: string, record: any, id: string, one: any, row: number, column: number, device?: string}} Scene */

/** Where on the grid a state stands. @param {State} state @param {import("./common.js").Records} records @param {Context} context @returns {Scene} */
export function sceneOf(state, records, context) {
  const [file] = needs(state, context);
  const record = records[file];
  const one = record.models[state.model];
  return { file, record, id: String(state.model), one, row: one.contexts.indexOf(state.context), column: record.batches.indexOf(state.batch) };
}

/** On what it was counted. @param {Scene} scene */
export function credit({ one, id }) {
  const beyond = id === "own" ? "" : " Longer contexts than it was trained for are shown to follow the formula.";
  return `Counted from the shape of ${one.name} (${whole(one.max_positions)} positions), in fp16: nothing was measured.${beyond}`;
}

/** @param {State} state @param {import("./common.js").Records} records @param {Context} context */
export function draw(state, records, context) {
  const scene = sceneOf(state, records, context);
  const { one, row, column } = scene;
  const share = one.decode.kv_share[row][column];
  const who = state.batch === 1 ? "one sequence" : `${state.batch} sequences`;
  return {
    summary: `${one.name}, ${who} of ${whole(Number(state.context))} tokens: a decode step reads ${bytes(one.decode.bytes[row][column])}, ${percent(share)} of it cache.`,
    credit: credit(scene),
    parts: [parts(scene), shares(scene), { kind: "legend", items: [{ swatch: "plain", text: "share of the bytes that is cache, in percent; the rest is weights" }] }],
  };
}

/** @param {Scene} scene */
function parts({ file, one, id, row, column }) {
  const total = one.decode.bytes[row][column];
  const list = [
    { text: "weights, once", value: one.weight_bytes_read, key: "weight_bytes_read", role: "again" },
    { text: "cache, of every sequence", value: one.decode.kv_bytes[row][column], key: `decode.kv_bytes.${row}.${column}`, role: "plain" },
  ];
  const rows = list.map(({ text, value, key, role }) => ({
    head: { text }, cells: [{ kind: "bar", role, bar: value / total, text: bytes(value), say: text, file, key: `models.${id}.${key}`, exact: String(value) }],
  }));
  return { kind: "table", name: "reads", look: "bars", corner: "one decode step", label: "What one decode step reads", columns: [{ text: "bytes, as a part of the whole" }], rows };
}

/** @param {Scene} scene */
function shares({ file, record, one, id, row, column }) {
  const rows = one.contexts.map((/** @type {number} */ tokens, /** @type {number} */ r) => ({
    head: { text: whole(tokens) },
    cells: record.batches.map((/** @type {number} */ batch, /** @type {number} */ c) => {
      const share = one.decode.kv_share[r][c];
      return {
        kind: "number", text: share < 0.005 ? "<1" : fixed(share * 100, 0), role: "plain", t: share, mark: r === row && c === column ? "now" : undefined,
        say: `context ${whole(tokens)}, batch ${batch}: share of cache`, file, key: `models.${id}.decode.kv_share.${r}.${c}`, exact: String(share),
      };
    }),
  }));
  const columns = record.batches.map((/** @type {number} */ batch, /** @type {number} */ c) => ({ text: String(batch), mark: c === column ? "new" : undefined }));
  return { kind: "table", name: "shares", look: "matrix", corner: "context ↓ batch →", label: `Share of a decode step’s bytes that is cache, ${one.name}`, columns, rows };
}
