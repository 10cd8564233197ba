// @ts-check
// The roofline of a device from its measured ceilings, and below it what was measured: the model's matrices alone for one
// row and for many, or whole prefills and decode steps.

import { significant, whole } from "../format.js";
import { SIZE, deviceFields, deviceOf, filesOf, log, mark, marks, nothing, number, round, swatch, whisker } from "./plot.js";

/** @typedef {import("../state.js").State} State */
/** @typedef {import("./plot.js").Context} Context */
/** @typedef {{words: string, label: string, role: string, shape: number, intensity: number, rate: number, slowest: number, usual: number, file: string, key: string, named: boolean}} Dot */

const LETTER = 8; // wide, at most
const PLACE = { ...SIZE, height: 330, right: 16, left: 60 };
const KINDS = /** @type {Record<string, string[]>} */ ({ products: ["ceilings", "products"], passes: ["ceilings", "prefill", "batch"] });

export const fields = deviceFields;

/** @param {State} state @param {Context} context */
export function needs(state, context) {
  return filesOf(state, context, KINDS[context.options.part]);
}

/** @param {State} state @param {import("./common.js").Records} records @param {Context} context */
export function draw(state, records, context) {
  const device = deviceOf(state, context);
  if (!device) return nothing("The measured roof of a device stands here, with measured passes below it.");
  const { part } = context.options;
  const files = device.records;
  const dots = part === "products" ? matrices(records[files.products], files.products) : [...prefills(records[files.prefill], files.prefill), ...batches(records[files.batch], files.batch)];
  const dtype = records[files[part === "products" ? "products" : "prefill"]].dtype;
  const roof = roofOf(records[files.ceilings], files.ceilings, dtype);
  const named = dots.filter((one) => one.named).map((one) => `${one.words} reaches ${rate(one.rate)}`);
  return {
    summary: `${device.name}: at most ${rate(roof.flops)} and ${significant(roof.bytes / 1e9)} GB/s; ${named.join(", ")}.`,
    credit: `${device.credit} The roof is measured too, in ${dtype}.`, parts: [drawing(roof, dots), legend(part)],
  };
}

/** @param {any} ceilings @param {string} file @param {string} dtype */
function roofOf(ceilings, file, dtype) {
  const way = ceilings.read.bytes_per_second >= ceilings.copy.bytes_per_second ? "read" : "copy";
  return { file, dtype, way, bytes: ceilings[way].bytes_per_second, flops: ceilings.products[dtype].flops_per_second };
}

/** @param {number} flops a second */
function rate(flops) {
  return flops >= 1e12 ? `${significant(flops / 1e12)} TFLOP/s` : `${significant(flops / 1e9)} GFLOP/s`;
}

/** @param {string} words @param {string} role @param {number} shape @param {any} one @param {number} intensity @param {string} file @param {string} key @param {boolean} named @param {string} [label] @returns {Dot} */
function dot(words, role, shape, one, intensity, file, key, named, label = words) {
  const { min_ms: least, median_ms: middle, max_ms: most } = one.measured;
  return { words, label, role, shape, intensity, rate: one.flops_per_second, usual: (one.flops_per_second * least) / middle, slowest: (one.flops_per_second * least) / most, file, key, named };
}

/** @param {any} record @param {string} file */
function matrices(record, file) {
  return record.rows.map((/** @type {number} */ rows, /** @type {number} */ i) =>
    dot(rows === 1 ? "1 row" : `${whole(rows)} rows`, "plain", 0, record.at[rows], record.at[rows].flops / record.weight_bytes, file, `at.${rows}`, i === 0 || i === record.rows.length - 1));
}

/** @param {any} record @param {string} file */
function prefills(record, file) {
  return record.tokens.map((/** @type {number} */ tokens, /** @type {number} */ i) =>
    dot(`a prefill of ${whole(tokens)}`, "weight", 1, record.at[tokens], record.at[tokens].intensity, file, `at.${tokens}`, i === record.tokens.length - 1, `prefill ${whole(tokens)}`));
}

/** At the shortest context: the cache is then the smallest part. @param {any} record @param {string} file */
function batches(record, file) {
  const [context] = record.contexts;
  const list = record.batches[context];
  return list.map((/** @type {number} */ batch, /** @type {number} */ i) =>
    dot(batch === 1 ? "a step of 1 sequence" : `a step of ${whole(batch)} sequences`, "plain", 0, record.at[context][batch], record.at[context][batch].intensity, file, `at.${context}.${batch}`, i === 0 || i === list.length - 1, `× ${whole(batch)}`));
}

/** @param {any} roof @param {Dot[]} dots */
function drawing(roof, dots) {
  const size = PLACE;
  const [right, bottom] = [size.width - size.right, size.height - size.bottom];
  const ridge = roof.flops / roof.bytes;
  const x = log([...dots.map((one) => one.intensity), ridge, ridge * 4], size.left, right);
  const y = log([...dots.flatMap((one) => [one.rate / 1.2, one.usual]), roof.flops * 1.5, roof.bytes * x.low], bottom, size.top, 0);
  const decades = (/** @type {{low: number, high: number}} */ scale) => Array.from({ length: 31 }, (_, n) => 10 ** (n - 12)).filter((one) => one >= scale.low && one <= scale.high);
  const unit = roof.flops >= 1e12 ? { size: 1e12, name: "TFLOP/s" } : { size: 1e9, name: "GFLOP/s" };
  const frame = decades(x).map((one) => `<path class="hair" d="M${x(one)} ${size.top}V${bottom}"/><text class="muted" x="${x(one)}" y="${bottom + 18}" text-anchor="middle">${number(one)}</text>`).join("")
    + marks(y).map((one) => `<path class="hair" d="M${size.left} ${y(one)}H${right}"/><text class="muted" x="${size.left - 6}" y="${y(one) + 4}" text-anchor="end">${number(Number((one / unit.size).toPrecision(3)))}</text>`).join("")
    + `<path class="axis" d="M${size.left} ${size.top}V${bottom}H${right}"/><text class="muted" x="${(size.left + right) / 2}" y="${bottom + 38}" text-anchor="middle">FLOPs for each byte moved</text>`
    + `<text class="muted" transform="translate(12 ${(size.top + bottom) / 2}) rotate(-90)" text-anchor="middle">${unit.name} measured, logarithmic</text>`;
  const edge = Math.min(ridge, x.low);
  const line = `<path class="l-negative" stroke-width="2.5" d="M${x(edge)} ${y(roof.bytes * edge)}L${x(ridge)} ${y(roof.flops)}H${right}"/><path class="l-negative" stroke-dasharray="3 4" d="M${x(ridge)} ${y(roof.flops)}V${bottom}"/>`
    + `<text class="f-negative on" x="${x(ridge)}" y="${y(roof.flops) - 7}" text-anchor="middle">ridge ${significant(ridge)}</text>`;
  const body = frame + line + dots.map((one) => nameOf(one, x, y, size)).join("") + dots.map((one) => shown(one, x, y)).join(""); // no mark under a name
  const rows = [
    ["roof", "ceiling", "bytes a second", significant(roof.bytes / 1e9), roof.bytes, roof.file, `${roof.way}.bytes_per_second`], ["roof", "ceiling", "FLOPs a second", rate(roof.flops), roof.flops, roof.file, `products.${roof.dtype}.flops_per_second`],
    ...dots.map((one) => ["roof", one.words, "FLOPs a second", rate(one.rate), one.rate, one.file, `${one.key}.flops_per_second`]),
  ];
  return { kind: "drawing", label: `A measured roof with its ridge at ${significant(ridge)}, and ${dots.length} measured points below it.`, width: size.width, height: size.height, body, rows };
}

/** @param {Dot} one @param {import("./plot.js").Scale} x @param {import("./plot.js").Scale & {low: number}} y */
function shown(one, x, y) {
  const [at, high] = [x(one.intensity), y(one.rate)];
  const low = (/** @type {number} */ flops) => y(Math.max(y.low, flops));
  return whisker(at, [high, low(one.usual), low(one.slowest)], one.role) + mark(at, high, one.role, one.shape);
}

/** Beside the point; to its left, and lower, where the others of its kind stand. @param {Dot} one @param {import("./plot.js").Scale} x @param {import("./plot.js").Scale} y @param {typeof SIZE} size */
function nameOf(one, x, y, size) {
  if (!one.named) return "";
  const at = x(one.intensity);
  const end = at + 10 + one.label.length * LETTER > size.width;
  return `<text class="f-${one.role} on" font-weight="600" x="${round(at + (end ? 6 : 9))}" y="${round(y(one.rate) + (end ? 30 : 4))}"${end ? ' text-anchor="end"' : ""}>${one.label}</text>`;
}

/** @param {string} part */
function legend(part) {
  const what = part === "products"
    ? [{ swatch: swatch("plain", 0), text: "the matrices of one pass, for so many rows at once" }]
    : [{ swatch: swatch("plain", 0), text: "decode steps, at the shortest context measured; ×: sequences in a step" }, { swatch: swatch("weight", 1), text: "prefills" }];
  return { kind: "legend", items: [...what, { text: "Marks: the fastest sample; lines: down to the slowest, or to the edge; a bar across: the median." }] };
}
