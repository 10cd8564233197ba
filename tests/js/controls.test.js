// What a reader types or chooses is taken, or said to be wrong: never dropped without a word.

import assert from "node:assert/strict";
import { test } from "node:test";
import { controls, touched, wrong } from "../../docs/assets/js/controls.js";

const tokens = { name: "tokens", label: "Tokens", kind: "range", typed: true, value: 4096, min: 1, max: 10_000_000 };
const model = { name: "model", label: "Model", kind: "choice", value: "a", options: [{ value: "a", text: "A" }, { value: "b", text: "B" }] };
const batch = { name: "batch", label: "Batch", kind: "range", value: 1, values: [1, 8, 64], min: 1, max: 64, grid: "ticks" };

test("a number that cannot be is one sentence, with what may be and what stays", () => {
  for (const text of ["-5", "0", "2.5", "", "1e11", "10000001", "100000000000"]) {
    assert.equal(wrong(tokens, text), "Tokens: a whole number from 1 to 10,000,000; still showing 4,096.", text);
  }
  assert.equal(wrong(tokens, "10000000"), "");
  assert.equal(wrong(model, "c"), "");
});

test("only a form into which numbers are typed has a place to complain", () => {
  assert.ok(controls([tokens, model]).endsWith('<p class="kv-wrong" role="status"></p></form>'));
  assert.ok(!controls([model, batch]).includes("kv-wrong"));
});

test("what was chosen before the figure woke is found by what was written", () => {
  const select = (/** @type {string} */ value) => ({ value, options: [{ value: "a", defaultSelected: true }, { value: "b", defaultSelected: false }] });
  const form = (/** @type {Record<string, any>} */ elements) => ({ elements: { namedItem: (/** @type {string} */ name) => elements[name] ?? null } });
  const fields = [tokens, model, batch];
  const as = { tokens: { value: "4096", defaultValue: "4096" }, model: select("a"), batch: { value: "0", defaultValue: "0" } };
  assert.deepEqual([...touched(form(as), fields)], []);
  assert.deepEqual([...touched(form({ ...as, model: select("b"), batch: { value: "2", defaultValue: "0" } }), fields)], [["model", "b"], ["batch", "64"]]);
  assert.deepEqual([...touched(form({ tokens: { value: "", defaultValue: "4096" } }), fields)], []);
  assert.deepEqual([...touched(null, fields)], []);
});
