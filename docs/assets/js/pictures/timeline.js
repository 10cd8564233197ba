// @ts-check
// The timeline: requests on one server, a row each, time to the right; under them the tokens of each step and the blocks
// that are held. Two schedules of the same requests stand one over the other, on one scale of time. What the scheduler
// did and how long it took are recorded; here they are only put in their places.

import { fixed, percent, significant, whole } from "../format.js";
import { recordingOf } from "./common.js";

/** @typedef {import("../state.js").State} State */
/** @typedef {import("./common.js").Context} Context */
/** @typedef {{file: string, part: string, names: string[], runs: any[], end: number, most: number}} Scene */

// What can be compared: the runs of a part of the record, two at a time.
const PARTS = /** @type {Record<string, Record<string, {text: string, runs: string[]}>>} */ ({
  runs: { batching: { text: "static and continuous batching", runs: ["static", "whole"] }, chunks: { text: "whole prompts and chunks", runs: ["whole", "chunks"] } },
  pool: { ways: { text: "recompute and swap", runs: ["recompute", "swap"] }, room: { text: "enough room and too little", runs: ["room", "recompute"] } },
});
const TITLES = /** @type {Record<string, string>} */ ({
  static: "Static batching", whole: "Continuous batching, whole prompts", chunks: "Continuous batching, prompts in chunks",
  room: "Enough blocks for all", recompute: "Too few blocks, preemption by recompute", swap: "Too few blocks, preemption by swap",
});
const BRIEF = /** @type {Record<string, string>} */ ({ room: "Enough blocks", recompute: "Recompute", swap: "Swap" });
const WORDS = /** @type {Record<string, string>} */ ({
  waiting: "waits", prefill: "prefill", decode: "decode step", idle: "finished, its slot stands empty",
  preempted: "preempted: its blocks are gone", swapped: "preempted: its blocks are in the host’s memory", again: "prefill once more",
});
const LEGEND = /** @type {Record<string, string>} */ ({
  waiting: "waits to start", prefill: "prefill, a box for each chunk", decode: "decode steps, each ends with a token", idle: "finished, but its slot stands empty",
  preempted: "preempted, blocks dropped", again: "prefill once more", swapped: "preempted, blocks kept by the host",
});
const LEAST = 0.04; // of the height: the few tokens of replies are not lost beside a prompt's
const STEPS = [10, 20, 50, 100, 200, 500, 1000]; // ms between two lines of the scale

/** @param {State} _state @param {Context} context @returns {import("../state.js").Field[]} */
export function fields(_state, context) {
  const options = Object.entries(PARTS[partOf(context)]).map(([value, { text }]) => ({ value, text }));
  return [{ name: "compare", label: "Schedules", kind: "choice", value: options[0].value, options }];
}

/** @param {Context} context */
function partOf(context) {
  return context.options.part ?? "runs";
}

/** @param {State} state @param {Context} context */
export function needs(state, context) {
  return [`${recordingOf(state, context).model}/many-requests`];
}

/** @param {State} state @param {import("./common.js").Records} records @param {Context} context */
export function draw(state, records, context) {
  const [file] = needs(state, context);
  const part = partOf(context);
  const names = PARTS[part][state.compare].runs;
  const runs = names.map((name) => records[file][part][name]);
  const scene = { file, part, names, runs, end: Math.max(...runs.map((run) => run.totals.end_ms)), most: Math.max(...runs.map((run) => run.totals.most_tokens)) };
  return {
    summary: summary(scene),
    credit: `Steps by kvref’s scheduler. Times are lower bounds for ${records[file].model} on one ${records[file].device}, from a formula: nothing was measured.`,
    parts: [...names.flatMap((_, i) => schedule(scene, i)), legend(scene)],
  };
}

/** @param {Scene} scene */
function summary({ names, runs }) {
  const [first, second] = runs;
  if (names[1] === "whole") return `Static: the last reply ends after ${ms(first.totals.end_ms)}, and ${percent(first.totals.idle_share)} of the slots’ time goes to finished replies. Continuous: after ${ms(second.totals.end_ms)}.`;
  if (names[1] === "chunks") return `Whole prompts: a reply stands still for up to ${ms(first.totals.longest_itl_ms)}. In chunks of at most ${whole(second.token_budget)} tokens a step: up to ${ms(second.totals.longest_itl_ms)}.`;
  return runs.map((run, i) => `${BRIEF[names[i]]}: ${run.totals.preemptions === 0 ? "nobody gives way" : run.totals.preemptions === 1 ? "1 preemption" : `${run.totals.preemptions} preemptions`}, the last reply ends after ${ms(run.totals.end_ms)}.`).join(" ");
}

/** @param {number} time */
function ms(time) {
  return `${fixed(time, 0)}\u00a0ms`;
}

/** One schedule: what it comes to, then its lanes. @param {Scene} scene @param {number} i */
function schedule(scene, i) {
  const { names, runs, part } = scene;
  const run = runs[i];
  const ids = Object.keys(run.requests);
  const marks = scale(scene.end);
  const rows = [
    ...ids.map((id) => request(scene, i, id, marks)), tokens(scene, i, marks), pool(scene, i, marks),
    { head: { text: "ms" }, kind: "axis", cells: [{ kind: "axis", marks }, { kind: "note", text: "" }, { kind: "note", text: "" }] },
  ];
  const more = ids.flatMap((id) => spanRows(scene, i, id));
  return [
    { kind: "title", text: `${TITLES[names[i]]}: done after ${ms(run.totals.end_ms)}` },
    { kind: "table", name: "requests", look: "lanes", corner: "request", label: `${TITLES[names[i]]}: each request over time`, more,
      columns: [{ text: "time →" }, { text: "TTFT", sub: "ms", look: "count" }, { text: "longest ITL", sub: "ms", look: "count" }], rows, part },
  ];
}

/** Lines of the scale of time, the last one within the picture. @param {number} end */
function scale(end) {
  const step = STEPS.find((one) => end / one <= 7) ?? end;
  return Array.from({ length: Math.floor(end / step) + 1 }, (_, i) => ({ at: (i * step) / end, text: whole(i * step) }));
}

/** @param {Scene} scene @param {number} i @param {string} id @param {{at: number}[]} marks */
function request(scene, i, id, marks) {
  const { file, part, names, runs, end } = scene;
  const one = runs[i].requests[id];
  const key = `${part}.${names[i]}.requests.${id}`;
  const spans = one.spans.kind.map((/** @type {string} */ look, /** @type {number} */ s) => ({ look, at: one.spans.from_ms[s] / end, to: one.spans.to_ms[s] / end }));
  const number = (/** @type {string} */ name, /** @type {string} */ words) => ({ kind: "count", text: short(one[name]), say: `${id}, ${words}, in ms`, file, key: `${key}.${name}`, exact: String(one[name]) });
  return {
    head: { text: id, sub: `${whole(one.prompt_tokens)} + ${whole(one.reply_tokens)}` },
    cells: [
      { kind: "lane", spans, marks, text: "", say: `${story(id, one)} Its last token comes after, in ms`, file, key: `${key}.finished_ms`, exact: String(one.finished_ms) },
      number("ttft_ms", "time to first token"), number("longest_itl_ms", "longest wait between two tokens"),
    ],
  };
}

/** @param {number} time in ms */
function short(time) {
  return time < 10 ? fixed(time, 1) : whole(time);
}

/** What becomes of a request, in a sentence. @param {string} id @param {any} one */
function story(id, one) {
  const count = (/** @type {string} */ kind) => one.spans.kind.filter((/** @type {string} */ it) => it === kind).length;
  const chunks = count("prefill");
  const again = one.preemptions === 0 ? "" : `, preempted ${one.preemptions === 1 ? "once" : `${one.preemptions} times`}`;
  const empty = one.idle_ms > 0 ? `, then its slot stands empty for ${significant(one.idle_ms)} ms` : "";
  return `${id}: arrives after ${significant(one.arrival_ms)} ms, ${whole(one.prompt_tokens)} tokens of prompt in ${chunks === 1 ? "one piece" : `${chunks} pieces`}${again}, ${whole(one.reply_tokens)} of reply${empty}.`;
}

/** Every span, for those who want the numbers. @param {Scene} scene @param {number} i @param {string} id */
function spanRows({ file, part, names, runs }, i, id) {
  const { spans } = runs[i].requests[id];
  return spans.kind.flatMap((/** @type {string} */ kind, /** @type {number} */ s) => ["from_ms", "to_ms", "tokens"].map((what) =>
    [names[i], id, `${WORDS[kind]}, ${what.replace("_", ", ")}`, significant(spans[what][s], 4), String(spans[what][s]), file, `${part}.${names[i]}.requests.${id}.spans.${what}.${s}`]));
}

/** Tokens of each step, those of prompts below those of replies. @param {Scene} scene @param {number} i @param {{at: number}[]} marks */
function tokens({ file, part, names, runs, end, most }, i, marks) {
  const { steps, totals, token_budget: budget } = runs[i];
  const spans = steps.start_ms.flatMap((/** @type {number} */ start, /** @type {number} */ s) => {
    const [at, to, prompts] = [start / end, steps.end_ms[s] / end, steps.prefill_tokens[s] / most];
    const top = Math.max(prompts + steps.decode_tokens[s] / most, LEAST);
    const replies = steps.decode_tokens[s] > 0 ? [{ look: "decode", at, to, low: Math.min(prompts, top - LEAST), high: top }] : [];
    return [...(prompts > 0 ? [{ look: "prefill", at, to, low: 0, high: prompts }] : []), ...replies];
  });
  const limit = budget !== null && budget <= most ? [{ look: "limit", at: 0, to: 1, low: 0, high: budget / most }] : [];
  return {
    head: { text: "tokens", sub: "a step" }, kind: "track",
    cells: [
      { kind: "lane", spans: [...spans, ...limit], marks, text: "", say: `Tokens of each step; ${whole(totals.steps)} steps, and at most so many tokens in one`, file, key: `${part}.${names[i]}.totals.most_tokens`, exact: String(totals.most_tokens) },
      { kind: "count", span: 2, text: `≤ ${whole(totals.most_tokens)}`, say: `most tokens in one step`, file, key: `${part}.${names[i]}.totals.most_tokens`, exact: String(totals.most_tokens) },
    ],
  };
}

/** Slots of the pool that are set aside, and those of them that hold a token. @param {Scene} scene @param {number} i @param {{at: number}[]} marks */
function pool({ file, part, names, runs, end }, i, marks) {
  const { steps, totals, pool_blocks: all } = runs[i];
  const spans = steps.start_ms.flatMap((/** @type {number} */ start, /** @type {number} */ s) => {
    const [at, to, stored, reserved] = [start / end, steps.end_ms[s] / end, steps.stored_share[s], steps.reserved_share[s]];
    return [{ look: "used", at, to, low: 0, high: stored }, { look: "unused", at, to, low: stored, high: reserved }];
  });
  const cell = (/** @type {string} */ name, /** @type {string} */ words) => ({ say: `${TITLES[names[i]]}: ${words}, of a pool of ${whole(all)} blocks`, file, key: `${part}.${names[i]}.totals.${name}`, exact: String(totals[name]) });
  return {
    head: { text: "pool", sub: `${whole(all)} blocks` }, kind: "track",
    cells: [
      { kind: "lane", spans: [...spans, { look: "limit", at: 0, to: 1, low: 0, high: 1 }], marks, text: "", ...cell("most_reserved_share", "largest share set aside") },
      { kind: "count", span: 2, text: `≤ ${percent(totals.most_stored_share)}`, ...cell("most_stored_share", "largest share that holds tokens") },
    ],
  };
}

/** What is seen in one of the two schedules. @param {Scene} scene */
function legend({ runs }) {
  const seen = new Set(runs.flatMap((run) => Object.values(run.requests).flatMap((/** @type {any} */ one) => one.spans.kind)));
  return { kind: "legend", items: [
    ...Object.entries(LEGEND).filter(([look]) => seen.has(look)).map(([look, text]) => ({ swatch: `lane-${look}`, text })),
    { swatch: "lane-used", text: "part of the pool that holds tokens" }, { swatch: "lane-unused", text: "set aside, empty" }, { swatch: "lane-limit", text: "the most there can be: token budget, whole pool" },
  ] };
}
