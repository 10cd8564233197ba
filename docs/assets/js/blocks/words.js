// @ts-check
// What happened to the pool, in sentences. Knows events and actions, and no page.

import { spoken, whole } from "../format.js";

/** @typedef {import("./actions.js").Step} Step */
/** @typedef {import("./actions.js").World} World */
/** @typedef {import("./manager.js").Event} Event */

const REASONS = /** @type {Record<string, string>} */ ({
  end: "The recording ends here.",
  strayed: "What the model writes after another token is not recorded.",
  many: "Six requests at once are enough here: finish one first.",
  letters: "The letters are used up: reset, or undo.",
  nothing: "Nothing waits to be computed.",
  waits: "Its K and V are not computed yet.",
  gone: "There is no such request.",
});

/** @param {number} n @param {string} what */
export function count(n, what) {
  return `${whole(n)} ${what}${n === 1 ? "" : "s"}`;
}

/** Why an action cannot be taken. @param {Step} step */
export function refusal({ missing, why }) {
  if (missing) return `${missing.available ? "There is too little room" : "The pool is full"}: ${count(missing.needed, "block")} needed, ${missing.available} free or idle.`;
  return why ? REASONS[why] : "";
}

/** The last action in a sentence or two. @param {{settings: World["settings"], steps: Step[]}} world */
export function told({ settings, steps }) {
  const step = steps.at(-1);
  if (!step) return `An empty pool: ${count(settings.blocks, "block")} of ${count(settings.blockTokens, "slot")}.`;
  const refused = refusal(step);
  if (refused) return `${ASKED[/** @type {keyof typeof ASKED} */ (step.kind)](step)}: ${refused.replace(/^[A-Z]/, (letter) => letter.toLowerCase())}`;
  return TOLD[/** @type {keyof typeof TOLD} */ (step.kind)](step);
}

const ASKED = {
  n: () => "No further request", p: () => "No further request", k: () => "Nothing is computed", s: () => "No further request",
  d: (/** @type {Step} */ { letter }) => `${letter} cannot go on`, w: (/** @type {Step} */ { letter }) => `${letter} cannot go on`,
  f: (/** @type {Step} */ { of }) => `${of} is not forked`, e: () => "Nothing is freed",
};
const TOLD = { n: added, p: added, s: added, k: computed, d: wrote, w: wrote, f: forked, e: ended };

/** @param {Step} step */
function added(step) {
  const { letter, source, cached, computed: fresh } = step;
  const verb = step.kind === "p" ? "wait to be computed" : fresh === 1 ? "is computed" : "are computed";
  const found = cached ? `${cached} of ${count(cached + fresh, "token")} are in the cache, ${fresh} ${verb}` : `${count(fresh, "token")} ${verb}`;
  return `${letter} ${source?.label ?? ""}: ${found}, ${taken(step)}.${copied(step)}`;
}

/** @param {Step} step */
function computed({ computed: fresh }) {
  return `One step computes K and V of ${count(fresh, "token")}: only now can full blocks be found.`;
}

/** @param {Step} step */
function wrote(step) {
  const [item] = step.items;
  const what = `${step.letter} writes ${spoken(item?.text ?? "")}`;
  const copy = copied(step);
  if (copy) return `${what}:${copy}`;
  return of(step, "allocated").length ? `${what}: its last block is full, ${taken(step)}.` : `${what} into block ${step.into}: there is room, nothing is taken.`;
}

/** @param {Step} step */
function forked(step) {
  const { letter, of: parent, cached, computed: fresh } = step;
  const again = fresh ? `, ${fresh} computed again: ${taken(step)}` : ", no block is taken";
  return `${letter} is a fork of ${parent}: ${count(cached, "token")} shared${again}.`;
}

/** @param {Step} step */
function ended(step) {
  const gone = of(step, "released");
  const [kept, held] = [gone.filter((event) => event.kept).length, gone.filter((event) => Number(event.refs) > 0).length];
  const parts = [[held, "still held by others"], [kept, "idle, to be found again"], [gone.length - held - kept, "free"]].filter(([n]) => n).map(([n, what]) => `${n} ${what}`);
  return `${step.letter} is finished. Of its ${count(gone.length, "block")}: ${parts.join(", ")}.`;
}

/** @param {Step} step @param {string} name */
function of(step, name) {
  return step.events.filter((event) => event.event === name);
}

/** The blocks that were taken, and what went for them. @param {Step} step */
function taken(step) {
  const [blocks, evicted] = [of(step, "allocated"), of(step, "evicted")].map((events) => events.map((event) => String(event.block)));
  if (blocks.length === 0) return "no block is taken";
  return `${named(blocks)} ${blocks.length === 1 ? "is" : "are"} taken${evicted.length ? ` (${named(evicted)} evicted)` : ""}`;
}

/** @param {string[]} blocks */
function named(blocks) {
  return `block${blocks.length === 1 ? "" : "s"} ${blocks.length === 1 ? blocks[0] : `${blocks.slice(0, -1).join(", ")} and ${blocks.at(-1)}`}`;
}

/** @param {Step} step */
function copied(step) {
  const [event] = of(step, "copied");
  return event ? ` block ${event.source} is shared, so ${count(Number(event.tokens), "token")} of it ${event.tokens === 1 ? "is" : "are"} first copied to block ${event.target}.` : "";
}

/** A line of the log: the event's name, as Python writes it, and what it says. @param {Event} event */
export function eventWords(event) {
  const { event: name, ...fields } = event;
  const words = EVENTS[name]?.(/** @type {any} */ (fields)) ?? "";
  return { name, words };
}

/** @type {Record<string, (event: any) => string>} */
const EVENTS = {
  admitted: ({ request, cached_tokens: cached }) => `${request}, ${count(cached, "cached token")}`,
  hit: ({ request, block, row, refs }) => `block ${block} → row ${row} of ${request}, ${count(refs, "ref")}`,
  evicted: ({ block }) => `block ${block}`,
  allocated: ({ request, block, row }) => `block ${block} → row ${row} of ${request}`,
  shared: ({ request, block, row, refs }) => `block ${block} → row ${row} of ${request}, ${count(refs, "ref")}`,
  copied: ({ request, source, target, tokens }) => `${count(tokens, "token")} of block ${source} → block ${target}, for ${request}`,
  appended: ({ request, start, token_ids: ids }) => `${count(ids.length, "token")} to ${request}, from position ${start}`,
  confirmed: ({ request, length }) => `${request}: K and V of ${count(length, "token")} are written`,
  indexed: ({ block, key }) => `block ${block}, hash ${String(key).slice(0, 8)}…`,
  unindexed: ({ block }) => `block ${block} will be written into`,
  released: ({ request, block, refs, kept }) => `block ${block} by ${request}: ${refs ? `${count(refs, "ref")} left` : kept ? "idle" : "free"}`,
  forked: ({ parent, child, tokens }) => `${parent} → ${child}, ${count(tokens, "token")}`,
  truncated: ({ request, length }) => `${request} to ${count(length, "token")}`,
  freed: ({ request }) => request,
};
