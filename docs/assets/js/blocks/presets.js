// @ts-check
// Where the reader may begin: a list of actions, each with the design and the sizes for which it shows something.

/** @typedef {Record<string, number>} Prompts  tokens of each recording's prompt, by name */
/** @typedef {{id: string, text: string, design: string, block: number, slots: number, script: string, when?: (prompts: Prompts) => boolean}} Preset
 *  `when`: what it is called is true of these prompts; another model cuts them into other tokens. */

const [PAPER, FULL] = ["copy-on-write", "full-blocks"];
const even = (/** @type {Prompts} */ { repeat }) => repeat % 4 === 0;

/** @type {Preset[]} */
export const PRESETS = [
  { id: "two", text: "two requests", design: FULL, block: 4, slots: 32, script: "ncat.nrepeat.dA.dB.dA.dB.dA.dA.dA.dA" },
  { id: "partial", text: "a partly filled last block", design: FULL, block: 4, slots: 32, script: "ncat.dA.dA", when: ({ cat }) => (cat + 2) % 4 !== 0 },
  { id: "exact", text: "a prompt that fills its blocks exactly", design: FULL, block: 4, slots: 32, script: "nrepeat.dA", when: even },
  { id: "cached", text: "the whole prompt is cached", design: FULL, block: 4, slots: 32, script: "nrepeat.sA", when: even },
  { id: "shared", text: "a long prompt shared by three", design: FULL, block: 4, slots: 48, script: "nchat.sA.sA.dA.wB.dA" },
  { id: "once", text: "two equal prompts in one step", design: FULL, block: 4, slots: 32, script: "prepeat.prepeat.k" },
  { id: "reuse", text: "reuse after free", design: FULL, block: 4, slots: 32, script: "nrepeat.eA.nchat.eB.nrepeat" },
  { id: "boundary", text: "fork at a block boundary", design: PAPER, block: 4, slots: 32, script: "nrepeat.fA.dA.wB", when: even },
  { id: "copy", text: "fork in a block: copy at the first write", design: PAPER, block: 4, slots: 32, script: "ncat.dA.dA.dA.fA.dA.wB", when: ({ cat }) => (cat + 3) % 4 !== 0 },
  { id: "full", text: "the pool is full", design: FULL, block: 4, slots: 16, script: "nrepeat.ncat.dB.dA", when: ({ cat, repeat }) => cat === 3 && repeat === 12 },
  { id: "empty", text: "an empty pool", design: FULL, block: 4, slots: 32, script: "" },
];

/** The script with recordings that exist: another prompt's site has not all of them. @param {Preset} preset @param {string[]} names */
export function scriptOf({ script }, names) {
  return script.replace(/(^|\.)([np])([a-z][a-z0-9-]*)/g, (_, before, kind, name) => `${before}${kind}${names.includes(name) ? name : names[0]}`);
}

/** The examples that are what they are called. @param {Prompts} prompts */
export function offered(prompts) {
  return PRESETS.filter((one) => one.when?.(prompts) ?? true);
}

/** Slots of an example's pool, with room for a longer prompt than the recorded three tokens. @param {Preset} preset @param {Prompts} prompts @param {number[]} sizes */
export function slotsOf({ slots }, { cat = 3 }, sizes) {
  const wanted = slots + Math.max(0, cat - 3);
  return sizes.find((size) => size >= wanted) ?? sizes[sizes.length - 1];
}
