// @ts-check
// THE LANES: one request without a cache and with one. A square is one row of K and V computed in one pass, in every
// layer; under the lanes the work that was counted, the bytes that the cache takes, and the blocks it is stored in.

import { bytes, fixed, scientific, spoken, token, whole } from "../format.js";
import { recordingField, recordingOf, stepField, stepName, strip } from "./common.js";

/** @typedef {import("./common.js").Cell} Cell */
/** @typedef {import("../state.js").State} State */
/** @typedef {import("./common.js").Context} Context */

const LANES = /** @type {const} */ (["without", "with"]);
const COUNTS = /** @type {[string, string][]} */ ([
  ["kv_rows", "K,V rows, per layer"], ["query_rows", "query rows, per layer"], ["score_cells", "scores, per head"], ["flops", "FLOPs, whole model"],
]);

/** @param {State} state @param {Context} context */
export function fields(state, context) {
  return [recordingField(state, context), stepField(state, context)];
}

/** @param {State} state @param {Context} context */
export function needs(state, context) {
  const { id, model } = recordingOf(state, context);
  return [id, `${model}/one-token`];
}

/** @param {State} state @param {import("./common.js").Records} records @param {Context} context */
export function draw(state, records, context) {
  const { id, model } = recordingOf(state, context);
  const scene = { id, file: `${model}/one-token`, index: records[id], lanes: records[`${model}/one-token`], step: Number(state.step) };
  const rest = context.options.parts?.includes("memory") ?? !context.options.compact ? memory(scene) : [];
  return {
    summary: summary(scene),
    parts: [strip(records, id, scene.step), lanesTable(scene), legend(), counts(scene), ...rest],
  };
}

/** @typedef {{id: string, file: string, index: any, lanes: any, step: number}} Scene */

/** The counts of passes 0 to the step, as recorded. @param {Scene} scene */
function soFar(scene) {
  return scene.lanes.passes[scene.step].so_far;
}

/** @param {Scene} scene */
function summary(scene) {
  const sums = soFar(scene);
  const when = scene.step === scene.lanes.passes.length - 1 ? "The whole reply" : `After ${scene.step ? `decode step ${scene.step}` : "prefill"}`;
  return `${when}: ${whole(sums.without.kv_rows)} K,V rows in every layer without a cache, ${whole(sums.with.kv_rows)} with one.`;
}

/** @param {Scene} scene */
function lanesTable(scene) {
  const tokens = scene.lanes.total_tokens;
  const columns = [
    { text: "fed", look: "text" },
    { text: "position →", span: tokens }, { text: "rows", look: "count" }, { text: "position →", span: tokens }, { text: "rows", look: "count" },
  ];
  const rows = scene.lanes.passes.map((/** @type {any} */ pass) => laneRow(scene, pass, tokens));
  const sums = soFar(scene);
  const total = { head: { text: "total" }, kind: "total", cells: [{ kind: "note", text: "", look: "text" }, ...LANES.flatMap((lane) => [
    { kind: "note", text: "", span: tokens },
    { kind: "count", text: whole(sums[lane].kv_rows), say: `total ${lane} a cache, K,V rows`, file: scene.file,
      key: `passes.${scene.step}.so_far.${lane}.kv_rows`, exact: String(sums[lane].kv_rows) },
  ])] };
  return {
    kind: "table", name: "lanes", look: "squares", corner: "pass", label: "K,V rows computed in each pass, without a cache and with one",
    bands: [{ text: "", span: 1 }, { text: "", span: 1, look: "text" }, { text: "without a cache", span: tokens + 1 }, { text: "with a cache", span: tokens + 1 }],
    columns, rows: [...rows, total],
  };
}

/** One pass in both lanes. @param {Scene} scene @param {any} pass @param {number} tokens */
function laneRow(scene, pass, tokens) {
  const done = pass.step <= scene.step;
  const now = pass.step === scene.step;
  const cells = LANES.flatMap((lane) => [
    ...Array.from({ length: tokens }, (_, position) => square(scene, pass, lane, position, done)),
    done ? { kind: "count", text: whole(pass[lane].kv_rows), mark: now ? "now" : undefined, say: `${stepName(pass.step)}, ${lane} a cache, K,V rows`,
      file: scene.file, key: `passes.${pass.step}.${lane}.kv_rows`, exact: String(pass[lane].kv_rows) } : { kind: "note", text: "" },
  ]);
  const fed = { kind: "note", look: "text", text: token(pass.fed_text, true), mark: done ? undefined : "future" };
  return { head: { text: pass.step === 0 ? "prefill" : String(pass.step) }, mark: now ? "now" : done ? undefined : "future", cells: [fed, ...cells] };
}

/** A row of K and V: new, computed again, read from the cache, or nothing.
 *  @param {Scene} scene @param {any} pass @param {"without"|"with"} lane @param {number} position @param {boolean} done @returns {Cell} */
function square(scene, pass, lane, position, done) {
  const { fed_tokens: fed, cache_tokens: known } = scene.index.steps[pass.step];
  const state = !done || position >= known ? "none" : fed.includes(position) ? "new" : lane === "without" ? "again" : "kept";
  const words = { none: "nothing", new: "computed for the first time", again: "computed again", kept: "read from the cache" };
  return {
    kind: "square", mark: state,
    say: `${stepName(pass.step)}, ${lane} a cache, position ${position} ${spoken(scene.index.tokens[position].text)}: ${words[state]}`,
    file: scene.file, key: `passes.${pass.step}.${lane}.kv_rows`, exact: String(pass[lane].kv_rows),
  };
}

function legend() {
  return { kind: "legend", items: [
    { swatch: "sq-new", text: "computed for the first time" }, { swatch: "sq-again", text: "computed again" },
    { swatch: "sq-kept", text: "read from the cache" },
  ] };
}

/** The work up to this pass, as counted while the code ran. @param {Scene} scene */
function counts(scene) {
  const sums = soFar(scene);
  const show = (/** @type {string} */ name, /** @type {number} */ n) => (name === "flops" ? scientific(n) : whole(n));
  const rows = COUNTS.map(([name, text]) => ({
    head: { text },
    cells: [
      ...LANES.map((lane) => ({ kind: "count", text: show(name, sums[lane][name]), say: `${text}, ${lane} a cache`, file: scene.file,
        key: `passes.${scene.step}.so_far.${lane}.${name}`, exact: String(sums[lane][name]) })),
      { kind: "count", text: `${fixed(sums.ratio[name], 1)}×`, say: `${text}, ratio`, file: scene.file,
        key: `passes.${scene.step}.so_far.ratio.${name}`, exact: String(sums.ratio[name]) },
    ],
  }));
  return {
    kind: "table", name: "work", look: "plain", corner: "work so far", label: "Work counted so far, without a cache and with one",
    columns: [{ text: "without" }, { text: "with" }, { text: "ratio" }], rows,
  };
}

/** What the cache takes after this pass: bytes, then its blocks with used and empty slots. @param {Scene} scene */
function memory(scene) {
  const step = scene.index.steps[scene.step];
  const per = scene.lanes.blocks.block_tokens;
  const held = Math.ceil(step.cache_tokens / per); // a block is taken when its first slot is needed
  const blocks = Array.from({ length: held }, (_, b) => ({
    name: String(b),
    slots: Array.from({ length: per }, (_, s) => slot(scene, step, b * per + s)),
  }));
  const tokens = step.cache_tokens;
  return [
    { kind: "title", text: `The price: ${bytes(step.cache_bytes.float32)} of cache in float32, ${bytes(step.cache_bytes.fp16)} in fp16` },
    { kind: "blocks", label: `The cache in blocks of ${per} tokens`, blocks, room: scene.lanes.blocks.blocks - held,
      note: `${whole(tokens)} tokens hold ${held === 1 ? "1 block" : `${held} blocks`} of ${per} slots; a slot is one token’s K and V in all layers` },
  ];
}

/** @param {Scene} scene @param {any} step @param {number} position @returns {Cell} */
function slot(scene, step, position) {
  const one = scene.index.tokens[position];
  const used = position < step.cache_tokens;
  return {
    kind: "slot", text: used ? token(one.text, true) : "", mark: !used ? "free" : step.fed_tokens.includes(position) ? "new" : undefined,
    say: used ? `slot ${position}: ${spoken(one.text)}` : `slot ${position}: empty`,
    ...(used ? { file: scene.id, key: `steps.${step.step}.cache_tokens`, exact: String(step.cache_tokens) } : {}),
  };
}
