// @ts-check
// What the caches of four published models weigh at one length: a bar a model; for the chosen one also what it would
// weigh with a KV head for each query head, and what its weights weigh.

import { bytes, percent, whole } from "../format.js";
import { recordingOf } from "./common.js";

/** @typedef {import("../state.js").State} State */
/** @typedef {import("./common.js").Context & {grid: {models: {id: string, name: string}[], requests: number[]}}} Context */

/** @param {State} _state @param {Context} context @returns {import("../state.js").Field[]} */
export function fields(_state, context) {
  const { models, requests } = context.grid;
  return [
    { name: "model", label: "Model", kind: "choice", told: false, value: models[0].id, options: models.map(({ id, name }) => ({ value: id, text: name })) },
    { name: "requests", label: "Requests", kind: "choice", value: requests[0], options: requests.map((value) => ({ value, text: String(value) })) },
  ];
}

/** @param {State} state @param {Context} context */
export function needs(state, context) {
  return [`${recordingOf(state, context).model}/memory`];
}

/** @param {State} state @param {import("./common.js").Records} records @param {Context} context */
export function draw(state, records, context) {
  const [file] = needs(state, context);
  const record = records[file];
  const scene = { file, record, id: String(state.model), one: record.models[state.model], at: record.requests.indexOf(state.requests) };
  const stored = scene.one.kv_bytes_by_requests[scene.at];
  const held = state.requests === 1 ? "" : `${state.requests} requests of `;
  return {
    summary: `${scene.one.name}, ${held}${whole(record.tokens)} tokens: ${bytes(stored)} of cache.${grouped(scene)}`,
    credit: "Counted from published shapes, in fp16; the source of each stands in geometry/models.json.",
    parts: [all(scene, context), heads(scene), facts(scene)],
  };
}

/** @typedef {{file: string, record: any, id: string, one: any, at: number}} Scene */

/** What sharing saves, in a sentence. @param {Scene} scene */
function grouped({ one }) {
  if (one.group_size === 1) return " Every query head has a KV head of its own.";
  return ` ${one.group_size} query heads share each KV head: with one for each it would be ${one.ungrouped.ratio} times as much.`;
}

/** @param {Scene} scene @param {Context} context */
function all(scene, context) {
  const { record, file, at } = scene;
  const largest = Math.max(...context.grid.models.map(({ id }) => record.models[id].kv_bytes_by_requests[at]));
  const rows = context.grid.models.map(({ id, name }) => {
    const one = record.models[id];
    const value = one.kv_bytes_by_requests[at];
    const beyond = one.beyond_positions ? `, arithmetic only: it has ${whole(one.max_positions)} positions` : "";
    return {
      head: { text: name, sub: beyond ? `beyond its ${whole(one.max_positions)} positions` : undefined }, mark: id === scene.id ? "now" : undefined,
      cells: [{ kind: "bar", role: "plain", bar: value / largest, text: bytes(value), say: `${name}, ${record.requests[at]} × ${whole(record.tokens)} tokens${beyond}`,
        file, key: `models.${id}.kv_bytes_by_requests.${at}`, exact: String(value) }],
    };
  });
  const many = record.requests[at] === 1 ? `one request of ${whole(record.tokens)} tokens` : `${record.requests[at]} requests of ${whole(record.tokens)} tokens`;
  return { kind: "table", name: "models", look: "bars", corner: "model", label: `Bytes of cache, ${many}`, columns: [{ text: `cache of ${many}, fp16` }], rows };
}

/** The chosen model with the KV heads it has, and, where that is not the same, with one for each query head. @param {Scene} scene */
function heads({ file, one, id, at }) {
  const list = [
    { text: `${one.kv_heads} KV heads, as it is${one.group_size === 1 ? ": one per query head" : ""}`, value: one.kv_bytes_by_requests[at], key: "kv_bytes_by_requests", role: "plain" },
    { text: `${one.query_heads}, one per query head`, value: one.ungrouped.kv_bytes_by_requests[at], key: "ungrouped.kv_bytes_by_requests", role: "again" },
  ].slice(0, one.group_size === 1 ? 1 : 2);
  const rows = list.map(({ text, value, key, role }) => ({
    head: { text },
    cells: [{ kind: "bar", role, bar: value / list[list.length - 1].value, text: bytes(value), say: `${one.name} with ${text}`, file, key: `models.${id}.${key}.${at}`, exact: String(value) }],
  }));
  return { kind: "table", name: "grouped", look: "bars", corner: one.name, label: "What grouped heads save", columns: [{ text: one.group_size === 1 ? "its cache: nothing is shared" : "its cache, and the same with one KV head per query head" }], rows };
}

/** The chosen model's own numbers. @param {Scene} scene */
function facts({ file, one, id }) {
  const count = (/** @type {string} */ text, /** @type {string} */ key, /** @type {(n: number) => string} */ show) => ({
    head: { text }, cells: [{ kind: "count", text: show(one[key]), say: `${one.name}, ${text}`, file, key: `models.${id}.${key}`, exact: String(one[key]) }],
  });
  const longest = `one request at its longest, ${whole(one.max_positions)} tokens`;
  const rows = [
    count("one token", "kv_bytes_per_token", bytes),
    count(longest, "kv_bytes_at_longest", bytes),
    { ...count("the model’s weights", "weight_bytes_fp16", bytes), kind: "total" },
    count("that request, as a share of the weights", "kv_to_weights_at_longest", percent),
  ];
  return { kind: "table", name: "facts", look: "plain", corner: one.name, label: `Bytes of ${one.name}`, columns: [{ text: "fp16" }], rows };
}
