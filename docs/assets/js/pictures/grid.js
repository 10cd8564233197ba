// @ts-check
// THE GRID: layers down, positions across, each cell split into K and V. It fills column by column as tokens are fed.

import { bytes, fixed, spoken, token, whole } from "../format.js";
import { clipAt, recordingField, recordingOf, stepField, stepName, strip } from "./common.js";

/** @typedef {import("./common.js").Cell} Cell */

/** @param {import("../state.js").State} state @param {import("./common.js").Context} context */
export function fields(state, context) {
  return [recordingField(state, context), stepField(state, context)];
}

/** @param {import("../state.js").State} state @param {import("./common.js").Context} context */
export function needs(state, context) {
  return [recordingOf(state, context).id];
}

/** @param {import("../state.js").State} state @param {import("./common.js").Records} records
 *  @param {import("./common.js").Context} context */
export function draw(state, records, context) {
  const { id, layers } = recordingOf(state, context);
  const index = records[id];
  const at = Number(state.step);
  const step = index.steps[at];
  const size = `${bytes(step.cache_bytes.fp16)} in fp16, ${bytes(step.cache_bytes.float32)} in float32`;
  return {
    summary: `After ${at === 0 ? "prefill" : `decode step ${at}`}: ${whole(step.cache_tokens)} tokens cached, ${size}.`,
    parts: [strip(records, id, at), gridTable(index, id, step, layers), legend(index)],
  };
}

/** @param {any} index @param {string} id @param {any} step @param {number[]} layers */
function gridTable(index, id, step, layers) {
  const clip = { K: clipAt(index.k_rms.flat()), V: clipAt(index.v_rms.flat()) };
  const fresh = new Set(step.fed_tokens);
  const columns = index.tokens.map((/** @type {any} */ one) => ({
    text: String(one.position), sub: token(one.text, true), span: 2, mark: fresh.has(one.position) ? "new" : undefined,
  }));
  const rows = layers.map((layer, l) => ({
    head: { text: String(layer) },
    cells: index.tokens.flatMap((/** @type {any} */ one) => ["K", "V"].map((which) =>
      cell(index, id, which, l, layer, one, clip, one.position < step.cache_tokens, fresh))),
  }));
  return {
    kind: "table", name: "cache", look: "tint", corner: "layer ↓ pos. →",
    label: `The cache after ${stepName(step.step)}: layers down, positions across, K and V in each cell`, columns, rows,
  };
}

/** @param {any} index @param {string} id @param {string} which @param {number} l @param {number} layer @param {any} one
 *  @param {Record<string, number>} clip @param {boolean} filled @param {Set<number>} fresh @returns {Cell} */
function cell(index, id, which, l, layer, one, clip, filled, fresh) {
  const place = `${which}, layer ${layer}, position ${one.position} ${spoken(one.text)}`;
  const role = which === "K" ? "key" : "value";
  if (!filled) return { kind: "blank", role, say: `${place}: nothing yet` };
  const name = which === "K" ? "k_rms" : "v_rms";
  const value = index[name][l][one.position];
  const share = value / clip[which];
  return {
    kind: "tint", role, edge: edge(which, one.position, fresh), t: Math.max(0.08, Math.min(1, share)), clip: share > 1, mark: fresh.has(one.position) ? "new" : undefined,
    say: `${place}, root mean square`, file: id, key: `${name}.${l}.${one.position}`, exact: String(value),
  };
}

/** Where the outline of the new columns begins and ends. @param {string} which @param {number} position @param {Set<number>} fresh */
function edge(which, position, fresh) {
  if (!fresh.has(position)) return undefined;
  if (which === "K") return fresh.has(position - 1) ? undefined : "start";
  return fresh.has(position + 1) ? undefined : "end";
}

/** @param {any} index */
function legend(index) {
  const top = (/** @type {number[][]} */ rms) => fixed(clipAt(rms.flat()));
  return { kind: "legend", items: [
    { swatch: "key", text: `K, root mean square 0 to ${top(index.k_rms)} and above` },
    { swatch: "value", text: `V, 0 to ${top(index.v_rms)} and above` },
    { swatch: "new", text: "written in this step" },
    { swatch: "empty", text: "nothing yet" },
  ] };
}
