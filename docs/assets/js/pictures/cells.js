// @ts-check
// THE CELLS: one head as rows of numbers. Mode "kv": the rows of K and V that prefill writes. Mode "decode": the newest
// token's query against every key, the row of scores, the softmax weights, the values, and the output of the head.

import { percent, spoken, token, whole } from "../format.js";
import {
  DRAWN, blank, clipAt, dimsField, drawnDims, headField, kvHead, layerField, numberCell, recordingField, recordingOf, shard,
  stepField, stepName, strip,
} from "./common.js";

/** @typedef {import("../state.js").State} State */
/** @typedef {import("./common.js").Context} Context */
/** @typedef {import("./common.js").Cell} Cell */

/** @param {State} state @param {Context} context */
export function fields(state, context) {
  const step = context.options.mode === "decode" ? [stepField(state, context, 1)] : [];
  return [recordingField(state, context), layerField(state, context), headField(state, context), ...step, dimsField()];
}

/** @param {State} state @param {Context} context */
export function needs(state, context) {
  const { id, model } = recordingOf(state, context);
  const layer = shard(Number(state.layer));
  const kv = [`${model}/model`, id, `${id}/kv-${layer}`];
  return context.options.mode === "decode" ? [...kv, `${id}/attention-${layer}`] : kv;
}

/** @param {State} state @param {import("./common.js").Records} records @param {Context} context */
export function draw(state, records, context) {
  const scene = sceneOf(state, records, context);
  return context.options.mode === "decode" ? drawDecode(scene) : drawPrompt(scene);
}

/** Everything that both modes look at. @param {State} state @param {import("./common.js").Records} records
 *  @param {Context} context */
function sceneOf(state, records, context) {
  const recording = recordingOf(state, context);
  const [layer, head] = [Number(state.layer), Number(state.head)];
  const kv = kvHead(recording, head);
  const index = records[recording.id];
  const step = context.options.mode === "decode" ? Number(state.step) : 0;
  const path = { kv: `${recording.id}/kv-${shard(layer)}`, attention: `${recording.id}/attention-${shard(layer)}` };
  const rowsOf = (/** @type {string} */ name) => records[path.kv][name].map((/** @type {number[][]} */ row) => row[kv]);
  const k = rowsOf("k");
  const v = rowsOf("v");
  const visible = index.steps[step].cache_tokens;
  const at = index.steps[step].fed_tokens.at(-1);
  const attention = records[path.attention];
  const of = (/** @type {string} */ name) => attention[name][at][head];
  const q = attention ? of("q") : undefined;
  return {
    recording, records, layer, head, kv, index, step, path, k, v, visible, at, q,
    scores: attention ? of("scores") : [], weights: attention ? of("weights") : [], output: attention ? of("output") : [],
    model: records[`${recording.model}/model`],
    dims: { k: drawnDims(state.dims, q ? [q, ...k.slice(0, visible)] : k.slice(0, visible)), v: drawnDims(state.dims, v.slice(0, visible)) },
    clip: { k: clipAt(k.flat()), v: clipAt(v.flat()) },
  };
}

/** @typedef {ReturnType<typeof sceneOf>} Scene */

/** @param {Scene} scene */
function where(scene) {
  const heads = scene.recording.group_size > 1 ? `query head ${scene.head}, KV head ${scene.kv}` : `head ${scene.head}`;
  return `layer ${scene.layer}, ${heads}`;
}

/** @param {Scene} scene */
function drawPrompt(scene) {
  const rotated = scene.model.rope_theta !== null;
  const shared = scene.recording.group_size > 1 ? `KV head ${scene.kv}` : `head ${scene.kv}`;
  return {
    summary: `Layer ${scene.layer}, ${shared}: ${whole(scene.visible)} tokens, ${DRAWN} of ${scene.model.head_dim} numbers of each row.`,
    parts: [
      strip(scene.records, scene.recording.id, 0),
      { kind: "title", role: "key", text: `K · keys${rotated ? ", turned by position, as cached" : ", as cached"}` },
      rowsTable(scene, "k"),
      { kind: "title", role: "value", text: "V · values, as cached" },
      rowsTable(scene, "v"),
      legend(false),
    ],
  };
}

/** @param {Scene} scene @param {"k"|"v"} which */
function rowsTable(scene, which) {
  const name = which === "k" ? "Keys" : "Values";
  const rows = Array.from({ length: scene.visible }, (_, position) => ({
    head: tokenHead(scene, position), cells: rowCells(scene, which, position),
  }));
  return {
    kind: "table", name: which, look: "numbers", corner: "token", label: `${name} of the prompt, ${where(scene)}`,
    columns: scene.dims[which].map((d) => ({ text: String(d) })), rows,
  };
}

/** @param {Scene} scene @param {number} position */
function tokenHead(scene, position) {
  const one = scene.index.tokens[position];
  return { text: token(one.text, true), sub: String(one.position) };
}

/** @param {Scene} scene @param {"k"|"v"} which @param {number} position @returns {Cell[]} */
function rowCells(scene, which, position) {
  const row = scene[which][position];
  const text = spoken(scene.index.tokens[position].text);
  return scene.dims[which].map((d) => numberCell(row[d], which === "k" ? "key" : "value", scene.clip[which], scene.path.kv,
    `${which}.${position}.${scene.kv}.${d}`, `${which.toUpperCase()} of position ${position} ${text}, number ${d}`));
}

/** @param {Scene} scene */
function drawDecode(scene) {
  const token_ = spoken(scene.index.tokens[scene.at].text);
  return {
    summary: `${stepName(scene.step)}: ${token_} enters at position ${scene.at} and reads ${whole(scene.visible)} rows; ${where(scene)}.`
      .replace(/^d/, "D"),
    parts: [
      strip(scene.records, scene.recording.id, scene.step),
      { kind: "title", role: "key", text: "q · Kᵀ, then softmax: one row of scores" },
      keyTable(scene),
      { kind: "title", role: "value", text: "weights · V: the output of the head" },
      valueTable(scene),
      legend(true),
    ],
  };
}

/** The query over the keys; beside each key its score and its weight. @param {Scene} scene */
function keyTable(scene) {
  const q = /** @type {number[]} */ (scene.q);
  const clip = clipAt(q);
  const query = scene.dims.k.map((d) => numberCell(q[d], "query", clip, scene.path.attention, `q.${scene.at}.${scene.head}.${d}`,
    `query of position ${scene.at}, number ${d}`));
  const rows = scene.index.tokens.map((/** @type {any} */ _, /** @type {number} */ position) => ({
    head: tokenHead(scene, position), mark: markOf(scene, position),
    cells: position < scene.visible ? [scoreCell(scene, position), weightCell(scene, position), ...rowCells(scene, "k", position)]
      : later(DRAWN + 2, position),
  }));
  const first = { head: { text: "q", sub: token(scene.index.tokens[scene.at].text, true) }, kind: "query",
    cells: [{ kind: "note", text: "q·k/√d", say: "scores: query times key, divided by the root of the head’s size" },
      { kind: "note", text: "softmax", say: "weights: softmax of the scores" }, ...query] };
  return {
    kind: "table", name: "keys", look: "numbers", corner: "number", label: `Query, keys, scores and weights, ${where(scene)}`,
    columns: [{ text: "score", role: "weight" }, { text: "weight", role: "weight", look: "wide" }, ...scene.dims.k.map((d) => ({ text: String(d) }))], // first what a phone has room for
    rows: [first, ...rows],
  };
}

/** The weights over the values; under them the output. @param {Scene} scene */
function valueTable(scene) {
  const clip = clipAt(scene.output);
  const output = scene.dims.v.map((d) => numberCell(scene.output[d], "value", clip, scene.path.attention,
    `output.${scene.at}.${scene.head}.${d}`, `output of the head, number ${d}`));
  const rows = scene.index.tokens.map((/** @type {any} */ _, /** @type {number} */ position) => ({
    head: tokenHead(scene, position), mark: markOf(scene, position),
    cells: position < scene.visible ? [weightCell(scene, position), ...rowCells(scene, "v", position)] : later(DRAWN + 1, position),
  }));
  const last = { head: { text: "output" }, kind: "output",
    cells: [{ kind: "note", text: "Σ w·V", say: "sum of all values, each times its weight" }, ...output] };
  return {
    kind: "table", name: "values", look: "numbers", corner: "number", label: `Weights, values and output, ${where(scene)}`,
    columns: [{ text: "weight", role: "weight", look: "wide" }, ...scene.dims.v.map((d) => ({ text: String(d) }))], rows: [...rows, last],
  };
}

/** @param {Scene} scene @param {number} position */
function markOf(scene, position) {
  return position === scene.at ? "new" : position >= scene.visible ? "future" : undefined;
}

/** @param {number} count @param {number} position */
function later(count, position) {
  return Array.from({ length: count }, () => blank(`position ${position}: not there yet`));
}

/** @param {Scene} scene @param {number} position @returns {Cell} */
function scoreCell(scene, position) {
  const say = `score of position ${position}`;
  const cell = numberCell(scene.scores[position], "weight", 1, scene.path.attention, `scores.${scene.at}.${scene.head}.${position}`, say);
  return { ...cell, t: 0, neg: false, clip: false };
}

/** @param {Scene} scene @param {number} position @returns {Cell} */
function weightCell(scene, position) {
  const weight = scene.weights[position];
  return {
    kind: "number", text: percent(weight), role: "weight", bar: weight, say: `weight of position ${position}`,
    file: scene.path.attention, key: `weights.${scene.at}.${scene.head}.${position}`, exact: String(weight),
  };
}

/** @param {boolean} decode */
function legend(decode) {
  const items = [{ swatch: "sign", text: "colour: positive · grey: negative · deeper: larger" },
    { swatch: "clip", text: "◥ beyond the head’s 98th percentile" }];
  return { kind: "legend", items: decode ? [{ swatch: "new", text: "the row this step adds" }, ...items] : items };
}
