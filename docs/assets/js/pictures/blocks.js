// @ts-check
// THE POOL: blocks as boxes in physical order, and beside them each request's table in logical order. The reader drives
// it; what happens is worked out by blocks/, which is held to Python's event logs. Tokens are those of the recordings.

import { codes, isScript, replay } from "../blocks/actions.js";
import { offered, scriptOf, slotsOf } from "../blocks/presets.js";
import { told } from "../blocks/words.js";
import { legend, log, pool, sums } from "./pool_parts.js";
import { presses } from "./pool_presses.js";

/** @typedef {import("../state.js").State} State */
/** @typedef {import("../blocks/actions.js").Source} Source */
/** @typedef {import("./common.js").Context} Context */

const BLOCKS = [1, 2, 4, 8, 16];
const SLOTS = [16, 32, 48, 64, 96, 128];
const DESIGNS = { "full-blocks": "full blocks only", "copy-on-write": "copy-on-write" };
export const bySteps = false;

/** The recordings of one model: what the pool is filled with. @param {Context} context */
function recorded(context) {
  return context.recordings.filter((one) => one.model === context.recordings[0].model);
}

/** @param {Context} context @returns {string[]} */
function named(context) {
  return context.options.names ?? recorded(context).map((one) => one.prompt);
}

/** @param {Context} context @returns {import("../blocks/presets.js").Prompts} */
function prompts(context) {
  return Object.fromEntries(recorded(context).map((one) => [one.prompt, one.prompt_tokens]));
}

/** @param {State} state @param {Context} context */
function presetOf(state, context) {
  const wanted = state.preset ?? context.options.preset;
  const all = offered(prompts(context));
  return all.find((one) => one.id === wanted) ?? all[0];
}

/** @param {State} state @param {Context} context @returns {import("../state.js").Field[]} */
export function fields(state, context) {
  const { options } = context;
  const preset = presetOf(state, context);
  const names = named(context);
  const hidden = options.controls === false;
  const script = scriptOf(preset, names);
  const examples = offered(prompts(context));
  const choice = (/** @type {string} */ name, /** @type {string} */ label, /** @type {(string|number)[]} */ values, /** @type {string|number} */ value, /** @type {(value: any) => string} */ text) =>
    ({ name, label, hidden, kind: /** @type {const} */ ("choice"), value, options: values.map((one) => ({ value: one, text: text(one) })) });
  return [
    choice("preset", "Example", examples.map((one) => one.id), preset.id, (id) => examples.find((one) => one.id === id)?.text ?? ""),
    choice("design", "Design", Object.keys(DESIGNS), options.design ?? preset.design, (id) => DESIGNS[/** @type {"full-blocks"} */ (id)]),
    choice("block", "Block", BLOCKS, options.block_tokens ?? preset.block, (n) => (n === 1 ? "1 slot" : `${n} slots`)),
    choice("slots", "Pool", SLOTS, options.slots ?? slotsOf(preset, prompts(context), SLOTS), (n) => `${n} slots`),
    { name: "do", label: "Actions", hidden: true, kind: "text", value: script, options: [{ value: script, text: "as in the example" }], fits: (text) => isScript(text, names) },
  ];
}

/** A new example begins with its own sizes and actions. @param {Map<string, string>} now @param {Map<string, string>} changed */
export function merge(now, changed) {
  return changed.has("preset") ? changed : new Map([...now, ...changed]);
}

/** @param {State} _state @param {Context} context */
export function needs(_state, context) {
  const { sequences } = context.options;
  return sequences ? [`${context.recordings[0].model}/${sequences}`] : recorded(context).map((one) => one.id);
}

/** @param {State} state @param {import("./common.js").Records} records @param {Context} context */
export function draw(state, records, context) {
  const sources = context.options.sequences ? given(records, needs(state, context)[0]) : new Map(recorded(context).map((one) => [one.prompt, source(one, records[one.id])]));
  const block = Number(state.block);
  const all = codes(String(state.do));
  const world = replay(all, sources, { blocks: Number(state.slots) / block, blockTokens: block, design: String(state.design), reserve: context.options.reserve_null === true });
  const names = named(context);
  const scene = { world, sources, all, names, script: scriptOf(presetOf(state, context), names), drives: context.options.controls !== false };
  const parts = context.options.parts ?? ["presses", "pool", "legend", "sums", "log"];
  const made = { presses: () => presses(scene), pool: () => pool(scene), sums: () => sums(scene), log: () => log(scene), legend: () => legend(scene) };
  return {
    summary: told(world),
    parts: parts.filter((/** @type {string} */ name) => name !== "presses" || scene.drives).map((/** @type {keyof made} */ name) => made[name]()),
  };
}

/** @param {import("./common.js").Recording} recording @param {any} index @returns {Source} */
function source({ id: file, prompt: name, label }, index) {
  const other = (/** @type {number} */ position) => {
    const step = position - index.prompt_tokens;
    const found = index.steps[step]?.top[1];
    return found && { id: found.id, text: found.text, file, key: `steps.${step}.top.1.id` };
  };
  return { name, label, prompt: index.prompt_tokens, tokens: items(index.tokens, file, "tokens"), other };
}

/** Sequences that a record of its own holds: name, label, tokens, prompt_tokens. @param {import("./common.js").Records} records @param {string} file @returns {Map<string, Source>} */
function given(records, file) {
  return new Map(records[file].sequences.map((/** @type {any} */ one, /** @type {number} */ i) =>
    [one.name, { name: one.name, label: one.label, prompt: one.prompt_tokens, tokens: items(one.tokens, file, `sequences.${i}.tokens`), other: () => undefined }]));
}

/** @param {any[]} tokens @param {string} file @param {string} key @returns {import("../blocks/actions.js").Item[]} */
function items(tokens, file, key) {
  return tokens.map(({ id, text }, i) => ({ id, text, file, key: `${key}.${i}.id` }));
}
