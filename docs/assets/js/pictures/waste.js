// @ts-check
// What a server's memory for caches holds, under four ways to hand it out; and what the size of a block changes.

import { fixed, percent, whole } from "../format.js";
import { recordingOf } from "./common.js";

/** @typedef {import("../state.js").State} State */
/** @typedef {import("./common.js").Context} Context */

const TRACES = { long: "long, as in ShareGPT on average", short: "short" };
const POLICIES = /** @type {[string, string][]} */ ([["longest", "longest"], ["power", "power of two"], ["exact", "exact"], ["blocks", "blocks"]]);
const PARTS = /** @type {[string, string, string][]} */ ([["tokens", "prefill", "hold a token"], ["to_come", "used", "reserved, filled later"], ["never", "again", "reserved, never filled"], ["gaps", "unused", "not handed out: gaps and free"]]);

/** @param {State} _state @param {Context} context @returns {import("../state.js").Field[]} */
export function fields(_state, context) {
  if (context.options.part === "sizes") return [];
  return [{ name: "trace", label: "Requests", kind: "choice", value: "long", options: Object.entries(TRACES).map(([value, text]) => ({ value, text })) }];
}

/** @param {State} state @param {Context} context */
export function needs(state, context) {
  return [`${recordingOf(state, context).model}/blocks`];
}

/** @param {State} state @param {import("./common.js").Records} records @param {Context} context */
export function draw(state, records, context) {
  const [file] = needs(state, context);
  return context.options.part === "sizes" ? sizes(records[file].block_size, file) : policies(records[file].waste, file, String(state.trace));
}

/** @param {any} waste @param {string} file @param {string} name */
function policies(waste, file, name) {
  const trace = waste.traces[name];
  const rows = POLICIES.map(([policy, text]) => {
    const one = trace.policies[policy];
    const key = `waste.traces.${name}.policies.${policy}`;
    let at = 0;
    const spans = PARTS.map(([part, look]) => ({ look, at, to: (at += one[part]) })).filter((span) => span.to > span.at);
    const number = (/** @type {string} */ part, /** @type {string} */ shown, /** @type {string} */ say) => ({ kind: "count", text: shown, say: `${text}: ${say}`, file, key: `${key}.${part}`, exact: String(one[part]) });
    return {
      head: { text }, mark: policy === "blocks" ? "now" : undefined,
      cells: [{ kind: "lane", spans, text: "", say: `${text}: share of the slots that hold a token`, file, key: `${key}.tokens`, exact: String(one.tokens) },
        number("tokens", fixed(one.tokens * 100, 1), "share of the slots that hold a token, in percent"), number("requests", fixed(one.requests, 1), "requests at once, on average")],
    };
  });
  const more = POLICIES.flatMap(([policy, text]) => PARTS.slice(1).map(([part, , words]) => ["parts", text, words, percent(trace.policies[policy][part]), trace.policies[policy][part], file, `waste.traces.${name}.policies.${policy}.${part}`]));
  const [longest, blocks] = [trace.policies.longest, trace.policies.blocks];
  return {
    summary: `With the longest length reserved ${percent(longest.tokens)} of the slots hold a token and ${fixed(longest.requests, 1)} requests run at once; with blocks ${percent(blocks.tokens)} and ${fixed(blocks.requests, 1)}.`,
    credit: `${whole(trace.requests)} requests of ${fixed(trace.mean_prompt_tokens, 0)} + ${fixed(trace.mean_reply_tokens, 0)} tokens on average, lengths exponential; ${whole(waste.slots)} slots, blocks of ${waste.block_tokens}. Counted by kvref, no model was run.`,
    parts: [
      { kind: "table", name: "waste", look: "lanes", corner: "reserved", label: "What the slots hold, on average while requests wait", columns: [{ text: "all slots of the pool, on average while requests wait" }, { text: "tokens", sub: "%", look: "count" }, { text: "at", sub: "once", look: "count" }], rows, more },
      { kind: "legend", items: PARTS.map(([, look, text]) => ({ swatch: `lane-${look}`, text })) },
    ],
  };
}

/** @param {any} record @param {string} file */
function sizes(record, file) {
  const most = (/** @type {number[]} */ values) => Math.max(...values);
  const columns = /** @type {[string, string, string, (n: number) => string, number][]} */ ([
    ["empty_slots", "empty slots", "each", (n) => fixed(n, 1), most(record.empty_slots)],
    ["table_entries", "table entries", "each", (n) => fixed(n, 1), most(record.table_entries)],
    ["found_share", "found again", "%", (n) => fixed(n * 100, 0), 1],
  ]);
  const rows = record.sizes.map((/** @type {number} */ size, /** @type {number} */ i) => ({
    head: { text: whole(size), sub: size === 1 ? "slot" : "slots" },
    cells: columns.flatMap(([name, words, of, show, full]) => {
      const value = record[name][i];
      const cell = { say: `blocks of ${size}: ${words}${name === "found_share" ? ", share of the prompts" : " of a request, on average"}`, file, key: `block_size.${name}.${i}`, exact: String(value) };
      return [{ kind: "lane", spans: value > 0 ? [{ look: name === "found_share" ? "used" : "prefill", at: 0, to: value / full, low: 0.16, high: 0.84 }] : [], text: "", ...cell }, { kind: "count", text: show(value), ...cell }];
    }),
  }));
  const more = record.sizes.map((/** @type {number} */ size, /** @type {number} */ i) => ["expected", `${size} slots`, "empty slots, (block − 1) / 2", fixed(record.empty_slots_expected[i], 1), record.empty_slots_expected[i], file, `block_size.empty_slots_expected.${i}`]);
  const last = record.sizes.length - 1;
  return {
    summary: `From blocks of 1 to blocks of ${record.sizes[last]}: ${fixed(record.empty_slots[0], 0)} to ${fixed(record.empty_slots[last], 1)} empty slots a request, ${fixed(record.table_entries[0], 0)} to ${fixed(record.table_entries[last], 1)} table entries, and ${percent(record.found_share[0])} to ${percent(record.found_share[last])} of the prompts found again.`,
    credit: `${whole(record.requests)} short requests, ${fixed(record.mean_rows, 0)} tokens on average; all prompts begin with one of a few system prompts of ${record.system_tokens} tokens. Counted by kvref, no model was run.`,
    parts: [{ kind: "table", name: "block-sizes", look: "lanes", corner: "block", label: "What the size of a block changes", columns: columns.flatMap(([, words, of]) => [{ text: words }, { text: "", sub: of, look: "count" }]), rows, more },
      { kind: "legend", items: [{ text: "each: of a request, on average, when it is complete" }, { text: "found again: of the prompts’ tokens, those that were in the cache already" }] }],
  };
}
