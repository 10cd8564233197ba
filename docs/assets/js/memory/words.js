// @ts-check
// How the size of a cache is put into words: the same as gen/words.py says on the command line. Knows no page.

import { numberWidth, rankHeads } from "./arithmetic.js";

/** @typedef {import("./arithmetic.js").Geometry} Geometry */
/** @typedef {import("./arithmetic.js").Group} Group */
/** @typedef {import("./arithmetic.js").Fraction} Fraction */

const UNITS = /** @type {[string, bigint][]} */ ([["GiB", 2n ** 30n], ["MiB", 2n ** 20n], ["KiB", 2n ** 10n]]);

/** A whole number with separators, as long as it may be. @param {number|bigint|string} n */
export function whole(n) {
  return String(n).replace(/\B(?=(\d{3})+$)/g, ",");
}

/** Bytes in the largest binary unit that leaves at least one, with 4 significant digits. @param {Fraction} size */
export function binary({ n, d }) {
  const [unit, step] = UNITS.find(([, one]) => n >= one * d) ?? ["B", 1n];
  const at = (/** @type {bigint} */ limit) => n >= limit * d * step;
  const digits = at(1000n) || n === 0n ? 0 : at(100n) ? 1 : at(10n) ? 2 : 3;
  return `${decimal({ n, d: d * step }, digits)} ${unit}`;
}

/** Bytes in full; parts of a byte as decimals. @param {Fraction} size */
export function exact(size) {
  return `${decimal(size, 4)} B`;
}

/** Halves go up. @param {Fraction} value @param {number} digits */
function decimal({ n, d }, digits) {
  const scale = 10n ** BigInt(digits);
  const scaled = (2n * n * scale + d) / (2n * d);
  const tail = digits ? String(scaled % scale).padStart(digits, "0").replace(/0+$/, "") : "";
  return `${whole(scaled / scale)}${tail && `.${tail}`}`;
}

/** The exact number, and the rounded one where it differs. @param {Fraction} size */
export function both(size) {
  const [short, full] = [binary(size), exact(size)];
  return short === full ? full : `${full} ${same(size, short) ? "=" : "≈"} ${short}`;
}

/** Is the short form no rounding? @param {Fraction} size @param {string} short */
function same({ n, d }, short) {
  const [text, unit] = short.replaceAll(",", "").split(" ");
  const [head, tail = ""] = text.split(".");
  const step = UNITS.find(([name]) => name === unit)?.[1] ?? 1n;
  return BigInt(head + tail) * step * d === n * 10n ** BigInt(tail.length);
}

/** 1 layer, 2 layers. @param {number|bigint} number @param {string} one */
export function count(number, one) {
  return `${whole(number)} ${Number(number) === 1 ? one : `${one}s`}`;
}

/** One request as a product for each group of layers. @param {import("./arithmetic.js").Size} size @param {Geometry} geometry
 *  @param {import("./arithmetic.js").Question} question @returns {string[]} */
export function terms(size, geometry, { tokens, stored, ranks }) {
  const found = size.groups.map((one) => product(one, tokens, stored, ranks));
  if (geometry.state) {
    const { layers, numbers, bytes_per_number: width } = geometry.state;
    found.push(`${count(layers, "layer")} × ${whole(numbers)} × ${width} B${ranks > 1 ? ` ÷ ${ranks}` : ""}`);
  }
  return found;
}

/** @param {import("./arithmetic.js").GroupSize} one @param {number} tokens @param {import("./arithmetic.js").Format} stored @param {number} ranks */
function product(one, tokens, stored, ranks) {
  const name = one.slots !== one.rows ? "slot" : one.rows !== tokens ? "row" : "token";
  return `${count(one.group.layers, "layer")} × ${row(one.group, ranks)} × ${count(one.slots, name)} × ${width(stored)}`;
}

/** @param {Group} group @param {number} ranks */
function row(group, ranks) {
  if (group.latent) return count(group.latent, "number");
  const heads = rankHeads(group, ranks);
  const name = `${heads}${heads === group.kv_heads ? "" : ` of ${group.kv_heads}`} KV head${Number(group.kv_heads) > 1 ? "s" : ""} × `;
  return group.key_dim === group.value_dim ? `2 × ${name}${group.key_dim}` : `${name}(${group.key_dim} + ${group.value_dim})`;
}

/** Bytes of a number. @param {import("./arithmetic.js").Format} stored */
export function width(stored) {
  if (stored.extra) return `(${stored.bits} + ${stored.extra}/${stored.group})/8 B`;
  const { n, d } = numberWidth(stored);
  return `${n / d} B`;
}

/** Which layers keep something, and what. @param {Geometry} geometry @returns {string[]} */
export function layers(geometry) {
  const found = geometry.groups.map(kept);
  const { state, shared_layers: shared = 0 } = geometry;
  if (state) found.push(`${count(state.layers, "layer")}: a state of fixed size (${state.kind})`);
  if (shared) found.push(`${count(shared, "layer")}: nothing, they read an earlier layer's cache`);
  const rest = geometry.layers - geometry.groups.reduce((sum, group) => sum + group.layers, state?.layers ?? 0) - shared;
  if (rest > 0) found.push(`${count(rest, "layer")}: nothing, they do not attend`);
  return found;
}

/** @param {Group} group */
function kept(group) {
  const what = `${count(group.layers, "layer")}: ${group.latent ? `${group.latent} numbers for all heads` : "K and V"}`;
  if ((group.every ?? 1) > 1) return `${what}, one row for ${group.every} tokens`;
  if (!group.window) return `${what} of every token`;
  if (group.chunked) return `${what} of one chunk, at most ${whole(group.window)} tokens`;
  return `${what} of the last ${count(group.window, "token")}`;
}

/** What a reader must know before believing the number. @param {Geometry} geometry @param {number} tokens @param {number} ranks */
export function warnings(geometry, tokens, ranks) {
  const found = [];
  const most = geometry.max_positions;
  if (most !== null && tokens > most) found.push(`${geometry.name} has ${whole(most)} positions: ${whole(tokens)} tokens are arithmetic only`);
  if (ranks > 1 && geometry.groups.some((group) => group.latent)) found.push(`the row that all heads share is kept by each of the ${ranks} devices`);
  const copies = geometry.groups.filter((group) => !group.latent && ranks > Number(group.kv_heads)).map((group) => Math.floor(ranks / Number(group.kv_heads)));
  if (geometry.guessed) found.push("no model_type is given: KV heads or head size are read as Llama's, from query heads and hidden size");
  for (const each of [...new Set(copies)].sort((a, b) => a - b)) found.push(`each KV head is kept by ${each} devices`);
  return found;
}
