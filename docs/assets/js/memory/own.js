// @ts-check
// A geometry of the reader's own as a short word for the address, and back: 32 query heads, 40,960 positions, 36 layers of
// 8 KV heads of 128 are "q32.p40960.36k8x128"; ".g" says that the family was guessed. What does not parse is no geometry. Knows no page.

import { Refused } from "./arithmetic.js";
import { made } from "./config.js";

/** @typedef {import("./arithmetic.js").Group} Group */

const LONGEST = 120;
const HEAD = /^q(\d{1,6})(?:\.n(\d{1,15}))?(?:\.p(\d{1,9}))?(\.g)?((?:\.\d[\dklwx]*)+)$/;
const GROUP = /^(\d{1,5})(?:k(\d{1,6})x(\d{1,6})(?:x(\d{1,6}))?|l(\d{1,6}))(?:w(\d{1,9}))?$/;

/** Raises Refused where an address could not bring it back. @param {import("./arithmetic.js").Geometry} geometry */
export function pack(geometry) {
  const { total } = geometry.parameters;
  const groups = geometry.groups.map((group) => {
    const row = group.latent ? `l${group.latent}` : `k${group.kv_heads}x${group.key_dim}${group.value_dim === group.key_dim ? "" : `x${group.value_dim}`}`;
    return `${group.layers}${row}${group.window ? `w${group.window}` : ""}`;
  });
  const text = [`q${geometry.query_heads}`, ...(total ? [`n${total}`] : []), ...(geometry.max_positions ? [`p${geometry.max_positions}`] : []), ...(geometry.guessed ? ["g"] : []), ...groups].join(".");
  if (unpack(text) === null) throw new Refused("These sizes are larger than a link to this page can keep; python -m gen memory --config config.json counts them.");
  return text;
}

/** @param {string} text @returns {import("./arithmetic.js").Geometry|null} */
export function unpack(text) {
  const head = text.length <= LONGEST ? HEAD.exec(text) : null;
  if (!head) return null;
  const groups = head[5].slice(1).split(".").map(group);
  if (groups.some((one) => one === null) || Number(head[1]) < 1) return null;
  const found = /** @type {Group[]} */ (groups);
  const layers = found.reduce((sum, one) => sum + one.layers, 0);
  return made(layers, Number(head[1]), found, head[2] ? Number(head[2]) || null : null, head[3] ? Number(head[3]) || null : null, head[4] !== undefined);
}

/** @param {string} text @returns {Group|null} */
function group(text) {
  const found = GROUP.exec(text);
  if (!found) return null;
  const [layers, heads, key, value, latent, window] = found.slice(1).map((digits) => (digits === undefined ? undefined : Number(digits)));
  if ([layers, heads, key, value, latent, window].some((number) => number === 0)) return null;
  const row = latent ? { latent } : { kv_heads: heads, key_dim: key, value_dim: value ?? key };
  return { layers: Number(layers), ...row, ...(window ? { window } : {}) };
}
