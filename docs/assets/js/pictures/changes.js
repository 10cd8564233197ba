// @ts-check
// How far the rows of two prompts are apart that differ in one token: layers down, positions across. Left of the token they
// are equal, which is why a common beginning can be shared; from it on they are not, though the tokens are the same again.

import { fixed, power, spoken, token, whole } from "../format.js";
import { recordingOf } from "./common.js";

/** @typedef {import("../state.js").State} State */
/** @typedef {import("./common.js").Context & {grid: {variants: {id: string, words: string}[]}}} Context */

const [LEAST, MOST] = [-3, 1]; // powers of ten between which the tint grows
const GROUP = 5; // columns under one heading

/** @param {State} _state @param {Context} context @returns {import("../state.js").Field[]} */
export function fields(_state, context) {
  return [{ name: "change", label: "Second prompt", kind: "choice", value: "question", options: context.grid.variants.map(({ id, words }) => ({ value: id, text: words })) }];
}

/** @param {State} state @param {Context} context */
export function needs(state, context) {
  return [`${recordingOf(state, context).model}/sharing`];
}

/** @param {State} state @param {import("./common.js").Records} records @param {Context} context */
export function draw(state, records, context) {
  const [file] = needs(state, context);
  const name = String(state.change);
  const one = records[file].rows[name];
  const key = `rows.${name}`;
  const columns = Array.from({ length: Math.ceil(one.tokens.length / GROUP) }, (_, i) => {
    const [from, to] = [i * GROUP, Math.min((i + 1) * GROUP, one.tokens.length) - 1];
    return { text: from === to ? String(from) : `${from}–${to}`, span: to - from + 1 };
  });
  const rows = one.change.map((/** @type {number[]} */ values, /** @type {number} */ layer) => ({
    head: { text: String(layer) },
    cells: one.tokens.map((/** @type {any} */ item, /** @type {number} */ at) => cell(one, values[at - one.first], layer, at, item.text, file, key)),
  }));
  const where = one.tokens[one.first].text;
  const before = one.first === 0 ? "" : `The ${whole(one.first)} rows before it are the same in every layer. `;
  return {
    summary: `Position ${one.first} is ${spoken(token(where, true))} instead of ${spoken(token(base(records[file], one.first), true))}. ${before}From there on all rows are different; in layer 0 only its own is.`,
    parts: [
      { kind: "strip", label: "Tokens of the second prompt", full: true, items: one.tokens.map((/** @type {any} */ item, /** @type {number} */ at) => prompt(one, item, at, file, key)) },
      { kind: "table", name: "changes", look: "tint", corner: "layer ↓ pos. →", label: "Largest difference of any number of K or V, layers down, positions across", columns, rows },
      { kind: "legend", items: [{ swatch: "empty", text: "equal, to rounding" }, { swatch: "weight", text: `apart: deeper from 10${power(LEAST)} to 10${power(MOST)} and above` }, { swatch: "new", text: "the token that is another" }] },
    ],
  };
}

/** A token of the second prompt. @param {any} one @param {any} item @param {number} at @param {string} file @param {string} key */
function prompt(one, item, at, file, key) {
  const other = one.differ.includes(at);
  return {
    kind: "token", text: token(item.text, true).replace(/^<\|(\w+)\|>$/, "⟨$1⟩"), top: String(at), role: "prompt", mark: other ? "now" : undefined,
    say: `position ${at}: ${spoken(item.text)}${other ? ", another token than in the first prompt" : ""}, token number`, file, key: `${key}.tokens.${at}.id`, exact: String(item.id),
  };
}

/** The token of the first prompt. @param {any} record @param {number} at */
function base({ sequences, chains }, at) {
  return sequences.find((/** @type {any} */ one) => one.name === chains.base).tokens[at].text;
}

/** @param {any} one @param {number|undefined} value @param {number} layer @param {number} at @param {string} text @param {string} file @param {string} key */
function cell(one, value, layer, at, text, file, key) {
  const place = `layer ${layer}, position ${at} ${spoken(text)}`;
  if (value === undefined) return { kind: "blank", text: "", say: `${place}: equal, apart by no more than`, file, key: `${key}.before_bound`, exact: String(one.before_bound) };
  const cells = { say: `${place}: largest difference`, file, key: `${key}.change.${layer}.${at - one.first}`, exact: String(value) };
  if (value < 10 ** LEAST) return { kind: "blank", text: "", ...cells };
  const t = Math.min(1, Math.max(0.12, (Math.log10(value) - LEAST) / (MOST - LEAST)));
  return { kind: "tint", role: "weight", t: Number(fixed(t, 2)), edge: at === one.first ? "start" : undefined, ...cells };
}
