// @ts-check
// The roofline: how many operations a second a device can do at best, against the operations that a pass does for each
// byte. The roof and every point on it come from a record; here they are only put in their places on two logarithmic axes.

import { bytes, escape, fixed, percent, power, scientific, significant, whole } from "../format.js";
import { credit, fields as grid, needs, sceneOf } from "./reads.js";

export { needs };

/** @typedef {import("../state.js").State} State */
/** @typedef {import("./reads.js").Context} Context */
/** @typedef {import("./reads.js").Scene & {device: string, on: any, roof: any}} Scene */

const SIZE = { width: 400, height: 340, left: 54, right: 14, top: 24, bottom: 48 }; // whole on a phone
const LETTER = 8; // wide, at most
const X = [0.5, 65_536]; // FLOPs per byte, the ends of every recorded roof
const Y = [1e11, 2e15]; // FLOPs a second

/** @param {State} state @param {Context} context @returns {import("../state.js").Field[]} */
export function fields(state, context) {
  const { devices } = context.grid;
  const [model, tokens, batch] = grid(state, context);
  return [model, { name: "device", label: "Device", kind: "choice", value: devices[0].id, options: devices.map(({ id, name }) => ({ value: id, text: name })) }, tokens, batch];
}

/** @param {State} state @param {import("./common.js").Records} records @param {Context} context */
export function draw(state, records, context) {
  const found = sceneOf(state, records, context);
  const device = String(state.device);
  const scene = { ...found, device, on: found.one.on[device], roof: found.record.devices[device] };
  const { one, row, column, on, roof } = scene;
  const [prefill, decode] = [one.prefill.intensity[row], one.decode.intensity[row][column]];
  return {
    summary: `${one.name} on ${roof.name}, ${whole(Number(state.context))} tokens: ${significant(prefill)} FLOPs for each byte in prefill, ${significant(decode)} in a decode step of ${who(scene)}; the ridge is at ${fixed(roof.ridge, 0)}.${beyond(scene)}`,
    credit: `${credit(found)} Peak and bandwidth as the vendor states them.`,
    parts: [drawing(scene), legend(scene), table(scene)],
  };
}

/** @param {Scene} scene */
function who({ record, column }) {
  const batch = record.batches[column];
  return batch === 1 ? "one sequence" : `${batch} sequences`;
}

/** What does not fit beside the weights cannot run, whatever its bound. @param {Scene} scene */
function beyond({ record, column, on, row, roof }) {
  const most = on.requests_that_fit[row];
  return record.batches[column] <= most ? "" : ` That many do not fit on one ${roof.name}: at most ${whole(most)} do.`;
}

/** @param {number} value @param {number[]} ends @param {number} from @param {number} to */
function place(value, [low, high], from, to) {
  return from + (Math.log(value / low) / Math.log(high / low)) * (to - from);
}

/** @param {number} value */
function x(value) {
  return Number(place(value, X, SIZE.left, SIZE.width - SIZE.right).toFixed(1));
}

/** @param {number} value */
function y(value) {
  return Number(place(value, Y, SIZE.height - SIZE.bottom, SIZE.top).toFixed(1));
}

/** @param {Scene} scene */
function drawing(scene) {
  const { file, record, id, one, row, column, on, roof, device } = scene;
  const trail = record.batches.map((/** @type {number} */ batch, /** @type {number} */ c) => ({
    name: `decode, batch ${batch}`, at: [one.decode.intensity[row][c], on.decode.flops_per_second[row][c]],
    keys: [`models.${id}.decode.intensity.${row}.${c}`, `models.${id}.on.${device}.decode.flops_per_second.${row}.${c}`],
  }));
  const prefill = { name: "prefill", at: [one.prefill.intensity[row], on.prefill.flops_per_second[row]],
    keys: [`models.${id}.prefill.intensity.${row}`, `models.${id}.on.${device}.prefill.flops_per_second.${row}`] };
  const fits = record.batches.map((/** @type {number} */ batch) => batch <= on.requests_that_fit[row]);
  const dots = trail.map((/** @type {any} */ dot, /** @type {number} */ c) => (c === column ? "" : point(dot.at, fits[c] ? 3 : 2.5, fits[c] ? ' fill-opacity=".45"' : undefined))).join("");
  const now = trail[column];
  const body = axes() + roofLine(roof) + dots + limit(one.intensity_limit[row], roof) + bounds(roof)
    + mark(now.at, `${now.name}${fits[column] ? "" : ": does not fit"}`, point(now.at, 6, fits[column] ? "" : undefined), "plain")
    + mark(prefill.at, prefill.name, `<rect class="f-again" x="${x(prefill.at[0]) - 6}" y="${y(prefill.at[1]) - 6}" width="12" height="12"/>`, "muted");
  const rows = [...trail, prefill].flatMap((dot) => ["FLOPs per byte", "FLOPs a second at most"].map((what, i) => ["roofline", dot.name, what, scientific(dot.at[i]), dot.at[i], file, dot.keys[i]]));
  const label = `The roof of ${roof.name}: it rises with the FLOPs per byte up to ${fixed(roof.ridge, 0)} and is level from there; ${now.name}${fits[column] ? "" : ", which does not fit,"} has ${significant(now.at[0])}, prefill at ${significant(prefill.at[0])}.`;
  return { kind: "drawing", label, width: SIZE.width, height: SIZE.height, body, rows };
}

/** Hollow, if there is no look of a filled one. @param {number[]} at @param {number} radius @param {string} [filled] */
function point(at, radius, filled) {
  return `<circle class="${filled === undefined ? "l" : "f"}-plain" cx="${x(at[0])}" cy="${y(at[1])}" r="${radius}"${filled ?? ' stroke-width="2"'}/>`;
}

/** Lines and names of the powers of ten. */
function axes() {
  const [right, bottom] = [SIZE.width - SIZE.right, SIZE.height - SIZE.bottom];
  const ups = [1, 10, 100, 1000, 10_000].map((n) => `<path class="hair" d="M${x(n)} ${SIZE.top}V${bottom}"/><text class="muted" x="${x(n)}" y="${bottom + 18}" text-anchor="middle">${whole(n)}</text>`);
  const flats = [11, 12, 13, 14, 15].map((n) => `<path class="hair" d="M${SIZE.left} ${y(10 ** n)}H${right}"/><text class="muted" x="${SIZE.left - 5}" y="${y(10 ** n) + 4}" text-anchor="end">10${power(n)}</text>`);
  return ups.join("") + flats.join("") + `<path class="axis" d="M${SIZE.left} ${SIZE.top}V${bottom}H${right}"/>`
    + `<text class="muted" x="${(SIZE.left + right) / 2}" y="${bottom + 38}" text-anchor="middle">FLOPs for each byte moved</text>`
    + `<text class="muted" transform="translate(12 ${(SIZE.top + bottom) / 2}) rotate(-90)" text-anchor="middle">FLOPs a second, at most</text>`;
}

/** @param {any} roof of a device */
function roofLine(roof) {
  const { intensity, flops_per_second: rates } = roof.roof;
  const points = intensity.map((/** @type {number} */ one, /** @type {number} */ i) => `${x(one)} ${y(rates[i])}`);
  const [bendX, bendY] = [x(roof.ridge), y(roof.peak_flops)];
  return `<path class="l-negative" stroke-width="2.5" d="M${points.join("L")}"/><path class="l-negative" stroke-dasharray="3 4" d="M${bendX} ${bendY}V${SIZE.height - SIZE.bottom}"/>`
    + `<text class="f-negative on" x="${bendX}" y="${bendY - 8}" text-anchor="middle">ridge ${fixed(roof.ridge, 0)}</text>`;
}

/** On which side of the ridge what is scarce. @param {any} roof */
function bounds(roof) {
  const [at, low] = [x(roof.ridge), SIZE.height - SIZE.bottom - 10];
  return `<text class="muted on" x="${at - 10}" y="${low}" text-anchor="end">memory-bound</text><text class="muted on" x="${at + 10}" y="${low}">compute-bound</text>`;
}

/** Where no batch gets further: one more sequence brings its own cache. Named low under the roof, where nothing else is.
 *  @param {number} intensity @param {any} roof */
function limit(intensity, roof) {
  const [at, bottom] = [x(intensity), SIZE.height - SIZE.bottom];
  const words = `no batch gets past ${significant(intensity)}`;
  const left = at + 6 + words.length * LETTER > SIZE.width;
  return `<path class="l-plain" stroke-dasharray="2 3" d="M${at} ${y(roof.peak_flops * Math.min(1, intensity / roof.ridge))}V${bottom}"/>`
    + `<text class="f-plain on" x="${at + (left ? -6 : 6)}" y="${bottom - 30}" text-anchor="${left ? "end" : "start"}">${words}</text>`;
}

/** A point with its name beside it, on the side where there is room. @param {number[]} at @param {string} words @param {string} shape @param {string} role */
function mark(at, words, shape, role) {
  const end = x(at[0]) + 12 + words.length * LETTER > SIZE.width;
  return `${shape}<text class="f-${role} on" font-weight="600" x="${x(at[0]) + (end ? 4 : 12)}" y="${y(at[1]) + (role === "muted" ? 24 : 14)}" text-anchor="${end ? "end" : "start"}">${escape(words)}</text>`;
}

/** @param {Scene} scene */
function legend({ record, on, row }) {
  const all = record.batches.at(-1) <= on.requests_that_fit[row];
  return { kind: "legend", items: [
    { swatch: "plain", text: `decode steps, a point for each batch of the grid${all ? "" : "; hollow: it does not fit beside the weights"}` }, { swatch: "again", text: "prefill of as many tokens" },
    { text: "Points lie on the roof because they are the best that is possible; measured ones would lie below it." },
  ] };
}

/** @param {Scene} scene */
function table({ file, id, one, row, column, on, device, record }) {
  const cell = (/** @type {string} */ say, /** @type {any} */ value, /** @type {(n: any) => string} */ show, /** @type {string} */ key) =>
    ({ kind: "count", text: show(value), say, file, key: `models.${id}.${key}`, exact: String(value) });
  const pair = (/** @type {string} */ text, /** @type {string} */ name, /** @type {(n: any) => string} */ show, under = "", of = one) => ({ head: { text }, cells: [
    cell(`prefill, ${text}`, of.prefill[name][row], show, `${under}prefill.${name}.${row}`),
    cell(`decode step, ${text}`, of.decode[name][row][column], show, `${under}decode.${name}.${row}.${column}`),
  ] });
  const only = (/** @type {string} */ text, /** @type {any} */ value, /** @type {(n: any) => string} */ show, /** @type {string} */ key) =>
    ({ head: { text }, cells: [{ kind: "note", text: "" }, cell(text, value, show, key)] });
  const ms = (/** @type {number} */ n) => `${significant(n)} ms`;
  const where = `on.${device}.`;
  const rows = [
    pair("FLOPs", "flops", scientific), pair("bytes moved", "bytes", bytes), pair("of these, cache", "kv_share", percent),
    { ...pair("FLOPs per byte", "intensity", significant), kind: "total" }, pair("limited by", "limited_by", String, where, on), pair("takes at least", "ms", ms, where, on),
    only("tokens a second, at most", on.tokens_per_second[row][column], (rate) => significant(rate, 4), `${where}tokens_per_second.${row}.${column}`),
    only(`requests of ${whole(one.contexts[row])} tokens that fit`, on.requests_that_fit[row], whole, `${where}requests_that_fit.${row}`),
  ];
  const step = record.batches[column] === 1 ? "decode step" : `decode step of ${record.batches[column]}`;
  return { kind: "table", name: "bounds", look: "plain", corner: "lower bounds", label: "Counts and bounds of one prefill and one decode step", columns: [{ text: "prefill" }, { text: step }], rows };
}
