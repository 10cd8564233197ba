// @ts-check
// THE HASH CHAIN: a prompt's blocks under each other, each with its hash, which is made from its tokens and the hash above.
// Beside it the blocks of another prompt: as long as the hashes are equal, the blocks can be shared.

import { spoken, whole } from "../format.js";
import { recordingOf } from "./common.js";

/** @typedef {import("../state.js").State} State */
/** @typedef {import("./common.js").Context & {grid: {others: string[]}}} Context */

const NAMES = /** @type {Record<string, string>} */ ({ france: "the same question again", hamlet: "another question", japan: "another word in the question", first: "another first token", salt: "the same, with another salt" });

/** @param {State} _state @param {Context} context @returns {import("../state.js").Field[]} */
export function fields(_state, context) {
  const { others } = context.grid;
  return [{ name: "prompt", label: "Second prompt", kind: "choice", value: "japan", options: others.map((value) => ({ value, text: NAMES[value] ?? value })) }];
}

/** @param {State} state @param {Context} context */
export function needs(state, context) {
  return [`${recordingOf(state, context).model}/sharing`];
}

/** @param {State} state @param {import("./common.js").Records} records @param {Context} context */
export function draw(state, records, context) {
  const [file] = needs(state, context);
  const { chains, block_tokens: size } = records[file];
  const name = String(state.prompt);
  const [base, other] = [chains.of[chains.base], chains.of[name]];
  const rows = other.blocks.map((/** @type {any} */ block, /** @type {number} */ row) => ({
    head: { text: String(row) }, kind: block.hit ? "hit" : block.key === null ? undefined : "miss",
    cells: [
      ...half(block, file, `chains.of.${name}.blocks.${row}`, `second prompt, block ${row}`),
      { kind: "count", text: block.hit ? "=" : block.key === null ? "" : "≠", say: `block ${row} of the second prompt: found among the first one’s blocks`, file, key: `chains.of.${name}.blocks.${row}.hit`, exact: String(block.hit) },
      ...half(base.blocks[row], file, `chains.of.${chains.base}.blocks.${row}`, `first prompt, block ${row}`).reverse(),
    ],
  }));
  const rest = other.tokens - other.cached_tokens;
  return {
    summary: `${(NAMES[name] ?? name).replace(/^./, (letter) => letter.toUpperCase())}: ${whole(other.hits)} of its ${whole(other.blocks.length)} blocks ${other.hits === 1 ? "is" : "are"} found, so ${whole(other.cached_tokens)} of ${whole(other.tokens)} tokens are not computed again, and ${whole(rest)} are.`,
    parts: [
      { kind: "table", name: "chain", look: "plain", corner: "block", label: `Blocks of ${size} tokens and their hashes`, rows,
        columns: [{ text: "second prompt", look: "exact" }, { text: "hash" }, { text: "same", look: "count" }, { text: "hash" }, { text: "first prompt", look: "exact" }] },
      { kind: "legend", items: [{ text: `hash: SHA-256 of the block’s tokens, the namespace and the hash of the block above; its first ${chains.short_digits} digits` }, { text: "↵ line break" }, { text: "= hit, ≠ miss, – not full: no hash" }] },
    ],
  };
}

/** A block's text and its hash. @param {any} block @param {string} file @param {string} key @param {string} who */
function half(block, file, key, who) {
  if (!block) return [{ kind: "note", text: "" }, { kind: "note", text: "" }];
  const text = block.text.replace(/\n/g, "↵").replace(/<\|([a-z_]+)\|>/g, "⟨$1⟩");
  return [
    { kind: "text", text: text.trim(), say: `${who}: ${spoken(block.text)}, ${block.ids.length} tokens, the first of them`, file, key: `${key}.ids.0`, exact: String(block.ids[0]) },
    block.key === null ? { kind: "text", text: "–", say: `${who} is not full: no hash` } : { kind: "hash", text: block.short, say: `${who}: hash`, file, key: `${key}.key`, exact: String(block.key) },
  ];
}
