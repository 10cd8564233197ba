// @ts-check
// A pasted config.json as a geometry, for the families below; kvref/plan/config_json.py reads more and agrees on these.
// What would change the cache and is not understood is refused in one sentence. Knows no page.

import { Refused } from "./arithmetic.js";

/** @typedef {import("./arithmetic.js").Geometry} Geometry */
/** @typedef {Record<string, unknown>} Raw */

const LLAMA_LIKE = ["llama", "mistral", "mixtral", "qwen2", "qwen2_moe", "qwen3", "qwen3_moe", "gemma", "gemma2", "gemma3_text"];
/** What a family fills in where a file leaves it out; kvref/plan/fields.py says of whom. @type {Record<string, Raw>} */
const DEFAULTS = {
  mistral: { num_key_value_heads: 8, sliding_window: 4096 },
  mixtral: { num_key_value_heads: 8 },
  qwen2: { num_key_value_heads: 32, sliding_window: 4096, max_window_layers: 28 },
  qwen2_moe: { num_key_value_heads: 16, sliding_window: 4096, max_window_layers: 28 },
  qwen3: { num_key_value_heads: 32, head_dim: 128, sliding_window: 4096, max_window_layers: 28 },
  qwen3_moe: { num_key_value_heads: 4, sliding_window: 4096 },
  gemma: { num_key_value_heads: 16, head_dim: 256 },
  gemma2: { num_key_value_heads: 4, head_dim: 256, sliding_window: 4096 },
  gemma3_text: { num_key_value_heads: 4, head_dim: 256, sliding_window: 4096 },
};
const LATENT = ["deepseek_v2", "deepseek_v3", "deepseek_v32", "kimi_k2"];
export const READ = ["gpt2", ...LLAMA_LIKE, ...LATENT];
const ELSEWHERE = "only the command line reads it: python -m gen memory --config config.json.";
const KINDS = /** @type {Record<string, string>} */ ({ full_attention: "full", attention: "full", sliding_attention: "sliding" });
const MOST_LAYERS = 10_000;

/** @param {string} text @returns {Geometry} */
export function fromText(text) {
  let raw;
  try {
    raw = JSON.parse(text);
  } catch {
    throw new Refused("This is not JSON: paste the whole config.json, braces included.");
  }
  return fromConfig(raw);
}

/** @param {unknown} raw @returns {Geometry} */
export function fromConfig(raw) {
  if (raw === null || typeof raw !== "object" || Array.isArray(raw)) throw new Refused("expected an object with a model's sizes.");
  const config = /** @type {Raw} */ (raw);
  if (typeof config.text_config === "object" && config.text_config !== null) throw new Refused(`The sizes are nested in text_config; ${ELSEWHERE}`);
  const family = familyOf(config);
  if (family === "gpt2") return gpt2(config);
  return LATENT.includes(family) ? latent(config) : llama({ ...DEFAULTS[family], ...config }, family);
}

/** @param {Raw} raw @returns {string} */
function familyOf(raw) {
  const family = raw.model_type;
  if (family === undefined || family === null) return "n_head" in raw ? "gpt2" : "kv_lora_rank" in raw ? "deepseek_v3" : "llama";
  if (typeof family !== "string" || !READ.includes(family)) throw new Refused(`model_type ${shown(family)} is not read here; read: ${READ.join(", ")}. Perhaps ${ELSEWHERE}`);
  return family;
}

/** @param {Raw} raw @returns {Geometry} */
function gpt2(raw) {
  const [layers, heads, hidden] = [size(raw, "n_layer", null, MOST_LAYERS), size(raw, "n_head"), size(raw, "n_embd")];
  const dim = divided("n_embd", hidden, heads);
  const [vocab, positions] = [optional(raw, "vocab_size"), optional(raw, "n_positions")];
  const inner = optional(raw, "n_inner") ?? 4 * hidden;
  const each = 4 * hidden * hidden + 2 * hidden * inner + 9 * hidden + inner;
  const head = flag(raw, "tie_word_embeddings", true) ? 0 : vocab ?? 0;
  const total = vocab && positions ? (vocab + head + positions) * hidden + layers * each + 2 * hidden : null;
  return made(layers, heads, [{ layers, kv_heads: heads, key_dim: dim, value_dim: dim }], total, positions);
}

/** @param {Raw} raw @param {string} family @returns {Geometry} */
function llama(raw, family) {
  const [layers, heads] = [size(raw, "num_hidden_layers", null, MOST_LAYERS), size(raw, "num_attention_heads")];
  const kvHeads = size(raw, "num_key_value_heads", heads);
  if (heads % kvHeads) throw new Refused(`${heads} query heads cannot share ${kvHeads} KV heads evenly.`);
  const given = raw.head_dim !== undefined && raw.head_dim !== null; // never hidden size over heads where it is given
  const dim = given ? size(raw, "head_dim") : divided("hidden_size", size(raw, "hidden_size"), heads);
  const [window, kinds] = windows(raw, family, layers);
  const row = { kv_heads: kvHeads, key_dim: dim, value_dim: dim };
  const count = (/** @type {string} */ kind) => kinds.filter((one) => one === kind).length;
  const groups = [];
  if (count("full")) groups.push({ layers: count("full"), ...row });
  if (count("sliding") && window === null) throw new Refused(`${count("sliding")} layers are sliding, but no window is given.`);
  if (count("sliding")) groups.push({ layers: count("sliding"), ...row, window });
  const total = denseParameters(raw, family, layers, heads * dim, kvHeads * dim, dim);
  const guessed = (raw.model_type ?? null) === null && (!given || (raw.num_key_value_heads ?? null) === null);
  return made(layers, heads, groups, total, optional(raw, "max_position_embeddings"), guessed);
}

/** @param {Raw} raw @returns {Geometry} */
function latent(raw) {
  const [layers, heads] = [size(raw, "num_hidden_layers", null, MOST_LAYERS), size(raw, "num_attention_heads")];
  const row = size(raw, "kv_lora_rank") + size(raw, "qk_rope_head_dim") + (optional(raw, "index_head_dim") ?? 0);
  return made(layers, heads, [{ layers, latent: row }], null, optional(raw, "max_position_embeddings"));
}

/** The window, and what each layer keeps. @param {Raw} raw @param {string} family @param {number} layers @returns {[number|null, string[]]} */
function windows(raw, family, layers) {
  const qwen = family.startsWith("qwen");
  const found = counted(raw, "sliding_window");
  const window = ["llama", "gemma"].includes(family) || (qwen && !flag(raw, "use_sliding_window")) ? null : found;
  const all = (/** @type {(layer: number) => boolean} */ slides) => Array.from({ length: layers }, (_, layer) => (slides(layer) ? "sliding" : "full"));
  if (raw.layer_types !== undefined && raw.layer_types !== null) return [window, listed(raw.layer_types, layers)];
  if (window === null) return [null, all(() => false)];
  if (["qwen2", "qwen2_moe", "qwen3"].includes(family)) {
    const first = raw.max_window_layers;
    if (!Number.isSafeInteger(first) || Number(first) < 0) throw new Refused(`max_window_layers: expected a whole number, got ${shown(first)}.`);
    return [window, all((layer) => (family === "qwen2_moe" ? layer < Number(first) && layer % 2 === 0 : layer >= Number(first)))];
  }
  if (family === "gemma2") return [window, all((layer) => layer % 2 === 0)];
  const interval = family === "gemma3_text" ? counted(raw, "sliding_window_pattern") ?? 6 : null;
  return [window, all((layer) => interval === null || (layer + 1) % interval !== 0)];
}

/** @param {unknown} types @param {number} layers */
function listed(types, layers) {
  if (!Array.isArray(types) || types.length !== layers) throw new Refused(`layer_types: expected a list of ${layers} names.`);
  const unknown = types.find((one) => typeof one !== "string" || !Object.hasOwn(KINDS, one));
  if (unknown !== undefined) throw new Refused(`layer_types: ${shown(unknown)} is not read here; ${ELSEWHERE}`);
  return types.map((one) => KINDS[one]);
}

/** All parameters of a dense Llama, Mistral or Qwen. @param {Raw} raw @param {string} family @param {number} layers
 *  @param {number} query @param {number} key @param {number} dim */
function denseParameters(raw, family, layers, query, key, dim) {
  const [hidden, inner, vocab] = [optional(raw, "hidden_size"), optional(raw, "intermediate_size"), optional(raw, "vocab_size")];
  const [attentionBias, mlpBias, tied] = [flag(raw, "attention_bias"), flag(raw, "mlp_bias"), flag(raw, "tie_word_embeddings")];
  if (!["llama", "mistral", "qwen2", "qwen3"].includes(family) || !hidden || !inner || !vocab) return null;
  const more = family === "qwen2" ? query + 2 * key : family === "qwen3" ? 2 * dim : 0;
  const attention = attentionBias && ["llama", "qwen3"].includes(family) ? query + 2 * key + hidden : 0;
  const mlp = mlpBias && family === "llama" ? 2 * inner + hidden : 0;
  const each = 2 * hidden * query + 2 * hidden * key + 3 * hidden * inner + 2 * hidden + more + attention + mlp;
  return (tied ? 1 : 2) * vocab * hidden + layers * each + hidden;
}

/** @param {number} layers @param {number} heads @param {import("./arithmetic.js").Group[]} groups @param {number|null} total @param {number|null} positions
 *  @param {boolean} [guessed] @returns {Geometry} */
export function made(layers, heads, groups, total, positions, guessed = false) {
  const known = total !== null && Number.isSafeInteger(total) ? total : null;
  return { id: "own", name: "your config.json", layers, query_heads: heads, groups, parameters: { total: known }, max_positions: positions, ...(guessed ? { guessed } : {}) };
}

/** @param {Raw} raw @param {string} key @param {number|null} [fallback] @param {number} [most] */
function size(raw, key, fallback = null, most = 2 ** 40) {
  const value = raw[key] ?? fallback;
  if (value === null) throw new Refused(`${key} is missing.`);
  if (!Number.isSafeInteger(value) || Number(value) < 1 || Number(value) > most) {
    throw new Refused(`${key}: expected a whole number from 1 to ${most.toLocaleString("en")}, got ${shown(value)}.`);
  }
  return Number(value);
}

/** @param {Raw} raw @param {string} key */
function optional(raw, key) {
  return raw[key] === undefined || raw[key] === null ? null : size(raw, key);
}

/** @param {Raw} raw @param {string} key */
function counted(raw, key) {
  const value = raw[key] ?? null;
  if (value !== null && (!Number.isSafeInteger(value) || Number(value) < 1)) throw new Refused(`${key}: expected a whole number of at least 1, got ${shown(value)}.`);
  return value === null ? null : Number(value);
}

/** @param {Raw} raw @param {string} key @param {boolean} [fallback] */
function flag(raw, key, fallback = false) {
  const value = raw[key] ?? fallback;
  if (typeof value !== "boolean") throw new Refused(`${key}: expected true or false, got ${shown(value)}.`);
  return value;
}

/** What was found instead, not all of it. @param {unknown} value */
function shown(value) {
  return (JSON.stringify(value) ?? "nothing").slice(0, 40);
}

/** @param {string} key @param {number} hidden @param {number} heads */
function divided(key, hidden, heads) {
  if (hidden % heads) throw new Refused(`${key} ${hidden} does not divide into ${heads} heads, and no head_dim is given.`);
  return hidden / heads;
}
