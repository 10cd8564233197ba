// @ts-check
// What the reader does with the pool, as a short text of actions that is replayed from an empty pool: to undo is to
// replay one less. Tokens come from recordings. Knows the manager, and neither a page nor a picture.

import { KVManager } from "./manager.js";
import { OutOfBlocks } from "./pool.js";
import { NOBODY, chainHash } from "./prefix.js";

/** @typedef {{id: number, text: string, file: string, key: string}} Item  a token, and where it is recorded */
/** @typedef {{name: string, label: string, prompt: number, tokens: Item[], other: (position: number) => Item|undefined}} Source
 *  A recorded text: its prompt's tokens, then the reply's; `other` is what the model found second best at a place. */
/** @typedef {{blocks: number, blockTokens: number, design: string, reserve?: boolean}} Settings */
/** @typedef {{letter: string, hue: number, source: Source, items: Item[], parent?: string, strayed: boolean}} Sequence */
/** @typedef {{kind: string, code: string, letter: string, of?: string, source?: Source, items: Item[], cached: number, computed: number,
 *             events: any[], slots: Set<number>, into?: number, missing?: {needed: number, available: number}, why?: string}} Step
 *  One action: what it did; or, with `missing` or `why`, that it could not be done. */
/** @typedef {{settings: Settings, manager: KVManager, live: Map<string, Sequence>, memory: Map<number, Item>, steps: Step[], made: number}} World */

const LONGEST = 400; // characters: an address holds them with the rest of the state
export const MOST_LIVE = 6; // as many as there are hues
/** @type {Map<string, string|number>} */
const KNOWN = new Map();
const CODE = /^(?:[np][a-z][a-z0-9-]{0,30}|[dwfse][A-Z]|k)$/;

/** The actions of a text. @param {string} text @returns {string[]} */
export function codes(text) {
  return text === "" ? [] : text.split(".");
}

/** Is this a text of actions, of these recordings? @param {string} text @param {string[]} names */
export function isScript(text, names) {
  return isShort(text) && codes(text).every((code) => CODE.test(code) && (!/^[np]/.test(code) || names.includes(code.slice(1))));
}

/** @param {string} text */
export function isShort(text) {
  return text.length <= LONGEST;
}

/** Everything that a list of actions leads to. What cannot be done changes nothing, and says why.
 *  @param {string[]} all @param {Map<string, Source>} sources @param {Settings} settings @returns {World} */
export function replay(all, sources, settings) {
  const manager = new KVManager(settings.blocks, settings.blockTokens, { design: settings.design, reserveNull: settings.reserve, hash });
  /** @type {World} */
  const world = { settings, manager, live: new Map(), memory: new Map(), steps: [], made: 0 };
  for (const code of all) world.steps.push(act(world, code, sources));
  return world;
}

/** Each hash is worked out once, however often the actions are replayed. @param {string|number|null} parent @param {number[]} tokenIds */
function hash(parent, tokenIds) {
  const content = `${parent}:${tokenIds}`;
  const key = KNOWN.get(content) ?? chainHash(parent, tokenIds, NOBODY);
  KNOWN.set(content, key);
  return key;
}

/** What the next action would be, without taking it. @param {World} world @param {string} code @param {Map<string, Source>} sources @returns {Step} */
export function foresee(world, code, sources) {
  const done = world.steps.filter(possible).map((step) => step.code); // the others changed nothing
  return /** @type {Step} */ (replay([...done, code], sources, world.settings).steps.at(-1));
}

/** @param {Step} step */
export function possible(step) {
  return !step.missing && !step.why;
}

/** @param {World} world @param {string} code @param {Map<string, Source>} sources @returns {Step} */
function act(world, code, sources) {
  const { manager } = world;
  const step = /** @type {Step} */ ({ kind: code[0], code, letter: code.slice(1), items: [], cached: 0, computed: 0, events: [], slots: new Set() });
  const before = manager.log.length;
  try {
    step.why = DO[/** @type {keyof typeof DO} */ (code[0])](world, step, sources);
  } catch (problem) {
    if (!(problem instanceof OutOfBlocks)) throw problem;
    step.missing = { needed: problem.neededBlocks, available: problem.availableBlocks };
  }
  step.events = manager.log.slice(before);
  return step;
}

const DO = { n: addNow, p: addLater, k: compute, d: decode, w: stray, f: fork, s: share, e: end };

/** @param {World} world @param {Step} step @param {Map<string, Source>} sources */
function addNow(world, step, sources) {
  return add(world, step, sources.get(step.code.slice(1)), true);
}

/** Room is made; K and V are computed together with those of others. @param {World} world @param {Step} step @param {Map<string, Source>} sources */
function addLater(world, step, sources) {
  return add(world, step, sources.get(step.code.slice(1)), false);
}

/** @param {World} world @param {Step} step */
function share(world, step) {
  const of = world.live.get(step.letter);
  if (!of) return "gone";
  step.of = step.letter;
  return add(world, step, of.source, true);
}

/** @param {World} world @param {Step} step @param {Source|undefined} source @param {boolean} now */
function add(world, step, source, now) {
  if (!source) return "gone";
  const refused = enter(world, step);
  if (refused) return refused;
  const { manager } = world;
  const items = source.tokens.slice(0, source.prompt);
  const ids = items.map((item) => item.id);
  step.source = source;
  room(manager, manager.blocksToAdmit(ids));
  step.cached = manager.admit(step.letter, ids);
  const sequence = join(world, step, source, items.slice(0, step.cached));
  write(world, step, sequence, items.slice(step.cached), now);
  return undefined;
}

/** Enough blocks, or nothing is begun. @param {KVManager} manager @param {number} needed */
function room({ availableBlocks }, needed) {
  if (needed > availableBlocks) throw new OutOfBlocks(needed, availableBlocks);
}

/** The next letter, if there is one. @param {World} world @param {Step} step */
function enter(world, step) {
  if (world.live.size >= MOST_LIVE) return "many";
  if (world.made === 26) return "letters";
  step.letter = String.fromCharCode(65 + world.made);
  return undefined;
}

/** @param {World} world @param {Step} step @param {Source} source @param {Item[]} items @returns {Sequence} */
function join(world, step, source, items) {
  const taken = [...world.live.values()].map((one) => one.hue);
  const hue = Array.from({ length: MOST_LIVE }, (_, i) => i).find((i) => !taken.includes(i)) ?? 0;
  const sequence = { letter: step.letter, hue, source, items: [...items], strayed: false };
  world.live.set(step.letter, sequence);
  world.made += 1;
  return sequence;
}

/** Give tokens their slots; what is computed now is confirmed. @param {World} world @param {Step} step @param {Sequence} sequence @param {Item[]} items @param {boolean} [now] */
function write(world, step, sequence, items, now = true) {
  const { manager, memory, settings } = world;
  if (items.length > 0) {
    const { slots, copies } = manager.append(sequence.letter, items.map((item) => item.id));
    for (const { source, target, tokens } of copies) {
      for (let at = 0; at < tokens; at += 1) memory.set(target * settings.blockTokens + at, /** @type {Item} */ (memory.get(source * settings.blockTokens + at)));
    }
    slots.forEach((slot, i) => {
      memory.set(slot, items[i]);
      step.slots.add(slot);
      step.into = Math.floor(slot / settings.blockTokens);
    });
  }
  sequence.items.push(...items);
  step.items = items;
  step.computed = items.length;
  if (now) manager.confirm(sequence.letter, sequence.items.length);
}

/** Is room made for K and V that are not computed yet? @param {World} world @param {Sequence} sequence */
export function waits({ manager }, { letter, items }) {
  return manager.confirmed(letter) < items.length;
}

/** @param {World} world @param {Step} step */
function compute(world, step) {
  for (const { letter, items } of world.live.values()) {
    step.computed += items.length - world.manager.confirmed(letter);
    world.manager.confirm(letter, items.length);
  }
  return step.computed === 0 ? "nothing" : undefined;
}

/** @param {World} world @param {Step} step */
function decode(world, step) {
  const sequence = world.live.get(step.letter);
  if (!sequence) return "gone";
  if (waits(world, sequence)) return "waits";
  const next = sequence.strayed ? undefined : sequence.source.tokens[sequence.items.length];
  if (!next) return sequence.strayed ? "strayed" : "end";
  write(world, step, sequence, [next]);
  return undefined;
}

/** The token that the model found second best: from there on nothing is recorded. @param {World} world @param {Step} step */
function stray(world, step) {
  const sequence = world.live.get(step.letter);
  if (!sequence) return "gone";
  if (waits(world, sequence)) return "waits";
  const other = sequence.strayed ? undefined : sequence.source.other(sequence.items.length);
  if (!other) return sequence.strayed ? "strayed" : "end";
  write(world, step, sequence, [other]);
  sequence.strayed = true;
  return undefined;
}

/** A second sequence with the same beginning; what the design does not let it share is computed again. @param {World} world @param {Step} step */
function fork(world, step) {
  const parent = world.live.get(step.letter);
  if (!parent) return "gone";
  if (waits(world, parent)) return "waits";
  step.of = step.letter;
  const refused = enter(world, step);
  if (refused) return refused;
  room(world.manager, Number(!world.manager.copies && parent.items.length % world.settings.blockTokens > 0));
  step.cached = world.manager.fork(parent.letter, step.letter);
  const child = join(world, step, parent.source, parent.items.slice(0, step.cached));
  child.parent = parent.letter;
  write(world, step, child, parent.items.slice(step.cached));
  child.strayed = parent.strayed;
  return undefined;
}

/** @param {World} world @param {Step} step */
function end(world, step) {
  if (!world.live.delete(step.letter)) return "gone";
  world.manager.free(step.letter);
  return undefined;
}
