// @ts-check
// Where the reader may begin: a list of actions, each with the design and the sizes for which it shows something.

/** @typedef {{id: string, text: string, design: string, block: number, slots: number, script: string}} Preset */

const [PAPER, FULL] = ["copy-on-write", "full-blocks"];

/** @type {Preset[]} */
export const PRESETS = [
  { id: "two", text: "two requests", design: FULL, block: 4, slots: 32, script: "ncat.nrepeat.dA.dB.dA.dB.dA.dA.dA.dA" },
  { id: "partial", text: "a partly filled last block", design: FULL, block: 4, slots: 32, script: "ncat.dA.dA" },
  { id: "exact", text: "a prompt that fills its blocks exactly", design: FULL, block: 4, slots: 32, script: "nrepeat.dA" },
  { id: "cached", text: "the whole prompt is cached", design: FULL, block: 4, slots: 32, script: "nrepeat.sA" },
  { id: "shared", text: "a long prompt shared by three", design: FULL, block: 4, slots: 48, script: "nchat.sA.sA.dA.wB.dA" },
  { id: "once", text: "two equal prompts in one step", design: FULL, block: 4, slots: 32, script: "prepeat.prepeat.k" },
  { id: "reuse", text: "reuse after free", design: FULL, block: 4, slots: 32, script: "nrepeat.eA.nchat.eB.nrepeat" },
  { id: "boundary", text: "fork at a block boundary", design: PAPER, block: 4, slots: 32, script: "nrepeat.fA.dA.wB" },
  { id: "copy", text: "fork in a block: copy at the first write", design: PAPER, block: 4, slots: 32, script: "ncat.dA.dA.dA.fA.dA.wB" },
  { id: "full", text: "the pool is full", design: FULL, block: 4, slots: 16, script: "nrepeat.ncat.dB.dA" },
  { id: "empty", text: "an empty pool", design: FULL, block: 4, slots: 32, script: "" },
];

/** The script with recordings that exist: another prompt's site has not all of them. @param {Preset} preset @param {string[]} names */
export function scriptOf({ script }, names) {
  return script.replace(/(^|\.)([np])([a-z][a-z0-9-]*)/g, (_, before, kind, name) => `${before}${kind}${names.includes(name) ? name : names[0]}`);
}
