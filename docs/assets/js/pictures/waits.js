// @ts-check
// How long readers wait when many requests share a server: the spread of TTFT and ITL for each schedule, at a place on
// a grid of runs that were computed beforehand. The sliders stop at what was run, and nowhere else.

import { fixed, percent, significant, whole } from "../format.js";
import { recordingOf } from "./common.js";
import { stops } from "./reads.js";

/** @typedef {import("../state.js").State} State */
/** @typedef {{pool_tokens: number[], block_tokens: number[], token_budget: number[], requests_per_second: number[]}} Grid */
/** @typedef {import("./common.js").Context & {grid: Grid}} Context */
/** @typedef {{name: string, text: string, sub: string, at: number[], now: boolean}} Schedule  a run, and where in the record it stands */
/** @typedef {{file: string, record: any, list: Schedule[], chosen: Schedule[], places: number[]}} Scene */

// Of many gaps between tokens one in a hundred is seen; first tokens are too few for that.
const WAITS = /** @type {[string, string, string, number][]} */ ([["ttft_ms", "TTFT", "time to first token", 0.95], ["itl_ms", "ITL", "time between two tokens", 0.99]]);
const SIDES = [0.05, 0.25, 0.5, 0.75]; // of the waits, those drawn beside the far one
const NARROW = 0.01; // of the scale: a bar is never drawn narrower
const ROOM = 0.14; // of the scale, for a figure below it

/** @param {State} _state @param {Context} context @returns {import("../state.js").Field[]} */
export function fields(_state, context) {
  const { grid } = context;
  const middle = (/** @type {number[]} */ values) => values[values.length >> 1];
  const field = (/** @type {keyof Grid} */ name, /** @type {string} */ label) => ({ ...stops(name, label, grid[name], middle(grid[name]), /** @type {any} */ (context)) });
  return [field("requests_per_second", "Requests a second"), field("token_budget", "Token budget"), field("pool_tokens", "Pool size"), field("block_tokens", "Block size")];
}

/** @param {State} state @param {Context} context */
export function needs(state, context) {
  return [`${recordingOf(state, context).model}/many-requests-grid`];
}

/** @param {State} state @param {import("./common.js").Records} records @param {Context} context */
export function draw(state, records, context) {
  const [file] = needs(state, context);
  const scene = sceneOf(file, records[file], state, context.grid);
  return {
    summary: summary(scene, state),
    credit: `${whole(scene.record.trace.requests)} requests by kvref’s scheduler. Times are lower bounds for ${scene.record.model} on one ${scene.record.device}, from a formula: nothing was measured.`,
    parts: [...WAITS.map((wait) => spread(scene, wait)), legend(), counts(scene), pool(scene)],
  };
}

/** @param {string} file @param {any} record @param {State} state @param {Grid} grid @returns {Scene} */
function sceneOf(file, record, state, grid) {
  const place = (/** @type {keyof Grid} */ name) => grid[name].indexOf(Number(state[name]));
  const [p, b, t, r] = [place("pool_tokens"), place("block_tokens"), place("token_budget"), place("requests_per_second")];
  const chunks = grid.token_budget.map((budget, i) => ({ name: "chunks", text: whole(budget), sub: "tokens a step", at: [p, b, i, r], now: i === t }));
  const others = [{ name: "whole", text: "whole", sub: "prompts", at: [p, b, r], now: false }, { name: "static", text: "static", sub: "batching", at: [p, r], now: false }];
  return { file, record, list: [...chunks, ...others], chosen: [chunks[t], ...others], places: [p, b, t, r] };
}

/** A number of a run. @param {Scene} scene @param {Schedule} run @param {string} name @param {number[]} [more] */
function numberOf({ file, record }, run, name, more = []) {
  const path = [...run.at, ...more];
  const value = path.reduce((/** @type {any} */ values, i) => values[i], record.runs[run.name][name]);
  return { value, file, key: `runs.${run.name}.${name}.${path.join(".")}`, exact: String(value) };
}

/** The wait that a share of all waits stays under. @param {Scene} scene @param {Schedule} run @param {string} name @param {number} share */
function quantile(scene, run, name, share) {
  return numberOf(scene, run, name, [scene.record.shares.indexOf(share)]);
}

/** @param {Scene} scene @param {State} state */
function summary(scene, state) {
  const far = (/** @type {Schedule} */ run, /** @type {number} */ i) => `${time(quantile(scene, run, WAITS[i][0], WAITS[i][3]).value)}\u00a0ms`;
  const part = (/** @type {number} */ i) => percent(WAITS[i][3]).replace(".0", "");
  const [now, uncut] = scene.chosen;
  return `${whole(Number(state.requests_per_second))} requests a second, ${whole(Number(state.token_budget))} tokens a step: ${part(0)} of first tokens come within ${far(now, 0)}, ${part(1)} of further ones within ${far(now, 1)}. With whole prompts it is ${far(uncut, 0)} and ${far(uncut, 1)}.`;
}

/** @param {number} ms */
function time(ms) {
  return ms < 10 ? fixed(ms, 1) : whole(ms);
}

/** One kind of wait under every schedule, on one logarithmic scale for the whole grid. @param {Scene} scene @param {[string, string, string, number]} wait */
function spread(scene, [name, text, words, end]) {
  const lines = scene.record.scales[name];
  const at = (/** @type {number} */ ms) => Math.log(ms / lines[0]) / Math.log(lines[lines.length - 1] / lines[0]);
  const named = (/** @type {number} */ ms, /** @type {number} */ i) => i === 0 || at(ms) - at(lines[i - 1]) > ROOM;
  const marks = lines.map((/** @type {number} */ ms, /** @type {number} */ i) => ({ at: at(ms), text: !named(ms, i) ? "" : ms < 1000 ? whole(ms) : `${whole(ms / 1000)}\u00a0s` }));
  const rows = scene.list.map((run) => {
    const [first, quarter, half, most, far] = [...SIDES, end].map((share) => quantile(scene, run, name, share));
    const [from, to] = [at(quarter.value), at(most.value)];
    const spans = [
      { look: "spread", at: at(first.value), to: at(far.value) }, { look: "most", at: from, to: Math.max(to, from + NARROW) },
      ...(to - from > 4 * NARROW ? [{ look: "middle", at: at(half.value), to: at(half.value) }] : []), { look: "far", at: at(far.value), to: at(far.value) },
    ];
    const who = `${run.text} ${run.sub}, ${words}`;
    const number = (/** @type {any} */ one, /** @type {string} */ say) => ({ kind: "count", text: time(one.value), say: `${who}: ${say}, in ms`, file: one.file, key: one.key, exact: one.exact });
    return {
      head: { text: run.text, sub: run.sub }, mark: run.now ? "now" : undefined,
      cells: [{ kind: "lane", spans, marks, text: "", say: `${who}: half of all waits are no longer than, in ms`, file: half.file, key: half.key, exact: half.exact }, number(half, "half no longer than"), number(far, `${fixed(end * 100, 0)} of 100 no longer than`)],
    };
  });
  const more = scene.list.flatMap((run) => scene.record.shares.map((/** @type {number} */ share) => {
    const one = quantile(scene, run, name, share);
    return [text, `${run.text} ${run.sub}`, `share ${share}`, time(one.value), one.exact, one.file, one.key];
  }));
  return {
    kind: "table", name: "waits", look: "lanes", corner: text, label: `${text} under each schedule`, more,
    columns: [{ text: `${words}, in ms →` }, { text: "half", sub: "≤ ms", look: "count" }, { text: `${fixed(end * 100, 0)}\u202f%`, sub: "≤ ms", look: "count" }],
    rows: [...rows, { head: { text: "" }, kind: "axis", cells: [{ kind: "axis", marks }, { kind: "note", text: "" }, { kind: "note", text: "" }] }],
  };
}

function legend() {
  return { kind: "legend", items: [
    { swatch: "lane-most", text: "the middle half of all waits, its notch the median" }, { swatch: "lane-spread", text: "starts where 5 % have come" },
    { swatch: "lane-far", text: "95 % of first tokens, 99 % of further ones have come" },
  ] };
}

/** @param {Scene} scene */
function counts(scene) {
  const row = (/** @type {string} */ text, /** @type {string} */ name, /** @type {(n: number) => string} */ show) => ({ head: { text }, cells: scene.chosen.map((run) => {
    const { value, file, key, exact } = numberOf(scene, run, name);
    return { kind: "count", text: show(value), say: `${text}, ${run.text} ${run.sub}`, file, key, exact };
  }) });
  const rows = [
    row("tokens of replies a second", "tokens_per_second", whole), row("prompt tokens found in the cache", "hit_share", percent), row("preemptions", "preemptions", whole),
    row("pool set aside, mean over time", "mean_used_share", percent), row("most requests at once", "most_running", whole),
  ];
  return { kind: "table", name: "totals", look: "plain", corner: "whole run", label: "What each run comes to", columns: scene.chosen.map(({ text, sub }) => ({ text, sub })), rows };
}

/** The pool over time, on one scale. @param {Scene} scene */
function pool(scene) {
  const end = Math.max(...scene.chosen.map((run) => numberOf(scene, run, "end_ms").value));
  const seconds = [1, 2, 5, 10, 20, 50].find((one) => end / 1000 / one <= 6) ?? 100;
  const marks = Array.from({ length: Math.floor(end / 1000 / seconds) + 1 }, (_, i) => ({ at: (i * seconds * 1000) / end, text: whole(i * seconds) }));
  const rows = scene.chosen.map((run) => {
    const last = numberOf(scene, run, "end_ms").value;
    const bins = scene.record.bins;
    const spans = Array.from({ length: bins }, (_, i) => ({ look: "used", at: (i * last) / bins / end, to: ((i + 1) * last) / bins / end, low: 0, high: numberOf(scene, run, "occupancy", [i]).value }));
    const most = numberOf(scene, run, "most_used_share");
    const say = `${run.text} ${run.sub}: the largest share of the pool set aside`;
    return { head: { text: run.text, sub: run.sub }, kind: "track", mark: run.now ? "now" : undefined, cells: [
      { kind: "lane", spans: [...spans, { look: "limit", at: 0, to: 1, low: 0, high: 1 }], marks, text: "", say, file: most.file, key: most.key, exact: most.exact },
      { kind: "count", text: percent(most.value), say, file: most.file, key: most.key, exact: most.exact },
    ] };
  });
  return {
    kind: "table", name: "occupancy", look: "lanes", corner: "pool", label: "Share of the pool set aside over time",
    columns: [{ text: "share set aside; time in seconds →" }, { text: "most", look: "count" }],
    rows: [...rows, { head: { text: "s" }, kind: "axis", cells: [{ kind: "axis", marks }, { kind: "note", text: "" }] }],
  };
}
