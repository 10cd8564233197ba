// @ts-check
// Every prediction of a device against the time that was measured, both logarithmic: on the diagonal they agree, above it
// the pass was slower than predicted. A band marks where they differ by no more than a fifth.

import { whole } from "../format.js";
import { SIZE, deviceFields, deviceOf, filesOf, frame, log, mark, marks, nothing, swatch, told, time, uneven, whisker } from "./plot.js";

/** @typedef {import("../state.js").State} State */
/** @typedef {import("./plot.js").Context} Context */

const KINDS = /** @type {[string, string, string][]} */ ([["prefill", "prefills", "weight"], ["decode", "decode steps", "plain"], ["paged", "steps with rows in blocks", "query"], ["batch", "steps of several sequences", "value"]]);
const NEAR = 0.2; // what needs no reason
const PLACE = { ...SIZE, height: 340, right: 16 };

export const fields = deviceFields;

/** @param {State} state @param {Context} context */
export function needs(state, context) {
  return filesOf(state, context, KINDS.map(([kind]) => kind));
}

/** @param {State} state @param {import("./common.js").Records} records @param {Context} context */
export function draw(state, records, context) {
  const device = deviceOf(state, context);
  if (!device) return nothing("Each prediction stands here beside its measurement.");
  const points = KINDS.flatMap(([kind, , role], shape) => (device.records[kind] ? found(records[device.records[kind]], "at", "").map((one) => ({ ...one, kind, role, shape, file: device.records[kind] })) : []));
  const near = points.filter(({ point }) => Math.abs(point.error_percent) <= 100 * NEAR).length;
  const slower = points.filter(({ point }) => point.error_percent < -100 * NEAR).length;
  return {
    summary: `${device.name}: ${near} of ${points.length} predictions within a fifth, ${slower} passes slower than predicted, ${points.length - near - slower} faster.`,
    credit: device.credit + uneven(points.map(({ point }) => point.measured)), parts: [drawing(points), legend(device)],
  };
}

/** Every point below a key of a record. @param {any} value @param {string} key @param {string} words @returns {{key: string, words: string, point: any}[]} */
function found(value, key, words) {
  const inside = key === "at" && words === "" ? value.at : value;
  if (inside.predicted) return [{ key, words, point: inside }];
  return Object.entries(inside).filter(([, one]) => typeof one === "object" && one !== null && !("samples_ms" in one) && !("median_of_pairs" in one))
    .flatMap(([name, one]) => found(one, `${key}.${name}`, `${words} ${/^\d+$/.test(name) ? whole(Number(name)) : name}`.trim()));
}

/** @param {any[]} points */
function drawing(points) {
  const size = PLACE;
  const all = points.flatMap(({ point }) => [point.predicted.ms, point.measured.min_ms, point.measured.median_ms]);
  const x = log(all, size.left, size.width - size.right);
  const y = log(all, size.height - size.bottom, size.top);
  const { low, high } = x;
  const corner = (/** @type {number} */ predicted, /** @type {number} */ measured) => `${x(predicted)} ${y(measured)}`;
  const inside = (/** @type {number} */ value) => Math.max(low, Math.min(high, value));
  const [slow, fast] = [1 / (1 - NEAR), 1 / (1 + NEAR)]; // the error is a share of what was measured
  const band = `<path class="f-again" fill-opacity=".18" d="M${corner(low, low)}L${corner(low, inside(low * slow))}L${corner(high / slow, high)}L${corner(high, high)}L${corner(high, high * fast)}L${corner(low / fast, low)}z"/>`;
  const body = frame({ x, y, size }, marks(x), "predicted, in ms, logarithmic", "measured, in ms, logarithmic") + band
    + `<path class="l-negative" stroke-width="1.5" d="M${corner(low, low)}L${corner(high, high)}"/>`
    + points.map(({ point, role, shape }) => whisker(x(point.predicted.ms), [y(point.measured.min_ms), y(point.measured.median_ms), y(Math.min(high, point.measured.max_ms))], role) + mark(x(point.predicted.ms), y(point.measured.min_ms), role, shape)).join("")
    + `<text class="muted on" x="${size.left + 8}" y="${size.top + 16}">slower than predicted</text>`
    + `<text class="muted on" x="${size.width - size.right - 4}" y="${size.height - size.bottom - 10}" text-anchor="end">faster than predicted</text>`;
  const rows = points.flatMap(({ kind, key, words, point, file }) => [
    ["predictions", kind, `${words}: predicted`, time(point.predicted.ms), point.predicted.ms, file, `${key}.predicted.ms`],
    ["predictions", kind, `${words}: error in percent`, String(point.error_percent), point.error_percent, file, `${key}.error_percent`],
    ...told("predictions", kind, words, point.measured, file, `${key}.measured`),
  ]);
  return { kind: "drawing", label: `${points.length} predictions against measured times; the diagonal is where they agree.`, width: size.width, height: size.height, body, rows };
}

/** @param {import("./plot.js").Device} device */
function legend(device) {
  const kinds = KINDS.flatMap(([kind, text, role], i) => (device.records[kind] ? [{ swatch: swatch(role, i), text }] : []));
  return { kind: "legend", items: [...kinds, { swatch: "again", text: "within a fifth" }, { text: "Marks: the fastest sample; lines: up to the slowest, or to the edge." }] };
}
