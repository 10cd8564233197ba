// @ts-check
// Bytes that a cache takes: the same exact arithmetic as kvref/plan/memory.py, to which vectors hold it. Counts may be
// larger than a double can hold, so everything that is multiplied is a BigInt. Knows no page and no words.

/** @typedef {{layers: number, kv_heads?: number, key_dim?: number, value_dim?: number, latent?: number, window?: number|null,
 *             chunked?: boolean, every?: number}} Group */
/** @typedef {{layers: number, numbers: number, bytes_per_number: number, kind: string}} FixedState */
/** @typedef {{id: string, name: string, layers: number, query_heads: number, groups: Group[], state?: FixedState|null,
 *             shared_layers?: number, parameters: {total: number|null}, max_positions: number|null, guessed?: boolean}} Geometry */
/** @typedef {{bits: number, group: number, extra: number}} Format */
/** @typedef {{tokens: number, batch: number, stored: Format, block: number, ranks: number}} Question */
/** @typedef {{n: bigint, d: bigint}} Fraction */
/** @typedef {{group: Group, rows: number, slots: number, numbers: number}} GroupSize */
/** @typedef {{groups: GroupSize[], request: Fraction, bytes: bigint, stateBytes: bigint}} Size */

const GIB = 2n ** 30n;

/** How a number is stored: bits, and the extra bits that a group of numbers shares. @type {Record<string, Format>} */
export const FORMATS = {
  fp32: { bits: 32, group: 1, extra: 0 }, fp16: { bits: 16, group: 1, extra: 0 }, bf16: { bits: 16, group: 1, extra: 0 },
  fp8: { bits: 8, group: 1, extra: 0 }, int8: { bits: 8, group: 64, extra: 16 }, int4: { bits: 4, group: 64, extra: 32 },
  q8_0: { bits: 8, group: 32, extra: 16 }, q5_0: { bits: 5, group: 32, extra: 16 }, q4_0: { bits: 4, group: 32, extra: 16 },
  q4_1: { bits: 4, group: 32, extra: 32 }, mxfp4: { bits: 4, group: 32, extra: 8 }, nvfp4: { bits: 4, group: 16, extra: 8 },
};

/** A mistake of the reader's, in one sentence. */
export class Refused extends Error {}

/** @param {bigint} n @param {bigint} d */
export function ceil(n, d) {
  return (n + d - 1n) / d;
}

/** @param {bigint} a @param {bigint} b @returns {bigint} */
function divisor(a, b) {
  return b === 0n ? a : divisor(b, a % b);
}

/** @param {bigint} n @param {bigint} d @returns {Fraction} */
export function fraction(n, d) {
  const common = divisor(n, d) || 1n;
  return { n: n / common, d: d / common };
}

/** KV heads of a group on one device. @param {Group} group @param {number} ranks */
export function rankHeads(group, ranks) {
  return Math.max(1, Math.floor((group.kv_heads ?? 0) / ranks));
}

/** Numbers in a row of one layer on one device; a latent belongs to all heads. @param {Group} group @param {number} ranks */
export function rankNumbers(group, ranks) {
  return group.latent || rankHeads(group, ranks) * ((group.key_dim ?? 0) + (group.value_dim ?? 0));
}

/** Rows that one layer keeps. @param {Group} group @param {number} tokens */
function rowsOf(group, tokens) {
  return Math.floor(Math.min(tokens, group.window ?? tokens) / (group.every ?? 1));
}

/** Rows that one layer has room for in whole blocks; a window between blocks lies in one more.
 *  @param {Group} group @param {number} tokens @param {number} block */
function slotsOf(group, tokens, block) {
  const slides = group.window && tokens > group.window && !group.chunked && (group.every ?? 1) === 1;
  const first = slides ? tokens - Number(group.window) : 0;
  return (Math.ceil((first + rowsOf(group, tokens)) / block) - Math.floor(first / block)) * block;
}

/** The cache on one device. Throws Refused if heads do not divide. @param {Geometry} geometry @param {Question} question @returns {Size} */
export function cacheSize(geometry, { tokens, batch, stored, block, ranks }) {
  checkRanks(geometry, ranks);
  const groups = geometry.groups.map((group) => ({ group, rows: rowsOf(group, tokens), slots: slotsOf(group, tokens, block), numbers: rankNumbers(group, ranks) }));
  const { n: width, d } = numberWidth(stored);
  const stateBytes = geometry.state ? ceil(stateSize(geometry.state), BigInt(ranks)) : 0n;
  const n = groups.reduce((sum, one) => sum + BigInt(one.group.layers) * BigInt(one.slots) * BigInt(one.numbers) * width, stateBytes * d);
  return { groups, request: fraction(n, d), bytes: ceil(n * BigInt(batch), d), stateBytes };
}

/** Bytes of a number, not reduced. @param {Format} stored @returns {Fraction} */
export function numberWidth(stored) {
  return { n: BigInt(stored.bits * stored.group + stored.extra), d: BigInt(8 * stored.group) };
}

/** @param {FixedState} state */
function stateSize(state) {
  return BigInt(state.layers) * BigInt(state.numbers) * BigInt(state.bytes_per_number);
}

/** Bytes that a further token adds. @param {Geometry} geometry @param {Format} stored @param {number} ranks @param {boolean} windowsFull @returns {Fraction} */
export function bytesPerToken(geometry, stored, ranks, windowsFull) {
  checkRanks(geometry, ranks);
  const { n: width, d: eighths } = numberWidth(stored);
  const growing = geometry.groups.filter((group) => !group.window || !windowsFull);
  return growing.reduce((sum, group) => {
    const every = BigInt(group.every ?? 1);
    const add = BigInt(group.layers) * BigInt(rankNumbers(group, ranks)) * width;
    return fraction(sum.n * eighths * every + add * sum.d, sum.d * eighths * every);
  }, /** @type {Fraction} */ ({ n: 0n, d: 1n }));
}

/** Weights on one device, evenly split; null if nobody says how many. @param {Geometry} geometry @param {number} bits @param {number} ranks */
export function weightBytes(geometry, bits, ranks) {
  const total = geometry.parameters.total;
  return total === null ? null : ceil(BigInt(total) * BigInt(bits), BigInt(8 * ranks));
}

/** What the weights leave of a device. @param {number} gib @param {bigint} weights */
export function leftBytes(gib, weights) {
  const left = BigInt(gib) * GIB - weights;
  return left > 0n ? left : 0n;
}

/** Largest batch in the rest. @param {bigint} left @param {Fraction} request */
export function requestsThatFit(left, request) {
  return (left * request.d) / request.n;
}

/** @param {Geometry} geometry @param {number} ranks */
function checkRanks(geometry, ranks) {
  if (geometry.query_heads % ranks) throw new Refused(`tensor parallel ${ranks}: ${geometry.query_heads} query heads do not divide evenly.`);
  for (const { latent, kv_heads: heads = 0 } of geometry.groups) {
    if (!latent && heads % ranks && ranks % heads) throw new Refused(`tensor parallel ${ranks}: ${heads} KV heads neither divide evenly nor repeat evenly.`);
  }
}
