// The page's calculator against Python's answers to the same questions.

import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { FORMATS, Refused, bytesPerToken, cacheSize, leftBytes, requestsThatFit, weightBytes } from "../../docs/assets/js/memory/arithmetic.js";
import { fromConfig, fromText } from "../../docs/assets/js/memory/config.js";
import { pack, unpack } from "../../docs/assets/js/memory/own.js";
import { both, layers, terms, warnings } from "../../docs/assets/js/memory/words.js";
import { ROOT } from "./site.js";

const qwen3 = readFileSync(new URL("../qwen3-4b.json", import.meta.url), "utf8");
const vectors = JSON.parse(readFileSync(new URL("memory-vectors.json", import.meta.url), "utf8"));
const { models } = JSON.parse(readFileSync(new URL("docs/data/geometry/models.json", ROOT), "utf8")).values;

const digest = (text) => createHash("sha256").update(text).digest("hex").slice(0, 8);
const shown = ({ n, d }) => (d === 1n ? number(n) : `${n}/${d}`);
const number = (n) => (n < 2n ** 53n ? Number(n) : String(n));

/** A case as the page answers it. */
function answer([name, tokens, batch, dtype, block, ranks, gib, bits]) {
  const [model, stored] = [models[name], FORMATS[dtype]];
  const question = { tokens, batch, stored, block, ranks };
  const size = cacheSize(model, question);
  const token = bytesPerToken(model, stored, ranks, false);
  const weights = weightBytes(model, bits, ranks);
  const said = [terms(size, model, question).join(" + "), ...layers(model), ...warnings(model, tokens, ranks), both(size.request), both(token)];
  return [number(size.bytes), shown(size.request), shown(token), shown(bytesPerToken(model, stored, ranks, true)), weights === null ? null : number(weights),
    weights === null ? null : Number(requestsThatFit(leftBytes(gib, weights), size.request)), digest(said.join("\n"))];
}

test("a thousand sizes and more, with their formulas and notes, are Python's", () => {
  assert.ok(vectors.sizes.length >= 1000);
  assert.ok(new Set(vectors.sizes.map((one) => one[0])).size === 53);
  for (const one of vectors.sizes) {
    const expected = one.at(-1);
    if (typeof expected === "string") assert.throws(() => answer(one), (problem) => problem instanceof Refused && problem.message === expected, one.join());
    else assert.deepEqual(answer(one), expected, one.join());
  }
});

test("configs are read, or refused, as Python does", () => {
  const refusals = vectors.configs.filter((one) => typeof one[1] === "string");
  assert.ok(refusals.length > 30 && vectors.configs.length - refusals.length > 150);
  for (const [raw, expected] of vectors.configs) {
    if (typeof expected === "string") {
      assert.throws(() => fromConfig(raw), (problem) => problem instanceof Refused && problem.message.split(", got ")[0] === expected, JSON.stringify([raw, expected]));
      continue;
    }
    const model = fromConfig(raw);
    const groups = model.groups.map((g) => [g.layers, g.kv_heads ?? 0, g.key_dim ?? 0, g.value_dim ?? 0, g.latent ?? 0, g.window ?? null]);
    assert.deepEqual([model.layers, model.query_heads, groups, model.parameters.total, model.max_positions, ...(model.guessed ? [true] : [])], expected, JSON.stringify(raw));
    if (model.groups.some((g) => g.window >= 10 ** 9)) assert.throws(() => pack(model), Refused, JSON.stringify(raw));
    else assert.deepEqual(unpack(pack(model)), model, pack(model)); // an address brings it back
  }
});

test("what a family fills in is filled in; null is no window; a guess says so", () => {
  const [sizes, group] = [{ num_hidden_layers: 12, num_attention_heads: 16, hidden_size: 3840 }, (raw) => fromConfig(raw).groups];
  assert.deepEqual(group({ ...sizes, model_type: "gemma3_text", num_key_value_heads: 8, sliding_window: 1024 }),
    [{ layers: 2, kv_heads: 8, key_dim: 256, value_dim: 256 }, { layers: 10, kv_heads: 8, key_dim: 256, value_dim: 256, window: 1024 }]);
  assert.deepEqual(group({ ...sizes, model_type: "mistral" }), [{ layers: 12, kv_heads: 8, key_dim: 240, value_dim: 240, window: 4096 }]);
  assert.deepEqual(group({ ...sizes, model_type: "mistral", sliding_window: null }), [{ layers: 12, kv_heads: 8, key_dim: 240, value_dim: 240 }]);
  assert.equal(warnings(fromConfig({ ...sizes, model_type: "llama" }), 1, 1).length, 0);
  assert.match(warnings(unpack(pack(fromConfig(sizes))), 1, 1).join(), /no model_type is given/);
});

test("biases are parameters where the family has them; true is true and no word", () => {
  const tiny = { num_hidden_layers: 2, num_attention_heads: 4, num_key_value_heads: 2, hidden_size: 128, intermediate_size: 256, vocab_size: 1000 };
  const biased = { ...tiny, attention_bias: true, mlp_bias: true };
  const total = (raw) => fromConfig(raw).parameters.total; // as transformers counts the same models
  assert.deepEqual(["llama", "mistral", "qwen2"].map((family) => total({ ...biased, model_type: family })), [553600, 551552, 552064]);
  assert.deepEqual([{}, { attention_bias: true }, { mlp_bias: true }].map((more) => total({ ...tiny, ...more, model_type: "llama" })), [551552, 552320, 552832]);
  assert.equal(total({ ...biased, model_type: "qwen3", head_dim: 64, tie_word_embeddings: true }), 523392);
  const gpt2 = { model_type: "gpt2", n_layer: 2, n_head: 2, n_embd: 64, n_positions: 128, vocab_size: 1000 };
  assert.deepEqual([gpt2, { ...gpt2, tie_word_embeddings: false }].map(total), [172288, 236288]);
  for (const key of ["attention_bias", "mlp_bias", "tie_word_embeddings"]) {
    assert.throws(() => total({ ...tiny, model_type: "llama", [key]: "false" }), { message: `${key}: expected true or false, got "false".` });
  }
  assert.throws(() => total({ ...tiny, model_type: "qwen2", use_sliding_window: 1 }), { message: "use_sliding_window: expected true or false, got 1." });
});

test("sizes that a link cannot keep are refused in one sentence", () => {
  const llama = { model_type: "llama", num_hidden_layers: 2, num_attention_heads: 4, head_dim: 8 };
  const latent = { model_type: "deepseek_v3", num_hidden_layers: 2, num_attention_heads: 4, kv_lora_rank: 10 ** 6, qk_rope_head_dim: 64 };
  for (const raw of [{ ...llama, num_attention_heads: 10 ** 6 }, { ...llama, model_type: "mistral", num_key_value_heads: 4, sliding_window: 10 ** 9 },
    { ...llama, head_dim: 10 ** 6 }, { ...llama, max_position_embeddings: 10 ** 9 }, latent]) {
    assert.throws(() => pack(fromConfig(raw)), (problem) => problem instanceof Refused && /^These sizes [^\n]*\.$/.test(problem.message), JSON.stringify(raw));
  }
});

test("Qwen3-4B is 147,456 bytes a token, by its own head_dim", () => {
  const model = fromText(qwen3);
  assert.deepEqual(bytesPerToken(model, FORMATS.fp16, 1, false), { n: 147456n, d: 1n });
  assert.equal(pack(model), "q32.p40960.36k8x128");
});

test("what is pasted and does not fit is one sentence", () => {
  for (const [text, sentence] of [
    ["", "not JSON"], ["{", "not JSON"], ["[1]", "expected an object"], ["null", "expected an object"], ["{}", "num_hidden_layers is missing"],
    ['{"model_type":"phi3"}', "only the command line reads it"], ['{"model_type":"__proto__"}', "is not read here"], ['{"model_type":{}}', "is not read here"],
    ['{"text_config":{}}', "nested in text_config; only the command line"], ['{"layer_types":["constructor"],"num_hidden_layers":1,"num_attention_heads":1,"head_dim":1}', "is not read here"],
  ]) assert.throws(() => fromText(text), (problem) => problem instanceof Refused && problem.message.includes(sentence) && /^[^\n]*\.$/.test(problem.message), text);
});

test("an address with a geometry that cannot be is no geometry", () => {
  for (const text of ["", "q", "q0.1k1x1", "q1", "q1.0k1x1", "q1.1k0x1", "q1.1k1x1w0", "q1.1k1x1.", "q1..1k1x1", "q1.1k1", "q1.1l", "x1.1k1x1", "q1.1k1x1x", "q1.-1k1x1", `q1${".1k1x1".repeat(40)}`, "q1.1k1x1,2"]) {
    assert.equal(unpack(text), null, text);
  }
  assert.deepEqual(unpack("q4.n9.p7.2k2x8x4.1l576w128").groups, [{ layers: 2, kv_heads: 2, key_dim: 8, value_dim: 4 }, { layers: 1, latent: 576, window: 128 }]);
});
