// @ts-check
// Times against a length, both axes logarithmic: every sample, its minimum and median, and dashed what was predicted.
// Prefills, decode steps with three ways to remember, with rows in blocks, and of several sequences.

import { whole } from "../format.js";
import { SIZE, deviceFields, deviceOf, filesOf, frame, line, log, names, nothing, swatch, time, timing, told, uneven } from "./plot.js";

/** @typedef {import("../state.js").State} State */
/** @typedef {import("./plot.js").Context} Context */
/** @typedef {import("./plot.js").Timing} Timing */
/** @typedef {{name: string, words: string, role: string, points: {x: number, key: string, taken: Timing, predicted?: number}[]}} Lane */

const HUES = ["plain", "query", "weight", "value", "key"];
const LANES = /** @type {Record<string, [string, string, string, string][]>} */ ({
  decode: [
    ["contiguous", "in place", "plain", "in place: old rows stay where they are"], ["concat", "copied", "copied", "copied: each step copies all old rows, to append one"],
    ["none", "no cache", "again", "no cache: everything is computed again"],
  ],
  paged: [
    ["contiguous", "in place", "plain", "in place: rows side by side"], ["paged", "in order", "query", "in order: blocks one after the other"],
    ["shuffled", "shuffled", "weight", "shuffled: blocks anywhere in the pool"], ["gathered", "gathered", "copied", "gathered: rows copied together first, then read"],
  ],
});
const AXES = /** @type {Record<string, string>} */ ({ prefill: "tokens of the prompt", decode: "tokens of context", paged: "tokens of context", batch: "sequences in the step" });

export const fields = deviceFields;

/** @param {State} state @param {Context} context */
export function needs(state, context) {
  return filesOf(state, context, [context.options.part]);
}

/** @param {State} state @param {import("./common.js").Records} records @param {Context} context */
export function draw(state, records, context) {
  const { part } = context.options;
  const device = deviceOf(state, context);
  if (!device) return nothing("Measured times stand here, beside what was predicted.");
  const [file] = needs(state, context);
  const lanes = READERS[part](records[file]);
  return { summary: `${device.name}: ${summary(part, lanes)}`, credit: `${device.credit} A point has ${fewest(lanes)} samples at least.${uneven(lanes.flatMap((lane) => lane.points.map(({ taken }) => taken)))}`, parts: [drawing(part, lanes, file), legend(part)] };
}

/** A lane's point from a record's. @param {number} x @param {string} key @param {any} one @returns {Lane["points"][0]} */
function point(x, key, one) {
  return one.samples_ms ? { x, key, taken: one } : { x, key: `${key}.measured`, taken: one.measured, predicted: one.predicted.ms };
}

/** @param {string} part @returns {(record: any) => Lane[]} */
function byContext(part) {
  return (record) => LANES[part].map(([name, words, role]) => ({
    name, words, role,
    points: record.contexts.filter((/** @type {number} */ x) => record.at[x][name]).map((/** @type {number} */ x) => point(x, `at.${x}.${name}`, record.at[x][name])),
  })).filter((lane) => lane.points.length > 0);
}

const READERS = /** @type {Record<string, (record: any) => Lane[]>} */ ({
  prefill: (record) => [{ name: "prefill", words: "measured", role: "plain", points: record.tokens.map((/** @type {number} */ x) => point(x, `at.${x}`, record.at[x])) }],
  decode: byContext("decode"),
  paged: byContext("paged"),
  batch: (record) => record.contexts.map((/** @type {number} */ context, /** @type {number} */ i) => ({
    name: `at ${context}`, words: `at ${whole(context)}`, role: HUES[i % HUES.length],
    points: record.batches[context].map((/** @type {number} */ x) => point(x, `at.${context}.${x}`, record.at[context][x])),
  })),
});

/** @param {Lane[]} lanes */
function fewest(lanes) {
  return Math.min(...lanes.flatMap((lane) => lane.points.map(({ taken }) => taken.samples_ms.length)));
}

/** @param {string} part @param {Lane[]} lanes */
function summary(part, lanes) {
  const last = (/** @type {Lane} */ lane) => lane.points[lane.points.length - 1];
  if (part === "prefill" || part === "batch") {
    const lane = lanes[lanes.length - 1];
    const [first, end] = [lane.points[0], last(lane)];
    const [who, unit, where] = part === "prefill" ? ["a prompt", "tokens", ""] : ["a step", "sequences", ` ${lane.words} tokens`];
    return `${who} of ${whole(first.x)} ${first.x === 1 ? unit.slice(0, -1) : unit}${where} takes ${time(first.taken.min_ms)}, of ${whole(end.x)} ${unit} ${time(end.taken.min_ms)}.`;
  }
  const shared = Math.min(...lanes.map((lane) => last(lane).x));
  const each = lanes.map((lane) => `${time(lane.points.filter(({ x }) => x === shared)[0].taken.min_ms)} ${lane.words === "no cache" ? "without a cache" : lane.words}`);
  return `at ${whole(shared)} tokens a step takes ${each.join(", ")}.`;
}

/** @param {string} part @param {Lane[]} lanes @param {string} file */
function drawing(part, lanes, file) {
  const points = lanes.flatMap((lane) => lane.points);
  const size = SIZE;
  const x = log(points.map((one) => one.x), size.left, size.width - size.right);
  const y = log(points.flatMap(({ taken, predicted }) => [taken.min_ms, taken.max_ms, predicted ?? taken.min_ms]), size.height - size.bottom, size.top);
  const stops = [...new Set(points.map((one) => one.x))].sort((a, b) => a - b);
  const body = frame({ x, y, size }, stops, `${AXES[part]}, logarithmic`, "ms, logarithmic")
    + lanes.map((lane, i) => drawn(lane, i, x, y)).join("") + names(ends(part, lanes, x, y), size);
  const rows = lanes.flatMap((lane) => lane.points.flatMap((one) => [
    ...told("times", lane.words, `${whole(one.x)}`, one.taken, file, one.key),
    ...(one.predicted === undefined ? [] : [["times", lane.words, `${whole(one.x)}: predicted`, time(one.predicted), one.predicted, file, one.key.replace(/measured$/, "predicted.ms")]]),
  ]));
  return { kind: "drawing", label: `Times in milliseconds against ${AXES[part]}: ${summary(part, lanes)}`, width: size.width, height: size.height, body, rows };
}

/** @param {Lane} lane @param {number} i @param {import("./plot.js").Scale} x @param {import("./plot.js").Scale} y */
function drawn({ points, role }, i, x, y) {
  const foreseen = points.filter(({ predicted }) => predicted !== undefined).map((one) => [x(one.x), y(Number(one.predicted))]);
  return (foreseen.length > 1 ? line(foreseen, role, true) : "") + line(points.map((one) => [x(one.x), y(one.taken.min_ms)]), role)
    + points.map((one) => timing(x(one.x), one.taken, y, role, i)).join("");
}

/** @param {string} part @param {Lane[]} lanes @param {import("./plot.js").Scale} x @param {import("./plot.js").Scale} y */
function ends(part, lanes, x, y) {
  const edge = Math.max(...lanes.flatMap((lane) => lane.points.map((one) => one.x)));
  const found = lanes.map(({ points, words, role }) => {
    const end = points[points.length - 1];
    return { at: [x(end.x), y(end.taken.min_ms)], words, role, inside: end.x < edge };
  });
  const last = lanes[0].points[lanes[0].points.length - 1];
  return part === "prefill" && last.predicted !== undefined ? [...found, { at: [x(last.x), y(last.predicted)], words: "predicted", role: "plain", inside: false }] : found;
}

/** @param {string} part */
function legend(part) {
  const lanes = (LANES[part] ?? []).map(([, , role, text], i) => ({ swatch: swatch(role, i), text }));
  return { kind: "legend", items: [
    ...lanes, { text: "Large marks: the fastest sample; small dots: every sample; a bar across: the median." }, { swatch: "dashed", text: "predicted, a lower bound" },
  ] };
}
