// @ts-check
// Every sample of things that were timed in turns, on one axis of time: the matrix products alone, a token by kvref, a
// token by transformers; and where the bounds lie that were set before.

import { escape, significant } from "../format.js";
import { SIZE, deviceFields, deviceOf, filesOf, frame, log, mark, marks, names, nothing, number, round, swatch, time, told, uneven } from "./plot.js";

/** @typedef {import("../state.js").State} State */
/** @typedef {import("./plot.js").Context} Context */

const LANES = /** @type {[string, string, string][]} */ ([["products", "the matrix products alone", "plain"], ["kvref", "a token by kvref", "query"], ["transformers", "a token by transformers", "key"]]);
const [ROW, PLACE] = [66, { ...SIZE, height: 3 * 66 + 60, left: 16, right: 16 }];

export const fields = deviceFields;

/** @param {State} state @param {Context} context */
export function needs(state, context) {
  return filesOf(state, context, ["budget"]);
}

/** @param {State} state @param {import("./common.js").Records} records @param {Context} context */
export function draw(state, records, context) {
  const device = deviceOf(state, context);
  if (!device) return nothing("The samples of a token’s time stand here.");
  const [file] = needs(state, context);
  const record = records[file];
  if (context.options.part === "rounds") return byRound(record, file, device);
  const each = LANES.map(([name, words]) => `${words} ${time(record[name].min_ms)}`);
  return { summary: `${device.name}, fastest samples: ${each.join(", ")}.`, credit: device.credit + uneven(LANES.map(([name]) => record[name])), parts: [drawing(record, file), legend(record)] };
}

/** @param {any} record @param {string} file */
function drawing(record, file) {
  const size = PLACE;
  const limits = /** @type {Record<string, number>} */ ({ kvref: record.products.min_ms / record.products_share.bound, transformers: record.kvref.min_ms * record.speedup.bound });
  const x = log([...LANES.flatMap(([name]) => record[name].samples_ms), ...Object.values(limits)], size.left + 6, size.width - size.right - 6);
  const bottom = size.top + 3 * ROW;
  const lines = marks(x).map((one) => `<path class="hair" d="M${x(one)} ${size.top}V${bottom}"/><text class="muted" x="${x(one)}" y="${bottom + 18}" text-anchor="middle">${number(one)}</text>`).join("");
  const rows = LANES.map(([name, words, role], i) => {
    const [top, taken] = [size.top + i * ROW, record[name]];
    const middle = top + 40;
    const dots = taken.samples_ms.map((/** @type {number} */ ms, /** @type {number} */ s) => `<circle cx="${x(ms)}" cy="${round(middle - 9 + (s % 4) * 6)}" r="2"/>`).join("");
    const limit = limits[name] === undefined ? "" : `<path class="l-new" stroke-width="2" stroke-dasharray="2 3" d="M${x(limits[name])} ${top + 24}V${top + ROW - 6}"/>`;
    return `<text class="f-${role} on" font-weight="600" x="${size.left}" y="${top + 16}">${escape(words)}</text>`
      + `<path class="l-${role}" stroke-width="1" d="M${x(taken.min_ms)} ${middle}H${x(taken.max_ms)}M${x(taken.median_ms)} ${middle - 8}v16"/><g class="f-${role}" fill-opacity=".55">${dots}</g>${mark(x(taken.min_ms), middle, role, i)}${limit}`;
  }).join("");
  const body = lines + `<path class="axis" d="M${size.left} ${bottom}H${size.width - size.right}"/>${rows}<text class="muted" x="${size.width / 2}" y="${bottom + 38}" text-anchor="middle">ms a token, logarithmic</text>`;
  return {
    kind: "drawing", label: `Every sample of three things timed in turns: ${LANES.map(([name, words]) => `${words} ${time(record[name].min_ms)} at best`).join(", ")}.`,
    width: size.width, height: size.height, body, rows: LANES.flatMap(([name, words]) => told("samples", words, "a token", record[name], file, name)),
  };
}

/** The samples in the order in which they were taken. @param {any} record @param {string} file @param {import("./plot.js").Device} device */
function byRound(record, file, device) {
  const size = { ...SIZE, right: 90 };
  const rounds = record.kvref.samples_ms.length;
  const x = (/** @type {number} */ n) => round(size.left + ((n - 0.5) / rounds) * (size.width - size.right - size.left));
  const y = log(LANES.flatMap(([name]) => record[name].samples_ms), size.height - size.bottom, size.top);
  const stops = Array.from({ length: rounds }, (_, n) => n + 1);
  const body = frame({ x, y, size }, stops, "round", "ms a token, logarithmic") + LANES.map(([name, , role], i) => {
    const taken = record[name];
    return `<path class="l-${role}" stroke-width="1" d="M${size.left} ${y(taken.min_ms)}H${size.width - size.right}"/><path class="l-${role}" stroke-width="1" stroke-dasharray="5 4" d="M${size.left} ${y(taken.median_ms)}H${size.width - size.right}"/>`
      + taken.samples_ms.map((/** @type {number} */ ms, /** @type {number} */ n) => mark(x(n + 1), y(ms), role, i)).join("");
  }).join("") + names(LANES.map(([name, , role]) => ({ at: [size.width - size.right, y(record[name].min_ms)], words: name === "transformers" ? "transf." : name, role })), size);
  return {
    summary: `${device.name}: ${rounds} rounds; in each, ${LANES.map(([, words]) => words).join(", ")}, one after the other.`, credit: device.credit,
    parts: [
      { kind: "drawing", label: `${rounds} rounds of three samples each; level lines at the fastest and at the median of each lane.`, width: size.width, height: size.height, body,
        rows: LANES.flatMap(([name, words]) => told("rounds", words, "a token", record[name], file, name)) },
      { kind: "legend", items: [...LANES.map(([, text, role], i) => ({ swatch: swatch(role, i), text })), { text: "Level lines: the fastest sample; dashed: the median." }] },
    ],
  };
}

/** @param {any} record */
function legend(record) {
  return { kind: "legend", items: [
    { swatch: "dotted", text: `the bounds: kvref no slower than its products ÷ ${significant(record.products_share.bound)}, transformers at least ${significant(record.speedup.bound)} × kvref` },
    { text: "Dots: every sample; large mark: the fastest; a bar across: the median." },
  ] };
}
