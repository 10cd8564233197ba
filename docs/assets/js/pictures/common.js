// @ts-check
// What several pictures share: the controls they offer, the strip above them, cells made from numbers of a record.
// Pure: no page, no network. A picture is drawn from records only; nothing here computes a model's number.

import { fixed, spoken, token } from "../format.js";

/** @typedef {import("../state.js").Field} Field */
/** @typedef {import("../state.js").State} State */
/** @typedef {{id: string, model: string, prompt: string, label: string, layers: number[], query_heads: number, kv_heads: number,
 *             group_size: number, chosen: {layer: number, head: number}[], steps: number, tokens: number,
 *             prompt_tokens: number, credit: string}} Recording */
/** @typedef {{figure: string, options: Record<string, any>, state?: Record<string, any>, recordings: Recording[]}} Context */
/** @typedef {Record<string, any>} Records  path of a record -> its values */
/** @typedef {{text?: string, role?: string, t?: number, neg?: boolean, clip?: boolean, mark?: string, kind?: string, bar?: number,
 *             say?: string, file?: string, key?: string, exact?: string, span?: number, edge?: string, look?: string}} Cell */

export const DRAWN = 8; // how many of a head's numbers are drawn

/** The recording a state speaks of. @param {State} state @param {Context} context @returns {Recording} */
export function recordingOf(state, context) {
  return context.recordings.find((one) => one.id === state.recording) ?? context.recordings[0];
}

/** @param {State} _state @param {Context} context @returns {Field} */
export function recordingField(_state, context) {
  const options = context.recordings.map((one) => ({ value: one.id, text: one.label }));
  return { name: "recording", label: "Prompt", kind: "choice", value: options[0].value, options };
}

/** @param {State} state @param {Context} context @returns {Field} */
export function layerField(state, context) {
  const recording = recordingOf(state, context);
  const options = recording.layers.map((layer) => ({ value: layer, text: String(layer) }));
  return { name: "layer", label: "Layer", kind: "choice", told: false, value: recording.chosen[0].layer, options };
}

/** Query heads; each is named with the KV head that it reads. @param {State} state @param {Context} context @returns {Field} */
export function headField(state, context) {
  const recording = recordingOf(state, context);
  const shared = recording.group_size > 1;
  const options = Array.from({ length: recording.query_heads }, (_, head) => ({
    value: head,
    text: shared ? `${head} (KV head ${kvHead(recording, head)})` : String(head),
  }));
  const chosen = recording.chosen.find((one) => one.layer === state.layer) ?? recording.chosen[0];
  return { name: "head", label: shared ? "Query head" : "Head", kind: "choice", told: false, value: chosen.head, options };
}

/** @param {State} state @param {Context} context @param {number} [first] @returns {Field} */
export function stepField(state, context, first = 0) {
  const last = recordingOf(state, context).steps - 1;
  const names = Array.from({ length: last + 1 }, (_, step) => stepName(step));
  return { name: "step", label: "Step", kind: "range", value: last, min: first, max: last, names };
}

/** @returns {Field} */
export function dimsField() {
  const options = [{ value: "first", text: `first ${DRAWN}` }, { value: "largest", text: `${DRAWN} largest` }];
  return { name: "dims", label: "Numbers drawn", kind: "choice", told: false, value: "first", options };
}

/** @param {number} step */
export function stepName(step) {
  return step === 0 ? "prefill" : `decode ${step}`;
}

/** The KV head that a query head reads. @param {Recording} recording @param {number} head */
export function kvHead(recording, head) {
  return Math.floor(head / recording.group_size);
}

/** @param {number} layer */
export function shard(layer) {
  return String(layer).padStart(2, "0");
}

/** The strip: tokens left to right, prompt | reply, the step's tokens marked, later ones pale.
 *  @param {Records} records @param {string} id of the recording @param {number} [step] @param {boolean} [full] */
export function strip(records, id, step, full = false) {
  const index = records[id];
  const fed = step === undefined ? [] : index.steps[step].fed_tokens;
  const cached = step === undefined ? index.tokens.length : index.steps[step].cache_tokens;
  const items = index.tokens.map((/** @type {any} */ one, /** @type {number} */ i) => ({
    kind: "token", text: token(one.text, !full),
    top: full ? String(one.position) : undefined,
    sub: full ? String(one.id) : undefined,
    divide: i > 0 && one.role !== index.tokens[i - 1].role,
    mark: fed.includes(i) ? "now" : i >= cached ? "future" : undefined,
    role: one.role,
    say: `position ${one.position}, ${one.role}: ${spoken(one.text)}, token number ${one.id}${fed.includes(i) ? ", fed in this step" : ""}`,
    file: id, key: `tokens.${i}.id`, exact: String(one.id),
  }));
  const last = index.final ? [finalToken(index, id, full)] : [];
  return { kind: "strip", label: "Tokens, prompt then reply", full, items: [...items, ...last] };
}

/** The token that ends the recording: chosen by the last step and never fed, so that the cache never holds it.
 *  @param {any} index @param {string} id @param {boolean} full */
function finalToken(index, id, full) {
  const { final } = index;
  const ends = final.stop ? "ends the reply, not fed" : "written, not fed";
  return {
    kind: "token", text: token(final.text, !full), mark: "final", role: "reply", aside: full ? undefined : ends,
    top: full ? String(final.position) : undefined, sub: full ? String(final.id) : undefined,
    say: `${spoken(final.text)}, token number ${final.id}: ${ends}, so it is not in the cache`, file: id, key: "final.id", exact: String(final.id),
  };
}

/** How many tokens the reply has that a reader sees; a stop token is none of them. @param {any} index */
export function replyTokens(index) {
  return index.reply_tokens ?? index.tokens.filter((/** @type {any} */ one) => one.role === "reply").length;
}

/** The value that 98 of 100 numbers stay under, so that a few large ones do not bleach the rest. @param {number[]} values */
export function clipAt(values) {
  const sorted = values.map(Math.abs).sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(0.98 * sorted.length))] || 1;
}

/** A number of a record as a cell: text, tint by size, marked where the tint is clipped.
 *  @param {number} value @param {string} role @param {number} clip @param {string} file @param {string} key @param {string} say
 *  @returns {Cell} */
export function numberCell(value, role, clip, file, key, say) {
  const size = Math.abs(value) / clip; // the tint grows a little faster at first, so that small numbers keep theirs
  return {
    kind: "number", text: fixed(value, Math.abs(value) >= 99.95 ? 1 : 2), role, t: Math.min(1, size) ** 0.7, neg: value < 0, clip: size > 1,
    say, file, key, exact: String(value),
  };
}

/** A cell in which nothing stands yet. @param {string} say @returns {Cell} */
export function blank(say) {
  return { kind: "blank", text: "", say };
}

/** Which numbers of a head are drawn. @param {string|number} dims @param {number[][]} rows @returns {number[]} */
export function drawnDims(dims, rows) {
  const width = rows[0].length;
  const all = Array.from({ length: width }, (_, d) => d);
  if (dims !== "largest") return all.slice(0, DRAWN);
  const peak = all.map((d) => Math.max(...rows.map((row) => Math.abs(row[d]))));
  return all.sort((a, b) => peak[b] - peak[a] || a - b).slice(0, DRAWN).sort((a, b) => a - b);
}
