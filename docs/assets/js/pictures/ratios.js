// @ts-check
// How many times as long one thing takes as another, timed in turns: the ratio of the fastest samples, the median of the
// pairs, and the pairs that lie farthest apart. Where a cache starts to pay, and transformers beside kvref.

import { significant, whole } from "../format.js";
import { SIZE, deviceFields, deviceOf, filesOf, frame, line, log, mark, names, nothing, swatch, whisker } from "./plot.js";

/** @typedef {import("../state.js").State} State */
/** @typedef {import("./plot.js").Context} Context */
/** @typedef {{of_minima: number, median_of_pairs: number, lowest: number, highest: number, lopsided: boolean}} Ratio */
/** @typedef {{words: string, say: string, role: string, text: string, points: {x: number, key: string, ratio: Ratio}[]}} Lane */
/** @typedef {{lanes: Lane[], even: string, across: string, up: string, bounds: {at: number, words: string}[]}} Scene */

export const fields = deviceFields;

/** @param {State} state @param {Context} context */
export function needs(state, context) {
  return filesOf(state, context, [context.options.part]);
}

/** @param {State} state @param {import("./common.js").Records} records @param {Context} context */
export function draw(state, records, context) {
  const device = deviceOf(state, context);
  if (!device) return nothing("Ratios of measured times stand here.");
  const [file] = needs(state, context);
  const scene = READERS[context.options.part](records[file]);
  return { summary: `${device.name}: ${summary(scene)}`, credit: device.credit, parts: [drawing(scene, file), legend(scene)] };
}

const READERS = /** @type {Record<string, (record: any) => Scene>} */ ({
  pays: (record) => ({
    lanes: [{ words: "no cache", say: "a step without a cache", role: "again", text: "a pass over everything ÷ a step with a cache", points: record.contexts.map((/** @type {number} */ x) => ({ x, key: `at.${x}.ratio`, ratio: record.at[x].ratio })) }],
    even: "as long with a cache", across: "tokens of context", up: "times as long without", bounds: [{ at: record.pays_from_ratio, words: `${significant(record.pays_from_ratio)}: it pays` }],
  }),
  others: (record) => ({
    lanes: [
      lane("Dynamic", "a step with DynamicCache", "key", "step with DynamicCache ÷ step of kvref", record, "decode", "dynamic_ratio"), lane("Static", "one with StaticCache", "query", "step with StaticCache ÷ step of kvref", record, "decode", "static_ratio"),
      lane("prefill", "a prefill", "weight", "prefill with DynamicCache ÷ prefill of kvref", record, "prefill", "dynamic_ratio"),
    ],
    even: "as long as kvref", across: "tokens of context or prompt", up: "times kvref’s time", bounds: [],
  }),
});

/** @param {string} words @param {string} say @param {string} role @param {string} text @param {any} record @param {string} part @param {string} name @returns {Lane} */
function lane(words, say, role, text, record, part, name) {
  const stops = Object.keys(record[part]).map(Number).sort((a, b) => a - b);
  return { words, say, role, text, points: stops.map((x) => ({ x, key: `${part}.${x}.${name}`, ratio: record[part][x][name] })) };
}

/** @param {Scene} scene */
function summary({ lanes }) {
  return lanes.map(({ say, points }) => {
    const [first, last] = [points[0], points[points.length - 1]];
    const end = first === last ? "" : `, ${significant(last.ratio.of_minima)} times at ${tokens(last.x)}`;
    return `${say} takes ${significant(first.ratio.of_minima)} times as long at ${tokens(first.x)}${end}`;
  }).join("; ") + ".";
}

/** @param {number} count */
function tokens(count) {
  return count === 1 ? "1 token" : `${whole(count)} tokens`;
}

/** @param {Scene} scene @param {string} file */
function drawing({ lanes, even, across, up, bounds }, file) {
  const size = SIZE;
  const points = lanes.flatMap((one) => one.points);
  const x = log(points.map((one) => one.x), size.left, size.width - size.right);
  const y = log([1, ...bounds.map(({ at }) => at), ...points.flatMap(({ ratio }) => [ratio.lowest, ratio.highest])], size.height - size.bottom, size.top);
  const right = size.width - size.right;
  const stops = [...new Set(points.map((one) => one.x))].sort((a, b) => a - b);
  const body = frame({ x, y, size }, stops, `${across}, logarithmic`, `${up}, logarithmic`)
    + `<path class="l-negative" stroke-width="1.5" d="M${size.left} ${y(1)}H${right}"/>`
    + bounds.map(({ at }) => `<path class="l-new" stroke-dasharray="2 3" stroke-width="1.5" d="M${size.left} ${y(at)}H${right}"/>`).join("")
    + lanes.map(({ points, role }, i) => line(points.map((one) => [x(one.x), y(one.ratio.of_minima)]), role)
      + points.map((one) => whisker(x(one.x), [y(one.ratio.lowest), y(one.ratio.median_of_pairs), y(one.ratio.highest)], role) + mark(x(one.x), y(one.ratio.of_minima), role, i)).join("")).join("")
    + names(lanes.map(({ points, words, role }) => ({ at: [x(points[points.length - 1].x), y(points[points.length - 1].ratio.of_minima)], words, role })), size);
  const rows = lanes.flatMap(({ words, points }) => points.flatMap(({ x: at, key, ratio }) =>
    /** @type {(keyof Ratio)[]} */ (["of_minima", "median_of_pairs", "lowest", "highest"]).map((name) => ["ratios", words, `${whole(at)}: ${name.replaceAll("_", " ")}`, significant(Number(ratio[name])), ratio[name], file, `${key}.${name}`])));
  return { kind: "drawing", label: `${up} against ${across}; the level line is ${even}.`, width: size.width, height: size.height, body, rows };
}

/** @param {Scene} scene */
function legend({ lanes, even, bounds }) {
  return { kind: "legend", items: [
    ...lanes.map(({ role, text }, i) => ({ swatch: swatch(role, i), text })), { swatch: "line-negative", text: even }, ...bounds.map(({ words }) => ({ swatch: "dotted", text: words })),
    { text: "Marks: fastest by fastest; lines: from the lowest pair to the highest; a bar across: the median of the pairs." },
  ] };
}
