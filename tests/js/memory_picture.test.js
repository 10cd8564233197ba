// The calculator as a picture: what it shows for published models, for a pasted one, and for what does not divide.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { controls } from "../../docs/assets/js/controls.js";
import { fromText } from "../../docs/assets/js/memory/config.js";
import { pack } from "../../docs/assets/js/memory/own.js";
import { cells, csv, draw, element, html, svg } from "../../docs/assets/js/picture.js";
import * as memory from "../../docs/assets/js/pictures/memory.js";
import { GEOMETRY } from "../../docs/assets/js/records.js";
import { format, parse, validate, withState } from "../../docs/assets/js/state.js";
import { record } from "./site.js";

const qwen3 = readFileSync(new URL("../qwen3-4b.json", import.meta.url), "utf8");
const { models } = record(GEOMETRY);
const context = { figure: "memory", options: {}, state: {}, recordings: [], models: Object.values(models).map(({ id, name }) => ({ id, name })) };

function drawn(changes = {}) {
  const state = validate(memory, context, new Map(Object.entries(changes).map(([name, value]) => [name, String(value)])));
  return { state, model: draw(memory, state, { [GEOMETRY]: record(GEOMETRY) }, context) };
}

const alone = { second: "none", third: "none", fourth: "none" };
const shown = (model, row, column = 0) => model.parts.find((part) => part.name === "sizes").rows.find((one) => one.head.text === row).cells[column];

test("at first the four models of the table at 4,096 tokens", () => {
  const { model } = drawn();
  assert.equal(model.summary, "1 request of 4,096 tokens, fp16: GPT-2 small 144 MiB, Llama-2-7B 2 GiB, Llama-3-8B 512 MiB, Llama-2-70B 1.25 GiB.");
  assert.match(html(model), /GPT-2 small has 1,024 positions: 4,096 tokens are arithmetic only\./);
  assert.match(html(model), /32 layers × 2 × 8 KV heads × 128 × 4,096 tokens × 2 B = 536,870,912 B = 512 MiB/);
});

test("16 requests of Llama-2-7B beside its weights, and what fits", () => {
  const { model } = drawn({ model: "llama-2-7b", ...alone, batch: 16 });
  assert.equal(shown(model, "all 16 requests").text, "32 GiB");
  assert.equal(shown(model, "weights in 16 bits").text, "12.55 GiB");
  assert.equal(shown(model, "requests that fit, at most").text, "33");
});

test("windows, latents, states and devices", () => {
  const { model } = drawn({ model: "gemma-3-27b", second: "deepseek-v3", third: "gpt-oss-120b", fourth: "falcon-7b" });
  assert.deepEqual([0, 1, 2, 3].map((at) => shown(model, "each further token", at).counted), ["507904", "70272", "73728", "8192"]);
  assert.deepEqual([0, 2].map((at) => shown(model, "… once windows are full", at).counted), ["81920", "36864"]);
  const hybrid = drawn({ model: "kimi-linear-48b-a3b", ...alone }).model;
  assert.match(html(hybrid), /20 layers: a state of fixed size \(KDA\)/);
  assert.match(html(hybrid), /Kimi Linear 48B-A3B \(not verified\)/);
  const split = drawn({ model: "llama-3-8b", second: "falcon-7b", third: "none", fourth: "none", ranks: 16 }).model;
  assert.match(html(split), /each KV head is kept by 2 devices/);
  assert.match(split.summary, /Falcon-7B does not divide/);
  assert.match(html(split), /71 query heads do not divide evenly/);
});

test("a row says what it counts: exact beside rounded, what is lacking, what is only about", () => {
  const { model } = drawn({ model: "deepseek-v3", second: "llama-3-8b", third: "none", fourth: "none" });
  assert.equal(shown(model, "each further token").text, "68.63\u00a0KiB (70,272\u00a0B)");
  assert.deepEqual(["parameters", "weights in 16 bits", "left of 80 GiB", "requests that fit, at most"].map((row) => shown(model, row).text), ["about 671 billion", "≈ 1,250 GiB", "≈ 1,170 GiB too\u00a0few", "0"]);
  assert.deepEqual(["parameters", "weights in 16 bits", "left of 80 GiB"].map((row) => shown(model, row, 1).text), ["8,030,261,248", "14.96 GiB", "65.04 GiB"]);
  assert.doesNotMatch(html(model), /all of it|in bytes/);
  assert.equal(shown(drawn({ model: "gemma-4-e2b", ...alone }).model, "left of 80 GiB").text, "–");
});

test("how sizes are known has a key, and windows that blocks do not fit a word", () => {
  assert.match(html(drawn({ model: "falcon-7b", second: "glm-4-5" }).model), /port, checked: read from another engine’s code.*; not verified: .*; partly checked: named under Beware\./);
  const { model } = drawn({ model: "gemma-3-1b", ...alone, block: 256 });
  assert.match(html(model), /a window may begin inside a block/);
  assert.doesNotMatch(html(drawn({ model: "gemma-3-1b", ...alone }).model), /inside a block/);
  assert.doesNotMatch(html(drawn({ model: "llama-3-8b", ...alone, block: 256 }).model), /inside a block/);
});

test("a pasted config is in the address, and the address brings it back", () => {
  const { state, model } = drawn({ model: "own", own: pack(fromText(qwen3)), ...alone });
  assert.equal(shown(model, "each further token").counted, "147456");
  const search = withState("", "memory", state);
  assert.deepEqual(validate(memory, context, parse(search, "memory")), state);
  assert.deepEqual(drawn({ model: "own", ...alone }).model.parts, []);
});

test("what the address makes up is ignored", () => {
  const usual = format(validate(memory, context));
  for (const text of ["tokens:0", "tokens:-1", "tokens:1e9", "tokens:99999999", "batch:x", "model:__proto__", "own:<b>", "own:q1", "ranks:3", "dtype:constructor", "device:0"]) {
    assert.equal(format(validate(memory, context, parse(`?memory=${text}`, "memory"))), usual, text);
  }
});

test("every model, in every control's extremes, can be drawn, read aloud and taken away", () => {
  for (const { id } of context.models) {
    for (const more of [{}, { ranks: 64, block: 256, dtype: "int4" }, { tokens: 10_000_000, batch: 100_000, dtype: "fp32", bits: 32 }, { tokens: 1, device: 1 }]) {
      const { model } = drawn({ model: id, ...alone, ...more });
      const written = html(model);
      assert.doesNotMatch(written + model.summary, /undefined|NaN|Infinity|\[object/, id);
      assert.equal(written.match(/class="c k-/g).length, cells(model).length);
      for (const cell of cells(model)) {
        assert.ok(cell.say);
        if (cell.exact !== undefined) assert.equal(String(cell.key.split(".").reduce((values, name) => values[name], record(cell.file))), cell.exact);
      }
      assert.doesNotMatch(svg(model, { title: "t", alt: "a" }), /undefined|NaN/);
    }
  }
});

test("computed numbers are in the CSV, exact", () => {
  assert.match(csv(drawn().model), /sizes,one request,Llama-2-70B,1\.25 GiB,1342177280,,/);
});

test("numbers are typed, a config is pasted, nothing is named twice", () => {
  const { state, model } = drawn();
  const fields = memory.fields(state, context).map((field) => ({ ...field, value: state[field.name] }));
  const form = controls(fields);
  assert.ok(form.includes('<label>Tokens <input type="number" name="tokens" min="1" max="10000000" value="4096"'));
  assert.ok(/<details class="kv-paste"><summary>Paste a config\.json<\/summary><p>Read here: Llama, .*<\/p><textarea aria-label="Paste a config\.json"/.test(form));
  const all = element({ tag: "kv-memory", picture: "memory", label: "Memory", context }, fields, model);
  assert.ok(Buffer.byteLength(all) < 60_000, String(Buffer.byteLength(all)));
});
